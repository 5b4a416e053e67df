//! The planner: what is tried on a fusion list, and in which order.
//!
//! A list is planned in its own order first, group by group: a group grows as far as it can ([`grow`]), and what does not join is rewritten so
//! that it may ([`place::across`], [`inline::across`], [`place::in_blocks`]). Then the same is tried in other orders ([`reorder`]) and with a
//! buffer of its own for each value ([`rename`]); the plan with the fewest dispatches stays.

use std::borrow::Cow;

use crate::plan::dispatch::assemble;
use crate::plan::grouping::budget::Budget;
use crate::plan::grouping::group::{Group, Rejection};
use crate::plan::grouping::overlap;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::{FloatMode, FuseOptions};
use crate::plan::input::submission::Submission;
use crate::plan::input::uses::Uses;
use crate::plan::output::plan::{Plan, PlanError};
use crate::plan::output::report::{ReorderReport, SplitReport};
use crate::plan::output::step::Step;
use crate::plan::rewrites::rename::{self, Renamed, Value};
use crate::plan::rewrites::{closed, inline, place, reorder, squares};
use crate::{Reason, RewriteReason, rewrite};

/// Plans a fusion list.
///
/// # Errors
/// [`PlanError`] if a submission cannot run on the device even alone.
pub fn plan(list: &[Submission], options: &FuseOptions, limits: &Limits) -> Result<Plan, PlanError> {
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
                best = renamed.told(plan, &values);
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
    let mut plan = Plan::default();
    let asked = list;
    let mut uses = Uses::of(list).under(options.policy, list);
    let mut list = Cow::Borrowed(list);
    let mut start = 0;
    while start < list.len() {
        let (mut group, mut rejection) = match options.apart {
            true => (None, Some(Reason::MeasuredSlower.into())),
            false => grow(&list, &uses, start, options, limits),
        };
        // What a rewrite lets join may let others join as it is.
        let mut tried = None;
        while let (Some(held), Some(why)) = (&mut group, &rejection) {
            let report = &mut plan.report;
            let differs = |at: usize| report.inlined.iter().any(|one| one.changes(at));
            let known = (&report.rewrites[..], &differs as &dyn Fn(usize) -> bool);
            let placed = place::across(asked, (&list, &uses), held, known, options, limits);
            let inlined = match placed {
                Ok(placed) => {
                    #[cfg(feature = "certify")]
                    plan.placed.extend(placed.before.iter().cloned());
                    list = Cow::Owned(placed.tell(&mut report.rewrites));
                    rejection = grow_on(&list, &uses, held, options, limits);
                    continue;
                }
                Err(reason) => {
                    tried = reason;
                    plan.values.all |= inline::is_tried(&list[held.end()], why, options);
                    inline::across(asked, (&list, &uses), held, why, report, options, limits)
                }
            };
            match inlined {
                Ok(inlined) => {
                    report.inlined.extend(inlined.inlined);
                    #[cfg(feature = "certify")]
                    plan.again.extend(inlined.again);
                    (list, uses) = (Cow::Owned(inlined.list), inlined.uses);
                    if let Some(placed) = inlined.placed {
                        #[cfg(feature = "certify")]
                        plan.placed.extend(placed.before.iter().cloned());
                        list = Cow::Owned(placed.tell(&mut report.rewrites));
                    }
                    *held = inlined.group;
                    rejection = grow_on(&list, &uses, held, options, limits);
                    tried = None;
                }
                Err(reason) => {
                    tried = tried.or(reason);
                    let differs = |at: usize| report.inlined.iter().any(|one| one.changes(at));
                    let known = (&report.rewrites[..], &differs as &dyn Fn(usize) -> bool);
                    match place::in_blocks(asked, (&list, &uses), held, known, options, limits) {
                        Ok(placed) => {
                            #[cfg(feature = "certify")]
                            plan.placed.extend(placed.before.iter().cloned());
                            list = Cow::Owned(placed.tell(&mut report.rewrites));
                            rejection = grow_on(&list, &uses, held, options, limits);
                            tried = None;
                        }
                        // What it would cost says more than why nothing else is possible.
                        Err(Some(cost @ RewriteReason::FewRows { .. })) => {
                            tried = Some(cost);
                            break;
                        }
                        Err(reason) => {
                            tried = tried.or(reason);
                            break;
                        }
                    }
                }
            }
        }
        let boundary = group.as_ref().and_then(|group| overlap::boundary(&list, group, options, limits));
        if let Some(boundary) = boundary
            && !plan.report.is_rewritten(boundary..list.len())
            && let Some(part) = grow_to(&list, &uses, start..boundary, options, limits)
        {
            (group, rejection, tried) = (Some(part), Some(Reason::Overlaps.into()), None);
        }
        let end = match group {
            Some(mut group) if group.end() - start > 1 => {
                let end = group.end();
                let rewrites = &mut plan.report.rewrites;
                if let Some((placed, squares)) = squares::of(&list, &uses, &group, rewrites, options, limits)
                {
                    (list, group) = (Cow::Owned(placed.tell(rewrites)), squares);
                }
                assemble::report_gone(asked, start..end, &mut plan);
                assemble::fused(&list, &uses, group, options, limits, &mut plan);
                end
            }
            _ => {
                plan.steps.push(plan_unfused_at(&list, &uses, start, options.float, limits)?);
                assemble::report_unfused(&list, start, limits, &mut plan);
                start + 1
            }
        };
        if let Some(rejection) = rejection
            && end < list.len()
        {
            plan.report.splits.push(SplitReport {
                after: end - 1,
                buffer: rejection.buffer,
                detail: rejection.reason.detail(),
                reason: rejection.reason,
                tried,
            });
        }
        start = end;
    }
    assemble::report_wishes(&list, &uses, &mut plan);
    plan.note_values(asked, &list);
    plan.steps.iter_mut().for_each(|step| step.ask(limits.float_controls));
    #[cfg(feature = "certify")]
    if let Cow::Owned(rewritten) = list {
        plan.rewritten = Some(rewritten);
    }
    Ok(plan)
}

