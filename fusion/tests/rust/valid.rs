//! Every module of every kernel, of all that bodies can contain, is a module that spirv-val takes.

#![allow(unsafe_code, reason = "unchecked accesses are among what is lowered")]

use std::collections::HashMap;

use spirv_tools::{TargetEnv, val::Validator};
use vkfuse::rust::{
    Captures, DVec3, GroupItem, IVec4, Item, KernelObject, LowerOptions, Lowered, PlainIn, Ranged, Read,
    ReadWrite, Shared, Spec, UVec2, Value, Vec2, Vec3, Vec4, Write, device, kernel, value::Float,
};

use crate::{
    chains::TalliesI64,
    device::Table,
    forms::Elements,
    halves::{Converts, SumsF32, SumsF64, Texels},
    kernels::{Branches, Document, Flow, Loops, Meaning, Methods, Nested, Particle, Paths, Reduce},
    narrow::Narrow,
    odd::Odd,
};

#[device]
fn same_of_both<T: Float>(x: T, y: T) -> T {
    let mut sum = x.sqrt() + x.floor() - x.ceil() * x.trunc() / x.round();
    sum +=
        x.powi(-5) + x.recip() + x.mul_add(y, x) + x.copysign(y) + x.abs() + x.signum() + x.min(y) + x.max(y);
    if x.is_nan() || x.clamp(y, x) < -y { y } else { sum }
}

#[derive(Captures)]
struct Floats {
    narrow: Read<f32>,
    wide: Ranged<Read<f64>>,
    out: Write<f32>,
    wide_out: Ranged<Write<f64>>,
}

#[kernel]
impl Floats {
    fn run(&self, item: Item<2>) {
        let i = item.index();
        let x = self.narrow.get(i);
        let y = self.narrow.get(i + 1);
        let mut sum = same_of_both(x, y) + x.sin() + x.cos() + x.tan() + x.asin() + x.acos() + x.atan();
        sum += x.sinh() + x.cosh() + x.tanh() + x.exp() + x.exp2() + x.ln() + x.log2() + x.powi(i as i32);
        sum += x.atan2(y) + x.powf(y) + f32::from_bits(x.to_bits() ^ 1);
        self.out.set(i, sum);
        let z = self.wide.get(i);
        let bits = f64::from_bits(z.to_bits() ^ 1);
        self.wide_out.set(i, same_of_both(z, bits) + x as f64 + (z as f32) as f64);
    }
}

macro_rules! integers {
    ($($name:ident $ty:ident)+) => {$(
        #[device]
        fn $name(a: $ty, b: $ty, x: f32, y: f64) -> u32 {
            let mut c = a + b - a * b / a % b;
            c = (c & a | b ^ !c) << b >> (a as u32);
            c = c.wrapping_add(a).wrapping_sub(b).wrapping_mul(a).min(b).max(a).clamp(a, b);
            c += a as u8 as $ty + b as i8 as $ty + a as u16 as $ty + b as i16 as $ty + x as $ty + y as $ty;
            c ^= a as u32 as $ty + b as i32 as $ty + a as u64 as $ty + b as i64 as $ty + (a == b) as $ty;
            let order = (a < b) ^ (a <= b) ^ (a > b) & (a >= b) | (a != b);
            let float = c as f32 + (c as f64) as f32;
            for k in a..b {
                c += k;
            }
            for k in a..=b {
                c ^= k;
            }
            match c {
                0..=5 => 1,
                6 | 7 => c as u32,
                _ => if order && float > 1.0 { 2 } else { 3 },
            }
        }
    )+};
}

integers! { of_u8 u8 of_i8 i8 of_u16 u16 of_i16 i16 of_u32 u32 of_i32 i32 of_u64 u64 of_i64 i64 }

#[derive(Captures)]
struct Integers {
    flag: bool,
    bytes: [u8; 3],
    short: i16,
    long: i64,
    x: f32,
    y: f64,
    a: Read<u8>,
    b: ReadWrite<i16>,
    out: Write<u32>,
}

