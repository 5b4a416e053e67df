//! Values where ways meet that are not the rounds of a loop.
//!
//! # Requires
//! - structured control flow, and the phi of a block that is not the header of a loop
//!
//! # Guarantees
//! - where the branches on the ways to the merge say which of its inputs it is, the value is a choice by their conditions
//! - elsewhere it is one of its inputs, and which one is not known
//! - a condition that was not asked on the way decides nothing, so whatever it is then does no harm

use ahash::AHashMap;

use super::build::Builder;
use super::expr::{Node, NodeId};

/// Most blocks between a merge and the last block that all ways to it pass.
const MAX_BLOCKS: usize = 64;

impl Builder<'_> {
    /// The value of a merge with these inputs, by the blocks that they come from.
    pub(super) fn merged(
        &mut self,
        inputs: &[(u32, usize)],
        component: u32,
        width: u8,
        block: usize,
    ) -> NodeId {
        if let Some(node) = self.chosen(inputs, component, width, block) {
            return node;
        }
        if let Some(node) = self.chosen_by_ways(inputs, component, width, block) {
            return node;
        }
        // As seen from the merge: what a loop that was left here has counted is not what it was inside.
        let inputs: Vec<NodeId> =
            inputs.iter().map(|&(value, _)| self.component(value, component, block)).collect();
        let distinct: Vec<NodeId> = inputs.iter().copied().fold(Vec::new(), |mut seen, node| {
            if !seen.contains(&node) {
                seen.push(node);
            }
            seen
        });
        match distinct.as_slice() {
            [one] => *one,
            _ => self.exprs.add(Node::Join { width, inputs: distinct }),
        }
    }

    /// The merge after a branch with two ends: the condition chooses. Short-circuit `&&` and `||` are
    /// of this form.
    ///
    /// Let `d` be the last block that all ways to the merge pass. If each input comes from `d` itself
    /// or from behind one of its edges, where nothing else leads, the edge taken last decides.
    fn chosen(&mut self, inputs: &[(u32, usize)], component: u32, width: u8, block: usize) -> Option<NodeId> {
        let (condition, yes, no) = self.choice(inputs, block)?;
        let condition = self.component(condition, 0, block);
        let yes = self.component(yes, component, block);
        let no = self.component(no, component, block);
        Some(self.exprs.pick(width, condition, yes, no))
    }

    /// The condition that chooses between the inputs of a merge, and what it chooses.
    pub(super) fn choice(&self, inputs: &[(u32, usize)], block: usize) -> Option<(u32, u32, u32)> {
        let &[(x, x_from), (y, y_from)] = inputs else { return None };
        let head = self.cfg.idom(block)?;
        let (condition, on_true, on_false) = self.cfg.conditional(self.function, head)?;
        if on_true == on_false {
            return None;
        }
        let behind = |target: usize, from: usize| {
            if from == head {
                target == block
            } else {
                self.cfg.predecessors[target] == [head] && self.cfg.dominates(target, from)
            }
        };
        let (yes, no) = if behind(on_true, x_from) && behind(on_false, y_from) {
            (x, y)
        } else if behind(on_true, y_from) && behind(on_false, x_from) {
            (y, x)
        } else {
            return None;
        };
        Some((condition, yes, no))
    }

    /// The merge after several branches, as early returns of an inlined function leave it behind.
    ///
    /// Let `d` be the last block that all ways to the merge pass. Who comes to the merge has come from `d` without coming to `d` again, and
    /// what each branch on that way asked is what decides. A side that leads to the merge through `d` only, or not at all, was not taken.
    fn chosen_by_ways(
        &mut self,
        inputs: &[(u32, usize)],
        component: u32,
        width: u8,
        block: usize,
    ) -> Option<NodeId> {
        let head = self.cfg.idom(block)?;
        let between = self.between(head, block)?;
        // By block: the value of the merge for who comes to it from there, if anyone does.
        let mut values: AHashMap<usize, NodeId> = AHashMap::new();
        for at in between {
            let ways = &self.cfg.successors[at];
            let asked = self.cfg.conditional(self.function, at);
            let sides = match (asked, ways.as_slice()) {
                (Some((_, on_true, on_false)), _) => [on_true, on_false],
                (None, &[next]) => [next, next],
                (None, []) => continue,
                // A switch.
                (None, _) => return None,
            };
            let [yes, no] = sides.map(|target| {
                if target != block || !ways.contains(&target) {
                    return values.get(&target).copied().filter(|_| ways.contains(&target));
                }
                let &(value, _) = inputs.iter().find(|&&(_, from)| from == at)?;
                Some(self.component(value, component, block))
            });
            let value = match (yes, no, asked) {
                (Some(yes), Some(no), Some((condition, ..))) if yes != no => {
                    let condition = self.component(condition, 0, block);
                    let (yes, no) = if mutant!(WaysAreSwapped) { (no, yes) } else { (yes, no) };
                    Some(self.exprs.pick(width, condition, yes, no))
                }
                (yes, no, _) => yes.or(no),
            };
            values.extend(value.map(|value| (at, value)));
        }
        values.get(&head).copied()
    }

    /// The blocks on the ways from `head`, which all ways to `block` pass, up to there, each behind those that it leads to. None of them
    /// lies in a loop that `block` does not lie in.
    fn between(&self, head: usize, block: usize) -> Option<Vec<usize>> {
        let own = self.cfg.innermost_loop(block);
        let mut order = Vec::new();
        let mut seen = vec![head];
        // With the number of the successor that comes next.
        let mut open = vec![(head, 0)];
        while let Some((at, number)) = open.last_mut() {
            let at = *at;
            if self.cfg.innermost_loop(at) != own || seen.len() > MAX_BLOCKS {
                return None;
            }
            let Some(&next) = self.cfg.successors[at].get(*number) else {
                order.push(at);
                open.pop();
                continue;
            };
            *number += 1;
            // From elsewhere the merge is come to through `head`.
            let is_on_way = next != block && self.cfg.dominates(head, next) && self.cfg.is_in_loop(next, own);
            if is_on_way && !seen.contains(&next) {
                seen.push(next);
                open.push((next, 0));
            }
        }
        Some(order)
    }
}
