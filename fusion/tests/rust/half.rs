//! Halves, and atomics of floats and of 64 bits, give on a device what they give on the host.

use std::collections::{BTreeMap, BTreeSet};

use vkfuse::{
    Error, FusionProperties, FusionWrapper, Outcome, SubmitError,
    rust::{
        Captures, GroupRange, HostBuffer, Item, KernelObject, Ranged, Read, Shared, Spec, Write, f16,
        host::{on_host, on_host_groups},
        kernel,
    },
};

use crate::{
    chains::{TalliesI64, TalliesU64},
    halves::{Converts, SumsF32, SumsF64, Texel, Texels},
    support::Rig,
};

fn submit<K: KernelObject<Item = Item<1>>>(rig: &Rig, count: u32, kernel: &K) {
    rig.queue
        .submit(|h| {
            h.parallel_for(count, kernel);
        })
        .expect("submits");
}

/// Bits; of what is no number, always the same ones.
fn bits(halves: &[f16]) -> Vec<u16> {
    halves.iter().map(|half| if half.is_nan() { 0x7e00 } else { half.to_bits() }).collect()
}

/// Every half as a single; and of singles, those of every half, those half-way to the next, and their neighbours.
#[test]
fn every_half_is_converted_as_on_the_host() {
    let rig = rig!();
    let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let near = halves.iter().flat_map(|half| {
        let word = half.to_f32().to_bits();
        // Of denormal halves it is some other bit that is half-way.
        let tie = (half.to_f32() + half.signum().to_f32() * 2_f32.powi(-25)).to_bits();
        [word, word | 0xfff, word | 0x1000, word | 0x1001, tie, tie.wrapping_sub(1), tie + 1]
    });
    let mut singles: Vec<f32> = near.map(f32::from_bits).collect();
    let mut state = 1_u32;
    singles.extend((0..200_000).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Of a size that halves have.
        f32::from_bits(state & 0x87ff_ffff | 0x3000_0000)
    }));
    let n = singles.len();
    let (all, given) = (HostBuffer::new(singles.clone()), HostBuffer::new(halves.clone()));
    let (near, same) = (HostBuffer::new(vec![f16::ONE; n]), HostBuffer::new(vec![0.0_f32; halves.len()]));
    let host = Converts {
        singles: (&all).into(),
        halves: (&given).into(),
        near: (&near).into(),
        same: (&same).into(),
    };
    on_host([n as u32], &host);
    let (all, given) = (rig.context.buffer_from(&singles), rig.context.buffer_from(&halves));
    let (found, as_it_is) = (rig.context.buffer::<f16>(n), rig.context.buffer::<f32>(halves.len()));
    let (found, as_it_is) = (found.expect("a buffer"), as_it_is.expect("a buffer"));
    let device = Converts {
        singles: (&all.expect("a buffer")).into(),
        halves: (&given.expect("a buffer")).into(),
        near: (&found).into(),
        same: (&as_it_is).into(),
    };
    submit(&rig, n as u32, &device);
    let (host, device) = (bits(&near.to_vec()), bits(&found.download().expect("downloads")));
    let differ: Vec<_> = (0..n).filter(|&k| host[k] != device[k]).collect();
    let shown: Vec<_> = differ.iter().take(9).map(|&k| (singles[k], host[k], device[k])).collect();
    assert!(differ.is_empty(), "{} differ: {shown:x?}", differ.len());
    let words = |singles: Vec<f32>| -> Vec<u32> {
        singles.iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect()
    };
    assert_eq!(words(as_it_is.download().expect("downloads")), words(same.to_vec()));
    rig.assert_no_validation_messages();
}

