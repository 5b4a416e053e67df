//! `VK_LAYER_VKFUSE_capture`: a Vulkan layer that writes down what a program submits for compute.
//!
//! [`trace`] is what it writes, into the folder that `VKFUSE_CAPTURE` names; `vkfuse capture` reads it.
//!
//! | module | does |
//! |---|---|
//! | `chain` | the loader's side: instances, devices, the functions of the next layer |
//! | `hooks` | the functions that are intercepted, one for each Vulkan call |
//! | `objects`, `descriptors` | what the handles of a device stand for |
//! | `recording` | what a command buffer holds |
//! | `submission` | a submission as events |
//! | `contents` | bytes of buffers before and after a submission, where asked for |
//! | `sink` | files |
//!
//! # Guarantees
//! - Every call reaches the next layer once, with the program's arguments. Where contents are asked for, buffers can be copied
//!   from as well, and copies stand around the program's command buffers in a submission.
//! - A panic of the layer ends the capture, and the program goes on (`sink::noted`).
//! - Nothing goes to the standard output.
#![allow(unsafe_code)]
#![deny(clippy::undocumented_unsafe_blocks)]

mod chain;
mod contents;
mod descriptors;
mod hooks;
mod objects;
mod recording;
mod sink;
mod submission;
pub mod trace;

pub use chain::vkNegotiateLoaderLayerInterfaceVersion;

/// The layer's name.
pub const NAME: &str = "VK_LAYER_VKFUSE_capture";
/// The layer's manifest, whose library lies beside it.
pub const MANIFEST: &str = include_str!("../VkLayer_vkfuse_capture.json");
/// The variable with the folder that is written, which is made. Without it, `vkfuse-capture` in the current folder.
pub const FOLDER: &str = "VKFUSE_CAPTURE";
/// The variable that says which contents of buffers are taken: `none`, `before`, or `both`, which is before and after.
pub const CONTENTS: &str = "VKFUSE_CAPTURE_CONTENTS";
/// The variable with how many bytes of contents are written at most.
pub const LIMIT: &str = "VKFUSE_CAPTURE_LIMIT";
