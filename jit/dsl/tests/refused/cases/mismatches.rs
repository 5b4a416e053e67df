//! A value of another type than is expected: one error for both copies.

extern crate vkfuse_kernel as vkfuse;

use vkfuse::rust::{Captures, Item, Read, Shared, Value, Write, device, kernel};

#[derive(Captures)]
struct Kernel {
    x: Read<f32>,
    y: Write<f32>,
    part: Shared<u32, 8>,
    at: i32,
}

#[kernel]
impl Kernel {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        let a = self.x[self.at];
        self.y[self.at] = a;
        self.part[i as i32] += 1;
        self.y.set(i, self.x.get(self.at));
        self.y[i] = 1;
        if i {}
        while self.at {}
    }
}

#[device]
fn scaled(x: f32, by: u32) -> f32 {
    x * by as f32
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Point {
    x: f32,
}

#[device]
impl Point {
    fn moved(self, by: f32) -> Point {
        Point { x: self.x + by }
    }

    fn twice(self) -> Point {
        self.moved(2)
    }
}

#[device]
fn assignments(n: i16, mut all: [u32; 3], at: &mut Point) {
    let mut a = 1_u32;
    a = n;
    all[1] = 1.0;
    at.x = a;
    *at = n;
    let b;
    b = a;
}

#[device]
fn locals(x: f32, n: i16, all: [u32; 3]) -> u32 {
    let a: u32 = 1.0_f32;
    let b: f32 = 1;
    let mut c: u32 = x;
    let d: i32 = if n < 3 { n } else { 1 };
    let e: [f32; 2] = [1, 2];
    let mut f = [1_u32, 2];
    f[n] = 3;
    f[1] = all[n];
    c
}

#[device]
fn results(x: f32, n: i16) -> u32 {
    if n == 1 {
        return x;
    }
    match n {
        2 => x,
        3 => n,
        _ => 1,
    }
}

#[device]
fn last(x: f32) -> i32 {
    x.floor()
}

#[device]
fn arguments(x: f32, n: i16) -> f32 {
    scaled(n, 1) + scaled(x, 1.0) + scaled(x, x as i32)
}

fn main() {}
