//! What happened: outcomes, reports, counters.

pub(crate) mod list;
pub(crate) mod outcome;
pub(crate) mod stats;
