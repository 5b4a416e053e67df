//! Several items in one invocation.
//!
//! Where all items of an invocation are in range, and that is nearly everywhere, the members' straight lines are
//! written out for all of them side by side: every load of the items stands before what needs it, so the loads are
//! in flight together, and four neighbouring elements are one access. What a member hands to a later one inside the
//! kernel is passed on as a value. Where some item is out of range the members run as functions, item by item. Where the
//! numbers of the call say that an invocation's items are all in range or have nothing to do, in every member, this part
//! is left out (`plan::dispatch::item_coarsening::common_end`; it is in the recipe). A driver that
//! computes both sides of every branch, as llvmpipe does, is a quarter faster without it. Where they say that all members end at one
//! item, which is no multiple, an invocation may do several groups of items in a loop, and the first invocations one item each of the last
//! group: such a driver does what is for single items once for all these groups.
//!
//! # Requires
//! - members that are straight lines (`analysis::if_conversion`), linked as functions already
//! - no barrier, and nothing handed from one item to another
//!
//! # Guarantees
//! - each item's instructions are the members', in their order, on the same values

use std::sync::Arc;

use ahash::AHashSet;
use rspirv::dr::{Function, Operand};
use rspirv::spirv::{BuiltIn, LoopControl, Op, SelectionControl, Word};

use super::JitError;
use super::builder::Builder;
use super::emission::Emission;
use super::entry::{self, Blocks};
use super::ids;
use super::link::Linked;
use super::shared::Shared;
use super::vectorize::{Limit, Passed, Vectorizer};
use crate::frontend::opcodes::instruction;
use crate::kernel::Specialized;
use crate::plan::recipe::Recipe;
use crate::schedule::{ItemCoarsening, Tail};

/// Appends the entry point.
pub(super) fn run(emission: &mut Emission<'_>) -> Result<(), JitError> {
    let Emission { shared, recipe, kernels, linked, .. } = emission;
    let Some(coarsening) = recipe.schedule.item_coarsening() else { return Ok(()) };
    emission.entry = Some(build(shared, recipe, coarsening, linked, kernels)?);
    Ok(())
}

/// Appends the entry point; returns its id.
fn build(
    shared: &mut Shared,
    recipe: &Recipe,
    coarsening: ItemCoarsening,
    members: &[Linked],
    kernels: &[Arc<Specialized>],
) -> Result<Word, JitError> {
    if coarsening.tail == Tail::Peeled {
        return peeled(shared, recipe, (coarsening.items, coarsening.rounds), members, kernels);
    }
    let whole = coarsening.tail == Tail::Whole;
    let mut blocks = Blocks::new(&mut shared.builder);
    let (first, step) = first_item(shared, &mut blocks, recipe, coarsening);
    let items = all_items(&mut shared.builder, &mut blocks, coarsening, first, step);
    let mut passed = Passed::default();
    let mut lines = lines(recipe, members, kernels, &items)?;
    let limits = limits(shared, &mut blocks, recipe, &mut lines, &mut passed)?;
    let in_range = in_range(&mut shared.builder, &mut blocks, &limits, items[items.len() - 1]);
    let [fast, slow, end] = std::array::from_fn(|_| shared.builder.fresh());
    let otherwise = if whole { end } else { slow };
    let merge = vec![Operand::IdRef(end), Operand::SelectionControl(SelectionControl::NONE)];
    blocks.code.effect(Op::SelectionMerge, merge);
    let branch = vec![Operand::IdRef(in_range), Operand::IdRef(fast), Operand::IdRef(otherwise)];
    blocks.code.effect(Op::BranchConditional, branch);
    blocks.next(fast);
    for line in &mut lines {
        line.write(shared, &mut blocks.code, &mut passed)?;
    }
    blocks.code.effect(Op::Branch, vec![Operand::IdRef(end)]);
    if whole {
        drop_functions(&mut shared.builder);
    } else {
        blocks.next(slow);
        one_by_one(shared, &mut blocks, recipe, coarsening, members, (first, step));
        blocks.code.effect(Op::Branch, vec![Operand::IdRef(end)]);
    }
    blocks.next(end);
    Ok(entry::finish(shared, blocks))
}

/// The members' lines for so many items.
fn lines<'a>(
    recipe: &'a Recipe,
    members: &'a [Linked],
    kernels: &'a [Arc<Specialized>],
    items: &'a [Word],
) -> Result<Vec<Vectorizer<'a>>, JitError> {
    let all = recipe.members.iter().zip(members).zip(kernels);
    all.map(|((member, linked), kernel)| Vectorizer::new(recipe, member, kernel, linked, items)).collect()
}

