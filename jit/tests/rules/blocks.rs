//! Where an element lies: several arrays in a block, headers, structs, arrays of arrays, matrices. The kernels are GLSL
//! (`tests/kernels/blocks`), whose blocks WGSL has no words for.
//!
//! Work-groups have 8 invocations, there are 4 of them.

use std::sync::Arc;

use vkfuse_jit::Reason;
use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::kernel::Specialized;
use vkfuse_jit::plan::{Internalization, Promote, ShapeLimits};

use super::lab::{Checked, Lab, View, compiled, kernel};

const GROUPS: [u32; 3] = [4, 1, 1];

fn block(name: &str) -> Arc<Specialized> {
    compiled(&format!("blocks/{name}"))
}

fn lab(promote: Promote) -> Lab {
    Lab::new(512).promote(1, promote)
}

/// A kernel that writes buffer 1, then one that reads it.
fn through(lab: Lab, write: &str, read: &str) -> Checked {
    lab.submit_kernel(block(write), GROUPS, &[0.into(), 1.into()], &[])
        .submit_kernel(block(read), GROUPS, &[1.into(), 2.into()], &[])
        .check()
}

/// The invocation's own elements: fused with and without promotion, and promoted as asked.
fn own(write: &str, read: &str) {
    through(lab(Promote::None), write, read).fused(0);
    through(lab(Promote::Private), write, read).fused(0).inside(1, Internalization::Private);
    through(lab(Promote::Local), write, read).fused(0).inside(1, Internalization::Local);
}

/// Elements of the work-group in reverse.
fn turned(write: &str, read: &str) {
    through(lab(Promote::None), write, read).fused(1);
    through(lab(Promote::Local), write, read).fused(1).inside(1, Internalization::Local);
    through(lab(Promote::Private), write, read).fused(1).refused(1);
}

probes! {
    fn arrays_of_one_block_have_slots_of_their_own() {
        own("two_write", "two_read");
        turned("two_write", "two_turn");
        own("inner_write", "inner_read");
    }

    fn a_header_that_one_kernel_knows_moves_the_slots() {
        own("header_write", "header_read");
        turned("header_write", "header_turn");
    }

    fn arrays_in_a_struct_are_found() {
        own("nested_write", "nested_read");
        turned("nested_write", "nested_turn");
    }

    fn elements_may_be_structs_vectors_and_arrays() {
        own("structs_write", "structs_read");
        own("vectors_write", "vectors_read");
        own("rows_write", "rows_read");
    }

    /// The views start where the header ends: the array of the one kernel is the block of the other.
    fn a_view_may_leave_the_header_out() {
        for promote in [Promote::None, Promote::Private, Promote::Local] {
            let promoted = match promote {
                Promote::Private => Internalization::Private,
                Promote::Local => Internalization::Local,
                _ => Internalization::None,
            };
            let checked = lab(promote)
                .submit_kernel(block("header_write"), GROUPS, &[0.into(), (1, 0, 64).into()], &[])
                .submit_kernel(block("own_read"), GROUPS, &[(1, 4, 64).into(), 2.into()], &[])
                .check()
                .fused(0);
            if promote != Promote::None {
                checked.inside(1, promoted);
            }
            let view: View = (1, 5, 64).into();
            lab(promote)
                .submit_kernel(block("header_write"), GROUPS, &[0.into(), (1, 0, 64).into()], &[])
                .submit_kernel(block("own_read"), GROUPS, &[view, 2.into()], &[])
                .check()
                .split(2, Write, Read);
        }
    }

    fn elements_without_a_common_grid_stay_in_memory() {
        for promote in [Promote::Private, Promote::Local] {
            let checked = through(lab(promote), "triples_write", "triples_read").fused(0);
            assert_eq!(checked.refused(1), &Reason::Slot);
        }
    }

    fn matrices_of_two_majors_are_two_types() {
        own("row_write", "row_read");
        own("column_write", "column_read");
        for (write, read) in [("row_write", "column_read"), ("column_write", "row_read")] {
            for promote in [Promote::Private, Promote::Local] {
                let checked = through(lab(promote), write, read).fused(0);
                assert_eq!(checked.refused(1), &Reason::ElementType);
            }
        }
    }

    /// Columns and components of matrices, seen as words by the other kernel.
    fn parts_of_matrices_lie_where_their_major_says() {
        let words = |first: &str, step: u32| {
            kernel("a z", "8", &format!("let b = {first} + {step}u * gid.x; \
                z[gid.x] = a[b] + 3u * a[b + 1u] + 5u * a[b + 2u] + 7u * a[b + 3u] + 11u * a[b + 4u] + 13u * a[b + 5u];"))
        };
        let after = |name: &str, read: String| {
            Lab::new(512)
                .submit_kernel(block(name), GROUPS, &[0.into(), 1.into()], &[])
                .submit(&read, GROUPS, &[1, 2], &[])
                .check()
        };
        // A matrix of three rows of two words, or two columns of four, behind a number in each element.
        after("row_parts", words("3u", 8)).fused(0);
        after("row_parts", words("4u", 8)).fused(0);
        after("column_parts", words("8u", 12)).fused(0);
        after("column_parts", words("10u", 12)).fused(0);
        // One word more is the first of the next element, which the next invocation writes.
        after("row_parts", words("5u", 8)).split(2, Write, Read);
        after("column_parts", words("11u", 12)).split(2, Write, Read);
    }

    fn extracted_bits_are_exact() {
        through(lab(Promote::Private), "fields_write", "own_read").fused(0).inside(1, Internalization::Private);
        through(lab(Promote::None), "fields_write", "fields_low").split(2, Write, Read);
    }

    fn numbers_beyond_all_bounds_are_given_up() {
        Lab::new(128)
            .submit(&kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;"), GROUPS, &[0, 1], &[])
            .submit_kernel(block("wide_read"), GROUPS, &[2.into(), 1.into(), 3.into()], &[])
            .check()
            .split(2, Write, Read);
    }

    /// One binding, two variables: their queries are counted together, also where several items are written side by side.
    fn lengths_through_two_variables_of_one_binding_are_kept_apart() {
        for items in [1, 4] {
            let mut lab = lab(Promote::Private);
            lab.limits.shape = ShapeLimits { group_size: 8, items, vectors: false, ..ShapeLimits::default() };
            through(lab, "length_write", "own_read").fused(0).inside(1, Internalization::Private);
        }
    }
}
