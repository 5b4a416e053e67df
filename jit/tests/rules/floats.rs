//! Floats handed from one member to the next: which are hidden from the driver's compiler.
//!
//! A hidden float is combined with a push constant that is zero. So the probes run the fused list once more with
//! another word there, the sign bit, and count the results that change: each hidden float has another sign then.

use vkfuse_jit::plan::{FloatMode, Internalization, Promote, ShapeLimits, UnrollLimits};
use vkfuse_jit::{NoPushBuffer, Reason};

use super::glsl::{glsl, is_possible};
use super::lab::{Lab, kernel};

const N: u64 = 256;
const GROUPS: [u32; 3] = [4, 1, 1];
const SIGN: u32 = 1 << 31;

/// `t = sqrt(a + 1)`, which is never zero, then `body`, on buffers `a`, `t` and `o`.
fn pair(body: &str) -> Lab {
    let first = kernel("a t:f32", "64", "t[gid.x] = sqrt(f32(a[gid.x]) + 1.0);");
    let second = kernel("a t:f32 o:f32", "64", body);
    Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]).submit(&second, GROUPS, &[0, 1, 2], &[])
}

/// Words of `o` that a hidden float changes.
fn changed(lab: &Lab) -> usize {
    lab.seen_through(SIGN).expect("a list with hidden floats")[2]
}

/// The same of a list in which nothing need be hidden.
fn changed_if_any(lab: &Lab) -> usize {
    // What is hidden twice has the sign it had.
    let through = |word| lab.seen_through(word).map_or(0, |words| words[2]);
    through(SIGN).max(through(1 << 29))
}

/// A shape in which one invocation does four items.
fn wide(mut lab: Lab) -> Lab {
    lab.limits.shape = ShapeLimits { group_size: 64, items: 4, vectors: true, ..ShapeLimits::default() };
    lab
}

const DIVIDE: &str = "o[gid.x] = 1.0 / t[gid.x];";

