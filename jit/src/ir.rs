//! The intermediate representation: one typed form of a compute module that passes read and write.
//!
//! A [`Module`] is declarations and functions. A [`Function`] is values, places, instructions and regions, each in an arena and named by a
//! typed index. A *region* is a sequence of instructions and constructs; a *construct* is a selection, a switch or a loop, and owns regions. What
//! SPIR-V says by blocks, merge instructions and phis is said by nesting here: an edge out of a construct carries its results, and an edge to a region
//! its parameters. A *place* is a variable and a path into it, and what loads and stores name: there are no pointers to follow. [`import`] and
//! [`export`] lead there and back, and [`verify`] checks what both promise.
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
//! # What it promises
//!
//! The table in [`verify`]'s file names each promise with what enforces it. The important ones:
//!
//! - a value is seen in the rest of its region and inside of what stands there, nowhere else: dominance is nesting. Whatever is used further out is a result
//!   of the constructs in between
//! - an access names its place, with its flags, alignment and scopes; [`Operation::effect`] says what an instruction may do. What has no case of its own
//!   rides in [`Operation::Other`], and is a barrier to everything
//! - an address is a value ([`Def::Address`]) only where something takes a pointer: an argument, a copy of memory, a set's instruction that writes
//! - nothing of an operation is lost: decorations, controls, operands of loops, memory semantics
//!
//! # What is not kept
//!
//! Ids, debug information but for names, blocks that control does not come to, phis of one way and copies of pointers. Straight blocks are joined. The address
//! of a place is worked out in front of its first use.
//!
//! # How a pass is written
//!
//! A pass is a function that takes `&mut Module` and changes functions in place. Instructions are looked at through the nodes of regions
//! ([`Function::each_region`], [`Function::code`]), and removed by removing their node: arenas only grow. What a pass notes of entities lies in a
//! [`SecondaryMap`](entity::SecondaryMap). New constants and types come from [`Module::constant`] and [`Module::ty`], which know those that are there.
//! A pass that moves code past other code asks [`Operation::effect`]; one that moves a use of a place out of the region that sees the place's path makes
//! a new place. `verify` runs behind each pass in tests.

pub mod entity;
mod export;
mod function;
mod import;
mod inst;
mod module;
mod print;
mod region;
mod types;
mod verify;

pub use export::export;
pub use function::{Def, Function, LocalData, PlaceData, Root, Tree, ValueData};
pub use import::{Unsupported, import};
pub use inst::{Access, Arg, Args, Effect, Flags, InstData, Operation};
pub use module::{ConstData, ConstKind, EntryPoint, GlobalData, Item, Mode, Module, Named};
pub use region::{Case, ConstructData, ConstructKind, EdgeArgs, End, Node, RegionData, Until};
pub use types::{GlobalArg, TypeData, TypeKind, Types};
pub use verify::{Fault, verify};
