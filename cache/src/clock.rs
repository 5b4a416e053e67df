//! Where the caches get the time from.
//!
//! Stamps and ages of files are compared with this clock only, so that a test can set it, and step
//! it back. Time-outs of locks are real time and do not come from here.

use std::fmt::Debug;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of wall-clock time.
pub trait Clock: Send + Sync + Debug {
    /// The time now.
    fn now(&self) -> SystemTime;

    /// The time since some moment in the past, which no change of the machine's time moves: what the life of a failure is
    /// measured with.
    fn monotonic(&self) -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed()
    }
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Seconds and nanoseconds since 1970; times before count as 1970.
pub(crate) fn since_epoch(time: SystemTime) -> (i64, u32) {
    match time.duration_since(UNIX_EPOCH) {
        Ok(passed) => (i64::try_from(passed.as_secs()).unwrap_or(i64::MAX), passed.subsec_nanos()),
        Err(_) => (0, 0),
    }
}
