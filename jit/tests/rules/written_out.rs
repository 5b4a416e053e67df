//! Loops whose rounds are unrolled, as a whole or in part: which, and that they do what they did.

use vkfuse_jit::plan::{BlockCoarseningLimits, Internalization, Promote, UnrollLimits};

use super::lab::{Lab, kernel};
use super::rows::{reduce, spread};

/// `OpLoad`.
const LOAD: u32 = 61;

/// Has loops of `at_once` rounds at once keep `keep` words for each other.
fn keeping(mut lab: Lab, at_once: u32, keep: u32) -> Lab {
    lab.limits.unroll = UnrollLimits { rounds: 0, at_once, private_bytes: 256, keep, registers: 1 << 16 };
    lab
}

/// Five rows of `w` elements: a maximum and a sum of each, and what is made of them.
fn softmax(w: u32, rounds: u32, at_once: u32) -> Lab {
    let mut lab = Lab::new(u64::from(5 * w))
        .promote(1, Promote::Local)
        .promote(2, Promote::Auto)
        .promote(3, Promote::Local)
        .submit(&reduce("max(own, v)", "max(x, y)"), [5, 1, 1], &[0, 1], &[w])
        .submit(&spread("b[wid.x] - a[at]"), [5, 1, 1], &[0, 1, 2], &[w])
        .submit(&reduce("own + v", "x + y"), [5, 1, 1], &[2, 3], &[w])
        .submit(&spread("a[at] * 100u / (b[wid.x] + 1u)"), [5, 1, 1], &[2, 3, 4], &[w]);
    lab.limits.unroll = UnrollLimits { rounds, at_once, private_bytes: 256, ..UnrollLimits::default() };
    lab.limits.block_coarsening =
        BlockCoarseningLimits { work_groups: 2, least: 1, private_bytes: 1 << 10, shared_bytes: 0 };
    lab
}

/// A kernel that stores, behind its loop, a counter, what the test is made of, and what two rounds before was.
fn used_after_its_loop() -> String {
    kernel(
        "a z",
        "8",
        "var c = lid.x; var own = 0u; var before = 7u; var asked = 1u;
         loop {
             asked = c * 3u + own;
             if (c >= p.x) { break; }
             let v = a[wid.x * p.x + c];
             z[wid.x * p.x + c] = v + before;
             before = own;
             own += v;
             continuing { c += 8u; }
         }
         z[p.y + gid.x] = own * 5u + before + c + asked * 7u;",
    )
}

