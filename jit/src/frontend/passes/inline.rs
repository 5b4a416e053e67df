//! Makes one function in SSA of a module, with passes of spirv-opt.
//!
//! # Requires
//! - copies are expanded; the size was checked
//!
//! # Guarantees
//! - exactly one function, no call
//! - values flow through ids, not through variables, except where a local composite is in the way
//! - float arithmetic is exactly the kernel's: no pass that rewrites, reorders or folds it runs
//!
//! # Refuses
//! - calls that cannot be inlined
//!
//! # Leaves alone
//! - early returns of the entry point: rewriting them would bury its guard under flags

use rspirv::dr::{Function, Module, Operand};
use rspirv::grammar::reflect::is_return;
use spirv_tools::opt::Passes;

use super::optimize::optimize;
use crate::frontend::reason::KernelReason;

/// Inlines, then takes values out of variables. No pass in this list computes with floats; those that
/// do in SPIRV-Tools (simplification, constant propagation, redundancy and strength passes) are out.
const PASSES: &[Passes] = &[
    Passes::InlineExhaustive,
    Passes::EliminateDeadFunctions,
    Passes::PrivateToLocal,
    Passes::DeadBranchElim,
    Passes::LocalAccessChainConvert,
    Passes::LocalSingleBlockLoadStoreElim,
    Passes::LocalSingleStoreElim,
    Passes::AggressiveDCE,
    Passes::LocalMultiStoreElim,
    Passes::DeadInsertElim,
    Passes::AggressiveDCE,
    Passes::DeadBranchElim,
    Passes::CombineAccessChains,
    Passes::CFGCleanup,
    Passes::BlockMerge,
    Passes::AggressiveDCE,
    Passes::RemoveDuplicates,
];

/// Inlines everything into the entry point.
pub(in crate::frontend) fn run(module: &mut Module) -> Result<(), KernelReason> {
    let helper = |function: &&Function| !is_entry(module, function);
    let mut merged = module.functions.iter().filter(helper).any(returns_early);
    if merged {
        *module = merge_returns(module)?;
    }
    let mut inlined = optimize(module, PASSES)?;
    if inlined.functions.len() != 1 && !merged {
        // A single return inside of a construct: rarer than it is worth to look for.
        merged = true;
        *module = merge_returns(module)?;
        inlined = optimize(module, PASSES)?;
    }
    if inlined.functions.len() != 1 {
        tracing::debug!(merged, "a call could not be inlined");
        return Err(KernelReason::Call);
    }
    *module = inlined;
    Ok(())
}

pub(super) fn entry_id(module: &Module) -> Option<u32> {
    module.entry_points.first()?.operands.get(1)?.id_ref_any()
}

fn is_entry(module: &Module, function: &Function) -> bool {
    function.def_id() == entry_id(module)
}

/// Whether a function has several returns.
fn returns_early(function: &Function) -> bool {
    let returns = function.all_inst_iter().filter(|inst| is_return(inst.class.opcode)).count();
    returns > 1
}

/// Gives helper functions a single return, without which the inliner leaves them. The entry point
/// keeps its early returns: rewriting them would bury its guard under flags.
fn merge_returns(module: &Module) -> Result<Module, KernelReason> {
    let Some(entry) = module.functions.iter().find(|f| is_entry(module, f)) else {
        return Err(KernelReason::Call);
    };
    let mut merged = optimize(module, &[Passes::MergeReturn])?;
    for function in &mut merged.functions {
        if function.def_id() == entry.def_id() {
            *function = entry.clone();
        }
    }
    // Decorations on ids that only the rewritten entry point had are left over, and so is nothing else:
    // the pass keeps every global and every id of the original.
    let ids: std::collections::HashSet<u32> =
        merged.all_inst_iter().filter_map(|inst| inst.result_id).collect();
    merged.annotations.retain(|inst| {
        let target = inst.operands.first().and_then(Operand::id_ref_any);
        target.is_some_and(|id| ids.contains(&id))
    });
    Ok(merged)
}
