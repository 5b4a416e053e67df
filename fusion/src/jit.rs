//! The seam to the JIT: every name of `vkfuse-jit` that this crate uses, in one place.

#[allow(dead_code)]
pub(crate) mod shim;
#[allow(unreachable_pub)]
pub use shim::*;