/// A loop over groups of items, `rounds` of them next to each other, so that as few lines of memory are in use at once as without the
/// loop; and the items of the last group that is not whole, which are left
/// to the first invocations of the dispatch, one for each.
fn peeled(
    shared: &mut Shared,
    recipe: &Recipe,
    (count, rounds): (u32, u32),
    members: &[Linked],
    kernels: &[Arc<Specialized>],
) -> Result<Word, JitError> {
    let mut blocks = Blocks::new(&mut shared.builder);
    let Shared { builder, inputs, .. } = &mut *shared;
    let group = ids::group_number(builder, &mut blocks.code, inputs, recipe);
    let local = inputs.component(builder, &mut blocks.code, BuiltIn::LocalInvocationId, 0);
    let size = recipe.schedule.local_size()[0];
    let [one, own_size, several, items] = [1, size, rounds, count].map(|n| builder.constant(n));
    let all = builder.constant(rounds * count);
    let code = &mut blocks.code;
    let start = code.math(builder, Op::IMul, group, own_size);
    let invocation = code.math(builder, Op::IAdd, start, local);
    let first = code.math(builder, Op::IMul, invocation, all);
    let every: Vec<Word> = (0..count).map(|_| builder.fresh()).collect();
    let single = vec![builder.fresh()];
    let (mut wide, mut narrow) =
        (lines(recipe, members, kernels, &every)?, lines(recipe, members, kernels, &single)?);
    // Numbers made of arguments stand before both.
    let (mut passed, mut passed_one) = (Passed::default(), Passed::default());
    let limits = limits(shared, &mut blocks, recipe, &mut wide, &mut passed)?;
    self::limits(shared, &mut blocks, recipe, &mut narrow, &mut passed_one)?;

    let builder = &mut shared.builder;
    let [header, body, inside, behind, next, done] = std::array::from_fn(|_| builder.fresh());
    let [round, following] = std::array::from_fn(|_| builder.fresh());
    let (number, boolean, zero) = (builder.u32(), builder.bool(), builder.constant(0));
    let before = blocks.label();
    blocks.code.effect(Op::Branch, vec![Operand::IdRef(header)]);
    blocks.next(header);
    let incoming = [zero, before, following, next].map(Operand::IdRef).to_vec();
    blocks.code.0.push(instruction(Op::Phi, Some(number), Some(round), incoming));
    let operands = [round, several].map(Operand::IdRef).to_vec();
    let more = blocks.code.value(builder, Op::ULessThan, boolean, operands);
    let control = Operand::LoopControl(LoopControl::UNROLL);
    blocks.code.effect(Op::LoopMerge, vec![Operand::IdRef(done), Operand::IdRef(next), control]);
    blocks.code.effect(Op::BranchConditional, [more, body, done].map(Operand::IdRef).to_vec());
    blocks.next(body);
    let distance = blocks.code.math(builder, Op::IMul, round, items);
    let mut item = first;
    for (at, &id) in every.iter().enumerate() {
        let operands = [item, if at == 0 { distance } else { one }].map(Operand::IdRef).to_vec();
        blocks.code.0.push(instruction(Op::IAdd, Some(number), Some(id), operands));
        item = id;
    }
    let fits = in_range(builder, &mut blocks, &limits, item);
    guard(&mut blocks, fits, (inside, behind));
    for line in &mut wide {
        line.write(shared, &mut blocks.code, &mut passed)?;
    }
    blocks.code.effect(Op::Branch, vec![Operand::IdRef(behind)]);
    blocks.next(behind);
    blocks.code.effect(Op::Branch, vec![Operand::IdRef(next)]);
    blocks.next(next);
    let builder = &mut shared.builder;
    let operands = [round, one].map(Operand::IdRef).to_vec();
    blocks.code.0.push(instruction(Op::IAdd, Some(number), Some(following), operands));
    blocks.code.effect(Op::Branch, vec![Operand::IdRef(header)]);
    blocks.next(done);

    let end = end(builder, &mut blocks, &limits);
    let groups = blocks.code.math(builder, Op::UDiv, end, items);
    let whole = blocks.code.math(builder, Op::IMul, groups, items);
    let operands = [whole, invocation].map(Operand::IdRef).to_vec();
    blocks.code.0.push(instruction(Op::IAdd, Some(number), Some(single[0]), operands));
    let most = builder.constant(if mutant!(PeeledItemsAreFewer) { count - 2 } else { count - 1 });
    let operands = [invocation, most].map(Operand::IdRef).to_vec();
    let few = blocks.code.value(builder, Op::ULessThan, boolean, operands);
    let fits = in_range(builder, &mut blocks, &limits, single[0]);
    let left = blocks.code.value(builder, Op::LogicalAnd, boolean, [few, fits].map(Operand::IdRef).to_vec());
    let [inside, behind] = std::array::from_fn(|_| builder.fresh());
    guard(&mut blocks, left, (inside, behind));
    for line in &mut narrow {
        line.write(shared, &mut blocks.code, &mut passed_one)?;
    }
    blocks.code.effect(Op::Branch, vec![Operand::IdRef(behind)]);
    blocks.next(behind);
    drop_functions(&mut shared.builder);
    Ok(entry::finish(shared, blocks))
}

