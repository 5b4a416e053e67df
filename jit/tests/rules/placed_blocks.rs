//! Kernels that do a row an invocation beside kernels that do an element: whole rows in a work-group.

use vkfuse_jit::RewriteReason;
use vkfuse_jit::plan::{Internalization, Places, Promote};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Checked, Lab, kernel};

/// Each invocation goes through one of `p.y` rows of `p.x` elements.
fn rows(first: &str, each: &str) -> String {
    by_rows("16", first, each, "z[r] = own;")
}

fn by_rows(size: &str, first: &str, each: &str, end: &str) -> String {
    let body = format!(
        "let r = gid.x; if (r >= p.y) {{ return; }}
         var own = {first};
         for (var c = 0u; c < p.x; c++) {{ let v = a[r * p.x + c]; own = {each}; }}
         {end}"
    );
    kernel("a z", size, &body)
}

/// Each invocation does an element of a grid of `p.x` by `p.y`, in place.
fn in_place(value: &str) -> String {
    let body = format!(
        "if (gid.x >= p.x || gid.y >= p.y) {{ return; }}
         let i = gid.y * p.x + gid.x; z[i] = {value};"
    );
    kernel("b z", "4, 4", &body)
}

fn lines(h: u32) -> [u32; 3] {
    [h.div_ceil(16), 1, 1]
}

fn tiles(w: u32, h: u32) -> [u32; 3] {
    [w.div_ceil(4), h.div_ceil(4), 1]
}

impl Checked {
    /// Demands that these submissions are placed on this many work-groups of whole rows.
    #[track_caller]
    fn in_blocks(self, groups: u32, submissions: &[usize]) -> Self {
        let rewrites = &self.plan.report.rewrites;
        assert_eq!(self.rewritten(), submissions, "{:#?}", self.plan.report);
        let fits = |places| matches!(places, Places::Blocks { .. });
        assert!(rewrites.iter().all(|one| fits(one.places) && one.groups == [groups, 1, 1]), "{rewrites:#?}");
        self
    }
}

/// Softmax as four kernels, in place: buffer 1, with the greatest element of each row in 2 and the sum in 3.
fn softmax(w: u32, h: u32, promote: Promote) -> Lab {
    let push = [w, h];
    Lab::rewriting(u64::from(w * h).max(64))
        .promote(2, promote)
        .promote(3, promote)
        .submit(&rows("0u", "max(own, v)"), lines(h), &[1, 2], &push)
        .submit(&in_place("b[gid.y] - z[i] + 1u"), tiles(w, h), &[2, 1], &push)
        // Neither commutative nor associative, as sums of floats.
        .submit(&rows("7u", "own * 31u + v"), lines(h), &[1, 3], &push)
        .submit(&in_place("z[i] * 100u / (b[gid.y] | 1u)"), tiles(w, h), &[3, 1], &push)
}

