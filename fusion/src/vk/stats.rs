//! Counters of what reached the driver, for tests and statistics.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

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
    /// Command buffers recorded. One that is submitted again is not.
    pub(crate) recordings: u64,
    /// Pipelines the driver made.
    pub(crate) pipelines: u64,
    /// Memory objects allocated.
    pub(crate) allocations: u64,
    /// Buffers, pipelines and frames that exist.
    pub(crate) live: [u64; 3],
}

/// Counts objects that exist.
#[derive(Debug, Default)]
pub(super) struct Live(Arc<AtomicU64>);

impl Live {
    /// One more, until what this returns is dropped.
    pub(super) fn one_more(&self) -> Alive {
        self.0.fetch_add(1, Ordering::Relaxed);
        Alive(self.0.clone())
    }
}

/// Part of an object that is counted while it exists.
#[derive(Debug)]
pub(super) struct Alive(Arc<AtomicU64>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The live counters.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pipelines: AtomicU64,
    allocations: AtomicU64,
    reusables: AtomicU64,
    pub(super) live_buffers: Live,
    pub(super) live_pipelines: Live,
    pub(super) live_frames: Live,
}

/// What one submission adds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recorded {
    pub(super) dispatches: u64,
    pub(super) barriers: u64,
    pub(super) transfers: u64,
    /// Whether it was recorded for this one.
    pub(super) recordings: u64,
}

/// What a queue has submitted. Under the lock that submits, which costs less than counters of their own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Submissions {
    submits: u64,
    recorded: Recorded,
}

impl Submissions {
    pub(super) fn submitted(&mut self, recorded: Recorded) {
        self.submits += 1;
        self.recorded.dispatches += recorded.dispatches;
        self.recorded.barriers += recorded.barriers;
        self.recorded.transfers += recorded.transfers;
        self.recorded.recordings += recorded.recordings;
    }
}

impl Counters {
    pub(super) fn pipeline(&self) {
        self.pipelines.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn allocation(&self) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn reusable(&self) {
        self.reusables.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self, queues: impl Iterator<Item = Submissions>) -> GpuStats {
        let mut stats = GpuStats {
            pipelines: self.pipelines.load(Ordering::Relaxed),
            allocations: self.allocations.load(Ordering::Relaxed),
            recordings: self.reusables.load(Ordering::Relaxed),
            live: [&self.live_buffers, &self.live_pipelines, &self.live_frames]
                .map(|live| live.0.load(Ordering::Relaxed)),
            ..GpuStats::default()
        };
        for Submissions { submits, recorded } in queues {
            stats.submits += submits;
            stats.dispatches += recorded.dispatches;
            stats.barriers += recorded.barriers;
            stats.transfers += recorded.transfers;
            stats.recordings += recorded.recordings;
        }
        stats
    }
}