probes! {
    fn what_stays_in_memory_is_hidden() {
        assert_eq!(changed(&pair(DIVIDE)), N as usize);
        assert_eq!(changed(&wide(pair(DIVIDE))), N as usize);
        pair(DIVIDE).check().fused(0);
        wide(pair(DIVIDE)).check().fused(0);
    }

    fn what_stays_inside_is_hidden() {
        for (promote, got) in
            [(Promote::Private, Internalization::Private), (Promote::Local, Internalization::Local)]
        {
            let first = kernel("a t:f32", "64", "t[gid.x] = sqrt(f32(a[gid.x]) + 1.0);");
            let second = kernel("t:f32 o:f32", "64", "o[gid.x] = 1.0 / t[gid.x];");
            let list = || {
                let lab = Lab::new(N).promote(1, promote).submit(&first, GROUPS, &[0, 1], &[]);
                lab.submit(&second, GROUPS, &[1, 2], &[])
            };
            assert_eq!(changed(&list()), N as usize, "{promote:?}");
            assert_eq!(changed(&wide(list())), N as usize, "{promote:?}, four items");
            list().check().fused(0).inside(1, got);
            wide(list()).check().fused(0).inside(1, got);
        }
    }

    fn narrow_numbers_are_hidden_as_words() {
        // Kernels that have them only in buffers may convert them and nothing else.
        if is_possible() {
            for (element, sign) in [("uint8_t", "uint"), ("int8_t", "int"), ("uint16_t", "uint"), ("int16_t", "int"), ("u16vec2", "uvec2"), ("i8vec4", "ivec4")] {
                let names = format!("a t:float m:{element}");
                let one = if element.contains("vec") { ".y" } else { "" };
                let body = format!("t[i] = uintBitsToFloat(a[i] + uint({sign}(m[i]){one}));");
                let first = glsl("", &names, "64", &body);
                let names = format!("b:float o:float m:{element}");
                let body = format!("o[i] = uintBitsToFloat(floatBitsToUint(b[i]) + uint({sign}(m[i]){one}));");
                let second = glsl("", &names, "64", &body);
                let list = Lab::new(N).submit(&first, GROUPS, &[0, 1, 2], &[]);
                list.submit(&second, GROUPS, &[1, 3, 2], &[]).check().fused(0);
            }
        }
    }

    fn what_both_read_is_hidden() {
        // The second member does not use what the first one made.
        let first = kernel("a:f32 t:f32", "64", "t[gid.x] = sqrt(a[gid.x]);");
        let second = kernel("a:f32 o:f32", "64", "o[gid.x] = floor(a[gid.x]) - a[gid.x];");
        let list = || Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]).submit(&second, GROUPS, &[0, 2], &[]);
        // One element in 61 is zero, and its negative as good as it.
        assert!(changed(&list()) > 240 && changed(&wide(list())) > 240);
        list().check().fused(0);
        wide(list()).check().fused(0);
    }

    fn what_only_one_reads_is_not() {
        let first = kernel("a:f32 t:f32", "64", "t[gid.x] = sqrt(a[gid.x]);");
        // The last is for the kernel's own compiler to see through, in both forms alike.
        for body in ["o[gid.x] = 1.0 / (b[gid.x] + 1.0);", "o[gid.x] = f32(i32(b[gid.x] * 3.0));"] {
            let second = kernel("b:f32 o:f32", "64", body);
            let lab = Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]).submit(&second, GROUPS, &[3, 2], &[]);
            assert_eq!(changed_if_any(&lab), 0, "{body}");
            lab.check().fused(0);
        }
    }

    fn numbers_that_become_floats_are_hidden() {
        let first = kernel("a t:i32", "64", "t[gid.x] = i32(sqrt(f32(a[gid.x])) * 3.5);");
        for body in [
            "o[gid.x] = f32(t[gid.x]);",
            "o[gid.x] = bitcast<f32>(t[gid.x]);",
            // Together with a number that the kernel makes of its own floats.
            "o[gid.x] = f32(t[gid.x] ^ i32(sqrt(f32(gid.x))));",
        ] {
            let second = kernel("t:i32 o:f32", "64", body);
            let list =
                || Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]).submit(&second, GROUPS, &[1, 2], &[]);
            assert_eq!(changed(&list()), N as usize, "{body}");
            assert_eq!(changed(&wide(list())), N as usize, "{body} four items");
            list().check().fused(0);
            wide(list()).check().fused(0);
        }
    }

    /// A compiler that computes with constants need not get what the device gets: hidden in one form, they differ.
    fn numbers_made_of_constants_are_not_hidden() {
        if !is_possible() {
            return;
        }
        let first = kernel("a t:f32", "64", "t[gid.x] = sqrt(f32(a[gid.x]) + 1.0);");
        for (body, hidden) in [
            ("uint k = 5u; if (b[i] > 7u) k = 3u; o[i] = sin(float(5u & 31u) + 0.5);", 0),
            ("uint k = 5u; o[i] = sqrt(uintBitsToFloat((k << 23) | 0x3f000000u));", 0),
            ("o[i] = float(b[i] + 5u);", N as usize),
            ("o[i] = float((i & 7u) + 5u);", N as usize),
        ] {
            let second = glsl("", "b o:float", "64", body);
            let list = || Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]).submit(&second, GROUPS, &[0, 2], &[]);
            let changed = list().seen_through(SIGN).map_or(0, |words| words[2]);
            assert_eq!(changed, hidden, "{body}");
            list().check().fused(0);
        }
    }

    /// What a loop starts with, makes of its counter or chooses is no constant to the compiler where its rounds are unrolled, either.
    fn constants_of_rounds_are_hidden() {
        let first = kernel("a z", "64", "z[gid.x] = a[gid.x] | 1u;");
        for (start, round) in [
            ("1.5", "s = s * 0.5;"),
            ("f32(a[gid.x])", "s += sqrt(f32(r) + 1.0);"),
            ("f32(a[gid.x])", "s += select(0.25, 2.5, r == 1u);"),
            ("f32(a[gid.x])", "s *= other; other = 2.5;"),
            // Nothing but what rounds hand on.
            ("1.5", "s = other; other = 2.5;"),
            ("f32(a[gid.x])", "var part = array<f32, 4>(1.5, 2.5, 3.5, 4.5); s += part[r & 3u] * f32(a[gid.x]);"),
        ] {
            let body = format!(
                "var s = {start}; var other = f32(a[gid.x]); for (var r = 0u; r < p.x; r++) {{ {round} }} o[gid.x] = s;"
            );
            let second = kernel("a o:f32", "64", &body);
            let list = || {
                let mut lab = Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]);
                lab.limits.unroll = UnrollLimits { rounds: 16, at_once: 4, private_bytes: 256, ..UnrollLimits::default() };
                lab.submit(&second, GROUPS, &[1, 2], &[3])
            };
            let changed = changed_if_any(&list());
            assert!(changed > 200, "{round}: {changed}");
            list().check().fused(0);
        }
    }

    // Whatever a compiler may come to know of the numbers.
    fn floats_that_numbers_choose_are_hidden() {
        let first = kernel("a z", "64", "z[gid.x] = a[gid.x] | 1u;");
        for body in [
            "o[gid.x] = b[gid.x] + select(1.5, 2.5, gid.y == 0u);",
            "var v = 1.5; if (p.x == p.y) { v = 2.5; } o[gid.x] = b[gid.x] + v;",
            "o[gid.x] = b[gid.x] + vec2(0.5, 1.5)[p.x % 2u];",
            "o[gid.x] = b[gid.x] + f32(p.x);",
            "o[gid.x] = b[gid.x] + 1.5 * bitcast<f32>(p.x);",
            // Counters too, which are known where rounds are unrolled.
            "var s = 0.0; for (var k = 0u; k < 3u; k++) { s += b[gid.x] * select(0.5, 2.0, k == 1u); } o[gid.x] = s;",
        ] {
            let second = kernel("b:f32 o:f32", "64", body);
            let list = || {
                let lab = Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]);
                lab.submit(&second, GROUPS, &[3, 2], &[3, 3])
            };
            assert!(changed_if_any(&list()) > 0, "{body}");
            assert!(changed_if_any(&wide(list())) > 0, "{body}");
            list().check().fused(0);
        }
    }

    // In a dimension in which the work-group is one wide the compiler of the kernel alone knows them.
    fn local_ids_that_are_zero_are_not_hidden() {
        let first = kernel("a z", "64", "z[gid.x] = a[gid.x] | 1u;");
        let mut seconds = vec![("x", kernel("b:f32 o:f32", "64", "o[gid.x] = b[gid.x] + f32(lid.x);"))];
        seconds.push(("y", kernel("b:f32 o:f32", "64", "o[gid.x] = b[gid.x] + f32(lid.y);")));
        if is_possible() {
            let text = |d| format!("o[i] = b[i] + float(gl_LocalInvocationID.{d});");
            seconds.extend(["x", "y", "z"].map(|d| (d, glsl("", "b:float o:float", "64", &text(d)))));
        }
        for (d, second) in seconds {
            let lab = Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]).submit(&second, GROUPS, &[3, 2], &[]);
            assert_eq!(changed_if_any(&lab) > 0, d == "x", "{second}");
            lab.check().fused(0);
        }
    }

    fn what_one_float_chooses_is_not_hidden() {
        let first = kernel("a z", "64", "z[gid.x] = a[gid.x] | 1u;");
        for body in [
            "o[gid.x] = select(0.0, b[gid.x], b[gid.x] > 0.0);",
            "let v = b[gid.x]; var w = v; if (v < 0.0) { w = 0.5 * v; } o[gid.x] = w;",
        ] {
            let second = kernel("b:f32 o:f32", "64", body);
            let lab = Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]).submit(&second, GROUPS, &[3, 2], &[]);
            assert_eq!(changed_if_any(&lab), 0, "{body}");
            lab.check().fused(0);
        }
    }

    // What runs alone and what is fused are one text: a kernel alone hides what it hides in a fused one.
    fn a_kernel_alone_hides_the_same() {
        let first = kernel("a z", "64", "z[gid.x] = a[gid.x] | 1u;");
        for (body, hides) in [
            ("o[gid.x] = b[gid.x] + select(1.5, 2.5, p.x == p.y);", true),
            ("o[gid.x] = b[gid.x] + f32(p.x - p.x) + 1.0;", true),
            ("var s = 1.5; for (var k = 0u; k < p.x; k++) { s += b[gid.x]; } o[gid.x] = s;", true),
            ("o[gid.x] = 0.0; for (var r = 0u; r < 3u; r++) { o[gid.x] += b[gid.x]; }", true),
            ("var a = array<f32, 2>(1.5, 2.5); a[p.x & 1u] = b[gid.x]; o[gid.x] = a[p.y & 1u] + b[gid.x];", true),
            ("var v = vec2(1.5, b[gid.x]); for (var k = 0u; k < p.x; k++) { v = v.yx; } o[gid.x] = v.x;", true),
            ("o[gid.x] = b[gid.x] + f32(bitcast<u32>(b[gid.x]) - bitcast<u32>(z[gid.x]));", true),
            // Nothing is chosen here, or by one float.
            ("o[gid.x] = exp(b[gid.x]) * 0.5;", false),
            ("o[gid.x] = max(b[gid.x], 0.0) + f32(i32(b[gid.x]));", false),
            ("var s = b[gid.x]; for (var k = 0u; k < p.x; k++) { s += exp(b[gid.x]); } o[gid.x] = s;", false),
        ] {
            let second = kernel("b:f32 z:f32 o:f32", "64", body);
            let alone = || Lab::new(N).submit(&second, GROUPS, &[3, 4, 2], &[3, 3]);
            let fused = || Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]).submit(&second, GROUPS, &[3, 4, 2], &[3, 3]);
            assert_eq!(alone().seen_through(SIGN).is_some(), hides, "{body}");
            let words = |seen: Option<Vec<usize>>| seen.map(|words| words[2]);
            let as_fused = words(fused().seen_through(1 << 23));
            assert_eq!(words(alone().seen_through(1 << 23)), as_fused, "{body}");
            assert_eq!(words(alone().seen_through_alone(1 << 23)), as_fused, "{body}");
            fused().check().fused(0);
        }
    }

    // LLVM takes a quotient by a constant zero for no value at all, and two uses of it for two values.
    fn divisors_that_may_be_zero_are_hidden() {
        for (quotient, hides) in [
            ("b[gid.x] / 0.0", true),
            ("b[gid.x] / -0.0", true),
            ("b[gid.x] / 1e-40", true),
            ("b[gid.x] % 0.0", true),
            ("b[gid.x] / (f32(p.x != 77u) * 0.0)", true),
            ("dot(vec2(b[gid.x]) / vec2(2.0, 0.0), vec2(1.0))", true),
            ("b[gid.x] / 2.0", false),
            ("dot(vec2(b[gid.x]) / vec2(2.0, 4.0), vec2(1.0))", false),
            ("b[gid.x] / (1.0 + exp(b[gid.x]))", false),
            ("1.0 / b[gid.x]", false),
        ] {
            let kernel = kernel("b:f32 o:f32", "64", &format!("o[gid.x] = {quotient};"));
            let list = || Lab::new(N).submit(&kernel, GROUPS, &[3, 2], &[3]);
            assert_eq!(list().seen_through(SIGN).is_some(), hides, "{quotient}");
        }
    }

    // What goes round in a loop and is a sum needs no operation a round.
    fn sums_of_rounds_are_hidden_where_they_begin() {
        let second = kernel("b:f32 o:f32", "64", "var s = 0.0; var m = -1e30; for (var k = 0u; k < p.x; k++) { m = max(m, b[k]); s += exp(b[k] - m) * b[k]; } o[gid.x] = s + m;");
        let lab = Lab::new(N).submit(&second, GROUPS, &[3, 2], &[3, 3]);
        // Two constants, and the counter.
        assert_eq!(lab.instructions(128), 3);
    }

    // A compiler that knows nothing of a number knows that twice its bits differ from themselves in none.
    fn what_is_hidden_twice_is_hidden() {
        let first = kernel("a t:f32", "64", "t[gid.x] = bitcast<f32>(gid.x & 0u);");
        let second = kernel("t:f32 b:f32 o:f32", "64", "o[gid.x] = t[gid.x] + b[gid.x];");
        let list = || {
            let lab = Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]);
            lab.submit(&second, GROUPS, &[1, 3, 2], &[])
        };
        assert_eq!(list().seen_through(1 << 29).expect("a list with hidden floats")[2], N as usize);
        assert_eq!(wide(list()).seen_through(1 << 29).expect("a list with hidden floats")[2], N as usize);
        list().check().fused(0);
    }

    // Recomputed in what is recomputed, a float passes two seams at one place.
    fn what_passes_two_seams_is_hidden_once() {
        let at = "255u - gid.x";
        let first = kernel("a t:f32", "64", "t[gid.x] = sqrt(f32(a[gid.x]) + 1.0);");
        let second = kernel("t:f32 u:f32", "64", &format!("u[gid.x] = t[{at}];"));
        let third = kernel("u:f32 o:f32 b z", "64", &format!("o[gid.x] = 1.0 / u[{at}]; z[gid.x] = b[gid.x] + p.x + p.x;"));
        let list = || {
            Lab::rewriting(N)
                .promote(1, Promote::Auto)
                .promote(3, Promote::Auto)
                .submit(&first, GROUPS, &[0, 1], &[])
                .submit(&second, GROUPS, &[1, 3], &[])
                .submit(&third, GROUPS, &[3, 2, 0, 4], &[5])
        };
        assert_eq!(changed(&list()), N as usize, "an even number of signs");
        // Sums with other arguments are what they are.
        list().check().fused(0).works_out(&[(1, 0), (2, 1)]);
    }

    fn numbers_that_stay_numbers_are_not_touched() {
        let first = kernel("a t:f32 z", "64", "t[gid.x] = sqrt(f32(a[gid.x])); z[gid.x] = a[gid.x] * 3u;");
        let second = kernel("z t:f32 o:f32 y", "64", "y[gid.x] = z[gid.x] + 1u; o[gid.x] = sqrt(t[gid.x]);");
        let lab = Lab::new(N).submit(&first, GROUPS, &[0, 1, 3], &[]).submit(
            &second,
            GROUPS,
            &[3, 1, 2, 4],
            &[],
        );
        let changed = lab.seen_through(SIGN).expect("a list with hidden floats");
        assert!(changed[2] > 240 && changed[4] == 0, "{changed:?}");
        lab.check().fused(0);
    }

    fn arguments_that_both_use_are_hidden() {
        let push = "struct Q { s: f32, w: f32 }\nvar<immediate> q: Q;\n---";
        let one = kernel("a t:f32", "64", &format!("{push} t[gid.x] = sqrt(f32(a[gid.x]) + q.s);"));
        let two = kernel("a o:f32", "64", &format!("{push} o[gid.x] = 1.0 / q.s;"));
        let three = kernel("a o:f32", "64", &format!("{push} o[gid.x] = 1.0 / q.w;"));
        let (s, w) = (2f32.to_bits(), 3f32.to_bits());
        for (second, hidden) in [(&two, N as usize), (&three, 0)] {
            let list = || {
                let lab = Lab::new(N).submit(&one, GROUPS, &[0, 1], &[s, w]);
                lab.submit(second, GROUPS, &[0, 2], &[s, w])
            };
            assert_eq!(changed(&list()), hidden);
            assert_eq!(changed(&wide(list())), hidden);
            list().check().fused(0);
            wide(list()).check().fused(0);
        }
    }

    fn what_a_kernel_stored_itself_is_hidden() {
        // How far a compiler sees through the store depends on what it knows of the memory, which is more when fused.
        // No other kernel has to do with that memory.
        let first = kernel("a z", "64", "z[gid.x] = a[gid.x] | 1u;");
        for body in [
            "o[gid.x] = b[gid.x] + 1.0; o[gid.x] = 1.0 / o[gid.x];",
            "o[gid.x] = 0.0; for (var r = 0u; r < 3u; r++) { o[gid.x] += b[gid.x]; }",
            "for (var r = 0u; r < 3u; r++) { let was = o[gid.x]; o[gid.x] = was + 2.0; }",
        ] {
            let second = kernel("b:f32 o:f32", "64", body);
            let list = || {
                let lab = Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]);
                lab.submit(&second, GROUPS, &[3, 2], &[])
            };
            assert!(changed_if_any(&list()) > 0, "{body}");
            assert!(changed_if_any(&wide(list())) > 0, "{body}");
            list().check().fused(0);
        }
    }

    fn what_comes_before_a_store_of_its_own_is_not_hidden() {
        let first = kernel("a z", "64", "z[gid.x] = a[gid.x] | 1u;");
        let second = kernel("b:f32 o:f32", "64", "o[gid.x] = 1.0 / (o[gid.x] + b[gid.x]);");
        let lab = Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]).submit(&second, GROUPS, &[3, 2], &[]);
        assert_eq!(changed_if_any(&lab), 0);
        lab.check().fused(0);
    }

    fn two_bindings_of_the_same_memory_are_hidden() {
        let first = kernel("a z", "64", "z[gid.x] = a[gid.x] | 1u;");
        let second = kernel("b:f32 c:f32 o:f32", "64", "o[gid.x] = b[gid.x] + c[gid.x];");
        for (bound, hidden) in [([3, 3, 2], true), ([3, 0, 2], false)] {
            let list = || {
                let lab = Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]);
                lab.submit(&second, GROUPS, &bound, &[])
            };
            assert_eq!(changed_if_any(&list()) > 0, hidden, "{bound:?}");
            list().check().fused(0);
        }
    }

    fn equal_arguments_of_one_kernel_are_hidden() {
        let first = kernel("a z", "64", "z[gid.x] = a[gid.x] | 1u;");
        let push = "struct Q { s: f32, w: f32 }\nvar<immediate> q: Q;\n---";
        let second = kernel("b:f32 o:f32", "64", &format!("{push} o[gid.x] = b[gid.x] + (q.s + q.w);"));
        for (w, hidden) in [(2f32, true), (3f32, false)] {
            let list = || {
                let lab = Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]);
                lab.submit(&second, GROUPS, &[3, 2], &[2f32.to_bits(), w.to_bits()])
            };
            assert_eq!(changed_if_any(&list()) > 0, hidden, "{w}");
            list().check().fused(0);
        }
    }

    fn vectors_matrices_and_structs_are_hidden_part_by_part() {
        for (declared, element, write, read, parts) in [
            ("", "vec2<f32>", "vec2<f32>(x, x + 1.0)", "t[gid.x].x / t[gid.x].y + t[gid.x].x", 1),
            ("", "vec4<f32>", "vec4<f32>(x)", "length(t[gid.x]) + t[gid.x].z", 1),
            ("", "mat2x2<f32>", "mat2x2<f32>(x, x, x, x)", "t[gid.x][1].x / 3.0", 1),
            ("", "mat2x2<f32>", "mat2x2<f32>(x, x, x, x)", "(t[gid.x] * mat2x2<f32>(1.0, 0.5, 2.0, 1.0))[1].x / 3.0", 1),
            (
                "struct S { x: f32, n: u32, v: vec2<f32> }\n---",
                "S",
                "S(x, u32(x), vec2<f32>(x, 1.0))",
                "t[gid.x].v.x / 3.0",
                1,
            ),
        ] {
            let names = |own: &str| format!("{own} t:{element} o:f32");
            let first = format!("{declared} let x = sqrt(f32(a[gid.x]) + 1.0); t[gid.x] = {write};");
            let first = kernel(&format!("a t:{element}"), "16", &first);
            let second = kernel(&names("a"), "16", &format!("{declared} o[gid.x] = {read};"));
            for promote in [Promote::None, Promote::Private, Promote::Local] {
                let list = || {
                    let lab = Lab::new(N).promote(1, promote).submit(&first, [4, 1, 1], &[0, 1], &[]);
                    lab.submit(&second, [4, 1, 1], &[0, 1, 2], &[])
                };
                assert_eq!(changed(&list()), 64 * parts, "{element} {promote:?}");
                list().check().fused(0);
            }
        }
    }

    fn sums_and_products_need_not_be_hidden() {
        let first = kernel("a:f32 t:f32", "64", "t[gid.x] = a[gid.x] * a[gid.x];");
        let second = kernel("t:f32 o:f32", "64", "o[gid.x] = t[gid.x] + t[gid.x];");
        let list = || Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]).submit(&second, GROUPS, &[1, 2], &[]);
        assert_eq!(list().seen_through(SIGN), None);
        // With a constant they must.
        for body in ["t[gid.x] = a[gid.x] * 0.0;", "t[gid.x] = 0.0;"] {
            let first = kernel("a:f32 t:f32", "64", body);
            let second = kernel("a:f32 t:f32 o:f32", "64", "o[gid.x] = t[gid.x] - a[gid.x];");
            let lab = Lab::new(N).submit(&first, GROUPS, &[0, 1], &[]);
            let lab = lab.submit(&second, GROUPS, &[0, 1, 2], &[]);
            assert!(lab.seen_through(0x3f80_0000).is_some_and(|words| words[2] > 0), "{body}");
            lab.check().fused(0);
        }
        // From a third that does more everything is.
        let third = kernel("o:f32 z:f32", "64", "z[gid.x] = 1.0 / (o[gid.x] + 1.0);");
        let lab = list().submit(&third, GROUPS, &[2, 3], &[]);
        let changed = lab.seen_through(0x3f80_0000).expect("a list with hidden floats");
        assert_eq!((changed[2], changed[3] > 0), (0, true), "{changed:?}");
        lab.check().fused(0);
    }

    fn contract_hides_nothing() {
        let mut lab = pair(DIVIDE);
        lab.options.float = FloatMode::Contract;
        assert_eq!(lab.seen_through(SIGN), None);
    }

    fn where_the_zero_has_no_room_the_list_splits() {
        let push = "struct Q { s: vec4<f32> }\nvar<immediate> q: Q;\n---";
        let first = kernel("a t:f32", "64", &format!("{push} t[gid.x] = sqrt(f32(a[gid.x])) + q.s.x + q.s.y + q.s.z + q.s.w;"));
        let second = kernel("t:f32 o:f32", "64", DIVIDE);
        for (room, buffers, dispatches) in [(16, 0, 2), (16, 1, 1), (20, 0, 1)] {
            let mut lab = Lab::new(N).submit(&first, GROUPS, &[0, 1], &[1, 2, 3, 4]);
            lab = lab.submit(&second, GROUPS, &[1, 2], &[]);
            (lab.limits.max_push_bytes, lab.limits.max_uniform_buffers) = (room, buffers);
            let plan = lab.check().plan;
            assert_eq!(plan.steps.len(), dispatches, "{room} bytes, {buffers} uniform buffers");
            if let Some(split) = plan.report.splits.first() {
                assert_eq!(split.reason, Reason::PushConstants { needed: 20, limit: 16, no_buffer: NoPushBuffer::AllBound { limit: 0 } });
            }
        }
    }
}
