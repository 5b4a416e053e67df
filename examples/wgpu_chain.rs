//! The quick start's chain over a `wgpu` device: four compute passes in WGSL, fused into one, between passes of wgpu's own.
//! `cargo run --example wgpu_chain --features wgpu`
#![allow(unsafe_code)] // Threads and order are vouched for.

use std::{error::Error, future::Future, pin::pin, task};

use vkfuse::{
    ContextOptions, FusionProperties, FusionWrapper, QueueOptions,
    wgpu::{Device, WgpuBuffer, WgpuDevice, wgpu},
};

const N: usize = 1_000_003;

fn main() -> Result<(), Box<dyn Error>> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapters = ready(instance.enumerate_adapters(wgpu::Backends::VULKAN));
    let adapter = adapters.first().ok_or("no Vulkan adapter")?;
    // SAFETY: this program has one thread.
    let device = unsafe { WgpuDevice::request(adapter, &wgpu::DeviceDescriptor::default()) }?;
    let device = Device::new(device, ContextOptions::from_env())?;
    let (context, queue) = (device.context(), device.queue());

    let inputs = [3, 5, 7, 11].map(|k| (0..N).map(|i| (i * k % 1024) as f32 / 1024.0).collect::<Vec<f32>>());
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let size = (N * 4) as u64;
    let buffer = || {
        let label = None;
        device.device().create_buffer(&wgpu::BufferDescriptor {
            label,
            size,
            usage,
            mapped_at_creation: false,
        })
    };
    let (buffers, out) = (inputs.each_ref().map(|_| buffer()), buffer());
    for (buffer, input) in buffers.iter().zip(&inputs) {
        queue.write_buffer(buffer, 0, bytemuck::cast_slice(input));
    }

    // SAFETY: what uses them is submitted to wgpu's queue, and they are read when that is complete.
    let import = |buffer: &wgpu::Buffer| device.import::<f32>(&unsafe { WgpuBuffer::new(buffer) }?);
    let [in1, in2, in3, in4] = buffers.each_ref().map(import);
    let (in1, in2, in3, in4, result) = (&in1?, &in2?, &in3?, &in4?, import(&out)?);
    let (tmp1, tmp2, tmp3) = (&context.scratch(N)?, &context.scratch(N)?, &context.scratch(N)?);
    let mul = &context.kernel_from_wgsl("mul", include_str!("../shaders/chain/mul.wgsl"))?;
    let sub = &context.kernel_from_wgsl("sub", include_str!("../shaders/chain/sub.wgsl"))?;
    let recorder = context.queue(QueueOptions::new().enable_fusion(true))?;
    let fusion = FusionWrapper::new(&recorder)?;
    fusion.start_fusion()?;
    let calls =
        [(mul, in1, in2, tmp1), (sub, in1, in3, tmp2), (mul, tmp2, in4, tmp3), (sub, tmp1, tmp3, &result)];
    for (kernel, x, y, z) in calls {
        recorder.submit(|h| {
            h.arg(0, x.read()).arg(1, y.read()).arg(2, z.write());
            h.dispatch_items(kernel, [N as u32, 1, 1]);
        })?;
    }
    let list = fusion.keep_unrun(&FusionProperties::default())?;

    let fused = device.record(&list)?;
    println!("{} dispatch, {}", fused.dispatches, fused.outcome);
    queue.submit([fused.commands]);
    device.device().poll(wgpu::PollType::wait_indefinitely())?;
    let [a, b, c, d] = &inputs;
    let host = |i: usize| a[i] * b[i] - (a[i] - c[i]) * d[i];
    let right = result.download()?.iter().enumerate().all(|(i, x)| x.to_bits() == host(i).to_bits());
    println!("all right: {right}");
    if right { Ok(()) } else { Err("wrong results".into()) }
}

/// What a future that does not wait comes to.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let (mut future, mut context) = (pin!(future), task::Context::from_waker(task::Waker::noop()));
    loop {
        if let task::Poll::Ready(found) = future.as_mut().poll(&mut context) {
            return found;
        }
    }
}
