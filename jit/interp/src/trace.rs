//! A log of accesses to buffers: invocation, kind and bytes.

use super::finding::AccessKind;
use super::memory::ObjectId;

/// One scalar of a buffer, accessed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Index of the dispatch in the run.
    pub dispatch: u32,
    /// Linear number of the invocation: work-groups in linear order, in each the invocations in linear order.
    pub invocation: u32,
    /// The memory object.
    pub object: ObjectId,
    /// First byte in the object.
    pub offset: u64,
    /// Bytes of the scalar.
    pub bytes: u32,
    /// Read, write or atomic.
    pub kind: AccessKind,
    /// Descriptor set of the variable.
    pub set: u32,
    /// Binding of the variable.
    pub binding: u32,
}

/// All accesses of a run to buffers that were inside their binding, in the order in which the run made them.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The accesses.
    pub touches: Vec<Touched>,
}
