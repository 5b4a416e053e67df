//! Random lists of compute kernels, and checks of the plans for them.
//!
//! There are two generators. The first, [`wgsl`], knows by construction which of its lists may be fused.
//! The rest of this crate is the second.
//!
//! The kernels are random GLSL, HLSL and SPIR-V assembly ([`Pool`]), compiled by the installed front end and put
//! through the optimizer in random ways. A [`List`] submits some of them on common buffers. [`judge`] runs the list as
//! it stands in the interpreter, which logs all accesses, and from that alone says whether the groups,
//! barriers and promotions that the planner granted could be right; then it runs what was planned, in hostile orders,
//! and compares.
//!
//! Nothing is shared with the first: not the language, not the way of making kernels
//! and lists, not the check.
//!
//! The files in order of the work: `random`, `tree` (statements), `layout` (types), `place` (indices), `kernel` (a kernel as
//! data and as text), `body` (random ones), `spirv` (random assembly), `compile`, `pool`, `list`, `run` (in the
//! interpreter), `owner` (which invocation does what in a plan), `meet` (the judgement on groups), `inside` (on promotions), `views`
//! (on decorations), `judge`, `shrink`, `dump`, `tally`, `corpus`, and `work` (threads and time of a long run).

mod again;
mod body;
mod compile;
pub mod corpus;
pub mod devices;
mod dump;
mod inside;
mod judge;
mod kernel;
mod layout;
mod list;
mod meet;
mod owner;
mod place;
mod pool;
mod random;
mod run;
mod shrink;
mod spirv;
mod tally;
mod theme;
mod tree;
mod views;
pub mod wgsl;
mod work;

pub use compile::{has_front_end, validate};
pub use dump::{describe, dump};
pub use judge::{Class, Failure, Reference, Verdict, defined, is_open, judge};
pub use list::List;
pub use pool::{Pool, ROWS};
pub use shrink::shrunk;
pub use tally::{Counts, Tally};
pub use work::{Bounds, Work};
