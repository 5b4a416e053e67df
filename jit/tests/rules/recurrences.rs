//! Counters that are cast between signed and unsigned integers, and loops whose rounds follow from numbers by running their test.

use vkfuse_jit::Reason;
use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::plan::{Internalization, Limits, Promote};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Checked, Lab, kernel};

/// Four elements of each invocation, a work-group's size apart; `DO` stands for the work. Front ends that give signed sums a defined
/// overflow add unsigned words.
const CAST: [&str; 9] = [
    "for (var j = 0i; j < 4i; j = i32(u32(j) + 1u)) { DO e += 8u; }",
    "for (var j = 0i; j < 8i; j = bitcast<i32>(2u + bitcast<u32>(j))) { DO e += 8u; }",
    "for (var j = 4i; j > 0i; j = i32(u32(j) - 1u)) { DO e += 8u; }",
    "for (var j = 0u; i32(j) < 4i; j++) { DO e += 8u; }",
    "for (var j = 0i; u32(j) < 4u; j++) { DO e += 8u; }",
    "var j = -4i; loop { if (u32(j) == 0u) { break; } DO e += 8u; j = i32(u32(j) + 1u); }",
    "var j = 0i; loop { DO e += 8u; j = i32(u32(j) + 1u); if (j >= 4i) { break; } }",
    "var j = 0i; loop { DO e += 8u; continuing { j = i32(u32(j) + 2u); break if i32(u32(j) + 1u) > 8i; } }",
    "var j = 0i; loop { if (j >= 4i) { break; } DO e = u32(i32(e) + 8i); j = i32(u32(j) + 1u); }",
];

/// Loops that end, with the push constants and how often their test is asked.
const RUN: [(&str, [u32; 2], u64); 12] = [
    ("var n = 64u; for (var h = n >> 1u; h > 0u; h = n >> 1u) { n = h + (n & 1u); s += h; }", [0, 0], 7),
    (
        "var n = min(p.x, 64u); for (var h = n >> 1u; h > 0u; h = n >> 1u) { n = h + (n & 1u); s += h; }",
        [6, 0],
        4,
    ),
    (
        "var n = i32(p.x); for (var h = n / 2i; h > 0i; h = n / 2i) { n = i32(u32(h) + u32(n % 2i)); s += u32(h); }",
        [96, 0],
        8,
    ),
    (
        "var x = p.x; loop { if (x == 1u) { break; } if ((x & 1u) == 0u) { x /= 2u; } else { x = 3u * x + 1u; } s += x; }",
        [6, 0],
        9,
    ),
    ("var x = p.x; var y = p.y; while (y != 0u) { let r = x % y; x = y; y = r; s += r; }", [48, 18], 4),
    ("var x = 1u; var y = 1u; while (x + y < p.x) { let t = x + y; x = y; y = t; s += t; }", [100, 0], 10),
    ("var m = p.x; while (m != 0u) { m &= m - 1u; s += 1u; }", [0b1011, 0], 4),
    ("var x = p.x; loop { s += x; x = x - 1u - x / 3u; if (x <= p.y) { break; } }", [20, 2], 5),
    ("var n = i32(p.x); while (n < 0i) { n = n / 2i + max(n, -1i) + 1i; s += 1u; }", [0xffff_ffe0, 0], 7),
    (
        "var x = p.x; var k = 0u; while (select(x, k, k > 2u) != 3u) { x = x ^ k; k += 1u; s += x; }",
        [9, 0],
        4,
    ),
    ("var x = p.x; while (x > 1u && x != p.y) { x = x / 2u + x / 4u; s += x; }", [40, 16], 4),
    ("var x = p.x; while (x < 300u) { x = x + (x >> 1u); s += x; if (s == 12345u) { break; } }", [8, 0], 10),
];

/// Loops whose trip count is unknown, or known for some invocations only.
const UNKNOWN: [&str; 9] = [
    "var n = a[gid.x]; for (var h = n >> 1u; h > 0u; h = n >> 1u) { n = h + (n & 1u); s += h; }",
    "var n = gid.x; for (var h = n >> 1u; h > 0u; h = n >> 1u) { n = h + (n & 1u); s += h; }",
    "var n = p.x; for (var h = n >> 1u; h > 0u; h = n >> 1u) { n = h + (a[0] & 1u); s += h; }",
    "var n = p.x; while ((n >> 1u) > 0u) { n = (n >> 1u) + 1u; s += n; if (s > 9u) { break; } }",
    "var x = p.x; var y = p.x; while (y != 0u) { s += x; if (a[gid.x] > 3u) { y = x & 3u; } else { y = x & 1u; } x /= 2u; }",
    "for (var k = 0u; k < 3u; k++) { var n = k; for (var h = n >> 1u; h > 0u; h = n >> 1u) { n = h + (n & 1u); s += h; } }",
    "var x = 0u; while (x != 3000u) { x = (x ^ 1u) + (((x ^ 1u) & 1u) ^ 1u) * 2u; s += x; if (s > 9u) { break; } }",
    "var x = p.x; var y = p.x; while (y < 99u) { y += x; x = y >> x; s += x; if (s > 9u) { break; } }",
    "var part = array<u32, 2>(p.x, 0u); while (part[s & 1u] > 1u) { part[s & 1u] = part[s & 1u] / 2u + part[1]; s += 2u; }",
];

