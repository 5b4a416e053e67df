//! The planner: what is tried on a fusion list, and in which order.
//!
//! A list is planned in its own order first, group by group: a group grows as far as it can ([`grow`]), and what does not join is rewritten so
//! that it may ([`place::across`], [`inline::across`], [`epilogue::across`], [`place::in_blocks`], [`pad::across`], [`place::on_groups`]). If large buffers found no room inside then,
//! the list is planned again with their readers recomputing them ([`unpromoted`]), and again with buffers recomputed that stand between two dispatches.
//! The same is tried in other orders ([`reorder`]) and with a buffer of its own for each value ([`rename`]); the plan with the fewest dispatches stays.

use std::borrow::Cow;

use crate::plan::dispatch::assemble;
use crate::plan::grouping::group::{Group, Rejection};
use crate::plan::grouping::overlap;
use crate::plan::growth;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::{FloatMode, FuseOptions};
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::Submission;
use crate::plan::input::uses::{Uses, with_settled_numbers};
use crate::plan::output::plan::{Plan, PlanError};
use crate::plan::output::report::{ReorderReport, SplitReport};
use crate::plan::output::step::Step;
use crate::plan::rewrites::inline::Stores;
use crate::plan::rewrites::inline::unpromoted::{self, Recomputed};
use crate::plan::rewrites::proposal::{Known, Placed};
use crate::plan::rewrites::rename::{self, Renamed, Value};
use crate::plan::rewrites::{closed, epilogue, inline, pad, place, refused, reorder, squares};
use crate::{Reason, RewriteReason, rewrite};

/// Buffers that are tried one by one where recomputing all of them makes no fewer dispatches.
const MOST_APART: usize = 2;

/// Plans a fusion list.
///
/// # Errors
/// [`PlanError`] if a submission cannot run on the device even alone.
pub fn plan(list: &[Submission], options: &FuseOptions, limits: &Limits) -> Result<Plan, PlanError> {
    let limits = &options.limits(limits);
    let list = closed::list(list, options.float, limits);
    #[cfg(feature = "certify")]
    if let Cow::Owned(closed) = &list {
        let mut plan = plan_any(closed, options, limits)?;
        plan.closed = Some(closed.clone());
        return Ok(plan);
    }
    plan_any(&list, options, limits)
}

/// The list that [`plan`] plans in place of this one, and [`plan_unfused`] its members: under strict floats, of closed kernels.
#[must_use]
pub fn closed(list: &[Submission], float: FloatMode, limits: &Limits) -> Vec<Submission> {
    closed::list(list, float, limits).into_owned()
}

/// Plans a list of kernels in their closed forms. Submissions without work-groups do nothing, so the plan is that of the others.
///
/// # Errors
/// As [`plan`].
fn plan_any(list: &[Submission], options: &FuseOptions, limits: &Limits) -> Result<Plan, PlanError> {
    if list.iter().all(Submission::runs) {
        return plan_all(list, options, limits);
    }
    let positions: Vec<usize> = (0..list.len()).filter(|&at| list[at].runs()).collect();
    let some: Vec<Submission> = positions.iter().map(|&at| list[at].clone()).collect();
    match plan_all(&some, options, limits) {
        Ok(plan) => Ok(plan.among(&positions, list)),
        Err(error) => Err(PlanError { submission: positions[error.submission], ..error }),
    }
}

/// Plans a list in which every submission has work-groups.
///
/// # Errors
/// As [`plan`].
fn plan_all(list: &[Submission], options: &FuseOptions, limits: &Limits) -> Result<Plan, PlanError> {
    let list = &*with_settled_numbers(list);
    let mut best = plan_in_any_order(list, options, limits)?;
    if options.no_rewrites || options.apart {
        return Ok(best);
    }
    let mut values = rename::values(list, &best, limits);
    for _ in 0..rename::MOST_TRIED {
        if values.is_empty() {
            break;
        }
        let Some(renamed) = Renamed::of(list, values.iter().map(Value::uses)) else { break };
        let Ok(mut plan) = plan_in_any_order(&renamed.list, options, limits) else { break };
        let all = best.values.all | plan.values.all;
        (best.values.all, plan.values.all) = (all, all);
        let in_memory = renamed.in_memory(&plan);
        if in_memory.is_empty() {
            // A dispatch that binds as many bytes moves fewer of them.
            if reorder::is_no_worse(&plan, &best) {
                best = renamed.as_submitted(plan, &values);
            }
            break;
        }
        let mut number = 0..;
        values.retain(|_| number.next().is_some_and(|number| !in_memory.contains(&number)));
    }
    Ok(best)
}

