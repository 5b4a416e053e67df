//! Thread coarsening of items by number: several items in one invocation.
//!
//! Where all items of an invocation are in range, and that is nearly everywhere, the members are one straight [`line`] that is written for all of
//! them side by side: every load of the items stands before what needs it, so the loads are
//! in flight together, and four neighbouring elements are one access. What a member hands to a later one inside the
//! kernel is passed on as a value. Where some item is out of range the kernel is called item by item. Where the
//! numbers of the call say that an invocation's items are all in range or have nothing to do, in every member, this part
//! is left out (`plan::dispatch::item_coarsening::common_end`; it is in the recipe). A driver that
//! computes both sides of every branch, as llvmpipe does, is a quarter faster without it. Where they say that all members end at one
//! item, which is no multiple, an invocation may do several groups of items in a loop, and the first invocations one item each of the last
//! group: such a driver does what is for single items once for all these groups.
//!
//! # Requires
//! - an entry point that does one item: guarded calls of members that are straight lines (`analysis::if_conversion`), in their order
//! - no barrier, and nothing handed from one item to another
//!
//! # Guarantees
//! - each item's instructions are the members', in their order, on the same values

mod line;
mod views;

use std::sync::Arc;

use rspirv::spirv::{BuiltIn, LoopControl, Op, SelectionControl};
use smallvec::SmallVec;

use super::bindings;
use crate::emit::JitError;
use crate::ir::entity::{Func, Region, SecondaryMap, Value};
use crate::ir::{Builder, ConstructKind, Def, End, Function, Module, Node, Operation, TypeKind, ValueData};
use crate::kernel::Specialized;
use crate::plan::recipe::Recipe;
use crate::schedule::{ItemCoarsening, Tail};
use line::{Limit, Line, error};
use views::Views;

/// Makes an entry point whose invocations do several items.
pub(in crate::emit) fn run(
    module: &mut Module,
    recipe: &Recipe,
    kernels: &[Arc<Specialized>],
) -> Result<(), JitError> {
    let (Some(how), Some(entry)) =
        (recipe.schedule.item_coarsening(), module.entry_points.first().map(|entry| entry.function))
    else {
        return Ok(());
    };
    let Function { ty, result, control, .. } = module.functions[entry];
    let number = number(&module.functions[entry])?;
    let main = module.functions.push(Function::new(ty, result, control));
    module.defined.push(main);
    module.entry_points.iter_mut().for_each(|one| one.function = main);
    module.modes.iter_mut().for_each(|mode| mode.function = main);
    let views = Views::of(recipe, kernels);
    let mut line = Line::new(module, main, (entry, number), views);
    match how.tail {
        Tail::Peeled => peeled(&mut line, recipe, how)?,
        tail => at_once(&mut line, recipe, how, tail == Tail::Whole)?,
    }
    if how.tail != Tail::Guarded {
        // Nothing calls the members.
        line.code.module.defined = vec![main];
    }
    let nodes = std::mem::take(&mut line.code.nodes);
    let f = line.code.function();
    (f.regions[f.body].nodes, f.regions[f.body].end) = (nodes, End::Return(None));
    let views = line.views;
    bindings::decorate(module, recipe, kernels, (main, &views));
    Ok(())
}

/// The item's number in the entry point: what the first guard compares with a total.
fn number(f: &Function) -> Result<Value, JitError> {
    let guard = f.regions[f.body].nodes.iter().find_map(|node| match node {
        Node::Construct(construct) => Some(&f.constructs[*construct].kind),
        Node::Inst(_) => None,
    });
    let condition = match guard {
        Some(ConstructKind::If { condition, .. }) => f.values[*condition].def,
        _ => return Err(error("an entry point without a guard")),
    };
    match condition {
        Def::Inst(inst) => f.insts[inst].operation.values().next(),
        _ => None,
    }
    .ok_or_else(|| error("a guard that compares nothing"))
}

