//! Bodies on the host: what each construct means there. Lowering each body also checks that it can be.

#![allow(unreachable_pub)]

extern crate vkfuse_kernel as vkfuse;

mod chains;
mod constants;
mod forms;
mod halves;
mod kernels;
mod odd;

use chains::{Chains, TalliesI32, TalliesI64, TalliesU32, TalliesU64};
use constants::{Constants, Fixed};
use forms::{Alone, Elements, Grids, Mode, Patterns, Places, Random, Row, Traits};
use halves::{Converts, SumsF32, SumsF64, Texel, Texels};
use kernels::{
    Branches, Complex, Document, Flow, Loops, Meaning, Methods, Nested, Outer, Padded, Pair, Particle, Paths,
    Range, Reduce, Weighted,
};
use odd::{COUNT, NAMES, Odd, PLAIN};
use vkfuse::rust::{
    Grid, HostBuffer, Item, KernelObject, LowerOptions, Lowered, Ranged, ReadWrite, ScalarType, Shared,
    Signature, Spec, UVec3, Vec3, Vec4, Write, f16,
    host::{on_host, on_host_groups, task_on_host},
    kernel_fn,
};

fn lowers<K: KernelObject>(_: &K) {
    for fitting in [false, true] {
        for checking in [false, true] {
            let options = LowerOptions { fitting, checking, ..LowerOptions::default() };
            Lowered::of::<K>(options).expect("lowers");
        }
    }
}

#[test]
fn a_captured_struct_of_structs() {
    let out = HostBuffer::new(vec![0_u8; 4]);
    let padded = Padded { letter: b'r', wide: 5, small: -3 };
    let outer = Outer { flag: true, parts: [padded, Padded { wide: 7, ..padded }] };
    let kernel = Document { number: 55, padded, outer, out: (&out).into() };
    task_on_host(&kernel);
    assert_eq!(out.to_vec(), [b'r', 0, 0, 0]);
    lowers(&kernel);
    let signature = Signature::of::<Document>();
    let plain: Vec<(&str, u32)> = signature.plain.iter().map(|p| (p.path.as_str(), p.offset)).collect();
    assert_eq!(plain, [("number", 0), ("padded", 8), ("outer", 32)]);
    assert_eq!(signature.plain_bytes, 32 + 8 + 2 * 24);
    assert_eq!(signature.bindings[0].path, "out");
}

#[test]
fn accessors_in_structs_in_arrays() {
    let (a, b) = (HostBuffer::new(vec![1.0_f32, 2.0]), HostBuffer::new(vec![10.0_f32, 20.0]));
    let out = HostBuffer::new(vec![0.0_f32; 3]);
    let pairs = [Pair { weight: 2.0, data: (&a).into() }, Pair { weight: 3.0, data: (&b).into() }];
    let kernel = Nested { pairs, part: Ranged::new(&b, 1..2), out: (&out).into() };
    on_host([4], &kernel);
    assert_eq!(out.to_vec(), [2.0 + 30.0 + 20.0, 4.0 + 60.0, 0.0]);
    lowers(&kernel);
    let signature = Signature::of::<Nested>();
    let paths: Vec<&str> = signature.bindings.iter().map(|b| b.path.as_str()).collect();
    assert_eq!(paths, ["pairs[0].data", "pairs[1].data", "part", "out"]);
    assert_eq!(signature.bindings[2].range, Some(8));
}

#[test]
fn control_flow() {
    let out = HostBuffer::new(vec![0_u32; 32]);
    let kernel = Flow { out: (&out).into() };
    on_host([40], &kernel);
    lowers(&kernel);
    let expected = |i: u32| {
        let mut table = [0, 1, 4, 9];
        if i < 4 {
            table[i as usize] += 100;
        }
        let mut sum = table[1] + table[3];
        let word = match i {
            0 => 7,
            1 | 2 => 8,
            3..=9 => 9,
            n if n > 20 => n,
            _ => 10,
        };
        let mut steps = 0;
        let mut n = i + 1;
        while n != 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        let odd = !(i + 9).is_multiple_of(2) && (i + 9).is_multiple_of(3);
        if odd || steps > 5 {
            sum ^= 0x80;
        }
        if i == 30 { 0 } else { sum * 1000 + word * 20 + 15 }
    };
    assert_eq!(out.to_vec(), (0..32).map(expected).collect::<Vec<_>>());
}

