//! Dispatches of no work-groups: valid in Vulkan, and nothing happens, in its place. What is around them fuses as if they were not there.

use crate::support::{Rig, poison};
use vkfuse::{
    Buffer, Error, Event, FusionError, FusionProperties, FusionWrapper, Internalization, Outcome, Promote,
    QueueOptions, Reason, SubmitError,
};

/// Four work-groups of 16; the last one is not full.
const N: u32 = 63;

const NONE: [[u32; 3]; 7] =
    [[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0], [4, 0, 1], [0, 7, 9], [0, u32::MAX, u32::MAX]];

fn numbers(rig: &Rig, factor: u32) -> Buffer<u32> {
    rig.context.buffer_from(&(0..N).map(|i| factor * i).collect::<Vec<_>>()).unwrap()
}

fn poisoned(rig: &Rig) -> Buffer<u32> {
    rig.context.buffer_from(&poison(N as usize)).unwrap()
}

fn multiples(factor: u32) -> Vec<u32> {
    (0..N).map(|i| factor * i).collect()
}

/// `z = x + y` by this many work-groups.
fn add(rig: &Rig, [x, y, z]: [&Buffer<u32>; 3], groups: [u32; 3]) -> Event {
    let kernel = rig.kernel("pair/add");
    let event = rig.queue.submit(|h| {
        h.arg(0, x.read()).arg(1, y.read()).arg(2, z.write()).push(&N).dispatch(&kernel, groups);
    });
    event.unwrap()
}

const ALL: [u32; 3] = [4, 1, 1];

fn recording(rig: &Rig) -> FusionWrapper {
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    fusion
}

#[test]
fn alone_they_touch_nothing_and_complete() {
    let rig = rig!();
    let (x, z) = (numbers(&rig, 1), poisoned(&rig));
    let before = rig.context.stats();
    for groups in NONE {
        let event = add(&rig, [&x, &x, &z], groups);
        event.wait().unwrap();
        assert_eq!(event.outcome(), Outcome::Unfused, "{groups:?}");
    }
    let kernel = rig.kernel("pair/add");
    for items in [[0, 1, 1], [N, 0, 1], [0, 0, 0]] {
        let event = rig.queue.submit(|h| {
            h.arg(0, x.read()).arg(1, x.read()).arg(2, z.write()).push(&N).dispatch_items(&kernel, items);
        });
        event.unwrap().wait().unwrap();
    }
    assert_eq!((rig.context.stats() - before).dispatches, 0);
    assert_eq!(z.download().unwrap(), poison(N as usize));
    // What comes after one, by its event, comes after what that one came after.
    let first = add(&rig, [&x, &x, &z], ALL);
    let nothing = rig.queue.submit(|h| {
        h.arg(0, x.read()).arg(1, x.read()).arg(2, z.write()).push(&N);
        h.depends_on(&first).dispatch(&kernel, [0, 1, 1]);
    });
    let other = rig.context.queue(QueueOptions::new()).unwrap();
    let last = other.submit(|h| {
        h.arg(0, z.read()).arg(1, x.read()).arg(2, z.write()).push(&N);
        h.depends_on(nothing.as_ref().unwrap()).dispatch(&kernel, ALL);
    });
    last.unwrap().wait().unwrap();
    nothing.unwrap().wait().unwrap();
    assert_eq!(z.download().unwrap(), multiples(3));
    rig.assert_no_validation_messages();
}

/// They are still checked: what is bound has to fit the kernel.
#[test]
fn their_arguments_are_checked() {
    let rig = rig!();
    let (x, kernel) = (numbers(&rig, 1), rig.kernel("pair/add"));
    let wrong = rig.queue.submit(|h| {
        h.arg(0, x.read()).arg(1, x.read()).push(&N).dispatch(&kernel, [0, 1, 1]);
    });
    let error = wrong.unwrap_err();
    assert!(matches!(error, Error::Submit { problem: SubmitError::MissingBinding { .. }, .. }), "{error}");
}

