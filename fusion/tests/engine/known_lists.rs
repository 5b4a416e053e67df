//! Lists that come again: recorded for later when they come for the second time, and the same as ever to anyone who looks.

use crate::support::Rig;
use vkfuse::{
    Buffer, CancelCause, Error, Event, FusionProperties, FusionWrapper, Kernel, Outcome, Queue, QueueOptions,
    SubmitError, Tier,
};

pub(super) const N: usize = 1000;

/// `out = x * a * b` through a temporary.
pub(super) struct Chain {
    pub(super) scale: Kernel,
    pub(super) x: Buffer<i32>,
    pub(super) tmp: Buffer<i32>,
    pub(super) out: Buffer<i32>,
}

impl Chain {
    pub(super) fn new(rig: &Rig) -> Chain {
        Chain {
            scale: rig.kernel("pair/scale"),
            x: rig.context.buffer_from(&iota(1)).unwrap(),
            tmp: rig.context.scratch(N).unwrap(),
            out: rig.context.buffer_from(&[-1; N]).unwrap(),
        }
    }

    pub(super) fn one(
        &self,
        queue: &Queue,
        from: &Buffer<i32>,
        factor: i32,
        to: &Buffer<i32>,
    ) -> Result<Event, Error> {
        queue.submit(|h| {
            h.arg(0, from.read()).arg(1, to.write()).push(&(N as u32)).push(&factor);
            h.dispatch_items(&self.scale, [N as u32, 1, 1]);
        })
    }

    pub(super) fn fuse(&self, queue: &Queue, a: i32, b: i32) -> Event {
        queue
            .fuse(|queue| {
                self.one(queue, &self.x, a, &self.tmp)?;
                self.one(queue, &self.tmp, b, &self.out)?;
                Ok(())
            })
            .unwrap()
    }
}

pub(super) fn iota(factor: i32) -> Vec<i32> {
    (0..N as i32).map(|i| i * factor).collect()
}

/// A report is text for people: what became one kernel, where buffers are, and at which access a list was split.
#[test]
fn a_report_says_in_words_what_happened() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    chain.tmp.set_name("between");
    let list = chain.fuse(&rig.queue, 2, 3);
    let report = list.report().unwrap().to_string();
    assert!(
        report.starts_with("fused: 2 submissions, 1 dispatch\n0 `scale`, 1 `scale`: one kernel"),
        "{report}"
    );
    assert!(report.contains("\nbuffer `between` in registers, asked for promotion"), "{report}");
    let sum = rig.kernel("pair/add");
    let list = rig.queue.fuse_with(&FusionProperties::new().no_rewrites(), |queue| {
        chain.one(queue, &chain.x, 2, &chain.tmp)?;
        // What another invocation has stored.
        queue.submit(|h| {
            h.arg(0, chain.tmp.read().range(4, N - 4)).arg(1, chain.x.read()).arg(2, chain.out.write());
            h.push(&(N as u32 - 4)).dispatch_items(&sum, [N as u32, 1, 1]);
        })?;
        Ok(())
    });
    let report = list.unwrap().report().unwrap().to_string();
    assert!(report.starts_with("refused: "), "{report}");
    assert!(
        report.contains("\nsplit after 0 `scale`: ")
            && report.contains("buffer `between`, docs/reasons.md#cross-group; "),
        "{report}"
    );
    rig.assert_no_validation_messages();
}

#[test]
fn the_same_list_again_and_again() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    for round in 1..8 {
        chain.x.upload(&iota(round)).unwrap();
        chain.out.fill(-1).unwrap();
        let before = rig.context.stats();
        let event = chain.fuse(&rig.queue, 2, 3);
        assert_eq!(event.outcome(), Outcome::Fused);
        assert_eq!(chain.out.download().unwrap(), iota(6 * round), "round {round}");
        assert!(chain.tmp.download().is_err(), "round {round}: the temporary stays inside");
        let made = rig.context.stats() - before;
        assert_eq!((made.dispatches, made.lists_fused), (1, 1), "round {round}");
        assert_eq!(made.made_again, u64::from(round > 2), "round {round}: recorded in the second");
        let report = event.report().unwrap();
        assert_eq!(report.memory(), if round == 1 { Tier::Miss } else { Tier::Hit });
        assert_eq!((report.submissions, report.dispatches), (2, 1));
        assert_eq!(report.buffer_name(chain.out.id()), Some(&*chain.out.name()));
    }
    rig.assert_no_validation_messages();
}

