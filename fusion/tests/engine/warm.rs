//! Lists that are run again and again, without the schedule, and what else happens meanwhile: kept ones, and ones that are recorded each time.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use vkfuse::{
    Buffer, CacheOptions, Context, ContextOptions, Event, FusedList, FusionProperties, FusionWrapper, Kernel,
    Outcome, Promote, Queue, QueueOptions,
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

/// `x = 2 x + y`.
struct Step {
    queue: Queue,
    kernel: Kernel,
    x: Buffer<u32>,
    y: Buffer<u32>,
    between: Buffer<u32>,
    /// If it is kept, and not recorded each time.
    kept: Option<FusedList>,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Kept,
    Recorded,
}

const BOTH: [How; 2] = [How::Kept, How::Recorded];

impl Step {
    /// One that has run once.
    fn new(how: How, queue: &Queue, kernel: &Kernel, x: &Buffer<u32>, y: &Buffer<u32>) -> Step {
        let between = queue.context().scratch::<u32>(N as usize).expect("a buffer");
        let (queue, kernel, x, y) = (queue.clone(), kernel.clone(), x.clone(), y.clone());
        let mut step = Step { queue, kernel, x, y, between, kept: None };
        match how {
            How::Kept => {
                let fusion = FusionWrapper::new(&step.queue).expect("a queue that fuses");
                fusion.start_fusion().expect("fusion mode");
                step.submit(&step.queue);
                let (event, list) = fusion.complete_and_keep(&FusionProperties::default()).expect("kept");
                assert_eq!(event.outcome(), Outcome::Fused);
                step.kept = Some(list);
            }
            How::Recorded => assert_eq!(step.run().outcome(), Outcome::Fused),
        }
        step
    }

    fn submit(&self, queue: &Queue) {
        let Step { kernel, x, y, between, .. } = self;
        add(queue, kernel, [x, x, between]);
        add(queue, kernel, [between, y, x]);
    }

    fn run(&self) -> Event {
        match &self.kept {
            Some(list) => list.run().expect("a run"),
            None => self.run_on(&self.queue),
        }
    }

    fn run_on(&self, queue: &Queue) -> Event {
        match &self.kept {
            Some(list) => list.run_on(queue).expect("a run"),
            None => {
                let fusion = FusionWrapper::new(queue).expect("a queue that fuses");
                fusion.start_fusion().expect("fusion mode");
                self.submit(queue);
                fusion.complete_fusion(&FusionProperties::default()).expect("a run")
            }
        }
    }

