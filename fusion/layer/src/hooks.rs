//! The functions that are intercepted.
//!
//! Each calls the next layer once with what it was given, and notes what it means (`sink::noted`).

mod commands;
mod creation;
mod others;
mod queue;
mod sets;

use crate::chain::{destroy_device, void};
use crate::role;
use ash::vk;
use commands::*;
use creation::*;
use others::*;
use queue::*;
use sets::*;
use std::ffi::{CStr, c_void};

/// Types of functions: those of `ash`, and of extensions that it does not know.
mod types {
    use std::ffi::c_void;

    pub(crate) use ash::vk::*;

    /// Takes `VkConvertCooperativeVectorMatrixInfoNV`, whose fields are not looked at.
    #[allow(non_camel_case_types)]
    pub(crate) type PFN_vkCmdConvertCooperativeVectorMatrixNV =
        unsafe extern "system" fn(CommandBuffer, u32, *const c_void);
}

/// Functions that the layer that fuses leaves to the next one.
const CAPTURED: [&CStr; 19] = [
    c"vkSetDebugUtilsObjectNameEXT",
    c"vkMapMemory",
    c"vkMapMemory2",
    c"vkMapMemory2KHR",
    c"vkGetBufferDeviceAddress",
    c"vkGetBufferDeviceAddressKHR",
    c"vkGetBufferDeviceAddressEXT",
    c"vkResetCommandPool",
    c"vkQueueBindSparse",
    c"vkQueueWaitIdle",
    c"vkDeviceWaitIdle",
    c"vkWaitForFences",
    c"vkGetFenceStatus",
    c"vkWaitSemaphores",
    c"vkWaitSemaphoresKHR",
    c"vkGetSemaphoreCounterValue",
    c"vkGetSemaphoreCounterValueKHR",
    c"vkSignalSemaphore",
    c"vkSignalSemaphoreKHR",
];

/// Functions that the layer that captures leaves to the next one.
const FUSED: [&CStr; 1] = [c"vkEndCommandBuffer"];

/// From the functions of Vulkan to those here, which have the same type; another name of a function comes after its own.
macro_rules! intercepted {
    ($($hook:ident: $kind:ident, $($name:literal)|+;)*) => {
        /// The functions of the next layer.
        pub(crate) struct Next { $(pub(crate) $hook: Option<types::$kind>,)* }

        impl Next {
            /// No function.
            pub(crate) const NONE: Next = Next { $($hook: None,)* };

            /// Asks for all of them; those that the device has not are left out.
            pub(crate) fn load(load: impl Fn(&CStr) -> *const c_void) -> Next {
                let find = |names: &[&CStr]| {
                    let mut found = names.iter().map(|name| load(name));
                    found.find(|function| !function.is_null()).unwrap_or(std::ptr::null())
                };
                // SAFETY: the function has the type of its name, and null is none.
                Next { $($hook: unsafe {
                    std::mem::transmute::<*const c_void, Option<types::$kind>>(find(&[$($name),+]))
                },)* }
            }
        }

        /// What is called instead of a function; nothing where the layer has no use for its calls.
        pub(crate) fn hook(name: &CStr) -> vk::PFN_vkVoidFunction {
            let others: &[&CStr] = if role::fuses() { &CAPTURED } else { &FUSED };
            if others.contains(&name) {
                return None;
            }
            $(if $(name == $name)||+ { return void!($hook, types::$kind); })*
            None
        }
    };
}

