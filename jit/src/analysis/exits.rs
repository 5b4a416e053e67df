//! Where loops are tested, and on which side of the test a block lies.
//!
//! A loop may be tested before what its rounds do (`for`, `while`), after it (`do ... while`, WGSL's `break if`), or in between.
//!
//! # Requires
//! - structured control flow
//!
//! # Guarantees
//! - every round of a loop that another round follows has passed each of its tests, once, and taken the side that stays

use rspirv::dr::Function;

use super::cfg::{Cfg, Edge, Place};

/// A branch that every round reaches before the next round begins, with one side that leaves the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    /// The block that ends in the branch.
    pub(crate) block: usize,
    /// Id of the condition.
    pub(crate) condition: u32,
    /// What it is when the loop goes on.
    pub(crate) stays: bool,
    /// Where the loop goes on.
    next: usize,
}

impl Cfg {
    /// The tests of a loop, in the order in which rounds come to them.
    pub(crate) fn tests_of(&self, function: &Function, which: usize) -> Vec<Test> {
        let the_loop = &self.loops[which];
        let inside = |block: usize| the_loop.blocks.contains(block);
        let latches: Vec<usize> =
            self.predecessors[the_loop.header].iter().copied().filter(|&block| inside(block)).collect();
        // A block comes after those that dominate it.
        let blocks = (0..self.successors.len()).filter(|&block| self.innermost_loop(block) == Some(which));
        let always = blocks.filter(|&block| {
            let comes = |&latch: &usize| self.dominates(block, latch);
            latches.iter().all(comes) || mutant!(AnyExitIsATest)
        });
        let test = |block: usize| {
            let (condition, on_true, on_false) = self.conditional(function, block)?;
            let is_way = |target: usize| self.successors[block].contains(&target);
            if !is_way(on_true) || !is_way(on_false) {
                return None;
            }
            match (inside(on_true), inside(on_false)) {
                (true, false) => Some(Test { block, condition, stays: true, next: on_true }),
                (false, true) => Some(Test { block, condition, stays: false, next: on_false }),
                _ => None,
            }
        };
        always.filter_map(test).collect()
    }

    /// Where a block of a loop lies in its rounds, by one of the loop's tests; `edges` are the block's guards.
    pub(crate) fn place_in(&self, which: usize, test: Option<Test>, block: usize, edges: &[Edge]) -> Place {
        let Some(test) = test else { return Place::Unclear };
        let goes_on = |edge: &Edge| edge.block == test.block && edge.taken == test.stays;
        if edges.iter().any(goes_on) {
            return Place::AfterTest;
        }
        if self.is_behind(which, test, block) { Place::Unclear } else { Place::BeforeTest }
    }

    /// Whether a round can come to a block behind the side of its test that stays.
    fn is_behind(&self, which: usize, test: Test, block: usize) -> bool {
        let the_loop = &self.loops[which];
        let mut seen = vec![false; self.successors.len()];
        let mut open = vec![test.next];
        while let Some(at) = open.pop() {
            // The next round.
            if at == the_loop.header
                || !the_loop.blocks.contains(at)
                || std::mem::replace(&mut seen[at], true)
            {
                continue;
            }
            if at == block {
                return true;
            }
            open.extend(&self.successors[at]);
        }
        false
    }
}
