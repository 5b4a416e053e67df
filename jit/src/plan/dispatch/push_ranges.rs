//! Ranges of push constants that are built into the code: lengths of rows that are shorter than a work-group.
//!
//! Kernels by rows are written for long rows. If a row has fewer elements than the work-group has invocations, most invocations only test whether
//! they have an element, wait at barriers, and add an identity to a tree. After thread coarsening one invocation does several of the kernel's, whose
//! local ids lie in known ranges. With a range of the row length those tests are decided while code is emitted (`emit::passes::unroll_and_jam`), and
//! invocations without an element leave no code behind.
//!
//! # Requires
//! - a recipe that is complete otherwise, and its members with the numbers of the call
//!
//! # Guarantees
//! - a push constant lies in its range, with the numbers of this call; it is one that a plan depends on
//!   ([`Specialized::planned_push`](crate::kernel::Specialized::planned_push)), so that a call with another number is planned anew
//! - lengths between the same multiples have the same code; a single element has its own, as one invocation has it

use crate::analysis::access::PushUse;
use crate::plan::input::submission::Submission;
use crate::plan::output::recipe::{PushRange, Recipe, Unroll};

/// The ranges for a recipe.
pub(crate) fn of(recipe: &Recipe, members: &[Submission]) -> Vec<PushRange> {
    let Some(several) = recipe.schedule.thread_coarsening() else { return Vec::new() };
    let invocations = recipe.schedule.local_size()[0];
    let left = invocations / several;
    let mut found: Vec<PushRange> = Vec::new();
    for (member, submission) in recipe.members.iter().zip(members) {
        if !member.unroll.iter().any(is_done_by_some) {
            continue;
        }
        for (planned, number) in planned(submission) {
            let Some(&slot) = member.push.get(planned.at) else { continue };
            let is_known = found.iter().any(|range| range.slot == slot);
            if !is_known && (1..invocations).contains(&number) {
                let (least, greatest) = match number {
                    1 => (1, 1),
                    _ if mutant!(RowsEndAtMultiples) => (number / left * left, number / left * left),
                    _ => (number / left * left, number.next_multiple_of(left)),
                };
                found.push(PushRange { slot, least, greatest });
            }
        }
    }
    found
}

/// Whether a loop has one round, which some invocations do and others do not.
fn is_done_by_some(how: &Unroll) -> bool {
    matches!(how, Unroll::Whole { sure: 0, most: 1, .. })
}

/// The longest row of a member that is no longer than its work-groups of `invocations`, by the numbers of the call.
pub(crate) fn short_row(submission: &Submission, loops: &[Unroll], invocations: u32) -> Option<u32> {
    let numbers = planned(submission).map(|(_, number)| number);
    let rows = numbers.filter(|number| (1..=invocations).contains(number));
    if loops.iter().any(is_done_by_some) { rows.max() } else { None }
}

/// Whether all lengths that a member's loops may have, by the numbers of the call, are longer than its work-groups of `invocations`.
pub(crate) fn has_long_row(submission: &Submission, loops: &[Unroll], invocations: u32) -> bool {
    let mut numbers = planned(submission).map(|(_, number)| number).peekable();
    !loops.is_empty() && numbers.peek().is_some() && numbers.all(|number| number > invocations)
}

/// A push constant that a plan depends on.
pub(super) struct Planned {
    /// Its place among those of the kernel.
    pub(super) at: usize,
    pub(super) offset: u32,
}

/// Push constants that a plan depends on, and their numbers.
pub(super) fn planned(submission: &Submission) -> impl Iterator<Item = (Planned, u32)> {
    let kernel = &submission.kernel;
    let leaves = match kernel.normal.as_ref().map(|normal| &normal.analysis.push) {
        Ok(PushUse::Leaves(leaves)) => leaves.as_slice(),
        _ => &[],
    };
    let words = leaves.iter().enumerate().filter(|(_, leaf)| {
        leaf.size == 4
            && !kernel.zeros.contains(&leaf.offset)
            && kernel.planned_push().contains(&(leaf.offset, 32))
    });
    words.filter_map(|(at, leaf)| {
        let bytes = submission.push.get(leaf.offset as usize..)?.first_chunk()?;
        Some((Planned { at, offset: leaf.offset }, u32::from_le_bytes(*bytes)))
    })
}