probes! {
    fn a_softmax_of_four_kernels_is_one() {
        // Work-groups of 16: as many rows as have 16 elements, of those that divide them or not.
        for (w, h, groups) in [(7, 5, 3), (7, 6, 3), (5, 21, 7), (64, 3, 3), (20, 6, 6)] {
            for promote in [Promote::None, Promote::Auto] {
                let checked = softmax(w, h, promote).check().fused(3).in_blocks(groups, &[0, 1, 2, 3]);
                // One value a work-group has a place in shared memory.
                if promote == Promote::Auto && w > 16 {
                    checked.inside(2, Internalization::Local).inside(3, Internalization::Local);
                }
            }
        }
        // One element a row, one row: as many invocations as elements, or one work-group.
        for (w, h) in [(1, 37), (16, 1), (7, 1)] {
            assert_eq!(softmax(w, h, Promote::Auto).check().plan.steps.len(), 1, "{w} {h}");
        }
    }

    fn few_long_rows_stay_apart() {
        // In work-groups of 256.
        softmax(130, 3, Promote::None).check().fused(3).in_blocks(3, &[0, 1, 2, 3]);
        // A device that has none.
        let small = || {
            let mut lab = softmax(130, 3, Promote::None);
            (lab.limits.max_work_group_size[0], lab.limits.max_work_group_invocations) = (16, 16);
            lab
        };
        let checked = small().check();
        assert_eq!(checked.apart(4), Some(&RewriteReason::FewRows { rows: 3, length: 130 }));
        let mut lab = small();
        lab.options.force = true;
        lab.check().fused(3);
    }

    fn what_is_not_in_place_is_one_too() {
        let grid = kernel(
            "a b z",
            "4, 4",
            "if (gid.x < p.x && gid.y < p.y) { z[gid.y * p.x + gid.x] = a[gid.y * p.x + gid.x] - b[gid.y]; }",
        );
        for (w, h) in [(7, 10), (64, 5), (3, 33)] {
            Lab::rewriting(512)
                .submit(&rows("0u", "own * 3u + v"), lines(h), &[0, 2], &[w, h])
                .submit(&grid, tiles(w, h), &[0, 2, 3], &[w, h])
                .submit(&rows("1u", "own * 5u + v"), lines(h), &[3, 4], &[w, h])
                .submit(&in_place("b[gid.y] ^ z[i]"), tiles(w, h), &[4, 3], &[w, h])
                .check()
                .fused(3);
        }
    }

    fn floats_are_added_in_their_order() {
        let sum = kernel(
            "a z",
            "16",
            "let r = gid.x; if (r >= p.y) { return; }
             var own = 0.0;
             for (var c = 0u; c < p.x; c++) { own += f32(a[r * p.x + c] & 1023u) * 0.1; }
             z[r] = bitcast<u32>(own);",
        );
        let divide = in_place("bitcast<u32>(f32(z[i] & 1023u) / (bitcast<f32>(b[gid.y]) + 1.0))");
        for (w, h) in [(7, 9), (33, 4)] {
            Lab::rewriting(256)
                .promote(2, Promote::Auto)
                .submit(&sum, lines(h), &[1, 2], &[w, h])
                .submit(&divide, tiles(w, h), &[2, 1], &[w, h])
                .check()
                .fused(1);
        }
    }

    // Rows of a grid of three dimensions, which a kernel of two goes through.
    fn rows_may_lie_in_two_dimensions() {
        let least = kernel(
            "a z",
            "2, 2, 4",
            "if (gid.x >= p.y || gid.y >= p.z || gid.z >= 1u) { return; }
             var own = 77u;
             for (var c = 0u; c < p.x; c++) { own = own * 3u ^ a[(gid.y * p.y + gid.x) * p.x + c]; }
             z[gid.y * p.y + gid.x] = own;",
        );
        let grid = kernel(
            "b z",
            "4, 2, 2",
            "if (gid.x >= p.x || gid.y >= p.y || gid.z >= p.z) { return; }
             let i = (gid.z * p.y + gid.y) * p.x + gid.x; z[i] = z[i] * 5u + b[gid.z * p.y + gid.y];",
        );
        for (w, h, c) in [(6, 5_u32, 3_u32), (4, 4, 2), (17, 1, 3), (1, 7, 5), (9, 3, 1)] {
            let push = [w, h, c];
            let checked = Lab::rewriting(256)
                .submit(&least, [h.div_ceil(2), c.div_ceil(2), 1], &[1, 2], &push)
                .submit(&grid, [w.div_ceil(4), h.div_ceil(2), c.div_ceil(2)], &[2, 1], &push)
                .submit(&least, [h.div_ceil(2), c.div_ceil(2), 1], &[1, 3], &push)
                .check();
            assert_eq!(checked.plan.steps.len(), 1, "{push:?}");
        }
    }

    fn columns_may_be_vectors() {
        let sum = kernel(
            "a:vec4<u32> z:vec4<u32>",
            "16",
            "let r = gid.x; if (r >= p.y) { return; }
             var own = vec4(1u);
             for (var c = 0u; c < p.x; c++) { own = own * 3u + a[r * p.x + c].yzwx; }
             z[r] = own;",
        );
        let grid = kernel(
            "b:vec4<u32> z:vec4<u32>",
            "4, 4",
            "if (gid.x >= p.x || gid.y >= p.y) { return; }
             let i = gid.y * p.x + gid.x; z[i] = z[i] * 7u + b[gid.y];",
        );
        // Four scalars for each vector.
        let scalars = rows("3u", "own * 11u ^ v");
        for (w, h) in [(5, 6), (16, 3), (3, 10)] {
            Lab::rewriting(512)
                .submit(&sum, lines(h), &[1, 2], &[w, h])
                .submit(&grid, tiles(w, h), &[2, 1], &[w, h])
                .submit(&scalars, lines(h), &[1, 3], &[4 * w, h])
                .check()
                .fused(2);
        }
    }

    // Work-groups and places in them are those of the item, too.
    fn any_id_may_be_read() {
        let sum = kernel(
            "a z",
            "8",
            "let r = wid.x * 8u + lix; if (r >= p.y) { return; }
             var own = lid.x;
             for (var c = 0u; c < p.x; c++) { own = own * 3u + a[r * p.x + c]; }
             z[r] = own;",
        );
        let grid = kernel(
            "b z",
            "4, 2, 2",
            "let x = wid.x * 4u + lid.x; let y = wid.y * 4u + lid.z * 2u + lid.y;
             if (gid.z >= 2u || x >= p.x || y >= p.y) { return; }
             z[y * p.x + x] += b[y] * 100u + lix;",
        );
        let plain = kernel(
            "b z",
            "4, 4",
            "if (gid.x >= p.x || gid.y >= p.y) { return; }
             z[gid.y * p.x + gid.x] += b[gid.y] * 100u + lix + 1000u * (wid.x + 10u * wid.y);",
        );
        let (w, h) = (7, 10);
        let lab = || Lab::rewriting(128).submit(&sum, [2, 1, 1], &[1, 2], &[w, h]);
        lab().submit(&plain, tiles(w, h), &[2, 1], &[w, h]).check().fused(1);
        // Its rows lie in two dimensions, and one of them is inside of the other.
        lab().submit(&grid, [2, 3, 1], &[2, 1], &[w, h]).check();
    }

    // A kernel of several stores has an item wherever one of them has.
    fn items_of_all_stores_are_done() {
        let grid = kernel(
            "b z y",
            "4, 4",
            "if (gid.x < p.x && gid.y < p.y) { y[gid.y * 16u + gid.x] = b[gid.y] + 1u; }
             if (gid.x < p.z && gid.y < p.y) { y[256u + gid.y * 16u + gid.x] = 3u; z[gid.y * 8u + gid.x] ^= 1u; }",
        );
        for (w, other) in [(4, 8), (8, 4)] {
            Lab::rewriting(512)
                .submit(&rows("0u", "own * 3u + v"), lines(10), &[1, 2], &[8, 10])
                .submit(&grid, [2, 3, 1], &[2, 3, 4], &[w, 10, other])
                .check()
                .fused(1);
        }
    }

    fn rows_that_go_on_stay_apart() {
        for to in ["p.x + 1u", "p.x * 2u"] {
            let sum = rows("0u", "own * 3u + v").replace("c < p.x", &format!("c < {to}"));
            let lab = |after: bool| {
                let lab = Lab::rewriting(256);
                match after {
                    true => lab
                        .submit(&in_place("z[i] + b[gid.y]"), tiles(7, 10), &[2, 1], &[7, 10])
                        .submit(&sum, lines(10), &[1, 3], &[7, 10]),
                    false => lab
                        .submit(&sum, lines(10), &[1, 2], &[7, 10])
                        .submit(&in_place("z[i] + b[gid.y]"), tiles(7, 10), &[2, 1], &[7, 10]),
                }
            };
            lab(false).check().apart(2);
            lab(true).check().apart(2);
        }
    }

    fn rows_that_overlap_stay_apart() {
        let sum = rows("0u", "own * 3u + v").replace("r * p.x + c", "r * (p.x - 1u) + c");
        Lab::rewriting(256)
            .submit(&sum, lines(10), &[1, 2], &[7, 10])
            .submit(&in_place("z[i] + b[gid.y]"), tiles(7, 10), &[2, 1], &[7, 10])
            .check()
            .apart(2);
    }

    // The last row of a work-group asks for the first one of the next.
    fn what_another_row_has_stays_apart() {
        for (row, dispatches) in [("gid.y", 1), ("(gid.y + 1u)", 2), ("(p.y - 1u - gid.y)", 2), ("gid.x", 2)] {
            let grid = in_place(&format!("z[i] + b[{row}]"));
            let checked = Lab::rewriting(256)
                .submit(&rows("0u", "own * 3u + v"), lines(20), &[1, 2], &[7, 20])
                .submit(&grid, tiles(7, 20), &[2, 3], &[7, 20])
                .check();
            assert_eq!(checked.plan.steps.len(), dispatches, "{row}");
        }
    }

    // In place, and then at another element: old and new would be in one place. What is read in another order may be done where it is written.
    fn what_is_in_place_is_read_where_it_is_written() {
        for (at, dispatches) in [("i", 1), ("(i + 1u) % (p.x * p.y)", 2), ("gid.x * p.y + gid.y", 1)] {
            let other = in_place(&format!("b[{at}] * 3u"));
            let checked = Lab::rewriting(256)
                .submit(&rows("0u", "own * 3u + v"), lines(10), &[1, 2], &[7, 10])
                .submit(&in_place("z[i] + b[gid.y]"), tiles(7, 10), &[2, 1], &[7, 10])
                .submit(&other, tiles(7, 10), &[1, 3], &[7, 10])
                .check();
            assert_eq!(checked.plan.steps.len(), dispatches, "{at}");
        }
        // The old contents, which another work-group has written over.
        let old = in_place("b[(i + 7u) % (p.x * p.y)]");
        Lab::rewriting(256)
            .submit(&old, tiles(7, 10), &[1, 3], &[7, 10])
            .submit(&rows("0u", "own * 3u + v"), lines(10), &[3, 2], &[7, 10])
            .submit(&in_place("z[i] + b[gid.y]"), tiles(7, 10), &[2, 1], &[7, 10])
            .check();
    }

    fn kernels_in_glsl_are_one_too() {
        if !is_possible() {
            return;
        }
        let (w, h) = (7_u32, 10_u32);
        for recipe in RECIPES {
            let most = glsl(
                recipe,
                "a z",
                "4, local_size_y = 4, local_size_z = 4",
                "int gx = int(gl_GlobalInvocationID.x), gy = int(gl_GlobalInvocationID.y), gz = int(gl_GlobalInvocationID.z);
                 if (gx >= int(p.y) || gy >= 1 || gz >= 1) return;
                 uint own = 0u; for (int c = 0; c < int(p.x); c++) { uint v = a[gx * int(p.x) + c]; own = max(own, v); }
                 z[gx] = own;",
            );
            let grid = glsl(
                recipe,
                "b z",
                "4, local_size_y = 4, local_size_z = 4",
                "int gx = int(gl_GlobalInvocationID.x), gy = int(gl_GlobalInvocationID.y), gz = int(gl_GlobalInvocationID.z);
                 if (gx >= int(p.x) || gy >= int(p.y) || gz >= 1) return;
                 int at = gy * int(p.x) + gx; uint v = z[at]; v = v * 3u - b[gy]; z[at] = v;",
            );
            Lab::rewriting(128)
                .submit(&most, [h.div_ceil(4), 1, 1], &[1, 2], &[w, h])
                .submit(&grid, tiles(w, h), &[2, 1], &[w, h])
                .submit(&most, [h.div_ceil(4), 1, 1], &[1, 3], &[w, h])
                .submit(&grid, tiles(w, h), &[3, 1], &[w, h])
                .check()
                .fused(3);
        }
    }
}
