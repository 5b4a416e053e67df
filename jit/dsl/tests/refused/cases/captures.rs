//! Fields that cannot be parameters.

extern crate vkfuse_kernel as vkfuse;

use vkfuse::rust::Captures;

#[derive(Captures)]
struct Reference {
    x: &'static u32,
}

#[derive(Captures)]
struct Pointer {
    x: *const u32,
}

#[derive(Captures)]
struct Slice {
    x: [u32],
}

#[derive(Captures)]
struct Tuple {
    x: (u32, f32),
}

#[derive(Captures)]
struct Function {
    x: fn(u32) -> u32,
}

#[derive(Captures)]
struct Object {
    x: [dyn Fn(u32); 2],
}

#[derive(Captures)]
struct Opaque {
    x: (impl Copy),
}

#[derive(Captures)]
struct Usize {
    x: usize,
}

#[derive(Captures)]
struct Isize {
    x: [[isize; 2]; 3],
}

#[derive(Captures)]
struct Char {
    x: char,
}

#[derive(Captures)]
struct Wide {
    x: u128,
}

#[derive(Captures)]
struct Text {
    x: String,
}

#[derive(Captures)]
struct Vector {
    x: Vec<f32>,
}

#[derive(Captures)]
struct Heap {
    x: std::sync::Arc<u32>,
}

#[derive(Captures)]
struct Maybe {
    x: Option<u32>,
}

#[derive(Captures)]
enum Either {
    One,
    Other,
}

#[derive(Captures)]
union Both {
    one: u32,
    other: f32,
}

#[derive(Captures)]
struct Unnamed(u32);

fn main() {}