#[kernel]
impl Integers {
    fn run(&self, item: Item<3>) {
        let i = item.id(0) + item.id(1) * item.range(2) + item.count();
        let a = self.a.get(i);
        let b = self.b.get(i);
        let c = a as u32;
        let d = b as i32;
        let mut sum = of_u8(a, self.bytes[0], self.x, self.y) + of_i8(a as i8, 3, self.x, self.y);
        sum += of_u16(b as u16, 5, self.x, self.y) + of_i16(b, self.short, self.x, self.y);
        sum += of_u32(c, i, self.x, self.y) + of_i32(d, -3, self.x, self.y);
        sum += of_u64(c as u64, 9, self.x, self.y) + of_i64(d as i64, self.long, self.x, self.y);
        sum += c.count_ones() + d.leading_zeros() + c.trailing_zeros() + d.reverse_bits() as u32;
        sum += (-d).abs() as u32 + d.signum() as u32;
        if !self.flag || self.out.len() > sum {
            return;
        }
        self.b.set(i, b - 1);
        self.out.set(i, sum);
        // SAFETY: the module is only looked at.
        unsafe {
            self.out.set_unchecked(0, self.a.get_unchecked(i) as u32);
        }
    }
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Inner {
    flags: [bool; 3],
    at: DVec3,
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Outer {
    inner: [Inner; 2],
    side: UVec2,
}

#[device]
fn turned(outer: Outer, k: u32) -> Outer {
    let mut new = outer;
    new.inner[k].at = new.inner[k].at / DVec3::splat(2.0) - outer.inner[0].at;
    new.inner[k].flags[k + 1] = !new.inner[1].flags[k];
    if k == 0 {
        return Outer { side: UVec2::new(k, 1) / new.side, inner: outer.inner };
    }
    new
}

#[derive(Captures)]
struct Composites {
    outer: Outer,
    places: [[Vec2; 2]; 3],
    particles: ReadWrite<Particle>,
    vectors: ReadWrite<Vec3>,
    arrays: ReadWrite<[u32; 3]>,
    out: Write<IVec4>,
}

#[kernel]
impl Composites {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        let turned = turned(turned(self.outer, i), 1);
        let mut particle = self.particles.get(i);
        particle.at =
            -particle.at * self.vectors.get(i) + Vec3::new(1.0, 2.0, turned.inner[i % 2].at.x as f32);
        particle.spin[i] = self.places[i][1].x + self.places[2][i].y;
        self.particles.set(i + 1, particle);
        self.vectors.set(i, particle.at);
        let mut array = self.arrays.get(i);
        array[i] += array[2] + turned.side.x;
        self.arrays.set(i, array);
        let mut four = -IVec4::splat(turned.inner[0].flags[i] as i32);
        four.w = 3;
        self.out.set(i, four / IVec4::new(i as i32, 2, 3, 4));
    }
}

#[derive(Captures)]
struct Groups {
    counters: ReadWrite<u32>,
    signed: ReadWrite<i32>,
    out: Write<Vec4>,
    shared: [Shared<u32, 8>; 2],
    points: Shared<Vec2, 4>,
    flags: Shared<bool, 4>,
    factor: Spec<f32>,
    wide: Spec<u64>,
    on: Spec<bool>,
}

#[kernel]
impl Groups {
    fn run(&self, item: GroupItem<2>) {
        let local = item.local_index();
        let i = item.global(0) + item.global(1) * item.groups(0) * item.local_range(0) + item.group(1);
        self.shared[0].set(local, item.local(1));
        self.points.set(local, Vec2::new(self.factor.get(), local as f32));
        self.flags.set(local, self.on.get());
        item.barrier();
        let mut sum = self.shared[1].fetch_add(local, 1) + self.shared[0].get(local + 1);
        sum += self.shared[0].fetch_max(local, 2) + self.shared[0].exchange(1, 3) + self.shared[0].len();
        sum += self.counters.fetch_add(0, 1) + self.counters.fetch_min(1, i) + self.counters.fetch_max(2, i);
        sum += self.counters.fetch_and(3, i) + self.counters.fetch_or(4, i) + self.counters.fetch_xor(5, i);
        sum += self.counters.exchange(6, i) + self.counters.compare_exchange(7, i, 1);
        sum += (self.signed.fetch_min(0, -1) + self.signed.fetch_max(1, 5)) as u32;
        sum +=
            item.sub_group_sum(i) + item.sub_group_min(i) + item.sub_group_max(i) + item.sub_group_first(i);
        sum += item.sub_group_xor(i, 1) + item.sub_group_size() + item.sub_group_lane();
        let float = item.sub_group_sum(self.factor.get()) + item.sub_group_max(self.points.get(1).y);
        let mut all = item.sub_group_all(self.flags.get(i)) && item.sub_group_any(sum > 3);
        while !all {
            sum += 1;
            all = sum > 10 || self.wide.get() > 3;
        }
        self.out.set(i, Vec4::splat(float + sum as f32));
    }
}

fn check<K: KernelObject>(count: &mut usize) {
    let validator = spirv_tools::val::create(Some(TargetEnv::Vulkan_1_3));
    for plain in [PlainIn::Push, PlainIn::Uniform] {
        for (fitting, checking) in [(false, false), (true, false), (false, true)] {
            let options = LowerOptions { plain, fitting, checking };
            let lowered = Lowered::of::<K>(options).expect("lowers");
            if let Err(error) = validator.validate(&lowered.words, None) {
                panic!("{} as {options:?}: {error}", K::NAME);
            }
            *count += 1;
        }
    }
}

#[test]
fn all_modules_are_valid() {
    let mut count = 0;
    check::<Document>(&mut count);
    check::<Nested>(&mut count);
    check::<Flow>(&mut count);
    check::<Branches>(&mut count);
    check::<Loops>(&mut count);
    check::<Meaning>(&mut count);
    check::<Methods>(&mut count);
    check::<Paths>(&mut count);
    check::<Reduce>(&mut count);
    check::<Table>(&mut count);
    check::<Floats>(&mut count);
    check::<Integers>(&mut count);
    check::<Composites>(&mut count);
    check::<Groups>(&mut count);
    check::<Narrow>(&mut count);
    check::<Converts>(&mut count);
    check::<Texels>(&mut count);
    check::<SumsF32>(&mut count);
    check::<SumsF64>(&mut count);
    check::<TalliesI64>(&mut count);
    assert_eq!(count, 20 * 6);
}

/// The types of locals that parts are taken of, as the names of what is in them: `A` an array, `S` a struct.
fn indexed_locals(words: &[u32]) -> Vec<String> {
    let (mut inside, mut pointees, mut variables) = (HashMap::new(), HashMap::new(), HashMap::new());
    let (mut all, mut at) = (Vec::new(), 5);
    while let Some(&first) = words.get(at) {
        let inst = &words[at..at + (first >> 16) as usize];
        let of = |ids: &[u32]| ids.iter().filter_map(|id| inside.get(id)).cloned().collect::<String>();
        match first & 0xffff {
            28 => _ = inside.insert(inst[1], format!("A{}", of(&inst[2..3]))),
            30 => _ = inside.insert(inst[1], format!("S{}", of(&inst[2..]))),
            32 => _ = pointees.insert(inst[1], inst[3]),
            59 if inst[3] == 7 => _ = variables.insert(inst[2], pointees[&inst[1]]),
            65 => all.extend(variables.get(&inst[3]).map(|ty| of(&[*ty]))),
            _ => {}
        }
        at += inst.len();
    }
    all
}

#[test]
fn locals_are_structs_or_arrays_of_numbers() {
    let all = [
        Lowered::of::<Composites>(LowerOptions::default()),
        Lowered::of::<Elements>(LowerOptions::default()),
        Lowered::of::<Odd>(LowerOptions::default()),
    ];
    let all: Vec<String> =
        all.into_iter().flat_map(|lowered| indexed_locals(&lowered.expect("lowers").words)).collect();
    assert!(all.iter().any(|local| local == "S") && all.iter().any(|local| local == "A"), "{all:?}");
    assert_eq!(all.iter().find(|local| local.contains('A') && local.contains('S')), None);
}

/// The check can fail.
#[test]
fn what_is_no_module_is_not_valid() {
    let mut words = Lowered::of::<Flow>(LowerOptions::default()).expect("lowers").words;
    // The entry point's function is another.
    let entry = words.iter().position(|word| word & 0xffff == 15).expect("an entry point");
    words[entry + 2] += 1;
    let validator = spirv_tools::val::create(Some(TargetEnv::Vulkan_1_3));
    assert!(validator.validate(&words, None).is_err());
}
