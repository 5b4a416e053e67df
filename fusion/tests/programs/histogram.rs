//! How often each digit occurs: of a group in its memory, of all in a buffer.

use vkfuse::rust::{Captures, GroupItem, GroupRange, Read, ReadWrite, Shared, kernel};

use crate::{agree, words};

const BINS: u32 = 16;
const LOCAL: u32 = 64;

#[derive(Captures)]
struct Histogram {
    x: Read<u32>,
    bins: ReadWrite<u32>,
    counts: Shared<u32, 16>,
}

#[kernel]
impl Histogram {
    fn run(&self, item: GroupItem<1>) {
        let k = item.local(0);
        if k < BINS {
            self.counts[k] = 0;
        }
        item.barrier();
        self.counts.fetch_add(self.x[item.global(0)] >> 28, 1);
        item.barrier();
        if k < BINS {
            self.bins.fetch_add(k, self.counts[k]);
        }
    }
}

#[test]
fn histogram() {
    let rig = rig!();
    agree(&rig, |bench| {
        let (x, bins) = (bench.buffer(words(1024, 1)), bench.buffer(vec![0; BINS as usize]));
        bench.triple(&x);
        let kernel = Histogram { x: x.read(), bins: bins.read_write(), counts: Shared::new() };
        bench.run(GroupRange::new([1024 / LOCAL], [LOCAL]), &kernel);
    });
}
