//! Completed lists that are kept: run again, with other buffers, with other scalars, inside other lists.

use crate::support::Rig;
use vkfuse::{
    Buffer, CancelCause, Error, Event, FusedList, FusionError, FusionProperties, FusionWrapper, Outcome,
    Queue, QueueOptions,
};

const N: usize = 1000;

fn iota(rig: &Rig, factor: i32) -> Buffer<i32> {
    let data: Vec<i32> = (0..N as i32).map(|i| i * factor).collect();
    rig.context.buffer_from(&data).unwrap()
}

/// Submits `z = x * factor` on the first `n` elements.
fn scale(
    rig: &Rig,
    queue: &Queue,
    x: &Buffer<i32>,
    factor: i32,
    z: &Buffer<i32>,
    n: u32,
) -> Result<Event, Error> {
    let kernel = rig.kernel("pair/scale");
    queue.submit(|h| {
        h.arg(0, x.read()).arg(1, z.write()).push(&n).push(&factor).dispatch_items(&kernel, [N as u32, 1, 1]);
    })
}

/// `out = x * 2 * 3` through a temporary that stays inside, run once and kept.
struct Six {
    x: Buffer<i32>,
    tmp: Buffer<i32>,
    out: Buffer<i32>,
    list: FusedList,
}

impl Six {
    fn new(rig: &Rig) -> Six {
        let (x, tmp, out) =
            (iota(rig, 1), rig.context.scratch(N).unwrap(), rig.context.buffer_from(&[-1; N]).unwrap());
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        scale(rig, &rig.queue, &x, 2, &tmp, N as u32).unwrap();
        scale(rig, &rig.queue, &tmp, 3, &out, N as u32).unwrap();
        let (event, list) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
        assert_eq!(event.outcome(), Outcome::Fused);
        assert_eq!(list.len(), 2);
        let six = Six { x, tmp, out, list };
        six.assert(&six.out, 6);
        six
    }

    fn assert(&self, out: &Buffer<i32>, factor: i32) {
        let expected: Vec<i32> = (0..N as i32).map(|i| i * factor).collect();
        assert_eq!(out.download().unwrap(), expected);
    }
}

/// Runs something and demands that it is one fused dispatch, without any code being built.
fn one_dispatch(rig: &Rig, run: impl FnOnce() -> Result<Event, Error>) {
    let before = rig.context.stats();
    let event = run().unwrap();
    event.wait().unwrap();
    let made = rig.context.stats() - before;
    assert_eq!((made.dispatches, made.jit_builds, made.memory_misses), (1, 0, 0));
    assert_eq!(event.outcome(), Outcome::Fused);
    assert_eq!(event.report().unwrap().submissions, 2);
}

fn problem(result: Result<FusedList, Error>) -> String {
    match result {
        Err(Error::Fusion(FusionError::Rebind { problem })) => problem,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("it was taken"),
    }
}

#[test]
fn runs_again_on_new_contents() {
    let rig = rig!();
    let six = Six::new(&rig);
    for factor in 2..6 {
        six.x.upload(&(0..N as i32).map(|i| i * factor).collect::<Vec<_>>()).unwrap();
        six.out.fill(-1).unwrap();
        one_dispatch(&rig, || six.list.run());
        six.assert(&six.out, 6 * factor);
        assert_eq!(rig.context.stats().made_again, factor as u64 - 2);
    }
    assert!(six.tmp.download().is_err(), "the temporary stays inside in every run");
    rig.assert_no_validation_messages();
}

#[test]
fn runs_in_a_row_keep_their_order() {
    let rig = rig!();
    let (a, b) = (iota(&rig, 1), iota(&rig, 1));
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    scale(&rig, &rig.queue, &a, 3, &b, N as u32).unwrap();
    scale(&rig, &rig.queue, &b, 1, &a, N as u32).unwrap();
    let (_, list) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
    // Each run reads what the one before wrote, and no one waits between.
    for _ in 0..9 {
        list.run().unwrap();
    }
    let expected: Vec<i32> = (0..N as i32).map(|i| i * 3i32.pow(10)).collect();
    assert_eq!(a.download().unwrap(), expected);
    rig.assert_no_validation_messages();
}

#[test]
fn runs_with_other_buffers() {
    let rig = rig!();
    let six = Six::new(&rig);
    let (x, out) = (iota(&rig, 5), rig.context.buffer_from(&[-1; N]).unwrap());
    let other = six.list.rebind().buffer(&six.x, &x).buffer(&six.out, &out).finish().unwrap();
    one_dispatch(&rig, || other.run());
    six.assert(&out, 30);
    six.assert(&six.out, 6);
    one_dispatch(&rig, || six.list.run());
    six.assert(&six.out, 6);
    rig.assert_no_validation_messages();
}

