//! A value that is not plain bytes is no element of buffers.

extern crate vkfuse_kernel as vkfuse;

use vkfuse::rust::{Captures, Item, Read, ReadWrite, Value, kernel};

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
}

#[derive(Captures)]
struct Kernel {
    from: Read<Point>,
    to: ReadWrite<Point>,
}

#[kernel]
impl Kernel {
    fn run(&self, item: Item<1>) {
        let i = item.id(0);
        let point = self.from.get(i);
        self.to.set(i, Point { x: point.y, y: point.x });
    }
}

fn main() {
    let host = vkfuse::rust::HostBuffer::new(vec![Point { x: 1.0, y: 2.0 }]);
    let _ = Kernel { from: (&host).into(), to: (&host).into() };
}
