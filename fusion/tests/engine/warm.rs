//! Kept lists that are run again and again, without the schedule, and what else happens meanwhile.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use vkfuse::{
    Buffer, CacheOptions, Context, ContextOptions, FusedList, FusionProperties, FusionWrapper, Kernel,
    Outcome, Queue, QueueOptions,
};

use super::support::{self, Rig};

const N: u32 = 256;

fn rig() -> Option<Rig> {
    Rig::with(ContextOptions::from_env().cache(CacheOptions::default().no_disk()))
}

fn buffer(context: &Context, start: u32) -> Buffer<u32> {
    let data: Vec<u32> = (0..N).map(|at| at + start).collect();
    context.buffer_from(&data).expect("a buffer")
}

fn add(queue: &Queue, kernel: &Kernel, [a, b, z]: [&Buffer<u32>; 3]) {
    let submitted = queue.submit(|h| {
        h.arg(0, a.read()).arg(1, b.read()).arg(2, z.write()).push(&N).dispatch_items(kernel, [N, 1, 1]);
    });
    submitted.expect("submitted");
}

/// `x = 2 x + y`, kept after one run.
fn step(queue: &Queue, kernel: &Kernel, x: &Buffer<u32>, y: &Buffer<u32>) -> FusedList {
    let between = queue.context().scratch::<u32>(N as usize).expect("a buffer");
    let fusion = FusionWrapper::new(queue).expect("a queue that fuses");
    fusion.start_fusion().expect("fusion mode");
    add(queue, kernel, [x, x, &between]);
    add(queue, kernel, [&between, y, x]);
    let (event, list) = fusion.complete_and_keep(&FusionProperties::default()).expect("kept");
    assert_eq!(event.outcome(), Outcome::Fused);
    list
}

fn stepped(x: &mut [u32], y: &[u32], times: usize) {
    for _ in 0..times {
        x.iter_mut().zip(y).for_each(|(x, y)| *x = x.wrapping_mul(2).wrapping_add(*y));
    }
}

#[test]
fn runs_come_one_after_the_other_and_all_of_them_count() {
    let Some(rig) = rig() else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    let (x, y) = (buffer(context, 3), buffer(context, 7));
    let list = step(queue, &kernel, &x, &y);
    let (mut wanted, others) = ((0..N).map(|at| at + 3).collect::<Vec<_>>(), y.download().expect("y"));
    stepped(&mut wanted, &others, 1);
    list.run().expect("a run");
    stepped(&mut wanted, &others, 1);
    let before = context.stats();
    let mut last = None;
    for _ in 0..200 {
        last = Some(list.run().expect("a run"));
    }
    stepped(&mut wanted, &others, 200);
    let run = context.stats() - before;
    assert_eq!((run.made_again, run.lists_fused, run.memory_hits, run.submits), (200, 200, 200, 200));
    let last = last.expect("a run");
    assert_eq!(last.outcome(), Outcome::Fused);
    last.wait().expect("it ran");
    assert_eq!(x.download().expect("x"), wanted);
}

/// Whatever comes after warm runs finds what they wrote, and they find what came before: copies, uploads, kernels of this queue and of another
/// one, other kept lists, a list that is recorded.
#[test]
fn what_comes_between_is_in_order() {
    let Some(rig) = rig() else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    let other = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue");
    let fusion = FusionWrapper::new(queue).expect("a queue that fuses");
    let (x, y, z) = (buffer(context, 3), buffer(context, 7), buffer(context, 0));
    let (list, reader) = (step(queue, &kernel, &x, &y), step(queue, &kernel, &z, &x));
    let [mut wanted, others] = [&x, &y].map(|buffer| buffer.download().expect("contents"));
    let mut sums = z.download().expect("contents");
    let mut random = 1_u32;
    for round in 0..400 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let runs = (random >> 20) as usize % 7;
        (0..runs).for_each(|_| drop(list.run().expect("a run")));
        stepped(&mut wanted, &others, runs);
        match random >> 28 {
            0 => assert_eq!(x.download().expect("x"), wanted, "round {round}"),
            1 => {
                x.upload(&others).expect("an upload");
                wanted.copy_from_slice(&others);
            }
            2..=4 => {
                let by = if random >> 28 == 2 { queue } else { &other };
                add(by, &kernel, [&x, &x, &z]);
                sums.iter_mut().zip(&wanted).for_each(|(sum, x)| *sum = x.wrapping_mul(2));
            }
            5..=7 => {
                let runs = (random >> 16) as usize % 5;
                (0..runs).for_each(|_| drop(reader.run().expect("a run")));
                stepped(&mut sums, &wanted, runs);
            }
            8 => {
                fusion.start_fusion().expect("fusion mode");
                add(queue, &kernel, [&x, &y, &z]);
                // It joins the list.
                list.run().expect("listed");
                fusion.complete_fusion(&FusionProperties::default()).expect("run");
                let all = sums.iter_mut().zip(&wanted).zip(&others);
                all.for_each(|((sum, x), y)| *sum = x.wrapping_add(*y));
                stepped(&mut wanted, &others, 1);
            }
            9 => {
                list.run_on(&other).expect("a run");
                stepped(&mut wanted, &others, 1);
            }
            10 => add(&other, &kernel, [&y, &y, &buffer(context, 1)]),
            11 => assert_eq!(z.download().expect("z"), sums, "round {round}"),
            _ => {}
        }
    }
    assert_eq!(x.download().expect("x"), wanted);
    assert_eq!(z.download().expect("z"), sums);
}

