//! What the normal form has to keep or to drop for kernels to fuse: the order of a switch's cases, stores that are never loaded.

use vkfuse_jit::plan::{Internalization, Promote};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Lab, compiled, kernel};

probes! {
    /// SPIR-V wants each case right in front of the one that it falls into, wherever the default stands.
    fn cases_stay_in_the_order_in_which_they_fall() {
        if !is_possible() {
            return;
        }
        let cases = [
            "case 3u: v += 1u; case 0u: default: v *= 3u; case 1u: v += 7u; case 2u: v ^= 5u; break;",
            "case 3u: v += 1u; case 2u: if (v > 9u) break; v *= 5u; case 0u: default: v ^= 6u; break; case 1u: v = 2u;",
            "case 4u: v += 1u; break; case 2u: default: v += 3u; case 0u: if (true) break; case 1u: v = 9u; break;",
            "default: v += 1u; case 2u: v *= 3u; case 1u: case 0u: v += 11u;",
        ];
        for recipe in RECIPES {
            for cases in cases {
                let body = format!("uint v = a[i]; switch (v % 5u) {{ {cases} }} z[i] = v;");
                Lab::new(64)
                    .submit(&glsl(recipe, "a z", "8", &body), [8, 1, 1], &[0, 1], &[])
                    .submit(&kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;"), [8, 1, 1], &[1, 2], &[])
                    .check()
                    .fused(0);
            }
        }
    }

    /// A branch with a condition both of whose sides lead to one block goes there.
    fn a_branch_to_one_block_is_none() {
        Lab::new(256)
            .promote(1, Promote::Private)
            .submit_kernel(compiled("flow/one_block"), [8, 1, 1], &[0.into(), 1.into()], &[])
            .submit(&kernel("a z", "32", "z[gid.x] = a[gid.x] * 3u;"), [8, 1, 1], &[1, 2], &[])
            .check()
            .fused(0)
            .inside(1, Internalization::Private);
    }

    /// A function that may not come back, called in what continues a loop, has no structured form.
    fn what_continues_a_loop_comes_back() {
        if !is_possible() {
            return;
        }
        let endless = "if (x > 5u && x < 3u) { for (;;) { } }";
        let early = "if (x > 5u) { return k + 2u; }";
        for (way, comes_back) in [(endless, false), (early, true)] {
            let body = format!(
                "uint f(uint k, uint x) {{ {way} return k + 1u; }} --- uint x = a[i], r = 0u; \
                 for (uint k = 0u; k < 3u; k = f(k, x)) r = r * 3u + x; z[i] = r;"
            );
            let checked = Lab::new(64)
                .promote(1, Promote::Private)
                .submit(&glsl(RECIPES[0], "a z", "8", &body), [8, 1, 1], &[0, 1], &[])
                .submit(&kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;"), [8, 1, 1], &[1, 2], &[])
                .check();
            match comes_back {
                true => drop(checked.fused(0)),
                false => drop(checked.refused(1).detail()),
            }
        }
    }

    /// Loads that only feed it do not keep the two kernels apart.
    fn shared_memory_that_is_never_read_is_not_there() {
        let first = kernel("z", "8", "z[gid.x] = z[gid.x] * 3u + 1u;");
        for sum in ["", "s[l] += 1u;"] {
            let second = format!(
                "@group(0) @binding(0) var<storage> a: array<u32>;
                @group(0) @binding(1) var<storage, read_write> z: array<u32>;
                var<workgroup> s: array<u32, 8>;
                @compute @workgroup_size(8)
                fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_index) l: u32) {{
                    s[l] = a[31u - gid.x]; {sum} z[gid.x] = a[gid.x] + 1u;
                }}"
            );
            Lab::new(32)
                .submit(&first, [4, 1, 1], &[0], &[])
                .submit(&second, [4, 1, 1], &[0, 1], &[])
                .check()
                .fused(0);
        }
    }
}
