//! What is wrong with a submission.

use std::fmt;

use thiserror::Error;

use super::{Unreadable, buffer::outside};
use crate::jit::{ElementType, Reason, SetBinding};

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
    #[error("{at}{name} has no argument; pass one with `arg`{unused}")]
    MissingBinding {
        /// The binding.
        at: SetBinding,
        /// Its name in the module.
        name: BindingName,
        /// What got an argument and is no binding of the kernel, and what it takes instead; empty where there is none.
        unused: Box<str>,
    },
    /// Another number of arguments than an array of descriptors has elements.
    #[error("{at}{name} {}", counted(*.len, *.given))]
    ArrayLength {
        /// The binding.
        at: SetBinding,
        /// Its name in the module.
        name: BindingName,
        /// How many elements it has; 1 for a binding that is no array.
        len: u32,
        /// How many arguments were passed.
        given: usize,
    },
    /// The kernel chooses an element of an array of descriptors by a number that is no constant, and the device cannot do that.
    #[error("{at}{name} is an array that is indexed dynamically, and device `{device}` lacks `{feature}`")]
    DynamicIndexing {
        /// The binding.
        at: SetBinding,
        /// Its name in the module.
        name: BindingName,
        /// The feature that the device would need.
        feature: &'static str,
        /// The device's name.
        device: String,
    },
    /// The kernel was asked to have sub-groups of another size than the device's default, with which all kernels run.
    #[error(
        "it is to have sub-groups of {size}, and device `{device}` runs kernels with sub-groups of {default}"
    )]
    SubgroupSize {
        /// The size asked for.
        size: u32,
        /// The device's default.
        default: u32,
        /// The device's name.
        device: String,
    },
    /// Two arguments for one binding.
    #[error("{at} got two arguments; pass one for each binding, or those of an array with `args`")]
    RepeatedBinding {
        /// The binding.
        at: SetBinding,
    },
    /// An image where the kernel has a buffer, another image than it declares, and the like.
    #[error("{at}{name} takes no `{resource}`: {problem}")]
    WrongResource {
        /// The binding.
        at: SetBinding,
        /// Its name in the module.
        name: BindingName,
        /// The name of what was passed.
        resource: Box<str>,
        /// What does not agree, and which bindings take such a thing, or what the kernel takes.
        problem: Box<str>,
    },
    /// The kernel wants something that cannot be passed.
    #[error("{at}{name} is a {kind}, and only buffers, images and samplers can be passed")]
    NotABuffer {
        /// The binding.
        at: SetBinding,
        /// Its name in the module.
        name: BindingName,
        /// What the kernel wants.
        kind: &'static str,
    },
    /// The accessor reaches outside its buffer.
    #[error("{at}: {} buffer `{buffer}` of {len} elements", outside(*.offset, *.count))]
    OutOfRange {
        /// The binding.
        at: SetBinding,
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
    #[error("{at}: the accessor on buffer `{buffer}` has no elements")]
    EmptyRange {
        /// The binding.
        at: SetBinding,
        /// The buffer's name.
        buffer: String,
    },
    /// The accessor is shorter than the fixed part of the block the kernel declares.
    #[error("{at}{name} needs at least {needed} bytes, and the accessor on buffer `{buffer}` has {given}")]
    TooSmall {
        /// The binding.
        at: SetBinding,
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
        "{at}: {given} bytes of buffer `{buffer}` are over the device's `{limit_name}` of {limit}; use accessors on parts of it"
    )]
    TooLarge {
        /// The binding.
        at: SetBinding,
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
    #[error("{at}: byte offset {offset} in buffer `{buffer}` is not a multiple of {align} (`{limit_name}`)")]
    Misaligned {
        /// The binding.
        at: SetBinding,
        /// The buffer's name.
        buffer: String,
        /// The byte offset.
        offset: u64,
        /// What it must be a multiple of.
        align: u64,
        /// The limit's name in Vulkan.
        limit_name: &'static str,
    },
    /// The kernel writes where the accessor only allows to read.
    #[error(
        "{at}{name} is written by the kernel{}, and the accessor on buffer `{buffer}` is `read`; use `{}`",
        if *.reads { ", which reads it, too" } else { "" },
        if *.reads { "read_write" } else { "write" }
    )]
    WriteThroughRead {
        /// The binding.
        at: SetBinding,
        /// Its name in the module.
        name: BindingName,
        /// The buffer's name.
        buffer: String,
        /// Whether the kernel reads it as well.
        reads: bool,
    },
    /// An invocation certainly reads or writes beyond the range that is passed. With robust access (`ContextOptions::robust_buffer_access`)
    /// that is defined, and no error.
    #[error(
        "{at}{name}: {access} of the {len} that are passed of buffer `{buffer}`; {}",
        if access.bytes.0 < 0 {
            "the index goes below zero there: guard it"
        } else {
            "pass a longer part, run fewer invocations, or push the length that there is"
        }
    )]
    Overrun {
        /// The binding.
        at: SetBinding,
        /// Its name in the module.
        name: BindingName,
        /// The buffer's name.
        buffer: Box<str>,
        /// Bytes of the range.
        len: u64,
        /// An access that does it.
        access: Box<OverrunAccess>,
    },
    /// The kernel's elements are others than the buffer's: floats and integers, or of another size.
    #[error(
        "{at}{name} has elements of {declared}, and buffer `{buffer}` has {given}; convert the data or, where its bytes are meant, say so with `cast`"
    )]
    ElementType {
        /// The binding.
        at: SetBinding,
        /// Its name in the module.
        name: BindingName,
        /// The kernel's elements, in words.
        declared: Box<str>,
        /// The buffer's name.
        buffer: Box<str>,
        /// The buffer's elements.
        given: ElementType,
    },
    /// Accessor and buffer ask for different promotions.
    #[error(
        "{at}: the accessor asks for {accessor} promotion and buffer `{buffer}` for {property}; drop one of them"
    )]
    PromotionConflict {
        /// The binding.
        at: SetBinding,
        /// The buffer's name.
        buffer: String,
        /// What the accessor asks for.
        accessor: &'static str,
        /// What the buffer asks for.
        property: &'static str,
    },
    /// A read of what a fused run left in registers, or of what a failed run did not write.
    #[error("{at} reads buffer `{buffer}`, {state}")]
    Unreadable {
        /// The binding.
        at: SetBinding,
        /// The buffer's name.
        buffer: String,
        /// Why there is nothing to read.
        state: Unreadable,
    },
    /// Fewer bytes of push constants than the kernel declares, or more.
    #[error(
        "{given} bytes of push constants were given{pushed}, and the kernel {}",
        taken(*.given, *.needed)
    )]
    PushSize {
        /// Bytes given.
        given: usize,
        /// Of too many, what was pushed at which byte, as far as that is known.
        pushed: Box<str>,
        /// Bytes needed.
        needed: u32,
    },
    /// A scalar was pushed where the kernel's block has one of another kind or size.
    #[error(
        "byte {offset} of the push constants is {declared} in the kernel's block, and {pushed} was pushed; convert the value or, where its bytes are meant, use `push_bytes`"
    )]
    PushType {
        /// Its first byte.
        offset: u32,
        /// What the block has, in words.
        declared: &'static str,
        /// What was pushed, in words.
        pushed: &'static str,
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
    /// A kernel written in Rust has no module.
    #[error(transparent)]
    NotLowered(vkfuse_kernel::LowerError),
    /// A capture of host memory, where a kernel is submitted to a device.
    #[error("`{capture}` is host memory; capture a buffer's accessor, or run the kernel on the host")]
    HostMemory {
        /// The accessor's path in the function object.
        capture: String,
    },
    /// A capture of an accessor with elements of another type.
    #[error(
        "`{capture}` has elements of {declared}, and the accessor's are {given}; convert the data or, where its bytes are meant, say so with `cast`"
    )]
    CaptureType {
        /// The accessor's path in the function object.
        capture: String,
        /// The kernel's element.
        declared: Box<str>,
        /// The accessor's element.
        given: ElementType,
    },
    /// A capture of an accessor with elements of another size.
    #[error("`{capture}` has elements of {needed} bytes, and the accessor's have {given}")]
    ElementSize {
        /// The accessor's path in the function object.
        capture: String,
        /// Bytes of the kernel's element.
        needed: u64,
        /// Bytes of the accessor's element.
        given: u64,
    },
    /// A ranged accessor that leaves its accessor.
    #[error("`{capture}`: elements {offset}..{end} are outside of the accessor's {elements}", end = offset + len)]
    CaptureRange {
        /// The accessor's path in the function object.
        capture: String,
        /// First element.
        offset: u64,
        /// Number of elements.
        len: u64,
        /// Number of elements there are.
        elements: u64,
    },
    /// A lowered module is not what its signature says: a defect of the lowering.
    #[error("the lowered module differs from its signature: {detail}")]
    Signature {
        /// In what.
        detail: String,
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
    /// More work-groups than the device dispatches, of a kernel that cannot be run with fewer.
    #[error(
        "{count} work-groups in {} are over the device's `maxComputeWorkGroupCount` of {limit}{}",
        axis(*dim),
        unfolded(why)
    )]
    GroupCount {
        /// Dimension: 0 = x.
        dim: usize,
        /// How many are asked for.
        count: u32,
        /// The limit.
        limit: u32,
        /// Why they cannot be done by fewer.
        why: Reason,
    },
    /// More work-groups in all dimensions together than the driver counts: it would run a part of them.
    #[error(
        "{total} work-groups in all; this driver counts up to {limit} of one dispatch, and runs a part of more"
    )]
    GroupTotal {
        /// How many are asked for.
        total: u64,
        /// How many it counts.
        limit: u64,
    },
    /// The kernel's shared memory is larger than the device's.
    #[error("{needed} bytes of shared memory are over the device's `maxComputeSharedMemorySize` of {limit}")]
    SharedMemory {
        /// Bytes needed.
        needed: u32,
        /// Bytes allowed.
        limit: u32,
    },
    /// The kernel declares something that the device cannot do, or that it was not made with.
    #[error("the kernel needs {what}, which {device} {}", lack(*.enable, *.needs))]
    Requirement {
        /// What: `the SPIR-V capability CooperativeMatrixKHR`, say, or an execution mode or extension.
        what: Box<str>,
        /// The feature or extension of Vulkan that the device has and was not made with; nothing where the device does not have it.
        enable: Option<&'static str>,
        /// The feature or extension of Vulkan that it takes, if there is one for it.
        needs: Option<&'static str>,
        /// The device's name.
        device: Box<str>,
    },
    /// The kernel changes what the device does not change atomically, or not there.
    #[error("the kernel changes {ty} in {memory} atomically, which {device} does not")]
    Atomics {
        /// The type, as `f32`.
        ty: String,
        /// A buffer or work-group memory.
        memory: &'static str,
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
    #[error("{what} belongs to another context; use one that was made with the context of this queue")]
    Foreign {
        /// Which object, such as "the kernel" or "buffer `x`, passed for binding 2,".
        what: String,
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

fn axis(dim: usize) -> &'static str {
    ["x", "y", "z"][dim.min(2)]
}

/// Why a dispatch cannot be done with fewer work-groups, as the end of a sentence.
fn unfolded(why: &Reason) -> String {
    match why {
        Reason::GroupCount { .. } => {
            String::from(", and all dimensions together are too many to be done by fewer")
        }
        why => format!(", and it cannot be done by fewer: {why}"),
    }
}

/// What a kernel takes of push constants, in words.
fn counted(len: u32, given: usize) -> String {
    match len {
        1 => format!("is no array of bindings, and got {given} arguments; pass one with `arg`"),
        _ => format!(
            "has {len} elements, and got {given}; pass each one with `args`, or with `arg` and `SetBinding::element`"
        ),
    }
}

fn taken(given: usize, needed: u32) -> String {
    match needed {
        0 => "takes none: it has no push-constant block".to_owned(),
        _ if given > needed as usize => {
            format!("takes {needed}; `push_bytes` accepts more bytes and ignores the rest")
        }
        _ => format!("takes {needed}"),
    }
}

/// What a device has not, in words.
fn lack(enable: Option<&'static str>, needs: Option<&'static str>) -> String {
    match (enable, needs) {
        (Some(what), _) => format!("has but was not made with; enable {what}"),
        (None, Some(needs)) => format!("lacks: it takes {needs}"),
        (None, None) => "lacks".to_owned(),
    }
}

/// An access beyond the range that is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverrunAccess {
    /// The global id of an invocation that does it.
    pub invocation: [u32; 3],
    /// Whether it writes.
    pub writes: bool,
    /// The first byte and the one behind the last, counted from the start of the range.
    pub bytes: (i64, i64),
}

impl fmt::Display for OverrunAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invocation, writes, bytes: (first, end) } = self;
        let verb = if *writes { "writes" } else { "reads" };
        write!(f, "invocation {invocation:?} {verb} bytes {first}..{end}")
    }
}
