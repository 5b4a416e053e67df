//! Counters of what reached the driver, for tests and statistics.

/// What was done since the device was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GpuStats {
    /// Dispatches recorded and submitted.
    pub(crate) dispatches: u64,
    /// Submissions, those of uploads and downloads included.
    pub(crate) submits: u64,
    /// Pipeline barriers, those of uploads and downloads included.
    pub(crate) barriers: u64,
    /// Copies, fills and updates, those of uploads and downloads included.
    pub(crate) transfers: u64,
    /// Pipelines the driver was asked for.
    pub(crate) pipelines: u64,
    /// Memory objects allocated.
    pub(crate) allocations: u64,
}
