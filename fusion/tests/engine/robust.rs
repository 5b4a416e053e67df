//! Robust buffer access: what lies outside of a range reads as zeros and is not written, fused as unfused.

use std::sync::Arc;

use crate::support::Rig;
use vkfuse::vulkano::{
    VulkanLibrary,
    device::{Device, DeviceCreateInfo, DeviceExtensions, DeviceFeatures, QueueCreateInfo, QueueFlags},
    instance::{Instance, InstanceCreateInfo},
};
use vkfuse::{
    Accessor, Buffer, CacheOptions, Context, ContextOptions, Event, FusionProperties, FusionWrapper, Kernel,
    Outcome, Promote, QueueOptions, Reason,
};

const N: u32 = 256;

fn robust() -> Option<Rig> {
    let options = ContextOptions::from_env().validation_layer(true).robust_buffer_access(true);
    Rig::with(options.cache(CacheOptions::default().no_disk()))
}

fn kernel(context: &Context, body: &str) -> Kernel {
    let text = format!(
        "@group(0) @binding(0) var<storage, read> x: array<u32>;\n\
         @group(0) @binding(1) var<storage, read_write> z: array<u32>;\n\
         @compute @workgroup_size(64)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n\
         let i = id.x;\n{body}\n}}\n"
    );
    context.kernel_from_wgsl("kernel", &text).expect("a kernel")
}

fn numbers(context: &Context, first: u32) -> Buffer<u32> {
    let buffer = context.buffer::<u32>(N as usize).unwrap();
    buffer.upload(&(first..first + N).collect::<Vec<_>>()).unwrap();
    buffer
}

/// `steps` on `N` items each, in fusion mode.
fn run(rig: &Rig, steps: &[(&Kernel, Accessor<'_>, Accessor<'_>)]) -> Event {
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    for (kernel, from, to) in steps {
        rig.queue
            .submit(|h| {
                h.arg(0, from.clone()).arg(1, to.clone()).dispatch_items(kernel, [N, 1, 1]);
            })
            .unwrap();
    }
    let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
    event.wait().unwrap();
    event
}

/// Elements of a range that items beyond it are to write, and to read.
#[test]
fn elements_outside_are_zero_and_not_written() {
    let Some(rig) = robust() else { return };
    let more = kernel(&rig.context, "z[i] = x[i] + 1u;");
    for (len, promote) in [
        (250, Promote::None),
        (250, Promote::Auto),
        (64, Promote::Private),
        (256, Promote::Auto),
        (1, Promote::None),
    ] {
        let (x, t, z) =
            (numbers(&rig.context, 1000), numbers(&rig.context, 5000), numbers(&rig.context, 9000));
        t.set_promotion(promote);
        let event = run(
            &rig,
            &[(&more, x.read(), t.write().range(0, len)), (&more, t.read().range(0, len), z.write())],
        );
        // Drivers hand on what is stored outside, so these are two dispatches.
        assert_eq!(matches!(event.outcome(), Outcome::Fused), len == 256, "{:?}", event.outcome());
        let expected: Vec<u32> = (0..N).map(|i| if i < len as u32 { 1002 + i } else { 1 }).collect();
        assert_eq!(z.download().unwrap(), expected, "{len} {promote:?}");
        let report = event.report().unwrap();
        let leaves = report.plan.splits.iter().any(|one| matches!(one.reason, Reason::MayLeaveRange { .. }));
        assert_eq!(leaves, len < 256, "{report:#?}");
        if promote == Promote::None {
            // What lies behind the range stays as it was.
            let behind: Vec<u32> = (0..N).map(|i| if i < len as u32 { 1001 + i } else { 5000 + i }).collect();
            assert_eq!(t.download().unwrap(), behind);
        }
    }
    rig.assert_no_validation_messages();
}

/// Sums over tiles that reach past the end, as libraries for matrices have them.
#[test]
fn tiles_past_the_end_add_zeros() {
    let Some(rig) = robust() else { return };
    let more = kernel(&rig.context, "z[i] = x[i] + 1u;");
    let double = kernel(&rig.context, "if (i < arrayLength(&x)) { z[i] = x[i] * 2u; }");
    let tiles = kernel(
        &rig.context,
        "var sum = 0u;\nfor (var k = 0u; k < 24u; k++) { sum += x[i / 8u * 8u + k]; }\nz[i] = sum;",
    );
    for len in [256_u32, 250, 201, 8] {
        let len = len as usize;
        let (x, t, z) = (numbers(&rig.context, 3), numbers(&rig.context, 500), numbers(&rig.context, 0));
        run(
            &rig,
            &[(&double, x.read().range(0, len), t.write()), (&tiles, t.read().range(0, len), z.write())],
        );
        let held = |at: u32| if (at as usize) < len { 2 * (3 + at) } else { 0 };
        let expected: Vec<u32> = (0..N).map(|i| (0..24).map(|k| held(i / 8 * 8 + k)).sum()).collect();
        assert_eq!(z.download().unwrap(), expected, "{len}");

        // What no one writes is read from outside in one dispatch with what follows.
        let (t, z) = (numbers(&rig.context, 0), numbers(&rig.context, 0));
        t.set_promotion(Promote::Private);
        let event = run(&rig, &[(&tiles, x.read().range(0, len), t.write()), (&more, t.read(), z.write())]);
        assert_eq!(event.outcome(), Outcome::Fused, "{:#?}", event.report());
        let held = |at: u32| if (at as usize) < len { 3 + at } else { 0 };
        let expected: Vec<u32> =
            (0..N).map(|i| 1 + (0..24).map(|k| held(i / 8 * 8 + k)).sum::<u32>()).collect();
        assert_eq!(z.download().unwrap(), expected, "{len}");
    }
    rig.assert_no_validation_messages();
}

