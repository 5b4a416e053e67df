//! The intermediate representation: one typed form of a compute module that passes read and write.
//!
//! A [`Module`] is declarations and functions. A [`Function`] is values, places, instructions and regions, each in an arena and named by a
//! typed index. A *region* is a sequence of instructions and constructs; a *construct* is a selection, a switch or a loop, and owns regions. What
//! SPIR-V expresses with blocks, merge instructions and phis is expressed by nesting: an edge out of a construct carries its results, and an edge to a region
//! carries its parameters. A *place* is a variable and a path into it; loads and stores name places, so passes do not follow pointers. [`import`] and
//! [`export`] convert from and to rspirv's modules, and [`verify`] checks the invariants of both.
//!
//! Two loads, a product and a store behind a range guard:
//!
//! ```text
//! fn fn0() -> void {
//!   v0: u32 = load @GlobalInvocationId[0]
//!   v1: u32 = load @pushconstant.1[0i]
//!   v2: bool = UGreaterThanEqual v0, v1
//!   k0: if v2 {
//!     return
//!   }
//!   v3: f32 = load @binding.0.0[0i][v0]
//!   v4: f32 = load @binding.0.1[0i][v0]
//!   v5: f32 = FMul v3, v4
//!   store @binding.0.2[0i][v0] = v5
//!   return
//! }
//! ```
//!
//! # Invariants
//!
//! The table at the head of `verify.rs` lists each invariant with what enforces it. The important ones:
//!
//! - a value is visible in the rest of its region and in the regions nested there: dominance is nesting. A value used further out is a result
//!   of the constructs in between
//! - an access names its place, with its flags, alignment and scopes; [`Operation::effect`] says what an instruction may do. Instructions without a variant
//!   are kept whole in [`Operation::Other`], and are barriers to everything
//! - an address is a value ([`Def::Address`]) only where an instruction takes a pointer: function arguments, extended instructions that write
//! - nothing of an operation is lost: decorations, controls, operands of loops, memory semantics
//!
//! # What import drops
//!
//! Ids, debug information other than names, unreachable blocks, phis with one predecessor and copies of pointers. Blocks connected by an unconditional
//! branch are merged, and a copy of memory is a load and a store. The address of a place is computed before its first use.
//!
//! # How a pass is written
//!
//! A pass is a function that takes `&mut Module` and changes functions in place. It visits instructions through the nodes of regions,
//! and removes one by removing its node: arenas only grow. Facts about entities go into a
//! [`SecondaryMap`](entity::SecondaryMap). New constants and types come from [`Module::constant`] and [`Module::ty`], which intern them, and new
//! instructions from a [`Builder`].
//! A pass that moves code past other code checks [`Operation::effect`]; one that moves a use of a place to where the values of its path are not visible
//! makes a new place. Tests run `verify` after each pass.

mod around;
mod build;
pub mod entity;
mod export;
mod fold;
mod function;
mod import;
mod inputs;
mod inst;
mod liveness;
mod module;
pub(crate) mod opcodes;
mod print;
mod region;
mod types;
mod verify;
mod walk;

pub(crate) use around::Around;
pub use build::Builder;
pub use export::{export, positions};
pub(crate) use fold::fold;
pub use function::{Carried, Def, Function, LocalData, PlaceData, Root, Tree, ValueData};
pub(crate) use import::{Origins, import_with_origins};
pub use import::{Unsupported, import};
pub use inst::{Access, Arg, Args, Effect, Flags, InstData, Operation};
pub(crate) use liveness::{Liveness, Marks};
pub use module::{ConstData, ConstKind, EntryPoint, GlobalData, Item, Mode, Module, Named};
pub use region::{Case, ConstructData, ConstructKind, EdgeArgs, End, Node, Position, RegionData, Until};
pub use types::{GlobalArg, TypeData, TypeKind, Types};
pub use verify::{Fault, verify};
