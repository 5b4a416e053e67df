//! The decoded form of a module: dense registers, flat code.
//!
//! Every value is a row of 64-bit *lanes*, one per scalar, zero-extended; a pointer has two lanes (what
//! it points into, and the offset). SPIR-V has no recursion, so each id of each function owns fixed
//! lanes in one register file per invocation, constants included; a call copies arguments and jumps.
//! Memory with an explicit layout is bytes, reached through [`Span`]s; all other memory is lanes.

use rspirv::spirv::BuiltIn;

use super::arith::{Binary, IntDot, Num, Pack, Ternary, Unary, Wide};
use super::error::OracleError;
use super::texel::{Filter, TexelFormat};

/// Marks a pointer that an index led outside its array. Lives in the first lane of a pointer, above what the
/// pointer leads into: the slot of a binding, or the first lane of a variable.
pub(super) const POISON: u64 = 1 << 63;

/// First lane of a null pointer.
pub(super) const NULL: u64 = POISON | u32::MAX as u64;

/// A compute module, decoded for interpretation. Decode once, run often.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) code: Vec<Inst>,
    /// Offset in words of the instruction that each element of `code` came from.
    pub(super) words: Vec<u32>,
    /// First instruction of the entry point.
    pub(super) start: u32,
    pub(super) local_size: [u32; 3],
    /// Initial registers of every invocation: constants, pointers to variables.
    pub(super) registers: Vec<u64>,
    pub(super) private: Image,
    pub(super) shared: Image,
    /// Built-in inputs: first lane in Private memory, number of lanes.
    pub(super) inputs: Vec<(BuiltIn, u32, u32)>,
    pub(super) bindings: Vec<BindingUse>,
    pub(super) samplers: Vec<SamplerUse>,
    pub(super) spans: Vec<Span>,
    pub(super) terms: Vec<Term>,
    pub(super) edges: Vec<Edge>,
    pub(super) moves: Vec<Move>,
    pub(super) cases: Vec<(u64, u32)>,
    pub(super) gathers: Vec<u32>,
    /// What loads and stores say of each of their lanes.
    pub(super) flags: Vec<bool>,
    pub(super) groups: Vec<GroupInst>,
    pub(super) has_atomics: bool,
    /// log2 of the largest power of two up to 4 that divides all byte offsets, strides and widths.
    pub(super) grain_shift: u32,
    /// Takes the other result where one is left open.
    pub(super) other_open: bool,
    /// Size of sub-groups that its pipeline asks for.
    pub(super) subgroup_size: Option<u32>,
}

impl Program {
    /// Decodes a module with the entry point `main`, or with exactly one compute entry point.
    pub fn decode(words: &[u32]) -> Result<Self, OracleError> {
        super::decode::decode(words, None)
    }

    /// What a load or a store says of each of its lanes; nothing if it says the same of all.
    #[inline]
    pub(super) fn flags(&self, first: u32, n: u32) -> &[bool] {
        if first == u32::MAX {
            return &[];
        }
        let first = first as usize;
        self.flags.get(first..first + n as usize).unwrap_or(&[])
    }

    /// Runs in sub-groups of this size, whatever [`Options`](crate::Options) say, as a pipeline with a required sub-group size does.
    #[must_use]
    pub fn in_subgroups_of(mut self, size: Option<u32>) -> Self {
        self.subgroup_size = size;
        self
    }

    /// Decodes a module with several entry points.
    pub fn decode_entry(words: &[u32], entry: &str) -> Result<Self, OracleError> {
        super::decode::decode(words, Some(entry))
    }

    /// The same program, with other results of the instructions for floats where SPIR-V leaves the result open, such as
    /// `inverseSqrt(0.0)`, or leaves open which NaN it is: what depends on them is no defined result.
    pub fn with_other_open_results(mut self) -> Self {
        self.other_open = true;
        self
    }

    /// Says which format the texels at a binding have, for images and texel buffers whose type does not say it. Nothing happens where
    /// the program has no image.
    pub fn set_format(&mut self, set: u32, binding: u32, format: TexelFormat) {
        for used in &mut self.bindings {
            if (used.set, used.binding) == (set, binding)
                && let Some(image) = &mut used.image
            {
                image.format = Some(format);
            }
        }
    }

    /// Says how the sampler at a binding, or the one in the binding of an image, filters.
    pub fn set_filter(&mut self, set: u32, binding: u32, filter: Filter) {
        let images = self.bindings.iter_mut().filter(|used| (used.set, used.binding) == (set, binding));
        for image in images.filter_map(|used| used.image.as_mut()) {
            image.filter = filter;
        }
        for sampler in self.samplers.iter_mut().filter(|used| (used.set, used.binding) == (set, binding)) {
            sampler.filter = filter;
        }
    }

