//! Kernels as libraries write them: several elements an invocation in loops of many kinds, index maps that an argument
//! chooses, boxes of items beside lines. Lists of them run as one dispatch with the bits of the unfused run, or say why not.

use crate::support::{Buf, Ran, Rig, Size, Submit, Workload};
use vkfuse::Outcome;
use vkfuse::Promote::{self, Private};

/// Not a multiple of what a work-group does.
const N: u32 = 4096 + 77;

/// Work-groups of kernels that do 256 elements in each.
const TILES: Size = Size::Groups([N.div_ceil(256), 1, 1]);

/// Kernels that do four elements an invocation, by how they loop.
const LOOPS: [&str; 4] = ["library/lockstep", "library/skipped", "library/left", "library/both"];

fn submit(kernel: &str, size: Size, from: Buf, to: Buf, push: &[u32]) -> Submit {
    push.iter().fold(Submit::new(kernel, size).read(0, from).write(1, to), |submit, &word| submit.push(word))
}

/// Runs one kernel after another through `tmp`.
fn two(rig: &Rig, promote: Promote, kernels: [(&str, Size, &[u32]); 2]) -> (Ran, Buf) {
    let mut list = Workload::default();
    let x = list.floats("x", (0..N).map(|i| i as f32 * 0.5 - 700.0));
    let tmp = list.poisoned("tmp", N as usize);
    let out = list.poisoned("out", N as usize);
    list.promote(tmp, promote);
    for ((kernel, size, push), (from, to)) in kernels.into_iter().zip([(x, tmp), (tmp, out)]) {
        list.submit(submit(kernel, size, from, to, push));
    }
    (list.check_as_they_are(rig), tmp)
}

#[track_caller]
fn assert_dispatches(ran: &Ran, dispatches: u64) {
    let plan = &ran.report().plan;
    assert_eq!(ran.stats.dispatches, dispatches, "{plan:#?}");
    if dispatches > 1 {
        assert_ne!(ran.outcome(), Outcome::Fused);
        assert!(!plan.splits.is_empty(), "says no reason: {plan:#?}");
    }
}

/// However the loops are written, an invocation has the same four elements.
#[test]
fn loops_of_any_kind_fuse() {
    let rig = rig!();
    for first in LOOPS {
        for second in LOOPS {
            let (ran, _) = two(&rig, Promote::None, [(first, TILES, &[N]), (second, TILES, &[N])]);
            assert_dispatches(&ran, 1);
        }
        let (ran, tmp) = two(&rig, Private, [(first, TILES, &[N]), (first, TILES, &[N])]);
        assert_dispatches(&ran, 1);
        ran.assert_internalized(tmp, Private);
    }
    rig.assert_no_validation_messages();
}

/// A kernel with one element an invocation has other elements.
#[test]
fn a_loop_and_a_line_split() {
    let rig = rig!();
    for name in LOOPS {
        let line = Size::Groups([N.div_ceil(64), 1, 1]);
        let (ran, _) = two(&rig, Promote::None, [(name, TILES, &[N]), ("library/line", line, &[N])]);
        assert_dispatches(&ran, 2);
    }
    rig.assert_no_validation_messages();
}

/// What an argument excludes does not count; with another argument the same list is split, also if the fused one is known.
#[test]
fn an_argument_decides_whether_a_list_fuses() {
    let rig = rig!();
    let line = Size::Groups([N.div_ceil(64), 1, 1]);
    for mode in [2, 0, 2, 1, 5, 0, 2] {
        for promote in [Promote::None, Private] {
            let (ran, tmp) =
                two(&rig, promote, [("library/line", line, &[N]), ("library/modes", line, &[N, mode])]);
            assert_dispatches(&ran, if mode >= 2 { 1 } else { 2 });
            if mode >= 2 && promote == Private {
                ran.assert_internalized(tmp, Private);
            } else {
                ran.assert_in_memory(tmp);
            }
        }
    }
    rig.assert_no_validation_messages();
}

/// A box of items whose sides are what the work-groups make is a line of items.
#[test]
fn a_box_fuses_with_a_line() {
    let rig = rig!();
    let (solid, line) = (Size::Groups([3, 2, 2]), Size::Groups([12, 1, 1]));
    for (plane, dispatches) in [(96, 1), (100, 2)] {
        let push: &[u32] = &[12, 8, 8, plane];
        for kernels in [
            [("library/box", solid, push), ("library/line", line, &[768][..])],
            [("library/line", line, &[768][..]), ("library/box", solid, push)],
        ] {
            let (ran, _) = two(&rig, Promote::None, kernels);
            assert_dispatches(&ran, dispatches);
        }
    }
    rig.assert_no_validation_messages();
}
