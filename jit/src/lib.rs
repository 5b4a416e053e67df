//! SPIR-V kernels in, one fused SPIR-V kernel and a report out.
//!
//! The folders are the pipeline, in the order in which a kernel goes through it: `frontend` loads, normalises and
//! reflects; [`ir`] is the typed form of a module that passes of the emitter move to; [`analysis`] turns every buffer access into a symbolic index expression and compares pairs of them; a
//! [`kernel`] is both together; `rewrite` makes kernels that do the same in another order; `schedule` says which invocation does which work; [`plan`] groups a fusion list and decides barriers and internalization; [`emit`] links
//! one group into one module. No folder uses one that comes later. Nothing here touches Vulkan, files, the environment or
//! a clock.

#[macro_use]
mod mutation_macro;

#[cfg(feature = "mutation")]
pub mod mutation;

mod frontend;

pub mod ir;

pub mod analysis;

pub mod kernel;

mod rewrite;

mod schedule;

pub mod plan;

pub mod emit;

pub mod validate;

#[cfg(feature = "certify")]
pub mod certify;

mod reason;

pub use reason::{AccessPair, AccessSite, NoPushBuffer, Reason, RewriteReason, UnboundedLoop};
