//! Kept and known lists on other buffers, on devices whose descriptors may be updated after they were bound and on others.

use std::sync::Arc;
use std::thread;

use vkfuse::{Buffer, Context, Event, FusedList, Kernel, Queue};

use super::{
    N, chained, counting,
    device::{Made, Own},
    fusing, own,
    record::keep,
    support::shader,
};

/// What a list is run on.
struct On {
    by: u32,
    x: Buffer<u32>,
    out: Buffer<u32>,
}

impl On {
    fn new(context: &Context, by: u32) -> On {
        let data: Vec<u32> = counting().iter().map(|x| x + by).collect();
        // With contents, so that nothing has to be filled.
        let (x, out) = (context.buffer_from(&data).unwrap(), context.buffer_from(&counting()).unwrap());
        On { by, x, out }
    }

    fn assert_chained(&self) {
        let got = self.out.download().unwrap();
        assert!(got.iter().zip(0..N).all(|(got, x)| *got == chained(x + self.by)), "by {}", self.by);
    }
}

/// A list that is kept, and known, on a queue.
struct Kept {
    list: FusedList,
    on: On,
    queue: Queue,
    kernels: [Kernel; 2],
}

impl Kept {
    fn new(context: &Context) -> Kept {
        let (queue, on) = (fusing(context), On::new(context, 0));
        let list = keep(&queue, &on.x, &on.out);
        // The second run is the first that is made again.
        list.run().unwrap().wait().unwrap();
        let kernels = ["pair/add", "pair/mul"].map(|name| context.load_spirv(shader(name)).unwrap());
        Kept { list, on, queue, kernels }
    }

    fn run(&self, on: &On) -> Event {
        let with = self.list.rebind().buffer(&self.on.x, &on.x).buffer(&self.on.out, &on.out);
        with.run().unwrap()
    }

    /// By its submissions.
    fn follow(&self, On { x, out, .. }: &On, sum: &Buffer<u32>) -> Event {
        let submit = |queue: &Queue| {
            for (kernel, [a, b, z]) in self.kernels.iter().zip([[x, x, sum], [sum, x, out]]) {
                queue.submit(|h| {
                    h.arg(0, a.read()).arg(1, b.read()).arg(2, z.write());
                    h.push(&N).dispatch_items(kernel, [N, 1, 1]);
                })?;
            }
            Ok(())
        };
        self.queue.fuse(submit).unwrap()
    }
}

/// With and without, both with arguments as push constants and in a buffer.
fn all() -> impl Iterator<Item = Made> {
    let made = [(false, None), (false, Some(0)), (true, None), (true, Some(0))];
    made.into_iter().map(|(after_bind, push_bytes)| Made { after_bind, push_bytes, ..Made::default() })
}

#[test]
fn lists_on_other_buffers_are_recorded_once_where_that_is_possible() {
    for made in all() {
        let own = own!(made);
        let context = own.context();
        let kept = Kept::new(&context);
        let others: Vec<On> = (1..30).map(|by| On::new(&context, by)).collect();
        let sum = context.scratch::<u32>(N as usize).unwrap();
        let mut recorded = 0;
        for round in 0..3 {
            let before = context.stats();
            for on in &others {
                kept.run(on).wait().unwrap();
                on.assert_chained();
            }
            let after = context.stats() - before;
            assert_eq!((after.made_again, after.jit_builds), (29, 0));
            recorded = after.recordings;
            assert!(own.after_bind || recorded == 29, "round {round}: {recorded}");
        }
        // Some of the first rounds are recorded: as many as are in flight until somebody looks.
        assert!(!own.after_bind || recorded == 0, "{recorded}");
        // The same list by its submissions, on buffers that are new each time.
        let mut recorded = Vec::new();
        for by in 100..140 {
            let on = On::new(&context, by);
            let before = context.stats();
            kept.follow(&on, &sum).wait().unwrap();
            let after = context.stats() - before;
            recorded.push((after.made_again, after.recordings));
            on.assert_chained();
        }
        let is_right = |counts: &(u64, u64)| *counts == (1, u64::from(!own.after_bind));
        assert!(recorded[25..].iter().all(is_right), "{recorded:?}");
        drop((others, kept, sum, context));
        own.close(Vec::new(), &[]);
    }
}

#[test]
fn many_runs_on_other_buffers_are_in_flight_at_once() {
    for made in all() {
        let own = own!(made);
        let context = own.context();
        let kept = Kept::new(&context);
        let others: Vec<On> = (1..100).map(|by| On::new(&context, by)).collect();
        for _ in 0..4 {
            others.iter().for_each(|on| on.out.fill(0).unwrap());
            let events: Vec<Event> = others.iter().map(|on| kept.run(on)).collect();
            // What is not needed any more goes while it is pending.
            drop(events);
            drop(On::new(&context, 7));
            others.iter().for_each(On::assert_chained);
        }
        let last: Vec<Event> = (200..260).map(|by| kept.run(&On::new(&context, by))).collect();
        last.iter().for_each(|event| event.wait().unwrap());
        drop((last, others, kept, context));
        own.close(Vec::new(), &[]);
    }
}

#[test]
fn threads_run_lists_on_other_buffers_of_one_queue() {
    for made in all() {
        let own = own!(made);
        let context = own.context();
        let kept = Arc::new(Kept::new(&context));
        thread::scope(|scope| {
            for thread in 0..3 {
                let (context, kept) = (&context, kept.clone());
                scope.spawn(move || {
                    for round in 0..40 {
                        let on = On::new(context, 1000 * thread + round);
                        kept.run(&on);
                        on.assert_chained();
                    }
                });
            }
        });
        drop((kept, context));
        own.close(Vec::new(), &[]);
    }
}
