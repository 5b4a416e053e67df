//! The wait-for graph of builds, over all caches of the process.
//!
//! A builder may ask for other entries, also of another cache. Before a thread waits, the chain
//! "slot, its builder, the slot that builder waits for, …" is followed: if it comes back to the
//! asking thread, waiting would never end, and the caller gets an error instead.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sync::{ThreadId, current_thread};

/// The thread that builds a slot; shared by the slot and by the table of waiting threads.
#[derive(Debug)]
pub(crate) struct Owner(Mutex<Option<ThreadId>>);

/// The slot that each waiting thread waits for.
static WAITING: Mutex<Option<HashMap<ThreadId, Arc<Owner>>>> = Mutex::new(None);

fn table() -> MutexGuard<'static, Option<HashMap<ThreadId, Arc<Owner>>>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Owner {
    /// An owner that is the current thread.
    pub(crate) fn here() -> Arc<Owner> {
        Arc::new(Owner(Mutex::new(Some(current_thread().id()))))
    }

    /// Makes the current thread the builder (a waiter that tries again).
    pub(crate) fn take_over(&self) {
        // Under the table's lock, so that no chain is followed while it changes.
        let _table = table();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(current_thread().id());
    }

    /// The build has ended.
    pub(crate) fn release(&self) {
        let _table = table();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn get(&self) -> Option<ThreadId> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A registered wait; it ends when dropped.
#[derive(Debug)]
pub(crate) struct Wait(ThreadId);

impl Wait {
    /// Registers that the current thread waits for `owner`, unless that would close a ring.
    pub(crate) fn register(owner: &Arc<Owner>) -> Option<Wait> {
        let me = current_thread().id();
        let mut table = table();
        let waiting = table.get_or_insert_default();
        let mut next = owner.get();
        while let Some(thread) = next {
            if thread == me {
                return None;
            }
            next = waiting.get(&thread).and_then(|owner| owner.get());
        }
        waiting.insert(me, Arc::clone(owner));
        Some(Wait(me))
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(waiting) = table().as_mut() {
            waiting.remove(&self.0);
        }
    }
}
