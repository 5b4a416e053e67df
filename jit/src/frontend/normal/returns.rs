//! Early returns of functions that are inlined.
//!
//! What stands behind a selection that returns on one side goes into its other side. Where that is not enough, the body goes into a switch with a
//! single case, which returns leave instead; those inside of a loop leave that first, and say so in a result of it.
//!
//! # Guarantees
//! - [`single`]: a function returns at its end, and nowhere else; [`fold`] does that where the first way is enough
//! - [`leave_last`]: a loop that stands last in a function and is left by one return only is left by its own end
//! - [`restore`]: no switch with a single case stands last in a function: leaving it is a return
//!
//! # Refuses
//! - returns out of what continues a loop, and pointers that would be undefined on some ways

use rspirv::spirv::SelectionControl;
use smallvec::SmallVec;

use super::branches::exits;
use crate::frontend::reason::KernelReason;
use crate::ir::entity::{Construct, Region, SecondaryMap, Type, Value};
use crate::ir::{
    Case, ConstData, ConstKind, ConstructData, ConstructKind, End, Function, Module, Node, Tree, TypeKind,
};

/// Most selections that are put inside each other.
const MOST_FOLDS: usize = 24;

/// Gives a function a single return, at its end.
pub(super) fn single(module: &mut Module, f: &mut Function) -> Result<(), KernelReason> {
    if fold(module, f) { Ok(()) } else { wrap(module, f) }
}

/// Puts what stands behind selections that return on one side into their other sides; whether the function returns at its end only, now. It is as it
/// was otherwise.
pub(super) fn fold(module: &Module, f: &mut Function) -> bool {
    let early = f.regions_in(f.body).into_iter().any(|region| returns(f, region) && region != f.body);
    if !early {
        return true;
    }
    let before = f.clone();
    let mut folder = Folder { is_void: is_void(module, f), f, renames: SecondaryMap::default(), folds: 0 };
    let is_folded = folder.region(folder.f.body);
    match is_folded {
        true => {
            let renames = folder.renames;
            f.substitute(&renames);
        }
        false => *f = before,
    }
    is_folded
}

fn is_void(module: &Module, f: &Function) -> bool {
    *module.types.kind(f.result) == TypeKind::Void
}

fn returns(f: &Function, region: Region) -> bool {
    matches!(f.regions[region].end, End::Return(_))
}

/// Puts what follows a selection into its side that does not return.
struct Folder<'f> {
    f: &'f mut Function,
    is_void: bool,
    renames: SecondaryMap<Value, Option<Value>>,
    folds: usize,
}

impl Folder<'_> {
    /// Whether the region returns at its end only, now.
    fn region(&mut self, region: Region) -> bool {
        let nodes = self.f.regions[region].nodes.iter().enumerate();
        let early = nodes.filter_map(|(number, node)| match *node {
            Node::Construct(construct) => Some((number, construct)),
            Node::Inst(_) => None,
        });
        let early = early
            .into_iter()
            .find(|&(_, one)| self.f.inside(one).into_iter().any(|region| returns(self.f, region)));
        let Some((number, construct)) = early else { return true };
        let ConstructKind::If { accept, reject, .. } = self.f.constructs[construct].kind else {
            return false;
        };
        self.folds += 1;
        if self.folds > MOST_FOLDS {
            return false;
        }
        let sides = [accept, reject];
        // What leaves the selection does it at the end of one of its sides.
        let leaves = |end: &End| matches!(end, End::Exit { to, .. } if *to == construct);
        let from = self.f.inside(construct).into_iter().filter(|&one| leaves(&self.f.regions[one].end));
        let from: Vec<Region> = from.collect();
        match from.as_slice() {
            [] => {}
            [side] if sides.contains(side) => self.follow(*side, construct, (region, number)),
            _ => return false,
        }
        if !sides.into_iter().all(|side| self.region(side)) {
            return false;
        }
        let data = &mut self.f.regions[region];
        data.nodes.truncate(number + 1);
        self.f.constructs[construct].results.clear();
        if let ConstructKind::If { control, .. } = &mut self.f.constructs[construct].kind {
            control.get_or_insert(SelectionControl::NONE);
        }
        for side in sides {
            let end = &mut self.f.regions[side].end;
            *end = match end {
                End::Return(value) => {
                    End::Exit { to: construct, args: value.iter().copied().collect::<SmallVec<_>>() }
                }
                End::Unreachable => continue,
                _ => return false,
            };
        }
        let ty = self.f.result;
        let value = (!self.is_void).then(|| self.f.result(construct, ty, None));
        self.f.regions[region].end = End::Return(value);
        true
    }

    /// Moves what follows a selection behind the end of one of its sides.
    fn follow(&mut self, side: Region, construct: Construct, (region, number): (Region, usize)) {
        let data = &mut self.f.regions[region];
        let rest = data.nodes.split_off(number + 1);
        let end = std::mem::replace(&mut data.end, End::Unreachable);
        let data = &mut self.f.regions[side];
        data.nodes.extend(rest);
        if let End::Exit { args, .. } = std::mem::replace(&mut data.end, end) {
            for (&result, arg) in self.f.constructs[construct].results.iter().zip(args) {
                self.renames[result] = Some(arg);
            }
        }
    }
}

