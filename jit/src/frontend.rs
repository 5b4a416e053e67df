//! From bytes to a kernel in normal form: load, validate, choose the constants, normalise, reflect.
//!
//! The files in order of the work: `guard` (bytes that may be anything), `groups` (decoration groups, expanded), `words`, `module`, `declared` (declarations, where there is no validator), `newer` (what the tools do not know), `modes`, `value`, `fold`, `spec`, `survey`,
//! `specialize` (constants, on words), `load` (words to module), `plain` (what runs unfused), `pipeline`
//! (what can be fused: the passes, which are in `passes/`), and `resource`, `pointers`, `types`, `layout`, `reflect`, `elements`. `artifact` calls all of these; `artifact/codec` and `artifact/cache` keep the result.

pub(crate) mod additions;
pub(crate) mod artifact;
pub(crate) mod controls;
mod declared;
pub(crate) mod defs;
pub(crate) mod elements;
mod error;
mod fold;
mod groups;
pub(crate) mod guard;
pub(crate) mod images;
mod layout;
mod lines;
pub(crate) mod load;
mod modes;
pub(crate) mod module;
pub(crate) mod newer;
mod normal;
mod passes;
pub(crate) mod pipeline;
pub(crate) mod plain;
pub(crate) mod pointers;
mod push_names;
mod reason;
mod reflect;
pub(crate) mod resource;
mod set_binding;
pub(crate) mod spec;
mod spec_type;
mod specialize;
mod survey;
pub(crate) mod tools;
pub(crate) mod types;
mod value;
mod views;
#[cfg(feature = "wgsl")]
pub(crate) mod wgsl;
pub(crate) mod words;

pub(crate) use crate::ir::opcodes;
pub use artifact::cache::artifact_is_valid;
pub use artifact::store::{ARTIFACT_VERSION, Accepted, ArtifactStore, Origin, artifact_tools};
pub use controls::{FloatControls, FloatWidths};
pub use elements::{Declared, ElementType, MemoryScalar};
pub use error::{KernelError, TextKind};
pub use images::ImageDeclaration;
pub use layout::{PushMember, ScalarClass};
pub use modes::Mode;
pub use module::Module;
pub use normal::run as inline_and_promote;
pub(crate) use normal::{fold_returns, fold_selections, single_returns};
pub use pipeline::{AfterPass, Pass, observe_passes};
pub use plain::Plain;
pub use reason::KernelReason;
pub(crate) use reflect::is_subgroup_builtin;
pub use reflect::{Binding, BindingKind, DescriptorArray, Interface, PushLayout, TextureKind};
pub use set_binding::SetBinding;
pub use spec::{SharedConstant, SpecConstant, SpecValue};
pub use spec_type::SpecType;
pub use tools::{is_validated, tool_runs, validator};
