//! The calls of synchronization2, from Vulkan 1.3 or from the extension that came before it.

use ash::vk;
use vulkano::{Version, device::Device};

/// Pointers to the functions that have two names.
#[derive(Clone, Copy)]
pub(super) struct Calls {
    pub(super) submit: vk::PFN_vkQueueSubmit2,
    pub(super) barrier: vk::PFN_vkCmdPipelineBarrier2,
    pub(super) timestamp: vk::PFN_vkCmdWriteTimestamp2,
}

impl Calls {
    /// Those of a device whose feature `synchronization2` is on.
    pub(super) fn of(device: &Device) -> Calls {
        let fns = device.fns();
        if device.api_version() >= Version::V1_3 {
            Calls {
                submit: fns.v1_3.queue_submit2,
                barrier: fns.v1_3.cmd_pipeline_barrier2,
                timestamp: fns.v1_3.cmd_write_timestamp2,
            }
        } else {
            let fns = &fns.khr_synchronization2;
            Calls {
                submit: fns.queue_submit2_khr,
                barrier: fns.cmd_pipeline_barrier2_khr,
                timestamp: fns.cmd_write_timestamp2_khr,
            }
        }
    }
}

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Calls")
    }
}
