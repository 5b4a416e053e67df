//! Refuses what inlining would blow up.
//!
//! # Requires
//! - a specialised, pruned module, before inlining
//!
//! # Guarantees
//! - no function is recursive
//! - with all calls inlined there are at most [`MAX_INSTRUCTIONS`] instructions, where a block and a call count as
//!   several
//!
//! # Leaves alone
//! - everything: this pass only looks

use ahash::AHashMap;
use rspirv::dr::{Function, Module, Operand};
use rspirv::spirv::Op;

use crate::frontend::reason::KernelReason;

/// Beyond this many instructions the passes behind this one take longer than a load may.
const MAX_INSTRUCTIONS: u64 = 30_000;
/// What a block and what a call costs, in instructions.
const WEIGHT: u64 = 8;

/// Counts instructions, weighted, as they will be with every call inlined: a chain of functions that call the
/// next one twice doubles at each step.
pub(in crate::frontend) fn run(module: &Module) -> Result<(), KernelReason> {
    let too_large = |instructions| KernelReason::TooLarge { instructions, limit: MAX_INSTRUCTIONS };
    let functions: AHashMap<u32, &Function> =
        module.functions.iter().filter_map(|function| Some((function.def_id()?, function))).collect();
    let mut sizes: AHashMap<u32, u64> = AHashMap::new();
    // Depth first, callees before callers. A function met again while it is still open is recursive.
    let mut open: Vec<u32> = Vec::new();
    let mut stack: Vec<u32> = entry_id(module).into_iter().collect();
    while let Some(&id) = stack.last() {
        let Some(function) = functions.get(&id) else {
            return Err(KernelReason::Call);
        };
        if open.last() != Some(&id) && !sizes.contains_key(&id) {
            if open.contains(&id) {
                return Err(KernelReason::Call);
            }
            open.push(id);
            let waiting = callees(function).filter(|callee| !sizes.contains_key(callee));
            stack.extend(waiting);
            continue;
        }
        stack.pop();
        if open.last() == Some(&id) {
            open.pop();
            let size = inlined_size(function, &sizes).ok_or(KernelReason::Call)?;
            sizes.insert(id, size);
        }
    }
    let entry = entry_id(module).and_then(|id| sizes.get(&id));
    match entry {
        None => Err(KernelReason::Call),
        Some(size) if *size > MAX_INSTRUCTIONS => Err(too_large(*size)),
        Some(_) => Ok(()),
    }
}

fn entry_id(module: &Module) -> Option<u32> {
    module.entry_points.first()?.operands.get(1).and_then(Operand::id_ref_any)
}

fn callees(function: &Function) -> impl Iterator<Item = u32> + '_ {
    function
        .all_inst_iter()
        .filter(|inst| inst.class.opcode == Op::FunctionCall)
        .filter_map(|inst| inst.operands.first()?.id_ref_any())
}

fn inlined_size(function: &Function, sizes: &AHashMap<u32, u64>) -> Option<u64> {
    let mut total: u64 = 0;
    for inst in function.all_inst_iter() {
        let size = match inst.class.opcode {
            Op::FunctionCall => {
                let callee = inst.operands.first()?.id_ref_any()?;
                sizes.get(&callee)?.saturating_add(WEIGHT)
            }
            Op::Label => WEIGHT,
            _ => 1,
        };
        total = total.saturating_add(size);
    }
    Some(total)
}
