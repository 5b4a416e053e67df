//! Lists in which kernels by elements meet kernels by rows or tiles: one dispatch, with the bytes of the unfused run, because
//! the kernels by elements take the rows or tiles; and lists in which they must not.

use crate::support::{Buf, Ran, Size, Submit, Workload};
use vkfuse::Promote::{self, Auto};
use vkfuse::{FusionProperties, Outcome, Places, RewriteReason};

fn items(n: u32) -> Size {
    Size::Items([n, 1, 1])
}

fn rows(rows: u32) -> Size {
    Size::Groups([rows, 1, 1])
}

fn values(n: u32) -> impl Iterator<Item = f32> {
    (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0)
}

/// Demands one dispatch, with these submissions placed on the rows or tiles of another.
#[track_caller]
fn assert_placed(ran: &Ran, places: Places, submissions: &[usize]) {
    let report = ran.report();
    let mut placed: Vec<usize> = report.plan.rewrites.iter().map(|one| one.submission).collect();
    placed.sort_unstable();
    assert_eq!(placed, submissions, "{:#?}", report.plan);
    assert!(report.plan.rewrites.iter().all(|one| one.places == places), "{:#?}", report.plan.rewrites);
}

/// Demands this many dispatches with nothing placed, and hands out why the first seam stayed open.
#[track_caller]
fn assert_apart(ran: &Ran, dispatches: u64) -> Option<RewriteReason> {
    let report = ran.report();
    assert_eq!(ran.stats.dispatches, dispatches, "{:#?}", report.plan);
    assert!(report.plan.rewrites.is_empty(), "{:#?}", report.plan.rewrites);
    report.plan.splits[0].tried.clone()
}

const ROWS: u32 = 24;

fn softmax(columns: u32, promote: Promote) -> (Workload, Buf) {
    let n = ROWS * columns;
    let mut list = Workload::default();
    let x = list.floats("x", values(n));
    let [most, sum] = ["most", "sum"].map(|name| list.poisoned(name, ROWS as usize));
    let [exp, out] = ["exp", "out"].map(|name| list.poisoned(name, n as usize));
    [most, exp, sum].into_iter().for_each(|buffer| list.promote(buffer, promote));
    list.submit(Submit::new("softmax/row_max", rows(ROWS)).read(0, x).write(1, most).push(columns));
    let flat = |name: &str| Submit::new(name, items(n)).push(n).push(columns);
    list.submit(flat("seams/exp_sub").read(0, x).read(1, most).write(2, exp));
    list.submit(Submit::new("softmax/row_sum", rows(ROWS)).read(0, exp).write(1, sum).push(columns));
    list.submit(flat("seams/divide").read(0, exp).read(1, sum).write(2, out));
    (list, exp)
}

#[test]
fn softmax_whose_exp_and_divide_are_flat() {
    let rig = rig!();
    for columns in [1000, 1024, 64] {
        for promote in [Promote::None, Auto] {
            let (list, exp) = softmax(columns, promote);
            let ran = list.check_fused(&rig);
            assert_placed(&ran, Places::Rows { length: columns }, &[1, 3]);
            assert_eq!(ran.barriers_kept(), 2);
            if promote == Auto {
                ran.assert_internalized(exp, Promote::Private);
            }
        }
    }
}

#[test]
fn the_same_kernel_serves_other_rows() {
    let rig = rig!();
    // Rows so long that no device keeps their elements in registers: then the code does not depend on their length.
    let (first, _) = softmax(70_000, Promote::None);
    let (second, _) = softmax(71_000, Promote::None);
    let force = FusionProperties::new().force_fusion();
    let keys = [first, second].map(|list| list.check_fused_with(&rig, &force).report().steps[0].key);
    assert_eq!(keys[0], keys[1]);
}

/// `h = x + y; t = norm(h); out = t * w`, with the sum kept as transformers need it.
fn residual(columns: u32, promote: Promote) -> (Workload, Buf, Buf) {
    let n = ROWS * columns;
    let mut list = Workload::default();
    let [x, y] = ["x", "y"].map(|name| list.floats(name, values(n)));
    let w = list.floats("w", values(columns));
    let [h, t, out] = ["h", "t", "out"].map(|name| list.poisoned(name, n as usize));
    list.promote(t, promote);
    list.submit(Submit::new("seams/add", items(n)).read(0, x).read(1, y).write(2, h).push(n));
    list.submit(Submit::new("seams/rms_norm", rows(ROWS)).read(0, h).write(1, t).push(columns));
    let weight = Submit::new("seams/weight", items(n)).push(n).push(columns);
    list.submit(weight.read(0, t).read(1, w).write(2, out));
    (list, h, t)
}

#[test]
fn residual_add_and_rms_norm_and_weight() {
    let rig = rig!();
    for columns in [1000, 1024] {
        let (list, h, t) = residual(columns, Auto);
        let ran = list.check_fused(&rig);
        assert_placed(&ran, Places::Rows { length: columns }, &[0, 2]);
        assert_eq!(ran.barriers_kept(), 0);
        ran.assert_in_memory(h);
        ran.assert_internalized(t, Promote::Private);
    }
}

