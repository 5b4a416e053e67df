//! The kernel stage on modules as compilers deliver them: `kernels/` holds sources and their SPIR-V.

mod artifacts;
mod corpus;
mod dump;
mod entry;
mod given;
mod hostile;
mod identity;
mod large;
mod newer;
mod normal;
mod plain;
mod reflect;
mod refuse;
mod spec;
mod unfused;
#[cfg(feature = "wgsl")]
mod wgsl;
#[cfg(feature = "wgsl")]
mod wgsl_forms;
