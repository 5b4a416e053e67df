//! Softmax of rows: a group for each.

use vkfuse::rust::{Captures, GroupItem, GroupRange, Read, Shared, Write, device, kernel};

use crate::{agree, floats};

const WIDTH: u32 = 64;

/// e to a power of at most zero, in steps that every device does alike.
#[device]
fn exp(x: f32) -> f32 {
    let y = x.max(-80.0) * 1.442_695;
    let whole = y.floor();
    let part = (y - whole) * 0.693_147_2;
    let mut power = 1.0;
    for k in (1..9_u32).rev() {
        power = 1.0 + part * power * INVERSE[k];
    }
    power * f32::from_bits(((whole as i32 + 127) as u32) << 23)
}

const INVERSE: [f32; 9] = [0.0, 1.0, 0.5, 1.0 / 3.0, 0.25, 0.2, 1.0 / 6.0, 1.0 / 7.0, 0.125];

#[derive(Captures)]
struct Softmax {
    x: Read<f32>,
    y: Write<f32>,
    row: Shared<f32, 64>,
}

#[kernel]
impl Softmax {
    fn run(&self, item: GroupItem<1>) {
        let (k, x) = (item.local(0), self.x[item.global(0)]);
        self.row[k] = x;
        item.barrier();
        let (mut most, mut sum) = (x, 0.0);
        for other in 0..WIDTH {
            most = most.max(self.row[other]);
        }
        item.barrier();
        self.row[k] = exp(x - most);
        item.barrier();
        for other in 0..WIDTH {
            sum += self.row[other];
        }
        self.y[item.global(0)] = (self.row[k] as f64 / sum as f64) as f32;
    }
}

#[test]
fn softmax() {
    let rig = rig!();
    agree(&rig, |bench| {
        let (x, y) = (bench.buffer(floats(512, 1)), bench.buffer(vec![0.0; 512]));
        let kernel = Softmax { x: x.read(), y: y.write(), row: Shared::new() };
        bench.run(GroupRange::new([512 / WIDTH], [WIDTH]), &kernel);
        bench.increment(&y);
    });
}
