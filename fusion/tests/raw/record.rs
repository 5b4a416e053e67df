//! Kept lists in command buffers that the program records.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use ash::vk;
use vkfuse::{
    Buffer, Context, DeviceError, Error, FusedList, FusionError, FusionProperties, FusionWrapper, Kernel,
    Outcome, Queue, RawCommandBuffer, Scope,
};

use super::{
    N, chain, chained, counting,
    device::{Bytes, Made, Own, USAGE},
    fusing, own,
    support::shader,
};

/// Keeps the chain on these buffers, with one run.
pub(crate) fn keep(queue: &Queue, x: &Buffer<u32>, out: &Buffer<u32>) -> FusedList {
    let fusion = FusionWrapper::new(queue).unwrap();
    let sum = queue.context().scratch::<u32>(N as usize).unwrap();
    fusion.start_fusion().unwrap();
    chain(queue, x, &sum, out).unwrap();
    let (first, list) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
    first.wait().unwrap();
    list
}

const FILL: Scope = Scope {
    stages: vk::PipelineStageFlags2::ALL_TRANSFER,
    accesses: vk::AccessFlags2::from_raw(
        vk::AccessFlags2::TRANSFER_READ.as_raw() | vk::AccessFlags2::TRANSFER_WRITE.as_raw(),
    ),
};

fn barrier(own: &Own, commands: vk::CommandBuffer, from: Scope, to: Scope) {
    // SAFETY: plain use of Vulkan.
    unsafe { own.device.cmd_pipeline_barrier2(commands, &from.before(to).info()) };
}

fn copy(own: &Own, commands: vk::CommandBuffer, from: &Bytes, to: &Bytes) {
    let region = [vk::BufferCopy::default().size(from.size)];
    // SAFETY: plain use of Vulkan.
    unsafe { own.device.cmd_copy_buffer(commands, from.buffer, to.buffer, &region) };
}

fn recording(commands: vk::CommandBuffer) -> RawCommandBuffer {
    // SAFETY: the tests record on one thread, outside of render passes, and keep what `record` returns until the queue is idle.
    unsafe { RawCommandBuffer::recording(commands) }
}

/// A compute pipeline of the program's own: it adds two buffers.
struct Dispatch {
    pipeline: vk::Pipeline,
    layout: vk::PipelineLayout,
    sets: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
    set: vk::DescriptorSet,
}

impl Dispatch {
    fn add(own: &Own, buffers: [&Bytes; 3]) -> Dispatch {
        let bytes = std::fs::read(super::support::shader("pair/add")).unwrap();
        let words: Vec<u32> = bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
        let storage = vk::DescriptorType::STORAGE_BUFFER;
        let bindings = [0, 1, 2].map(|at| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(at)
                .descriptor_type(storage)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        });
        let range = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(4)];
        let size = [vk::DescriptorPoolSize::default().ty(storage).descriptor_count(3)];
        let d = &own.device;
        // SAFETY: plain use of Vulkan.
        unsafe {
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let sets = d.create_descriptor_set_layout(&info, None).unwrap();
            let all = [sets];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&all).push_constant_ranges(&range);
            let layout = d.create_pipeline_layout(&info, None).unwrap();
            let module =
                d.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&words), None).unwrap();
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
            let pipeline = d.create_compute_pipelines(vk::PipelineCache::null(), &info, None).unwrap()[0];
            d.destroy_shader_module(module, None);
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&size);
            let pool = d.create_descriptor_pool(&info, None).unwrap();
            let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&all);
            let set = d.allocate_descriptor_sets(&info).unwrap()[0];
            for (at, bytes) in (0..).zip(buffers) {
                let info = [vk::DescriptorBufferInfo::default().buffer(bytes.buffer).range(vk::WHOLE_SIZE)];
                let write = vk::WriteDescriptorSet::default()
                    .dst_set(set)
                    .dst_binding(at)
                    .descriptor_type(storage)
                    .buffer_info(&info);
                d.update_descriptor_sets(&[write], &[]);
            }
            Dispatch { pipeline, layout, sets, pool, set }
        }
    }

    fn record(&self, own: &Own, commands: vk::CommandBuffer) {
        let d = &own.device;
        let point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: plain use of Vulkan.
        unsafe {
            d.cmd_bind_pipeline(commands, point, self.pipeline);
            d.cmd_bind_descriptor_sets(commands, point, self.layout, 0, &[self.set], &[]);
            let stage = vk::ShaderStageFlags::COMPUTE;
            d.cmd_push_constants(commands, self.layout, stage, 0, &N.to_le_bytes());
            d.cmd_dispatch(commands, N.div_ceil(16), 1, 1);
        }
    }

    fn destroy(self, own: &Own) {
        // SAFETY: plain use of Vulkan, after the queue was idle.
        unsafe {
            own.device.destroy_pipeline(self.pipeline, None);
            own.device.destroy_pipeline_layout(self.layout, None);
            own.device.destroy_descriptor_pool(self.pool, None);
            own.device.destroy_descriptor_set_layout(self.sets, None);
        }
    }
}

