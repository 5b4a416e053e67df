//! Kernels over a grid of elements beside kernels with barriers and a work-group for each row, or for several.

use vkfuse_jit::plan::{Internalization, Places, Promote};
use vkfuse_jit::{Reason, RewriteReason};

use super::lab::{Checked, Lab, kernel};

/// A work-group of eight for each of `p.y` rows of `p.x` elements: what `end` makes of the greatest element, `part[0]`.
fn by_rows(names: &str, end: &str) -> String {
    in_rows(names, "if (wid.x >= p.y) { return; }", "wid.x", end)
}

fn in_rows(names: &str, begin: &str, row: &str, end: &str) -> String {
    let body = format!(
        "var<workgroup> part: array<u32, 8>;---
         {begin} let r = {row}; var own = 0u;
         for (var c = lid.x; c < p.x; c += 8u) {{ own = max(own, a[r * p.x + c]); }}
         part[lid.x] = own;
         workgroupBarrier();
         for (var step = 4u; step > 0u; step /= 2u) {{
             if (lid.x < step) {{ part[lid.x] = max(part[lid.x], part[lid.x + step]); }}
             workgroupBarrier();
         }}
         {end}"
    );
    kernel(names, "8", &body)
}

/// The greatest element of each row.
fn greatest() -> String {
    by_rows("a z", "if (lid.x == 0u) { z[r] = part[0]; }")
}

/// Each element by the greatest one of its row.
fn by_greatest() -> String {
    by_rows(
        "a z",
        "for (var c = lid.x; c < p.x; c += 8u) { z[r * p.x + c] = a[r * p.x + c] * 100u / (part[0] + 1u); }",
    )
}

/// An element for each invocation of a grid of `p.x` by `p.y`: element `i` at `x` and `y`.
fn grid(names: &str, size: &str, store: &str) -> String {
    let body = format!(
        "let x = gid.x; let y = gid.y; let i = y * p.x + x;
         if (x >= p.x || y >= p.y) {{ return; }} {store}"
    );
    kernel(names, size, &body)
}

fn tone(size: &str) -> String {
    grid("a z", size, "z[i] = (a[i] ^ x) * 3u + y;")
}

fn divided(size: &str) -> String {
    grid("a b z", size, "z[i] = a[i] * 255u / (b[y] + 1u);")
}

fn tiles(w: u32, h: u32) -> [u32; 3] {
    [w.div_ceil(4), h.div_ceil(4), 1]
}

impl Checked {
    /// Demands that these submissions, and no others, do this many items in each of their work-groups.
    #[track_caller]
    fn on_groups(self, length: u32, groups: u32, submissions: &[usize]) -> Self {
        let rewrites = &self.plan.report.rewrites;
        assert_eq!(self.rewritten(), submissions, "{:#?}", self.plan.report);
        let fits = |places| matches!(places, Places::Blocks { length: own, .. } if own == length);
        assert!(rewrites.iter().all(|one| fits(one.places) && one.groups == [groups, 1, 1]), "{rewrites:#?}");
        self
    }
}

/// Sizes of grids: more and less than a tile, with and without a part of one, a single row, a single column.
const SIZES: [(u32, u32); 8] = [(13, 6), (16, 8), (3, 9), (5, 3), (1, 7), (33, 2), (21, 1), (8, 5)];

