//! A kept list that one thread runs while another one records a known list on the same queue: one of them comes first, whichever.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use vkfuse::{
    Buffer, CacheOptions, ContextOptions, Error, Event, FusionProperties, FusionWrapper, Kernel, Queue,
};

use super::support::{self, Rig};

const N: u32 = 256;
const ROUNDS: u32 = 500;

fn of_two(queue: &Queue, kernel: &Kernel, [a, b, z]: [&Buffer<u32>; 3]) -> Result<Event, Error> {
    queue.submit(|h| {
        h.arg(0, a.read()).arg(1, b.read()).arg(2, z.write()).push(&N).dispatch_items(kernel, [N, 1, 1]);
    })
}

fn scaled(queue: &Queue, kernel: &Kernel, [a, z]: [&Buffer<u32>; 2], by: u32) -> Result<Event, Error> {
    queue.submit(|h| {
        h.arg(0, a.read()).arg(1, z.write()).push(&N).push(&by).dispatch_items(kernel, [N, 1, 1]);
    })
}

#[test]
fn a_kept_run_comes_before_or_after_a_list_that_is_recorded() {
    let options = ContextOptions::from_env().cache(CacheOptions::default().no_disk());
    let Some(rig) = Rig::with(options) else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let load = |name| context.load_spirv(support::shader(name)).expect("a kernel");
    let [add, mul, scale] = ["pair/add", "pair/mul", "pair/scale"].map(load);
    let data: Vec<u32> = (0..N).collect();
    let made = || context.buffer_from(&data).expect("a buffer");
    let (x, out, result) = (made(), made(), made());
    let scratch = || context.scratch::<u32>(N as usize).expect("a buffer");
    let (inside, between) = (scratch(), scratch());
    let fusion = FusionWrapper::new(queue).expect("a queue that fuses");
    let properties = FusionProperties::default();

    // What stays inside cannot be read behind the kept list.
    fusion.start_fusion().expect("fusion mode");
    of_two(queue, &add, [&x, &x, &inside]).expect("listed");
    of_two(queue, &mul, [&inside, &x, &out]).expect("listed");
    let (_, kept) = fusion.complete_and_keep(&properties).expect("kept");

    let list = || -> Result<(), Error> {
        fusion.start_fusion()?;
        let listed = of_two(queue, &add, [&inside, &out, &between])
            .and_then(|_| scaled(queue, &scale, [&between, &result], 1));
        fusion.complete_fusion(&properties)?;
        listed.map(drop)
    };
    let fill = || {
        scaled(queue, &scale, [&x, &out], 0).expect("submitted");
        scaled(queue, &scale, [&x, &inside], 3).expect("submitted");
    };
    let known = || {
        fill();
        list().expect("what it reads is there");
        list().expect("what it reads is there");
    };
    for _ in 0..5 {
        known();
        kept.run().expect("a run");
    }
    // Only then is there something to be seen too early: no one but the kept list leaves it unreadable.
    assert!(inside.download().is_err(), "it stays inside of the kept list");
    known();
    let before = context.stats();
    known();
    assert_eq!((context.stats() - before).made_again, 4, "two lists and what fills, all of it known");

    let (turn, done, mut wrong) = (AtomicU32::new(0), AtomicU32::new(0), Vec::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                while turn.load(SeqCst) < round {
                    spin_loop();
                }
                (0..round % 97 * 5).for_each(|_| spin_loop());
                let ran = kept.run();
                done.store(round, SeqCst);
                ran.expect("a run");
            }
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
            if listed.is_err() {
                continue;
            }
            let got = result.download().expect("the result");
            let kept_first: Vec<u32> = data.iter().map(|x| 2 * x + 2 * x * x).collect();
            let list_first: Vec<u32> = data.iter().map(|x| 3 * x).collect();
            if got != kept_first && got != list_first {
                wrong.push((round, got[5]));
            }
        }
    });
    assert!(wrong.is_empty(), "of 60 or 15: {wrong:?}");
}
