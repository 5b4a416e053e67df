//! vkfuse for C.
//!
//! The header `include/vkfuse.h` is made from this crate and says what each function does. What is common to them:
//!
//! - *Handles* are numbers, looked up in a table: one that is null, destroyed, of another kind or made up is an error, and
//!   follows no pointer. Objects may be destroyed in any order; each keeps what it needs.
//! - *Results.* Every call that can fail returns a `VkfuseResult`, and leaves a message for the calling thread.
//! - *Panics* end at the border and are `VKFUSE_INTERNAL`.
//! - *Threads.* Every function may be called from any thread at any time, except for what Vulkan itself forbids of the handles that
//!   a program lends.
//!
//! Pointers are checked for null and alignment. That they are to what the header says is for the caller.
#![allow(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod argument;
mod buffer;
mod context;
mod event;
mod handles;
mod kernel;
mod list;
mod queue;
mod raw;
mod result;

pub use buffer::*;
pub use context::*;
pub use event::*;
pub use handles::{
    VkfuseBuffer, VkfuseContext, VkfuseEvent, VkfuseKernel, VkfuseList, VkfuseQueue, VkfuseRecorded,
};
pub use kernel::*;
pub use list::*;
pub use queue::*;
pub use raw::*;
pub use result::{VkfuseResult, vkfuse_last_error, vkfuse_version};
