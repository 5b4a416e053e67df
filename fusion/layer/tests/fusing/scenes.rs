//! What the program does: each scene checks its own results, bit for bit, against the host's.

use crate::away;
use crate::foreign;
use crate::rig::{APART, Held, Kernel, Rig, Way};
use ash::vk;

pub(crate) const PRIMARY: vk::CommandBufferLevel = vk::CommandBufferLevel::PRIMARY;
pub(crate) const NONE: vk::CommandBufferUsageFlags = vk::CommandBufferUsageFlags::empty();

/// Numbers whose products and differences are rounded.
pub(crate) fn numbers(len: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 16_777_216.0 * 3.7 - 1.1
    };
    (0..len).map(|_| next()).collect()
}

fn same(what: &str, found: &[f32], expected: &[f32]) {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert!(bits(found) == bits(expected), "{what}: {:?} and not {:?}", &found[..4], &expected[..4]);
}

/// x, y, and four results: `a = x * y`, `b = a - y`, `c = b * x`, `d = c - a`.
#[derive(Clone, Copy)]
pub(crate) struct Chain([Held; 6]);

pub(crate) const STEPS: [(Kernel, [usize; 3]); 4] =
    [(Kernel::Mul, [0, 1, 2]), (Kernel::Sub, [2, 1, 3]), (Kernel::Mul, [3, 0, 4]), (Kernel::Sub, [4, 2, 5])];

impl Chain {
    pub(crate) fn new(rig: &Rig, len: usize) -> Chain {
        Chain([0; 6].map(|_| rig.buffer(len)))
    }

    pub(crate) fn place(&self, place: usize) -> Held {
        self.0[place]
    }

    pub(crate) fn of(&self, places: [usize; 3]) -> [Held; 3] {
        places.map(|place| self.0[place])
    }

    pub(crate) fn sets(&self, rig: &Rig, pool: vk::DescriptorPool, way: Way) -> Vec<vk::DescriptorSet> {
        STEPS.iter().map(|(_, places)| rig.set(pool, way, self.of(*places))).collect()
    }

    pub(crate) fn record(&self, rig: &Rig, to: vk::CommandBuffer, sets: &[vk::DescriptorSet], way: Way) {
        for ((kernel, places), number) in STEPS.iter().zip(0..) {
            match way {
                Way::Pushed => rig.dispatch_pushed(to, *kernel, self.of(*places)),
                _ => rig.dispatch(to, *kernel, way, sets[number], self.0[0].len),
            }
            rig.barrier(to);
        }
    }

    /// Fills in its arguments, and poison as its results.
    pub(crate) fn fill(&self, seed: u32) {
        for (held, seed) in self.0.iter().zip([seed, seed + 1000]) {
            held.write(&numbers(held.len, seed));
        }
        self.0[2..].iter().for_each(|held| held.write(&vec![f32::NAN; held.len]));
    }

    pub(crate) fn check(&self, seed: u32) {
        let len = self.0[0].len;
        let mut values = vec![numbers(len, seed), numbers(len, seed + 1000)];
        for (kernel, [a, b, _]) in STEPS {
            let pair = values[a].iter().zip(&values[b]);
            values.push(match kernel {
                Kernel::Mul => pair.map(|(a, b)| a * b).collect(),
                Kernel::Sub => pair.map(|(a, b)| a - b).collect(),
            });
        }
        for (number, (held, expected)) in self.0.iter().zip(&values).enumerate() {
            same(&format!("buffer {number} of seed {seed}"), &held.read(), expected);
        }
    }

    fn free(&self, rig: &Rig) {
        self.0.iter().for_each(|held| rig.free(*held));
    }
}

