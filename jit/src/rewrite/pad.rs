//! Writes a kernel for larger work-groups than its own: the first invocations of a work-group are its own, and the others have nothing to do.
//!
//! What stands between two barriers goes into a selection that holds for the kernel's invocations. Barriers, and selections and loops around them, stay outside:
//! all invocations of the larger work-group come to them. So what decides where these lead has to be known to all: it is computed from constants, push
//! constants and the number of the work-group, in front of the selections. So is what else follows from these and from the ids of an invocation, as indices do:
//! that is cheaper than results of a selection, and the analysis follows it.
//!
//! Sub-groups are as they were if those of the larger work-group are full, follow each other by local index, and the kernel's own invocations are whole
//! ones: then those behind have nothing to do, and no operation is shared. Their size and number are constants.
//!
//! # Requires
//! - a kernel in normal form, and a work-group with room for its invocations
//! - for kernels with sub-group operations, work-groups of full sub-groups that are numbered so (`emit::passes::subgroup_ids`), and stay together in branches
//!
//! # Guarantees
//! - invocation `i` of a work-group of the kernel does what invocation `i`, by local index, of the larger one does; others access no memory but push constants
//! - barriers are executed by all invocations of the larger work-group, or by none
//! - no invocation comes to an `OpUnreachable` that none of the kernel's comes to
//!
//! # Refuses
//! - images, addresses, built-ins other than the ids and counts of a dispatch and those of sub-groups
//! - sub-group operations where nothing is known of the sub-groups
//! - barriers behind a condition that other invocations cannot compute

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, Scope, SelectionControl, StorageClass};
use smallvec::SmallVec;

use super::built_ins::BuiltIns;
use super::free::VIRTUAL;
use super::order::line_of;
use super::wrap::copied;
use super::writer::Result;
use crate::frontend::{defs::Defs, is_subgroup_builtin};
use crate::ir::entity::{Construct, Func, Inst, Place, Region, SecondaryMap, Value};
use crate::ir::{
    Builder, ConstData, ConstKind, ConstructKind, Def, End, Function, Module, Node, Operation, Root,
    TypeKind, ValueData,
};
use crate::kernel::Specialized;

/// What keeps a kernel from having larger work-groups, if anything does that is known without its code.
pub(crate) fn why_not_padded(kernel: &Specialized) -> Option<&'static str> {
    let interface = &kernel.interface;
    let is_known = |builtin: &BuiltIn| {
        VIRTUAL.contains(builtin) || *builtin == BuiltIn::NumWorkgroups || is_subgroup_builtin(*builtin)
    };
    if kernel.normal.is_err() {
        Some("no normal form")
    } else if interface.uses_device_addresses {
        Some("device addresses")
    } else if interface.has_images() {
        Some("images")
    } else if !interface.builtins.iter().all(is_known) {
        Some("built-ins other than its ids")
    } else {
        None
    }
}

/// Whether it matters to a kernel which invocations are a sub-group.
pub(crate) fn knows_subgroups(kernel: &Specialized) -> bool {
    let waits = || {
        let Ok(normal) = &kernel.normal else { return true };
        let defs = Defs::new(&normal.module);
        let mut barriers =
            normal.module.all_inst_iter().filter(|inst| inst.class.opcode == Op::ControlBarrier);
        let scope = |inst: &Instruction| inst.operands.first().and_then(Operand::id_ref_any);
        barriers.any(|inst| scope(inst).and_then(|id| defs.constant(id)) != Some(Scope::Workgroup as u64))
    };
    kernel.interface.has_subgroup_ops || kernel.interface.has_barrier && waits()
}