/// Plans a list in its own order, or in one that takes fewer dispatches.
///
/// # Errors
/// As [`plan`].
fn plan_in_any_order(list: &[Submission], options: &FuseOptions, limits: &Limits) -> Result<Plan, PlanError> {
    let mut best = plan_in_order(list, options, limits)?;
    if best.steps.len() <= 1 || list.len() <= 2 || options.no_rewrites || options.apart {
        return Ok(best);
    }
    let dispatches = best.steps.len();
    let dependences = reorder::Dependences::of(list);
    for order in reorder::proposals(list, &dependences, &best, options, limits) {
        if !dependences.allow(&order) {
            continue;
        }
        let all = best.values.all;
        match plan_as(list, &order, options, limits) {
            Ok(mut other) if reorder::is_better(&other, &best) => {
                other.values.all |= all;
                other.report.reordered = Some(ReorderReport { order, dispatches });
                best = other;
            }
            Ok(other) => best.values.all |= other.values.all,
            Err(_) => {}
        }
    }
    Ok(best)
}

/// Plans a list as if it had been submitted in this order, and tells the plan in the positions of the list.
///
/// # Errors
/// As [`plan`].
pub(crate) fn plan_as(
    list: &[Submission],
    order: &[usize],
    options: &FuseOptions,
    limits: &Limits,
) -> Result<Plan, PlanError> {
    let reordered: Vec<Submission> = order.iter().map(|&at| list[at].clone()).collect();
    match plan_in_order(&reordered, options, limits) {
        Ok(plan) => Ok(plan.renumbered(order)),
        Err(error) => Err(PlanError { submission: order[error.submission], ..error }),
    }
}

/// Plans a fusion list in the order in which it is.
///
/// # Errors
/// As [`plan`].
pub(crate) fn plan_in_order(
    list: &[Submission],
    options: &FuseOptions,
    limits: &Limits,
) -> Result<Plan, PlanError> {
    let mut plan = Planner::new(list, options, limits).run()?;
    if options.no_rewrites || options.apart {
        return Ok(plan);
    }
    let unpromoted = unpromoted::unpromoted(list, &plan, limits);
    // Whether they can be recomputed depends on numbers.
    plan.values.all |= !unpromoted.is_empty();
    if let Some(recomputed) = Recomputed::of(list, &unpromoted, options, limits) {
        let other = Planner::new(list, options, limits).recomputing(recomputed).run_fused();
        if let Ok(Some(other)) = other
            && reorder::is_better(&other, &plan)
        {
            plan = other;
        }
    }
    let apart = unpromoted::apart(list, &plan);
    plan.values.all |= !apart.is_empty();
    // All of them, or one.
    let each = apart.chunks(1).take(if apart.len() > 1 { MOST_APART } else { 0 });
    for some in (!apart.is_empty()).then_some(&apart[..]).into_iter().chain(each) {
        let recomputed = match Recomputed::beside(list, some, options, limits) {
            Ok(recomputed) => recomputed,
            Err(refused) => {
                refused.into_iter().for_each(|one| one.tell(&mut plan.report));
                continue;
            }
        };
        let other = Planner::new(list, options, limits).recomputing(recomputed).run_fused();
        if let Ok(Some(mut other)) = other
            && other.steps.len() < plan.steps.len()
            && reorder::is_better(&other, &plan)
        {
            other.values.all = true;
            plan = other;
            break;
        }
    }
    Ok(plan)
}

/// The state of planning a list in the order in which it is, one dispatch after another.
struct Planner<'a> {
    /// The list as it was submitted.
    asked: &'a [Submission],
    /// The list as it is rewritten so far.
    list: Cow<'a, [Submission]>,
    uses: Uses,
    options: &'a FuseOptions,
    limits: &'a Limits,
    /// The dispatches up to here, with their report.
    plan: Plan,
}

impl<'a> Planner<'a> {
    fn new(list: &'a [Submission], options: &'a FuseOptions, limits: &'a Limits) -> Self {
        Planner {
            asked: list,
            list: Cow::Borrowed(list),
            uses: Uses::of(list).under(options.policy, list),
            options,
            limits,
            plan: Plan::default(),
        }
    }

