//! A product of matrices, tile by tile.

use vkfuse::rust::{Captures, GroupItem, GroupRange, Read, Shared, Write, kernel};

use crate::{agree, floats};

const TILE: u32 = 8;

#[derive(Captures)]
struct MatMul {
    n: u32,
    a: Read<f32>,
    b: Read<f32>,
    c: Write<f32>,
    rows: Shared<f32, 64>,
    columns: Shared<f32, 64>,
}

#[kernel]
impl MatMul {
    fn run(&self, item: GroupItem<2>) {
        let x = item.local(0);
        let y = item.local(1);
        let row = item.global(1);
        let column = item.global(0);
        let mut sum = 0.0;
        for tile in 0..self.n / TILE {
            self.rows[y * TILE + x] = self.a[row * self.n + tile * TILE + x];
            self.columns[y * TILE + x] = self.b[(tile * TILE + y) * self.n + column];
            item.barrier();
            for k in 0..TILE {
                sum += self.rows[y * TILE + k] * self.columns[k * TILE + x];
            }
            item.barrier();
        }
        self.c[row * self.n + column] = sum;
    }
}

#[test]
fn matmul() {
    let rig = rig!();
    let n = 32;
    agree(&rig, |bench| {
        let (a, b) = (bench.buffer(floats(n * n, 1)), bench.buffer(floats(n * n, 2)));
        let c = bench.buffer(vec![0.0; n * n]);
        let n = n as u32;
        let (rows, columns) = (Shared::new(), Shared::new());
        let kernel = MatMul { n, a: a.read(), b: b.read(), c: c.write(), rows, columns };
        bench.run(GroupRange::new([n / TILE; 2], [TILE; 2]), &kernel);
        bench.increment(&c);
    });
}
