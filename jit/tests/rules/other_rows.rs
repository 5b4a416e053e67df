//! Kernels that have several elements in a row and fewer items: halves of rows that are turned into each other, channels that are unpacked.

use vkfuse_jit::plan::{Places, Promote};

use super::epilogues::{TRIPLE, flat};
use super::lab::{Checked, Lab, kernel};
use super::rows::NORM;

/// Stores columns `k` and `k + p.y` of row `r`, of items `r * p.y + k` below `p.x`.
fn turns(value: &str) -> String {
    let body = format!(
        "let k = i % p.y; let at = i / p.y * (2u * p.y) + k; let x = a[at]; let y = a[at + p.y]; {value}"
    );
    flat("a z", &body)
}

const TURN: &str = "z[at] = x * 3u + y; z[at + p.y] = x ^ (y * 5u);";

/// Items on halves of rows, in work-groups.
#[derive(Clone, Copy)]
struct Halves {
    items: u32,
    /// Elements of a half.
    half: u32,
    groups: u32,
}

/// A kernel that goes by halves of rows, and then one of `elements` elements.
fn turned(store: &str, Halves { items, half, groups }: Halves, elements: u32) -> Checked {
    Lab::rewriting(u64::from(elements.max(2 * items)) + 64)
        .submit(&turns(store), [groups, 1, 1], &[0, 1], &[items, half])
        .submit(&flat("a z", TRIPLE), [elements.div_ceil(16), 1, 1], &[1, 2], &[elements])
        .check()
}

/// Rows of `p.x` elements, each made of all of its row by a work-group of eight.
fn normed(lab: Lab, rows: u32, length: u32) -> Lab {
    lab.submit(&kernel("a z", "8", NORM), [rows, 1, 1], &[0, 1], &[length])
}

probes! {
    // Items of whole rows store all of their elements, wherever work-groups end.
    fn whole_rows_are_stored() {
        for (items, half, groups) in [(72, 12, 5), (72, 12, 6), (60, 12, 5), (63, 7, 4), (48, 24, 3), (96, 48, 6)] {
            let checked = turned(TURN, Halves { items, half, groups }, 2 * items);
            checked.fused(0).appends(&[(1, 0)]);
        }
        // Four elements an item, of two numbers in each other.
        let unpack = "let at = i / p.y * (4u * p.y) + i % p.y; let x = a[i]; z[at] = x; z[at + p.y] = x * 3u; z[at + 2u * p.y] = x ^ 5u; z[at + 3u * p.y] = x + i;";
        for (items, plane) in [(35, 7), (72, 24), (40, 10)] {
            Lab::rewriting(400)
                .submit(&flat("a z", unpack), [u32::div_ceil(items, 16), 1, 1], &[0, 1], &[items, plane])
                .submit(&flat("a z", TRIPLE), [u32::div_ceil(4 * items, 16), 1, 1], &[1, 2], &[4 * items])
                .check()
                .fused(0)
                .appends(&[(1, 0)]);
        }
        let nested = "let at = i / 35u * 70u + i / 7u % 5u * 14u + i % 7u; let x = a[i]; z[at] = x; z[at + 7u] = x * 3u;";
        Lab::rewriting(400)
            .submit(&flat("a z", nested), [9, 1, 1], &[0, 1], &[140])
            .submit(&flat("a z", TRIPLE), [18, 1, 1], &[1, 2], &[280])
            .check()
            .fused(0)
            .appends(&[(1, 0)]);
    }

    // The last row has both halves in part.
    fn rows_that_end_early() {
        for (items, half, groups) in [(70, 12, 5), (61, 7, 4), (47, 24, 3)] {
            let whole = items / half * half;
            turned(TURN, Halves { items, half, groups }, 2 * (whole + half)).appends(&[]);
            turned(TURN, Halves { items, half, groups }, 2 * whole).fused(0).appends(&[(1, 0)]);
        }
    }

    // A guard that ends before the dispatch does.
    fn items_that_are_turned_away() {
        turned(TURN, Halves { items: 60, half: 12, groups: 6 }, 144).appends(&[]);
        turned(TURN, Halves { items: 48, half: 12, groups: 6 }, 144).appends(&[]);
        turned(TURN, Halves { items: 48, half: 12, groups: 6 }, 96).fused(0).appends(&[(1, 0)]);
    }

    // Of a work-group's number, places of its own: the quotients that it has are few.
    fn numbers_that_are_not_free() {
        let store = "let at = i / 12u * 12u + (11u - i % 12u) + i / 16u * 48u; z[at] = a[i] * 7u;";
        Lab::rewriting(200)
            .submit(&flat("a z", store), [3, 1, 1], &[0, 1], &[48])
            .submit(&flat("a z", TRIPLE), [9, 1, 1], &[1, 2], &[144])
            .check()
            .appends(&[]);
    }

    // What goes by halves of rows takes the rows of a kernel that goes by work-groups.
    fn halves_of_rows_take_rows() {
        for promote in [Promote::None, Promote::Auto] {
            for (rows, half) in [(3u32, 12u32), (4, 5), (2, 20)] {
                let (length, items) = (2 * half, rows * half);
                let lab = Lab::rewriting(u64::from(rows * length)).promote(1, promote);
                let checked = normed(lab, rows, length)
                    .submit(&turns(TURN), [items.div_ceil(16), 1, 1], &[1, 2], &[items, half])
                    .submit(&flat("a z", TRIPLE), [(2 * items).div_ceil(16), 1, 1], &[2, 3], &[2 * items])
                    .check()
                    .fused(2);
                let placed = &checked.plan.report.rewrites;
                let places: Vec<_> = placed.iter().map(|one| (one.submission, one.places)).collect();
                assert_eq!(places, [(1, Places::Rows { length: half }), (2, Places::Rows { length })]);
            }
        }
    }

    // Rows of another length, and items that are numbered in another way. Two short rows of six and six are one of the others.
    fn halves_of_other_rows() {
        for (half, steps) in [(9, 2), (18, 2), (6, 1)] {
            let checked = normed(Lab::rewriting(72), 3, 24)
                .submit(&turns(TURN), [3, 1, 1], &[1, 2], &[36, half])
                .check();
            assert_eq!(checked.plan.steps.len(), steps, "{:#?}", checked.plan.report);
        }
        let across = "let k = i / 3u; let at = i % 3u * 24u + k; z[at] = a[at] * 3u + a[at + 12u]; z[at + 12u] = a[at];";
        normed(Lab::rewriting(72), 3, 24).submit(&flat("a z", across), [3, 1, 1], &[1, 2], &[36]).check();
    }
}
