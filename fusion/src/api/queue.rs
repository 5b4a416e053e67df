//! Queues: where work is submitted.

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
        end::End,
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
mod tests;

pub use host_task::HostScope;

/// A queue: where work is submitted. A handle; clones are the same queue.
///
/// Submissions of all queues of a context are ordered by the buffers they use, as if they had been run one after the
/// other in the order submitted; what has nothing to do with each other may overlap. Queues can be used from several
/// threads at once.
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
        let queue = Arc::new(QueueCell::new(context.key, id, lane, options.profiling));
        schedule.queues.push(queue.clone());
        let origin = Arc::new(Origin { context: context.clone(), queue });
        Queue { inner: Arc::new(QueueInner { origin, fusion: options.fusion }) }
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> Context {
        Context { inner: self.inner.context.clone() }
    }

    /// Whether the queue was made to enter fusion mode.
    #[must_use]
    pub fn fusion_enabled(&self) -> bool {
        self.inner.fusion
    }

    /// Whether submissions are being listed.
    #[must_use]
    pub fn is_in_fusion_mode(&self) -> bool {
        matches!(self.inner.state().mode, Mode::Recording(_))
    }

    /// Waits for everything submitted to this queue. In fusion mode that cancels: the list runs unfused.
    ///
    /// # Errors
    ///
    /// A list that could not be run, a host task that failed since the last wait, or the device. Of several errors
    /// it is the first; the others are logged.
    pub fn wait(&self) -> Result<(), Error> {
        self.inner.context.wait_for_queue(&self.inner.queue, CancelCause::QueueWait)
    }

    /// Runs a closure in fusion mode, and completes the list with the default properties.
    ///
    /// # Errors
    ///
    /// As [`fuse_with`](Queue::fuse_with).
    pub fn fuse(&self, record: impl FnOnce(&Queue) -> Result<(), Error>) -> Result<Event, Error> {
        self.fuse_with(&FusionProperties::default(), record)
    }

    /// Runs a closure in fusion mode, and completes the list.
    ///
    /// An error or a panic in the closure cancels: what was listed so far runs unfused, and the error or panic goes on to
    /// the caller.
    ///
    /// # Errors
    ///
    /// A queue made without the property or in fusion mode already; the closure's error; and those of
    /// [`FusionWrapper::complete_fusion`].
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
        if let Err(error) =
            self.inner.context.end_list(&self.inner.queue, &End::Cancel(CancelCause::ScopeLeft))
        {
            tracing::warn!(%error, "the list of a fusion scope that was left early could not be run");
        }
    }

    /// The pending work of the context and why it waits, in the DOT language, for looking at.
    #[must_use]
    pub fn dependency_dot(&self) -> String {
        let mut schedule = self.inner.context.lock();
        self.inner.context.refresh(&mut schedule.graph);
        schedule.graph.dot()
    }
}

impl Drop for QueueInner {
    fn drop(&mut self) {
        // Dropping a queue must not lose work: what is listed runs now.
        if let Err(error) = self.context.end_list(&self.queue, &End::Cancel(CancelCause::QueueDropped)) {
            tracing::warn!(%error, "the list of a dropped queue could not be run");
        }
        let mut schedule = self.context.lock();
        schedule.queues.retain(|queue| queue.id != self.id);
        // Its latest event holds the queue, too.
        let state = mem::take(&mut *self.state());
        // Its tasks go on, and what becomes of them is for a wait for the whole context to say.
        schedule.orphans.retain(|task| !matches!(task.poll(), Some(Ok(()))));
        let kept = mem::take(self.kept.get(&mut schedule.key));
        schedule.counts.add(&state.past.counts);
        schedule.counts.add(&kept.counts);
        let tasks = state.tasks.iter();
        schedule.orphans.extend(tasks.filter(|task| !matches!(task.poll(), Some(Ok(())))).cloned());
        drop(schedule);
        // Outside the lock: it may hold the last handle of something that takes the lock when it goes.
        drop(state);
    }
}
