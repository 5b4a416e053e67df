//! `kernel_fn!`.

extern crate vkfuse_kernel as vkfuse;

use vkfuse::rust::{HostBuffer, Item, Write, kernel_fn};

fn main() {
    let out = HostBuffer::new(vec![0_u32; 4]);
    let untyped = kernel_fn!([out: Write<u32> = &out] |item| { out.set(item.id(0), 1); });
    let several = kernel_fn!([out: Write<u32> = &out] |item: Item<1>, n: u32| { out.set(item.id(0), n); });
    let assigned = kernel_fn!([n: u32 = 1_u32] || { n = 2; });
    let called = kernel_fn!([n: u32 = 1_u32] || { n(2); });
}
