//! Parts of a line of items that one member does and others do not, and which of them a way is for.
//!
//! A member that begins at a number of the call, `first <= item && item < end`, is a part, and so is one that ends where such a member begins. No item is of two
//! parts that end and begin at one number: then there is no way of items that are turned away nowhere, and each part has a way of its own.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::ir::entity::Global;

/// A number of the call, by its place: what different ways have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::emit::passes) struct Limit(pub(super) Global, pub(super) SmallVec<[u32; 2]>);

/// Which items a way is for.
#[derive(Clone, Debug)]
pub(in crate::emit::passes) enum Part {
    /// Those that are turned away nowhere.
    Whole,
    /// Of parts that begin at these numbers those of one, counted from one; of 0, those of none.
    Of(Rc<[Limit]>, usize),
}

/// What a way has met of parts.
#[derive(Default)]
pub(in crate::emit::passes) struct Met {
    /// Where parts begin, and where they end.
    pub(super) begins: Vec<Limit>,
    pub(super) ends: Vec<Limit>,
    /// Selections whose items are of other parts.
    pub(in crate::emit::passes) left_out: usize,
}

impl Met {
    /// The numbers that parts begin at.
    pub(in crate::emit::passes) fn begins(&self) -> Rc<[Limit]> {
        let mut all: Vec<Limit> = Vec::new();
        for limit in &self.begins {
            if !all.contains(limit) {
                all.push(limit.clone());
            }
        }
        all.into()
    }

    /// Whether a part ends where another one begins, so that nothing is of both.
    pub(in crate::emit::passes) fn is_apart(&self) -> bool {
        self.begins.iter().any(|begin| self.ends.contains(begin))
    }
}
