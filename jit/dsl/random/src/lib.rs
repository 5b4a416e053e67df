//! Random kernels written in Rust, for the test that host and device agree on them. `build.rs` writes them.

#![allow(
    missing_docs,
    missing_debug_implementations,
    dead_code,
    unused_parens,
    unused_comparisons,
    unused_variables,
    clippy::all,
    reason = "generated code is not written to be read"
)]

pub mod bounds;

use std::ops::{Add, Mul, Neg};

use vkfuse::{
    Buffer, Error, Queue,
    rust::{
        Captures, HostBuffer, IVec2, IVec3, IVec4, Item, Read, UVec2, UVec3, UVec4, Value, Vec2, Vec3, Vec4,
        Write, device, f16, host::on_host, kernel,
    },
};

/// What all items are given: one of each for an item.
pub struct Inputs<'a> {
    pub x: &'a [u32],
    pub y: &'a [i32],
    pub z: &'a [f32],
}

impl Inputs<'_> {
    /// Number of items.
    pub fn len(&self) -> u32 {
        self.x.len() as u32
    }
}

/// The inputs in buffers, and the results: result and two arguments of its last step.
pub struct OnDevice {
    pub x: Buffer<u32>,
    pub y: Buffer<i32>,
    pub z: Buffer<f32>,
    pub out: Buffer<[u32; 3]>,
}

/// A kernel of several functions.
pub struct Case {
    /// Names of the functions, and of the last step of those whose result is only bounded.
    pub functions: &'static [(&'static str, &'static str)],
    /// Runs it on the host; results by item, [`PER_KERNEL`] for each.
    pub host: fn(&Inputs<'_>) -> Vec<[u32; 3]>,
    /// Runs it on a device, into `out`.
    pub device: fn(&Queue, &OnDevice, u32) -> Result<(), Error>,
}

macro_rules! case {
    ($kernel:ident, $functions:expr) => {
        Case {
            functions: &$functions,
            host: |inputs| {
                let (x, y) = (HostBuffer::new(inputs.x.to_vec()), HostBuffer::new(inputs.y.to_vec()));
                let z = HostBuffer::new(inputs.z.to_vec());
                let out = HostBuffer::new(vec![[0; 3]; inputs.x.len() * PER_KERNEL]);
                let kernel = $kernel { x: (&x).into(), y: (&y).into(), z: (&z).into(), out: (&out).into() };
                on_host([inputs.len()], &kernel);
                out.to_vec()
            },
            device: |queue, on, count| {
                let OnDevice { x, y, z, out } = on;
                let kernel = $kernel { x: x.into(), y: y.into(), z: z.into(), out: out.into() };
                queue.submit(|h| {
                    h.parallel_for(count, &kernel);
                })?;
                Ok(())
            },
        }
    };
}

const TABLE: [u32; 4] = [0x1234_5678, 9, 0x8000_0001, 77];

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Part {
    word: u32,
    small: i16,
    many: [u32; 3],
}

#[device]
impl Part {
    const STEP: u32 = 7;

    fn mixed(&self, by: u32) -> u32 {
        self.word ^ (self.small as u32 * by) + self.many[by % 4] * Self::STEP
    }

    fn with_word(self, word: u32) -> Part {
        let old = self;
        Part { word, small: old.small + 1, many: self.many }
    }
}

#[device]
impl Part {
    fn step(&mut self, by: u32) -> u32 {
        self.word += by;
        if self.word % 3 == 1 {
            return self.mixed(by);
        }
        self.many[by % 4] ^= self.word;
        self.small -= 1;
        self.word
    }
}

#[device]
impl Add for Part {
    type Output = Part;
    fn add(self, other: Part) -> Part {
        Part { word: self.word + other.word, small: self.small ^ other.small, many: other.many }
    }
}

#[device]
impl Mul<u32> for Part {
    type Output = Self;
    fn mul(self, by: u32) -> Self {
        Part { word: self.word * by, ..self }
    }
}

#[device]
impl Neg for Part {
    type Output = Part;
    fn neg(self) -> Part {
        Part { small: -self.small, word: !self.word, many: self.many }
    }
}

#[device]
trait Mix: Value {
    const SALT: u32;
    fn salted(x: u32) -> u32;
    fn of(&self, x: u32) -> u32;
    fn twice(&self, x: u32) -> u32 {
        self.of(self.of(x)) + Self::SALT
    }
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Twist {
    by: u32,
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Salt {
    by: u32,
    more: u32,
}

#[device]
impl Mix for Twist {
    const SALT: u32 = 5;
    fn salted(x: u32) -> u32 {
        x ^ Self::SALT
    }
    fn of(&self, x: u32) -> u32 {
        x.rotate_left(self.by)
    }
}

#[device]
impl Mix for Salt {
    const SALT: u32 = 0x9e37_79b9;
    fn salted(x: u32) -> u32 {
        x * Self::SALT
    }
    fn of(&self, x: u32) -> u32 {
        (x ^ self.more) + self.by
    }
    fn twice(&self, x: u32) -> u32 {
        self.of(x) * 2
    }
}

#[device]
fn mixed_by<M: Mix>(by: M, x: u32) -> u32 {
    M::salted(by.of(x)) + M::twice(&by, x)
}

#[derive(Clone, Copy, PartialEq, Value)]
#[repr(u32)]
enum Kind {
    Round,
    Flat = 6,
    Deep,
}

#[device]
fn both(x: u32, y: u32) -> (u32, u32) {
    (x ^ y, x + y * 3)
}

#[device]
fn halved(x: u32) -> Option<u32> {
    if x % 2 == 0 { Some(x / 2) } else { None }
}

#[device]
fn quartered(x: u32) -> Option<(u32, u32)> {
    let half = halved(x)?;
    Some((halved(half + x)?, half))
}

#[device]
fn raise(x: &mut u32, by: u32) -> u32 {
    *x += by;
    if *x % 2 == 0 {
        return *x;
    }
    *x ^= 5;
    by
}

#[device]
fn exchange(a: &mut u32, b: &mut u32) {
    (*a, *b) = (*b, *a);
}

/// The bits of a float; a zero has no sign.
#[device]
fn bits(x: f32) -> u32 {
    if x == 0.0 { 0 } else { x.to_bits() }
}

const HALVES: [f16; 3] = [f16::from_f32_const(0.1), f16::from_f32_const(-2.5e-6), f16::from_f32_const(77.7)];

/// A half of moderate size.
#[device]
fn near(x: f32) -> f16 {
    f16::from_f32(x.clamp(-100.0, 100.0))
}

/// The same, of a half.
#[device]
fn tamed(x: f16) -> f16 {
    x.clamp(-HALVES[2], HALVES[2])
}

/// The bits of a half; a zero has no sign.
#[device]
fn bits_half(x: f16) -> u32 {
    if x == f16::ZERO { 0 } else { u32::from(x.to_bits()) }
}

/// The bits of a float, folded.
#[device]
fn bits_wide(x: f64) -> u32 {
    if x == 0.0 { 0 } else { fold(x.to_bits()) }
}

#[device]
fn fold(x: u64) -> u32 {
    (x ^ (x >> 32)) as u32
}

/// Of moderate size.
#[device]
fn plain(x: f32) -> f32 {
    x.clamp(-1e6, 1e6)
}

/// Of moderate size, and not near to zero.
#[device]
fn divisor(x: f32) -> f32 {
    if x.abs() < 0.125 { 2.5 } else { plain(x) }
}

include!(concat!(env!("OUT_DIR"), "/generated.rs"));