#[test]
fn runs_with_other_scalars() {
    let rig = rig!();
    let six = Six::new(&rig);
    let sevens = six.list.rebind().push(0, &[N as i32, 7]).finish().unwrap();
    one_dispatch(&rig, || sevens.run());
    six.assert(&six.out, 21);
    six.list.run().unwrap();
    six.assert(&six.out, 6);
}

/// What a list is run as: as one that ran before, or planned.
fn is_made_again(rig: &Rig, list: &FusedList) -> bool {
    let before = rig.context.stats().made_again;
    list.run().unwrap().wait().unwrap();
    rig.context.stats().made_again > before
}

fn scaled(six: &Six, list: &FusedList, factors: [i32; 2]) -> FusedList {
    let [first, second] = factors.map(|factor| [N as i32, factor]);
    let list = list.rebind().push(0, &first).push(1, &second).finish().unwrap();
    six.out.fill(-1).unwrap();
    list
}

#[test]
fn other_scalars_are_passed_on_without_planning() {
    let rig = rig!();
    let six = Six::new(&rig);
    assert!(!is_made_again(&rig, &six.list));
    let others = [[7, 3], [2, 5], [11, 13]].map(|factors| (factors, scaled(&six, &six.list, factors)));
    for _ in 0..3 {
        for (factors, list) in &others {
            six.out.fill(-1).unwrap();
            assert!(is_made_again(&rig, list), "{factors:?}");
            six.assert(&six.out, factors[0] * factors[1]);
        }
        // It has its own still.
        assert!(is_made_again(&rig, &six.list));
        six.assert(&six.out, 6);
    }
    // One that is rebound from one of those, on other buffers, and then to what the first list has.
    let (x, out) = (iota(&rig, 5), rig.context.buffer_from(&[-1; N]).unwrap());
    let elsewhere = others[0].1.rebind().buffer(&six.x, &x).push(1, &[N as i32, 9]).buffer(&six.out, &out);
    let elsewhere = elsewhere.finish().unwrap();
    assert!(is_made_again(&rig, &elsewhere));
    six.assert(&out, 5 * 7 * 9);
    let back = elsewhere.rebind().push(0, &[N as i32, 1]).push(0, &[N as i32, 2]).push(1, &[N as i32, 3]);
    assert!(is_made_again(&rig, &back.finish().unwrap()));
    six.assert(&out, 30);
    let moved = elsewhere.rebind().buffer(&out, &six.out).finish().unwrap();
    assert!(is_made_again(&rig, &moved));
    six.assert(&six.out, 5 * 7 * 9);
    rig.assert_no_validation_messages();
}

#[test]
fn other_scalars_of_a_list_that_never_ran_again_are_planned_once() {
    let rig = rig!();
    let six = Six::new(&rig);
    for (factor, again) in [(7, false), (9, true), (5, true)] {
        let list = six.list.rebind().push(0, &[N as i32, factor]).finish().unwrap();
        assert_eq!(is_made_again(&rig, &list), again, "{factor}");
        six.assert(&six.out, factor * 3);
    }
    rig.assert_no_validation_messages();
}

#[test]
fn scalars_that_become_equal_or_decide_the_plan_are_planned() {
    let rig = rig!();
    let six = Six::new(&rig);
    assert!(!is_made_again(&rig, &six.list));
    // Equal arguments share a slot of the fused block.
    let equal = scaled(&six, &six.list, [4, 4]);
    assert!(!is_made_again(&rig, &equal));
    six.assert(&six.out, 16);
    let equal = scaled(&six, &six.list, [5, 5]);
    assert!(is_made_again(&rig, &equal));
    six.assert(&six.out, 25);
    // The first kernel now writes half of what the second reads: the temporary cannot stay inside.
    for (factor, again) in [(2, false), (7, true)] {
        six.tmp.fill(1).unwrap();
        let half = six.list.rebind().push(0, &[N as i32 / 2, factor]).finish().unwrap();
        assert_eq!(is_made_again(&rig, &half), again, "{factor}");
        let expected = (0..N as i32).map(|i| if i < N as i32 / 2 { factor * 3 * i } else { 3 });
        assert_eq!(six.out.download().unwrap(), expected.collect::<Vec<i32>>());
    }
    rig.assert_no_validation_messages();
}

