//! The patterns everybody meets: reversals, stencils, transposes, scatters, rows.

use vkfuse_jit::Reason;
use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::plan::{Internalization, Promote};

use super::lab::{Lab, kernel};

fn copy() -> String {
    kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;")
}

probes! {
    /// The example of the article on the SYCL extension: work-groups of eight, the second kernel reads from the
    /// other end of the buffer.
    fn the_reversed_index_of_the_article_splits_and_names_the_pair() {
        let reversed = kernel("a z", "8", "z[gid.x] = a[p.x - 1u - gid.x] * 2u;");
        for promote in [Promote::None, Promote::Private, Promote::Local, Promote::Auto] {
            let checked = Lab::new(512)
                .promote(1, promote)
                .submit(&copy(), [64, 1, 1], &[0, 1], &[512])
                .submit(&reversed, [64, 1, 1], &[1, 2], &[512])
                .check()
                .split(2, Write, Read);
            let split = &checked.plan.report.splits[0];
            assert_eq!((split.after, split.buffer.map(|b| b.0)), (0, Some(1)));
            assert_eq!(
                split.detail,
                "submission 0 (probe) writes binding 0.1 at byte global.x * 4; \
                 submission 1 (probe) reads binding 0.0 at byte ((push[0] - 1) - global.x) * 4"
            );
            if promote != Promote::None {
                assert_eq!(checked.refused(1), &Reason::NotFused);
            }
        }
    }

    /// The same reversal inside each group: one barrier, and shared memory will do.
    fn a_reversal_inside_the_group_fuses_with_one_barrier_and_promotes_local() {
        let reversed = kernel("a z", "8", "z[gid.x] = a[wid.x * 8u + 7u - lid.x] * 2u;");
        let lab = |promote| {
            Lab::new(512)
                .promote(1, promote)
                .submit(&copy(), [64, 1, 1], &[0, 1], &[])
                .submit(&reversed, [64, 1, 1], &[1, 2], &[])
        };
        lab(Promote::None).check().fused(1);
        lab(Promote::Local).check().fused(1).inside(1, Internalization::Local);
        lab(Promote::Auto).check().fused(1).inside(1, Internalization::Local);
        let refused = lab(Promote::Private).check().fused(1);
        assert!(matches!(refused.refused(1), Reason::SharedElements { between_groups: false, .. }));
    }

    /// With a single group the whole range is one group.
    fn a_reversal_of_one_group_fuses_with_one_barrier() {
        let reversed = kernel("a z", "8", "z[gid.x] = a[p.x - 1u - gid.x] * 2u;");
        Lab::new(8)
            .submit(&copy(), [1, 1, 1], &[0, 1], &[8])
            .submit(&reversed, [1, 1, 1], &[1, 2], &[8])
            .check()
            .fused(1);
    }

    fn a_three_point_stencil_splits() {
        let stencil = kernel(
            "a z",
            "8",
            "let left = max(gid.x, 1u) - 1u; let right = min(gid.x + 1u, p.x - 1u);
             z[gid.x] = a[left] + a[gid.x] + a[right];",
        );
        Lab::new(64)
            .submit(&copy(), [8, 1, 1], &[0, 1], &[64])
            .submit(&stencil, [8, 1, 1], &[1, 2], &[64])
            .check()
            .split(2, Write, Read);
        // Overwriting what neighbours have still to read is as wrong.
        Lab::new(64)
            .submit(&stencil, [8, 1, 1], &[1, 2], &[64])
            .submit(&copy(), [8, 1, 1], &[2, 1], &[64])
            .check()
            .split(2, Read, Write);
    }

    fn a_transpose_splits() {
        let row = kernel("a z", "8, 8", "z[gid.y * 32u + gid.x] = a[gid.y * 32u + gid.x] + 1u;");
        let transpose = kernel("a z", "8, 8", "z[gid.y * 32u + gid.x] = a[gid.x * 32u + gid.y];");
        Lab::new(1024)
            .submit(&row, [4, 4, 1], &[0, 1], &[])
            .submit(&transpose, [4, 4, 1], &[1, 2], &[])
            .check()
            .split(2, Write, Read);
    }

    /// A transpose within each tile stays in the group.
    fn a_transpose_inside_the_tile_fuses_with_a_barrier() {
        let row = kernel("a z", "8, 8", "z[gid.y * 32u + gid.x] = a[gid.y * 32u + gid.x] + 1u;");
        let tile = kernel(
            "a z",
            "8, 8",
            "z[gid.y * 32u + gid.x] = a[(wid.y * 8u + lid.x) * 32u + wid.x * 8u + lid.y];",
        );
        Lab::new(1024)
            .submit(&row, [4, 4, 1], &[0, 1], &[])
            .submit(&tile, [4, 4, 1], &[1, 2], &[])
            .check()
            .fused(1);
    }

    /// Where it goes is read from memory: unknown, so unrelated.
    fn a_scatter_splits() {
        let scatter = kernel("a b z", "8", "z[gid.x ^ (b[gid.x] >> 16u)] = a[gid.x];");
        Lab::new(64)
            .submit(&scatter, [8, 1, 1], &[0, 1, 2], &[])
            .submit(&copy(), [8, 1, 1], &[2, 3], &[])
            .check()
            .split(2, Write, Read);
        let gather = kernel("a b z", "8", "z[gid.x] = a[b[gid.x] % 64u];");
        Lab::new(64)
            .submit(&copy(), [8, 1, 1], &[0, 2], &[])
            .submit(&gather, [8, 1, 1], &[2, 1, 3], &[])
            .check()
            .split(2, Write, Read);
    }

    /// Softmax in four kernels, one group for each row: all of it is one dispatch.
    fn row_kernels_fuse() {
        let rows = |names: &str, body: &str| kernel(names, "8", &format!("var<workgroup> part: array<u32, 8>;---{body}"));
        let reduce = |op: &str| {
            format!(
                "var own = 0u;
                 for (var c = lid.x; c < p.x; c += 8u) {{ own = {}; }}
                 part[lid.x] = own;
                 workgroupBarrier();
                 for (var step = 4u; step > 0u; step /= 2u) {{
                     if (lid.x < step) {{
                         let x = part[lid.x]; let y = part[lid.x + step];
                         part[lid.x] = {};
                     }}
                     workgroupBarrier();
                 }}
                 if (lid.x == 0u) {{ z[wid.x] = part[0]; }}",
                if op == "max" { "max(own, a[wid.x * p.x + c])" } else { "own + a[wid.x * p.x + c]" },
                if op == "max" { "max(x, y)" } else { "x + y" },
            )
        };
        let each = |body: &str| {
            format!("for (var c = lid.x; c < p.x; c += 8u) {{ let i = wid.x * p.x + c; z[i] = {body}; }}")
        };
        for promote in [Promote::None, Promote::Local, Promote::Auto] {
            let checked = Lab::new(5 * 20)
                .promote(1, promote)
                .promote(3, promote)
                .submit(&rows("a z", &reduce("max")), [5, 1, 1], &[0, 1], &[20])
                .submit(&kernel("a b z", "8", &each("b[wid.x] - a[i]")), [5, 1, 1], &[0, 1, 2], &[20])
                .submit(&rows("a z", &reduce("sum")), [5, 1, 1], &[2, 3], &[20])
                .submit(&kernel("a b z", "8", &each("a[i] * 100u / b[wid.x]")), [5, 1, 1], &[2, 3, 4], &[20])
                .check()
                .fused(2);
            if promote != Promote::None {
                checked.inside(1, Internalization::Local).inside(3, Internalization::Local);
            }
        }
    }

    /// Nothing is claimed of rows that are longer than what the group owns.
    fn rows_that_overlap_split() {
        let first = kernel("a z", "8", "for (var c = lid.x; c < p.y; c += 8u) { z[wid.x * p.x + c] = a[c]; }");
        let second = kernel("a z", "8", "for (var c = lid.x; c < p.z; c += 8u) { z[wid.x * p.x + c] = a[wid.x * p.x + c]; }");
        let lab = |read| {
            Lab::new(200)
                .submit(&first, [5, 1, 1], &[0, 1], &[20, 20, 20])
                .submit(&second, [5, 1, 1], &[1, 2], &[20, 20, read])
        };
        lab(20).check().fused(0);
        // One element into the next row: as a kernel by itself that would race, so only reads do.
        let reader = kernel(
            "a z",
            "8",
            "var sum = 0u; for (var c = 0u; c < p.y; c++) { sum += a[wid.x * p.x + c]; } z[gid.x] = sum;",
        );
        Lab::new(200)
            .submit(&first, [5, 1, 1], &[0, 1], &[20, 20])
            .submit(&reader, [5, 1, 1], &[1, 2], &[20, 20])
            .check()
            .fused(1);
        Lab::new(200)
            .submit(&first, [5, 1, 1], &[0, 1], &[20, 20])
            .submit(&reader, [5, 1, 1], &[1, 2], &[20, 21])
            .check()
            .split(2, Write, Read);
    }
}
