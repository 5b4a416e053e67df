//! All elements of a group made one, by whatever an operator says.

use crate::{agree, words};
use std::marker::PhantomData;
use vkfuse::rust::{Captures, GroupItem, GroupRange, Read, Shared, Value, Write, device, kernel};

#[device]
trait Operator {
    type Of: Value;
    fn map(x: u32) -> Self::Of;
    fn join(a: Self::Of, b: Self::Of) -> Self::Of;
}

struct SumOfSquares;
#[device]
impl Operator for SumOfSquares {
    type Of = u64;
    fn map(x: u32) -> u64 {
        x as u64 * x as u64
    }
    fn join(a: u64, b: u64) -> u64 {
        a + b
    }
}

#[derive(Captures)]
struct MapReduce<O: Operator> {
    x: Read<u32>,
    all: Write<O::Of>,
    part: Shared<O::Of, 64>,
    operator: PhantomData<O>,
}

#[kernel]
impl<O: Operator> MapReduce<O> {
    fn run(&self, item: GroupItem<1>) {
        let k = item.local(0);
        self.part[k] = O::map(self.x[item.global(0)]);
        for step in [32, 16, 8, 4, 2, 1] {
            item.barrier();
            if k < step {
                self.part[k] = O::join(self.part[k], self.part[k + step]);
            }
        }
        if k == 0 {
            self.all[item.group(0)] = self.part[0];
        }
    }
}

#[test]
fn map_reduce() {
    let rig = rig!();
    agree(&rig, |bench| {
        let (x, all) = (bench.buffer(words(512, 1)), bench.buffer(vec![0_u64; 8]));
        bench.triple(&x);
        let (part, operator) = (Shared::new(), PhantomData::<SumOfSquares>);
        bench.run(GroupRange::new([8], [64]), &MapReduce { x: x.read(), all: all.write(), part, operator });
    });
}
