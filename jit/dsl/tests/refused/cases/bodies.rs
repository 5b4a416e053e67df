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
    let d = [&mut x];
    let e = [|y: u32| y];
    let f = 0..x;
    let g = x?;
    let i = &raw const x;
    let j = const { 1 + 1 };
    let k = |y: f32| {
        return y;
    };
    let l = Some(x)?;
    let m = x as _;
    let n = x as usize;
    if let 1 = x && x > 0 {
    }
    let p = Point { 0: x };
    let q = Point(x, x);
    let r = (x)(1);
    let s = x(1);
    x.y() = 1;
    C = 1;
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
    assert_eq!(x, 1);
    let a = vec![x];
    let b = max!(panic!("{x}"), 1);
    let c = todo!();
    assert!();
    macro_rules! local {
        () => {};
    }
}

#[device]
fn methods(x: f32) {
    let a = x.wrapping_pow(2);
    let b = x.overflowing_add(1);
    let c = x.iter();
    let d = x.unwrap();
    let e = x.clone();
    let f = x.iter_mut();
    let g = x.cbrt();
    let h = x.fract();
    let i = x.to_owned();
    let j = x.wrapping_abs();
    let k = x.abs_diff(x);
    let l = x.count_zeros();
    let m = x.is_power_of_two();
    let n = x.ilog2();
    let o = x.is_sign_negative();
}

#[device]
fn paths(x: u32) {
    let a = usize::from(true);
    let b = f32::default();
    let c = i32::overflowing_add(1, 2);
    let d = std::mem::size_of::<u32>();
    let e = <u32 as Number>::twice(x);
    let f = f16::from_f64(1.0);
    let g = f16::from_f32_const(1.0);
    let h = bool::from(x);
    std::mem::swap(&mut x, &mut x);
}

#[device]
fn statements(x: u32) {
    let (.., a) = x;
    let Point(b) = x;
    let Point { 0: c } = x;
    let ref d = x;
    let e: *const u32 = x;
    let f: &'static [u32] = x;
    let [g, h];
    let (l, m): u32;
    let i = |(j, k): (u32, u32)| j;
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
    for i in x.iter() {}
    for i in (0..10).step_by(2).rev() {}
    for i in 0.. {}
    for mut i in 0..3 {}
    for (i, j) in 0..3 {}
    match x {
        1.0 => {}
        _ => {}
    }
    match x {
        Point(1) => {}
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
