//! Lists over a device of wgpu's, between its own passes.

// Threads and order can be vouched for in no other way.
#![allow(unsafe_code)]

use std::{future::Future, pin::pin, task};

use vkfuse::{
    Buffer, ContextOptions, FusedList, FusionProperties, FusionWrapper, Outcome, QueueOptions,
    wgpu::{Device, WgpuBuffer, WgpuDevice, WgpuError, wgpu},
};

const N: usize = 1000;
const USAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);

/// `z = (x + y) op`, an element an invocation.
fn kernel(value: &str) -> String {
    format!(
        "@group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read> y: array<u32>;
        @group(0) @binding(2) var<storage, read_write> z: array<u32>;
        @compute @workgroup_size(64)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
            let i = id.x;
            if (i < arrayLength(&z)) {{ z[i] = {value}; }}
        }}"
    )
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

fn open() -> Option<Device> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapters = ready(instance.enumerate_adapters(wgpu::Backends::VULKAN));
    let Some(adapter) = adapters.first() else {
        assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no Vulkan adapter");
        return None;
    };
    // SAFETY: each test has a device of its own, and one thread.
    let device = unsafe { WgpuDevice::request(adapter, &wgpu::DeviceDescriptor::default()) };
    let device = device.expect("a device");
    Some(Device::new(device, ContextOptions::new()).expect("a context"))
}

fn buffer(device: &Device, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    let (label, size) = (None, (N * 4) as u64);
    device.device().create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false })
}

fn import(device: &Device, buffer: &wgpu::Buffer) -> Result<Buffer<u32>, WgpuError> {
    // SAFETY: everything here is submitted to one queue, and waited for before the host looks.
    device.import(&unsafe { WgpuBuffer::new(buffer) }?)
}

/// `t = 3 (x + y); z = t ^ y`, with `t` between the two alone.
fn list(device: &Device, x: &Buffer<u32>, y: &Buffer<u32>, z: &Buffer<u32>) -> FusedList {
    let context = device.context();
    let first = context.kernel_from_wgsl("first", &kernel("(x[i] + y[i]) * 3u")).expect("a kernel");
    let second = context.kernel_from_wgsl("second", &kernel("x[i] ^ y[i]")).expect("a kernel");
    let t = context.scratch::<u32>(N).expect("a buffer");
    let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue");
    let fusion = FusionWrapper::new(&queue).expect("a queue that can fuse");
    fusion.start_fusion().expect("no list is open");
    for (kernel, x, y, z) in [(&first, x, y, &t), (&second, &t, y, z)] {
        let call = queue.submit(|h| {
            h.arg(0, x.read()).arg(1, y.read()).arg(2, z.write());
            h.dispatch_items(kernel, [N as u32, 1, 1]);
        });
        call.expect("a submission");
    }
    fusion.keep_unrun(&FusionProperties::default()).expect("a list")
}

fn host(x: u32, y: u32) -> u32 {
    (x + y).wrapping_mul(3) ^ y
}

/// What a buffer holds when wgpu reads it.
fn read(device: &Device, from: &wgpu::Buffer) -> Vec<u32> {
    let to = buffer(device, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
    let mut encoder = device.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(from, 0, &to, 0, (N * 4) as u64);
    device.queue().submit([encoder.finish()]);
    to.map_async(wgpu::MapMode::Read, .., |done| done.expect("a mapping"));
    device.device().poll(wgpu::PollType::wait_indefinitely()).expect("the device");
    let bytes = to.get_mapped_range(..).expect("a mapping").to_vec();
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

fn write(device: &Device, to: &wgpu::Buffer, value: impl Fn(u32) -> u32) {
    let bytes: Vec<u8> = (0..N as u32).flat_map(|i| value(i).to_le_bytes()).collect();
    device.queue().write_buffer(to, 0, &bytes);
}

/// A pass of wgpu's own.
fn pass(device: &Device, value: &str, [x, y, z]: [&wgpu::Buffer; 3]) -> wgpu::CommandBuffer {
    let source = wgpu::ShaderSource::Wgsl(kernel(value).into());
    let module = device.device().create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
    let pipeline = device.device().create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let entries: Vec<_> = (0..)
        .zip([x, y, z])
        .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
        .collect();
    let group = device.device().create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    });
    let mut encoder = device.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups((N as u32).div_ceil(64), 1, 1);
    }
    encoder.finish()
}

