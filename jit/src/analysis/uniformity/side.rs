//! Along which dimension work-groups that compute tiles are best coarsened.
//!
//! What varies along a side is loaded from shared memory once for each work-group, all else once for all of them. Neighbours in a work-group that load one element
//! need a part of the width of shared memory, and four elements in a row come in one access.

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Module, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use super::shared::{leads_on, roots};
use super::{Globals, Manner, Sides, manners};
use crate::analysis::cfg::Cfg;

/// What a load costs whose place is another for each invocation of a row, and one whose place is the same.
const APART: u32 = 4;
const TOGETHER: u32 = 1;

/// By dimension in which work-groups may follow each other: what loads of shared memory cost that vary, in loops in loops.
pub(crate) fn loads_by_side(module: &Module) -> [u32; 3] {
    let Some(function) = module.functions.first() else { return [0; 3] };
    let shared = roots(&module.functions, &Globals::of_module(module));
    let cfg = Cfg::new(function);
    let deep = function.blocks.iter().enumerate().filter(|(number, _)| cfg.loop_depth(*number) > 1);
    let loads: Vec<(Word, Word)> = deep
        .flat_map(|(_, block)| &block.instructions)
        .filter(|inst| inst.class.opcode == Op::Load)
        .filter_map(|inst| Some((inst.operands.first()?.id_ref_any()?, inst.result_id?)))
        .filter(|(place, _)| shared.contains_key(place))
        .collect();
    if loads.is_empty() {
        return [0; 3];
    }
    let Some(own) = varying(module, Sides::Invocations) else { return [0; 3] };
    [0, 1, 2].map(|axis| {
        let Some(varying) = varying(module, Sides::GroupsAlong(axis)) else { return u32::MAX };
        let loads = loads.iter().filter(|(_, result)| varying.contains(result));
        loads.map(|(place, _)| if own.contains(place) { APART } else { TOGETHER }).sum()
    })
}

/// What varies, if all of the kernel can be jammed. Buffers that the kernel does not write are taken for buffers that nobody does.
fn varying(module: &Module, sides: Sides) -> Option<AHashSet<Word>> {
    let mut globals = Globals::of(module.types_global_values.iter(), module.annotations.iter(), sides);
    globals.frozen = unwritten(module);
    let function = module.functions.first()?.def_id()?;
    match manners(&module.functions, &mut globals).ok()?.of.remove(&function)? {
        Manner::Together { varying, .. } => Some(varying),
        Manner::InTurn => None,
    }
}

/// Storage buffers that a module only loads from.
fn unwritten(module: &Module) -> AHashSet<Word> {
    let class = Operand::StorageClass(StorageClass::StorageBuffer);
    let variables = module.types_global_values.iter().filter(|inst| inst.class.opcode == Op::Variable);
    let mut unwritten: AHashSet<Word> = variables
        .filter(|inst| inst.operands.first() == Some(&class))
        .filter_map(|inst| inst.result_id)
        .collect();
    let mut pointers: AHashMap<Word, Word> = unwritten.iter().map(|&id| (id, id)).collect();
    for inst in module.functions.iter().flat_map(Function::all_inst_iter) {
        let Some(first) = inst.operands.first().and_then(Operand::id_ref_any) else { continue };
        let Some(&root) = pointers.get(&first) else { continue };
        match inst.result_id {
            Some(id) if leads_on(inst) => {
                pointers.insert(id, root);
            }
            _ if matches!(inst.class.opcode, Op::Load | Op::ArrayLength) => {}
            _ => {
                unwritten.remove(&root);
            }
        }
    }
    unwritten
}
