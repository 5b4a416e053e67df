//! What everything made by a context shares.

use std::{
    ops::Deref,
    sync::{Arc, atomic::AtomicU64},
};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::{
    code::{autotune::Autotune, judged::Judged, lowered::RustKernels, memo::Memo, programs::Programs},
    jit::FloatMode,
    report::stats::Counters,
    runtime::{schedule::Schedule, warnings::Warnings},
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
    /// The warnings about lists and kernels that were given.
    pub(crate) warnings: Warnings,
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
        match self.schedule.try_lock() {
            Some(mut schedule) => {
                schedule.settle_relaunches();
                self.let_go(schedule, buffer);
            }
            None => self.gone.lock().push(buffer),
        }
    }
}

impl ContextInner {
    fn let_go(&self, mut schedule: MutexGuard<'_, Schedule>, buffer: HandleId) {
        let (taken, is_all) = schedule.forget(buffer);
        drop(schedule);
        drop(taken);
        if !is_all {
            self.gone.lock().push(buffer);
        }
    }

    /// Drops what was recorded with buffers that have gone meanwhile.
    pub(crate) fn bury(&self) {
        let gone = std::mem::take(&mut *self.gone.lock());
        gone.into_iter().for_each(|buffer| self.let_go(self.lock(), buffer));
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
