//! Drops what the entry point does not use, and numbers the rest by order of appearance.
//!
//! # Requires
//! - one entry point, no debug information
//!
//! # Guarantees
//! - functions not called, globals not used and their decorations are gone, also from the entry
//!   point's interface
//! - ids run from 1 without gaps, in the order in which they appear: two modules that differ only in
//!   numbering become equal
//!
//! # Leaves alone
//! - instructions inside of functions that are called

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::Op;

/// Prunes and renumbers; returns the new id of each id that is left.
pub(in crate::frontend) fn run(module: &mut Module) -> AHashMap<u32, u32> {
    drop_functions(module);
    let live = live_ids(module);
    module.types_global_values.retain(|inst| match inst.result_id {
        Some(id) => live.contains(&id),
        None => first_id(inst).is_some_and(|id| live.contains(&id)),
    });
    let imports_live = |inst: &Instruction| inst.result_id.is_some_and(|id| live.contains(&id));
    module.ext_inst_imports.retain(imports_live);
    module.annotations.retain(|inst| first_id(inst).is_some_and(|id| live.contains(&id)));
    for entry in &mut module.entry_points {
        let mut index = 0;
        entry.operands.retain(|operand| {
            index += 1;
            // Execution model, function and name come first.
            index <= 3 || operand.id_ref_any().is_some_and(|id| live.contains(&id))
        });
    }
    renumber(module)
}

/// Numbers ids by order of appearance.
pub(in crate::frontend) fn renumber(module: &mut Module) -> AHashMap<u32, u32> {
    let mut new_ids: AHashMap<u32, u32> = AHashMap::new();
    for inst in module.all_inst_iter_mut() {
        let mut renew = |id: &mut u32| {
            let next = new_ids.len() as u32 + 1;
            *id = *new_ids.entry(*id).or_insert(next);
        };
        inst.result_type.iter_mut().for_each(&mut renew);
        inst.result_id.iter_mut().for_each(&mut renew);
        for operand in &mut inst.operands {
            if let Some(id) = operand.id_ref_any_mut() {
                renew(id);
            }
        }
    }
    if let Some(header) = &mut module.header {
        header.bound = new_ids.len() as u32 + 1;
    }
    new_ids
}

fn first_id(inst: &Instruction) -> Option<u32> {
    inst.operands.first().and_then(Operand::id_ref_any)
}

fn drop_functions(module: &mut Module) {
    let mut calls: AHashMap<u32, Vec<u32>> = AHashMap::new();
    for function in &module.functions {
        let callees = function
            .all_inst_iter()
            .filter(|inst| inst.class.opcode == Op::FunctionCall)
            .filter_map(first_id);
        if let Some(id) = function.def_id() {
            calls.insert(id, callees.collect());
        }
    }
    let entry = |inst: &Instruction| inst.operands.get(1).and_then(Operand::id_ref_any);
    let mut queue: Vec<u32> = module.entry_points.iter().filter_map(entry).collect();
    let mut reached = AHashSet::new();
    while let Some(id) = queue.pop() {
        if reached.insert(id) {
            queue.extend(calls.get(&id).into_iter().flatten());
        }
    }
    module.functions.retain(|function| function.def_id().is_some_and(|id| reached.contains(&id)));
}

fn live_ids(module: &Module) -> AHashSet<u32> {
    let mut named: AHashMap<u32, Vec<&Instruction>> = AHashMap::new();
    for inst in &module.types_global_values {
        if let Some(id) = inst.result_id {
            named.entry(id).or_default().push(inst);
        }
    }
    // A decoration is alive with its target, and may name ids itself.
    for inst in &module.annotations {
        if let Some(id) = first_id(inst) {
            named.entry(id).or_default().push(inst);
        }
    }
    let code = module.functions.iter().flat_map(|f| f.all_inst_iter());
    let mut queue: Vec<&Instruction> = code.chain(&module.execution_modes).collect();
    let mut live = AHashSet::new();
    while let Some(inst) = queue.pop() {
        let own = inst.result_type.into_iter().chain(inst.result_id);
        for id in own.chain(inst.operands.iter().filter_map(Operand::id_ref_any)) {
            if live.insert(id) {
                queue.extend(named.get(&id).into_iter().flatten());
            }
        }
    }
    live
}
