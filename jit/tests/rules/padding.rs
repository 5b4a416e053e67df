//! Kernels with barriers and different local sizes in one group: the smaller work-groups are padded.

use vkfuse_jit::RewriteReason;
use vkfuse_jit::plan::{Internalization, Places, Promote, Way};

use super::lab::{Checked, Lab, kernel};

const ROWS: u32 = 5;
const LENGTH: u32 = 24;

impl Checked {
    /// Demands one dispatch.
    #[track_caller]
    pub(crate) fn one(self) -> Self {
        assert_eq!(self.plan.steps.len(), 1, "{:#?}", self.plan.report);
        self
    }

    /// Demands that these submissions are padded, and have this many invocations of their own in a work-group.
    #[track_caller]
    pub(crate) fn padded(self, expected: &[(usize, u32)]) -> Self {
        let found = self.plan.report.rewrites.iter().map(|one| match one.places {
            Places::Padded { invocations } => (one.submission, invocations),
            places => panic!("{places:?}"),
        });
        let mut found: Vec<_> = found.collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{:#?}", self.plan.report);
        self
    }
}

/// The start of a kernel in which a work-group goes through a row and combines its parts in an order of its own.
fn tree(size: &str, count: u32) -> String {
    tree_with(size, count, "", "z[r * p.x + k] = a[r * p.x + k] * 3u + s[0];")
}

fn tree_with(size: &str, count: u32, first: &str, each: &str) -> String {
    let body = format!(
        "var<workgroup> s: array<u32, {count}>;
         ---
         let r = wid.x;
         {first}
         var own = 0u;
         for (var k = lix; k < p.x; k += {count}u) {{ own = own * 31u + a[r * p.x + k]; }}
         s[lix] = own;
         workgroupBarrier();
         for (var h = {count}u / 2u; h > 0u; h >>= 1u) {{
           if (lix < h) {{ s[lix] = s[lix] * 7u + s[lix + h]; }}
           workgroupBarrier();
         }}
         for (var k = lix; k < p.x; k += {count}u) {{ {each} }}"
    );
    kernel("a z", size, &body)
}

fn lab(promote: Promote) -> Lab {
    Lab::rewriting((ROWS * LENGTH).into()).promote(1, promote)
}

const GRID: [u32; 3] = [ROWS, 1, 1];
const PUSH: [u32; 4] = [LENGTH, ROWS, 0, 0];

/// Two kernels: the second reads what the first writes.
fn pair(first: &str, second: &str) -> Lab {
    lab(Promote::Auto).submit(first, GRID, &[0, 1], &PUSH).submit(second, GRID, &[1, 2], &PUSH)
}

probes! {
    fn the_smaller_work_group_is_the_first_invocations_of_the_larger() {
        for promote in [Promote::None, Promote::Local] {
            let both = [("16", 16), ("4", 4)];
            for [(first, n), (second, m)] in [both, [both[1], both[0]]] {
                let checked = lab(promote)
                    .submit(&tree(first, n), GRID, &[0, 1], &PUSH)
                    .submit(&tree(second, m), GRID, &[1, 2], &PUSH)
                    .check()
                    .one()
                    .padded(&[(usize::from(n > m), 4)]);
                if promote == Promote::Local {
                    checked.inside(1, Internalization::Local);
                }
            }
        }
    }

    fn shapes_of_several_dimensions_are_numbered_by_local_index() {
        for (first, n, second, m) in [
            ("4, 4", 16, "4", 4),
            ("16", 16, "2, 2", 4),
            ("2, 2, 4", 16, "8", 8),
            ("8", 8, "4, 4", 16),
            ("1, 8", 8, "4", 4),
            ("4, 4", 16, "16", 16),
        ] {
            let at = usize::from(n >= m);
            pair(&tree(first, n), &tree(second, m)).check().one().padded(&[(at, if at == 1 { m } else { n })]);
        }
    }

    fn ids_of_padded_kernels_are_those_of_their_own_work_groups() {
        let grid = [2, 3, 1];
        let read = kernel("a z", "4, 2",
            "var<workgroup> s: array<u32, 8>;
             ---
             let i = (wid.y * nwg.x + wid.x) * 8u + lix;
             s[lix] = a[i] + gid.x * 100u + gid.y * 7u + lid.x * 3u + lid.y * 5u;
             workgroupBarrier();
             z[i] = s[7u - lix];");
        let wide = kernel("a z", "16",
            "var<workgroup> s: array<u32, 16>;
             ---
             let i = (wid.y * nwg.x + wid.x) * 8u + lix % 8u;
             s[lix] = a[i];
             workgroupBarrier();
             if (lix < 8u) { z[i] = s[15u - lix] * 3u; }");
        Lab::rewriting(64)
            .submit(&wide, grid, &[0, 1], &PUSH)
            .submit(&read, grid, &[1, 2], &PUSH)
            .check()
            .one()
            .padded(&[(1, 8)]);
    }

    fn kernels_without_barriers_that_read_their_work_group_are_padded() {
        let sums = kernel("a z", "4",
            "let r = wid.x; var own = 0u;
             for (var k = 0u; k < p.x; k++) { own = own * 31u + a[r * p.x + k]; }
             z[r * 4u + lix] = own + lix;");
        pair(&tree("16", 16), &sums).check().one().padded(&[(1, 4)]);
    }

    fn three_sizes_become_the_largest() {
        lab(Promote::Local)
            .promote(2, Promote::Local)
            .submit(&tree("8", 8), GRID, &[0, 1], &PUSH)
            .submit(&tree("16", 16), GRID, &[1, 2], &PUSH)
            .submit(&tree("4", 4), GRID, &[2, 3], &PUSH)
            .check()
            .one()
            .padded(&[(0, 8), (2, 4)])
            .inside(1, Internalization::Local)
            .inside(2, Internalization::Local);
    }

    fn returns_of_whole_work_groups_stay() {
        let early = |size: &str, n: u32| {
            tree_with(size, n, "if (r >= p.y) { return; }", "z[r * p.x + k] = a[r * p.x + k] + s[0];")
        };
        let grid = [ROWS + 2, 1, 1];
        Lab::rewriting((ROWS * LENGTH).into())
            .submit(&early("16", 16), grid, &[0, 1], &PUSH)
            .submit(&early("4", 4), grid, &[1, 2], &PUSH)
            .check()
            .one()
            .padded(&[(1, 4)]);
    }

    fn returns_of_single_invocations_behind_the_last_barrier_stay() {
        let last = kernel("a z", "4",
            "var<workgroup> s: array<u32, 4>;
             ---
             let r = wid.x;
             s[lix] = a[r * p.x + lix];
             workgroupBarrier();
             if (lix != 0u) { return; }
             z[r] = s[0] * 8u + s[1] * 4u + s[2] * 2u + s[3];");
        pair(&tree("16", 16), &last).check().one().padded(&[(1, 4)]);
    }

    fn other_invocations_end_where_all_of_the_kernels_leave() {
        let start = "var<workgroup> s: array<u32, 4>;
             ---
             let r = wid.x; let e = r * p.x + lix;
             s[lix] = a[e];
             workgroupBarrier();
             let x = s[3u - lix];";
        for end in [
            "if (x % 2u == 0u) { z[e] = x; return; } else { z[e] = x * 3u; return; }",
            "switch (x % 3u) { case 0u: { z[e] = x; return; } case 1u: { z[e] = 7u; return; } default: { z[e] = x * 5u; return; } }",
            "var k = x; loop { k = k * 3u + 1u; if (k % 4u == 1u) { z[e] = k; return; } k += k % 3u + 1u; if (k > 900000u) { k = 4u; } }",
            "if (r % 2u == 0u) {
               workgroupBarrier(); s[lix] = x * 9u; workgroupBarrier();
               if (s[lix ^ 1u] % 2u == 0u) { z[e] = x; return; } else { z[e] = s[0]; return; }
             } else { z[e] = x + 1u; return; }",
            "switch (r % 3u) {
               case 0u: { workgroupBarrier(); s[lix] = x * 9u; workgroupBarrier(); if (x > 5u) { z[e] = s[0]; return; } else { z[e] = s[3]; return; } }
               case 1u: { if (lix > 1u) { z[e] = x; return; } else { z[e] = 1u; } }
               default: { return; }
             }",
        ] {
            let last = kernel("a z", "4", &format!("{start}\n{end}"));
            pair(&tree("16", 16), &last).check().one().padded(&[(1, 4)]);
        }
    }

    fn values_and_variables_live_across_barriers() {
        let kept = kernel("a z", "4",
            "var<workgroup> s: array<u32, 4>;
             ---
             let r = wid.x;
             var own: array<u32, 3>;
             var sum = 0u;
             let x = a[r * p.x + lix] | 1u;
             for (var k = 0u; k < 3u; k++) { own[k] = a[r * p.x + 4u * k + lix]; }
             s[lix] = x;
             workgroupBarrier();
             var k = 0u;
             loop {
               sum = sum * 5u + s[(lix + k) % 4u] / x + own[k];
               workgroupBarrier();
               s[lix] = sum;
               workgroupBarrier();
               k += 1u;
               if (k >= 3u) { break; }
             }
             z[r * p.x + lix] = sum + own[2] + x;");
        pair(&tree("16", 16), &kept).check().one().padded(&[(1, 4)]);
    }

    fn barriers_on_one_side_of_a_branch_that_all_take() {
        let sides = |of: &str| kernel("a z", "4", &format!(
            "var<workgroup> s: array<u32, 4>;
             ---
             let r = wid.x;
             var x = a[r * p.x + lix];
             if (({of}) % 2u == 0u) {{ s[lix] = x; workgroupBarrier(); x = s[3u - lix]; }} else {{ x = x * 9u; }}
             switch ({of}) {{
               case 1u: {{ s[lix] = x + 1u; workgroupBarrier(); x = s[lix ^ 1u]; }}
               case 2u, 3u: {{ x += 7u; }}
               default: {{ x ^= 1u; }}
             }}
             z[r * p.x + lix] = x;"));
        for of in ["wid.x", "p.y", "wid.x + p.z", "min(wid.x, p.y)"] {
            pair(&tree("16", 16), &sides(of)).check().one().padded(&[(1, 4)]);
        }
    }

    fn barriers_behind_what_memory_says_are_not_padded() {
        let asked = kernel("a z", "4",
            "var<workgroup> s: array<u32, 4>;
             ---
             let r = wid.x;
             s[lix] = a[r * p.x + lix];
             let rounds = workgroupUniformLoad(&s[0]) % 3u;
             for (var k = 0u; k < rounds; k++) { s[lix] += s[lix] * k; workgroupBarrier(); }
             z[r * p.x + lix] = s[lix];");
        let checked = pair(&tree("16", 16), &asked).check();
        let Some(RewriteReason::NotPadded { what }) = checked.apart(2) else { panic!("{:?}", checked.apart(2)) };
        assert!(what.contains("a barrier behind a condition"), "{what}");
    }

    fn many_idle_invocations_are_refused_where_the_device_is_full() {
        let few = |most: u64| {
            let mut lab = pair(&tree("16", 16), &tree("2", 2));
            lab.limits.overlapping_invocations = most;
            lab
        };
        let checked = few(0).check();
        assert_eq!(checked.apart(2), Some(&RewriteReason::Idle { own: 2, all: 16 }));
        few(1 << 20).check().one().padded(&[(1, 2)]);
        let mut forced = few(0);
        forced.options.force = true;
        forced.check().one().padded(&[(1, 2)]);
        // Autotuning may try it where the buffers are large enough to count.
        let mut large = Lab::rewriting(1 << 20)
            .submit(&tree("16", 16), GRID, &[0, 1], &PUSH)
            .submit(&tree("2", 2), GRID, &[1, 2], &PUSH);
        large.limits.overlapping_invocations = 0;
        assert_eq!(large.doubts(), [Way::Forced]);
    }

    fn other_work_groups_stay_apart() {
        // Each row reads what the next one wrote.
        let next = tree_with("4", 4, "", "z[(r + 1u) % p.y * p.x + k] = a[(r + 1u) % p.y * p.x + k] + s[0];");
        let checked = pair(&tree("16", 16), &next).check();
        checked.apart(2);
        // Nothing in common.
        let checked = lab(Promote::None)
            .submit(&tree("16", 16), GRID, &[0, 1], &PUSH)
            .submit(&tree("4", 4), GRID, &[2, 3], &PUSH)
            .check();
        assert_eq!(checked.plan.steps.len(), 2);
    }
}