#[test]
fn without_waits_they_keep_their_order() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    let factor = |event: &[Event]| event.len() as i32;
    let mut events = Vec::new();
    for _ in 0..9 {
        events.push(
            rig.queue
                .fuse(|queue| {
                    chain.one(queue, &chain.x, 3, &chain.out)?;
                    chain.one(queue, &chain.out, 1, &chain.x)?;
                    Ok(())
                })
                .unwrap(),
        );
    }
    assert_eq!(chain.x.download().unwrap(), iota(3i32.pow(factor(&events) as u32)));
    assert_eq!(rig.context.stats().made_again, 7);
    rig.assert_no_validation_messages();
}

#[test]
fn two_lists_that_begin_alike() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    for round in 0..12 {
        let b = 3 + round % 3;
        chain.fuse(&rig.queue, 2, b);
        assert_eq!(chain.out.download().unwrap(), iota(2 * b), "round {round}");
        // The factor is passed on: it is one list.
        assert_eq!(rig.context.stats().made_again, (round as u64).saturating_sub(1), "round {round}");
    }
    // Lists that begin alike and go on with other numbers of elements are several.
    let made = rig.context.stats().made_again;
    for round in 0..12 {
        let count = N - round % 3;
        chain.out.fill(-1).unwrap();
        rig.queue
            .fuse(|queue| {
                chain.one(queue, &chain.x, 2 + round as i32, &chain.tmp)?;
                queue.submit(|h| {
                    h.arg(0, chain.tmp.read()).arg(1, chain.out.write()).push(&(count as u32)).push(&5i32);
                    h.dispatch_items(&chain.scale, [N as u32, 1, 1]);
                })?;
                Ok(())
            })
            .unwrap();
        let factor = 5 * (2 + round as i32);
        let expected: Vec<i32> =
            (0..N as i32).map(|i| if i < count as i32 { factor * i } else { -1 }).collect();
        assert_eq!(chain.out.download().unwrap(), expected, "round {round}");
    }
    // Of the first all but the one round whose two factors are equal; of the others all but the first two.
    assert_eq!(rig.context.stats().made_again - made, 3 + 2 + 2);
    // A list that stops where the known ones go on.
    for _ in 0..3 {
        let event = rig.queue.fuse(|queue| chain.one(queue, &chain.x, 2, &chain.tmp).map(drop)).unwrap();
        assert_eq!(event.report().unwrap().submissions, 1);
        assert_eq!(chain.tmp.download().unwrap(), iota(2));
    }
    // And one that goes on where the known ones stop.
    for _ in 0..3 {
        rig.queue
            .fuse(|queue| {
                chain.one(queue, &chain.x, 2, &chain.tmp)?;
                chain.one(queue, &chain.tmp, 3, &chain.out)?;
                chain.one(queue, &chain.out, 5, &chain.x)?;
                Ok(())
            })
            .unwrap();
        assert_eq!(chain.x.download().unwrap(), iota(30));
        chain.x.upload(&iota(1)).unwrap();
    }
    rig.assert_no_validation_messages();
}

#[test]
fn what_observes_a_known_list_cancels_it() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    chain.fuse(&rig.queue, 2, 3);
    chain.fuse(&rig.queue, 2, 3);
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    let other = rig.context.queue(QueueOptions::new()).unwrap();
    let last = rig.context.buffer::<i32>(N).unwrap();
    let observers: [(CancelCause, &dyn Fn()); 5] = [
        (CancelCause::HostRead, &|| assert_eq!(chain.tmp.download().unwrap(), iota(2))),
        (CancelCause::HostWrite, &|| chain.x.upload(&iota(1)).unwrap()),
        (CancelCause::Command, &|| drop(rig.queue.copy(&chain.tmp, &last).unwrap())),
        (CancelCause::OtherQueue, &|| drop(chain.one(&other, &chain.tmp, 7, &last).unwrap())),
        (CancelCause::QueueWait, &|| rig.queue.wait().unwrap()),
    ];
    for (by, observe) in observers {
        let known = chain.fuse(&rig.queue, 2, 3);
        assert_eq!(known.outcome(), Outcome::Fused);
        fusion.start_fusion().unwrap();
        let listed = chain.one(&rig.queue, &chain.x, 2, &chain.tmp).unwrap();
        assert_eq!(listed.outcome(), Outcome::Pending);
        assert!(rig.queue.is_in_fusion_mode());
        observe();
        assert_eq!(listed.outcome(), Outcome::Cancelled { by });
        assert_eq!(chain.tmp.download().unwrap(), iota(2), "{by}");
    }
    rig.assert_no_validation_messages();
}

#[test]
fn a_buffer_can_go_and_another_come() {
    let rig = rig!();
    let mut chain = Chain::new(&rig);
    for round in 0..40 {
        chain.fuse(&rig.queue, 2, 3);
        assert_eq!(chain.out.download().unwrap(), iota(6), "round {round}");
        if round % 4 == 3 {
            // Memory, and with luck addresses, are used again.
            chain.out = rig.context.buffer_from(&[-1; N]).unwrap();
            chain.tmp = rig.context.scratch(N).unwrap();
        }
    }
    rig.assert_no_validation_messages();
}

