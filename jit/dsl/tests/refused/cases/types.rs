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
        self.z.fetch_add(i, 1.0);
        self.y.set(i, self.pairs[i].weight);
    }
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Point {
    x: f32,
}

#[device]
fn numbers(x: f32, y: f64, n: i16, p: Point) {
    let a = x % x;
    let b = x & x;
    let c = x << 1;
    let d = y.sin();
    let e = n.count_ones();
    let f = n.sqrt();
    let g = p + p;
    let h = p.z;
    let i = [1_u32, 2][n];
}

fn unmarked(x: u32) -> u32 {
    x
}

#[device]
fn calls(x: u32) -> u32 {
    unmarked(x)
}

fn main() {
    let host = vkfuse::rust::HostBuffer::new(vec![0.0_f32]);
    host::on_host([1], &Pair { weight: 1.0, data: (&host).into() });
}