fn each(way: &str, work: &str) -> String {
    kernel("a z", "8", &format!("var e = wid.x * 32u + lid.x; {}", way.replace("DO", work)))
}

fn pair(first: &str, second: &str, promote: Promote) -> Checked {
    Lab::new(128)
        .promote(1, promote)
        .submit(first, [4, 1, 1], &[0, 1], &[])
        .submit(second, [4, 1, 1], &[1, 2], &[])
        .check()
}

/// A kernel whose loop is `text`.
fn summing(text: &str) -> String {
    kernel("a z", "8", &format!("var s = a[gid.x] * 0u; {text} z[gid.x] = s;"))
}

fn list(limit: u64, text: &str, push: &[u32]) -> Lab {
    let mut lab = Lab::new(64);
    lab.limits = Limits { max_loop_rounds: Some(limit), ..lab.limits };
    lab.submit(text, [4, 1, 1], &[0, 1], push).submit(text, [4, 1, 1], &[2, 3], push)
}

/// Demands that two of a kernel ask so often together, and no less.
#[track_caller]
fn rounds(text: &str, push: &[u32], rounds: u64) {
    list(rounds, text, push).check().fused(0);
    let reason = &list(rounds - 1, text, push).check().plan.report.splits[0].reason;
    assert_eq!(reason, &Reason::LoopRounds { limit: rounds - 1, unbounded: None });
}

/// Asserts that the trip count of a kernel's loop is unknown.
#[track_caller]
fn unknown(text: &str, push: &[u32]) {
    let reason = &list(100_000, text, push).planned().plan.report.splits[0].reason;
    let Reason::LoopRounds { unbounded: Some(of), .. } = reason else { panic!("{reason}") };
    assert_eq!(of.kernel, "probe");
}

