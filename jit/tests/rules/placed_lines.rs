//! Kernels by elements that go through a buffer from a later element on than others do: parts of a whole, and a whole and its parts.

use vkfuse_jit::plan::{Places, Promote};

use super::lab::{Checked, Lab, kernel};
use super::placement::{flat, over};

impl Checked {
    /// Demands that these submissions, and no others, were placed from these invocations on.
    #[track_caller]
    fn on_lines(self, starts: &[(usize, u32)]) -> Self {
        let of = |one: &vkfuse_jit::plan::RewriteReport| match one.places {
            Places::Line { start } => (one.submission, start),
            ref other => panic!("{other:?}"),
        };
        let mut found: Vec<(usize, u32)> = self.plan.report.rewrites.iter().map(of).collect();
        found.sort_unstable();
        assert_eq!(found, starts, "{:#?}", self.plan.report);
        assert!(self.plan.report.inlined.is_empty(), "{:#?}", self.plan.report);
        self
    }
}

/// `p.x` elements, stored from element `p.y` on.
fn part(value: &str) -> String {
    kernel("a z", "16", &format!("let i = gid.x; if (i >= p.x) {{ return; }} z[p.y + i] = {value};"))
}

/// `p.x` elements, loaded from element `p.y` on.
fn slice(value: &str) -> String {
    kernel(
        "a z",
        "16",
        &format!("let i = gid.x; if (i >= p.x) {{ return; }} let v = a[p.y + i]; z[i] = {value};"),
    )
}

probes! {
    fn parts_of_a_whole_are_its_items() {
        // Sizes that work-groups and vectors divide, and that they do not; a work-group less, and one more.
        for (n, h) in [(64, 32), (70, 30), (96, 48), (33, 1), (65, 48), (64, 63)] {
            for promote in [Promote::None, Promote::Private, Promote::Auto] {
                Lab::rewriting(u64::from(n))
                    .promote(2, promote)
                    .submit(&part("a[i] + 1u"), over(h), &[0, 2], &[h, 0])
                    .submit(&part("a[i] * 3u + i"), over(n - h), &[1, 2], &[n - h, h])
                    .submit(&flat("a z", "a[i] ^ 3u"), over(n), &[2, 3], &[0, n])
                    .check()
                    .fused(0)
                    .on_lines(&[(1, h)]);
            }
        }
        // Three of them, and what comes behind.
        Lab::rewriting(96)
            .submit(&part("a[i] + 1u"), over(32), &[0, 3], &[32, 0])
            .submit(&part("a[i] * 3u"), over(16), &[1, 3], &[16, 32])
            .submit(&part("a[i] ^ i"), over(48), &[2, 3], &[48, 48])
            .submit(&flat("a z", "a[i] + 5u * i"), over(96), &[3, 4], &[0, 96])
            .submit(&flat("a z", "a[i] + 7u"), over(96), &[4, 5], &[0, 96])
            .check()
            .fused(0)
            .on_lines(&[(1, 32), (2, 48)]);
    }

    fn a_whole_and_its_parts() {
        for (n, h) in [(64, 32), (70, 30), (50, 17)] {
            Lab::rewriting(u64::from(n))
                .submit(&flat("a z", "a[i] * 3u + i"), over(n), &[0, 1], &[0, n])
                .submit(&slice("v + 1u"), over(h), &[1, 2], &[h, 0])
                .submit(&slice("v * 5u + i"), over(n - h), &[1, 3], &[n - h, h])
                .check()
                .fused(0)
                .on_lines(&[(2, h)]);
        }
    }

    /// An invocation before the first item does nothing, also where the kernel does not ask.
    fn nothing_is_done_before_the_first_item() {
        let all = kernel("a z", "16", "let i = gid.x; z[(p.y + i) % 96u] = a[i % 96u] + 1u;");
        let some = kernel("a z", "16", "let i = gid.x; if (i32(i) < i32(p.x)) { z[p.y + i] = a[i] + 1u; }");
        for kernel in [all, some] {
            Lab::rewriting(96)
                .submit(&part("a[i] * 3u"), over(32), &[0, 2], &[32, 0])
                .submit(&kernel, over(32), &[1, 2], &[32, 32])
                .submit(&flat("a z", "a[i] ^ 3u"), over(64), &[2, 3], &[0, 64])
                .check();
        }
    }

    /// What the last invocations have no place for has nothing to do, or the kernel stays where it is.
    fn items_past_the_line_do_nothing() {
        // 25 items from 24 on: of two work-groups of 16, 7 past the 48 or 64 of the whole.
        let guarded = |n: u32, h: u32| {
            Lab::rewriting(96)
                .submit(&part("a[i] * 3u"), over(h), &[0, 2], &[h, 0])
                .submit(&part("a[i] + i"), over(n - h), &[1, 2], &[n - h, h])
                .submit(&flat("a z", "a[i] ^ 3u"), over(n), &[2, 3], &[0, n])
                .check()
                .fused(0)
                .on_lines(&[(1, h)])
        };
        guarded(48, 23);
        guarded(48, 31);
        // Without a guard they are stores behind the whole.
        let all = kernel("a z", "16", "z[p.y + gid.x] = a[gid.x] + 1u;");
        let checked = Lab::rewriting(96)
            .submit(&part("a[i] * 3u"), over(24), &[0, 2], &[24, 0])
            .submit(&all, over(32), &[1, 2], &[32, 24])
            .submit(&flat("a z", "a[i] ^ 3u"), over(48), &[2, 3], &[0, 48])
            .check();
        assert!(checked.plan.report.rewrites.is_empty(), "{:#?}", checked.plan.report);
    }

    /// A start in the middle of an element, or one that is not the same for all that is loaded, is none.
    fn neighbours_have_no_start() {
        for read in ["a[i + 1u] + a[i]", "a[max(i, 1u) - 1u] + a[i]"] {
            Lab::rewriting(96)
                .submit(&flat("a z", "a[i] * 3u"), over(80), &[0, 1], &[0, 80])
                .submit(&flat("a z", read), over(64), &[1, 2], &[0, 64])
                .check();
        }
        // The parts overlap.
        Lab::rewriting(96)
            .submit(&part("a[i] + 1u"), over(40), &[0, 2], &[40, 0])
            .submit(&part("a[i] * 3u + i"), over(32), &[1, 2], &[32, 32])
            .submit(&flat("a z", "a[i] ^ 3u"), over(64), &[2, 3], &[0, 64])
            .check();
    }
}
