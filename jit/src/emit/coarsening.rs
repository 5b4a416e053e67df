//! Several items in one invocation.
//!
//! Where all items of an invocation are in range, and that is nearly everywhere, the members' straight lines are
//! written out for all of them side by side: every load of the items stands before what needs it, so the loads are
//! in flight together, and four neighbouring elements are one access. What a member hands to a later one inside the
//! kernel is passed on as a value. Where some item is out of range the members run as functions, item by item. Where the
//! numbers of the call say that an invocation's items are all in range or have nothing to do, in every member, this part
//! is left out (`plan::shape::is_whole`; it is in the recipe). A driver that
//! computes both sides of every branch, as llvmpipe does, is a quarter faster without it.
//!
//! # Requires
//! - members that are straight lines (`analysis::if_conversion`), linked as functions already
//! - no barrier, and nothing handed from one item to another
//!
//! # Guarantees
//! - each item's instructions are the members', in their order, on the same values

use std::sync::Arc;

use ahash::AHashSet;
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{BuiltIn, LoopControl, Op, SelectionControl, Word};

use super::JitError;
use super::builder::Builder;
use super::entry::{self, Blocks};
use super::ids;
use super::link::{Linked, Shared};
use super::vectorize::{Passed, Vectorizer};
use crate::kernel::Specialized;
use crate::plan::recipe::{Coarsening, Recipe};

/// Appends the entry point; returns its id.
pub(crate) fn build(
    shared: &mut Shared,
    recipe: &Recipe,
    coarsening: Coarsening,
    members: &[Linked],
    kernels: &[Arc<Specialized>],
) -> Result<Word, JitError> {
    let mut blocks = Blocks::new(&mut shared.builder);
    let (first, step) = first_item(shared, &mut blocks, recipe, coarsening);
    let items = all_items(&mut shared.builder, &mut blocks, coarsening, first, step);
    let mut passed = Passed::default();
    let mut lines = Vec::with_capacity(members.len());
    for ((member, linked), kernel) in recipe.members.iter().zip(members).zip(kernels) {
        lines.push(Vectorizer::new(recipe, member, kernel, linked, &items)?);
    }
    let in_range = in_range(shared, &mut blocks, recipe, &mut lines, &mut passed, &items)?;
    let [fast, slow, end] = std::array::from_fn(|_| shared.builder.fresh());
    let otherwise = if coarsening.whole { end } else { slow };
    let merge = vec![Operand::IdRef(end), Operand::SelectionControl(SelectionControl::NONE)];
    blocks.code.effect(Op::SelectionMerge, merge);
    let branch = vec![Operand::IdRef(in_range), Operand::IdRef(fast), Operand::IdRef(otherwise)];
    blocks.code.effect(Op::BranchConditional, branch);
    blocks.next(fast);
    for line in &mut lines {
        line.write(shared, &mut blocks.code, &mut passed)?;
    }
    blocks.code.effect(Op::Branch, vec![Operand::IdRef(end)]);
    if coarsening.whole {
        drop_functions(&mut shared.builder);
    } else {
        blocks.next(slow);
        one_by_one(shared, &mut blocks, recipe, coarsening, members, (first, step));
        blocks.code.effect(Op::Branch, vec![Operand::IdRef(end)]);
    }
    blocks.next(end);
    Ok(entry::finish(shared, blocks))
}

/// Removes the members' functions, which nothing calls.
fn drop_functions(builder: &mut Builder) {
    let functions = std::mem::take(&mut builder.module.functions);
    let inside: AHashSet<Word> =
        functions.iter().flat_map(Function::all_inst_iter).filter_map(|inst| inst.result_id).collect();
    builder.module.annotations.retain(|inst| {
        let target = inst.operands.first().and_then(Operand::id_ref_any);
        target.is_none_or(|id| !inside.contains(&id))
    });
}

/// Number of the invocation's first item, and the distance to its next.
fn first_item(
    shared: &mut Shared,
    blocks: &mut Blocks,
    recipe: &Recipe,
    coarsening: Coarsening,
) -> (Word, Word) {
    let Shared { builder, inputs, .. } = shared;
    let code = &mut blocks.code;
    let group = ids::group_number(builder, code, inputs, recipe);
    let local = inputs.component(builder, code, BuiltIn::LocalInvocationId, 0);
    let size = recipe.local_size[0];
    if coarsening.consecutive {
        let (size, items) = (builder.constant(size), builder.constant(coarsening.items));
        let start = code.math(builder, Op::IMul, group, size);
        let invocation = code.math(builder, Op::IAdd, start, local);
        (code.math(builder, Op::IMul, invocation, items), builder.constant(1))
    } else {
        let all = builder.constant(size * coarsening.items);
        let start = code.math(builder, Op::IMul, group, all);
        (code.math(builder, Op::IAdd, start, local), builder.constant(size))
    }
}

