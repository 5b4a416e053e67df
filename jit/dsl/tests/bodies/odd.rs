//! Functions of other kinds than the tests of single forms have: each is there a second time, unmarked, as Rust alone has it.

use std::ops::{Add, Mul};

use vkfuse::rust::{
    Captures, Item, Read, Value, Write, device, kernel,
    value::{Int, Number},
};

#[derive(Clone, Copy, PartialEq, Value)]
#[repr(u8)]
pub enum Gate {
    Open,
    Half = 5,
    Shut,
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
pub struct Cell {
    pub at: [i32; 2],
    pub heat: f32,
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
pub struct Board {
    pub cells: [[Cell; 2]; 3],
    pub turn: u8,
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
pub struct Two<T> {
    pub a: T,
    pub b: T,
}

#[device]
impl<T: Value> Two<T> {
    fn swapped(self) -> Self {
        let Two { a, b: second } = self;
        Two { a: second, b: a }
    }
}

#[device]
impl<T: Number> Two<T> {
    fn product(&self) -> T {
        self.a * self.b
    }
}

#[device]
impl Mul for Two<i64> {
    type Output = Two<i64>;
    fn mul(self, other: Two<i64>) -> Two<i64> {
        // Of Gauss.
        Two { a: self.a * other.a - self.b * other.b, b: self.a * other.b + self.b * other.a }
    }
}

#[device]
impl Add<i64> for Two<i64> {
    type Output = Two<i64>;
    fn add(self, more: i64) -> Self {
        Self { a: self.a + more, ..self }
    }
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
pub struct Disc {
    r: f32,
}

#[device]
trait Shape: Value {
    type Area;
    const SIDES: u32;
    fn area(&self) -> Self::Area;
    fn sides(&self) -> u32 {
        Self::SIDES
    }
}

#[device]
impl Shape for Cell {
    type Area = f32;
    const SIDES: u32 = 4;
    fn area(&self) -> f32 {
        let Cell { at: [w, h], heat } = *self;
        (w * h) as f32 + heat
    }
}

#[device]
impl Shape for Disc {
    type Area = f32;
    const SIDES: u32 = 1;
    fn area(&self) -> f32 {
        self.r * self.r * 3.0
    }
    fn sides(&self) -> u32 {
        Self::SIDES + 100
    }
}

#[device]
fn sided<S: Shape>(of: S) -> u32 {
    S::sides(&of) * 10 + S::SIDES
}

#[device]
fn greatest_common<T: Int>(a: T, b: T) -> T {
    let (mut a, mut b) = (a, b);
    while b != T::ZERO {
        (a, b) = (b, a % b);
    }
    a
}

macro_rules! both {
    ($($(#[$m:meta])* fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty $body:block)+) => {
        pub mod device {
            use super::*;
            /// An index.
            #[device]
            fn at(k: u32) -> u32 {
                k
            }
            $(#[device] $(#[$m])* pub fn $name($($arg: $ty),*) -> $ret $body)+
        }
        /// As Rust alone has them.
        #[allow(warnings, clippy::all)]
        pub mod plain {
            use super::*;
            fn at(k: u32) -> usize {
                k as usize
            }
            $($(#[$m])* pub fn $name($($arg: $ty),*) -> $ret $body)+
        }
        pub const COUNT: usize = [$(stringify!($name)),+].len();
        pub const NAMES: [&str; COUNT] = [$(stringify!($name)),+];
        pub const PLAIN: [fn(u32, i32, f32) -> u32; COUNT] = [$(plain::$name),+];

        #[derive(Captures)]
        pub struct Odd {
            pub x: Read<u32>,
            pub y: Read<i32>,
            pub z: Read<f32>,
            pub out: Write<u32>,
        }

        #[kernel]
        impl Odd {
            fn run(&self, item: Item<1>) {
                let i = item.index();
                let (x, y, z) = (self.x[i], self.y[i], self.z[i]);
                let mut at = i * COUNT as u32;
                $(
                    self.out[at] = device::$name(x, y, z);
                    at += 1;
                )+
            }
        }
    };
}

both! {
    fn shadows(x: u32, y: i32, z: f32) -> u32 {
        let x = x ^ 5;
        let y = {
            let x = x as i64 + y as i64;
            let y = x.wrapping_mul(3);
            (y >> 2) as u32
        };
        let shadows = |y: u32| y.wrapping_add(x);
        let x = shadows(y);
        let shadows = shadows(x);
        if let Some(x) = shadows.checked_sub(x) { x } else { x ^ y }
    }

    fn closures_in_closures(x: u32, y: i32, z: f32) -> u32 {
        let mut calls = 0_u32;
        let outer = |a: u32| {
            let inner = |b: u32| -> u32 { if b > a { b - a } else { a - b } };
            let twice = |c: u32| inner(inner(c));
            twice(a ^ x).wrapping_add(inner(7))
        };
        for k in 0..4 {
            calls = calls.wrapping_mul(31).wrapping_add(outer(k));
        }
        calls
    }

    fn leaves_early(x: u32, y: i32, z: f32) -> u32 {
        let mut found = 0_u32;
        'rows: for row in 0..6_u32 {
            let mut column = 0_u8;
            loop {
                column = column.wrapping_add(37);
                let key = row.wrapping_mul(column as u32) ^ (x & 63);
                match (key % 5, column > 200) {
                    (0, true) => continue 'rows,
                    (1, _) if row > 4 => return found | 0x8000_0000,
                    (2 | 3, false) => found = found.wrapping_add(key),
                    (4, _) => {
                        if column == 222 {
                            break 'rows;
                        }
                    }
                    _ => {}
                }
                if column < 30 {
                    break;
                }
            }
        }
        found
    }

    fn tuples_matched(x: u32, y: i32, z: f32) -> u32 {
        let gate = match x % 3 {
            0 => Gate::Open,
            1 => Gate::Half,
            _ => Gate::Shut,
        };
        let nested = if y > 0 { Some((y, x % 2 == 0)) } else { None };
        match (gate, nested, y) {
            (Gate::Open, Some((n @ 1..=99, true)), _) => n as u32,
            (Gate::Open | Gate::Shut, None, i32::MIN..=-100) => 1000,
            (Gate::Half, Some((_, odd)), m) if odd != (m > 50) => 2000_u32.wrapping_add(m as u32),
            (g, None, -99..0) => 3000 + g as u32,
            (_, Some((n, _)), _) if n % 7 == 3 => 4000,
            (g, _, 0) => g as u32 * 5,
            (g, s, _) => (g == Gate::Shut) as u32 + s.is_some() as u32 * 2,
        }
    }

    fn narrow_edges(x: u32, y: i32, z: f32) -> u32 {
        let a = x as i8;
        let b = y as i8;
        let c = a.wrapping_mul(b).wrapping_sub(a);
        let d = (c as u8).rotate_left(x) ^ (a as u8).leading_zeros() as u8;
        let e = (y as i16).wrapping_sub(a as i16);
        let f = c.saturating_sub(b).saturating_mul(3) as i16;
        let g = if let Some(q) = a.checked_div(b) { q } else { i8::MAX };
        let h = a.rem_euclid(if b == 0 { 9 } else { b | 1 });
        (d as u32) << 24 | (e as u8 as u32) << 16 | (f as u8 as u32) << 8 | (g.wrapping_add(h) as u8 as u32)
    }

    fn shifts(x: u32, y: i32, z: f32) -> u32 {
        let long = (x as u64) << (y & 63) as u32;
        let signed = (y as i64) >> (x % 64);
        let small = (x as u8) >> (y & 7);
        (long >> 32) as u32 ^ long as u32 ^ signed as u32 ^ small as u32 ^ (y >> (x & 31)) as u32
    }

    fn not_a_number(x: u32, y: i32, z: f32) -> u32 {
        let bad = if x % 4 == 0 { f32::NAN } else { z };
        let mut bits = 0_u32;
        let tests = [bad < z, !(bad < z), bad >= z, bad == bad, bad != z, z.min(bad) == z, bad.max(z) == z];
        for (test, k) in [(tests[0], 0), (tests[1], 1), (tests[2], 2), (tests[3], 3), (tests[6], 6)] {
            bits |= (test as u32) << k;
        }
        bits |= (tests[4] as u32) << 4 | (tests[5] as u32) << 5;
        let zero = if y % 2 == 0 { 0.0_f32 } else { -0.0 };
        bits |= (z.is_finite() as u32) << 20 | (z.is_infinite() as u32) << 21;
        bits |= (zero == 0.0) as u32 * 64 + (zero.to_bits() >> 31) * 128;
        bits |= (zero.copysign(z).to_bits() >> 31) * 256 + (bad as u32 & 0xff) * 512;
        bits ^ ((bad as i64) as u32) ^ (f32::INFINITY as i8 as u32) ^ ((zero.signum() < 0.0) as u32 * 1024)
    }

    fn sorts(x: u32, y: i32, z: f32) -> u32 {
        let mut all = [x, !x, x.rotate_left(9), y as u32, 17, x % 5, 3_000_000_000];
        let mut k = 7;
        while k > 1 {
            let mut j = 1;
            while j < k {
                if all[at(j - 1)] > all[at(j)] {
                    (all[at(j - 1)], all[at(j)]) = (all[at(j)], all[at(j - 1)]);
                }
                j += 1;
            }
            k -= 1;
        }
        let mut hash = 0_u32;
        for word in all {
            hash = hash.wrapping_mul(16_777_619) ^ word;
        }
        hash
    }

    fn boards(x: u32, y: i32, z: f32) -> u32 {
        let cell = Cell { at: [y, 2], heat: 0.5 };
        let mut board = Board { cells: [[cell, Cell { heat: 1.5, ..cell }]; 3], turn: 250 };
        for row in 0..3 {
            for (k, by) in [(0, 3), (1, -7)] {
                board.cells[at(row)][at(k)].at[at(1 - k)] = board.cells[at(row)][at(k)].at[at(1 - k)].wrapping_add(by);
                board.turn = board.turn.wrapping_add(row as u8 * 3);
            }
            let kept = board.cells[at(row)];
            board.cells[at(row)] = board.cells[at(2 - row)];
            board.cells[at(2 - row)] = kept;
        }
        let corner = &mut board.cells[2][1];
        corner.at[0] ^= x as i32;
        corner.heat += 0.25;
        let Board { cells: [[first, _], _, [_, last]], turn } = board;
        let heat = (first.heat * 4.0 + last.heat * 8.0) as u32;
        heat ^ (first.at[0] ^ last.at[0].wrapping_mul(5)) as u32 ^ (turn as u32) << 20 ^ last.at[1] as u32
    }

    fn labelled(x: u32, y: i32, z: f32) -> u32 {
        let mut n = x % 100;
        let mut steps = 0_u32;
        let end = 'outer: loop {
            steps += 1;
            let m = loop {
                if n % 2 == 1 {
                    break n;
                }
                n /= 2;
                steps += 1;
                if n == 0 {
                    break 'outer 1_000_000;
                }
            };
            if m == 1 || steps > 40 {
                break m;
            }
            n = m * 3 + 1;
        };
        end ^ steps << 8
    }

    fn chains_of_options(x: u32, y: i32, z: f32) -> u32 {
        let first = x.checked_add(0xf000_0000);
        let second = y.checked_mul(1 << 16);
        if let Some(a) = first && a % 3 != 0 && let Some(b) = second && b > -1_000_000 {
            return a ^ b as u32;
        } else if let (None, Some(b)) = (first, second) {
            return b as u32 | 1;
        }
        let Some(half) = x.checked_div((y & 3) as u32) else { return 77 };
        let mut left = Some(half);
        let mut count = 0_u32;
        while let Some(n) = left && count < 50 {
            left = if n > 3 { n.checked_sub(n / 3 + 1) } else { None };
            count += 1;
        }
        count
    }

    fn side_effects(x: u32, y: i32, z: f32) -> u32 {
        let mut n = x % 10;
        let mut all = [1_u32, 2, 3, 4, 5, 6];
        let yes = n > 4 && { n += 1; n % 2 == 0 } || { n += 10; y > 0 };
        while { n -= 1; n > 3 } {
            if n == 7 {
                continue;
            }
        }
        all[at(if yes { 1 } else { 2 })] += { n += 1; n };
        let k = match n {
            0 | 1 => 5,
            k if k > 3 => { n = 0; k }
            k => k * 2,
        };
        let mut total = 0_u32;
        for (w, x) in [(all[1], k), (all[2], n), (yes as u32, 1000)] {
            total = total.wrapping_add(w.wrapping_mul(x));
        }
        total
    }

    fn diverging_arms(x: u32, y: i32, z: f32) -> u32 {
        let mut sum = 0_u32;
        for k in 0..12_u32 {
            let add = match (x >> k) & 3 {
                0 => continue,
                1 if k > 9 => break,
                3 if sum > 1000 => return sum,
                v => if v == 2 { v * k } else { sum += 1; k },
            };
            sum = sum.wrapping_mul(3).wrapping_add(add);
        }
        sum
    }

    fn number_theory(x: u32, y: i32, z: f32) -> u32 {
        let a = greatest_common(x % 1000, 360);
        let b = greatest_common((y as i64).abs(), 1 << 20);
        let c = greatest_common(x as u8, 30);
        let mut root = 0_u32;
        let mut bit = 1_u32 << 15;
        while bit > 0 {
            let next = root | bit;
            if next.wrapping_mul(next) <= x { root = next; }
            bit >>= 1;
        }
        a ^ (b as u32) << 4 ^ (c as u32) << 25 ^ root << 8
    }

    fn gaussian(x: u32, y: i32, z: f32) -> u32 {
        let start = Two { a: (x % 7) as i64, b: (y % 5) as i64 };
        let mut power = Two { a: 1, b: 0 };
        for _ in 0..9 {
            power = power * start + 1;
        }
        let swapped = power.swapped();
        (swapped.a ^ power.product() ^ swapped.b >> 3) as u32
    }

    fn traits(x: u32, y: i32, z: f32) -> u32 {
        let cell = Cell { at: [y % 100, (x % 50) as i32], heat: 0.25 };
        let r = Disc { r: (x % 9) as f32 };
        let area = cell.area() + Disc::area(&r);
        area as i32 as u32 ^ sided(cell) << 12 ^ sided(r) << 20
    }

    fn ranges(x: u32, y: i32, z: f32) -> u32 {
        let mut sum = 0_u32;
        for k in (250..=255_u8).rev() { sum = sum.wrapping_mul(7) ^ k as u32; }
        for k in (-3..(y % 4) as i64).rev() { sum = sum.wrapping_add(k as u32); }
        for k in (0..x % 20).step_by(3) { sum = sum.wrapping_mul(5).wrapping_add(k); }
        for k in 5..2_i8 { sum = k as u32; }
        for _ in 0..=x % 3 { sum = sum.rotate_left(3); }
        for k in i32::MAX - 2..=i32::MAX { sum ^= k as u32; }
        sum
    }

    fn casts(x: u32, y: i32, z: f32) -> u32 {
        let a = z as u8 as i8 as i64 as f64 as f32;
        let b = (y as f32) as i32 as u64 as f32 as u32;
        let c = ((x as f64) * 1.5) as u32;
        let d = (z * 1e10) as i64 as i16;
        let e = (x as u16 as f32 / 4.0) as u8;
        let f = u64::from(x) + u64::from(e) + u64::from(y > 0);
        let g = f64::from(y) + f64::from(z) + f64::from(e);
        let h = f32::from(d) + f32::from(y > 5) + i32::from(e) as f32;
        (a as i32 as u32) ^ b ^ c ^ (d as u32) << 8 ^ f as u32 ^ g as i32 as u32 ^ h as i32 as u32
    }

    fn hashes(x: u32, y: i32, z: f32) -> u32 {
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        fn hashes(word: u32, hash: u64) -> u64 {
            let mut hash = hash;
            let mut left = word;
            for _ in 0..4 {
                hash = (hash ^ (left & 0xff) as u64).wrapping_mul(PRIME);
                left >>= 8;
            }
            hash
        }
        let all = hashes(y as u32, hashes(x, 0xcbf2_9ce4_8422_2325));
        let mut crc = !0_u32;
        for byte in [x as u8, (x >> 8) as u8, b'z'] {
            crc ^= byte as u32;
            for _ in 0..8 { crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }; }
        }
        (all >> 32) as u32 ^ all as u32 ^ !crc
    }

    fn later_values(x: u32, y: i32, z: f32) -> u32 {
        let (low, high);
        let kind: u8;
        if y < 0 {
            low = !y as u32;
            kind = 1;
            high = 7;
        } else {
            kind = if x > 9 { 2 } else { 3 };
            (low, high) = (x, y as u32);
        }
        let mut swap = (low, high);
        if kind != 2 { swap = (swap.1, swap.0); }
        let [a, b] = [swap.0 / 3, swap.1 % 11];
        a ^ b << 5 ^ kind as u32
    }

    fn references(x: u32, y: i32, z: f32) -> u32 {
        let mut pair = Two { a: x, b: 9 };
        let mut list = [pair, pair.swapped()];
        {
            let one = &mut pair;
            one.a = one.a.wrapping_add(1);
            let field = &mut list[1].a;
            *field ^= one.a;
        }
        let second = &list[1];
        let view = &list;
        second.a ^ view[0].b.wrapping_mul(pair.a)
    }
}

/// Inputs of all functions: corners, small and any numbers.
pub fn inputs() -> (Vec<u32>, Vec<i32>, Vec<f32>) {
    let mut x = vec![0, 1, 2, 3, u32::MAX, 1 << 31, 7, 100, 0x8000_0001];
    let mut y = vec![0, -1, i32::MIN, i32::MAX, 2, -7, 5, 31, -128];
    let mut z = vec![0.0, -0.0, 1.0, -2.5, f32::INFINITY, f32::NEG_INFINITY, 3e9, 0.75, -1e20];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    while x.len() < 200 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let [a, b] = [state as u32, (state >> 32) as u32];
        x.push(if a & 1 == 0 { a % 300 } else { a });
        y.push(if b & 1 == 0 { (b % 400) as i32 - 200 } else { b as i32 });
        z.push((state % 20_000) as f32 / 8.0 - 1000.0);
    }
    (x, y, z)
}
