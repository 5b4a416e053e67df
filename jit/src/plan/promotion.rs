//! Which buffers of a group stay inside of it, and which loads an invocation does once.

pub(in crate::plan) mod element;
pub(in crate::plan) mod internalize;
pub(in crate::plan) mod load_once;
pub(in crate::plan) mod reaching_definitions;
pub(in crate::plan) mod unroll;
