//! Counters beside the one that is tested, steps that a round may leave out, and loops with several exits.

use vkfuse_jit::Reason;
use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::plan::{Internalization, Promote};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Checked, Lab, kernel};

/// Four elements of each invocation, a work-group's size apart, as loops are written; `DO` stands for the work.
const WAYS: [&str; 8] = [
    "for (var j = 0u; j < 4u; j++) { if (e < p.x) { DO } e += 8u; }",
    "for (var j = 0u; j < 4u; j++) { if (e < p.x) { DO e += 8u; } }",
    "for (var j = 0u; j < 4u; j++) { if (e >= p.x) { continue; } DO e += 8u; }",
    "for (var j = 0u; j < 4u; j++) { if (e >= p.x) { break; } DO e += 8u; }",
    "for (var j = 0u; j < 4u; j++) { if (e >= p.x) { return; } DO e += 8u; }",
    "for (var j = 0u; j < 4u && e < p.x; j++) { DO e += 8u; }",
    "for (var j = 4u; j > 0u; j--) { if (e >= p.x) { continue; } DO e += 8u; }",
    "for (var j = 0u; j != 4u; j++) { if (e < p.x) { if (e < p.x + 3u) { DO e += 8u; } } }",
];

/// A kernel that does `work` for its four elements `e` in one of the ways.
fn each(way: &str, work: &str) -> String {
    kernel("a z", "8", &format!("var e = wid.x * 32u + lid.x; {}", way.replace("DO", work)))
}

fn pair(first: &str, second: &str, push: &[u32], promote: Promote) -> Checked {
    Lab::new(128)
        .promote(1, promote)
        .submit(first, [4, 1, 1], &[0, 1], push)
        .submit(second, [4, 1, 1], &[1, 2], push)
        .check()
}

/// A kernel with this body, and one that reads in reverse what that has done to the first 32 elements.
fn before_reverse(body: &str, push: &[u32]) -> Checked {
    let reverse = kernel("a z", "8", "z[gid.x] = a[31u - gid.x];");
    let text = kernel("a b z", "8", body);
    Lab::new(128).submit(&text, [4, 1, 1], &[0, 1, 2], push).submit(&reverse, [4, 1, 1], &[2, 3], &[]).check()
}

probes! {
    /// However the loop is written, an invocation has the same elements.
    fn elements_are_followed_through_any_loop() {
        for first in WAYS {
            for second in WAYS {
                let (write, read) = (each(first, "z[e] = a[e] + 1u;"), each(second, "z[e] = a[e] * 3u;"));
                println!("{first}\n{second}");
                pair(&write, &read, &[100], Promote::None).fused(0);
            }
        }
    }

    /// What is written in such a loop is certainly written, so it may stay inside.
    fn elements_of_any_loop_stay_inside() {
        for way in WAYS {
            let (write, read) = (each(way, "z[e] = a[e] + 1u;"), each(way, "z[e] = a[e] * 3u;"));
            println!("{way}");
            for n in [128, 100, 40] {
                pair(&write, &read, &[n], Promote::Private).fused(0).inside(1, Internalization::Private);
            }
            // The elements of the next invocation are another one's.
            let next = each(way, "z[e] = a[e ^ 1u] * 3u;");
            pair(&write, &next, &[128], Promote::None).fused(1);
            let shifted = each(way, "z[e] = a[(e + 32u) % 128u];");
            pair(&write, &shifted, &[128], Promote::None).split(2, Write, Read);
        }
    }

    /// Other front ends and optimisers write the same loops in other ways.
    fn loops_of_other_front_ends_are_followed() {
        for way in WAYS.iter().filter(|_| is_possible()) {
            let way = way.replace("var j", "uint j").replace("DO", "z[e] = a[e] + 1u;");
            let body = format!("uint e = g * 32u + l; {way}");
            for recipe in RECIPES {
                println!("{recipe}: {way}");
                let text = glsl(recipe, "a z", "8", &body);
                pair(&text, &text, &[100], Promote::None).fused(0);
            }
        }
    }

    /// Rounds that have not passed the branch have not stepped either.
    fn a_counter_that_was_not_stepped_stays() {
        let body = "var e = gid.x;
             for (var j = 0u; j < 4u; j++) { let h = e; if (h < p.x) { e += 32u; } if (j == 3u) { z[h] = a[gid.x]; } }";
        for n in [0, 40, 200] {
            before_reverse(body, &[n]).split(2, Write, Read);
        }
    }

    /// What decides about the step may be otherwise in the next round.
    fn a_skip_that_is_not_for_good_is_seen() {
        for skips in ["a[j] < 10u", "j < 2u", "(j & 2u) == 0u", "b[j] < 110u"] {
            let body = format!(
                "var e = gid.x;
                 for (var j = 0u; j < 4u; j++) {{ if ({skips}) {{ continue; }} if (j >= 2u) {{ z[e] = a[gid.x] + 1u; }} e += 32u; }}"
            );
            before_reverse(&body, &[]).split(2, Write, Read);
        }
    }

    /// A round that goes another way than by a branch of two sides.
    fn a_step_on_some_ways_only_is_seen() {
        let body = "var e = gid.x;
             for (var j = 0u; j < 4u; j++) {
               let h = e;
               switch (j) { case 0u, 1u, 2u: {} default: { e += 32u; } }
               if (j == 3u) { z[h] = a[gid.x] + 1u; }
             }";
        before_reverse(body, &[]).split(2, Write, Read);
        // A case that another one falls into has no branch before it. All of them store, so no optimiser makes a choice of it.
        let body = "uint e = i;
             for (uint j = 0u; j < 4u; j++) {
               uint h = e;
               switch (j) { case 7u: o[i] = j; case 3u: e += 32u; break; default: o[i + 32u] = j; }
               if (j == 3u) z[h] = a[i] + 1u;
             }";
        let reverse = kernel("a z", "8", "z[gid.x] = a[31u - gid.x];");
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            Lab::new(128)
                .submit(&glsl(recipe, "a o z", "8", body), [4, 1, 1], &[0, 1, 2], &[])
                .submit(&reverse, [4, 1, 1], &[2, 3], &[])
                .check()
                .split(2, Write, Read);
        }
    }

    /// A loop goes on as long as one of two conditions holds.
    fn one_of_two_conditions_is_no_limit() {
        let body = "for (var j = 0u; j < 2u || b[j] < 120u; j++) { z[(gid.x + 32u * j + 64u) % 128u] = a[gid.x] + j; }";
        before_reverse(body, &[]).split(2, Write, Read);
    }

    /// A condition that holds in late rounds only never comes to hold where the counter waits for it.
    fn what_holds_late_is_not_certain() {
        let read = kernel("a z", "8", "z[gid.x] = a[wid.x * 32u + lid.x + 8u];");
        for leave in ["continue", "break"] {
            let way = format!("for (var j = 0u; j < 4u; j++) {{ if (e < p.x) {{ {leave}; }} DO e += 8u; }}");
            let write = each(&way, "z[e] = a[e] + 1u;");
            for promote in [Promote::Private, Promote::Local] {
                let reason = pair(&write, &read, &[8], promote).fused(0).refused(1).clone();
                assert!(matches!(reason, Reason::OldContents { .. }), "{reason}");
            }
        }
    }
}
