//! Every error of this crate.
//!
//! One enum for the crate, with one enum per subject inside it. A message says where (kernel, binding, buffer) and what
//! would fix it. That something could not be *fused* is no error: it is an [`Outcome`](crate::Outcome) with a reason.

use std::{fmt, io, path::PathBuf, sync::Arc};

use thiserror::Error;

use crate::jit::{JitError, KernelError, PlanError, Reason, SpecValue};
pub use crate::vk::DeviceError;

/// Any error of this crate.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// The device, its loader or its driver.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A module or kernel that cannot be used.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A kernel file that cannot be read.
    #[error("cannot read the kernel file {path}", path = path.display())]
    KernelFile {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Arc<io::Error>,
    },
    /// A submission that does not fit its kernel or the device. Nothing of it was recorded or run.
    #[error("kernel `{kernel}`: {problem}")]
    Submit {
        /// The kernel's name, as it was loaded under.
        kernel: String,
        /// What is wrong.
        #[source]
        problem: SubmitError,
    },
    /// A call that the queue's fusion mode does not allow, or a demand of fusion that cannot be met.
    #[error(transparent)]
    Fusion(#[from] FusionError),
    /// A use of a buffer that is not possible.
    #[error("buffer `{buffer}`: {problem}")]
    Buffer {
        /// The buffer's name.
        buffer: String,
        /// What is wrong.
        #[source]
        problem: BufferError,
    },
    /// Code could not be made for a kernel or a fused group.
    #[error("no code for `{kernel}`")]
    Build {
        /// The kernel, or the members of the group.
        kernel: String,
        /// Why.
        #[source]
        source: BuildError,
    },
    /// The work that was waited for or depended on failed earlier.
    #[error("the work waited for had failed")]
    Earlier(#[source] Arc<Error>),
    /// An error of the caller's own, carried out of a submit closure, a fusion scope or a host task.
    #[error("{0}")]
    Custom(Arc<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Wraps an error of the caller's own, to leave a closure of this crate with it.
    pub fn custom(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Custom(Arc::from(error.into()))
    }

    /// Whether the device is lost: then this context does nothing more, and a new one is needed.
    #[must_use]
    pub fn is_device_lost(&self) -> bool {
        match self {
            Error::Device(error) => *error == DeviceError::Lost,
            Error::Earlier(error) => error.is_device_lost(),
            Error::Build { source: BuildError::Driver(error), .. } => *error == DeviceError::Lost,
            _ => false,
        }
    }

    pub(crate) fn submit(kernel: &str, problem: SubmitError) -> Error {
        Error::Submit { kernel: kernel.to_owned(), problem }
    }

    pub(crate) fn buffer(buffer: &str, problem: BufferError) -> Error {
        Error::Buffer { buffer: buffer.to_owned(), problem }
    }
}

/// Where a kernel expects an argument: descriptor set and binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot {
    /// The descriptor set.
    pub set: u32,
    /// The binding in the set.
    pub binding: u32,
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.set == 0 {
            write!(f, "binding {}", self.binding)
        } else {
            write!(f, "binding {} of set {}", self.binding, self.set)
        }
    }
}

impl From<u32> for Slot {
    fn from(binding: u32) -> Slot {
        Slot { set: 0, binding }
    }
}

impl From<(u32, u32)> for Slot {
    fn from((set, binding): (u32, u32)) -> Slot {
        Slot { set, binding }
    }
}

