//! Several threads on one context.

use std::{sync::mpsc, thread};

use vkfuse::{FusionProperties, FusionWrapper, Outcome, Queue, QueueOptions};

use crate::{N, add, iota, multiples, poison, scale};

#[test]
fn threads_with_queues_of_their_own() {
    let rig = rig!();
    rig.kernel("pair/add");
    rig.kernel("pair/scale");
    thread::scope(|scope| {
        for thread in 0..4 {
            let rig = &rig;
            scope.spawn(move || {
                let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
                let (a, tmp, out) = (iota(rig), rig.context.scratch::<i32>(N).unwrap(), poison(rig));
                for round in 1..20 {
                    let listed = queue.fuse(|queue| {
                        add(rig, queue, &a, &a, &tmp)?;
                        scale(rig, queue, &tmp, round * (thread + 1), &out).map(drop)
                    });
                    listed.unwrap();
                    assert_eq!(out.download().unwrap(), multiples(2 * round * (thread + 1)));
                }
            });
        }
    });
    rig.assert_no_validation_messages();
}

#[test]
fn threads_on_one_queue_and_one_buffer() {
    let rig = rig!();
    let total = rig.context.buffer::<i32>(N).unwrap();
    let one = rig.context.buffer_from(&vec![1; N]).unwrap();
    let add = rig.kernel("pair/add");
    thread::scope(|scope| {
        for thread in 0..4 {
            let (queue, rig, add, total, one) = (rig.queue.clone(), &rig, &add, &total, &one);
            scope.spawn(move || {
                for round in 0..25 {
                    let submitted = queue.submit(|h| {
                        h.arg(0, total.read()).arg(1, one.read()).arg(2, total.write()).push(&(N as u32));
                        h.dispatch_items(add, [N as u32, 1, 1]);
                    });
                    let event = submitted.unwrap();
                    // Some threads switch fusion mode, some observe; whatever they do, no submission is lost.
                    match (thread, round % 5) {
                        (0, 0) => {
                            let wrapper = FusionWrapper::new(&queue).unwrap();
                            let _ = wrapper.start_fusion();
                            wrapper.detach();
                        }
                        (0, 3) => drop(
                            FusionWrapper::new(&queue).unwrap().complete_fusion(&FusionProperties::default()),
                        ),
                        (1, 2) => event.wait().unwrap(),
                        (2, 4) => assert!(total.download().unwrap()[0] > 0),
                        _ => {}
                    }
                    let _ = rig.context.stats();
                }
            });
        }
    });
    assert_eq!(total.download().unwrap(), vec![100; N]);
    rig.assert_no_validation_messages();
}