/// A scene: its name, what it does, and whether something of it is fused.
pub(crate) type Scene = (&'static str, fn(&Rig), bool);

pub(crate) const SCENES: [Scene; 19] = [
    ("one command buffer, many times", reusable, true),
    ("a pool that is reset, and the same again", reset, true),
    ("descriptors that change", changed, true),
    ("pushed descriptors", pushed, true),
    ("dynamic offsets", dynamic, true),
    ("copies and fills between kernels", transfers, true),
    ("buffers that share memory", shared, false),
    ("buffers that are made anew", renewed, true),
    ("other lengths by push constants", lengths, true),
    ("two threads", threads, true),
    ("twice in one submission", twice, true),
    ("commands that are not followed", unfollowed, false),
    ("a layout that is gone", layouts, false),
    ("command buffers that are freed", freed, true),
    ("sets that change while the layer looks away", away::changes, true),
    ("commands that are recorded while the layer looks away", away::parts, false),
    ("images between kernels", foreign::images, false),
    ("a submission to a group of devices", foreign::groups, false),
    ("one that may be pending twice, with sets of many buffers", foreign::many, true),
];

fn reusable(rig: &Rig) {
    let chain = Chain::new(rig, 1000);
    let (descriptors, pool) = (rig.descriptors(4), rig.pool());
    let sets = chain.sets(rig, descriptors, Way::Sets);
    let commands = rig.commands(pool, PRIMARY);
    rig.begin(commands, NONE);
    chain.record(rig, commands, &sets, Way::Sets);
    rig.end(commands);
    for seed in 0..30 {
        // So that the layer, where no one waits for it, comes to build and to time both command buffers.
        std::thread::sleep(std::time::Duration::from_millis(30));
        chain.fill(seed);
        rig.run(&[commands]);
        chain.check(seed);
    }
    clean(rig, &[chain], descriptors, pool);
}

pub(crate) fn clean(rig: &Rig, chains: &[Chain], descriptors: vk::DescriptorPool, pool: vk::CommandPool) {
    unsafe { rig.device.destroy_command_pool(pool, None) };
    unsafe { rig.device.destroy_descriptor_pool(descriptors, None) };
    chains.iter().for_each(|chain| chain.free(rig));
}

/// Records a chain once, runs it and checks it.
pub(crate) fn once(
    rig: &Rig,
    chain: &Chain,
    sets: &[vk::DescriptorSet],
    commands: vk::CommandBuffer,
    way: Way,
    seed: u32,
) {
    chain.fill(seed);
    rig.begin(commands, vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
    chain.record(rig, commands, sets, way);
    rig.end(commands);
    rig.run(&[commands]);
    chain.check(seed);
}

fn reset(rig: &Rig) {
    let chain = Chain::new(rig, 777);
    let (descriptors, pool) = (rig.descriptors(4), rig.pool());
    let sets = chain.sets(rig, descriptors, Way::Sets);
    let commands = rig.commands(pool, PRIMARY);
    for seed in 0..5 {
        unsafe {
            rig.device.reset_command_pool(pool, vk::CommandPoolResetFlags::empty()).expect("it is reset")
        };
        once(rig, &chain, &sets, commands, Way::Sets, seed);
    }
    clean(rig, &[chain], descriptors, pool);
}

fn changed(rig: &Rig) {
    let chains = [Chain::new(rig, 640), Chain::new(rig, 640), Chain::new(rig, 640)];
    let (descriptors, pool) = (rig.descriptors(4), rig.pool());
    let sets = chains[0].sets(rig, descriptors, Way::Sets);
    let commands = rig.commands(pool, PRIMARY);
    for seed in 0..9 {
        let chain = &chains[seed as usize % 3];
        for ((_, places), set) in STEPS.iter().zip(&sets) {
            rig.update(*set, Way::Sets, chain.of(*places));
        }
        unsafe {
            rig.device.reset_command_pool(pool, vk::CommandPoolResetFlags::empty()).expect("it is reset")
        };
        once(rig, chain, &sets, commands, Way::Sets, seed);
    }
    clean(rig, &chains, descriptors, pool);
}

fn other_way(rig: &Rig, way: Way) {
    let chain = Chain::new(rig, 900);
    let (descriptors, pool) = (rig.descriptors(4), rig.pool());
    let sets = if way == Way::Pushed { Vec::new() } else { chain.sets(rig, descriptors, way) };
    let commands = rig.commands(pool, PRIMARY);
    for seed in 0..4 {
        unsafe {
            rig.device.reset_command_pool(pool, vk::CommandPoolResetFlags::empty()).expect("it is reset")
        };
        once(rig, &chain, &sets, commands, way, seed);
    }
    clean(rig, &[chain], descriptors, pool);
}

fn pushed(rig: &Rig) {
    other_way(rig, Way::Pushed);
}

fn dynamic(rig: &Rig) {
    other_way(rig, Way::Dynamic);
}

/// Two chains, with a copy of the first's result to the second's argument, and a fill, between them; an indirect dispatch at the end,
/// which needs the state that is bound.
fn transfers(rig: &Rig) {
    let (one, two) = (Chain::new(rig, 512), Chain::new(rig, 512));
    let (result, counts) = (rig.buffer(512), rig.buffer(4));
    counts.write(&[2, 1, 1, 1].map(f32::from_bits));
    let (descriptors, pool) = (rig.descriptors(9), rig.pool());
    let (first, second) = (one.sets(rig, descriptors, Way::Sets), two.sets(rig, descriptors, Way::Sets));
    let last = rig.set(descriptors, Way::Sets, [two.0[5], two.0[1], result]);
    let commands = rig.commands(pool, PRIMARY);
    rig.begin(commands, NONE);
    one.record(rig, commands, &first, Way::Sets);
    let region = [vk::BufferCopy { src_offset: 0, dst_offset: 0, size: 4 * 512 }];
    unsafe { rig.device.cmd_copy_buffer(commands, one.0[5].buffer, two.0[0].buffer, &region) };
    unsafe { rig.device.cmd_fill_buffer(commands, two.0[1].buffer, 0, vk::WHOLE_SIZE, 1.5f32.to_bits()) };
    rig.barrier(commands);
    two.record(rig, commands, &second, Way::Sets);
    // Bound by the last dispatch of the chain, all but the set: a difference.
    let point = vk::PipelineBindPoint::COMPUTE;
    rig.bind(commands, Kernel::Sub, Way::Sets, 512);
    let layout = rig.layout(Way::Sets);
    unsafe { rig.device.cmd_bind_descriptor_sets(commands, point, layout, 0, &[last], &[]) };
    unsafe { rig.device.cmd_dispatch_indirect(commands, counts.buffer, 0) };
    rig.end(commands);
    for seed in 0..4 {
        one.fill(seed);
        rig.run(&[commands]);
        one.check(seed);
        let x = one.0[5].read();
        same("the copy", &two.0[0].read(), &x);
        let after = |x: &f32| {
            let a = x * 1.5;
            (a - 1.5) * x - a
        };
        let expected: Vec<f32> = x.iter().map(after).collect();
        same("behind the copy", &two.0[5].read(), &expected);
        let expected: Vec<f32> = expected.iter().map(|value| value - 1.5).collect();
        same("the indirect dispatch", &result.read(), &expected);
    }
    rig.free(result);
    rig.free(counts);
    clean(rig, &[one, two], descriptors, pool);
}

/// `a` and `b` lie over each other in part, as two buffers: what is written through one is read through the other.
fn shared(rig: &Rig) {
    let memory = rig.memory(4 * APART);
    let (a, b) = (rig.at(memory, 0, 1024), rig.at(memory, 1024, 1024));
    let (x, out) = (rig.buffer(1024), rig.buffer(1024));
    let (descriptors, pool) = (rig.descriptors(2), rig.pool());
    // `a = x * x`, and `out = b - x`, where `b[i] = a[i + 256]`.
    let first = rig.set(descriptors, Way::Sets, [x, x, a]);
    let second = rig.set(descriptors, Way::Sets, [b, x, out]);
    let commands = rig.commands(pool, PRIMARY);
    rig.begin(commands, NONE);
    rig.dispatch(commands, Kernel::Mul, Way::Sets, first, 1024);
    rig.barrier(commands);
    rig.dispatch(commands, Kernel::Sub, Way::Sets, second, 1024);
    rig.end(commands);
    for seed in 0..3 {
        let values = numbers(1024, seed);
        x.write(&values);
        b.write(&vec![0.25; 1024]);
        rig.run(&[commands]);
        let at = |place: usize| values.get(place + 256).map_or(0.25, |value| value * value);
        let expected: Vec<f32> = values.iter().enumerate().map(|(place, value)| at(place) - value).collect();
        same("through the other buffer", &out.read(), &expected);
    }
    unsafe { rig.device.destroy_buffer(b.buffer, None) };
    [a, x, out].into_iter().for_each(|held| rig.free(held));
    clean(rig, &[], descriptors, pool);
}

/// New buffers take the handles of those that are gone, now and then with other sizes and in other memory.
fn renewed(rig: &Rig) {
    let pool = rig.pool();
    let commands = rig.commands(pool, PRIMARY);
    let (mut handles, mut again) = (std::collections::HashSet::new(), 0);
    for seed in 0..12 {
        let chain = Chain::new(rig, if seed % 3 == 2 { 300 } else { 800 });
        again += chain.0.iter().filter(|held| !handles.insert(held.buffer)).count();
        let descriptors = rig.descriptors(4);
        let sets = chain.sets(rig, descriptors, Way::Sets);
        unsafe {
            rig.device.reset_command_pool(pool, vk::CommandPoolResetFlags::empty()).expect("it is reset")
        };
        once(rig, &chain, &sets, commands, Way::Sets, seed);
        unsafe { rig.device.destroy_descriptor_pool(descriptors, None) };
        chain.free(rig);
    }
    eprintln!("{again} handles of buffers came again");
    unsafe { rig.device.destroy_command_pool(pool, None) };
}

/// The same buffers; less and less of them is used.
fn lengths(rig: &Rig) {
    let chain = Chain::new(rig, 1024);
    let (descriptors, pool) = (rig.descriptors(4), rig.pool());
    let sets = chain.sets(rig, descriptors, Way::Sets);
    let commands = rig.commands(pool, PRIMARY);
    for seed in 0..12 {
        let len = 1024 - 40 * (seed as usize / 2);
        chain.fill(seed);
        unsafe {
            rig.device.reset_command_pool(pool, vk::CommandPoolResetFlags::empty()).expect("it is reset")
        };
        rig.begin(commands, NONE);
        for ((kernel, _), set) in STEPS.iter().zip(&sets) {
            rig.bind(commands, *kernel, Way::Sets, len);
            let (point, layout) = (vk::PipelineBindPoint::COMPUTE, rig.layout(Way::Sets));
            unsafe { rig.device.cmd_bind_descriptor_sets(commands, point, layout, 0, &[*set], &[]) };
            unsafe { rig.device.cmd_dispatch(commands, 4, 1, 1) };
            rig.barrier(commands);
        }
        rig.end(commands);
        rig.run(&[commands]);
        let found = chain.0[5].read();
        assert!(found[len..].iter().all(|value| value.is_nan()), "behind {len} nothing is written");
        let (x, y) = (numbers(1024, seed), numbers(1024, seed + 1000));
        let expected: Vec<f32> = x.iter().zip(&y).take(len).map(|(x, y)| (x * y - y) * x - x * y).collect();
        same("up to the length", &found[..len], &expected);
    }
    clean(rig, &[chain], descriptors, pool);
}

fn threads(rig: &Rig) {
    std::thread::scope(|scope| {
        for thread in 0..2u32 {
            scope.spawn(move || {
                let chain = Chain::new(rig, 500 + 100 * thread as usize);
                let (descriptors, pool) = (rig.descriptors(4), rig.pool());
                let sets = chain.sets(rig, descriptors, Way::Sets);
                let commands = rig.commands(pool, PRIMARY);
                for seed in 0..10 {
                    let none = vk::CommandPoolResetFlags::empty();
                    unsafe { rig.device.reset_command_pool(pool, none).expect("it is reset") };
                    once(rig, &chain, &sets, commands, Way::Sets, 100 * thread + seed);
                }
                clean(rig, &[chain], descriptors, pool);
            });
        }
    });
}

/// A command buffer that may be pending more than once; and two in one batch.
fn twice(rig: &Rig) {
    let chains = [Chain::new(rig, 400), Chain::new(rig, 400)];
    let (descriptors, pool) = (rig.descriptors(8), rig.pool());
    let all: Vec<vk::CommandBuffer> = chains
        .iter()
        .map(|chain| {
            let sets = chain.sets(rig, descriptors, Way::Sets);
            let commands = rig.commands(pool, PRIMARY);
            rig.begin(commands, vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
            rig.barrier(commands);
            chain.record(rig, commands, &sets, Way::Sets);
            rig.end(commands);
            commands
        })
        .collect();
    for seed in 0..4 {
        chains.iter().zip(0..).for_each(|(chain, number)| chain.fill(10 * number + seed));
        rig.run(&[all[0], all[1], all[0]]);
        chains.iter().zip(0..).for_each(|(chain, number)| chain.check(10 * number + seed));
    }
    clean(rig, &chains, descriptors, pool);
}

/// A timestamp; and a secondary command buffer.
fn unfollowed(rig: &Rig) {
    let chain = Chain::new(rig, 256);
    let (descriptors, pool) = (rig.descriptors(4), rig.pool());
    let sets = chain.sets(rig, descriptors, Way::Sets);
    let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(1);
    let queries = unsafe { rig.device.create_query_pool(&info, None).expect("a pool") };
    let timed = rig.commands(pool, PRIMARY);
    rig.begin(timed, NONE);
    unsafe { rig.device.cmd_reset_query_pool(timed, queries, 0, 1) };
    chain.record(rig, timed, &sets, Way::Sets);
    let stage = vk::PipelineStageFlags::COMPUTE_SHADER;
    unsafe { rig.device.cmd_write_timestamp(timed, stage, queries, 0) };
    rig.end(timed);
    let inner = rig.commands(pool, vk::CommandBufferLevel::SECONDARY);
    let of_none = vk::CommandBufferInheritanceInfo::default();
    let info = vk::CommandBufferBeginInfo::default().inheritance_info(&of_none);
    unsafe { rig.device.begin_command_buffer(inner, &info).expect("it begins") };
    chain.record(rig, inner, &sets, Way::Sets);
    unsafe { rig.device.end_command_buffer(inner).expect("it ends") };
    let outer = rig.commands(pool, PRIMARY);
    rig.begin(outer, NONE);
    unsafe { rig.device.cmd_execute_commands(outer, &[inner]) };
    rig.end(outer);
    for (seed, commands) in [(1, timed), (2, outer), (3, timed), (4, outer)] {
        chain.fill(seed);
        rig.run(&[commands]);
        chain.check(seed);
        let mut times = [0u64; 1];
        if commands == timed {
            let wait = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
            unsafe { rig.device.get_query_pool_results(queries, 0, &mut times, wait).expect("a time") };
            assert_ne!(times[0], 0);
        }
    }
    unsafe { rig.device.destroy_query_pool(queries, None) };
    clean(rig, &[chain], descriptors, pool);
}

/// A layout that commands were recorded with may be gone when they are submitted.
fn layouts(rig: &Rig) {
    let chain = Chain::new(rig, 256);
    let (descriptors, pool) = (rig.descriptors(4), rig.pool());
    let sets = chain.sets(rig, descriptors, Way::Sets);
    let commands = rig.commands(pool, PRIMARY);
    for seed in 0..3 {
        chain.fill(seed);
        let gone = rig.other_layout();
        unsafe {
            rig.device.reset_command_pool(pool, vk::CommandPoolResetFlags::empty()).expect("it is reset")
        };
        rig.begin(commands, NONE);
        for ((kernel, _), set) in STEPS.iter().zip(&sets) {
            rig.bind(commands, *kernel, Way::Sets, 256);
            let point = vk::PipelineBindPoint::COMPUTE;
            unsafe { rig.device.cmd_bind_descriptor_sets(commands, point, gone, 0, &[*set], &[]) };
            unsafe { rig.device.cmd_dispatch(commands, 1, 1, 1) };
            rig.barrier(commands);
        }
        rig.end(commands);
        unsafe { rig.device.destroy_pipeline_layout(gone, None) };
        rig.run(&[commands]);
        chain.check(seed);
    }
    clean(rig, &[chain], descriptors, pool);
}

/// A new command buffer takes the handle of one that was freed.
fn freed(rig: &Rig) {
    let chains = [Chain::new(rig, 450), Chain::new(rig, 350)];
    let (descriptors, pool) = (rig.descriptors(8), rig.pool());
    let sets = [0, 1].map(|number: usize| chains[number].sets(rig, descriptors, Way::Sets));
    for seed in 0..8 {
        let (number, commands) = (seed as usize % 2, rig.commands(pool, PRIMARY));
        once(rig, &chains[number], &sets[number], commands, Way::Sets, seed);
        unsafe { rig.device.free_command_buffers(pool, &[commands]) };
    }
    clean(rig, &chains, descriptors, pool);
}
