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

#[derive(Captures)]
struct Writes {
    x: Read<f32>,
    y: Write<f32>,
    part: Shared<u32, 8>,
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

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Two<T: Copy> {
    a: T,
    b: T,
}

#[device]
fn fields(x: f32, n: i16) -> f32 {
    let p = Point { x: n };
    let q = Point { x: 1 };
    let r = Two::<f32> { a: x, b: n };
    let s = Two::<f32> { a: x, ..q };
    p.x + r.b + s.a
}

#[device]
fn elements(x: f32, n: i16) -> f32 {
    let a = [x, n];
    let b = [1, x];
    let c: [f32; 3] = [x, 1.0, n];
    let d = [[x, x], [x, n]];
    a[0] + c[1]
}

#[device]
impl Point {
    fn along(self, by: f32, other: Point) -> f32 {
        self.x + by * other.x
    }

    fn add(&mut self, by: f32) {
        self.x += by;
    }

    fn new(x: f32) -> Point {
        Point { x }
    }
}

#[device]
fn methods(p: Point, x: f32, n: i16) -> f32 {
    let mut q = Point::new(n);
    q.add(n);
    let a = p.along(n, p) + p.along(x, x);
    let b = x.min(n) + x.mul_add(1, 2.0) + x.powi(x);
    let c = n.rotate_left(n) + f32::max(x, n);
    let d = (1_u32).pow(2.0);
    a + b
}

#[device]
fn closures(x: f32, n: i16) -> f32 {
    let scale = 2.0_f32;
    let scaled = |x: f32, by: u32| x * scale * by as f32;
    scaled(n, 2) + scaled(x, 2.0) + scaled(x)
}

#[device]
fn counts(p: Point, x: f32, n: i16) -> f32 {
    let a = scaled(x) + scaled(x, 2, 3) + last() as f32;
    let b = p.along(x) + p.along(x, p, p) + Point::new().x;
    let c = x.min() + x.sqrt(2.0) + f32::max(x);
    let closure = |x: f32| x;
    a + b + c + closure(x, x) + closure()
}

#[device]
const fn constant(x: u32, n: i16) -> u32 {
    let a: u32 = n;
    let b = Two::<u32> { a: n, b: x };
    let mut c = [x, n];
    c = n;
    let d = x + n;
    if n {
        return n;
    }
    constant(n, 1) + constant(x)
}

#[kernel]
impl Writes {
    fn helped(&self, x: f32) -> f32 {
        x
    }

    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.y.set(i, i);
        self.y.set(i, 1);
        self.part.set(i, self.x.get(i));
        self.y.set(i);
        self.y.set(i, 1.0, 2.0);
        let a = item.index(0) + item.id();
        self.y[i] = self.helped(i) + self.helped();
    }
}

#[device]
fn operators(x: u32, n: i16, of: Option<u32>) -> u32 {
    if x < n {
        return 1;
    }
    if x == 1.0 && n {
        return 2;
    }
    let a = x & n;
    let b = x % n;
    for k in x..n {}
    of.unwrap_or(n)
}

fn main() {}