/// What a construct that is left by returns says.
#[derive(Clone, Copy)]
struct Left {
    /// How many results it had.
    before: usize,
    has_returned: Value,
    value: Option<Value>,
}

/// Puts the body into a switch that is left instead of returning.
fn wrap(module: &mut Module, f: &mut Function) -> Result<(), KernelReason> {
    let is_void = is_void(module, f);
    let (word, ty) = (module.word(0), module.u32());
    let selector = f.constant(word, ty);
    let inner = f.enclose();
    let case = Case { numbers: SmallVec::new(), region: inner, args: SmallVec::new() };
    let kind = ConstructKind::Switch { selector, cases: vec![case], control: SelectionControl::NONE };
    let wrapper = f.constructs.push(ConstructData { kind, results: Vec::new() });
    let result = f.result;
    let value = (!is_void).then(|| f.result(wrapper, result, None));
    f.regions[f.body].nodes = vec![Node::Construct(wrapper)];
    f.regions[f.body].end = End::Return(value);
    let mut open: Vec<Region> = f.regions_in(inner).into_iter().filter(|&one| returns(f, one)).collect();
    let mut left: SecondaryMap<Construct, Option<Left>> = SecondaryMap::default();
    while let Some(region) = open.pop() {
        let End::Return(value) = f.regions[region].end else { continue };
        let tree = Tree::of(f);
        let (to, around) = breaks(f, &tree, region, wrapper)?;
        if to == wrapper {
            f.regions[region].end = End::Exit { to, args: value.into_iter().collect() };
            continue;
        }
        let says = match left[to] {
            Some(says) => says,
            None => {
                let is_only_left_by_returns = exits(f, to).is_empty();
                let says = prepare(module, f, to, is_void)?;
                left[to] = Some(says);
                if is_only_left_by_returns {
                    let nodes = &mut f.regions[around].nodes;
                    let at = nodes.iter().position(|&node| node == Node::Construct(to));
                    nodes.truncate(at.map_or(nodes.len(), |at| at + 1));
                    f.regions[around].end = End::Return(says.value);
                    open.push(around);
                    leave(module, f, region, says, (to, value))?;
                    continue;
                }
                let behind = f.region();
                f.regions[behind].end = End::Return(says.value);
                let on = f.region();
                let kind = ConstructKind::If {
                    condition: says.has_returned,
                    accept: behind,
                    reject: on,
                    control: Some(SelectionControl::NONE),
                    weights: None,
                };
                let test = f.constructs.push(ConstructData { kind, results: Vec::new() });
                f.regions[on].end = End::Exit { to: test, args: SmallVec::new() };
                let nodes = &mut f.regions[around].nodes;
                let at = nodes.iter().position(|&node| node == Node::Construct(to));
                nodes.insert(at.map_or(nodes.len(), |at| at + 1), Node::Construct(test));
                open.push(behind);
                says
            }
        };
        leave(module, f, region, says, (to, value))?;
    }
    Ok(())
}

/// Leaves a construct with a value instead of returning it.
fn leave(
    module: &mut Module,
    f: &mut Function,
    region: Region,
    says: Left,
    (to, value): (Construct, Option<Value>),
) -> Result<(), KernelReason> {
    let mut args = SmallVec::new();
    for number in 0..says.before {
        let ty = f.values[f.constructs[to].results[number]].ty;
        args.push(undefined(module, f, ty)?);
    }
    args.push(module.truth(f, true));
    args.extend(value);
    f.regions[region].end = End::Exit { to, args };
    Ok(())
}

