//! The program's own semaphores, before and after what a queue runs.

use ash::vk;

use super::Queue;
use crate::{
    error::Error,
    report::outcome::CancelCause,
    runtime::event::{Done, Event, EventInner},
    vk::RawSemaphore,
};

impl Queue {
    /// What this queue runs from now on starts after a semaphore of the program's, and sees everything written before that
    /// was signalled. Returns the event of the wait: submissions to other queues may be made to depend on it.
    ///
    /// It concerns lists by when they run: one that is being recorded comes after it as a whole. Queues of a context share
    /// Vulkan queues, so that others may wait as well.
    ///
    /// # Errors
    ///
    /// A null handle; the device.
    pub fn wait_semaphore(&self, semaphore: RawSemaphore) -> Result<Event, Error> {
        let context = &self.inner.context;
        let _schedule = context.lock();
        let submitted = context.gpu.queue(self.inner.lane as usize)?.wait_for(semaphore)?;
        self.inner.past.lock().ran(submitted.point);
        Ok(EventInner::done(&self.inner.origin, Done::Gpu(submitted)))
    }

    /// Signals a semaphore of the program's when everything that this queue was asked to run on the device is complete. A list
    /// that is being recorded ends first, and runs unfused. Host tasks are not waited for.
    ///
    /// # Errors
    ///
    /// A null handle; a list that could not be run; the device.
    pub fn signal_semaphore(&self, semaphore: RawSemaphore) -> Result<Event, Error> {
        let context = &self.inner.context;
        context.cancel_list(&self.inner.queue, CancelCause::Semaphore)?;
        let _schedule = context.lock();
        let submitted = context.gpu.queue(self.inner.lane as usize)?.signal(semaphore)?;
        self.inner.past.lock().ran(submitted.point);
        Ok(EventInner::done(&self.inner.origin, Done::Gpu(submitted)))
    }
}

impl Event {
    /// A timeline semaphore of the context's, and the value that it has once the work is complete: for submissions of the
    /// program's own to wait for. It lives as long as the context, and only the context signals it. Nothing where there is
    /// no work on the device.
    ///
    /// Observes as [`wait`](Event::wait) does: a list that is being recorded is cancelled.
    ///
    /// # Errors
    ///
    /// The work failed.
    pub fn semaphore(&self) -> Result<Option<(vk::Semaphore, u64)>, Error> {
        let point = self.point()?;
        Ok(point.map(|point| self.inner.origin.context.gpu.semaphore(point)))
    }
}
