//! Values that were made in a loop, as they are behind it.
//!
//! # Requires
//! - a value, and a block behind loops that it was made in
//!
//! # Guarantees
//! - what does not change in these loops is what it was in them
//! - a counter is what it was in the last round ([`Node::Final`]), and so is what was made of counters: who comes to the end of a loop
//!   that only its test ends has passed all that the test, or what is behind the loop, depends on in that round
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