/// One group of items in each invocation; if not all of them are in range, one by one, unless it is known that then none has anything to do.
fn at_once(
    line: &mut Line<'_>,
    recipe: &Recipe,
    how: ItemCoarsening,
    is_whole: bool,
) -> Result<(), JitError> {
    let code = &mut line.code;
    let number = code.module.u32();
    let size = recipe.schedule.local_size()[0];
    let group = group_number(code, recipe);
    let local = code.component(BuiltIn::LocalInvocationId, 0);
    let (first, step) = if how.consecutive {
        let invocation = code.linear(group, size, local);
        let items = code.word(how.items);
        (code.pure(Op::IMul, number, &[invocation, items], &[]), 1)
    } else {
        (code.linear(group, size * how.items, local), size)
    };
    let distance = code.word(step);
    let mut items = vec![first];
    for _ in 1..how.items {
        let last = items[items.len() - 1];
        items.push(code.pure(Op::IAdd, number, &[last, distance], &[]));
    }
    let last = items[items.len() - 1];
    let (inside, limits) = line.write(items)?;
    let otherwise = guarded(&mut line.code, (&limits, last), None, inside);
    if !is_whole {
        let one = one_item(line)?;
        let code = &mut line.code;
        let before = std::mem::take(&mut code.nodes);
        let (zero, items, void) = (code.word(0), code.word(how.items), code.function().result);
        let repeat = code.begin_loop(zero, items, LoopControl::DONT_UNROLL);
        let item = code.linear(repeat.count, step, first);
        code.value(Operation::Call { function: one, args: SmallVec::from_slice(&[item]) }, void);
        code.end_loop(repeat);
        let nodes = std::mem::replace(&mut code.nodes, before);
        code.function().regions[otherwise].nodes = nodes;
    }
    Ok(())
}

/// A loop over groups of items, `rounds` of them next to each other, so that as few lines of memory are in use at once as without the
/// loop; and the items of the last group that is not whole, which are left
/// to the first invocations of the dispatch, one for each.
fn peeled(line: &mut Line<'_>, recipe: &Recipe, how: ItemCoarsening) -> Result<(), JitError> {
    let code = &mut line.code;
    let (number, boolean) = (code.module.u32(), code.module.ty(TypeKind::Bool));
    let group = group_number(code, recipe);
    let local = code.component(BuiltIn::LocalInvocationId, 0);
    let invocation = code.linear(group, recipe.schedule.local_size()[0], local);
    let all = code.word(how.rounds * how.items);
    let first = code.pure(Op::IMul, number, &[invocation, all], &[]);
    let (zero, rounds, one) = (code.word(0), code.word(how.rounds), code.word(1));
    let repeat = code.begin_loop(zero, rounds, LoopControl::UNROLL);
    let mut all = vec![code.linear(repeat.count, how.items, first)];
    while all.len() < how.items as usize {
        let last = all[all.len() - 1];
        all.push(code.pure(Op::IAdd, number, &[last, one], &[]));
    }
    let last = all[all.len() - 1];
    let own = std::mem::take(&mut code.nodes);
    let (inside, limits) = line.write(all)?;
    let mut before = std::mem::replace(&mut line.code.nodes, own);
    guarded(&mut line.code, (&limits, last), None, inside);
    line.code.end_loop(repeat);
    // What limits are made of stands before the loop.
    let at = line.code.nodes.len() - 1;
    line.code.nodes.splice(at..at, before.drain(..));
    let code = &mut line.code;
    let end = end(code, &limits);
    let items = code.word(how.items);
    let groups = code.pure(Op::UDiv, number, &[end, items], &[]);
    let single = code.linear(groups, how.items, invocation);
    let most = code.word(if mutant!(PeeledItemsAreFewer) { how.items - 2 } else { how.items - 1 });
    let few = code.pure(Op::ULessThan, boolean, &[invocation, most], &[]);
    let (inside, _) = line.write(vec![single])?;
    guarded(&mut line.code, (&limits, single), Some(few), inside);
    Ok(())
}

