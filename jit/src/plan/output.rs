//! What a plan consists of: steps and their recipes, the report, and how push constants go through it.

pub(crate) mod again;
pub(in crate::plan) mod changed;
pub(in crate::plan) mod ingredients;
pub(in crate::plan) mod members;
pub(in crate::plan) mod origin;
pub(in crate::plan) mod plan;
pub(in crate::plan) mod push;
pub(crate) mod recipe;
pub(in crate::plan) mod renumber;
pub(in crate::plan) mod report;
pub(crate) mod step;
pub(in crate::plan) mod values;
