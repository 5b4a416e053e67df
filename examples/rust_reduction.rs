//! Kernels written in Rust with more to them: accessors in structs in an array, and a reduction with work-group memory.
//!
//! `cargo run --example rust_reduction`

use std::error::Error;

use vkfuse::{
    Context, QueueOptions,
    rust::{Captures, GroupItem, GroupRange, Item, Read, Shared, Write, kernel},
};

/// Items of a work-group.
const LOCAL: u32 = 256;
const GROUPS: u32 = 100;

/// An input and how much it counts.
#[derive(Captures)]
struct Weighted {
    weight: u32,
    data: Read<u32>,
}

#[derive(Captures)]
struct Mix {
    inputs: [Weighted; 2],
    out: Write<u32>,
}

#[kernel]
impl Mix {
    fn part(&self, input: &Weighted, i: u32) -> u32 {
        input.weight * input.data.get(i)
    }

    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.out.set(i, self.part(&self.inputs[0], i) + self.part(&self.inputs[1], i));
    }
}

/// The sum of each work-group's elements.
#[derive(Captures)]
struct Sum {
    input: Read<u32>,
    sums: Write<u32>,
    partial: Shared<u32, 256>,
}

#[kernel]
impl Sum {
    fn run(&self, item: GroupItem<1>) {
        let local = item.local(0);
        self.partial.set(local, self.input.get(item.global(0)));
        item.barrier();
        let mut stride = LOCAL / 2;
        while stride > 0 {
            if local < stride {
                self.partial.set(local, self.partial.get(local) + self.partial.get(local + stride));
            }
            item.barrier();
            stride /= 2;
        }
        if local == 0 {
            self.sums.set(item.group(0), self.partial.get(0));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let context = Context::new()?;
    let queue = context.queue(QueueOptions::new().enable_fusion(true))?;
    let n = GROUPS * LOCAL;
    let (a, b): (Vec<u32>, Vec<u32>) = (0..n).map(|i| (i, i * i % 97)).unzip();
    let (first, second) = (context.buffer_from(&a)?, context.buffer_from(&b)?);
    let mixed = context.buffer::<u32>(n as usize)?;
    let sums = context.buffer::<u32>(GROUPS as usize)?;

    let weighted = |weight, data| Weighted { weight, data };
    let mix =
        Mix { inputs: [weighted(3, (&first).into()), weighted(5, (&second).into())], out: (&mixed).into() };
    let sum = Sum { input: (&mixed).into(), sums: (&sums).into(), partial: Shared::new() };
    let done = queue.fuse(|q| {
        q.submit(|h| {
            h.parallel_for(n, &mix);
        })?;
        q.submit(|h| {
            h.parallel_for(GroupRange::new([GROUPS], [LOCAL]), &sum);
        })?;
        Ok(())
    })?;
    done.wait()?;
    println!("two kernels on {}: {}", context.device_info().name, done.outcome());

    let expected: Vec<u32> = a
        .chunks(LOCAL as usize)
        .zip(b.chunks(LOCAL as usize))
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| 3 * a + 5 * b).sum())
        .collect();
    if sums.download()? != expected {
        return Err("the sums are wrong".into());
    }
    println!("{GROUPS} sums of {LOCAL} elements are right");
    Ok(())
}