probes! {
    fn casts_of_a_counter_keep_its_word() {
        let front = "for (var j = 0u; j < 4u; j++) { DO e += 8u; }";
        for way in CAST {
            println!("{way}");
            for (first, second) in [(way, front), (front, way), (way, way)] {
                let (write, read) = (each(first, "z[e] = a[e] + 1u;"), each(second, "z[e] = a[e] * 3u;"));
                pair(&write, &read, Promote::Private).fused(0).inside(1, Internalization::Private);
            }
            let write = each(way, "z[e] = a[e] + 1u;");
            let shifted = each(way, "z[e] = a[(e + 32u) % 128u];");
            pair(&write, &shifted, Promote::None).split(2, Write, Read);
        }
    }

    fn casts_of_a_counter_keep_its_word_whoever_compiles_them() {
        for way in [
            "for (int j = 0; j < 4; j = int(uint(j) + 1u)) { DO e += 8u; }",
            "for (uint j = 0u; int(j) < 4; j++) { DO e += 8u; }",
            "int j = 0; do { DO e += 8u; j = int(1u + uint(j)); } while (j < 4);",
            "int j = 4; while (uint(j) != 0u) { DO e += 8u; j = int(uint(j) - 1u); }",
            "int j = -2; while (j <= 1) { DO e = uint(int(e) + 8); j = int(uint(j) + 1u); }",
        ] {
            for recipe in RECIPES.iter().filter(|_| is_possible()) {
                println!("{recipe}: {way}");
                let of = |work: &str| {
                    glsl(recipe, "a z", "8", &format!("uint e = g * 32u + l; {}", way.replace("DO", work)))
                };
                let (write, read) = (of("z[e] = a[e] + 1u;"), of("z[e] = a[e] * 3u;"));
                pair(&write, &read, Promote::Private).fused(0).inside(1, Internalization::Private);
            }
        }
    }

    /// What a word means is said by the comparison: as an unsigned number, the first value is above the limit.
    fn a_cast_counter_means_what_it_is_compared_as() {
        let way = "for (var j = -2i; u32(j) < 2u; j = i32(u32(j) + 1u)) { DO e += 8u; }";
        let front = "for (var j = 0u; j < 4u; j++) { DO e += 8u; }";
        let (write, read) = (each(way, "z[e] = a[e] + 1u;"), each(front, "z[e] = a[e] * 3u;"));
        pair(&write, &read, Promote::Private).refused(1);
        rounds(&summing("for (var j = -2i; u32(j) < 2u; j = i32(u32(j) + 1u)) { s += 1u; }"), &[], 2);
        rounds(&summing("for (var j = -2i; j < 2i; j = i32(u32(j) + 1u)) { s += 1u; }"), &[], 10);
    }

    /// A narrower word is another one: this counter never leaves the limit behind.
    fn conversions_of_a_counter_do_not_keep_its_word() {
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            let body = "uint s = a[i] * 0u;
                        for (uint j = 0u; uint(uint8_t(j)) < 4u; j += 256u) { s++; if (s > 9u) { break; } }
                        z[i] = s;";
            unknown(&glsl(recipe, "a z", "8", body), &[]);
        }
    }

    fn loops_that_divide_or_multiply_cast_words_are_bounded() {
        rounds(&summing("for (var k = 64i; k > 0i; k = i32(u32(k) / 2u)) { s += u32(k); }"), &[], 130);
        rounds(&summing("for (var k = 1i; k < 64i; k = i32(u32(k) * 2u)) { s += u32(k); }"), &[], 14);
        rounds(&summing("for (var k = 1i; u32(k) < p.x; k = i32(u32(k) + u32(k))) { s += 1u; }"), &[64], 14);
    }

    /// What a loop's test depends on is run where it is numbers, whatever is done with them.
    fn rounds_are_counted_by_running_the_test() {
        for (text, push, asked) in RUN {
            println!("{text}");
            rounds(&summing(text), &push, 2 * asked);
        }
    }

    fn rounds_are_counted_by_running_the_test_whoever_compiles_it() {
        for (text, push, asked) in [
            ("uint n = 64u; for (uint h = n >> 1; h > 0u; h = n >> 1) { n = h + (n & 1u); s += h; }", [0, 0], 7),
            ("int n = min(int(p.x), 64); for (int h = n / 2; h > 0; h = n / 2) { n = h + n % 2; s += uint(h); }", [6, 0], 4),
            ("uint x = p.x, y = p.y; while (y != 0u) { uint r = x % y; x = y; y = r; s += r; }", [48, 18], 4),
            ("uint x = p.x; do { s += x; x = x - 1u - x / 3u; } while (x > p.y);", [20, 2], 5),
            ("uint x = p.x; while (x != 1u) { x = (x & 1u) == 0u ? x / 2u : 3u * x + 1u; s += x; }", [6, 0], 9),
        ] {
            for recipe in RECIPES.iter().filter(|_| is_possible()) {
                println!("{recipe}: {text}");
                let body = format!("uint s = a[i] * 0u; {text} z[i] = s;");
                rounds(&glsl(recipe, "a z", "8", &body), &push, 2 * asked);
            }
        }
    }

    fn rounds_that_depend_on_more_than_numbers_are_not_counted() {
        for text in UNKNOWN {
            println!("{text}");
            unknown(&summing(text), &[40, 1]);
        }
    }

    /// The numbers may be in a buffer, and a plan for some holds for no others.
    fn the_numbers_of_a_test_are_those_of_the_call() {
        let text = "var n = u_.n; for (var h = n >> 1u; h > 0u; h = n >> 1u) { n = h + (n & 1u); s += h; }";
        let text = kernel("a z u_", "8", &format!("var s = a[gid.x]; {text} z[gid.x] = s;"));
        let list = |limit, lab: Lab| {
            let mut lab = lab.submit(&text, [4, 1, 1], &[0, 1, 4], &[]).submit(&text, [4, 1, 1], &[2, 3, 4], &[]);
            lab.limits.max_loop_rounds = Some(limit);
            lab.check()
        };
        list(14, Lab::new(64).known(4, &[64])).fused(0);
        assert_eq!(list(13, Lab::new(64).known(4, &[64])).plan.steps.len(), 2);
        assert_eq!(list(14, Lab::new(64).known(4, &[65])).plan.steps.len(), 2);
        assert_eq!(list(1000, Lab::new(64).words(4, &[64])).plan.steps.len(), 2);
        let text = summing("var n = p.x; for (var h = n >> 1u; h > 0u; h = n >> 1u) { n = h + (n & 1u); s += h; }");
        let mut lab = Lab::new(64).submit(&text, [4, 1, 1], &[0, 1], &[64]).submit(&text, [4, 1, 1], &[2, 3], &[64]);
        lab.limits.max_loop_rounds = Some(14);
        assert!(lab.holds_with(&[&[64], &[64]]));
        assert!(!lab.holds_with(&[&[64], &[65]]));
    }
}
