//! Several threads on one context.

use std::thread;

use vkfuse::{FusionProperties, FusionWrapper, QueueOptions};

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
                        (0, 0) => drop(FusionWrapper::new(&queue).unwrap().start_fusion()),
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