/// Copies, dispatches and barriers of the program's, with the list between them and once more after: in one command buffer,
/// executed twice.
fn interleaved(made: Made) {
    let own = own!(made);
    let given = own.buffer(&counting(), USAGE);
    let [x, out, copied, doubled] = [0; 4].map(|_| own.buffer(&[0; N as usize], USAGE));
    let context = own.context();
    let queue = fusing(&context);
    let (from, to) = (x.import(&context), out.import(&context));
    let list = keep(&queue, &from, &to);
    let add = Dispatch::add(&own, [&out, &out, &doubled]);
    let mut kept = Vec::new();
    let commands = own.recorded(|commands| {
        barrier(&own, commands, Scope::ALL, Scope::ALL);
        copy(&own, commands, &given, &x);
        // The program's own dependency on the one side, stated on the other.
        barrier(&own, commands, FILL, Scope::LIST);
        let recorded = list.record(&recording(commands).before(FILL)).unwrap();
        assert_eq!((recorded.dispatches(), recorded.outcome()), (1, &Outcome::Fused));
        assert!(recorded.waits().is_empty());
        assert_eq!(recorded.report().unwrap().dispatches, 1);
        kept.push(recorded);
        copy(&own, commands, &out, &copied);
        // `x` becomes the result, and the list runs on that.
        barrier(&own, commands, FILL, FILL);
        copy(&own, commands, &copied, &x);
        kept.push(list.record(&recording(commands).after(FILL)).unwrap());
        barrier(&own, commands, Scope::LIST, Scope::LIST);
        add.record(&own, commands);
        barrier(&own, commands, Scope::LIST, Scope::ALL);
    });
    for _ in 0..2 {
        own.submit(commands, &[], &[]);
    }
    own.wait_idle();
    for (at, ((once, twice), doubled)) in
        (0..).zip(copied.words().iter().zip(out.words()).zip(doubled.words()))
    {
        let wanted = 2u32.wrapping_mul(chained(at)).wrapping_mul(chained(at));
        assert_eq!(
            [*once, twice, doubled],
            [chained(at), wanted, wanted.wrapping_add(wanted)],
            "element {at}"
        );
    }
    add.destroy(&own);
    drop((kept, list, from, to, queue, context));
    own.close(vec![given, x, out, copied, doubled], &[]);
}

#[test]
fn lists_are_recorded_between_copies_dispatches_and_barriers() {
    interleaved(Made::default());
}

#[test]
fn without_push_descriptors_the_sets_live_as_long_as_what_was_recorded() {
    interleaved(Made { push_descriptors: false, ..Made::default() });
}

/// Without room for push constants, the number of elements is in a buffer of the engine's own, which lives as long as what was recorded.
#[test]
fn arguments_in_a_buffer_live_as_long_as_what_was_recorded() {
    for (push_descriptors, after_bind) in [(true, false), (false, false), (false, true)] {
        interleaved(Made { push_descriptors, after_bind, push_bytes: Some(0), ..Made::default() });
    }
}

#[test]
fn sets_that_are_written_after_they_were_bound_live_as_long_as_what_was_recorded() {
    interleaved(Made { after_bind: true, ..Made::default() });
}