intercepted! {
    destroy_device: PFN_vkDestroyDevice, c"vkDestroyDevice";
    get_device_queue: PFN_vkGetDeviceQueue, c"vkGetDeviceQueue";
    get_device_queue2: PFN_vkGetDeviceQueue2, c"vkGetDeviceQueue2";

    create_shader_module: PFN_vkCreateShaderModule, c"vkCreateShaderModule";
    create_compute_pipelines: PFN_vkCreateComputePipelines, c"vkCreateComputePipelines";
    destroy_pipeline: PFN_vkDestroyPipeline, c"vkDestroyPipeline";
    destroy_shader_module: PFN_vkDestroyShaderModule, c"vkDestroyShaderModule";
    destroy_pipeline_layout: PFN_vkDestroyPipelineLayout, c"vkDestroyPipelineLayout";
    create_pipeline_layout: PFN_vkCreatePipelineLayout, c"vkCreatePipelineLayout";
    set_debug_utils_object_name: PFN_vkSetDebugUtilsObjectNameEXT, c"vkSetDebugUtilsObjectNameEXT";
    allocate_memory: PFN_vkAllocateMemory, c"vkAllocateMemory";
    free_memory: PFN_vkFreeMemory, c"vkFreeMemory";
    map_memory: PFN_vkMapMemory, c"vkMapMemory";
    map_memory2: PFN_vkMapMemory2KHR, c"vkMapMemory2" | c"vkMapMemory2KHR";
    create_buffer: PFN_vkCreateBuffer, c"vkCreateBuffer";
    destroy_buffer: PFN_vkDestroyBuffer, c"vkDestroyBuffer";
    bind_buffer_memory: PFN_vkBindBufferMemory, c"vkBindBufferMemory";
    bind_buffer_memory2: PFN_vkBindBufferMemory2, c"vkBindBufferMemory2" | c"vkBindBufferMemory2KHR";
    get_buffer_device_address: PFN_vkGetBufferDeviceAddress,
        c"vkGetBufferDeviceAddress" | c"vkGetBufferDeviceAddressKHR" | c"vkGetBufferDeviceAddressEXT";

    create_descriptor_set_layout: PFN_vkCreateDescriptorSetLayout, c"vkCreateDescriptorSetLayout";
    allocate_descriptor_sets: PFN_vkAllocateDescriptorSets, c"vkAllocateDescriptorSets";
    free_descriptor_sets: PFN_vkFreeDescriptorSets, c"vkFreeDescriptorSets";
    reset_descriptor_pool: PFN_vkResetDescriptorPool, c"vkResetDescriptorPool";
    destroy_descriptor_pool: PFN_vkDestroyDescriptorPool, c"vkDestroyDescriptorPool";
    update_descriptor_sets: PFN_vkUpdateDescriptorSets, c"vkUpdateDescriptorSets";
    create_descriptor_update_template: PFN_vkCreateDescriptorUpdateTemplate,
        c"vkCreateDescriptorUpdateTemplate" | c"vkCreateDescriptorUpdateTemplateKHR";
    destroy_descriptor_update_template: PFN_vkDestroyDescriptorUpdateTemplate,
        c"vkDestroyDescriptorUpdateTemplate" | c"vkDestroyDescriptorUpdateTemplateKHR";
    update_descriptor_set_with_template: PFN_vkUpdateDescriptorSetWithTemplate,
        c"vkUpdateDescriptorSetWithTemplate" | c"vkUpdateDescriptorSetWithTemplateKHR";

    allocate_command_buffers: PFN_vkAllocateCommandBuffers, c"vkAllocateCommandBuffers";
    free_command_buffers: PFN_vkFreeCommandBuffers, c"vkFreeCommandBuffers";
    destroy_command_pool: PFN_vkDestroyCommandPool, c"vkDestroyCommandPool";
    reset_command_pool: PFN_vkResetCommandPool, c"vkResetCommandPool";
    begin_command_buffer: PFN_vkBeginCommandBuffer, c"vkBeginCommandBuffer";
    end_command_buffer: PFN_vkEndCommandBuffer, c"vkEndCommandBuffer";
    reset_command_buffer: PFN_vkResetCommandBuffer, c"vkResetCommandBuffer";
    cmd_bind_pipeline: PFN_vkCmdBindPipeline, c"vkCmdBindPipeline";
    cmd_bind_descriptor_sets: PFN_vkCmdBindDescriptorSets, c"vkCmdBindDescriptorSets";
    cmd_bind_descriptor_sets2: PFN_vkCmdBindDescriptorSets2KHR,
        c"vkCmdBindDescriptorSets2" | c"vkCmdBindDescriptorSets2KHR";
    cmd_push_constants: PFN_vkCmdPushConstants, c"vkCmdPushConstants";
    cmd_push_constants2: PFN_vkCmdPushConstants2KHR, c"vkCmdPushConstants2" | c"vkCmdPushConstants2KHR";
    cmd_push_descriptor_set: PFN_vkCmdPushDescriptorSetKHR,
        c"vkCmdPushDescriptorSet" | c"vkCmdPushDescriptorSetKHR";
    cmd_push_descriptor_set2: PFN_vkCmdPushDescriptorSet2KHR,
        c"vkCmdPushDescriptorSet2" | c"vkCmdPushDescriptorSet2KHR";
    cmd_push_descriptor_set_with_template: PFN_vkCmdPushDescriptorSetWithTemplateKHR,
        c"vkCmdPushDescriptorSetWithTemplate" | c"vkCmdPushDescriptorSetWithTemplateKHR";
    cmd_push_descriptor_set_with_template2: PFN_vkCmdPushDescriptorSetWithTemplate2KHR,
        c"vkCmdPushDescriptorSetWithTemplate2" | c"vkCmdPushDescriptorSetWithTemplate2KHR";
    cmd_dispatch: PFN_vkCmdDispatch, c"vkCmdDispatch";
    cmd_dispatch_base: PFN_vkCmdDispatchBase, c"vkCmdDispatchBase" | c"vkCmdDispatchBaseKHR";
    cmd_dispatch_indirect: PFN_vkCmdDispatchIndirect, c"vkCmdDispatchIndirect";
    cmd_copy_buffer: PFN_vkCmdCopyBuffer, c"vkCmdCopyBuffer";
    cmd_copy_buffer2: PFN_vkCmdCopyBuffer2, c"vkCmdCopyBuffer2" | c"vkCmdCopyBuffer2KHR";
    cmd_fill_buffer: PFN_vkCmdFillBuffer, c"vkCmdFillBuffer";
    cmd_update_buffer: PFN_vkCmdUpdateBuffer, c"vkCmdUpdateBuffer";
    cmd_pipeline_barrier: PFN_vkCmdPipelineBarrier, c"vkCmdPipelineBarrier";
    cmd_pipeline_barrier2: PFN_vkCmdPipelineBarrier2, c"vkCmdPipelineBarrier2" | c"vkCmdPipelineBarrier2KHR";
    cmd_execute_commands: PFN_vkCmdExecuteCommands, c"vkCmdExecuteCommands";

    cmd_copy_image: PFN_vkCmdCopyImage, c"vkCmdCopyImage";
    cmd_copy_image2: PFN_vkCmdCopyImage2, c"vkCmdCopyImage2" | c"vkCmdCopyImage2KHR";
    cmd_blit_image: PFN_vkCmdBlitImage, c"vkCmdBlitImage";
    cmd_blit_image2: PFN_vkCmdBlitImage2, c"vkCmdBlitImage2" | c"vkCmdBlitImage2KHR";
    cmd_resolve_image: PFN_vkCmdResolveImage, c"vkCmdResolveImage";
    cmd_resolve_image2: PFN_vkCmdResolveImage2, c"vkCmdResolveImage2" | c"vkCmdResolveImage2KHR";
    cmd_copy_buffer_to_image: PFN_vkCmdCopyBufferToImage, c"vkCmdCopyBufferToImage";
    cmd_copy_buffer_to_image2: PFN_vkCmdCopyBufferToImage2,
        c"vkCmdCopyBufferToImage2" | c"vkCmdCopyBufferToImage2KHR";
    cmd_copy_image_to_buffer: PFN_vkCmdCopyImageToBuffer, c"vkCmdCopyImageToBuffer";
    cmd_copy_image_to_buffer2: PFN_vkCmdCopyImageToBuffer2,
        c"vkCmdCopyImageToBuffer2" | c"vkCmdCopyImageToBuffer2KHR";
    cmd_clear_color_image: PFN_vkCmdClearColorImage, c"vkCmdClearColorImage";
    cmd_clear_depth_stencil_image: PFN_vkCmdClearDepthStencilImage, c"vkCmdClearDepthStencilImage";
    cmd_begin_render_pass: PFN_vkCmdBeginRenderPass, c"vkCmdBeginRenderPass";
    cmd_begin_render_pass2: PFN_vkCmdBeginRenderPass2,
        c"vkCmdBeginRenderPass2" | c"vkCmdBeginRenderPass2KHR";
    cmd_begin_rendering: PFN_vkCmdBeginRendering, c"vkCmdBeginRendering" | c"vkCmdBeginRenderingKHR";
    cmd_begin_query: PFN_vkCmdBeginQuery, c"vkCmdBeginQuery";
    cmd_end_query: PFN_vkCmdEndQuery, c"vkCmdEndQuery";
    cmd_reset_query_pool: PFN_vkCmdResetQueryPool, c"vkCmdResetQueryPool";
    cmd_write_timestamp: PFN_vkCmdWriteTimestamp, c"vkCmdWriteTimestamp";
    cmd_write_timestamp2: PFN_vkCmdWriteTimestamp2, c"vkCmdWriteTimestamp2" | c"vkCmdWriteTimestamp2KHR";
    cmd_reset_event: PFN_vkCmdResetEvent, c"vkCmdResetEvent";
    cmd_reset_event2: PFN_vkCmdResetEvent2, c"vkCmdResetEvent2" | c"vkCmdResetEvent2KHR";
    cmd_set_device_mask: PFN_vkCmdSetDeviceMask, c"vkCmdSetDeviceMask" | c"vkCmdSetDeviceMaskKHR";
    cmd_begin_label: PFN_vkCmdBeginDebugUtilsLabelEXT, c"vkCmdBeginDebugUtilsLabelEXT";
    cmd_insert_label: PFN_vkCmdInsertDebugUtilsLabelEXT, c"vkCmdInsertDebugUtilsLabelEXT";
    cmd_end_label: PFN_vkCmdEndDebugUtilsLabelEXT, c"vkCmdEndDebugUtilsLabelEXT";
    cmd_copy_query_pool_results: PFN_vkCmdCopyQueryPoolResults, c"vkCmdCopyQueryPoolResults";
    cmd_set_event: PFN_vkCmdSetEvent, c"vkCmdSetEvent";
    cmd_set_event2: PFN_vkCmdSetEvent2, c"vkCmdSetEvent2" | c"vkCmdSetEvent2KHR";
    cmd_wait_events: PFN_vkCmdWaitEvents, c"vkCmdWaitEvents";
    cmd_wait_events2: PFN_vkCmdWaitEvents2, c"vkCmdWaitEvents2" | c"vkCmdWaitEvents2KHR";
    cmd_bind_descriptor_buffers: PFN_vkCmdBindDescriptorBuffersEXT, c"vkCmdBindDescriptorBuffersEXT";
    cmd_bind_descriptor_buffer_embedded_samplers: PFN_vkCmdBindDescriptorBufferEmbeddedSamplersEXT,
        c"vkCmdBindDescriptorBufferEmbeddedSamplersEXT";
    cmd_bind_shaders: PFN_vkCmdBindShadersEXT, c"vkCmdBindShadersEXT";
    cmd_build_acceleration_structures: PFN_vkCmdBuildAccelerationStructuresKHR,
        c"vkCmdBuildAccelerationStructuresKHR";
    cmd_trace_rays: PFN_vkCmdTraceRaysKHR, c"vkCmdTraceRaysKHR";
    cmd_begin_conditional_rendering: PFN_vkCmdBeginConditionalRenderingEXT,
        c"vkCmdBeginConditionalRenderingEXT";
    cmd_convert_cooperative_vector_matrix: PFN_vkCmdConvertCooperativeVectorMatrixNV,
        c"vkCmdConvertCooperativeVectorMatrixNV";

    queue_submit: PFN_vkQueueSubmit, c"vkQueueSubmit";
    queue_submit2: PFN_vkQueueSubmit2, c"vkQueueSubmit2" | c"vkQueueSubmit2KHR";
    queue_bind_sparse: PFN_vkQueueBindSparse, c"vkQueueBindSparse";
    queue_wait_idle: PFN_vkQueueWaitIdle, c"vkQueueWaitIdle";
    device_wait_idle: PFN_vkDeviceWaitIdle, c"vkDeviceWaitIdle";
    wait_for_fences: PFN_vkWaitForFences, c"vkWaitForFences";
    get_fence_status: PFN_vkGetFenceStatus, c"vkGetFenceStatus";
    wait_semaphores: PFN_vkWaitSemaphores, c"vkWaitSemaphores" | c"vkWaitSemaphoresKHR";
    get_semaphore_counter_value: PFN_vkGetSemaphoreCounterValue,
        c"vkGetSemaphoreCounterValue" | c"vkGetSemaphoreCounterValueKHR";
    signal_semaphore: PFN_vkSignalSemaphore, c"vkSignalSemaphore" | c"vkSignalSemaphoreKHR";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_all_of_their_names_and_others_are_not() {
        let both = [hook(c"vkQueueSubmit2"), hook(c"vkQueueSubmit2KHR")];
        assert!(both[0].is_some() && both[0].map(|f| f as usize) == both[1].map(|f| f as usize));
        assert!(hook(c"vkCmdDraw").is_none());
        let next =
            Next::load(
                |name| if name == c"vkQueueSubmit2KHR" { 8 as *const c_void } else { std::ptr::null() },
            );
        assert_eq!(next.queue_submit2.map(|f| f as usize), Some(8));
        assert!(next.queue_submit.is_none());
        assert!(hook(c"vkWaitForFences").is_some() && hook(c"vkEndCommandBuffer").is_none());
    }
}
