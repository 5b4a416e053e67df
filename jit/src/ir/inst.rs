//! Instructions: computations and memory accesses.
//!
//! Accesses name places, so a pass reads the root of an access and follows no pointers. Instructions without a variant are kept whole
//! in [`Operation::Other`].

use rspirv::dr::Operand;
use rspirv::spirv::{MemoryAccess, MemorySemantics, Op, Scope};
use smallvec::SmallVec;

use super::entity::{ExtSet, Func, Place, Type, Value};
use crate::ir::opcodes::{self, PURE};

/// Values that an instruction takes.
pub type Args = SmallVec<[Value; 4]>;

/// An operand of an instruction that rides whole.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A value.
    Value(Value),
    /// A scope.
    Scope(Value),
    /// Memory semantics.
    Semantics(Value),
    /// A type.
    Type(Type),
    /// A number, a name, or one of an enumeration.
    Literal(Operand),
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access {
    /// Volatile, non-temporal, made available, made visible, non-private.
    pub flags: Flags,
    /// Alignment of the address.
    pub align: Option<u32>,
    /// The scope in which a store is made available.
    pub available: Option<Scope>,
    /// The scope in which what a load finds is made visible.
    pub visible: Option<Scope>,
}

/// The flags of an access except for those that carry an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flags(pub MemoryAccess);

impl Default for Flags {
    fn default() -> Self {
        Self(MemoryAccess::empty())
    }
}

impl Access {
    /// Whether it has to be made as it stands.
    pub fn is_volatile(self) -> bool {
        self.flags.0.contains(MemoryAccess::VOLATILE)
    }

    /// Whether it has none of these properties.
    pub fn is_plain(self) -> bool {
        self == Self::default()
    }
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// The result follows from the operands, literals last.
    Pure {
        /// The opcode.
        op: Op,
        /// Values.
        args: Args,
        /// Literals behind them.
        literals: SmallVec<[u32; 2]>,
    },
    /// An instruction of an imported set.
    Ext {
        /// The set.
        set: ExtSet,
        /// Its number there.
        number: u32,
        /// Values.
        args: Args,
        /// Whether the result follows from the values, and nothing is written.
        pure: bool,
    },
    /// Loads.
    Load {
        /// Where from.
        place: Place,
        /// How.
        access: Access,
    },
    /// Stores.
    Store {
        /// Where to.
        place: Place,
        /// What.
        value: Value,
        /// How.
        access: Access,
    },
    /// The length of a runtime array, the last member of the struct at a place.
    Length {
        /// The struct.
        place: Place,
        /// Number of the member.
        member: u32,
    },
    /// An atomic operation.
    Atomic {
        /// The opcode.
        op: Op,
        /// Where.
        place: Place,
        /// Among whom.
        scope: Scope,
        /// What it orders.
        semantics: MemorySemantics,
        /// What it orders if a comparison fails.
        unequal: Option<MemorySemantics>,
        /// Values.
        args: Args,
    },
    /// A barrier: of control and memory, or of memory alone.
    Barrier {
        /// The invocations that wait for each other; `None` for a memory barrier.
        execution: Option<Scope>,
        /// Whose accesses are ordered.
        memory: Scope,
        /// Which.
        semantics: MemorySemantics,
    },
    /// A call.
    Call {
        /// Of this function.
        function: Func,
        /// Values.
        args: Args,
    },
    /// Anything else, in the order of its operands.
    Other {
        /// The opcode.
        op: Op,
        /// Its operands.
        operands: Vec<Arg>,
    },
}

/// What an instruction may do besides giving a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// Reads memory.
    Reads(Place),
    /// Writes memory.
    Writes(Place),
    /// Anything, and nothing passes it.
    Anything,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct InstData {
    /// What it does.
    pub operation: Operation,
    /// Its result.
    pub result: Option<Value>,
}

impl Operation {
    /// A copy of a value.
    pub fn copy(value: Value) -> Self {
        let (args, literals) = (SmallVec::from_slice(&[value]), SmallVec::new());
        Self::Pure { op: Op::CopyObject, args, literals }
    }

    /// What it may do besides giving a result. Volatile accesses may do anything, and so may calls.
    pub fn effect(&self) -> Effect {
        match self {
            Self::Pure { .. } | Self::Length { .. } | Self::Ext { pure: true, .. } => Effect::None,
            Self::Load { access, .. } | Self::Store { access, .. } if access.is_volatile() => {
                Effect::Anything
            }
            Self::Load { place, .. } => Effect::Reads(*place),
            Self::Store { place, .. } => Effect::Writes(*place),
            Self::Other { op, .. } if opcodes::has(*op, PURE) => Effect::None,
            _ => Effect::Anything,
        }
    }

    /// The place that it accesses, or measures.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Load { place, .. }
            | Self::Store { place, .. }
            | Self::Length { place, .. }
            | Self::Atomic { place, .. } => Some(*place),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn place_mut(&mut self) -> Option<&mut Place> {
        match self {
            Self::Load { place, .. }
            | Self::Store { place, .. }
            | Self::Length { place, .. }
            | Self::Atomic { place, .. } => Some(place),
            _ => None,
        }
    }

    /// The values that it takes, in order; not those of its place.
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        let (args, one, operands): (&[Value], Option<Value>, &[Arg]) = match self {
            Self::Pure { args, .. }
            | Self::Ext { args, .. }
            | Self::Atomic { args, .. }
            | Self::Call { args, .. } => (args, None, &[]),
            Self::Store { value, .. } => (&[], Some(*value), &[]),
            Self::Other { operands, .. } => (&[], None, operands),
            Self::Load { .. } | Self::Length { .. } | Self::Barrier { .. } => (&[], None, &[]),
        };
        let other = operands.iter().filter_map(|arg| match arg {
            Arg::Value(value) | Arg::Scope(value) | Arg::Semantics(value) => Some(*value),
            Arg::Type(_) | Arg::Literal(_) => None,
        });
        args.iter().copied().chain(one).chain(other)
    }
}
