//! Where free kernels may do their items, and what was placed.

use crate::plan::input::submission::Submission;
use crate::plan::output::report::{EpilogueReport, InlineReport, Places, Report, RewriteReport};

/// What earlier rewrites changed in a list that was submitted.
#[derive(Clone, Copy)]
pub(in crate::plan) struct Known<'a> {
    /// Submissions that were placed.
    pub(in crate::plan) rewrites: &'a [RewriteReport],
    /// Submissions that compute elements of others themselves: at earlier kernel boundaries, and at this one.
    pub(in crate::plan) inlined: [&'a [InlineReport]; 2],
    /// Submissions that are done where others store.
    pub(in crate::plan) epilogues: &'a [EpilogueReport],
}

impl<'a> Known<'a> {
    pub(in crate::plan) fn of(report: &'a Report) -> Self {
        Self { rewrites: &report.rewrites, inlined: [&report.inlined, &[]], epilogues: &report.epilogues }
    }

    /// Whether a submission was changed in another way than by placing it.
    pub(in crate::plan) fn differs(&self, at: usize) -> bool {
        self.inlined.iter().copied().flatten().any(|one| one.changes(at))
            || self.epilogues.iter().any(|one| one.changes(at))
    }
}

/// What was placed so that a group holds.
pub(crate) struct Placed {
    /// The list with these members as they are placed.
    pub(crate) list: Vec<Submission>,
    pub(crate) rewrites: Vec<RewriteReport>,
    /// Submissions that stand where they were placed before no more.
    pub(crate) undone: Vec<usize>,
    /// What was placed, as it was before: before it went by rounds, and then before it was placed.
    #[cfg(feature = "certify")]
    pub(crate) before: Vec<(usize, Submission)>,
}

impl Placed {
    /// These submissions of a list, in the list as it is with them placed.
    pub(in crate::plan) fn of(
        _before: &[Submission],
        list: Vec<Submission>,
        rewrites: Vec<RewriteReport>,
        undone: &[usize],
    ) -> Self {
        Self {
            #[cfg(feature = "certify")]
            before: rewrites.iter().map(|one| (one.submission, _before[one.submission].clone())).collect(),
            list,
            rewrites,
            undone: undone.to_vec(),
        }
    }

    /// Takes what was placed into a report of what was placed before.
    pub(crate) fn tell(self, rewrites: &mut Vec<RewriteReport>) -> Vec<Submission> {
        rewrites.retain(|one| !self.undone.contains(&one.submission));
        rewrites.extend(self.rewrites);
        self.list
    }
}

/// Where a partner wants free kernels to do their items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plan) struct Proposal {
    pub(in crate::plan) partner: usize,
    /// Of a kernel that does one element an item.
    pub(in crate::plan) places: Places,
    pub(in crate::plan) groups: [u32; 3],
    pub(in crate::plan) local: [u32; 3],
    /// The kernel that shares a buffer with the partner processes it by whole work-groups.
    pub(in crate::plan) by_groups: bool,
}

/// Whose rows or tiles free kernels may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::plan) enum Partners {
    /// Of members that they have a buffer in common with, through accesses to that.
    Shared,
    /// Of any member that goes through elements of their size: what has nothing in common is one dispatch all the same.
    Any,
}
