//! Control flow of one function: predecessors, dominators, post-dominators, loops.
//!
//! Everything is by block index in the order of the module, which SPIR-V demands to be one in which
//! a block comes after its immediate dominator. Kernels are small, so dominance is kept as one bit
//! set per block and computed by iterating to the fixed point.

use ahash::AHashMap;
use rspirv::dr;
use rspirv::spirv::Op;

/// Control-flow facts of one function.
pub(crate) struct Cfg {
    pub(crate) successors: Vec<Vec<usize>>,
    pub(crate) predecessors: Vec<Vec<usize>>,
    dominators: Vec<BitSet>,
    post_dominators: Vec<BitSet>,
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

/// One direction of a conditional branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// Block that ends in the branch.
    pub(crate) block: usize,
    /// Id of the condition.
    pub(crate) condition: u32,
    /// Whether the condition held.
    pub(crate) taken: bool,
}

impl Cfg {
    pub(crate) fn new(function: &dr::Function) -> Self {
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
                let Some(&target) = label_index.get(&label) else {
                    continue;
                };
                if !successors[index].contains(&target) {
                    successors[index].push(target);
                    predecessors[target].push(index);
                }
            }
        }
        let dominators = dominance(count, &[0], &predecessors, &successors);
        let exits: Vec<usize> = (0..count).filter(|&b| successors[b].is_empty()).collect();
        let post_dominators = dominance(count, &exits, &successors, &predecessors);
        let (loops, innermost) = natural_loops(count, &successors, &predecessors, &dominators);
        Self { successors, predecessors, dominators, post_dominators, loops, innermost, label_index }
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

    pub(crate) fn post_dominates(&self, a: usize, b: usize) -> bool {
        self.post_dominators[b].contains(a)
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

    pub(crate) fn is_reachable(&self, block: usize) -> bool {
        block == 0 || self.dominators[block].contains(0)
    }

    /// The conditional edges every path to `block` has taken last, outermost first, and whether they
    /// are *exact*: `block` runs whenever all of them were taken.
    pub(crate) fn guards(&self, function: &dr::Function, block: usize) -> (Vec<Edge>, bool) {
        let mut edges = Vec::new();
        let mut exact = true;
        // From here on the walk must show that reaching `from` leads to the next edge.
        let mut from = 0;
        for branch in 0..self.successors.len() {
            if !self.dominates(branch, block) || branch == block {
                continue;
            }
            let Some((condition, on_true, on_false)) = self.conditional(function, branch) else {
                continue;
            };
            let edge_to = |target: usize| {
                on_true != on_false && self.predecessors[target].len() == 1 && self.dominates(target, block)
            };
            let (taken, target) = if edge_to(on_true) {
                (true, on_true)
            } else if edge_to(on_false) {
                (false, on_false)
            } else {
                continue;
            };
            exact &= self.post_dominates(branch, from);
            edges.push(Edge { block: branch, condition, taken });
            from = target;
        }
        exact &= self.post_dominates(block, from);
        (edges, exact)
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

/// Dominator sets by iteration; `roots` dominate only themselves.
fn dominance(count: usize, roots: &[usize], into: &[Vec<usize>], out_of: &[Vec<usize>]) -> Vec<BitSet> {
    let mut sets = vec![BitSet::full(count); count];
    for &root in roots {
        sets[root] = BitSet::single(count, root);
    }
    let mut work: std::collections::VecDeque<usize> =
        roots.iter().flat_map(|&r| out_of[r].iter().copied()).collect();
    while let Some(block) = work.pop_front() {
        if roots.contains(&block) {
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
    // What no root reaches keeps the full set: claim nothing about it but itself.
    let mut reached = vec![false; count];
    let mut stack: Vec<usize> = roots.to_vec();
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