#[test]
fn arrays_in_branches() {
    let out = HostBuffer::new(vec![0_u64; 6]);
    let table = [1, 2, 3, 4];
    let kernel = Branches { table, out: (&out).into() };
    on_host([7], &kernel);
    lowers(&kernel);
    let expected = |i: u32| {
        let at = |array: [u32; 4], k: u32| array.get(k as usize).copied().unwrap_or(0);
        let mut sum = if i.is_multiple_of(2) { at(kernels::TABLE, i) } else { 1 };
        sum += at(kernels::TABLE, i) + if i > 2 { at(table, i) } else { 0 } + at(table, i % 4);
        sum += (0..i).map(|k| at(table, k)).sum::<u32>() + 2 * at(table, i % 4) + 5 + 3;
        let word = [1, 2, 2, 3, 3, 3][i as usize];
        // Without a type an integer is `i32`, and wraps as one.
        let small = if i > 1 { 1 } else { 100_000_i32.wrapping_mul(100_000) } as u64;
        ((1 << 33) - 2 + 3_000_000_000_u64) * word + small + u64::from(sum)
    };
    assert_eq!(out.to_vec(), (0..6).map(expected).collect::<Vec<_>>());
}

#[test]
fn what_rust_would_panic_at() {
    let out = HostBuffer::new(vec![99; 14]);
    let kernel = Meaning { zero: 0, out: (&out).into() };
    task_on_host(&kernel);
    let expected = [i32::MIN, 7, 0, i32::MIN, 0, 2, -1, 0, 0, i32::MAX, i32::MIN, 44, -56, 3 - 30];
    assert_eq!(out.to_vec(), expected);
    lowers(&kernel);
}

#[test]
fn functions_by_their_paths() {
    let out = HostBuffer::new(vec![0.0; 4]);
    let kernel = Paths { range: Range { low: -1.0, high: 99.0 }, out: (&out).into() };
    task_on_host(&kernel);
    assert_eq!(out.to_vec(), [5.0, 5.0, 5.0, 39.0]);
    lowers(&kernel);
}

#[test]
fn methods_and_constants() {
    let (a, b) = (HostBuffer::new(vec![1.0_f32, 2.0]), HostBuffer::new(vec![3.0, 4.0, 5.0]));
    let out = HostBuffer::new(vec![0.0; 3]);
    let parts = [Weighted { weight: 2.0, data: (&a).into() }, Weighted { weight: 0.5, data: (&b).into() }];
    let start = Complex { re: 1.0, im: 2.0 };
    on_host([3], &Methods { start, parts, out: (&out).into() });
    let expected = |i: u32| {
        let times = |a: [f32; 2], b: [f32; 2]| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
        let start = [1.0, 2.0];
        let mut z = if i == 1 { times([0.0, 1.0], times(start, start)) } else { start };
        z[0] += 1.0;
        let mut rounds = 0;
        while rounds < 7 && z[0] * z[0] + z[1] * z[1] < 1000.0 {
            z = times(z, start);
            rounds += 1;
        }
        // The product is (1 + z.im, z.im - re / 2, -re - 2): of it the second and third, changed over.
        let (re, im) = (z[0], z[1]);
        let flat = [-re - 2.0, im - re * 0.5, 4.0];
        (flat[0] * re * 0.5 + flat[1] * 2.0 * 0.5 + flat[2] * im * 0.5)
            + (1.0 + 5.0)
            + (2 * i + 15 + rounds) as f32
            + (2.0 + 4.0)
    };
    assert_eq!(out.to_vec(), (0..3).map(expected).collect::<Vec<_>>());
    lowers(&Methods {
        start,
        parts: [Weighted { weight: 2.0, data: (&a).into() }, Weighted { weight: 0.5, data: (&b).into() }],
        out: (&out).into(),
    });
}

