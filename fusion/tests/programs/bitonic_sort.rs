//! Blocks, each sorted by the items of a group.

use vkfuse::rust::{Captures, GroupItem, GroupRange, ReadWrite, Shared, kernel};

use crate::{agree, words};

const BLOCK: u32 = 64;

#[derive(Captures)]
struct Sort {
    x: ReadWrite<u32>,
    block: Shared<u32, 64>,
}

#[kernel]
impl Sort {
    /// What remains at `k` when it is compared with the one at `other`.
    fn kept(&self, k: u32, other: u32, up: bool) -> u32 {
        let (low, high) = (self.block[k].min(self.block[other]), self.block[k].max(self.block[other]));
        if (k < other) == up { low } else { high }
    }

    fn run(&self, item: GroupItem<1>) {
        let k = item.local(0);
        self.block[k] = self.x[item.global(0)];
        item.barrier();
        let mut size = 2;
        while size <= BLOCK {
            let mut step = size / 2;
            while step > 0 {
                let kept = self.kept(k, k ^ step, k & size == 0);
                item.barrier();
                self.block[k] = kept;
                item.barrier();
                step /= 2;
            }
            size *= 2;
        }
        self.x[item.global(0)] = self.block[k];
    }
}

#[test]
fn bitonic_sort() {
    let rig = rig!();
    agree(&rig, |bench| {
        let x = bench.buffer(words(512, 1));
        bench.triple(&x);
        bench.run(GroupRange::new([512 / BLOCK], [BLOCK]), &Sort { x: x.read_write(), block: Shared::new() });
    });
}
