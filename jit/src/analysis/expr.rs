//! Symbolic index expressions: what an SSA value of a kernel is, in terms of ids and arguments.
//!
//! An expression is a node of an arena built once per kernel. Its leaves are what differs between
//! invocations (ids, loop iterations), what the host passes (push constants, buffer lengths) and
//! constants. What cannot be expressed is an [`Node::Opaque`] leaf of its own, never a guess. All
//! integer nodes stand for machine words: arithmetic is modulo two to the power of their width, and
//! whether that ever wraps is decided later, when the numbers are known (`analysis::evaluate`).

use ahash::AHashMap;

/// Index of a node in its [`Exprs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

/// Id built-ins an index can depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdKind {
    /// `GlobalInvocationId`.
    Global,
    /// `LocalInvocationId`.
    Local,
    /// `WorkgroupId`.
    Group,
    /// `NumWorkgroups`.
    GroupCount,
}

/// What is asked of a bound image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageQuery {
    /// A component of its size (`OpImageQuerySize`; `OpImageQuerySizeLod` of the first level).
    Size(u8),
    /// Its levels of detail (`OpImageQueryLevels`).
    Levels,
    /// The samples of its texels (`OpImageQuerySamples`).
    Samples,
}

/// What an invocation knows of its sub-group. Which invocations make one up is the device's affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubgroupValue {
    /// `SubgroupId`.
    Id,
    /// `NumSubgroups`.
    Count,
    /// `SubgroupSize`.
    Size,
    /// `SubgroupLocalInvocationId`.
    Lane,
}

/// Integer operations. Where signedness matters the operation carries it, as in SPIR-V.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// The upper half of the product of two unsigned words.
    UMulHigh,
    UDiv,
    SDiv,
    UMod,
    SRem,
    SMod,
    Shl,
    ShrLogical,
    ShrArithmetic,
    And,
    Or,
    Xor,
    UMin,
    SMin,
    UMax,
    SMax,
}

/// Integer comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CompareOp {
    Equal,
    NotEqual,
    ULess,
    ULessEqual,
    SLess,
    SLessEqual,
}

/// What a counter must be to its limit for the loop to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum GoesOn {
    Below,
    AtMost,
    Above,
    AtLeast,
    UnlessEqual,
}

/// How long a counting loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoopBound {
    /// What is compared with the limit in the first round: the counter's first value, or that and what is added before the
    /// comparison, as a step that comes before it. Later rounds compare a step more each.
    pub first: NodeId,
    /// The loop-invariant limit.
    pub limit: NodeId,
    /// While the counter is this to the limit.
    pub goes_on: GoesOn,
    /// Signed comparison; says nothing where it asks for equality.
    pub signed: bool,
    /// Whether nothing else ends the loop.
    pub only_exit: bool,
}

/// A conditional branch and the side that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Passed {
    /// Block that ends in the branch.
    pub block: usize,
    /// Whether its condition held.
    pub taken: bool,
}