#[test]
fn loops_with_labels_values_and_steps() {
    for step in [0, 1, 2, 4, 300, u32::MAX] {
        let out = HostBuffer::new(vec![0; 30]);
        let kernel = Loops { step, out: (&out).into() };
        on_host([10], &kernel);
        let pair = |limit: u32| {
            let all = (1..=limit).flat_map(|a| (a..limit).rev().map(move |b| (a, b)));
            let seen: Vec<(u32, u32)> = all.collect();
            match seen.iter().position(|(a, b)| a + b == 7) {
                Some(at) => (seen[at].0 * 100 + seen[at].1) * 1000 + at as u32 + 1,
                None => seen.len() as u32,
            }
        };
        let steps = |i: u32| {
            let by = step.max(1) as usize;
            let sum = (250..=255_u32).step_by(by).fold(0_u32, |sum, k| sum.wrapping_mul(3).wrapping_add(k));
            let back = (-3..i as i32).rev().step_by(by);
            let sum = back.fold(sum, |sum, k| sum.wrapping_mul(5).wrapping_add(k as u32));
            let sum = [2, 1, 0].iter().fold(sum, |sum, k| sum.wrapping_mul(7).wrapping_add(*k));
            sum.wrapping_add((i..20).step_by(by).sum())
        };
        let out = out.to_vec();
        for i in 0..10 {
            assert_eq!(out[i as usize * 3], pair(i), "pair of {i}");
            assert_eq!(out[i as usize * 3 + 1], steps(i), "steps of {step} at {i}");
        }
        assert_eq!([out[2], out[5], out[8]], [0, 1, 73]);
        lowers(&kernel);
    }
}

#[test]
fn groups_meet_at_barriers() {
    let input = HostBuffer::new((0..48).collect());
    let out = HostBuffer::new(vec![0; 4]);
    let kernel =
        Reduce { input: (&input).into(), out: (&out).into(), partial: Shared::new(), factor: Spec::new(2) };
    on_host_groups([3], [16], &kernel);
    let sum = |group: u32| 2 * (group * 16..group * 16 + 16).sum::<u32>();
    assert_eq!(out.to_vec(), [sum(0), sum(1), sum(2), 24]);
    lowers(&kernel);
}

#[test]
fn a_closure_with_vectors_and_structs() {
    let particles = HostBuffer::new(vec![Particle { mass: 2.0, ..Particle::default() }; 3]);
    let step = Vec3::new(1.0, 2.0, 3.0);
    let seen = HostBuffer::new(vec![Vec4::splat(0.0); 3]);
    let kernel = kernel_fn!([p: ReadWrite<Particle> = &particles, step: Vec3, seen: Write<Vec4> = &seen]
    |item: Item<2>| {
        let i = item.index();
        let mut one = p.get(i);
        one.at = one.at + step * Vec3::splat(one.mass);
        one.at.x += 0.5;
        one.spin[i] = one.at.y;
        p.set(i, Particle { spin: one.spin, mass: -one.mass, at: one.at });
        seen.set(i, Vec4::new(item.id(0) as f32, item.id(1) as f32, item.range(0) as f32, 0.0));
    });
    on_host([2, 2], &kernel);
    let mut expected = Particle { at: Vec3::new(2.5, 4.0, 6.0), mass: -2.0, spin: [0.0; 4] };
    expected.spin[1] = 4.0;
    assert_eq!(particles.to_vec()[1], expected);
    assert_eq!(seen.to_vec()[2], Vec4::new(0.0, 1.0, 2.0, 0.0));
    lowers(&kernel);
    let sides = UVec3::new(1, 2, 3);
    assert_eq!(sides.y, 2);
}

