//! Lists that are reordered: interleaved chains, and unrelated submissions in the middle of a chain; and lists that must keep their
//! order.

use crate::support::{Buf, Ran, Rig, Size, Submit, Workload};
use vkfuse::Promote::{self, Auto};
use vkfuse::{FusionProperties, FusionWrapper, Outcome};

const N: u32 = 1024;

/// A scan of each work-group of this many elements: it goes with scans of the same size alone.
fn scan(size: u32, from: Buf, to: Buf) -> Submit {
    Submit::new("groups/exclusive_scan", Size::Groups([N / size, 1, 1]))
        .spec(0, size)
        .read(0, from)
        .write(1, to)
        .push(size + 3)
}

fn words(list: &mut Workload, name: &str) -> Buf {
    list.words(name, (0..N).map(|i| i.wrapping_mul(2_654_435_761) >> 20))
}

fn scratch<const COUNT: usize>(list: &mut Workload, names: [&str; COUNT]) -> [Buf; COUNT] {
    names.map(|name| list.poisoned(name, N as usize))
}

/// Demands this many dispatches in this order.
#[track_caller]
fn assert_order(ran: &Ran, order: &[usize], dispatches: u64) {
    let report = ran.report();
    let reordered = report.plan.reordered.as_ref().unwrap_or_else(|| panic!("{:#?}", report.plan));
    assert_eq!(reordered.order, order, "{:#?}", report.plan);
    ran.assert_ran(&Outcome::Split, dispatches);
    let done: Vec<usize> = report.steps.iter().flat_map(|step| step.members.to_vec()).collect();
    assert_eq!(done, order);
}

/// Demands this many dispatches in the order of the list.
#[track_caller]
fn assert_own_order(ran: &Ran, dispatches: u64) {
    let report = ran.report();
    assert_eq!(report.plan.reordered, None, "{:#?}", report.plan);
    assert_eq!(ran.stats.dispatches, dispatches, "{:#?}", report.plan);
}

/// Two chains of three by turns.
fn by_turns(promote: Promote) -> (Workload, [Buf; 4]) {
    let mut list = Workload::default();
    let [x, y] = ["x", "y"].map(|name| words(&mut list, name));
    let [a, b, c, d] = scratch(&mut list, ["a", "b", "c", "d"]);
    let [out, other] = scratch(&mut list, ["out", "other"]);
    [a, b, c, d].into_iter().for_each(|buffer| list.promote(buffer, promote));
    for (from, to) in [((x, y), (a, c)), ((a, c), (b, d)), ((b, d), (out, other))] {
        list.submit(scan(64, from.0, to.0));
        list.submit(scan(128, from.1, to.1));
    }
    (list, [a, b, c, d])
}

#[test]
fn two_chains_by_turns_are_two_dispatches() {
    let rig = rig!();
    for promote in [Promote::None, Auto] {
        let (list, inside) = by_turns(promote);
        let ran = list.check_equal(&rig);
        assert_order(&ran, &[0, 2, 4, 1, 3, 5], 2);
        for buffer in inside.into_iter().filter(|_| promote == Auto) {
            ran.assert_internalized(buffer, Promote::Private);
        }
        let plain = list.check_as_they_are(&rig);
        assert_own_order(&plain, 6);
    }
}

#[test]
fn lists_in_another_order_run_again() {
    let rig = rig!();
    let (list, _) = by_turns(Auto);
    let expected = list.run_unfused(&rig);
    let buffers = list.allocate(&rig);
    let run = || {
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        list.submit_all(&rig, &buffers);
        fusion.complete_fusion(&FusionProperties::default()).unwrap()
    };
    let outs = |of: &[vkfuse::Buffer<u32>]| [6, 7].map(|at| of[at].download().unwrap());
    // Planned, noted, recorded, and from the tape.
    for _ in 0..5 {
        let event = run();
        event.wait().unwrap();
        let report = event.report().unwrap();
        assert_eq!(report.dispatches, 2, "{:#?}", report.plan);
        assert_eq!(report.plan.reordered.as_ref().map(|one| one.order.len()), Some(6));
        assert_eq!(outs(&buffers), outs(&expected.buffers));
    }
    // What stays inside cannot be read, whichever kernel comes first.
    assert!((2..6).all(|inside| buffers[inside].download().is_err()));
    rig.assert_no_validation_messages();
}

