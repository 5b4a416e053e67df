//! What is recomputed of kernels whose items store several elements.

use vkfuse_jit::RewriteReason;
use vkfuse_jit::plan::{Internalization, Promote};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Checked, Lab, kernel};

/// A kernel of `p.x` items.
fn flat(names: &str, body: &str) -> String {
    kernel(names, "16", &format!("let i = gid.x; if (i >= p.x) {{ return; }} {body}"))
}

/// Places that are not the items' own.
const READS: [&str; 3] =
    ["a[p.x - 1u - i] ^ a[i]", "a[p.x - 1u - (i ^ 1u)] + a[i]", "a[(i * 7u + 3u) % p.x] * 3u"];

/// A rotation: the stores of an item, which differ in more than constants.
fn rotation(first: &str, second: &str) -> String {
    format!(
        "let s = b[k] + 1u; let x = a[{first}]; let y = a[{second}]; z[{first}] = x * s - y * 7u; z[{second}] = x * 5u + y * s + i;"
    )
}

/// Ways to say which two elements an item has, by items, their number, what is pushed, and how many elements that makes.
fn pairs() -> Vec<(String, u32, [u32; 3])> {
    let mut all = Vec::new();
    for n in [40, 37] {
        // Neighbours, two halves of all, and both the other way round.
        for (first, second) in
            [("2u * i", "2u * i + 1u"), ("2u * i + 1u", "2u * i"), ("i", "i + p.x"), ("i + p.x", "i")]
        {
            let body = format!("let k = i % 8u; {}", rotation(first, second));
            all.push((flat("a b z", &body), n, [n, 0, 0]));
        }
    }
    // Heads of 16 elements: halves of these, by numbers of the kernel and of the call.
    for (half, push) in
        [("8u", [40, 0, 0]), ("p.y", [40, 8, 0]), ("p.y", [60, 5, 0]), ("(p.y / 2u)", [40, 8, 0])]
    {
        let body = format!(
            "let half = {half}; let k = i % half; let at = i / half * (half * 2u) + k; {}",
            rotation("at", "at + half")
        );
        all.push((flat("a b z", &body.replace("at + half", "(at + half)")), push[0], push));
    }
    all
}

/// A producer with several stores an item to buffer 2, and a kernel that reads `m` of its elements as `read` says.
fn lab(text: &str, items: u32, push: [u32; 3], (read, m): (&str, u32), promote: Promote) -> Checked {
    Lab::rewriting(160)
        .promote(2, promote)
        .submit(text, [items.div_ceil(16), 1, 1], &[0, 1, 2], &push)
        .submit(&flat("a b z", &format!("z[i] = {read};")), [m.div_ceil(16), 1, 1], &[2, 0, 3], &[m])
        .check()
}

/// Demands that a kernel is not recomputed, for this reason.
#[track_caller]
fn refuses(text: &str, items: u32, push: [u32; 3], m: u32, why: &str) {
    println!("{text}");
    let checked = lab(text, items, push, (READS[0], m), Promote::None);
    let tried = checked.stays_apart(2).map(ToString::to_string).unwrap_or_default();
    assert!(tried.contains(why), "{tried}");
}

