//! Commands, checked and recorded.

pub(super) mod caller;
pub(super) mod check;
pub(super) mod command;
pub(super) mod command_buffer;
pub(super) mod recorder;
pub(super) mod sets;
pub(super) mod template;
