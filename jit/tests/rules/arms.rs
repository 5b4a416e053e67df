//! Selections: what a condition says of the value that is chosen where it holds.
//!
//! A kernel that reads a neighbour is given the value of that, instead of loading it, if its index stays among the elements
//! that were stored. Buffers have elements behind these.

use vkfuse_jit::plan::{Internalization, Promote, Report};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Checked, Lab, kernel};

/// A kernel over a grid of `p.x` columns and `p.y` rows, by what it reads of its neighbours.
fn grid(recipe: &str, value: &str) -> String {
    let ids = "uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y, w = p.x, h = p.y;";
    let body = format!("{ids} if (x >= w || y >= h) return; z[y * w + x] = {value};");
    glsl(recipe, "a z", "4, local_size_y = 4", &body)
}

/// Items, of elements that are 64.
const N: u32 = 45;

/// What reads a neighbour, in GLSL: `i` is below `p.x`.
fn reader(recipe: &str, read: &str) -> String {
    glsl(recipe, "a z", "8", &format!("if (i >= p.x) return; uint r = 0u; {read} z[i] = r;"))
}

fn read_by(text: &str, n: u32) -> Checked {
    let store = kernel("a z", "8", "let i = gid.x; if (i >= p.x) { return; } z[i] = a[i] * 3u + i;");
    Lab::rewriting(64)
        .promote(1, Promote::Auto)
        .submit(&store, [n.div_ceil(8), 1, 1], &[0, 1], &[n])
        .submit(text, [n.div_ceil(8), 1, 1], &[1, 2], &[n, 4, 7, u32::MAX])
        .check()
}

/// Demands that a kernel's neighbours are known to be among what was stored, or that they are not.
#[track_caller]
fn is_followed(text: &str, known: bool) {
    let checked = read_by(text, N);
    let got = checked.plan.report.buffers.iter().find(|b| b.buffer.0 == 1).map(|b| b.got);
    match known {
        true => drop(checked.fused(0).inside(1, Internalization::Private)),
        false => assert_eq!(got, Some(Internalization::None), "{text}"),
    }
    // Of one work-group, and without neighbours.
    for n in [1, 8] {
        read_by(text, n);
    }
}

