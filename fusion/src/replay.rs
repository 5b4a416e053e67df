//! What ran before, and how it is run again on any buffers.

pub(crate) mod known;
pub(crate) mod recorded;
pub(crate) mod routine;
pub(crate) mod structure;
