//! The protocol of fusion mode: misuse is a typed error, and errors and panics leave the queue usable.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Pair, Size, Submit, Workload};
use vkfuse::{
    Buffer, CancelCause, Error, Event, FusionError, FusionProperties, FusionWrapper, Outcome, QueueOptions,
    Reason,
};

fn assert_out(out: &Buffer<u32>) {
    for (i, &value) in out.download().unwrap().iter().enumerate() {
        assert_eq!(value as usize, 20 * i * i, "out[{i}]");
    }
}

#[test]
fn a_queue_without_the_property() {
    let rig = rig!();
    let plain = rig.context.queue(QueueOptions::new()).unwrap();
    assert!(!plain.fusion_enabled());
    assert!(matches!(FusionWrapper::new(&plain), Err(Error::Fusion(FusionError::NotEnabled))));
    assert!(matches!(plain.fuse(|_| Ok(())), Err(Error::Fusion(FusionError::NotEnabled))));
}

#[test]
fn started_twice_or_never() {
    let rig = rig!();
    let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let fusion = FusionWrapper::new(&queue).unwrap();
    let properties = FusionProperties::default();
    assert!(matches!(fusion.complete_fusion(&properties), Err(Error::Fusion(FusionError::NotFusing))));
    fusion.cancel_fusion().unwrap();
    fusion.start_fusion().unwrap();
    assert!(matches!(fusion.start_fusion(), Err(Error::Fusion(FusionError::AlreadyFusing { .. }))));
    assert!(fusion.is_in_fusion_mode());
    fusion.cancel_fusion().unwrap();
    // A list that was ended by a cancel can be completed late, as often as one likes.
    for _ in 0..2 {
        let late = fusion.complete_fusion(&properties).unwrap();
        late.wait().unwrap();
        assert_eq!(late.outcome(), Outcome::Cancelled { by: CancelCause::Explicit });
    }
}

/// The message says which list is open, and what to do. The third time the list follows one that ran before.
#[test]
fn an_open_list_is_named() {
    let rig = rig!();
    let pair = Pair::new(512);
    let buffers = pair.workload.allocate(&rig);
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    for _ in 0..4 {
        fusion.start_fusion().unwrap();
        let error = fusion.start_fusion().unwrap_err().to_string();
        assert!(error.contains("nothing was submitted to its list yet"), "{error}");
        let events = pair.workload.submit_all(&rig, &buffers);
        let error = fusion.start_fusion().unwrap_err().to_string();
        let count = format!("its list has {} submissions", events.len());
        for words in [&*count, "`mul`", "`complete_fusion` or `cancel_fusion`", "drop the wrapper"] {
            assert!(error.contains(words), "{error}");
        }
        fusion.complete_fusion(&FusionProperties::default()).unwrap().wait().unwrap();
    }
}

/// What was submitted elsewhere is not in the list, and the report of the empty one says so.
#[test]
fn everything_went_to_another_queue() {
    let rig = rig!();
    let pair = Pair::new(512);
    let buffers = pair.workload.allocate(&rig);
    let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let fusion = FusionWrapper::new(&queue).unwrap();
    fusion.start_fusion().unwrap();
    pair.workload.submit_all(&rig, &buffers);
    let empty = fusion.complete_fusion(&FusionProperties::default()).unwrap();
    assert_eq!(empty.outcome(), Outcome::Refused { reason: Reason::Empty });
    let text = empty.report().unwrap().to_string();
    assert!(text.contains("nothing was submitted to this queue between `start_fusion`"), "{text}");
    rig.queue.wait().unwrap();
    assert_out(&buffers[4]);
}

/// Wrappers over one queue, and clones of them, share its state.
#[test]
fn two_wrappers_of_one_queue() {
    let rig = rig!();
    let pair = Pair::new(512);
    let buffers = pair.workload.allocate(&rig);
    let (first, second) = (FusionWrapper::new(&rig.queue).unwrap(), FusionWrapper::new(&rig.queue).unwrap());
    first.start_fusion().unwrap();
    assert!(
        second.is_in_fusion_mode() && rig.queue.is_in_fusion_mode() && second.queue().is_in_fusion_mode()
    );
    pair.workload.submit_all(&rig, &buffers);
    let complete = second.clone().complete_fusion(&FusionProperties::default()).unwrap();
    assert!(!first.is_in_fusion_mode());
    complete.wait().unwrap();
    assert_eq!(complete.outcome(), Outcome::Fused);
    assert_out(&buffers[4]);
}