/// A value a row, after reductions of the rows: one invocation of each work-group takes the row's.
#[test]
fn cross_entropy_of_rows() {
    let rig = rig!();
    for (columns, rows_of) in [(1000, ROWS), (1024, 600), (64, 40)] {
        let n = rows_of * columns;
        let mut list = Workload::default();
        let x = list.floats("x", values(n));
        let label = list.words("label", (0..rows_of).map(|row| row * 7 % columns));
        let [most, sum] = ["most", "sum"].map(|name| list.poisoned(name, rows_of as usize));
        let exp = list.poisoned("exp", n as usize);
        [most, exp, sum].into_iter().for_each(|buffer| list.promote(buffer, Auto));
        let loss = list.poisoned("loss", rows_of as usize);
        list.submit(Submit::new("softmax/row_max", rows(rows_of)).read(0, x).write(1, most).push(columns));
        let flat = Submit::new("seams/exp_sub", items(n)).push(n).push(columns);
        list.submit(flat.read(0, x).read(1, most).write(2, exp));
        list.submit(Submit::new("softmax/row_sum", rows(rows_of)).read(0, exp).write(1, sum).push(columns));
        let last = Submit::new("seams/row_loss", items(rows_of)).push(rows_of).push(columns);
        list.submit(last.read(0, x).read(1, label).read(2, most).read(3, sum).write(4, loss));
        let ran = list.check_fused(&rig);
        let placed =
            ran.report().plan.rewrites.iter().map(|one| (one.submission, one.places)).collect::<Vec<_>>();
        assert!(placed.contains(&(3, Places::Rows { length: 1 })), "{:#?}", ran.report().plan);
        assert!(placed.contains(&(1, Places::Rows { length: columns })), "{:#?}", ran.report().plan);
        for buffer in [most, exp, sum] {
            assert!(
                ran.buffer_report(buffer).is_some_and(|one| one.got != vkfuse::Internalization::None),
                "{:#?}",
                ran.report()
            );
        }
    }
}

#[test]
fn rms_norm_and_weight() {
    let rig = rig!();
    for columns in [1000, 1024] {
        let n = ROWS * columns;
        let mut list = Workload::default();
        let x = list.floats("x", values(n));
        let w = list.floats("w", values(columns));
        let [t, out] = ["t", "out"].map(|name| list.poisoned(name, n as usize));
        list.submit(Submit::new("seams/rms_norm", rows(ROWS)).read(0, x).write(1, t).push(columns));
        let weight = Submit::new("seams/weight", items(n)).push(n).push(columns);
        list.submit(weight.read(0, t).read(1, w).write(2, out));
        assert_placed(&list.check_fused(&rig), Places::Rows { length: columns }, &[1]);
        let off = FusionProperties::new().no_rewrites();
        let ran = list.run_fused(&rig, &off);
        assert_eq!(assert_apart(&ran, 2), None);
    }
}

#[test]
fn matmul_and_bias_and_gelu() {
    let rig = rig!();
    for (height, width, inner) in [(64, 48, 32), (50, 70, 20)] {
        let n = height * width;
        let mut list = Workload::default();
        let a = list.floats("a", values(height * inner));
        let b = list.floats("b", values(inner * width));
        let bias = list.floats("bias", values(width));
        let [c, d, out] = ["c", "d", "out"].map(|name| list.poisoned(name, n as usize));
        [c, d].into_iter().for_each(|buffer| list.promote(buffer, Auto));
        let matmul = Submit::new("seams/matmul", Size::Items([width, height, 1])).read(0, a).read(1, b);
        list.submit(matmul.write(2, c).push(height).push(width).push(inner));
        let add = Submit::new("seams/bias", items(n)).push(n).push(width);
        list.submit(add.read(0, c).read(1, bias).write(2, d));
        list.submit(Submit::new("seams/gelu", items(n)).read(0, d).write(1, out).push(n));
        let ran = list.check_fused(&rig);
        assert_placed(&ran, Places::Grid { width }, &[1, 2]);
        assert_eq!(ran.barriers_kept(), 0);
        ran.assert_internalized(c, Promote::Private);
        ran.assert_internalized(d, Promote::Private);
    }
}

/// A flat kernel over another number of elements than the rows have, and one after row kernels of other rows.
#[test]
fn counts_that_do_not_fit_stay_apart() {
    let rig = rig!();
    let columns = 1000;
    let n = ROWS * columns;
    let list = |extra: u32| {
        let mut list = Workload::default();
        let [x, y] = ["x", "y"].map(|name| list.floats(name, values(n + 256)));
        let [h, t] = ["h", "t"].map(|name| list.poisoned(name, (n + 256) as usize));
        let n = n + extra;
        list.submit(Submit::new("seams/add", items(n)).read(0, x).read(1, y).write(2, h).push(n));
        list.submit(Submit::new("seams/rms_norm", rows(ROWS)).read(0, h).write(1, t).push(columns));
        list.check_equal(&rig)
    };
    assert_placed(&list(0), Places::Rows { length: columns }, &[0]);
    // What cannot be placed is recomputed.
    let ran = list(1);
    assert!(ran.report().plan.rewrites.is_empty());
    assert_eq!((ran.stats.dispatches, ran.report().plan.inlined.len()), (1, 1), "{:#?}", ran.report().plan);
}

