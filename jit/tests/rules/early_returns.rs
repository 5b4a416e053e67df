//! Guards that are left early: by several returns, by functions with several returns, and by what these leave behind when they
//! are inlined and optimised.

use std::fmt::Write as _;

use vkfuse_jit::plan::{Internalization, Promote};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Checked, Lab, kernel};
use super::placed_blocks_random::Random;

const WIDTH: u32 = 7;
const HEIGHT: u32 = 5;

/// What turns items of a grid away, each of them once, and what more does so without need.
const AWAY: [&str; 4] = ["x >= p.x", "y >= p.y", "y * p.x + x >= p.x * p.y", "x + y > 900u"];

/// The ids of a grid, in GLSL.
const IDS: &str = "uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y;";

/// Each of these, joined.
fn each(away: &[&str], text: impl Fn(usize, &str) -> String) -> String {
    away.iter().enumerate().map(|(number, away)| text(number, away)).collect::<Vec<_>>().join(" ")
}

/// A function over `x` and `y`.
fn function(result: &str, body: &str) -> String {
    format!("{result} asked(uint x, uint y) {{ {body} }} ---")
}

/// Ways to store where none of these holds; what stands before dashes is a function.
fn spelled(away: &[&str]) -> Vec<String> {
    let returns = |first: &str, last: &str| {
        let ifs = each(away, |number, away| {
            format!("if ({away}) return {};", first.replace('#', &(number + 1).to_string()))
        });
        format!("{ifs} return {last};")
    };
    let ternary =
        away.iter().rev().fold("true".to_owned(), |rest, away| format!("({away}) ? false : ({rest})"));
    let nested =
        away.iter().rev().fold("STORE".to_owned(), |rest, away| format!("if (!({away})) {{ {rest} }}"));
    vec![
        format!("{} STORE", each(away, |_, away| format!("if ({away}) return;"))),
        format!("if ({}) return; STORE", away.join(" || ")),
        nested,
        format!("bool ok = {ternary}; if (!ok) return; STORE"),
        format!(
            "bool ok = true; {} if (ok) {{ STORE }}",
            each(away, |_, away| format!("if ({away}) ok = false;"))
        ),
        format!("{} if (asked(x, y)) return; STORE", function("bool", &returns("true", "false"))),
        format!("{} if (asked(x, y)) {{ STORE }}", function("bool", &returns("false", "true"))),
        format!("{} if (asked(x, y) > 0) return; STORE", function("int", &returns("#", "0"))),
        format!("{} if (0 == asked(x, y)) {{ STORE }}", function("int", &returns("#", "0"))),
        format!(
            "uint f = 0u; {} if (f != 0u) return; STORE",
            each(away, |number, away| format!("if ({away}) f |= {}u;", 1 << number))
        ),
        format!(
            "if (({}) == 0u) {{ STORE }}",
            away.iter().map(|away| format!("uint({away})")).collect::<Vec<_>>().join(" | ")
        ),
        format!(
            "if (({}) != 0u) {{ STORE }}",
            away.iter().map(|away| format!("uint(!({away}))")).collect::<Vec<_>>().join(" & ")
        ),
    ]
}

/// A kernel over a grid that stores in one of these ways.
fn stores(recipe: &str, way: &str) -> String {
    let way = way.replace("STORE", "z[y * p.x + x] = a[y * p.x + x] * 3u + x;");
    let (function, way) = way.split_once("---").unwrap_or(("", &way));
    glsl(recipe, "a z", "4, local_size_y = 4", &format!("{function} --- {IDS} {way}"))
}

/// What becomes of a kernel that stores, and of one that reads all of the grid.
fn read_after(recipe: &str, way: &str) -> Checked {
    let reads = kernel(
        "a z",
        "4, 4",
        "let x = gid.x; let y = gid.y; if (x >= p.x || y >= p.y) { return; } z[y * p.x + x] = a[y * p.x + x] ^ (x + 7u * y);",
    );
    Lab::new(64)
        .promote(1, Promote::Private)
        .submit(&stores(recipe, way), [2, 2, 1], &[0, 1], &[WIDTH, HEIGHT])
        .submit(&reads, [2, 2, 1], &[1, 2], &[WIDTH, HEIGHT])
        .check()
}

