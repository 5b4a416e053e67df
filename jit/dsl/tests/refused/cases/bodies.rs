//! What bodies cannot contain.

extern crate vkfuse_kernel as vkfuse;

use vkfuse::rust::{Captures, ReadWrite, device, kernel};

#[derive(Captures)]
struct Kernel<const N: u32> {
    factor: u32,
    x: ReadWrite<u32>,
}

#[kernel]
impl Kernel<1> {
    fn other(&self) {
        self.run();
    }

    fn run(&self) {}
}

#[kernel]
impl Kernel<2> {
    fn run(&self) {
        self.factor = 3;
        factor = 3;
        self.x.get(0) = 3;
        self.x.map(0);
        self.x.get::<u32>(0);
    }
}

#[device]
fn expressions(x: u32) {
    let a = |y| y + x;
    let b = async { x };
    let c = x.await;
    let d = &x;
    let e = (x, x);
    let f = 0..x;
    let g = x?;
    let i = &raw const x;
    let j = const { 1 + 1 };
    let k = *x;
    let l = x.0;
    let m = x as _;
    let n = x as usize;
    if let 1 = x {}
    while let 1 = x {}
    let p = Point { 0: x };
    let q = Point(x, x);
    let r = (x)(1);
    let s = x(1);
    let t = touch(&mut x);
    x.y.0 = 1;
    let u = _;
}

#[device]
fn literals(x: u32) {
    let a = 'a';
    let b = "text";
    let c = b"text";
    let d = 1_usize;
    let e = -1_isize;
    let f = 1_u128;
    let g = x[1_usize];
    let h = c"text";
}

#[device]
fn macros(x: u32) {
    println!("{x}");
    assert!(x == 1);
    let a = vec![x];
    let b = max!(x, 1);
    macro_rules! local {
        () => {};
    }
}

#[device]
fn methods(x: f32) {
    let a = x.pow(2);
    let b = x.saturating_add(1);
    let c = x.iter();
    let d = x.unwrap();
    let e = x.clone();
    let f = x.rem_euclid(2);
    let g = x.cbrt();
    let h = x.fract();
    let i = x.rotate_left(3);
}

#[device]
fn paths(x: u32) {
    let a = u32::from(true);
    let b = f32::default();
    let c = i32::saturating_add(1, 2);
    let d = std::mem::size_of::<u32>();
    let e = <u32 as Number>::twice(x);
}

#[device]
fn statements(x: u32) {
    let a;
    let 1 = x else { return };
    let (b, c) = x;
    let Point { x: d } = x;
    let [e, f] = x;
    let &g = x;
    let ref h = x;
    let i @ 1 = x;
    let 2 = x;
    let j: &u32 = x;
    fn inside() {}
    static S: u32 = 1;
    struct Inside;
    const C: usize = 1;
}

#[device]
fn attributes(x: u32) {
    #[cfg(debug_assertions)]
    let k = x;
    #[inline]
    let l = x;
    #[allow(unused)]
    let m = x;
}

#[device]
fn flow(x: f32) -> u32 {
    'd: {}
    while x < 1.0 {
        break 1;
    }
    for i in x {}
    for i in (0..10).step_by(2).rev() {}
    for i in 0.. {}
    for mut i in 0..3 {}
    for (i, j) in 0..3 {}
    match x {
        1.0 => {}
        _ => {}
    }
    match x {
        (1, 2) => {}
        _ => {}
    }
    match x {
        Some(1) => {}
        _ => {}
    }
    match x {
        y @ 1 => {}
        _ => {}
    }
    match x {
        n | n => {}
    }
    match x {
        "a" => {}
        _ => {}
    }
    0
}

fn main() {}