/// An element of another row is one of another work-group.
#[test]
fn elements_of_other_rows_stay_apart() {
    let rig = rig!();
    let columns = 512;
    let n = ROWS * columns;
    let mut list = Workload::default();
    let x = list.floats("x", values(n));
    let [t, out] = ["t", "out"].map(|name| list.poisoned(name, n as usize));
    list.submit(Submit::new("seams/rms_norm", rows(ROWS)).read(0, x).write(1, t).push(columns));
    list.submit(Submit::new("seams/shifted", items(n)).read(0, t).write(1, out).push(n).push(columns));
    assert_apart(&list.check_equal(&rig), 2);
    // Written over while other rows are still to be read.
    let mut list = Workload::default();
    let x = list.floats("x", values(n));
    let out = list.poisoned("out", n as usize);
    let y = list.floats("y", values(n));
    list.submit(Submit::new("seams/shifted", items(n)).read(0, x).write(1, out).push(n).push(columns));
    list.submit(Submit::new("seams/rms_norm", rows(ROWS)).read(0, y).write(1, x).push(columns));
    assert_apart(&list.check_equal(&rig), 2);
}

/// Whether it is planned, or known from an earlier run on other buffers, or compared on the device first.
#[test]
fn a_list_that_runs_again_is_placed_again() {
    let rig = rig!();
    for _ in 0..3 {
        let (list, ..) = residual(384, Promote::None);
        assert_placed(&list.check_fused(&rig), Places::Rows { length: 384 }, &[0, 2]);
    }
    // Compared on the device before it is used.
    let (list, ..) = residual(320, Promote::None);
    let verified = FusionProperties::new().verify_first_run(true);
    let unfused = list.run_unfused(&rig);
    for _ in 0..2 {
        let ran = list.run_fused(&rig, &verified);
        ran.assert_equals(&unfused);
        assert_placed(&ran, Places::Rows { length: 320 }, &[0, 2]);
        assert_eq!(ran.outcome(), Outcome::Fused);
    }
}

/// A kernel by elements with a work-group size of its own, beside one with barriers: it takes that one's work-groups. In words of
/// `pair/scale` and `groups/exclusive_scan`, whose items number themselves in the same way.
fn other_size(scanned: [u32; 2], scaled: [u32; 2], n: u32, scale_first: bool) -> (Workload, Buf) {
    let [(groups, size), (scale_groups, scale_size)] = [scanned, scaled].map(|[groups, size]| (groups, size));
    let mut list = Workload::default();
    let words = (groups * size).max(scale_groups * scale_size) as usize;
    let x = list.words("x", (0..words as u32).map(|i| i.wrapping_mul(2_654_435_761)));
    let [t, z] = ["t", "z"].map(|name| list.poisoned(name, words));
    list.promote(t, Auto);
    let (from, to) = if scale_first { ([t, x], [z, t]) } else { ([x, t], [t, z]) };
    let scan = Submit::new("groups/exclusive_scan", rows(groups)).read(0, from[0]).write(1, to[0]);
    let scale = Submit::new("pair/scale", rows(scale_groups)).read(0, from[1]).write(1, to[1]);
    let scan = scan.local(&[size]).push(7);
    let scale = scale.local(&[scale_size]).push(n).push(3);
    let both = if scale_first { [scale, scan] } else { [scan, scale] };
    both.into_iter().for_each(|submit| list.submit(submit));
    (list, t)
}

#[test]
fn another_work_group_size_beside_a_barrier() {
    let rig = rig!();
    for (scanned, scaled, n, scale_first) in [
        ([16, 64], [4, 256], 1024, false),
        ([16, 64], [4, 256], 1000, false),
        ([4, 256], [16, 64], 1024, false),
        // The last work-groups have nothing to do.
        ([17, 64], [5, 256], 1088, false),
        ([16, 64], [4, 256], 1024, true),
    ] {
        let (list, t) = other_size(scanned, scaled, n, scale_first);
        let ran = list.check_fused(&rig);
        let at = usize::from(!scale_first);
        assert_placed(&ran, Places::Rows { length: scanned[1] }, &[at]);
        ran.assert_internalized(t, Promote::Private);
    }
}

#[test]
fn other_numbers_of_items_stay_apart() {
    let rig = rig!();
    for (scanned, scaled, n) in [
        // More items have something to do than the other kernel has.
        ([16, 64], [5, 256], 1280),
        ([16, 64], [5, 256], 1025),
    ] {
        let (list, _) = other_size(scanned, scaled, n, false);
        let ran = list.check_equal(&rig);
        let why = assert_apart(&ran, 2);
        assert!(matches!(why, Some(RewriteReason::Count { .. })), "{why:?}");
    }
}
