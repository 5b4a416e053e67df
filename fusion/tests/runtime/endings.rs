//! Every way in which fusion mode ends gives the same bytes, and only observing actions end it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use vkfuse::{
    CancelCause, Error, Event, FusionError, FusionProperties, FusionWrapper, Outcome, Policy, QueueOptions,
};

use tracing::subscriber::with_default;

use crate::{N, add, iota, multiples, poison, records::Records, scale, support::Rig};

/// Lists `tmp = a + a; out = tmp * 3`, ends fusion mode with `end`, and checks result and outcome.
fn ending(end: impl FnOnce(&Rig, &FusionWrapper, &[Event]), expected: Outcome) {
    let rig = rig!();
    let (a, tmp, out) = (iota(&rig), poison(&rig), poison(&rig));
    let wrapper = FusionWrapper::new(&rig.queue).unwrap();
    wrapper.start_fusion().unwrap();
    let events =
        [add(&rig, &rig.queue, &a, &a, &tmp).unwrap(), scale(&rig, &rig.queue, &tmp, 3, &out).unwrap()];
    assert!(events.iter().all(|event| event.outcome() == Outcome::Pending && !event.is_complete()));
    end(&rig, &wrapper, &events);
    assert!(!wrapper.is_in_fusion_mode());
    let late = wrapper.complete_fusion(&FusionProperties::default()).unwrap();
    assert_eq!(late.outcome(), expected);
    Event::wait_all(&events).unwrap();
    late.wait().unwrap();
    assert!(events.iter().all(|event| event.outcome() == expected && event.is_complete()));
    assert!(late.report().is_some_and(|report| report.submissions == 2));
    assert_eq!(out.download().unwrap(), multiples(6));
    assert_eq!(tmp.download().unwrap(), multiples(2));
    rig.assert_no_validation_messages();
}

fn cancelled(by: CancelCause) -> Outcome {
    Outcome::Cancelled { by }
}

#[test]
fn by_completion() {
    ending(
        |_, wrapper, _| drop(wrapper.complete_fusion(&FusionProperties::default()).unwrap()),
        Outcome::Fused,
    );
}

/// An event that `complete_fusion` returns again, for want of a list, says so in its report.
#[test]
fn the_report_of_an_earlier_list_says_that_it_is_one() {
    let rig = rig!();
    let (a, tmp, out) = (iota(&rig), poison(&rig), poison(&rig));
    let wrapper = FusionWrapper::new(&rig.queue).unwrap();
    let properties = FusionProperties::new();
    // As a new list, as one that was seen, and as a graph.
    for _ in 0..4 {
        wrapper.start_fusion().unwrap();
        add(&rig, &rig.queue, &a, &a, &tmp).unwrap();
        scale(&rig, &rig.queue, &tmp, 3, &out).unwrap();
        let done = wrapper.complete_fusion(&properties).unwrap();
        // `start_fusion` is forgotten.
        let alone = add(&rig, &rig.queue, &a, &a, &out).unwrap();
        let again = wrapper.complete_fusion(&properties).unwrap();
        assert_eq!((alone.outcome(), again.outcome()), (Outcome::Unfused, done.outcome()));
        let (first, second) = (done.report().unwrap(), again.report().unwrap());
        assert!(!first.is_earlier && second.is_earlier);
        assert_eq!(first.submissions, second.submissions);
        let said = "this is the list before: `start_fusion` was not called after it";
        assert!(!first.to_string().contains(said) && second.to_string().contains(said), "{second}");
        again.wait().unwrap();
        assert!(again.is_complete());
        assert_eq!(out.download().unwrap(), multiples(2));
    }
    rig.assert_no_validation_messages();
}

/// What does nothing is said in the log: completing what is complete, and leaving out barriers of what is proven.
#[test]
fn what_does_nothing_is_said() {
    let rig = rig!();
    let (a, tmp) = (iota(&rig), poison(&rig));
    let wrapper = FusionWrapper::new(&rig.queue).unwrap();
    let list = |properties: &FusionProperties, times: usize| {
        wrapper.start_fusion().unwrap();
        add(&rig, &rig.queue, &a, &a, &tmp).unwrap();
        for _ in 0..times {
            wrapper.complete_fusion(properties).unwrap();
        }
    };
    let records = Records::with("completed again");
    with_default(records.clone(), || list(&FusionProperties::new(), 1));
    assert!(records.take().is_empty());
    with_default(records.clone(), || list(&FusionProperties::new(), 2));
    assert_eq!(records.take().len(), 1);
    let records = Records::with("`no_barriers` has no effect");
    with_default(records.clone(), || list(&FusionProperties::new().no_barriers().policy(Policy::Trust), 1));
    assert!(records.take().is_empty());
    // Once is enough.
    with_default(records.clone(), || {
        list(&FusionProperties::new().no_barriers(), 1);
        list(&FusionProperties::new().no_barriers().no_rewrites(), 1);
    });
    assert_eq!(records.take().len(), 1);
    rig.assert_no_validation_messages();
}

