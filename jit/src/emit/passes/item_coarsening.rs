//! Thread coarsening of items by number: several items in one invocation.
//!
//! Where all items of an invocation are in range, and that is nearly everywhere, the members are one straight line, which a [`Tracer`] writes for all of
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

use std::rc::Rc;
use std::sync::Arc;

use ahash::{AHashMap, AHashSet};
use rspirv::spirv::{BuiltIn, LoopControl, Op, SelectionControl};
use smallvec::smallvec;

use super::bindings;
use super::trace::conditions::{Condition, Order};
use super::trace::parts::Part;
use super::trace::stage::Stage;
use super::trace::vectors::{Lie, Which};
use super::trace::words::Polynomial;
use super::trace::{self, Ids, Source, Start, Tracer};
use crate::emit::JitError;
use crate::ir::entity::{Entity as _, Func, Global, Region, SecondaryMap, Value};
use crate::ir::{Builder, ConstructKind, Def, End, Function, Module, Node, Operation, TypeKind, ValueData};
use crate::kernel::Specialized;
use crate::plan::recipe::{Recipe, Target};
use crate::schedule::{ItemCoarsening, Tail};

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
    one_item(module, entry)?;
    let source = Rc::new(Source::of(module, recipe, kernels));
    let main = module.functions.push(Function::new(ty, result, control));
    module.defined.push(main);
    module.entry_points.iter_mut().for_each(|one| one.function = main);
    module.modes.iter_mut().for_each(|mode| mode.function = main);
    let wide = Rc::new(vectors(recipe, kernels));
    let mut job = Job { code: Builder::new(module, main), main, entry, source, wide, views: AHashSet::new() };
    match how.tail {
        Tail::Peeled => peeled(&mut job, recipe, how)?,
        tail => at_once(&mut job, recipe, how, tail == Tail::Whole)?,
    }
    let Job { mut code, views, .. } = job;
    let nodes = std::mem::take(&mut code.nodes);
    let f = code.function();
    (f.regions[f.body].nodes, f.regions[f.body].end) = (nodes, End::Return(None));
    if how.tail != Tail::Guarded {
        // Nothing calls the members.
        module.defined = vec![main];
    }
    bindings::decorate(module, recipe, kernels, (main, &views));
    Ok(())
}

fn error(detail: &str) -> JitError {
    JitError::new("item_coarsening", detail)
}

/// By member and binding: which accesses are to vectors.
fn vectors(recipe: &Recipe, kernels: &[Arc<Specialized>]) -> AHashMap<(Func, u32), Lie> {
    let mut found = AHashMap::new();
    for (number, (member, kernel)) in recipe.members.iter().zip(kernels).enumerate() {
        let Ok(normal) = &kernel.normal else { continue };
        let accesses = normal.analysis.accesses.iter().zip(&member.wide);
        for (access, _) in accesses.filter(|(_, is_wide)| **is_wide) {
            let Target::Bound(binding) = member.targets[access.binding] else { continue };
            let lie = found.entry((Func::new(number), u32::from(binding))).or_insert(Lie::AtNumbers);
            if !normal.is_own_number(access) {
                *lie = Lie::AtMultiples;
            }
        }
    }
    found
}

/// An entry point under construction.
struct Job<'m> {
    code: Builder<'m>,
    main: Func,
    /// The function that does one item, whose number is its parameter.
    entry: Func,
    source: Rc<Source>,
    /// See [`vectors`].
    wide: Rc<AHashMap<(Func, u32), Lie>>,
    /// The variables that see elements as vectors.
    views: AHashSet<Global>,
}