fn all_items(
    builder: &mut Builder,
    blocks: &mut Blocks,
    coarsening: Coarsening,
    first: Word,
    step: Word,
) -> Vec<Word> {
    let mut items = vec![first];
    for _ in 1..coarsening.items {
        let last = items[items.len() - 1];
        items.push(blocks.code.math(builder, Op::IAdd, last, step));
    }
    items
}

/// Whether the invocation's last item, and so every one, is in range for all members.
fn in_range(
    shared: &mut Shared,
    blocks: &mut Blocks,
    recipe: &Recipe,
    lines: &mut [Vectorizer<'_>],
    passed: &mut Passed,
    items: &[Word],
) -> Result<Word, JitError> {
    let last = items[items.len() - 1];
    let mut asked: Vec<(Op, Word, bool)> = Vec::new();
    for member in &recipe.members {
        if let Some(slot) = member.remap.and_then(|remap| remap.total) {
            let total = passed.number(shared, &mut blocks.code, slot);
            asked.push((Op::ULessThan, total, true));
        }
    }
    for line in lines {
        asked.extend(line.limits(shared, &mut blocks.code, passed)?);
    }
    let mut unique: Vec<(Op, Word, bool)> = Vec::new();
    asked.into_iter().for_each(|one| {
        if !unique.contains(&one) {
            unique.push(one);
        }
    });
    let boolean = shared.builder.bool();
    let mut all: Option<Word> = None;
    for (op, limit, holds) in unique {
        let operands = vec![Operand::IdRef(last), Operand::IdRef(limit)];
        let mut one = blocks.code.value(&mut shared.builder, op, boolean, operands);
        if !holds {
            let operands = vec![Operand::IdRef(one)];
            one = blocks.code.value(&mut shared.builder, Op::LogicalNot, boolean, operands);
        }
        all = Some(match all {
            None => one,
            Some(all) => {
                let operands = vec![Operand::IdRef(all), Operand::IdRef(one)];
                blocks.code.value(&mut shared.builder, Op::LogicalAnd, boolean, operands)
            }
        });
    }
    Ok(all.unwrap_or_else(|| shared.builder.truth(true)))
}

/// A loop over the items that calls the members for each.
fn one_by_one(
    shared: &mut Shared,
    blocks: &mut Blocks,
    recipe: &Recipe,
    coarsening: Coarsening,
    members: &[Linked],
    (first, step): (Word, Word),
) {
    let builder = &mut shared.builder;
    let [header, body, next, done, count, following] = std::array::from_fn(|_| builder.fresh());
    let (number, boolean) = (builder.u32(), builder.bool());
    let [zero, one, all] = [0, 1, coarsening.items].map(|n| builder.constant(n));
    let before = blocks.label();
    blocks.code.effect(Op::Branch, vec![Operand::IdRef(header)]);
    blocks.next(header);
    let incoming = [zero, before, following, next].map(Operand::IdRef).to_vec();
    blocks.code.0.push(Instruction::new(Op::Phi, Some(number), Some(count), incoming));
    let operands = vec![Operand::IdRef(count), Operand::IdRef(all)];
    let more = blocks.code.value(builder, Op::ULessThan, boolean, operands);
    let merge =
        vec![Operand::IdRef(done), Operand::IdRef(next), Operand::LoopControl(LoopControl::DONT_UNROLL)];
    blocks.code.effect(Op::LoopMerge, merge);
    let branch = [more, body, done].map(Operand::IdRef).to_vec();
    blocks.code.effect(Op::BranchConditional, branch);
    blocks.next(body);
    let distance = blocks.code.math(builder, Op::IMul, count, step);
    let item = blocks.code.math(builder, Op::IAdd, first, distance);
    for (member, linked) in recipe.members.iter().zip(members) {
        entry::member(shared, blocks, recipe, member, linked, Some(item));
    }
    blocks.code.effect(Op::Branch, vec![Operand::IdRef(next)]);
    blocks.next(next);
    let operands = vec![Operand::IdRef(count), Operand::IdRef(one)];
    blocks.code.0.push(Instruction::new(Op::IAdd, Some(number), Some(following), operands));
    blocks.code.effect(Op::Branch, vec![Operand::IdRef(header)]);
    blocks.next(done);
}

/// What members that stand in one block share.
impl Passed {
    fn number(&mut self, shared: &mut Shared, code: &mut super::builder::Code, slot: u16) -> Word {
        let ty = shared.builder.u32();
        self.push(shared, code, slot, ty)
    }
}

/// Instructions of SPIR-V that compare an item with a limit, the item on the left.
pub(super) fn mirrored(op: Op) -> Op {
    match op {
        Op::ULessThan => Op::UGreaterThan,
        Op::ULessThanEqual => Op::UGreaterThanEqual,
        Op::UGreaterThan => Op::ULessThan,
        Op::UGreaterThanEqual => Op::ULessThanEqual,
        Op::SLessThan => Op::SGreaterThan,
        Op::SLessThanEqual => Op::SGreaterThanEqual,
        Op::SGreaterThan => Op::SLessThan,
        Op::SGreaterThanEqual => Op::SLessThanEqual,
        other => other,
    }
}
