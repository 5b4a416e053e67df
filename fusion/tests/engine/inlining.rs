//! Lists in which a kernel reads elements that other invocations store: one dispatch, with the bytes of the unfused run, because
//! the kernel recomputes what it would have loaded; and lists in which it must not.

use crate::support::{Buf, Ran, Size, Submit, Workload};
use vkfuse::Promote::{self, Auto};
use vkfuse::{FusionProperties, Places, RewriteReason};

fn items(n: u32) -> Size {
    Size::Items([n, 1, 1])
}

fn image(width: u32, height: u32) -> Size {
    Size::Items([width, height, 1])
}

fn values(n: u32) -> impl Iterator<Item = f32> {
    (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0)
}

/// Demands one dispatch, in which submissions work out what others store: pairs of both.
#[track_caller]
fn assert_worked_out(ran: &Ran, pairs: &[(usize, usize)]) {
    let report = ran.report();
    let found: Vec<(usize, usize)> =
        report.plan.inlined.iter().map(|one| (one.submission, one.producer)).collect();
    assert_eq!(found, pairs, "{:#?}", report.plan);
    assert_eq!(ran.stats.dispatches, 1, "{:#?}", report.plan);
}

/// Demands this many dispatches with nothing recomputed, and hands out why the first seam stayed open.
#[track_caller]
fn assert_apart(ran: &Ran, dispatches: u64) -> Option<RewriteReason> {
    let report = ran.report();
    assert_eq!(ran.stats.dispatches, dispatches, "{:#?}", report.plan);
    assert!(report.plan.inlined.is_empty(), "{:#?}", report.plan.inlined);
    report.plan.splits[0].tried.clone()
}

/// `t = x y`, promoted as wished, and what reads it.
fn product(n: u32, promote: Promote) -> (Workload, Buf, Buf) {
    let mut list = Workload::default();
    let [x, y] = ["x", "y"].map(|name| list.floats(name, values(n)));
    let [t, out] = ["t", "out"].map(|name| list.poisoned(name, n as usize));
    list.promote(t, promote);
    list.submit(Submit::new("seams/product", items(n)).read(0, x).read(1, y).write(2, t).push(n));
    (list, t, out)
}

#[test]
fn gain_and_blur_and_gain() {
    let rig = rig!();
    for (width, height) in [(64, 48), (50, 37)] {
        for promote in [Promote::None, Auto] {
            let n = width * height;
            let mut list = Workload::default();
            let x = list.floats("x", values(n));
            let [t, u, out] = ["t", "u", "out"].map(|name| list.poisoned(name, n as usize));
            [t, u].into_iter().for_each(|buffer| list.promote(buffer, promote));
            let gain = |gain: f32| Submit::new("seams/gain", items(n)).push(n).push_f32(gain);
            list.submit(gain(0.7).read(0, x).write(1, t));
            let blur = Submit::new("seams/blur", image(width, height)).push(width).push(height);
            list.submit(blur.read(0, t).write(1, u));
            list.submit(gain(1.3).read(0, u).write(1, out));
            let ran = list.check_fused(&rig);
            assert_worked_out(&ran, &[(1, 0)]);
            assert_eq!(ran.barriers_kept(), 0);
            assert_in_lines(&ran);
            if promote == Auto {
                ran.assert_internalized(t, Promote::Private);
                ran.assert_internalized(u, Promote::Private);
            }
        }
    }
}

#[test]
fn product_and_reversal_over_all_groups() {
    let rig = rig!();
    for n in [4096, 5000] {
        for promote in [Promote::None, Auto] {
            // Read in reverse, and stored in reverse.
            let (mut list, t, out) = product(n, promote);
            list.submit(Submit::new("seams/reversed", items(n)).read(0, t).write(1, out).push(n));
            let ran = list.check_fused(&rig);
            assert_worked_out(&ran, &[(1, 0)]);
            assert_eq!(ran.barriers_kept(), 0);
            assert_in_lines(&ran);
            if promote == Auto {
                ran.assert_internalized(t, Promote::Private);
            }
        }
        let mut list = Workload::default();
        let [x, y] = ["x", "y"].map(|name| list.floats(name, values(n)));
        let [t, out] = ["t", "out"].map(|name| list.poisoned(name, n as usize));
        list.promote(t, Auto);
        list.submit(Submit::new("access/reverse", items(n)).read(0, x).write(1, t).push(n));
        list.submit(Submit::new("seams/product", items(n)).read(0, t).read(1, y).write(2, out).push(n));
        let ran = list.check_fused(&rig);
        assert_worked_out(&ran, &[(1, 0)]);
        ran.assert_internalized(t, Promote::Private);
        assert_in_lines(&ran);
    }
}

