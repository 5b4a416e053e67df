//! Kernels that tests run on the host and on a device.

use vkfuse::rust::{
    Captures, GroupItem, Item, Ranged, Read, ReadWrite, Shared, Spec, Task, UVec2, Value, Vec2, Vec3, Write,
    device, kernel, value::Float,
};

#[derive(Clone, Copy, Debug, PartialEq, Value)]
#[repr(C)]
pub struct Padded {
    pub letter: u8,
    pub wide: u64,
    pub small: i16,
}

#[derive(Clone, Copy, Debug, PartialEq, Value)]
#[repr(C)]
pub struct Outer {
    pub flag: bool,
    pub parts: [Padded; 2],
}

#[derive(Captures)]
pub struct Document {
    pub number: i32,
    pub padded: Padded,
    pub outer: Outer,
    pub out: Write<u8>,
}

#[kernel]
impl Document {
    fn run(&self) {
        let wide = self.padded.wide + self.outer.parts[1].wide;
        if self.number == 55 && self.outer.flag && wide == 12 {
            self.out.set(0, self.padded.letter);
        }
    }
}

#[derive(Captures)]
pub struct Pair {
    pub weight: f32,
    pub data: Read<f32>,
}

#[derive(Captures)]
pub struct Nested {
    pub pairs: [Pair; 2],
    pub part: Ranged<Read<f32>>,
    pub out: Write<f32>,
}

#[kernel]
impl Nested {
    fn weighted(&self, pair: &Pair, i: u32) -> f32 {
        pair.weight * pair.data.get(i)
    }

    fn run(&self, item: Item<1>) {
        let i = item.index();
        let both = self.weighted(&self.pairs[0], i) + self.weighted(&self.pairs[1], i);
        self.out.set(i, both + self.part.get(i));
    }
}

pub const LIMIT: u32 = 3;

#[device]
fn collatz(start: u32) -> u32 {
    let mut n = start;
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
        if steps >= 1000 {
            return u32::MAX;
        }
    }
    steps
}

#[device]
fn norm<T: Float>(x: T, y: T) -> T {
    (x * x + y * y).sqrt()
}

#[device]
fn first_factor(n: u32) -> u32 {
    for k in 2..n {
        if n % k == 0 {
            return k;
        }
    }
    n
}

#[derive(Captures)]
pub struct Flow {
    pub out: ReadWrite<u32>,
}

#[kernel]
impl Flow {
    fn run(&self, item: Item<1>) {
        let i = item.id(0);
        let mut table = [0_u32; 4];
        for k in 0..=LIMIT {
            table[k] = k * k;
        }
        table[i] += 100;
        let mut sum = 0;
        let mut k = 0;
        loop {
            k += 1;
            if k == 2 {
                continue;
            }
            if k > 6 {
                break;
            }
            sum += table[k];
        }
        let word = match i {
            0 => 7,
            1 | 2 => 8,
            n if n > 20 => n,
            3..=9 => 9,
            _ => 10,
        };
        let size = norm(3.0_f32, 4.0) as u32 + norm(6.0_f64, 8.0) as u32;
        if first_factor(i + 9) == 3 || collatz(i + 1) > 5 {
            sum ^= 0x80;
        }
        if i == 30 {
            return;
        }
        self.out.set(i, sum * 1000 + word * 20 + size);
    }
}

#[derive(Captures)]
pub struct Meaning {
    pub zero: i32,
    pub out: Write<i32>,
}

#[kernel]
impl Meaning {
    fn run(&self, _item: Task) {
        let zero = self.zero;
        let least = i32::MIN + zero;
        self.out.set(0, i32::MAX + 1 + zero);
        self.out.set(1, 7 / zero);
        self.out.set(2, 7 % zero);
        self.out.set(3, least / (zero - 1));
        self.out.set(4, least % (zero - 1));
        self.out.set(5, 1 << (33 + zero));
        self.out.set(6, (-7 + zero) % 3);
        self.out.set(7, (-1.5_f32) as u32 as i32);
        self.out.set(8, (f32::NAN) as i32);
        self.out.set(9, 1e10_f32 as i32);
        self.out.set(10, -least);
        self.out.set(11, (300 + zero) as u8 as i32);
        self.out.set(12, (200_u8 as i8) as i32);
        self.out.set(13, (2.5_f32).round() as i32 + (-2.5_f32).round() as i32 * 10);
    }
}

