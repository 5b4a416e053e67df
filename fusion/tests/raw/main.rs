//! Contexts over raw Vulkan handles: the program's own device, buffers, semaphores and command buffers.

// Handles can be vouched for in no other way.
#![allow(unsafe_code)]

mod again;
mod contents;
mod crash;
mod device;
mod record;
#[path = "../support/mod.rs"]
mod support;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use ash::vk;
use device::{Bytes, Made, Own, USAGE};
use vkfuse::{
    Buffer, CancelCause, Context, DeviceError, Error, Event, FusionWrapper, Kernel, Outcome, Queue,
    QueueLock, QueueOptions, RawBuffer, RawSemaphore, SubmitError, UserBuffer,
};

/// A device of the test's own.
macro_rules! own {
    () => {
        own!(Made::default())
    };
    ($made:expr) => {
        match Own::open($made) {
            Some(own) => own,
            None => return,
        }
    };
}
use own;

const N: u32 = 1000;

fn counting() -> Vec<u32> {
    (0..N).collect()
}

fn fusing(context: &Context) -> Queue {
    context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue that can fuse")
}

/// `out = (x + x) * x`, through a buffer that only lives between the two kernels.
fn chain(queue: &Queue, x: &Buffer<u32>, sum: &Buffer<u32>, out: &Buffer<u32>) -> Result<(), Error> {
    chain_of(&kernels(&queue.context())?, queue, x, sum, out)
}

/// What the chain is made of.
fn kernels(context: &Context) -> Result<[Kernel; 2], Error> {
    let [add, mul] = ["pair/add", "pair/mul"].map(|name| context.load_spirv(support::shader(name)));
    Ok([add?, mul?])
}

fn chain_of(
    [add, mul]: &[Kernel; 2],
    queue: &Queue,
    x: &Buffer<u32>,
    sum: &Buffer<u32>,
    out: &Buffer<u32>,
) -> Result<(), Error> {
    queue.submit(|h| {
        h.arg(0, x.read()).arg(1, x.read()).arg(2, sum.write());
        h.push(&N).dispatch_items(add, [N, 1, 1]);
    })?;
    queue.submit(|h| {
        h.arg(0, sum.read()).arg(1, x.read()).arg(2, out.write());
        h.push(&N).dispatch_items(mul, [N, 1, 1]);
    })?;
    Ok(())
}

fn chained(x: u32) -> u32 {
    2 * x * x
}

fn run(queue: &Queue, x: &Buffer<u32>, out: &Buffer<u32>) -> Event {
    let sum = queue.context().scratch::<u32>(N as usize).unwrap();
    let event = queue.fuse(|queue| chain(queue, x, &sum, out)).unwrap();
    assert_eq!(event.outcome(), Outcome::Fused);
    event
}

#[test]
fn nothing_of_the_programs_is_destroyed() {
    let own = own!();
    let (x, out) = (own.buffer(&counting(), USAGE), own.buffer(&[7; N as usize], USAGE));
    for _ in 0..2 {
        let context = own.context();
        let queue = fusing(&context);
        let (from, to) = (x.import(&context), out.import(&context));
        run(&queue, &from, &to).wait().unwrap();
        assert!(out.words().iter().zip(0..N).all(|(got, x)| *got == chained(x)));
        // A buffer of the context's own beside them.
        let own = context.buffer_from(&counting()).unwrap();
        run(&queue, &own, &to).wait().unwrap();
        assert_eq!(own.download().unwrap(), counting());
    }
    // The device still works, and the layer finds nothing that was left over when it goes.
    let commands = own.recorded(|commands| {
        // SAFETY: plain use of Vulkan.
        unsafe { own.device.cmd_fill_buffer(commands, out.buffer, 0, vk::WHOLE_SIZE, 3) };
    });
    own.submit(commands, &[], &[]);
    own.wait_idle();
    assert_eq!(out.words(), [3; N as usize]);
    own.close(vec![x, out], &[]);
}