#[test]
fn traits_and_operators() {
    let (words, parts) = (HostBuffer::new((0..12).collect()), HostBuffer::new((100..112).collect()));
    let out = HostBuffer::new(vec![0_u32; 8]);
    let kernel = Traits { words: (&words).into(), part: Ranged::new(&parts, 2..9), out: (&out).into() };
    on_host([10], &kernel);
    let expected = |i: u32| {
        let square = 9 * i * i * 3 + (9 * i * i * 2 + 4) + 1 + 4;
        let area = 6 * i * 7;
        let rectangle = area * 3 + (area * 2 + 7) + 2 + 40;
        let part = |k: u32| if k < 7 { 102 + k } else { 0 };
        let mut sum = square * 1000 + rectangle + (i + i + 1) + part(i) + part(i + 1) + 1 + 11 + 40;
        // i/3 + 5/2, twice that less a half, and three halves less.
        let (over, under) = (2 * i as i32 + 15, 6);
        let (over, under) = (2 * over * 2 - under, under * 2);
        let (over, under) = (over * 2 - 3 * under, under * 2);
        sum += (over * 31 + under) as u32 + (over * 2 / under) as u32;
        let (x, y) = ((2.0 * i as f32 - 0.25) * 4.0, (2.0 - 0.25) * 4.0);
        sum + (x * x + y * y) as u32
    };
    assert_eq!(out.to_vec(), (0..8).map(expected).collect::<Vec<_>>());
    lowers(&kernel);
}

#[test]
fn patterns() {
    let out = HostBuffer::new(vec![0_u32; 40]);
    let kernel = Patterns { mode: Mode::Fast, out: (&out).into() };
    on_host([40], &kernel);
    lowers(&kernel);
    let out = out.to_vec();
    // Where `i + 1` is odd: the early way.
    assert_eq!(out[8], 2 * 3 + 5 + 65 * 10 + 400 + 108);
    assert_eq!(out[2], 900 + 2 + 60 + 400 + 108);
    // An odd half, and no other way out of the loop than that.
    assert_eq!(out[5], 30_000 + 1 + 1 + 7 + 55 + 900 + 10 + 5);
}

#[test]
fn chains_of_conditions() {
    let out = HostBuffer::new(vec![0_u32; 60]);
    let kernel = Chains { by: [2, 3, 5], out: (&out).into() };
    on_host([60], &kernel);
    lowers(&kernel);
    let halved = |n: u32| n.is_multiple_of(2).then_some(n / 2);
    let divided = |n: u32| {
        let times = |by: u32| (0..5).take_while(|k| n.is_multiple_of(by.pow(k + 1))).count() as u32;
        [2, 3, 5].into_iter().map(times).enumerate().find(|(_, times)| *times > 0)
    };
    let expected = |i: u32| {
        let quarter = Some(i).filter(|i| *i > 3).and_then(halved).and_then(halved).filter(|i| *i != 4);
        let half = halved(i).filter(|half| *half < 3);
        let mut sum = quarter.map(|i| 1000 + i).or(half.map(|i| 2000 + i)).unwrap_or(3000 + i);
        if let Some((k @ 0..2, times)) = divided(i + 1) {
            sum += 10_000 * times + 100_000 * k as u32;
            if (times, i) == (3, 7) {
                return sum;
            }
        }
        let mut left = i;
        'all: for k in (0..9).rev() {
            while left > 2 && left.is_multiple_of(2) {
                if left == 10 {
                    break 'all;
                }
                left /= 2;
                if k > 6 && left == 12 {
                    continue 'all;
                }
                sum += k;
            }
            left += k;
        }
        sum * 100 + left
    };
    assert_eq!(out.to_vec(), (0..60).map(expected).collect::<Vec<_>>());
}

