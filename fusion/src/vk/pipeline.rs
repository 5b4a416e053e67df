//! From SPIR-V words to a compute pipeline.

pub(super) mod compute;
pub(super) mod driver_cache;
pub(super) mod module;
pub(super) mod statistics;
