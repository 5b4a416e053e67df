//! What is refused once is not reported where it is used.

extern crate vkfuse_kernel as vkfuse;

use vkfuse::rust::{Captures, HostBuffer, Item, Read, Value, Write, device, host::on_host, kernel};

#[derive(Captures)]
struct Kernel {
    out: Write<f32>,
}

#[device]
fn refused(x: f32) -> f32 {
    println!("{x}");
    x
}

#[kernel]
impl Kernel {
    fn half(&self, x: f32) -> f32 {
        x.to_degrees()
    }

    fn run(&self, item: Item<1>) {
        let y = refused(self.half(1.0));
        self.out.set(item.index(), y.unwrap());
    }
}

#[derive(Clone, Copy, Default, Value)]
#[repr(C)]
struct Point {
    x: f32,
}

impl Point {
    fn unmarked(self, by: f32) -> Point {
        Point { x: self.x * by }
    }
}

trait Operator {
    fn apply(x: f32) -> f32;
}

#[device]
fn unmarked<O: Operator>(point: Point) -> f32 {
    let a = Point::unmarked(point, 2.0);
    let b = Point::default();
    let c = point.unmarked(2.0);
    let d = (1.0_f32).my_own();
    O::apply(a.x + b.x)
}

struct NoValue;

#[derive(Captures)]
struct Elements {
    flags: Read<bool>,
    no_value: Read<NoValue>,
}

fn main() {
    let out = HostBuffer::new(vec![0.0]);
    on_host([1], &Kernel { out: (&out).into() });
    on_host([1], &Kernel { out: (&out).into() });
    let flags: Read<bool> = (&HostBuffer::new(vec![true])).into();
}
