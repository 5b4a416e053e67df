//! A candidate: a schedule of a group, with what the code and the dispatch have to know besides.

use crate::plan::dispatch::context::{Context, Finished};
use crate::plan::grouping::mapping::Layout;
use crate::plan::output::push::PushBlock;
use crate::schedule::{Cost, Demands, Schedule};

/// A schedule and what goes with it.
pub(crate) struct Candidate {
    pub(crate) schedule: Schedule,
    /// How members' ids follow from numbers of the domain.
    pub(crate) layout: Layout,
    /// Work-group counts of the domain.
    pub(crate) groups: [u32; 3],
    /// Accesses that take the elements of all items of an invocation at once, by member; empty if none does.
    pub(crate) wide: Vec<Vec<bool>>,
    /// Accesses of an item that could be faster: parts of a vector that are accessed one by one, and elements apart from those of neighbours.
    pub(crate) slow_accesses: usize,
    /// Push constants with the numbers that the schedule passes, if there are some.
    pub(crate) push: Option<PushBlock>,
    /// Shared memory is promoted to registers of sub-groups.
    pub(crate) shuffles: bool,
    /// Slot of the zero that hides floats which are handed over in registers, where that has to be.
    pub(crate) zero: Option<u16>,
}

impl Candidate {
    /// A schedule of the dispatch of `layout` that passes no number.
    pub(crate) fn new(layout: Layout, schedule: Schedule) -> Self {
        Self {
            schedule,
            layout,
            groups: layout.shape.groups,
            wide: Vec::new(),
            slow_accesses: 0,
            push: None,
            shuffles: false,
            zero: None,
        }
    }

    /// As [`Self::new`], of the dispatch as the group has it.
    pub(crate) fn of_group(context: &Context<'_>, schedule: Schedule) -> Self {
        Self::new(context.finished.group.layout, schedule)
    }

    fn demands(&self, finished: &Finished<'_>) -> Demands {
        finished.demands.with_vectors(self.wide.iter().map(Vec::as_slice))
    }

    /// Whether the group may have it, as far as the schedule says ([`Schedule::legal`]).
    pub(crate) fn is_legal(&self, finished: &Finished<'_>) -> bool {
        self.schedule.legal(self.demands(finished)).is_ok()
    }

    /// What is compared with other candidates.
    pub(crate) fn cost(&self, finished: &Finished<'_>) -> Cost {
        self.schedule.cost(self.demands(finished), self.slow_accesses)
    }
}
