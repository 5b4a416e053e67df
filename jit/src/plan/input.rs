//! What a plan is made from: the list, options, the limits of the device, and what follows from a list alone.

pub(in crate::plan) mod analysis;
pub(in crate::plan) mod ends;
pub(in crate::plan) mod limits;
pub(in crate::plan) mod options;
pub(in crate::plan) mod planned_push;
pub(in crate::plan) mod problem;
pub(in crate::plan) mod submission;
pub(in crate::plan) mod uses;
pub(in crate::plan) mod wish;
