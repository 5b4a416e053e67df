//! Control flow of one function: predecessors, dominators, loops, and what certainly happens.
//!
//! Everything is by block index in the order of the module, which SPIR-V demands to be one in which
//! a block comes after its immediate dominator. Kernels are small, so dominance is kept as one bit
//! set per block and computed by iterating to the fixed point.

use ahash::AHashMap;
use rspirv::dr::{self, Operand};
use rspirv::spirv::Op;

/// Control-flow facts of one function.
pub(crate) struct Cfg {
    pub(crate) successors: Vec<Vec<usize>>,
    pub(crate) predecessors: Vec<Vec<usize>>,
    dominators: Vec<BitSet>,
    /// Natural loops, outermost first.
    pub(crate) loops: Vec<Loop>,
    /// Innermost loop of each block.
    innermost: Vec<Option<usize>>,
    label_index: AHashMap<u32, usize>,
}

/// One structured loop.
pub(crate) struct Loop {
    pub(crate) header: usize,
    pub(crate) blocks: BitSet,
    pub(crate) parent: Option<usize>,
}

impl Loop {
    /// Whether every edge out of the loop starts at `block`.
    pub(crate) fn is_left_only_from(&self, block: usize, cfg: &Cfg) -> bool {
        (0..cfg.successors.len())
            .filter(|&inside| inside != block && self.blocks.contains(inside))
            .all(|inside| cfg.successors[inside].iter().all(|&next| self.blocks.contains(next)))
    }
}

/// One direction of a conditional branch, or of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// Block that ends in the branch.
    pub(crate) block: usize,
    /// Id of the condition, or of a switch's selector.
    pub(crate) condition: u32,
    /// Whether the condition held, or the selector is one of the case's values.
    pub(crate) taken: bool,
    /// Of a switch: the values of the case, or, if it is not taken, those of all cases but the default.
    pub(crate) values: Vec<u64>,
    /// Whether it lies in a loop that what it leads to comes after: it was taken when the loop was passed for the last
    /// time, if the loop was left that way.
    pub(crate) in_past_loop: bool,
}

/// The last instruction of a block that switches.
struct Switch {
    selector: u32,
    default: usize,
    /// Values and where they lead.
    cases: Vec<(u64, usize)>,
}

/// Where a block of a loop lies in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the test: once more than the test lets the loop go on.
    BeforeTest,
    /// Behind the side of the test that goes on.
    AfterTest,
    /// The loop has no test that could be read off, or the block can be reached around it.
    Unclear,
}

impl Cfg {
    pub(crate) fn new(function: &dr::Function) -> Self {
        Self::without(function, |_| false)
    }

    /// The control flow of runs whose behaviour is defined: ways that come to an `OpUnreachable` are none.
    pub(crate) fn of_defined(function: &dr::Function) -> Self {
        let never = if mutant!(UnreachableIsReached) { Vec::new() } else { unreachable(function) };
        Self::without(function, |label| never.contains(&label))
    }

