//! Submission, time line, retirement.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use super::{Command, DeviceError, Gpu};

/// A moment in the work of one queue: reached once everything submitted up to it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Point {
    /// The queue's number in its context.
    pub(crate) queue: u32,
    /// The value of its time line. 0 was reached before anything was submitted.
    pub(crate) value: u64,
}

/// Where the GPU time of a submission will be found.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    nanos: OnceLock<u64>,
}

impl Profile {
    /// The time from the first command's start to the last one's end, once the submission was seen complete.
    pub(crate) fn gpu_time(&self) -> Option<Duration> {
        self.nanos.get().map(|n| Duration::from_nanos(*n))
    }
}

/// What a submission left behind.
#[derive(Debug, Clone)]
pub(crate) struct Submitted {
    pub(crate) point: Point,
    /// Present where profiling was asked for and the queue has timestamps.
    pub(crate) profile: Option<Arc<Profile>>,
}

/// One queue of a device. Cheap to clone, `Send + Sync`.
#[derive(Debug, Clone)]
pub(crate) struct GpuQueue {
    pub(super) gpu: Gpu,
    pub(super) index: u32,
}

impl GpuQueue {
    /// Its number in its context.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// The device it belongs to.
    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The point of the latest submission; value 0 before the first.
    pub(crate) fn last(&self) -> Point {
        Point { queue: self.index, value: 0 }
    }

    /// Checks, records and submits commands in one piece: either all of them are submitted, or none and an error
    /// says why. They start after `waits` are reached and see all that those wrote; a wait on this same queue costs
    /// a full barrier at the start instead of a semaphore. Commands run in order only where barriers say so, in this
    /// submission and after earlier ones of this queue.
    pub(crate) fn submit(&self, commands: &[Command], waits: &[Point], profile: bool) -> Result<Submitted, DeviceError> {
        let _ = (commands, waits, profile);
        Err(DeviceError::Lost)
    }

    /// Writes host bytes into memory once `waits` are reached. The range must not be in use by anything submitted
    /// and not in `waits`. The bytes are taken before this returns. Where the memory is mapped this waits and writes, and the
    /// point returned is of value 0; elsewhere it submits copies that order themselves (with barriers) after all earlier
    /// and before all later work of this queue; work on other queues must wait for the point.
    pub(crate) fn upload(&self, memory: &Arc<super::Memory>, offset: u64, bytes: &[u8], waits: &[Point]) -> Result<Point, DeviceError> {
        let _ = (memory, offset, bytes, waits);
        Err(DeviceError::Lost)
    }

    /// Reads memory back once `waits` are reached; blocks until the bytes are there.
    pub(crate) fn download(&self, memory: &Arc<super::Memory>, offset: u64, out: &mut [u8], waits: &[Point]) -> Result<(), DeviceError> {
        let _ = (memory, offset, out, waits);
        Err(DeviceError::Lost)
    }
}