    /// Becomes a part of the list that its queue records.
    fn join(&self) {
        match &self.kept {
            Some(list) => drop(list.run().expect("listed")),
            None => self.submit(&self.queue),
        }
    }
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
    for how in BOTH {
        let (x, y) = (buffer(context, 3), buffer(context, 7));
        let step = Step::new(how, queue, &kernel, &x, &y);
        let (mut wanted, others) = ((0..N).map(|at| at + 3).collect::<Vec<_>>(), y.download().expect("y"));
        stepped(&mut wanted, &others, 1);
        // What is recorded is known when it comes again, and known on these buffers when it comes once more.
        (0..4).for_each(|_| drop(step.run()));
        stepped(&mut wanted, &others, 4);
        let before = context.stats();
        let mut last = None;
        for _ in 0..200 {
            last = Some(step.run());
        }
        stepped(&mut wanted, &others, 200);
        let run = context.stats() - before;
        assert_eq!((run.made_again, run.lists_fused, run.memory_hits, run.submits), (200, 200, 200, 200));
        let last = last.expect("a run");
        assert_eq!(last.outcome(), Outcome::Fused);
        assert!(last.report().is_some());
        last.wait().expect("it ran");
        assert_eq!(x.download().expect("x"), wanted, "{how:?}");
    }
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
    for (how, reads) in [
        (How::Kept, How::Kept),
        (How::Recorded, How::Kept),
        (How::Kept, How::Recorded),
        (How::Recorded, How::Recorded),
    ] {
        let (x, y, z) = (buffer(context, 3), buffer(context, 7), buffer(context, 0));
        let (list, reader) =
            (Step::new(how, queue, &kernel, &x, &y), Step::new(reads, queue, &kernel, &z, &x));
        let [mut wanted, others] = [&x, &y].map(|buffer| buffer.download().expect("contents"));
        let mut sums = z.download().expect("contents");
        let mut random = 1_u32;
        for round in 0..400 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let runs = (random >> 20) as usize % 7;
            (0..runs).for_each(|_| drop(list.run()));
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
                    (0..runs).for_each(|_| drop(reader.run()));
                    stepped(&mut sums, &wanted, runs);
                }
                8 => {
                    fusion.start_fusion().expect("fusion mode");
                    add(queue, &kernel, [&x, &y, &z]);
                    list.join();
                    fusion.complete_fusion(&FusionProperties::default()).expect("run");
                    let all = sums.iter_mut().zip(&wanted).zip(&others);
                    all.for_each(|((sum, x), y)| *sum = x.wrapping_add(*y));
                    stepped(&mut wanted, &others, 1);
                }
                9 => {
                    list.run_on(&other);
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
}

/// What changes without a look at what is pending: fusion mode, in which a run is listed, and names, which reports have.
#[test]
fn fusion_mode_and_names_end_it() {
    let Some(rig) = rig() else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    let (x, y) = (buffer(context, 3), buffer(context, 7));
    let step = Step::new(How::Kept, queue, &kernel, &x, &y);
    let list = step.kept.as_ref().expect("kept");
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

/// A run that finds the one before complete needs no barrier, and the next one does.
#[test]
fn the_first_that_finds_one_pending_waits() {
    let Some(rig) = rig() else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    for how in BOTH {
        let (x, y) = (buffer(context, 3), buffer(context, 7));
        let step = Step::new(how, queue, &kernel, &x, &y);
        (0..8).for_each(|_| step.run().wait().expect("it ran"));
        let before = context.stats();
        let pending = [step.run(), step.run(), step.run()];
        let run = context.stats() - before;
        assert_eq!((run.made_again, run.barriers), (3, 2), "{how:?}");
        drop(pending);
        let (mut wanted, others) = ((0..N).map(|at| at + 3).collect::<Vec<_>>(), y.download().expect("y"));
        stepped(&mut wanted, &others, 12);
        assert_eq!(x.download().expect("x"), wanted, "{how:?}");
    }
}

/// Lists that have nothing to do with each other take turns on a queue, and each run counts.
#[test]
fn lists_of_one_queue_take_turns() {
    let Some(rig) = rig() else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    let y = buffer(context, 7);
    let others = y.download().expect("y");
    let steps = BOTH.map(|how| {
        [3, 5].map(|start| {
            let x = buffer(context, start);
            let mut wanted: Vec<u32> = (0..N).map(|at| at + start).collect();
            stepped(&mut wanted, &others, 1);
            (Step::new(how, queue, &kernel, &x, &y), wanted)
        })
    });
    let mut steps: Vec<_> = steps.into_iter().flatten().collect();
    let mut random = 1_u32;
    for round in 0..2000 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let runs = (random >> 20) as usize % 9;
        let (step, wanted) = &mut steps[random as usize >> 30];
        (0..runs).for_each(|_| drop(step.run()));
        stepped(wanted, &others, runs);
        if (random >> 24) & 15 == 0 {
            for (step, wanted) in &steps {
                assert_eq!(step.x.download().expect("x"), *wanted, "round {round}");
            }
        }
    }
}

/// Of lists that run without the schedule it hears in any order.
#[test]
fn a_wait_for_the_queue_waits_for_all_of_them() {
    let Some(rig) = rig() else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    for how in [[How::Kept, How::Kept], [How::Kept, How::Recorded]] {
        let steps = how.map(|how| Step::new(how, queue, &kernel, &buffer(context, 3), &buffer(context, 7)));
        for _ in 0..2 {
            // The second time both only repeat, the first one first, and the schedule hears of that one first.
            steps.iter().for_each(|step| (0..4).for_each(|_| drop(step.run())));
            queue.wait().expect("all of it");
        }
        steps.iter().for_each(|step| (0..4).for_each(|_| drop(step.run())));
        let mut last = steps[0].run();
        (1..4000).for_each(|_| last = steps[0].run());
        queue.wait().expect("all of it");
        assert!(last.is_complete(), "{how:?}");
    }
}

/// Who reads a buffer ends the list that writes it, and not one that was begun since, on other buffers.
#[test]
fn who_reads_ends_no_other_list() {
    let Some(rig) = rig() else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    let y = buffer(context, 7);
    let [read, other] =
        [3, 5].map(|start| Step::new(How::Recorded, queue, &kernel, &buffer(context, start), &y));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(SeqCst) {
                read.x.download().expect("contents");
                thread::yield_now();
            }
        });
        for list in 0..8000 {
            // It may be ended, and so run unfused.
            read.run();
            let event = other.run();
            assert_eq!(event.outcome(), Outcome::Fused, "list {list}");
        }
        done.store(true, SeqCst);
    });
}

