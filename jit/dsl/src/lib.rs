//! Kernels written in Rust: a struct of captures with a body, lowered to a SPIR-V module and its parameters.
//!
//! - `#[derive(Captures)]` makes parameters of the fields of a struct, see [`capture`].
//! - `#[kernel]` on an `impl` makes a kernel of its `run(&self, item)`, see [`KernelObject`]; `#[device]` marks functions
//!   that kernels may call; `#[derive(Value)]` marks structs that they may compute with.
//! - [`Lowered::of`] gives the module. [`host`] runs the same body on the host, where it is its own reference.
//!
//! # How bodies are lowered
//!
//! The attribute writes the body down twice. One copy runs on the host. In the other, the *staged* one, each expression is
//! a call on handles that carry its Rust type, and running it emits the module. Rust's compiler checks both, infers the
//! types of the staged one as those of the body, and makes one instance for each set of type parameters.
//!
//! # Meaning
//!
//! Integer arithmetic wraps. Shifts use the low bits of their count. Division by zero gives the dividend, and so does the
//! least number by minus one; the remainder is then zero. Floats become integers towards zero and within the type's range,
//! as Rust's `as` has it. An index out of range reads zero and writes nothing. All of this holds on the host, too, in every
//! build profile.

/// The path under which expanded code finds this crate: a user's `::vkfuse` has it, too.
#[doc(hidden)]
pub extern crate self as rust;
/// The same for functions of this crate that are marked.
extern crate self as vkfuse;

pub mod access;
pub mod capture;
mod composite;
mod grid;
pub mod host;
mod item;
mod kernel;
mod lowered;
mod remainder;
mod shape;
mod shared;
#[doc(hidden)]
#[allow(missing_docs, missing_debug_implementations, reason = "called by expanded code only")]
pub mod side;
#[doc(hidden)]
#[allow(missing_docs, missing_debug_implementations, reason = "called by expanded code only")]
pub mod stage;
pub mod value;
mod vector;

pub use access::{HostBuffer, Ranged, Read, ReadWrite, Write};
pub use capture::{Arguments, Capture, Local, Mode, Signature, Value};
pub use grid::Grid;
pub use half::f16;
pub use item::{GroupItem, Item, ItemKind, Task};
pub use kernel::KernelObject;
pub use lowered::{LowerError, LowerOptions, Lowered, PlainIn};
pub use shape::{FieldShape, ScalarType, Shape, StructShape};
pub use shared::{Shared, Spec};
pub use vector::{DVec2, DVec3, DVec4, IVec2, IVec3, IVec4, UVec2, UVec3, UVec4, Vec2, Vec3, Vec4};
pub use vkfuse_macros::{Captures, Value, device, kernel, kernel_fn};