probes! {
    fn rows_are_registers_whatever_their_length() {
        // Of 8 invocations, whose rounds are as many, or one more for some.
        for w in [2, 3, 8, 9, 15, 16, 17, 31, 40, 64, 127, 128] {
            softmax(w, 16, 1).check().fused(2).inside(2, Internalization::Private);
        }
        softmax(129, 16, 1).check().fused(2).inside(2, Internalization::Local);
        softmax(129, 17, 1).check().fused(2).inside(2, Internalization::Private);
    }

    fn longer_loops_are_written_out_in_part() {
        for w in [7, 40, 64, 65, 71, 100, 127] {
            for at_once in [2, 3, 4, 8] {
                softmax(w, 0, at_once).check().fused(2).inside(2, Internalization::Local);
                softmax(w, 4, at_once).check().fused(2);
            }
        }
    }

    // Of 8 invocations: as many rounds, or one more for some. What is made of two rows has half as many words of each.
    fn long_loops_keep_the_words_of_their_first_rounds() {
        let two = |body: &str| kernel(
            "a b c z",
            "8",
            &format!("for (var k = lid.x; k < p.x; k += 8u) {{ let at = wid.x * p.x + k; {body} }}"),
        );
        let sum = "var own = 0u; for (var k = lid.x; k < p.x; k += 8u) { let at = wid.x * p.x + k; own += a[at] * b[at]; } z[gid.x] = own;";
        for w in [64, 100, 127, 200, 203] {
            for (at_once, keep) in [(2, 1), (2, 3), (2, 40), (3, 5), (4, 9)] {
                let rows = || keeping(softmax(w, 0, at_once), at_once, keep);
                let none = || keeping(softmax(w, 0, at_once), at_once, 0);
                // Both loops of the first two kernels, and two of theirs have to be left.
                let first = keep.min((w / 8).saturating_sub(4 * at_once));
                let is_more = rows().instructions(LOAD) > none().instructions(LOAD);
                assert_eq!(is_more, first > 0, "rows of {w}, {at_once} at once, {keep} kept");
                assert_eq!(none().planned_report().groups[0].may_keep > 0, w / 8 > 4 * at_once);
                rows().check().fused(2).inside(2, Internalization::Local);
                let pairs = || {
                    Lab::new(u64::from(5 * w))
                        .promote(2, Promote::Auto)
                        .submit(&kernel("a b z", "8", sum), [5, 1, 1], &[0, 1, 2], &[w])
                        .submit(&two("z[at] = a[at] - b[at] * c[gid.x];"), [5, 1, 1], &[0, 1, 2, 3], &[w])
                };
                keeping(pairs(), at_once, keep).check().fused(0);
            }
        }
    }

    // Of a counter, of what the test is made of, and of what two rounds before was.
    fn values_of_loops_that_keep_words_are_used_after_them() {
        let last = used_after_its_loop();
        for w in [80, 100, 133] {
            for (at_once, keep) in [(2, 1), (2, 2), (2, 7)] {
                let lab = Lab::new(u64::from(5 * w + 40))
                    .submit(&spread("a[at] * 7u"), [5, 1, 1], &[0, 3, 1], &[w])
                    .submit(&last, [5, 1, 1], &[0, 4], &[w, 5 * w])
                    .submit(&last, [5, 1, 1], &[1, 5], &[w, 5 * w]);
                let lab = keeping(lab, at_once, keep);
                assert!(lab.planned_report().groups[0].may_keep > 0);
                lab.check().fused(0);
            }
        }
    }

    // Of each word `y` and each test `z` holds how often a round was done.
    fn first_rounds_are_done_once() {
        let counting = kernel(
            "a y z",
            "8",
            "var c = lid.x;
             loop {
                 z[gid.x] = z[gid.x] + 1u;
                 if (c >= p.x) { break; }
                 let at = wid.x * p.x + c;
                 y[at] = y[at] * 3u + a[at];
                 continuing { c += 8u; }
             }",
        );
        for w in [80, 100] {
            let lab = Lab::new(u64::from(5 * w))
                .submit(&counting, [5, 1, 1], &[0, 1, 2], &[w])
                .submit(&counting, [5, 1, 1], &[0, 3, 4], &[w]);
            let lab = keeping(lab, 2, 2);
            assert!(lab.planned_report().groups[0].may_keep > 0, "rows of {w}");
            lab.check().fused(0);
        }
    }

    fn only_what_several_loops_load_and_none_writes_is_kept() {
        let w = 200;
        let lists: [fn(Lab, u32) -> Lab; 4] = [
            // The row itself is written.
            |lab, w| {
                lab.submit(&reduce("max(own, v)", "max(x, y)"), [5, 1, 1], &[0, 1], &[w])
                    .submit(&spread("b[wid.x] - a[at]"), [5, 1, 1], &[0, 1, 0], &[w])
            },
            // By a third one.
            |lab, w| {
                lab.submit(&reduce("max(own, v)", "max(x, y)"), [5, 1, 1], &[0, 1], &[w])
                    .submit(&spread("b[wid.x] - a[at]"), [5, 1, 1], &[0, 1, 2], &[w])
                    .submit(&spread("b[wid.x] + a[at]"), [5, 1, 1], &[2, 1, 0], &[w])
            },
            // Of different rows.
            |lab, w| {
                lab.submit(&reduce("max(own, v)", "max(x, y)"), [5, 1, 1], &[0, 1], &[w])
                    .submit(&spread("b[wid.x] - a[at]"), [5, 1, 1], &[3, 1, 2], &[w])
            },
            // Of other elements in each round.
            |lab, w| {
                lab.submit(&reduce("max(own, v)", "max(x, y)"), [5, 1, 1], &[0, 1], &[w])
                    .submit(&spread("b[wid.x] - a[at ^ 1u]"), [5, 1, 1], &[0, 1, 2], &[w])
            },
        ];
        for (number, list) in lists.into_iter().enumerate() {
            let lab = |keep| keeping(list(Lab::new(u64::from(5 * w)).promote(1, Promote::Local), w), 2, keep);
            assert_eq!(lab(7).instructions(LOAD), lab(0).instructions(LOAD), "list {number}");
            assert!(!lab(0).planned_report().groups.iter().any(|group| group.may_keep > 0), "list {number}");
            lab(7).check();
        }
        // Without registers that are known, or with few.
        for (registers, keeps) in [(0, false), (8 * 64, false), (8 * 95, false), (8 * 96, true)] {
            let mut lab = keeping(softmax(w, 0, 2), 2, 7);
            lab.limits.unroll.registers = registers;
            assert_eq!(lab.planned_report().groups[0].may_keep > 0, keeps, "{registers} registers");
        }
    }

    /// Of equal numbers, zeros of both signs and NaNs, the same one is found.
    fn extrema_of_rounds_are_bit_by_bit_what_they_were() {
        let words: Vec<u32> = (0..1024u32)
            .map(|n| match n.wrapping_mul(2_654_435_761) >> 27 {
                0..9 => 0,
                9..18 => 1 << 31,
                18..24 => 0x7fc0_0000 + n,
                24 => 0xffc0_0000 + n,
                25 => 3 + (n & 1),
                26 => 0xff80_0000,
                _ => (1.0 + (n % 3) as f32).to_bits() ^ (n & 1) << 31,
            })
            .collect();
        let last = kernel("a z", "8", "z[gid.x] = a[gid.x] ^ 5u;");
        for extremum in ["max(m, v)", "max(v, m)", "min(m, v)", "min(v, m)"] {
            for beside in ["", "if m == v { n++; }", "n += bitcast<u32>(v);"] {
                let first = kernel(
                    "a z",
                    "8",
                    &format!(
                        "var m = bitcast<f32>(p.y); var n = 0u;
                         for (var c = lid.x; c < p.x; c += 8u) {{
                             let v = bitcast<f32>(a[wid.x * p.x + c]); m = {extremum}; {beside}
                         }}
                         z[gid.x] = bitcast<u32>(m) + n;"
                    ),
                );
                for (w, rounds, at_once) in [(64, 16, 1), (71, 16, 1), (128, 16, 1), (160, 2, 8), (200, 2, 16)] {
                    for start in [0, 1 << 31, 0xff80_0000, 0x7fc0_1234] {
                        let mut lab = Lab::new(1024)
                            .words(0, &words)
                            .promote(1, Promote::Auto)
                            .submit(&first, [5, 1, 1], &[0, 1], &[w, start])
                            .submit(&last, [5, 1, 1], &[1, 2], &[]);
                        lab.limits.unroll = UnrollLimits { rounds, at_once: at_once.max(8), private_bytes: 256, keep: 0, registers: 0 };
                        lab.check().fused(0);
                    }
                }
            }
        }
    }

    fn extrema_of_vectors_are_bit_by_bit_what_they_were() {
        let last = kernel("a:vec2<u32> z:vec2<u32>", "8", "z[gid.x] = a[gid.x] ^ vec2(5u);");
        for extremum in ["max(m, v)", "min(v, m)"] {
            let body = format!(
                "var m = vec2<f32>(-3.0, 4.0);
                 for (var c = lid.x; c < p.x; c += 8u) {{ let v = a[wid.x * p.x + c]; m = {extremum}; }}
                 z[gid.x] = bitcast<vec2<u32>>(m);"
            );
            let first = kernel("a:vec2<f32> z:vec2<u32>", "8", &body);
            for (w, rounds, at_once) in [(64, 16, 1), (71, 16, 1), (200, 2, 16)] {
                let mut lab = Lab::new(2048)
                    .promote(1, Promote::Auto)
                    .submit(&first, [5, 1, 1], &[0, 1], &[w])
                    .submit(&last, [5, 1, 1], &[1, 2], &[]);
                lab.limits.unroll = UnrollLimits { rounds, at_once: at_once.max(8), private_bytes: 256, keep: 0, registers: 0 };
                lab.check().fused(0);
            }
        }
    }

    /// Merge blocks that nothing leads to, as helpers that return on every way have them, are each round's own.
    fn rounds_have_their_own_unreachable_merge_blocks() {
        for body in [
            "if (x & 1u) == 0u { return x; } else { return x * 3u + y; }",
            "if y < 4u { return x; } else if y < 9u { return y; } else { return x ^ y; }",
            "switch y & 3u { case 0u: { return x; } case 1u, 2u: { return y; } default: { return x - y; } }",
            "if x > y { if y > 2u { return x; } else { return y; } } else { return 5u; }",
        ] {
            println!("{body}");
            let of = |at: &str| {
                let text = format!(
                    "fn f(x: u32, y: u32) -> u32 {{ {body} }}---
                     for (var k = 0u; k < 4u; k++) {{ z[4u * gid.x + k] = f(a[{at}], k) + k; }}"
                );
                kernel("a z", "8", &text)
            };
            let list = |rounds, at_once| {
                let mut lab = Lab::new(64)
                    .promote(1, Promote::Private)
                    .submit(&of("gid.x"), [2, 1, 1], &[0, 1], &[])
                    .submit(&of("4u * gid.x + k"), [2, 1, 1], &[1, 2], &[]);
                lab.limits.unroll = UnrollLimits { rounds, at_once, private_bytes: 256, ..UnrollLimits::default() };
                lab.check().fused(0).inside(1, Internalization::Private)
            };
            list(16, 1);
            list(0, 2);
        }
    }

    // A kernel of the group that only goes from memory to memory, before and after those that keep their rows.
    fn what_only_streams_need_not_be_written_out_as_a_whole() {
        for w in [40, 64, 100] {
            for at_once in [1, 2, 4] {
                let mut lab = Lab::new(u64::from(5 * w))
                    .promote(2, Promote::Auto)
                    .submit(&spread("a[at] * 7u + b[wid.x]"), [5, 1, 1], &[0, 3, 1], &[w])
                    .submit(&spread("a[at] ^ b[wid.x]"), [5, 1, 1], &[1, 3, 2], &[w])
                    .submit(&spread("a[at] * 3u + b[wid.x]"), [5, 1, 1], &[2, 3, 4], &[w])
                    .submit(&spread("a[at] + b[wid.x]"), [5, 1, 1], &[4, 3, 5], &[w]);
                lab.limits.unroll = UnrollLimits { rounds: 16, at_once, private_bytes: 256, ..UnrollLimits::default() };
                // Of what is unrolled in part, a loop and what is left of it.
                let loops = if at_once > 1 && w / 8 / at_once >= 2 { 4 } else { 2 };
                assert_eq!(lab.loops(), loops, "rows of {w}, {at_once} at once");
                lab.check().fused(0).inside(2, Internalization::Private);
            }
        }
    }

    fn registers_of_an_invocation_are_limited() {
        for (bytes, kind) in [(32, Internalization::Private), (28, Internalization::Local)] {
            let mut lab = softmax(64, 16, 1);
            lab.limits.unroll.private_bytes = bytes;
            lab.check().fused(2).inside(2, kind);
        }
    }

    // Halves that are halved, counts that are doubled, and what never ends or is not for constants to say.
    fn loops_over_constants_are_written_out() {
        let steps = [
            ("var s = 4u", "s > 0u", "s /= 2u"),
            ("var s = 4u", "s != 0u", "s = s >> 1u"),
            ("var s = 1u", "s < 8u", "s *= 2u"),
            ("var s = 1u", "s <= 4u", "s = s << 1u"),
            ("var s = 4u", "0u < s", "s /= 2u"),
            ("var s = p.y", "s > 0u", "s /= 2u"),
        ];
        for (begin, test, step) in steps {
            let tree = kernel(
                "a z",
                "8",
                &format!(
                    "var<workgroup> part: array<u32, 8>;---
                     part[lid.x] = a[gid.x];
                     workgroupBarrier();
                     for ({begin}; {test}; {step}) {{
                         let other = part[(lid.x + s) & 7u];
                         workgroupBarrier();
                         part[lid.x] = part[lid.x] * 3u + other + s;
                         workgroupBarrier();
                     }}
                     z[gid.x] = part[lid.x];"
                ),
            );
            for at_once in [1, 2] {
                let mut lab = Lab::new(40)
                    .promote(1, Promote::Auto)
                    .submit(&kernel("a z", "8", "z[gid.x] = a[gid.x] * 5u;"), [5, 1, 1], &[0, 1], &[])
                    .submit(&tree, [5, 1, 1], &[1, 2], &[0, 4]);
                lab.limits.unroll = UnrollLimits { rounds: 16, at_once, private_bytes: 256, ..UnrollLimits::default() };
                lab.check().fused(0);
            }
        }
    }

    // `z` counts how often each invocation has come to the test.
    fn what_is_done_before_a_test_is_done_as_often() {
        for w in [16, 20] {
            let counting = kernel(
                "a y z",
                "8",
                "var c = lid.x;
                 loop {
                     z[gid.x] = z[gid.x] + 1u;
                     if (c >= p.x) { break; }
                     y[wid.x * p.x + c] = a[wid.x * p.x + c] * 3u;
                     continuing { c += 8u; }
                 }",
            );
            for at_once in [1, 2] {
                let mut lab = Lab::new(5 * w)
                    .promote(1, Promote::Auto)
                    .submit(&spread("a[at] * 7u"), [5, 1, 1], &[0, 3, 1], &[w as u32])
                    .submit(&counting, [5, 1, 1], &[1, 4, 5], &[w as u32]);
                lab.limits.unroll = UnrollLimits { rounds: 16 / at_once / at_once / at_once, at_once, private_bytes: 256, ..UnrollLimits::default() };
                lab.check().fused(0);
            }
        }
    }

    // Of a counter, and of what the test is made of.
    fn values_of_a_loop_are_used_after_it() {
        let last = used_after_its_loop();
        for w in [5, 16, 20, 33] {
            for (rounds, at_once) in [(16, 1), (0, 2), (0, 3), (2, 2)] {
                let mut lab = Lab::new(u64::from(5 * w + 40))
                    .promote(1, Promote::Auto)
                    .submit(&spread("a[at] * 7u"), [5, 1, 1], &[0, 3, 1], &[w])
                    .submit(&last, [5, 1, 1], &[1, 4], &[w, 5 * w]);
                lab.limits.unroll = UnrollLimits { rounds, at_once, private_bytes: 256, ..UnrollLimits::default() };
                lab.check().fused(0);
            }
        }
    }

    // Two rounds apart: the limit is an invocation's own.
    fn rounds_that_differ_by_more_are_a_loop() {
        let uneven = kernel(
            "a z",
            "8",
            "for (var c = lid.x; c < lid.x * 8u + 3u; c += 8u) { z[wid.x * 80u + c] = a[wid.x * 80u + c] + 1u; }",
        );
        for (rounds, at_once) in [(16, 1), (2, 2)] {
            let mut lab = Lab::new(5 * 80)
                .promote(1, Promote::Auto)
                .submit(&uneven, [5, 1, 1], &[0, 1], &[])
                .submit(&uneven, [5, 1, 1], &[1, 2], &[]);
            lab.limits.unroll = UnrollLimits { rounds, at_once, private_bytes: 256, ..UnrollLimits::default() };
            lab.check();
        }
    }
}