/// The longest group from `start`, and what ended it.
fn grow(
    list: &[Submission],
    uses: &Uses,
    start: usize,
    options: &FuseOptions,
    limits: &Limits,
) -> (Option<Group>, Option<Rejection>) {
    match Group::new(list, uses, start, limits) {
        Ok(mut group) => {
            let rejection = grow_on(list, uses, &mut group, options, limits);
            (Some(group), rejection)
        }
        Err(reason) => (None, Some(reason.into())),
    }
}

/// A group of exactly these submissions, if they are one.
fn grow_to(
    list: &[Submission],
    uses: &Uses,
    members: std::ops::Range<usize>,
    options: &FuseOptions,
    limits: &Limits,
) -> Option<Group> {
    let mut group = Group::new(list, uses, members.start, limits).ok()?;
    while group.end() < members.end {
        group.join(list, uses, options, limits).ok()?;
    }
    Some(group)
}

/// Takes in all that joins a group; what ends it.
fn grow_on(
    list: &[Submission],
    uses: &Uses,
    group: &mut Group,
    options: &FuseOptions,
    limits: &Limits,
) -> Option<Rejection> {
    let mut budget = Budget::new(&list[group.start]);
    for member in &list[group.start + 1..group.end()] {
        budget.take(member);
    }
    while group.end() < list.len() {
        let next = &list[group.end()];
        if let Err(reason) = budget.add(next, options.float, limits) {
            return Some(reason.into());
        }
        if let Err(rejection) = group.join(list, uses, options, limits) {
            return Some(rejection);
        }
    }
    None
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
    let mut step = plan_unfused_at(&list, &Uses::of(&list), 0, float, limits)?;
    step.ask(limits.float_controls);
    Ok(step)
}

fn plan_unfused_at(
    list: &[Submission],
    uses: &Uses,
    position: usize,
    float: FloatMode,
    limits: &Limits,
) -> Result<Step, PlanError> {
    let one = &list[position];
    let over = (0..3).find(|&d| one.groups[d] > limits.max_groups[d]);
    // A closed kernel may have more push constants than there is room for; where it has, there is a buffer for them.
    let has_room = one.kernel.zeros.is_empty() || rewrite::words_at(&one.kernel) <= limits.max_push_bytes;
    if over.is_none() && has_room {
        return Ok(assemble::plain(one, position, float));
    }
    let dim = over.unwrap_or(0);
    let failed = |reason: Reason| PlanError { submission: position, kernel: one.kernel.name.clone(), reason };
    let group = Group::new(list, uses, position, limits).map_err(|reason| match reason {
        Reason::RangeTooLarge => {
            let (count, limit) = (one.groups[dim], limits.max_groups[dim]);
            failed(Reason::GroupCount { dim, count, limit })
        }
        reason => failed(reason),
    })?;
    let options = FuseOptions { float, ..FuseOptions::default() };
    Ok(assemble::folded(list, &group, &options, limits))
}
