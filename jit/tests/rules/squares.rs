//! Lists by elements in which one side goes by columns: squares of elements instead of lines, where that touches less memory.

use vkfuse_jit::plan::{Places, Promote, RewriteReport};

use super::lab::{Checked, Lab};
use super::placement::{flat, over};

impl Checked {
    /// Demands that just these submissions were placed on squares of lines so long.
    #[track_caller]
    fn on_squares(self, width: u32, submissions: [usize; 2]) -> Self {
        assert_eq!(self.rewritten(), submissions, "{:#?}", self.plan.report);
        let of_width = |one: &RewriteReport| {
            (one.places, one.work_group) == (Places::Grid { width }, [16, 16, 1]) && one.sectors.is_some()
        };
        assert!(self.plan.report.rewrites.iter().all(of_width), "{:#?}", self.plan.report);
        self
    }
}

/// Lines of `w`, `h` of them: `1 = 0 + 3`, and `3 = 1 + ` what is made of `2`.
fn transposed(w: u32, h: u32, value: &str) -> Lab {
    let n = w * h;
    Lab::rewriting(u64::from(n))
        .promote(1, Promote::Auto)
        .submit(&flat("a z", "a[i] + 3u"), over(n), &[0, 1], &[w, n])
        .submit(&flat("a b z", &format!("a[i] + {value}")), over(n), &[1, 2, 3], &[w, n, h])
}

probes! {
    /// One side goes by lines, the other by columns: widths with squares that are full, and some that are not at one side or both.
    fn elements_that_are_a_line_apart_go_by_squares() {
        for (w, h) in [(64, 16), (31, 20), (32, 9), (15, 7), (61, 33)] {
            transposed(w, h, "b[(i % p.x) * p.z + i / p.x]").check().fused(0).on_squares(w, [0, 1]);
        }
    }

    /// Of another width they are planned again.
    fn squares_are_of_the_width_they_were_planned_with() {
        let list = transposed(32, 8, "b[(i % p.x) * p.z + i / p.x]");
        assert!(!list.holds_with(&[&[16, 256], &[16, 256, 16]]));
        assert!(!list.holds_with(&[&[32, 256], &[31, 256, 8]]));
        assert!(list.holds_with(&[&[32, 256], &[32, 256, 8]]));
    }

    /// Most of a line of squares would be idle, or both sides go by lines.
    fn lines_that_squares_do_not_help_stay_lines() {
        for (w, h) in [(17, 20), (33, 9), (5, 40)] {
            assert_eq!(transposed(w, h, "b[(i % p.x) * p.z + i / p.x]").check().fused(0).rewritten(), []);
        }
        for value in ["b[i]", "b[i % p.x]", "b[i / p.x]", "b[i / p.x * p.x + i % p.x]", "b[p.y - 1u - i]"] {
            assert_eq!(transposed(64, 16, value).check().fused(0).rewritten(), []);
        }
        // What another invocation stores keeps its lines, and its barrier.
        let next = "a[i] + b[i ^ 1u] + c[(i % p.x) * p.z + i / p.x]";
        let checked = Lab::rewriting(1024)
            .submit(&flat("a z", "a[i] + 3u"), over(1024), &[0, 1], &[64, 1024])
            .submit(&flat("a b c z", next), over(1024), &[1, 1, 2, 3], &[64, 1024, 16])
            .check();
        assert!(checked.plan.report.rewrites.iter().all(|one| one.sectors.is_none()));
    }
}
