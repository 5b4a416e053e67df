//! Fusion over a Vulkan device and queue that the program already has.
//!
//! The program makes its instance, device and queue with vulkano as it likes, with the features that fusion needs
//! switched on. A context over them owns nothing: the device stays the program's.
//!
//! `cargo run --example own_device`

use std::error::Error;
use std::path::Path;

use vkfuse::{Context, ContextOptions, Outcome, QueueOptions};
use vulkano::VulkanLibrary;
use vulkano::device::{Device, DeviceCreateInfo, QueueCreateInfo, QueueFlags};
use vulkano::instance::{Instance, InstanceCreateInfo};

const ELEMENTS: u32 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let instance = Instance::new(VulkanLibrary::new()?, InstanceCreateInfo::default())?;
    let features = Context::required_features();
    let (physical, family) = instance
        .enumerate_physical_devices()?
        .filter(|physical| physical.supported_features().contains(&features))
        .find_map(|physical| {
            let families = physical.queue_family_properties();
            let compute =
                families.iter().position(|family| family.queue_flags.contains(QueueFlags::COMPUTE))?;
            Some((physical.clone(), compute as u32))
        })
        .ok_or("no device has what fusion needs")?;
    let (device, queues) = Device::new(
        physical,
        DeviceCreateInfo {
            queue_create_infos: vec![QueueCreateInfo { queue_family_index: family, ..Default::default() }],
            enabled_features: features,
            ..Default::default()
        },
    )?;
    println!("my own device: {}", device.physical_device().properties().device_name);

    // From here on everything is as with a context that makes its own device.
    let context = Context::from_vulkano(device.clone(), queues.collect(), ContextOptions::default())?;
    let queue = context.queue(QueueOptions::new().enable_fusion(true))?;
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders/pair");
    let add = context.load_spirv(shaders.join("add.spv"))?;
    let mul = context.load_spirv(shaders.join("mul.spv"))?;

    let numbers: Vec<i32> = (0..ELEMENTS as i32).collect();
    let x = context.buffer_from(&numbers)?;
    let sum = context.scratch::<i32>(ELEMENTS as usize)?;
    let out = context.buffer::<i32>(ELEMENTS as usize)?;

    // The scoped form: fusion mode ends with the closure, and an early return cancels it.
    let done = queue.fuse(|queue| {
        queue.submit(|h| {
            h.arg(0, x.read()).arg(1, x.read()).arg(2, sum.write());
            h.push(&ELEMENTS).dispatch_items(&add, [ELEMENTS, 1, 1]);
        })?;
        queue.submit(|h| {
            h.arg(0, sum.read()).arg(1, x.read()).arg(2, out.write());
            h.push(&ELEMENTS).dispatch_items(&mul, [ELEMENTS, 1, 1]);
        })?;
        Ok(())
    })?;
    done.wait()?;
    if done.outcome() != Outcome::Fused {
        return Err(format!("not fused: {}", done.outcome()).into());
    }
    for (&x, value) in numbers.iter().zip(out.download()?) {
        if value != 2 * x * x {
            return Err(format!("2 * {x} * {x} came out as {value}").into());
        }
    }
    println!("two kernels fused on it, all {ELEMENTS} elements are right");
    Ok(())
}
