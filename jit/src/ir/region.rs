//! Structured control flow: regions with arguments instead of blocks with phis.
//!
//! A region is a sequence of nodes and an end. A node is an instruction or a construct: a selection, a switch or a loop, which owns regions. A construct has
//! results, and every way out of it carries an argument for each; so do the ways to a region with parameters.

use rspirv::dr::Operand;
use rspirv::spirv::{LoopControl, SelectionControl};
use smallvec::SmallVec;

use super::entity::{Construct, Inst, Region, Value};

/// Values that go along an edge.
pub type EdgeArgs = SmallVec<[Value; 2]>;

/// A region, and a node of it by number; behind the last for the end.
pub type Position = (Region, usize);

/// A region.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionData {
    /// What each way into it gives a value. Those of a loop's body are seen in what continues it, too.
    pub params: Vec<Value>,
    /// What is done, in order.
    pub nodes: Vec<Node>,
    /// Where control goes on.
    pub end: End,
}

/// An instruction, or a construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Node {
    Inst(Inst),
    Construct(Construct),
}

/// Where control goes from the end of a region.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// Behind a construct around the region: the region's own (it *yields*), or one further out (it *breaks*).
    Exit {
        /// The construct.
        to: Construct,
        /// Its results.
        args: EdgeArgs,
    },
    /// To what continues a loop around the region.
    Continue {
        /// The loop.
        to: Construct,
        /// Parameters of its `continuing`.
        args: EdgeArgs,
    },
    /// To the next iteration; only at the end of what continues a loop.
    Repeat {
        /// Parameters of the body.
        args: EdgeArgs,
        /// Leaves the loop instead, on a condition.
        until: Option<Until>,
    },
    /// To another case of the switch around the region.
    Fall {
        /// Region of the case.
        to: Region,
        /// Its parameters.
        args: EdgeArgs,
    },
    /// Out of the function.
    Return(Option<Value>),
    /// Nowhere: control does not come here.
    Unreachable,
    /// The invocation ends.
    Terminate(rspirv::spirv::Op),
}

/// The condition on which a loop ends behind an iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Until {
    /// The condition.
    pub condition: Value,
    /// What it is where the loop ends.
    pub is: bool,
    /// Results of the loop.
    pub args: EdgeArgs,
}

/// A selection, a switch or a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstructData {
    /// Which, and its regions.
    pub kind: ConstructKind,
    /// Values that every way out of it gives.
    pub results: Vec<Value>,
}

/// Which construct, and its regions.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstructKind {
    /// A selection by a condition.
    If {
        /// The condition.
        condition: Value,
        /// Where it holds.
        accept: Region,
        /// Where not.
        reject: Region,
        /// Hint to the driver. `None`: a branch with one side that leaves a construct at once, so that it needs no merge block of its own.
        control: Option<SelectionControl>,
        /// Whether a driver is informed how likely the two ways are.
        weights: Option<[u32; 2]>,
    },
    /// A selection by a number.
    Switch {
        /// The number.
        selector: Value,
        /// The cases; the one without numbers comes first, and is for the rest.
        cases: Vec<Case>,
        /// What the driver is given.
        control: SelectionControl,
    },
    /// A loop.
    Loop {
        /// Parameters of the body in the first iteration.
        args: EdgeArgs,
        /// What is done.
        body: Region,
        /// What is done in front of the next iteration.
        continuing: Region,
        /// What the driver is given.
        control: LoopControl,
        /// Its operands.
        operands: Vec<Operand>,
    },
}

/// A case of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its numbers.
    pub numbers: SmallVec<[u64; 2]>,
    /// What is done.
    pub region: Region,
    /// Parameters of that.
    pub args: EdgeArgs,
}

impl End {
    /// The values that it takes.
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        let (args, until): (&[Value], Option<&Until>) = match self {
            Self::Exit { args, .. } | Self::Continue { args, .. } | Self::Fall { args, .. } => (args, None),
            Self::Repeat { args, until } => (args, until.as_ref()),
            Self::Return(value) => (value.as_slice(), None),
            Self::Unreachable | Self::Terminate(_) => (&[], None),
        };
        let condition = until.map(|until| until.condition);
        args.iter()
            .copied()
            .chain(condition)
            .chain(until.into_iter().flat_map(|until| until.args.iter().copied()))
    }
}

impl ConstructKind {
    /// Its regions, in the order in which they are written.
    pub fn regions(&self) -> SmallVec<[Region; 4]> {
        match self {
            Self::If { accept, reject, .. } => SmallVec::from_slice(&[*accept, *reject]),
            Self::Switch { cases, .. } => cases.iter().map(|case| case.region).collect(),
            Self::Loop { body, continuing, .. } => SmallVec::from_slice(&[*body, *continuing]),
        }
    }

    /// The values that it takes itself: a condition, a selector, arguments of its regions.
    pub fn values(&self) -> SmallVec<[Value; 4]> {
        match self {
            Self::If { condition, .. } => SmallVec::from_slice(&[*condition]),
            Self::Switch { selector, cases, .. } => {
                let args = cases.iter().flat_map(|case| case.args.iter().copied());
                std::iter::once(*selector).chain(args).collect()
            }
            Self::Loop { args, .. } => args.iter().copied().collect(),
        }
    }
}