macro_rules! table {
    ($count:literal: $($function:ident $arguments:literal |$a:ident, $b:ident, $c:ident| $result:expr;)+) => {
        /// All functions of halves, of all triples.
        #[derive(Captures)]
        pub struct Table {
            all: Read<f16>,
            out: Write<u16>,
        }

        #[kernel]
        impl Table {
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

        const FUNCTIONS: [(&str, usize); $count] = [$((stringify!($function), $arguments)),+];
    };
}

table! { 29:
    add 2 |a, b, c| (a + b).to_bits();
    sub 2 |a, b, c| (a - b).to_bits();
    mul 2 |a, b, c| (a * b).to_bits();
    divide 2 |a, b, c| (a / b).to_bits();
    less 2 |a, b, c| (a < b) as u16 + (a == b) as u16 * 2 + (a >= b) as u16 * 4 + (a != b) as u16 * 8;
    min 2 |a, b, c| a.min(b).to_bits();
    max 2 |a, b, c| f16::max(a, b).to_bits();
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
    is_nan 1 |a, b, c| a.is_nan() as u16;
    is_finite 1 |a, b, c| a.is_finite() as u16;
    is_infinite 1 |a, b, c| a.is_infinite() as u16;
    to_bits 1 |a, b, c| a.to_bits();
    from_bits 1 |a, b, c| f16::from_bits(a.to_bits() ^ 1).to_bits();
    powi 2 |a, b, c| a.powi(b.to_f32() as i32).to_bits();
    cube 1 |a, b, c| (a.powi(3) + a.powi(0)).to_bits();
    negative 1 |a, b, c| (-a).to_bits();
    remainder 2 |a, b, c| (a % b).to_bits();
    sum 3 |a, b, c| (a * b + c).to_bits();
    through 1 |a, b, c| f16::from_f32(a.to_f32() * 0.1).to_bits();
}

/// Equal to the bit, except for NaNs, and within one unit in the last place for quotients and roots, where Vulkan requires less precision.
#[test]
fn functions_of_halves_are_those_of_the_host() {
    let rig = rig!();
    let sizes = [
        0, 1, 2, 0x3ff, 0x400, 0x401, 0x1400, 0x3555, 0x3800, 0x3801, 0x3bff, 0x3c00, 0x3e00, 0x4000, 0x4200,
        0x6400, 0x67ff, 0x6801, 0x7bff, 0x7c00, 0x7e00,
    ];
    let all: Vec<f16> = sizes.iter().flat_map(|&size| [size, size | 0x8000]).map(f16::from_bits).collect();
    let (n, rows) = (all.len(), all.len().pow(3));
    let (x, out) = (HostBuffer::new(all.clone()), HostBuffer::new(vec![0_u16; rows * FUNCTIONS.len()]));
    on_host([rows as u32], &Table { all: (&x).into(), out: (&out).into() });
    let x = rig.context.buffer_from(&all).expect("a buffer");
    let found = rig.context.buffer::<u16>(rows * FUNCTIONS.len()).expect("a buffer");
    submit(&rig, rows as u32, &Table { all: (&x).into(), out: (&found).into() });
    let is_none = |bits: u16| bits & 0x7fff > 0x7c00;
    let found = found.download().expect("downloads");
    let (mut wrong, mut near) = (BTreeSet::new(), BTreeMap::new());
    for (k, (&host, &device)) in out.to_vec().iter().zip(&found).enumerate() {
        let (function, row) = (FUNCTIONS[k % FUNCTIONS.len()], k / FUNCTIONS.len());
        let words = ["less", "is_nan", "is_finite", "is_infinite"].contains(&function.0);
        let loose = ["divide", "sqrt", "recip", "powi"].contains(&function.0);
        if host == device || (!words && is_none(host) && is_none(device)) {
            continue;
        }
        *near.entry(function.0).or_insert(0) += 1;
        if !loose || host.abs_diff(device) > 1 {
            let of = [row / n / n, row / n % n, row % n].map(|k| all[k]);
            wrong.insert(format!("{} of {:?}: {device:#x}, not {host:#x}", function.0, &of[..function.1]));
        }
    }
    println!("{} results; those that differ from the host's: {near:?}", found.len());
    assert!(wrong.is_empty(), "{} results are wrong: {wrong:#?}", wrong.len());
    rig.assert_no_validation_messages();
}

#[test]
fn halves_in_structs_captures_and_shared_memory() {
    let rig = rig!();
    let texel = |k: u16| Texel {
        color: [f16::from_bits(k * 0x123), f16::from_f32(f32::from(k) * 0.37), f16::from_bits(k)],
        count: k,
    };
    let texels: Vec<Texel> = (0..24).map(texel).collect();
    let (ht, ho, hw) = (
        HostBuffer::new(texels.clone()),
        HostBuffer::new(vec![f16::ZERO; 24]),
        HostBuffer::new(vec![0.0_f64; 24]),
    );
    let dt = rig.context.buffer_from(&texels).expect("a buffer");
    let (d_o, dw) =
        (rig.context.buffer::<f16>(24).expect("a buffer"), rig.context.buffer::<f64>(24).expect("a buffer"));
    macro_rules! of {
        ($texels:expr, $out:expr, $wide:expr) => {
            Texels {
                odd: 3,
                bias: f16::from_f32(0.1),
                table: [1.5, -0.25, 7.7].map(f16::from_f32),
                scale: Spec::new(f16::from_f32(1.7)),
                texels: (&$texels).into(),
                out: (&$out).into(),
                wide: (&$wide).into(),
                part: Shared::new(),
            }
        };
    }
    on_host_groups([3], [8], &of!(ht, ho, hw));
    let device = of!(dt, d_o, dw);
    rig.queue
        .submit(|h| {
            h.parallel_for(GroupRange::new([3], [8]), &device);
        })
        .expect("submits");
    assert_eq!(dt.download().expect("downloads"), ht.to_vec());
    assert_eq!(bits(&d_o.download().expect("downloads")), bits(&ho.to_vec()));
    assert_eq!(dw.download().expect("downloads"), hw.to_vec());
    rig.assert_no_validation_messages();
}

#[derive(Captures)]
struct Sum {
    x: Read<f16>,
    y: Read<f16>,
    z: Write<f16>,
}

#[kernel]
impl Sum {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.z[i] = self.x[i] * f16::from_f32(0.75) + self.y[i];
    }
}

