//! Several elements per invocation: blocks, strides, grid strides, loops inside loops.

use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::plan::{Internalization, Promote};

use super::lab::{Checked, Lab, kernel};

/// Two kernels of 4 groups of 8 over 128 elements, the index of element `k` of an invocation as given.
fn each(write: &str, read: &str, promote: Promote) -> Checked {
    let text = |index: &str, value: &str| {
        kernel("a z", "8", &format!("for (var k = 0u; k < p.x; k++) {{ let i = {index}; {value} }}"))
    };
    Lab::new(128)
        .promote(1, promote)
        .submit(&text(write, "z[i] = a[i] + k;"), [4, 1, 1], &[0, 1], &[4, 32])
        .submit(&text(read, "z[gid.x * 4u + k] = a[i] * 3u;"), [4, 1, 1], &[1, 2], &[4, 32])
        .check()
}

const BLOCK: &str = "gid.x * 4u + k";
const STRIDE: &str = "k * 32u + gid.x";
const GROUP_STRIDE: &str = "wid.x * 32u + k * 8u + lid.x";

probes! {
    fn blocks_and_strides_are_injective() {
        for form in [BLOCK, STRIDE, GROUP_STRIDE] {
            each(form, form, Promote::None).fused(0);
            each(form, form, Promote::Private).fused(0).inside(1, Internalization::Private);
        }
    }

    fn a_block_written_and_a_stride_read_splits() {
        each(BLOCK, STRIDE, Promote::None).split(2, Write, Read);
        each(STRIDE, BLOCK, Promote::Local).split(2, Write, Read);
    }

    /// The same 32 elements of the group, dealt out in two ways.
    fn a_block_written_and_a_stride_of_the_group_read_needs_a_barrier() {
        each(BLOCK, GROUP_STRIDE, Promote::Local).fused(1).inside(1, Internalization::Local);
        each(GROUP_STRIDE, BLOCK, Promote::Local).fused(1).inside(1, Internalization::Local);
    }

    fn unrolled_elements_are_followed() {
        let write = kernel("a z", "8", "z[2u * gid.x] = a[gid.x]; z[2u * gid.x + 1u] = a[gid.x] + 1u;");
        let read = kernel("a z", "8", "z[gid.x] = a[2u * gid.x + 1u] - a[2u * gid.x];");
        Lab::new(64)
            .promote(1, Promote::Private)
            .submit(&write, [4, 1, 1], &[0, 1], &[])
            .submit(&read, [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(0)
            .inside(1, Internalization::Private);
    }

    fn a_grid_stride_is_injective() {
        let text = kernel("a z", "8", "for (var i = gid.x; i < p.x; i += nwg.x * 8u) { z[i] = a[i] + 1u; }");
        Lab::new(128)
            .promote(1, Promote::Private)
            .submit(&text, [4, 1, 1], &[0, 1], &[100])
            .submit(&text, [4, 1, 1], &[1, 2], &[100])
            .check()
            .fused(0);
        // One element for each invocation after that: only for the first 32 it is the same one.
        let one = kernel("a z", "8", "if (gid.x < p.x) { z[gid.x] = a[gid.x] * 2u; }");
        Lab::new(128)
            .submit(&text, [4, 1, 1], &[0, 1], &[100])
            .submit(&one, [4, 1, 1], &[1, 2], &[32])
            .check()
            .fused(0);
        // Read with another number of groups, the stride is another one.
        Lab::new(128)
            .submit(&text, [4, 1, 1], &[0, 1], &[100])
            .submit(&text, [3, 1, 1], &[1, 2], &[100])
            .check()
            .split(2, Write, Read);
    }

    /// A step that each way through a round takes by itself is one step, if it is the same.
    fn counters_that_every_way_steps_are_followed() {
        let list = |other: u32, first: &str| {
            let round = format!("let i = gid.x * 4u + k; if (i >= p.x) {{ {first} }} z[i] = a[i] * 3u + k; k = k + 1u;");
            let text = kernel("a z", "8", &format!("var k = 0u; loop {{ if (k >= 4u) {{ break; }} {round} }}"));
            Lab::rewriting(128)
                .promote(1, Promote::Private)
                .submit(&text, [4, 1, 1], &[0, 1], &[other])
                .submit(&text, [4, 1, 1], &[1, 2], &[other])
                .check()
        };
        list(101, "k = k + 1u; continue;").fused(0).inside(1, Internalization::Private);
        list(101, "if (i >= p.x + 1u) { k = k + 1u; } else { k = k + 1u; } continue;").fused(0);
        // Two steps at once leave out elements, and which they are is not known.
        for first in ["k = k + 2u; continue;", "k = k + p.x; continue;"] {
            list(101, first).refused(1);
        }
    }

    /// A loop inside, before or after the access: the counter outside is still one.
    fn counters_of_loops_around_loops_are_followed() {
        let grid = "for (var e = gid.x; e < p.x; e += nwg.x * 8u) { BODY }";
        let tile = "for (var j = 0u; j < 3u; j++) { let e = (wid.x * 3u + j) * 8u + lid.x; if (e < p.x) { BODY } }";
        let inner = "var s = 0u; for (var k = 0u; k < 3u; k++) { s += a[e] * k; } z[e] = s;";
        let branch = "if (a[e] > 7u) { z[e] = a[e]; } else { z[e] = 3u; }";
        for outer in [grid, tile] {
            for body in [inner, branch] {
                let text = kernel("a z", "8", &outer.replace("BODY", body));
                Lab::new(128)
                    .submit(&text, [4, 1, 1], &[0, 1], &[90])
                    .submit(&text, [4, 1, 1], &[1, 2], &[90])
                    .check()
                    .fused(0);
            }
        }
    }

    /// Rows of eight elements, one for each invocation; the second kernel reads one element more.
    fn a_loop_that_goes_too_far_is_seen() {
        let write = kernel("a z", "8", "for (var k = 0u; k < 4u; k++) { z[gid.x * 4u + k] = a[gid.x] + k; }");
        let read = kernel(
            "a z",
            "8",
            "var s = 0u; for (var k = 0u; k < p.x; k++) { s += a[gid.x * 4u + k]; } z[gid.x] = s;",
        );
        let lab = |n| {
            Lab::new(256)
                .submit(&write, [4, 1, 1], &[0, 1], &[])
                .submit(&read, [4, 1, 1], &[1, 2], &[n])
                .check()
        };
        lab(4).fused(0);
        lab(5).split(2, Write, Read);
        lab(0).fused(0);
    }

    /// A bound that is read from memory is no bound.
    fn a_loop_of_unknown_length_splits() {
        let write = kernel("a z", "8", "for (var k = 0u; k < 4u; k++) { z[gid.x * 4u + k] = a[gid.x] + k; }");
        let read = kernel(
            "a b z",
            "8",
            "var s = 0u; for (var k = 0u; k < b[gid.x] % 4u; k++) { s += a[gid.x * 4u + k]; } z[gid.x] = s;",
        );
        Lab::new(256)
            .submit(&write, [4, 1, 1], &[0, 1], &[])
            .submit(&read, [4, 1, 1], &[1, 3, 2], &[])
            .check();
    }

    /// What a loop left behind is not what it was inside.
    fn a_counter_after_its_loop_is_unknown() {
        let write = kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;");
        let read = kernel(
            "a z",
            "8",
            "var k = 0u; loop { if (k >= p.x) { break; } k++; } z[gid.x] = a[(gid.x + k) % 32u];",
        );
        Lab::new(64)
            .submit(&write, [4, 1, 1], &[0, 1], &[])
            .submit(&read, [4, 1, 1], &[1, 2], &[5])
            .check()
            .split(2, Write, Read);
    }

    /// One element was written after the loop, not one in each round.
    fn a_counter_after_its_loop_covers_one_element() {
        let write = kernel(
            "a z",
            "8",
            "var k = 0u; loop { if (k >= p.x) { break; } k++; } z[gid.x * 8u + k] = a[gid.x];",
        );
        let read = kernel("a z", "8", "z[gid.x] = a[gid.x * 8u + 2u];");
        let checked = Lab::new(256)
            .promote(1, Promote::Private)
            .submit(&write, [4, 1, 1], &[0, 1], &[5])
            .submit(&read, [4, 1, 1], &[1, 2], &[])
            .check();
        checked.refused(1);
    }

    /// What a later round writes was not there in an earlier one.
    fn a_write_covers_reads_of_its_own_round_only() {
        let write = kernel(
            "a z",
            "8",
            "var s = 0u;
             for (var k = 0u; k < 4u; k++) { z[gid.x * 4u + k] = a[gid.x] + k; s += z[gid.x * 4u + 3u - k]; }
             z[gid.x * 4u] = s;",
        );
        let read = kernel("a z", "8", "z[gid.x] = a[gid.x * 4u];");
        let checked = Lab::new(128)
            .promote(1, Promote::Private)
            .submit(&write, [4, 1, 1], &[0, 1], &[])
            .submit(&read, [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(0);
        checked.refused(1);
    }

    /// Only every second element was written.
    fn a_stride_with_gaps_covers_nothing_between() {
        let write = kernel("a z", "8", "for (var k = 0u; k < 4u; k += 2u) { z[gid.x * 4u + k] = a[gid.x] + k; }");
        let read = kernel("a z", "8", "for (var k = 0u; k < 4u; k++) { z[gid.x * 4u + k] = a[gid.x * 4u + k]; }");
        for kind in [Promote::Private, Promote::Local, Promote::Auto] {
            let checked = Lab::new(128)
                .promote(1, kind)
                .submit(&write, [4, 1, 1], &[0, 1], &[])
                .submit(&read, [4, 1, 1], &[1, 2], &[])
                .check()
                .fused(0);
            checked.refused(1);
        }
    }
}
