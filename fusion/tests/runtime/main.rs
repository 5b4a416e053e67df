//! The runtime: what observes a list and what does not, endings, errors in closures, caches, ordering, threads.

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod caches;
mod contents;
mod endings;
mod host_tasks;
mod imports;
mod order;
mod records;
mod same_bytes;
mod threads;

use support::Rig;
use vkfuse::{Buffer, Error, Event, Queue};

/// Elements of the buffers here: several work-groups and a ragged end.
pub const N: usize = 1000;

/// `z = x + y`.
pub fn add(
    rig: &Rig,
    queue: &Queue,
    x: &Buffer<i32>,
    y: &Buffer<i32>,
    z: &Buffer<i32>,
) -> Result<Event, Error> {
    let kernel = rig.kernel("pair/add");
    let n = x.len() as u32;
    queue.submit(|h| {
        h.arg(0, x.read()).arg(1, y.read()).arg(2, z.write()).push(&n).dispatch_items(&kernel, [n, 1, 1]);
    })
}

/// `z = x * factor`.
pub fn scale(
    rig: &Rig,
    queue: &Queue,
    x: &Buffer<i32>,
    factor: i32,
    z: &Buffer<i32>,
) -> Result<Event, Error> {
    let kernel = rig.kernel("pair/scale");
    let n = x.len() as u32;
    queue.submit(|h| {
        h.arg(0, x.read()).arg(1, z.write()).push(&n).push(&factor).dispatch_items(&kernel, [n, 1, 1]);
    })
}

/// `0, 1, 2, …`
pub fn iota(rig: &Rig) -> Buffer<i32> {
    rig.context.buffer_from(&(0..N as i32).collect::<Vec<_>>()).expect("a buffer")
}

/// Full of -1.
pub fn poison(rig: &Rig) -> Buffer<i32> {
    rig.context.buffer_from(&vec![-1; N]).expect("a buffer")
}

/// `0, factor, 2 * factor, …`
pub fn multiples(factor: i32) -> Vec<i32> {
    (0..N as i32).map(|i| i.wrapping_mul(factor)).collect()
}
