//! The normal form: one function in SSA, the only form that fusion works on.
//!
//! # Requires
//! - a specialised, pruned module
//!
//! # Guarantees
//! - exactly one function, no call; values flow through ids, not through variables, except where a
//!   local array is indexed dynamically
//! - access chains start at variables; storage buffers are in the `StorageBuffer` class
//! - float arithmetic is exactly the kernel's: no pass that rewrites, reorders or folds it runs
//! - early returns of the entry point are returns, also where its compiler made them breaks
//!
//! # Refuses
//! - what `refuse` lists, calls that cannot be inlined, kernels that inlining blows up

use ahash::AHashMap;
use rspirv::binary::Assemble;
use rspirv::dr::{Function, Module, Operand};
use rspirv::grammar::reflect::is_return;
use rspirv::spirv::Op;
use spirv_tools::opt::Passes;

use super::passes::{copy_propagation, dce, lower, refuse, restore_returns, sroa};
use super::reason::KernelReason;
use super::{load, tools};

/// Beyond this many instructions the optimizer takes seconds, which is no longer what a load may take.
const MAX_INSTRUCTIONS: u64 = 30_000;
/// What a block and what a call costs, in instructions.
const WEIGHT: u64 = 8;

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
    Passes::EliminateDeadConstant,
];

/// What takes values out of variables, once more after composites were split.
const VALUES: &[Passes] = &[
    Passes::LocalAccessChainConvert,
    Passes::LocalSingleBlockLoadStoreElim,
    Passes::LocalSingleStoreElim,
    Passes::LocalMultiStoreElim,
    Passes::AggressiveDCE,
];

/// Makes the normal form of a pruned module.
pub(super) fn build(plain: &Module) -> Result<Module, KernelReason> {
    refuse::declarations(plain)?;
    check_size(plain)?;
    let mut module = plain.clone();
    lower::before_inlining(&mut module);
    let helper = |function: &&Function| !is_entry(&module, function);
    let mut merged = module.functions.iter().filter(helper).any(returns_early);
    if merged {
        module = merge_returns(&module)?;
    }
    let mut inlined = optimize(&module, PASSES)?;
    if inlined.functions.len() != 1 && !merged {
        // A single return inside of a construct: rarer than it is worth to look for.
        merged = true;
        module = merge_returns(&module)?;
        inlined = optimize(&module, PASSES)?;
    }
    if inlined.functions.len() != 1 {
        tracing::debug!(merged, "a call could not be inlined");
        return Err(KernelReason::Call);
    }
    let mut module = inlined;
    if sroa::run(&mut module) {
        module = optimize(&module, VALUES)?;
    }
    restore_returns::run(&mut module);
    lower::storage_class(&mut module);
    lower::raise_version(&mut module);
    lower::order_types(&mut module)?;
    copy_propagation::run(&mut module);
    dce::prune(&mut module);
    refuse::declarations(&module)?;
    refuse::instructions(&module)?;
    Ok(module)
}

fn optimize(module: &Module, passes: &[Passes]) -> Result<Module, KernelReason> {
    let words = tools::optimize(&module.assemble(), passes)
        .map_err(|complaint| KernelReason::Optimizer(complaint.detail))?;
    load::module(&words).map_err(KernelReason::Optimizer)
}

fn entry_id(module: &Module) -> Option<u32> {
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

/// Counts instructions, weighted, as they will be with every call inlined: a chain of functions that call the
/// next one twice doubles at each step.
fn check_size(module: &Module) -> Result<(), KernelReason> {
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