/// An error or a panic inside a submit closure leaves the list as it was before.
#[test]
fn errors_and_panics_in_a_submission() {
    let rig = rig!();
    let pair = Pair::new(512);
    let (before, buffers) = (rig.context.stats(), pair.workload.allocate(&rig));
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    for submit in pair.workload.submits() {
        let kernel = submit.kernel(&rig);
        let refused: Result<Event, Error> = rig.queue.submit(|h| -> Result<(), Error> {
            submit.record(&kernel, &buffers, h);
            Err(rig.context.buffer::<u32>(0).expect_err("an error of ours"))
        });
        refused.unwrap_err();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            rig.queue.submit(|h| {
                submit.record(&kernel, &buffers, h);
                assert!(buffers.is_empty(), "a panic inside a submit closure");
            })
        }));
        assert!(!matches!(panicked, Ok(Ok(_))), "a panic is passed on or made an error");
        assert!(fusion.is_in_fusion_mode());
        rig.queue.submit(|h| submit.record(&kernel, &buffers, h)).unwrap();
    }
    let complete = fusion.complete_fusion(&FusionProperties::default()).unwrap();
    complete.wait().unwrap();
    assert_eq!(complete.outcome(), Outcome::Fused);
    assert_eq!((rig.context.stats() - before).dispatches, 1);
    assert_out(&buffers[4]);
}

/// Leaving the scoped form early cancels: what was listed runs, unfused.
#[test]
fn leaving_the_scope_early() {
    let rig = rig!();
    let pair = Pair::new(512);
    for panics in [false, true] {
        let buffers = pair.workload.allocate(&rig);
        let before = rig.context.stats();
        let mut events = Vec::new();
        let left = catch_unwind(AssertUnwindSafe(|| {
            rig.queue.fuse(|_| {
                events = pair.workload.submit_all(&rig, &buffers);
                assert!(!panics, "inside the scope");
                Err(rig.context.buffer::<u32>(0).expect_err("an error of ours"))
            })
        }));
        assert!(!matches!(left, Ok(Ok(_))));
        assert!(!rig.queue.is_in_fusion_mode());
        Event::wait_all(&events).unwrap();
        for event in &events {
            assert_eq!(event.outcome(), Outcome::Cancelled { by: CancelCause::ScopeLeft });
        }
        assert_eq!((rig.context.stats() - before).dispatches, 2);
        assert_out(&buffers[4]);
    }
}

/// Forced fusion of what cannot be fused is an error with the reason, and the list has run.
#[test]
fn forced_fusion() {
    let rig = rig!();
    let forced = FusionProperties::default().force_fusion();
    let pair = Pair::new(512);
    assert_eq!(pair.workload.check_fused_with(&rig, &forced).outcome(), Outcome::Fused);

    let n = 10_000;
    let mut list = Workload::default();
    let x = list.floats("x", (0..n).map(|i| i as f32));
    let [tmp, out] = ["tmp", "out"].map(|name| list.poisoned(name, n as usize));
    for (from, to) in [(x, tmp), (tmp, out)] {
        list.submit(Submit::new("access/reverse", Size::Items([n, 1, 1])).read(0, from).write(1, to).push(n));
    }
    let buffers = list.allocate(&rig);
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    let events = list.submit_all(&rig, &buffers);
    let as_they_are = FusionProperties::default().force_fusion().no_rewrites();
    let error = fusion.complete_fusion(&as_they_are).expect_err("cannot be one kernel");
    assert!(
        matches!(&error, Error::Fusion(FusionError::Forced { reason: Reason::CrossGroup(_), .. })),
        "{error:?}"
    );
    assert!(!fusion.is_in_fusion_mode());
    Event::wait_all(&events).unwrap();
    assert_eq!(buffers[2].download().unwrap(), list.preset(x));
    rig.assert_no_validation_messages();
}

