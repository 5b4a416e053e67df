//! `y = a * x + y`.

use vkfuse::rust::{Captures, Item, Read, ReadWrite, kernel};

use crate::{agree, floats};

#[derive(Captures)]
struct Saxpy {
    a: f32,
    x: Read<f32>,
    y: ReadWrite<f32>,
}

#[kernel]
impl Saxpy {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.y[i] += self.a * self.x[i];
    }
}

#[test]
fn saxpy() {
    let rig = rig!();
    agree(&rig, |bench| {
        let (x, y) = (bench.buffer(floats(1003, 1)), bench.buffer(floats(1003, 2)));
        bench.run(1003, &Saxpy { a: 2.5, x: x.read(), y: y.read_write() });
        bench.increment(&y);
    });
}