pub const TABLE: [u32; 4] = [10, 20, 30, 40];

#[device]
fn picked(from: [u32; 4], i: u32) -> u32 {
    let mut sum = 0;
    if i > 2 {
        let inside = from;
        sum += inside[i];
    }
    sum + from[i % 4]
}

#[device]
fn elements<const N: usize>(of: [u32; N]) -> u32 {
    of[0] + N as u32
}

/// Arrays that are named in one branch and indexed in another; casts of literals and of what only looks like them;
/// negative patterns; conditional parts.
#[derive(Captures)]
pub struct Branches {
    pub table: [u32; 4],
    pub out: Write<u64>,
}

#[kernel]
impl Branches {
    #[cfg(any())]
    fn chosen(&self) -> u32 {
        1
    }

    #[cfg(not(any()))]
    fn chosen(&self) -> u32 {
        2
    }

    fn run(&self, item: Item<1>) {
        let i = item.id(0);
        let mut sum = 0;
        if i % 2 == 0 {
            let inside = TABLE;
            sum += inside[i];
        } else {
            sum += 1;
        }
        sum += TABLE[i] + picked(self.table, i);
        let mut k = 0;
        while k < i {
            let again = self.table;
            sum += again[k];
            k += 1;
        }
        sum += self.table[i % 4] * self.chosen() + elements([5, 6, i]);
        let word = match i as i32 - 2 {
            -2 => 1,
            -1..=0 => 2,
            _ => 3,
        };
        let wide = 0xffff_ffff as u64 + 3_000_000_000 as u64 + u32::MAX as u64;
        let small = (if i > 1 { 1 } else { 100_000 * 100_000 }) as u64;
        self.out.set(i, wide * word + small + sum as u64 + 0.1 as f32 as u64);
    }
}

#[derive(Captures)]
pub struct Reduce {
    pub input: Read<u32>,
    pub out: ReadWrite<u32>,
    pub partial: Shared<u32, 16>,
    pub factor: Spec<u32>,
}

#[kernel]
impl Reduce {
    fn run(&self, item: GroupItem<1>) {
        let local = item.local(0);
        self.partial.set(local, self.input.get(item.global(0)) * self.factor.get());
        item.barrier();
        let mut stride = item.local_range(0) / 2;
        while stride > 0 {
            if local < stride {
                self.partial.set(local, self.partial.get(local) + self.partial.get(local + stride));
            }
            item.barrier();
            stride /= 2;
        }
        let sum = item.sub_group_sum(1_u32);
        if local == 0 {
            self.out.set(item.group(0), self.partial.get(0));
            self.out.fetch_add(3, sum);
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable, Value)]
#[repr(C)]
pub struct Particle {
    pub at: Vec3,
    pub mass: f32,
    pub spin: [f32; 4],
}

/// Functions of numbers by their paths, a generic struct, and kernels that a macro puts together.
#[derive(Clone, Copy, Value)]
#[repr(C)]
pub struct Range<T> {
    pub low: T,
    pub high: T,
}

#[device]
fn within<T: Value + vkfuse::rust::value::Ordered>(x: T, range: Range<T>) -> T {
    x.clamp(range.low, range.high)
}

macro_rules! kernel_of {
    ($name:ident { $($fields:tt)* } $($body:tt)*) => {
        #[derive(Captures)]
        pub struct $name {
            $($fields)*
        }

        #[kernel]
        impl $name {
            $($body)*
        }
    };
}

kernel_of! { Paths { pub range: Range<f32>, pub out: Write<f32> }
    fn twice(&self, x: f32) -> f32 {
        x * 2.0 + self.range.low
    }

    fn run(&self) {
        let mut all = [f32::max(1.0, 2.0), f32::sqrt(9.0), std::cmp::min(7_u32, 3) as f32, 0.0];
        let mut k = 0;
        // What is not given is taken from another.
        let range = Range { high: 20.0, ..self.range };
        let v = Vec3 { y: 3.0, ..Vec3 { x: 1.0, y: 2.0, z: 4.0 } };
        all[2] = v.dot(Vec3::new(1.0, 0.5, 0.125));
        all[{ all[k] += 1.0; k = 3; 3_u32 }] = within(f32::powi(3.0, 3), range);
        for k in 0..4_u32 {
            self.out.set(k, self.twice(all[k]));
        }
    }
}

/// Methods and constants of one's own types, and of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Value)]
#[repr(C)]
pub struct Complex<T> {
    pub re: T,
    pub im: T,
}

#[device]
impl<T: Float> Complex<T> {
    pub fn norm(self) -> T {
        self.re * self.re + self.im * self.im
    }

