//! Every function of numbers at the edges of its domain: on a device what it is on the host.

use std::collections::BTreeSet;

use vkfuse::rust::{Captures, HostBuffer, Item, KernelObject, Read, Write, host::on_host, kernel};

use crate::support::Rig;

#[path = "../../../jit/dsl/random/src/bounds.rs"]
mod bounds;

/// A kernel that gives all functions of all triples of numbers, and their names, with how many of the triple they take.
macro_rules! table {
    ($name:ident $ty:ident $bits:ident of $count:literal: $($function:ident $arguments:literal |$a:ident, $b:ident, $c:ident| $result:expr;)+) => {
        #[derive(Captures)]
        pub struct $name {
            all: Read<$ty>,
            out: Write<$bits>,
        }

        #[kernel]
        impl $name {
            fn run(&self, item: Item<1>) {
                let i = item.index();
                let n = self.all.len();
                let mut at = i * $count;
                $({
                    let $a = self.all.get(i / n / n);
                    let $b = self.all.get(i / n % n);
                    let $c = self.all.get(i % n);
                    self.out.set(at, $result);
                    at += 1;
                })+
            }
        }

        impl $name {
            const FUNCTIONS: [(&'static str, usize); $count] = [$((stringify!($function), $arguments)),+];

            /// What all functions give of all triples, on the host and on the device.
            fn run_both(rig: &Rig, all: &[$ty]) -> [Vec<$bits>; 2] {
                let (triples, size) = (all.len().pow(3), all.len().pow(3) * $count);
                let (x, out) = (HostBuffer::new(all.to_vec()), HostBuffer::new(vec![0; size]));
                on_host([triples as u32], &$name { all: (&x).into(), out: (&out).into() });
                let x = rig.context.buffer_from(all).expect("a buffer");
                let found = rig.context.buffer::<$bits>(size).expect("a buffer");
                submit(rig, triples as u32, &$name { all: (&x).into(), out: (&found).into() });
                [out.to_vec(), found.download().expect("downloads")]
            }
        }
    };
}

fn submit<K: KernelObject<Item = Item<1>>>(rig: &Rig, count: u32, kernel: &K) {
    rig.queue
        .submit(|h| {
            h.parallel_for(count, kernel);
        })
        .expect("submits");
}

table! { Narrow f32 u32 of 42:
    add 2 |a, b, c| (a + b).to_bits();
    sub 2 |a, b, c| (a - b).to_bits();
    mul 2 |a, b, c| (a * b).to_bits();
    divide 2 |a, b, c| (a / b).to_bits();
    less 2 |a, b, c| (a < b) as u32 + (a == b) as u32 * 2 + (a >= b) as u32 * 4 + (a != b) as u32 * 8;
    min 2 |a, b, c| a.min(b).to_bits();
    max 2 |a, b, c| a.max(b).to_bits();
    clamp 3 |a, b, c| a.clamp(b, c).to_bits();
    abs 1 |a, b, c| a.abs().to_bits();
    signum 1 |a, b, c| a.signum().to_bits();
    sqrt 1 |a, b, c| a.sqrt().to_bits();
    floor 1 |a, b, c| a.floor().to_bits();
    ceil 1 |a, b, c| a.ceil().to_bits();
    trunc 1 |a, b, c| a.trunc().to_bits();
    round 1 |a, b, c| a.round().to_bits();
    recip 1 |a, b, c| a.recip().to_bits();
    mul_add 3 |a, b, c| a.mul_add(b, c).to_bits();
    copysign 2 |a, b, c| a.copysign(b).to_bits();
    is_nan 1 |a, b, c| a.is_nan() as u32;
    is_finite 1 |a, b, c| a.is_finite() as u32;
    is_infinite 1 |a, b, c| a.is_infinite() as u32;
    to_bits 1 |a, b, c| a.to_bits();
    from_bits 1 |a, b, c| f32::from_bits(a.to_bits() ^ 1).to_bits();
    powi 2 |a, b, c| a.powi(b as i32).to_bits();
    cube 1 |a, b, c| (a.powi(3) + a.powi(0)).to_bits();
    atan2 2 |a, b, c| a.atan2(b).to_bits();
    powf 2 |a, b, c| a.powf(b).to_bits();
    sin 1 |a, b, c| a.sin().to_bits();
    cos 1 |a, b, c| a.cos().to_bits();
    tan 1 |a, b, c| a.tan().to_bits();
    asin 1 |a, b, c| a.asin().to_bits();
    acos 1 |a, b, c| a.acos().to_bits();
    atan 1 |a, b, c| a.atan().to_bits();
    sinh 1 |a, b, c| a.sinh().to_bits();
    cosh 1 |a, b, c| a.cosh().to_bits();
    tanh 1 |a, b, c| a.tanh().to_bits();
    exp 1 |a, b, c| a.exp().to_bits();
    exp2 1 |a, b, c| a.exp2().to_bits();
    ln 1 |a, b, c| a.ln().to_bits();
    log2 1 |a, b, c| a.log2().to_bits();
    negative 1 |a, b, c| (-a).to_bits();
    remainder 2 |a, b, c| (a % b).to_bits();
}

table! { Wide f64 u64 of 27:
    add 2 |a, b, c| (a + b).to_bits();
    sub 2 |a, b, c| (a - b).to_bits();
    mul 2 |a, b, c| (a * b).to_bits();
    divide 2 |a, b, c| (a / b).to_bits();
    less 2 |a, b, c| (a < b) as u64 + (a == b) as u64 * 2 + (a >= b) as u64 * 4 + (a != b) as u64 * 8;
    min 2 |a, b, c| a.min(b).to_bits();
    max 2 |a, b, c| a.max(b).to_bits();
    clamp 3 |a, b, c| a.clamp(b, c).to_bits();
    abs 1 |a, b, c| a.abs().to_bits();
    signum 1 |a, b, c| a.signum().to_bits();
    sqrt 1 |a, b, c| a.sqrt().to_bits();
    floor 1 |a, b, c| a.floor().to_bits();
    ceil 1 |a, b, c| a.ceil().to_bits();
    trunc 1 |a, b, c| a.trunc().to_bits();
    round 1 |a, b, c| a.round().to_bits();
    recip 1 |a, b, c| a.recip().to_bits();
    mul_add 3 |a, b, c| a.mul_add(b, c).to_bits();
    copysign 2 |a, b, c| a.copysign(b).to_bits();
    is_nan 1 |a, b, c| a.is_nan() as u64;
    is_finite 1 |a, b, c| a.is_finite() as u64;
    is_infinite 1 |a, b, c| a.is_infinite() as u64;
    to_bits 1 |a, b, c| a.to_bits();
    from_bits 1 |a, b, c| f64::from_bits(a.to_bits() ^ 1).to_bits();
    powi 2 |a, b, c| a.powi(b as i32).to_bits();
    cube 1 |a, b, c| (a.powi(3) + a.powi(0)).to_bits();
    negative 1 |a, b, c| (-a).to_bits();
    remainder 2 |a, b, c| (a % b).to_bits();
}

macro_rules! integers {
    ($($name:ident $ty:ident;)+) => {$(
        table! { $name $ty u64 of 24:
            min 2 |a, b, c| a.min(b) as u64;
            max 2 |a, b, c| a.max(b) as u64;
            clamp 3 |a, b, c| a.clamp(b, c) as u64;
            wrapping_add 2 |a, b, c| a.wrapping_add(b) as u64;
            wrapping_sub 2 |a, b, c| a.wrapping_sub(b) as u64;
            wrapping_mul 2 |a, b, c| a.wrapping_mul(b) as u64;
            count_ones 1 |a, b, c| a.count_ones() as u64;
            leading_zeros 1 |a, b, c| a.leading_zeros() as u64;
            trailing_zeros 1 |a, b, c| a.trailing_zeros() as u64;
            reverse_bits 1 |a, b, c| a.reverse_bits() as u64;
            swap_bytes 1 |a, b, c| a.swap_bytes() as u64;
            rotate_left 2 |a, b, c| a.rotate_left(b as u32) as u64;
            rotate_right 2 |a, b, c| a.rotate_right(b as u32) as u64;
            pow 2 |a, b, c| a.pow(b as u32) as u64 * 3 + a.pow(3) as u64;
            div_euclid 2 |a, b, c| a.div_euclid(b) as u64;
            rem_euclid 2 |a, b, c| a.rem_euclid(b) as u64;
            saturating_add 2 |a, b, c| a.saturating_add(b) as u64;
            saturating_sub 2 |a, b, c| a.saturating_sub(b) as u64;
            saturating_mul 2 |a, b, c| a.saturating_mul(b) as u64;
            checked_add 2 |a, b, c| if let Some(x) = a.checked_add(b) { x as u64 } else { 77 };
            checked_sub 2 |a, b, c| if let Some(x) = a.checked_sub(b) { x as u64 } else { 77 };
            checked_mul 2 |a, b, c| if let Some(x) = a.checked_mul(b) { x as u64 } else { 77 };
            checked_div 2 |a, b, c| if let Some(x) = a.checked_div(b) { x as u64 } else { 77 };
            checked_rem 2 |a, b, c| if let Some(x) = a.checked_rem(b) { x as u64 } else { 77 };
        }
    )+};
}

integers! { Int8 i8; Uint8 u8; Int16 i16; Uint16 u16; Int32 i32; Uint32 u32; Int64 i64; Uint64 u64; }

table! { Signed i32 u32 of 2:
    abs 1 |a, b, c| a.abs() as u32;
    signum 1 |a, b, c| a.signum() as u32;
}

/// The functions that the macros know are those of the tables.
#[test]
fn no_function_is_forgotten() {
    let source = include_str!("../../../jit/dsl/macros/src/call.rs");
    let list = source.split_once("const MATH: &[&str] = &[").expect("the list").1;
    let list = list.split_once("];").expect("its end").0;
    let known: BTreeSet<&str> = list.split('"').skip(1).step_by(2).collect();
    assert!(known.len() > 35, "{} functions", known.len());
    let tables: [&[(&str, usize)]; 4] =
        [&Narrow::FUNCTIONS, &Wide::FUNCTIONS, &Int32::FUNCTIONS, &Signed::FUNCTIONS];
    let tested: BTreeSet<&str> = tables.concat().into_iter().map(|function| function.0).collect();
    let missing: Vec<&&str> = known.difference(&tested).collect();
    assert!(missing.is_empty(), "no table has {missing:?}");
}

/// A float as the comparison sees it: exact in `f64`.
#[derive(Clone, Copy, Debug)]
struct Number {
    value: f64,
    /// The least number of its type that is not denormal.
    least: f64,
}

impl Number {
    fn is_denormal(self) -> bool {
        self.value != 0.0 && self.value.abs() < self.least
    }

    fn is(self, other: Number) -> bool {
        self.value.to_bits() == other.value.to_bits() || (self.value.is_nan() && other.value.is_nan())
    }
}

/// Functions whose results are no floats.
const WORDS: [&str; 6] = ["less", "is_nan", "is_finite", "is_infinite", "to_bits", "from_bits"];

/// Whether the device may give `found` where the host gives `host`.
fn may_be(function: &str, of: [Number; 3], host: Number, found: Number) -> bool {
    let [a, b, c] = of.map(|number| number.value);
    if host.is(found) || (host.is_denormal() && found.value == 0.0) {
        return true;
    }
    // The part that is left to the device.
    if ["sin", "cos", "tan"].contains(&function) && a.abs() > std::f64::consts::PI && a.is_finite() {
        return true;
    }
    let wide = host.least < 1e-300;
    let tiny = |x: f64| x.abs() < host.least;
    if ["min", "max", "clamp"].contains(&function) && tiny(host.value) && tiny(found.value) {
        // Compared as zeros, and handed on as they are.
        return true;
    }
    if function == "powf" && found.value.is_nan() && tiny(a) && tiny(b) && a != 0.0 && b != 0.0 {
        return true;
    }
    if function == "divide" && !wide && b.abs() > 2f64.powi(126) && b.is_finite() {
        return true;
    }
    if function == "mul_add" {
        let twice = if wide { a * b + c } else { f64::from(a as f32 * b as f32 + c as f32) };
        return found.is(Number { value: twice, ..found });
    }
    // Everything else is exact where an argument or the result is special.
    let special = |x: f64| x == 0.0 || !x.is_finite();
    if special(host.value) || special(a) {
        return false;
    }
    let relative =
        |ulps: f64| (found.value - host.value).abs() <= host.value.abs() * ulps / f64::from(1 << 23);
    match function {
        "powi" => b < 0.0 && relative(2.5),
        "divide" | "recip" | "sqrt" if wide => relative(4.5),
        "powf" => {
            let (low, high) = bounds::allowed(function, a.abs() as f32, b as f32).expect("a bound");
            let sign = host.value.signum();
            let size = found.value * sign;
            let overflown = size == f64::INFINITY && high > f64::from(f32::MAX);
            !special(b) && (overflown || (low..=high).contains(&size))
        }
        "atan2" if special(b) => false,
        _ => bounds::allowed(function, a as f32, b as f32)
            .is_some_and(|(low, high)| (low..=high).contains(&found.value)),
    }
}

/// Compares all; `all` has both zeros in front, which a denormal may be flushed to.
fn compare<B: Copy + PartialEq + std::fmt::LowerHex>(
    functions: &[(&'static str, usize)],
    all: &[Number],
    [host, found]: [Vec<B>; 2],
    number: impl Fn(B) -> f64,
) {
    let (n, mut wrong) = (all.len(), BTreeSet::new());
    for row in 0..n * n * n {
        let at = [row / n / n, row / n % n, row % n];
        for (k, &(name, arguments)) in functions.iter().enumerate() {
            let device = found[row * functions.len() + k];
            // The triple itself, and with what is denormal as zero.
            let fits = (0..8).any(|flushed: usize| {
                let at: [usize; 3] = std::array::from_fn(|k| match all[at[k]] {
                    number if flushed & 1 << k == 0 || !number.is_denormal() => at[k],
                    number => usize::from(number.value < 0.0),
                });
                let row = (at[0] * n + at[1]) * n + at[2];
                let expected = host[row * functions.len() + k];
                let as_number = |bits: B| Number { value: number(bits), least: all[0].least };
                expected == device
                    || (!WORDS.contains(&name)
                        && may_be(name, at.map(|k| all[k]), as_number(expected), as_number(device)))
            });
            if !fits {
                let of: Vec<f64> = at.iter().take(arguments).map(|&k| all[k].value).collect();
                let expected = host[row * functions.len() + k];
                wrong.insert(format!(
                    "{name} of {of:?}: {:?} ({device:#x}) instead of {:?} ({expected:#x})",
                    number(device),
                    number(expected),
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} results are wrong: {wrong:#?}", wrong.len());
}

#[test]
fn floats_are_those_of_the_host() {
    let rig = rig!();
    let mut all = vec![0.0, -0.0];
    let sizes = [
        1.0,
        2.0,
        3.0,
        0.5,
        1.5,
        2.5,
        0.499_999_97,
        8_388_607.5,
        16_777_215.0,
        3e9,
        100.0,
        f32::INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-40,
    ];
    all.extend(sizes.iter().flat_map(|&x| [x, -x]));
    let numbers: Vec<Number> =
        all.iter().map(|&x| Number { value: f64::from(x), least: f64::from(f32::MIN_POSITIVE) }).collect();
    let both = Narrow::run_both(&rig, &all);
    compare(&Narrow::FUNCTIONS, &numbers, both, |bits| f64::from(f32::from_bits(bits)));
    rig.assert_no_validation_messages();
}

#[test]
fn wide_floats_are_those_of_the_host() {
    let rig = rig!();
    let mut all = vec![0.0, -0.0];
    let sizes = [
        1.0,
        2.0,
        3.0,
        0.5,
        1.5,
        2.5,
        0.499_999_999_999_999_94,
        16_777_217.5,
        4_503_599_627_370_495.5,
        9_007_199_254_740_991.0,
        100.0,
        f64::INFINITY,
        f64::NAN,
        f64::MAX,
        f64::MIN_POSITIVE,
        1e-310,
    ];
    all.extend(sizes.iter().flat_map(|&x| [x, -x]));
    let numbers: Vec<Number> = all.iter().map(|&value| Number { value, least: f64::MIN_POSITIVE }).collect();
    let both = Wide::run_both(&rig, &all);
    compare(&Wide::FUNCTIONS, &numbers, both, f64::from_bits);
    rig.assert_no_validation_messages();
}

#[test]
fn integers_are_those_of_the_host() {
    let rig = rig!();
    macro_rules! compare {
        ($($name:ident $ty:ident)+) => {$({
            let all = [0, 1, 2, 3, 7, 100, $ty::MIN, $ty::MIN + 1, $ty::MAX, $ty::MAX - 1, $ty::MAX / 2, !0];
            let [host, device] = $name::run_both(&rig, &all);
            let (row, n) = ($name::FUNCTIONS.len(), all.len());
            for (k, (host, device)) in host.iter().zip(&device).enumerate() {
                let (function, at) = ($name::FUNCTIONS[k % row], k / row);
                let of = [at / n / n, at / n % n, at % n].map(|k| all[k]);
                assert_eq!(device, host, "{} of {:?}", function.0, &of[..function.1]);
            }
        })+};
    }
    compare! { Int8 i8 Uint8 u8 Int16 i16 Uint16 u16 Int32 i32 Uint32 u32 Int64 i64 Uint64 u64 Signed i32 }
    rig.assert_no_validation_messages();
}