/// In memory a half is a 16-bit integer in a kernel of this language, and a 16-bit float in one of GLSL.
#[test]
fn fuses_with_halves_of_glsl() {
    let rig = rig!();
    let n = 1003_usize;
    let halves = |by: f32| -> Vec<f16> {
        (0..n).map(|k| f16::from_f32(by * (1.0 + (k * 37 % 101) as f32 / 64.0))).collect()
    };
    let (x, y) = (halves(0.5), halves(-1.25));
    let (hx, hy) = (HostBuffer::new(x.clone()), HostBuffer::new(y.clone()));
    let [first, last] = [(); 2].map(|()| HostBuffer::new(vec![f16::ZERO; n]));
    on_host([n as u32], &Sum { x: (&hx).into(), y: (&hy).into(), z: (&first).into() });
    let second: Vec<f16> = first.to_vec().iter().zip(&y).map(|(&a, &b)| a * b + b).collect();
    let second = HostBuffer::new(second);
    on_host([n as u32], &Sum { x: (&second).into(), y: (&hx).into(), z: (&last).into() });

    let [dx, dy] = [&x, &y].map(|all| rig.context.buffer_from(all).expect("a buffer"));
    let [a, b, out] = [(); 3].map(|()| rig.context.buffer::<f16>(n).expect("a buffer"));
    let fusion = FusionWrapper::new(&rig.queue).expect("a queue that can fuse");
    fusion.start_fusion().expect("starts");
    submit(&rig, n as u32, &Sum { x: (&dx).into(), y: (&dy).into(), z: (&a).into() });
    let glsl = rig.kernel("forms/half");
    let submitted = rig.queue.submit(|h| {
        h.arg(0, a.read()).arg(1, dy.read()).arg(2, b.write());
        h.push(&(n as u32)).dispatch_items(&glsl, [n as u32, 1, 1]);
    });
    submitted.expect("submits");
    submit(&rig, n as u32, &Sum { x: (&b).into(), y: (&dx).into(), z: (&out).into() });
    let done = fusion.complete_fusion(&FusionProperties::default()).expect("completes");
    done.wait().expect("runs");
    assert_eq!(done.outcome(), Outcome::Fused, "{:?}", done.report());
    assert_eq!(bits(&out.download().expect("downloads")), bits(&last.to_vec()));
    rig.assert_no_validation_messages();
}