#[test]
fn atomics_of_ranges_and_work_groups() {
    let (part, out) = (HostBuffer::new(vec![60_u32; 12]), HostBuffer::new(vec![0_u32; 48]));
    let range = Ranged::new(&part, 3..11);
    let kernel = TalliesU32 { part: range, out: (&out).into(), taken: Shared::new() };
    on_host_groups([3], [16], &kernel);
    lowers(&kernel);
    assert_eq!(out.to_vec(), [1; 48]);
    let sum = 60 + 47 * 24;
    let least = (0..48_u32).map(|i| (i * 7).wrapping_sub(60)).min().unwrap().min(60);
    let most = (0..48_u32).map(|i| (i * 5).wrapping_sub(60)).max().unwrap();
    // All numbers below 48 together are zero.
    let expected = [60, 60, 60, sum, least, most, 0, 60 | 0xf_ffff, 60, 60, 77, 60];
    assert_eq!(part.to_vec(), expected);
    let part = HostBuffer::new(vec![-60_i32; 12]);
    let range = Ranged::new(&part, 3..11);
    let kernel = TalliesI32 { part: range, out: (&out).into(), taken: Shared::new() };
    on_host_groups([3], [16], &kernel);
    lowers(&kernel);
    assert_eq!(part.to_vec()[3..6], [47 * 24 - 60, -60, 47 * 5 - 60]);
    let (small, big) = (HostBuffer::new(vec![-60_i64; 12]), HostBuffer::new(vec![1_u64 << 40; 12]));
    let kernel = TalliesI64 { part: Ranged::new(&small, 3..11), out: (&out).into(), taken: Shared::new() };
    on_host_groups([3], [16], &kernel);
    lowers(&kernel);
    assert_eq!(small.to_vec()[3..6], [47 * 24 - 60, -60, 47 * 5 - 60]);
    let kernel = TalliesU64 { part: Ranged::new(&big, 3..11), out: (&out).into(), taken: Shared::new() };
    on_host_groups([3], [16], &kernel);
    let atomics = Lowered::of::<TalliesU64>(LowerOptions::default()).expect("lowers").atomics;
    assert_eq!(atomics, [(ScalarType::U32, true), (ScalarType::U64, false)]);
    assert_eq!(big.to_vec()[3..5], [(1 << 40) + 47 * 24, 3]);
}

/// What all functions give of some inputs, by name.
#[test]
fn odd_functions_are_those_of_rust() {
    let (x, y, z) = odd::inputs();
    let n = x.len();
    let (hx, hy, hz) = (HostBuffer::new(x.clone()), HostBuffer::new(y.clone()), HostBuffer::new(z.clone()));
    let out = HostBuffer::new(vec![0_u32; n * COUNT]);
    let kernel = Odd { x: (&hx).into(), y: (&hy).into(), z: (&hz).into(), out: (&out).into() };
    on_host([n as u32], &kernel);
    lowers(&kernel);
    for (k, found) in out.to_vec().into_iter().enumerate() {
        let (i, of) = (k / COUNT, k % COUNT);
        assert_eq!(found, PLAIN[of](x[i], y[i], z[i]), "{} of {}, {}, {}", NAMES[of], x[i], y[i], z[i]);
    }
}

#[test]
fn functions_of_constants() {
    let x = HostBuffer::new(vec![0_u32, 1, 9, 77, u32::MAX, 1 << 31, 12345]);
    let out = HostBuffer::new(vec![0_u32; 7]);
    let fixed = HostBuffer::new(vec![Fixed::default(); 7]);
    let kernel = Constants { x: (&x).into(), out: (&out).into(), fixed: (&fixed).into() };
    on_host([7], &kernel);
    lowers(&kernel);
    assert_eq!(fixed.to_vec()[1], const { Fixed::of(1.0) });
    assert_eq!(fixed.to_vec()[2], Fixed::of(0.900_000_04).times(Fixed::of(1.5)));
}