probes! {
    /// By a comparison of what is chosen, in each spelling, and compiled in several ways.
    fn a_condition_bounds_what_it_chooses() {
        let spelled = [
            "i == 0u ? 0u : i - 1u",
            "i != 0u ? i - 1u : i",
            "i > 0u ? i - 1u : 0u",
            "0u < i ? i - 1u : 0u",
            "i < 1u ? 0u : i - 1u",
            "!(i > 0u) ? 0u : i - 1u",
            "i + 1u < p.x ? i + 1u : i",
            "i + 1u >= p.x ? i : i + 1u",
            "i == p.x - 1u ? i : i + 1u",
            "i != p.x - 1u ? i + 1u : 0u",
            "i < p.x - 1u ? i + 1u : p.x - 1u",
            "i >= 2u ? i - 2u : (i == 1u ? 0u : 1u - i) * 0u",
            "int(i) > 0 ? uint(int(i) - 1) : 0u",
            "int(i) - 1 < 0 ? 0u : uint(int(i) - 1)",
            "uint(int(i) - 1 >= 0 ? int(i) - 1 : 0)",
            "uint(int(i) + 1 < int(p.x) ? int(i) + 1 : int(p.x) - 1)",
            // What is compared is not what is chosen, but follows from it.
            "2u * i >= 2u ? i - 1u : 0u",
            "i >= 4u && i + 4u < p.x ? i + 4u - 4u * (i & 1u) : i",
            // A remainder is at most what is divided.
            "i % p.z == 0u ? i : i - 1u",
            "i % p.z != 0u ? i - 1u : 0u",
            "i % 5u >= 3u ? i - 3u : i",
            "i < 4u || i + 4u >= p.x ? i : i - 4u",
            "!(i < 4u || p.x <= i) ? i - 4u : i",
            // One inside the other.
            "i == 0u ? 0u : i + 1u == p.x ? p.x - 1u : i + 1u",
            "i + 1u < p.x ? i + 2u < p.x ? i + 2u : i + 1u : i",
        ];
        for (number, index) in spelled.into_iter().enumerate() {
            for recipe in ["", RECIPES[1 + number % 4]].into_iter().filter(|_| is_possible()) {
                is_followed(&reader(recipe, &format!("r = a[{index}] + a[i];")), true);
            }
        }
    }

    /// Where it holds for other elements than those that were stored.
    fn a_condition_says_nothing_of_the_other_arm() {
        let spelled = [
            "i + 1u < p.x ? i : i + 1u",
            "i == 0u ? i + p.x : i - 1u",
            "i > 0u ? i - 1u : p.x",
            "i + 1u <= p.x ? i + 1u : i",
            "int(i) + 1 < int(p.x) + 1 ? i + 1u : i",
            "i != p.x ? i + 1u : i",
            "!(i + 1u < p.x) ? i + 1u : i",
            // Of one of the conditions nothing is known.
            "i + 1u < p.x || p.y == 4u ? i + 1u : i",
            "!(i + 1u < p.x && i > 0u) ? i + 1u : i",
            // By another number than what is chosen.
            "i * p.z % 5u < 4u ? i + 1u : i",
            "i % p.z < 6u ? i + 1u : i",
            "i % p.z >= 1u ? i + 1u : i",
            "(i ^ 1u) < p.x ? i + 1u : i",
        ];
        for (number, index) in spelled.into_iter().enumerate() {
            for recipe in ["", RECIPES[1 + number % 4]].into_iter().filter(|_| is_possible()) {
                is_followed(&reader(recipe, &format!("r = a[{index}] + a[i];")), false);
            }
        }
    }

    /// The same in WGSL, as `select` and as `if`.
    fn a_condition_bounds_what_it_chooses_in_wgsl() {
        let body = |read: &str| kernel("a z", "8", &format!("let i = gid.x; if (i >= p.x) {{ return; }} {read} z[i] = a[j] + a[i];"));
        for (read, known) in [
            ("let j = select(i - 1u, 0u, i == 0u);", true),
            ("let j = select(0u, i - 1u, i > 0u);", true),
            ("let j = select(i, i + 1u, i + 1u < p.x);", true),
            ("let j = u32(select(0, i32(i) - 1, i32(i) > 0));", true),
            ("var j = 0u; if (i > 0u) { j = i - 1u; }", true),
            ("var j = i; if (i + 1u < p.x) { j = i + 1u; }", true),
            ("var j = i + 1u; if (j >= p.x) { j = p.x - 1u; }", true),
            ("var j = i32(i) - 1; if (j < 0) { j = 0; }", true),
            ("let j = select(i32(i) - 1, 0, i == 0u);", true),
            ("let j = select(vec2(i - 1u, 7u), vec2(0u, i), vec2(i == 0u, i > 7u)).x;", true),
            ("let j = select(i + 1u, i, i + 1u < p.x);", false),
            ("var j = i; if (i + 1u >= p.x) { j = i + 1u; }", false),
            ("let j = select(vec2(i, 7u), vec2(i + 1u, i), vec2(i > 7u, i + 1u < p.x)).x;", false),
        ] {
            is_followed(&body(read), known);
        }
    }

    /// Where words wrap, what is compared is another number.
    fn conditions_on_words_that_wrap() {
        if !is_possible() {
            return;
        }
        // False where it wraps, true where it wraps, and true wherever it does not.
        for (read, known) in [
            ("r = a[i - 1u < p.x ? i - 1u : i];", true),
            ("r = a[i - 1u >= p.x ? i : i - 1u];", true),
            ("r = a[uint(int(i) - 1) < p.x ? uint(int(i) - 1) : 0u];", true),
            ("if (i - 1u < p.x) r = a[i - 1u];", true),
            ("r = a[i - 2u < p.w ? p.x + 1u - i : 0u];", false),
            ("r = a[i - 1u <= p.w ? p.x - i : 0u];", false),
            ("r = a[i - 1u > p.x ? p.x : i - 1u];", false),
            ("r = a[i - 1u > 100u ? i + p.x : i];", false),
            ("r = a[i + 0x7fffffffu > 0x7fffffffu ? i + 1u : i];", false),
            ("r = a[int(i + 0x7fffffffu) < 0 ? i + 1u : i];", false),
            ("r = a[i - 1u + 1u > i ? p.x : i];", true),
        ] {
            let text = reader("", read);
            is_followed(&text, known);
        }
    }

    /// What is compared has changed before it is chosen.
    fn values_that_change_between_test_and_use() {
        if !is_possible() {
            return;
        }
        for (read, known) in [
            ("uint j = i; bool c = j + 1u < p.x; j = j + 2u; r = a[c ? j - 1u : i];", true),
            ("uint j = i; bool c = j + 1u < p.x; j = j + 2u; r = a[c ? j : i];", false),
            ("uint j = i; for (uint k = 0u; k < 3u; k++) { bool c = j + 1u < p.x; j += c ? 1u : 0u; r += a[j]; }", false),
            ("uint j = i; bool c = false; for (uint k = 0u; k < 2u; k++) { r += a[c ? j : i]; c = j + 1u < p.x; j = j + 1u; }", false),
            ("for (uint k = 0u; k < 3u; k++) { uint j = i + k; r += a[j < p.x ? j : i]; }", true),
            ("for (uint k = 0u; k < 3u; k++) { uint j = i + k; r += a[j < p.x ? j + 1u : i]; }", false),
            ("for (uint k = 0u; k < 3u; k++) { uint j = i - k; r += a[i < k ? i : j]; }", true),
            ("for (int k = -2; k < 3; k++) { int j = int(i) + k; r += a[j < 0 ? 0 : j >= int(p.x) ? int(p.x) - 1 : j]; }", true),
            ("for (int k = -2; k < 3; k++) { int j = int(i) + k; if (j < 0) j = 0; if (j >= int(p.x)) j = int(p.x) - 1; r += a[j]; }", true),
            ("for (int k = -2; k < 3; k++) { int j = int(i) + k; if (j >= 0 && j < int(p.x)) r += a[j]; }", true),
            ("for (int k = -2; k < 3; k++) { int j = int(i) + k; if (j >= 0 && j <= int(p.x)) r += a[j]; }", false),
            // What the last round has tested.
            ("uint j = i; for (uint k = 0u; k < p.y; k++) { if (j + 1u < p.x) { j = j + 1u; } } r = a[j];", false),
        ] {
            for recipe in RECIPES {
                let text = reader(recipe, read);
                is_followed(&text, known);
            }
        }
    }

    /// A blur along rows, one along columns and what is done to each element: as it is with clamps.
    fn a_blur_by_choices_is_fused_like_one_by_clamps() {
        if !is_possible() {
            return;
        }
        let sides = |left: &str, right: &str, up: &str, down: &str| {
            let along_x = format!("a[y * w + ({left})] + 2u * a[y * w + x] + a[y * w + ({right})]");
            let along_y = format!("a[({up}) * w + x] + 2u * a[y * w + x] + a[({down}) * w + x]");
            [along_x, along_y]
        };
        let clamped = sides("max(x, 1u) - 1u", "min(x + 1u, w - 1u)", "max(y, 1u) - 1u", "min(y + 1u, h - 1u)");
        let chosen = [
            sides("x == 0u ? 0u : x - 1u", "x + 1u < w ? x + 1u : x", "y == 0u ? 0u : y - 1u", "y + 1u < h ? y + 1u : y"),
            sides("x > 0u ? x - 1u : 0u", "x == w - 1u ? x : x + 1u", "y > 0u ? y - 1u : 0u", "y == h - 1u ? y : y + 1u"),
            sides("int(x) > 0 ? int(x) - 1 : 0", "int(x) + 1 < int(w) ? int(x) + 1 : int(w) - 1", "int(y) - 1 < 0 ? 0 : int(y) - 1", "int(y) >= int(h) - 1 ? int(y) : int(y) + 1")
                .map(|text| text.replace(") * w", ") * int(w)").replace("y * w", "int(y) * int(w)").replace("* int(w) + x", "* int(w) + int(x)")),
        ];
        for (recipe, (w, h)) in [("", (13, 9)), ("opt -O", (13, 9)), ("", (8, 8)), ("-Od", (1, 5)), ("", (6, 1))] {
            let list = |[along_x, along_y]: &[String; 2]| {
                let groups = [u32::div_ceil(w, 4), u32::div_ceil(h, 4), 1];
                let lab = Lab::rewriting(128).promote(1, Promote::Auto).promote(2, Promote::Auto);
                lab.submit(&grid(recipe, along_x), groups, &[0, 1], &[w, h])
                    .submit(&grid(recipe, along_y), groups, &[1, 2], &[w, h])
                    .submit(&grid(recipe, "a[y * w + x] * 5u + x"), groups, &[2, 3], &[w, h])
                    .check()
            };
            let expected = list(&clamped).plan.report;
            for one in &chosen {
                let found = list(one).plan.report;
                assert_eq!((&found.inlined, &found.groups, &found.splits), (&expected.inlined, &expected.groups, &expected.splits), "{one:?} {w} {h}");
                let got = |report: &Report| report.buffers.iter().map(|b| b.got).collect::<Vec<_>>();
                assert_eq!(got(&found), got(&expected), "{one:?} {w} {h}");
                if w == 13 {
                    assert_eq!(found.groups.len(), 1, "{found:?}");
                    assert!(found.buffers.iter().all(|b| b.got == Internalization::Private), "{found:?}");
                }
            }
        }
    }
}
