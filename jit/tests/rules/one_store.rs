//! What is recomputed of kernels that store on both sides of a branch, and of loads on one side of it.

use vkfuse_jit::plan::{Internalization, Promote};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Checked, Lab, kernel};

/// A kernel of `p.x` elements.
fn flat(names: &str, body: &str) -> String {
    kernel(names, "16", &format!("let i = gid.x; if (i >= p.x) {{ return; }} {body}"))
}

/// Reads of elements that other invocations store, which are not the elements of one item each.
const READS: [&str; 2] =
    ["a[min(i + 1u, p.x - 1u)] + a[i] * 3u + a[max(i, 1u) - 1u]", "a[p.x - 1u - i] ^ a[i]"];

/// What a kernel stores into buffer 2, and another one that reads it as `read` says.
fn pair(text: &str, words: [u32; 4], read: &str, promote: Promote) -> Checked {
    Lab::rewriting(160)
        .promote(2, promote)
        .submit(text, [words[0].div_ceil(16), 1, 1], &[0, 1, 2], &words)
        .submit(
            &flat("a b z", &format!("z[i] = {read};")),
            [words[0].div_ceil(16), 1, 1],
            &[2, 0, 3],
            &[words[0]],
        )
        .check()
}

/// Demands that it is recomputed where it is read, whether or not it also stays in memory.
#[track_caller]
fn works_out(text: &str, words: [u32; 4]) {
    for read in READS {
        for promote in [Promote::None, Promote::Auto] {
            println!("{words:?} {read}: {text}");
            let checked = pair(text, words, read, promote).fused(0).works_out(&[(1, 0)]);
            if promote == Promote::Auto {
                checked.inside(2, Internalization::Private);
            }
        }
    }
}

/// Demands that it is not recomputed.
#[track_caller]
fn stays_apart(text: &str, words: [u32; 4]) {
    println!("{words:?}: {text}");
    pair(text, words, READS[1], Promote::None).stays_apart(2);
}