    /// The control flow without the edges that lead to some labels.
    fn without(function: &dr::Function, is_left_out: impl Fn(u32) -> bool) -> Self {
        let count = function.blocks.len();
        let label_index: AHashMap<u32, usize> = function
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(index, block)| Some((block.label_id()?, index)))
            .collect();
        let mut successors = vec![Vec::new(); count];
        let mut predecessors = vec![Vec::new(); count];
        for (index, block) in function.blocks.iter().enumerate() {
            let Some(last) = block.instructions.last() else {
                continue;
            };
            for label in branch_targets(last) {
                let Some(&target) = label_index.get(&label).filter(|_| !is_left_out(label)) else {
                    continue;
                };
                if !successors[index].contains(&target) {
                    successors[index].push(target);
                    predecessors[target].push(index);
                }
            }
        }
        let dominators = dominance(count, &predecessors, &successors);
        let (loops, innermost) = natural_loops(count, &successors, &predecessors, &dominators);
        Self { successors, predecessors, dominators, loops, innermost, label_index }
    }

    pub(crate) fn block_of_label(&self, label: u32) -> Option<usize> {
        self.label_index.get(&label).copied()
    }

    pub(crate) fn dominates(&self, a: usize, b: usize) -> bool {
        self.dominators[b].contains(a)
    }

    /// The last block that every path to `block` passes.
    pub(crate) fn idom(&self, block: usize) -> Option<usize> {
        // A block comes after its dominators, so the last of them is the nearest.
        (0..block).rev().find(|&other| self.dominates(other, block))
    }

    pub(crate) fn innermost_loop(&self, block: usize) -> Option<usize> {
        self.innermost[block]
    }

    /// Number of loops around a block.
    pub(crate) fn loop_depth(&self, block: usize) -> u32 {
        self.loops.iter().filter(|l| l.blocks.contains(block)).count() as u32
    }

    /// Whether `block` lies in loop `which` (`None`: the function itself).
    pub(crate) fn is_in_loop(&self, block: usize, which: Option<usize>) -> bool {
        which.is_none_or(|l| self.loops[l].blocks.contains(block))
    }

    /// By block: whether control can come to it from the end of `block`.
    pub(crate) fn after(&self, block: usize) -> Vec<bool> {
        let mut after = vec![false; self.successors.len()];
        let mut open = vec![block];
        while let Some(block) = open.pop() {
            for &next in &self.successors[block] {
                if !std::mem::replace(&mut after[next], true) {
                    open.push(next);
                }
            }
        }
        after
    }

    pub(crate) fn is_reachable(&self, block: usize) -> bool {
        block == 0 || self.dominators[block].contains(0)
    }

    /// The conditional edges every path to `block` has taken last, outermost first, and whether they are *exact*.
    ///
    /// Let `L1 .. Ln` be the loops around the block, outermost first. The guards are exact if
    ///
    /// - whenever the kernel runs to a return, and every guard outside of `L1` holds, `L1` is entered;
    /// - in every round of `Lj` that is done, where every guard directly in it holds, `Lj+1` (or the block) is entered
    ///   before the round or the loop ends.
    ///
    /// Which rounds are done is not said here. Loops that are passed on the way are passed in whatever way they are
    /// left: a `return` inside, or an exit that leads past the block, makes the guards inexact. That they end at all
    /// is not asked, see `docs/fusion-model.md`.
    pub(crate) fn guards(&self, function: &dr::Function, block: usize) -> (Vec<Edge>, bool) {
        let edges = self.edges(function, block);
        let exact = self.is_exact(function, &edges, &[block]);
        (edges, exact)
    }

    /// The guards that several blocks have in common, if they are exact for the blocks together: where they hold, one of
    /// the blocks is come to.
    pub(crate) fn common_guards(&self, function: &dr::Function, blocks: &[usize]) -> Option<Vec<Edge>> {
        let (&first, others) = blocks.split_first()?;
        let mut edges = self.edges(function, first);
        for &other in others {
            if self.innermost_loop(other) != self.innermost_loop(first) {
                return None;
            }
            let theirs = self.edges(function, other);
            edges.retain(|edge| theirs.contains(edge));
        }
        (self.is_exact(function, &edges, blocks) || mutant!(AnyStoresAreJoint)).then_some(edges)
    }

    /// The conditional edges that every path to `block` has taken last, outermost first.
    pub(crate) fn edges(&self, function: &dr::Function, block: usize) -> Vec<Edge> {
        let mut edges = Vec::new();
        for branch in 0..self.successors.len() {
            if !self.dominates(branch, block) || branch == block {
                continue;
            }
            // The other ways lead to what is unreachable.
            if self.successors[branch].len() == 1 && self.asks(function, branch) {
                continue;
            }
            let in_past_loop = !self.is_in_loop(block, self.innermost_loop(branch));
            let leads = |target: usize| self.predecessors[target].len() == 1 && self.dominates(target, block);
            let Some((condition, on_true, on_false)) = self.conditional(function, branch) else {
                let cases = |&&target: &&usize| {
                    leads(target) || mutant!(CasesDoNotFallThrough) && self.dominates(target, block)
                };
                if let Some(switch) = self.switch(function, branch)
                    && let Some(&target) = self.successors[branch].iter().find(cases)
                {
                    let taken = target != switch.default;
                    let chosen = switch.cases.iter().filter(|case| (case.1 == target) == taken);
                    let values: Vec<u64> = chosen.map(|case| case.0).collect();
                    let condition = switch.selector;
                    if !values.is_empty() {
                        edges.push(Edge { block: branch, condition, taken, values, in_past_loop });
                    }
                }
                continue;
            };
            let taken = leads(on_true);
            if on_true != on_false && (taken || leads(on_false)) {
                edges.push(Edge { block: branch, condition, taken, values: Vec::new(), in_past_loop });
            }
        }
        edges
    }

    /// Whether guards are exact for blocks that lie in the same loops.
    fn is_exact(&self, function: &dr::Function, edges: &[Edge], blocks: &[usize]) -> bool {
        let not_taken = |edge: &Edge| {
            let to = self.target_of(function, edge);
            let others = self.successors[edge.block].iter().copied().filter(|&next| Some(next) != to);
            let closed: Vec<(usize, usize)> = others.map(|next| (edge.block, next)).collect();
            if to.is_some() { closed } else { Vec::new() }
        };
        let closed: Vec<(usize, usize)> =
            edges.iter().filter(|edge| !edge.in_past_loop).flat_map(not_taken).collect();
        let (mut from, mut region) = (0, None);
        let is_around = |&l: &usize| blocks.first().is_some_and(|&block| self.is_in_loop(block, Some(l)));
        for around in (0..self.loops.len()).filter(is_around) {
            let header = self.loops[around].header;
            if !self.is_passed(function, from, &[header], region, &closed) {
                return false;
            }
            (from, region) = (header, Some(around));
        }
        self.is_passed(function, from, blocks, region, &closed)
    }

    /// Whether every way from `from` that takes none of the closed edges, and comes to an end of the region, passes one of
    /// `to` before. The region is a loop, and its end the end of a round or of the loop; or it is the function, which ends
    /// where it returns.
    fn is_passed(
        &self,
        function: &dr::Function,
        from: usize,
        to: &[usize],
        region: Option<usize>,
        closed: &[(usize, usize)],
    ) -> bool {
        let header = region.map(|l| self.loops[l].header);
        let mut seen = BitSet::single(self.successors.len(), from);
        let mut stack = vec![from];
        while let Some(block) = stack.pop() {
            if to.contains(&block) {
                continue;
            }
            if self.successors[block].is_empty() {
                return false;
            }
            for &next in &self.successors[block] {
                if closed.contains(&(block, next)) || self.is_ignored_exit(function, block, next, region) {
                    continue;
                }
                if Some(next) == header || !self.is_in_loop(next, region) {
                    return false;
                }
                if !seen.contains(next) {
                    seen.insert(next);
                    stack.push(next);
                }
            }
        }
        true
    }

    /// Whether every way from the header of a loop to its next round that takes none of the closed edges passes `to`.
    pub(crate) fn is_passed_by_rounds(&self, which: usize, to: usize, closed: &[(usize, usize)]) -> bool {
        let Loop { header, blocks, .. } = &self.loops[which];
        let mut seen = BitSet::single(self.successors.len(), *header);
        let mut stack = vec![*header];
        while let Some(block) = stack.pop() {
            if block == to {
                continue;
            }
            for &next in &self.successors[block] {
                // An edge out of the loop leads to no other round.
                if closed.contains(&(block, next)) || !blocks.contains(next) {
                    continue;
                }
                if next == *header {
                    return false;
                }
                if !seen.contains(next) {
                    seen.insert(next);
                    stack.push(next);
                }
            }
        }
        true
    }

    /// Only for the mutant that takes the test of a loop for its only exit.
    fn is_ignored_exit(
        &self,
        function: &dr::Function,
        block: usize,
        next: usize,
        region: Option<usize>,
    ) -> bool {
        let inner = self.innermost_loop(block).filter(|&l| Some(l) != region);
        mutant!(LoopsEndByTheirTest)
            && inner.is_some_and(|l| {
                !self.loops[l].blocks.contains(next)
                    && self.tests_of(function, l).first().is_some_and(|test| test.block != block)
            })
    }

    /// Where an edge leads.
    fn target_of(&self, function: &dr::Function, edge: &Edge) -> Option<usize> {
        if let Some((_, on_true, on_false)) = self.conditional(function, edge.block) {
            return Some(if edge.taken { on_true } else { on_false });
        }
        let switch = self.switch(function, edge.block)?;
        match (edge.taken, edge.values.first()) {
            (true, Some(&value)) => switch.cases.iter().find(|case| case.0 == value).map(|case| case.1),
            (true, None) => None,
            (false, _) => Some(switch.default),
        }
    }

    /// The parts of the switch that `block` ends in.
    fn switch(&self, function: &dr::Function, block: usize) -> Option<Switch> {
        let last = function.blocks[block].instructions.last()?;
        if last.class.opcode != Op::Switch {
            return None;
        }
        let target = |n: usize| self.block_of_label(last.operands.get(n)?.id_ref_any()?);
        let case = |n: usize| match last.operands.get(n)? {
            Operand::LiteralBit32(value) => Some((u64::from(*value), target(n + 1)?)),
            Operand::LiteralBit64(value) => Some((*value, target(n + 1)?)),
            _ => None,
        };
        let cases = (2..last.operands.len()).step_by(2).map(case).collect::<Option<_>>()?;
        Some(Switch { selector: last.operands.first()?.id_ref_any()?, default: target(1)?, cases })
    }

    /// Whether `block` ends in a branch to several labels.
    fn asks(&self, function: &dr::Function, block: usize) -> bool {
        let last = function.blocks[block].instructions.last();
        let labels = last.map(branch_targets).unwrap_or_default();
        labels.iter().any(|label| *label != labels[0])
    }

    /// The condition and both targets, if `block` ends in a conditional branch.
    pub(crate) fn conditional(&self, function: &dr::Function, block: usize) -> Option<(u32, usize, usize)> {
        let last = function.blocks[block].instructions.last()?;
        if last.class.opcode != Op::BranchConditional {
            return None;
        }
        let id = |n: usize| last.operands.get(n)?.id_ref_any();
        Some((id(0)?, self.block_of_label(id(1)?)?, self.block_of_label(id(2)?)?))
    }
}

