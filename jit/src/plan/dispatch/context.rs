//! What the schedule of a finished group is chosen by.

use crate::analysis::resolved_branches::ResolvedBranch;
use crate::plan::dispatch::shape::Chosen;
use crate::plan::grouping::group::Group;
use crate::plan::input::limits::Limits;
use crate::plan::input::submission::Submission;
use crate::plan::output::push::PushBlock;
use crate::plan::output::recipe::Unroll;
use crate::plan::promotion::internalize::Granted;
use crate::plan::promotion::kept_results::Kept;
use crate::schedule::{Demands, Schedule};

/// A group of which all but the schedule is decided.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) list: &'a [Submission],
    pub(crate) group: &'a Group,
    pub(crate) granted: &'a [Granted],
    /// What was chosen for items that any invocation may do.
    pub(crate) chosen: Option<&'a Chosen>,
    pub(crate) kept: &'a [Kept],
    pub(crate) unrolled: &'a [Vec<Unroll>],
    /// By member: branches that go one way, in all work-groups.
    pub(crate) resolved: &'a [Vec<ResolvedBranch>],
    /// Whether barriers stand between members.
    pub(crate) barriers: bool,
    /// Whether floats have the same bits in whatever code they are computed.
    pub(crate) is_strict: bool,
    pub(crate) limits: &'a Limits,
    /// The members' push constants.
    pub(crate) push: &'a PushBlock,
    /// Whether there may be one more uniform buffer, for push constants that the device has no room for.
    pub(crate) has_buffer: bool,
    pub(crate) demands: Demands,
}

impl<'a> Context<'a> {
    /// The members of the group.
    pub(crate) fn members(&self) -> &'a [Submission] {
        &self.list[self.group.start..self.group.end()]
    }

    /// The group's work as it was submitted.
    pub(crate) fn as_submitted(&self) -> Schedule {
        let layout = &self.group.layout;
        Schedule::new(layout.domain, layout.shape.local, layout.shape.groups[1..] == [1, 1])
    }

    /// Whether the group may have this schedule, as far as that says ([`Schedule::legal`]).
    pub(crate) fn allows(&self, schedule: &Schedule) -> bool {
        schedule.legal(self.demands).is_ok()
    }

    /// Whether there is room for one more number behind these push constants. A buffer that is needed anyway takes it, too.
    pub(crate) fn has_room(&self, push: &PushBlock) -> bool {
        let limit = self.limits.max_push_bytes;
        push.size() + 4 <= limit || self.has_buffer && push.size() > limit
    }
}
