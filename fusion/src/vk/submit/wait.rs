//! Polling and waiting.
//!
//! A short job is over before a thread could be put to sleep and woken, so waiting starts by looking at the time line
//! again and again; except on devices that compute on the processor, where the looking would take the cores that the
//! work needs. The blocking part wakes up now and then to see whether the device was lost meanwhile: not every driver
//! ends a wait when that happens.

use std::time::{Duration, Instant};

use ash::vk;
use vulkano::VulkanObject;

use crate::vk::{DeviceError, Gpu, Point};

/// How long to poll before blocking.
const POLL: Duration = Duration::from_micros(50);

/// The longest single block.
const SLICE: Duration = Duration::from_millis(100);

impl Gpu {
    /// How far a queue is known to have come, without asking.
    pub(crate) fn done(&self, lane: u32) -> u64 {
        self.0.queues.get(lane as usize).map_or(0, crate::vk::queue::QueueShared::done)
    }

    /// Whether a point is reached. Never blocks. Stays false for what was pending when the device was lost.
    pub(crate) fn is_done(&self, point: Point) -> bool {
        let Some(queue) = self.0.queues.get(point.queue as usize) else {
            return false;
        };
        if queue.done() >= point.value {
            return true;
        }
        // Anyone who has to know waits.
        let _ = queue.collect(&self.0);
        queue.done() >= point.value
    }

    /// Waits for a point: true once it is reached, false if the time ran out first, an error if the device is lost.
    pub(crate) fn wait(&self, point: Point, timeout: Option<Duration>) -> Result<bool, DeviceError> {
        self.known(point)?;
        if self.is_done(point) {
            return Ok(true);
        }
        let started = Instant::now();
        if !self.caps().is_cpu {
            let limit = timeout.map_or(POLL, |t| t.min(POLL));
            while started.elapsed() < limit && !self.is_lost() {
                if self.is_done(point) {
                    return Ok(true);
                }
                std::hint::spin_loop();
            }
        }
        loop {
            if self.is_lost() {
                return Err(DeviceError::Lost);
            }
            let left = timeout.map_or(SLICE, |t| t.saturating_sub(started.elapsed()).min(SLICE));
            if self.block(point, left)? {
                // An error here would come again and again.
                self.0.queues[point.queue as usize].collect(&self.0)?;
            }
            if self.is_done(point) {
                return Ok(true);
            }
            if timeout.is_some_and(|t| started.elapsed() >= t) && !self.is_lost() {
                return Ok(false);
            }
        }
    }

    /// Waits for all points.
    pub(crate) fn wait_all(&self, points: &[Point], timeout: Option<Duration>) -> Result<bool, DeviceError> {
        let started = Instant::now();
        for point in points {
            let left = timeout.map(|t| t.saturating_sub(started.elapsed()));
            if !self.wait(*point, left)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits for everything submitted so far on every queue.
    pub(crate) fn wait_idle(&self) -> Result<(), DeviceError> {
        for index in 0..self.queues() {
            self.wait(self.queue(index)?.last(), None)?;
        }
        Ok(())
    }

    /// Checks that a point was given out by this context: waiting for another one could take for ever.
    pub(in crate::vk) fn known(&self, point: Point) -> Result<(), DeviceError> {
        let known = self
            .0
            .queues
            .get(point.queue as usize)
            .is_some_and(|queue| point.value <= queue.done() || point.value <= queue.last());
        if known { Ok(()) } else { Err(DeviceError::Foreign { what: "event" }) }
    }

    /// Whether the point was reached in time.
    fn block(&self, point: Point, at_most: Duration) -> Result<bool, DeviceError> {
        let device = self.device();
        let semaphores = [self.0.queues[point.queue as usize].timeline.handle()];
        let values = [point.value];
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        let nanos = u64::try_from(at_most.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: device and semaphore are alive, and `info` outlives the call.
        let result = unsafe { (device.fns().v1_2.wait_semaphores)(device.handle(), &info, nanos) };
        if result == vk::Result::TIMEOUT {
            return Ok(false);
        }
        self.0.ok("vkWaitSemaphores", result).map(|()| true)
    }
}
