//! The quick start's chain on an `ash` device of the program's own: one dispatch, in a command buffer that it submits itself.
//! `cargo run --example ash_chain`
#![allow(unsafe_code)] // Handles are vouched for.

use ash::vk;
use std::{error::Error, path::Path};
use vkfuse::*;

const N: usize = 1_000_003;

fn main() -> Result<(), Box<dyn Error>> {
    let mut timeline = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
    let mut synchronization = vk::PhysicalDeviceVulkan13Features::default().synchronization2(true);
    // SAFETY: plain use of Vulkan; what is vouched for is of this device, on this thread, and goes before the device.
    unsafe {
        let (entry, api_version) = (ash::Entry::load()?, vk::API_VERSION_1_3);
        let app = vk::ApplicationInfo::default().api_version(api_version);
        let instance =
            entry.create_instance(&vk::InstanceCreateInfo::default().application_info(&app), None)?;
        let physical_device = *instance.enumerate_physical_devices()?.first().ok_or("no device")?;
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
        let create_info = &info.push_next(&mut timeline).push_next(&mut synchronization);
        let own = instance.create_device(physical_device, create_info, None)?;
        let handles = RawHandles {
            get_instance_proc_addr: entry.static_fn().get_instance_proc_addr,
            api_version,
            instance: instance.handle(),
            physical_device,
            device: own.handle(),
            create_info,
        };
        let context = Context::from_raw(&RawDevice::new(&handles).queue(0, 0), ContextOptions::from_env())?;
        let (list, [a, b, c, d], out) = chain(&context)?;

        let pool = own.create_command_pool(&vk::CommandPoolCreateInfo::default(), None)?;
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool);
        let commands = own.allocate_command_buffers(&info.command_buffer_count(1))?;
        own.begin_command_buffer(commands[0], &vk::CommandBufferBeginInfo::default())?;
        let into = RawCommandBuffer::recording(commands[0]).before(Scope::ALL);
        let recorded = list.record(&into.after(Scope::ALL))?;
        own.end_command_buffer(commands[0])?;
        let submission = [vk::SubmitInfo::default().command_buffers(&commands)];
        own.queue_submit(own.get_device_queue(0, 0), &submission, vk::Fence::null())?;
        own.device_wait_idle()?;

        let host = |i: usize| a[i] * b[i] - (a[i] - c[i]) * d[i];
        let right = out.download()?.iter().enumerate().all(|(i, x)| x.to_bits() == host(i).to_bits());
        println!("{} dispatch, {}, all right: {right}", recorded.dispatches(), recorded.outcome());
        drop((recorded, list, out, context));
        own.destroy_command_pool(pool, None);
        own.destroy_device(None);
        instance.destroy_instance(None);
        if right { Ok(()) } else { Err("wrong results".into()) }
    }
}

type Chain = (FusedList, [Vec<f32>; 4], Buffer<f32>);
fn chain(context: &Context) -> Result<Chain, vkfuse::Error> {
    let queue = context.queue(QueueOptions::new().enable_fusion(true))?;
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders/chain");
    let (mul, sub) =
        (&context.load_spirv(shaders.join("mul.spv"))?, &context.load_spirv(shaders.join("sub.spv"))?);
    let inputs = [3, 5, 7, 11].map(|k| (0..N).map(|i| (i * k % 1024) as f32 / 1024.0).collect::<Vec<f32>>());
    let [in1, in2, in3, in4] = [0, 1, 2, 3].map(|i| context.buffer_from(&inputs[i]));
    let (in1, in2, in3, in4) = (&in1?, &in2?, &in3?, &in4?);
    let (tmp1, tmp2, tmp3) = (&context.scratch(N)?, &context.scratch(N)?, &context.scratch(N)?);
    let out = context.buffer::<f32>(N)?;
    let fusion = FusionWrapper::new(&queue)?;
    fusion.start_fusion()?;
    let calls =
        [(mul, in1, in2, tmp1), (sub, in1, in3, tmp2), (mul, tmp2, in4, tmp3), (sub, tmp1, tmp3, &out)];
    for (kernel, x, y, z) in calls {
        queue.submit(|h| {
            h.arg(0, x.read()).arg(1, y.read()).arg(2, z.write());
            h.push(&(N as u32)).dispatch_items(kernel, [N as u32, 1, 1]);
        })?;
    }
    Ok((fusion.keep_unrun(&FusionProperties::default())?, inputs, out))
}
