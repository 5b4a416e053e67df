//! The Mandelbrot set, with a type of complex numbers.

use crate::agree;
use std::ops::{Add, Mul};
use vkfuse::rust::{Captures, Item, Value, Write, device, kernel};

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Complex {
    re: f32,
    im: f32,
}

#[device]
impl Add for Complex {
    type Output = Complex;
    fn add(self, other: Complex) -> Complex {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }
}

#[device]
impl Mul for Complex {
    type Output = Complex;
    fn mul(self, other: Complex) -> Complex {
        Complex { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

#[derive(Captures)]
struct Mandelbrot {
    corner: Complex,
    step: f32,
    rounds: Write<u32>,
}

#[kernel]
impl Mandelbrot {
    fn run(&self, item: Item<2>) {
        let (x, y) = (item.id(0) as f32, item.id(1) as f32);
        let c = self.corner + Complex { re: x * self.step, im: y * self.step };
        let (mut z, mut rounds) = (c, 0);
        while rounds < 100 && z.re * z.re + z.im * z.im <= 4.0 {
            z = z * z + c;
            rounds += 1;
        }
        self.rounds[item.index()] = rounds;
    }
}

#[test]
fn mandelbrot() {
    let rig = rig!();
    agree(&rig, |bench| {
        let rounds = bench.buffer(vec![0; 64 * 48]);
        let corner = Complex { re: -2.0, im: -1.2 };
        bench.run([64, 48], &Mandelbrot { corner, step: 0.05, rounds: rounds.write() });
        bench.triple(&rounds);
    });
}
