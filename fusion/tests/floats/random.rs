//! Random kernels that choose among floats by numbers and by floats, in all ways that a kernel can: their bits are the same alone and fused.
//!
//! `VKFUSE_FLOAT_LISTS` is how many, `VKFUSE_FLOAT_SEED` the first.

use super::decided::{differences, run};

/// How many kernels run in every test.
const LISTS: u64 = 24;

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % below as u64) as usize
    }

    fn of<'a>(&mut self, among: &[&'a str]) -> &'a str {
        among[self.next(among.len())]
    }
}

/// What is assigned to.
const PLACES: [&str; 11] =
    ["f", "g", "h", "v.x", "v.y", "m[0].x", "m[1].y", "c[0]", "c[2]", "c[(p - q) + 1u]", "v[p - q]"];

/// What is known of one number is not known in the other kernel, or alone.
const NUMBERS: [&str; 8] = [
    "p - q",
    "p - p",
    "i & 0u",
    "local.y",
    "group.y",
    "(p - q) * i",
    "bitcast<u32>(x[i]) - bitcast<u32>(t[i])",
    "local.x / 16u",
];

fn float(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.next(4) == 0 {
        let leaves = ["x[i]", "w[i]", "t[i]", "0.0", "-0.0", "1.0", "f", "g"];
        return match random.next(3) {
            0 => random.of(&PLACES).to_owned(),
            _ => random.of(&leaves).to_owned(),
        };
    }
    let (a, b) = (float(random, depth - 1), float(random, depth - 1));
    match random.next(12) {
        0 | 1 => format!("({a} + {b})"),
        2 | 3 => format!("({a} * {b})"),
        4 => format!("({a} - {b})"),
        5 => format!("(-({a}))"),
        6 => format!("select({a}, {b}, {})", condition(random)),
        7 => format!("f32({})", random.of(&NUMBERS)),
        8 => format!("bitcast<f32>({})", random.of(&NUMBERS)),
        9 => format!("{}({a})", random.of(&["exp", "log", "floor", "fract", "sqrt", "abs", "sign"])),
        10 => format!("{}({a}, {b})", random.of(&["max", "min"])),
        _ => format!("vec2({a}, {b})[({}) & 1u]", random.of(&NUMBERS)),
    }
}

fn condition(random: &mut Random) -> String {
    match random.next(4) {
        0 => format!("{} > 0.0", random.of(&PLACES)),
        1 => "x[i] < t[i]".to_owned(),
        _ => format!("({}) == 0u", random.of(&NUMBERS)),
    }
}

fn statement(random: &mut Random, depth: usize, names: &mut usize) -> String {
    let place = random.of(&PLACES);
    match random.next(10) {
        0..=4 => format!("{place} = {}; ", float(random, 2)),
        5 => random
            .of(&["v = v.yx; ", "m = transpose(m); ", "v = m * v; ", "c = array<f32, 3>(f, 0.0, g); "])
            .to_owned(),
        _ if depth == 0 => format!("{place} = {}; ", float(random, 1)),
        6 | 7 => {
            let (yes, no) = (statement(random, depth - 1, names), statement(random, depth - 1, names));
            format!("if ({}) {{ {yes}}} else {{ {no}}} ", condition(random))
        }
        _ => {
            *names += 1;
            let k = format!("k{names}");
            let rounds = random.of(&["2u", "3u", "p - q + 1u", "p - q + 2u", "q - p"]);
            let leave = match random.next(3) {
                0 => format!("if ({}) {{ break; }} ", condition(random)),
                _ => String::new(),
            };
            let (a, b) = (statement(random, depth - 1, names), statement(random, depth - 1, names));
            format!("for (var {k} = 0u; {k} < {rounds}; {k}++) {{ {a}{leave}{b}}} ")
        }
    }
}

fn body(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = "var f = x[i]; var g = 0.0; var h = 1.0; var v = vec2(0.0, x[i]); var m = mat2x2<f32>(1.0, 0.0, 0.0, x[i]); \
                    var c = array<f32, 3>(0.0, x[i], 1.0); "
        .to_owned();
    let mut names = 0;
    for _ in 0..3 + random.next(5) {
        text += &statement(&mut random, 2, &mut names);
    }
    let places: Vec<&str> = (0..3).map(|_| random.of(&PLACES)).collect();
    text + &format!("y[i] = {};", places.join(" + "))
}

#[test]
fn random_choices_keep_their_bits() {
    let Some((context, queue)) = super::device() else { return };
    let number = |name: &str, or: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(or);
    let (first, lists) = (number("VKFUSE_FLOAT_SEED", 1), number("VKFUSE_FLOAT_LISTS", LISTS));
    let (mut wrong, mut fused) = (Vec::new(), 0);
    for seed in first..first + lists {
        let body = body(seed);
        let list = [("x w t:f32=x y", body.as_str()), ("y z", "z[i] = y[i] + y[i];")];
        let groups = [4 + (seed % 2) as u32, 4];
        let (alone, _) = run(&context, &queue, &list, groups, false);
        let (together, one) = run(&context, &queue, &list, groups, true);
        fused += u64::from(one);
        wrong.extend(differences(&alone, &together).map(|what| format!("{seed}: {body}: {what}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(fused * 4 > lists * 3, "{fused} of {lists} lists were one dispatch");
    assert_eq!(context.validation_messages(), 0, "the validation layers complained");
}
