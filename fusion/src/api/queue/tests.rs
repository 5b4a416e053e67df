//! What becomes of everybody when the device is lost; and the very commands that are submitted.

use std::time::Duration;

use crate::{
    Buffer, CacheOptions, Context, ContextOptions, Error, Event, FusionProperties, FusionWrapper, Kernel,
    Outcome, Queue, QueueOptions,
};

const N: usize = 100;

struct Rig {
    context: Context,
    queue: Queue,
    kernel: Kernel,
    from: Buffer<i32>,
    to: Buffer<i32>,
}

/// A context with validation; `None` on a machine without a device, unless one is required.
pub(crate) fn context(cache: CacheOptions) -> Option<Context> {
    let options = ContextOptions::from_env().validation_layer(true).cache(cache);
    let is_required = crate::options::environment::variable("VKFUSE_REQUIRE_DEVICE").is_some();
    Context::with_options(options)
        .inspect_err(|error| {
            assert!(!is_required, "no device: {error}");
            eprintln!("SKIPPED: {error}");
        })
        .ok()
}

fn rig() -> Option<Rig> {
    let context = context(CacheOptions::off())?;
    let queue = context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let kernel = context.load_spirv(concat!(env!("CARGO_MANIFEST_DIR"), "/../shaders/pair/scale.spv"));
    let (from, to) = (context.buffer_from(&[3; N]).unwrap(), context.buffer(N).unwrap());
    Some(Rig { queue, kernel: kernel.unwrap(), from, to, context })
}

impl Rig {
    fn submit(&self) -> Result<Event, Error> {
        self.queue.submit(|h| {
            h.arg(0, self.from.read()).arg(1, self.to.write()).push(&(N as u32)).push(&2i32);
            h.dispatch_items(&self.kernel, [N as u32, 1, 1]);
        })
    }
}

fn assert_lost<T>(result: Result<T, Error>) {
    match result {
        Ok(_) => panic!("the device is lost"),
        Err(error) => assert!(error.is_device_lost(), "{error}"),
    }
}

#[test]
fn a_lost_device_fails_everybody_and_hangs_nobody() {
    let Some(rig) = rig() else { return };
    let wrapper = FusionWrapper::new(&rig.queue).unwrap();
    wrapper.start_fusion().unwrap();
    let listed = rig.submit().unwrap();
    rig.context.inner.gpu.inject_loss();
    assert_lost(listed.wait());
    assert_lost(listed.wait_timeout(Duration::from_millis(1)));
    assert!(listed.is_complete());
    assert_eq!(listed.outcome(), Outcome::Failed);
    assert!(!rig.queue.is_in_fusion_mode());
    assert_lost(wrapper.complete_fusion(&FusionProperties::default()).unwrap().wait());
    assert_lost(rig.submit());
    assert_lost(rig.from.download());
    assert_lost(rig.from.upload(&[1; N]));
    assert_lost(rig.queue.fill(rig.from.write(), 1i32));
    // What the list should have written is not passed off as its result.
    assert!(rig.to.download().is_err());
}

#[test]
fn a_loss_while_work_is_pending_reaches_the_waiters() {
    let Some(rig) = rig() else { return };
    let event = rig.submit().unwrap();
    let waiter = std::thread::spawn(move || event.wait_timeout(Duration::from_secs(30)));
    rig.context.inner.gpu.inject_loss();
    // Either it was complete before the loss, or the loss is reported; no one waits for ever.
    match waiter.join().unwrap() {
        Ok(done) => assert!(done),
        Err(error) => assert!(error.is_device_lost()),
    }
}

#[test]
fn commands_come_in_order_with_few_barriers() {
    let Some(rig) = rig() else { return };
    let other = rig.context.buffer::<i32>(N).unwrap();
    rig.submit().unwrap();
    rig.context.wait().unwrap();
    let gpu = &rig.context.inner.gpu;
    gpu.set_recording(true);
    rig.submit().unwrap();
    rig.queue.copy(rig.from.read(), other.write()).unwrap();
    rig.submit().unwrap();
    rig.queue.copy(rig.to.read(), other.write()).unwrap();
    let recorded: Vec<String> = gpu.take_recording().into_iter().flat_map(|(_, lines)| lines).collect();
    let kinds: Vec<&str> = recorded.iter().filter_map(|line| line.split(' ').next()).collect();
    // The first copy only shares what both read. What comes later depends on whether the earlier work was seen
    // complete by then, so at most these barriers are there.
    let barriers = kinds.iter().filter(|kind| **kind == "barrier").count();
    let others: Vec<&str> = kinds.into_iter().filter(|kind| *kind != "barrier").collect();
    assert_eq!(others, ["dispatch", "copy", "dispatch", "copy"], "{recorded:?}");
    assert!(barriers <= 2, "{recorded:?}");
}
