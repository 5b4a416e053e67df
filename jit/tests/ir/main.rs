//! The IR: what is imported and exported is what it was, to spirv-val, to the interpreter and, the second time, word for word.

#[path = "../damage/mod.rs"]
mod damage;
#[path = "../list/fixed.rs"]
mod fixed;
#[path = "../list/mod.rs"]
mod list;

mod dce;
mod forms;
mod fused;
mod generated;
mod kernels;
mod mutated;
mod normal;
mod print;
mod round_trip;
mod speed;
mod verify;
