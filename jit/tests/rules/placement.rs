//! Free kernels on the rows and tiles of others: what is placed, and what must not be.

use vkfuse_jit::plan::{Internalization, Places, Promote};
use vkfuse_jit::{Reason, RewriteReason};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Checked, Lab, kernel};
use super::rows::reduce;

/// A work-group of eight divides each element of a row by the row's sum.
pub(super) fn norm() -> String {
    kernel(
        "a z",
        "8",
        "var<workgroup> part: array<u32, 8>;---
         var own = 0u;
         for (var c = lid.x; c < p.x; c += 8u) { own += a[wid.x * p.x + c]; }
         part[lid.x] = own;
         workgroupBarrier();
         for (var step = 4u; step > 0u; step /= 2u) {
             if (lid.x < step) { part[lid.x] += part[lid.x + step]; }
             workgroupBarrier();
         }
         let sum = part[0] + 1u;
         for (var c = lid.x; c < p.x; c += 8u) { z[wid.x * p.x + c] = a[wid.x * p.x + c] * 100u / sum; }",
    )
}

/// An element-wise kernel: element `i` of `p.y`, rows of `p.x`.
pub(super) fn flat(names: &str, value: &str) -> String {
    kernel(names, "16", &format!("let i = gid.x; if (i >= p.y) {{ return; }} z[i] = {value};"))
}

/// Work-groups of 16 that have this many items.
pub(super) fn over(n: u32) -> [u32; 3] {
    [n.div_ceil(16), 1, 1]
}

impl Checked {
    /// Demands that these submissions, and no others, were placed on rows of this length.
    #[track_caller]
    pub(super) fn on_rows(self, length: u32, submissions: &[usize]) -> Self {
        let rewrites = &self.plan.report.rewrites;
        assert_eq!(self.rewritten(), submissions, "{:#?}", self.plan.report);
        assert!(rewrites.iter().all(|one| one.places == Places::Rows { length }), "{rewrites:#?}");
        self
    }

    /// The submissions that were placed.
    pub(super) fn rewritten(&self) -> Vec<usize> {
        let mut placed: Vec<usize> = self.plan.report.rewrites.iter().map(|one| one.submission).collect();
        placed.sort_unstable();
        placed
    }

    /// Demands this many dispatches and nothing placed, and hands out why the first seam stayed open.
    #[track_caller]
    pub(super) fn apart(&self, dispatches: usize) -> Option<&RewriteReason> {
        let report = &self.plan.report;
        assert_eq!(self.plan.steps.len(), dispatches, "{report:#?}");
        assert!(report.rewrites.is_empty(), "{report:#?}");
        report.splits[0].tried.as_ref()
    }
}

/// Five rows of `w` through reduce, flat, reduce, flat.
fn softmax(w: u32, promote: Promote) -> Lab {
    let n = 5 * w;
    Lab::rewriting(u64::from(n))
        .promote(1, promote)
        .promote(2, promote)
        .promote(3, promote)
        .submit(&reduce("max(own, v)", "max(x, y)"), [5, 1, 1], &[0, 1], &[w])
        .submit(&flat("a b z", "b[i / p.x] - a[i]"), over(n), &[0, 1, 2], &[w, n])
        .submit(&reduce("own + v", "x + y"), [5, 1, 1], &[2, 3], &[w])
        .submit(&flat("a b z", "a[i] * 100u / (b[i / p.x] + 1u)"), over(n), &[2, 3, 4], &[w, n])
}

/// Element-wise, rows, element-wise over buffers `0 1 → 2`, `2 → 3`, `3 5 → 4`.
fn normed(w: u32, rows: u32) -> Lab {
    let n = rows * w;
    Lab::rewriting(u64::from(n))
        .submit(&flat("a b z", "a[i] + b[i]"), over(n), &[0, 1, 2], &[w, n])
        .submit(&norm(), [rows, 1, 1], &[2, 3], &[w])
        .submit(&flat("a b z", "a[i] * b[i % p.x]"), over(n), &[3, 5, 4], &[w, n])
}

