//! Two Vulkan layers for programs as they are: `VK_LAYER_VKFUSE_capture` writes down what a program submits for compute, and
//! `VK_LAYER_VKFUSE_fuse` submits fused kernels instead. A process has one of them (`role`).
//!
//! [`trace`] is what the first writes, into the folder that `VKFUSE_CAPTURE` names; `vkfuse capture` reads it.
//!
//! | module | does |
//! |---|---|
//! | `chain` | the loader's side: instances, devices, the functions of the next layer |
//! | `hooks` | the functions that are intercepted, one for each Vulkan call |
//! | `gate` | whether they follow a device, or pass on what it is called for |
//! | `objects`, `descriptors` | what the handles of a device stand for |
//! | `recording` | what a command buffer holds |
//! | `fuse` | the second layer |
//! | `submission` | a submission as events |
//! | `contents` | bytes of buffers before and after a submission, where asked for |
//! | `sink` | files |
//!
//! # Guarantees
//! - While capturing, every call reaches the next layer once, with the program's arguments. Where contents are asked for, buffers can be copied
//!   from as well, and copies stand around the program's command buffers in a submission.
//! - A panic of the layer ends the capture, or what is fused, and the program goes on (`sink::noted`).
//! - Nothing goes to the standard output.
#![allow(unsafe_code)]
#![deny(clippy::undocumented_unsafe_blocks)]

mod chain;
mod contents;
mod descriptors;
mod fuse;
mod gate;
mod hooks;
mod objects;
mod recording;
mod role;
mod sink;
mod submission;
pub mod trace;

pub use chain::Negotiation;
pub use role::{vkNegotiateLoaderLayerInterfaceVersion, vkfuseNegotiateFuse};

/// The name of the layer that fuses.
pub const FUSE_NAME: &str = "VK_LAYER_VKFUSE_fuse";
/// Its manifest, whose library is the same.
pub const FUSE_MANIFEST: &str = include_str!("../VkLayer_vkfuse_fuse.json");
/// The variable with words for the layer that fuses: `report` says at the end of the process what was done; `wait` has submissions wait
/// until their lists are planned.
pub const FUSE: &str = "VKFUSE_LAYER";
/// The variable with a file that the layer that fuses makes when it is loaded: `vkfuse fuse` sees by it whether there was an instance.
pub const LOADED: &str = "VKFUSE_LAYER_LOADED";
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
