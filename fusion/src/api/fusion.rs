//! Fusion mode.
//!
//! A queue made with [`enable_fusion`](crate::QueueOptions::enable_fusion) can be put into fusion mode: submissions are
//! then listed instead of run. [`complete_fusion`](FusionWrapper::complete_fusion) runs the list as as few kernels as can be
//! shown to give the same results; [`cancel_fusion`](FusionWrapper::cancel_fusion) runs it as if fusion mode had never been
//! entered. Whatever observes a listed submission cancels too, so that nobody ever sees bytes from before it.

use crate::{
    api::{
        event::{Event, EventInner},
        queue::Queue,
    },
    error::{Error, FusionError},
    jit::{FloatMode, FuseOptions, Policy},
    report::outcome::CancelCause,
    runtime::schedule::{List, Mode},
};

mod ahead;
mod kept;

pub use kept::{FusedList, Rebind};

/// How a list may be fused. The defaults prove everything and change no bit of any result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FusionProperties {
    pub(crate) no_barriers: bool,
    pub(crate) force: bool,
    pub(crate) background: bool,
    pub(crate) verify: bool,
    pub(crate) policy: Policy,
    pub(crate) float: FloatMode,
}

impl FusionProperties {
    /// The defaults.
    #[must_use]
    pub fn new() -> FusionProperties {
        FusionProperties::default()
    }

    /// Leaves out barriers between the fused kernels even where one is needed. Has an effect only under
    /// [`Policy::Trust`]; the report lists what was trusted. Where none is needed there is none anyway.
    #[must_use]
    pub fn no_barriers(mut self) -> FusionProperties {
        self.no_barriers = true;
        self
    }

    /// Fuses also where that is known to be slower, and makes it an error if the list does not become one kernel.
    /// The list runs unfused then.
    #[must_use]
    pub fn force_fusion(mut self) -> FusionProperties {
        self.force = true;
        self
    }

    /// Does not wait for fused code that is not in memory: the list runs unfused, with the outcome
    /// [`Outcome::Building`](crate::Outcome::Building), while a thread of its own builds or loads the code. As soon as
    /// that is there, lists of the same structure run fused. Without a memory cache this changes nothing.
    #[must_use]
    pub fn build_in_background(mut self) -> Self {
        self.background = true;
        self
    }

    /// Compares fused and unfused on the device where fused code is used for the first time by this context: for who
    /// distrusts a driver.
    ///
    /// The fused list runs on copies of the buffers that it writes, the unfused one on the buffers themselves, from the same
    /// contents; then all bytes are compared, and ending the list waits for that. The results are the unfused ones in any case. If they
    /// differ, the list's fused code is not used again by this context, for no list, and the outcome says so:
    /// [`Reason::Differs`](crate::Reason::Differs). If they cannot be compared, because there is no memory for the
    /// copies or a kernel follows device addresses, the list runs unfused with [`Reason::NotCompared`](crate::Reason::NotCompared).
    ///
    /// What stays inside the fused kernel is not compared, and cannot be read afterwards either. Equal bytes on one run show little about
    /// others: other numbers, and races that came out well.
    #[must_use]
    pub fn verify_first_run(mut self, on: bool) -> FusionProperties {
        self.verify = on;
        self
    }

    /// Whether what cannot be proven is split (`Prove`, the default) or believed (`Trust`).
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> FusionProperties {
        self.policy = policy;
        self
    }

    /// Whether floating-point results must have the same bits as unfused (`Strict`, the default), or the driver may
    /// contract operations across the former kernel borders.
    #[must_use]
    pub fn float(mut self, float: FloatMode) -> FusionProperties {
        self.float = float;
        self
    }

    pub(crate) fn options(&self) -> FuseOptions {
        FuseOptions {
            policy: self.policy,
            no_barriers: self.no_barriers,
            float: self.float,
            force: self.force,
        }
    }
}

/// How a list ends.
#[derive(Debug, Clone)]
pub(crate) enum End {
    Cancel(CancelCause),
    Complete(FusionProperties),
    /// As `Complete`, and the list's submissions are wanted afterwards.
    Keep(FusionProperties),
}

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
        let context = &self.queue.inner.context;
        let mut schedule = context.lock();
        loop {
            let state = schedule.queue(self.queue.inner.id);
            match state.mode {
                Mode::Direct => {
                    let completion = EventInner::listed(context, self.queue.inner.id);
                    state.completion = Some(completion.clone());
                    state.mode = Mode::Recording(List::new(completion));
                    return Ok(());
                }
                Mode::Recording(_) => return Err(FusionError::AlreadyFusing.into()),
                Mode::Ending(_) => schedule = context.wait_for_change(schedule),
            }
        }
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
        match inner.context.end_list(inner.id, &End::Complete(properties.clone()))? {
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
        inner.context.end_list(inner.id, &End::Cancel(CancelCause::Explicit)).map(drop)
    }

    /// Whether the queue is in fusion mode.
    #[must_use]
    pub fn is_in_fusion_mode(&self) -> bool {
        self.queue.is_in_fusion_mode()
    }
}
