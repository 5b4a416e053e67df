//! What schedules cost, as far as one of them is compared with another of the same group: one function with a term for each difference.
//!
//! Terms stand in the order of their weight, and the first that differs decides. They say what is faster on every device that it is proposed
//! for; from where on a device gains anything is in its `Limits`, which the planner asks before it proposes a schedule (`plan/dispatch`).
//!
//! | term | cheaper | why |
//! | --- | --- | --- |
//! | `as_grouped` | items by number | their work-groups have the size that the device likes, whatever the members were written for |
//! | `waiting` | fewer invocations that wait for each other at barriers | the first waits for the last; a single sub-group does not wait |
//! | `work_groups` | more work-groups of the members in one | their loads are in flight together, and fewer are started |
//! | `slow_accesses` | fewer accesses one by one or apart | a vector is one access, and neighbours' elements are in the same lines |
//! | `invocations` | more items in one invocation | loads are in flight together, and what neighbours load is loaded once |

use std::cmp::Reverse;

use super::{Demands, Domain, Schedule};

/// What is compared: less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    /// Work-groups are those of the members.
    as_grouped: bool,
    /// Invocations that wait for each other at a barrier.
    waiting: u32,
    /// Work-groups of the domain in one of the dispatch.
    work_groups: Reverse<u32>,
    /// Accesses of an item that could be faster.
    slow_accesses: usize,
    /// Items of a work-group in one invocation.
    invocations: Reverse<u32>,
}

impl Schedule {
    /// What it costs a group that asks for this; the planner counts the accesses.
    pub(crate) fn cost(&self, demands: Demands, slow_accesses: usize) -> Cost {
        let wait = demands.barriers && (self.full_subgroups.is_none() || self.is_by_subgroups());
        Cost {
            as_grouped: self.domain != Domain::LinearItems,
            waiting: if wait { self.work_group().into_iter().fold(1, u32::saturating_mul) } else { 0 },
            work_groups: Reverse(self.groups_per_work_group()),
            slow_accesses,
            invocations: Reverse(self.items_per_invocation()),
        }
    }
}
