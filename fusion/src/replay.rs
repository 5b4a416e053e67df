//! Lists that ran before: graphs, their executables, and how these are launched.

pub(crate) mod cache;
pub(crate) mod exec;
pub(crate) mod graph;
pub(crate) mod launch;
pub(crate) mod predicted;
