//! Kernels that do several elements in a loop, on the rows of others: each round is an item.

use vkfuse_jit::plan::Promote;

use super::lab::{Checked, Lab, kernel};
use super::placement::{flat, norm, over};

/// Elements `i` of `p.y` in work-groups of 16 that do `count` of them each, a work-group apart.
fn rounds(names: &str, count: u32, body: &str) -> String {
    let per_group = 16 * count;
    let each = format!("let i = wid.x * {per_group}u + lid.x + e * 16u; if (i < p.y) {{ {body} }}");
    kernel(names, "16", &format!("for (var e = 0u; e < {count}u; e++) {{ {each} }}"))
}

fn groups(n: u32, count: u32) -> [u32; 3] {
    [n.div_ceil(16 * count), 1, 1]
}

impl Checked {
    /// Demands that these submissions were placed by this many rounds, and no others.
    #[track_caller]
    pub(super) fn by_rounds(self, rounds: &[(usize, u32)]) -> Self {
        let rewrites = &self.plan.report.rewrites;
        let mut found: Vec<(usize, u32)> = rewrites.iter().map(|one| (one.submission, one.rounds)).collect();
        found.retain(|one| one.1 > 1);
        found.sort_unstable();
        assert_eq!(found, rounds, "{:#?}", self.plan.report);
        self
    }
}

/// Rows of 20, which are no number of whole work-groups.
pub(super) const W: u32 = 20;
pub(super) const N: u32 = 100;

/// A kernel that stores to buffer 1, and one by rows that reads it.
pub(super) fn before_rows(text: &str, groups: [u32; 3], buffers: &[u64]) -> Lab {
    let lab = Lab::rewriting(u64::from(N)).submit(text, groups, buffers, &[W, N]);
    lab.submit(&norm(), [N / W, 1, 1], &[1, 2], &[W])
}

probes! {
    fn rounds_of_a_loop_take_the_rows_of_others() {
        for count in [2, 3, 5] {
            for promote in [Promote::None, Promote::Auto] {
                let (first, last) = (rounds("a z", count, "z[i] = a[i] * 3u;"), rounds("a b z", count, "z[i] = a[i] + b[i];"));
                Lab::rewriting(u64::from(N))
                    .promote(1, promote)
                    .submit(&first, groups(N, count), &[0, 1], &[W, N])
                    .submit(&norm(), [N / W, 1, 1], &[1, 2], &[W])
                    .submit(&last, groups(N, count), &[2, 3, 4], &[W, N])
                    .check()
                    .fused(0)
                    .by_rounds(&[(0, count), (2, count)]);
            }
        }
    }

    // The counter is what the kernel goes by, wherever it begins and by whatever step.
    fn counters_begin_and_step_as_they_do() {
        let steps = kernel("a z", "16",
            "for (var e = 16u; e < 80u; e += 32u) {
                 let i = wid.x * 64u + lid.x * 2u + (e - 16u); if (i + 1u < p.y) { z[i] = a[i] + e; z[i + 1u] = a[i + 1u] * e; }
             }");
        before_rows(&steps, [N.div_ceil(64), 1, 1], &[0, 1]).check();
        let twice = kernel("a z", "16",
            "for (var e = 5u; e < 11u; e += 3u) {
                 let i = wid.x * 32u + lid.x + (e - 5u) / 3u * 16u; if (i < p.y) { z[i] = a[i] * 100u + e; }
             }");
        before_rows(&twice, groups(N, 2), &[0, 1]).check().fused(0).by_rounds(&[(0, 2)]);
        // By the global id, and in two dimensions of work-groups.
        let global = kernel("a z", "16",
            "for (var e = 0u; e < 2u; e++) {
                 let i = (gid.x - lid.x) * 2u + lid.x + e * 16u + gid.y * 64u; if (i < p.y) { z[i] = a[i] ^ gid.x; }
             }");
        before_rows(&global, [2, 2, 1], &[0, 1]).check().fused(0).by_rounds(&[(0, 2)]);
    }

    // What a round finds of another one it would not find in another work-group.
    fn rounds_that_hand_over_are_not_items() {
        let body = "if (e == 0u) { z[i] = z[i] + 1u; } else { z[i] = z[i] + z[i - 16u]; }";
        let handed = rounds("z", 2, body);
        before_rows(&handed, groups(N, 2), &[1]).check().by_rounds(&[]);
        // All rounds of an invocation write one element.
        let last = kernel("a z", "16",
            "for (var e = 0u; e < 2u; e++) { let i = gid.x; if (i < p.y) { z[i] = a[i] + e * wid.x; } }");
        before_rows(&last, over(N), &[0, 1]).check().by_rounds(&[]);
    }

    fn what_a_loop_carries_keeps_it_together() {
        let sum = kernel("a z", "16",
            "var s = 1u;
             for (var e = 0u; e < 2u; e++) {
                 let i = wid.x * 32u + lid.x + e * 16u; if (i < p.y) { s += a[i]; z[i] = s; }
             }");
        before_rows(&sum, groups(N, 2), &[0, 1]).check().by_rounds(&[]);
        let local = kernel("a z", "16",
            "var t = array<u32, 2>(1u, 2u);
             for (var e = 0u; e < 2u; e++) {
                 let i = wid.x * 32u + lid.x + e * 16u; if (i < p.y) { t[a[i] % 2u] += 3u; z[i] = t[0]; }
             }");
        before_rows(&local, groups(N, 2), &[0, 1]).check().by_rounds(&[]);
        // Floats that are made of the counter are hidden, whatever it is.
        let float = rounds("a z", 2, "z[i] = a[i] + u32(sqrt(f32(e + 4u)));");
        before_rows(&float, groups(N, 2), &[0, 1]).check().by_rounds(&[(0, 2)]);
        // As often as an argument says.
        let asked = kernel("a z", "16",
            "for (var e = 0u; e < p.z; e++) {
                 let i = wid.x * 32u + lid.x + e * 16u; if (i < p.y) { z[i] = a[i] + 1u; }
             }");
        Lab::rewriting(u64::from(N))
            .submit(&asked, groups(N, 2), &[0, 1], &[W, N, 2])
            .submit(&norm(), [N / W, 1, 1], &[1, 2], &[W])
            .check()
            .fused(0)
            .by_rounds(&[(0, 2)]);
    }

    // A test that holds in some round behind the last one does not say that the kernel comes to it.
    fn rounds_that_are_not_come_to_are_not_items() {
        let each = "let i = wid.x * 16u + lid.x + (k - lid.x) * 4u; if (i < p.y) { z[i] = a[i] + 1u; }";
        let until = |test: &str| kernel("a z", "4", &format!("for (var k = lid.x; {test}; k++) {{ {each} }}"));
        let groups = [N.div_ceil(16), 1, 1];
        before_rows(&until("k < 4u"), groups, &[0, 1]).check().fused(0).by_rounds(&[(0, 4)]);
        before_rows(&until("k != 4u"), groups, &[0, 1]).check().by_rounds(&[]);
    }

    fn rounds_beside_what_goes_by_elements() {
        let twice = rounds("a b z", 2, "z[i] = a[i] * 3u + b[i];");
        let flat = flat("a z", "a[i] ^ 5u");
        Lab::rewriting(u64::from(N))
            .submit(&flat, over(N), &[0, 1], &[W, N])
            .submit(&twice, groups(N, 2), &[1, 0, 2], &[W, N])
            .submit(&norm(), [N / W, 1, 1], &[2, 3], &[W])
            .submit(&flat, over(N), &[3, 4], &[W, N])
            .check()
            .fused(0)
            .by_rounds(&[(1, 2)]);
    }
}