/// A changing scalar needs no new kernel, and neither does another set of buffers; another kernel does.
#[test]
fn a_thousand_scalars_one_kernel() {
    let rig = rig!();
    let x = rig.context.buffer_from(&[0.0_f32; 256]).unwrap();
    let increment = rig.kernel("access/increment");
    let before = rig.context.stats();
    let mut expected = 0.0;
    for k in 0..1000 {
        let step = k as f32;
        let event = rig.queue.fuse(|queue| {
            for step in [step, 1.0] {
                queue.submit(|h| {
                    h.arg(0, x.read_write());
                    h.push(&256_u32).push(&step).dispatch_items(&increment, [256, 1, 1]);
                })?;
            }
            Ok(())
        });
        let event = event.unwrap();
        expected += step + 1.0;
        if k % 100 == 0 {
            event.wait().unwrap();
        }
    }
    assert_eq!(x.download().unwrap(), [expected; 256]);
    let after = rig.context.stats() - before;
    assert_eq!(after.dispatches, 1000);
    // The step may equal the other kernel's once, which is another pattern of equal scalars.
    assert!(after.jit_builds <= 2, "{} builds", after.jit_builds);
}

/// Many lists from several threads, each on a queue and buffers of its own.
#[test]
fn lists_from_several_threads() {
    let rig = rig!();
    let pair = Pair::new(512);
    let kernels = ["pair/add", "pair/mul"].map(|name| rig.kernel(name));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (pair, kernels, context): (&Pair, &[_; 2], _) = (&pair, &kernels, rig.context.clone());
            scope.spawn(move || {
                let queue = context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
                for _ in 0..20 {
                    let buffer = |of| context.buffer_from(pair.workload.preset(of)).unwrap();
                    let [in1, in2, in3, tmp, out] =
                        [pair.in1, pair.in2, pair.in3, pair.tmp, pair.out].map(buffer);
                    let steps = [(&kernels[0], &in1, &in2, &tmp), (&kernels[1], &tmp, &in3, &out)];
                    let event = queue.fuse(|queue| {
                        for (kernel, x, y, z) in steps {
                            queue.submit(|h| {
                                h.arg(0, x.read()).arg(1, y.read()).arg(2, z.write());
                                h.push(&512_u32).dispatch_items(kernel, [512, 1, 1]);
                            })?;
                        }
                        Ok(())
                    });
                    let event = event.unwrap();
                    event.wait().unwrap();
                    assert_eq!(event.outcome(), Outcome::Fused);
                    assert_out(&out);
                }
            });
        }
    });
    rig.assert_no_validation_messages();
}

/// What an error does between the two ends of a list: the wrapper goes, and the queue is as it was.
#[test]
fn a_wrapper_that_is_dropped_cancels_what_it_began() {
    let rig = rig!();
    let pair = Pair::new(512);
    let buffers = pair.workload.allocate(&rig);
    let failing = || -> Result<Event, Error> {
        let fusion = FusionWrapper::new(&rig.queue)?;
        fusion.start_fusion()?;
        let clone = fusion.clone();
        pair.workload.submit_all(&rig, &buffers);
        drop(clone);
        assert!(fusion.is_in_fusion_mode(), "a handle is left");
        rig.queue.submit(|_| Err(Error::custom("no")))?;
        fusion.complete_fusion(&FusionProperties::default())
    };
    failing().unwrap_err();
    assert!(!rig.queue.is_in_fusion_mode());
    rig.queue.wait().unwrap();
    assert_eq!(rig.context.stats().lists_cancelled, 1);
    assert_out(&buffers[4]);
    // The next list is another wrapper's, also where the first one is still there.
    let (first, second) = (FusionWrapper::new(&rig.queue).unwrap(), FusionWrapper::new(&rig.queue).unwrap());
    first.start_fusion().unwrap();
    first.cancel_fusion().unwrap();
    second.start_fusion().unwrap();
    drop(first);
    assert!(second.is_in_fusion_mode());
    second.detach();
    assert!(rig.queue.is_in_fusion_mode());
    rig.queue.wait().unwrap();
    rig.assert_no_validation_messages();
}
