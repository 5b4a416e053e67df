//! Code for several items side by side: values, and functions that are gone through.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::ir::entity::{Construct, Func, Region, SecondaryMap, Value};
use crate::ir::{End, Function, Position};

/// A value: one for all items, or one for each.
pub(in crate::emit::passes) type Copies = SmallVec<[Value; 4]>;

/// The value of an item.
pub(in crate::emit::passes) fn of(copies: &[Value], item: usize) -> Value {
    copies[if copies.len() == 1 { 0 } else { item }]
}

/// A function that is gone through.
pub(in crate::emit::passes) struct Frame {
    pub(in crate::emit::passes) func: Func,
    pub(in crate::emit::passes) f: Rc<Function>,
    /// What became of its values; nothing where they have not been come to.
    pub(in crate::emit::passes) values: SecondaryMap<Value, Copies>,
    /// The constructs around, and whether nothing is done behind them.
    open: Vec<(Construct, bool)>,
}

impl Frame {
    pub(in crate::emit::passes) fn new(func: Func, f: Rc<Function>) -> Self {
        Self { func, values: SecondaryMap::of(&f.values), f, open: Vec::new() }
    }

    /// Goes into a construct, which stands there.
    pub(in crate::emit::passes) fn open(&mut self, construct: Construct, (region, number): Position) {
        let data = &self.f.regions[region];
        let is_last = number + 1 == data.nodes.len() && self.ends(&data.end);
        self.open.push((construct, is_last));
    }

    /// Goes out of a construct.
    pub(in crate::emit::passes) fn close(&mut self) {
        self.open.pop();
    }

    fn ends(&self, end: &End) -> bool {
        match end {
            End::Return(_) => true,
            End::Exit { to, .. } => self.open.iter().any(|&(construct, is_last)| construct == *to && is_last),
            _ => false,
        }
    }

    /// Whether nothing is done from a region to the end of the function.
    pub(in crate::emit::passes) fn ends_at_once(&self, region: Region) -> bool {
        let data = &self.f.regions[region];
        data.nodes.is_empty() && self.ends(&data.end)
    }

    pub(in crate::emit::passes) fn is_unreachable(&self, region: Region) -> bool {
        let data = &self.f.regions[region];
        data.nodes.is_empty() && data.end == End::Unreachable
    }
}
