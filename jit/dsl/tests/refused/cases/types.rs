//! What only shows from types.

extern crate vkfuse_kernel as vkfuse;

use vkfuse::rust::{Captures, Item, Read, ReadWrite, Value, Write, device, host, kernel};

struct Plain {
    x: u32,
}

#[derive(Captures)]
struct Field {
    x: Plain,
}

#[derive(Captures)]
struct Pair {
    weight: f32,
    data: Read<f32>,
}

#[derive(Captures)]
struct Kernel {
    pairs: [Pair; 2],
    x: Read<f32>,
    y: Write<f32>,
    z: ReadWrite<f32>,
}

#[kernel]
impl Kernel {
    fn run(&self, item: Item<1>) {
        let i = item.id(0);
        self.x.set(i, 1.0);
        self.y.get(i);
        self.z.fetch_max(i, 1.0);
        self.y.set(i, self.pairs[i].weight);
        self.x[i] = 1.0;
        self.y[i] += 1.0;
        self.pairs[0] = 1.0;
        let mut k = self.y[i];
    }
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Point {
    x: f32,
}

#[device]
fn numbers(x: f32, y: f64, n: i16, p: Point) {
    let a = x.rotate_left(1);
    let b = x & x;
    let c = x << 1;
    let d = y.sin();
    let e = n.count_ones();
    let f = n.sqrt();
    let g = p + p;
    let h = p.z;
    let i = [1_u32, 2][n];
    let j = x * n;
    let k = 2 * p;
    let l = p.0;
    for m in x {}
    let mut o = [p];
    o[n] = p;
}

fn unmarked(x: u32) -> u32 {
    x
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Counter {
    count: u32,
}

#[device]
impl Counter {
    fn next(&mut self) {
        self.count += 1;
    }
}

#[device]
fn changes(of: [Counter; 2], at: u32) {
    let mut counters = of;
    counters[at].next();
}

#[device]
fn calls(x: u32) -> u32 {
    unmarked(x)
}

fn main() {
    let host = vkfuse::rust::HostBuffer::new(vec![0.0_f32]);
    host::on_host([1], &Pair { weight: 1.0, data: (&host).into() });
}
