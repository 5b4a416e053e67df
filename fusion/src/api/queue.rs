//! Queues, to which work is submitted.

use std::{
    mem,
    ops::Deref,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

use crate::{
    api::{context::Context, fusion::FusionWrapper},
    error::Error,
    options::{context::QueueOptions, fusion::FusionProperties},
    report::outcome::CancelCause,
    runtime::{
        context::ContextInner,
        event::Event,
        queues::{Origin, QueueCell},
        schedule::Mode,
    },
    submission::identity::QueueId,
};

mod commands;
mod host_task;
mod semaphore;
mod submit;
#[cfg(test)]
pub(crate) mod tests;

pub use host_task::HostScope;

/// A queue, to which kernels, copies and host tasks are submitted.
///
/// All work of a context behaves as if it ran in the order of submission, over all of its queues: work that uses the same bytes of a buffer
/// runs in that order, and independent work may overlap. No barriers or semaphores are needed for that.
///
/// Between [`FusionWrapper::start_fusion`] and [`complete_fusion`](FusionWrapper::complete_fusion) the queue is in *fusion mode*: submitted
/// kernels are collected in a list, which then runs fused where that is shown to be correct. [`Queue::fuse`] does both around a
/// closure. Outside of fusion mode each submission goes to the device at once.
///
/// This is a handle: clones are the same queue, which may be used from several threads at once. Dropping the last handle runs a list that
/// is still open, unfused.
#[derive(Debug, Clone)]
pub struct Queue {
    pub(crate) inner: Arc<QueueInner>,
}

#[derive(Debug)]
pub(crate) struct QueueInner {
    pub(crate) origin: Arc<Origin>,
    fusion: bool,
}

impl Deref for QueueInner {
    type Target = Origin;

    fn deref(&self) -> &Origin {
        &self.origin
    }
}

impl Queue {
    pub(crate) fn new(context: &Arc<ContextInner>, lane: u32, options: &QueueOptions) -> Queue {
        let mut schedule = context.lock();
        let id = QueueId(schedule.number());
        let queue = Arc::new(QueueCell::new(id, lane, options.profiling || context.profiling));
        schedule.queues.push(queue.clone());
        let origin = Arc::new(Origin { context: context.clone(), queue });
        Queue { inner: Arc::new(QueueInner { origin, fusion: options.fusion }) }
    }

    /// The context that it belongs to.
    #[must_use]
    pub fn context(&self) -> Context {
        Context { inner: self.inner.context.clone() }
    }

    /// Whether the queue can enter fusion mode ([`QueueOptions::enable_fusion`]).
    #[must_use]
    pub fn fusion_enabled(&self) -> bool {
        self.inner.fusion
    }

    /// Whether the queue is in fusion mode, so that submissions are collected in a list.
    #[must_use]
    pub fn is_in_fusion_mode(&self) -> bool {
        matches!(self.inner.state().mode, Mode::Recording(_))
    }

    /// Waits for all work of this queue. In fusion mode this cancels the list, which then runs unfused.
    ///
    /// # Errors
    ///
    /// Fails if a list could not be run, if a host task has failed since the last wait, or if the device fails. Returns the first of
    /// several errors, and logs the others.
    pub fn wait(&self) -> Result<(), Error> {
        self.inner.context.wait_for_queue(&self.inner.queue, CancelCause::QueueWait)
    }

    /// Fuses the kernels that a closure submits: starts fusion mode, calls the closure, and completes the list.
    ///
    /// The list is completed with the default [`FusionProperties`], which prove every fusion and change no bit of any result. The returned event
    /// says what became of the list: [`Event::outcome`], [`Event::report`]. The [crate documentation](crate#example) has an example.
    ///
    /// # Errors
    ///
    /// As [`fuse_with`](Queue::fuse_with).
    pub fn fuse(&self, record: impl FnOnce(&Queue) -> Result<(), Error>) -> Result<Event, Error> {
        self.fuse_with(&FusionProperties::default(), record)
    }

    /// Fuses the kernels that a closure submits, with these properties: starts fusion mode, calls the closure, and completes the list.
    ///
    /// An error or a panic in the closure cancels the list: what it has submitted so far runs unfused, and the error or panic is passed on to
    /// the caller.
    ///
    /// # Errors
    ///
    /// Fails if the queue was made without [`enable_fusion`](QueueOptions::enable_fusion) or is in fusion mode already, if the closure
    /// fails, and as [`FusionWrapper::complete_fusion`].
    pub fn fuse_with(
        &self,
        properties: &FusionProperties,
        record: impl FnOnce(&Queue) -> Result<(), Error>,
    ) -> Result<Event, Error> {
        let wrapper = FusionWrapper::new(self)?;
        wrapper.start_fusion()?;
        match catch_unwind(AssertUnwindSafe(|| record(self))) {
            Ok(Ok(())) => wrapper.complete_fusion(properties),
            Ok(Err(error)) => {
                self.leave();
                Err(error)
            }
            Err(panic) => {
                self.leave();
                resume_unwind(panic)
            }
        }
    }

    /// Leaves a fusion scope early. A failure is in the events.
    pub(crate) fn leave(&self) {
        if let Err(error) = self.inner.context.cancel_list(&self.inner.queue, CancelCause::ScopeLeft) {
            tracing::warn!(%error, "the list of a fusion scope that was left early could not be run");
        }
    }

    /// The pending work of the context and its dependencies, as a graph in the DOT language.
    #[must_use]
    pub fn dependency_dot(&self) -> String {
        let mut schedule = self.inner.context.lock();
        self.inner.context.refresh(&mut schedule.deps);
        schedule.deps.dot()
    }
}

impl Drop for QueueInner {
    fn drop(&mut self) {
        // Dropping a queue must not lose work: what is listed runs now.
        if let Err(error) = self.context.cancel_list(&self.queue, CancelCause::QueueDropped) {
            tracing::warn!(%error, "the list of a dropped queue could not be run");
        }
        let mut schedule = self.context.lock();
        schedule.queues.retain(|queue| queue.id != self.id);
        // Its latest event holds the queue, too.
        let state = mem::take(&mut *self.state());
        // Its tasks go on, and what becomes of them is for a wait for the whole context to say.
        schedule.orphans.retain(|task| !matches!(task.poll(), Some(Ok(()))));
        schedule.counts.add(&mem::take(&mut *self.past.lock()).counts);
        let tasks = state.tasks.iter();
        schedule.orphans.extend(tasks.filter(|task| !matches!(task.poll(), Some(Ok(())))).cloned());
        drop(schedule);
        // Outside the lock: it may hold the last handle of something that takes the lock when it goes.
        drop(state);
    }
}
