//! Scenes with what the layer leaves alone: images, groups of devices, and more command buffers than it keeps.

use crate::rig::{Rig, Way};
use crate::scenes::{Chain, NONE, PRIMARY, STEPS, clean};
use ash::vk;

const SIDE: u32 = 16;

/// An image is cleared, and copied to a buffer, between kernels.
pub(crate) fn images(rig: &Rig) {
    let (chain, out) = (Chain::new(rig, 512), rig.buffer((SIDE * SIDE) as usize));
    let (descriptors, pool) = (rig.descriptors(4), rig.pool());
    let sets = chain.sets(rig, descriptors, Way::Sets);
    let device = &rig.device;
    let usage = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    let extent = vk::Extent3D { width: SIDE, height: SIDE, depth: 1 };
    let info =
        vk::ImageCreateInfo::default().image_type(vk::ImageType::TYPE_2D).format(vk::Format::R32_SFLOAT);
    let info =
        info.extent(extent).mip_levels(1).array_layers(1).samples(vk::SampleCountFlags::TYPE_1).usage(usage);
    let image = unsafe { device.create_image(&info, None).expect("an image") };
    let needs = unsafe { device.get_image_memory_requirements(image) };
    let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size);
    let info = info.memory_type_index(needs.memory_type_bits.trailing_zeros());
    let memory = unsafe { device.allocate_memory(&info, None).expect("memory") };
    unsafe { device.bind_image_memory(image, memory, 0).expect("it is bound") };
    let aspect = vk::ImageAspectFlags::COLOR;
    let whole = vk::ImageSubresourceRange {
        aspect_mask: aspect,
        level_count: 1,
        layer_count: 1,
        ..Default::default()
    };
    let commands = rig.commands(pool, PRIMARY);
    for seed in 0..3 {
        unsafe { device.reset_command_pool(pool, vk::CommandPoolResetFlags::empty()).expect("it is reset") };
        rig.begin(commands, NONE);
        chain.record(rig, commands, &sets, Way::Sets);
        let (to, from) = (vk::ImageLayout::TRANSFER_DST_OPTIMAL, vk::ImageLayout::TRANSFER_SRC_OPTIMAL);
        let change = |old, new| {
            let write = vk::AccessFlags::TRANSFER_WRITE;
            let one = vk::ImageMemoryBarrier::default().image(image).subresource_range(whole);
            let one = one.src_access_mask(write).dst_access_mask(write | vk::AccessFlags::TRANSFER_READ);
            let barrier = [one.old_layout(old).new_layout(new)];
            let (stage, none) = (vk::PipelineStageFlags::TRANSFER, vk::DependencyFlags::empty());
            unsafe { device.cmd_pipeline_barrier(commands, stage, stage, none, &[], &[], &barrier) };
        };
        change(vk::ImageLayout::UNDEFINED, to);
        let color = vk::ClearColorValue { float32: [seed as f32 + 0.5; 4] };
        unsafe { device.cmd_clear_color_image(commands, image, to, &color, &[whole]) };
        change(to, from);
        let layers = vk::ImageSubresourceLayers { aspect_mask: aspect, layer_count: 1, ..Default::default() };
        let region =
            [vk::BufferImageCopy { image_subresource: layers, image_extent: extent, ..Default::default() }];
        unsafe { device.cmd_copy_image_to_buffer(commands, image, from, out.buffer, &region) };
        chain.record(rig, commands, &sets, Way::Sets);
        rig.end(commands);
        chain.fill(seed);
        rig.run(&[commands]);
        chain.check(seed);
        assert_eq!(out.read(), vec![seed as f32 + 0.5; out.len]);
    }
    unsafe { device.destroy_image(image, None) };
    unsafe { device.free_memory(memory, None) };
    rig.free(out);
    clean(rig, &[chain], descriptors, pool);
}

/// What is submitted says on which devices of a group it runs.
pub(crate) fn groups(rig: &Rig) {
    let chain = Chain::new(rig, 512);
    let (descriptors, pool) = (rig.descriptors(4), rig.pool());
    let sets = chain.sets(rig, descriptors, Way::Sets);
    let commands = rig.commands(pool, PRIMARY);
    rig.begin(commands, NONE);
    chain.record(rig, commands, &sets, Way::Sets);
    rig.end(commands);
    for seed in 0..3 {
        chain.fill(seed);
        let mut group = vk::DeviceGroupSubmitInfo::default().command_buffer_device_masks(&[1]);
        let all = [commands];
        rig.submit(&[vk::SubmitInfo::default().command_buffers(&all).push_next(&mut group)], 1);
        chain.check(seed);
    }
    clean(rig, &[chain], descriptors, pool);
}

/// Whatever stands for a command buffer that may be pending more than once stays until it is recorded anew, so there is an end to it.
pub(crate) fn many(rig: &Rig) {
    let (chain, other) = (Chain::new(rig, 320), Chain::new(rig, 320));
    let (descriptors, pool) = (rig.descriptors(8), rig.pool());
    let sets = chain.sets(rig, descriptors, Way::Sets);
    let spare = other.sets(rig, descriptors, Way::Sets);
    let commands = rig.commands(pool, PRIMARY);
    rig.begin(commands, vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
    chain.record(rig, commands, &sets, Way::Sets);
    rig.end(commands);
    for seed in 0..100 {
        // Another set changes, which the layer does not tell from one of these.
        rig.update(spare[0], Way::Sets, other.of(STEPS[seed as usize % 4].1));
        chain.fill(seed);
        rig.run(&[commands]);
        chain.check(seed);
    }
    clean(rig, &[chain, other], descriptors, pool);
}