/// A queue keeps the buffers of the list that it expects only as long as the user has handles of them, whatever state the list
/// is in.
#[test]
fn buffers_of_an_expected_list_go_with_their_handles() {
    let rig = rig!();
    let buffers = || {
        rig.context.wait().unwrap();
        rig.context.objects().buffers
    };
    let chain = || {
        let chain = Chain::new(&rig);
        (0..4).for_each(|_| drop(chain.fuse(&rig.queue, 2, 3)));
        assert_eq!(chain.out.download().unwrap(), iota(6));
        chain
    };
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    chain();
    let before = buffers();
    let ends: [(&str, &dyn Fn(Chain)); 5] = [
        ("expected", &drop),
        ("listed, run", &|chain| {
            let Chain { scale: _, x, tmp, out } = &chain;
            fusion.start_fusion().unwrap();
            chain.one(&rig.queue, x, 5, tmp).unwrap();
            chain.one(&rig.queue, tmp, 7, out).unwrap();
            let out = out.clone();
            drop(chain);
            let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
            assert_eq!(event.outcome(), Outcome::Fused);
            assert_eq!(out.download().unwrap(), iota(35));
        }),
        ("listed, run, none left", &|chain| {
            fusion.start_fusion().unwrap();
            chain.one(&rig.queue, &chain.x, 2, &chain.tmp).unwrap();
            chain.one(&rig.queue, &chain.tmp, 3, &chain.out).unwrap();
            drop(chain);
            fusion.complete_fusion(&FusionProperties::default()).unwrap().wait().unwrap();
        }),
        ("listed in part", &|chain| {
            fusion.start_fusion().unwrap();
            chain.one(&rig.queue, &chain.x, 2, &chain.tmp).unwrap();
            let tmp = chain.tmp.clone();
            drop(chain);
            fusion.cancel_fusion().unwrap();
            assert_eq!(tmp.download().unwrap(), iota(2));
        }),
        ("listed in part, then otherwise", &|Chain { scale, x, tmp, out }| {
            let chain = Chain { scale, x, tmp, out: rig.context.buffer_from(&[-1; N]).unwrap() };
            fusion.start_fusion().unwrap();
            chain.one(&rig.queue, &chain.x, 2, &chain.tmp).unwrap();
            drop(out);
            chain.one(&rig.queue, &chain.tmp, 3, &chain.out).unwrap();
            fusion.complete_fusion(&FusionProperties::default()).unwrap();
            assert_eq!(chain.out.download().unwrap(), iota(6));
        }),
    ];
    for (what, end) in ends {
        end(chain());
        assert_eq!(buffers(), before, "{what}");
    }
    rig.assert_no_validation_messages();
}

#[test]
fn a_property_that_changes_is_heeded() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    for _ in 0..3 {
        chain.fuse(&rig.queue, 2, 3);
    }
    assert!(chain.tmp.download().is_err());
    let _ = chain.tmp.clone().no_promotion();
    for _ in 0..3 {
        chain.fuse(&rig.queue, 2, 3);
        assert_eq!(chain.tmp.download().unwrap(), iota(2), "it is not to stay inside any more");
    }
    let trusting = FusionProperties::new().force_fusion();
    for _ in 0..3 {
        let event =
            rig.queue.fuse_with(&trusting, |queue| chain.one(queue, &chain.x, 2, &chain.tmp).map(drop));
        assert!(event.is_ok());
    }
    rig.assert_no_validation_messages();
}

#[test]
fn what_cannot_be_read_is_refused_in_known_lists_too() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    let last = rig.context.buffer::<i32>(N).unwrap();
    let read = || rig.queue.fuse(|queue| chain.one(queue, &chain.tmp, 5, &last).map(drop));
    chain.tmp.upload(&iota(1)).unwrap();
    for _ in 0..3 {
        read().unwrap();
        assert_eq!(last.download().unwrap(), iota(5));
    }
    chain.fuse(&rig.queue, 2, 3);
    let Err(Error::Submit { problem: SubmitError::Unreadable { .. }, .. }) = read() else {
        panic!("the temporary holds nothing readable")
    };
    chain.tmp.upload(&iota(3)).unwrap();
    read().unwrap();
    assert_eq!(last.download().unwrap(), iota(15));
}

