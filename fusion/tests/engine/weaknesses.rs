//! What an engine that fuses on the user's word gets wrong, one test for each weakness that takes a device to show;
//! `docs/weaknesses.md` lists them all. The others are in `jit/tests/rules/weaknesses.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Pair, Size, Submit, Workload, poison};
use vkfuse::Promote::Private;
use vkfuse::{CancelCause, FusionProperties, FusionWrapper, Outcome, QueueOptions, Reason};

/// Ids of ranges that start elsewhere are not mixed up: such a submission runs by itself.
#[test]
fn w06_a_base_is_the_submissions_own() {
    let rig = rig!();
    let add = rig.kernel("pair/add");
    // From group 2, of 2 and of 4 groups; and from group 0 next to group 2.
    for parts in [[(2, 2), (2, 4)], [(0, 2), (2, 2)]] {
        let n = 8 * 16_u32;
        let x = rig.context.buffer_from(&(0..n).collect::<Vec<u32>>()).unwrap();
        let outs = [0, 1].map(|_| rig.context.buffer_from(&poison(n as usize)).unwrap());
        let done = rig.queue.fuse(|queue| {
            for ((base, groups), out) in parts.into_iter().zip(&outs) {
                queue.submit(|h| {
                    h.arg(0, x.read()).arg(1, x.read()).arg(2, out.write()).push(&n);
                    h.dispatch_base(&add, [base, 0, 0], [groups, 1, 1]);
                })?;
            }
            Ok(())
        });
        let outcome = done.unwrap().outcome();
        assert_eq!(outcome, Outcome::Refused { reason: Reason::BaseGroups { base: [2, 0, 0] } });
        for ((base, groups), out) in parts.into_iter().zip(&outs) {
            for (i, (value, before)) in
                out.download().unwrap().into_iter().zip(poison(n as usize)).enumerate()
            {
                let inside = (base * 16..(base + groups) * 16).contains(&(i as u32));
                assert_eq!(value, if inside { 2 * i as u32 } else { before }, "{i}");
            }
        }
    }
    rig.assert_no_validation_messages();
}

/// Push constants at offsets 0, 16 and 28, with something else between them.
#[test]
fn w07_padding_is_no_value() {
    let rig = rig!();
    let n = 300;
    let mut list = Workload::default();
    let x = list.floats("x", (0..n).map(|i| i as f32));
    let [tmp, out] = ["tmp", "out"].map(|name| list.poisoned(name, n as usize));
    list.promote(tmp, Private);
    for (from, to) in [(x, tmp), (tmp, out)] {
        let submit = Submit::new("forms/push_padding", Size::Items([n, 1, 1])).read(0, from).write(1, to);
        let padded = [n, 0x0102_0304, u32::MAX, 7].into_iter().fold(submit, Submit::push);
        list.submit([2.0, 3.0, 4.0, 0.5].into_iter().fold(padded, Submit::push_f32));
    }
    let ran = list.check_fused(&rig);
    for (i, &value) in ran.floats(out).iter().enumerate() {
        let factor = [2.0, 3.0, 4.0][i % 3];
        assert_eq!(value, (i as f32 * factor + 0.5) * factor + 0.5, "out[{i}]");
    }
    ran.assert_internalized(tmp, Private);
}

/// One module with other constants is another kernel: inside one list, and in the next list.
#[test]
fn w14_constants_make_another_kernel() {
    let rig = rig!();
    let run = |operators: [u32; 2]| {
        let mut list = Workload::default();
        let x = list.words("x", 1..129);
        let outs = [0, 1].map(|_| list.poisoned("out", 128));
        for (operator, out) in operators.into_iter().zip(outs) {
            let submit = Submit::new("groups/exclusive_scan", Size::Groups([2, 1, 1])).spec(1, operator);
            list.submit(submit.read(0, x).write(1, out).push(0));
        }
        let before = rig.context.stats().jit_builds;
        // Nothing is handed on, so a GPU had better run both at the same time.
        let ran = list.check_fused_with(&rig, &FusionProperties::default().force_fusion());
        (outs.map(|out| ran.words(out)[5]), rig.context.stats().jit_builds - before)
    };
    // Sums and maxima of 1 to 5.
    assert_eq!(run([0, 2]).0, [15, 5]);
    let (values, builds) = run([2, 0]);
    assert_eq!(values, [5, 15]);
    assert!(builds > 0, "the other order is other code");
    assert_eq!(run([0, 2]), ([15, 5], 0), "and the first is still there");
}

/// A scalar that counts is data.
#[test]
fn w16_a_counter_builds_nothing() {
    let rig = rig!();
    let (increment, n) = (rig.kernel("access/increment"), 256_u32);
    let x = rig.context.buffer_from(&vec![0.0_f32; n as usize]).unwrap();
    let run = |count: u32| {
        let done = rig.queue.fuse(|queue| {
            for step in [count as f32, 0.5] {
                queue.submit(|h| {
                    h.arg(0, x.read_write()).push(&n).push(&step).dispatch_items(&increment, [n, 1, 1]);
                })?;
            }
            Ok(())
        });
        assert_eq!(done.unwrap().outcome(), Outcome::Fused);
    };
    run(1);
    let before = rig.context.stats();
    (2..102).for_each(run);
    let after = rig.context.stats() - before;
    assert_eq!((after.jit_builds, after.dispatches), (0, 100));
    assert_eq!(x.download().unwrap(), vec![(1..102).sum::<u32>() as f32 + 101.0 * 0.5; n as usize]);
    rig.assert_no_validation_messages();
}

/// Copies inside fusion mode, panics in a submission and dropped queues end a list or leave it as it was; nothing hangs and
/// no work is lost.
#[test]
fn w20_nothing_leaves_a_queue_stuck() {
    let rig = rig!();
    let pair = Pair::new(512);
    let copy = rig.context.buffer_from(&poison(512)).unwrap();
    // A copy of what a listed kernel writes.
    let buffers = pair.workload.allocate(&rig);
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    let events = pair.workload.submit_all(&rig, &buffers);
    rig.queue.copy(&buffers[4], &copy).unwrap();
    assert!(!fusion.is_in_fusion_mode());
    assert_eq!(events[0].outcome(), Outcome::Cancelled { by: CancelCause::Command });
    assert_eq!(copy.download().unwrap()[3], 20 * 9);
    fusion.complete_fusion(&FusionProperties::default()).unwrap().wait().unwrap();
    // A panic in a submission, and the queue dropped with the list open.
    let buffers = pair.workload.allocate(&rig);
    let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let fusion = FusionWrapper::new(&queue).unwrap();
    fusion.start_fusion().unwrap();
    let mut events = Vec::new();
    for submit in pair.workload.submits() {
        let kernel = submit.kernel(&rig);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            queue.submit(|h| {
                submit.record(&kernel, &buffers, h);
                assert!(buffers.is_empty(), "a panic inside a submit closure");
            })
        }));
        assert!(!matches!(panicked, Ok(Ok(_))));
        assert!(fusion.is_in_fusion_mode());
        events.push(queue.submit(|h| submit.record(&kernel, &buffers, h)).unwrap());
    }
    drop((queue, fusion));
    for event in &events {
        event.wait().unwrap();
        assert_eq!(event.outcome(), Outcome::Cancelled { by: CancelCause::QueueDropped });
    }
    assert_eq!(buffers[4].download().unwrap()[5], 20 * 25);
    rig.assert_no_validation_messages();
}
