//! Columns of matrices next to each other: kernels that store parts of each row, and what makes something of all elements.

use vkfuse_jit::plan::{Internalization, Promote};

use super::epilogues::{TRIPLE, flat, grid, tiles};
use super::lab::{Lab, kernel};

/// A part of the rows of a matrix: `columns` from `first` on, of `rows` rows, in elements that are `width` apart from row to row.
#[derive(Clone, Copy)]
struct Part {
    first: u32,
    columns: u32,
    rows: u32,
    width: u32,
}

/// How a kernel goes through its part.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// By elements, whose numbers it divides.
    Line,
    /// On a grid of columns and rows.
    Grid,
    /// By rows of an eight, in rounds.
    Rows,
}

const FORMS: [Form; 3] = [Form::Line, Form::Grid, Form::Rows];

impl Form {
    /// The text of a kernel with `p.x` columns from `p.w` on, of `p.y` rows, `p.z` being their length, and the value of an element.
    fn text(self, value: &str) -> String {
        self.storing(&format!("z[r * p.z + p.w + c] = {value};"))
    }

    /// The same with what is done for row `r` and column `c`, which are item `i`.
    fn storing(self, store: &str) -> String {
        match self {
            Self::Line => kernel(
                "a z",
                "16",
                &format!(
                    "let i = gid.x; if (i >= p.x * p.y) {{ return; }} let r = i / p.x; let c = i % p.x; {store}"
                ),
            ),
            Self::Grid => kernel(
                "a z",
                "4, 4",
                &format!(
                    "let c = gid.x; let r = gid.y; if (c >= p.x || r >= p.y) {{ return; }} let i = r * p.x + c; {store}"
                ),
            ),
            Self::Rows => kernel(
                "a z",
                "8",
                &format!(
                    "let r = wid.x; for (var c = lid.x; c < p.x; c += 8u) {{ let i = r * p.x + c; {store} }}"
                ),
            ),
        }
    }

    fn groups(self, part: Part) -> [u32; 3] {
        match self {
            Self::Line => [(part.columns * part.rows).div_ceil(16), 1, 1],
            Self::Grid => tiles(part.columns, part.rows),
            Self::Rows => [part.rows, 1, 1],
        }
    }
}

/// The text with these push constants as constants.
fn with_constants(text: &str, push: &[u32]) -> String {
    let mut text = text.to_owned();
    for (name, word) in ["p.x", "p.y", "p.z", "p.w"].into_iter().zip(push) {
        text = text.replace(name, &format!("{word}u"));
    }
    let lines = text.lines().filter(|line| !line.contains("struct P") && !line.contains("var<immediate>"));
    lines.collect::<Vec<_>>().join("\n")
}

const VALUE: &str = "a[i] * 3u + c";

/// Parts of a matrix in buffer 1, made of the buffers from 4 on.
fn stored(mut lab: Lab, form: Form, is_constant: bool, parts: &[Part]) -> Lab {
    for (number, &part) in (4..).zip(parts) {
        let push = [part.columns, part.rows, part.width, part.first];
        let text = form.text(VALUE);
        lab = match is_constant {
            true => lab.submit(&with_constants(&text, &push), form.groups(part), &[number, 1], &[]),
            false => lab.submit(&text, form.groups(part), &[number, 1], &push),
        };
    }
    lab
}

/// Parts next to each other.
fn next_to_each_other(columns: &[u32], rows: u32) -> (Vec<Part>, u32) {
    let width = columns.iter().sum();
    let mut first = 0;
    let each = columns.iter().map(|&columns| {
        let part = Part { first, columns, rows, width };
        first += columns;
        part
    });
    (each.collect(), width)
}