/// The kernel with work-groups of this local size; `lanes` is the size of its sub-groups, if it knows of these.
pub(super) fn pad(kernel: &Specialized, local: [u32; 3], lanes: Option<u32>) -> Result<Module> {
    if lanes.is_none() && knows_subgroups(kernel) {
        return Err("sub-group operations");
    }
    let (mut module, func) = copied(kernel)?;
    let own = kernel.interface.local_size;
    let [count, room] = [own, local].map(|size| size.iter().product::<u32>());
    if count > room {
        return Err("a work-group without room for it");
    }
    let mut ids = BuiltIns::of(&module);
    let body = module.functions[func].body;
    let mut code = Builder::new(&mut module, func);
    let index = match line_of(local) {
        Some(dim) => code.component(BuiltIn::LocalInvocationId, dim as u32),
        None => {
            let [x, y, z] = code.components(BuiltIn::LocalInvocationId);
            let line = code.linear(z, local[1], y);
            code.linear(line, local[0], x)
        }
    };
    let groups = code.components(BuiltIn::WorkgroupId);
    let zero = code.word(0);
    let mut inside = [zero; 3];
    code.split_index(index, &mut inside, own);
    let global = std::array::from_fn(|d| match own[d] {
        1 => groups[d],
        size => code.linear(groups[d], size, inside[d]),
    });
    ids.set(BuiltIn::WorkgroupId, groups);
    ids.set(BuiltIn::LocalInvocationId, inside);
    ids.set(BuiltIn::LocalInvocationIndex, [index, zero, zero]);
    ids.set(BuiltIn::GlobalInvocationId, global);
    if let Some(size) = lanes {
        let [size, several] = [size, count.div_ceil(size)].map(|number| code.word(number));
        ids.set(BuiltIn::SubgroupSize, [size, zero, zero]);
        if !mutant!(IdleSubgroupsCount) {
            ids.set(BuiltIn::NumSubgroups, [several, zero, zero]);
        }
    }
    let limit = code.word(count);
    let active = code.test(Op::ULessThan, index, limit);
    let head = std::mem::take(&mut code.nodes);
    ids.replace(&mut module, func, body)?;
    if count < room && !mutant!(OthersAreActive) {
        Masked::new(&mut module, func, (active, &head)).run()?;
    }
    module.functions[func].regions[body].nodes.splice(0..0, head);
    module.set_local_size(local);
    Ok(module)
}

/// A function whose code is being put into selections.
struct Masked<'m> {
    module: &'m mut Module,
    func: Func,
    /// Whether an invocation is one of the kernel's.
    active: Value,
    /// Values that decide about barriers: all invocations compute them, and they are the same to all.
    needed: SecondaryMap<Value, bool>,
    /// Values that all invocations compute.
    common: SecondaryMap<Value, bool>,
    /// How many uses each value has.
    uses: SecondaryMap<Value, u32>,
}

impl<'m> Masked<'m> {
    /// `head` is what stands in front of the code.
    fn new(module: &'m mut Module, func: Func, (active, head): (Value, &[Node])) -> Self {
        let f = &module.functions[func];
        let (mut common, mut uses) = (SecondaryMap::of(&f.values), SecondaryMap::of(&f.values));
        for region in f.regions_in(f.body) {
            count(f, region, &mut |value| uses[value] += 1);
        }
        let results = head.iter().filter_map(|node| match *node {
            Node::Inst(inst) => f.insts[inst].result,
            Node::Construct(_) => None,
        });
        results.for_each(|result| common[result] = true);
        Self { module, func, active, needed: SecondaryMap::default(), common, uses }
    }

    fn f(&self) -> &Function {
        &self.module.functions[self.func]
    }

    fn run(mut self) -> Result<()> {
        let body = self.f().body;
        // Conditions are found before anything is moved.
        self.decide(body, false)?;
        self.region(body, false)
    }

    /// Whether all invocations have to enter a construct: there is a barrier in it, or it may lead past one. `later` says whether there is a barrier behind it.
    fn is_common(&self, construct: Construct, later: bool) -> bool {
        self.has_barrier(&[Node::Construct(construct)]) || later && !self.f().always_ends(construct)
    }

    /// Whether a barrier is executed in one of these nodes.
    fn has_barrier(&self, nodes: &[Node]) -> bool {
        let f = self.f();
        nodes.iter().any(|node| match *node {
            Node::Inst(_) => is_barrier(f, node),
            Node::Construct(one) => {
                f.inside(one).iter().flat_map(|&one| &f.regions[one].nodes).any(|node| is_barrier(f, node))
            }
        })
    }

    /// Finds what decides about barriers in a region that all invocations enter.
    fn decide(&mut self, region: Region, after: bool) -> Result<()> {
        let nodes = self.f().regions[region].nodes.clone();
        for (number, node) in nodes.iter().enumerate() {
            let Node::Construct(construct) = *node else { continue };
            let later = after || self.has_barrier(&nodes[number + 1..]);
            if !self.is_common(construct, later) {
                continue;
            }
            let kind = self.f().constructs[construct].kind.clone();
            let later = later || matches!(kind, ConstructKind::Loop { .. });
            match &kind {
                ConstructKind::If { condition, .. } => self.need(*condition)?,
                ConstructKind::Switch { selector, .. } => self.need(*selector)?,
                ConstructKind::Loop { continuing, .. } => {
                    if let End::Repeat { until: Some(until), .. } = &self.f().regions[*continuing].end {
                        self.need(until.condition)?;
                    }
                }
            }
            kind.regions().into_iter().try_for_each(|one| self.decide(one, later))?;
        }
        Ok(())
    }