probes! {
    fn a_grid_is_done_by_the_work_groups_of_rows() {
        for (w, h) in SIZES {
            let push = [w, h];
            let before = Lab::rewriting(256)
                .submit(&tone("4, 4"), tiles(w, h), &[0, 1], &push)
                .submit(&greatest(), [h, 1, 1], &[1, 2], &push)
                .check();
            before.fused(0).on_groups(w, h, &[0]);
            let behind = Lab::rewriting(256)
                .submit(&greatest(), [h, 1, 1], &[0, 2], &push)
                .submit(&divided("4, 4"), tiles(w, h), &[0, 2, 3], &push)
                .check();
            // With one element a row, what divides it is done where the greatest one is stored.
            match w {
                1 => drop(behind.fused(0)),
                _ => drop(behind.fused(1).on_groups(w, h, &[1])),
            }
        }
    }

    fn grids_on_both_sides_are_done_by_them() {
        for promote in [Promote::None, Promote::Auto] {
            for (w, h) in SIZES {
                let push = [w, h];
                let checked = Lab::rewriting(256)
                    .promote(1, promote)
                    .promote(2, promote)
                    .promote(3, promote)
                    .submit(&tone("4, 4"), tiles(w, h), &[0, 1], &push)
                    .submit(&tone("4, 4"), tiles(w, h), &[1, 2], &push)
                    .submit(&greatest(), [h, 1, 1], &[2, 3], &push)
                    .submit(&divided("4, 4"), tiles(w, h), &[2, 3, 4], &push)
                    .submit(&by_greatest(), [h, 1, 1], &[4, 5], &push)
                    .submit(&grid("b z", "2, 8", "z[i] += b[i];"), [w.div_ceil(2), h.div_ceil(8), 1], &[5, 4], &push)
                    .check();
                assert_eq!(checked.plan.steps.len(), 1, "{w} {h} {:#?}", checked.plan.report);
                if promote == Promote::Auto {
                    checked.inside(1, Internalization::Private);
                }
            }
        }
    }

    // Work-groups that have nothing to do, at the end of either kernel.
    fn work_groups_behind_the_last_row_do_nothing_for_others() {
        for (w, h, groups) in [(13, 6, 7), (13, 6, 30), (5, 8, 64), (16, 1, 3)] {
            let push = [w, h];
            let lab = || Lab::rewriting(1024);
            let grids = lab()
                .submit(&tone("4, 4"), tiles(w, h), &[0, 1], &push)
                .submit(&greatest(), [groups, 1, 1], &[1, 2], &push)
                .submit(&divided("4, 4"), tiles(w, h), &[1, 2, 3], &push)
                .check();
            grids.fused(1).on_groups(w, h, &[0, 2]);
            let line = kernel("a z", "16", "let i = gid.x; if (i >= p.x * p.y) { return; } z[i] = a[i] + 1u;");
            let lines = lab()
                .submit(&line, [(w * h).div_ceil(16), 1, 1], &[0, 1], &push)
                .submit(&greatest(), [groups, 1, 1], &[1, 2], &push)
                .check();
            assert_eq!(lines.plan.steps.len(), 1, "{:#?}", lines.plan.report);
        }
    }

    // A work-group has several rows, and the last one fewer.
    fn a_work_group_may_have_several_rows() {
        let two = in_rows(
            "a z",
            "for (var k = 0u; k < 2u; k++) {",
            "min(wid.x * 2u + k, p.y - 1u)",
            "if (lid.x == 0u) { z[r] = part[0]; } workgroupBarrier(); }",
        );
        for (w, h, groups) in [(13_u32, 6_u32, 3_u32), (3, 8, 4), (16, 4, 2)] {
            let push = [w, h];
            let checked = Lab::rewriting(256)
                .submit(&tone("4, 4"), tiles(w, h), &[0, 1], &push)
                .submit(&two, [groups, 1, 1], &[1, 2], &push)
                .submit(&divided("4, 4"), tiles(w, h), &[1, 2, 3], &push)
                .check();
            // The least of two numbers is followed where it is one of them: here, nowhere.
            assert!(checked.plan.steps.len() <= 3);
        }
        let whole = two.replace("min(wid.x * 2u + k, p.y - 1u)", "wid.x * 2u + k");
        for (w, h) in [(13_u32, 6_u32), (3, 8), (16, 4), (5, 7)] {
            let push = [w, h];
            let checked = Lab::rewriting(256)
                .submit(&tone("4, 4"), tiles(w, h), &[0, 1], &push)
                .submit(&whole, [h.div_ceil(2), 1, 1], &[1, 2], &push)
                .submit(&divided("4, 4"), tiles(w, h), &[1, 2, 3], &push)
                .check();
            assert_eq!(checked.plan.steps.len(), 1, "{w} {h} {:#?}", checked.plan.report);
            // Columns are the same invocation's where rows are whole rounds.
            checked.fused(if w == 16 { 1 } else { 2 }).on_groups(2 * w, h.div_ceil(2), &[0, 2]);
        }
    }

    // Its work-groups are counted in two dimensions, and so are those of rows; channels lie in a third one.
    fn rows_may_be_counted_in_any_dimension() {
        let rows = in_rows("a z", "", "wid.z * p.y + wid.y", "if (lid.x == 0u) { z[r] = part[0]; }");
        let (w, h, c) = (7_u32, 5_u32, 3_u32);
        let cube = |value: &str| {
            let body = format!(
                "if (gid.x >= p.x || gid.y >= p.y || gid.z >= p.z) {{ return; }}
                 let r = gid.z * p.y + gid.y; let i = r * p.x + gid.x; z[i] = {value};"
            );
            kernel("a b z", "4, 2, 2", &body)
        };
        let groups = [w.div_ceil(4), h.div_ceil(2), c.div_ceil(2)];
        let checked = Lab::rewriting(256)
            .submit(&cube("a[i] * 3u + b[i]"), groups, &[0, 4, 1], &[w, h, c])
            .submit(&rows, [1, h, c], &[1, 2], &[w, h, c])
            .submit(&cube("a[i] - b[r]"), groups, &[1, 2, 3], &[w, h, c])
            .check();
        checked.fused(1).on_groups(w, h * c, &[0, 2]);
    }

    // A kernel by rows that is free, but has no items that are elements: each row the other way round.
    fn rows_without_barriers_keep_their_work_groups() {
        let reversed = kernel(
            "a z",
            "8",
            "for (var c = lid.x; c < p.x; c += 8u) { z[wid.x * p.x + c] = a[wid.x * p.x + p.x - 1u - c] + c; }",
        );
        for (w, h) in [(13, 6), (21, 3), (9, 9)] {
            let push = [w, h];
            let checked = Lab::rewriting(256)
                .submit(&tone("4, 4"), tiles(w, h), &[0, 1], &push)
                .submit(&reversed, [h, 1, 1], &[1, 2], &push)
                .submit(&grid("a z", "8, 2", "z[i] = a[i] ^ a[y * p.x];"), [w.div_ceil(8), h.div_ceil(2), 1], &[2, 3], &push)
                .check();
            // The first one may be recomputed.
            let rewrites = &checked.plan.report.rewrites;
            let is_placed = |at: usize| rewrites.iter().any(|one| one.submission == at && one.groups == [h, 1, 1]);
            assert!(checked.plan.steps.len() == 1 && is_placed(2), "{w} {h} {:#?}", checked.plan.report);
        }
    }

    // Any id of an item may be read, and the length of a row may be a constant.
    fn ids_of_a_grid_are_those_of_its_own_work_groups() {
        let body = "let x = wid.x * 4u + lid.x; let y = wid.y * 4u + lid.y;
             if (x >= 13u || y >= p.y) { return; } z[y * 13u + x] = a[y * 13u + x] * (lix + 1u) + wid.x + 7u * wid.y;";
        Lab::rewriting(256)
            .submit(&kernel("a z", "4, 4", body), tiles(13, 6), &[0, 1], &[13, 6])
            .submit(&greatest(), [6, 1, 1], &[1, 2], &[13, 6])
            .check()
            .fused(0)
            .on_groups(13, 6, &[0]);
    }

    // A line of work-groups of the rows' own size is no row either.
    fn a_grid_of_the_same_local_size_is_placed_too() {
        let line = grid("a z", "8", "z[i] = a[i] * 3u + x;");
        for (w, h) in [(13_u32, 6_u32), (8, 5), (20, 2)] {
            let checked = Lab::rewriting(256)
                .submit(&line, [w.div_ceil(8), h, 1], &[0, 1], &[w, h])
                .submit(&greatest(), [h, 1, 1], &[1, 2], &[w, h])
                .check();
            assert_eq!(checked.plan.steps.len(), 1, "{w} {h} {:#?}", checked.plan.report);
        }
    }

    fn what_leaves_its_row_stays_apart() {
        let (w, h) = (13, 6);
        let push = [w, h];
        let apart = |store: &str| {
            Lab::rewriting(256)
                .submit(&grid("a z", "4, 4", store), tiles(w, h), &[0, 1], &push)
                .submit(&greatest(), [h, 1, 1], &[1, 2], &push)
                .check()
                .apart(2);
        };
        // Transposed, rows of another length, the next row, rows from the last one on, the next element.
        for at in ["x * p.y + y", "y * (p.x + 1u) + x", "i + p.x", "(p.y - 1u - y) * p.x + x", "i + 1u"] {
            apart(&format!("z[{at}] = a[i];"));
        }
        let behind = |value: &str| {
            Lab::rewriting(256)
                .submit(&by_greatest(), [h, 1, 1], &[0, 2], &push)
                .submit(&grid("a b z", "4, 4", &format!("z[i] = {value};")), tiles(w, h), &[0, 2, 3], &push)
                .check()
        };
        for at in ["i + p.x", "(i + p.x) % (p.x * p.y)", "x * p.y + y", "i + 1u", "max(i, 1u) - 1u"] {
            behind(&format!("b[i] ^ b[{at}]")).apart(2);
        }
        behind("b[y * p.x + p.x - 1u - x] + b[y * p.x]").fused(1).on_groups(w, h, &[1]);
    }

    // A work-group has the items of its own rows, whatever the grid's are.
    fn rows_of_another_length_take_as_many_items() {
        let list = |rows: &str, [length, count]: [u32; 2]| {
            Lab::rewriting(512)
                .submit(&tone("4, 4"), tiles(13, 6), &[0, 1], &[13, 6])
                .submit(rows, [count, 1, 1], &[1, 2], &[length, count])
                .check()
        };
        // A column more, two rows in one, and a row more.
        for (length, count, groups) in [(14, 6, 6), (26, 3, 3), (26, 4, 3), (13, 7, 6)] {
            list(&greatest(), [length, count]).fused(0).on_groups(length, groups, &[0]);
        }
        // Items that no row has.
        for (length, count) in [(12, 6), (14, 5), (13, 5)] {
            list(&greatest(), [length, count]).apart(2);
        }
        // More places than the dispatch has ids for.
        list(&greatest(), [70, 2]).apart(2);
        // Rows that overlap.
        let overlapping = greatest().replace("r * p.x + c", "r * (p.x - 1u) + c");
        list(&overlapping, [13, 6]).apart(2);
        list(&overlapping, [14, 6]).apart(2);
    }

    // More rows than the dispatch of the grid has ids, and some of these store.
    fn items_without_a_place_stay_apart() {
        let open = kernel("a z", "4, 4", "let i = gid.y * p.x + gid.x; if (gid.x < p.x) { z[i] = a[i] + 1u; }");
        let lab = |groups: u32| {
            Lab::rewriting(256)
                .submit(&open, tiles(13, 6), &[0, 1], &[13, 6])
                .submit(&by_rows("a z", "if (lid.x == 0u) { z[r] = part[0]; }"), [groups, 1, 1], &[1, 2], &[13, 6])
                .check()
        };
        // Rows up to 7 are stored: of six work-groups, none does the last two.
        lab(6).apart(2);
        lab(8).fused(0).on_groups(13, 8, &[0]);
    }

    fn kernels_with_other_work_groups_stay_apart() {
        let wide = greatest().replace("array<u32, 8>", "array<u32, 16>").replace("c += 8u", "c += 16u");
        let wide = wide.replace("workgroup_size(8)", "workgroup_size(16)").replace("step = 4u", "step = 8u");
        let (w, h) = (13, 6);
        let checked = Lab::rewriting(256)
            .submit(&tone("4, 4"), tiles(w, h), &[0, 1], &[w, h])
            .submit(&greatest(), [h, 1, 1], &[1, 2], &[w, h])
            .submit(&wide, [h, 1, 1], &[1, 3], &[w, h])
            .check();
        assert_eq!(checked.plan.steps.len(), 2);
        // What the kernels have by themselves, not where they were placed.
        let reason = Reason::LocalSize { earlier: 1, have: [8, 1, 1], want: [16, 1, 1] };
        assert_eq!(checked.plan.report.splits[0].reason, reason);
        // A reason that stays is said once, with its accesses.
        let stays = |reason: Reason| RewriteReason::Rejected(Box::new(reason)).detail();
        let sizes = "also after re-indexing: different local sizes: submission 1 has [8, 1, 1], and the next one [16, 1, 1]";
        assert_eq!(stays(reason.clone()), sizes);
        let turned = Lab::new(256)
            .submit(&grid("a z", "4, 4", "z[x * p.y + y] = a[i];"), tiles(w, h), &[0, 1], &[w, h])
            .submit(&tone("4, 4"), tiles(w, h), &[1, 2], &[w, h])
            .check();
        let crossed = turned.plan.report.splits[0].reason.clone();
        let (detail, pair) = (stays(crossed.clone()), crossed.detail());
        assert!(pair.contains(" writes binding ") && detail.ends_with(&format!(": {pair}")), "{detail}");
        assert_eq!(checked.plan.report.splits[0].detail, reason.detail());
    }

    fn few_long_rows_are_slower() {
        let (w, h) = (200, 3);
        let lab = || {
            Lab::rewriting(1024)
                .submit(&tone("4, 4"), tiles(w, h), &[0, 1], &[w, h])
                .submit(&greatest(), [h, 1, 1], &[1, 2], &[w, h])
        };
        assert_eq!(lab().check().apart(2), Some(&RewriteReason::FewRows { rows: 3, length: 200 }));
        let mut forced = lab();
        forced.options.force = true;
        forced.check().fused(0).on_groups(w, h, &[0]);
    }
}