/// A kept list is run, rebound and rebound again by several threads, while one changes what its buffers ask for: the list
/// is what it was recorded as.
#[test]
fn a_kept_list_is_anyones() {
    let rig = rig!();
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    let (x, tmp, out) = (iota(&rig), rig.context.scratch::<i32>(N).unwrap(), poison(&rig));
    fusion.start_fusion().unwrap();
    scale(&rig, &rig.queue, &x, 2, &tmp).unwrap();
    scale(&rig, &rig.queue, &tmp, 3, &out).unwrap();
    let (first, kept) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
    assert_eq!(first.outcome(), Outcome::Fused);
    thread::scope(|scope| {
        for thread in 0..3 {
            let (rig, kept, x, tmp, out) = (&rig, kept.clone(), &x, &tmp, &out);
            scope.spawn(move || {
                let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
                let own = poison(rig);
                let mine = kept.rebind().buffer(out, &own).finish().unwrap();
                for round in 1..25 {
                    let factor = round * 3 + thread;
                    let list = mine.rebind().push(1, &[N as i32, factor]).finish().unwrap();
                    let event = if round % 2 == 0 { list.run() } else { list.run_on(&queue) };
                    assert_eq!(event.unwrap().outcome(), Outcome::Fused);
                    assert_eq!(own.download().unwrap(), multiples(2 * factor));
                    assert!(kept.rebind().buffer(tmp, x).finish().is_err());
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..50 {
                let _ = tmp.clone().no_promotion();
                let _ = out.clone().promote_auto();
                let _ = tmp.clone().promote_auto();
                let _ = out.clone().no_promotion();
                kept.run().unwrap();
            }
        });
    });
    assert_eq!(out.download().unwrap(), multiples(6));
    rig.assert_no_validation_messages();
}

/// Two threads, each on a queue of its own and with a list that its queue expects, take turns on the same buffers: one leaves
/// its list open on every other turn, and the other sees what it has listed.
#[test]
fn threads_see_what_others_have_listed() {
    let rig = rig!();
    let (x, y) = (iota(&rig), poison(&rig));
    let (to, from) = (mpsc::channel(), mpsc::channel());
    thread::scope(|scope| {
        let (rig, x, y) = (&rig, &x, &y);
        let ((done, written), (read, again)) = (to, from);
        scope.spawn(move || {
            let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
            let fusion = FusionWrapper::new(&queue).unwrap();
            let own = poison(rig);
            for round in 0..40 {
                fusion.start_fusion().unwrap();
                let listed = scale(rig, &queue, x, round, y).unwrap();
                // What it has for itself does not matter to anybody.
                scale(rig, &queue, x, 3, &own).unwrap();
                let open = round % 2 == 1;
                if !open {
                    assert_eq!(
                        fusion.complete_fusion(&FusionProperties::default()).unwrap().outcome(),
                        Outcome::Fused
                    );
                }
                done.send(()).unwrap();
                again.recv().unwrap();
                assert_ne!(listed.outcome(), Outcome::Pending, "round {round}");
                assert!(!queue.is_in_fusion_mode(), "round {round}");
                assert_eq!(own.download().unwrap(), multiples(3));
            }
        });
        let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
        let (tmp, z) = (rig.context.scratch::<i32>(N).unwrap(), poison(rig));
        let list = |queue: &Queue| {
            scale(rig, queue, y, 5, &tmp)?;
            add(rig, queue, &tmp, y, &z).map(drop)
        };
        for round in 0..40 {
            written.recv().unwrap();
            // As a list, and as submissions by themselves, with what is known of both.
            if round % 8 < 4 { queue.fuse(list).map(drop) } else { list(&queue) }.unwrap();
            assert_eq!(z.download().unwrap(), multiples(6 * round), "round {round}");
            read.send(()).unwrap();
        }
    });
    rig.assert_no_validation_messages();
}

/// Threads whose lists, kept lists and submissions by themselves add to one buffer: none of it is lost, and none deadlocks.
#[test]
fn threads_with_queues_of_their_own_and_one_buffer() {
    const ROUNDS: i32 = 60;
    let rig = rig!();
    let (total, one) = (rig.context.buffer::<i32>(N).unwrap(), rig.context.buffer_from(&vec![1; N]).unwrap());
    thread::scope(|scope| {
        for thread in 0..3 {
            let (rig, total, one) = (&rig, &total, &one);
            scope.spawn(move || {
                let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
                let fusion = FusionWrapper::new(&queue).unwrap();
                let (own, doubled) = (iota(rig), poison(rig));
                fusion.start_fusion().unwrap();
                add(rig, &queue, total, one, total).unwrap();
                let kept = fusion.complete_and_keep(&FusionProperties::default());
                for round in 0..ROUNDS {
                    fusion.start_fusion().unwrap();
                    scale(rig, &queue, &own, 2, &doubled).unwrap();
                    add(rig, &queue, total, one, total).unwrap();
                    fusion.complete_fusion(&FusionProperties::default()).unwrap();
                    match (&kept, (round + thread) % 3) {
                        (Ok((_, kept)), 0) => drop(kept.run().unwrap()),
                        (_, 1) => assert!(total.download().unwrap()[0] > round),
                        _ => drop(add(rig, &queue, total, one, total).unwrap()),
                    }
                    if (round + thread) % 3 == 1 {
                        add(rig, &queue, total, one, total).unwrap();
                    }
                    assert_eq!(doubled.download().unwrap(), multiples(2));
                }
            });
        }
    });
    let sum = 3 * (1 + 2 * ROUNDS);
    assert_eq!(total.download().unwrap(), vec![sum; N]);
    rig.assert_no_validation_messages();
}