#[test]
fn other_scalars_inside_another_list() {
    let rig = rig!();
    let six = Six::new(&rig);
    six.list.run().unwrap();
    let sevens = six.list.rebind().push(0, &[N as i32, 7]).finish().unwrap();
    let last = rig.context.buffer::<i32>(N).unwrap();
    let event = rig.queue.fuse(|queue| {
        sevens.run()?;
        scale(&rig, queue, &six.out, 10, &last, N as u32).map(drop)
    });
    event.unwrap().wait().unwrap();
    six.assert(&six.out, 21);
    six.assert(&last, 210);
}

#[test]
fn plans_again_where_a_scalar_decides() {
    let rig = rig!();
    let six = Six::new(&rig);
    // The first kernel now writes half of what the second reads: the temporary cannot stay inside.
    six.tmp.fill(1).unwrap();
    let half = six.list.rebind().push(0, &[N as i32 / 2, 2]).finish().unwrap();
    half.run().unwrap();
    let expected: Vec<i32> = (0..N as i32).map(|i| if i < N as i32 / 2 { 6 * i } else { 3 }).collect();
    assert_eq!(six.out.download().unwrap(), expected);
    rig.assert_no_validation_messages();
}

#[test]
fn is_an_element_of_another_list() {
    let rig = rig!();
    let six = Six::new(&rig);
    let last = rig.context.buffer::<i32>(N).unwrap();
    let before = rig.context.stats();
    let event = rig
        .queue
        .fuse(|queue| {
            let element = six.list.run()?;
            assert_eq!(element.outcome(), Outcome::Pending);
            scale(&rig, queue, &six.out, 2, &last, N as u32)?;
            Ok(())
        })
        .unwrap();
    assert_eq!(event.outcome(), Outcome::Fused);
    assert_eq!(event.report().unwrap().submissions, 3);
    assert_eq!((rig.context.stats() - before).dispatches, 1);
    six.assert(&last, 12);
    six.assert(&six.out, 6);
    rig.assert_no_validation_messages();
}

#[test]
fn runs_on_another_queue_in_order() {
    let rig = rig!();
    let six = Six::new(&rig);
    let other = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let listed = FusionWrapper::new(&other).unwrap();
    listed.start_fusion().unwrap();
    let last = rig.context.buffer::<i32>(N).unwrap();
    let observed = scale(&rig, &other, &six.out, 10, &last, N as u32).unwrap();
    // The list of the other queue reads what this run writes, so it runs first.
    six.list.run().unwrap();
    assert_eq!(observed.outcome(), Outcome::Cancelled { by: CancelCause::OtherQueue });
    six.assert(&last, 60);
    six.out.fill(-1).unwrap();
    one_dispatch(&rig, || six.list.run_on(&other));
    six.assert(&six.out, 6);
    let plain = rig.context.queue(QueueOptions::new()).unwrap();
    assert!(matches!(six.list.run_on(&plain), Err(Error::Fusion(FusionError::NotEnabled))));
}

#[test]
fn runs_in_a_row_see_what_came_between() {
    let rig = rig!();
    let six = Six::new(&rig);
    // From the second on, the queue is known to own all of it.
    let events: Vec<Event> = (0..4).map(|_| six.list.run().unwrap()).collect();
    let other = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let open = FusionWrapper::new(&other).unwrap();
    open.start_fusion().unwrap();
    let last = rig.context.buffer::<i32>(N).unwrap();
    let observed = scale(&rig, &other, &six.out, 10, &last, N as u32).unwrap();
    six.list.run().unwrap();
    assert_eq!(observed.outcome(), Outcome::Cancelled { by: CancelCause::OtherQueue });
    six.assert(&last, 60);
    // What the events share is said of the queue that ran it.
    for _ in 0..2 {
        six.out.fill(-1).unwrap();
        one_dispatch(&rig, || six.list.run_on(&other));
        six.assert(&six.out, 6);
        one_dispatch(&rig, || six.list.run());
    }
    assert!(events.iter().all(|event| event.is_complete() && event.outcome() == Outcome::Fused));
    rig.assert_no_validation_messages();
}

#[test]
fn outlives_the_handles_of_its_buffers() {
    let rig = rig!();
    let Six { x, tmp, out, list } = Six::new(&rig);
    drop((x, tmp));
    out.fill(-1).unwrap();
    list.run().unwrap();
    let expected: Vec<i32> = (0..N as i32).map(|i| i * 6).collect();
    assert_eq!(out.download().unwrap(), expected);
    rig.assert_no_validation_messages();
}

