//! Commands whose effect is not captured: they are named.
//!
//! # Safety
//! Called as the specification of the Vulkan functions says.
#![allow(unsafe_op_in_unsafe_fn)]

use super::commands::command;
use crate::chain::{self, device_of};
use crate::gate;
use crate::recording::{Label, Op};
use crate::sink::{self, noted};
use ash::vk;
use std::ffi::{CStr, CString, c_void};

macro_rules! others {
    ($($writes:ident $name:literal $hook:ident($($arg:ident: $kind:ty),*);)*) => {
        command! {$(
            $name $hook($($arg: $kind),*) |known| {
                sink::missing($name, "its effect");
                known.record(Op::Other { call: $name, writes: $writes });
            };
        )*}
    };
}

macro_rules! unlisted {
    ($($name:literal $hook:ident($($arg:ident: $kind:ty),*);)*) => {
        command! {$($name $hook($($arg: $kind),*) |known| known.record(Op::Unlisted($name));)*}
    };
}

unlisted! {
    "vkCmdBeginQuery" cmd_begin_query(pool: vk::QueryPool, query: u32, flags: vk::QueryControlFlags);
    "vkCmdEndQuery" cmd_end_query(pool: vk::QueryPool, query: u32);
    "vkCmdResetQueryPool" cmd_reset_query_pool(pool: vk::QueryPool, first: u32, count: u32);
    "vkCmdWriteTimestamp" cmd_write_timestamp(stage: vk::PipelineStageFlags, pool: vk::QueryPool, query: u32);
    "vkCmdWriteTimestamp2" cmd_write_timestamp2(stage: vk::PipelineStageFlags2, pool: vk::QueryPool, query: u32);
    "vkCmdResetEvent2" cmd_reset_event2(event: vk::Event, stage: vk::PipelineStageFlags2);
    "vkCmdSetDeviceMask" cmd_set_device_mask(mask: u32);
}

command! {
    "vkCmdSetEvent" cmd_set_event(event: vk::Event, stages: vk::PipelineStageFlags) |known| {
        sink::missing("vkCmdSetEvent", "its effect");
        known.record(Op::Event { event, stages, is_set: true });
    };
    "vkCmdResetEvent" cmd_reset_event(event: vk::Event, stages: vk::PipelineStageFlags) |known| {
        known.record(Op::Event { event, stages, is_set: false });
    };
}

unsafe fn label(info: &vk::DebugUtilsLabelEXT<'_>) -> (CString, [f32; 4]) {
    let name = if info.p_label_name.is_null() { c"" } else { CStr::from_ptr(info.p_label_name) };
    (name.to_owned(), info.color)
}

command! {
    "vkCmdBeginDebugUtilsLabelEXT" cmd_begin_label(info: *const vk::DebugUtilsLabelEXT<'_>) |known| {
        let (name, color) = label(&*info);
        known.record(Op::Label(Box::new(Label::Begin(name, color))));
    };
    "vkCmdInsertDebugUtilsLabelEXT" cmd_insert_label(info: *const vk::DebugUtilsLabelEXT<'_>) |known| {
        let (name, color) = label(&*info);
        known.record(Op::Label(Box::new(Label::Insert(name, color))));
    };
    "vkCmdEndDebugUtilsLabelEXT" cmd_end_label() |known| known.record(Op::Label(Box::new(Label::End)));
}

const WRITES: bool = true;
const ORDERS: bool = false;

type Layout = vk::ImageLayout;