#[test]
fn product_and_gather_by_an_index_buffer() {
    let rig = rig!();
    let n = 5000;
    for promote in [Promote::None, Auto] {
        let (mut list, t, out) = product(n, promote);
        let from = list.words("from", (0..n).map(|i| i.wrapping_mul(2_654_435_761) % n));
        list.submit(Submit::new("access/gather", items(n)).read(0, t).read(1, from).write(2, out).push(n));
        let ran = list.check_fused(&rig);
        assert_worked_out(&ran, &[(1, 0)]);
        assert_in_lines(&ran);
    }
}

/// A product, its transposition and a sum with that; and the buffers between them.
fn transposed(width: u32, height: u32) -> (Workload, [Buf; 2]) {
    let n = width * height;
    let (mut list, t, u) = product(n, Auto);
    let b = list.floats("b", values(n));
    let out = list.poisoned("sum", n as usize);
    list.promote(u, Auto);
    let transpose = Submit::new("access/transpose", image(width, height)).push(width).push(height);
    list.submit(transpose.read(0, t).write(1, u));
    list.submit(Submit::new("seams/add", items(n)).read(0, u).read(1, b).write(2, out).push(n));
    (list, [t, u])
}

#[test]
fn product_and_transpose_and_sum() {
    let rig = rig!();
    // Squares that are full, and some that are not at one side or at both.
    for (width, height) in [(64, 48), (50, 37), (64, 45), (33, 64), (300, 31)] {
        let (list, inside) = transposed(width, height);
        let ran = list.check_fused(&rig);
        assert_eq!(ran.stats.dispatches, 1, "{:#?}", ran.report().plan);
        assert_eq!(ran.barriers_kept(), 0);
        inside.into_iter().for_each(|buffer| ran.assert_internalized(buffer, Promote::Private));
        // Lines of the sum are columns of what it is made of.
        assert_in_squares(&ran, 2, height);
    }
}

/// That nothing is moved into squares, where lines were measured to be faster. What has the place of a kernel of squares may be in them,
/// if that touches no more memory.
#[track_caller]
fn assert_in_lines(ran: &Ran) {
    let rewrites = &ran.report().plan.rewrites;
    let is_moved = |(lines, squares): (u64, u64)| squares < lines;
    assert!(rewrites.iter().all(|one| !one.sectors.is_some_and(is_moved)), "{rewrites:#?}");
}

/// That a submission does squares of lines so long, which touch fewer sectors.
#[track_caller]
fn assert_in_squares(ran: &Ran, submission: usize, width: u32) {
    let rewrites = &ran.report().plan.rewrites;
    let placed = rewrites.iter().find(|one| one.submission == submission);
    let placed = placed.unwrap_or_else(|| panic!("in lines: {rewrites:#?}"));
    assert_eq!((placed.places, placed.work_group), (Places::Grid { width }, [16, 16, 1]));
    assert!(placed.sectors.is_some_and(|(lines, squares)| squares * 4 <= lines * 3), "{placed:?}");
    assert!(placed.to_string().contains("in squares 1000 items touch"), "{placed}");
}

#[test]
fn lines_that_squares_would_not_fill_stay_lines() {
    let rig = rig!();
    // Of three squares beside each other, one would have a single column.
    let (list, _) = transposed(50, 33);
    let ran = list.check_fused(&rig);
    assert_eq!(ran.stats.dispatches, 1, "{:#?}", ran.report().plan);
    assert_in_lines(&ran);
}

