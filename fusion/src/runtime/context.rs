//! What everything made by a context shares.

use std::{
    ops::Deref,
    sync::{Arc, Condvar, Mutex, PoisonError, atomic::AtomicU64},
};

use crate::{
    code::{autotune::Autotune, judged::Judged, lowered::RustKernels, memo::Memo, programs::Programs},
    jit::FloatMode,
    report::stats::Counters,
    runtime::schedule::Schedule,
    submission::{
        device::{BufferGone, Device},
        identity::HandleId,
    },
};

/// What everything made by a context shares.
#[derive(Debug)]
pub(crate) struct ContextInner {
    pub(crate) schedule: Mutex<Schedule>,
    /// Notified whenever a list ended or a hold was released.
    pub(crate) changed: Condvar,
    pub(crate) programs: Arc<Programs>,
    pub(crate) rust: RustKernels,
    pub(crate) memo: Mutex<Memo>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) profiling: bool,
    /// Whether fused code is validated before it is used.
    pub(crate) validate: bool,
    /// How floats are compiled outside of lists.
    pub(crate) float: FloatMode,
    pub(crate) judged: Judged,
    /// How lists are fastest that the planner does not know that of.
    pub(crate) autotune: Autotune,
    pub(crate) queues: AtomicU64,
    /// Buffers that are gone and that a graph may still name.
    pub(crate) gone: Mutex<Vec<HandleId>>,
    /// Last, so that everything that needs the device is gone before it.
    pub(crate) device: Arc<Device>,
}

impl Deref for ContextInner {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl Drop for ContextInner {
    /// A program may end once its context is gone, and drivers do not survive that while a thread calls them.
    fn drop(&mut self) {
        self.programs.background.wait();
    }
}

impl BufferGone for ContextInner {
    /// Drops what is about it now, where no lock is held; where the schedule is, or that is not all, when it is next looked at.
    fn buffer_gone(&self, buffer: HandleId) {
        if let Ok(mut schedule) = self.schedule.try_lock() {
            schedule.settle_relaunches();
            let (taken, is_all) = schedule.forget(buffer);
            drop(schedule);
            drop(taken);
            if is_all {
                return;
            }
        }
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}

impl ContextInner {
    /// Drops what was recorded with buffers that have gone meanwhile.
    pub(crate) fn bury(&self) {
        let gone = std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner));
        for buffer in gone {
            let (known, is_all) = self.lock().forget(buffer);
            drop(known);
            if !is_all {
                self.gone.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
            }
        }
    }
}

/// Bytes that the host has for itself, until this is dropped.
#[derive(Debug)]
pub(crate) struct HostHold {
    pub(crate) context: Arc<ContextInner>,
    pub(crate) id: u64,
}

impl Drop for HostHold {
    fn drop(&mut self) {
        self.context.lock().holds.retain(|hold| hold.id != self.id);
        self.context.changed.notify_all();
    }
}
