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

use std::borrow::Cow;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Block, Function, Module, Operand};
use rspirv::grammar::reflect::is_return;
use spirv_tools::opt::Passes;

use super::optimize::optimize;
use crate::frontend::reason::KernelReason;

/// Inlines, then takes values out of variables. No pass in this list computes with floats; those that
/// do in SPIRV-Tools (simplification, constant propagation, redundancy and strength passes) are out.
///
/// What SPIRV-Tools asks for before each pass, and what sees to it. All of them want structured control flow and logical
/// addressing, which every module here has (spirv-val, `refuse::declarations`), and most return a module with an extension that
/// they do not know as it is.
///
/// | pass | asks for | seen to by |
/// | --- | --- | --- |
/// | MergeReturn | no unreachable blocks but trivial merge blocks and continue targets | [`without_unreachable`] |
/// | InlineExhaustive | no recursion; a single return, outside of every construct, in each callee; no `OpKill` or `OpTerminateInvocation` in one that is called in a continue construct | spirv-val; [`merge_returns`]; kernels have none |
/// | EliminateDeadFunctions | nothing | |
/// | PrivateToLocal | variables used in one function only | InlineExhaustive and EliminateDeadFunctions come before |
/// | DeadBranchElim | conditions that are constants, which specialization has made of them | `specialize` |
/// | LocalAccessChainConvert | constant indices; others stay | `sroa` deals with those |
/// | LocalSingleBlockLoadStoreElim, LocalSingleStoreElim, LocalMultiStoreElim | whole loads and stores of variables | LocalAccessChainConvert comes before |
/// | AggressiveDCE | no decoration groups; calls count as effects | `groups`; InlineExhaustive comes before |
/// | DeadInsertElim | chains of inserts, which the passes on variables leave | they come before |
/// | CombineAccessChains | no variable pointers that it would have to follow | `refuse` |
/// | CFGCleanup, BlockMerge | nothing; the first drops unreachable blocks, which the second does not expect | their order |
/// | RemoveDuplicates | nothing | |
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

/// A module without unreachable blocks, of which MergeReturn takes only trivial ones. A function that returns on every way has some:
/// the merge block of its `if` or `switch`, or what its compiler puts behind a loop that is left by returning.
fn without_unreachable(module: &Module) -> Result<Cow<'_, Module>, KernelReason> {
    match module.functions.iter().any(has_unreachable) {
        true => Ok(Cow::Owned(optimize(module, &[Passes::DeadBranchElim])?)),
        false => Ok(Cow::Borrowed(module)),
    }
}

/// Whether no way leads to some block of a function.
fn has_unreachable(function: &Function) -> bool {
    let by_label: AHashMap<u32, &Block> =
        function.blocks.iter().filter_map(|block| Some((block.label_id()?, block))).collect();
    let mut reached: AHashSet<u32> = AHashSet::new();
    let mut open: Vec<u32> = function.blocks.first().and_then(Block::label_id).into_iter().collect();
    while let Some(label) = open.pop() {
        if let (true, Some(block)) = (reached.insert(label), by_label.get(&label)) {
            let named = block.instructions.last().into_iter().flat_map(|last| &last.operands);
            open.extend(named.filter_map(Operand::id_ref_any).filter(|id| by_label.contains_key(id)));
        }
    }
    reached.len() < by_label.len()
}

/// Gives helper functions a single return, without which the inliner leaves them. The entry point
/// keeps its early returns: rewriting them would bury its guard under flags.
fn merge_returns(module: &Module) -> Result<Module, KernelReason> {
    let module = &*without_unreachable(module)?;
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
