//! Load, validate, choose the entry point, specialise, normalise, reflect, hash.
//!
//! A [`Module`] is checked SPIR-V. A [`Kernel`] is one of its compute entry points. A [`Specialized`]
//! kernel has all its constants fixed; it holds what runs unfused ([`Plain`]), what can be fused
//! ([`NormalKernel`]) or the reason why not ([`KernelReason`]), and what both show to the outside
//! ([`Interface`]). All of this happens once for each kernel and may take milliseconds; with a [`FormStore`] most of it
//! happens once for all processes.
//!
//! The files in order of the work: `guard` (bytes that may be anything), `words`, `value`, `fold`, `spec`,
//! `survey`,
//! `specialize` (constants, on words), `load` (words to module), `prune`, `strict`, `plain`, then
//! `refuse`, `lower`, `split`, `unwrap`, `forward`, `normal`, and `resource`, `pointers`, `layout`, `reflect`. All of
//! these are called from `form`; `form_bytes` and `kept` are about keeping the result.

pub(crate) mod controls;
pub(crate) mod defs;
mod entry;
mod error;
mod fold;
mod form;
mod form_bytes;
pub(crate) mod formulas;
mod forward;
mod guard;
mod kept;
mod layout;
pub(crate) mod load;
mod lower;
mod module;
mod normal;
mod plain;
pub(crate) mod pointers;
mod prune;
mod reason;
mod reflect;
mod refuse;
pub(crate) mod resource;
mod spec;
mod specialize;
mod split;
pub(crate) mod strict;
mod survey;
pub(crate) mod tools;
mod unlayout;
mod unwrap;
mod value;
#[cfg(feature = "wgsl")]
mod wgsl;
mod words;

pub use controls::{FloatControls, FloatWidths};
pub use entry::{Kernel, Specialized};
pub use error::KernelError;
pub use kept::{FORM_TOOLS, FORM_VERSION, FormStore, Origin};
pub use module::Module;
pub use normal::NormalKernel;
pub use plain::Plain;
pub use reason::{KernelReason, Place};
pub use reflect::{Binding, BindingKind, Interface, PushLayout, PushMember, ScalarClass};
pub use spec::{SpecConstant, SpecType, SpecValue};
pub use tools::tool_runs;