    /// With a list whose readers recompute what was not promoted.
    fn recomputing(mut self, recomputed: Recomputed) -> Self {
        self.uses = Uses::of(&recomputed.list).under(self.options.policy, &recomputed.list);
        self.list = Cow::Owned(recomputed.list);
        self.plan.report.inlined = recomputed.inlined;
        self.plan.report.epilogues = recomputed.epilogues;
        #[cfg(feature = "certify")]
        {
            (self.plan.again, self.plan.behind) = (recomputed.again, recomputed.behind);
        }
        self
    }
}

impl Planner<'_> {
    /// The list as it is rewritten so far.
    fn problem(&self) -> Problem<'_> {
        Problem { list: &self.list, uses: &self.uses, options: self.options, limits: self.limits }
    }

    /// Plans all dispatches.
    fn run(mut self) -> Result<Plan, PlanError> {
        self.dispatches()?;
        Ok(self.finish())
    }

    /// Plans all dispatches of a list in which submissions were rewritten before anything was planned; `None` if one of them would run alone:
    /// what runs alone is the kernel that was submitted.
    fn run_fused(mut self) -> Result<Option<Plan>, PlanError> {
        self.dispatches()?;
        let report = &self.plan.report;
        let mut alone = report.groups.iter().filter(|group| !group.fused);
        let is_rewritten = alone.any(|group| group.members.iter().any(|&at| report.is_rewritten(at..at + 1)));
        Ok((!is_rewritten).then(|| self.finish()))
    }

    fn dispatches(&mut self) -> Result<(), PlanError> {
        let mut start = 0;
        while start < self.list.len() {
            start = self.dispatch(start)?;
        }
        Ok(())
    }

    fn finish(self) -> Plan {
        let Self { asked, list, uses, limits, mut plan, .. } = self;
        assemble::report_wishes(&list, &uses, &mut plan);
        plan.note_values(asked, &list);
        plan.report.note_recomputed();
        plan.steps.iter_mut().for_each(|step| step.ask(limits.float_controls));
        #[cfg(feature = "certify")]
        if let Cow::Owned(rewritten) = list {
            plan.rewritten = Some(rewritten);
        }
        plan
    }

    /// Plans the dispatch that begins with submission `start`; returns where the next one begins.
    fn dispatch(&mut self, start: usize) -> Result<usize, PlanError> {
        let (mut group, mut rejection) = match self.options.apart {
            true => (None, Some(Reason::MeasuredSlower.into())),
            false => growth::grow(self.problem(), start, &self.plan.report.buffers),
        };
        let mut tried = None;
        if let Some(group) = &mut group {
            tried = self.rewrite(group, &mut rejection);
        }
        let beside =
            group.as_mut().and_then(|group| growth::beside(self.problem(), group, &self.plan.report.buffers));
        let boundary = match (&group, &beside) {
            (Some(group), None) => overlap::boundary(&self.list, group, self.options, self.limits),
            _ => None,
        };
        if let Some(beside) = beside {
            group = Some(beside);
        } else if let Some(boundary) = boundary
            && !self.plan.report.is_rewritten(boundary..self.list.len())
            // A kernel that rests on sub-groups does not run alone.
            && self.list[start..boundary].iter().all(|one| one.kernel.lanes.is_none())
            && let Some(part) = growth::grow_to(self.problem(), start..boundary, &self.plan.report.buffers)
        {
            (group, rejection, tried) = (Some(part), Some(Reason::Overlaps.into()), None);
        }
        let end = match group {
            Some(group) if group.end() - start > 1 => self.fused(group),
            _ => {
                let step = plan_unfused_at(self.problem(), start)?;
                assemble::report_unfused(&self.list, start, &step, &mut self.plan);
                self.plan.steps.push(step);
                start + 1
            }
        };
        if let Some(mut rejection) = rejection
            && end < self.list.len()
        {
            self.tell_whose(&mut rejection.reason, start..end);
            self.plan.report.splits.push(SplitReport {
                after: end - 1,
                buffer: rejection.buffer,
                detail: rejection.reason.detail(),
                reason: rejection.reason,
                tried,
            });
        }
        Ok(end)
    }

    /// Gives different local sizes as those of two kernels that were submitted: members may have been placed since.
    fn tell_whose(&self, reason: &mut Reason, members: std::ops::Range<usize>) {
        let Reason::LocalSize { earlier, have, want } = reason else { return };
        let own = |at: usize| self.asked[at].kernel.interface.local_size;
        (*earlier, *have, *want) = (members.start, own(members.start), own(members.end));
        // The nearest that differs; all of them may have been placed on others.
        let found = members.rev().find(|&at| own(at) != *want);
        found.into_iter().for_each(|at| (*earlier, *have) = (at, own(at)));
    }

    /// Rewrites submissions as long as that lets the next one join; returns why the last attempt failed, if there was something to try.
    fn rewrite(&mut self, group: &mut Group, rejection: &mut Option<Rejection>) -> Option<RewriteReason> {
        while let Some(why) = rejection {
            if let Err(tried) = self.rewrite_for_next(group, why) {
                return tried;
            }
            // What a rewrite lets join may let others join as it is.
            *rejection = growth::grow_on(self.problem(), group, &self.plan.report.buffers);
        }
        None
    }

    /// Lets the submission behind a group join it by one rewrite; `Err(None)` if there is nothing to try.
    fn rewrite_for_next(&mut self, group: &mut Group, why: &Rejection) -> Result<(), Option<RewriteReason>> {
        let placed = place::across(self.asked, self.problem(), group, Known::of(&self.plan.report));
        let tried = match placed {
            Ok(placed) => {
                self.take(placed);
                return Ok(());
            }
            Err(reason) => reason,
        };
        self.plan.values.all |= inline::is_tried(&self.list[group.end()], why, self.options);
        let recomputed = match self.inline_for_next(group, why, Stores::One) {
            Ok(()) => return Ok(()),
            Err(reason) => reason,
        };
        let tried = tried.or_else(|| recomputed.clone());
        let (tried, several) = match epilogue::across(self.asked, self.problem(), group, why) {
            Ok(appended) => {
                self.plan.report.epilogues.extend(appended.reports);
                #[cfg(feature = "certify")]
                self.plan.behind.extend(appended.behind);
                (self.list, self.uses) = (Cow::Owned(appended.list), appended.uses);
                *group = appended.group;
                return Ok(());
            }
            Err(reason) => refused::with_epilogue(tried, reason),
        };
        match place::in_blocks(self.asked, self.problem(), group, Known::of(&self.plan.report)) {
            Ok(placed) => {
                self.take(placed);
                Ok(())
            }
            Err(rows) => {
                // Where an item stores several elements, each of its readers computes all of them: only if nothing else is possible.
                let tried = match (tried, self.inline_for_next(group, why, Stores::Several)) {
                    (_, Ok(())) => return Ok(()),
                    (None | Some(RewriteReason::NoDefinition { .. }), Err(Some(reason)))
                    | (_, Err(Some(reason @ RewriteReason::Costs { .. }))) => Some(reason),
                    (tried, Err(_)) => tried,
                };
                let tried = refused::with_several(tried, several.as_ref(), recomputed);
                self.pad_for_next(group, why, tried, rows).map_err(|tried| tried.or(several))
            }
        }
    }

    /// Lets the submission behind a group join it by recomputing what it reads; `Err(None)` if there is nothing to try.
    fn inline_for_next(
        &mut self,
        group: &mut Group,
        why: &Rejection,
        stores: Stores,
    ) -> Result<(), Option<RewriteReason>> {
        let inlined = inline::across(self.asked, self.problem(), group, (why, stores), &self.plan.report)?;
        self.plan.report.inlined.extend(inlined.inlined);
        #[cfg(feature = "certify")]
        self.plan.again.extend(inlined.again);
        (self.list, self.uses) = (Cow::Owned(inlined.list), inlined.uses);
        if let Some(placed) = inlined.placed {
            self.take(placed);
        }
        *group = inlined.group;
        Ok(())
    }

    /// What is tried last: padding, then placing on the work-groups of others. `tried` is why nothing else was possible, and `rows` why whole rows were not.
    fn pad_for_next(
        &mut self,
        group: &mut Group,
        why: &Rejection,
        tried: Option<RewriteReason>,
        rows: Option<RewriteReason>,
    ) -> Result<(), Option<RewriteReason>> {
        // A padded kernel divides nothing, and what its work-group loads stays the same for all of it.
        let padded = match pad::across(self.problem(), group, why, Known::of(&self.plan.report)) {
            Ok(padded) => {
                self.take(padded);
                return Ok(());
            }
            Err(padded) => padded,
        };
        let rows = match place::on_groups(self.asked, self.problem(), group, Known::of(&self.plan.report)) {
            Ok(placed) => {
                self.take(placed);
                return Ok(());
            }
            Err(other) => rows.or(other),
        };
        match (padded, rows) {
            // What it would cost says more than why nothing else is possible.
            (_, Some(cost @ RewriteReason::FewRows { .. })) => Err(Some(cost)),
            (Some(rejected @ RewriteReason::Rejected(_)), rows) => {
                Err(refused::with_padded(rejected, tried.or(rows)))
            }
            (padded, rows) => Err(refused::with_padding(padded, tried).or(rows)),
        }
    }

    /// Replaces the list by the one in which submissions are placed.
    fn take(&mut self, placed: Placed) {
        #[cfg(feature = "certify")]
        self.plan.placed.extend(placed.before.iter().cloned());
        self.list = Cow::Owned(placed.tell(&mut self.plan.report.rewrites));
    }

    /// Records what recomputes others, as it is before it is placed.
    #[cfg(feature = "certify")]
    fn record_inlined(&mut self, members: std::ops::Range<usize>) {
        let Plan { report, placed, .. } = &mut self.plan;
        for at in members {
            let is_inlined = report.inlined.iter().any(|one| one.submission == at);
            let is_known = placed.iter().any(|one| one.0 == at);
            if is_inlined && !is_known && !report.epilogues.iter().any(|one| one.changes(at)) {
                placed.push((at, self.list[at].clone()));
            }
        }
    }

    /// Adds the dispatch of a group of several submissions; returns where it ends.
    fn fused(&mut self, mut group: Group) -> usize {
        let members = group.start..group.end();
        let squares = squares::of(self.problem(), &group, &self.plan.report.rewrites);
        if let Some((placed, squares)) = squares {
            #[cfg(feature = "certify")]
            self.record_inlined(members.clone());
            self.list = Cow::Owned(placed.tell(&mut self.plan.report.rewrites));
            group = squares;
        }
        assemble::report_gone(self.asked, members.clone(), &mut self.plan);
        let Self { list, uses, options, limits, plan, .. } = self;
        assemble::fused(Problem { list, uses, options, limits }, group, plan);
        members.end
    }
}

