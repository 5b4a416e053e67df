//! What is submitted: which bytes it touches, what those are worth, and what has to come after what.

pub(crate) mod accessor;
pub(crate) mod contents;
pub(crate) mod graph;
pub(crate) mod identity;
