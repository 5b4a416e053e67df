//! Buffers that hold one value after another: what is overwritten later in the list is not written, and everything else is.

use crate::support::{Buf, Ran, Rig, Size, Submit, Workload};
use vkfuse::{Buffer, Event, FusionProperties, FusionWrapper, Kernel, Outcome, Promote, Queue, QueueOptions};

const N: u32 = 1000;

fn flat(kernel: &str, inputs: [Buf; 2], to: Buf) -> Submit {
    let [x, y] = inputs;
    Submit::new(&format!("chain/{kernel}"), Size::Items([N, 1, 1])).read(0, x).read(1, y).write(2, to).push(N)
}

/// From the other end, so that it is another work-group's element.
fn reversed(from: Buf, to: Buf) -> Submit {
    Submit::new("access/reverse", Size::Items([N, 1, 1])).read(0, from).write(1, to).push(N)
}

/// Two inputs, and buffers that are used again.
fn inputs() -> (Workload, [Buf; 2]) {
    let mut list = Workload::default();
    let x = list.floats("x", (0..N).map(|i| 0.25 * i as f32 - 90.0));
    let y = list.floats("y", (0..N).map(|i| 3.0 - 0.5 * i as f32));
    (list, [x, y])
}

/// Two buffers by turns.
fn ping_pong() -> (Workload, [Buf; 3]) {
    let (mut list, [x, y]) = inputs();
    let [t, u, out] = ["t", "u", "out"].map(|name| list.poisoned(name, N as usize));
    list.submit(flat("mul", [x, y], t));
    list.submit(flat("sub", [t, y], u));
    list.submit(flat("mul", [u, x], t));
    list.submit(flat("sub", [t, x], u));
    list.submit(flat("mul", [u, y], out));
    (list, [t, u, out])
}

/// Demands these renamed values: the submissions that use each, and the one that overwrites it.
#[track_caller]
fn assert_renamed(ran: &Event, expected: &[(&[usize], usize)]) {
    let report = ran.report().unwrap();
    let renamed: Vec<(Vec<usize>, Vec<usize>)> = report
        .plan
        .renamed
        .iter()
        .map(|one| (one.arguments.iter().map(|&(at, _)| at).collect(), one.overwritten_by.clone()))
        .collect();
    let expected: Vec<_> = expected.iter().map(|&(users, by)| (users.to_vec(), vec![by])).collect();
    assert_eq!(renamed, expected, "{:#?}", report.plan);
}

fn of(ran: &Ran) -> &Event {
    ran.complete.as_ref().expect("a fused run")
}

#[test]
fn ping_pong_writes_the_last_values() {
    let rig = rig!();
    let (list, _) = ping_pong();
    let ran = list.check_equal(&rig);
    ran.assert_ran(&Outcome::Fused, 1);
    assert_renamed(of(&ran), &[(&[0, 1], 2), (&[1, 2], 3)]);
    let plain = list.check_as_they_are(&rig);
    assert_renamed(of(&plain), &[]);
}

#[test]
fn a_pool_does_not_split_a_list() {
    let rig = rig!();
    let (mut list, [x, y]) = inputs();
    let [t, u, v] = ["t", "u", "v"].map(|name| list.poisoned(name, N as usize));
    list.submit(flat("mul", [x, y], t));
    list.submit(flat("sub", [t, y], u));
    // Another work-group writes it now.
    list.submit(reversed(x, t));
    list.submit(flat("mul", [u, x], v));
    let ran = list.check_equal(&rig);
    ran.assert_ran(&Outcome::Fused, 1);
    assert_renamed(of(&ran), &[(&[0, 1], 2)]);
    list.check_as_they_are(&rig).assert_ran(&Outcome::Split, 2);
}

#[test]
fn what_another_dispatch_overwrites_is_readable() {
    let rig = rig!();
    let mut list = Workload::default();
    let n: u32 = 1024;
    let x = list.words("x", (0..n).map(|i| i.wrapping_mul(2_654_435_761) >> 20));
    let [t, u, v] = ["t", "u", "v"].map(|name| list.poisoned(name, n as usize));
    let scan = |size: u32, from: Buf, to: Buf| {
        let groups = Size::Groups([n / size, 1, 1]);
        Submit::new("groups/exclusive_scan", groups).spec(0, size).read(0, from).write(1, to).push(size)
    };
    list.submit(scan(64, x, t));
    list.submit(scan(64, t, u));
    list.submit(scan(128, u, v));
    list.submit(scan(128, v, t));
    let ran = list.check_equal(&rig);
    ran.assert_ran(&Outcome::Split, 2);
    assert_renamed(of(&ran), &[(&[0, 1], 3)]);
    assert!(ran.buffers.iter().all(|buffer| buffer.download().is_ok()));
}

