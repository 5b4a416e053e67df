//! WGSL that a library wrote, over a `wgpu` device: four elementwise kernels as CubeCL compiles them, fused into one pass.
//! `cargo run --example wgpu_cubecl --features wgpu`
#![allow(unsafe_code)] // Threads and order are vouched for.

use std::{error::Error, future::Future, pin::pin, task};

use vkfuse::{
    Buffer, ContextOptions, FusionProperties, FusionWrapper, QueueOptions,
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

    let inputs = [3, 7].map(|k| (0..N).map(|i| (i * k % 1024) as f32 / 256.0 - 2.0).collect::<Vec<f32>>());
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let (label, size, mapped_at_creation) = (None, (N * 4) as u64, false);
    let made = [(); 3].map(|()| {
        device.device().create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation })
    });
    made.iter()
        .zip(&inputs)
        .for_each(|(buffer, input)| queue.write_buffer(buffer, 0, bytemuck::cast_slice(input)));
    // SAFETY: what uses them is submitted to wgpu's queue, and they are read when that is complete.
    let import = |buffer: &wgpu::Buffer| device.import::<f32>(&unsafe { WgpuBuffer::new(buffer) }?);
    let [x, w, out] = made.each_ref().map(import);
    let (x, w, out) = (x?, w?, out?);

    // What CubeCL hands to each kernel besides its arrays: how long they are, twice; and the scalars.
    let lengths = |arrays: usize| context.buffer_from(&vec![N as u32; 2 * arrays]);
    let (two, three, scalars) = (lengths(2)?, lengths(3)?, context.buffer_from(&[0.5_f32, 0.25])?);
    let [t, u, v]: [Buffer<f32>; 3] = [context.scratch(N)?, context.scratch(N)?, context.scratch(N)?];
    let kernel = |name: &str, text: &str| context.kernel_from_wgsl(name, text);
    let product = kernel("product", include_str!("../shaders/cubecl/product.wgsl"))?;
    let sum = kernel("sum", include_str!("../shaders/cubecl/sum.wgsl"))?;
    let silu = kernel("silu", include_str!("../shaders/cubecl/silu.wgsl"))?;
    let affine = kernel("affine", include_str!("../shaders/cubecl/affine.wgsl"))?;

    let recorder = context.queue(QueueOptions::new().enable_fusion(true))?;
    let fusion = FusionWrapper::new(&recorder)?;
    fusion.start_fusion()?;
    for (kernel, a, b, c) in [(&product, &x, &w, &t), (&sum, &t, &x, &u)] {
        recorder.submit(|h| {
            h.arg(0, a.read()).arg(1, b.read()).arg(2, c.write()).arg(3, three.constant());
            h.dispatch_items(kernel, [N as u32, 1, 1]);
        })?;
    }
    recorder.submit(|h| {
        h.arg(0, u.read()).arg(1, v.write()).arg(2, two.constant());
        h.dispatch_items(&silu, [N as u32, 1, 1]);
    })?;
    recorder.submit(|h| {
        h.arg(0, v.read()).arg(1, out.write()).arg(2, two.constant()).arg(3, scalars.read());
        h.dispatch_items(&affine, [N as u32, 1, 1]);
    })?;
    let list = fusion.keep_unrun(&FusionProperties::default())?;

    let fused = device.record(&list)?;
    println!("{} dispatch, {}", fused.dispatches, fused.outcome);
    queue.submit([fused.commands]);
    device.device().poll(wgpu::PollType::wait_indefinitely())?;
    let host = |i: usize| {
        let v = inputs[0][i] * inputs[1][i] + inputs[0][i];
        v / (1.0 + (-v).exp()) * 0.5 + 0.25
    };
    let right =
        out.download()?.iter().enumerate().all(|(i, x)| (x - host(i)).abs() <= 1e-5 * host(i).abs().max(1.0));
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