/// Plans one submission by itself: the user's module as it is, unless its group counts have to be
/// folded to fit the device.
///
/// # Errors
/// [`PlanError`] if the group counts exceed the device's limits and the kernel has no normal form.
pub fn plan_unfused(one: &Submission, float: FloatMode, limits: &Limits) -> Result<Step, PlanError> {
    let list = match mutant!(AloneIsOpen) {
        true => Cow::Borrowed(std::slice::from_ref(one)),
        false => closed::list(std::slice::from_ref(one), float, limits),
    };
    let options = FuseOptions { float, ..FuseOptions::default() };
    let problem = Problem { list: &list, uses: &Uses::of(&list), options: &options, limits };
    let mut step = plan_unfused_at(problem, 0)?;
    step.ask(limits.float_controls);
    Ok(step)
}

fn plan_unfused_at(problem: Problem<'_>, position: usize) -> Result<Step, PlanError> {
    let Problem { list, limits, options: &FuseOptions { float, .. }, .. } = problem;
    let one = &list[position];
    let over = (0..3).find(|&d| one.groups[d] > limits.max_groups[d]);
    // A closed kernel may have more push constants than there is room for; where it has, there is a buffer for them.
    let has_room = one.kernel.zeros.is_empty() || rewrite::words_at(&one.kernel) <= limits.max_push_bytes;
    if over.is_none() && has_room {
        return Ok(assemble::plain(one, position, float));
    }
    let dim = over.unwrap_or(0);
    let failed = |reason: Reason| PlanError { submission: position, kernel: one.kernel.name.clone(), reason };
    let group = Group::new(problem, position).map_err(|reason| match reason {
        Reason::RangeTooLarge => {
            let (count, limit) = (one.groups[dim], limits.max_groups[dim]);
            failed(Reason::GroupCount { dim, count, limit })
        }
        reason => failed(reason),
    })?;
    let options = FuseOptions { float, ..FuseOptions::default() };
    Ok(assemble::folded(list, &group, &options, limits))
}
