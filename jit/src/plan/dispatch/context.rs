//! What candidates for the schedule of a finished group are made from.

use crate::analysis::resolved_branches::ResolvedBranch;
use crate::plan::grouping::group::Group;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::FloatMode;
use crate::plan::input::submission::Submission;
use crate::plan::output::push::PushBlock;
use crate::plan::output::recipe::Unroll;
use crate::plan::promotion::internalize::Granted;
use crate::plan::promotion::kept_results::Kept;
use crate::schedule::{Demands, Schedule};

/// A finished group: what is the same whatever numbers its members have their ids from.
#[derive(Clone, Copy)]
pub(crate) struct Finished<'a> {
    pub(crate) list: &'a [Submission],
    pub(crate) group: &'a Group,
    pub(crate) granted: &'a [Granted],
    pub(crate) float: FloatMode,
    pub(crate) limits: &'a Limits,
    pub(crate) demands: Demands,
}

/// A group whose schedule alone is not decided yet: with what follows from the ids that its members were submitted with.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) finished: Finished<'a>,
    pub(crate) kept: &'a [Kept],
    pub(crate) unrolled: &'a [Vec<Unroll>],
    /// By member: branches that go one way, in all work-groups.
    pub(crate) resolved: &'a [Vec<ResolvedBranch>],
    /// Whether barriers stand between members.
    pub(crate) barriers: bool,
    /// The members' push constants.
    pub(crate) push: &'a PushBlock,
    /// Whether there may be one more uniform buffer, for push constants that the device has no room for.
    pub(crate) has_buffer: bool,
}

impl<'a> Finished<'a> {
    /// The members of the group.
    pub(crate) fn members(&self) -> &'a [Submission] {
        &self.list[self.group.start..self.group.end()]
    }

    /// Whether the group may have this schedule, as far as that says ([`Schedule::legal`]).
    pub(crate) fn allows(&self, schedule: &Schedule) -> bool {
        schedule.legal(self.demands).is_ok()
    }
}

impl Context<'_> {
    /// The group's work as it was submitted.
    pub(crate) fn as_submitted(&self) -> Schedule {
        let schedule = self.finished.group.layout.as_submitted();
        match self.finished.demands.lanes {
            Some(size) => schedule.by_subgroups(size),
            None => schedule,
        }
    }

    /// Whether there is room for one more number behind these push constants. A buffer that is needed anyway takes it, too.
    pub(crate) fn has_room(&self, push: &PushBlock) -> bool {
        let limit = self.finished.limits.max_push_bytes;
        push.size() + 4 <= limit || self.has_buffer && push.size() > limit
    }
}
