//! How contexts, queues and caches are made: by the program, and by the environment.

pub(crate) mod cache;
pub(crate) mod context;
pub(crate) mod environment;
pub(crate) mod fusion;
pub(crate) mod guard;
pub(crate) mod planning;
pub(crate) mod tuning;
