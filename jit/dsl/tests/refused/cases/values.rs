//! Structs that kernels cannot compute with.

extern crate vkfuse_kernel as vkfuse;

use vkfuse::rust::Value;

#[derive(Clone, Copy, Value)]
struct NoLayout {
    x: u32,
}

#[derive(Clone, Copy, Value)]
#[repr(C, packed)]
struct Packed {
    x: u8,
    y: u32,
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Empty {}

#[derive(Clone, Copy, Value)]
#[repr(C)]
enum Either {
    One,
    Other,
}

#[derive(Clone, Copy, Value)]
#[repr(u32)]
enum NoZero {
    One = 1,
    Two,
}

#[derive(Clone, Copy, Value)]
#[repr(u32)]
enum Fields {
    One(u32),
    Other,
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
union Both {
    one: u32,
    other: f32,
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Unnamed(u32);

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Index {
    x: usize,
}

fn main() {}