#[test]
fn submissions_outside_fusion_mode_come_again_too() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    for round in 1..6 {
        chain.x.upload(&iota(round)).unwrap();
        let before = rig.context.stats();
        chain.one(&rig.queue, &chain.x, 2, &chain.tmp).unwrap();
        let event = chain.one(&rig.queue, &chain.tmp, 3, &chain.out).unwrap();
        assert_eq!(event.outcome(), Outcome::Unfused);
        assert_eq!(chain.out.download().unwrap(), iota(6 * round), "round {round}");
        let made = rig.context.stats() - before;
        assert_eq!((made.dispatches, made.made_again), (2, if round > 2 { 2 } else { 0 }));
    }
    rig.assert_no_validation_messages();
}

#[test]
fn on_several_queues_and_threads() {
    let rig = rig!();
    let chains: Vec<Chain> = (0..2).map(|_| Chain::new(&rig)).collect();
    std::thread::scope(|scope| {
        for chain in &chains {
            let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
            scope.spawn(move || {
                for round in 1..50 {
                    chain.x.upload(&iota(round)).unwrap();
                    chain.fuse(&queue, 2, 3);
                    assert_eq!(chain.out.download().unwrap(), iota(6 * round));
                }
            });
        }
    });
    // The same list from queue to queue.
    let queues: Vec<Queue> =
        (0..3).map(|_| rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap()).collect();
    let chain = &chains[0];
    for round in 1..30 {
        chain.x.upload(&iota(round)).unwrap();
        chain.fuse(&queues[round as usize % 3], 2, 3);
        chain.fuse(&queues[round as usize % 2], 2, 3);
        assert_eq!(chain.out.download().unwrap(), iota(6 * round));
    }
    rig.assert_no_validation_messages();
}

#[test]
fn a_forgotten_cache_is_forgotten() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    for _ in 0..3 {
        chain.fuse(&rig.queue, 2, 3);
    }
    rig.context.clear_memory_cache();
    let event = chain.fuse(&rig.queue, 2, 3);
    assert_eq!(event.report().unwrap().memory(), Tier::Miss);
    assert_eq!(chain.out.download().unwrap(), iota(6));
}

#[test]
fn times_are_taken_of_lists_that_run_again() {
    let rig = rig!();
    let queue = rig.context.queue(QueueOptions::new().enable_fusion(true).profiling(true)).unwrap();
    let chain = Chain::new(&rig);
    // More at once than clocks are made at a time, and then one after the other.
    let events: Vec<Event> = (0..100).map(|_| chain.fuse(&queue, 2, 3)).collect();
    assert_eq!(rig.context.stats().made_again, 98);
    Event::wait_all(&events).unwrap();
    let timed = |event: &Event| event.gpu_time().is_some();
    if !timed(&events[0]) {
        return println!("skipped: the queue has no timestamps");
    }
    assert!(events.iter().all(timed));
    let times: Vec<_> = events.iter().map(Event::gpu_time).collect();
    for _ in 0..100 {
        let event = chain.fuse(&queue, 2, 3);
        event.wait().unwrap();
        assert!(timed(&event));
    }
    assert_eq!(events.iter().map(Event::gpu_time).collect::<Vec<_>>(), times, "what was read stays");
    assert!(!timed(&chain.fuse(&rig.queue, 2, 3)), "times were not asked for");
    assert_eq!(chain.out.download().unwrap(), iota(6));
    rig.assert_no_validation_messages();
}

#[test]
fn new_buffers_have_zeros_where_nothing_is_written() {
    let rig = rig!();
    let mut chain = Chain::new(&rig);
    for round in 0..12 {
        // Its bytes are still there where its memory is used again.
        drop(rig.context.buffer_from(&[7; N]).unwrap());
        rig.context.wait().unwrap();
        chain.out = rig.context.buffer(N).unwrap();
        chain.tmp = rig.context.scratch(N).unwrap();
        let n = if round % 2 == 0 { N } else { N / 2 };
        let one = |queue: &Queue, from: &Buffer<i32>, to: &Buffer<i32>| {
            queue.submit(|h| {
                h.arg(0, from.read()).arg(1, to.write()).push(&(n as u32)).push(&2i32);
                h.dispatch_items(&chain.scale, [n as u32, 1, 1]);
            })
        };
        let event = rig.queue.fuse(|queue| {
            one(queue, &chain.x, &chain.tmp)?;
            one(queue, &chain.tmp, &chain.out)?;
            Ok(())
        });
        assert_eq!(event.unwrap().outcome(), Outcome::Fused);
        let wanted: Vec<i32> = (0..N as i32).map(|i| if (i as usize) < n { 4 * i } else { 0 }).collect();
        assert_eq!(chain.out.download().unwrap(), wanted, "round {round}");
        let fresh = rig.context.buffer::<i32>(N).unwrap();
        assert_eq!(fresh.download().unwrap(), [0; N], "round {round}");
    }
    assert_eq!(
        rig.context.stats().made_again,
        8,
        "each of the two lists is known when it comes for the third time"
    );
    rig.assert_no_validation_messages();
}