#[test]
fn a_list_runs_between_passes_of_wgpus_own() {
    let Some(device) = open() else { return };
    let [x, y, z, end] = [0; 4].map(|_| buffer(&device, USAGE));
    let [fx, fy, fz] = [&x, &y, &z].map(|one| import(&device, one).expect("an import"));
    let list = list(&device, &fx, &fy, &fz);
    for round in 0..20 {
        write(&device, &y, |i| i * 7 + round);
        // x = y * y before, end = z + x after.
        let before = pass(&device, "x[i] * y[i]", [&y, &y, &x]);
        let fused = device.record(&list).expect("a recording");
        assert_eq!((fused.dispatches, &fused.outcome), (1, &Outcome::Fused));
        assert!(fused.report.is_some());
        let after = pass(&device, "x[i] + y[i]", [&z, &x, &end]);
        device.queue().submit([before, fused.commands, after]);
        let found = read(&device, &end);
        for (i, found) in (0..).zip(found) {
            let y = i * 7 + round;
            let x = y.wrapping_mul(y);
            assert_eq!(found, (x.wrapping_add(y).wrapping_mul(3) ^ y).wrapping_add(x), "element {i}");
        }
    }
}

/// wgpu clears what it has not seen written when it sees a first use, and sees nothing of the list.
#[test]
fn results_in_a_new_buffer_stay() {
    let Some(device) = open() else { return };
    let [x, y, z] = [0; 3].map(|_| buffer(&device, USAGE));
    write(&device, &x, |i| i);
    let [fx, fy, fz] = [&x, &y, &z].map(|one| import(&device, one).expect("an import"));
    let fused = device.record(&list(&device, &fx, &fy, &fz)).expect("a recording");
    device.queue().submit([fused.commands]);
    // No one wrote `y`: it is zeros.
    let right: Vec<u32> = (0..N as u32).map(|x| host(x, 0)).collect();
    assert_eq!(read(&device, &z), right);
}

#[test]
fn other_buffers_take_the_place_of_the_first_and_plan_nothing() {
    let Some(device) = open() else { return };
    let buffers = [0; 4].map(|_| [0; 3].map(|_| buffer(&device, USAGE)));
    let imports =
        buffers.each_ref().map(|set| set.each_ref().map(|one| import(&device, one).expect("an import")));
    let [x, y, z] = &imports[0];
    let list = list(&device, x, y, z);
    let mut all = vec![device.record(&list).expect("a recording").commands];
    let built = device.context().stats().jit_builds;
    for [a, b, c] in &imports[1..] {
        let other = list.rebind().buffer(x, a).buffer(y, b).buffer(z, c).finish().expect("a list");
        all.push(device.record(&other).expect("a recording").commands);
    }
    assert_eq!(device.context().stats().jit_builds, built);
    for (set, [x, y, _]) in (1..).zip(&buffers) {
        write(&device, x, |i| i * set);
        write(&device, y, |i| i + set);
    }
    device.queue().submit(all);
    for (set, [_, _, z]) in (1..).zip(&buffers) {
        let right: Vec<u32> = (0..N as u32).map(|i| host(i * set, i + set)).collect();
        assert_eq!(read(&device, z), right, "set {set}");
    }
}

#[test]
fn buffers_of_both_kinds_are_arguments_and_uploads_are_waited_for() {
    let Some(device) = open() else { return };
    let z = buffer(&device, USAGE);
    let x = device.context().buffer_from(&(0..N as u32).collect::<Vec<u32>>()).expect("a buffer");
    let y = device.context().buffer_from(&vec![5u32; N]).expect("a buffer");
    let fz = import(&device, &z).expect("an import");
    let fused = device.record(&list(&device, &x, &y, &fz)).expect("a recording");
    device.queue().submit([fused.commands]);
    let right: Vec<u32> = (0..N as u32).map(|x| host(x, 5)).collect();
    assert_eq!(read(&device, &z), right);
    assert_eq!(fz.download().expect("contents"), right);
}

#[test]
fn what_is_left_out_is_said() {
    let Some(device) = open() else { return };
    let odd = wgpu::BufferDescriptor { label: None, size: 4002, usage: USAGE, mapped_at_creation: false };
    let error = import(&device, &device.device().create_buffer(&odd)).expect_err("no whole words");
    assert!(error.to_string().contains("4002 bytes"), "{error}");
    let plain = buffer(&device, wgpu::BufferUsages::STORAGE);
    let error = import(&device, &plain).expect_err("it cannot be copied");
    assert!(error.to_string().contains("TRANSFER_SRC"), "{error}");
}

/// The context keeps the device, buffers of this crate keep those of wgpu's, and commands that never run keep nothing.
#[test]
fn handles_go_in_any_order() {
    let Some(device) = open() else { return };
    let [x, y, z] = [0; 3].map(|_| buffer(&device, USAGE));
    let [fx, fy, fz] = [&x, &y, &z].map(|one| import(&device, one).expect("an import"));
    let list = list(&device, &fx, &fy, &fz);
    drop((x, y, z));
    let (first, second) = (device.record(&list), device.record(&list));
    device.queue().submit([first.expect("a recording").commands]);
    drop(second);
    let context = device.context().clone();
    drop(device);
    drop((fx, fy, list));
    context.wait().expect("nothing is pending");
    drop(context);
    drop(fz);
}