fn branch_targets(last: &dr::Instruction) -> Vec<u32> {
    let ids = last.operands.iter().filter_map(|o| o.id_ref_any());
    match last.class.opcode {
        Op::Branch => ids.collect(),
        Op::BranchConditional => ids.skip(1).collect(),
        // The selector comes first, then the default and (literal, label) pairs.
        Op::Switch => ids.skip(1).collect(),
        _ => Vec::new(),
    }
}

/// Labels of the blocks that do nothing and come to an `OpUnreachable` on every way.
fn unreachable(function: &dr::Function) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    // A way leads through this many blocks at most.
    loop {
        let known = found.len();
        for block in &function.blocks {
            let Some(label) = block.label_id().filter(|label| !found.contains(label)) else { continue };
            let never = match block.instructions.as_slice() {
                [last] if last.class.opcode == Op::Unreachable => true,
                [last] if last.class.opcode == Op::Branch => {
                    branch_targets(last).iter().all(|target| found.contains(target))
                }
                _ => false,
            };
            if never {
                found.push(label);
            }
        }
        if found.len() == known {
            return found;
        }
    }
}

/// Dominator sets by iteration, from the entry.
fn dominance(count: usize, into: &[Vec<usize>], out_of: &[Vec<usize>]) -> Vec<BitSet> {
    let mut sets = vec![BitSet::full(count); count];
    let Some(entry) = sets.first_mut() else { return sets };
    *entry = BitSet::single(count, 0);
    let mut work: std::collections::VecDeque<usize> = out_of[0].iter().copied().collect();
    while let Some(block) = work.pop_front() {
        if block == 0 {
            continue;
        }
        let mut set = BitSet::full(count);
        for &pred in &into[block] {
            set.intersect(&sets[pred]);
        }
        set.insert(block);
        if set != sets[block] {
            sets[block] = set;
            work.extend(out_of[block].iter().copied());
        }
    }
    // What the entry does not reach keeps the full set: claim nothing about it but itself.
    let mut reached = vec![false; count];
    let mut stack = vec![0];
    while let Some(block) = stack.pop() {
        if !std::mem::replace(&mut reached[block], true) {
            stack.extend(out_of[block].iter().copied());
        }
    }
    for (block, set) in sets.iter_mut().enumerate() {
        if !reached[block] {
            *set = BitSet::single(count, block);
        }
    }
    sets
}