    /// Notes that all invocations compute a value.
    fn need(&mut self, value: Value) -> Result<()> {
        const UNKNOWN: &str =
            "a barrier behind a condition of more than constants, push constants and work-group ids";
        if std::mem::replace(&mut self.needed[value], true) {
            return Ok(());
        }
        let f = self.f();
        let needed: Vec<Value> = match f.values[value].def {
            Def::Const(_) => Vec::new(),
            Def::Inst(inst) => match &f.insts[inst].operation {
                Operation::Pure { args, .. } | Operation::Ext { args, pure: true, .. } => args.to_vec(),
                Operation::Load { place, access }
                    if !access.is_volatile() && self.is_constant(f.places[*place].root) =>
                {
                    f.places[*place].path.to_vec()
                }
                _ => return Err(UNKNOWN),
            },
            Def::Region(region, at) => ways_to(f, region, at as usize),
            Def::Result(construct, at) => ways_out(f, construct, at as usize),
            Def::Address(_) | Def::Param(_) => return Err(UNKNOWN),
        };
        needed.into_iter().try_for_each(|one| self.need(one))
    }

    /// Whether a variable is the same to all invocations of a work-group.
    fn is_constant(&self, root: Root) -> bool {
        let Root::Global(global) = root else { return false };
        let built_in = match self.module.decoration(global, Decoration::BuiltIn) {
            Some([Operand::BuiltIn(built_in)]) => Some(*built_in),
            _ => None,
        };
        match self.module.globals[global].class {
            StorageClass::PushConstant => true,
            StorageClass::Input => matches!(built_in, Some(BuiltIn::WorkgroupId | BuiltIn::NumWorkgroups)),
            _ => false,
        }
    }

    /// Puts the code of a region that all invocations enter into selections, between what all of them execute.
    fn region(&mut self, region: Region, after: bool) -> Result<()> {
        let nodes = std::mem::take(&mut self.module.functions[self.func].regions[region].nodes);
        let (mut done, mut own): (Vec<Node>, Vec<Node>) = (Vec::new(), Vec::new());
        for (number, &node) in nodes.iter().enumerate() {
            match node {
                // What it takes is common, too, and stands before it.
                Node::Inst(inst) if self.is_for_all(inst) => done.push(node),
                Node::Inst(_) if is_barrier(self.f(), &node) => {
                    self.mask(&mut own, &mut done)?;
                    done.push(node);
                }
                Node::Inst(_) => own.push(node),
                Node::Construct(construct) => {
                    let later = after || self.has_barrier(&nodes[number + 1..]);
                    if !self.is_common(construct, later) {
                        if self.f().constructs[construct].results.iter().any(|&one| self.needed[one]) {
                            return Err("a barrier behind a condition that branches decide");
                        }
                        own.push(node);
                        continue;
                    }
                    self.mask(&mut own, &mut done)?;
                    done.push(node);
                    let kind = &self.f().constructs[construct].kind;
                    let (regions, is_loop) = (kind.regions(), matches!(kind, ConstructKind::Loop { .. }));
                    regions.into_iter().try_for_each(|one| self.region(one, later || is_loop))?;
                }
            }
        }
        let is_left = !own.is_empty() && self.f().regions[region].end == End::Unreachable;
        self.mask(&mut own, &mut done)?;
        let data = &mut self.module.functions[self.func].regions[region];
        data.nodes = done;
        // The kernel's invocations leave from inside of a selection. The others come to the end of the region.
        if is_left && !mutant!(OthersAreUnreachable) {
            if after {
                return Err("a barrier behind code without an end");
            }
            data.end = End::Return(None);
        }
        Ok(())
    }