/// What is declared constant and written by the list is read first, for which the list has to run.
#[test]
fn by_a_constant_that_the_list_writes() {
    let rig = rig!();
    let (a, out) = (iota(&rig), poison(&rig));
    let tmp = rig.context.scratch::<i32>(N).unwrap();
    let (kernel, n) = (rig.kernel("pair/scale"), N as u32);
    let submit = |from: &vkfuse::Buffer<i32>| {
        rig.queue.submit(|h| {
            h.arg(0, from.constant()).arg(1, out.write()).push(&n).push(&3i32);
            h.dispatch_items(&kernel, [n, 1, 1]);
        })
    };
    let wrapper = FusionWrapper::new(&rig.queue).unwrap();
    wrapper.start_fusion().unwrap();
    let written = add(&rig, &rig.queue, &a, &a, &tmp).unwrap();
    submit(&a).unwrap();
    assert!(wrapper.is_in_fusion_mode());
    submit(&tmp).unwrap();
    assert_eq!(written.outcome(), cancelled(CancelCause::Constant));
    assert_eq!(out.download().unwrap(), multiples(6));
    rig.assert_no_validation_messages();
}

#[test]
fn by_request() {
    ending(|_, wrapper, _| wrapper.cancel_fusion().unwrap(), cancelled(CancelCause::Explicit));
}

#[test]
fn by_queue_wait() {
    ending(|rig, _, _| rig.queue.wait().unwrap(), cancelled(CancelCause::QueueWait));
}

#[test]
fn by_context_wait() {
    ending(|rig, _, _| rig.context.wait().unwrap(), cancelled(CancelCause::QueueWait));
}

#[test]
fn by_event_wait() {
    ending(|_, _, events| events[0].wait().unwrap(), cancelled(CancelCause::EventWait));
}

#[test]
fn by_timed_event_wait() {
    let wait = |_: &Rig, _: &FusionWrapper, events: &[Event]| {
        assert!(events[1].wait_timeout(Duration::from_secs(60)).unwrap());
    };
    ending(wait, cancelled(CancelCause::EventWait));
}

#[test]
fn by_panic_in_a_scope_and_by_error() {
    let rig = rig!();
    let (a, out) = (iota(&rig), poison(&rig));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ = rig.queue.fuse(|queue| {
            scale(&rig, queue, &a, 2, &out)?;
            panic!("in the scope");
        });
    }));
    assert!(panicked.is_err());
    assert!(!rig.queue.is_in_fusion_mode());
    assert_eq!(out.download().unwrap(), multiples(2));

    let mut listed = None;
    let result = rig.queue.fuse(|queue| {
        listed = Some(scale(&rig, queue, &a, 4, &out)?);
        Err(Error::custom("enough"))
    });
    assert_eq!(result.unwrap_err().to_string(), "enough");
    assert_eq!(listed.unwrap().outcome(), cancelled(CancelCause::ScopeLeft));
    assert_eq!(out.download().unwrap(), multiples(4));
}

/// A wrapper that is dropped ends the list that it began, and no later one.
#[test]
fn by_dropping_a_wrapper_only_its_own_list() {
    let rig = rig!();
    let (a, tmp, out) = (iota(&rig), poison(&rig), poison(&rig));
    let list = || {
        add(&rig, &rig.queue, &a, &a, &tmp).unwrap();
        scale(&rig, &rig.queue, &tmp, 3, &out).unwrap();
    };
    for is_observed in [false, true] {
        let [old, new] = [(); 2].map(|()| FusionWrapper::new(&rig.queue).unwrap());
        old.start_fusion().unwrap();
        list();
        if is_observed {
            assert_eq!(out.download().unwrap(), multiples(6));
        } else {
            new.complete_fusion(&FusionProperties::default()).unwrap();
        }
        new.start_fusion().unwrap();
        list();
        drop(old);
        assert!(new.is_in_fusion_mode(), "observed {is_observed}");
        assert_eq!(new.complete_fusion(&FusionProperties::default()).unwrap().outcome(), Outcome::Fused);
    }
    rig.assert_no_validation_messages();
}

#[test]
fn by_dropping_the_queue() {
    let rig = rig!();
    let (a, out) = (iota(&rig), poison(&rig));
    let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let wrapper = FusionWrapper::new(&queue).unwrap();
    wrapper.start_fusion().unwrap();
    let event = scale(&rig, &queue, &a, 2, &out).unwrap();
    drop(queue);
    assert_eq!(event.outcome(), Outcome::Pending, "the wrapper holds the queue");
    drop(wrapper);
    assert_eq!(event.outcome(), cancelled(CancelCause::QueueDropped));
    event.wait().unwrap();
    assert_eq!(out.download().unwrap(), multiples(2));
}

