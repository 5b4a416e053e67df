//! Functions that cannot be marked, by what stands around their bodies.

extern crate vkfuse_kernel as vkfuse;

use vkfuse::rust::{Captures, Item, Value, Write, device, kernel};

#[derive(Captures)]
struct Kernel<const N: u32> {
    out: Write<u32>,
}

#[kernel(64)]
impl Kernel<1> {
    fn run(&self) {}
}

#[kernel]
fn not_an_impl() {}

#[kernel]
impl Clone for Kernel<0> {
    fn clone(&self) -> Self {
        Kernel { out: self.out.clone() }
    }
}

#[kernel]
impl Kernel<2> {
    fn other(&self) {}
}

#[kernel]
impl Kernel<3> {
    fn run(item: Item<1>) {}
}

#[kernel]
impl Kernel<4> {
    fn run(self, item: Item<1>) {}
}

#[kernel]
impl Kernel<5> {
    fn run(&mut self, item: Item<1>) {}
}

#[kernel]
impl Kernel<6> {
    fn run<T: Value>(&self, item: Item<1>) {}
}

#[kernel]
impl Kernel<7> {
    fn run(&self, item: Item<1>) -> u32 {
        item.id(0)
    }
}

#[kernel]
impl Kernel<8> {
    fn run(&self, item: Item<1>, factor: u32) {}
}

#[kernel]
impl Kernel<9> {
    fn run(&self) {
        return self.out.set(0, 1);
    }
}

#[device(inline)]
fn with_arguments() {}

#[device]
struct NotAFunction;

#[device]
async fn later() {}

#[device]
const fn constant(x: f32, all: [u32; 3], k: u32) -> f32 {
    let sum = 0;
    let mut last = -(1.0);
    let one = all[k];
    x.sqrt()
}

#[device]
unsafe fn unsafe_one() {}

#[device]
impl Kernel<10> {
    fn changed(mut self) {}
}

#[kernel]
impl Kernel<11> {
    fn moved(self) {}
    fn run(&self) {}
}

struct Number;

#[device]
impl std::ops::AddAssign for Number {
    fn add_assign(&mut self, other: Number) {}
}

#[device]
impl std::ops::Rem for Number {
    type Output = Number;
    fn rem(self, other: Number) -> Number {
        self
    }
}

#[device]
impl From<u32> for Number {
    fn from(from: u32) -> Number {
        Number
    }
}

#[device]
impl std::ops::Neg for &Number {
    type Output = Number;
    fn neg(self) -> Number {
        Number
    }
}

#[device]
trait Operator {
    fn twice(x: char) -> u32;
    fn thrice(x: u32) -> u32 {
        println!("{x}");
        x
    }
}

#[device]
trait Norm {
    fn norm(self) -> f32;
}

#[device]
impl Norm for f32 {
    fn norm(self) -> f32 {
        self
    }
}

#[device]
trait Sided {
    fn sides(&self) -> u32 {
        4
    }
}

#[device]
fn takes_apart((x, y): u32) {}

#[device]
fn conditional(#[cfg(debug_assertions)] x: u32) {}

#[device]
fn reference() -> &'static u32 {}

#[device]
fn pointer(x: *mut u32) {}

#[device]
fn tuple() -> (u32, usize) {}

#[device]
fn slice(x: [u32]) {}

#[device]
fn usize_one(x: usize) {}

#[device]
fn isize_one(x: [isize; 4]) {}

#[device]
fn char_one(x: char) {}

#[device]
fn wide(x: i128) {}

fn main() {}