    /// Whether all invocations compute what an instruction gives: it is needed for a barrier, or follows from what all have.
    fn is_for_all(&mut self, inst: Inst) -> bool {
        let f = self.f();
        let Some(result) = f.insts[inst].result else { return false };
        let has = |value: &Value| {
            self.common[*value] || self.needed[*value] || matches!(f.values[*value].def, Def::Const(_))
        };
        let is_for_all = self.needed[result]
            || match &f.insts[inst].operation {
                Operation::Pure { op, args, .. } => args.iter().all(has) && self.is_defined(*op, args),
                Operation::Ext { args, pure: true, .. } => args.iter().all(has),
                Operation::Load { place, access } => {
                    let place = &f.places[*place];
                    !access.is_volatile() && self.is_constant(place.root) && place.path.iter().all(has)
                }
                _ => false,
            };
        self.common[result] = is_for_all;
        is_for_all
    }

    /// Whether an operation has a result for all operands. A division by zero has none, nor has that of the least integer by -1.
    fn is_defined(&self, op: Op, args: &[Value]) -> bool {
        if !matches!(op, Op::UDiv | Op::SDiv | Op::UMod | Op::SRem | Op::SMod) {
            return true;
        }
        let by = args.get(1).and_then(|&by| self.f().number(self.module, by));
        by.is_some_and(|by| by != 0 && by != u32::MAX)
    }

    /// Puts nodes into a selection, whose results are the values that are used behind it.
    fn mask(&mut self, own: &mut Vec<Node>, done: &mut Vec<Node>) -> Result<()> {
        let nodes = std::mem::take(own);
        if nodes.is_empty() {
            return Ok(());
        }
        let f = self.f();
        let mut made: Vec<Value> = Vec::new();
        for &node in &nodes {
            match node {
                Node::Inst(inst) => made.extend(f.insts[inst].result),
                Node::Construct(construct) => made.extend(&f.constructs[construct].results),
            }
        }
        let mut code = Builder::new(self.module, self.func);
        let sides @ [inside, outside] = [code.function().region(), code.function().region()];
        let construct = code.select(self.active, sides, Some(SelectionControl::NONE));
        code.function().regions[inside].nodes = nodes;
        let f = code.f();
        let mut here: SecondaryMap<Value, u32> = SecondaryMap::of(&f.values);
        for region in f.regions_in(inside) {
            count(f, region, &mut |value| here[value] += 1);
        }
        made.retain(|&value| self.uses[value] > here[value]);
        let mut renamed = SecondaryMap::of(&f.values);
        let (mut kept, mut idle) = (SmallVec::new(), SmallVec::new());
        for &value in &made {
            let data = code.f().values[value];
            if !is_plain(code.module.types.kind(data.ty)) {
                return Err("an address or a handle that is used behind a barrier");
            }
            let null =
                code.module.constant(ConstData { ty: data.ty, kind: ConstKind::Null, decorations: None });
            idle.push(code.function().constant(null, data.ty));
            // The value is the result from now on, and what is made inside is another one.
            let f = code.function();
            let other = f.values.push(data);
            match data.def {
                Def::Inst(inst) => f.insts[inst].result = Some(other),
                Def::Result(one, at) => f.constructs[one].results[at as usize] = other,
                _ => return Err("a value of no instruction"),
            }
            let results = &mut f.constructs[construct].results;
            let def = Def::Result(construct, results.len() as u32);
            results.push(value);
            f.values[value] = ValueData { def, decorations: None, ..data };
            renamed[value] = Some(other);
            kept.push(other);
        }
        let f = code.function();
        rename(f, inside, &renamed);
        for (region, args) in [(inside, kept), (outside, idle)] {
            f.regions[region].end = End::Exit { to: construct, args };
        }
        done.push(Node::Construct(construct));
        Ok(())
    }
}

/// Whether a node is a barrier at which all invocations wait. Sub-groups do what a work-group of them does, or nothing, so theirs are operations as others.
fn is_barrier(f: &Function, node: &Node) -> bool {
    let Node::Inst(inst) = *node else { return false };
    matches!(f.insts[inst].operation, Operation::Barrier { execution: Some(scope), .. } if scope != Scope::Subgroup)
}

/// Whether a value of a type may be a result of a construct, and be null.
fn is_plain(kind: &TypeKind) -> bool {
    use TypeKind as Kind;
    matches!(
        kind,
        Kind::Bool
            | Kind::Int { .. }
            | Kind::Float { .. }
            | Kind::Vector { .. }
            | Kind::Matrix { .. }
            | Kind::Array { .. }
            | Kind::Struct { .. }
    )
}