/// A mirror image of what another kernel stores is recomputed only where all of it is inside.
#[test]
fn what_is_outside_is_not_worked_out_again() {
    let Some(rig) = robust() else { return };
    let (more, mirror) =
        (kernel(&rig.context, "z[i] = x[i] + 1u;"), kernel(&rig.context, "z[i] = x[255u - i];"));
    for (stored, loaded) in [(256, 256), (256, 200), (200, 256), (131, 130), (1, 256)] {
        let (x, t, z) = (numbers(&rig.context, 10), numbers(&rig.context, 7000), numbers(&rig.context, 0));
        let event = run(
            &rig,
            &[(&more, x.read(), t.write().range(0, stored)), (&mirror, t.read().range(0, loaded), z.write())],
        );
        let whole = (stored, loaded) == (256, 256);
        assert_eq!(matches!(event.outcome(), Outcome::Fused), whole, "{stored} {loaded}");
        let held = |at: u32| match at as usize {
            at if at >= loaded => 0,
            at if at < stored => 11 + at as u32,
            at => 7000 + at as u32,
        };
        let expected: Vec<u32> = (0..N).map(|i| held(255 - i)).collect();
        assert_eq!(z.download().unwrap(), expected, "{stored} {loaded}");
    }
    rig.assert_no_validation_messages();
}

/// Without the option what is outside is undefined, and a promotion rests on that.
#[test]
fn the_option_is_what_keeps_elements_in_memory() {
    let Some(rig) = Rig::open() else { return };
    let more = kernel(&rig.context, "if (i < 250u) { z[i] = x[i] + 1u; }");
    let (x, t, z) = (numbers(&rig.context, 0), numbers(&rig.context, 0), numbers(&rig.context, 9000));
    t.set_promotion(Promote::Private);
    let steps = [(&more, x.read(), t.write().range(0, 250)), (&more, t.read().range(0, 250), z.write())];
    let event = run(&rig, &steps);
    assert!(
        event.report().unwrap().plan.buffers.iter().any(|one| one.buffer == t.id() && one.reason.is_none())
    );
    // And with it, where the guard shows that all stays inside.
    let Some(rig) = robust() else { return };
    let more = kernel(&rig.context, "if (i < 250u) { z[i] = x[i] + 1u; }");
    let (x, t, z) = (numbers(&rig.context, 0), numbers(&rig.context, 0), numbers(&rig.context, 9000));
    t.set_promotion(Promote::Private);
    let event =
        run(&rig, &[(&more, x.read(), t.write().range(0, 250)), (&more, t.read().range(0, 250), z.write())]);
    let report = event.report().unwrap();
    assert!(
        report.plan.buffers.iter().any(|one| one.buffer == t.id() && one.reason.is_none()),
        "{report:#?}"
    );
    let expected: Vec<u32> = (0..N).map(|i| if i < 250 { i + 2 } else { 9000 + i }).collect();
    assert_eq!(z.download().unwrap(), expected);
}

/// Whether the feature is on follows from a vulkano device itself, whatever the program says.
#[test]
fn a_device_of_the_programs_says_it_itself() {
    if Rig::open().is_none() {
        return;
    }
    for (has_feature, said) in [(true, false), (true, true), (false, true), (false, false)] {
        let library = VulkanLibrary::new().unwrap();
        let instance = Instance::new(library, InstanceCreateInfo::default()).unwrap();
        let physical = instance.enumerate_physical_devices().unwrap().next().unwrap();
        let wanted = Context::required_features();
        let enabled_features = DeviceFeatures {
            robust_buffer_access: has_feature,
            robust_buffer_access2: has_feature,
            ..wanted
        };
        let enabled_extensions =
            DeviceExtensions { ext_robustness2: has_feature, ..DeviceExtensions::empty() };
        let family = physical
            .queue_family_properties()
            .iter()
            .position(|family| family.queue_flags.intersects(QueueFlags::COMPUTE))
            .unwrap();
        let info = DeviceCreateInfo {
            queue_create_infos: vec![QueueCreateInfo {
                queue_family_index: family as u32,
                ..Default::default()
            }],
            enabled_features,
            enabled_extensions,
            ..Default::default()
        };
        let (device, queues) = Device::new(physical, info).unwrap();
        let queues: Vec<_> = queues.collect();
        let options = ContextOptions::new().cache(CacheOptions::off()).robust_buffer_access(said);
        let context = Context::from_vulkano(Arc::clone(&device), queues, options).unwrap();
        let queue = context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
        let more = kernel(&context, "if (i < 256u) { z[i] = x[i] + 1u; }");
        let (x, t, z) = (numbers(&context, 1), numbers(&context, 0), numbers(&context, 0));
        t.set_promotion(Promote::Private);
        let fusion = FusionWrapper::new(&queue).unwrap();
        fusion.start_fusion().unwrap();
        // The range is as long as what is written in the one case, and shorter in the other.
        let len = if has_feature { 250 } else { 256 };
        for (from, to) in [(x.read(), t.write().range(0, len)), (t.read().range(0, len), z.write())] {
            queue
                .submit(|h| {
                    h.arg(0, from.clone()).arg(1, to.clone()).dispatch_items(&more, [N, 1, 1]);
                })
                .unwrap();
        }
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        event.wait().unwrap();
        let report = event.report().unwrap();
        let splits = &report.plan.splits;
        let leaves = splits.iter().any(|one| matches!(one.reason, Reason::MayLeaveRange { .. }));
        assert_eq!(leaves, has_feature, "{said}: {splits:?}");
        let expected: Vec<u32> = (0..N).map(|i| if (i as usize) < len { i + 3 } else { 1 }).collect();
        assert_eq!(z.download().unwrap(), expected);
    }
}
