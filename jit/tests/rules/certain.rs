//! What certainly happens: loops that are left early, tested late or not at all, returns anywhere, and padding.
//!
//! The kernels are GLSL through glslang, whose loops and variables look different from those of other front ends, as it
//! leaves them and optimised in several ways.

use vkfuse_jit::Reason;
use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::plan::{
    Arg, BufferId, Internalization, Limits, Promote, ShapeLimits, Submission, overwrites,
};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Lab, kernel, load};

/// A kernel that writes its own elements of `z`, and one that reads `count` of them.
fn pair(recipe: &str, write: &str, count: u32, promote: Promote, push: &[u32]) -> super::lab::Checked {
    let read = kernel(
        "a z",
        "8",
        &format!(
            "var s = 0u; for (var k = 0u; k < {count}u; k++) {{ s += a[{count}u * gid.x + k]; }} z[gid.x] = s;"
        ),
    );
    Lab::new(128)
        .promote(2, promote)
        .submit(&glsl(recipe, "a b z", "8", write), [2, 1, 1], &[0, 1, 2], push)
        .submit(&read, [2, 1, 1], &[2, 3], &[])
        .check()
}

/// What the first kernel writes is not certain: the buffer stays in memory.
#[track_caller]
fn is_uncertain(recipes: &[&str], write: &str, count: u32, push: &[u32]) {
    for recipe in recipes.iter().filter(|_| is_possible()) {
        // The local form of the proof, once.
        let kinds =
            if recipe.is_empty() { &[Promote::Private, Promote::Local][..] } else { &[Promote::Auto] };
        for &kind in kinds {
            let checked = pair(recipe, write, count, kind, push).fused(0);
            let reason = checked.refused(2);
            assert!(matches!(reason, Reason::OldContents { .. }), "{recipe}: {write}: {reason}");
        }
    }
}

#[track_caller]
fn is_certain(recipes: &[&str], write: &str, count: u32, push: &[u32]) {
    for recipe in recipes.iter().filter(|_| is_possible()) {
        pair(recipe, write, count, Promote::Private, push).fused(0).inside(2, Internalization::Private);
        if recipe.is_empty() {
            pair(recipe, write, count, Promote::Local, push).fused(0).inside(2, Internalization::Local);
        }
    }
}

const FEW: &[&str] = &["", "-Os"];
const PLAIN: &[&str] = &[""];

/// True for some elements of some invocations.
const SOME: &str = "a[(i + k) % 64u] > 40u";