fn natural_loops(
    count: usize,
    successors: &[Vec<usize>],
    predecessors: &[Vec<usize>],
    dominators: &[BitSet],
) -> (Vec<Loop>, Vec<Option<usize>>) {
    let mut loops: Vec<Loop> = Vec::new();
    for header in 0..count {
        let latches: Vec<usize> = predecessors[header]
            .iter()
            .copied()
            .filter(|&latch| dominators[latch].contains(header) && successors[latch].contains(&header))
            .collect();
        if latches.is_empty() {
            continue;
        }
        let mut blocks = BitSet::single(count, header);
        let mut stack = latches;
        while let Some(block) = stack.pop() {
            if !blocks.contains(block) {
                blocks.insert(block);
                stack.extend(predecessors[block].iter().copied());
            }
        }
        // Headers come in dominance order, so the last loop that holds this header is its parent.
        let parent = loops.iter().rposition(|outer| outer.blocks.contains(header));
        loops.push(Loop { header, blocks, parent });
    }
    let innermost = (0..count)
        .map(|block| {
            (0..loops.len()).filter(|&l| loops[l].blocks.contains(block)).max_by_key(|&l| depth(&loops, l))
        })
        .collect();
    (loops, innermost)
}

fn depth(loops: &[Loop], mut index: usize) -> usize {
    let mut depth = 0;
    while let Some(parent) = loops[index].parent {
        depth += 1;
        index = parent;
    }
    depth
}

/// A set of block indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BitSet(Vec<u64>);

impl BitSet {
    fn full(count: usize) -> Self {
        Self(vec![u64::MAX; count.div_ceil(64)])
    }

    fn single(count: usize, index: usize) -> Self {
        let mut set = Self(vec![0; count.div_ceil(64)]);
        set.insert(index);
        set
    }

    fn insert(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }

    pub(crate) fn contains(&self, index: usize) -> bool {
        self.0[index / 64] & (1 << (index % 64)) != 0
    }

    fn intersect(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a &= b;
        }
    }
}
