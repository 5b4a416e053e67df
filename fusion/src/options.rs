//! How contexts, queues, lists and caches are made.

pub(crate) mod cache;
pub(crate) mod context;
pub(crate) mod environment;
pub(crate) mod fusion;
pub(crate) mod guard;
pub(crate) mod planning;
pub(crate) mod tuning;

pub use cache::CacheOptions;
pub use context::{ContextOptions, QueueOptions};
pub use fusion::FusionProperties;
pub use tuning::{ParseTuningError, Tuning};

pub use crate::jit::{FloatMode, Policy, Promote};
