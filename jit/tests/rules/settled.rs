//! Branches that go one way in every invocation: their question is left out, and only theirs.

use vkfuse_jit::plan::{BlockCoarseningLimits, Internalization, Promote, UnrollLimits};

use super::lab::{Lab, kernel};
use super::rows::{reduce, spread};

/// Does up to four work-groups in one, and writes loops out.
fn wide(mut lab: Lab) -> Lab {
    lab.limits.block_coarsening =
        BlockCoarseningLimits { work_groups: 4, least: 1, private_bytes: 1 << 10, shared_bytes: 0 };
    lab.limits.unroll =
        UnrollLimits { rounds: 16, at_once: 2, private_bytes: 256, ..UnrollLimits::default() };
    lab
}

/// A sum of each row by a kernel that leaves where there is no such row.
fn guarded_sum(guard: &str) -> String {
    kernel(
        "a z",
        "8",
        &format!(
            "var<workgroup> part: array<u32, 8>;---
             {guard}
             part[lid.x] = a[wid.x * p.x + lid.x];
             workgroupBarrier();
             for (var step = 4u; step > 0u; step /= 2u) {{
                 if (lid.x < step) {{ part[lid.x] += part[lid.x + step]; }}
                 workgroupBarrier();
             }}
             if (lid.x == 0u) {{ z[wid.x] = part[0]; }}"
        ),
    )
}

probes! {
    // With as many rows as work-groups none leaves, so that no barrier waits for some of them only.
    fn a_row_that_exists_is_not_asked_for() {
        for (guard, rows) in [("if (wid.x >= p.y) { return; }", 8), ("if (wid.x * 8u + 8u > p.y) { return; }", 64)] {
            for (missing, together) in [(0, 4), (1, 1)] {
                let lab = Lab::new(64)
                    .submit(&guarded_sum(guard), [8, 1, 1], &[0, 1], &[8, rows - missing])
                    .submit(&spread("a[at] * b[wid.x]"), [8, 1, 1], &[0, 1, 2], &[8]);
                let checked = wide(lab).check();
                assert_eq!(checked.plan.report.groups[0].work_groups, together, "{:#?}", checked.plan.report);
            }
        }
    }

    // Each form of a guard, with as many items as there are, one less, and none.
    fn items_that_exist_are_not_asked_for() {
        for body in [
            "if (gid.x >= p.x) { return; } z[gid.x] = a[gid.x] * 3u;",
            "if (gid.x < p.x) { z[gid.x] = a[gid.x] * 3u; }",
            "if (gid.x < p.x) { z[gid.x] = a[gid.x] * 3u; } else { z[gid.x] = 5u; }",
            "var v = 7u; if (gid.x < p.x) { v = a[gid.x]; } z[gid.x] = v;",
            "var v = 7u; var u = 1u; if (gid.x < p.x) { if (a[gid.x] > 20u) { v = a[gid.x]; } else { u = 2u; } v += 1u; } z[gid.x] = v + u;",
            "if (gid.x >= p.x) { return; } if (gid.x + 1u > p.x) { return; } z[gid.x] = a[gid.x] + 2u;",
            "if (gid.x < p.x) { for (var k = 0u; k < 3u; k++) { if (k < p.x) { z[gid.x] += a[gid.x] + k; } } }",
        ] {
            for n in [64, 63, 1, 0] {
                let lab = Lab::new(64)
                    .submit(&kernel("a z", "8", body), [8, 1, 1], &[0, 1], &[n])
                    .submit(&reduce("own + v", "x + y"), [8, 1, 1], &[1, 2], &[8]);
                wide(lab).check().fused(0);
            }
        }
    }

    // In the rounds of a loop that is unrolled, by the loop's own counter, and by a row and its columns.
    fn guards_in_rounds_are_not_asked() {
        for guard in ["c < p.x", "wid.x * p.x + c < p.y", "c + 1u <= p.x && wid.x < 5u", "wid.x * p.x + c < p.y && c < 3u"] {
            let own = kernel(
                "a z",
                "8",
                &format!(
                    "var own = 9u;
                     for (var c = lid.x; c < p.x; c += 8u) {{
                         var v = own;
                         if ({guard}) {{ v = a[wid.x * p.x + c] + 1u; z[wid.x * p.x + c] = v; }}
                         own = v + c;
                     }}
                     z[p.z + gid.x] = own;"
                ),
            );
            for (w, less) in [(16, 0), (20, 0), (16, 1), (20, 21)] {
                let lab = Lab::new(u64::from(5 * w + 40))
                    .submit(&own, [5, 1, 1], &[0, 1], &[w, 5 * w - less, 5 * w])
                    .submit(&reduce("own + v", "x + y"), [5, 1, 1], &[1, 2], &[w]);
                wide(lab).check();
            }
        }
    }

    // A kernel by elements that takes rows asks for its items by number.
    fn a_placed_kernel_does_not_ask() {
        let bias = kernel("a b z", "8", "let i = gid.x; if (i >= p.x) { return; } z[i] = a[i] + b[i % p.y];");
        for (w, less) in [(16, 0), (20, 0), (16, 1)] {
            let n: u32 = 5 * w - less;
            let mut lab = Lab::rewriting(u64::from(5 * w));
            if less == 0 {
                lab = lab.promote(2, Promote::Private);
            }
            let lab = lab
                .submit(&bias, [n.div_ceil(8), 1, 1], &[0, 1, 2], &[n, w])
                .submit(&reduce("max(own, v)", "max(x, y)"), [5, 1, 1], &[2, 3], &[w])
                .submit(&spread("a[at] - b[wid.x]"), [5, 1, 1], &[2, 3, 4], &[w]);
            let checked = wide(lab).check();
            if less == 0 {
                checked.fused(1).inside(2, Internalization::Private);
            }
        }
    }
}