#[test]
fn chains_by_elements_stay_lines() {
    let rig = rig!();
    let n = 64 * 48;
    let (mut list, t, u) = product(n, Auto);
    let b = list.floats("b", values(n));
    let out = list.poisoned("sum", n as usize);
    list.promote(u, Auto);
    list.submit(Submit::new("seams/gain", items(n)).push(n).push_f32(0.7).read(0, t).write(1, u));
    list.submit(Submit::new("seams/add", items(n)).read(0, u).read(1, b).write(2, out).push(n));
    let ran = list.check_fused(&rig);
    assert_eq!(ran.stats.dispatches, 1, "{:#?}", ran.report().plan);
    assert_in_lines(&ran);
}

#[test]
fn gain_and_transpose_go_by_the_squares_of_the_transposition() {
    let rig = rig!();
    for (width, height) in [(64, 48), (48, 80)] {
        let n = width * height;
        let mut list = Workload::default();
        let x = list.floats("x", values(n));
        let t = list.poisoned("t", n as usize);
        let out = list.poisoned("out", n as usize);
        list.promote(t, Auto);
        let gain = Submit::new("seams/gain", items(n)).push(n).push_f32(0.7);
        list.submit(gain.read(0, x).write(1, t));
        let transpose = Submit::new("access/transpose", image(width, height)).push(width).push(height);
        list.submit(transpose.read(0, t).write(1, out));
        let ran = list.check_fused(&rig);
        assert_eq!((ran.stats.dispatches, ran.barriers_kept()), (1, 0), "{:#?}", ran.report().plan);
        ran.assert_internalized(t, Promote::Private);
        assert_in_squares(&ran, 0, width);
    }
}

#[test]
fn up_sampling_of_a_scaled_image() {
    let rig = rig!();
    for (width, height) in [(32, 24), (25, 19)] {
        let n = width * height;
        let mut list = Workload::default();
        let x = list.floats("x", values(n));
        let t = list.poisoned("t", n as usize);
        let out = list.poisoned("out", 4 * n as usize);
        list.promote(t, Auto);
        let gain = Submit::new("seams/gain", items(n)).push(n).push_f32(0.7);
        list.submit(gain.read(0, x).write(1, t));
        let upsample = Submit::new("seams/upsample", image(2 * width, 2 * height)).push(width).push(height);
        list.submit(upsample.read(0, t).write(1, out));
        let ran = list.check_fused(&rig);
        assert_worked_out(&ran, &[(1, 0)]);
        ran.assert_internalized(t, Promote::Private);
        assert_in_lines(&ran);
    }
}

#[test]
fn rotary_pairs_after_a_scale() {
    let rig = rig!();
    for columns in [64, 128] {
        let n = 40 * columns;
        let mut list = Workload::default();
        let x = list.floats("x", values(n));
        let [cosine, sine] = ["cosine", "sine"].map(|name| list.floats(name, values(columns / 2)));
        let [t, out] = ["t", "out"].map(|name| list.poisoned(name, n as usize));
        list.promote(t, Auto);
        let gain = Submit::new("seams/gain", items(n)).push(n).push_f32(0.125);
        list.submit(gain.read(0, x).write(1, t));
        let rotary = Submit::new("seams/rotary", items(n)).push(n).push(columns);
        list.submit(rotary.read(0, t).read(1, cosine).read(2, sine).write(3, out));
        let ran = list.check_fused(&rig);
        assert_worked_out(&ran, &[(1, 0)]);
        ran.assert_internalized(t, Promote::Private);
        // Quotients and remainders, and both sides go by lines.
        assert!(ran.report().plan.rewrites.is_empty(), "{:#?}", ran.report().plan);
    }
}

/// An exponential and what undoes it, a division: floats that a compiler would simplify where it sees both.
#[test]
fn floats_that_come_together_keep_their_bits() {
    let rig = rig!();
    let n = 5000;
    let mut list = Workload::default();
    let x = list.floats("x", values(n).map(|x| 60.0 * x));
    let [t, u, out] = ["t", "u", "out"].map(|name| list.poisoned(name, n as usize));
    [t, u].into_iter().for_each(|buffer| list.promote(buffer, Auto));
    let half = |first: u32| Submit::new("seams/half", items(n)).push(n).push(first);
    list.submit(half(0).read(0, x).write(1, t));
    list.submit(Submit::new("seams/reversed", items(n)).read(0, t).write(1, u).push(n));
    list.submit(half(0).read(0, u).write(1, out));
    assert_worked_out(&list.check_fused(&rig), &[(1, 0)]);
}

