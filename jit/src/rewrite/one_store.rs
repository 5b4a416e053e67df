//! Makes one store of several, if each item does one of them.
//!
//! Libraries write a kernel for one, two and three dimensions at once, and store on both sides of a branch: `if (inside) z[i] = a[j]; else
//! z[i] = v;`. With the numbers of a call one way is left of the branches on push constants alone; and where both sides of a selection end in
//! a store to one place, the store comes behind them.
//!
//! # Requires
//! - a kernel in normal form that is free (`free::why_not_free`), and the push constants of a call
//!
//! # Guarantees
//! - with these push constants each item does the loads and the stores that it did, of the same values, in the same order
//! - which ways are taken is all that the result depends on of the push constants
//!
//! # Refuses
//! - places that are not the same by their root and the values of their path; stores with memory operands; a side with something else than
//!   computations behind its store, or with other ways to where both sides meet; values that may not be chosen between

use rspirv::spirv::{Capability, Op, StorageClass};
use smallvec::SmallVec;

use super::quotient::offset_of;
use super::wrap::copied;
use super::writer::Result;
use crate::frontend::{fold_returns, fold_selections};
use crate::ir::entity::{Construct, Entity, Func, Global, Inst, Region, Type, Value};
use crate::ir::{
    Access, Builder, ConstructKind, Def, End, Function, Module, Node, Operation, Root, TypeKind, fold,
};
use crate::kernel::Specialized;

/// Most rounds of deciding branches: a branch may depend on what another one leaves.
const MOST_ROUNDS: usize = 8;
/// How deep conditions are made of values.
const DEEPEST: usize = 16;

/// The kernel with these push constants, and which ways it takes; `None` if that changes nothing.
pub(super) fn one_store(kernel: &Specialized, push: &[u8]) -> Result<Option<(Module, Vec<u8>)>> {
    let (mut module, func) = copied(kernel)?;
    let mut taken = Vec::new();
    for _ in 0..MOST_ROUNDS {
        let decided = decided(&module, func, push);
        if decided.is_empty() {
            break;
        }
        for (construct, is) in decided {
            taken.extend((construct.index() as u32).to_le_bytes());
            taken.push(u8::from(is));
            let truth = Builder::new(&mut module, func).truth(is);
            if let ConstructKind::If { condition, .. } =
                &mut module.functions[func].constructs[construct].kind
            {
                *condition = truth;
            }
        }
        fold_selections(&mut module, func);
    }
    // Sides that return do so behind the store, too.
    fold_returns(&mut module, func);
    let body = module.functions[func].body;
    let joined = join(&mut module, func, body);
    Ok((joined || !taken.is_empty()).then_some((module, taken)))
}

/// Selections whose condition the push constants decide, and what it is.
fn decided(module: &Module, func: Func, push: &[u8]) -> Vec<(Construct, bool)> {
    let f = &module.functions[func];
    let numbers = Numbers { module, func, block: module.push_constants(), push };
    let constructs = f.constructs_in(f.body).into_iter();
    let decided = constructs.filter_map(|construct| {
        let ConstructKind::If { condition, .. } = f.constructs[construct].kind else { return None };
        if f.as_const(condition).is_some() {
            return None;
        }
        let number = numbers.of(condition, 0);
        let number = if mutant!(BranchesAreDecided) { number.or(Some(1)) } else { number };
        Some((construct, number? != 0))
    });
    decided.collect()
}

/// Values that follow from push constants.
struct Numbers<'a> {
    module: &'a Module,
    func: Func,
    block: Option<Global>,
    push: &'a [u8],
}

