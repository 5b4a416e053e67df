//! Puts every type behind those it is made of.
//!
//! # Requires
//! - nothing
//!
//! # Guarantees
//! - no `OpTypeForwardPointer`; every global stands behind what it names
//!
//! # Refuses
//! - types that are made of themselves
//!
//! # Leaves alone
//! - modules that announce no type

use ahash::AHashMap;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::Op;

use crate::frontend::reason::KernelReason;

/// Puts every type behind those it is made of, so that none has to be announced.
pub(in crate::frontend) fn run(module: &mut Module) -> Result<(), KernelReason> {
    if !module.types_global_values.iter().any(|inst| inst.class.opcode == Op::TypeForwardPointer) {
        return Ok(());
    }
    sort(module)
}

/// Puts every global behind what it names, and leaves those that are there already where they are to each other.
pub(in crate::frontend) fn sort(module: &mut Module) -> Result<(), KernelReason> {
    let mut globals: Vec<Option<Instruction>> = module.types_global_values.drain(..).map(Some).collect();
    let numbered = globals.iter().flatten().enumerate();
    let at: AHashMap<u32, usize> =
        numbered.filter_map(|(number, inst)| Some((inst.result_id?, number))).collect();
    // Depth first: what is open when it is met again is made of itself.
    let mut open = vec![false; globals.len()];
    let mut stack: Vec<usize> = (0..globals.len()).rev().collect();
    while let Some(&top) = stack.last() {
        let Some(inst) = globals[top].as_ref().filter(|i| i.class.opcode != Op::TypeForwardPointer) else {
            stack.pop();
            continue;
        };
        let parts = inst.result_type.into_iter().chain(inst.operands.iter().filter_map(Operand::id_ref_any));
        let missing: Vec<usize> =
            parts.filter_map(|id| at.get(&id).copied()).filter(|&part| globals[part].is_some()).collect();
        if missing.is_empty() {
            stack.pop();
            module.types_global_values.extend(globals[top].take());
        } else if missing.iter().any(|&part| open[part]) || open[top] {
            return Err(KernelReason::RecursivePointers);
        } else {
            open[top] = true;
            stack.extend(missing);
        }
    }
    Ok(())
}