/// What is wrong with a submission.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The closure ended without a dispatch.
    #[error("the submission dispatches nothing; call `dispatch` or `dispatch_items` once")]
    NoDispatch,
    /// The closure dispatched more than one kernel.
    #[error("the submission already dispatches `{first}`; use one submission for each kernel")]
    SecondDispatch {
        /// The kernel of the first dispatch.
        first: String,
    },
    /// The kernel uses a binding that got no argument.
    #[error("{slot}{name} has no argument; pass one with `arg`")]
    MissingBinding {
        /// The binding.
        slot: Slot,
        /// Its name in the module.
        name: BindingName,
    },
    /// An argument for a binding that the kernel does not use.
    #[error("{slot} is not used by the kernel, which uses {known}")]
    UnknownBinding {
        /// The binding.
        slot: Slot,
        /// The bindings that it does use.
        known: String,
    },
    /// Two arguments for one binding.
    #[error("{slot} got two arguments")]
    RepeatedBinding {
        /// The binding.
        slot: Slot,
    },
    /// The kernel wants something else than a buffer.
    #[error("{slot}{name} is a {kind}, and only buffers can be passed")]
    NotABuffer {
        /// The binding.
        slot: Slot,
        /// Its name in the module.
        name: BindingName,
        /// What the kernel wants.
        kind: &'static str,
    },
    /// The accessor reaches outside its buffer.
    #[error("{slot}: elements {offset}..{end} are outside buffer `{buffer}` of {len} elements", end = offset.saturating_add(*count))]
    OutOfRange {
        /// The binding.
        slot: Slot,
        /// The buffer's name.
        buffer: String,
        /// First element asked for.
        offset: u64,
        /// Number of elements asked for.
        count: u64,
        /// Number of elements there are.
        len: u64,
    },
    /// An accessor of no elements.
    #[error("{slot}: the accessor on buffer `{buffer}` has no elements")]
    EmptyRange {
        /// The binding.
        slot: Slot,
        /// The buffer's name.
        buffer: String,
    },
    /// The accessor is shorter than the fixed part of the block the kernel declares.
    #[error("{slot}{name} needs at least {needed} bytes, and the accessor on buffer `{buffer}` has {given}")]
    TooSmall {
        /// The binding.
        slot: Slot,
        /// Its name in the module.
        name: BindingName,
        /// The buffer's name.
        buffer: String,
        /// Bytes the kernel's block needs.
        needed: u64,
        /// Bytes given.
        given: u64,
    },
    /// The accessor is longer than the device can bind.
    #[error(
        "{slot}: {given} bytes of buffer `{buffer}` are over the device's `{limit_name}` of {limit}; use accessors on parts of it"
    )]
    TooLarge {
        /// The binding.
        slot: Slot,
        /// The buffer's name.
        buffer: String,
        /// Bytes given.
        given: u64,
        /// Bytes allowed.
        limit: u64,
        /// The limit's name in Vulkan.
        limit_name: &'static str,
    },
    /// The accessor starts where the device cannot bind.
    #[error(
        "{slot}: byte offset {offset} in buffer `{buffer}` is not a multiple of {align} (`{limit_name}`)"
    )]
    Misaligned {
        /// The binding.
        slot: Slot,
        /// The buffer's name.
        buffer: String,
        /// The byte offset.
        offset: u64,
        /// What it must be a multiple of.
        align: u64,
        /// The limit's name in Vulkan.
        limit_name: &'static str,
    },
    /// Two accessors share some bytes but not all, and the kernel writes through one.
    #[error("{a} and {b} overlap in buffer `{buffer}` without being equal, and the kernel writes there")]
    Overlap {
        /// One binding.
        a: Slot,
        /// The other.
        b: Slot,
        /// The buffer's name.
        buffer: String,
    },
    /// The kernel writes where the accessor only allows to read.
    #[error(
        "{slot}{name} is written by the kernel, and the accessor on buffer `{buffer}` is `read`; use `write` or `read_write`"
    )]
    WriteThroughRead {
        /// The binding.
        slot: Slot,
        /// Its name in the module.
        name: BindingName,
        /// The buffer's name.
        buffer: String,
    },
    /// Accessor and buffer ask for different promotions.
    #[error(
        "{slot}: the accessor asks for {accessor} promotion and buffer `{buffer}` for {property}; drop one of them"
    )]
    PromotionConflict {
        /// The binding.
        slot: Slot,
        /// The buffer's name.
        buffer: String,
        /// What the accessor asks for.
        accessor: &'static str,
        /// What the buffer asks for.
        property: &'static str,
    },
    /// A read of what a fused run left in registers, or of what a failed run did not write.
    #[error("{slot} reads buffer `{buffer}`, {state}")]
    Unreadable {
        /// The binding.
        slot: Slot,
        /// The buffer's name.
        buffer: String,
        /// Why there is nothing to read.
        state: Unreadable,
    },
    /// Not as many bytes of push constants as the kernel declares.
    #[error("{given} bytes of push constants were given, and the kernel takes {needed}")]
    PushSize {
        /// Bytes given.
        given: usize,
        /// Bytes needed.
        needed: u32,
    },
    /// A kernel whose push constants are over the device's limit.
    #[error(
        "the kernel takes {needed} bytes of push constants, over the device's `maxPushConstantsSize` of {limit}"
    )]
    PushLimit {
        /// Bytes needed.
        needed: u32,
        /// Bytes allowed.
        limit: u32,
    },
    /// A dispatch of no work-groups.
    #[error("the dispatch of {groups:?} work-groups has a zero")]
    ZeroGroups {
        /// The group counts.
        groups: [u32; 3],
    },
    /// The kernel's work-group is larger than the device's limits.
    #[error(
        "work-groups of {size:?} are over the device's limits: {limit:?} by dimension, {invocations} together"
    )]
    WorkGroupSize {
        /// The kernel's work-group.
        size: [u32; 3],
        /// `maxComputeWorkGroupSize`.
        limit: [u32; 3],
        /// `maxComputeWorkGroupInvocations`.
        invocations: u32,
    },
    /// The kernel's shared memory is larger than the device's.
    #[error("{needed} bytes of shared memory are over the device's `maxComputeSharedMemorySize` of {limit}")]
    SharedMemory {
        /// Bytes needed.
        needed: u32,
        /// Bytes allowed.
        limit: u32,
    },
    /// The kernel uses something that the device cannot do or that was not switched on.
    #[error("the kernel needs the SPIR-V capability {capability}, which {device} lacks")]
    Capability {
        /// The capability's name.
        capability: String,
        /// The device's name.
        device: String,
    },
    /// The kernel's SPIR-V is newer than the device takes.
    #[error("the kernel is SPIR-V {}.{}, and {device} takes up to {}.{}", version.0, version.1, limit.0, limit.1)]
    Version {
        /// The module's version.
        version: (u8, u8),
        /// The newest that works.
        limit: (u8, u8),
        /// The device's name.
        device: String,
    },
    /// A buffer, kernel or event of another context.
    #[error("the {what} belongs to another context")]
    Foreign {
        /// Which object.
        what: &'static str,
    },
    /// The specialization constant's value cannot be used.
    #[error("specialization constant {id} got {value:?} twice or in conflict")]
    Specialization {
        /// The constant's `SpecId`.
        id: u32,
        /// The value.
        value: SpecValue,
    },
}

