//! Kernels that store several elements one after another in the same way, as unrolled loops do.
//!
//! The value, place and conditions of a store are a computation; those of all stores are compared operand by
//! operand ([`Alike`]). They may differ in constants only, and these in equal steps: in the kernel that is made here, the number of
//! the store times the step takes their place.
//!
//! # Requires
//! - a kernel without loops
//!
//! # Guarantees
//! - each store is done under its own conditions, of what its own loads find
//! - each load, and each division, is one that the kernel does whenever it does the store; no condition loads from a buffer
//!
//! # Refuses
//! - several stores an element, control flow that merges (except where it only chooses between available values), constants that do not differ in
//!   equal steps, floats that differ

use rspirv::spirv::SelectionControl;

use super::alike::{Alike, Home};
use super::looped::MOST_ROUNDS;
use crate::analysis::access::AccessKind;
use crate::frontend::fold_returns;
use crate::ir::entity::{Func, Inst, Place, Region, Value};
use crate::ir::{Access, Builder, ConstructKind, End, Function, Module, Node, Operation, Tree};
use crate::kernel::NormalKernel;
use crate::rewrite::writer::Result;

/// A side of a selection that leads to a store.
#[derive(Clone, Copy, PartialEq)]
struct Edge {
    /// The region that the selection stands in.
    home: Region,
    condition: Value,
    taken: bool,
}

/// The stores of a kernel, and the sides of selections that lead to each of them.
pub(in crate::rewrite) struct Stores {
    /// The module, in which selections are all that decides what is done.
    pub(super) module: Module,
    pub(super) func: Func,
    /// In program order.
    at: Vec<(Region, Inst)>,
    /// Sides that a store has for itself, after those that all have in common.
    own: Vec<Vec<Edge>>,
    common: Vec<Edge>,
    /// A store is behind the sides of all before it.
    pub(super) must_last: bool,
}

impl Stores {
    pub(super) fn of(normal: &NormalKernel, module: &Module, func: Func) -> Result<Self> {
        let writes = normal.analysis.accesses.iter().filter(|access| access.kind != AccessKind::Read).count();
        let stores = |f: &Function| {
            let is = |&inst: &Inst| matches!(f.insts[inst].operation, Operation::Store { .. });
            f.insts_in(f.body).into_iter().filter(is).count()
        };
        if !(2..=MOST_ROUNDS as usize).contains(&writes) || stores(&module.functions[func]) != writes {
            return Err("no loop, and no stores like one");
        }
        let mut module = module.clone();
        fold_returns(&mut module, func);
        let f = &module.functions[func];
        let tree = Tree::of(f);
        if f.regions_in(f.body).into_iter().any(|region| leaves(f, &tree, region))
            && !mutant!(StoresAreReached)
        {
            return Err("stores behind branches that are not followed");
        }
        let (mut at, mut guards) = (Vec::new(), Vec::new());
        let mut found = Vec::new();
        in_order(f, f.body, &mut found);
        for (region, inst) in found {
            let Operation::Store { access, .. } = f.insts[inst].operation else { continue };
            if !access.is_plain() {
                return Err("a store that is volatile");
            }
            at.push((region, inst));
            guards.push(edges(f, &tree, region)?);
        }
        let lengths: Vec<usize> = guards.iter().map(Vec::len).collect();
        let (first, more) = (lengths[0], lengths[1] as isize - lengths[0] as isize);
        // Each has as many for itself, behind all of those before.
        let nests = guards.windows(2).all(|pair| {
            more > 0
                && pair[1].len() as isize - pair[0].len() as isize == more
                && pair[1].starts_with(&pair[0])
        });
        let common = if nests {
            first.checked_sub(more as usize).ok_or("stores that have other conditions")?
        } else if lengths.iter().all(|&length| length == first) {
            let same = |n: &usize| guards.iter().all(|edges| edges[*n] == guards[0][*n]);
            (0..first).take_while(same).count()
        } else {
            return Err("stores that have other conditions");
        };
        let count = first - common;
        let own = guards.iter().map(|edges| edges[edges.len() - count..].to_vec()).collect();
        let common = guards[0][..common].to_vec();
        Ok(Self { module, func, at, own, common, must_last: nests })
    }