#[test]
fn lists_fuse_around_them() {
    let rig = rig!();
    // At each place of the list, one and several; they would write what the others read.
    for place in 0..3 {
        for groups in NONE {
            let [x, y, t, z] = [numbers(&rig, 1), numbers(&rig, 2), poisoned(&rig), poisoned(&rig)];
            let before = rig.context.stats();
            let fusion = recording(&rig);
            let nothing = |at: usize| {
                if at == place {
                    add(&rig, [&t, &t, &x], groups);
                    add(&rig, [&z, &z, &t], groups);
                }
            };
            nothing(0);
            add(&rig, [&x, &y, &t], ALL);
            nothing(1);
            let last = add(&rig, [&t, &y, &z], ALL);
            nothing(2);
            let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
            event.wait().unwrap();
            last.wait().unwrap();
            assert_eq!((rig.context.stats() - before).dispatches, 1);
            assert_eq!(event.outcome(), Outcome::Fused, "{place} {groups:?}");
            let report = event.report().unwrap();
            let members: Vec<usize> = report.plan.groups[0].members.iter().copied().collect();
            assert_eq!(members, [[2, 3], [0, 3], [0, 1]][place]);
            assert_eq!((report.submissions, report.dispatches, report.kernels.len()), (4, 1, 4));
            assert_eq!(x.download().unwrap(), multiples(1));
            assert_eq!(t.download().unwrap(), multiples(3));
            assert_eq!(z.download().unwrap(), multiples(5));
        }
    }
    rig.assert_no_validation_messages();
}

#[test]
fn a_list_of_such_alone_is_complete() {
    let rig = rig!();
    let (x, z) = (numbers(&rig, 1), poisoned(&rig));
    for count in [1, 2, 5] {
        let before = rig.context.stats();
        let fusion = recording(&rig);
        let events: Vec<Event> = (0..count).map(|at| add(&rig, [&x, &x, &z], NONE[at])).collect();
        let done = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        done.wait().unwrap();
        events.iter().for_each(|event| event.wait().unwrap());
        assert_eq!(done.outcome(), Outcome::Refused { reason: Reason::NoWorkGroups });
        assert_eq!((rig.context.stats() - before).dispatches, 0);
        assert_eq!(z.download().unwrap(), poison(N as usize));
    }
    // Forced, it is not one kernel.
    let fusion = recording(&rig);
    add(&rig, [&x, &x, &z], [0, 1, 1]);
    let forced = fusion.complete_fusion(&FusionProperties::default().force_fusion());
    let is_it =
        matches!(&forced, Err(Error::Fusion(FusionError::Forced { reason: Reason::NoWorkGroups, .. })));
    assert!(is_it, "{:?}", forced.err());
    // Around one, a list is.
    let fusion = recording(&rig);
    add(&rig, [&x, &x, &z], ALL);
    add(&rig, [&z, &z, &x], [0, 1, 1]);
    add(&rig, [&z, &x, &z], ALL);
    let event = fusion.complete_fusion(&FusionProperties::default().force_fusion()).unwrap();
    assert_eq!(event.outcome(), Outcome::Fused);
    assert_eq!(z.download().unwrap(), multiples(3));
    rig.assert_no_validation_messages();
}

/// A buffer that only such a dispatch writes is not written: it cannot stay inside, and what is read is what it held.
#[test]
fn what_only_they_write_is_not_written() {
    let rig = rig!();
    for promote in [Promote::Private, Promote::Auto] {
        let [x, y, z] = [numbers(&rig, 1), numbers(&rig, 2), poisoned(&rig)];
        let t = numbers(&rig, 10);
        let t = if promote == Promote::Private { t.promote_private() } else { t.promote_auto() };
        let fusion = recording(&rig);
        add(&rig, [&x, &y, &t], [0, 1, 1]);
        add(&rig, [&t, &y, &z], ALL);
        add(&rig, [&z, &t, &z], ALL);
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        assert_eq!(event.outcome(), Outcome::Fused);
        let report = event.report().unwrap();
        let [of_t] = &report.plan.buffers[..] else { panic!("{:#?}", report.plan.buffers) };
        assert_eq!(of_t.got, Internalization::None);
        assert!(matches!(of_t.reason, Some(Reason::OldContents { submission: 1, .. })), "{of_t:?}");
        assert_eq!(z.download().unwrap(), multiples(22));
        assert_eq!(t.download().unwrap(), multiples(10));

        // A buffer that no other submission uses.
        let fusion = recording(&rig);
        add(&rig, [&x, &y, &t], [0, 1, 1]);
        add(&rig, [&x, &y, &z], ALL);
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        let report = event.report().unwrap();
        let [of_t] = &report.plan.buffers[..] else { panic!("{:#?}", report.plan.buffers) };
        assert_eq!((of_t.got, &of_t.reason), (Internalization::None, &Some(Reason::NoWorkGroups)));
        assert_eq!(z.download().unwrap(), multiples(3));
    }
    rig.assert_no_validation_messages();
}