/// One node of an expression. `width` is in bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A constant word, zero-extended.
    Const {
        /// The word.
        value: u64,
        /// Width in bits.
        width: u8,
    },
    /// One component of an id built-in.
    Id {
        /// Which built-in.
        kind: IdKind,
        /// 0 = x, 1 = y, 2 = z.
        dim: u8,
    },
    /// `LocalInvocationIndex`.
    LocalIndex,
    /// A value of the invocation's sub-group, known by its range alone.
    Subgroup(SubgroupValue),
    /// A push-constant scalar at a byte offset.
    Push {
        /// Byte offset in the kernel's own block.
        offset: u32,
        /// Width in bits.
        width: u8,
    },
    /// Number of elements of a buffer's trailing array (`OpArrayLength`).
    Length {
        /// Index into the kernel's bindings.
        binding: u16,
        /// Byte offset of the array in the block.
        offset: u32,
        /// Bytes per element.
        stride: u32,
    },
    /// What a bound image answers to a query.
    Image {
        /// Index into the kernel's bindings.
        binding: u16,
        /// What is asked.
        query: ImageQuery,
    },
    /// A scalar loaded from a fixed place of a buffer.
    Cell {
        /// SSA id of the load: two loads of one place may find different values. None for a place in a uniform buffer,
        /// where every load of the kernel finds the same.
        id: Option<u32>,
        /// Index into the kernel's bindings.
        binding: u16,
        /// Byte offset in the binding.
        offset: u32,
        /// Width in bits.
        width: u8,
    },
    /// An operation on two words of the same width.
    Binary {
        /// The operation.
        op: BinaryOp,
        /// Width in bits.
        width: u8,
        /// Left operand.
        a: NodeId,
        /// Right operand.
        b: NodeId,
    },
    /// Widening or narrowing.
    Convert {
        /// Whether widening extends the sign.
        signed: bool,
        /// Width of the operand.
        from: u8,
        /// Width of the result.
        width: u8,
        /// The operand.
        a: NodeId,
    },
    /// One of several values; which one is not known.
    Join {
        /// Width in bits.
        width: u8,
        /// The candidates.
        inputs: Vec<NodeId>,
    },
    /// `condition ? a : b`.
    Select {
        /// Width in bits.
        width: u8,
        /// A boolean node.
        condition: NodeId,
        /// Value if true.
        a: NodeId,
        /// Value if false.
        b: NodeId,
    },
    /// The counter of a loop: `init + k * step` in iteration `k`, if all iterations before have stepped.
    Counter {
        /// SSA id of the counter, which tells two loops apart.
        id: u32,
        /// Width in bits.
        width: u8,
        /// First value.
        init: NodeId,
        /// Loop-invariant step.
        step: NodeId,
        /// Number of the loop.
        of: u32,
        /// The branches that a round takes if it steps; see `analysis::skipped`. None: every round steps.
        under: Vec<Passed>,
        /// What ends the loop, if that could be read off.
        bound: Option<LoopBound>,
    },
    /// A counter behind its loop, if nothing but the loop's test has ended that.
    Final {
        /// The counter.
        counter: NodeId,
        /// Width in bits.
        width: u8,
    },
    /// A comparison (boolean).
    Compare {
        /// The comparison.
        op: CompareOp,
        /// Width of the operands.
        width: u8,
        /// Left operand.
        a: NodeId,
        /// Right operand.
        b: NodeId,
    },
    /// Conjunction (boolean).
    BoolAnd(NodeId, NodeId),
    /// Disjunction (boolean).
    BoolOr(NodeId, NodeId),
    /// Negation (boolean).
    BoolNot(NodeId),
    /// A value that is not expressed, distinguished by SSA id and component.
    Opaque {
        /// SSA id.
        id: u32,
        /// Component of a vector.
        component: u32,
        /// Width in bits; 1 for booleans.
        width: u8,
    },
}

impl Node {
    /// The nodes that it is made of.
    pub(crate) fn parts(&self) -> Vec<NodeId> {
        match self {
            Self::Const { .. }
            | Self::Id { .. }
            | Self::LocalIndex
            | Self::Subgroup(_)
            | Self::Push { .. }
            | Self::Length { .. }
            | Self::Image { .. }
            | Self::Cell { .. }
            | Self::Opaque { .. } => Vec::new(),
            Self::Binary { a, b, .. }
            | Self::Compare { a, b, .. }
            | Self::BoolAnd(a, b)
            | Self::BoolOr(a, b) => vec![*a, *b],
            Self::Convert { a, .. } | Self::BoolNot(a) | Self::Final { counter: a, .. } => vec![*a],
            Self::Join { inputs, .. } => inputs.clone(),
            Self::Select { condition, a, b, .. } => vec![*condition, *a, *b],
            Self::Counter { init, step, bound, .. } => {
                let bound = bound.iter().flat_map(|bound| [bound.first, bound.limit]);
                [*init, *step].into_iter().chain(bound).collect()
            }
        }
    }

    /// Width of the word in bits; 1 for booleans.
    pub fn width(&self) -> u8 {
        match self {
            Self::Const { width, .. }
            | Self::Push { width, .. }
            | Self::Cell { width, .. }
            | Self::Binary { width, .. }
            | Self::Convert { width, .. }
            | Self::Join { width, .. }
            | Self::Select { width, .. }
            | Self::Counter { width, .. }
            | Self::Final { width, .. }
            | Self::Opaque { width, .. } => *width,
            Self::Id { .. }
            | Self::LocalIndex
            | Self::Subgroup(_)
            | Self::Length { .. }
            | Self::Image { .. } => 32,
            Self::Compare { .. } | Self::BoolAnd(..) | Self::BoolOr(..) | Self::BoolNot(..) => 1,
        }
    }
}

/// The expressions of one kernel. Equal nodes have equal ids.
#[derive(Clone, Debug, Default)]
pub struct Exprs {
    nodes: Vec<Node>,
    index: AHashMap<Node, NodeId>,
}

impl Exprs {
    /// The node behind an id.
    pub fn get(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn add(&mut self, node: Node) -> NodeId {
        if let Some(&id) = self.index.get(&node) {
            return id;
        }
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node.clone());
        self.index.insert(node, id);
        id
    }

    pub(crate) fn constant(&mut self, value: u64, width: u8) -> NodeId {
        self.add(Node::Const { value: value & mask(width), width })
    }

