//! Code for a step: keys, the maps in memory, the persistent store, pipelines, plans, recordings.

pub(crate) mod ahead;
pub(crate) mod autotune;
pub(crate) mod build;
pub(crate) mod carried;
pub(crate) mod guard;
pub(crate) mod judged;
pub(crate) mod keep;
pub(crate) mod kernels;
pub(crate) mod key;
pub(crate) mod log;
pub(crate) mod lowered;
pub(crate) mod memo;
pub(crate) mod programs;