#[test]
fn halves_are_rounded_once() {
    let singles = [1.0, 2049.0, 2051.0, 65519.9, 65520.0, -1e-8, 3e-8, 8.95e-8, f32::NAN];
    let halves: Vec<f16> =
        [0x3c00, 0x6800, 0x6802, 0x7bff, 0x7c00, 0x8000, 1, 0x8001, 0x7e00].map(f16::from_bits).to_vec();
    let (singles, given) = (HostBuffer::new(singles.to_vec()), HostBuffer::new(halves));
    let (near, same) = (HostBuffer::new(vec![f16::ONE; 9]), HostBuffer::new(vec![0.0_f32; 9]));
    let kernel = Converts {
        singles: (&singles).into(),
        halves: (&given).into(),
        near: (&near).into(),
        same: (&same).into(),
    };
    on_host([9], &kernel);
    lowers(&kernel);
    let bits: Vec<u16> = near.to_vec().iter().map(|half| half.to_bits()).collect();
    assert_eq!(bits, [0x3c00, 0x6800, 0x6802, 0x7bff, 0x7c00, 0x8000, 1, 2, 0x7e00]);
    assert_eq!(same.to_vec()[..6], [1.0, 2048.0, 2052.0, 65504.0, f32::INFINITY, 0.0]);

    let texels = HostBuffer::new(vec![Texel { color: [f16::ONE; 3], count: 7 }; 16]);
    let (out, wide) = (HostBuffer::new(vec![f16::ZERO; 16]), HostBuffer::new(vec![0.0_f64; 16]));
    let kernel = Texels {
        odd: 3,
        bias: f16::from_f32(0.25),
        table: [f16::ONE, f16::ZERO, f16::from_f32(7.5)],
        scale: Spec::new(f16::from_f32(2.0)),
        texels: (&texels).into(),
        out: (&out).into(),
        wide: (&wide).into(),
        part: Shared::new(),
    };
    on_host_groups([2], [8], &kernel);
    lowers(&kernel);
    let lowered = Lowered::of::<Texels>(LowerOptions::default()).expect("lowers");
    assert_eq!(lowered.signature.plain_bytes, 10);
    let shape = &lowered.signature.specs[0].shape;
    assert_eq!((shape.to_string().as_str(), shape.size()), ("f16", 2));
    assert_eq!(texels.to_vec()[9].count, 8);
}

#[test]
fn floats_are_added_atomically() {
    let (part, out) = (HostBuffer::new(vec![0.0_f32; 5]), HostBuffer::new(vec![0.0_f32; 8]));
    let kernel = SumsF32 { part: Ranged::new(&part, 1..5), out: (&out).into(), all: Shared::new() };
    on_host_groups([2], [4], &kernel);
    lowers(&kernel);
    assert_eq!(part.to_vec(), [0.0, 9.0, 12.0, 7.0, 0.0]);
    assert_eq!(out.to_vec()[..2], [1.0, 1.5]);
    let lowered = Lowered::of::<SumsF64>(LowerOptions::default()).expect("lowers");
    assert_eq!(lowered.atomics, [(ScalarType::F64, false), (ScalarType::F64, true)]);
}

#[test]
fn references_and_closures() {
    let out = HostBuffer::new(vec![0_u32; 9]);
    let kernel = Places { seed: Random { state: 77, count: 0 }, out: (&out).into() };
    on_host([9], &kernel);
    lowers(&kernel);
    let expected = |i: u32| {
        let next = |r: &mut (u32, u32)| {
            r.1 += 1;
            r.0 ^= r.0 << 13;
            r.0 ^= r.0 >> 17;
            r.0 ^= r.0 << 5;
            r.0.wrapping_add(r.1)
        };
        let mut random = (77 + i, 0);
        next(&mut random);
        next(&mut random);
        let mut all = [random; 2];
        if i % 3 < 2 {
            next(&mut all[i as usize % 3]);
        }
        let mut table = [1_u32, 2, 3, 4];
        let mut raised = false;
        if i != 3 {
            match table.get_mut(i as usize) {
                Some(x) => {
                    *x += i;
                    raised = *x > 10;
                }
                None => raised = i > 10,
            }
        }
        table[i as usize % 4] += 5;
        let over = table[i as usize % 4] > 10;
        if let Some(x) = table.get_mut(i as usize * 2) {
            *x = (*x + 100) * 2;
        }
        let (a, b) = (i, table[1]);
        table[3] += 1;
        let total = table.iter().fold(0_u32, |sum, k| sum * 10 + k);
        let mut sum = b * 7 + (2 + a) * 10 + a * 3 + 2 * total;
        for element in table.into_iter().filter(|&element| element != 2) {
            sum = sum.wrapping_mul(3).wrapping_add(element);
        }
        let seen = all[0].0.wrapping_add(all[0].1).wrapping_add(all[1].1);
        sum.wrapping_add(u32::from(raised) + u32::from(over) * 2)
            .wrapping_add(next(&mut random))
            .wrapping_add(seen)
    };
    assert_eq!(out.to_vec(), (0..9).map(expected).collect::<Vec<_>>());
}

