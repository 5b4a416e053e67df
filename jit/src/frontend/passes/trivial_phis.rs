//! Removes phis that choose between a value and themselves.
//!
//! spirv-opt's SSA rewrite leaves phis at the headers of nested loops for values that do not change there: `phi(x, self)`, or several
//! that pass one value around. To the analysis each would be a value that loops may change.
//!
//! # Requires
//! - one function in SSA
//!
//! # Guarantees
//! - no phi, and no set of phis that refer to one another, has a single value besides themselves
//!
//! # Leaves alone
//! - phis with an undefined input, which may be anything

use ahash::AHashMap;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::Op;

/// Runs to a fixed point.
pub(in crate::frontend) fn run(module: &mut Module) {
    loop {
        let values = values(module);
        if values.is_empty() {
            return;
        }
        replace(module, &values);
    }
}

/// The value of each trivial phi.
///
/// Optimistically: a phi has the value that its inputs have in common, as far as they are known to have one, until two of them
/// differ. That value comes in over every edge from outside of the phis that have it, so its definition dominates all of them.
fn values(module: &Module) -> AHashMap<u32, u32> {
    let phis: Vec<(u32, Vec<u32>)> = module
        .functions
        .iter()
        .flat_map(|function| function.all_inst_iter())
        .filter(|inst| inst.class.opcode == Op::Phi)
        .filter_map(|inst| Some((inst.result_id?, inputs(inst))))
        .collect();
    let mut known: AHashMap<u32, Option<u32>> = phis.iter().map(|(id, _)| (*id, None)).collect();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (id, inputs) in &phis {
            if known[id] == Some(*id) {
                continue;
            }
            let mut common = None;
            for &input in inputs {
                let value = known.get(&input).copied().unwrap_or(Some(input));
                let Some(value) = value.filter(|value| value != id) else { continue };
                if common.replace(value).is_some_and(|other| other != value) {
                    common = Some(*id);
                    break;
                }
            }
            // One that had another value before is followed no further.
            let value = match (known[id], common) {
                (Some(before), Some(now)) if before != now => Some(*id),
                (before, now) => now.or(before),
            };
            if known[id] != value {
                known.insert(*id, value);
                changed = true;
            }
        }
    }
    known.into_iter().filter_map(|(id, value)| Some((id, value.filter(|&value| value != id)?))).collect()
}

fn inputs(phi: &Instruction) -> Vec<u32> {
    phi.operands.iter().step_by(2).filter_map(Operand::id_ref_any).collect()
}

fn replace(module: &mut Module, values: &AHashMap<u32, u32>) {
    for block in module.functions.iter_mut().flat_map(|function| &mut function.blocks) {
        block.instructions.retain(|inst| !inst.result_id.is_some_and(|id| values.contains_key(&id)));
        for inst in &mut block.instructions {
            for id in inst.operands.iter_mut().filter_map(Operand::id_ref_any_mut) {
                if let Some(&value) = values.get(id) {
                    *id = value;
                }
            }
        }
    }
    module.annotations.retain(|inst| {
        let target = inst.operands.first().and_then(Operand::id_ref_any);
        !target.is_some_and(|id| values.contains_key(&id))
    });
}
