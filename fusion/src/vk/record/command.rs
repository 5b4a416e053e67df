//! What a submission is made of.
//!
//! Commands are plain values: they can be built without a device, compared in tests, and are checked before any of
//! them is recorded. Barriers are commands like any other. Nothing here inserts one by itself; who orders commands is
//! the dependency graph above.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::jit::{SetBinding, TextureKind};
use crate::vk::{Memory, Pipeline, Resource, Texture};

/// What a shader finds at a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum BindingKind {
    /// Storage buffer.
    Storage,
    /// Uniform buffer.
    Uniform,
    /// An image that is read and written by coordinates.
    StorageImage,
    /// An image that is sampled by a sampler of another binding.
    SampledImage,
    /// An image with a sampler.
    CombinedSampler,
    /// A sampler.
    Sampler,
    /// A buffer that is read through a format.
    UniformTexels,
    /// A buffer that is read and written through a format.
    StorageTexels,
}

impl BindingKind {
    const ALL: [BindingKind; 8] = [
        BindingKind::Storage,
        BindingKind::Uniform,
        BindingKind::StorageImage,
        BindingKind::SampledImage,
        BindingKind::CombinedSampler,
        BindingKind::Sampler,
        BindingKind::UniformTexels,
        BindingKind::StorageTexels,
    ];

    /// A number that says which it is, to a process of the same build.
    pub(crate) fn number(self) -> u32 {
        self as u32
    }

    pub(crate) fn of_number(number: u32) -> Option<BindingKind> {
        BindingKind::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// That of an image or a sampler.
    pub(crate) fn of(texture: TextureKind) -> BindingKind {
        match texture {
            TextureKind::StorageImage => BindingKind::StorageImage,
            TextureKind::SampledImage => BindingKind::SampledImage,
            TextureKind::CombinedSampler => BindingKind::CombinedSampler,
            TextureKind::Sampler => BindingKind::Sampler,
            TextureKind::UniformTexels => BindingKind::UniformTexels,
            TextureKind::StorageTexels => BindingKind::StorageTexels,
        }
    }

    /// Whether it is no buffer.
    pub(crate) fn is_texture(self) -> bool {
        !matches!(self, BindingKind::Storage | BindingKind::Uniform)
    }
}

/// A range of memory, or an image, bound for one dispatch.
#[derive(Debug, Clone)]
pub(crate) struct BoundMemory {
    pub(crate) at: SetBinding,
    pub(crate) resource: Resource,
    /// Bytes from the start of the memory object. Nothing for an image.
    pub(crate) offset: u64,
    /// Bytes; never 0. Nothing for an image.
    pub(crate) len: u64,
}

/// One dispatch.
#[derive(Debug, Clone)]
pub(crate) struct Dispatch {
    pub(crate) pipeline: Arc<Pipeline>,
    /// Exactly the bindings that the pipeline declares, in any order, except for that of its push buffer.
    pub(crate) bindings: SmallVec<[BoundMemory; 8]>,
    /// Exactly as many bytes as the pipeline declares, those of its push buffer behind its push constants.
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
    /// Brings a new image into its layout, and fills it with zeros.
    Prepare {
        texture: Arc<Texture>,
    },
    /// Copies all texels of an image out of the start of a buffer.
    ToImage {
        src: Arc<Memory>,
        dst: Arc<Texture>,
    },
    /// Copies all texels of an image to the start of a buffer.
    FromImage {
        src: Arc<Texture>,
        dst: Arc<Memory>,
    },
    Barrier(Barrier),
}
