//! Guards: what dominates an access bounds its index, and unequal guards are seen.

use vkfuse_jit::Reason;
use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::plan::{Internalization, Promote, ShapeLimits};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Lab, kernel};

probes! {
    // Vectors one after another, and single items behind the last: by each spelling of a guard, members that end alike, and others.
    fn items_behind_the_last_vector_are_done_once() {
        let spelled = [
            ("if (i >= p.x) { return; }", 0),
            ("if (p.x <= i) { return; }", 0),
            ("if (i > p.x) { return; }", 1),
            ("if (!(i < p.x)) { return; }", 0),
            ("if (!(p.x >= i)) { return; }", 1),
            ("if (i32(i) >= i32(p.x)) { return; }", 0),
            ("if (!(i32(i) <= i32(p.x))) { return; }", 1),
        ];
        let text = |guard: &str, what: &str| {
            kernel("a z", "8", &format!("let i = gid.x; {guard} z[i] = {what};"))
        };
        for (number, (guard, less)) in spelled.into_iter().enumerate() {
            let (other, least) = spelled[(number + 2) % spelled.len()];
            for (first, second, groups) in
                [(45, 45, 6), (46, 46, 6), (47, 47, 8), (48, 48, 8), (37, 45, 6), (45, 43, 6), (46, 45, 8), (45, 47, 8)]
            {
                let mut lab = Lab::new(64);
                lab.limits.shape = ShapeLimits { group_size: 4, items: 4, vectors: true, rounds: 2, least: 1, superword: 1, lanes: 1, conditions: None };
                let checked = lab
                    .submit(&text(guard, "a[i] * 3u + i"), [groups, 1, 1], &[0, 1], &[first - less])
                    .submit(&text(other, "a[i] ^ (z[i] + 7u)"), [groups, 1, 1], &[1, 2], &[second - least])
                    .check()
                    .fused(0);
                let items = checked.plan.report.groups[0].items_per_invocation;
                let peeled = first == second && first % 4 != 0;
                assert_eq!(items, if peeled { 8 } else { 4 }, "{guard} {first} {other} {second}");
            }
        }
    }

    /// Where most accesses are of neighbours' neighbours, items are apart and none is a vector.
    fn vectors_are_of_items_next_to_each_other() {
        let near = "a[i + 1u] + a[i + 2u] * 5u + (a[i + 3u] ^ i)";
        for (what, schedule) in [("a[i] * 3u", "items: grid x / 4 invocations / vec4"), (near, "items: grid x / 4 unrolled / 4 invocations")] {
            let first = kernel("a z", "8", &format!("let i = gid.x; if (i >= p.x) {{ return; }} z[i] = a[i] + {what};"));
            let second = kernel("a b z", "8", &format!("let i = gid.x; if (i >= p.x) {{ return; }} z[i] = b[i] ^ ({what});"));
            let mut lab = Lab::new(64);
            lab.limits.shape = ShapeLimits { group_size: 4, items: 4, vectors: true, rounds: 1, least: 1, superword: 1, lanes: 1, conditions: None };
            let checked = lab
                .submit(&first, [6, 1, 1], &[0, 1], &[45])
                .submit(&second, [6, 1, 1], &[0, 1, 2], &[45])
                .check()
                .fused(0);
            let found = checked.plan.report.groups[0].schedule.clone();
            assert!(found.starts_with(schedule), "{found}");
        }
    }

    /// A vector that is made of shorter ones has their components, not those as its own.
    fn vectors_of_vectors_have_their_components() {
        let (own, pair) = ("vec4u(vec3u(a[i], a[i] * 3u, i), 7u)", "vec4u(i, vec2u(a[i], a[i] ^ 5u), 9u)");
        for (vector, parts) in [(own, "v.y * 11u + v.z"), (pair, "v.z * 11u + v.y"), (pair, "v.w + v.zx.x")] {
            let body = format!("let i = gid.x; if (i >= p.x) {{ return; }} let v = {vector}; z[i] = {parts};");
            let second = kernel("a z", "8", "let i = gid.x; if (i >= p.x) { return; } z[i] = a[i] * 3u;");
            for vectors in [true, false] {
                let mut lab = Lab::new(64);
                lab.limits.shape = ShapeLimits { group_size: 4, items: 4, vectors, rounds: 1, least: 1, superword: 1, lanes: 1, conditions: None };
                let checked = lab
                    .submit(&kernel("a z", "8", &body), [6, 1, 1], &[0, 1], &[45])
                    .submit(&second, [6, 1, 1], &[1, 2], &[45])
                    .check()
                    .fused(0);
                let found = checked.plan.report.groups[0].schedule.clone();
                assert!(found.starts_with("items: grid x / 4"), "{found}");
            }
        }
    }

    /// `y w + x < n` where `x < w` and `y < h`, by the numbers of the call, and not if `n` is less.
    fn a_flat_guard_follows_from_those_of_a_grid() {
        let flat = kernel("a z", "16", "let i = gid.x; if (i >= p.x) { return; } z[i] = a[i] * 3u + 1u;");
        let grid = |size: &str| kernel("a z", size,
            "let x = gid.x; let y = gid.y; if (x >= p.x || y >= p.y) { return; } z[y * p.x + x] = a[y * p.x + x] ^ (x + 7u * y);");
        for (size, across, down) in [("8, 8", 8, 8), ("4, 4", 4, 4), ("16, 2", 16, 2)] {
            for (w, h, fewer) in [(20, 13, 0), (7, 9, 0), (7, 9, 1), (20, 13, 1), (20, 13, 20), (1, 9, 0)] {
                let n: u32 = w * h;
                let over = [u32::div_ceil(w, across), u32::div_ceil(h, down), 1];
                let checked = Lab::rewriting(u64::from(n) + 64)
                    .promote(1, Promote::Auto)
                    .submit(&flat, [n.div_ceil(16), 1, 1], &[0, 1], &[n - fewer])
                    .submit(&grid(size), over, &[1, 2], &[w, h])
                    .check();
                if fewer == 0 {
                    checked.fused(0).inside(1, Internalization::Private);
                } else {
                    let why = checked.refused(1).detail();
                    assert!(why.ends_with("which submission 0 may not have written wherever that is read"), "{why}");
                }
            }
        }
    }

    /// What an argument excludes does not happen, and another argument is another list.
    fn a_branch_that_an_argument_excludes_does_not_count() {
        let copy = kernel("a z", "8", "if (gid.x < p.x) { z[gid.x] = a[gid.x] + 1u; }");
        let modes = [
            "if (p.y == 0u) { z[gid.x] = a[p.x - 1u - gid.x]; } else if (p.y == 1u) { z[gid.x] = a[(gid.x + 7u) % p.x]; } else { z[gid.x] = a[gid.x] * 2u; }",
            "if (p.y != 2u) { z[(gid.x + 9u) % p.x] = a[(p.y * gid.x + 7u) % p.x]; } else { z[gid.x] = a[gid.x]; }",
            "if (p.y < 2u && gid.x < p.y * 60u) { z[gid.x] = a[(gid.x + 7u) % p.x] + 5u; } else { z[gid.x] = a[gid.x]; }",
        ];
        let modes = modes.into_iter().chain([
            "switch (p.y) { case 0u: { z[gid.x] = a[p.x - 1u - gid.x]; } case 1u, 4u: { z[gid.x] = a[(gid.x + 7u) % p.x]; } default: { z[gid.x] = a[gid.x] * 2u; } }",
            "switch (p.y) { case 2u, 3u: { z[gid.x] = a[gid.x] * 2u; } default: { z[gid.x] = a[(gid.x + 7u) % p.x]; } }",
        ]);
        for mode in modes {
            let text = kernel("a z", "8", &format!("if (gid.x >= p.x) {{ return; }} {mode}"));
            let list = |mode: u32, promote: Promote| {
                Lab::new(32)
                    .promote(1, promote)
                    .submit(&copy, [4, 1, 1], &[0, 1], &[29])
                    .submit(&text, [4, 1, 1], &[1, 2], &[29, mode])
                    .check()
            };
            list(2, Promote::None).fused(0);
            list(2, Promote::Private).fused(0).inside(1, Internalization::Private);
            list(1, Promote::None).split(2, Write, Read);
        }
    }

    /// A guard that leaves one group makes a remainder a sum, which is the group's all the same.
    fn a_rotation_in_the_only_group_that_writes_needs_a_barrier() {
        let rotate = kernel("a z", "8", "if (gid.x < p.x) { z[wid.x * 8u + (lid.x + 1u) % 8u] = a[gid.x]; }");
        let copy = kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;");
        for n in [7, 8, 20] {
            Lab::new(64)
                .submit(&rotate, [3, 1, 1], &[0, 1], &[n])
                .submit(&copy, [3, 1, 1], &[1, 2], &[])
                .check()
                .fused(1);
        }
    }

    /// A case that another one goes on to is come to with the other one's value as well.
    fn a_case_that_another_falls_through_to_has_no_value() {
        let copy = kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;");
        let body = "uint at = i; switch (p.y) { case 0u: at = i + 0u; case 1u: z[i] = a[31u - i]; break; default: z[i] = a[at]; }";
        for mode in [0, 1, 2].into_iter().filter(|_| is_possible()) {
            Lab::new(32)
                .submit(&copy, [4, 1, 1], &[0, 1], &[])
                .submit(&glsl("", "a z", "8", body), [4, 1, 1], &[1, 2], &[0, mode])
                .check()
                .split(2, Write, Read);
        }
    }

    /// Without its guard a 2-D index is not injective, with it it is.
    fn row_major_needs_its_guard() {
        let body = "z[gid.y * p.x + gid.x] = a[gid.y * p.x + gid.x] + 1u;";
        let guarded = kernel("a z", "8, 4", &format!("if (gid.x >= p.x || gid.y >= p.y) {{ return; }} {body}"));
        let nested = kernel("a z", "8, 4", &format!("if (gid.x < p.x) {{ if (gid.y < p.y) {{ {body} }} }}"));
        for text in [&guarded, &nested] {
            Lab::new(256)
                .submit(text, [2, 2, 1], &[0, 1], &[11, 7])
                .submit(text, [2, 2, 1], &[1, 2], &[11, 7])
                .check()
                .fused(0);
        }
        // Only reads may overlap without a race in the kernel itself.
        let reader = kernel("a z", "8, 4", "z[gid.y * 16u + gid.x] = a[gid.y * p.x + gid.x];");
        Lab::new(256)
            .submit(&guarded, [2, 2, 1], &[0, 1], &[11, 7])
            .submit(&reader, [2, 2, 1], &[1, 2], &[11, 7])
            .check()
            .split(2, Write, Read);
        // A guard on the wrong side does not help.
        let wrong = kernel(
            "a z",
            "8, 4",
            "if (gid.y >= p.x) { return; } z[gid.y * 16u + gid.x] = a[gid.y * p.x + gid.x];",
        );
        Lab::new(256)
            .submit(&guarded, [2, 2, 1], &[0, 1], &[11, 7])
            .submit(&wrong, [2, 2, 1], &[1, 2], &[11, 7])
            .check()
            .split(2, Write, Read);
    }

    /// A guard in a function of its own, whose early return is a phi of `true` and of what the rest says.
    fn guards_in_functions_are_those_of_their_returns() {
        let outside = |text: &str, guard: &str, to: &str| {
            let function = format!("fn outside(x: u32, y: u32) -> bool {{ {text} }} ---");
            let body = format!("z[{to}] = a[gid.y * p.x + gid.x] + 1u;");
            kernel("a z", "8, 4", &format!("{function} if ({guard}outside(gid.x, gid.y)) {{ return; }} {body}"))
        };
        let list = |first: &str, text: &str| {
            Lab::rewriting(256)
                .promote(1, Promote::Auto)
                .submit(first, [2, 2, 1], &[0, 1], &[11, 7])
                .submit(text, [2, 2, 1], &[1, 2], &[11, 7])
                .check()
        };
        let at = "gid.y * p.x + gid.x";
        let usual = outside("return x >= p.x || y >= p.y;", "", at);
        for text in [
            outside("if (x >= p.x) { return true; } return y >= p.y;", "", at),
            outside("if (x < p.x) { return y >= p.y; } return true;", "", at),
            outside("if (x < p.x) { return y < p.y; } return false;", "!", at),
            outside("if (x >= p.x) { return false; } return y < p.y;", "!", at),
            outside("let is = x >= p.x; if (is) { return is; } return y >= p.y;", "", at),
        ] {
            list(&text, &text).fused(0).inside(1, Internalization::Private);
            list(&usual, &text).fused(0).inside(1, Internalization::Private);
        }
        // Those that let others through.
        for text in [
            outside("if (x >= p.x) { return y >= p.y; } return false;", "", "gid.y * 16u + gid.x"),
            outside("if (x >= p.x) { return false; } return y >= p.y;", "", "gid.y * 16u + gid.x"),
        ] {
            Lab::new(256)
                .submit(&usual, [2, 2, 1], &[0, 1], &[11, 7])
                .submit(&text, [2, 2, 1], &[1, 2], &[11, 7])
                .check()
                .split(2, Write, Read);
        }
    }

    /// What is said of all components, or of any, is said of each as `&&` and `||` say it.
    fn guards_of_vectors_are_those_of_their_components() {
        let both = [
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (all(lessThan(q, n))) { BODY }",
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (!all(lessThan(q, n))) { return; } BODY",
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (any(greaterThanEqual(q, n))) { return; } BODY",
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (!any(greaterThan(q, n - 1u))) { BODY }",
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (any(not(lessThan(q, n)))) { return; } BODY",
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (all(lessThan(q.yx, n.yx)) && p.x > 0u) { BODY }",
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (all(lessThan(uvec3(0u, q), uvec3(1u, n)))) { BODY }",
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (all(lessThan(uvec4(q, q.yx), uvec4(n, n.yx)))) { BODY }",
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); bvec2 is = lessThan(q, n); if (all(is)) { BODY }",
            "ivec2 q = ivec2(gl_GlobalInvocationID.xy), n = ivec2(p.x, p.y); if (any(greaterThanEqual(q, n))) { return; } BODY",
            "ivec2 q = ivec2(gl_GlobalInvocationID.xy), n = ivec2(p.x, p.y); if (all(lessThan(q, n)) && all(greaterThanEqual(q, ivec2(0)))) { BODY }",
        ];
        let few = [
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (any(lessThan(q, n))) { BODY }",
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (all(greaterThanEqual(q, n))) { return; } BODY",
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (all(lessThan(q.yy, n.yy))) { BODY }",
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (all(lessThan(q, n * 2u))) { BODY }",
            // Floats are not followed.
            "uvec2 q = gl_GlobalInvocationID.xy, n = uvec2(p.x, p.y); if (all(lessThan(vec2(q), vec2(n)))) { BODY }",
        ];
        let element = "uint at = uint(q.y) * p.x + uint(q.x);";
        let scalar = kernel("a z", "8, 4", "if (gid.x < p.x && gid.y < p.y) { z[gid.y * p.x + gid.x] = a[gid.y * p.x + gid.x] + 1u; }");
        let text = |recipe: &str, guard: &str, body: &str| {
            glsl(recipe, "a z", "8, local_size_y = 4", &guard.replace("BODY", &format!("{element} {body}")))
        };
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            for guard in both {
                let text = text(recipe, guard, "z[at] = a[at] * 3u;");
                let pairs = [(&text, &text), (&scalar, &text), (&text, &scalar)];
                for (first, second) in pairs.into_iter().take(if recipe.is_empty() { 3 } else { 1 }) {
                    Lab::new(256)
                        .submit(first, [2, 2, 1], &[0, 1], &[11, 7])
                        .submit(second, [2, 2, 1], &[1, 2], &[11, 7])
                        .check()
                        .fused(0);
                }
            }
            // Reads alone may overlap without a race in the kernel itself.
            for guard in few {
                let text = text(recipe, guard, "z[uint(q.y) * 16u + uint(q.x)] = a[at] * 3u;");
                Lab::new(512)
                    .submit(&scalar, [2, 2, 1], &[0, 1], &[11, 7])
                    .submit(&text, [2, 2, 1], &[1, 2], &[11, 7])
                    .check()
                    .split(2, Write, Read);
            }
        }
    }

    /// Half of the range each: the guards say that the two never meet.
    fn guards_keep_accesses_apart() {
        let low = kernel("a z", "8", "if (gid.x < 16u) { z[gid.x] = a[gid.x] + 1u; }");
        let high = kernel("a z", "8", "if (gid.x >= 16u) { z[gid.x] = a[47u - gid.x] * 2u; }");
        let all = kernel("a z", "8", "z[gid.x] = a[47u - gid.x];");
        // 47 - i for i in 16..32 is 16..32: not what the first kernel wrote.
        Lab::new(64)
            .submit(&low, [4, 1, 1], &[0, 1], &[])
            .submit(&high, [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(0);
        Lab::new(64)
            .submit(&low, [4, 1, 1], &[0, 1], &[])
            .submit(&all, [2, 1, 1], &[1, 2], &[])
            .check()
            .fused(0);
    }

    /// Two writers of the same elements, the first one under a guard: the second reaches further.
    fn equal_offsets_under_other_guards_are_other_accesses() {
        let first = kernel("a z", "8", "if (gid.x < 8u) { z[gid.x] = a[gid.x] + 1u; }");
        let all = kernel("a z", "8", "z[gid.x] = a[gid.x] + 2u;");
        let read = kernel("a z", "8", "if (gid.x < 16u) { z[gid.x] = a[31u - gid.x]; }");
        Lab::new(64)
            .submit(&first, [4, 1, 1], &[0, 1], &[])
            .submit(&all, [4, 1, 1], &[0, 1], &[])
            .submit(&read, [4, 1, 1], &[1, 2], &[])
            .check()
            .split(2, Write, Read);
        Lab::new(64)
            .submit(&first, [4, 1, 1], &[0, 1], &[])
            .submit(&read, [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(0);
    }

    /// A promoted buffer must have been written by anyone who reads it, under the same condition at least.
    fn a_read_under_a_wider_guard_keeps_the_buffer_in_memory() {
        let write = kernel("a z", "8", "if (gid.x < p.x) { z[gid.x] = a[gid.x] + 1u; }");
        let read = kernel("a z", "8", "if (gid.x < p.x) { z[gid.x] = a[gid.x] * 2u; }");
        let lab = |first, second, kind| {
            Lab::new(64)
                .promote(1, kind)
                .submit(&write, [4, 1, 1], &[0, 1], &[first])
                .submit(&read, [4, 1, 1], &[1, 2], &[second])
                .check()
                .fused(0)
        };
        for (kind, got) in [(Promote::Private, Internalization::Private), (Promote::Local, Internalization::Local)] {
            lab(29, 29, kind).inside(1, got);
            lab(29, 12, kind).inside(1, got);
            assert!(matches!(lab(12, 29, kind).refused(1), Reason::OldContents { .. }));
        }
    }

    /// A condition that is not expressed may be false.
    fn a_conditional_write_covers_nothing() {
        let write = kernel("a b z", "8", "if (b[gid.x] > 3u) { z[gid.x] = a[gid.x] + 1u; }");
        let even = kernel("a b z", "8", "if (gid.x % 2u == 0u) { z[gid.x] = a[gid.x] + b[gid.x]; }");
        let read = kernel("a z", "8", "z[gid.x] = a[gid.x] * 2u;");
        for text in [&write, &even] {
            for kind in [Promote::Private, Promote::Local, Promote::Auto] {
                let checked = Lab::new(64)
                    .promote(2, kind)
                    .submit(text, [4, 1, 1], &[0, 1, 2], &[])
                    .submit(&read, [4, 1, 1], &[2, 3], &[])
                    .check()
                    .fused(0);
                assert!(matches!(checked.refused(2), Reason::OldContents { .. }));
            }
        }
        // Both branches together cover it.
        let both = kernel(
            "a b z",
            "8",
            "if (b[gid.x] > 3u) { z[gid.x] = a[gid.x]; } else { z[gid.x] = 7u; }",
        );
        Lab::new(64)
            .submit(&both, [4, 1, 1], &[0, 1, 2], &[])
            .submit(&read, [4, 1, 1], &[2, 3], &[])
            .check()
            .fused(0);
    }

    /// Work-groups that are not full: the others' part of shared memory was never written.
    fn a_guard_inside_the_last_group_keeps_an_exchange_in_memory() {
        let write = kernel("a z", "8", "if (gid.x < p.x) { z[gid.x] = a[gid.x] + 1u; }");
        let mirror = kernel("a z", "8", "if (gid.x < p.x) { z[gid.x] = a[gid.x ^ 1u] * 2u; }");
        let lab = |n| {
            Lab::new(64)
                .promote(1, Promote::Local)
                .submit(&write, [4, 1, 1], &[0, 1], &[n])
                .submit(&mirror, [4, 1, 1], &[1, 2], &[n])
                .check()
                .fused(1)
        };
        lab(32).inside(1, Internalization::Local);
        assert!(matches!(lab(29).refused(1), Reason::OldContents { .. }));
    }
}