/// What a device does not change atomically is refused, by type and memory.
#[test]
fn atomics_of_floats_and_of_64_bits() {
    let rig = rig!();
    macro_rules! sums {
        ($name:ident $ty:ident $first:expr) => {{
            let (part, out) = (vec![$first; 5], vec![$first; 16]);
            let (hp, ho) = (HostBuffer::new(part.clone()), HostBuffer::new(out.clone()));
            let (dp, d_o) = (
                rig.context.buffer_from(&part).expect("a buffer"),
                rig.context.buffer_from(&out).expect("a buffer"),
            );
            on_host_groups(
                [2],
                [8],
                &$name { part: Ranged::new(&hp, 1..5), out: (&ho).into(), all: Shared::new() },
            );
            let device = $name { part: Ranged::new(&dp, 1..5), out: (&d_o).into(), all: Shared::new() };
            let submitted = rig.queue.submit(|h| {
                h.parallel_for(GroupRange::new([2], [8]), &device);
            });
            if refused(submitted.map(|_| ()), stringify!($ty)) {
                continue_with(stringify!($ty));
            } else {
                assert_eq!(dp.download().expect("downloads"), hp.to_vec());
                assert_eq!(d_o.download().expect("downloads"), ho.to_vec());
            }
        }};
    }
    sums!(SumsF32 f32 0.5_f32);
    sums!(SumsF64 f64 0.5_f64);
    macro_rules! tallies {
        ($name:ident $ty:ident $first:expr) => {{
            let (hp, ho) = (HostBuffer::new(vec![$first; 12]), HostBuffer::new(vec![0_u32; 48]));
            let dp = rig.context.buffer_from(&[$first; 12]).expect("a buffer");
            let d_o = rig.context.buffer::<u32>(48).expect("a buffer");
            on_host_groups(
                [3],
                [16],
                &$name { part: Ranged::new(&hp, 3..11), out: (&ho).into(), taken: Shared::new() },
            );
            let device = $name { part: Ranged::new(&dp, 3..11), out: (&d_o).into(), taken: Shared::new() };
            let submitted = rig.queue.submit(|h| {
                h.parallel_for(GroupRange::new([3], [16]), &device);
            });
            if refused(submitted.map(|_| ()), stringify!($ty)) {
                continue_with(stringify!($ty));
            } else {
                assert_eq!(d_o.download().expect("downloads"), [1; 48]);
                assert_eq!(dp.download().expect("downloads"), hp.to_vec());
            }
        }};
    }
    tallies!(TalliesU64 u64 60_u64 << 33);
    tallies!(TalliesI64 i64 -60_i64);
    rig.assert_no_validation_messages();
}

/// Whether a submission was refused for its atomics.
fn refused(submitted: Result<(), Error>, ty: &str) -> bool {
    match submitted {
        Ok(()) => false,
        Err(Error::Submit { problem: SubmitError::Atomics { ty: named, .. }, .. }) if named == ty => true,
        Err(error) => panic!("{error}"),
    }
}

fn continue_with(ty: &str) {
    println!("atomics of {ty}: refused by this device");
}
