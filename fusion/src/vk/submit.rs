//! Submission, time lines, and waiting for them.

pub(super) mod clock;
pub(super) mod frame;
pub(super) mod queue;
pub(super) mod reusable;
pub(super) mod semaphore;
pub(super) mod wait;