    /// The images and texel buffers that the entry point uses.
    pub fn images(&self) -> impl Iterator<Item = ImageBinding> + '_ {
        self.bindings.iter().filter_map(|used| {
            let ImageUse { format, of_floats, .. } = used.image?;
            Some(ImageBinding { set: used.set, binding: used.binding, format, of_floats })
        })
    }

    /// Invocations in a work-group, per dimension.
    pub fn local_size(&self) -> [u32; 3] {
        self.local_size
    }

    /// The (set, binding) pairs that the entry point uses.
    pub fn bindings(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.bindings.iter().map(|binding| (binding.set, binding.binding))
    }
}

/// An image or texel buffer of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageBinding {
    /// Descriptor set.
    pub set: u32,
    /// Binding in the set.
    pub binding: u32,
    /// The format of its texels; `None` where neither the type nor [`Program::set_format`] says it.
    pub format: Option<TexelFormat>,
    /// Whether texels are read as floats.
    pub of_floats: bool,
}

/// What Private or Workgroup memory holds before the first instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Image {
    pub(super) lanes: Vec<u64>,
    /// Which of these lanes count as written.
    pub(super) written: Vec<bool>,
    /// First lane and id of each variable, ascending.
    pub(super) variables: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct BindingUse {
    pub(super) set: u32,
    pub(super) binding: u32,
    /// A uniform buffer or a sampled image, whose bytes must not change while the program runs.
    pub(super) uniform: bool,
    pub(super) image: Option<ImageUse>,
}

/// What is known of an image before it is bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageUse {
    pub(super) format: Option<TexelFormat>,
    pub(super) of_floats: bool,
    /// A texel buffer: its extent follows from the bytes that are bound.
    pub(super) is_buffer: bool,
    /// Of the sampler in the same binding.
    pub(super) filter: Filter,
}

/// A sampler in a binding of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct SamplerUse {
    pub(super) set: u32,
    pub(super) binding: u32,
    pub(super) filter: Filter,
}

/// One scalar of a value in byte memory, relative to the pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) offset: u32,
    pub(super) bytes: u32,
}

/// One dynamic index of an access chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub(super) register: u32,
    /// Width of the index, which counts as signed.
    pub(super) bits: u32,
    /// Bytes or lanes per step.
    pub(super) stride: u32,
    /// Declared length. `i64::MAX` for a runtime array, which leaves out negative indices, and `u64::MAX` for
    /// steps of a pointer, which may go back.
    pub(super) len: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) target: u32,
    pub(super) moves: u32,
    pub(super) count: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) to: u32,
    pub(super) from: u32,
    pub(super) lanes: u32,
}

/// Which memory a pointer leads to; known from its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Storage and uniform buffers: bytes of a binding.
    Buffer,
    /// Push constants: bytes.
    Push,
    /// Private, Function and Input variables: lanes per invocation.
    Private,
    /// Workgroup variables: lanes per group.
    Shared,
    /// Workgroup variables with an explicit layout: bytes per group, all variables from the first on.
    Block,
}

/// Which memory a barrier orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Covers {
    pub(super) buffer: bool,
    pub(super) shared: bool,
    pub(super) image: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtomicOp {
    Load,
    Store,
    Exchange,
    CompareExchange,
    /// The stored value is this function of the old one and the operand.
    Update(Binary),
}

