//! Counters of what reached the driver, for tests and statistics.

use std::sync::atomic::{AtomicU64, Ordering};

/// What was done since the device was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GpuStats {
    /// Dispatches submitted.
    pub(crate) dispatches: u64,
    /// Submissions, those of uploads and downloads included.
    pub(crate) submits: u64,
    /// Pipeline barriers submitted, those of uploads and downloads included; the one that makes results visible to
    /// the host at the end of a submission is not counted.
    pub(crate) barriers: u64,
    /// Copies, fills and updates, those of uploads and downloads included.
    pub(crate) transfers: u64,
    /// Pipelines the driver made.
    pub(crate) pipelines: u64,
    /// Memory objects allocated.
    pub(crate) allocations: u64,
}

/// The live counters.
#[derive(Debug, Default)]
pub(super) struct Counters {
    dispatches: AtomicU64,
    submits: AtomicU64,
    barriers: AtomicU64,
    transfers: AtomicU64,
    pipelines: AtomicU64,
    allocations: AtomicU64,
}

/// What one submission adds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recorded {
    pub(super) dispatches: u64,
    pub(super) barriers: u64,
    pub(super) transfers: u64,
}

impl Counters {
    pub(super) fn submitted(&self, recorded: Recorded) {
        self.submits.fetch_add(1, Ordering::Relaxed);
        self.dispatches.fetch_add(recorded.dispatches, Ordering::Relaxed);
        self.barriers.fetch_add(recorded.barriers, Ordering::Relaxed);
        self.transfers.fetch_add(recorded.transfers, Ordering::Relaxed);
    }

    pub(super) fn pipeline(&self) {
        self.pipelines.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn allocation(&self) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> GpuStats {
        GpuStats {
            dispatches: self.dispatches.load(Ordering::Relaxed),
            submits: self.submits.load(Ordering::Relaxed),
            barriers: self.barriers.load(Ordering::Relaxed),
            transfers: self.transfers.load(Ordering::Relaxed),
            pipelines: self.pipelines.load(Ordering::Relaxed),
            allocations: self.allocations.load(Ordering::Relaxed),
        }
    }
}
