//! What ran before on the very same buffers, and how it is run again.

pub(crate) mod known;
pub(crate) mod recorded;
pub(crate) mod routine;
