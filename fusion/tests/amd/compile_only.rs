//! A context that only compiles: what it does, and what it refuses.

use std::path::Path;

use vkfuse::error::DeviceError;
use vkfuse::{
    CacheOptions, Context, ContextOptions, Error, FusionProperties, FusionWrapper, Kernel, Outcome, Queue,
    QueueOptions,
};

fn open() -> Option<Context> {
    let cache = CacheOptions::default().no_disk();
    Context::with_options(ContextOptions::from_env().compile_only(true).cache(cache)).ok()
}

fn kernels(context: &Context) -> [Kernel; 2] {
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders/chain");
    ["mul.spv", "sub.spv"].map(|name| context.load_spirv(shaders.join(name)).expect("a kernel"))
}

/// Submits two kernels over scratch buffers.
fn submit(context: &Context, queue: &Queue) -> Result<(), Error> {
    let buffers: Vec<_> =
        (0..5).map(|_| context.scratch::<f32>(1024).expect("no memory is needed")).collect();
    let buffers: Vec<_> = buffers.into_iter().map(|buffer| buffer.no_promotion()).collect();
    let [mul, sub] = kernels(context);
    for (kernel, [a, b, out]) in [(&mul, [0, 1, 2]), (&sub, [2, 3, 4])] {
        queue.submit(|h| {
            h.arg(0, buffers[a].read()).arg(1, buffers[b].read()).arg(2, buffers[out].write());
            h.push(&1024_u32).dispatch_items(kernel, [1024, 1, 1]);
        })?;
    }
    Ok(())
}

/// Whether it fails because the device compiles only, as such or as the cause of another error.
fn is_refused<T: std::fmt::Debug>(result: Result<T, Error>) {
    let error = result.expect_err("nothing runs");
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(one) = cause {
        if one.to_string().contains("opened to compile only") {
            return;
        }
        cause = one.source();
    }
    panic!("{error:?}");
}

#[test]
fn what_would_run_or_takes_memory_is_an_error() {
    let Some(context) = open() else { return };
    assert!(context.compiles_only());
    let refused = context.buffer::<f32>(16).expect_err("there is no memory");
    assert!(matches!(refused, Error::Device(DeviceError::CompileOnly { .. })), "{refused:?}");
    is_refused(context.buffer_from(&[1.0_f32]));
    is_refused(context.scratch::<f32>(16).expect("no memory is needed").download());
    is_refused(context.scratch::<f32>(16).expect("no memory is needed").upload(&[0.0; 16]));
    let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue");
    is_refused(submit(&context, &queue));
    let fusion = FusionWrapper::new(&queue).expect("a queue that can fuse");
    fusion.start_fusion().expect("fusion mode");
    submit(&context, &queue).expect("a list is recorded");
    is_refused(fusion.complete_fusion(&FusionProperties::default()).and_then(|event| event.wait()));
}

#[test]
fn a_list_is_planned_and_built() {
    let Some(context) = open() else { return };
    let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue");
    let fusion = FusionWrapper::new(&queue).expect("a queue that can fuse");
    fusion.start_fusion().expect("fusion mode");
    submit(&context, &queue).expect("a list is recorded");
    let list = fusion.keep_unrun(&FusionProperties::default()).expect("a list");
    let planned = list.plan().expect("a plan");
    assert_eq!(planned.report.outcome, Outcome::Fused);
    assert_eq!((planned.report.steps.len(), planned.alone.len()), (1, 2));
    assert_eq!(context.stats().driver_compiles, 3);
    is_refused(list.run().and_then(|event| event.wait()));
}
