//! A circuit breaker: a service that fails several times in a row is not asked for a while.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures in a row after which it opens.
const MOST_FAILURES: u32 = 3;
/// For how long it is open the first time; each time after is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// For how long it is open after a lie.
const DISTRUST: Duration = Duration::from_secs(600);

#[derive(Default)]
pub(crate) struct Breaker(Mutex<State>);

#[derive(Default)]
struct State {
    failures: u32,
    open_until: Option<Instant>,
    pause: Duration,
    /// When a caller last began to try whether it can be closed.
    is_tried: Option<Instant>,
}

impl Breaker {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call may be made. After a pause one may, and decides for the others.
    pub(crate) fn admits(&self, now: Instant) -> bool {
        let mut state = self.lock();
        match state.open_until {
            None => true,
            Some(until) if now < until => false,
            // A caller that tries may never report the outcome.
            Some(_) if state.is_tried.is_some_and(|since| now < since + FIRST_PAUSE) => false,
            Some(_) => {
                state.is_tried = Some(now);
                true
            }
        }
    }

    pub(crate) fn succeeded(&self) {
        let mut state = self.lock();
        // A call that was begun before it opened says nothing about now.
        if state.open_until.is_none() || state.is_tried.is_some() {
            *state = State::default();
        }
    }

    pub(crate) fn failed(&self, now: Instant) {
        let mut state = self.lock();
        state.failures += 1;
        if state.failures < MOST_FAILURES && state.open_until.is_none() {
            return;
        }
        if state.open_until.is_some() && state.is_tried.is_none() {
            return;
        }
        state.pause = (state.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        state.open_until = Some(now + state.pause);
        state.is_tried = None;
    }

    /// Opens it for long.
    pub(crate) fn distrust(&self, now: Instant) {
        let mut state = self.lock();
        state.open_until = Some(now + DISTRUST);
        state.is_tried = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_after_failures_in_a_row_and_lets_one_try() {
        let breaker = Breaker::default();
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        for _ in 0..2 {
            breaker.failed(at(0));
            breaker.failed(at(0));
            assert!(breaker.admits(at(0)));
            breaker.succeeded();
        }
        for _ in 0..3 {
            breaker.failed(at(0));
        }
        assert!(!breaker.admits(at(999)));
        // One that was under way when it opened comes back.
        breaker.succeeded();
        breaker.failed(at(1));
        assert!(!breaker.admits(at(999)));
        assert!(breaker.admits(at(1001)), "one may try");
        assert!(!breaker.admits(at(1002)), "and no other meanwhile");
        breaker.failed(at(1100));
        assert!(!breaker.admits(at(3000)), "twice as long");
        assert!(breaker.admits(at(3101)));
        breaker.succeeded();
        assert!(breaker.admits(at(3102)) && breaker.admits(at(3102)), "closed");
        breaker.distrust(at(3200));
        assert!(!breaker.admits(at(600_000)));
        assert!(breaker.admits(at(604_000)));
    }

    #[test]
    fn pauses_have_an_end_and_a_try_that_vanished_is_followed_by_another() {
        let breaker = Breaker::default();
        let mut now = Instant::now();
        for _ in 0..20 {
            while breaker.admits(now) {
                breaker.failed(now);
            }
            let before = now;
            while !breaker.admits(now) {
                now += Duration::from_millis(250);
            }
            assert!(now - before <= LONGEST_PAUSE + Duration::from_secs(1));
            breaker.failed(now);
        }
        now += LONGEST_PAUSE;
        assert!(breaker.admits(now) && !breaker.admits(now));
        assert!(breaker.admits(now + FIRST_PAUSE));
    }
}