/// What changes without a look at what is pending: fusion mode, in which a run is listed, and names, which reports have.
#[test]
fn fusion_mode_and_names_end_it() {
    let Some(rig) = rig() else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    let (x, y) = (buffer(context, 3), buffer(context, 7));
    let list = step(queue, &kernel, &x, &y);
    let fusion = FusionWrapper::new(queue).expect("a queue that fuses");
    for round in 0..4 {
        (0..10).for_each(|_| drop(list.run().expect("a run")));
        fusion.start_fusion().expect("fusion mode");
        let listed = list.run().expect("listed");
        assert_eq!(listed.outcome(), Outcome::Pending);
        let done = fusion.complete_fusion(&FusionProperties::default()).expect("run");
        assert_eq!((listed.outcome(), done.outcome()), (Outcome::Fused, Outcome::Fused));
        (0..10).for_each(|_| drop(list.run().expect("a run")));
        let name = format!("renamed {round}");
        y.set_name(&name);
        let report = list.run().expect("a run").report().expect("a report");
        assert!(format!("{report:?}").contains(&name), "{report:#?}");
    }
    let (mut wanted, others) = ((0..N).map(|at| at + 3).collect::<Vec<_>>(), y.download().expect("y"));
    stepped(&mut wanted, &others, 1 + 4 * 22);
    assert_eq!(x.download().expect("x"), wanted);
}

/// Threads with lists of their own, one of which is run by two, beside one that does whatever asks for the schedule.
#[test]
fn threads_run_lists_of_their_own() {
    const RUNS: usize = 1500;
    let Some(rig) = rig() else { return };
    let context = &rig.context;
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    let y = buffer(context, 7);
    let others = y.download().expect("y");
    let lists: Vec<_> = (0..3)
        .map(|start| {
            let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue");
            let x = buffer(context, start);
            (step(&queue, &kernel, &x, &y), x)
        })
        .collect();
    let before = context.stats().made_again;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let runs = [0, 1, 2, 2].map(|at| {
            let list: &FusedList = &lists[at].0;
            scope.spawn(move || (0..RUNS).for_each(|_| drop(list.run().expect("a run"))))
        });
        scope.spawn(|| {
            let (a, z) = (buffer(context, 1), buffer(context, 2));
            let mut round = 0;
            while !done.load(SeqCst) {
                add(&rig.queue, &kernel, [&a, &y, &z]);
                if round % 8 == 0 {
                    drop((context.stats(), lists[round % 3].1.download().expect("contents")));
                }
                round += 1;
                thread::yield_now();
            }
        });
        runs.into_iter().for_each(|run| run.join().expect("no panic"));
        done.store(true, SeqCst);
    });
    for (start, (times, (_, x))) in (0..).zip([RUNS, RUNS, 2 * RUNS].into_iter().zip(&lists)) {
        let mut wanted: Vec<u32> = (0..N).map(|at| at + start).collect();
        stepped(&mut wanted, &others, times + 1);
        assert_eq!(x.download().expect("x"), wanted, "list {start}");
    }
    assert!(context.stats().made_again - before >= 4 * RUNS as u64 - 8, "{:?}", context.stats());
}

/// A list that goes takes with it what its runs used.
#[test]
fn a_warm_list_that_goes_frees_its_memory() {
    let Some(rig) = rig() else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    let y = buffer(context, 7);
    let before = context.objects().buffers;
    let x = buffer(context, 3);
    let list = step(queue, &kernel, &x, &y);
    for _ in 0..20 {
        list.run().expect("a run");
    }
    context.wait().expect("all of it");
    drop((list, x));
    assert!(context.objects().buffers <= before, "{:?}", context.objects());
}