probes! {
    fn flat_kernels_of_a_softmax_take_its_rows() {
        // Rows that are a multiple of the work-group, that are not, that are shorter, and the items of whole groups.
        for w in [16, 20, 5, 8] {
            for promote in [Promote::None, Promote::Local, Promote::Auto] {
                let checked = softmax(w, promote).check().fused(2).on_rows(w, &[1, 3]);
                if promote != Promote::None {
                    let checked = checked.inside(1, Internalization::Local).inside(3, Internalization::Local);
                    let kind = &checked.plan.report.buffers.iter().find(|b| b.buffer.0 == 2);
                    assert!(kind.is_some_and(|b| b.got != Internalization::None), "{:#?}", checked.plan.report);
                }
            }
        }
    }

    // One dispatch is better than two, also where nothing is handed over.
    fn what_has_nothing_in_common_takes_the_rows_of_others() {
        let alone = flat("a z", "a[i] * 3u");
        let rows = |lab: Lab| lab.submit(&norm(), [5, 1, 1], &[0, 1], &[20]);
        let flats = |lab: Lab, n: u32| lab.submit(&alone, over(n), &[2, 3], &[20, n]);
        flats(rows(Lab::rewriting(100)), 100).check().fused(0).on_rows(20, &[1]);
        rows(flats(Lab::rewriting(100), 100)).check().fused(0).on_rows(20, &[0]);
        // Another number of elements is no number of rows of that length.
        flats(rows(Lab::rewriting(100)), 90).check().apart(2);
    }

    // Two kernels by elements are a group by the work-groups of one of them; then both take the rows of a third.
    fn what_was_placed_is_placed_again_for_the_next_one() {
        let by_groups = kernel("a z", "8", "let i = wid.x * 8u + lid.x; if (i < p.y) { z[i] = a[i] ^ 5u; }");
        let (w, n) = (20, 100);
        let lab = Lab::rewriting(100)
            .submit(&flat("a z", "a[i] * 3u"), over(n), &[0, 1], &[w, n])
            .submit(&by_groups, [n.div_ceil(8), 1, 1], &[1, 2], &[w, n])
            .submit(&reduce("own + v", "x + y"), [5, 1, 1], &[2, 3], &[w])
            .submit(&flat("a b z", "a[i] + b[i / p.x]"), over(n), &[2, 3, 4], &[w, n]);
        lab.check().fused(1).on_rows(w, &[0, 1, 3]);
    }

    // Both by their work-groups.
    fn work_groups_of_two_sizes_become_those_of_one() {
        let by_groups = kernel("a z", "16", "let i = wid.x * 16u + lid.x; if (i >= p.x) { return; } z[i] = a[i] * 3u;");
        let other = kernel("a z", "8", "let i = wid.x * 8u + lid.x; if (i < p.x) { z[i] = a[i] ^ 5u; }");
        for n in [40_u32, 64, 100, 129] {
            let groups = |size: u32| [n.div_ceil(size), 1, 1];
            for turned in [false, true] {
                let lab = Lab::rewriting(u64::from(n)).promote(1, Promote::Auto);
                let lab = if turned {
                    lab.submit(&other, groups(8), &[0, 1], &[n]).submit(&by_groups, groups(16), &[1, 2], &[n])
                } else {
                    lab.submit(&by_groups, groups(16), &[0, 1], &[n]).submit(&other, groups(8), &[1, 2], &[n])
                };
                let checked = lab.check();
                assert_eq!(checked.rewritten().len(), 1, "{n} {turned}");
                checked.fused(0);
            }
        }
    }

    fn one_row_is_as_long_as_it_is() {
        Lab::rewriting(20)
            .submit(&flat("a z", "a[i] + 3u"), over(20), &[0, 1], &[20, 20])
            .submit(&norm(), [1, 1, 1], &[1, 2], &[20])
            .check()
            .fused(0)
            .on_rows(20, &[0]);
    }

    fn kernels_before_and_after_a_row_kernel_take_its_rows() {
        for w in [16, 20, 1] {
            normed(w, 5).check().fused(0).on_rows(w, &[0, 2]);
            normed(w, 5).promote(3, Promote::Auto).check().fused(0);
        }
    }

    /// Where it is placed, an item has its row and column at hand; those of rows of another length it has not.
    fn items_are_divided_by_the_length_of_a_row_and_by_others() {
        let both = "a[i] + 10u * b[i % p.x] + 100u * b[i / p.x] + 1000u * b[i % p.z] + 10000u * b[i / p.z]";
        let signed = "a[i] + b[u32(i32(i) % i32(p.x))] + 10u * b[u32(i32(i) / i32(p.x))]";
        for (w, other) in [(16, 7), (20, 40), (5, 5)] {
            for value in [both, signed] {
                let n = 5 * w;
                Lab::rewriting(u64::from(n))
                    .submit(&norm(), [5, 1, 1], &[0, 1], &[w])
                    .submit(&flat("a b z", value), over(n), &[1, 3, 2], &[w, n, other])
                    .check()
                    .fused(0)
                    .on_rows(w, &[1]);
            }
        }
    }

    /// With another length, also where it is only a value, the list is planned again: the column stands in for what it gives.
    fn a_length_that_is_only_a_value_is_planned_with() {
        let (w, n) = (16, 80);
        let list = Lab::rewriting(u64::from(n))
            .submit(&norm(), [5, 1, 1], &[0, 1], &[w])
            .submit(&flat("a z", "a[i] + i % p.x"), over(n), &[1, 2], &[w, n]);
        assert!(!list.holds_with(&[&[w], &[7, n]]));
        list.check().fused(0).on_rows(w, &[1]);
    }

    fn chains_on_both_sides_take_the_rows() {
        let (w, n) = (16, 80);
        let step = |value: &str| flat("a z", value);
        Lab::rewriting(80)
            .promote(1, Promote::Auto)
            .promote(5, Promote::Auto)
            .submit(&step("a[i] + 1u"), over(n), &[0, 1], &[w, n])
            .submit(&step("a[i] * 3u"), over(n), &[1, 2], &[w, n])
            .submit(&step("a[i] ^ 5u"), over(n), &[2, 3], &[w, n])
            .submit(&norm(), [5, 1, 1], &[3, 4], &[w])
            .submit(&step("a[i] + 7u"), over(n), &[4, 5], &[w, n])
            .submit(&step("a[i] * 2u"), over(n), &[5, 6], &[w, n])
            .check()
            .fused(0)
            .on_rows(w, &[0, 1, 2, 4, 5])
            .inside(1, Internalization::Private)
            .inside(5, Internalization::Private);
    }

    fn a_kernel_may_read_any_id_and_keep_variables() {
        // Two elements 16 apart, with an array that starts anew for each item.
        let strided = kernel(
            "a z",
            "16",
            "let base = wid.x * 16u + lid.x; if (base >= p.y) { return; }
             var seen = array<u32, 4>(1u, 2u, 3u, 4u);
             seen[a[base] % 4u] += a[base];
             z[base] = seen[lix % 4u] + seen[wid.x % 4u];",
        );
        Lab::rewriting(60)
            .submit(&strided, over(60), &[0, 1], &[12, 60])
            .submit(&norm(), [5, 1, 1], &[1, 2], &[12])
            .check()
            .fused(0)
            .on_rows(12, &[0]);
    }

    fn a_kernel_may_choose_among_its_ids() {
        if !is_possible() {
            return;
        }
        let chosen = "if (i < p.y) { z[i] = a[i] + gl_GlobalInvocationID[a[i] % 3u] + gl_WorkGroupID[a[i] & 1u]; }";
        Lab::rewriting(60)
            .submit(&glsl("", "a z", "16", chosen), over(60), &[0, 1], &[12, 60])
            .submit(&norm(), [5, 1, 1], &[1, 2], &[12])
            .check()
            .fused(0)
            .on_rows(12, &[0]);
    }

    fn a_return_ends_one_item() {
        let odd = kernel(
            "a z",
            "16",
            "let i = gid.x; if (i >= p.y) { return; } z[i] = 1u; if (a[i] % 2u == 0u) { return; }
             for (var k = 0u; k < 3u; k++) { z[i] += a[i] + k; }",
        );
        Lab::rewriting(60)
            .submit(&odd, over(60), &[0, 1], &[12, 60])
            .submit(&norm(), [5, 1, 1], &[1, 2], &[12])
            .check()
            .fused(0)
            .on_rows(12, &[0]);
    }

    fn a_return_in_a_loop_keeps_a_kernel_apart() {
        let first = kernel(
            "a z",
            "16",
            "let i = gid.x;
             if (i >= p.y) { return; }
             for (var k = 0u; k < 3u; k++) { if (a[i] % 3u == k) { z[i] = a[i] * k; return; } }
             z[i] = 7u;",
        );
        let checked = Lab::rewriting(60)
            .submit(&first, over(60), &[0, 1], &[12, 60])
            .submit(&norm(), [5, 1, 1], &[1, 2], &[12])
            .check();
        let tried = checked.apart(2).map(ToString::to_string).unwrap_or_default();
        assert!(tried.contains("returns from inside of a loop"), "{tried}");
    }

    fn more_items_than_places_stay_apart_unless_they_are_idle() {
        // 80 items, 60 places; the guard lets items through that no row has.
        let unguarded = kernel("a z", "16", "z[gid.x] = a[gid.x] + 1u;");
        let lab = |groups: u32, text: &str, n: u32| {
            Lab::rewriting(96)
                .submit(text, [groups, 1, 1], &[0, 1], &[12, n])
                .submit(&norm(), [5, 1, 1], &[1, 2], &[12])
                .check()
        };
        let count = |items, places| Some(RewriteReason::Count { submission: 0, partner: 1, items, places });
        assert_eq!(lab(4, &unguarded, 64).apart(2), count(64, 60).as_ref());
        assert_eq!(lab(4, &flat("a z", "a[i] + 1u"), 61).apart(2), count(64, 60).as_ref());
        lab(4, &flat("a z", "a[i] + 1u"), 60).fused(0).on_rows(12, &[0]);
        // An element less: the row kernel reads what was there before.
        lab(4, &flat("a z", "a[i] + 1u"), 59).fused(0).on_rows(12, &[0]);
    }

    fn items_past_the_places_are_idle_whichever_ids_they_are_counted_by() {
        let by_group = |size: u32| {
            let text = format!("let i = wid.x * {size}u + lid.x; if (i >= p.y) {{ return; }} z[i] = a[i] + i / p.x;");
            kernel("a z", &size.to_string(), &text)
        };
        // The rest of a work-group, whole ones, and both.
        for (size, groups, fits) in [(16, 4, true), (20, 4, true), (16, 5, true), (4, 16, true), (16, 5, false)] {
            let n = if fits { 60 } else { 64 };
            let checked = Lab::rewriting(96)
                .submit(&by_group(size), [groups, 1, 1], &[0, 1], &[12, n])
                .submit(&norm(), [5, 1, 1], &[1, 2], &[12])
                .check();
            match fits {
                true => drop(checked.fused(0).on_rows(12, &[0])),
                false => assert!(matches!(checked.apart(2), Some(RewriteReason::Count { .. }))),
            }
        }
    }

    fn fewer_items_than_places_stay_apart() {
        let unguarded = kernel("a z", "16", "z[gid.x] = a[gid.x] + 1u;");
        let lab = |groups: u32, length: u32, rows: u32| {
            Lab::rewriting(128)
                .submit(&unguarded, [groups, 1, 1], &[0, 1], &[length, 60])
                .submit(&norm(), [rows, 1, 1], &[1, 2], &[length])
                .check()
        };
        // A part of a row, and a row and a part of the next one.
        let count = |items, places| Some(RewriteReason::Count { submission: 0, partner: 1, items, places });
        assert_eq!(lab(2, 40, 3).apart(2), count(32, 120).as_ref());
        assert_eq!(lab(3, 20, 2).apart(2), count(48, 40).as_ref());
        // Whole rows, and others for which there are no items.
        let checked = lab(3, 12, 5).fused(0).on_rows(12, &[0]);
        assert_eq!(checked.plan.report.rewrites[0].groups, [4, 1, 1]);
    }

    fn rows_of_a_length_in_memory_stay_apart() {
        let rows = kernel(
            "a b z",
            "8",
            "let w = b[0] % 8u + 12u; for (var c = lid.x; c < w; c += 8u) { z[wid.x * w + c] = a[wid.x * w + c] * 3u; }",
        );
        let n = 60;
        Lab::rewriting(60)
            .submit(&flat("a z", "a[i] + 1u"), over(n), &[0, 1], &[12, n])
            .submit(&rows, [3, 1, 1], &[1, 3, 2], &[12])
            .check()
            .apart(2);
    }

    fn a_row_kernel_that_skips_a_row_hands_over_what_it_has() {
        // Row 3 is not written: what the flat kernel reads there is old.
        let skips = kernel(
            "a z",
            "8",
            "if (wid.x != 3u) { for (var c = lid.x; c < p.x; c += 8u) { z[wid.x * p.x + c] = a[wid.x * p.x + c] * 3u; } }",
        );
        let lab = |promote| {
            Lab::rewriting(60)
                .promote(1, promote)
                .submit(&skips, [5, 1, 1], &[0, 1], &[12])
                .submit(&flat("a z", "a[i] + 1u"), over(60), &[1, 2], &[12, 60])
                .check()
        };
        lab(Promote::None).fused(0).on_rows(12, &[1]);
        let checked = lab(Promote::Auto).fused(0);
        assert!(matches!(checked.refused(1), Reason::OldContents { .. }));
    }

    // What they decide is hidden in the kernel, wherever they are zero.
    fn kernels_whose_floats_are_decided_by_an_id_that_is_zero_on_rows_are_placed() {
        for id in ["gid.x", "gid.y", "wid.z", "lid.y"] {
            for float in [format!("select(0.5, 2.5, {id} == 0u)"), format!("f32({id})")] {
                let value = format!("bitcast<u32>(f32(a[i]) + {float})");
                let checked = Lab::rewriting(64)
                    .submit(&norm(), [4, 1, 1], &[0, 1], &[16])
                    .submit(&flat("a z", &value), over(64), &[1, 2], &[16, 64])
                    .check();
                checked.fused(0).on_rows(16, &[1]);
            }
        }
    }

    fn a_kernel_with_a_barrier_is_not_placed() {
        let tied = kernel(
            "a z",
            "16",
            "var<workgroup> part: array<u32, 16>;---
             part[lid.x] = a[gid.x]; workgroupBarrier(); z[gid.x] = part[lid.x] + part[15u - lid.x];",
        );
        let checked = Lab::rewriting(64)
            .submit(&norm(), [8, 1, 1], &[0, 1], &[8])
            .submit(&tied, [4, 1, 1], &[1, 2], &[])
            .check();
        assert!(matches!(checked.apart(2), Some(RewriteReason::NotFree { .. })));
        // Before the rows: their partner is what does not join.
        let checked = Lab::rewriting(64)
            .submit(&tied, [4, 1, 1], &[0, 1], &[])
            .submit(&norm(), [8, 1, 1], &[1, 2], &[8])
            .check();
        checked.apart(2);
    }

    fn elements_of_another_row_stay_apart() {
        let (w, n) = (12, 60);
        // In place, and each element takes that of the next row.
        let next = |names: &str| flat(names, "a[(i + p.x) % p.y] + 1u");
        let checked = Lab::rewriting(60)
            .submit(&norm(), [5, 1, 1], &[0, 1], &[w])
            .submit(&next("a z"), over(n), &[1, 2], &[w, n])
            .check();
        checked.apart(2);
        // The flat kernel reads another row of what the row kernel then overwrites.
        let checked = Lab::rewriting(60)
            .submit(&next("a z"), over(n), &[1, 2], &[w, n])
            .submit(&norm(), [5, 1, 1], &[2, 1], &[w])
            .check();
        checked.apart(2);
        let same = flat("a z", "a[i] + 1u");
        Lab::rewriting(60)
            .submit(&same, over(n), &[1, 2], &[w, n])
            .submit(&norm(), [5, 1, 1], &[2, 1], &[w])
            .check()
            .fused(0)
            .on_rows(w, &[0]);
    }

    fn two_row_kernels_of_other_rows_stay_apart() {
        let checked = Lab::rewriting(60)
            .submit(&norm(), [5, 1, 1], &[0, 1], &[12])
            .submit(&flat("a z", "a[i] + 1u"), over(60), &[1, 2], &[12, 60])
            .submit(&norm(), [6, 1, 1], &[2, 3], &[10])
            .check()
            .on_rows(12, &[1]);
        assert_eq!(checked.plan.steps.len(), 2, "{:#?}", checked.plan.report);
        assert_eq!(checked.plan.steps[0].members, 0..2);
    }

    fn two_row_kernels_of_the_same_rows_fuse() {
        Lab::rewriting(60)
            .submit(&norm(), [5, 1, 1], &[0, 1], &[12])
            .submit(&flat("a z", "a[i] + 1u"), over(60), &[1, 2], &[12, 60])
            .submit(&norm(), [5, 1, 1], &[2, 3], &[12])
            .check()
            .fused(0)
            .on_rows(12, &[1]);
    }

    /// Arguments are distinguished by their number, also where a kernel does nothing with some of them.
    fn a_binding_without_use_does_not_keep_a_kernel_from_rows() {
        if !is_possible() {
            return;
        }
        let body = "if (i >= p.y) return; uint nobody = b[i]; z[i] = a[i] + c[i % p.x] + 1u;";
        for recipe in RECIPES {
            let idle = glsl(recipe, "a b c z", "16", body);
            Lab::rewriting(60)
                .promote(2, Promote::Private)
                .submit(&norm(), [5, 1, 1], &[0, 1], &[12])
                .submit(&idle, over(60), &[1, 4, 5, 2], &[12, 60])
                .submit(&flat("a z", "a[i] * 3u"), over(60), &[2, 3], &[12, 60])
                .check()
                .fused(0)
                .on_rows(12, &[1, 2])
                .inside(2, Internalization::Private);
            // The element that no one looks at is written by another row.
            Lab::rewriting(60)
                .submit(&flat("a z", "a[(i + p.x) % p.y] + 1u"), over(60), &[0, 4], &[12, 60])
                .submit(&norm(), [5, 1, 1], &[0, 1], &[12])
                .submit(&idle, over(60), &[1, 4, 5, 2], &[12, 60])
                .check()
                .fused(0);
        }
    }

    /// A row may be gone through by one invocation alone, as long as work-groups are rows.
    fn rows_that_one_invocation_goes_through_are_rows() {
        let rows = kernel(
            "a z",
            "8",
            "var<workgroup> part: array<u32, 8>;---
             var own = 0u;
             var count = 0u;
             if (lid.x == 0u) { count = p.x; }
             let first = wid.x * p.x + 0u;
             for (var c = 0u; c < count; c++) { own += a[first + c]; }
             part[lid.x] = own;
             workgroupBarrier();
             let sum = part[0] + part[7] + 1u;
             for (var c = 0u; c < count; c++) { z[first + c] = a[first + c] * 100u / sum; }",
        );
        // Over what the first one reads, so that nothing can be recomputed.
        Lab::rewriting(80)
            .submit(&flat("a b z", "a[i] + b[i]"), over(80), &[0, 1, 2], &[16, 80])
            .submit(&rows, [5, 1, 1], &[2, 1], &[16])
            .submit(&flat("a z", "a[i] * 3u"), over(80), &[1, 3], &[16, 80])
            .check()
            .fused(2)
            .on_rows(16, &[0, 2]);
    }

    fn few_long_rows_stay_apart() {
        let lab = |w: u32| {
            Lab::rewriting(u64::from(2 * w))
                .submit(&flat("a z", "a[i] + 1u"), over(2 * w), &[0, 1], &[w, 2 * w])
                .submit(&norm(), [2, 1, 1], &[1, 2], &[w])
        };
        lab(64).check().fused(0);
        let checked = lab(65).check();
        assert_eq!(checked.apart(2), Some(&RewriteReason::FewRows { rows: 2, length: 65 }));
        let mut forced = lab(65);
        forced.options.force = true;
        forced.check().fused(0);
        let mut off = lab(64);
        off.options.no_rewrites = true;
        assert_eq!(off.check().apart(2), None);
    }
}
