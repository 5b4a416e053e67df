//! Which submissions may be one dispatch: mappings of their work-groups, pairs of accesses, barriers and limits.

pub(in crate::plan) mod boundary;
pub(in crate::plan) mod budget;
pub(in crate::plan) mod cause;
pub(in crate::plan) mod columns;
pub(in crate::plan) mod group;
pub(in crate::plan) mod in_range;
pub(in crate::plan) mod mapping;
pub(in crate::plan) mod overlap;
pub(in crate::plan) mod parts;
pub(in crate::plan) mod view;
