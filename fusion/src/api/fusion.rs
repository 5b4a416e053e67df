//! Fusion mode.
//!
//! A queue made with [`enable_fusion`](crate::QueueOptions::enable_fusion) can be put into fusion mode: submissions are
//! then listed instead of run. [`complete_fusion`](FusionWrapper::complete_fusion) runs the list as as few kernels as can be
//! shown to give the same results; [`cancel_fusion`](FusionWrapper::cancel_fusion) runs it as if fusion mode had never been
//! entered. Dropping the wrapper that began a list cancels it. Observing a listed submission cancels it too, so that no bytes from before it
//! are ever seen.

use std::sync::{
    Arc,
    atomic::{
        AtomicU64,
        Ordering::{Relaxed, Release},
    },
};

use crate::{
    api::queue::Queue,
    error::{Error, FusionError},
    options::fusion::FusionProperties,
    report::outcome::CancelCause,
    runtime::{
        end::{End, Ended},
        event::{Event, EventInner},
        schedule::{List, Mode},
    },
};

mod ahead;
mod kept;

pub use ahead::PlannedList;
pub use kept::{FusedList, Rebind, Recorded};

/// Control of a queue's fusion mode.
///
/// This is a handle; all wrappers of a queue control the same mode.
///
/// Dropping the last handle of a wrapper that entered fusion mode cancels the list that is still being recorded: it runs unfused. So an
/// error in between, returned with `?`, does not leave the queue in fusion mode.
/// [`Queue::fuse`] does the same for a closure, and [`detach`](FusionWrapper::detach) leaves the list open.
#[derive(Debug, Clone)]
pub struct FusionWrapper {
    inner: Arc<Control>,
}

#[derive(Debug)]
struct Control {
    queue: Queue,
    /// The number of the list that this one began, of those of its queue; 0 once this one has ended a list.
    began: AtomicU64,
}

impl Drop for Control {
    fn drop(&mut self) {
        let began = self.began.load(Relaxed);
        // With the last handle of the queue the list goes anyway.
        if began == 0 || Arc::strong_count(&self.queue.inner) == 1 {
            return;
        }
        let state = self.queue.inner.state();
        let Mode::Recording(list) = &state.mode else { return };
        if state.lists != began {
            return;
        }
        if list.entries.is_empty() && list.followed.as_ref().is_none_or(|followed| followed.at == 0) {
            tracing::warn!(
                "a fusion wrapper was dropped right after it entered fusion mode, which that ended; keep it in a variable until the list is complete"
            );
        }
        drop(state);
        self.queue.leave();
    }
}

impl FusionWrapper {
    /// A wrapper for a queue.
    ///
    /// # Errors
    ///
    /// [`FusionError::NotEnabled`] for a queue made without the property.
    pub fn new(queue: &Queue) -> Result<FusionWrapper, Error> {
        if !queue.fusion_enabled() {
            return Err(FusionError::NotEnabled.into());
        }
        let (queue, began) = (queue.clone(), AtomicU64::new(0));
        Ok(FusionWrapper { inner: Arc::new(Control { queue, began }) })
    }

    /// The queue.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.inner.queue
    }

    /// Lets go of this handle, and leaves the list that was begun open: another wrapper ends it.
    pub fn detach(self) {
        self.inner.began.store(0, Relaxed);
    }

    /// Ends the list of the queue, whichever wrapper began it.
    fn end(&self, end: &End) -> Result<Ended, Error> {
        let Control { queue, began } = &*self.inner;
        began.store(0, Relaxed);
        queue.inner.context.end(&queue.inner, end, None)
    }

    /// Enters fusion mode: from now on submissions are listed.
    ///
    /// # Errors
    ///
    /// [`FusionError::AlreadyFusing`].
    pub fn start_fusion(&self) -> Result<(), Error> {
        let queue = &self.inner.queue.inner;
        let start = || {
            let mut state = queue.state();
            match state.mode {
                Mode::Direct => {
                    let last = state.completion.take();
                    let list = List::new(EventInner::listed_after(last, &queue.origin));
                    state.lists += 1;
                    self.inner.began.store(state.lists, Relaxed);
                    state.mode = Mode::Recording(list);
                    queue.is_direct.store(false, Release);
                    Ok(None)
                }
                Mode::Recording(ref list) => {
                    Err(Error::from(FusionError::AlreadyFusing { open: list.so_far().into() }))
                }
                Mode::Ending(_, thread) => Ok(Some(thread)),
            }
        };
        if start()?.is_none() {
            return Ok(());
        }
        let mut schedule = queue.context.lock();
        while let Some(thread) = start()? {
            queue.context.wait_for_list(&mut schedule, thread)?;
        }
        Ok(())
    }

    /// Leaves fusion mode and runs the list, fused as far as that is possible. The event stands for the whole list.
    ///
    /// If something ended fusion mode before (see [`CancelCause`]), this returns the event of that ending.
    ///
    /// Without a [`start_fusion`](FusionWrapper::start_fusion) after the last list there is no new list: what was submitted
    /// since ran as it was submitted, and this returns the event of the list before, whose report says so
    /// ([`FusionReport::is_earlier`](crate::FusionReport::is_earlier)).
    ///
    /// # Errors
    ///
    /// [`FusionError::NotFusing`] if fusion mode was never entered; [`FusionError::Forced`] if that was asked for and the
    /// list did not become one kernel; or the list could not be run at all.
    pub fn complete_fusion(&self, properties: &FusionProperties) -> Result<Event, Error> {
        match self.end(&End::Complete(properties.clone()))? {
            Some((completion, _)) => Ok(Event::of_all(completion)),
            None => Err(FusionError::NotFusing.into()),
        }
    }

    /// Leaves fusion mode and runs the list unfused, in order. Outside fusion mode it does nothing.
    ///
    /// # Errors
    ///
    /// The list could not be run.
    pub fn cancel_fusion(&self) -> Result<(), Error> {
        self.end(&End::Cancel(CancelCause::Explicit, None)).map(drop)
    }

    /// Whether the queue is in fusion mode.
    #[must_use]
    pub fn is_in_fusion_mode(&self) -> bool {
        self.inner.queue.is_in_fusion_mode()
    }
}
