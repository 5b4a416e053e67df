//! The model of a pipeline file: what it says, with names resolved to indices.
//!
//! Everything that a later stage may complain about keeps the place it came from.

use super::element::{ElementBytes, ElementType, Scalar};
use super::image::{ImageDecl, Sampling, Texel};
use super::problem::{Place, Problem};
use super::push;
use super::steps::Step;
use std::path::PathBuf;
use vkfuse_jit::kernel::SetBinding;

/// A pipeline file.
pub(crate) struct Pipeline {
    /// The file, as it was named on the command line.
    pub(crate) file: PathBuf,
    /// `name`.
    pub(crate) name: Option<String>,
    /// `[kernels.*]`, in the order of the file.
    pub(crate) kernels: Vec<KernelDecl>,
    /// `[buffers.*]` and then `[images.*]`, each in the order of the file.
    pub(crate) buffers: Vec<BufferDecl>,
    /// `[[submit]]`, in order; at least one.
    pub(crate) submits: Vec<Submit>,
    /// `[fusion]`.
    pub(crate) fusion: Fusion,
}

/// `[kernels.NAME]`.
pub(crate) struct KernelDecl {
    pub(crate) name: String,
    /// The module's file, relative paths already joined to the pipeline file's folder.
    pub(crate) path: PathBuf,
    pub(crate) path_place: Place,
    pub(crate) entry: Option<String>,
    /// The place of `entry`, or of the kernel's table where there is none.
    pub(crate) entry_place: Place,
    /// `local_size`: instead of that of the module, and where it stands.
    pub(crate) local_size: Option<([u32; 3], Place)>,
    /// `subgroup_size`: what the device's has to be, and where it stands.
    pub(crate) subgroup_size: Option<(u32, Place)>,
    /// A kernel of the command's own.
    pub(crate) step: Option<Step>,
}

/// `[buffers.NAME]`, or `[images.NAME]`, whose elements are the channels of its texels.
pub(crate) struct BufferDecl {
    pub(crate) name: String,
    pub(crate) ty: ElementType,
    /// Elements.
    pub(crate) len: u64,
    pub(crate) init: Init,
    /// Whether the file says what it holds at first.
    pub(crate) initialised: bool,
    pub(crate) promote: Promotion,
    /// What it is if it is an image.
    pub(crate) image: Option<ImageDecl>,
    pub(crate) place: Place,
}

impl BufferDecl {
    /// Size in bytes; `read` has made sure that it fits.
    pub(crate) fn bytes(&self) -> u64 {
        self.len.saturating_mul(self.ty.size() as u64)
    }
}

/// What a buffer holds before the list runs.
pub(crate) enum Init {
    Zeros,
    Iota,
    Random {
        seed: u64,
    },
    Fill(ElementBytes),
    /// `values`, all of the buffer's type.
    Values(Vec<u8>),
    /// `scalars`, each of its own type.
    Scalars(Vec<u8>),
    File {
        path: PathBuf,
        place: Place,
    },
}

/// `promote`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promotion {
    None,
    Private,
    Local,
    Auto,
}

impl Promotion {
    /// Its name in a pipeline file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Promotion::None => "none",
            Promotion::Private => "private",
            Promotion::Local => "local",
            Promotion::Auto => "auto",
        }
    }
}

/// One `[[submit]]`.
pub(crate) struct Submit {
    /// Index in `Pipeline::kernels`.
    pub(crate) kernel: usize,
    pub(crate) kernel_place: Place,
    pub(crate) extent: Extent,
    /// `base`: the first work-group.
    pub(crate) base: [u32; 3],
    pub(crate) spec: Vec<SpecValue>,
    /// `push`; empty where there is none.
    pub(crate) push: push::Given,
    /// The place of `push`, or of the submission where there is none.
    pub(crate) push_place: Place,
    pub(crate) args: Vec<Argument>,
    /// The submission itself, for complaints about what it lacks.
    pub(crate) place: Place,
}

/// How much a submission runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Work-groups.
    Groups([u32; 3]),
    /// Work-items, to be rounded up to whole groups.
    Global([u32; 3]),
    /// As many work-groups as three elements of a buffer say, from this one on, which no submission before writes.
    Indirect { buffer: usize, offset: u64 },
}

impl Extent {
    /// The group counts, for a kernel with this local size; `counts` are those that stand in a buffer.
    pub(crate) fn groups(self, local_size: [u32; 3], counts: Option<[u32; 3]>) -> [u32; 3] {
        match self {
            Extent::Groups(groups) => groups,
            Extent::Indirect { .. } => counts.unwrap_or_default(),
            Extent::Global(items) => {
                std::array::from_fn(|axis| items[axis].div_ceil(local_size[axis].max(1)))
            }
        }
    }
}

/// One entry of `spec`.
pub(crate) struct SpecValue {
    pub(crate) id: u32,
    pub(crate) value: Scalar,
    pub(crate) place: Place,
}

/// One entry of `args`.
pub(crate) struct Argument {
    pub(crate) at: SetBinding,
    /// Index in `Pipeline::buffers`.
    pub(crate) buffer: usize,
    /// What the accessor itself says; `None` takes what the buffer says.
    pub(crate) promote: Option<Promotion>,
    /// First element.
    pub(crate) offset: u64,
    /// Elements, at least one.
    pub(crate) len: u64,
    /// `constant`: nothing writes it before the list has run.
    pub(crate) constant: bool,
    /// `cast`: the kernel's elements may be of another type.
    pub(crate) cast: bool,
    /// How it is sampled, where it is bound with a sampler.
    pub(crate) sampler: Option<Sampling>,
    /// The format that a buffer is seen through, where it is bound as texels.
    pub(crate) texels: Option<Texel>,
    pub(crate) place: Place,
}

/// `[fusion]`.
pub(crate) struct Fusion {
    /// `policy = "trust"`.
    pub(crate) trust: bool,
    pub(crate) no_barriers: bool,
    /// Where `no_barriers` stands.
    pub(crate) no_barriers_place: Option<Place>,
    pub(crate) force: bool,
    /// `float = "contract"`.
    pub(crate) contract: bool,
    /// `robust = true`: accesses outside of a range are defined.
    pub(crate) robust: bool,
    /// Indices in `Pipeline::buffers`; `None` stands for every buffer that was not internalized.
    pub(crate) outputs: Option<Vec<usize>>,
    /// Where `outputs` stands.
    pub(crate) outputs_place: Option<Place>,
}

impl Pipeline {
    /// A complaint about `place` in this file.
    pub(crate) fn problem(&self, place: &Place, message: impl Into<String>) -> Problem {
        Problem::at(&self.file, place, message)
    }
}
