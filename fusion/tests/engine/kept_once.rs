//! Kept lists that are run once with other buffers or scalars, without a list of their own.

use vkfuse::{
    Buffer, Error, Event, FusedList, FusionProperties, FusionWrapper, Outcome, Queue, QueueOptions,
    SubmitError,
};

use crate::support::Rig;

const N: usize = 1000;

fn of(rig: &Rig, first: i32) -> Buffer<i32> {
    let data: Vec<i32> = (first..first + N as i32).collect();
    rig.context.buffer_from(&data).unwrap()
}

fn sum(rig: &Rig, queue: &Queue, [a, b, z]: [&Buffer<i32>; 3]) -> Result<Event, Error> {
    let kernel = rig.kernel("pair/add");
    queue.submit(|h| {
        let n = N as u32;
        h.arg(0, a.read()).arg(1, b.read()).arg(2, z.write()).push(&n).dispatch_items(&kernel, [n, 1, 1]);
    })
}

fn scaled(rig: &Rig, queue: &Queue, [x, z]: [&Buffer<i32>; 2], factor: i32) -> Result<Event, Error> {
    let kernel = rig.kernel("pair/scale");
    queue.submit(|h| {
        let n = N as u32;
        h.arg(0, x.read()).arg(1, z.write()).push(&n).push(&factor).dispatch_items(&kernel, [n, 1, 1]);
    })
}

/// `out = (x + y) * 3`, with the sum inside, run once and kept.
struct Threefold {
    x: Buffer<i32>,
    y: Buffer<i32>,
    inside: Buffer<i32>,
    out: Buffer<i32>,
    list: FusedList,
}

impl Threefold {
    fn new(rig: &Rig) -> Threefold {
        let (x, y) = (of(rig, 1), of(rig, 10));
        let (inside, out) = (rig.context.scratch(N).unwrap(), rig.context.buffer(N).unwrap());
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        sum(rig, &rig.queue, [&x, &y, &inside]).unwrap();
        scaled(rig, &rig.queue, [&inside, &out], 3).unwrap();
        let (event, list) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
        assert_eq!(event.outcome(), Outcome::Fused);
        // The second run is the first that is made again.
        list.run().unwrap();
        Threefold { x, y, inside, out, list }
    }

    /// On another input and output; whether it was made again.
    fn once(&self, rig: &Rig, x: &Buffer<i32>, out: &Buffer<i32>) -> bool {
        let before = rig.context.stats().made_again;
        let event = self.list.rebind().buffer(&self.x, x).buffer(&self.out, out).run().unwrap();
        assert_eq!(event.outcome(), Outcome::Fused);
        rig.context.stats().made_again > before
    }
}

/// Whether a buffer holds three times the sum of what starts with these.
fn assert_sums(out: &Buffer<i32>, [x, y]: [i32; 2]) {
    let expected: Vec<i32> = (0..N as i32).map(|i| 3 * (x + y + 2 * i)).collect();
    assert_eq!(out.download().unwrap(), expected);
}

#[test]
fn other_buffers_take_turns() {
    let rig = rig!();
    let three = Threefold::new(&rig);
    let others: Vec<_> = (0..6).map(|at| (of(&rig, 100 * at), rig.context.buffer(N).unwrap())).collect();
    for round in 0..3 {
        for (x, out) in &others {
            assert!(three.once(&rig, x, out), "round {round}");
        }
    }
    for (at, (_, out)) in (0..).zip(&others) {
        assert_sums(out, [100 * at, 10]);
    }
    // Fewer are other ones, more are, or none.
    three.list.rebind().buffer(&three.out, &others[0].1).run().unwrap();
    assert_sums(&others[0].1, [1, 10]);
    let all = three.list.rebind().buffer(&three.y, &others[2].0).buffer(&three.x, &others[1].0);
    all.buffer(&three.out, &others[1].1).run().unwrap();
    assert_sums(&others[1].1, [100, 200]);
    three.list.rebind().buffer(&three.x, &three.y).buffer(&three.y, &three.x).run().unwrap();
    assert_sums(&three.out, [10, 1]);
    three.out.fill(0).unwrap();
    three.list.rebind().run().unwrap();
    assert_sums(&three.out, [1, 10]);
    assert!(three.inside.download().is_err(), "the sum stays inside");
    rig.assert_no_validation_messages();
}

#[test]
fn each_report_names_the_buffers_of_its_run() {
    let rig = rig!();
    let three = Threefold::new(&rig);
    let (first, second) = (of(&rig, 1).named("first"), of(&rig, 2).named("second"));
    let event = |x: &Buffer<i32>| three.list.rebind().buffer(&three.x, x).run().unwrap();
    let events = [&first, &second].map(event);
    for (event, (of, name)) in events.iter().zip([(&first, "first"), (&second, "second")]) {
        let report = event.report().unwrap();
        assert_eq!((report.submissions, report.buffer_name(of.id())), (2, Some(name)));
        assert_eq!(report.buffer_name(three.x.id()), None);
    }
}