/// Whether what is stored stays in memory.
fn stays(checked: &Checked) -> bool {
    checked.plan.report.buffers.iter().any(|b| b.buffer.0 == 1 && b.got == Internalization::None)
}

probes! {
    /// By up to four conditions, in each spelling and compiled in several ways.
    fn guards_that_are_left_early_are_followed() {
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            for count in 2..=AWAY.len() {
                // The first two are needed.
                for way in spelled(&AWAY[..count]) {
                    let checked = read_after(recipe, &way).fused(0);
                    assert!(!stays(&checked), "{recipe}: {way}");
                }
            }
        }
    }

    /// One condition more, wherever it stands, and not all of the grid is stored.
    fn guards_that_turn_more_away_are_seen() {
        for recipe in ["", "-Os"].into_iter().filter(|_| is_possible()) {
            for (at, more) in ["x == 3u", "a[x] > 140u", "y + 1u >= p.y"].into_iter().enumerate() {
                let mut away = AWAY[..2].to_vec();
                away.insert(at, more);
                for way in spelled(&away) {
                    assert!(stays(&read_after(recipe, &way)), "{recipe}: {way}");
                }
            }
        }
    }

    /// Two words that are both not zero may have no bit in common.
    fn flags_of_different_bits_are_not_both() {
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            for (first, second, both) in [(1, 1, true), (2, 1, false), (2, 2, false), (3, 1, false)] {
                let flags = format!("(x < p.x ? {first}u : 0u) & (y < p.y ? {second}u : 0u)");
                let checked = read_after(recipe, &format!("if (({flags}) != 0u) {{ STORE }}"));
                assert_eq!(!stays(&checked), both, "{recipe}: {flags}");
            }
        }
    }

    /// What a loop finds is not known, and neither is which of its exits was taken.
    fn ways_through_loops_are_not_followed() {
        let guard = "if (x >= p.x || y >= p.y) return;";
        let ways = [
            "bool ok = true; for (uint k = 0u; k < 4u; k++) { if (a[x + k] > 130u) { ok = false; break; } } if (ok) { STORE }",
            "bool ok = false; for (uint k = 0u; k < 4u; k++) { if (a[x + k] < 30u) continue; if (k == x) { ok = true; break; } } if (!ok) { STORE }",
            "uint k = 0u; bool ok; do { if (k == x) { ok = true; break; } if (k + 3u == y) { ok = false; break; } k++; ok = k < 3u; } while (ok); if (!ok) { STORE }",
            "bool ok = true; for (uint k = 0u; k < 4u; k++) { if (x == k) ok = false; if (y == k) { ok = !ok; continue; } if (k > 2u) break; } if (ok) { STORE }",
        ];
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            for way in ways {
                let checked = read_after(recipe, &format!("{guard} {way}"));
                assert!(stays(&checked), "{recipe}: {way}");
            }
        }
    }

    /// Functions that return early, made at random: what they are followed to is what they do.
    fn random_functions_are_followed_to_what_they_do() {
        let conditions = ["x >= p.x", "y >= p.y", "x < p.x", "y < p.y", "x > 2u", "y != 3u", "a[x + y] > 130u", "x == y", "ok", "!ok", "k1 == x", "k2 == y"];
        for seed in 0..functions() {
            let mut text = String::new();
            statements(&mut Random(seed), 2, &conditions, &mut text);
            let asked = function("bool", &format!("bool ok = x < p.x && y < p.y; uint k1 = 0u, k2 = 0u; {text} return ok;"));
            for recipe in ["", "-Os"].into_iter().filter(|_| is_possible()) {
                read_after(recipe, &format!("{asked} if (x < p.x && y < p.y && asked(x, y)) {{ STORE }}"));
                read_after(recipe, &format!("{asked} if (x >= p.x || y >= p.y || asked(x, y)) return; STORE"));
            }
        }
    }

    /// The reason says what is so: nothing is known to be stored twice.
    fn what_is_not_followed_is_named() {
        let asked = |more: &str| function("bool", &format!("if (x >= p.x) return true; if (y >= p.y) return true; {more} return false;"));
        let (condition, rounds) =
            (Some("a store under a condition that is not followed"), Some("a store in rounds that are not followed"));
        let ways = [
            ("", "continue;", "", None),
            ("", "break;", "", None),
            ("if (a[x] > 140.0) return true;", "continue;", "", condition),
            ("if (x * y == 6u) return true;", "continue;", "", condition),
            ("", "return;", "", rounds),
            ("", "continue;", "if (s > 1e9) break;", rounds),
        ];
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            for (more, leave, last, named) in ways {
                let body = format!(
                    "{} for (uint j = 0u; j < 2u; j++) for (uint i = 0u; i < 2u; i++) {{
                         uint x = gl_GlobalInvocationID.x * 2u + i, y = gl_GlobalInvocationID.y * 2u + j;
                         if (asked(x, y)) {leave}
                         float s = 0.0; for (uint k = 0u; k < p.z; k++) s += a[y * p.z + k] * b[k * p.x + x];
                         z[y * p.x + x] = float16_t(s); {last} }}",
                    asked(more)
                );
                let stores = glsl(recipe, "a:float b:float z:float16_t", "4, local_size_y = 4", &body);
                let reads = "if (i >= p.x) return; z[i] = float(a[i]) + b[i % p.y];";
                let reads = glsl(recipe, "a:float16_t b:float z:float", "16", reads);
                let mut lab = Lab::rewriting(64).promote(2, Promote::Auto);
                lab.limits.small_scalars.float16 = true;
                let checked = lab
                    .submit(&stores, [1, 1, 1], &[0, 1, 2], &[WIDTH, HEIGHT, 5])
                    .submit(&reads, [3, 1, 1], &[2, 1, 3], &[WIDTH * HEIGHT, WIDTH])
                    .check();
                let Some(named) = named else {
                    checked.fused(0).appends(&[(1, 0)]);
                    continue;
                };
                let why = checked.cuts().join("; ");
                assert!(why.contains(named), "{recipe}, {more} {leave} {last}: {why}");
            }
        }
    }
}