/// A list that is known, and one that is kept, rebound and run with other push constants.
#[test]
fn lists_with_them_are_replayed() {
    let rig = rig!();
    let [x, y, t, z] = [numbers(&rig, 1), numbers(&rig, 2), poisoned(&rig), poisoned(&rig)];
    let list = |groups: [u32; 3]| {
        let fusion = recording(&rig);
        add(&rig, [&x, &y, &t], ALL);
        add(&rig, [&t, &t, &x], groups);
        add(&rig, [&t, &y, &z], ALL);
        fusion
    };
    for round in 0..6 {
        x.upload(&multiples(round)).unwrap();
        z.upload(&poison(N as usize)).unwrap();
        let before = rig.context.stats();
        let event = list([0, 1, 1]).complete_fusion(&FusionProperties::default()).unwrap();
        event.wait().unwrap();
        assert_eq!((rig.context.stats() - before).dispatches, 1, "{round}");
        assert_eq!(event.outcome(), Outcome::Fused);
        assert_eq!(event.report().unwrap().submissions, 3);
        assert_eq!(z.download().unwrap(), multiples(round + 4), "{round}");
    }
    // The same with work-groups is another list.
    x.upload(&multiples(1)).unwrap();
    list(ALL).complete_fusion(&FusionProperties::default()).unwrap().wait().unwrap();
    assert_eq!(x.download().unwrap(), multiples(6));

    let (event, kept) = list([0, 1, 1]).complete_and_keep(&FusionProperties::default()).unwrap();
    event.wait().unwrap();
    assert_eq!((kept.len(), z.download().unwrap()), (3, multiples(10)));
    for round in 1..4 {
        x.upload(&multiples(round)).unwrap();
        kept.run().unwrap().wait().unwrap();
        assert_eq!((x.download().unwrap(), z.download().unwrap()), (multiples(round), multiples(round + 4)));
    }
    let (other_x, other_z) = (numbers(&rig, 7), poisoned(&rig));
    let rebound = kept.rebind().buffer(&x, &other_x).buffer(&z, &other_z).finish().unwrap();
    for _ in 0..3 {
        rebound.run().unwrap().wait().unwrap();
        assert_eq!((other_x.download().unwrap(), other_z.download().unwrap()), (multiples(7), multiples(11)));
    }
    // Kept although there is nothing to do.
    let fusion = recording(&rig);
    add(&rig, [&x, &y, &z], [0, 1, 1]);
    let (_, kept) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
    let held = z.download().unwrap();
    for _ in 0..3 {
        kept.run().unwrap().wait().unwrap();
    }
    assert_eq!(z.download().unwrap(), held);
    rig.assert_no_validation_messages();
}

/// A list that something else ends runs as it was submitted, and reads of the host do not wait for them.
#[test]
fn lists_that_end_early_run_without_them() {
    let rig = rig!();
    let [x, y, z] = [numbers(&rig, 1), numbers(&rig, 2), poisoned(&rig)];
    let fusion = recording(&rig);
    let event = add(&rig, [&x, &y, &z], [0, 1, 1]);
    // Nothing that was listed touches it.
    assert_eq!(z.download().unwrap(), poison(N as usize));
    add(&rig, [&x, &y, &z], ALL);
    assert_eq!(z.download().unwrap(), multiples(3));
    event.wait().unwrap();
    drop(fusion);
    rig.assert_no_validation_messages();
}