impl Job<'_> {
    /// Writes the line for some items, whose numbers are the first one's and their distance from it; of items next to each other, `base` is the
    /// number of their group. Adds what the limits are made of to the code, and returns the line and its limits, of the last item.
    fn line(
        &mut self,
        items: &[Value],
        distance: u32,
        base: Option<Value>,
    ) -> Result<(Vec<Node>, Vec<Order>), JitError> {
        let base = base.map(|base| (base, items.len() as u32));
        let start = Start {
            source: self.source.clone(),
            ids: Ids { variables: Default::default(), base },
            items: items.len(),
            clamps: false,
            wide: Which::OfItems(self.wide.clone()),
            part: Part::Whole,
            stage: Stage::Open,
            guards: Some(self.entry),
            most: usize::MAX,
        };
        let mut tracer = Tracer::new(Builder::new(self.code.module, self.main), start);
        let (from, times) = base.unwrap_or((items[0], 1));
        tracer.note_id(from, None);
        // There are not more than 2^31 items (`plan::dispatch::item_coarsening`).
        tracer.note_range(from, (0, (1 << 31) / times));
        let first = Polynomial::word(from).times(&Polynomial::constant(times));
        let mut numbers = Vec::new();
        for (&item, k) in items.iter().zip(0..) {
            let number = first.as_ref().and_then(|first| first.plus(1, &Polynomial::constant(k * distance)));
            tracer.note_id(item, number.clone());
            numbers.push(number);
        }
        tracer.call(self.entry, &[items.into()]).map_err(|_| error("no straight line"))?;
        let mut limits = Vec::new();
        for (behind, condition) in std::mem::take(&mut tracer.conditions.all) {
            let order = match condition {
                Condition::Order(order) if behind.is_empty() => order,
                _ => return Err(error("a condition that is none of a range")),
            };
            let number = tracer.words(order.a);
            match numbers.iter().position(|one| *one == number) {
                Some(item) if item + 1 == items.len() => limits.push(order),
                // Whatever keeps out an item keeps out those behind it.
                Some(_) => {}
                None => return Err(error("a range of other numbers than the items'")),
            }
        }
        let mut nodes = std::mem::take(&mut tracer.code.nodes);
        let before = trace::hoist(tracer.code.function(), &mut nodes, limits.iter().map(|one| one.b));
        self.views.extend(tracer.views);
        self.code.nodes.extend(before);
        Ok((nodes, limits))
    }
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
fn at_once(job: &mut Job<'_>, recipe: &Recipe, how: ItemCoarsening, is_whole: bool) -> Result<(), JitError> {
    let code = &mut job.code;
    let size = recipe.schedule.local_size()[0];
    let group = group_number(code, recipe);
    let local = code.component(BuiltIn::LocalInvocationId, 0);
    let (first, step, base) = if how.consecutive {
        let invocation = code.linear(group, size, local);
        let items = code.word(how.items);
        (code.math(Op::IMul, invocation, items), 1, Some(invocation))
    } else {
        (code.linear(group, size * how.items, local), size, None)
    };
    let items = several(code, first, how.items, step);
    let (inside, limits) = job.line(&items, step, base)?;
    let (entry, code) = (job.entry, &mut job.code);
    let otherwise = guarded(code, (&limits, items[items.len() - 1]), None, inside);
    if !is_whole {
        let before = std::mem::take(&mut code.nodes);
        let (zero, items, void) = (code.word(0), code.word(how.items), code.function().result);
        let repeat = code.begin_loop(zero, items, LoopControl::DONT_UNROLL);
        let item = code.linear(repeat.count, step, first);
        code.value(Operation::Call { function: entry, args: smallvec![item] }, void);
        code.end_loop(repeat);
        let nodes = std::mem::replace(&mut code.nodes, before);
        code.function().regions[otherwise].nodes = nodes;
    }
    Ok(())
}

/// The numbers of items from the first one on.
fn several(code: &mut Builder<'_>, first: Value, count: u32, step: u32) -> Vec<Value> {
    let distance = code.word(step);
    let next = |&last: &Value| Some(code.math(Op::IAdd, last, distance));
    std::iter::successors(Some(first), next).take(count as usize).collect()
}