    pub(super) fn count(&self) -> u32 {
        let count = self.at.len() as u32;
        count - u32::from(mutant!(RoundsAreFewer))
    }

    /// Has the body of the function do the store of a number.
    pub(super) fn apart(&self, module: &mut Module, round: Value) -> Result<()> {
        let mut alike = Alike::new(Builder::new(module, self.func), round);
        let common = self.common.iter().map(|edge| (vec![edge; self.at.len()], false));
        let own =
            (0..self.own[0].len()).map(|n| (self.own.iter().map(|own| &own[n]).collect::<Vec<_>>(), true));
        for (edges, is_own) in common.chain(own) {
            let taken = edges[0].taken;
            if edges.iter().any(|edge| edge.taken != taken) {
                return Err("stores that have other conditions");
            }
            alike.home = Home {
                regions: edges.iter().map(|edge| edge.home).collect(),
                is_condition: true,
                // A condition is asked here in rounds that the kernel does not come to.
                divides: !(is_own && self.must_last),
            };
            let conditions: Vec<Value> = edges.iter().map(|edge| edge.condition).collect();
            let condition = alike.value(&conditions, 0)?;
            let [accept, reject] = alike.code.branch(condition, Some(SelectionControl::NONE));
            let out = if taken { reject } else { accept };
            alike.code.function().regions[out].end = End::Return(None);
        }
        let regions = self.at.iter().map(|&(region, _)| region).collect();
        alike.home = Home { regions, is_condition: false, divides: true };
        let f = alike.code.f();
        let stores = self.at.iter().filter_map(|&(_, inst)| match f.insts[inst].operation {
            Operation::Store { place, value, .. } => Some((place, value)),
            _ => None,
        });
        let (places, values): (Vec<Place>, Vec<Value>) = stores.unzip();
        let (place, value) = (alike.place(&places, 0)?, alike.value(&values, 0)?);
        let mut code = alike.code;
        let store = Operation::Store { place, value, access: Access::default() };
        let (store, _) = code.function().inst(store, None, None);
        code.nodes.push(Node::Inst(store));
        code.function().enclose();
        code.begin();
        Ok(())
    }
}

/// The instructions of a region and of those nested there, in program order.
fn in_order(f: &Function, region: Region, found: &mut Vec<(Region, Inst)>) {
    for node in &f.regions[region].nodes {
        match *node {
            Node::Inst(inst) => found.push((region, inst)),
            Node::Construct(construct) => {
                let regions = f.constructs[construct].kind.regions();
                regions.into_iter().for_each(|region| in_order(f, region, found));
            }
        }
    }
}

/// Whether a region ends in something else than its construct, or a switch, does: what stands behind that is not done whenever control comes to
/// the construct.
fn leaves(f: &Function, tree: &Tree, region: Region) -> bool {
    let own = tree.parent(region).map(|(_, own)| own);
    match f.regions[region].end {
        End::Exit { to, .. } => own != Some(to) && matches!(f.constructs[to].kind, ConstructKind::If { .. }),
        End::Return(_) => own.is_some(),
        End::Terminate(_) => true,
        _ => false,
    }
}

/// The sides of selections around a region, outermost first, if nothing else decides whether control comes there.
fn edges(f: &Function, tree: &Tree, region: Region) -> Result<Vec<Edge>> {
    let mut found = Vec::new();
    let mut inner = region;
    while let Some((home, construct)) = tree.parent(inner) {
        let ConstructKind::If { condition, accept, .. } = f.constructs[construct].kind else {
            return Err("stores behind branches that are not followed");
        };
        found.push(Edge { home, condition, taken: accept == inner });
        inner = home;
    }
    found.reverse();
    Ok(found)
}
