//! Passes over the IR of a fused kernel.

pub(super) mod dce;
