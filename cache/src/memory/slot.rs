//! One entry of the memory cache while it is built and after.
//!
//! A finished value is read from `value` without the state's lock. The state is for callers that came
//! before it was finished, and for failures.
//!
//! ```text
//! Building ── ok ───────────────► Ready
//!   │ ▲ └──── lasting failure ───► Failed
//!   │ └────── one waiter ──── Retry ◄── first attempt, with waiters
//!   └──────── failure that may pass, panic
//!                                Over ◄─── second attempt, or without waiters
//! ```

use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::memory::failure::Failure;
use crate::memory::waits::{Owner, Wait};
use crate::sync::{Condvar, Mutex, lock};

pub(crate) enum State<E> {
    /// A thread builds; `waiters` threads sleep on the slot.
    Building { waiters: usize },
    /// The first attempt failed without a lasting reason, and the next thread that looks builds.
    Retry { waiters: usize },
    /// `value` is set.
    Ready,
    /// A lasting failure, kept until the monotonic clock says so.
    Failed { failure: Failure<E>, until: Option<Duration> },
    /// A failure that is returned to the waiters and not kept; the slot is out of the map.
    Over(Failure<E>),
}

pub(crate) struct Slot<V, E> {
    pub(crate) value: OnceLock<Arc<V>>,
    pub(crate) state: Mutex<State<E>>,
    changed: Condvar,
    pub(crate) owner: Arc<Owner>,
}

/// What a thread that found an unfinished slot is to do.
pub(crate) enum Joined<E> {
    /// The value is set; `waited` says whether the thread slept for it.
    Ready { waited: bool },
    /// The build failed while the thread waited, or had failed for good before.
    Failed { failure: Failure<E>, waited: bool },
    /// The thread is now the builder.
    Build { attempt: u32 },
    /// The slot is a left-over; look the key up again.
    Stale,
    /// Waiting would never end.
    Ring,
    /// The thread has waited for as long as it may.
    TimedOut,
}

impl<V, E> Slot<V, E> {
    /// A slot that the current thread builds.
    pub(crate) fn building() -> Arc<Slot<V, E>> {
        Arc::new(Slot {
            value: OnceLock::new(),
            state: Mutex::new(State::Building { waiters: 0 }),
            changed: Condvar::new(),
            owner: Owner::here(),
        })
    }

    /// Waits until the slot is finished, for `patience` at most, or makes this thread its builder.
    pub(crate) fn join(&self, now: impl Fn() -> Duration, patience: Option<Duration>) -> Joined<E> {
        let start = Instant::now();
        let mut waited = false;
        let mut state = lock(&self.state);
        loop {
            match &mut *state {
                State::Ready => return Joined::Ready { waited },
                State::Failed { failure, until } => {
                    if !waited && until.is_some_and(|until| now() >= until) {
                        return Joined::Stale;
                    }
                    let failure = failure.clone();
                    return Joined::Failed { failure, waited };
                }
                State::Over(failure) if waited => {
                    let failure = failure.clone();
                    return Joined::Failed { failure, waited };
                }
                State::Over(_) => return Joined::Stale,
                State::Retry { waiters } => {
                    let waiters = *waiters;
                    *state = State::Building { waiters };
                    self.owner.take_over();
                    return Joined::Build { attempt: 2 };
                }
                State::Building { waiters } => {
                    let left = patience.map(|patience| patience.saturating_sub(start.elapsed()));
                    if left.is_some_and(|left| left.is_zero()) {
                        return Joined::TimedOut;
                    }
                    let Some(wait) = Wait::register(&self.owner) else {
                        return Joined::Ring;
                    };
                    *waiters += 1;
                    state = match left {
                        None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                        Some(left) => {
                            let waited = self.changed.wait_timeout(state, left);
                            waited.unwrap_or_else(PoisonError::into_inner).0
                        }
                    };
                    if let State::Building { waiters } | State::Retry { waiters } = &mut *state {
                        *waiters -= 1;
                    }
                    drop(wait);
                    waited = true;
                }
            }
        }
    }

    /// Sets the final state, or asks for the second attempt, and wakes the waiters.
    pub(crate) fn settle(&self, attempt: u32, outcome: State<E>) -> Settled {
        let mut state = lock(&self.state);
        let waiters = match &*state {
            State::Building { waiters } => *waiters,
            _ => 0,
        };
        self.owner.release();
        let settled = if matches!(outcome, State::Over(_)) && attempt == 1 && waiters > 0 {
            *state = State::Retry { waiters };
            Settled::WillRetry
        } else {
            *state = outcome;
            Settled::Final
        };
        drop(state);
        self.changed.notify_all();
        settled
    }
}

/// Whether a slot is finished after its builder came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The state is final.
    Final,
    /// A waiter builds once more.
    WillRetry,
}
