//! Along which dimension work-groups that compute tiles are best coarsened.
//!
//! What varies along a side is loaded from shared memory once for each work-group, all else once for all of them. Neighbours in a work-group that load one element
//! need a part of the width of shared memory, and four elements in a row come in one access.

use ahash::AHashSet;
use rspirv::spirv::StorageClass;

use super::{Globals, Manner, Sides, manners};
use crate::ir::entity::{Global, Place, Region, SecondaryMap, Value};
use crate::ir::{ConstructKind, Def, Function, Module, Node, Operation, Root};

/// What a load costs whose place is another for each invocation of a row, and one whose place is the same.
const APART: u32 = 4;
const TOGETHER: u32 = 1;

/// By dimension in which work-groups may follow each other: what loads of shared memory cost that vary, in loops in loops.
pub(crate) fn loads_by_side(module: &Module) -> [u32; 3] {
    let Some(&func) = module.defined.first() else { return [0; 3] };
    let f = &module.functions[func];
    let mut loads = Vec::new();
    find(module, f, f.body, 0, &mut loads);
    if loads.is_empty() {
        return [0; 3];
    }
    let Some(own) = varying(module, Sides::Invocations) else { return [0; 3] };
    [0, 1, 2].map(|axis| {
        let Some(varying) = varying(module, Sides::GroupsAlong(axis)) else { return u32::MAX };
        let loads = loads.iter().filter(|(_, result)| varying[*result]);
        let differs = |place: Place| f.places[place].path.iter().any(|&index| own[index]);
        loads.map(|(place, _)| if differs(*place) { APART } else { TOGETHER }).sum()
    })
}

/// Loads of shared memory in loops in loops.
fn find(module: &Module, f: &Function, region: Region, depth: u32, found: &mut Vec<(Place, Value)>) {
    for node in &f.regions[region].nodes {
        match *node {
            Node::Inst(inst) => {
                let data = &f.insts[inst];
                if let (Operation::Load { place, .. }, Some(result)) = (&data.operation, data.result)
                    && let Root::Global(root) = f.places[*place].root
                    && module.globals[root].class == StorageClass::Workgroup
                    && depth > 1
                {
                    found.push((*place, result));
                }
            }
            Node::Construct(construct) => {
                let kind = &f.constructs[construct].kind;
                let is_loop = matches!(kind, ConstructKind::Loop { .. });
                for region in kind.regions() {
                    find(module, f, region, depth + u32::from(is_loop), found);
                }
            }
        }
    }
}

/// What varies, if all of the kernel can be jammed. Buffers that the kernel does not write are taken for buffers that nothing does.
fn varying(module: &Module, sides: Sides) -> Option<SecondaryMap<Value, bool>> {
    let mut globals = Globals::of(module, sides);
    globals.frozen = unwritten(module);
    match manners(module, &mut globals).ok()?.remove(module.defined.first()?)? {
        Manner::Together { varying, .. } => Some(varying),
        Manner::InTurn => None,
    }
}

/// Storage buffers that a module only loads from.
fn unwritten(module: &Module) -> AHashSet<Global> {
    let is_buffer = |global: &Global| module.globals[*global].class == StorageClass::StorageBuffer;
    let mut unwritten: AHashSet<Global> = module.declared().filter(is_buffer).collect();
    for &func in &module.defined {
        let f = &module.functions[func];
        let mut note = |place: Place| match f.places[place].root {
            Root::Global(global) => drop(unwritten.remove(&global)),
            Root::Local(_) | Root::Pointer(_) => {}
        };
        for data in f.insts.values() {
            match &data.operation {
                Operation::Load { .. } | Operation::Length { .. } => {}
                operation => operation.place().into_iter().for_each(&mut note),
            }
        }
        for data in f.values.values() {
            if let Def::Address(place) = data.def {
                note(place);
            }
        }
    }
    unwritten
}