#[test]
fn refuses_what_has_another_shape() {
    let rig = rig!();
    let six = Six::new(&rig);
    let rebind = || six.list.rebind();
    let smaller = rig.context.buffer::<i32>(N / 2).unwrap();
    assert!(problem(rebind().buffer(&six.x, &smaller).finish()).contains("bytes"));
    let promoted = rig.context.buffer::<i32>(N).unwrap().promote_private();
    assert!(problem(rebind().buffer(&six.x, &promoted).finish()).contains("promotions"));
    let stranger = rig.context.buffer::<i32>(N).unwrap();
    assert!(problem(rebind().buffer(&stranger, &six.x).finish()).contains("not in the list"));
    assert!(problem(rebind().buffer(&six.x, &six.out).finish()).contains("would stand for both"));
    let twice = rebind().buffer(&six.x, &stranger).buffer(&six.x, &six.x).finish();
    assert!(problem(twice).contains("is replaced twice"));
    assert!(problem(rebind().push(2, &0u32).finish()).contains("no submission 2"));
    assert!(matches!(rebind().push(0, &0u32).finish(), Err(Error::Submit { .. })));
    // Exchanging two buffers changes no shape.
    assert!(rebind().buffer(&six.x, &six.out).buffer(&six.out, &six.x).finish().is_ok());
}

#[test]
fn keeps_nothing_that_ended_before() {
    let rig = rig!();
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    let keep = || fusion.complete_and_keep(&FusionProperties::default()).map(drop);
    assert!(matches!(keep(), Err(Error::Fusion(FusionError::NotFusing))));
    fusion.start_fusion().unwrap();
    let (x, z) = (iota(&rig, 1), iota(&rig, 1));
    scale(&rig, &rig.queue, &x, 2, &z, N as u32).unwrap();
    z.download().unwrap();
    let by = CancelCause::HostRead;
    assert!(matches!(
        keep(),
        Err(Error::Fusion(FusionError::NotKept { outcome: Outcome::Cancelled { by: cause } })) if cause == by
    ));
}

#[test]
fn reads_nothing_that_was_kept_inside_elsewhere() {
    let rig = rig!();
    let six = Six::new(&rig);
    let last = rig.context.buffer::<i32>(N).unwrap();
    let reader = {
        six.tmp.fill(1).unwrap();
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        scale(&rig, &rig.queue, &six.tmp, 2, &last, N as u32).unwrap();
        fusion.complete_and_keep(&FusionProperties::default()).unwrap().1
    };
    six.list.run().unwrap();
    let error = reader.run().unwrap_err();
    assert!(matches!(error, Error::Submit { .. }), "{error}");
    six.tmp.fill(4).unwrap();
    reader.run().unwrap();
    assert_eq!(last.download().unwrap(), [8; N]);
}

/// The promotions of a list are those of its recording: a buffer that changed since does not change what may replace it.
#[test]
fn rebind_goes_by_the_promotions_of_the_recording() {
    let rig = rig!();
    let six = Six::new(&rig);
    let plain = || rig.context.buffer_from(&[7; N]).unwrap();
    // The list keeps `tmp` inside. It asks for nothing any more, as the plain buffer does; the list is what it was.
    let _ = six.tmp.clone().no_promotion();
    let other = plain();
    let refused = six.list.rebind().buffer(&six.tmp, &other).finish();
    assert!(matches!(refused, Err(Error::Fusion(FusionError::Rebind { .. }))), "{refused:?}");
    assert_eq!(other.download().unwrap(), [7; N]);
    // What asks for what was recorded may replace it.
    let fits = plain().promote_auto();
    let list = six.list.rebind().buffer(&six.tmp, &fits).finish().unwrap();
    list.run().unwrap().wait().unwrap();
    assert!(fits.download().is_err(), "it is kept inside, as asked");
    // The other way round: recorded plain, promoted since.
    let promoted = plain().promote_auto();
    let _ = six.out.clone().promote_auto();
    let refused = six.list.rebind().buffer(&six.out, &promoted).finish();
    assert!(matches!(refused, Err(Error::Fusion(FusionError::Rebind { .. }))), "{refused:?}");
    let out = plain();
    six.list.rebind().buffer(&six.out, &out).finish().unwrap().run().unwrap();
    six.assert(&out, 6);
    rig.assert_no_validation_messages();
}

/// A list that is rebound is one with the promotions of the first recording.
#[test]
fn rebound_lists_keep_the_promotions() {
    let rig = rig!();
    let six = Six::new(&rig);
    let first = rig.context.buffer_from(&[7; N]).unwrap().promote_auto();
    let list = six.list.rebind().buffer(&six.tmp, &first).finish().unwrap();
    let _ = first.clone().no_promotion();
    let plain = rig.context.buffer_from(&[7; N]).unwrap();
    assert!(list.rebind().buffer(&first, &plain).finish().is_err());
    list.run().unwrap();
    assert!(first.download().is_err());
}