probes! {
    fn the_elements_of_an_item_are_worked_out_wherever_they_are() {
        for (text, items, push) in pairs() {
            for read in READS {
                for promote in [Promote::None, Promote::Auto] {
                    println!("{push:?} {read}: {text}");
                    let checked = lab(&text, items, push, (read, 2 * items), promote).fused(0).works_out(&[(1, 0)]);
                    if promote == Promote::Auto {
                        checked.inside(2, Internalization::Private);
                    }
                }
            }
        }
    }

    /// Some elements of the second of two kernels are those of the first store alone.
    fn a_load_of_one_store_has_the_value_of_that() {
        let neighbours = flat("a b z", &format!("let k = i % 8u; {}", rotation("2u * i", "2u * i + 1u")));
        let halves = flat("a b z", &format!("let k = i % 8u; {}", rotation("i", "(i + p.x)")));
        for (text, read) in [
            (&neighbours, "a[2u * (p.x - 1u - i)] * 3u + a[2u * i + 1u]"),
            (&neighbours, "a[4u * (i / 2u) + 3u] + a[4u * (i / 3u)]"),
            (&halves, "a[p.x - 1u - i] + a[p.x + i] * 3u"),
            (&halves, "a[i / 2u] ^ a[2u * p.x - 1u - i]"),
        ] {
            for promote in [Promote::None, Promote::Auto] {
                println!("{read}: {text}");
                lab(text, 40, [40, 0, 0], (read, 40), promote).fused(0).works_out(&[(1, 0)]);
            }
        }
    }

    /// Vectors of what is stored as scalars, and scalars of vectors.
    fn parts_of_what_several_stores_store_are_worked_out() {
        let pair = flat("a b z", &format!("let k = i % 8u; {}", rotation("2u * i", "2u * i + 1u")));
        let of_two = flat("a:vec2<u32> z:vec2<u32>", "z[i] = a[p.x - 1u - i] * vec2(3u, 5u);");
        let of_four = flat("a:vec4<u32> z:vec4<u32>", "z[i] = a[p.x - 1u - i] * vec4(3u, 5u, 7u, 9u);");
        for (text, m) in [(&of_two, 40), (&of_four, 20)] {
            Lab::rewriting(160)
                .submit(&pair, [3, 1, 1], &[0, 1, 2], &[40])
                .submit(text, [3, 1, 1], &[2, 3], &[m])
                .check().fused(0).works_out(&[(1, 0)]);
        }
        let vectors = kernel("a:vec4<u32> z:vec4<u32>", "16", "let i = gid.x; if (i >= p.x) { return; }
            let x = a[i]; let y = a[i + p.x]; z[i] = x * 3u - y; z[i + p.x] = vec4(x.yzw, i) + y * y;");
        let scalars = flat("a z", "z[i] = a[p.x - 1u - i] * 3u;");
        Lab::rewriting(160)
            .submit(&vectors, [2, 1, 1], &[0, 1], &[17])
            .submit(&scalars, [9, 1, 1], &[1, 2], &[136])
            .check().fused(0).works_out(&[(1, 0)]);
    }

    /// Floats, each as memory would have held it, and a constant.
    fn floats_of_several_stores_are_worked_out() {
        let rotary = kernel("a:f32 b:f32 z:f32", "16", "let i = gid.x; if (i >= p.x) { return; }
            let k = i % 8u; let at = i / 8u * 16u + k; let c = cos(b[k] * 0.01); let s = sin(b[k] * 0.01);
            let x = a[at]; let y = a[at + 8u]; z[at] = x * c - y * s; z[at + 8u] = x * s + y * c;");
        let plain = kernel("a:f32 b:f32 z:f32", "16", "let i = gid.x; if (i >= p.x) { return; }
            let x = a[i]; let y = b[i]; z[2u * i] = x * y; z[2u * i + 1u] = x - y;");
        let constant = kernel("a:f32 b:f32 z:f32", "16", "let i = gid.x; if (i >= p.x) { return; }
            z[2u * i] = a[i]; z[2u * i + 1u] = 1.5;");
        let sum = kernel("a:f32 b:f32 z:f32", "16", "let i = gid.x; if (i >= p.x) { return; }
            z[i] = a[2u * p.x - 1u - i] * b[i] + log(a[i]);");
        for text in [rotary, plain, constant] {
            Lab::rewriting(160)
                .submit(&text, [3, 1, 1], &[0, 1, 2], &[40])
                .submit(&sum, [3, 1, 1], &[2, 0, 3], &[40])
                .check().fused(0).works_out(&[(1, 0)]);
        }
    }

    /// Three and four stores; also over a grid, and an item whose rows are as long as there are columns.
    fn more_stores_than_two_are_worked_out() {
        let three = flat("a b z", "z[3u * i + 2u] = a[i] / 3u; z[3u * i] = b[i] ^ a[i]; z[3u * i + 1u] = b[i] - i;");
        let four = flat("a b z", "let v = a[i]; z[4u * i] = v & 255u; z[4u * i + 1u] = (v >> 8u) * 3u; z[4u * i + 2u] = v ^ b[i]; z[4u * i + 3u] = v + i;");
        for (text, n, m) in [(three, 40, 120), (four, 39, 156)] {
            for read in READS {
                lab(&text, n, [n, 0, 0], (read, m), Promote::Auto).fused(0).works_out(&[(1, 0)]);
            }
        }
        for stores in ["z[2u * at] = a[at] + x; z[2u * at + 1u] = b[at] * y;", "let to = 2u * y * p.x + x; z[to] = a[at] * x; z[to + p.x] = b[at] - y;"] {
            let body = format!("let x = gid.x; let y = gid.y; if (x >= p.x || y >= p.y) {{ return; }} let at = y * p.x + x; {stores}");
            let text = kernel("a b z", "4, 4", &body);
            for [w, h] in [[8, 6], [7, 5]] {
                Lab::rewriting(160)
                    .submit(&text, [2, 2, 1], &[0, 1, 2], &[w, h])
                    .submit(&flat("a z", "z[i] = a[p.x - 1u - i] ^ a[i];"), [6, 1, 1], &[2, 3], &[2 * w * h])
                    .check().fused(0).works_out(&[(1, 0)]);
            }
        }
        // Items as far as a number that two ids make is below another.
        let most = kernel("a b z", "4, 4", "let i = gid.y * 8u + gid.x; if (i >= p.x) { return; } z[2u * i] = a[i] + gid.y; z[2u * i + 1u] = b[i] * gid.x;");
        let apart = kernel("a b z", "4, 4", "let i = gid.y * 8u + gid.x; if (i >= p.x) { return; } z[i] = a[i] + gid.y; z[i + p.x] = b[i] * gid.x;");
        for text in [most, apart] {
            for n in [32, 27] {
                Lab::rewriting(160)
                    .submit(&text, [2, 1, 1], &[0, 1, 2], &[n])
                    .submit(&flat("a z", "z[i] = a[p.x - 1u - i] ^ a[i];"), [2 * n.div_ceil(16), 1, 1], &[2, 3], &[2 * n])
                    .check();
            }
        }
    }

    /// Fewer elements than are read, and more: the others are loaded.
    fn what_no_store_stores_is_loaded() {
        let text = flat("a b z", &format!("let k = i % 8u; {}", rotation("2u * i", "2u * i + 1u")));
        for m in [80, 90, 96, 20] {
            lab(&text, 40, [40, 0, 0], ("a[i ^ 1u] * 5u", m), Promote::None);
            lab(&text, 40, [40, 0, 0], (READS[0], m), Promote::None);
        }
    }

    /// Gaps between elements of several stores, and elements that two stores have.
    fn stores_that_overlap_or_leave_gaps_are_not_worked_out() {
        let between = "between whose elements are gaps or other items'";
        for (body, m, why) in [
            ("z[i] = a[i]; z[i + p.x + 1u] = b[i] * 3u;", 80, between),
            // The same element twice: what is stored last counts.
            ("z[i] = a[i]; z[i + p.y] = b[i] * 3u;", 40, between),
            ("z[2u * i] = a[i]; z[2u * i + 3u] = b[i] / 3u;", 80, "gaps"),
            ("z[3u * i] = a[i]; z[3u * i + 1u] = b[i] / 3u;", 100, "gaps"),
            ("z[4u * i] = a[i]; z[4u * i + 1u] = b[i]; z[4u * i + 3u] = b[i] + 1u;", 100, "another distance"),
            ("z[i] = a[i]; z[2u * p.x - 1u - i] = b[i] * 3u;", 80, "no fixed distance"),
            ("let k = i % 8u; let at = i / 8u * 17u + k; z[at] = a[i]; z[at + 8u] = b[i] / 3u;", 80, "gaps"),
        ] {
            refuses(&flat("a b z", body), 40, [40, 0, 0], m, why);
        }
        // The items end within a head.
        let heads = "let k = i % 8u; let at = i / 8u * 16u + k; z[at] = a[i]; z[at + 8u] = b[i] * 3u;";
        refuses(&flat("a b z", heads), 37, [37, 0, 0], 74, "does not follow from ids alone");
    }

    /// Which items do a store has to be what it is of the others.
    fn stores_under_other_conditions_are_not_worked_out() {
        for body in [
            "z[2u * i] = a[i]; if (i < p.y) { z[2u * i + 1u] = b[i] / 3u; }",
            "if (i < p.y) { z[2u * i + 1u] = b[i] / 3u; } z[2u * i] = a[i];",
        ] {
            refuses(&flat("a b z", body), 40, [40, 36, 0], 80, "other conditions");
        }
        refuses(&flat("a b z", "z[2u * i] = a[i]; if (b[i] % 3u == 0u) { z[2u * i + 1u] = b[i] / 3u; }"), 40, [40, 0, 0], 80, "condition");
        let body = "z[2u * i] = a[i]; for (var k = 0u; k < 3u; k++) { z[2u * i + 1u] = b[i] / 3u + k; }";
        refuses(&flat("a b z", body), 40, [40, 0, 0], 80, "a loop");
        // A branch that numbers decide is none.
        let body = "if (p.y > 3u) { z[2u * i] = a[i]; z[2u * i + 1u] = b[i] / 3u; } else { z[i] = 3u; }";
        for (y, m) in [(4, 80), (3, 40)] {
            lab(&flat("a b z", body), 40, [40, y, 0], (READS[0], m), Promote::Auto).fused(0).works_out(&[(1, 0)]);
        }
    }

    /// Each of two buffers is recomputed for itself; both kernels go if neither is needed, and not before.
    fn stores_to_other_buffers_stay() {
        let both = flat("a b y z", "y[i] = a[i] * 3u; z[2u * i] = a[i] + b[i]; z[2u * i + 1u] = b[i] / 3u;");
        let read = flat("a b z", "z[i] = a[p.x - 1u - i] + a[i] * b[i];");
        for promote in [Promote::None, Promote::Auto] {
            // What is left in the other buffer is looked at.
            Lab::rewriting(160).promote(3, promote)
                .submit(&both, [3, 1, 1], &[0, 1, 2, 3], &[40])
                .submit(&read, [5, 1, 1], &[3, 0, 4], &[80])
                .check().fused(0).works_out(&[(1, 0)]);
            Lab::rewriting(160).promote(2, promote)
                .submit(&both, [3, 1, 1], &[0, 1, 2, 3], &[40])
                .submit(&read, [3, 1, 1], &[2, 0, 4], &[40])
                .check().fused(0).works_out(&[(1, 0)]);
        }
        // The two are read by one.
        Lab::rewriting(160)
            .submit(&both, [3, 1, 1], &[0, 1, 2, 3], &[40])
            .submit(&flat("a b z", "z[i] = a[p.x - 1u - i] + b[2u * p.x - 1u - i];"), [3, 1, 1], &[2, 3, 4], &[40])
            .check();
    }

    /// What an item reads after it has stored to it is not what it was.
    fn in_place_stores_are_not_worked_out() {
        for body in [
            "let x = z[i]; let y = z[i + p.x]; z[i] = x * 3u - y; z[i + p.x] = x + y * y;",
            "z[i] = a[i] * 3u; z[i + p.x] = z[i] + b[i];",
        ] {
            refuses(&flat("a b z", &format!("let o = a[i] + b[i]; {}", body.replace("x *", "o + x *"))), 40, [40, 0, 0], 80, "works in place");
        }
        // What it reads is written by the reader.
        let text = flat("a b z", &format!("let k = i % 8u; {}", rotation("2u * i", "2u * i + 1u")));
        let checked = Lab::rewriting(160)
            .submit(&text, [3, 1, 1], &[0, 1, 2], &[40])
            .submit(&flat("a b z", "z[i] = a[p.x - 1u - i] ^ b[i];"), [5, 1, 1], &[2, 3, 0], &[80])
            .check();
        assert!(matches!(checked.stays_apart(2), Some(RewriteReason::TooEarly { writes: true, other: 0, .. })));
    }

    /// A store that leaves its range under robust access stores nothing.
    fn stores_that_may_leave_their_range_are_not_worked_out() {
        let text = flat("a b z", &format!("let k = i % 8u; {}", rotation("2u * i", "2u * i + 1u")));
        let read = flat("a z", "z[i] = a[(i + 3u) % p.x];");
        for (len, works) in [(80, true), (79, false), (64, false)] {
            let mut lab = Lab::rewriting(160);
            lab.limits.robust = true;
            let lab = lab.submit_views(&text, [3, 1, 1], &[0.into(), 1.into(), (2, 0, len).into()], &[40]);
            let checked = lab.submit_views(&read, [4, 1, 1], &[(2, 0, 64).into(), 3.into()], &[64]).check();
            assert_eq!(!checked.plan.report.inlined.is_empty(), works, "{len}");
        }
    }

    /// Other front ends write the same stores.
    fn several_stores_of_other_front_ends_are_worked_out() {
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            for body in [
                "if (i >= p.x) return; uint x = a[i], y = b[i]; z[2 * i] = x * 3 - y; z[2 * i + 1] = x + y * y;",
                "if (i >= p.x) return; uint half_ = p.y, k = i % half_, at = i / half_ * 2 * half_ + k; uint x = a[at], y = a[at + half_]; z[at] = x * b[k] - y; z[at + half_] = x + y * b[k];",
                "uint k = i & 7u; if (i < p.x) { uint at = (i >> 3) * 16 + k; uint x = a[at], y = a[at + 8]; z[at + 8] = x * b[k] - y; z[at] = x + y * b[k]; }",
            ] {
                println!("{recipe}: {body}");
                let text = glsl(recipe, "a b z", "16", body);
                lab(&text, 40, [40, 8, 0], (READS[0], 80), Promote::Auto).fused(0).works_out(&[(1, 0)]);
            }
        }
    }

    /// A position in a cache, and scores that read all of it: what is new is recomputed, the rest is loaded.
    fn rotary_into_scores() {
        let rotary = kernel("a b z", "16", "let i = gid.x; if (i >= p.x / 2u) { return; } let k = i % 8u; let at = i / 8u * 16u + k;
            let x = a[at]; let y = a[at + 8u]; z[at] = x * b[k] - y * 3u; z[at + 8u] = x * 5u + y * b[k];");
        let scores = kernel("a b z", "16", "var<workgroup> part: array<u32, 16>;---
            part[lid.x] = a[wid.y * 16u + lid.x] * b[wid.x * p.x + wid.y / p.y * 16u + lid.x];
            workgroupBarrier();
            for (var step = 8u; step > 0u; step /= 2u) { if (lid.x < step) { part[lid.x] += part[lid.x + step]; } workgroupBarrier(); }
            if (lid.x == 0u) { z[wid.y * p.z + wid.x] = part[0]; }");
        for promote in [Promote::None, Promote::Auto] {
            Lab::rewriting(160)
                .promote(2, promote)
                .submit(&rotary, [2, 1, 1], &[0, 1, 2], &[64])
                .submit(&scores, [4, 4, 1], &[2, 3, 4], &[32, 2, 4])
                .check().fused(0).works_out(&[(1, 0)]);
        }
    }
}
