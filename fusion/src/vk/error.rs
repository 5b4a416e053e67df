//! What can go wrong between this crate and the Vulkan device.
//!
//! One enum, re-exported as part of the public error type. Each variant carries the figures that explain it, and its
//! message says what would fix it where something would. Nothing here is ever a panic: limits and ranges are checked
//! before the driver sees them, because drivers are free to crash on what Vulkan calls invalid usage.

use thiserror::Error;

use crate::jit::SetBinding;

/// An error of the Vulkan device, its loader or its driver, or a request over the device's limits.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The Vulkan loader library could not be opened.
    #[error(
        "no Vulkan loader on this machine ({reason}); install a Vulkan driver, for example Debian's mesa-vulkan-drivers and libvulkan1"
    )]
    NoLoader {
        /// What the loader said.
        reason: String,
    },
    /// The loader works, but reports no device at all.
    #[error(
        "the Vulkan loader reports no device; install a Vulkan driver, for example Debian's mesa-vulkan-drivers"
    )]
    NoDevice,
    /// No device is what the selector asks for.
    #[error("no Vulkan device matches {wanted}; there are: {available}")]
    NoSuchDevice {
        /// The selector, in words.
        wanted: String,
        /// The devices that exist, with their numbers.
        available: String,
    },
    /// The device implements too old a Vulkan version.
    #[error("{device} implements Vulkan {found}, and {needed} is needed")]
    OldVersion {
        /// The device's name.
        device: String,
        /// Its version.
        found: String,
        /// The least version that works.
        needed: &'static str,
    },
    /// A feature without which nothing works is missing or was not enabled.
    #[error("the device feature `{feature}` is needed and not enabled on {device}")]
    MissingFeature {
        /// The device's name.
        device: String,
        /// The name of the feature in vulkano's `DeviceFeatures`.
        feature: &'static str,
    },
    /// No queue family of the device can run compute work, or none of the given queues can.
    #[error("{device} has no queue that can run compute work")]
    NoComputeQueue {
        /// The device's name.
        device: String,
    },
    /// Something was to run, or to have memory, on a device that was opened to compile only.
    #[error("{device} was opened to compile only ({why}): nothing runs there, and buffers have no memory")]
    CompileOnly {
        /// The device's name.
        device: String,
        /// Who wanted that.
        why: &'static str,
    },
    /// An image or a sampler that cannot be made, or not be taken.
    #[error("an image or a sampler cannot be made: {reason}")]
    Image {
        /// Why.
        reason: String,
    },
    /// A buffer that cannot be seen through a format.
    #[error("a buffer cannot be seen as texels: {reason}")]
    Texels {
        /// Why.
        reason: String,
    },
    /// A queue that belongs to another device was handed in.
    #[error("queue {index} of the given list belongs to another device")]
    ForeignQueue {
        /// Position in the list.
        index: usize,
    },
    /// A handle of the user's is null.
    #[error("the {what} given is a null handle")]
    NullHandle {
        /// Which.
        what: &'static str,
    },
    /// A queue of the user's that cannot be used.
    #[error("queue {index} of family {family} {problem}")]
    Queue {
        /// Its family.
        family: u32,
        /// Its number in the family.
        index: u32,
        /// Why.
        problem: &'static str,
    },
    /// A queue, memory object or pipeline of another context was used.
    #[error("the {what} belongs to another context")]
    Foreign {
        /// Which object.
        what: &'static str,
    },
    /// An imported buffer was made without a usage that is needed.
    #[error(
        "the imported buffer was made without the usage {usage}; make it with STORAGE_BUFFER, TRANSFER_SRC and TRANSFER_DST"
    )]
    MissingUsage {
        /// The usage.
        usage: &'static str,
    },
    /// Something is larger than the device allows.
    #[error("{what} of {asked} is over the device's limit of {limit} (`{name}`)")]
    OverLimit {
        /// What was asked for, in words.
        what: &'static str,
        /// How much was asked for.
        asked: u64,
        /// How much is allowed.
        limit: u64,
        /// The limit's name in Vulkan.
        name: &'static str,
    },
    /// A buffer larger than the device allows.
    #[error(
        "a buffer of {size} bytes ({elements} elements of {element}) is over the device's limit of {limit} bytes (`maxBufferSize` or `maxMemoryAllocationSize`)"
    )]
    BufferSize {
        /// Bytes asked for.
        size: u64,
        /// Elements asked for.
        elements: u64,
        /// Bytes of an element.
        element: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// An allocation of no bytes.
    #[error("a buffer needs at least one element")]
    ZeroSize,
    /// A range reaches outside its memory object.
    #[error("{what}: bytes {offset}..{end} are outside a memory object of {size} bytes", end = offset.saturating_add(*len))]
    OutOfRange {
        /// Which operation.
        what: &'static str,
        /// Where the range starts.
        offset: u64,
        /// How long it is.
        len: u64,
        /// The size of the memory object.
        size: u64,
    },
    /// Source and destination of a copy overlap.
    #[error("copy of {len} bytes from offset {src} to {dst} of the same memory object overlaps itself")]
    OverlappingCopy {
        /// Source offset.
        src: u64,
        /// Destination offset.
        dst: u64,
        /// Length.
        len: u64,
    },
    /// An offset or length is not a multiple of what the device or the operation asks for.
    #[error("{what}: {value} is not a multiple of {align}")]
    Misaligned {
        /// Which operation or binding.
        what: &'static str,
        /// The offending offset or length.
        value: u64,
        /// The alignment that is needed.
        align: u64,
    },
    /// A dispatch with zero groups in some dimension.
    #[error("a dispatch of {groups:?} groups has a zero")]
    ZeroGroups {
        /// The group counts.
        groups: [u32; 3],
    },
    /// A dispatch that does not give a pipeline what it declares.
    #[error("binding {} of set {} {problem}", .at.binding, .at.set)]
    Binding {
        /// Which.
        at: SetBinding,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The push constants given are not as many bytes as the pipeline declares.
    #[error("{given} bytes of push constants were given where the pipeline takes {needed}")]
    PushSize {
        /// Bytes given.
        given: usize,
        /// Bytes the pipeline takes.
        needed: u32,
    },
    /// Words that are no SPIR-V module were about to reach the driver.
    #[error("not a SPIR-V module: {reason}")]
    NotSpirv {
        /// What is wrong.
        reason: &'static str,
    },
    /// The driver did not compile a pipeline.
    #[error("the driver refused to compile the pipeline `{entry}`: {reason}")]
    Pipeline {
        /// Name of the entry point.
        entry: String,
        /// The driver's result.
        reason: String,
    },
    /// No memory of the kind asked for is left.
    #[error("out of {kind} memory while asking for {bytes} bytes ({reason})")]
    OutOfMemory {
        /// Which memory.
        kind: &'static str,
        /// How many bytes were asked for; 0 where the driver did not say what it needed.
        bytes: u64,
        /// What the allocator said.
        reason: String,
    },
    /// The device is lost: nothing submitted since then will ever finish, and the context must be made anew.
    #[error("the device is lost; make a new context")]
    Lost,
    /// A Vulkan call failed in a way that has no variant of its own.
    #[error("{call} failed: {result}")]
    Call {
        /// The Vulkan function.
        call: &'static str,
        /// Its result code.
        result: String,
    },
}

impl DeviceError {
    /// A failed call that has no better variant.
    pub(super) fn call(call: &'static str, result: &impl std::fmt::Display) -> DeviceError {
        DeviceError::Call { call, result: result.to_string() }
    }

    /// Whether the driver, or a check before it, refuses what it is given, and would again. Nothing that passes, such as memory
    /// that has run out.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            DeviceError::Pipeline { .. }
            | DeviceError::NotSpirv { .. }
            | DeviceError::OverLimit { .. }
            | DeviceError::BufferSize { .. }
            | DeviceError::Misaligned { .. }
            | DeviceError::Binding { .. } => true,
            DeviceError::Call { call, .. } => *call == "vkCreateShaderModule",
            _ => false,
        }
    }

    /// A failed raw call; the results that mean something of their own become their own variants.
    pub(super) fn raw(call: &'static str, result: ash::vk::Result) -> DeviceError {
        use ash::vk::Result as R;
        match result {
            R::ERROR_DEVICE_LOST => DeviceError::Lost,
            R::ERROR_OUT_OF_DEVICE_MEMORY | R::ERROR_OUT_OF_POOL_MEMORY | R::ERROR_FRAGMENTED_POOL => {
                DeviceError::OutOfMemory { kind: "device", bytes: 0, reason: call.to_owned() }
            }
            R::ERROR_OUT_OF_HOST_MEMORY => {
                DeviceError::OutOfMemory { kind: "host", bytes: 0, reason: call.to_owned() }
            }
            other => DeviceError::Call { call, result: format!("{other:?}") },
        }
    }
}