/// Calls `add` on each value that the nodes and the end of a region take, not of the regions inside.
fn count(f: &Function, region: Region, add: &mut impl FnMut(Value)) {
    let data = &f.regions[region];
    for &node in &data.nodes {
        match node {
            Node::Inst(inst) => {
                let operation = &f.insts[inst].operation;
                let addresses = operation.values().filter_map(|value| match f.values[value].def {
                    Def::Address(place) => Some(place),
                    _ => None,
                });
                for place in operation.place().into_iter().chain(addresses) {
                    place_values(f, place).for_each(&mut *add);
                }
                operation.values().for_each(&mut *add);
            }
            Node::Construct(construct) => {
                f.constructs[construct].kind.values().into_iter().for_each(&mut *add)
            }
        }
    }
    data.end.values().for_each(add);
}

/// The values that a place is made of.
fn place_values(f: &Function, place: Place) -> impl Iterator<Item = Value> + '_ {
    let data = &f.places[place];
    let root = match data.root {
        Root::Pointer(pointer) => Some(pointer),
        Root::Global(_) | Root::Local(_) => None,
    };
    data.path.iter().copied().chain(root)
}

/// Puts values in the place of others in a region and in those inside. Places that are made of them are new ones there.
fn rename(f: &mut Function, region: Region, by: &SecondaryMap<Value, Option<Value>>) {
    let change = |value: &mut Value| *value = by[*value].unwrap_or(*value);
    for region in f.regions_in(region) {
        for node in f.regions[region].nodes.clone() {
            match node {
                Node::Inst(inst) => {
                    let mut operation = f.insts[inst].operation.clone();
                    if let Some(place) = operation.place_mut() {
                        *place = place_of(f, *place, by);
                    }
                    operation.change_values(|value| {
                        change(value);
                        if let Def::Address(place) = f.values[*value].def {
                            let place = place_of(f, place, by);
                            *value = f.address(place);
                        }
                    });
                    f.insts[inst].operation = operation;
                }
                Node::Construct(construct) => f.constructs[construct].kind.change_values(change),
            }
        }
        f.regions[region].end.change_values(change);
    }
}

/// A place with values in the place of others.
fn place_of(f: &mut Function, place: Place, by: &SecondaryMap<Value, Option<Value>>) -> Place {
    if !place_values(f, place).any(|value| by[value].is_some()) {
        return place;
    }
    let mut data = f.places[place].clone();
    let change = |value: &mut Value| *value = by[*value].unwrap_or(*value);
    data.path.iter_mut().for_each(change);
    if let Root::Pointer(pointer) = &mut data.root {
        change(pointer);
    }
    f.places.push(data)
}

/// What the ways into a region give one of its parameters.
fn ways_to(f: &Function, region: Region, at: usize) -> Vec<Value> {
    let mut found = Vec::new();
    let ends = |found: &mut Vec<Value>, is_way: &dyn Fn(&End) -> Option<Value>| {
        found.extend(f.regions_in(f.body).into_iter().filter_map(|one| is_way(&f.regions[one].end)));
    };
    for construct in f.constructs_in(f.body) {
        match &f.constructs[construct].kind {
            ConstructKind::Loop { args, body, continuing, .. } if *body == region => {
                found.push(args[at]);
                if let End::Repeat { args, .. } = &f.regions[*continuing].end {
                    found.push(args[at]);
                }
            }
            ConstructKind::Loop { continuing, .. } if *continuing == region => {
                ends(&mut found, &|end| match end {
                    End::Continue { to, args } if *to == construct => Some(args[at]),
                    _ => None,
                })
            }
            ConstructKind::Switch { cases, .. } => {
                let Some(case) = cases.iter().find(|case| case.region == region) else { continue };
                found.push(case.args[at]);
                ends(&mut found, &|end| match end {
                    End::Fall { to, args } if *to == region => Some(args[at]),
                    _ => None,
                });
            }
            _ => {}
        }
    }
    found
}

/// What the ways out of a construct give one of its results.
fn ways_out(f: &Function, construct: Construct, at: usize) -> Vec<Value> {
    let mut found = Vec::new();
    for region in f.inside(construct) {
        match &f.regions[region].end {
            End::Exit { to, args } if *to == construct => found.push(args[at]),
            End::Repeat { until: Some(until), .. } => {
                let kind = &f.constructs[construct].kind;
                if matches!(kind, ConstructKind::Loop { continuing, .. } if *continuing == region) {
                    found.push(until.args[at]);
                }
            }
            _ => {}
        }
    }
    found
}