/// Opens `if (condition)`, whose blocks these are: the first inside, and the one behind it.
fn guard(blocks: &mut Blocks, condition: Word, (inside, behind): (Word, Word)) {
    let merge = vec![Operand::IdRef(behind), Operand::SelectionControl(SelectionControl::NONE)];
    blocks.code.effect(Op::SelectionMerge, merge);
    let branch = [condition, inside, behind].map(Operand::IdRef).to_vec();
    blocks.code.effect(Op::BranchConditional, branch);
    blocks.next(inside);
}

/// The first item that is not in range: the least that a comparison turns away.
fn end(builder: &mut Builder, blocks: &mut Blocks, limits: &[Limit]) -> Word {
    let (number, boolean) = (builder.u32(), builder.bool());
    // There are not more items (`plan::dispatch::item_coarsening`), and one more is still a number.
    let most = builder.constant(i32::MAX as u32);
    let min = |builder: &mut Builder, blocks: &mut Blocks, a: Word, b: Word| {
        let less = blocks.code.value(builder, Op::ULessThan, boolean, [a, b].map(Operand::IdRef).to_vec());
        blocks.code.value(builder, Op::Select, number, [less, a, b].map(Operand::IdRef).to_vec())
    };
    let mut least = most;
    for &Limit { op, limit, .. } in limits {
        let limit = blocks.code.value(builder, Op::Bitcast, number, vec![Operand::IdRef(limit)]);
        let mut end = min(builder, blocks, limit, most);
        if matches!(op, Op::ULessThanEqual | Op::SLessThanEqual | Op::UGreaterThan | Op::SGreaterThan) {
            let one = builder.constant(1);
            end = blocks.code.math(builder, Op::IAdd, end, one);
        }
        least = min(builder, blocks, end, least);
    }
    least
}

/// Removes the members' functions, which nothing calls.
pub(super) fn drop_functions(builder: &mut Builder) {
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
    coarsening: ItemCoarsening,
) -> (Word, Word) {
    let Shared { builder, inputs, .. } = shared;
    let code = &mut blocks.code;
    let group = ids::group_number(builder, code, inputs, recipe);
    let local = inputs.component(builder, code, BuiltIn::LocalInvocationId, 0);
    let size = recipe.schedule.local_size()[0];
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
    coarsening: ItemCoarsening,
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

/// Comparisons that an item must pass for all members, each once.
fn limits(
    shared: &mut Shared,
    blocks: &mut Blocks,
    recipe: &Recipe,
    lines: &mut [Vectorizer<'_>],
    passed: &mut Passed,
) -> Result<Vec<Limit>, JitError> {
    let mut asked: Vec<Limit> = Vec::new();
    for member in &recipe.members {
        if let Some(slot) = member.remap.and_then(|remap| remap.total) {
            let total = passed.number(shared, &mut blocks.code, slot);
            asked.push(Limit { op: Op::ULessThan, limit: total, holds: true });
        }
    }
    for line in lines {
        asked.extend(line.limits(shared, &mut blocks.code, passed)?);
    }
    let mut unique: Vec<Limit> = Vec::new();
    asked.into_iter().for_each(|one| {
        if !unique.contains(&one) {
            unique.push(one);
        }
    });
    Ok(unique)
}

/// Whether an item, and so every one before it, is in range for all members.
fn in_range(builder: &mut Builder, blocks: &mut Blocks, limits: &[Limit], item: Word) -> Word {
    let boolean = builder.bool();
    let mut all: Option<Word> = None;
    for &Limit { op, limit, holds } in limits {
        let operands = vec![Operand::IdRef(item), Operand::IdRef(limit)];
        let mut one = blocks.code.value(builder, op, boolean, operands);
        if !holds {
            one = blocks.code.value(builder, Op::LogicalNot, boolean, vec![Operand::IdRef(one)]);
        }
        all = Some(match all {
            None => one,
            Some(all) => {
                let operands = vec![Operand::IdRef(all), Operand::IdRef(one)];
                blocks.code.value(builder, Op::LogicalAnd, boolean, operands)
            }
        });
    }
    all.unwrap_or_else(|| builder.truth(true))
}

/// A loop over the items that calls the members for each.
fn one_by_one(
    shared: &mut Shared,
    blocks: &mut Blocks,
    recipe: &Recipe,
    coarsening: ItemCoarsening,
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
    blocks.code.0.push(instruction(Op::Phi, Some(number), Some(count), incoming));
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
    blocks.code.0.push(instruction(Op::IAdd, Some(number), Some(following), operands));
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
