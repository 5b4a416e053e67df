//! Sums of all elements before and with each, block by block.

use vkfuse::rust::{Captures, GroupItem, GroupRange, Read, Shared, Write, kernel};

use crate::{agree, words};

const BLOCK: u32 = 64;

#[derive(Captures)]
struct Scan {
    x: Read<u32>,
    sums: Write<u32>,
    block: Shared<u32, 64>,
}

#[kernel]
impl Scan {
    fn run(&self, item: GroupItem<1>) {
        let k = item.local(0);
        self.block[k] = self.x[item.global(0)];
        item.barrier();
        let mut step = 1;
        while step < BLOCK {
            let before = if k >= step { self.block[k - step] } else { 0 };
            item.barrier();
            self.block[k] += before;
            item.barrier();
            step *= 2;
        }
        self.sums[item.global(0)] = self.block[k];
    }
}

#[test]
fn prefix_sum() {
    let rig = rig!();
    agree(&rig, |bench| {
        let (x, sums) = (bench.buffer(words(512, 1)), bench.buffer(vec![0; 512]));
        let kernel = Scan { x: x.read(), sums: sums.write(), block: Shared::new() };
        bench.run(GroupRange::new([512 / BLOCK], [BLOCK]), &kernel);
        bench.triple(&sums);
    });
}