/// A binding's name in the module, where it has one; prints as nothing where it has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BindingName(pub Option<String>);

impl fmt::Display for BindingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(name) => write!(f, " (`{name}`)"),
            None => Ok(()),
        }
    }
}

/// Why a buffer's memory does not hold what was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// A fused kernel kept the contents in registers or shared memory, as asked.
    Internalized,
    /// The work that should have written it failed.
    Failed,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unreadable::Internalized => {
                "whose contents a fused kernel kept to itself (it was promoted, so nothing was written to memory); write to it first, or do not promote it"
            }
            Unreadable::Failed => "which holds nothing valid, because the work that writes it failed; write to it first",
        })
    }
}

/// What is wrong with a use of a buffer by the host or by a command.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BufferError {
    /// A read of what is not there.
    #[error("this is a buffer {0}")]
    Unreadable(Unreadable),
    /// A range outside the buffer.
    #[error("elements {offset}..{end} are outside its {len} elements", end = offset.saturating_add(*count))]
    OutOfRange {
        /// First element asked for.
        offset: u64,
        /// Number of elements asked for.
        count: u64,
        /// Number of elements there are.
        len: u64,
    },
    /// As many elements are needed as the buffer or accessor has.
    #[error("{given} elements were given for {len}")]
    Length {
        /// Elements given.
        given: u64,
        /// Elements there are.
        len: u64,
    },
    /// A copy between ranges of different size.
    #[error("a copy of {src} bytes into {dst}")]
    CopyLength {
        /// Bytes at the source.
        src: u64,
        /// Bytes at the destination.
        dst: u64,
    },
    /// A copy within overlapping ranges.
    #[error("source and destination of the copy overlap")]
    CopyOverlap,
    /// A command whose byte range is not a multiple of what the device copies or fills by.
    #[error("{what} of bytes {offset}..{end}: both ends must be multiples of 4", end = offset + len)]
    Misaligned {
        /// Which command.
        what: &'static str,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
    },
    /// A command on a buffer that the host is reading or writing at this moment, from the same thread.
    #[error("it is in use by the host access or host task that this call was made from")]
    HostAccess,
    /// A buffer that a host task did not list.
    #[error("the host task did not list it; pass an accessor on it")]
    NotListed,
    /// A write to a buffer that a host task only listed to read.
    #[error("the host task listed it to read; pass a `write` or `read_write` accessor")]
    NotWritable,
    /// A buffer of another context.
    #[error("it belongs to another context")]
    Foreign,
    /// More bytes than can be addressed.
    #[error("its size is out of all proportion")]
    TooLarge,
}

/// A use of fusion mode that is not possible.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FusionError {
    /// The queue was made without the property.
    #[error("the queue cannot enter fusion mode; make it with `QueueOptions::new().enable_fusion(true)`")]
    NotEnabled,
    /// The device cannot fuse.
    #[error("{device} cannot fuse: it lacks {missing}")]
    Unsupported {
        /// The device's name.
        device: String,
        /// What it lacks.
        missing: String,
    },
    /// `start_fusion` on a queue that is in fusion mode.
    #[error("the queue is in fusion mode already; complete or cancel it first")]
    AlreadyFusing,
    /// `complete_fusion` on a queue that was never in fusion mode.
    #[error("the queue is not in fusion mode; call `start_fusion` first")]
    NotFusing,
    /// `force_fusion` was asked for, and the list did not become one kernel. It ran unfused.
    #[error("fusion was forced, but the list cannot become one kernel (it ran unfused): {reason}")]
    Forced {
        /// Why not.
        #[source]
        reason: Reason,
    },
}

/// Why there is no code for a step.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The step could not be planned.
    #[error(transparent)]
    Plan(PlanError),
    /// The JIT failed.
    #[error(transparent)]
    Jit(JitError),
    /// The driver did not take the code.
    #[error(transparent)]
    Driver(DeviceError),
    /// Something panicked; the message says what.
    #[error("internal error: {0}")]
    Panic(String),
}
