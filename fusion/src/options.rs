//! How contexts, queues and caches are made: by the program, and by the environment.

pub(crate) mod context;
pub(crate) mod environment;