#[test]
fn other_buffers_are_recorded_without_planning() {
    let own = own!();
    let all: Vec<Bytes> = (0..6).map(|_| own.buffer(&[0; N as usize], USAGE)).collect();
    let context = own.context();
    let queue = fusing(&context);
    let list = {
        let (x, out) =
            (context.buffer_from(&counting()).unwrap(), context.buffer::<u32>(N as usize).unwrap());
        let list = keep(&queue, &x, &out);
        list.run().unwrap().wait().unwrap();
        let before = context.stats();
        let mut kept = Vec::new();
        let mut outs = Vec::new();
        for by in 1..4_u32 {
            let data: Vec<u32> = (0..N).map(|x| x + by).collect();
            let (other, result) =
                (context.buffer_from(&data).unwrap(), context.buffer::<u32>(N as usize).unwrap());
            let rebound = list.rebind().buffer(&x, &other).buffer(&out, &result).finish().unwrap();
            let mut waits = Vec::new();
            let commands = own.recorded(|commands| {
                let recorded = rebound.record(&recording(commands).before(Scope::ALL)).unwrap();
                waits.extend_from_slice(recorded.waits());
                kept.push(recorded);
            });
            own.submit(commands, &waits, &[]);
            outs.push((by, result));
        }
        own.wait_idle();
        let after = context.stats();
        assert_eq!(after.jit_builds, before.jit_builds);
        for (by, result) in outs {
            let got = result.download().unwrap();
            assert!(got.iter().zip(0..N).all(|(got, x)| *got == chained(x + by)), "by {by}");
        }
        list
    };
    drop((list, queue, context));
    own.close(all, &[]);
}

#[test]
fn other_scalars_are_recorded_without_planning() {
    let own = own!();
    let context = own.context();
    let queue = fusing(&context);
    let scale = context.load_spirv(super::support::shader("pair/scale")).unwrap();
    let data: Vec<i32> = (0..N as i32).collect();
    let (x, out) = (context.buffer_from(&data).unwrap(), context.buffer::<i32>(N as usize).unwrap());
    let between = context.scratch::<i32>(N as usize).unwrap();
    let fusion = FusionWrapper::new(&queue).unwrap();
    fusion.start_fusion().unwrap();
    for (from, to, factor) in [(&x, &between, 2_i32), (&between, &out, 3)] {
        let scaled = queue.submit(|h| {
            h.arg(0, from.read()).arg(1, to.write()).push(&N).push(&factor);
            h.dispatch_items(&scale, [N, 1, 1]);
        });
        scaled.unwrap();
    }
    let (_, list) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
    list.run().unwrap().wait().unwrap();
    let mut kept = Vec::new();
    // The last is equal to the other factor, so that both are one argument of the fused code.
    for (factor, is_planned) in [(5, false), (7, false), (3, true)] {
        let rebound = list.rebind().push(0, &[N as i32, factor]).finish().unwrap();
        for round in 0..2 {
            let (mut waits, before) = (Vec::new(), context.stats().jit_builds);
            let commands = own.recorded(|commands| {
                let recorded = rebound.record(&recording(commands).before(Scope::ALL)).unwrap();
                waits.extend_from_slice(recorded.waits());
                kept.push(recorded);
            });
            let built = context.stats().jit_builds - before;
            assert_eq!(built, u64::from(is_planned && round == 0), "{factor}");
            own.submit(commands, &waits, &[]);
            own.wait_idle();
            let got = out.download().unwrap();
            assert!(got.iter().zip(0..N as i32).all(|(got, x)| *got == x * factor * 3), "{factor}");
        }
    }
    drop((kept, list, x, between, out, scale, fusion, queue, context));
    own.close(vec![], &[]);
}

/// A list that was never run by this crate: its code is built for the recording, and found by the next.
#[test]
fn a_list_is_recorded_before_it_ever_ran() {
    let own = own!();
    let context = own.context();
    let queue = fusing(&context);
    let x = context.buffer_from(&counting()).unwrap();
    let out = context.buffer::<u32>(N as usize).unwrap();
    let sum = context.buffer::<u32>(N as usize).unwrap();
    let fusion = FusionWrapper::new(&queue).unwrap();
    fusion.start_fusion().unwrap();
    chain(&queue, &x, &sum, &out).unwrap();
    let first = fusion.keep_unrun(&FusionProperties::default()).unwrap();
    assert_eq!(context.stats().dispatches, 0);
    // Other push constants, too.
    let half = N / 2;
    let list = first.rebind().push(0, &half).push(1, &half).finish().unwrap();
    out.fill(9).unwrap();
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut waits = Vec::new();
        let commands = own.recorded(|commands| {
            let recorded = list.record(&recording(commands).before(Scope::ALL)).unwrap();
            waits.extend_from_slice(recorded.waits());
            kept.push(recorded);
        });
        own.submit(commands, &waits, &[]);
    }
    own.wait_idle();
    let wanted = |x: u32| if x < half { chained(x) } else { 9 };
    assert!(out.download().unwrap().iter().zip(0..N).all(|(got, x)| *got == wanted(x)));
    drop((kept, first, list, x, sum, out, fusion, queue, context));
    own.close(vec![], &[]);
}

