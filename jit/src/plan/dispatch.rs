//! Which invocation of a group's dispatch does which work, and the step that comes of it.

pub(in crate::plan) mod assemble;
pub(in crate::plan) mod block_coarsening;
pub(in crate::plan) mod candidate;
pub(in crate::plan) mod candidates;
pub(in crate::plan) mod context;
pub(in crate::plan) mod item_coarsening;
pub(in crate::plan) mod neighbours;
pub(in crate::plan) mod push_multiples;
pub(in crate::plan) mod push_ranges;
pub(in crate::plan) mod resolved_branches;
pub(in crate::plan) mod superword;
pub(in crate::plan) mod thread_coarsening;