probes! {
    /// A store after a loop that may return.
    fn a_return_in_a_loop_skips_what_comes_after() {
        for the_loop in [
            "for (uint k = 0u; k < 4u; k++) if (SOME) return;",
            "uint k = 0u; while (k < 4u) { if (SOME) return; k++; }",
            "uint k = 0u; do { if (SOME) return; k++; } while (k < 4u);",
            "uint k = 0u; for (;;) { if (SOME) return; if (k >= 3u) break; k++; }",
            "for (uint k = 0u; k < 4u; k++) { if (SOME) continue; if (k == 2u) return; }",
            "for (uint j = 0u; j < 2u; j++) for (uint k = 0u; k < 2u; k++) if (SOME) return;",
            "for (uint k = 0u; k < 4u; k++) { for (uint j = 0u; j < k; j++) { if (b[j] > 100u) break; } if (SOME) return; }",
            "for (uint k = 0u; k < 4u; k++) switch (a[(i + k) % 64u] % 5u) { case 1u: continue; case 2u: return; case 3u: break; default: break; }",
            "for (uint k = 0u; k < b[i] % 4u; k++) if (SOME) return;",
            "uint k = 0u; while (b[k] < 1000u) { if (SOME) return; if (k++ > 3u) break; }",
        ] {
            let write = format!("{} z[i] = a[i] + 1u;", the_loop.replace("SOME", SOME));
            is_uncertain(PLAIN, &write, 1, &[]);
        }
        let write = format!("for (uint k = 0u; k < 4u; k++) if ({SOME}) return; z[i] = a[i] + 1u;");
        is_uncertain(RECIPES, &write, 1, &[]);
    }

    /// A store after a loop that says by a variable why it ended.
    fn a_break_that_decides_what_comes_after_is_a_condition() {
        for body in [
            "bool found = false; for (uint k = 0u; k < 4u; k++) if (SOME) { found = true; break; } if (found) return; z[i] = a[i];",
            "uint k = 0u; for (; k < 4u; k++) if (SOME) break; if (k < 4u) return; z[i] = a[i];",
            "uint k = 0u; for (; k < 4u; k++) if (SOME) break; if (k == 4u) z[i] = a[i];",
            "bool seen(uint i) { for (uint k = 0u; k < 4u; k++) if (SOME) return true; return false; } --- if (seen(i)) return; z[i] = a[i];",
        ] {
            is_uncertain(PLAIN, &body.replace("SOME", SOME), 1, &[]);
        }
    }

    /// However a loop is left, what comes after it happens.
    fn what_every_exit_of_a_loop_leads_to_is_certain() {
        for the_loop in [
            "for (uint k = 0u; k < 4u; k++) if (SOME) break;",
            "uint k = 0u; while (true) { if (SOME) break; if (++k > 5u) break; }",
            "for (uint j = 0u; j < 2u; j++) { for (uint k = 0u; k < 2u; k++) { if (SOME) break; } if (b[j] > 150u) break; }",
            "for (uint k = 0u; k < b[i] % 4u; k++) { if (SOME) continue; if (b[k] == 7u) break; }",
        ] {
            let write = format!("{} z[i] = a[i] + 1u;", the_loop.replace("SOME", SOME));
            is_certain(FEW, &write, 1, &[]);
        }
        is_certain(FEW, "switch (a[i] % 3u) { case 0u: break; case 1u: if (b[i] > 120u) break; default: break; } z[i] = a[i];", 1, &[]);
    }

    /// Which of several stores happens is not known; that one does is.
    fn stores_on_all_ways_are_one() {
        for body in [
            "if (b[i] > 120u) { z[i] = 1u; } else { z[i] = a[i]; }",
            "if (b[i] > 120u) { z[i] = 1u; return; } z[i] = a[i];",
            "switch (a[i] % 3u) { case 0u: z[i] = 1u; break; case 1u: z[i] = 2u; return; default: z[i] = a[i]; }",
            "if (b[i] > 120u) { if (a[i] > 30u) z[i] = 1u; else z[i] = 2u; } else { z[i] = a[i]; }",
        ] {
            is_certain(FEW, body, 1, &[]);
        }
        // Optimised, a variable says behind the loop whether it returned.
        let search = "for (uint k = 0u; k < 4u; k++) if (SOME) { z[i] = k; return; } z[i] = a[i];";
        is_certain(PLAIN, &search.replace("SOME", SOME), 1, &[]);
        let each = "for (uint k = 0u; k < 4u; k++) { if (SOME) z[4u * i + k] = k; else z[4u * i + k] = a[i]; }";
        is_certain(FEW, &each.replace("SOME", SOME), 4, &[]);
        for body in [
            "if (b[i] > 120u) { z[i] = 1u; } else if (a[i] > 30u) { z[i] = a[i]; }",
            "if (b[i] > 120u) { z[i] = 1u; return; } if (a[i] > 30u) return; z[i] = a[i];",
            "switch (a[i] % 3u) { case 0u: z[i] = 1u; break; case 1u: z[i] = 2u; break; default: break; }",
            "switch (a[i] % 3u) { case 0u: z[i] = 1u; break; case 1u: return; default: z[i] = 2u; }",
            "for (uint k = 0u; k < 4u; k++) { if (SOME) { z[i] = k; return; } if (b[k] > 110u) return; } z[i] = a[i];",
        ] {
            is_uncertain(PLAIN, &body.replace("SOME", SOME), 1, &[]);
        }
        let each = "for (uint k = 0u; k < 4u; k++) { if (SOME) z[4u * i + k] = k; else if (b[k] > 9u) break; else z[4u * i + k] = 0u; }";
        is_uncertain(PLAIN, &each.replace("SOME", SOME), 4, &[]);
    }

    /// A store in a loop that is left early, or whose rest of a round is.
    fn rounds_that_may_not_come_are_not_certain() {
        for body in [
            "for (uint k = 0u; k < 4u; k++) { if (SOME) break; z[4u * i + k] = a[i] + k; }",
            "for (uint k = 0u; k < 4u; k++) { z[4u * i + k] = a[i] + k; if (SOME) break; }",
            "for (uint k = 0u; k < 4u; k++) { z[4u * i + k] = a[i] + k; if (SOME) return; }",
            "for (uint k = 0u; k < 4u; k++) { if (SOME) continue; z[4u * i + k] = a[i] + k; }",
            "for (uint k = 0u; k < 4u; k++) { switch (a[(i + k) % 64u] % 3u) { case 0u: break; default: z[4u * i + k] = a[i] + k; } }",
            "for (uint j = 0u; j < 2u; j++) { for (uint k = 0u; k < 2u; k++) z[4u * i + 2u * j + k] = a[i] + k; if (a[i] > 40u) return; }",
            "for (uint j = 0u; j < 2u; j++) { for (uint k = 0u; k < 2u; k++) { if (SOME) break; z[4u * i + 2u * j + k] = a[i] + k; } }",
            "for (uint k = a[i] % 2u; k < 4u; k++) z[4u * i + k] = a[i] + k;",
            "for (uint k = 0u; k < a[i] % 5u; k++) z[4u * i + k] = a[i] + k;",
            "for (uint k = 0u; k < p.x; k += p.y) z[4u * i + k] = a[i] + k;",
        ] {
            is_uncertain(PLAIN, &body.replace("SOME", SOME), 4, &[4, 2]);
        }
        for body in [
            "for (uint k = 0u; k < 4u; k++) { z[4u * i + k] = a[i] + k; for (uint j = 0u; j < 3u; j++) if (b[j] > 101u) break; }",
            "for (uint j = 0u; j < 2u; j++) for (uint k = 0u; k < 2u; k++) z[4u * i + 2u * j + k] = a[i] + k;",
            "for (uint k = 0u; k < p.x; k += p.y) z[4u * i + k] = a[i] + k;",
        ] {
            is_certain(FEW, body, 4, &[4, 1]);
        }
    }

    /// The round that leaves a loop early still does what stands before the way out: no one wrote what it reads.
    fn the_round_that_leaves_a_loop_reads() {
        for body in [
            "uint s = 0u; for (uint k = 0u; k < 3u; k++) { s += z[i]; if (p.x < 100u) break; } o[i] = s;",
            "uint s = 0u; for (uint k = 0u; k < 3u; k++) { s += z[4u * i + k]; if (k >= 1u) break; } o[i] = s;",
            "uint s = 0u, k = 0u; while (k++ < 3u) { s += z[i]; if (p.x < 100u) return; o[i] = s; }",
            "uint s = 0u, k = 0u; do { s += z[i]; if (p.x < 100u) break; } while (k++ < 3u); o[i] = s;",
            "for (uint j = 0u; j < 2u; j++) { for (uint k = 0u; k < 3u; k++) { o[i] = z[i]; if (p.x < 100u) break; } }",
        ] {
            for recipe in FEW.iter().filter(|_| is_possible()) {
                let checked = Lab::new(128)
                    .promote(1, Promote::Private)
                    .submit(&glsl(recipe, "a o z", "8", body), [2, 1, 1], &[0, 2, 1], &[3])
                    .submit(&kernel("o z", "8", "z[gid.x] = o[gid.x];"), [2, 1, 1], &[2, 3], &[])
                    .check();
                let reason = checked.refused(1);
                assert!(matches!(reason, Reason::OldContents { .. }), "{recipe}: {body}: {reason}");
            }
        }
    }

    /// What stands before the test of a loop happens once more than the loop goes on, no matter who that is.
    fn a_store_before_the_test_counts_for_the_fewest_rounds() {
        let body = "uint k = 0u, m = LIMIT; do { z[4u * i + k] = a[i] + k; } while (k++ < m);";
        for limit in ["a[i] % 4u", "b[0] & 3u", "min(a[i], 3u)", "i % 4u", "i < 5u ? 3u : 2u"] {
            is_uncertain(PLAIN, &body.replace("LIMIT", limit), 4, &[]);
        }
        is_uncertain(RECIPES, &body.replace("LIMIT", "a[i] % 4u"), 4, &[]);
        is_uncertain(FEW, &body.replace("LIMIT", "p.x"), 4, &[2]);
        is_certain(FEW, &body.replace("LIMIT", "p.x"), 4, &[3]);
        // The fewest rounds that any of them does.
        // The first round is begun whatever the test says.
        for recipe in FEW.iter().filter(|_| is_possible()) {
            Lab::new(128)
                .promote(2, Promote::Private)
                .submit(&glsl(recipe, "a b z", "8", &body.replace("LIMIT", "a[i] % 4u")), [2, 1, 1], &[0, 1, 2], &[])
                .submit(&kernel("a z", "8", "z[gid.x] = a[4u * gid.x];"), [2, 1, 1], &[2, 3], &[])
                .check()
                .fused(0)
                .inside(2, Internalization::Private);
        }
        let inner = "for (uint j = 0u; j < 2u; j++) { uint k = 0u; do { z[4u * i + 2u * j + k] = a[i]; } while (k++ < m); }";
        is_uncertain(FEW, &format!("uint m = a[i] & 1u; {inner}"), 4, &[]);
        is_certain(FEW, &format!("uint m = p.x; {inner}"), 4, &[1]);
    }

    /// Loops that count down, or until a number is met.
    fn loops_count_in_either_direction() {
        for head in [
            "for (uint k = 4u; k-- > 0u;)",
            "for (int k = 3; k >= 0; k--)",
            "for (int k = 3; -1 < k; k--)",
            "for (int k = 0; k != 4; k++)",
            "for (uint k = 3u; k != 0xffffffffu; k--)",
            "for (uint k = p.x - 1u; k < 4u; k++)",
        ] {
            let body = format!("{head} z[4u * i + uint(k)] = a[i] + uint(k);");
            is_certain(FEW, &body, 4, &[1]);
        }
        for head in [
            "for (uint k = 4u; k-- > 1u;)",
            "for (int k = 3; k > 0; k--)",
            "for (int k = 1; k != 4; k++)",
            "for (int k = 3; k >= 0; k -= 2)",
            "for (int k = 0; k != 4; k += 2)",
            "int m = int(a[i] % 2u); for (int k = 3; k >= m; k--)",
        ] {
            is_uncertain(PLAIN, &format!("{head} z[4u * i + uint(k)] = a[i] + uint(k);"), 4, &[]);
        }
        let late = "int k = 3, m = int(LIMIT); do { z[4u * i + uint(k)] = a[i]; } while (k-- > m);";
        is_certain(PLAIN, &late.replace("LIMIT", "p.x"), 4, &[0]);
        is_uncertain(PLAIN, &late.replace("LIMIT", "p.x"), 4, &[1]);
        is_uncertain(PLAIN, &late.replace("LIMIT", "a[i] % 3u"), 4, &[]);
    }

    /// What `modf` and `frexp` store through a pointer is used also where no one has a use for their result.
    fn what_is_stored_through_a_pointer_is_there() {
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            for write in ["modf(0.25 * float(a[i] & 0xffu), w)", "frexp(float(a[i] & 0xffu), e)"] {
                let write = format!("float w = 0.5; int e = 7; {write}; z[i] = floatBitsToUint(w) + uint(e);");
                Lab::new(16)
                    .promote(1, Promote::Private)
                    .submit(&glsl(recipe, "a z", "8", &write), [2, 1, 1], &[0, 1], &[])
                    .submit(&kernel("a z", "8", "z[gid.x] = 3u * a[gid.x];"), [2, 1, 1], &[1, 2], &[])
                    .check()
                    .fused(0)
                    .inside(1, Internalization::Private);
            }
        }
    }

    /// A counter that steps past its limit goes round all words before it meets it.
    fn a_limit_that_is_passed_is_not_met() {
        let write = "uint8_t k = uint8_t(0); while (k != uint8_t(4)) { z[256u * g + uint(k)] = a[g]; k += uint8_t(3); }";
        let read = kernel("a z", "1", "z[wid.x] = a[256u * (1u - wid.x) + 30u];");
        if is_possible() {
            Lab::new(512)
                .submit(&glsl("", "a z", "1", write), [2, 1, 1], &[0, 1], &[])
                .submit(&read, [2, 1, 1], &[1, 2], &[])
                .check()
                .split(2, Write, Read);
        }
    }

    /// Where a limit is known only behind a guard, the counter is a number there and an unknown elsewhere.
    fn a_round_is_not_the_value_of_its_counter() {
        let write = "uint n = b[0]; if (n > 128u) return; for (uint k = 0u; k < n; k += 4u) if (k >= 8u) z[128u * g + k] = k;";
        let read = kernel("a z", "1", "z[wid.x] = a[128u * (1u - wid.x) + 8u];");
        for recipe in FEW.iter().filter(|_| is_possible()) {
            Lab::new(256)
                .submit(&glsl(recipe, "a b z", "1", write), [2, 1, 1], &[0, 1, 2], &[])
                .submit(&read, [2, 1, 1], &[2, 3], &[])
                .check()
                .split(2, Write, Read);
        }
    }

    /// An item that a guard turns away may have stored something before.
    fn a_store_before_a_range_guard_is_kept() {
        let clear = "z[i] = 0u; if (i >= p.x) return; z[i] = 1u;";
        let twice = "if (i >= p.x) return; z[i] = 0u; if (i >= p.y) return; z[i] = a[i];";
        let add = "if (i < p.x) z[i] += a[i];";
        for (first, push) in [(clear, [20, 0]), (twice, [20, 20]), (twice, [24, 20]), (twice, [20, 24]), (clear, [32, 0])] {
            for recipe in FEW.iter().filter(|_| is_possible()) {
                let mut lab = Lab::new(64);
                lab.limits.shape = ShapeLimits { group_size: 8, items: 4, vectors: true, ..ShapeLimits::default() };
                let checked = lab
                    .submit(&glsl(recipe, "a z", "8", first), [4, 1, 1], &[0, 1], &push)
                    .submit(&glsl(recipe, "a z", "8", add), [4, 1, 1], &[0, 1], &[20])
                    .check()
                    .fused(0);
                assert_eq!(checked.plan.report.groups[0].items_per_invocation, 4, "{recipe}: {first}");
            }
        }
    }

    /// Of a range that is longer than what is used of it, a part is written, and a part is read.
    fn reads_are_within_what_guards_allow() {
        let of = |text: &str, groups: u32, buffer: u64, push: &[u32]| {
            Lab::new(64).submit(text, [groups, 1, 1], &[0, 1], push).written_and_read(buffer)
        };
        let copy = kernel("a z", "8", "if gid.x < p.x { z[gid.x] = a[gid.x]; }");
        assert_eq!(of(&copy, 8, 0, &[20]), (0, 80));
        assert_eq!(of(&copy, 8, 1, &[20]), (80, 0));
        assert_eq!(of(&copy, 2, 0, &[20]), (0, 64));
        // All that may be meant, and no more than there is.
        let shifted = kernel("a z", "8", "z[gid.x + 1u] = a[gid.x + 3u];");
        assert_eq!(of(&shifted, 2, 0, &[]), (0, 76));
        assert_eq!(of(&shifted, 2, 1, &[]), (0, 0));
        assert_eq!(of(&kernel("a z", "8", "z[gid.x] = a[a[gid.x]];"), 2, 0, &[]), (0, 256));
        assert_eq!(of(&kernel("a z", "8", "z[gid.x] += a[gid.x];"), 8, 1, &[]), (256, 256));
    }

    /// Whether a submission makes all bytes of its buffer readable again.
    fn only_what_is_certainly_written_is_overwritten() {
        let certain = |recipe: &str, names: &str, body: &str, len: u64, push: &[u32]| {
            let text = glsl(recipe, names, "8", body);
            let kernel = load(&text);
            let args = kernel.interface.bindings.iter().map(|binding| Arg {
                at: binding.at,
                buffer: BufferId(binding.at.binding.into()),
                offset: 0,
                len: if binding.at.binding == 1 { len } else { 512 },
                promote: Promote::None,
                numbers: None,
                image: None,
            });
            let (args, mut bytes) = (args.collect(), push.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>());
            if kernel.interface.push.is_some() {
                bytes.resize(16, 0);
            }
            let arg = kernel.interface.bindings.iter().position(|b| b.at.binding == 1).expect("a binding");
            let one = Submission { kernel, base: [0; 3], groups: [4, 1, 1], args, push: bytes.into() };
            overwrites(&one, arg, &Limits::default())
        };
        let padded = "struct S { uint8_t a; float b; }; === ---";
        let dense = "struct S { vec4 a; float b[4]; }; === ---";
        let inner = "struct S { vec3 a[2]; uint b; }; === ---";
        for recipe in FEW.iter().filter(|_| is_possible()) {
            for (names, body, len, push, expected) in [
                ("a z", "z[i] = a[i];", 128, 0, true),
                ("a z", "z[i] = a[i];", 132, 0, false),
                ("a z", "for (uint k = 0u; k < 4u; k++) if (a[(i + k) % 64u] > 40u) return; z[i] = a[i];", 128, 0, false),
                ("a z", "for (uint k = 0u; k < 4u; k++) if (a[(i + k) % 64u] > 40u) break; z[i] = a[i];", 128, 0, true),
                ("a z", "if (i >= p.x) return; z[i] = a[i];", 128, 32, true),
                ("a z", "if (i >= p.x) return; z[i] = a[i];", 128, 31, false),
                ("a z", "for (uint k = 0u; k < p.x; k++) z[4u * i + k] = k;", 512, 4, true),
                ("a z", "for (uint k = 0u; k < p.x; k++) z[4u * i + k] = k;", 512, 3, false),
                ("a z", "for (uint k = 0u; k < 4u; k++) { z[4u * i + k] = k; if (a[k] > 9u) return; }", 512, 0, false),
                ("a z", "uint k = 0u, m = a[i] % 4u; do { z[4u * i + k] = k; } while (k++ < m);", 512, 0, false),
                ("a z", "if (a[i] > 9u) { z[i] = 1u; return; } z[i] = 2u;", 128, 0, true),
                ("a z", "if (a[i] > 9u) { z[i] = 1u; return; } if (a[i] > 5u) return; z[i] = 2u;", 128, 0, false),
                ("a z", "if (a[0] >= 8u) return; z[i] = a[i];", 128, 0, false),
                ("a z", "if (a[1] < 8u) z[i] = 1u;", 128, 0, false),
                ("a z:mat4x2/row_major", "if (a[0] >= 8u) return; z[i] = mat4x2(i);", 512, 0, false),
                ("a z:mat4x2/row_major", "float f = float(i & 15u) * 0.25; if (a[0] >= 8u) return; z[i] = mat4x2(f + 9.0, f + 12.0, 27.0, 2.0, f + 9.0, 4.0, 2.0, f);", 512, 0, false),
                ("a z:vec4", "z[i] = vec4(a[i]);", 512, 0, true),
                ("a z:vec3", "z[i] = vec3(a[i]);", 512 - 4, 0, false),
                ("a:S z:S", &format!("{padded} z[i] = a[i];"), 256, 0, false),
                ("a:S z:S", &format!("{inner} z[i] = a[i];"), 32 * 48, 0, false),
                ("a:S z:S", &format!("{dense} z[i] = a[i];"), 32 * 32, 0, true),
                ("a z:mat2/row_major", "z[i][0] = vec2(i); z[i][1] = vec2(i);", 512, 0, true),
                ("a z:mat2/row_major", "z[i] = mat2(i);", 512, 0, true),
                ("a z:mat2", "z[i] = mat2(i);", 512, 0, true),
                ("a z:mat3/row_major", "z[i] = mat3(i);", 32 * 48, 0, false),
                ("a z:mat3/row_major", "if (i >= p.x) return; z[i] = mat3(i);", 44, 1, false),
            ] {
                assert_eq!(certain(recipe, names, body, len, &[push]), expected, "{recipe}: {body} of {len}");
            }
        }
    }

    /// Elements with padding can still stay inside: no one reads that.
    fn padding_is_neither_written_nor_missed() {
        let types = "struct S { uint8_t a; float b; }; === ---";
        let write = format!("{types} z[i] = S(uint8_t(a[i]), float(i));");
        let own = format!("{types} S s = a[i]; z[i] = uint(s.a) + uint(s.b);");
        let part = format!("{types} if (b[i] > 0u) {{ z[i].b = 1.0; }} z[i].a = uint8_t(i);");
        let lab = |recipe: &str, write: &str, read: &str, kind| {
            let mut lab = Lab::new(64);
            (lab.limits.small_scalars.int8, lab.limits.max_storage_buffers) = (true, 8);
            lab.promote(2, kind)
                .submit(&glsl(recipe, "a b z:S", "8", write), [4, 1, 1], &[0, 1, 2], &[])
                .submit(&glsl(recipe, "a:S z", "8", read), [4, 1, 1], &[2, 3], &[])
                .check()
        };
        for recipe in FEW.iter().filter(|_| is_possible()) {
            lab(recipe, &write, &own, Promote::Private).fused(0).inside(2, Internalization::Private);
            lab(recipe, &part, &own, Promote::Private).fused(0).refused(2);
            // The components of a column lie between those of the other.
            let column = "z[i][0] = vec2(a[i], b[i]);";
            Lab::new(256)
                .promote(2, Promote::Private)
                .submit(&glsl(recipe, "a b z:mat2/row_major", "8", column), [4, 1, 1], &[0, 1, 2], &[])
                .submit(&glsl(recipe, "a:mat2/row_major z", "8", "z[i] = uint(a[i][1].x);"), [4, 1, 1], &[2, 3], &[])
                .check()
                .fused(0)
                .refused(2);
            Lab::new(256)
                .promote(2, Promote::Local)
                .submit(&glsl(recipe, "a b z:vec3", "8", "z[i] = vec3(a[i], b[i], i);"), [4, 1, 1], &[0, 1, 2], &[])
                .submit(&glsl(recipe, "a:vec3 z", "8", "z[i] = uint(a[i ^ 1u].y);"), [4, 1, 1], &[2, 3], &[])
                .check()
                .fused(1)
                .inside(2, Internalization::Local);
        }
    }
}