/// How many functions.
fn functions() -> u64 {
    std::env::var("VKFUSE_FUNCTIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(24)
}

/// Some statements of a function that returns a truth.
fn statements(random: &mut Random, depth: u32, conditions: &[&str], text: &mut String) {
    for _ in 0..1 + random.below(3) {
        let (condition, other) = (random.one_of(conditions), random.one_of(conditions));
        match random.below(if depth == 0 { 4 } else { 7 }) {
            0 => drop(write!(text, "if ({condition}) return {other}; ")),
            1 => drop(write!(text, "if ({condition}) ok = {other}; ")),
            2 => drop(write!(text, "if ({condition}) return {}; ", random.one_in(2))),
            3 => drop(write!(text, "ok = ok && ({condition}); ")),
            4 => {
                // What is left early in a round.
                let leave = random.one_of(&["break", "continue"]);
                let _ = write!(text, "for (k{depth} = 0u; k{depth} < 3u; k{depth}++) {{ ");
                statements(random, depth - 1, conditions, text);
                let _ = write!(text, "if ({condition}) {leave}; ok = ok != ({other}); }} ");
            }
            kind => {
                let _ = write!(text, "if ({condition}) {{ ");
                statements(random, depth - 1, conditions, text);
                if kind == 5 {
                    let _ = write!(text, "}} else {{ ");
                    statements(random, depth - 1, conditions, text);
                }
                let _ = write!(text, "}} ");
            }
        }
    }
}