/// The same of a list that is recorded each time: names, promotions, completion in another way, another argument.
#[test]
fn what_is_recorded_otherwise_is_not_run_as_before() {
    let Some(rig) = rig() else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    let (x, y, other) = (buffer(context, 3), buffer(context, 7), buffer(context, 90));
    let step = Step::new(How::Recorded, queue, &kernel, &x, &y);
    let fusion = FusionWrapper::new(queue).expect("a queue that fuses");
    let (mut wanted, others) = ((0..N).map(|at| at + 3).collect::<Vec<_>>(), y.download().expect("y"));
    let else_added = other.download().expect("contents");
    stepped(&mut wanted, &others, 1);
    for round in 0..6 {
        (0..10).for_each(|_| drop(step.run()));
        stepped(&mut wanted, &others, 10);
        fusion.start_fusion().expect("fusion mode");
        match round % 6 {
            0 => step.submit(queue),
            1 => {
                add(queue, &kernel, [&x, &x, &step.between]);
                add(queue, &kernel, [&step.between, &other, &x]);
            }
            2 => add(queue, &kernel, [&x, &x, &step.between]),
            3 => {
                step.submit(queue);
                step.submit(queue);
            }
            4 => {
                step.submit(queue);
                y.set_name("another name");
            }
            _ => {
                step.between.set_promotion(Promote::None);
                step.submit(queue);
            }
        }
        let properties = FusionProperties::default();
        let done = match round {
            0 => {
                fusion.cancel_fusion().expect("run");
                None
            }
            _ => Some(fusion.complete_fusion(&properties).expect("run")),
        };
        match round {
            2 => wanted.iter().zip(step.between.download().expect("between")).for_each(|(x, two)| {
                assert_eq!(x.wrapping_mul(2), two);
            }),
            1 => stepped(&mut wanted, &else_added, 1),
            3 => stepped(&mut wanted, &others, 2),
            _ => stepped(&mut wanted, &others, 1),
        }
        if round == 4 {
            let report = done.and_then(|done| done.report()).expect("a report");
            assert!(format!("{report:?}").contains("another name"), "{report:#?}");
        }
        assert_eq!(x.download().expect("x"), wanted, "round {round}");
    }
}

/// What kernels are passed is passed, be it what all runs before were or not.
#[test]
fn other_scalars_are_passed() {
    let Some(rig) = rig() else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let scale = context.load_spirv(support::shader("pair/scale")).expect("a kernel");
    let x = context.buffer_from(&[1_i32; N as usize]).expect("a buffer");
    let between = context.scratch::<i32>(N as usize).expect("a buffer");
    let run = |factors: [i32; 2]| {
        let fused = queue.fuse(|queue| {
            for (from, to, factor) in [(&x, &between, factors[0]), (&between, &x, factors[1])] {
                queue.submit(|h| {
                    h.arg(0, from.read())
                        .arg(1, to.write())
                        .push(&[N as i32, factor])
                        .dispatch_items(&scale, [N, 1, 1]);
                })?;
            }
            Ok(())
        });
        assert_eq!(fused.expect("a run").outcome(), Outcome::Fused);
    };
    let mut wanted = 1_i32;
    for round in 0..20 {
        for factors in [[3, 5], [3, 5], [3, 5], [3, 5], [3, 5], [3, if round % 2 == 0 { 7 } else { 5 }]] {
            run(factors);
            wanted = factors.iter().fold(wanted, |x, factor| x.wrapping_mul(*factor));
        }
    }
    assert_eq!(x.download().expect("x"), [wanted; N as usize]);
}

/// Threads with lists of their own, beside one that does whatever asks for the schedule. A kept list is run by two.
#[test]
fn threads_run_lists_of_their_own() {
    let Some(rig) = rig() else { return };
    BOTH.into_iter().for_each(|how| threads_run(&rig, how));
}

fn threads_run(rig: &Rig, how: How) {
    const RUNS: usize = 1500;
    let context = &rig.context;
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    let y = buffer(context, 7);
    let others = y.download().expect("y");
    let lists: Vec<_> = (0..3)
        .map(|start| {
            let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue");
            let x = buffer(context, start);
            (Step::new(how, &queue, &kernel, &x, &y), x)
        })
        .collect();
    let before = context.stats().made_again;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let runners: &[usize] = if matches!(how, How::Kept) { &[0, 1, 2, 2] } else { &[0, 1, 2] };
        let runs = runners.iter().map(|at| {
            let list = &lists[*at].0;
            scope.spawn(move || (0..RUNS).for_each(|_| drop(list.run())))
        });
        let runs: Vec<_> = runs.collect();
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
    let last = if matches!(how, How::Kept) { 2 * RUNS } else { RUNS };
    for (start, (times, (_, x))) in (0..).zip([RUNS, RUNS, last].into_iter().zip(&lists)) {
        let mut wanted: Vec<u32> = (0..N).map(|at| at + start).collect();
        stepped(&mut wanted, &others, times + 1);
        assert_eq!(x.download().expect("x"), wanted, "list {start}");
    }
    let all = (2 * RUNS + last) as u64;
    assert!(context.stats().made_again - before >= all - 16, "{:?}", context.stats());
}

/// A list that goes takes with it what its runs used, and so do buffers that go.
#[test]
fn a_warm_list_that_goes_frees_its_memory() {
    let Some(rig) = rig() else { return };
    let (context, queue) = (&rig.context, &rig.queue);
    let kernel = context.load_spirv(support::shader("pair/add")).expect("a kernel");
    let y = buffer(context, 7);
    for how in BOTH {
        let before = context.objects().buffers;
        let x = buffer(context, 3);
        let step = Step::new(how, queue, &kernel, &x, &y);
        (0..20).for_each(|_| drop(step.run()));
        context.wait().expect("all of it");
        drop((step, x));
        assert!(context.objects().buffers <= before, "{how:?} {:?}", context.objects());
    }
}
