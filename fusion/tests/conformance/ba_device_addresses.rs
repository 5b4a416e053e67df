//! Pointers in a struct by value: the row `wrapped_usm` of the conformance table.
//!
//! Its counterpart here is buffer device addresses in push constants. What memory such a kernel touches is not followed,
//! so it is fused only when that is trusted; otherwise it must run in its place in the list, and the report must say why.

use std::sync::Arc;

use crate::support::{Pair, shader};
use vkfuse::{
    CacheOptions, Context, ContextOptions, FusionProperties, FusionWrapper, Outcome, Policy, QueueOptions,
};
use vulkano::VulkanLibrary;
use vulkano::buffer::{Buffer, BufferCreateInfo, BufferUsage, Subbuffer};
use vulkano::device::{Device, DeviceCreateInfo, DeviceFeatures, Queue, QueueCreateInfo, QueueFlags};
use vulkano::instance::{Instance, InstanceCreateInfo};
use vulkano::memory::allocator::{AllocationCreateInfo, MemoryTypeFilter, StandardMemoryAllocator};

const N: u32 = 512;

/// A device of the program's own, with device addresses.
fn device() -> Option<(Arc<Device>, Arc<Queue>)> {
    let instance = Instance::new(VulkanLibrary::new().ok()?, InstanceCreateInfo::default()).ok()?;
    let features = DeviceFeatures { buffer_device_address: true, ..Context::required_features() };
    let (physical, queue_family_index) =
        instance.enumerate_physical_devices().ok()?.find_map(|physical| {
            let families = physical.queue_family_properties();
            let family =
                families.iter().position(|family| family.queue_flags.contains(QueueFlags::COMPUTE))?;
            let fits = physical.supported_features().contains(&features);
            fits.then(|| (physical.clone(), family as u32))
        })?;
    let (device, mut queues) = Device::new(
        physical,
        DeviceCreateInfo {
            queue_create_infos: vec![QueueCreateInfo { queue_family_index, ..Default::default() }],
            enabled_features: features,
            ..Default::default()
        },
    )
    .ok()?;
    Some((device, queues.next()?))
}

/// Host-visible memory that kernels reach by address.
fn addressed(allocator: &Arc<StandardMemoryAllocator>, factor: i32) -> Subbuffer<[i32]> {
    Buffer::from_iter(
        allocator.clone(),
        BufferCreateInfo {
            usage: BufferUsage::STORAGE_BUFFER | BufferUsage::SHADER_DEVICE_ADDRESS,
            ..Default::default()
        },
        AllocationCreateInfo {
            memory_type_filter: MemoryTypeFilter::HOST_RANDOM_ACCESS | MemoryTypeFilter::PREFER_HOST,
            ..Default::default()
        },
        (0..N as i32).map(|i| factor * i),
    )
    .unwrap()
}

#[test]
fn wrapped_usm() {
    let rig = rig!();
    let Some((device, queue)) = device() else {
        eprintln!("SKIPPED wrapped_usm: no device with buffer device addresses");
        return;
    };
    let allocator = Arc::new(StandardMemoryAllocator::new_default(device.clone()));
    let [x, y, z] = [2, 3, -1].map(|factor| addressed(&allocator, factor));
    let options = ContextOptions::default().cache(CacheOptions::default().no_disk());
    let context = Context::over(device, vec![queue], options).unwrap();
    let queue = context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let kernel = context.load_spirv(shader("pair/addresses")).unwrap();
    let [add, mul] = ["pair/add", "pair/mul"].map(|name| context.load_spirv(shader(name)).unwrap());
    let pair = Pair::new(N as usize);
    let buffer = |name| context.buffer_from(pair.workload.preset(name)).unwrap();
    let [in1, in2, in3, tmp, out] = [pair.in1, pair.in2, pair.in3, pair.tmp, pair.out].map(buffer);

    for policy in [Policy::Prove, Policy::Trust] {
        let before = context.stats();
        let fusion = FusionWrapper::new(&queue).unwrap();
        fusion.start_fusion().unwrap();
        queue
            .submit(|h| {
                h.arg(0, in1.read()).arg(1, in2.read()).arg(2, tmp.write());
                h.push(&N).dispatch_items(&add, [N, 1, 1]);
            })
            .unwrap();
        queue
            .submit(|h| {
                for pointer in [&x, &y, &z] {
                    h.push(&pointer.device_address().unwrap().get());
                }
                h.push(&N).dispatch_items(&kernel, [N, 1, 1]);
            })
            .unwrap();
        queue
            .submit(|h| {
                h.arg(0, tmp.read()).arg(1, in3.read()).arg(2, out.write());
                h.push(&N).dispatch_items(&mul, [N, 1, 1]);
            })
            .unwrap();
        let complete = fusion.complete_fusion(&FusionProperties::new().policy(policy)).unwrap();
        complete.wait().unwrap();

        for (i, (sum, value)) in z.write().unwrap().iter_mut().zip(out.download().unwrap()).enumerate() {
            assert_eq!(std::mem::replace(sum, -1) as usize, 5 * i, "z[{i}]");
            assert_eq!(value as usize, 20 * i * i, "out[{i}]");
        }
        let report = complete.report().unwrap();
        let trusted = policy == Policy::Trust;
        assert_eq!(complete.outcome() == Outcome::Fused, trusted);
        assert_eq!((context.stats() - before).dispatches, if trusted { 1 } else { 3 });
        let reasons = format!("{:?} {:?} {:?}", complete.outcome(), report.plan.splits, report.plan.trusted);
        assert!(reasons.to_lowercase().contains("address"), "does not say why: {reasons}");
    }
    rig.assert_no_validation_messages();
}