/// A loop over groups of items, `rounds` of them next to each other, so that as few lines of memory are in use at once as without the
/// loop; and the items of the last group that is not whole, which are left
/// to the first invocations of the dispatch, one for each.
fn peeled(job: &mut Job<'_>, recipe: &Recipe, how: ItemCoarsening) -> Result<(), JitError> {
    let code = &mut job.code;
    let group = group_number(code, recipe);
    let local = code.component(BuiltIn::LocalInvocationId, 0);
    let invocation = code.linear(group, recipe.schedule.local_size()[0], local);
    let (zero, rounds, items) = (code.word(0), code.word(how.rounds), code.word(how.items));
    let first = code.math(Op::IMul, invocation, rounds);
    let repeat = code.begin_loop(zero, rounds, LoopControl::UNROLL);
    let base = code.math(Op::IAdd, first, repeat.count);
    let first = code.math(Op::IMul, base, items);
    let all = several(code, first, how.items, 1);
    let own = std::mem::take(&mut code.nodes);
    let (inside, limits) = job.line(&all, 1, Some(base))?;
    let code = &mut job.code;
    let before = std::mem::replace(&mut code.nodes, own);
    guarded(code, (&limits, all[all.len() - 1]), None, inside);
    code.end_loop(repeat);
    // What limits are made of stands before the loop.
    let at = code.nodes.len() - 1;
    code.nodes.splice(at..at, before);
    let end = end(code, &limits);
    let groups = code.math(Op::UDiv, end, items);
    let single = code.linear(groups, how.items, invocation);
    let most = code.word(if mutant!(PeeledItemsAreFewer) { how.items - 2 } else { how.items - 1 });
    let few = code.test(Op::ULessThan, invocation, most);
    let (inside, _) = job.line(&[single], 1, None)?;
    guarded(&mut job.code, (&limits, single), Some(few), inside);
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
    (limits, item): (&[Order], Value),
    condition: Option<Value>,
    inside: Vec<Node>,
) -> Region {
    let mut all = condition;
    for limit in limits {
        let one = code.test(limit.op(), item, limit.b);
        all = Some(all.map_or(one, |all| code.test(Op::LogicalAnd, all, one)));
    }
    let fits = all.unwrap_or_else(|| code.truth(true));
    let [all, otherwise] = code.branch(fits, Some(SelectionControl::NONE));
    code.function().regions[all].nodes = inside;
    otherwise
}

/// The first item that is not in range: the least that a comparison turns away.
fn end(code: &mut Builder<'_>, limits: &[Order]) -> Value {
    let number = code.module.u32();
    // There are not more items (`plan::dispatch::item_coarsening`), and one more is still a number.
    let most = code.word(i32::MAX as u32);
    let min = |code: &mut Builder<'_>, a: Value, b: Value| {
        let less = code.test(Op::ULessThan, a, b);
        code.pure(Op::Select, number, &[less, a, b], &[])
    };
    let mut least = most;
    for limit in limits {
        let end = code.cast(limit.b, number);
        let mut end = min(code, end, most);
        if !limit.strict {
            let one = code.word(1);
            end = code.math(Op::IAdd, end, one);
        }
        least = min(code, end, least);
    }
    least
}

/// Makes the entry point a function of the item's number.
fn one_item(module: &mut Module, entry: Func) -> Result<(), JitError> {
    let (item, number) = (number(&module.functions[entry])?, module.u32());
    let result = module.functions[entry].result;
    let ty = module.ty(TypeKind::Function { result, parameters: vec![number] });
    let f = &mut module.functions[entry];
    let param = f.values.push(ValueData { ty: number, def: Def::Param(0), decorations: None });
    (f.ty, f.params) = (ty, vec![param]);
    let mut by = SecondaryMap::of(&f.values);
    by[item] = Some(param);
    f.substitute(&by);
    Ok(())
}
