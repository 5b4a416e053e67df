//! Instructions by their content.

use rspirv::spirv::Op;
use smallvec::SmallVec;

use super::words::Polynomial;
use crate::ir::Root;
use crate::ir::entity::{DecorationSet, ExtSet, Type, Value};

/// An instruction by its content.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) what: What,
    pub(super) ty: Type,
    pub(super) args: SmallVec<[Arg; 3]>,
    pub(super) decorations: Option<DecorationSet>,
}

#[derive(PartialEq, Eq, Hash)]
pub(super) enum What {
    /// A number that is known as a polynomial.
    Words,
    Pure(Op, SmallVec<[u32; 2]>),
    Ext(ExtSet, u32),
    Load(Root),
    Length(Root, u32),
}

#[derive(PartialEq, Eq, Hash)]
pub(super) enum Arg {
    Words(Polynomial),
    Other(Value),
}
