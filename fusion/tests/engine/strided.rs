//! Kernels that do several elements an invocation, and grids with a guard for each dimension: they are as free as kernels that do one
//! element each, so they take rows, or are recomputed.

use crate::support::{Buf, Ran, Size, Submit, Workload};
use vkfuse::Internalization;
use vkfuse::Promote::Auto;

fn groups(count: u32) -> Size {
    Size::Groups([count, 1, 1])
}

/// Small numbers, both signs.
fn value(i: u32) -> f32 {
    (i.wrapping_mul(2_654_435_761) >> 20) as f32 / 2048.0 - 1.0
}

/// Rows of `columns` are scaled to a mean square of one, and then multiplied by a value for each column in a kernel of `strided/`.
struct Rows {
    list: Workload,
    scaled: Buf,
    out: Buf,
    rows: u32,
    columns: u32,
}

impl Rows {
    fn new(rows: u32, columns: u32, kernel: &str, groups_of: Size, by: u32, shift: u32) -> Self {
        let n = rows * columns;
        let mut list = Workload::default();
        let x = list.floats("x", (0..n).map(value));
        let w = list.floats("w", (0..columns).map(|c| 2.0 + value(c)));
        let [scaled, out] = ["scaled", "out"].map(|name| list.poisoned(name, n as usize));
        list.promote(scaled, Auto);
        list.submit(Submit::new("seams/rms_norm", groups(rows)).read(0, x).write(1, scaled).push(columns));
        let last = Submit::new(&format!("strided/{kernel}"), groups_of).read(0, scaled).read(1, w);
        list.submit(last.write(2, out).push(n).push(columns).push(by).push(shift));
        Self { list, scaled, out, rows, columns }
    }

    #[track_caller]
    fn assert_values(&self, ran: &Ran) {
        let (rows, columns) = (self.rows, self.columns);
        for row in 0..rows {
            let of = |c: u32| f64::from(value(row * columns + c));
            let mean = (0..columns).map(|c| of(c) * of(c)).sum::<f64>() / f64::from(columns);
            let scale = 1.0 / (mean + 1e-5).sqrt();
            for c in 0..columns {
                let (want, got) = (
                    of(c) * scale * f64::from(2.0 + value(c)),
                    ran.floats(self.out)[(row * columns + c) as usize],
                );
                assert!(
                    (want - f64::from(got)).abs() <= 1e-4 * want.abs().max(1e-3),
                    "row {row}, {c}: {got}, not {want}"
                );
            }
        }
    }

    /// Demands one dispatch with the right values, in which the scaled rows stay in registers.
    #[track_caller]
    fn assert_handed_on(&self, ran: &Ran) {
        ran.assert_one_fused_group();
        ran.assert_internalized(self.scaled, vkfuse::Promote::Private);
        assert_eq!(ran.barriers_kept(), 0, "{:#?}", ran.report().plan);
        self.assert_values(ran);
    }
}

#[test]
fn rows_before_several_elements_an_invocation() {
    let rig = rig!();
    for (rows, columns) in [(30, 256), (7, 320)] {
        let n = rows * columns;
        for (kernel, each) in [("two", 2), ("written_out", 2), ("returns", 4)] {
            let case = Rows::new(rows, columns, kernel, groups(n.div_ceil(256 * each)), 0, 0);
            case.assert_handed_on(&case.list.check_fused(&rig));
        }
        let lines = Size::Groups([1, n.div_ceil(512), 1]);
        let case = Rows::new(rows, columns, "continues", lines, 0, 0);
        case.assert_handed_on(&case.list.check_fused(&rig));
    }
}

#[test]
fn rows_before_as_many_elements_as_an_argument_says() {
    let rig = rig!();
    for each in [2, 3, 8] {
        let n: u32 = 12 * 300;
        let case = Rows::new(12, 300, "asked", Size::Groups([1, n.div_ceil(256 * each), 1]), each, 0);
        case.assert_handed_on(&case.list.check_fused(&rig));
    }
}

#[test]
fn rows_before_an_index_that_is_taken_apart() {
    let rig = rig!();
    let case = Rows::new(30, 256, "split", groups(30), 256, 0);
    case.assert_handed_on(&case.list.check_fused(&rig));
    // i / 256 = (mulhi(i, 1) + i) >> 8
    let case = Rows::new(30, 256, "fast", groups(30), 1, 8);
    case.assert_handed_on(&case.list.check_fused(&rig));
}

/// One row, as a model has it that makes a word at a time.
#[test]
fn one_row_before_several_elements_an_invocation() {
    let rig = rig!();
    for (kernel, each) in [("two", 2), ("written_out", 2), ("returns", 4), ("continues", 2)] {
        for columns in [256u32, 1000] {
            let count = columns.div_ceil(256 * each);
            let lines = Size::Groups(if kernel == "continues" { [1, count, 1] } else { [count, 1, 1] });
            let case = Rows::new(1, columns, kernel, lines, 0, 0);
            let ran = case.list.check_fused(&rig);
            ran.assert_one_fused_group();
            let got = ran.buffer_report(case.scaled).map(|one| one.got);
            assert!(got.is_some_and(|got| got != Internalization::None), "{:#?}", ran.report().plan);
            case.assert_values(&ran);
        }
    }
}

/// Lanes of four beside single elements, in a box of 28 x 28 x 4 that work-groups of 8 x 8 do not fill.
#[test]
fn boxes_that_are_no_whole_work_groups() {
    let rig = rig!();
    let (size, n) = ([28, 28, 4], 28 * 28 * 4);
    let boxes = || Size::Groups([4, 4, 4]);
    let sized = |submit: Submit| size.into_iter().fold(submit, Submit::push);
    let mut list = Workload::default();
    let x = list.floats("x", (0..4 * n).map(value));
    let w = list.floats("w", (0..4).map(|c| 1.0 + c as f32));
    let [double, out] = ["double", "out"].map(|name| list.poisoned(name, 4 * n as usize));
    list.promote(double, Auto);
    list.submit(sized(Submit::new("strided/packed", boxes()).read(0, x).write(1, double)));
    let flat = Submit::new("seams/weight", Size::Items([4 * n, 1, 1])).push(4 * n).push(4);
    list.submit(flat.read(0, double).read(1, w).write(2, out));
    let ran = list.check_fused(&rig);
    ran.assert_one_fused_group();
    ran.assert_internalized(double, vkfuse::Promote::Private);
    for i in 0..4 * n {
        assert_eq!(ran.floats(out)[i as usize], value(i) * 2.0 * (1.0 + (i % 4) as f32));
    }

    let mut list = Workload::default();
    let x = list.floats("x", (0..n).map(value));
    let w = list.floats("w", (0..28).map(|c| 1.0 + c as f32));
    let [columns, out] = ["columns", "out"].map(|name| list.poisoned(name, n as usize));
    list.promote(columns, Auto);
    let flat = Submit::new("seams/weight", Size::Items([n, 1, 1])).push(n).push(28);
    list.submit(flat.read(0, x).read(1, w).write(2, columns));
    list.submit(sized(Submit::new("strided/layers", boxes()).read(0, columns).read(1, w).write(2, out)));
    let ran = list.check_fused(&rig);
    ran.assert_one_fused_group();
    for i in 0..n {
        let (column, layer) = ((i % 28) as f32, (i / 784) as f32);
        assert_eq!(ran.floats(out)[i as usize], value(i) * (1.0 + column) * (1.0 + layer));
    }
}