others! {
    WRITES "vkCmdCopyImage" cmd_copy_image(
        from: vk::Image, a: Layout, to: vk::Image, b: Layout, count: u32, regions: *const vk::ImageCopy
    );
    WRITES "vkCmdCopyImage2" cmd_copy_image2(info: *const vk::CopyImageInfo2<'_>);
    WRITES "vkCmdBlitImage" cmd_blit_image(
        from: vk::Image, a: Layout, to: vk::Image, b: Layout, count: u32, regions: *const vk::ImageBlit, filter: vk::Filter
    );
    WRITES "vkCmdBlitImage2" cmd_blit_image2(info: *const vk::BlitImageInfo2<'_>);
    WRITES "vkCmdResolveImage" cmd_resolve_image(
        from: vk::Image, a: Layout, to: vk::Image, b: Layout, count: u32, regions: *const vk::ImageResolve
    );
    WRITES "vkCmdResolveImage2" cmd_resolve_image2(info: *const vk::ResolveImageInfo2<'_>);
    WRITES "vkCmdCopyBufferToImage" cmd_copy_buffer_to_image(
        from: vk::Buffer, to: vk::Image, layout: Layout, count: u32, regions: *const vk::BufferImageCopy
    );
    WRITES "vkCmdCopyBufferToImage2" cmd_copy_buffer_to_image2(info: *const vk::CopyBufferToImageInfo2<'_>);
    WRITES "vkCmdCopyImageToBuffer" cmd_copy_image_to_buffer(
        from: vk::Image, layout: Layout, to: vk::Buffer, count: u32, regions: *const vk::BufferImageCopy
    );
    WRITES "vkCmdCopyImageToBuffer2" cmd_copy_image_to_buffer2(info: *const vk::CopyImageToBufferInfo2<'_>);
    WRITES "vkCmdClearColorImage" cmd_clear_color_image(
        image: vk::Image, layout: Layout, color: *const vk::ClearColorValue, count: u32,
        ranges: *const vk::ImageSubresourceRange
    );
    WRITES "vkCmdClearDepthStencilImage" cmd_clear_depth_stencil_image(
        image: vk::Image, layout: Layout, value: *const vk::ClearDepthStencilValue, count: u32,
        ranges: *const vk::ImageSubresourceRange
    );
    WRITES "vkCmdBeginRenderPass" cmd_begin_render_pass(
        info: *const vk::RenderPassBeginInfo<'_>, contents: vk::SubpassContents
    );
    WRITES "vkCmdBeginRenderPass2" cmd_begin_render_pass2(
        info: *const vk::RenderPassBeginInfo<'_>, subpass: *const vk::SubpassBeginInfo<'_>
    );
    WRITES "vkCmdBeginRendering" cmd_begin_rendering(info: *const vk::RenderingInfo<'_>);
    WRITES "vkCmdCopyQueryPoolResults" cmd_copy_query_pool_results(
        pool: vk::QueryPool, first: u32, count: u32, to: vk::Buffer, offset: vk::DeviceSize, stride: vk::DeviceSize,
        flags: vk::QueryResultFlags
    );
    ORDERS "vkCmdSetEvent2" cmd_set_event2(event: vk::Event, info: *const vk::DependencyInfo<'_>);
    ORDERS "vkCmdWaitEvents" cmd_wait_events(
        count: u32, events: *const vk::Event, from: vk::PipelineStageFlags, to: vk::PipelineStageFlags,
        memory: u32, memories: *const vk::MemoryBarrier<'_>,
        buffer_count: u32, buffers: *const vk::BufferMemoryBarrier<'_>,
        image_count: u32, images: *const vk::ImageMemoryBarrier<'_>
    );
    ORDERS "vkCmdWaitEvents2" cmd_wait_events2(
        count: u32, events: *const vk::Event, infos: *const vk::DependencyInfo<'_>
    );
    WRITES "vkCmdBindDescriptorBuffersEXT" cmd_bind_descriptor_buffers(
        count: u32, infos: *const vk::DescriptorBufferBindingInfoEXT<'_>
    );
    WRITES "vkCmdBindDescriptorBufferEmbeddedSamplersEXT" cmd_bind_descriptor_buffer_embedded_samplers(
        point: vk::PipelineBindPoint, layout: vk::PipelineLayout, set: u32
    );
    WRITES "vkCmdBindShadersEXT" cmd_bind_shaders(
        count: u32, stages: *const vk::ShaderStageFlags, shaders: *const vk::ShaderEXT
    );
    WRITES "vkCmdBuildAccelerationStructuresKHR" cmd_build_acceleration_structures(
        count: u32, infos: *const vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
        ranges: *const *const vk::AccelerationStructureBuildRangeInfoKHR
    );
    WRITES "vkCmdTraceRaysKHR" cmd_trace_rays(
        a: *const vk::StridedDeviceAddressRegionKHR, b: *const vk::StridedDeviceAddressRegionKHR,
        c: *const vk::StridedDeviceAddressRegionKHR, d: *const vk::StridedDeviceAddressRegionKHR,
        width: u32, height: u32, depth: u32
    );
    WRITES "vkCmdBeginConditionalRenderingEXT" cmd_begin_conditional_rendering(
        info: *const vk::ConditionalRenderingBeginInfoEXT<'_>
    );
    WRITES "vkCmdConvertCooperativeVectorMatrixNV" cmd_convert_cooperative_vector_matrix(
        count: u32, infos: *const c_void
    );
}
