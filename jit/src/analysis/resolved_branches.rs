//! Resolved branches: those that go one way in every invocation become plain ones.
//!
//! # Requires
//! - branches whose other way is empty (`plan::dispatch::resolved_branches`)
//!
//! # Guarantees
//! - what an invocation does is what it did
//!
//! # Leaves alone
//! - blocks that control does not come to any more, and what phis say of these: the import drops them

use rspirv::dr::Instruction;
use rspirv::spirv::Op;

/// A branch that goes one way in every invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedBranch {
    /// The block that ends in it, by its number in the kernel's function.
    pub(crate) block: u32,
    /// What its condition always is.
    pub(crate) taken: bool,
}

/// Ends block `number` in a plain branch, if it ends in one of these.
pub(crate) fn resolve(resolved: &[ResolvedBranch], number: usize, code: &mut Vec<Instruction>) {
    let Some(one) = resolved.iter().find(|one| one.block as usize == number) else { return };
    let Some(last) = code.pop() else { return };
    let side = if one.taken { 1 } else { 2 };
    code.pop_if(|merge| merge.class.opcode == Op::SelectionMerge);
    let target = last.operands.get(side).cloned().into_iter().collect();
    code.push(Instruction::new(Op::Branch, None, None, target));
}
