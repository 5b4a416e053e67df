//! Locks that are mostly held for less time than it takes to fall asleep and be woken.

use std::hint::spin_loop;

use parking_lot::{Mutex, MutexGuard};

/// What the lock is for. Where another thread has it, it is asked for again for a few microseconds first, after longer and longer pauses: once a
/// thread sleeps, the next ones do too. A panic while it was held is ignored: what stands behind such locks is never left half-changed in a
/// way that matters more than a deadlock of everybody else.
#[inline]
pub(crate) fn spin_then_lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.try_lock().unwrap_or_else(|| ask_again(lock))
}

#[cold]
fn ask_again<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    const PAUSES: [u32; 10] = [4, 8, 16, 32, 32, 32, 32, 32, 32, 32];
    for pauses in PAUSES {
        (0..pauses).for_each(|_| spin_loop());
        if let Some(guard) = lock.try_lock() {
            return guard;
        }
    }
    lock.lock()
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use super::*;

    #[test]
    fn threads_that_spin_and_threads_that_sleep_take_turns() {
        let count = Mutex::new(0);
        thread::scope(|scope| {
            for thread in 0..4 {
                let count = &count;
                scope.spawn(move || {
                    for turn in 0..200 {
                        let mut count = spin_then_lock(count);
                        let before = *count;
                        if (turn + thread) % 50 == 0 {
                            // Longer than anyone spins.
                            thread::sleep(Duration::from_millis(1));
                        }
                        *count = before + 1;
                    }
                });
            }
        });
        assert_eq!(*spin_then_lock(&count), 800);
    }

    #[test]
    fn a_lock_is_waited_for() {
        let lock = Mutex::new(false);
        let (held, is_held) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut done = lock.lock();
                held.send(()).unwrap();
                thread::sleep(Duration::from_millis(20));
                *done = true;
            });
            is_held.recv().unwrap();
            assert!(*spin_then_lock(&lock));
        });
    }

    #[test]
    fn a_panic_while_it_was_held_is_ignored() {
        let lock = Mutex::new(7);
        let panicked = thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let _guard = lock.lock();
                panic!("on purpose");
            });
            holder.join().is_err()
        });
        assert!(panicked);
        assert_eq!(*spin_then_lock(&lock), 7);
    }
}