/// The linear number of the work-group.
fn group_number(code: &mut Builder<'_>, recipe: &Recipe) -> Value {
    if recipe.schedule.is_line() {
        return code.component(BuiltIn::WorkgroupId, 0);
    }
    let group = [0, 1, 2].map(|dim| code.component(BuiltIn::WorkgroupId, dim));
    let [x, y] = [0, 1].map(|dim| code.component(BuiltIn::NumWorkgroups, dim));
    let number = code.module.u32();
    // (z * count.y + y) * count.x + x
    [(y, group[1]), (x, group[0])].into_iter().fold(group[2], |rest, (count, own)| {
        let start = code.pure(Op::IMul, number, &[rest, count], &[]);
        code.pure(Op::IAdd, number, &[start, own], &[])
    })
}

/// Code for where an item, and so every one before it, is in range for all members, and a condition holds; returns the region for where not.
fn guarded(
    code: &mut Builder<'_>,
    (limits, item): (&[Limit], Value),
    condition: Option<Value>,
    inside: Vec<Node>,
) -> Region {
    let boolean = code.module.ty(TypeKind::Bool);
    let fits = in_range(code, limits, item);
    let fits = condition.map_or(fits, |one| code.pure(Op::LogicalAnd, boolean, &[one, fits], &[]));
    let [all, otherwise] = code.branch(fits, Some(SelectionControl::NONE));
    code.function().regions[all].nodes = inside;
    otherwise
}

/// Whether an item, and so every one before it, is in range for all members.
fn in_range(code: &mut Builder<'_>, limits: &[Limit], item: Value) -> Value {
    let boolean = code.module.ty(TypeKind::Bool);
    let mut all = None;
    for &Limit { op, limit, is_swapped, holds } in limits {
        let (a, b) = if is_swapped { (limit, item) } else { (item, limit) };
        let mut one = code.pure(op, boolean, &[a, b], &[]);
        if !holds {
            one = code.pure(Op::LogicalNot, boolean, &[one], &[]);
        }
        all = Some(match all {
            None => one,
            Some(all) => code.pure(Op::LogicalAnd, boolean, &[all, one], &[]),
        });
    }
    all.unwrap_or_else(|| code.truth(true))
}

/// The first item that is not in range: the least that a comparison turns away.
fn end(code: &mut Builder<'_>, limits: &[Limit]) -> Value {
    let (number, boolean) = (code.module.u32(), code.module.ty(TypeKind::Bool));
    // There are not more items (`plan::dispatch::item_coarsening`), and one more is still a number.
    let most = code.word(i32::MAX as u32);
    let min = |code: &mut Builder<'_>, a: Value, b: Value| {
        let less = code.pure(Op::ULessThan, boolean, &[a, b], &[]);
        code.pure(Op::Select, number, &[less, a, b], &[])
    };
    let mut least = most;
    for &Limit { op, limit, is_swapped, .. } in limits {
        let limit = code.cast(limit, number);
        let mut end = min(code, limit, most);
        // `i <= n` and `!(i > n)`, and `!(n < i)` and `n >= i`.
        let is_inclusive =
            matches!(op, Op::ULessThanEqual | Op::SLessThanEqual | Op::UGreaterThan | Op::SGreaterThan);
        if is_inclusive != is_swapped {
            let one = code.word(1);
            end = code.pure(Op::IAdd, number, &[end, one], &[]);
        }
        least = min(code, end, least);
    }
    least
}

/// The entry point for one item as a function of the item's number.
fn one_item(line: &mut Line<'_>) -> Result<Func, JitError> {
    let (entry, item) = line.entry;
    let module = &mut *line.code.module;
    let number = module.u32();
    let result = module.functions[entry].result;
    let ty = module.ty(TypeKind::Function { result, parameters: vec![number] });
    let f = &mut module.functions[entry];
    let param = f.values.push(ValueData { ty: number, def: Def::Param(0), decorations: None });
    (f.ty, f.params) = (ty, vec![param]);
    let mut by = SecondaryMap::of(&f.values);
    by[item] = Some(param);
    f.substitute(&by);
    Ok(entry)
}
