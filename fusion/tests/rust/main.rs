//! Kernels written in Rust, on a device and on the host.

#![allow(unreachable_pub)]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

#[path = "../../../jit/dsl/tests/bodies/kernels.rs"]
mod kernels;

#[path = "../../../jit/dsl/tests/bodies/chains.rs"]
mod chains;
#[path = "../../../jit/dsl/tests/bodies/constants.rs"]
mod constants;
#[path = "../../../jit/dsl/tests/bodies/forms.rs"]
mod forms;
#[path = "../../../jit/dsl/tests/bodies/halves.rs"]
mod halves;
#[path = "../../../jit/dsl/tests/bodies/odd.rs"]
mod odd;

mod arrays;
mod casts;
mod chain;
mod checked;
mod device;
mod edges;
mod half;
mod mistakes;
mod narrow;
mod valid;
mod wide;
mod written;