/// One instruction. `dst`, `a`, `b`, `c`, … are first lanes in the register file, `n` a number of lanes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inst {
    Move {
        dst: u32,
        src: u32,
        n: u32,
    },
    /// Lanes from anywhere: composites, shuffles, transposes.
    Gather {
        dst: u32,
        first: u32,
        n: u32,
    },
    Unary {
        op: Unary,
        num: Num,
        dst: u32,
        a: u32,
        n: u32,
    },
    /// With `splat`, `b` is one lane for all.
    Binary {
        op: Binary,
        num: Num,
        splat: bool,
        dst: u32,
        a: u32,
        b: u32,
        n: u32,
    },
    Ternary {
        op: Ternary,
        num: Num,
        dst: u32,
        a: u32,
        b: u32,
        c: u32,
        n: u32,
    },
    Convert {
        from: Num,
        to: Num,
        dst: u32,
        a: u32,
        n: u32,
    },
    /// Two results of `n` lanes each.
    Wide {
        op: Wide,
        num: Num,
        dst: u32,
        a: u32,
        b: u32,
        n: u32,
    },
    /// The same bits as scalars of another width; `n` lanes result.
    Regroup {
        dst: u32,
        a: u32,
        from: u8,
        to: u8,
        n: u32,
    },
    BitFieldInsert {
        dst: u32,
        a: u32,
        insert: u32,
        offset: u32,
        count: u32,
    },
    Pack {
        op: Pack,
        dst: u32,
        a: u32,
    },
    Dot {
        num: Num,
        dst: u32,
        a: u32,
        a_step: u16,
        b: u32,
        b_step: u16,
        n: u32,
    },
    /// A dot product of integers, exact up to the width of the result.
    IntDot {
        how: IntDot,
        dst: u32,
        a: u32,
        b: u32,
        /// What is added, if it saturates.
        add: u32,
        n: u8,
    },
    /// With `splat`, `c` is one lane for all.
    Select {
        splat: bool,
        dst: u32,
        c: u32,
        a: u32,
        b: u32,
        n: u32,
    },
    Any {
        dst: u32,
        a: u32,
        n: u32,
    },
    All {
        dst: u32,
        a: u32,
        n: u32,
    },
    ExtractDynamic {
        dst: u32,
        a: u32,
        index: u32,
        n: u32,
    },
    InsertDynamic {
        dst: u32,
        a: u32,
        value: u32,
        index: u32,
        n: u32,
    },
    /// Pointer arithmetic.
    Chain {
        dst: u32,
        base: u32,
        offset: u32,
        first: u32,
        count: u32,
    },
    LoadBytes {
        push: bool,
        dst: u32,
        pointer: u32,
        first: u32,
        n: u32,
    },
    StoreBytes {
        src: u32,
        pointer: u32,
        first: u32,
        n: u32,
    },
    LoadLanes {
        shared: bool,
        dst: u32,
        pointer: u32,
        n: u32,
        /// Where the table of lanes says of each whether anything depends on it; `u32::MAX`: something does on all.
        asked: u32,
    },
    StoreLanes {
        shared: bool,
        src: u32,
        pointer: u32,
        n: u32,
        /// Where the table of lanes says of each whether it has another value than before; `u32::MAX`: all may.
        changed: u32,
    },
    /// From Workgroup memory with an explicit layout.
    LoadBlock {
        dst: u32,
        pointer: u32,
        first: u32,
        n: u32,
    },
    StoreBlock {
        src: u32,
        pointer: u32,
        first: u32,
        n: u32,
    },
    Atomic {
        op: AtomicOp,
        num: Num,
        class: Class,
        dst: u32,
        pointer: u32,
        value: u32,
        comparator: u32,
    },
    ArrayLength {
        dst: u32,
        pointer: u32,
        offset: u32,
        stride: u32,
    },
    /// The first `n` channels of a texel. Of a fetch, `lod` has to be 0, and `offset` is added to the coordinates.
    ReadTexel {
        dst: u32,
        image: u32,
        at: u32,
        sizes: u32,
        lod: u32,
        offset: u32,
        n: u32,
    },
    /// `n` channels are given.
    WriteTexel {
        src: u32,
        image: u32,
        at: u32,
        sizes: u32,
        n: u32,
    },
    /// The first `n` channels of what a sampler finds. There are `sizes` coordinates, the one behind `dims` of them is a layer.
    Sample {
        dst: u32,
        image: u32,
        at: u32,
        sizes: u32,
        dims: u32,
        offset: u32,
        n: u32,
    },
    TexelPointer {
        dst: u32,
        image: u32,
        at: u32,
        sizes: u32,
    },
    ImageSize {
        dst: u32,
        image: u32,
        n: u32,
    },
    /// Offset difference in steps.
    PointerDifference {
        dst: u32,
        a: u32,
        b: u32,
        step: u32,
        bits: u32,
    },
    /// A Function variable comes to life.
    Reset {
        lane: u32,
        n: u32,
    },
    Jump {
        edge: u32,
    },
    Branch {
        cond: u32,
        yes: u32,
        no: u32,
    },
    Switch {
        selector: u32,
        first: u32,
        count: u32,
        default: u32,
    },
    /// Puts the address of the next instruction into `link` and jumps.
    Call {
        target: u32,
        link: u32,
    },
    Return {
        link: u32,
    },
    End,
    Unreachable,
    Barrier {
        subgroup: bool,
        covers: Covers,
    },
    Fence {
        covers: Covers,
    },
    /// A sub-group instruction, by its place in `groups`.
    Subgroup {
        index: u32,
    },
}

/// A sub-group instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupInst {
    pub(super) op: GroupOp,
    pub(super) num: Num,
    pub(super) dst: u32,
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) n: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupOp {
    Elect,
    All,
    Any,
    AllEqual,
    Broadcast,
    BroadcastFirst,
    Ballot,
    InverseBallot,
    BallotBitExtract,
    BallotBitCount(Scan),
    BallotFindLsb,
    BallotFindMsb,
    Shuffle,
    ShuffleXor,
    ShuffleUp,
    ShuffleDown,
    QuadBroadcast,
    QuadSwap,
    Arithmetic(Binary, Scan),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    Reduce,
    Inclusive,
    Exclusive,
    /// Reduction over aligned clusters of this many invocations.
    Clustered(u32),
}
