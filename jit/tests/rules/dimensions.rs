//! Two and three dimensions, tiles, and members of different shapes.

use vkfuse_jit::Reason;
use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::plan::{Internalization, Promote};

use super::lab::{Lab, kernel};

const GUARD: &str = "if (gid.x >= p.x || gid.y >= p.y || gid.z >= p.z) { return; }";
const INDEX: &str = "(gid.z * p.y + gid.y) * p.x + gid.x";

probes! {
    /// A box of items and a line of as many, whatever its sides are; planes further apart are other places.
    fn a_box_without_gaps_is_a_line() {
        let solid = kernel("a z", "4, 4, 4", &format!("{GUARD} let i = gid.z * p.w + gid.y * p.x + gid.x; z[i] = a[i] * 2u;"));
        let line = kernel("a z", "64", "if (gid.x >= p.x) { return; } z[gid.x] = a[gid.x] + 1u;");
        for ([x, y, z], groups) in [([12, 8, 8], [3, 2, 2]), ([12, 4, 4], [3, 1, 1]), ([20, 12, 4], [5, 3, 1]), ([8, 8, 4], [2, 2, 1])] {
            let n: u32 = x * y * z;
            let lab = |promote| Lab::new(1024).promote(1, promote);
            let (push, lines) = ([x, y, z, x * y], [n.div_ceil(64), 1, 1]);
            lab(Promote::None).submit(&solid, groups, &[0, 1], &push).submit(&line, lines, &[1, 2], &[n]).check().fused(0);
            lab(Promote::None).submit(&line, lines, &[0, 1], &[n]).submit(&solid, groups, &[1, 2], &push).check().fused(0);
            lab(Promote::Private)
                .submit(&solid, groups, &[0, 1], &push)
                .submit(&line, lines, &[1, 2], &[n])
                .check()
                .fused(0)
                .inside(1, Internalization::Private);
        }
        for apart in [97, 100] {
            let push = [12, 8, 8, apart];
            Lab::new(1024)
                .submit(&line, [12, 1, 1], &[0, 1], &[768])
                .submit(&solid, [3, 2, 2], &[1, 2], &push)
                .check()
                .split(2, Write, Read);
        }
    }

    fn three_dimensions_in_row_major_order_are_injective() {
        let text = kernel("a z", "4, 2, 2", &format!("{GUARD} z[{INDEX}] = a[{INDEX}] + 1u;"));
        Lab::new(512)
            .promote(1, Promote::Private)
            .submit(&text, [2, 4, 3], &[0, 1], &[7, 7, 5])
            .submit(&text, [2, 4, 3], &[1, 2], &[7, 7, 5])
            .check()
            .fused(0)
            .inside(1, Internalization::Private);
    }

    /// The same elements in another order of coordinates belong to other invocations.
    fn column_major_after_row_major_splits() {
        let row = kernel("a z", "4, 4", "z[gid.y * 16u + gid.x] = a[gid.y * 16u + gid.x] + 1u;");
        let column = kernel("a z", "4, 4", "z[gid.y * 16u + gid.x] = a[gid.x * 16u + gid.y];");
        Lab::new(256)
            .submit(&row, [4, 4, 1], &[0, 1], &[])
            .submit(&column, [4, 4, 1], &[1, 2], &[])
            .check()
            .split(2, Write, Read);
    }

    /// Rows of one length written, of another length read.
    fn another_row_length_splits() {
        let row = |width: u32| {
            kernel("a z", "4, 4", &format!("z[gid.y * {width}u + gid.x] = a[gid.y * {width}u + gid.x] + 1u;"))
        };
        Lab::new(512)
            .submit(&row(16), [4, 4, 1], &[0, 1], &[])
            .submit(&row(17), [4, 4, 1], &[1, 2], &[])
            .check()
            .split(2, Write, Read);
    }

    /// A tile of each group, mirrored inside: shared memory of a tile's size.
    fn a_tile_belongs_to_its_group() {
        let write = kernel("a z", "4, 4", "z[gid.y * 16u + gid.x] = a[gid.y * 16u + gid.x] + 1u;");
        let read = kernel(
            "a z",
            "4, 4",
            "z[gid.y * 16u + gid.x] = a[(wid.y * 4u + 3u - lid.y) * 16u + wid.x * 4u + 3u - lid.x];",
        );
        Lab::new(256)
            .promote(1, Promote::Local)
            .submit(&write, [4, 4, 1], &[0, 1], &[])
            .submit(&read, [4, 4, 1], &[1, 2], &[])
            .check()
            .fused(1);
        // One element past the tile is the next group's.
        let halo = kernel(
            "a z",
            "4, 4",
            "z[gid.y * 16u + gid.x] = a[gid.y * 16u + min(gid.x + 1u, 15u)];",
        );
        Lab::new(256)
            .submit(&write, [4, 4, 1], &[0, 1], &[])
            .submit(&halo, [4, 4, 1], &[1, 2], &[])
            .check()
            .split(2, Write, Read);
    }

    /// What a tile's first invocation wrote is read by all of its tile, also where the last tile of a row is cut off.
    fn the_first_of_a_ragged_tile_is_its_groups() {
        let guard = "if (gid.x < p.x && gid.y < p.y)";
        let write = kernel("a z", "4, 4", &format!("{guard} {{ let i = gid.y * p.x + gid.x; z[i] = a[i] + 1u; }}"));
        let read = |first: &str| {
            let text = format!("{guard} {{ let i = gid.y * p.x + gid.x; z[i] = a[{first}] + i; }}");
            kernel("a z", "4, 4", &text)
        };
        let lab = |first: &str, width: u32| {
            Lab::new(256)
                .submit(&write, [3, 3, 1], &[0, 1], &[width, 10])
                .submit(&read(first), [3, 3, 1], &[1, 2], &[width, 10])
                .check()
        };
        for width in [9, 10, 11, 12] {
            lab("(wid.y * 4u) * p.x + wid.x * 4u", width).fused(1);
            // The first of the next group, and the end of the row before.
            lab("(wid.y * 4u) * p.x + min(wid.x * 4u + 4u, p.x - 1u)", width).split(2, Write, Read);
            lab("max((wid.y * 4u) * p.x + wid.x * 4u, 1u) - 1u", width).split(2, Write, Read);
        }
    }

    /// Tiles laid out one after the other are shared memory with one slot for each element.
    fn a_tile_in_one_piece_promotes_local() {
        let own = "(wid.y * nwg.x + wid.x) * 16u + lid.y * 4u + lid.x";
        let turned = "(wid.y * nwg.x + wid.x) * 16u + lid.x * 4u + lid.y";
        let write = kernel("a z", "4, 4", &format!("z[{own}] = a[{own}] + 1u;"));
        let read = kernel("a z", "4, 4", &format!("z[{own}] = a[{turned}];"));
        Lab::new(256)
            .promote(1, Promote::Local)
            .submit(&write, [4, 4, 1], &[0, 1], &[])
            .submit(&read, [4, 4, 1], &[1, 2], &[])
            .check()
            .fused(1)
            .inside(1, Internalization::Local);
    }

    /// Other group counts: work-groups are renumbered in linear order.
    fn other_group_counts_keep_linear_order() {
        let text = kernel("a z", "8", "let i = (wid.y * nwg.x + wid.x) * 8u + lid.x; z[i] = a[i] + 1u;");
        Lab::new(256)
            .submit(&text, [6, 1, 1], &[0, 1], &[])
            .submit(&text, [3, 2, 1], &[1, 2], &[])
            .submit(&text, [2, 2, 1], &[2, 3], &[])
            .check()
            .fused(0);
        let reversed = kernel("a z", "8", "z[gid.x] = a[wid.x * 8u + 7u - lid.x];");
        Lab::new(256)
            .submit(&text, [6, 1, 1], &[0, 1], &[])
            .submit(&reversed, [5, 1, 1], &[1, 2], &[])
            .check()
            .fused(1);
    }

    /// Fewer rows of groups: the later kernel's share of the dispatch is its first row.
    fn fewer_rows_of_groups_keep_linear_order() {
        let text = kernel("a z", "4, 2", "let i = gid.y * 12u + gid.x; z[i] = a[i] + 1u;");
        Lab::new(128)
            .submit(&text, [3, 2, 1], &[0, 1], &[])
            .submit(&text, [3, 1, 1], &[1, 2], &[])
            .check()
            .fused(0);
    }

    /// One dimension, then two: element `i` stays with one invocation.
    fn other_local_sizes_keep_linear_order() {
        let line = kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;");
        let square = kernel("a z", "4, 4", "z[gid.y * 8u + gid.x] = a[gid.y * 8u + gid.x] * 2u;");
        Lab::new(64)
            .promote(1, Promote::Private)
            .submit(&line, [8, 1, 1], &[0, 1], &[])
            .submit(&square, [2, 2, 1], &[1, 2], &[])
            .check()
            .fused(0)
            .inside(1, Internalization::Private);
    }

    /// A kernel that knows its group cannot be cut up.
    fn another_local_size_of_a_kernel_that_reads_its_group_splits() {
        let line = kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;");
        let grouped = kernel("a z", "16", "z[gid.x] = a[gid.x] + wid.x;");
        let (small, large) = ((&line, 8), (&grouped, 16));
        for (first, second) in [(small, large), (large, small)] {
            let checked = Lab::new(64)
                .submit(first.0, [64 / first.1, 1, 1], &[0, 1], &[])
                .submit(second.0, [64 / second.1, 1, 1], &[1, 2], &[])
                .check();
            assert_eq!(checked.plan.steps.len(), 2);
            let reason = Reason::LocalSize { earlier: 0, have: [first.1, 1, 1], want: [second.1, 1, 1] };
            assert_eq!(checked.plan.report.splits[0].reason, reason);
        }
    }

    /// A member without any work-group, in whatever dimension it has none, does nothing.
    fn a_member_without_groups_does_nothing() {
        let line = kernel("a z", "8", "let i = (wid.y * nwg.x + wid.x) * 8u + lid.x; z[i] = a[i] + 1u;");
        let items = kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;");
        let square = kernel("a z", "4, 4", "z[gid.y * 8u + gid.x] = a[gid.y * 8u + gid.x] * 2u;");
        for none in [[0, 1, 1], [2, 0, 1], [0, 2, 1], [2, 3, 0], [0, 0, 0]] {
            for (first, second) in [(&line, &line), (&items, &square)] {
                for (a, b) in [([3, 1, 1], none), (none, [2, 1, 1]), (none, none)] {
                    Lab::new(64).submit(first, a, &[0, 1], &[]).submit(second, b, &[1, 2], &[]).check();
                }
            }
        }
    }
}
