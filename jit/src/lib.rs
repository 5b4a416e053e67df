//! SPIR-V kernels in, one fused SPIR-V kernel and a report out.
//!
//! The folders are the pipeline, in the order in which a kernel goes through it: [`kernel`] loads,
//! normalises and reflects; [`analysis`] turns every buffer access into a symbolic index expression
//! and compares pairs of them; [`plan`] groups a fusion list and decides barriers and
//! internalization; [`emit`] links one group into one module. Nothing here touches Vulkan, files,
//! the environment or a clock.

#[macro_use]
mod mutation_macro;

#[cfg(feature = "mutation")]
pub mod mutation;

pub mod kernel;

pub mod analysis;

pub mod plan;

pub mod emit;

pub mod oracle;

pub mod validate;

#[cfg(feature = "fuzzing")]
pub mod fuzzing;

#[cfg(feature = "certify")]
pub mod certify;

mod reason;

pub use reason::Reason;