probes! {
    /// The value is the earlier submission's, as the numbers say that the later one stores elsewhere alone.
    fn a_store_that_does_not_happen_is_not_recomputed() {
        let first = flat("a z", "z[i] = a[i] + 9u;");
        let both = kernel("a y z", "16", "let i = gid.x; if (i >= p.x) { return; } if (p.y > 2u) { z[i] = a[i]; } y[i] = a[i] * 2u;");
        for (k, promote) in [(1, Promote::None), (1, Promote::Auto), (3, Promote::None), (3, Promote::Auto)] {
            Lab::rewriting(80)
                .promote(2, promote)
                .promote(4, promote)
                .submit(&first, [5, 1, 1], &[0, 2], &[80])
                .submit(&both, [5, 1, 1], &[0, 4, 2], &[80, k])
                .submit(&flat("a z", "z[i] = a[p.x - 1u - i];"), [5, 1, 1], &[2, 3], &[80])
                .check();
        }
    }

    fn padding_is_worked_out() {
        let text = flat("a b z", "if (i >= p.y && i < p.z) { z[i] = a[i - p.y]; } else { z[i] = p.w; }");
        works_out(&text, [80, 3, 75, 7]);
        works_out(&text, [80, 0, 80, 7]);
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            let body = "if (i >= p.x) return; int x = int(i) - int(p.y), w = int(p.z - p.y);
                if (x >= 0 && x < w) z[i] = a[x]; else z[i] = p.w;";
            works_out(&glsl(recipe, "a b z", "16", body), [80, 3, 75, 7]);
        }
    }

    /// Three ways: the first element, one of those between, the last element.
    fn replication_is_worked_out() {
        let text = flat("a b z", "if (i < p.y) { z[i] = a[0]; } else {
            if (i < p.z) { z[i] = a[i - p.y]; } else { z[i] = a[p.z - p.y - 1u] * 2u; } }");
        works_out(&text, [80, 3, 75, 7]);
    }

    /// What is padded with is loaded, too: once for each channel.
    fn a_load_on_either_side_is_worked_out() {
        let text = flat("a b z", "if (i % p.w >= p.y && i % p.w < p.z) { z[i] = a[i - p.y]; } else { z[i] = b[i / p.w]; }");
        works_out(&text, [80, 1, 9, 10]);
        // Which element is loaded follows from another load under a condition of its own.
        let text = flat("a b z", "var v = 5u;
            if (i >= p.y) { let k = b[i - p.y] % 8u; if (k > 3u) { v = a[k - 4u]; } else { v += k; } } z[i] = v;");
        works_out(&text, [80, 3, 0, 0]);
        // Behind a case that another one falls through to, it is not known when it is executed.
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            let body = "if (i >= p.x) return; uint v = 5;
                switch (i & 3u) { case 0: v = 6; case 1: v += a[i / 2u]; break; case 2: v = b[i]; break; default: break; }
                z[i] = v;";
            let text = glsl(recipe, "a b z", "16", body);
            stays_apart(&text, [80, 0, 0, 0]);
        }
    }

    /// Vectors, in two dimensions, for a kernel that takes three on the device.
    fn padding_of_vectors_is_worked_out() {
        let body = |other: &str| format!("let x = gid.x; let y = gid.y; if (x >= p.x || y >= p.y) {{ return; }} let at = y * p.x + x;
            if (p.z == 1u) {{ {other} }}
            else if (p.z == 2u) {{
                if (x >= 2u && x < p.x - 1u && y >= 1u && y < p.y - 1u) {{ z[at] = a[(y - 1u) * (p.x - 3u) + x - 2u]; }} else {{ z[at] = vec4(0.5); }}
            }}
            else if (p.z == 3u) {{ if (x > 3u) {{ z[at] = vec4(2.0); }} else {{ z[at] = a[x]; }} }}");
        let filter = kernel("a:vec4<f32> z:vec4<f32>", "4, 4", "let x = gid.x; let y = gid.y; if (x + 3u > p.x || y + 3u > p.y) { return; }
            var sum = vec4<f32>();
            for (var k = 0u; k < 9u; k++) { sum += a[(y + k / 3u) * p.x + x + k % 3u]; }
            z[y * p.x + x] = sum;");
        for other in ["z[at] = a[x] * 2.0;", "z[x * p.y + y] = a[x];", "if (x > 2u) { z[at] = a[x]; }"] {
            let text = kernel("a:vec4<f32> z:vec4<f32>", "4, 4", &body(other));
            for dims in [2, 3] {
                for promote in [Promote::None, Promote::Auto] {
                    Lab::rewriting(640).promote(1, promote)
                        .submit(&text, [3, 2, 1], &[0, 1], &[10, 8, dims])
                        .submit(&filter, [3, 2, 1], &[1, 2], &[10, 8])
                        .check().fused(0).works_out(&[(1, 0)]);
                }
            }
        }
    }

    /// One scalar of a vector, and a vector of scalars, that were padded.
    fn parts_of_what_is_padded_are_worked_out() {
        let scalars = flat("a z", "if (i >= p.y && i < p.z) { z[i] = a[i - p.y]; } else { z[i] = p.w; }");
        let vectors = kernel("a:vec4<u32> z:vec4<u32>", "16", "let i = gid.x; if (i >= p.x) { return; }
            if (i >= p.y && i < p.z) { z[i] = a[i - p.y]; } else { z[i] = vec4(p.w, 1u, 2u, i); }");
        let of_vectors = kernel("a:vec4<u32> z:vec4<u32>", "16", "let i = gid.x; if (i >= p.x) { return; } z[i] = a[p.x - 1u - i] * 3u;");
        let of_scalars = flat("a z", "z[i] = a[p.x - 1u - i] * 3u;");
        for (first, second, [n, m]) in [(&scalars, &of_vectors, [80, 20]), (&vectors, &of_scalars, [20, 80])] {
            Lab::rewriting(80)
                .submit(first, [5, 1, 1], &[0, 1], &[n, 3, n - 4, 9])
                .submit(second, [5, 1, 1], &[1, 2], &[m])
                .check().fused(0).works_out(&[(1, 0)]);
        }
    }

    /// Of branches on push constants alone one way is left.
    fn branches_that_numbers_decide_are_taken() {
        let text = flat("a b z", "if (p.y * 2u + 1u == 5u) { z[i] = a[i] * 3u; } else { z[p.x - 1u - i] = a[i] + b[i]; }");
        for y in [2, 3] {
            works_out(&text, [80, y, 0, 0]);
        }
        let text = flat("a b z", "if (p.y > 4u && p.z != 3u) { z[i] = a[i]; return; } if (p.y < 2u) { z[i] = b[i]; }");
        works_out(&text, [80, 5, 2, 0]);
        works_out(&text, [80, 1, 2, 0]);
        // Memory decides nothing.
        let text = flat("a b z", "if (b[0] == 1u) { z[i] = a[i] * 3u; } else { z[p.x - 1u - i] = a[i]; }");
        stays_apart(&text, [80, 0, 0, 0]);
    }

    /// What is done with the numbers of one call says nothing of another.
    fn other_numbers_are_planned_anew() {
        let text = flat("a b z", "if (p.y == 2u) { z[i] = a[i] * 3u; } else { z[i] = b[i]; }");
        let lab = Lab::rewriting(80)
            .submit(&text, [5, 1, 1], &[0, 1, 2], &[80, 2])
            .submit(&flat("a z", "z[i] = a[p.x - 1u - i];"), [5, 1, 1], &[2, 3], &[80]);
        assert!(!lab.holds_with(&[&[80, 3], &[80]]));
    }

    fn stores_to_other_elements_are_not_joined() {
        for other in ["z[i + 80u] = b[i];", "z[i] = b[i]; z[i + 80u] = 3u;", "", "if (i > 9u) { z[i] = 4u; }"] {
            let text = flat("a b z", &format!("if ((a[i] & 1u) == 1u) {{ z[i] = a[i] * 3u; }} else {{ {other} }}"));
            stays_apart(&text, [80, 0, 0, 0]);
        }
        // What comes behind a store may load it.
        let text = flat("a y z", "if ((a[i] & 1u) == 1u) { z[i] = a[i] * 3u; y[i] = z[i]; } else { z[i] = 5u; }");
        stays_apart(&text, [80, 0, 0, 0]);
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            let body = "layout(set = 0, binding = 2, std430) volatile buffer V { uint z[]; };===---
                if (i >= p.x) return; if ((a[i] & 1u) == 1u) z[i] = a[i] * 3; else z[i] = b[i];";
            stays_apart(&glsl(recipe, "a b", "16", body), [80, 0, 0, 0]);
            let body = "if (i >= p.x) return; if ((a[i] & 1u) == 1u) { z[i] = a[i]; y[i] = z[i]; } else { y[i] = 3; z[i] = 4; }";
            let text = glsl(recipe, "a y z", "16", body);
            stays_apart(&text, [80, 0, 0, 0]);
        }
    }

    /// Where nothing would have been loaded the first element is: there has to be one.
    fn a_buffer_without_elements_is_not_loaded_from() {
        let text = kernel("a:vec4<u32> z:vec4<u32> b", "16", "let i = gid.x; if (i >= p.x) { return; }
            if (b[i] > 4000000000u) { z[i] = a[i]; } else { z[i] = vec4(p.w, 1u, 2u, i); }");
        let lab = |bytes: u64| Lab::rewriting(80)
            .submit(&text, [2, 1, 1], &[0, 1, 3], &[20, 0, 0, 9])
            .cut(0, bytes)
            .submit(&kernel("a:vec4<u32> z:vec4<u32>", "16", "let i = gid.x; if (i >= p.x) { return; } z[i] = a[p.x - 1u - i] * 3u;"), [2, 1, 1], &[1, 2], &[20])
            .check();
        lab(304).fused(0).works_out(&[(1, 0)]);
        lab(308).stays_apart(2);
    }

    /// What is chosen is hidden from what is computed with it, as what is stored is.
    fn floats_that_are_chosen_are_hidden() {
        let text = flat("a:f32 b:f32 z:f32", "if (i >= p.y && i < p.z) { z[i] = a[i - p.y]; } else { z[i] = 0.0; }");
        let list = || Lab::rewriting(80)
            .submit(&text, [5, 1, 1], &[0, 1, 2], &[80, 3, 75, 0])
            .submit(&flat("a:f32 b:f32 z:f32", "z[i] = log(a[p.x - 1u - i]) * b[i];"), [5, 1, 1], &[2, 1, 3], &[80]);
        list().planned().fused(0).works_out(&[(1, 0)]);
        // Hidden before and behind the choice: two signs would be none.
        let seen = list().seen_through(1 << 29);
        assert!(seen.as_ref().is_some_and(|seen| seen[3] > 0), "{seen:?}");
    }
}
