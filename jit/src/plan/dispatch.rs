//! Which invocation of a group's dispatch does which work, and the step that comes of it.

pub(in crate::plan) mod assemble;
pub(in crate::plan) mod candidates;
pub(in crate::plan) mod context;
pub(in crate::plan) mod interleave;
pub(in crate::plan) mod lockstep;
pub(in crate::plan) mod narrow;
pub(in crate::plan) mod settled;
pub(in crate::plan) mod shape;