    /// The places in buffers that expressions depend on: binding, offset and width in bits.
    pub(crate) fn cells(&self) -> Vec<(u16, u32, u8)> {
        let cell = |node: &Node| match node {
            Node::Cell { binding, offset, width, .. } => Some((*binding, *offset, *width)),
            _ => None,
        };
        let mut cells: Vec<_> = self.nodes.iter().filter_map(cell).collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    /// The push constants that expressions depend on: offset and width in bits.
    pub(crate) fn pushed(&self) -> Vec<(u32, u8)> {
        let push = |node: &Node| match node {
            Node::Push { offset, width } => Some((*offset, *width)),
            _ => None,
        };
        let mut pushed: Vec<_> = self.nodes.iter().filter_map(push).collect();
        pushed.sort_unstable();
        pushed.dedup();
        pushed
    }

    /// The loops of counters that a round may leave as they are, and the branches under which it does not.
    pub(crate) fn skipping(&self) -> Vec<(usize, Vec<Passed>)> {
        let skips = |node: &Node| match node {
            Node::Counter { of, under, .. } if !under.is_empty() => Some((*of as usize, under.clone())),
            _ => None,
        };
        self.nodes.iter().filter_map(skips).collect()
    }

    /// The branches that a round of a loop takes if it steps this value of its header, which other rounds leave as it is.
    pub(crate) fn stepped_under(&self, phi: u32, own_loop: usize) -> Option<&[Passed]> {
        self.nodes.iter().find_map(|node| match node {
            Node::Counter { id, of, under, .. } if *id == phi && *of as usize == own_loop => {
                Some(under.as_slice()).filter(|under| !under.is_empty())
            }
            _ => None,
        })
    }

    /// Whether a node has one value in each invocation, whatever loops do.
    pub(crate) fn is_fixed(&self, node: NodeId) -> bool {
        // Nodes are shared, so a small expression can have any number of paths.
        let mut budget = 256;
        self.is_fixed_within(node, &mut budget)
    }

    fn is_fixed_within(&self, node: NodeId, budget: &mut u32) -> bool {
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        let mut all = |nodes: &[NodeId]| nodes.iter().all(|&node| self.is_fixed_within(node, budget));
        match self.get(node) {
            Node::Const { .. }
            | Node::Id { .. }
            | Node::LocalIndex
            | Node::Subgroup(_)
            | Node::Push { .. }
            | Node::Length { .. }
            | Node::Image { .. }
            | Node::Cell { id: None, .. } => true,
            Node::Binary { a, b, .. }
            | Node::Compare { a, b, .. }
            | Node::BoolAnd(a, b)
            | Node::BoolOr(a, b) => all(&[*a, *b]),
            Node::Convert { a, .. } | Node::BoolNot(a) => all(&[*a]),
            Node::Select { condition, a, b, .. } => all(&[*condition, *a, *b]),
            // Which input was chosen, and what an unknown is, may change from round to round.
            Node::Join { .. }
            | Node::Counter { .. }
            | Node::Final { .. }
            | Node::Cell { .. }
            | Node::Opaque { .. } => false,
        }
    }

    /// The negation of a boolean node.
    pub(crate) fn not(&mut self, node: NodeId) -> NodeId {
        match self.get(node) {
            Node::BoolNot(inner) => *inner,
            Node::Const { value, width } => {
                let (value, width) = (u64::from(*value == 0), *width);
                self.constant(value, width)
            }
            _ => self.add(Node::BoolNot(node)),
        }
    }

    /// The conjunction of two boolean nodes.
    pub(crate) fn and(&mut self, a: NodeId, b: NodeId) -> NodeId {
        match (self.get(a), self.get(b)) {
            (Node::Const { value: 0, .. }, _) => a,
            (_, Node::Const { value: 0, .. }) | (Node::Const { .. }, _) => b,
            (_, Node::Const { .. }) => a,
            _ => self.add(Node::BoolAnd(a, b)),
        }
    }

    /// The disjunction of two boolean nodes.
    pub(crate) fn or(&mut self, a: NodeId, b: NodeId) -> NodeId {
        match (self.get(a), self.get(b)) {
            (Node::Const { value: 0, .. }, _) => b,
            (_, Node::Const { value: 0, .. }) | (Node::Const { .. }, _) => a,
            (_, Node::Const { .. }) => b,
            _ => self.add(Node::BoolOr(a, b)),
        }
    }
}

/// Whether a comparison of two words holds.
pub(crate) fn holds(op: CompareOp, width: u8, x: u64, y: u64) -> bool {
    let signed = |value| sign_extend(value, width);
    match op {
        CompareOp::Equal => x == y,
        CompareOp::NotEqual => x != y,
        CompareOp::ULess => x < y,
        CompareOp::ULessEqual => x <= y,
        CompareOp::SLess => signed(x) < signed(y),
        CompareOp::SLessEqual => signed(x) <= signed(y),
    }
}

/// All bits of a word of `width` bits.
pub(crate) fn mask(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// The word as a two's complement number.
pub(crate) fn sign_extend(value: u64, width: u8) -> i64 {
    let shift = 64 - u32::from(width.clamp(1, 64));
    ((value << shift) as i64) >> shift
}