#[test]
fn the_same_kernel_serves_other_sizes() {
    let rig = rig!();
    let key = |n: u32| {
        let (mut list, t, out) = product(n, Auto);
        list.submit(Submit::new("seams/reversed", items(n)).read(0, t).write(1, out).push(n));
        list.check_fused(&rig).report().steps[0].key
    };
    assert_eq!(key(4096), key(5000));
}

/// Whether it is planned, or known from an earlier run on other buffers, or compared on the device first.
#[test]
fn a_list_that_runs_again_is_worked_out_again() {
    let rig = rig!();
    let n = 3000;
    let list = || {
        let (mut list, t, out) = product(n, Auto);
        list.submit(Submit::new("seams/reversed", items(n)).read(0, t).write(1, out).push(n));
        list
    };
    for _ in 0..3 {
        assert_worked_out(&list().check_fused(&rig), &[(1, 0)]);
    }
    let list = list();
    let verified = FusionProperties::new().verify_first_run(true);
    for _ in 0..2 {
        list.run_fused(&rig, &verified);
    }
    let off = FusionProperties::new().no_rewrites();
    assert_eq!(assert_apart(&list.run_fused(&rig, &off), 2), None);
}

/// What it was made of is written over, or more is read than was stored.
#[test]
fn what_is_no_longer_there_is_not_worked_out() {
    let rig = rig!();
    let n = 4096;
    // In place: the source is gone.
    let mut list = Workload::default();
    let x = list.floats("x", values(n));
    let out = list.poisoned("out", n as usize);
    let scale = Submit::new("access/scale_in_place", items(n)).push(n).push(3);
    list.submit(scale.read_write(0, x));
    list.submit(Submit::new("seams/reversed", items(n)).read(0, x).write(1, out).push(n));
    // Where it is stored it is still there.
    let ran = list.check_equal(&rig);
    let report = ran.report();
    assert!(report.plan.inlined.is_empty(), "{:#?}", report.plan);
    assert_eq!(report.plan.epilogues.len(), 1, "{:#?}", report.plan);
    // The last element is none of the producer's: that one alone is loaded.
    let mut list = Workload::default();
    let x = list.floats("x", values(n));
    let [t, out] = ["t", "out"].map(|name| list.poisoned(name, n as usize));
    let gain = Submit::new("seams/gain", items(n)).push(n - 1).push_f32(0.5);
    list.submit(gain.read(0, x).write(1, t));
    list.submit(Submit::new("seams/reversed", items(n)).read(0, t).write(1, out).push(n));
    assert_worked_out(&list.check_fused(&rig), &[(1, 0)]);
}

#[test]
fn two_halves_written_by_two_kernels_and_read_by_one() {
    let rig = rig!();
    for n in [4096, 5000] {
        let h = n / 2;
        let mut list = Workload::default();
        let [x, y] = ["x", "y"].map(|name| list.floats(name, values(h)));
        let [t, out] = ["t", "out"].map(|name| list.poisoned(name, n as usize));
        let half = |first: u32| Submit::new("seams/half", items(h)).push(h).push(first);
        list.submit(half(0).read(0, x).write(1, t));
        list.submit(half(h).read(0, y).write(1, t));
        let gain = Submit::new("seams/gain", items(n)).push(n).push_f32(0.7);
        list.submit(gain.read(0, t).write(1, out));
        let ran = list.check_fused(&rig);
        assert_worked_out(&ran, &[]);
        let placed = &ran.report().plan.rewrites;
        let places: Vec<_> = placed.iter().map(|one| (one.submission, one.places)).collect();
        assert_eq!(
            places,
            [(1, Places::Line { start: h })],
            "the second half is done from its first element on"
        );
        assert_eq!(ran.barriers_kept(), 0);
    }
}
