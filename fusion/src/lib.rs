//! Run-time kernel fusion for Vulkan compute.

mod vk;