/// The construct that a return leaves first, and the region that it stands in.
fn breaks(
    f: &Function,
    tree: &Tree,
    region: Region,
    wrapper: Construct,
) -> Result<(Construct, Region), KernelReason> {
    let (mut inner, mut found) = (region, None);
    loop {
        let Some((outer, construct)) = tree.parent(inner) else { return Err(KernelReason::Call) };
        match &f.constructs[construct].kind {
            _ if construct == wrapper => return Ok(found.unwrap_or((wrapper, outer))),
            ConstructKind::Loop { continuing, .. } if *continuing == inner => return Err(KernelReason::Call),
            // A loop is left out of the switches in it.
            ConstructKind::Loop { .. } => return Ok((construct, outer)),
            ConstructKind::Switch { .. } => drop(found.get_or_insert((construct, outer))),
            ConstructKind::If { .. } => {}
        }
        inner = outer;
    }
}

/// Adds to a construct whether it was left by a return, and with what.
fn prepare(
    module: &mut Module,
    f: &mut Function,
    construct: Construct,
    is_void: bool,
) -> Result<Left, KernelReason> {
    let before = f.constructs[construct].results.len();
    let not = module.truth(f, false);
    let (truth, ty) = (f.values[not].ty, f.result);
    let value = if is_void { None } else { Some(undefined(module, f, ty)?) };
    for region in f.inside(construct) {
        let args = match &mut f.regions[region].end {
            End::Exit { to, args } if *to == construct => args,
            End::Repeat { until: Some(until), .. } => {
                let ConstructKind::Loop { continuing, .. } = f.constructs[construct].kind else { continue };
                if continuing != region {
                    continue;
                }
                &mut until.args
            }
            _ => continue,
        };
        args.push(not);
        args.extend(value);
    }
    let has_returned = f.result(construct, truth, None);
    let value = value.map(|_| f.result(construct, ty, None));
    Ok(Left { before, has_returned, value })
}

/// An undefined value of a type.
fn undefined(module: &mut Module, f: &mut Function, ty: Type) -> Result<Value, KernelReason> {
    if module.types.is_pointer(ty) {
        return Err(KernelReason::Call);
    }
    let constant = module.constant(ConstData { ty, kind: ConstKind::Undef, decorations: None });
    Ok(f.constant(constant, ty))
}

/// Makes returns of what leaves a switch with a single case that stands last in the function.
pub(super) fn restore(f: &mut Function) {
    while let Some(&Node::Construct(construct)) = f.regions[f.body].nodes.last()
        && f.regions[f.body].end == End::Return(None)
        && let ConstructKind::Switch { cases, .. } = &f.constructs[construct].kind
        && let [case] = cases.as_slice()
        && f.regions[case.region].params.is_empty()
    {
        let inner = case.region;
        for region in f.regions_in(inner) {
            if matches!(f.regions[region].end, End::Exit { to, .. } if to == construct) {
                f.regions[region].end = End::Return(None);
            }
        }
        let nodes = std::mem::take(&mut f.regions[inner].nodes);
        let end = std::mem::replace(&mut f.regions[inner].end, End::Unreachable);
        let body = f.body;
        f.regions[body].nodes.pop();
        f.regions[body].nodes.extend(nodes);
        f.regions[body].end = end;
    }
}

/// Has the only return out of an endless loop that stands last in a function leave that.
pub(super) fn leave_last(f: &mut Function) {
    let body = f.body;
    let Some(&Node::Construct(last)) = f.regions[body].nodes.last() else { return };
    let is_loop = matches!(f.constructs[last].kind, ConstructKind::Loop { .. });
    if !is_loop || f.regions[body].end != End::Unreachable || !exits(f, last).is_empty() {
        return;
    }
    let from: Vec<Region> = f.inside(last).into_iter().filter(|&region| returns(f, region)).collect();
    let &[from] = from.as_slice() else { return };
    let tree = Tree::of(f);
    let mut inner = from;
    while let Some((outer, construct)) = tree.parent(inner) {
        match f.constructs[construct].kind {
            ConstructKind::Loop { body: own, .. } if construct == last && own == inner => break,
            ConstructKind::Loop { .. } => return,
            _ => inner = outer,
        }
    }
    if f.regions[from].end == End::Return(None) {
        f.constructs[last].results.clear();
        f.regions[from].end = End::Exit { to: last, args: SmallVec::new() };
        f.regions[body].end = End::Return(None);
    }
}
