//! The public interface: handles that users hold, and the checks between what they ask for and what runs.

pub(crate) mod buffer;
pub(crate) mod context;
pub(crate) mod fusion;
pub(crate) mod guard;
pub(crate) mod handler;
pub(crate) mod image;
pub(crate) mod kernel;
pub(crate) mod queue;
pub(crate) mod recording;
pub mod rust;
pub(crate) mod texels;
#[cfg(feature = "wgpu")]
pub(crate) mod wgpu;
