//! Synchronization that the standard library has not: locks that are asked for again before a thread sleeps.

mod spin;

pub(crate) use spin::spin_then_lock;
