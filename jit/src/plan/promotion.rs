//! Which buffers of a group stay inside of it, and which results an invocation keeps.

pub(in crate::plan) mod element;
pub(in crate::plan) mod internalize;
pub(in crate::plan) mod kept_results;
pub(in crate::plan) mod reaching_definitions;
pub(in crate::plan) mod unroll;