#[test]
fn an_error_or_panic_in_a_submit_closure_leaves_the_list_as_it_was() {
    let rig = rig!();
    let (a, tmp, out) = (iota(&rig), poison(&rig), poison(&rig));
    let wrapper = FusionWrapper::new(&rig.queue).unwrap();
    wrapper.start_fusion().unwrap();
    add(&rig, &rig.queue, &a, &a, &tmp).unwrap();
    let kernel = rig.kernel("pair/scale");
    let error = rig.queue.submit(|h| {
        h.arg(0, tmp.read()).arg(1, out.write()).push(&(N as u32)).push(&7i32).dispatch(&kernel, [1, 1, 1]);
        Err(Error::custom("changed my mind"))
    });
    assert!(error.is_err());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ = rig.queue.submit(|h| {
            h.dispatch(&kernel, [1, 1, 1]);
            if N > 0 {
                panic!("in the closure");
            }
        });
    }));
    assert!(panicked.is_err());
    assert!(wrapper.is_in_fusion_mode());
    scale(&rig, &rig.queue, &tmp, 3, &out).unwrap();
    let before = rig.context.stats();
    let done = wrapper.complete_fusion(&FusionProperties::default()).unwrap();
    assert_eq!(done.outcome(), Outcome::Fused);
    assert_eq!((rig.context.stats() - before).dispatches, 1);
    assert_eq!(done.report().unwrap().submissions, 2);
    assert_eq!(out.download().unwrap(), multiples(6));
}

#[test]
fn what_observes_nothing_ends_nothing() {
    let rig = rig!();
    let (a, tmp, out, other) = (iota(&rig), poison(&rig), poison(&rig), poison(&rig));
    let queue = rig.context.queue(QueueOptions::new()).unwrap();
    let wrapper = FusionWrapper::new(&rig.queue).unwrap();
    wrapper.start_fusion().unwrap();
    let event = add(&rig, &rig.queue, &a, &a, &tmp).unwrap();
    scale(&rig, &rig.queue, &tmp, 3, &out).unwrap();

    assert_eq!(a.download().unwrap()[7], 7, "only read by the list");
    assert!(!event.is_complete());
    assert_eq!(event.outcome(), Outcome::Pending);
    assert!(event.report().is_none() && event.gpu_time().is_none());
    rig.queue.fill(&other, 5i32).unwrap();
    queue.wait().unwrap();
    scale(&rig, &queue, &a, 2, &other).unwrap().wait().unwrap();
    drop(a);
    assert!(wrapper.is_in_fusion_mode());

    assert_eq!(wrapper.complete_fusion(&FusionProperties::default()).unwrap().outcome(), Outcome::Fused);
    assert_eq!(out.download().unwrap(), multiples(6));
    assert_eq!(other.download().unwrap(), multiples(2));
}

#[test]
fn protocol_errors_are_typed() {
    let rig = rig!();
    let fusion = |error| match error {
        Error::Fusion(error) => error,
        other => panic!("{other}"),
    };
    let plain = rig.context.queue(QueueOptions::new()).unwrap();
    assert_eq!(fusion(FusionWrapper::new(&plain).unwrap_err()), FusionError::NotEnabled);
    let wrapper = FusionWrapper::new(&rig.queue).unwrap();
    let default = FusionProperties::default();
    assert_eq!(fusion(wrapper.complete_fusion(&default).unwrap_err()), FusionError::NotFusing);
    wrapper.cancel_fusion().unwrap();
    wrapper.start_fusion().unwrap();
    let second = FusionWrapper::new(&rig.queue).unwrap();
    assert!(second.is_in_fusion_mode(), "wrappers of a queue share its state");
    let open = "nothing was submitted to its list yet".into();
    assert_eq!(fusion(second.start_fusion().unwrap_err()), FusionError::AlreadyFusing { open });
    let empty = second.complete_fusion(&default).unwrap();
    assert!(matches!(empty.outcome(), Outcome::Refused { .. }));
    empty.wait().unwrap();
}

#[test]
fn forced_fusion_of_what_cannot_be_fused_is_an_error_and_still_runs() {
    let rig = rig!();
    let reverse = rig.kernel("access/reverse");
    let data: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let (x, y, z) = (
        rig.context.buffer_from(&data).unwrap(),
        rig.context.buffer::<f32>(N).unwrap(),
        rig.context.buffer(N).unwrap(),
    );
    let mut events = Vec::new();
    let result = rig.queue.fuse_with(&FusionProperties::new().force_fusion().no_rewrites(), |queue| {
        for (from, to) in [(&x, &y), (&y, &z)] {
            events.push(queue.submit(|h| {
                h.arg(0, from.read())
                    .arg(1, to.write())
                    .push(&(N as u32))
                    .dispatch_items(&reverse, [N as u32, 1, 1]);
            })?);
        }
        Ok(())
    });
    assert!(matches!(result, Err(Error::Fusion(FusionError::Forced { .. }))));
    assert!(matches!(events[0].outcome(), Outcome::Refused { .. }));
    Event::wait_all(&events).unwrap();
    assert_eq!(z.download().unwrap(), data);
}
