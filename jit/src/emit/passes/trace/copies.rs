//! Code for several items side by side: values, and functions that are gone through.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::ir::entity::{Func, Region, SecondaryMap, Value};
use crate::ir::{Around, End, Function};

/// A value: one for all items, or one for each.
pub(super) type Copies = SmallVec<[Value; 4]>;

/// The value of an item.
pub(super) fn of(copies: &[Value], item: usize) -> Value {
    copies[if copies.len() == 1 { 0 } else { item }]
}

/// A function that is gone through.
pub(super) struct Frame {
    pub(super) func: Func,
    pub(super) f: Rc<Function>,
    /// What became of its values; nothing where they have not been come to.
    pub(super) values: SecondaryMap<Value, Copies>,
    pub(super) around: Around,
}

impl Frame {
    pub(super) fn new(func: Func, f: Rc<Function>) -> Self {
        Self { func, values: SecondaryMap::of(&f.values), f, around: Around::default() }
    }

    pub(super) fn is_unreachable(&self, region: Region) -> bool {
        let data = &self.f.regions[region];
        data.nodes.is_empty() && data.end == End::Unreachable
    }
}