/// A line's length in a buffer is a number where the program says that it stays, and nowhere else: the commands may be executed any time.
#[test]
fn what_is_declared_constant_counts_where_a_list_is_recorded() {
    const W: u32 = 64;
    const H: u32 = 9;
    let own = own!();
    let context = own.context();
    let queue = fusing(&context);
    let floats = |start: f32| {
        let all: Vec<f32> = (0..W * H).map(|i| start + i as f32).collect();
        context.buffer_from(&all).unwrap()
    };
    let kernel = |name: &str| context.load_spirv(super::support::shader(name)).unwrap();
    let (lines, grid) = (kernel("library/lines"), kernel("library/grid"));
    for blocks in [1, 2000] {
        let block = context.buffer_from(&vec![[0.5_f32.to_bits(), W]; blocks]).unwrap();
        for declared in [true, false] {
            let (a, b, c) = (floats(1.0), floats(2000.0), floats(0.0));
            let fusion = FusionWrapper::new(&queue).unwrap();
            fusion.start_fusion().unwrap();
            queue
                .submit(|h| {
                    let block = if declared { block.constant() } else { block.read() }.range(0, 1);
                    h.arg(0, a.read()).arg(1, b.write()).arg(2, block).dispatch_items(&lines, [W, H, 1]);
                })
                .unwrap();
            queue
                .submit(|h| {
                    h.arg(0, b.read()).arg(1, c.write()).push(&W).dispatch_items(&grid, [W, H, 1]);
                })
                .unwrap();
            let list = fusion.keep_unrun(&FusionProperties::default().no_rewrites()).unwrap();
            let (mut kept, mut waits) = (Vec::new(), Vec::new());
            let commands = own.recorded(|commands| {
                let recorded = list.record(&recording(commands).before(Scope::ALL)).unwrap();
                assert_eq!(recorded.dispatches(), if declared { 1 } else { 2 }, "{:?}", recorded.report());
                waits.extend_from_slice(recorded.waits());
                kept.push(recorded);
            });
            own.submit(commands, &waits, &[]);
            own.wait_idle();
            let wanted = |i: usize| (1.5 + i as f32) * 3.0;
            assert!(c.download().unwrap().iter().enumerate().all(|(i, got)| *got == wanted(i)));
        }
    }
    drop((lines, grid, queue, context));
    own.close(vec![], &[]);
}

#[test]
fn what_cannot_be_recorded_is_refused_and_nothing_was_recorded() {
    let own = own!();
    let context = own.context();
    let queue = fusing(&context);
    let x = context.buffer_from(&counting()).unwrap();
    let out = context.buffer::<u32>(N as usize).unwrap();
    let list = keep(&queue, &x, &out);
    let refused = list.record(&recording(vk::CommandBuffer::null()));
    assert!(matches!(refused, Err(Error::Device(DeviceError::NullHandle { what: "command buffer" }))));
    refuses_the_first_run_that_is_to_be_compared(&own, &context, &queue);
    drop((list, x, out, queue, context));
    own.close(vec![], &[]);
}