#[test]
fn a_promotion_is_of_the_last_value() {
    let rig = rig!();
    let (mut list, [t, _, _]) = ping_pong();
    list.promote(t, Promote::Private);
    let ran = list.check_equal(&rig);
    ran.assert_ran(&Outcome::Fused, 1);
    ran.assert_internalized(t, Promote::Private);
}

#[test]
fn lists_with_renamed_values_run_again() {
    let rig = rig!();
    let (list, _) = ping_pong();
    let expected = list.run_unfused(&rig);
    let all = |of: &[Buffer<u32>]| of.iter().map(|one| one.download().unwrap()).collect::<Vec<_>>();
    let buffers = list.allocate(&rig);
    let others = list.allocate(&rig);
    let run = |buffers: &[Buffer<u32>]| {
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        list.submit_all(&rig, buffers);
        fusion.complete_fusion(&FusionProperties::default()).unwrap()
    };
    // Planned, noted, recorded, from the tape; and on other buffers.
    for round in 0..8 {
        let used = if round % 3 == 2 { &others } else { &buffers };
        let event = run(used);
        event.wait().unwrap();
        assert_renamed(&event, &[(&[0, 1], 2), (&[1, 2], 3)]);
        let report = event.report().unwrap();
        assert_eq!(report.plan.renamed[0].buffer, used[2].id(), "{:#?}", report.plan);
        assert_eq!(all(used), all(&expected.buffers), "round {round}");
    }
    rig.assert_no_validation_messages();
}

#[test]
fn kept_lists_and_first_runs_on_the_device_rename() {
    let rig = rig!();
    let (list, _) = ping_pong();
    let expected = list.run_unfused(&rig);
    let verified = list.run_fused(&rig, &FusionProperties::default().verify_first_run(true));
    assert_eq!(verified.report().checks[0].agreed, Some(true), "{:#?}", verified.report().checks);
    assert_renamed(of(&verified), &[(&[0, 1], 2), (&[1, 2], 3)]);
    verified.assert_equals(&expected);
    let buffers = list.allocate(&rig);
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    list.submit_all(&rig, &buffers);
    let (event, kept) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
    assert_renamed(&event, &[(&[0, 1], 2), (&[1, 2], 3)]);
    for _ in 0..3 {
        let event = kept.run().unwrap();
        event.wait().unwrap();
        assert_renamed(&event, &[(&[0, 1], 2), (&[1, 2], 3)]);
        for (own, expected) in buffers.iter().zip(&expected.buffers) {
            assert_eq!(own.download().unwrap(), expected.download().unwrap());
        }
    }
    rig.assert_no_validation_messages();
}

/// `scale` by a push constant, from one buffer to another.
struct Scales {
    scale: Kernel,
    x: Buffer<i32>,
    t: Buffer<i32>,
    u: Buffer<i32>,
}

impl Scales {
    fn new(rig: &Rig) -> Scales {
        let x: Vec<i32> = (0..N as i32).map(|i| i - 70).collect();
        Scales {
            scale: rig.kernel("pair/scale"),
            x: rig.context.buffer_from(&x).unwrap(),
            t: rig.context.buffer_from(&[-1; N as usize]).unwrap(),
            u: rig.context.buffer_from(&[-2; N as usize]).unwrap(),
        }
    }

    fn submit(&self, queue: &Queue, factors: [i32; 3]) {
        for ((from, to), factor) in
            [(&self.x, &self.t), (&self.t, &self.u), (&self.u, &self.t)].into_iter().zip(factors)
        {
            queue
                .submit(|h| {
                    h.arg(0, from.read()).arg(1, to.write()).push(&N).push(&factor);
                    h.dispatch_items(&self.scale, [N, 1, 1]);
                })
                .unwrap();
        }
    }
}

#[test]
fn other_push_constants_reach_renamed_values() {
    let rig = rig!();
    let list = Scales::new(&rig);
    let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    // Different ones, the same ones, and which of them are equal changes.
    let all = [[2, 3, 5], [7, 11, 13], [2, 3, 5], [4, 4, 9], [4, 4, 9], [1, 2, 2], [17, 19, 23], [3, 3, 3]];
    for (round, factors) in all.into_iter().enumerate() {
        let fusion = FusionWrapper::new(&queue).unwrap();
        fusion.start_fusion().unwrap();
        list.submit(&queue, factors);
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        assert_renamed(&event, &[(&[0, 1], 2)]);
        let [a, b, c] = factors;
        let times = |by: i32| (0..N as i32).map(|i| (i - 70) * by).collect::<Vec<i32>>();
        assert_eq!(list.t.download().unwrap(), times(a * b * c), "round {round}");
        assert_eq!(list.u.download().unwrap(), times(a * b), "round {round}");
    }
    rig.assert_no_validation_messages();
}
