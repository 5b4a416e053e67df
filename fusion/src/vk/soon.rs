//! Locks that are mostly held for less time than it takes to fall asleep and be woken.

use std::{
    hint::spin_loop,
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
};

/// What the lock is for. Where another thread has it, it is asked for again for a few microseconds first, after longer and longer pauses: once a
/// thread sleeps, the next ones do too. A panic while it was held is ignored: what stands behind such locks is never left half-changed in a
/// way that matters more than a deadlock of everybody else.
#[inline]
pub(crate) fn soon<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    match lock.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => ask_again(lock),
    }
}

#[cold]
fn ask_again<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    const PAUSES: [u32; 10] = [4, 8, 16, 32, 32, 32, 32, 32, 32, 32];
    for pauses in PAUSES {
        (0..pauses).for_each(|_| spin_loop());
        match lock.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {}
        }
    }
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