/// What opening a context says is wrong.
fn refused(own: &Own, raw: &vkfuse::RawDevice) -> DeviceError {
    match own.context_on(raw) {
        Err(Error::Device(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_feature_that_the_device_was_made_without_is_named() {
    let without = [
        (Made { timeline: false, ..Made::default() }, "timeline_semaphore"),
        (Made { synchronization2: false, ..Made::default() }, "synchronization2"),
    ];
    for (made, name) in without {
        let own = own!(made);
        let raw = own.raw.clone().queue(own.family, 0);
        assert!(
            matches!(refused(&own, &raw), DeviceError::MissingFeature { feature, .. } if feature == name)
        );
        own.close(vec![], &[]);
    }
    let own = own!(Made { version: vk::API_VERSION_1_0, push_descriptors: false, ..Made::default() });
    let raw = own.raw.clone().queue(own.family, 0);
    assert!(matches!(refused(&own, &raw), DeviceError::OldVersion { .. }));
    own.close(vec![], &[]);
}

/// What kernels ask for that the device has and was made without, by the feature to enable.
#[test]
fn what_kernels_lack_of_the_device_is_named() {
    let own = own!();
    let context = own.context();
    let everything = Context::new().unwrap();
    for (name, what, enable) in [
        ("forms/double", "the SPIR-V capability Float64", "feature `shaderFloat64`"),
        ("forms/long", "the SPIR-V capability Int64", "feature `shaderInt64`"),
        ("forms/half", "the SPIR-V capability Float16", "feature `shaderFloat16`"),
        (
            "forms/clock",
            "the SPIR-V capability ShaderClockKHR",
            "feature `shaderSubgroupClock` or `shaderDeviceClock` of VK_KHR_shader_clock",
        ),
        (
            "forms/uniform_flow",
            "the execution mode SubgroupUniformControlFlowKHR",
            "feature `shaderSubgroupUniformControlFlow` of VK_KHR_shader_subgroup_uniform_control_flow",
        ),
    ] {
        // Only where the device has it: it is the one that is opened first.
        let has_it = everything.load_spirv(support::shader(name)).is_ok();
        let error = context.load_spirv(support::shader(name)).unwrap_err();
        let Error::Submit { problem: SubmitError::Requirement { what: found, enable: named, .. }, .. } =
            &error
        else {
            panic!("{name}: {error}");
        };
        assert_eq!(*named, has_it.then_some(enable), "{name}: {found}");
        assert!(**found == *what || found.starts_with("the SPIR-V capability"), "{name}: {found}");
        assert!(!has_it || format!("{error:?} {error}").contains(enable), "{error}");
    }
    drop((context, everything));
    own.close(Vec::new(), &[]);
}

#[test]
fn queues_that_cannot_be_used_are_refused() {
    let own = own!();
    assert!(matches!(refused(&own, &own.raw), DeviceError::NoComputeQueue { .. }));
    for (family, index) in [(own.family + 1, 0), (u32::MAX, 0), (own.family, 1), (own.family, u32::MAX)] {
        let error = refused(&own, &own.raw.clone().queue(family, index));
        let is_named = |(f, i): (u32, u32)| (f, i) == (family, index);
        assert!(
            matches!(&error, DeviceError::Queue { family, index, .. } if is_named((*family, *index))),
            "{error}"
        );
    }
    own.close(vec![], &[]);
}

#[test]
fn null_and_foreign_handles_are_refused() {
    let (own, other) = (own!(), own!());
    let handles = |instance, physical_device, device, info| vkfuse::RawHandles {
        get_instance_proc_addr: own.entry.static_fn().get_instance_proc_addr,
        api_version: vk::API_VERSION_1_3,
        instance,
        physical_device,
        device,
        create_info: info,
    };
    let info = vk::DeviceCreateInfo::default();
    let [instance, physical, device] = [
        (vk::Instance::null(), own.physical, own.device.handle()),
        (own.instance.handle(), vk::PhysicalDevice::null(), own.device.handle()),
        (own.instance.handle(), own.physical, vk::Device::null()),
    ]
    // SAFETY: null is allowed.
    .map(|(i, p, d)| unsafe { vkfuse::RawDevice::new(&handles(i, p, d, &info)) });
    for (raw, name) in [(instance, "instance"), (physical, "physical device"), (device, "device")] {
        assert_eq!(refused(&own, &raw), DeviceError::NullHandle { what: name });
    }
    // SAFETY: the device is only asked for after the physical device was looked for.
    let raw = unsafe {
        vkfuse::RawDevice::new(&handles(own.instance.handle(), other.physical, own.device.handle(), &info))
    };
    if own.physical != other.physical {
        assert_eq!(refused(&own, &raw), DeviceError::Foreign { what: "physical device" });
    }
    other.close(vec![], &[]);
    own.close(vec![], &[]);
}

/// A loader without any function.
unsafe extern "system" fn nothing(_: vk::Instance, _: *const std::ffi::c_char) -> vk::PFN_vkVoidFunction {
    None
}

#[test]
fn functions_that_are_missing_are_named() {
    let own = own!();
    // SAFETY: the handles are valid, and nothing is called through them.
    let raw = unsafe {
        vkfuse::RawDevice::new(&vkfuse::RawHandles {
            get_instance_proc_addr: nothing,
            api_version: vk::API_VERSION_1_3,
            instance: own.instance.handle(),
            physical_device: own.physical,
            device: own.device.handle(),
            create_info: &vk::DeviceCreateInfo::default(),
        })
    };
    let error = refused(&own, &raw);
    assert!(matches!(&error, DeviceError::Call { call: "vkEnumeratePhysicalDevices", .. }), "{error}");
    own.close(vec![], &[]);
}

#[test]
fn buffers_that_do_not_fit_are_refused() {
    let own = own!();
    let context = own.context();
    let small = own.buffer(&[0; 16], USAGE);
    let import = |raw: RawBuffer| {
        // SAFETY: what is refused is not used.
        let user = unsafe { UserBuffer::from_raw(&raw) };
        match context.import::<u32>(&user) {
            Err(Error::Device(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    let whole = small.raw(0, 64);
    assert_eq!(
        import(RawBuffer { buffer: vk::Buffer::null(), ..whole }),
        DeviceError::NullHandle { what: "buffer" }
    );
    assert_eq!(import(RawBuffer { size: 0, ..whole }), DeviceError::ZeroSize);
    for (offset, size) in [(0, 1 << 20), (1 << 20, 4), (u64::MAX, 4), (4, u64::MAX)] {
        let error = import(RawBuffer { offset, size, ..whole });
        assert!(matches!(error, DeviceError::OutOfRange { .. }), "{error}");
    }
    for (missing, name) in [
        (vk::BufferUsageFlags::STORAGE_BUFFER, "STORAGE_BUFFER"),
        (vk::BufferUsageFlags::TRANSFER_SRC, "TRANSFER_SRC"),
        (vk::BufferUsageFlags::TRANSFER_DST, "TRANSFER_DST"),
    ] {
        assert_eq!(
            import(RawBuffer { usage: USAGE & !missing, ..whole }),
            DeviceError::MissingUsage { usage: name }
        );
    }
    drop(context);
    own.close(vec![small], &[]);
}

#[test]
fn parts_of_one_buffer_are_ordered_and_nothing_beside_them_is_written() {
    let own = own!();
    let align = 256 / 4;
    let words = 4 * 1024;
    let all = own.buffer(&vec![5; words], USAGE);
    let context = own.context();
    let queue = fusing(&context);
    let part = |from: usize| all.import_part(&context, 4 * from as u64, 4 * u64::from(N));
    let (x, y, z) = (part(align), part(1024 + align), part(2048 + align));
    x.upload(&counting()).unwrap();
    // Through memory: what one writes the next reads, by other handles of the same bytes.
    run(&queue, &x, &y);
    run(&queue, &part(1024 + align), &z).wait().unwrap();
    let got = all.words();
    for (at, word) in got.iter().enumerate() {
        let within = |from: usize| (from..from + N as usize).contains(&at).then(|| (at - from) as u32);
        let wanted = within(align)
            .or_else(|| within(1024 + align).map(chained))
            .or_else(|| within(2048 + align).map(|x| 2u32.wrapping_mul(chained(x)).wrapping_mul(chained(x))))
            .unwrap_or(5);
        assert_eq!(*word, wanted, "word {at}");
    }
    drop((x, y, z, queue, context));
    own.close(vec![all], &[]);
}

/// Copies one buffer to another.
fn copy(own: &Own, from: &Bytes, to: &Bytes) -> vk::CommandBuffer {
    own.recorded(|commands| {
        let region = [vk::BufferCopy::default().size(from.size)];
        // SAFETY: plain use of Vulkan.
        unsafe { own.device.cmd_copy_buffer(commands, from.buffer, to.buffer, &region) };
    })
}

/// The program writes the input, the list runs, the program copies the output: all submitted before anything of it runs,
/// because the first waits for the host.
#[test]
fn timeline_semaphores_order_both_ways_before_anything_runs() {
    let own = own!();
    let given = own.buffer(&counting(), USAGE);
    let [x, out, copied] = [0, 1, 2].map(|_| own.buffer(&[0; N as usize], USAGE));
    let context = own.context();
    let queue = fusing(&context);
    let (from, to) = (x.import(&context), out.import(&context));
    let line = own.timeline();
    own.submit(copy(&own, &given, &x), &[(line, 1)], &[(line, 2)]);
    // SAFETY: the semaphore is a timeline of this device, and its values rise in the order submitted.
    let [second, third] = [2, 3].map(|value| unsafe { RawSemaphore::timeline(line, value) });
    let waited = queue.wait_semaphore(second).unwrap();
    let ran = run(&queue, &from, &to);
    queue.signal_semaphore(third).unwrap();
    own.submit(copy(&own, &out, &copied), &[(line, 3)], &[(line, 4)]);
    assert!(!waited.is_complete() && !ran.is_complete());
    assert_eq!(copied.words(), [0; N as usize]);
    let go = vk::SemaphoreSignalInfo::default().semaphore(line).value(1);
    // SAFETY: plain use of Vulkan.
    unsafe { own.device.signal_semaphore(&go) }.unwrap();
    ran.wait().unwrap();
    own.wait_idle();
    assert!(copied.words().iter().zip(0..N).all(|(got, x)| *got == chained(x)));
    drop((from, to, waited, ran, queue, context));
    own.close(vec![given, x, out, copied], &[line]);
}

/// While nothing of the queue has run yet, each run of a list has a barrier after the one before, whichever that was: also those that are made
/// without a look at what else is pending. Two lists write what all of them read, one kept and one recorded each time.
#[test]
fn runs_in_a_row_wait_for_each_other() {
    let own = own!();
    let context = own.context();
    let queue = fusing(&context);
    let x = context.buffer_from(&counting()).unwrap();
    let [kept_sum, sum, out_sum] = [0, 1, 2].map(|_| context.scratch::<u32>(N as usize).unwrap());
    let out = context.buffer::<u32>(N as usize).unwrap();
    let fusion = vkfuse::FusionWrapper::new(&queue).unwrap();
    fusion.start_fusion().unwrap();
    // `x = 2 x²`.
    chain(&queue, &x, &kept_sum, &x).unwrap();
    let (_, list) = fusion.complete_and_keep(&vkfuse::FusionProperties::default()).unwrap();
    let kernels = kernels(&context).unwrap();
    let recorded = |sum: &Buffer<u32>, to: &Buffer<u32>| {
        queue.fuse(|queue| chain_of(&kernels, queue, &x, sum, to)).unwrap()
    };
    let run = |which: u32| match which {
        0 => list.run().unwrap(),
        1 => recorded(&sum, &x),
        _ => recorded(&out_sum, &out),
    };
    (0..6).for_each(|_| (0..3).for_each(|which| drop(run(which))));
    context.wait().unwrap();
    let line = own.timeline();
    // SAFETY: a timeline semaphore of this device, whose value rises.
    queue.wait_semaphore(unsafe { RawSemaphore::timeline(line, 1) }).unwrap();
    let before = context.stats();
    let (mut random, mut times, mut squares) = (1_u32, 0, 13);
    while times < 300 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let which = (random >> 24) % 3;
        for _ in 0..=(random >> 16) % 9 {
            run(which);
            times += 1;
            squares += u32::from(which < 2);
        }
    }
    let run = context.stats() - before;
    assert_eq!(run.made_again, times);
    // The first comes after what is complete.
    assert!((times - 1..=times).contains(&run.barriers), "{} of {times}", run.barriers);
    let go = vk::SemaphoreSignalInfo::default().semaphore(line).value(1);
    // SAFETY: plain use of Vulkan.
    unsafe { own.device.signal_semaphore(&go) }.unwrap();
    let wanted = |x: u32| (0..squares).fold(x, |x, _| x.wrapping_mul(x).wrapping_mul(2));
    assert!(x.download().unwrap().iter().zip(0..N).all(|(got, x)| *got == wanted(x)));
    drop((x, [kept_sum, sum, out_sum], out, kernels, list, fusion, queue, context));
    own.close(vec![], &[line]);
}

/// Independent lists take turns on a queue on which nothing has run before: reading what one of them wrote
/// waits for its latest run.
#[test]
fn lists_that_take_turns_are_waited_for() {
    let own = own!();
    let context = own.context();
    let queue = fusing(&context);
    let kernels = kernels(&context).unwrap();
    let lists = [0, 1].map(|_| {
        let x = context.buffer_from(&counting()).unwrap();
        (x, context.scratch::<u32>(N as usize).unwrap())
    });
    let run = |(x, sum): &(Buffer<u32>, Buffer<u32>)| {
        queue.fuse(|queue| chain_of(&kernels, queue, x, sum, x)).unwrap()
    };
    let mut times = 0;
    let mut turns = |count: u32| {
        for _ in 0..count {
            lists.iter().for_each(|list| (0..5).for_each(|_| drop(run(list))));
        }
        times += 5 * count;
        times
    };
    turns(4);
    context.wait().unwrap();
    let line = own.timeline();
    // SAFETY: a timeline semaphore of this device, whose value rises.
    queue.wait_semaphore(unsafe { RawSemaphore::timeline(line, 1) }).unwrap();
    let squares = turns(4);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            let go = vk::SemaphoreSignalInfo::default().semaphore(line).value(1);
            // SAFETY: plain use of Vulkan.
            unsafe { own.device.signal_semaphore(&go) }.unwrap();
        });
        let wanted = |x: u32| (0..squares).fold(x, |x, _| x.wrapping_mul(x).wrapping_mul(2));
        for (x, _) in &lists {
            assert!(x.download().unwrap().iter().zip(0..N).all(|(got, x)| *got == wanted(x)));
        }
    });
    drop((lists, kernels, queue, context));
    own.close(vec![], &[line]);
}

/// A thread submits more than may be pending, all of it after a semaphore. Meanwhile another one can do what it has to do before it signals that.
#[test]
fn too_much_that_is_pending_stops_nobody_else() {
    let own = own!();
    let context = own.context();
    let queue = fusing(&context);
    let kernels = kernels(&context).unwrap();
    let [x, sum, other] = [0, 1, 2].map(|_| context.buffer_from(&counting()).unwrap());
    let run = || drop(queue.fuse(|queue| chain_of(&kernels, queue, &x, &sum, &x)).unwrap());
    let line = own.timeline();
    // SAFETY: a timeline semaphore of this device, whose value rises.
    queue.wait_semaphore(unsafe { RawSemaphore::timeline(line, 1) }).unwrap();
    std::thread::scope(|scope| {
        let submits = scope.spawn(|| (0..1200).for_each(|_| run()));
        while context.stats().submits < 1000 {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!submits.is_finished());
        // Nothing that is pending has to do with this buffer.
        other.upload(&[7; N as usize]).unwrap();
        let go = vk::SemaphoreSignalInfo::default().semaphore(line).value(1);
        // SAFETY: plain use of Vulkan.
        unsafe { own.device.signal_semaphore(&go) }.unwrap();
    });
    context.wait().unwrap();
    drop((x, sum, other, kernels, queue, context));
    own.close(vec![], &[line]);
}

#[test]
fn binary_semaphores_and_the_semaphore_of_an_event() {
    let own = own!();
    let given = own.buffer(&counting(), USAGE);
    let [x, out, copied] = [0, 1, 2].map(|_| own.buffer(&[0; N as usize], USAGE));
    let context = own.context();
    let queue = fusing(&context);
    let (from, to) = (x.import(&context), out.import(&context));
    // SAFETY: plain use of Vulkan.
    let [before, after] = [0, 1]
        .map(|_| unsafe { own.device.create_semaphore(&vk::SemaphoreCreateInfo::default(), None).unwrap() });
    // SAFETY: both are binary semaphores of this device; each is signalled once and waited for once.
    let [wait, signal] = [before, after].map(|semaphore| unsafe { RawSemaphore::binary(semaphore) });
    own.submit(copy(&own, &given, &x), &[], &[(before, 0)]);
    queue.wait_semaphore(wait).unwrap();
    let ran = run(&queue, &from, &to);
    queue.signal_semaphore(signal).unwrap();
    let theirs = ran.semaphore().unwrap().expect("work on the device");
    own.submit(copy(&own, &out, &copied), &[(after, 0), theirs], &[]);
    own.wait_idle();
    assert!(copied.words().iter().zip(0..N).all(|(got, x)| *got == chained(x)));
    // SAFETY: null is allowed.
    let null = unsafe { RawSemaphore::binary(vk::Semaphore::null()) };
    for refused in [queue.wait_semaphore(null), queue.signal_semaphore(null)] {
        assert!(matches!(refused, Err(Error::Device(DeviceError::NullHandle { what: "semaphore" }))));
    }
    drop((from, to, ran, queue, context));
    own.close(vec![given, x, out, copied], &[before, after]);
}

#[test]
fn signalling_ends_a_list_and_waiting_does_not() {
    let own = own!();
    let context = own.context();
    let queue = fusing(&context);
    let x = context.buffer_from(&counting()).unwrap();
    let (sum, out) = (context.buffer::<u32>(N as usize).unwrap(), context.buffer::<u32>(N as usize).unwrap());
    let line = own.timeline();
    // SAFETY: a timeline semaphore of this device; the value is the first.
    let one = unsafe { RawSemaphore::timeline(line, 1) };
    let fusion = FusionWrapper::new(&queue).unwrap();
    fusion.start_fusion().unwrap();
    chain(&queue, &x, &sum, &out).unwrap();
    queue.signal_semaphore(one).unwrap();
    let ended = fusion.complete_fusion(&vkfuse::FusionProperties::default()).unwrap();
    assert_eq!(ended.outcome(), Outcome::Cancelled { by: CancelCause::Semaphore });
    fusion.start_fusion().unwrap();
    queue.wait_semaphore(one).unwrap();
    chain(&queue, &x, &sum, &out).unwrap();
    queue.wait_semaphore(one).unwrap();
    assert!(queue.is_in_fusion_mode());
    let done = fusion.complete_fusion(&vkfuse::FusionProperties::default()).unwrap();
    assert_eq!(done.outcome(), Outcome::Fused);
    assert!(out.download().unwrap().iter().zip(0..N).all(|(got, x)| *got == chained(x)));
    drop((x, sum, out, ended, done, fusion, queue, context));
    own.close(vec![], &[line]);
}

/// Counts how often it is taken, and fails where two hold it at once.
#[derive(Default)]
struct Counting(Mutex<()>, AtomicU64);

impl QueueLock for Counting {
    fn locked(&self, submit: &mut dyn FnMut()) {
        let _alone = self.0.try_lock().expect("a free lock");
        self.1.fetch_add(1, Relaxed);
        submit();
    }
}

#[test]
fn every_submission_is_made_under_the_programs_lock() {
    let own = own!();
    let lock = Arc::new(Counting::default());
    let context = own.context_on(&own.raw.clone().queue_with_lock(own.family, 0, lock.clone())).unwrap();
    let queue = fusing(&context);
    let x = context.buffer_from(&counting()).unwrap();
    let out = context.buffer::<u32>(N as usize).unwrap();
    run(&queue, &x, &out).wait().unwrap();
    assert_eq!(out.download().unwrap()[3], chained(3));
    assert_eq!(lock.1.load(Relaxed), context.stats().submits);
    drop((x, out, queue, context));
    own.close(vec![], &[]);
}

/// A lock that is never had.
struct Never;

impl QueueLock for Never {
    fn locked(&self, _: &mut dyn FnMut()) {}
}

/// The fusing layer rests on it: what the engine cancels or runs there would be the program's work a second time.
#[test]
fn nothing_runs_where_the_lock_is_never_had() {
    let own = own!();
    let (x, out) = (own.buffer(&counting(), USAGE), own.buffer(&[7; N as usize], USAGE));
    let context = own.context_on(&own.raw.clone().queue_with_lock(own.family, 0, Arc::new(Never))).unwrap();
    let queue = fusing(&context);
    let (from, to) = (x.import(&context), out.import(&context));
    let sum = context.scratch::<u32>(N as usize).unwrap();
    // Outside of fusion mode, and a list that is cancelled.
    assert!(chain(&queue, &from, &sum, &to).is_err(), "it was submitted");
    let fusion = FusionWrapper::new(&queue).unwrap();
    fusion.start_fusion().unwrap();
    chain(&queue, &from, &sum, &to).unwrap();
    drop(fusion);
    assert_eq!(context.stats().submits, 0);
    assert_eq!(out.words(), [7; N as usize]);
    drop((from, to, sum, queue, context));
    own.close(vec![x, out], &[]);
}