/// Positions in the order, and those of push constants in the list, have to agree.
#[test]
fn other_push_constants_reach_their_submissions_in_another_order() {
    let rig = rig!();
    let scans = [64, 128].map(|size| (size, rig.kernel("groups/exclusive_scan")));
    let names = ["x", "y", "a", "c", "b", "d", "out", "other"];
    let contents = |at: usize| (0..N).map(|i| (i * 7 + at as u32) % 61).collect::<Vec<u32>>();
    let allocate = || names.iter().enumerate().map(|(at, _)| rig.context.buffer_from(&contents(at)).unwrap());
    let [buffers, others, plain]: [Vec<vkfuse::Buffer<u32>>; 3] =
        std::array::from_fn(|_| allocate().collect());
    let submit = |buffers: &[vkfuse::Buffer<u32>], starts: &[u32]| {
        for (link, pair) in starts.chunks(2).enumerate() {
            for (chain, (size, kernel)) in scans.iter().enumerate() {
                let (from, to) = (&buffers[2 * link + chain], &buffers[2 * link + 2 + chain]);
                rig.queue
                    .submit(|h| {
                        h.arg(0, from.read()).arg(1, to.write()).push(&pair[chain]).spec(0, *size);
                        h.dispatch(kernel, [N / size, 1, 1]);
                    })
                    .unwrap();
            }
        }
    };
    // All different, all equal, and every way between.
    let all =
        [[1, 2, 3, 4, 5, 6], [9, 8, 7, 6, 5, 4], [1, 1, 1, 1, 1, 1], [1, 2, 1, 2, 1, 2], [3, 3, 4, 4, 5, 5]];
    for (round, starts) in all.iter().chain(&all).chain(all.iter().rev()).enumerate() {
        let used = if round % 4 == 3 { &others } else { &buffers };
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        submit(used, starts);
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        event.wait().unwrap();
        let report = event.report().unwrap();
        let order = report.plan.reordered.as_ref().map(|one| one.order.clone());
        assert_eq!(order, Some(vec![0, 2, 4, 1, 3, 5]), "{:#?}", report.plan);
        submit(&plain, starts);
        for (at, name) in names.iter().enumerate() {
            let (own, expected) = (used[at].download().unwrap(), plain[at].download().unwrap());
            assert_eq!(own, expected, "`{name}`, round {round}");
        }
    }
    rig.assert_no_validation_messages();
}

#[test]
fn kept_lists_and_first_runs_on_the_device_keep_the_order() {
    let rig = rig!();
    let (list, _) = by_turns(Auto);
    let expected = list.run_unfused(&rig);
    let verified = list.run_fused(&rig, &FusionProperties::default().verify_first_run(true));
    assert_eq!(verified.report().checks[0].agreed, Some(true), "{:#?}", verified.report().checks);
    verified.assert_equals(&expected);
    let buffers = list.allocate(&rig);
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    list.submit_all(&rig, &buffers);
    let (event, kept) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
    assert_eq!(event.report().unwrap().dispatches, 2);
    for _ in 0..3 {
        let event = kept.run().unwrap();
        event.wait().unwrap();
        assert_eq!(event.report().unwrap().dispatches, 2);
        for out in [6, 7] {
            assert_eq!(buffers[out].download().unwrap(), expected.buffers[out].download().unwrap());
        }
    }
    rig.assert_no_validation_messages();
}