impl Numbers<'_> {
    /// The word that a value is; of a truth, 0 or 1.
    fn of(&self, value: Value, depth: usize) -> Option<u32> {
        let f = &self.module.functions[self.func];
        let data = &f.values[value];
        if !matches!(self.module.types.kind(data.ty), TypeKind::Bool | TypeKind::Int { width: 32, .. })
            || depth > DEEPEST
        {
            return None;
        }
        match data.def {
            Def::Const(constant) => self.module.word_of(constant),
            Def::Inst(inst) => match &f.insts[inst].operation {
                Operation::Pure { op, args, .. } => {
                    let args = args.iter().map(|&arg| self.of(arg, depth + 1));
                    let args: SmallVec<[u32; 4]> = args.collect::<Option<_>>()?;
                    match (op, args.as_slice()) {
                        (Op::CopyObject | Op::Bitcast, &[number]) => Some(number),
                        (op, args) => fold(*op, args),
                    }
                }
                Operation::Load { place, access } if access.is_plain() => {
                    let at = offset_of(self.module, self.func, self.block?, *place)? as usize;
                    let bytes = self.push.get(at..)?.first_chunk()?;
                    Some(u32::from_le_bytes(*bytes))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// Joins stores in a region and in those inside of it; says whether there were any.
fn join(module: &mut Module, func: Func, region: Region) -> bool {
    let (mut joined, mut at) = (false, 0);
    while let Some(&node) = module.functions[func].regions[region].nodes.get(at) {
        at += 1;
        let Node::Construct(construct) = node else { continue };
        for inner in module.functions[func].constructs[construct].kind.regions() {
            joined |= join(module, func, inner);
        }
        let Some(stores) = pair(module, &module.functions[func], construct) else { continue };
        let store = put_behind(&mut module.functions[func], construct, stores);
        module.functions[func].regions[region].nodes.insert(at, Node::Inst(store));
        joined = true;
    }
    joined
}

/// A store at the end of a side.
struct Last {
    region: Region,
    /// Its place among the nodes.
    at: usize,
    inst: Inst,
    value: Value,
}

/// The stores to one place that both sides of a selection end in.
fn pair(module: &Module, f: &Function, construct: Construct) -> Option<[Last; 2]> {
    let ConstructKind::If { accept, reject, control: Some(_), .. } = f.constructs[construct].kind else {
        return None;
    };
    let comes_back =
        |region: &Region| matches!(f.regions[*region].end, End::Exit { to, .. } if to == construct);
    let ways = f.inside(construct).iter().filter(|region| comes_back(region)).count();
    if ways != 2 || ![accept, reject].iter().all(comes_back) {
        return None;
    }
    let (a, b) = (last(f, accept)?, last(f, reject)?);
    let place = |last: &Last| f.insts[last.inst].operation.place().map(|place| &f.places[place]);
    let (x, y) = (place(&a)?, place(&b)?);
    let Root::Global(global) = x.root else { return None };
    let is_buffer = module.globals[global].class == StorageClass::StorageBuffer;
    let is_one = x == y || mutant!(PlacesAreOne) && x.root == y.root;
    let ty = f.values[a.value].ty;
    let may_be = is_buffer && is_one && f.values[b.value].ty == ty && may_be_chosen(module, ty);
    may_be.then_some([a, b])
}

/// The store of a side behind which the side only computes.
fn last(f: &Function, region: Region) -> Option<Last> {
    let nodes = &f.regions[region].nodes;
    for (at, &node) in nodes.iter().enumerate().rev() {
        let Node::Inst(inst) = node else { return None };
        match f.insts[inst].operation {
            Operation::Store { value, access, .. } if access.is_plain() => {
                return Some(Last { region, at, inst, value });
            }
            Operation::Pure { .. } | Operation::Ext { pure: true, .. } => {}
            _ => return None,
        }
    }
    None
}

/// Whether one of two values of a type can be had of two ways: of narrow ones that are there for storage alone, none can.
fn may_be_chosen(module: &Module, ty: Type) -> bool {
    let has = |capability: Capability| module.capabilities.contains(&capability);
    match *module.types.kind(ty) {
        TypeKind::Vector { element, .. } => may_be_chosen(module, element),
        TypeKind::Int { width: 8, .. } => has(Capability::Int8),
        TypeKind::Int { width: 16, .. } => has(Capability::Int16),
        TypeKind::Float { width: 16 } => has(Capability::Float16),
        TypeKind::Int { width, .. } | TypeKind::Float { width } => width >= 32,
        _ => false,
    }
}

/// Takes both stores out of their sides; returns that which does what they did, of the value that comes from either side.
fn put_behind(f: &mut Function, construct: Construct, stores: [Last; 2]) -> Inst {
    let [first, _] = &stores;
    let (place, ty) = (f.insts[first.inst].operation.place(), f.values[first.value].ty);
    for Last { region, at, value, .. } in stores {
        f.regions[region].nodes.remove(at);
        if let End::Exit { args, .. } = &mut f.regions[region].end {
            args.push(value);
        }
    }
    let value = f.result(construct, ty, None);
    let place = place.expect("invariant: a store has a place");
    f.inst(Operation::Store { place, value, access: Access::default() }, None, None).0
}