fn refuses_the_first_run_that_is_to_be_compared(own: &Own, context: &Context, queue: &Queue) {
    let fusion = FusionWrapper::new(queue).unwrap();
    let x = context.buffer_from(&counting()).unwrap();
    let out = context.buffer::<u32>(N as usize).unwrap();
    let sum = context.scratch::<u32>(N as usize).unwrap();
    fusion.start_fusion().unwrap();
    chain(queue, &x, &sum, &out).unwrap();
    let list = fusion.keep_unrun(&FusionProperties::default().verify_first_run(true)).unwrap();
    let commands = own.recorded(|commands| {
        let refused = list.record(&recording(commands));
        assert!(matches!(refused, Err(Error::Fusion(FusionError::NotRecordable { .. }))), "{refused:?}");
    });
    list.run().unwrap().wait().unwrap();
    let kept = std::cell::RefCell::new(None);
    let again =
        own.recorded(|commands| *kept.borrow_mut() = Some(list.record(&recording(commands)).unwrap()));
    for commands in [commands, again] {
        own.submit(commands, &[], &[]);
    }
    own.wait_idle();
    assert!(out.download().unwrap().iter().zip(0..N).all(|(got, x)| *got == chained(x)));
}

/// A list that another thread records meanwhile began before, and is ended, or finds what stays inside unreadable.
#[test]
fn no_list_begins_between_what_a_recording_looks_at_and_what_it_changes() {
    const ROUNDS: u32 = 500;
    let own = own!();
    let context = own.context();
    let queue = fusing(&context);
    let [add, mul] = ["pair/add", "pair/mul"].map(|name| context.load_spirv(shader(name)).unwrap());
    let (x, out, result) = {
        let made = || context.buffer_from(&counting()).unwrap();
        (made(), made(), made())
    };
    let scratch = || context.scratch::<u32>(N as usize).unwrap();
    let (inside, between) = (scratch(), scratch());
    let of_two = |kernel: &Kernel, [a, b, z]: [&Buffer<u32>; 3]| {
        queue.submit(|h| {
            h.arg(0, a.read()).arg(1, b.read()).arg(2, z.write());
            h.push(&N).dispatch_items(kernel, [N, 1, 1]);
        })
    };
    let fusion = FusionWrapper::new(&queue).unwrap();
    fusion.start_fusion().unwrap();
    of_two(&add, [&x, &x, &inside]).unwrap();
    of_two(&mul, [&inside, &x, &out]).unwrap();
    let (_, kept) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();

    let list = || {
        fusion.start_fusion().unwrap();
        of_two(&add, [&inside, &out, &between]).and_then(|_| of_two(&mul, [&between, &x, &result]))
    };
    let complete = || fusion.complete_fusion(&FusionProperties::default()).unwrap();
    let known = || {
        of_two(&add, [&x, &x, &inside]).unwrap();
        for _ in 0..2 {
            list().unwrap();
            assert_eq!(complete().outcome(), Outcome::Fused);
        }
    };
    for _ in 0..5 {
        known();
        kept.run().unwrap();
    }

    let commands: Vec<_> = (0..ROUNDS).map(|_| own.command_buffer()).collect();
    let (device, turn, done) = (own.device.clone(), AtomicU32::new(0), AtomicU32::new(0));
    let mut fused = Vec::new();
    thread::scope(|scope| {
        let recorded = scope.spawn(|| {
            let mut all = Vec::new();
            for (round, &commands) in (1..).zip(&commands) {
                // SAFETY: plain use of Vulkan; no one else uses the pool meanwhile.
                unsafe { device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default()) }
                    .unwrap();
                while turn.load(SeqCst) < round {
                    spin_loop();
                }
                (0..round % 97 * 5).for_each(|_| spin_loop());
                all.push(kept.record(&recording(commands)));
                // SAFETY: as above.
                unsafe { device.end_command_buffer(commands) }.unwrap();
                done.store(round, SeqCst);
            }
            all
        });
        let mut random = 1_u32;
        for round in 1..=ROUNDS {
            known();
            turn.store(round, SeqCst);
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (0..(random >> 24) * 4).for_each(|_| spin_loop());
            let listed = list();
            while done.load(SeqCst) < round {
                spin_loop();
            }
            if complete().outcome() == Outcome::Fused && listed.is_ok() {
                fused.push(round);
            }
        }
        recorded.join().unwrap().into_iter().for_each(|one| drop(one.unwrap()));
    });
    assert!(fused.is_empty(), "neither ended nor refused in rounds {fused:?}");
    context.wait().unwrap();
    drop((kept, fusion, x, out, result, inside, between, add, mul, queue, context));
    own.close(Vec::new(), &[]);
}
