//! Several items of a work-group in one invocation, so that what neighbours have in common is loaded once.
//!
//! A stencil loads each element as often as it has neighbours. Where one invocation does `n` items that lie below each other, it loads the rows that they
//! have in common once. The way that items in the middle of a range take through the fused kernel is written for all of them ([`trace`](super::trace)); whether
//! they take it is asked first, and where they do not, they are done one after another by the kernel as it is. Of a line whose parts different members do, each
//! part has a way of its own ([`trace::parts`](super::trace::parts)).
//!
//! # Requires
//! - functions without parameters of members that are free: no barrier, nothing that is shared, and nothing handed from one item to another
//!
//! # Guarantees
//! - each item of the work-group is done once, with its ids
//! - its instructions are the kernel's, in their order, on the same values; what is loaded once is what nothing writes
//!
//! Kernels that have no such way are left as they are: then the work-group has an invocation for each item.
//!
//! If the schedule asks for it, words that a square work-group loads along columns are staged in shared memory ([`staged`]).

mod items;
mod staged;
mod way;

use std::rc::Rc;
use std::sync::Arc;

use ahash::AHashSet;
use rspirv::spirv::{BuiltIn, LoopControl, SelectionControl};
use smallvec::SmallVec;

use self::items::{VIRTUAL, common, numbered};
use self::way::{Job, Way, function};
use super::trace::Source;
use super::trace::parts::Part;
use super::{bindings, built_ins};
use crate::emit::JitError;
use crate::ir::entity::{Func, Global};
use crate::ir::{Builder, End, Module, Operation};
use crate::kernel::Specialized;
use crate::plan::recipe::Recipe;
use crate::schedule::Superword;

/// Makes an entry point whose invocations do several items each, where the kernel allows it.
pub(in crate::emit) fn run(
    module: &mut Module,
    recipe: &Recipe,
    kernels: &[Arc<Specialized>],
) -> Result<(), JitError> {
    let entry = module.entry_points.first().map(|entry| entry.function);
    let (Some(how), Some(entry)) = (recipe.schedule.superword(), entry) else { return Ok(()) };
    let source = Rc::new(Source::of(module, recipe, kernels));
    let mut job = Job { module, recipe, entry, source };
    let beside = how.in_vectors();
    let chosen = beside.and_then(|beside| Some((job.in_vectors(beside, &Part::Whole)?, beside)));
    let (way, how) = match chosen {
        Some((way, beside)) => (Some(way), beside),
        None => (job.better(how, &Part::Whole), how),
    };
    let (ways, main, views) = match way {
        // A square with staged columns may have more items than a work-group may have invocations, so it needs the loop over its items.
        None if how.staged > 0 => (Ways::OneOf(Vec::new()), function(job.module, entry), AHashSet::new()),
        None => return Ok(()),
        Some(way) => match staged::of(&mut job, how, &way) {
            Some(stages) => (Ways::Staged(Box::new(stages)), way.main, way.views),
            None => {
                let ways = job.of_parts(way, how);
                let views = ways.iter().flat_map(|way| way.views.iter().copied()).collect();
                let main = ways[0].main;
                (Ways::OneOf(ways), main, views)
            }
        },
    };
    finish(module, recipe, how, (entry, main), ways);
    bindings::decorate(module, recipe, kernels, (main, &views));
    let mut size = recipe.schedule.local_size();
    size[usize::from(how.axis)] /= how.items;
    module.set_local_size(size);
    Ok(())
}

/// What is written.
enum Ways {
    /// The first one whose conditions hold, or a loop over the items.
    OneOf(Vec<Way>),
    /// One way with staged columns, or the loop.
    Staged(Box<staged::Stages>),
}

/// Writes the entry point around ways: the first one that items take, or the kernel as it is.
fn finish(module: &mut Module, recipe: &Recipe, how: Superword, (entry, main): (Func, Func), ways: Ways) {
    let is_asked = match &ways {
        Ways::OneOf(ways) => ways.iter().all(|way| way.holds.is_some()),
        Ways::Staged(stages) => stages.is_asked(),
    };
    let variables = if is_asked { built_ins::redirect(module, &VIRTUAL) } else { Vec::new() };
    module.defined.push(main);
    module.entry_points.iter_mut().for_each(|one| one.function = main);
    module.modes.iter_mut().for_each(|mode| mode.function = main);
    if !is_asked {
        // Nothing calls the members.
        module.defined = vec![main];
    }
    let mut code = Builder::new(module, main);
    let mut last = |code: &mut Builder<'_>| one_by_one(code, recipe, how, (entry, &variables));
    match ways {
        Ways::OneOf(ways) => one_of(&mut code, ways.into_iter(), &mut last),
        Ways::Staged(stages) => stages.write(&mut code, &mut last),
    }
    let f = code.function();
    f.regions[f.body].end = End::Return(None);
    code.begin();
}

/// Writes the first of these ways that is taken, or what comes last.
fn one_of(
    code: &mut Builder<'_>,
    mut ways: std::vec::IntoIter<Way>,
    last: &mut impl FnMut(&mut Builder<'_>),
) {
    let Some(way) = ways.next() else { return last(code) };
    code.nodes.extend(way.before);
    let Some(holds) = way.holds else { return code.nodes.extend(way.nodes) };
    let [inside, otherwise] = code.branch(holds, Some(SelectionControl::NONE));
    code.function().regions[inside].nodes = way.nodes;
    code.within(otherwise, |code| one_of(code, ways, last));
}

/// A loop over the items: the kernel as it is does one in each iteration, with its ids in variables.
fn one_by_one(
    code: &mut Builder<'_>,
    recipe: &Recipe,
    how: Superword,
    (entry, variables): (Func, &[(BuiltIn, Global)]),
) {
    let common = common(code, recipe, how, false);
    let (zero, items, void) = (code.word(0), code.word(how.items), code.function().result);
    let repeat = code.begin_loop(zero, items, LoopControl::DONT_UNROLL);
    let item = numbered(code, recipe, how, (&common, repeat.count));
    for &(builtin, variable) in variables {
        built_ins::set(code, builtin, variable, &item.of(builtin));
    }
    code.value(Operation::Call { function: entry, args: SmallVec::new() }, void);
    code.end_loop(repeat);
}