/// A chain of two with a kernel in between.
fn around(between: impl FnOnce(&mut Workload, [Buf; 3]) -> Submit) -> Workload {
    let mut list = Workload::default();
    let x = words(&mut list, "x");
    let [a, out] = scratch(&mut list, ["a", "out"]);
    list.submit(scan(64, x, a));
    let stranger = between(&mut list, [x, a, out]);
    list.submit(stranger);
    list.submit(scan(64, a, out));
    list
}

#[test]
fn a_stranger_in_the_middle_is_done_apart() {
    let rig = rig!();
    let list = around(|list, _| {
        let y = words(list, "y");
        let [other] = scratch(list, ["other"]);
        scan(128, y, other)
    });
    assert_order(&list.check_equal(&rig), &[0, 2, 1], 2);
}

#[test]
fn a_stranger_that_reads_what_is_overwritten_is_done_first() {
    let rig = rig!();
    let list = around(|list, [_, _, out]| {
        let [other] = scratch(list, ["other"]);
        scan(128, out, other)
    });
    assert_order(&list.check_equal(&rig), &[1, 0, 2], 2);
}

#[test]
fn a_stranger_that_writes_what_is_overwritten_is_done_first() {
    let rig = rig!();
    let list = around(|list, [_, _, out]| {
        let y = words(list, "y");
        scan(128, y, out)
    });
    assert_order(&list.check_equal(&rig), &[1, 0, 2], 2);
}

#[test]
fn what_two_links_have_between_them_stays_there() {
    let rig = rig!();
    let mut list = Workload::default();
    let x = words(&mut list, "x");
    let [a, b, out] = scratch(&mut list, ["a", "b", "out"]);
    list.submit(scan(64, x, a));
    list.submit(scan(128, a, b));
    list.submit(scan(64, b, a));
    list.submit(scan(128, a, out));
    assert_own_order(&list.check_equal(&rig), 4);
}

#[test]
fn halves_of_one_buffer_are_two_chains() {
    let rig = rig!();
    let half = N as usize / 2;
    let scan = |size: u32, (from, first): (Buf, usize), (to, second): (Buf, usize)| {
        Submit::new("groups/exclusive_scan", Size::Groups([N / 2 / size, 1, 1]))
            .spec(0, size)
            .read(0, from)
            .range(first, half)
            .write(1, to)
            .range(second, half)
            .push(1)
    };
    let list = |shift: usize| {
        let mut list = Workload::default();
        let x = words(&mut list, "x");
        let [t, out] = scratch(&mut list, ["t", "out"]);
        list.submit(scan(64, (x, 0), (t, 0)));
        list.submit(scan(128, (x, half), (t, half - shift)));
        list.submit(scan(64, (t, 0), (out, 0)));
        list.submit(scan(128, (t, half - shift), (out, half)));
        list
    };
    assert_order(&list(0).check_equal(&rig), &[0, 2, 1, 3], 2);
    // A few bytes in common: the second chain writes where the first one reads, so it comes after that.
    let ran = list(64).check_equal(&rig);
    assert_ne!(ran.report().plan.reordered.as_ref().map(|one| one.order.clone()), Some(vec![1, 3, 0, 2]));
}

#[test]
fn a_program_may_look_at_either_chain_alone() {
    let rig = rig!();
    let (list, _) = by_turns(Promote::None);
    let expected = list.run_unfused(&rig);
    let buffers = list.allocate(&rig);
    run_by_turns(&rig, &list, &buffers);
    // Reading ends nothing any more: the list is complete. Both chains have all that they wrote.
    for (at, buffer) in buffers.iter().enumerate() {
        assert_eq!(buffer.download().unwrap(), expected.buffers[at].download().unwrap(), "buffer {at}");
    }
}

fn run_by_turns(rig: &Rig, list: &Workload, buffers: &[vkfuse::Buffer<u32>]) {
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    list.submit_all(rig, buffers);
    fusion.complete_fusion(&FusionProperties::default()).unwrap().wait().unwrap();
}
