//! Working over a device and buffers that the user made.

use vulkano::{
    buffer::{Buffer, BufferCreateInfo, BufferUsage, Subbuffer},
    device::{Device, DeviceCreateInfo, DeviceFeatures, Queue, QueueCreateInfo, QueueFlags},
    memory::allocator::{AllocationCreateInfo, MemoryTypeFilter, StandardMemoryAllocator},
};

use super::*;
use crate::vk::{Lack, UserBuffer, instance};

/// A device made by hand, and its first compute queue.
fn user_device(enabled_features: DeviceFeatures) -> Option<(Arc<Device>, Vec<Arc<Queue>>)> {
    // Where there is no device the fixture says so.
    drop(open(false)?);
    let (instance, _) = instance::shared(false).unwrap();
    let physical = instance.enumerate_physical_devices().unwrap().next().unwrap();
    let family = physical
        .queue_family_properties()
        .iter()
        .position(|family| family.queue_flags.intersects(QueueFlags::COMPUTE))
        .unwrap();
    let info = DeviceCreateInfo {
        queue_create_infos: vec![QueueCreateInfo {
            queue_family_index: family as u32,
            ..QueueCreateInfo::default()
        }],
        enabled_features,
        ..DeviceCreateInfo::default()
    };
    let (device, queues) = Device::new(physical, info).unwrap();
    Some((device, queues.collect()))
}

fn user_buffer(device: &Arc<Device>, usage: BufferUsage, words: &[u32]) -> Subbuffer<[u32]> {
    let allocator = Arc::new(StandardMemoryAllocator::new_default(device.clone()));
    Buffer::from_iter(
        allocator,
        BufferCreateInfo { usage, ..BufferCreateInfo::default() },
        AllocationCreateInfo {
            memory_type_filter: MemoryTypeFilter::PREFER_DEVICE | MemoryTypeFilter::HOST_RANDOM_ACCESS,
            ..AllocationCreateInfo::default()
        },
        words.iter().copied(),
    )
    .unwrap()
}

const USAGE: BufferUsage =
    BufferUsage::STORAGE_BUFFER.union(BufferUsage::TRANSFER_SRC).union(BufferUsage::TRANSFER_DST);

#[test]
fn a_users_device_queue_and_buffer_work() {
    let Some((device, queues)) = user_device(Gpu::required_features()) else {
        return;
    };
    let given = user_buffer(&device, USAGE, &(0..256).collect::<Vec<_>>());
    // The same queue twice counts once.
    let gpu = Gpu::over(device.clone(), vec![queues[0].clone(), queues[0].clone()]).unwrap();
    assert_eq!(gpu.queues(), 1);
    assert!(!gpu.caps().supports(10), "Float64 was not switched on");
    let has_it = gpu.device().physical_device().supported_features().shader_float64;
    let needs = "feature `shaderFloat64`";
    let lack = if has_it { Lack::Enabled(needs) } else { Lack::Device(Some(needs)) };
    assert_eq!(gpu.caps().requirements.lacks_capability(10), Some(lack));
    assert_eq!(gpu.caps().requirements.lacks_capability(1), None);
    // What no device has.
    assert_eq!(gpu.caps().requirements.lacks_capability(6), Some(Lack::Device(None)));

    let part = given.clone().slice(64..192).into_bytes();
    // SAFETY: nothing else uses the buffer before the last assertion, which is after the wait.
    let vouched = unsafe { UserBuffer::new(part) };
    assert_eq!(vouched.size(), 512);
    let memory = gpu.import(&vouched).unwrap();
    let again = gpu.import(&vouched).unwrap();
    assert_ne!(memory.id(), again.id());
    let place = memory.place();
    assert_eq!(place, again.place());
    assert_eq!((place.range.start - place.buffer.start, place.range.end - place.range.start), (256, 512));

    let pipeline = add_pipeline(&gpu);
    let dst = zeroed(&gpu, 128);
    let point = gpu
        .queue(0)
        .unwrap()
        .submit(&[Command::Dispatch(add(&pipeline, &memory, &dst, 1000))], &[], false)
        .unwrap()
        .point;
    assert_eq!(read(&gpu, &dst, point), (1064..1192).collect::<Vec<_>>());
    let point = gpu
        .queue(0)
        .unwrap()
        .submit(&[Command::Dispatch(add(&pipeline, &dst, &memory, 1))], &[point], false)
        .unwrap()
        .point;
    gpu.wait(point, None).unwrap();
    let seen = given.read().unwrap();
    assert_eq!(seen[63], 63);
    assert_eq!(seen[64], 1065);
    assert_eq!(seen[191], 1192);
    assert_eq!(seen[192], 192);
}

#[test]
fn copies_between_aliases_of_one_buffer_are_seen_to_overlap() {
    let Some((device, queues)) = user_device(Gpu::required_features()) else {
        return;
    };
    let given = user_buffer(&device, USAGE, &[0; 64]);
    let gpu = Gpu::over(device.clone(), queues).unwrap();
    let import = |range| {
        // SAFETY: nothing else uses the buffer in this test.
        let vouched = unsafe { UserBuffer::new(given.clone().slice(range).into_bytes()) };
        gpu.import(&vouched).unwrap()
    };
    let (left, right) = (import(0..32), import(16..48));
    let copy = |src_offset| Command::Copy {
        src: left.clone(),
        src_offset,
        dst: right.clone(),
        dst_offset: 0,
        len: 64,
    };
    let error = gpu.queue(0).unwrap().submit(&[copy(64)], &[], false).unwrap_err();
    assert!(matches!(error, DeviceError::OverlappingCopy { .. }));
    let point = gpu.queue(0).unwrap().submit(&[copy(0)], &[], false).unwrap().point;
    gpu.wait(point, None).unwrap();
}

#[test]
fn a_missing_feature_is_named() {
    let features = DeviceFeatures { synchronization2: false, ..Gpu::required_features() };
    let Some((device, queues)) = user_device(features) else {
        return;
    };
    let error = Gpu::over(device.clone(), queues).unwrap_err();
    assert!(matches!(error, DeviceError::MissingFeature { feature: "synchronization2", .. }));
}

#[test]
fn queues_and_buffers_of_another_device_are_refused() {
    let Some((one, queues)) = user_device(Gpu::required_features()) else {
        return;
    };
    let Some((two, _others)) = user_device(Gpu::required_features()) else {
        return;
    };
    let error = Gpu::over(two.clone(), queues.clone()).unwrap_err();
    assert_eq!(error, DeviceError::ForeignQueue { index: 0 });
    let error = Gpu::over(one.clone(), Vec::new()).unwrap_err();
    assert!(matches!(error, DeviceError::NoComputeQueue { .. }));

    let gpu = Gpu::over(one.clone(), queues).unwrap();
    let foreign = user_buffer(&two, USAGE, &[0; 4]).into_bytes();
    // SAFETY: it is never used.
    let vouched = unsafe { UserBuffer::new(foreign) };
    assert_eq!(gpu.import(&vouched).unwrap_err(), DeviceError::Foreign { what: "imported buffer" });
    let poor = user_buffer(&one, BufferUsage::STORAGE_BUFFER, &[0; 4]).into_bytes();
    // SAFETY: it is never used.
    let vouched = unsafe { UserBuffer::new(poor) };
    assert_eq!(gpu.import(&vouched).unwrap_err(), DeviceError::MissingUsage { usage: "TRANSFER_SRC" });
}
