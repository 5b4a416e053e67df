//! Free kernels on grids, and on the rows of what has several dimensions or several elements an item.

use vkfuse_jit::RewriteReason;
use vkfuse_jit::plan::{Internalization, Places, Promote};

use super::lab::{Lab, kernel};
use super::placement::{flat, norm, over};

probes! {
    fn flat_kernels_take_tiles() {
        // Tiles of 4 x 4 over 8 columns and 12 rows, and over what is no multiple of them.
        let tile = kernel(
            "a z",
            "4, 4",
            "var<workgroup> part: array<u32, 16>;---
             let inside = gid.x < p.x && gid.y < p.z;
             let at = gid.y * p.x + gid.x;
             if (inside) { part[lix] = a[at]; } else { part[lix] = 0u; }
             workgroupBarrier();
             if (inside) { z[at] = part[lix] + part[15u - lix]; }",
        );
        for (w, h) in [(8, 12), (7, 10), (5, 3)] {
            let n = w * h;
            let groups = [u32::div_ceil(w, 4), u32::div_ceil(h, 4), 1];
            for promote in [Promote::None, Promote::Auto] {
                let checked = Lab::rewriting(u64::from(n))
                    .promote(1, promote)
                    .promote(2, promote)
                    .submit(&tile, groups, &[0, 1], &[w, n, h])
                    .submit(&flat("a b z", "a[i] + b[i % p.x] + 7u * b[i / p.x]"), over(n), &[1, 4, 2], &[w, n])
                    .submit(&flat("a z", "a[i] * 3u"), over(n), &[2, 3], &[w, n])
                    .check()
                    .fused(0);
                let rewrites = &checked.plan.report.rewrites;
                assert!(rewrites.iter().all(|one| one.places == Places::Grid { width: w }), "{rewrites:#?}");
                assert_eq!(rewrites.len(), 2);
                if promote == Promote::Auto {
                    checked.inside(2, Internalization::Private);
                }
            }
        }
    }

    /// What is behind the rows of a grid is no item of theirs, although it has the number of one.
    fn a_grid_wider_than_its_rows_does_each_item_once() {
        // One tile of 8 x 4 over seven columns: anyone who does an item of another invocation is in its work-group.
        let tile = kernel(
            "a z",
            "8, 4",
            "var<workgroup> part: array<u32, 32>;---
             let at = gid.y * 7u + gid.x;
             if (gid.x < 7u) { part[lix] = a[at]; } else { part[lix] = 0u; }
             workgroupBarrier();
             if (gid.x < 7u) { z[at] = part[lix] + part[31u - lix]; }",
        );
        let checked = Lab::rewriting(64)
            .submit(&tile, [1, 1, 1], &[0, 1], &[])
            .submit(&flat("a z", "a[i] + 1u"), over(28), &[1, 2], &[7, 28])
            .check();
        checked.fused(0);
    }

    fn a_grid_narrower_than_its_rows_stays_apart() {
        // Four columns of rows of eight.
        let tile = kernel(
            "a z",
            "4, 4",
            "var<workgroup> part: array<u32, 16>;---
             part[lix] = a[gid.y * 8u + gid.x]; workgroupBarrier(); z[gid.y * 8u + gid.x] = part[lix] + part[15u - lix];",
        );
        let checked = Lab::rewriting(64)
            .submit(&tile, [1, 2, 1], &[0, 1], &[])
            .submit(&flat("a z", "a[i] + 1u"), over(64), &[1, 2], &[8, 64])
            .check();
        assert_eq!(checked.apart(2), Some(&RewriteReason::Places {
                submission: 1,
                partner: 0,
                what: "it goes by rows of 8, and the grid there is 4 wide".to_owned()
            }));
    }

    fn kernels_dispatched_over_several_dimensions_take_rows() {
        // Items in linear order, whichever dimensions the work-groups are folded into.
        for (index, groups) in [
            ("gid.y * 16u + gid.x", [1, 5, 1]),
            ("gid.z * 16u + gid.x", [1, 1, 5]),
            ("gid.z * 32u + gid.y * 16u + gid.x", [1, 2, 3]),
            ("gid.y * 32u + gid.x", [2, 3, 1]),
            ("wid.z * 64u + wid.y * 32u + wid.x * 16u + lix", [2, 2, 2]),
        ] {
            let flat = kernel("a z", "16", &format!("let i = {index}; if (i >= p.y) {{ return; }} z[i] = a[i] + i;"));
            for promote in [Promote::None, Promote::Auto] {
                let lab = |w: u32| {
                    Lab::rewriting(80)
                        .promote(1, promote)
                        .submit(&flat, groups, &[0, 1], &[w, 80])
                        .submit(&norm(), [80 / w, 1, 1], &[1, 2], &[w])
                        .submit(&flat, groups, &[2, 3], &[w, 80])
                };
                lab(16).check().fused(0).on_rows(16, &[0, 2]);
                lab(20).check().fused(0).on_rows(20, &[0, 2]);
            }
        }
    }

    fn work_groups_of_several_dimensions_take_rows_and_tiles() {
        let flat = |size: &str, index: &str| {
            kernel("a z", size, &format!("let i = {index}; if (i >= p.y) {{ return; }} z[i] = a[i] + 3u;"))
        };
        for (size, groups, index) in [
            ("1, 16", [5, 1, 1], "gid.x * 16u + gid.y"),
            ("4, 4", [5, 1, 1], "wid.x * 16u + lid.y * 4u + lid.x"),
            ("2, 2, 4", [1, 5, 1], "wid.y * 16u + lix"),
        ] {
            Lab::rewriting(80)
                .submit(&flat(size, index), groups, &[0, 1], &[16, 80])
                .submit(&norm(), [5, 1, 1], &[1, 2], &[16])
                .submit(&flat(size, index), groups, &[2, 3], &[16, 80])
                .check()
                .fused(0)
                .on_rows(16, &[0, 2]);
        }
        // Rows whose work-groups lie in y.
        let rows = kernel(
            "a z",
            "1, 8",
            "var<workgroup> part: array<u32, 8>;---
             part[lid.y] = a[wid.x * p.x + lid.y];
             workgroupBarrier();
             for (var c = lid.y; c < p.x; c += 8u) { z[wid.x * p.x + c] = a[wid.x * p.x + c] + part[7u - lid.y]; }",
        );
        Lab::rewriting(60)
            .submit(&flat("16", "gid.x"), over(60), &[0, 1], &[12, 60])
            .submit(&rows, [5, 1, 1], &[1, 2], &[12])
            .check()
            .fused(0)
            .on_rows(12, &[0]);
    }

    fn kernels_of_several_elements_an_item_take_rows_by_whole_work_groups() {
        // Two elements an item, eight apart; rows of one work-group and of two.
        let twice = kernel(
            "a z",
            "8",
            "for (var k = 0u; k < 2u; k++) {
                 let i = wid.x * 16u + lid.x + k * 8u; if (i < p.y) { z[i] = a[i] * 3u + k; }
             }",
        );
        // Pairs half a row apart.
        let pairs = kernel(
            "a z",
            "1, 8",
            "let i = wid.x * 16u + gid.y; let u = a[i]; let v = a[i + 8u]; z[i] = u + 2u * v; z[i + 8u] = v - u;",
        );
        let folded = kernel("a z", "16", "let i = gid.y * 16u + gid.x; if (i >= p.y) { return; } z[i] = a[i] + 5u;");
        let quarters = kernel(
            "a z",
            "4",
            "for (var k = 0u; k < 4u; k++) {
                 let i = wid.x * 16u + lid.x + k * 4u; if (i < p.y) { z[i] = a[i] * 5u + k; }
             }",
        );
        let wide = kernel(
            "a z",
            "16",
            "var<workgroup> part: array<u32, 16>;---
             part[lid.x] = a[gid.x]; workgroupBarrier(); z[gid.x] = part[lid.x] + part[15u - lid.x];",
        );
        let two = |first: (&str, [u32; 3]), second: (&str, [u32; 3]), w: u32| {
            Lab::rewriting(96)
                .submit(first.0, first.1, &[0, 1], &[w, 96])
                .submit(second.0, second.1, &[1, 2], &[w, 96])
                .check()
        };
        let line = [6, 1, 1];
        for other in [&twice, &pairs, &quarters] {
            // An element that another invocation has, of the same work-group.
            two((other, line), (&wide, line), 16).fused(1);
            two((&wide, line), (other, line), 16).fused(1);
            two((other, line), (&folded, [1, 6, 1]), 16).fused(0);
            two((&folded, [1, 6, 1]), (other, line), 16).fused(0);
        }
        two((&twice, line), (&norm(), [3, 1, 1]), 32).fused(0).on_rows(16, &[0]);
        two((&pairs, line), (&quarters, line), 16).fused(0).on_rows(8, &[0]);
        two((&quarters, line), (&pairs, line), 16).fused(0).on_rows(8, &[1]);
        // Half a work-group for each row: by rounds, if there are any.
        two((&twice, line), (&norm(), [12, 1, 1]), 8).fused(0).on_rows(8, &[0]);
        two((&pairs, line), (&norm(), [12, 1, 1]), 8).apart(2);
    }

    fn items_of_all_dimensions_are_counted() {
        let unguarded = |index: &str| kernel("a z", "16", &format!("z[{index}] = a[{index}] + 1u;"));
        let lab = |groups: [u32; 3]| {
            Lab::rewriting(160)
                .submit(&unguarded("(gid.y * 80u + gid.x)"), groups, &[0, 1], &[16, 80])
                .submit(&norm(), [10, 1, 1], &[1, 2], &[8])
                .check()
        };
        assert_eq!(lab([5, 2, 1]).apart(2), Some(&RewriteReason::Count { submission: 0, partner: 1, items: 160, places: 80 }));
        lab([5, 1, 1]).fused(0).on_rows(8, &[0]);
    }

    fn items_past_the_places_are_idle_in_any_dimension() {
        let folded = kernel("a z", "16", "let i = gid.y * 32u + gid.x; if (i >= p.y) { return; } z[i] = a[i] + 1u;");
        let lab = |groups: [u32; 3], n: u32| {
            Lab::rewriting(128)
                .submit(&folded, groups, &[0, 1], &[12, n])
                .submit(&norm(), [5, 1, 1], &[1, 2], &[12])
                .check()
        };
        for groups in [[2, 2, 1], [2, 3, 1], [2, 4, 1]] {
            lab(groups, 60).fused(0).on_rows(12, &[0]);
            assert!(matches!(lab(groups, 61).apart(2), Some(RewriteReason::Count { .. })));
        }
    }
}