    pub fn times(&self, other: Complex<T>) -> Complex<T> {
        Complex { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }

    pub fn square(&self) -> Complex<T> {
        let this = self;
        Complex::times(&this, this)
    }
}

#[device]
impl Complex<f32> {
    pub const I: Complex<f32> = Complex { re: 0.0, im: 1.0 };
    pub const LIMIT: u32 = 7;

    pub fn turned(self) -> Complex<f32> {
        Self::I.times(self)
    }
}

#[derive(Captures)]
pub struct Weighted {
    pub weight: f32,
    pub data: Read<f32>,
}

#[device]
impl Weighted {
    pub fn at(&self, i: u32) -> f32 {
        self.data.get(i) * self.weight
    }
}

#[derive(Captures)]
pub struct Methods {
    pub start: Complex<f32>,
    pub parts: [Weighted; 2],
    pub out: Write<f32>,
}

#[kernel]
impl Methods {
    fn sum(&self, of: &Weighted) -> f32 {
        of.at(0) + of.at(1)
    }

    fn run(&self, item: Item<1>) {
        let i = item.index();
        let mut all = [self.start; 3];
        all[1] = all[0].square().turned();
        all[i % 3].re += 1.0;
        let mut rounds = 0_u32;
        while rounds < Complex::<f32>::LIMIT && all[i].norm() < 1000.0 {
            all[i] = all[i].times(self.start);
            rounds += 1;
        }
        let v = Vec3::new(all[i].re, 2.0, all[i].im);
        let flat = v.cross(Vec3::new(1.0, -1.0, 0.5)).yzx().xy().yx().extend(4.0).scale(0.5);
        let side = Vec2::new(0.0, self.parts[1].at(i)).normalize().y + Vec2::new(3.0, 4.0).length();
        let whole = UVec2::new(i, 3).dot(UVec2::new(2, 5)) + rounds;
        self.out.set(i, flat.dot(v) + side + whole as f32 + self.sum(&self.parts[0]));
    }
}

/// Loops with labels, values, steps, and from their ends.
#[derive(Captures)]
pub struct Loops {
    pub step: u32,
    pub out: Write<u32>,
}

#[device]
fn first_pair(limit: u32, sum: u32) -> u32 {
    let mut seen = 0;
    let pair = 'search: loop {
        let mut a = 0_u32;
        while a < limit {
            a += 1;
            for b in (a..limit).rev() {
                seen += 1;
                if a + b == sum {
                    break 'search a * 100 + b;
                }
            }
        }
        break 0;
    };
    pair * 1000 + seen
}

#[device]
fn steps(step: u32, i: u32) -> u32 {
    let mut sum = 0;
    for k in (250_u8..=255).step_by(step) {
        sum = sum * 3 + k as u32;
    }
    for k in (-3_i32..i as i32).rev().step_by(step) {
        sum = sum * 5 + k as u32;
    }
    for k in (i64::MIN..=i64::MIN + 2).rev() {
        sum = sum * 7 + k as u32;
    }
    for k in (i..20).step_by(step) {
        sum += k;
    }
    for k in (5_u32..3).rev() {
        sum += 1000 + k;
    }
    sum
}

#[device]
fn table(limit: u32) -> u32 {
    let mut sum = 0_u32;
    'rows: for row in 0..limit {
        'columns: for column in 0..limit {
            let mut k = 0;
            loop {
                k += 1;
                sum = sum * 2 + k;
                if k > column {
                    continue 'columns;
                }
                if k * row > 6 {
                    continue 'rows;
                }
                if sum > 100_000 {
                    break 'rows;
                }
            }
        }
        sum += row;
    }
    sum
}

#[kernel]
impl Loops {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.out.set(i * 3, first_pair(i, 7));
        self.out.set(i * 3 + 1, steps(self.step, i));
        self.out.set(i * 3 + 2, table(i));
    }
}
