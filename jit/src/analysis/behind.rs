//! The values that a loop computes, as they are behind it.
//!
//! # Requires
//! - a value, and a block behind the loops that the value is computed in
//!
//! # Guarantees
//! - a value that does not change in these loops has the same value behind them
//! - a counter, and what is computed from counters, has its value of the last round ([`Node::Final`]): a loop that only its test ends has
//!   run everything in that round that the test, or the code behind the loop, depends on
//! - everything else is unknown

use super::build::{Builder, Definition};
use super::expr::{Node, NodeId};

/// Most nodes that a value behind a loop is followed through.
const MAX_NODES: u32 = 64;

impl Builder<'_> {
    /// A component of a value of block `home`, as seen from a block behind loops around it.
    pub(super) fn behind(&mut self, id: u32, component: u32, home: usize, block: usize) -> NodeId {
        let mut node = self.component(id, component, home);
        let mut around = self.cfg.innermost_loop(home);
        while let Some(left) = around.filter(|&index| !self.cfg.is_in_loop(block, Some(index))) {
            let mut budget = MAX_NODES;
            match self.at_end(node, left, &mut budget) {
                Some(last) => node = last,
                None => return self.opaque(id, component),
            }
            around = self.cfg.loops[left].parent;
        }
        node
    }

    /// What a node of a loop is in the loop's last round.
    fn at_end(&mut self, node: NodeId, left: usize, budget: &mut u32) -> Option<NodeId> {
        *budget = budget.checked_sub(1)?;
        if self.exprs.is_fixed(node) {
            return Some(node);
        }
        let made = match *self.exprs.get(node) {
            Node::Counter { of, width, ref under, .. } if of as usize == left && under.is_empty() => {
                Node::Final { counter: node, width }
            }
            // Of a loop around this one.
            Node::Counter { of, .. } if self.is_around(of as usize, left) => return Some(node),
            Node::Opaque { id, .. } | Node::Cell { id: Some(id), .. } => {
                let before = match self.definitions.get(&id)? {
                    Definition::Global(_) => true,
                    Definition::Local { block, .. } => !self.cfg.is_in_loop(*block, Some(left)),
                };
                return before.then_some(node);
            }
            Node::Binary { op, width, a, b } => {
                let (a, b) = (self.at_end(a, left, budget)?, self.at_end(b, left, budget)?);
                Node::Binary { op, width, a, b }
            }
            Node::Compare { op, width, a, b } => {
                let (a, b) = (self.at_end(a, left, budget)?, self.at_end(b, left, budget)?);
                Node::Compare { op, width, a, b }
            }
            Node::Convert { signed, from, width, a } => {
                Node::Convert { signed, from, width, a: self.at_end(a, left, budget)? }
            }
            _ => return None,
        };
        Some(self.exprs.add(made))
    }

    /// Whether a loop lies around another one.
    fn is_around(&self, outer: usize, inner: usize) -> bool {
        outer != inner && self.cfg.loops[outer].blocks.contains(self.cfg.loops[inner].header)
    }
}
