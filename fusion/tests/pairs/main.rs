//! Kernels that fit together, as libraries submit them, and what fusion makes of each list: how many dispatches, how each kernel came into the
//! one before it, or why it did not. Each list runs unfused and fused, with equal bytes, and has what plain Rust computes of the same
//! numbers.
//!
//! A line of `table/*.txt` is a list. On llvmpipe it has to come out as it stands there; `BLESS=1` writes the files anew.
//! `cargo test -p vkfuse --test pairs -- --nocapture` prints them.

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod host;
mod images;
mod layers;
mod list;
mod products;
mod rows;
mod table;
mod tensor;
mod versions;

#[test]
fn products_of_matrices() {
    table::check("products", products::matrices);
}

#[test]
fn products_with_a_vector() {
    table::check("vectors", products::vectors);
}

#[test]
fn gates_of_two_products() {
    table::check("gates", products::gates);
}

#[test]
fn layers_of_nets() {
    table::check("layers", layers::all);
}

#[test]
fn norms_and_softmax_of_rows() {
    table::check("rows", rows::all);
}

#[test]
fn buffers_of_several_values() {
    table::check("versions", versions::all);
}

#[test]
fn chains_of_images() {
    table::check("images", images::all);
}