#[test]
fn elements() {
    let data = [vec![1_u32, 2, 3, 4, 5], vec![0, 17, 9, 17], vec![1, 1, 2]].map(HostBuffer::new);
    let part = HostBuffer::new(vec![1_u32; 8]);
    let many = HostBuffer::new(vec![[9_u32; 3]; 4]);
    let states = HostBuffer::new(vec![Random { state: 1000, count: 0 }; 6]);
    let out = HostBuffer::new(vec![0_u32; 6]);
    let factors = [1, 2, 3];
    let rows = std::array::from_fn(|k| Row { factor: factors[k], data: (&data[k]).into() });
    let kernel = Elements {
        rows,
        part: Ranged::new(&part, 1..6),
        many: (&many).into(),
        states: (&states).into(),
        out: (&out).into(),
    };
    on_host([7], &kernel);
    lowers(&kernel);
    let all = data.each_ref().map(HostBuffer::to_vec);
    let at = |k: usize, i: u32| all[k].get(i as usize).copied().unwrap_or(0);
    let sum = |i: u32| {
        let mut sum = at(0, i) * 2 + at(2, 1);
        'rows: for (k, factor) in factors.into_iter().enumerate() {
            if factor == 2 {
                continue;
            }
            for j in 0..3 {
                if at(k, j) == i {
                    continue 'rows;
                }
                sum += at(k, j) * factor;
            }
            sum += 1;
        }
        sum
    };
    let expected = |i: u32| {
        let part = if i < 5 { 1 + sum(i) } else { 0 };
        let many = match (i < 4, i % 4 == 1) {
            (true, true) => sum(i) + 5,
            (true, false) => sum(i),
            _ => 0,
        };
        many + (1000 + part + 1) + 1000
    };
    assert_eq!(out.to_vec(), (0..6).map(expected).collect::<Vec<_>>());
    assert_eq!(many.to_vec()[0], [5, sum(0), 3]);
    assert_eq!(many.to_vec()[3], [3, sum(3), 3]);

    let out = HostBuffer::new(vec![2_u32]);
    task_on_host(&Alone { out: (&out).into(), kept: Shared::new() });
    assert_eq!(out.to_vec(), [13]);
    lowers(&Alone { out: (&out).into(), kept: Shared::new() });
}

#[test]
fn grids() {
    let image = HostBuffer::new((0..64).collect::<Vec<u32>>());
    let sums = HostBuffer::new(vec![0_u32; 12]);
    let volume = HostBuffer::new((0..24).map(|state| Random { state, count: 0 }).collect());
    let turned = HostBuffer::new(vec![99_u32; 24]);
    let kernel = Grids {
        image: Grid::new(&image, [3, 4]).pitch(10).at(20),
        sums: Grid::new(&sums, [3, 4]),
        volume: Grid::new(&volume, [2, 3, 4]),
        turned: Grid::new(&turned, [4, 2, 3]),
    };
    on_host([6, 4], &kernel);
    lowers(&kernel);
    let at = |y: i32, x: i32| {
        if (0..3).contains(&y) && (0..4).contains(&x) { 20 + y as u32 * 10 + x as u32 } else { 0 }
    };
    for y in 0..3 {
        for x in 0..4 {
            let sum = 4 * at(y, x) + at(y, x + 1) + at(y + 1, x) + at(y, x - 1) + at(y - 1, x);
            assert_eq!(sums.to_vec()[(y * 4 + x) as usize], sum ^ 1, "{y} {x}");
            for z in 0..2 {
                let found = turned.to_vec()[((x * 2 + z) * 3 + y) as usize];
                assert_eq!(found, (z * 12 + y * 4 + x + z) as u32);
            }
        }
    }
    let signature = Signature::of::<Grids>();
    let plain: Vec<(&str, u32)> = signature.plain.iter().map(|p| (p.path.as_str(), p.offset)).collect();
    assert_eq!(
        plain[..4],
        [("image.offset", 0), ("image.extent[0]", 4), ("image.extent[1]", 8), ("image.pitch[0]", 12)]
    );
    assert_eq!(signature.plain_bytes, 16 + 16 + 24 + 24);
}