#[test]
fn what_is_written_in_between_is_read() {
    let rig = rig!();
    let three = Threefold::new(&rig);
    let second = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let (x, out, times) = (of(&rig, 5), rig.context.buffer(N).unwrap(), of(&rig, 7));
    for round in 0..40 {
        // What stays the same in the list is written by the host, by the queue, by another queue, or not at all.
        let y = match round % 4 {
            0 => {
                three.y.upload(&(round..round + N as i32).collect::<Vec<_>>()).unwrap();
                round
            }
            1 => {
                scaled(&rig, &rig.queue, [&times, &three.y], 1).unwrap();
                7
            }
            2 => {
                scaled(&rig, &second, [&x, &three.y], 1).unwrap();
                5
            }
            _ => 5,
        };
        three.once(&rig, &x, &out);
        // And what it reads is overwritten at once.
        scaled(&rig, if round % 3 == 0 { &second } else { &rig.queue }, [&times, &x], 0).unwrap();
        assert_sums(&out, [5, y]);
        x.upload(&(5..5 + N as i32).collect::<Vec<_>>()).unwrap();
    }
    rig.assert_no_validation_messages();
}

#[test]
fn what_cannot_be_read_is_refused() {
    let rig = rig!();
    let three = Threefold::new(&rig);
    let (x, out) = (of(&rig, 5), rig.context.buffer(N).unwrap());
    assert!(three.once(&rig, &x, &out) && three.once(&rig, &x, &out));
    let unreadable = |result: Result<Event, Error>| {
        matches!(result, Err(Error::Submit { problem: SubmitError::Unreadable { .. }, .. }))
    };
    // What stayed inside another list, in place of an input or as the one that stays.
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    let lose = |lost: &Buffer<i32>| {
        let (add, scale, n) = (rig.kernel("pair/add"), rig.kernel("pair/scale"), N as u32);
        fusion.start_fusion().unwrap();
        let inside = || (lost.read().promote_private(), lost.write().promote_private());
        let first = rig.queue.submit(|h| {
            h.arg(0, x.read()).arg(1, x.read()).arg(2, inside().1).push(&n).dispatch_items(&add, [n, 1, 1]);
        });
        let second = rig.queue.submit(|h| {
            h.arg(0, inside().0).arg(1, out.write()).push(&n).push(&1).dispatch_items(&scale, [n, 1, 1]);
        });
        first.and(second).unwrap();
        fusion.complete_fusion(&FusionProperties::default()).unwrap();
        assert!(lost.download().is_err());
    };
    let lost = of(&rig, 3);
    lose(&lost);
    assert!(unreadable(three.list.rebind().buffer(&three.x, &lost).run()));
    assert!(three.once(&rig, &x, &out));
    lose(&three.y);
    assert!(unreadable(three.list.rebind().buffer(&three.x, &x).run()));
    three.y.upload(&(0..N as i32).collect::<Vec<_>>()).unwrap();
    three.once(&rig, &x, &out);
    assert_sums(&out, [5, 0]);
    // What a run keeps inside can be read after it was written, and no more after the next run.
    three.inside.fill(1).unwrap();
    assert_eq!(three.inside.download().unwrap(), [1; N]);
    three.once(&rig, &x, &out);
    assert!(three.inside.download().is_err());
    // What cannot be in its place is refused as ever.
    let longer = rig.context.buffer::<i32>(N + 1).unwrap();
    assert!(three.list.rebind().buffer(&three.x, &longer).run().is_err());
    assert!(three.list.rebind().buffer(&three.x, &three.out).run().is_err());
}

#[test]
fn in_fusion_mode_it_joins_the_list() {
    let rig = rig!();
    let three = Threefold::new(&rig);
    let (x, out) = (of(&rig, 5), rig.context.buffer(N).unwrap());
    assert!(three.once(&rig, &x, &out));
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    let listed = three.list.rebind().buffer(&three.x, &x).push(1, &[N as i32, 5]).run().unwrap();
    assert_eq!(listed.outcome(), Outcome::Pending);
    fusion.complete_fusion(&FusionProperties::default()).unwrap();
    let expected: Vec<i32> = (0..N as i32).map(|i| 5 * (15 + 2 * i)).collect();
    assert_eq!(three.out.download().unwrap(), expected);
    // Other scalars need no list either.
    let before = rig.context.stats().made_again;
    for factor in [7, 9] {
        three.list.rebind().push(1, &[N as i32, factor]).buffer(&three.x, &x).run().unwrap();
        let expected: Vec<i32> = (0..N as i32).map(|i| factor * (15 + 2 * i)).collect();
        assert_eq!(three.out.download().unwrap(), expected);
    }
    assert_eq!(rig.context.stats().made_again - before, 2);
    assert!(three.once(&rig, &x, &out));
    assert_sums(&out, [5, 10]);
}

#[test]
fn buffers_that_go_while_it_runs_stay_until_it_has() {
    let rig = rig!();
    let three = Threefold::new(&rig);
    let out = rig.context.buffer(N).unwrap();
    let before = rig.context.objects();
    for round in 0..200 {
        let x = of(&rig, round);
        three.once(&rig, &x, &out);
        drop(x);
        if round % 50 == 0 {
            assert_sums(&out, [round, 10]);
        }
    }
    rig.queue.wait().unwrap();
    assert!(rig.context.objects().buffers <= before.buffers + 1);
    let (list, y) = (three.list.clone(), three.y.clone());
    let Threefold { x, out: own, .. } = three;
    let event = list.rebind().buffer(&own, &out).run().unwrap();
    drop((list, x, y, own));
    event.wait().unwrap();
    assert_sums(&out, [1, 10]);
    rig.assert_no_validation_messages();
}
