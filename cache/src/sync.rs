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

/// A small number of the calling thread: that of few other threads, as long as there are few.
#[cfg(not(vkfuse_shuttle))]
#[inline]
pub(crate) fn thread_number() -> usize {
    use std::cell::Cell;
    thread_local! {
        static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    }
    // Nothing is run when `NUMBER` ends, so it can be asked to the last.
    NUMBER.with(|number| match number.get() {
        Some(number) => number,
        None => {
            let new = numbers::taken();
            number.set(Some(new));
            new
        }
    })
}

/// The scheduler's threads are all one to the standard library.
#[cfg(vkfuse_shuttle)]
pub(crate) fn thread_number() -> usize {
    current_thread().id().into()
}

#[cfg(not(vkfuse_shuttle))]
mod numbers {
    use std::sync::{Mutex, PoisonError};

    /// Threads that live now, by their number.
    static LIVE: Mutex<[usize; 32]> = Mutex::new([0; 32]);

    fn live() -> std::sync::MutexGuard<'static, [usize; 32]> {
        LIVE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number while its thread lives.
    struct Taken(usize);

    impl Taken {
        fn new() -> Taken {
            let mut live = live();
            let least = (0..live.len()).min_by_key(|number| live[*number]).unwrap_or_default();
            live[least] += 1;
            Taken(least)
        }
    }

    impl Drop for Taken {
        fn drop(&mut self) {
            live()[self.0] -= 1;
        }
    }

    /// The number that the fewest living threads have, for this one until it ends.
    #[cold]
    pub(super) fn taken() -> usize {
        thread_local! {
            static MINE: Taken = Taken::new();
        }
        // A thread that is ending already may have any.
        MINE.try_with(|mine| mine.0).unwrap_or_default()
    }
}
