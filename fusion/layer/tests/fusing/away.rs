//! Scenes in which the layer looks away, and again. It does so after some submissions in which it fuses nothing, and when a pipeline is made.

use crate::rig::{Kernel, Rig, Way};
use crate::scenes::{Chain, NONE, PRIMARY, STEPS, clean, numbers, once};
use ash::vk;

/// Submissions of one dispatch each after which the layer does not look any more, whatever it saw before.
const QUIET: u32 = 300;

/// Submits one dispatch again and again, recorded anew each time; `between` is called in front of each.
fn quiet(rig: &Rig, count: u32, mut between: impl FnMut(u32)) {
    let chain = Chain::new(rig, 64);
    let (descriptors, pool) = (rig.descriptors(1), rig.pool());
    let set = rig.set(descriptors, Way::Sets, chain.of([0, 1, 2]));
    let commands = rig.commands(pool, PRIMARY);
    chain.fill(7);
    let (x, y) = (numbers(64, 7), numbers(64, 1007));
    let expected: Vec<u32> = x.iter().zip(&y).map(|(x, y)| (x * y).to_bits()).collect();
    for number in 0..count {
        between(number);
        let none = vk::CommandPoolResetFlags::empty();
        unsafe { rig.device.reset_command_pool(pool, none).expect("it is reset") };
        rig.begin(commands, vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        rig.dispatch(commands, Kernel::Mul, Way::Sets, set, 64);
        rig.end(commands);
        chain.fill(7);
        rig.run(&[commands]);
        let found: Vec<u32> = chain.place(2).read().iter().map(|value| value.to_bits()).collect();
        assert_eq!(found, expected, "submission {number}");
    }
    clean(rig, &[chain], descriptors, pool);
}

/// Sets change while the layer does not look: what it knew of them is wrong when it looks again.
pub(crate) fn changes(rig: &Rig) {
    let chains = [Chain::new(rig, 640), Chain::new(rig, 640)];
    let (descriptors, pool) = (rig.descriptors(4), rig.pool());
    let sets = chains[0].sets(rig, descriptors, Way::Sets);
    let commands = rig.commands(pool, PRIMARY);
    let anew = || {
        let none = vk::CommandPoolResetFlags::empty();
        unsafe { rig.device.reset_command_pool(pool, none).expect("it is reset") };
    };
    let update = |chain: &Chain| {
        for ((_, places), set) in STEPS.iter().zip(&sets) {
            rig.update(*set, Way::Sets, chain.of(*places));
        }
    };
    for seed in 0..3 {
        anew();
        once(rig, &chains[0], &sets, commands, Way::Sets, seed);
    }
    quiet(rig, QUIET, |_| ());
    // Unseen, up to the last.
    quiet(rig, QUIET + 1, |number| update(&chains[1 - number as usize % 2]));
    let again = |seed| {
        anew();
        once(rig, &chains[1], &sets, commands, Way::Sets, seed);
    };
    again(10);
    let pipeline = rig.pipeline();
    // The layer looks when this is submitted; what was recorded before it did not see.
    again(11);
    again(12);
    update(&chains[1]);
    (13..18).for_each(again);
    unsafe { rig.device.destroy_pipeline(pipeline, None) };
    clean(rig, &chains, descriptors, pool);
}

/// Of a command buffer the layer sees the beginning and the end, and not all between them.
pub(crate) fn parts(rig: &Rig) {
    let chain = Chain::new(rig, 640);
    let (descriptors, pool) = (rig.descriptors(4), rig.pool());
    let sets = chain.sets(rig, descriptors, Way::Sets);
    let commands = rig.commands(pool, PRIMARY);
    rig.begin(commands, NONE);
    let mut pipeline = vk::Pipeline::null();
    for ((number, (kernel, _)), set) in STEPS.iter().enumerate().zip(&sets) {
        match number {
            2 => quiet(rig, QUIET, |_| ()),
            3 => {
                pipeline = rig.pipeline();
                quiet(rig, 1, |_| ());
            }
            _ => {}
        }
        rig.dispatch(commands, *kernel, Way::Sets, *set, 640);
        rig.barrier(commands);
    }
    rig.end(commands);
    for seed in 0..3 {
        chain.fill(seed);
        rig.run(&[commands]);
        chain.check(seed);
    }
    unsafe { rig.device.destroy_pipeline(pipeline, None) };
    clean(rig, &[chain], descriptors, pool);
}
