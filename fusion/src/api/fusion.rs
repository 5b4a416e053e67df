//! Fusion mode.
//!
//! A queue made with [`enable_fusion`](crate::QueueOptions::enable_fusion) can be put into fusion mode: submissions are
//! then listed instead of run. [`complete_fusion`](FusionWrapper::complete_fusion) runs the list as as few kernels as can be
//! shown to give the same results; [`cancel_fusion`](FusionWrapper::cancel_fusion) runs it as if fusion mode had never been
//! entered. Whatever observes a listed submission cancels too, so that nobody ever sees bytes from before it.

use crate::{
    api::queue::Queue,
    error::{Error, FusionError},
    options::fusion::FusionProperties,
    report::outcome::CancelCause,
    runtime::{
        end::End,
        event::{Event, EventInner},
        schedule::{List, Mode},
    },
};

mod ahead;
mod kept;

pub use kept::{FusedList, Rebind, Recorded};

/// Control of a queue's fusion mode. All wrappers of a queue control the same mode.
#[derive(Debug, Clone)]
pub struct FusionWrapper {
    queue: Queue,
}

impl FusionWrapper {
    /// A wrapper for a queue.
    ///
    /// # Errors
    ///
    /// [`FusionError::NotEnabled`] for a queue made without the property.
    pub fn new(queue: &Queue) -> Result<FusionWrapper, Error> {
        if queue.fusion_enabled() {
            Ok(FusionWrapper { queue: queue.clone() })
        } else {
            Err(FusionError::NotEnabled.into())
        }
    }

    /// The queue.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Enters fusion mode: from now on submissions are listed.
    ///
    /// # Errors
    ///
    /// [`FusionError::AlreadyFusing`].
    pub fn start_fusion(&self) -> Result<(), Error> {
        let queue = &self.queue.inner;
        let start = || {
            let mut state = queue.state();
            match state.mode {
                Mode::Direct => {
                    let last = state.completion.take();
                    let (completion, spare) = EventInner::listed_after(last, &queue.origin);
                    state.mode = Mode::Recording(List { spare, ..List::new(completion) });
                    Ok(None)
                }
                Mode::Recording(_) => Err(Error::from(FusionError::AlreadyFusing)),
                Mode::Ending(_, thread) => Ok(Some(thread)),
            }
        };
        if start()?.is_none() {
            return Ok(());
        }
        let mut schedule = queue.context.lock();
        while let Some(thread) = start()? {
            schedule = queue.context.wait_for_list(schedule, thread)?;
        }
        Ok(())
    }

    /// Leaves fusion mode and runs the list, fused as far as that is possible. The event stands for the whole list.
    ///
    /// If something ended fusion mode before (see [`CancelCause`]), this returns the event of that ending.
    ///
    /// # Errors
    ///
    /// [`FusionError::NotFusing`] if fusion mode was never entered; [`FusionError::Forced`] if that was asked for and the
    /// list did not become one kernel; or the list could not be run at all.
    pub fn complete_fusion(&self, properties: &FusionProperties) -> Result<Event, Error> {
        let inner = &self.queue.inner;
        match inner.context.end_list(&inner.queue, &End::Complete(properties.clone()))? {
            Some(inner) => Ok(Event::of_all(inner)),
            None => Err(FusionError::NotFusing.into()),
        }
    }

    /// Leaves fusion mode and runs the list unfused, in order. Outside fusion mode it does nothing.
    ///
    /// # Errors
    ///
    /// The list could not be run.
    pub fn cancel_fusion(&self) -> Result<(), Error> {
        let inner = &self.queue.inner;
        inner.context.end_list(&inner.queue, &End::Cancel(CancelCause::Explicit)).map(drop)
    }

    /// Whether the queue is in fusion mode.
    #[must_use]
    pub fn is_in_fusion_mode(&self) -> bool {
        self.queue.is_in_fusion_mode()
    }
}
