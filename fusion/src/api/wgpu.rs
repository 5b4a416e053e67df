//! A context over a device of wgpu's.

use std::sync::Arc;

use bytemuck::Pod;

use super::{
    buffer::Buffer,
    context::Context,
    fusion::{FusedList, Recorded},
};
use crate::{
    options::context::ContextOptions,
    report::{FusionReport, outcome::Outcome},
    vk::{
        self,
        wgpu::{WgpuBuffer, WgpuDevice, WgpuError},
    },
};

/// A device of wgpu's and a context over it.
///
/// Kernels and lists are made with the [context](Device::context), from SPIR-V or the text of WGSL; buffers of wgpu's are
/// [imported](Device::import); a kept list becomes a [command buffer](Device::record) that is submitted like any other of wgpu's, in
/// the order in which they are submitted.
#[derive(Debug, Clone)]
pub struct Device {
    device: wgpu::Device,
    queue: wgpu::Queue,
    context: Context,
    /// Binds a buffer, which makes wgpu clear the parts that have not been written.
    touch: wgpu::ComputePipeline,
}

/// A list in a command buffer of wgpu's.
#[derive(Debug)]
#[must_use = "the list runs when its commands are submitted"]
pub struct Fused {
    /// To be submitted with `wgpu::Queue::submit`.
    pub commands: wgpu::CommandBuffer,
    /// How many dispatches it has.
    pub dispatches: usize,
    /// What became of the list.
    pub outcome: Outcome,
    /// What happened to the list.
    pub report: Option<Arc<FusionReport>>,
}

/// Never writes: an array that is bound has an element.
const TOUCH: &str = "@group(0) @binding(0) var<storage, read_write> all: array<u32>;
@compute @workgroup_size(1) fn main() { if (arrayLength(&all) == 0u) { all[0] = 0u; } }";

impl Device {
    /// A context over a device.
    ///
    /// # Errors
    ///
    /// As [`Context::from_raw`].
    pub fn new(over: WgpuDevice, options: ContextOptions) -> Result<Device, WgpuError> {
        let WgpuDevice { device, queue, raw } = over;
        let context = Context::from_raw(&raw, options)?;
        let source = wgpu::ShaderSource::Wgsl(TOUCH.into());
        let module = device
            .create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("vkfuse: touch"), source });
        let touch = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("vkfuse: touch"),
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        Ok(Device { device, queue, context, touch })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Its queue.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Makes a buffer over one of wgpu. Parts that have not been written are zero, as for wgpu.
    ///
    /// # Errors
    ///
    /// A buffer without the usages `STORAGE`, `COPY_SRC` and `COPY_DST`, or without bytes.
    pub fn import<T: Pod>(&self, buffer: &WgpuBuffer) -> Result<Buffer<T>, WgpuError> {
        let imported = self.context.import(&buffer.user)?;
        self.touch(&buffer.buffer);
        Ok(imported)
    }

    /// Makes wgpu clear the parts of a buffer that have not been written. It does so at the first use that it sees, and it does not see what this
    /// crate does with the buffer: later, it would clear the results.
    fn touch(&self, buffer: &wgpu::Buffer) {
        let limits = self.device.limits();
        let step = u64::from(limits.min_storage_buffer_offset_alignment.max(4));
        let most = (limits.max_storage_buffer_binding_size / step).max(1) * step;
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&self.touch);
            let mut at = 0;
            while at < buffer.size() {
                let size = std::num::NonZeroU64::new(most.min(buffer.size() - at));
                let binding = wgpu::BufferBinding { buffer, offset: at, size };
                let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: None,
                    layout: &self.touch.get_bind_group_layout(0),
                    entries: &[wgpu::BindGroupEntry {
                        binding: 0,
                        resource: wgpu::BindingResource::Buffer(binding),
                    }],
                });
                pass.set_bind_group(0, &group, &[]);
                pass.dispatch_workgroups(1, 1, 1);
                at += most;
            }
        }
        self.queue.submit([encoder.finish()]);
    }

    /// A kept list as a command buffer of wgpu's. It is to be submitted once; what it needs is kept until it is complete.
    ///
    /// The list's buffers count as written from now on: see [`FusedList::record`]. What this crate has yet to do with them, such as an
    /// upload, the next submission of the queue waits for.
    ///
    /// # Errors
    ///
    /// As [`FusedList::record`]; a device of another back end.
    pub fn record(&self, list: &FusedList) -> Result<Fused, WgpuError> {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let recorded = vk::wgpu::record(
            (&mut encoder, &self.queue),
            self.context.clone(),
            Recorded::waits,
            |commands| list.record(commands),
        )?;
        let fused = (recorded.dispatches(), recorded.outcome().clone(), recorded.report());
        Ok(Fused { commands: encoder.finish(), dispatches: fused.0, outcome: fused.1, report: fused.2 })
    }
}