/// Something made of `n` elements in rows of `width`.
fn made(lab: Lab, consumer: usize, n: u32, width: u32) -> Lab {
    let line = [n.div_ceil(16), 1, 1];
    match consumer {
        0 => lab.submit(&flat("a z", TRIPLE), line, &[1, 2], &[n]),
        1 => lab.submit(&flat("a b z", "z[i] = a[i] * b[i % p.y] + i / p.y;"), line, &[1, 3, 2], &[n, width]),
        _ => {
            let rows = n / width;
            lab.submit(
                &grid("a b z", "z[i] = a[i] * b[x] + y;"),
                tiles(width, rows),
                &[1, 3, 2],
                &[width, rows],
            )
        }
    }
}

/// Elements of a buffer.
const N: u64 = 192;

fn lab() -> Lab {
    Lab::rewriting(N)
}

const WIDTHS: [&[u32]; 6] = [&[4, 4], &[5, 3], &[1, 7], &[12, 6], &[3, 5, 2], &[8, 16]];

probes! {
    fn columns_next_to_each_other_are_done_where_they_are_stored() {
        for (number, columns) in WIDTHS.into_iter().enumerate() {
            for form in [Form::Line, Form::Grid] {
                for promote in [Promote::None, Promote::Auto] {
                    let rows = 4 + number as u32 % 2;
                    let (parts, width) = next_to_each_other(columns, rows);
                    for consumer in 0..3 {
                        let lab = stored(lab().promote(1, promote), form, consumer == 1, &parts);
                        let checked = made(lab, consumer, rows * width, width).check().fused(0);
                        let pairs: Vec<(usize, usize)> = (0..parts.len()).map(|at| (parts.len(), at)).collect();
                        let checked = checked.appends(&pairs);
                        if promote == Promote::Auto {
                            checked.inside(1, Internalization::Private);
                        }
                    }
                }
            }
        }
    }

    // Rows of the one kernel go to a work-group, which the others take.
    fn columns_of_rows() {
        for (number, columns) in WIDTHS.into_iter().enumerate() {
            let rows = 4 + number as u32 % 2;
            let (parts, width) = next_to_each_other(columns, rows);
            for promote in [Promote::None, Promote::Auto] {
                for consumer in 0..3 {
                    let lab = stored(lab().promote(1, promote), Form::Rows, consumer == 1, &parts);
                    let checked = made(lab, consumer, rows * width, width).check();
                    assert_eq!(checked.plan.steps.len(), 1, "{:#?}", checked.plan.report);
                }
            }
        }
    }

    // One part by elements, the other on a grid or by rows.
    fn parts_of_several_forms() {
        for (columns, rows) in [([5, 3], 4), ([4, 4], 5), ([8, 16], 6)] {
            let (parts, width) = next_to_each_other(&columns, rows);
            for (first, second) in [(Form::Line, Form::Grid), (Form::Grid, Form::Line)] {
                let lab = stored(lab(), first, false, &parts[..1]);
                let lab = {
                    let part = parts[1];
                    let push = [part.columns, part.rows, part.width, part.first];
                    lab.submit(&second.text(VALUE), second.groups(part), &[5, 1], &push)
                };
                let checked = made(lab, 0, rows * width, width).check();
                assert_eq!(checked.plan.steps.len(), 1, "{:#?}", checked.plan.report);
            }
        }
    }

    // Two consumers, one behind the other, one of them in place.
    fn a_chain_behind_parts() {
        for form in [Form::Line, Form::Grid] {
            for promote in [Promote::None, Promote::Auto] {
                let (parts, width) = next_to_each_other(&[5, 3], 4);
                let n = 4 * width;
                let lab = stored(lab().promote(1, promote).promote(2, promote), form, false, &parts);
                let lab = made(lab, 1, n, width)
                    .submit(&flat("z", "z[i] = z[i] ^ 5u;"), [n.div_ceil(16), 1, 1], &[2], &[n])
                    .submit(&flat("a z", TRIPLE), [n.div_ceil(16), 1, 1], &[2, 6], &[n]);
                let checked = lab.check().fused(0);
                let pairs = [(2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1)];
                let checked = checked.appends(&pairs);
                if promote == Promote::Auto {
                    checked.inside(1, Internalization::Private).inside(2, Internalization::Private);
                }
            }
        }
    }

    // The first kernel stores the part behind.
    fn parts_in_another_order() {
        for form in [Form::Line, Form::Grid] {
            let (mut parts, width) = next_to_each_other(&[3, 5, 2], 4);
            parts.rotate_left(1);
            let lab = stored(lab().promote(1, Promote::Auto), form, false, &parts);
            made(lab, 0, 4 * width, width).check().fused(0).appends(&[(3, 0), (3, 1), (3, 2)]);
        }
    }

    // A kernel that stores two parts, and one that stores the third.
    fn two_parts_of_one_kernel() {
        let both = "let i = gid.x; if (i >= p.x * p.y) { return; } let r = i / p.x; let c = i % p.x;
            z[r * p.z + c] = a[i] * 3u; z[r * p.z + p.w + c] = a[i] + c;";
        for (columns, rest) in [(5, 3), (4, 4), (3, 8)] {
            let (width, rows) = (2 * columns + rest, 4);
            let part = Part { first: columns, columns: rest, rows, width };
            let lab = lab().promote(1, Promote::Auto).submit(
                &kernel("a z", "16", both),
                [(columns * rows).div_ceil(16), 1, 1],
                &[3, 1],
                &[columns, rows, width, columns + rest],
            );
            let lab = stored(lab, Form::Line, false, &[part]);
            made(lab, 0, rows * width, width).check().fused(0).appends(&[(2, 0), (2, 1)]);
        }
    }

    // What is between the parts keeps what was there.
    fn a_hole_between_parts() {
        for form in FORMS {
            for (first, columns) in [(6, 3), (5, 2), (5, 3)] {
                let width = 9;
                let parts = [
                    Part { first: 0, columns: 5, rows: 4, width },
                    Part { first, columns, rows: 4, width },
                ];
                for consumer in 0..3 {
                    for promote in [Promote::None, Promote::Auto] {
                        let lab = stored(lab().promote(1, promote), form, consumer == 0, &parts);
                        made(lab, consumer, 4 * width, width).check().appends(&[]);
                    }
                }
            }
        }
    }

    // As many stores as elements: some are stored twice, and others are not.
    fn parts_that_overlap() {
        for form in FORMS {
            let width = 8;
            for (first, columns) in [(3, 4), (0, 4), (4, 5)] {
                let parts = [
                    Part { first: 0, columns: 4, rows: 4, width },
                    Part { first, columns, rows: 4, width },
                ];
                for promote in [Promote::None, Promote::Auto] {
                    let lab = stored(lab().promote(1, promote), form, false, &parts);
                    made(lab, 0, 4 * width, width).check().appends(&[]);
                }
            }
        }
    }

    // One part has fewer rows than are read, or all have; one has more, in the place of those.
    fn rows_that_are_missing() {
        for form in FORMS {
            for rows in [[4, 3], [3, 4], [3, 3], [5, 3]] {
                let width = 8;
                let parts = [
                    Part { first: 0, columns: 4, rows: rows[0], width },
                    Part { first: 4, columns: 4, rows: rows[1], width },
                ];
                for promote in [Promote::None, Promote::Auto] {
                    let lab = stored(lab().promote(1, promote), form, false, &parts);
                    made(lab, 0, 4 * width, width).check().appends(&[]);
                }
            }
        }
    }

    fn items_that_read_neighbours() {
        for form in FORMS {
            for body in ["z[i] = a[i] + a[(i + 1u) % p.x];", "z[i] = a[p.x - 1u - i] + a[i];"] {
                let (parts, width) = next_to_each_other(&[5, 3], 4);
                let n = 4 * width;
                stored(lab(), form, false, &parts)
                    .submit(&flat("a z", body), [n.div_ceil(16), 1, 1], &[1, 2], &[n])
                    .check()
                    .appends(&[]);
            }
        }
    }

    // Of a part that memory decides about, nothing is certain.
    fn parts_that_depend_on_data() {
        for store in [
            "if (a[i] % 2u == 0u) { z[r * p.z + p.w + c] = a[i]; }",
            "if (a[i] % 4u != 1u) { z[r * p.z + p.w + c] = a[i]; }",
            "for (var k = 0u; k < a[i] % 2u; k++) { z[r * p.z + p.w + c] = k; }",
        ] {
            let (parts, width) = next_to_each_other(&[5, 3], 4);
            let lab = stored(lab(), Form::Line, false, &parts[..1]);
            let text = Form::Line.storing(store);
            let lab = lab.submit(&text, Form::Line.groups(parts[1]), &[5, 1], &[3, 4, width, 5]);
            made(lab, 0, 4 * width, width).check().appends(&[]);
        }
    }

    // Each element once, but not each place by its number: a sum of ids that has gaps, and one that has one value for several ids.
    fn guards_of_sums() {
        let (rows, columns) = (4, 4);
        // A part of four columns of eight, by ids (x, y) under a guard that both have a part in.
        for (sum, most) in [("x + y", 5), ("x + 8u * y", 26), ("x * 2u + y", 8), ("x + 4u * y", 15)] {
            let body = format!(
                "let x = gid.x; let y = gid.y; if ({sum} > p.x) {{ return; }} z[y * 8u + x] = a[x] + y;"
            );
            let part = Part { first: 4, columns, rows, width: 8 };
            let lab = lab().submit(&kernel("a z", "4, 4", &body), [1, 1, 1], &[3, 1], &[most]);
            let lab = stored(lab, Form::Grid, false, &[part]);
            let checked = made(lab, 0, 32, 8).check();
            match sum {
                "x + 4u * y" => drop(checked.fused(0).appends(&[(2, 0), (2, 1)])),
                _ => drop(checked.appends(&[])),
            }
        }
    }

    // What is touched between the parts and their reader, and what somebody else reads.
    fn what_is_touched_in_between() {
        let (parts, width) = next_to_each_other(&[5, 3], 4);
        let n = 4 * width;
        let line = [n.div_ceil(16), 1, 1];
        // Elements of the result, or what it is made of, before the second part is stored.
        for (body, buffers) in [
            ("z[i] = a[i] + 1u;", [2, 6]),
            ("z[i] = a[i] + 1u;", [6, 3]),
            ("z[i] = a[i] + 1u;", [6, 2]),
            ("z[i] = a[i] + 1u;", [1, 6]),
            ("z[i] = a[i] + 1u;", [6, 1]),
        ] {
            for promote in [Promote::None, Promote::Auto] {
                let lab = stored(lab().promote(1, promote), Form::Line, false, &parts[..1]);
                let lab = lab.submit(&flat("a z", body), line, &buffers, &[n]);
                let push = [3, 4, width, 5];
                let lab = lab.submit(&Form::Line.text(VALUE), Form::Line.groups(parts[1]), &[5, 1], &push);
                let lab = made(lab, 1, n, width);
                let lab = lab.submit(&flat("a z", TRIPLE), line, &[6, 7], &[n]);
                lab.check();
            }
        }
        // Others that read the elements.
        for reads in ["a[i]", "a[p.x - 1u - i]"] {
            let lab = stored(lab().promote(1, Promote::Auto), Form::Line, false, &parts);
            let lab = made(lab, 0, n, width);
            lab.submit(&flat("a z", &format!("z[i] = {reads} * 5u;")), line, &[1, 6], &[n]).check();
        }
    }

    // A part that reads what another has stored.
    fn parts_that_read_each_other() {
        let (parts, width) = next_to_each_other(&[5, 3], 4);
        let lab = stored(lab().promote(1, Promote::Auto), Form::Line, false, &parts[..1]);
        let text = Form::Line.text("a[i] + z[r * p.z]");
        let lab = lab.submit(&text, Form::Line.groups(parts[1]), &[5, 1], &[3, 4, width, 5]);
        made(lab, 0, 4 * width, width).check().appends(&[]);
    }
}
