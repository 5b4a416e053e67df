//! Loops that are tested behind what their rounds do, or in between; values that are used behind their loop; ways that are none.

use vkfuse_jit::Reason;
use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::plan::{Internalization, Limits, Promote};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Checked, Lab, compiled, kernel};

/// Four elements of each invocation, a work-group's size apart; `DO` stands for the work.
const WAYS: [&str; 12] = [
    "var j = 0u; loop { DO e += 8u; j++; if (j >= 4u) { break; } }",
    "var j = 0u; loop { DO e += 8u; continuing { j++; break if j >= 4u; } }",
    "var j = 0u; loop { DO continuing { e += 8u; j += 1u; break if !(j < 4u); } }",
    "var j = 0u; loop { DO e += 8u; if (j == 3u) { break; } j++; }",
    "var j = 0u; loop { DO if (j >= 3u) { break; } j++; e += 8u; }",
    "var j = 4u; loop { DO e += 8u; j--; if (j == 0u) { break; } }",
    "var j = 4i; loop { DO e += 8u; j -= 1i; if (j <= 0i) { break; } }",
    "var j = 3i; loop { DO e += 8u; j -= 1i; if (j < 0i) { break; } }",
    "var j = 1u; loop { DO e += 8u; j += 2u; if (j > 8u) { break; } }",
    "var j = 0u; loop { DO e += 8u; j++; if (j + 2u > 5u) { break; } }",
    "var j = 0u; loop { if ((e & 3u) == 1u) { z[e] = 0u; } DO e += 8u; j++; if (4u <= j) { break; } }",
    "var j = 0u; loop { if (e < 1000u) { DO } e += 8u; j++; if (j != 4u) { continue; } break; }",
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

fn list(limit: u64, text: &str, push: &[u32]) -> Lab {
    let mut lab = Lab::new(64);
    lab.limits = Limits { max_loop_rounds: Some(limit), ..lab.limits };
    lab.submit(text, [4, 1, 1], &[0, 1], push).submit(text, [4, 1, 1], &[2, 3], push)
}

fn bounded(limit: u64, text: &str, push: &[u32]) -> Checked {
    list(limit, text, push).check()
}

/// Demands that two of a kernel go round so often together, and no less.
#[track_caller]
fn rounds(text: &str, push: &[u32], rounds: u64) {
    bounded(rounds, text, push).fused(0);
    let reason = &bounded(rounds - 1, text, push).plan.report.splits[0].reason;
    assert_eq!(reason, &Reason::LoopRounds { limit: rounds - 1, unbounded: None });
}

/// Demands that no one knows how often a kernel goes round.
#[track_caller]
fn endless(text: &str, push: &[u32]) {
    // Some never end.
    let reason = &list(100_000, text, push).planned().plan.report.splits[0].reason;
    let Reason::LoopRounds { unbounded: Some(of), .. } = reason else { panic!("{reason}") };
    assert_eq!(of.kernel, "probe");
}

/// A kernel whose loop is `text`.
fn summing(text: &str) -> String {
    kernel("a z", "8", &format!("var s = a[gid.x]; {text} z[gid.x] = s;"))
}

probes! {
    /// Wherever a loop is tested, an invocation has the same elements, and has written all of them.
    fn elements_are_followed_wherever_a_loop_is_tested() {
        let front = "for (var j = 0u; j < 4u; j++) { DO e += 8u; }";
        for way in WAYS {
            println!("{way}");
            for (first, second) in [(way, front), (front, way), (way, way)] {
                let (write, read) = (each(first, "z[e] = a[e] + 1u;"), each(second, "z[e] = a[e] * 3u;"));
                pair(&write, &read, &[], Promote::Private).fused(0).inside(1, Internalization::Private);
            }
            let write = each(way, "z[e] = a[e] + 1u;");
            let shifted = each(way, "z[e] = a[(e + 32u) % 128u];");
            pair(&write, &shifted, &[], Promote::None).split(2, Write, Read);
        }
    }

    fn elements_are_followed_as_other_front_ends_write_them() {
        for way in [
            "uint j = 0u; do { DO e += 8u; j++; } while (j < 4u);",
            "uint j = 0u; do { DO e += 8u; } while (++j < 4u);",
            "uint j = 0u; do { DO e += 8u; } while (j++ < 3u);",
            "int j = 4; do { DO e += 8u; } while (--j > 0);",
            "int j = 3; do { DO e += 8u; } while (j-- > 0);",
            "uint j = 0u; do { DO e += 8u; } while (++j != 4u);",
            "for (uint j = 0u;;) { DO e += 8u; if (++j >= 4u) break; }",
            "uint j = 0u; while (true) { DO e += 8u; j += 1u; if (!(j < 4u)) break; }",
        ] {
            for recipe in RECIPES.iter().filter(|_| is_possible()) {
                println!("{recipe}: {way}");
                let of = |work: &str| {
                    glsl(recipe, "a z", "8", &format!("uint e = g * 32u + l; {}", way.replace("DO", work)))
                };
                let (write, read) = (of("z[e] = a[e] + 1u;"), of("z[e] = a[e] * 3u;"));
                pair(&write, &read, &[], Promote::Private).fused(0).inside(1, Internalization::Private);
            }
        }
    }

    /// One round is certain, whatever the test will say; how many are follows from what is compared.
    fn as_many_rounds_are_certain_as_there_are() {
        let at_end = "var j = 0u; loop { DO e += 8u; j++; if (j >= p.x) { break; } }";
        let times = |n: u32| format!("for (var j = 0u; j < {n}u; j++) {{ DO e += 8u; }}");
        for (given, done) in [(0, 1), (1, 1), (2, 2), (4, 4)] {
            let write = each(at_end, "z[e] = a[e] + 1u;");
            let read = |n| each(&times(n), "z[e] = a[e] * 3u;");
            pair(&write, &read(done), &[given], Promote::Private).fused(0).inside(1, Internalization::Private);
            if done < 4 {
                pair(&write, &read(done + 1), &[given], Promote::Private).refused(1);
            }
        }
        // Tested between two stores: the first happens once more.
        let between = "var j = 0u; loop { z[e] = a[e] + 1u; if (j >= 2u) { break; } z[e + 32u] = a[e]; e += 8u; j++; }";
        let text = kernel("a z", "8", &format!("var e = wid.x * 64u + lid.x; {between}"));
        let read = |first: u32, n: u32| {
            let rounds = times(n).replace("DO", "z[e] = a[e] * 3u;");
            kernel("a z", "8", &format!("var e = wid.x * 64u + lid.x + {first}u; {rounds}"))
        };
        let of = |first, n| {
            Lab::new(256).promote(1, Promote::Private).submit(&text, [4, 1, 1], &[0, 1], &[])
                .submit(&read(first, n), [4, 1, 1], &[1, 2], &[]).check()
        };
        of(0, 3).fused(0).inside(1, Internalization::Private);
        of(32, 2).fused(0).inside(1, Internalization::Private);
        of(0, 4).refused(1);
        of(32, 3).refused(1);
    }

    /// An exit that some rounds pass by bounds nothing.
    fn exits_that_rounds_pass_by_are_no_tests() {
        // No word of `a` has such a bit, which no one knows: there are eight rounds, not four.
        let way = "var e = wid.x * 64u + lid.x; var j = 0u; loop { z[e] = a[e] + 1u; e += 8u; \
                   if (a[lid.x] & 0x40000000u) != 0u { if (j >= 3u) { break; } } if (j >= 7u) { break; } j++; }";
        let read = kernel("a z", "8", "z[gid.x] = a[wid.x * 64u + 39u - lid.x];");
        let checked = Lab::new(128)
            .submit(&kernel("a z", "8", way), [2, 1, 1], &[0, 1], &[])
            .submit(&read, [2, 1, 1], &[1, 2], &[])
            .check();
        checked.fused(1);
    }

    fn rounds_of_loops_tested_at_their_end_are_counted() {
        // Seven rounds of each of the two kernels.
        for text in [
            "var k = 0u; loop { s = s * 3u + k; k++; if (k >= 7u) { break; } }",
            "var k = 0u; loop { s = s * 3u + k; continuing { k++; break if k >= 7u; } }",
            "var k = 0u; loop { s = s * 3u + k; if (k == 6u) { break; } k++; }",
            "var k = 6u; loop { s = s * 3u + k; if (k == 0u) { break; } k--; }",
            "var k = 0u; loop { if (s == 1u) { s = 2u; } s = s * 3u; k += 3u; if (k > 20u) { break; } }",
            "var k = -3i; loop { s = s * 3u; k += 1i; if (k >= 4i) { break; } }",
        ] {
            println!("{text}");
            rounds(&summing(text), &[], 14);
        }
        let given = summing("var k = 0u; loop { s = s * 3u + k; k++; if (k >= p.x) { break; } }");
        rounds(&given, &[7], 14);
        // At least one.
        rounds(&given, &[1], 2);
        rounds(&given, &[0], 2);
        // In loops around them.
        let nested = summing("var i = 0u; loop { var k = 0u; loop { s = s * 3u + k; k++; if (k >= 4u) { break; } } i++; if (i >= 3u) { break; } }");
        rounds(&nested, &[], 2 * (3 + 3 * 4));
        // Who would have to wrap to meet its limit is not followed.
        endless(&summing("var k = 5u; loop { s = s * 3u; if (s > 9u) { break; } k++; if (k == 5u) { break; } }"), &[]);
        endless(&summing("var k = 0u; loop { s = s * 3u; if (s > 9u) { break; } k += 2u; if (k == 7u) { break; } }"), &[]);
        endless(&summing("var k = 0u; loop { s = s * 3u; if (s > 9u) { break; } k += a[s & 7u]; if (k >= 7u) { break; } }"), &[]);
        // A round that leaves the step out may be any.
        endless(&summing("var k = 0u; loop { s = s * 3u + 1u; continuing { if (s & 1u) == 0u { k++; } break if k >= 7u; } }"), &[]);
    }

    /// A counter that the loops inside go on with begins anew nowhere: each of them is bounded by its own test.
    fn counters_may_be_shared() {
        let shared = summing("var k = 0u; for (var i = 0u; i < 3u; i++) { loop { s = s * 3u + k; k++; if (k >= 6u) { break; } } }");
        let known = bounded(1000, &shared, &[]);
        known.fused(0);
    }

    fn halving_loops_are_bounded_wherever_they_are_tested() {
        let most = 2 * 65;
        for text in [
            "var k = p.x; loop { s += k; k /= 2u; if (k == 0u) { break; } }",
            "var k = p.x; loop { s += k; k = k >> 1u; if (k < 1u) { break; } }",
            "var k = p.x; loop { s += k; continuing { k >>= 1u; break if !(k > 3u); } }",
            "for (var k = p.x; k >= 1u; k /= 2u) { s += k; }",
            "for (var k = p.x; k > 5u; k >>= 1u) { s += k; }",
            "for (var k = i32(p.x); k > 2i; k /= 2i) { s += u32(k); }",
            "for (var k = i32(p.x); 1i <= k; k = k >> 1u) { s += u32(k); }",
        ] {
            println!("{text}");
            rounds(&summing(text), &[1000], most);
        }
        // Zero is halved for ever, and so is -1 by shifts.
        for text in [
            "for (var k = p.x; k >= 0u; k /= 2u) { if (s > 9u) { break; } s = s * 2u + 1u; }",
            "for (var k = i32(p.x); k > -2i; k /= 2i) { if (s > 9u) { break; } s = s * 2u + 1u; }",
            "var k = p.x; loop { s = s * 2u + 1u; if (s > 9u) { break; } k >>= 1u; if (k == 7u) { break; } }",
        ] {
            println!("{text}");
            endless(&summing(text), &[1000]);
        }
    }

    fn doubling_loops_are_counted_wherever_they_are_tested() {
        // 1, 2, 4 … 64: seven rounds.
        for text in [
            "var k = 1u; loop { s += k; k *= 2u; if (k >= 100u) { break; } }",
            "var k = 1u; loop { s += k; continuing { k <<= 1u; break if !(k < 100u); } }",
            "var k = p.x; loop { s += k; if (k > 63u) { break; } k += k; }",
            "var k = p.x; loop { s += k; k = k * p.y; if (k > p.z) { break; } }",
        ] {
            println!("{text}");
            rounds(&summing(text), &[1, 2, 64], 14);
        }
        endless(&summing("var k = p.x; loop { s = s * 2u + 1u; if (s > 9u) { break; } k *= 2u; if (k >= 100u) { break; } }"), &[0]);
    }

    /// What is counted is known behind the loop, if every invocation goes round as often.
    fn counters_are_known_behind_their_loop() {
        let copy = kernel("a z", "8", "z[gid.x] = a[gid.x] * 3u;");
        let after = |text: &str, push: &[u32]| {
            let text = kernel("a z", "8", text);
            Lab::new(64).promote(1, Promote::Private).submit(&text, [8, 1, 1], &[0, 1], push)
                .submit(&copy, [8, 1, 1], &[1, 2], &[]).check()
        };
        for text in [
            "var k = 0u; var s = 0u; for (; k < 5u; k++) { s += a[gid.x] * k; } z[gid.x + k - 5u] = s;",
            "var k = 0u; var s = 0u; loop { s += a[gid.x] * k; k++; if (k >= 5u) { break; } } z[gid.x + k - 5u] = s;",
            "var k = 9u; var s = 0u; loop { s += a[gid.x] * k; if (k == 2u) { break; } k -= 1u; } z[gid.x + k - 2u] = s;",
            "var k = 0u; var s = 0u; for (; k < p.x; k += 4u) { s += a[gid.x] * k; } for (; k < p.y; k++) { s += k; } z[gid.x + k - p.y] = s;",
            "var e = 0u; var k = 0u; var s = 0u; loop { e = gid.x + p.x; s += a[gid.x] + k; k++; if (k >= 3u) { break; } } z[e - p.x] = s;",
            "var s = 0u; var last = 0u; for (var i = 0u; i < 3u; i++) { var k = 0u; for (; k < 4u; k++) { s += a[gid.x] + i; } last = k; } z[gid.x] = s + last;",
        ] {
            println!("{text}");
            after(text, &[8, 11]).fused(0).inside(1, Internalization::Private);
        }
        // Of invocations that go round more or less often it is the counter of none.
        for text in [
            "var k = 0u; for (; k < (a[gid.x] & 3u); k++) { } z[gid.x * 4u + k] = 1u; z[gid.x * 4u + 3u - k] = 2u;",
            "var k = 0u; for (; k < 3u; k++) { if (a[gid.x + k] & 1u) == 1u { break; } } z[gid.x * 4u + k] = 1u;",
        ] {
            println!("{text}");
            let write = kernel("a z", "8", text);
            let read = kernel("a z", "8", "z[gid.x] = a[gid.x * 4u + 3u];");
            let checked = Lab::new(64).promote(1, Promote::Private).submit(&write, [1, 1, 1], &[0, 1], &[])
                .submit(&read, [1, 1, 1], &[1, 2], &[]).check();
            checked.refused(1);
        }
    }

    /// Values that pass through the headers of nested loops unchanged are what they were.
    fn values_that_loops_pass_on_are_the_same() {
        if !is_possible() {
            return;
        }
        let body = "for (uint k = 0; k < 3; ++k) { for (uint n = 0; n < 4; ++n) { for (uint j = 0; j < 2; ++j) { \
                    z[((i * 4 + n) * 2 + j) * 3 + k] = a[(i * 4 + n) * 2 + j] * 2; } } }";
        for recipe in RECIPES {
            println!("{recipe}");
            let text = glsl(recipe, "a z", "8", body);
            let copy = kernel("a z", "8", "for (var k = 0u; k < 24u; k++) { z[gid.x * 24u + k] = a[gid.x * 24u + k]; }");
            Lab::new(16 * 24).promote(1, Promote::Private).submit(&text, [2, 1, 1], &[0, 1], &[])
                .submit(&copy, [2, 1, 1], &[1, 2], &[]).check().fused(0).inside(1, Internalization::Private);
        }
    }

    /// Ways that end in `OpUnreachable` are none: what happens on all others happens.
    fn unreachable_ways_are_none() {
        let copy = kernel("a z", "64", "z[gid.x] = a[gid.x] * 3u;");
        for name in [
            "switch_unreachable_default",
            "if_unreachable",
            "case_unreachable",
            "chain_unreachable",
            "nested_unreachable",
            "loop_unreachable",
        ] {
            println!("{name}");
            let mut lab = Lab::new(256).promote(1, Promote::Private);
            // Odd words have odd low bits, even ones even: the nested one leaves out the others.
            let words: Vec<u32> = (0..256).map(|word| word * 7 + 3).collect();
            lab = lab.words(0, &words);
            lab.submit_kernel(compiled(&format!("flow/{name}")), [4, 1, 1], &[0.into(), 1.into()], &[256])
                .submit(&copy, [4, 1, 1], &[1, 2], &[])
                .check()
                .fused(0)
                .inside(1, Internalization::Private);
        }
    }
}

/// The report says which loop has no bound, in which kernel and, if the module says so, in which line.
#[test]
fn the_report_names_the_loop() {
    let text = summing("var k = 0u; loop { s = s * 3u; k += a[s & 7u]; if (k >= 7u) { break; } }");
    let reason = &list(10, &text, &[]).planned().plan.report.splits[0].reason;
    assert_eq!(
        reason.to_string(),
        "driver limit: 10 loop iterations in one kernel; the trip count of a loop in probe is unknown"
    );
    if !is_possible() {
        return;
    }
    let body = "uint s = a[i];\nfor (uint n = 0u; n < 3u; ++n) { s = s * 5u; }\nuint k = 0u;\nwhile (k < 7u) {\nk += a[s & 7u];\n}\nz[i] = s + k;";
    let text = glsl("-g", "a z", "8", body);
    let line = 1 + text.lines().position(|line| line.starts_with("while")).expect("a loop");
    let reason = &list(10, &text, &[]).planned().plan.report.splits[0].reason;
    let expected = format!("the trip count of the loop in line {line} of probe is unknown");
    assert!(reason.to_string().ends_with(&expected), "{reason}, not {line}");
}

/// How a loop steps and where it is tested; `K` is the counter, `OP` the comparison, `N` what it is compared with.
const JUDGED: [(&str, Judged); 4] = [
    ("loop { if !(K OP N) { break; } s = s * 3u + 1u; K += STEP; }", Judged::Plain),
    ("loop { s = s * 3u + 1u; if !(K OP N) { break; } K += STEP; }", Judged::Plain),
    ("loop { s = s * 3u + 1u; K += STEP; if !(K OP N) { break; } }", Judged::Stepped),
    ("loop { s = s * 3u + 1u; continuing { K += STEP; break if !(K + 3 OP N); } }", Judged::Shifted),
];

/// What is compared in a round that begins with the counter.
#[derive(Clone, Copy)]
enum Judged {
    Plain,
    Stepped,
    Shifted,
}

/// How often a loop's test holds, if that is not very often, by doing it.
fn holds(judged: Judged, op: &str, signed: bool, (first, limit, step): (u32, u32, u32)) -> Option<u64> {
    let mut counter = first;
    for rounds in 0..3000 {
        let compared = match judged {
            Judged::Plain => counter,
            Judged::Stepped => counter.wrapping_add(step),
            Judged::Shifted => counter.wrapping_add(step).wrapping_add(3),
        };
        let order = match signed {
            true => (compared as i32).cmp(&(limit as i32)),
            false => compared.cmp(&limit),
        };
        let goes_on = match op {
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            ">" => order.is_gt(),
            ">=" => order.is_ge(),
            _ => order.is_ne(),
        };
        if !goes_on {
            return Some(rounds);
        }
        counter = counter.wrapping_add(step);
    }
    None
}

/// Trip counts against loops that are done: whatever words a loop begins and ends with, it is never taken to go round less often
/// than it does; and mostly it is known to go round as often as it does.
#[test]
fn trip_counts_are_what_loops_do() {
    let edges =
        [0, 1, 2, 5, 9, 100, (1 << 31) - 2, (1 << 31) - 1, 1 << 31, (1 << 31) + 3, u32::MAX - 1, u32::MAX];
    let (mut counted, mut known, mut seed) = (0, 0, 1u64);
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for (number, (text, judged)) in JUDGED.into_iter().enumerate() {
        for (at, op) in ["<", "<=", ">", ">=", "!="].into_iter().enumerate() {
            for signed in [false, true] {
                // Two of these for each form, in turn.
                for step in [[1, 3], [u32::MAX, 2], [1, u32::MAX - 1]][(number + at) % 3] {
                    let word = |word: u32| match signed {
                        true => format!("({}i)", i64::from(word as i32)),
                        false => format!("{word}u"),
                    };
                    let cast = if signed { "bitcast<i32>" } else { "" };
                    let three = text.replace("+ 3", if signed { "+ 3i" } else { "+ 3u" });
                    let text = three.replace("K", "k").replace("OP", op).replace("STEP", &word(step));
                    let text = text.replace('N', &format!("{cast}(p.y)"));
                    let kernel = summing(&format!("var k = {cast}(p.x); {text}"));
                    for _ in 0..12 {
                        let near = [0, 1, 4, 6, 60][random(5)];
                        let first = edges[random(edges.len())];
                        let limit = match random(2) {
                            0 => edges[random(edges.len())],
                            _ => first.wrapping_add(step.wrapping_mul(near)),
                        };
                        let real = holds(judged, op, signed, (first, limit, step));
                        // Each of the two kernels comes to its header once more than the test holds.
                        let both = 2 * (real.unwrap_or(3000) + 1);
                        let fuses =
                            |most| list(most, &kernel, &[first, limit]).planned().plan.steps.len() == 1;
                        assert!(!fuses(both - 1), "{kernel}\n{first} to {limit}: {real:?}");
                        counted += u32::from(real.is_some());
                        known += u32::from(real.is_some() && fuses(both));
                    }
                }
            }
        }
    }
    // Counters that come to their limit by wrapping are not followed.
    assert!(known * 2 > counted, "{known} of {counted} are known");
    println!("{known} of {counted} are known");
}
