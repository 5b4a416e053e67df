//! The primitives the memory cache waits with: the standard library's, or a model checker's.
//!
//! With `--cfg vkfuse_shuttle` every lock, wait and wake-up of the memory cache is a scheduling point
//! of the shuttle checker, which then runs the state machine through chosen interleavings.

#[cfg(not(vkfuse_shuttle))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(vkfuse_shuttle))]
pub(crate) use std::thread::{ThreadId, current as current_thread};

#[cfg(vkfuse_shuttle)]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(vkfuse_shuttle)]
pub(crate) use shuttle::thread::{ThreadId, current as current_thread};

/// Takes a lock whether or not a thread panicked with it: what these locks protect is consistent at
/// every point where foreign code could panic, because no foreign code runs under them.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
