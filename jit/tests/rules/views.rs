//! Several bindings on one buffer: equal, overlapping in part, of another element width.

use vkfuse_jit::Reason;
use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::plan::{Internalization, Promote};

use super::lab::{Lab, View, kernel};

fn copy() -> String {
    kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;")
}

fn whole(buffer: u64) -> View {
    buffer.into()
}

fn part(buffer: u64, first: u64, len: u64) -> View {
    (buffer, first, len).into()
}

probes! {
    /// Views that start a few elements apart: element `i` of one is element `i + d` of the other.
    fn views_that_overlap_in_part_are_compared_where_they_lie() {
        let lab = |first| {
            Lab::new(128)
                .submit_views(&copy(), [4, 1, 1], &[whole(0), part(1, 0, 32)], &[])
                .submit_views(&copy(), [4, 1, 1], &[part(1, first, 32), whole(2)], &[])
                .check()
        };
        lab(0).fused(0);
        // A multiple of nothing useful: the neighbour's, then another group's.
        for first in [1, 2, 4, 8, 16, 31] {
            lab(first).split(2, Write, Read);
        }
        lab(32).fused(0);
        lab(64).fused(0);
    }

    /// The other direction: a write into the tail of what was read.
    fn a_write_into_the_tail_of_what_was_read_splits() {
        Lab::new(128)
            .submit_views(&copy(), [4, 1, 1], &[part(1, 0, 32), whole(0)], &[])
            .submit_views(&copy(), [4, 1, 1], &[whole(2), part(1, 16, 32)], &[])
            .check()
            .split(2, Read, Write);
    }

    fn two_bindings_of_one_buffer_are_one_buffer() {
        let two = kernel("a b z", "8", "z[gid.x] = a[gid.x] + b[31u - gid.x];");
        Lab::new(32)
            .submit(&copy(), [4, 1, 1], &[0, 1], &[])
            .submit(&two, [4, 1, 1], &[1, 0, 2], &[])
            .check()
            .fused(0);
        Lab::new(32)
            .submit(&copy(), [4, 1, 1], &[0, 1], &[])
            .submit(&two, [4, 1, 1], &[1, 1, 2], &[])
            .check()
            .split(2, Write, Read);
        // In place: the same element read and written through two bindings of one kernel.
        Lab::new(32)
            .submit(&copy(), [4, 1, 1], &[1, 1], &[])
            .submit(&copy(), [4, 1, 1], &[1, 1], &[])
            .check()
            .fused(0);
    }

    /// A first kernel that only reads a buffer, a second that writes it: it is not read-only any more.
    fn what_a_later_kernel_writes_is_not_read_only() {
        let lab = Lab::new(32)
            .submit(&copy(), [4, 1, 1], &[1, 2], &[])
            .submit(&copy(), [4, 1, 1], &[2, 1], &[])
            .submit(&copy(), [4, 1, 1], &[1, 3], &[])
            .check()
            .fused(0);
        let step = &lab.plan.steps[0];
        let bound = step.bindings.iter().find(|b| b.buffer.0 == 1).expect("bound");
        assert!(bound.reads && bound.writes);
    }

    /// An index that cannot be followed stays within what is bound, and so do several of them.
    fn an_unknown_index_stays_within_its_view() {
        let gather = kernel("a b z", "8", "z[gid.x] = a[b[gid.x] % 32u];");
        let after = |first| {
            Lab::new(128)
                .submit_views(&copy(), [4, 1, 1], &[whole(0), part(1, 32, 32)], &[])
                .submit_views(&gather, [4, 1, 1], &[part(1, first, 32), whole(3), whole(2)], &[])
                .check()
        };
        after(64).fused(0);
        after(0).fused(0);
        after(40).split(2, Write, Read);
        let between = |first| {
            Lab::new(128)
                .submit_views(&gather, [4, 1, 1], &[part(1, 0, 32), whole(3), whole(2)], &[])
                .submit_views(&gather, [4, 1, 1], &[part(1, 32, 32), whole(3), whole(4)], &[])
                .submit_views(&copy(), [4, 1, 1], &[whole(0), part(1, first, 32)], &[])
                .check()
        };
        between(64).fused(0);
        between(0).split(2, Read, Write);
        between(32).split(2, Read, Write);
    }

    /// Four words at a time and one at a time.
    fn views_of_another_element_width_are_compared_byte_by_byte() {
        let wide = kernel("a:vec4<u32> z:vec4<u32>", "8", "z[gid.x] = a[gid.x] + vec4(1u);");
        let four = kernel(
            "a z",
            "8",
            "for (var k = 0u; k < 4u; k++) { z[4u * gid.x + k] = a[4u * gid.x + k] * 3u; }",
        );
        let one = kernel("a z", "8", "z[gid.x] = a[gid.x] * 3u;");
        let quarter = kernel("a z", "8", "z[gid.x] = a[gid.x / 4u] * 3u;");
        let lab = |text: &str, groups| {
            Lab::new(128)
                .submit(&wide, [4, 1, 1], &[0, 1], &[])
                .submit(text, [groups, 1, 1], &[1, 2], &[])
                .check()
        };
        lab(&four, 4).fused(0);
        // Element i belongs to invocation i / 4 of the first kernel.
        lab(&one, 4).split(2, Write, Read);
        lab(&quarter, 4).split(2, Write, Read);
        // And the other way round.
        Lab::new(128)
            .submit(&four, [4, 1, 1], &[0, 1], &[])
            .submit(&wide, [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(0);
    }

    fn two_element_types_are_not_promoted() {
        let wide = kernel("a:vec4<u32> z:vec4<u32>", "8", "z[gid.x] = a[gid.x] + vec4(1u);");
        let four = kernel(
            "a z",
            "8",
            "for (var k = 0u; k < 4u; k++) { z[4u * gid.x + k] = a[4u * gid.x + k] * 3u; }",
        );
        let checked = Lab::new(128)
            .promote(1, Promote::Private)
            .submit(&wide, [4, 1, 1], &[0, 1], &[])
            .submit(&four, [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(0);
        assert_eq!(checked.refused(1), &Reason::ElementType);
    }

    /// A promoted buffer used through views that start at different places.
    fn slots_follow_the_place_in_the_buffer_not_in_the_view() {
        let shifted = kernel("a z", "8", "z[gid.x + 8u] = a[gid.x] + 1u;");
        let checked = Lab::new(128)
            .promote(1, Promote::Private)
            .submit_views(&shifted, [4, 1, 1], &[whole(0), part(1, 0, 64)], &[])
            .submit_views(&copy(), [4, 1, 1], &[part(1, 8, 64), whole(2)], &[])
            .check()
            .fused(0);
        checked.inside(1, Internalization::Private);
        // The same where the slot is computed from the index.
        let mirror = kernel("a z", "8", "z[gid.x] = a[wid.x * 8u + 7u - lid.x];");
        Lab::new(128)
            .promote(1, Promote::Local)
            .submit_views(&shifted, [4, 1, 1], &[whole(0), part(1, 0, 64)], &[])
            .submit_views(&mirror, [4, 1, 1], &[part(1, 8, 64), whole(2)], &[])
            .check()
            .fused(1)
            .inside(1, Internalization::Local);
    }
}
