//! What is submitted: which bytes it touches, what those are worth, and what has to come after what.

pub(crate) mod accessor;
pub(crate) mod buffer;
pub(crate) mod contents;
pub(crate) mod dependencies;
pub(crate) mod device;
pub(crate) mod element;
pub(crate) mod entry;
pub(crate) mod held;
pub(crate) mod identity;
pub(crate) mod ignored;
pub(crate) mod kernel;
pub(crate) mod pushed;
pub(crate) mod ready;
pub(crate) mod request;
pub(crate) mod signature;
