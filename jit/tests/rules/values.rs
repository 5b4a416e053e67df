//! Which push constants a plan depends on, and how.

use vkfuse_jit::plan::Promote;

use super::glsl::{glsl, is_possible};
use super::lab::{Lab, kernel};
use super::rows::{reduce, spread};

/// Two kernels that do the same, over a promoted buffer.
fn twice(text: &str, push: [&[u32]; 2]) -> Lab {
    Lab::new(64).promote(1, Promote::Private).submit(text, [8, 1, 1], &[0, 1], push[0]).submit(
        text,
        [8, 1, 1],
        &[1, 2],
        push[1],
    )
}

probes! {
    /// The elements of a column lie apart in a matrix by rows, wherever the index comes from.
    fn a_matrix_by_rows_is_an_argument() {
        if !is_possible() {
            return;
        }
        let block = "layout(push_constant) uniform Q { layout(row_major) mat2x3 m; uint n; } q;---";
        let words: Vec<u32> = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(f32::to_bits).into_iter().chain([30]).collect();
        for index in ["q.m[1].z", "q.m[0].y", "q.m[i & 1].y", "q.m[1][i & 1]", "(q.m[1] * 2.0).x"] {
            let body = format!("{block} if (i < q.n) z[i] = a[i] + uint({index});");
            let text = glsl("", "a z", "8", &body);
            let lab = Lab::new(64).submit(&text, [4, 1, 1], &[0, 1], &words);
            lab.submit(&text, [4, 1, 1], &[1, 2], &words).check().fused(0);
        }
    }

    /// What a condition or an index is made of has to be the same, and nothing else.
    fn numbers_have_to_be_the_same() {
        let text = kernel("a z", "8", "if gid.x < p.x { z[gid.x] = a[gid.x] * p.y + p.z; }");
        let lab = twice(&text, [&[60, 2, 3], &[60, 4, 5]]);
        assert!(lab.holds_with(&[&[60, 2, 3], &[60, 4, 5]]));
        assert!(lab.holds_with(&[&[60, 7, 8], &[60, 9, 6]]));
        assert!(lab.holds_with(&[&[60, 7, 8, 1], &[60, 9, 6, 2]]), "the fourth is never read");
        assert!(!lab.holds_with(&[&[59, 2, 3], &[59, 4, 5]]));
        assert!(!lab.holds_with(&[&[60, 2, 3], &[61, 4, 5]]));
        let text = kernel("a z", "8", "z[gid.x + p.x] = a[gid.x + p.x] * p.y;");
        let lab = twice(&text, [&[0, 2], &[0, 3]]);
        assert!(lab.holds_with(&[&[0, 5], &[0, 6]]));
        assert!(!lab.holds_with(&[&[1, 2], &[1, 3]]));
        // The number of rounds is how far a store goes.
        let text = kernel("a z", "8", "for (var k = 0u; k < p.x; k++) { z[gid.x * 8u + k] = a[gid.x * 8u + k] * p.y; }");
        let lab = Lab::new(64).submit(&text, [1, 1, 1], &[0, 1], &[8, 2]).submit(&text, [1, 1, 1], &[1, 2], &[8, 3]);
        assert!(lab.holds_with(&[&[8, 5], &[8, 6]]));
        assert!(!lab.holds_with(&[&[7, 2], &[8, 3]]));
    }

    /// How often a loop goes round decides what is fused where a driver ends loops, also if no index depends on it.
    fn rounds_of_products_have_to_be_the_same() {
        let text = kernel("a z", "8", "var s = 0u; for (var k = 1u; k < p.x; k = k * 2u) { s += a[gid.x]; } z[gid.x] = s * p.y;");
        let mut lab = twice(&text, [&[64, 2], &[64, 3]]);
        lab.limits.max_loop_rounds = Some(14);
        assert!(lab.holds_with(&[&[64, 5], &[64, 6]]));
        assert!(!lab.holds_with(&[&[65, 2], &[64, 3]]), "as many as are too many");
    }

    /// Equal arguments share a push constant, so that they have to stay equal, and others different.
    fn which_are_equal_has_to_be_the_same() {
        let text = kernel("a z", "8", "z[gid.x] = a[gid.x] * p.x;");
        let lab = twice(&text, [&[5], &[5]]);
        assert!(lab.holds_with(&[&[7], &[7]]));
        assert!(!lab.holds_with(&[&[7], &[5]]));
        let lab = twice(&text, [&[5], &[6]]);
        assert!(lab.holds_with(&[&[6], &[5]]));
        assert!(!lab.holds_with(&[&[7], &[7]]));
    }

    /// Where arguments are passed does not change what is passed on.
    fn arguments_in_a_buffer_are_passed_on() {
        let text = kernel("a z", "8", "if gid.x < p.x { z[gid.x] = a[gid.x] * p.y + p.z; }");
        for room in [0, 4, 8, 256] {
            let mut lab = twice(&text, [&[60, 2, 3], &[60, 4, 3]]);
            lab.limits.max_push_bytes = room;
            assert!(lab.holds_with(&[&[60, 7, 8], &[60, 9, 8]]));
            assert!(!lab.holds_with(&[&[60, 7, 8], &[60, 9, 9]]));
            assert!(!lab.holds_with(&[&[60, 7, 8], &[60, 7, 8]]));
            assert!(!lab.holds_with(&[&[59, 2, 3], &[59, 4, 3]]));
        }
    }

    /// A number of the planner's that an argument happens to be is not passed on.
    fn what_is_worked_out_is_not_passed_on() {
        let text = kernel("a z", "8", "z[gid.x] = a[gid.x] * p.x;");
        let lab = |n| {
            Lab::new(64)
                .submit(&text, [4, 1, 1], &[0, 1], &[n])
                .submit(&text, [8, 1, 1], &[2, 3], &[1000])
        };
        assert!(lab(7).holds_with(&[&[9], &[1001]]));
        let shared: Vec<u32> = (1..=64).filter(|&n| !lab(n).holds_with(&[&[n + 100], &[1000]])).collect();
        assert!(!shared.is_empty(), "the number of work-groups, or of items");
        for n in shared {
            assert!(!lab(7).holds_with(&[&[n], &[1000]]));
        }
    }

    /// A kernel that goes by the rows of another has numbers of the planner behind its own push constants, and hands all of
    /// them on as one where it takes an index into them.
    fn a_block_of_a_placed_kernel_is_passed_on_but_for_the_planners_numbers() {
        if !is_possible() {
            return;
        }
        let block = "layout(push_constant) uniform Q { uint m[3]; uint n; } q;---";
        let flat = glsl("", "a z", "16", &format!("{block} if (i < q.n) z[i] = a[i] + q.m[i % 3u];"));
        let lab = Lab::rewriting(80)
            .submit(&reduce("own + v", "x + y"), [4, 1, 1], &[0, 1], &[20])
            .submit(&spread("a[at] * 3u + b[wid.x]"), [4, 1, 1], &[0, 1, 2], &[20])
            .submit(&flat, [5, 1, 1], &[2, 3], &[5, 6, 7, 80]);
        assert!(lab.holds_with(&[&[20], &[20], &[8, 9, 10, 80]]));
        assert!(!lab.holds_with(&[&[20], &[20], &[8, 9, 10, 79]]));
        let checked = lab.check();
        assert_eq!((checked.plan.steps.len(), checked.plan.report.rewrites.len()), (1, 1));
    }

    /// Where a kernel is recomputed inside of another, values become indices.
    fn values_that_become_indices_are_numbers() {
        let product = kernel("a z", "8", "z[gid.x] = gid.x * p.x;");
        let gather = kernel("a b z", "8", "z[gid.x] = a[b[gid.x ^ 8u]];");
        let lab = Lab::rewriting(64)
            .submit(&product, [8, 1, 1], &[0, 1], &[1])
            .submit(&gather, [8, 1, 1], &[0, 1, 2], &[]);
        assert!(lab.holds_with(&[&[1], &[]]));
        assert!(!lab.holds_with(&[&[2], &[]]));
        let apart = Lab::new(64)
            .submit(&product, [8, 1, 1], &[0, 1], &[1])
            .submit(&gather, [8, 1, 1], &[0, 1, 2], &[]);
        assert!(apart.holds_with(&[&[2], &[]]));
    }
}
