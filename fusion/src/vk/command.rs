//! What a submission is made of.
//!
//! Commands are plain values: they can be built without a device, compared in tests, and are checked before any of
//! them is recorded. Barriers are commands like any other. Nothing here inserts one by itself; who orders commands is
//! the dependency graph above.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Memory, Pipeline};
use crate::jit::SetBinding;

/// How a shader sees a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum BindingKind {
    /// Storage buffer.
    Storage,
    /// Uniform buffer.
    Uniform,
}

/// A range of memory bound for one dispatch.
#[derive(Debug, Clone)]
pub(crate) struct BoundMemory {
    pub(crate) at: SetBinding,
    pub(crate) memory: Arc<Memory>,
    /// Bytes from the start of the memory object.
    pub(crate) offset: u64,
    /// Bytes; never 0.
    pub(crate) len: u64,
}

/// One dispatch.
#[derive(Debug, Clone)]
pub(crate) struct Dispatch {
    pub(crate) pipeline: Arc<Pipeline>,
    /// Exactly the bindings that the pipeline declares, in any order.
    pub(crate) bindings: SmallVec<[BoundMemory; 8]>,
    /// Exactly as many bytes as the pipeline declares.
    pub(crate) push: SmallVec<[u8; 64]>,
    /// Work-group counts, none 0.
    pub(crate) groups: [u32; 3],
    /// Memory that the kernel reaches by address rather than through a binding; kept alive, otherwise ignored.
    pub(crate) keeps: SmallVec<[Arc<Memory>; 2]>,
}

/// A memory and execution barrier: everything before of the first kind, everything after of the second.
///
/// "Compute" takes in all reads and writes of dispatches (storage and uniform), "transfer" those of copies, fills and
/// updates. Global memory barriers, not per buffer: drivers for desktop devices treat them alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Barrier {
    ComputeToCompute,
    ComputeToTransfer,
    TransferToCompute,
    TransferToTransfer,
    /// Everything before, everything after.
    Full,
}

/// One command of a submission.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "lists are short, and a box per dispatch is an allocation per dispatch"
)]
pub(crate) enum Command {
    Dispatch(Dispatch),
    /// Copies bytes; the ranges do not overlap.
    Copy {
        src: Arc<Memory>,
        src_offset: u64,
        dst: Arc<Memory>,
        dst_offset: u64,
        len: u64,
    },
    /// Repeats a word; offset and length are multiples of 4.
    Fill {
        dst: Arc<Memory>,
        offset: u64,
        len: u64,
        word: u32,
    },
    /// Writes bytes carried in the command: at most 65,536, offset and length multiples of 4.
    Update {
        dst: Arc<Memory>,
        offset: u64,
        bytes: Arc<[u8]>,
    },
    Barrier(Barrier),
}
