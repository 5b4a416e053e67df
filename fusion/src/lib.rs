//! Run-time kernel fusion for Vulkan compute: fused, proven, or refused with a reason.
//!
//! A [`Queue`] is put into fusion mode, small SPIR-V kernels are submitted to it as usual, and on completion they run as
//! one kernel: linked at run time, shown to be safe to fuse, their temporaries kept in registers or shared memory. What
//! cannot be shown to be safe runs unfused, and the [`FusionReport`] says why.
//!
//! # Terms
//!
//! - A *submission* is one dispatch: a [`Kernel`], its work-group counts, its arguments.
//! - The *fusion list* is what was submitted since [`start_fusion`](FusionWrapper::start_fusion), in order.
//! - Two accesses *conflict* when they have a byte of memory in common and at least one of them writes. Work that
//!   conflicts keeps the order in which it was submitted, over all queues of a [`Context`]; the rest may overlap.
//! - An action *observes* a listed submission when it would see, or change, what that reads or writes: a wait, a host access
//!   ([`CancelCause`] has all). It *cancels* the list first, which then runs unfused.
//! - A buffer is *internalized* (promoted) when its contents stay inside a fused kernel. Reading it is then an error, until
//!   something writes it.
//!
//! # Example
//!
//! ```no_run
//! use vkfuse::{Context, QueueOptions};
//!
//! # fn main() -> Result<(), vkfuse::Error> {
//! let context = Context::new()?;
//! let queue = context.queue(QueueOptions::new().enable_fusion(true))?;
//! let (mul, sub) = (context.load_spirv("mul.spv")?, context.load_spirv("sub.spv")?);
//! let n = 1000;
//! let (a, b) = (context.buffer_from(&vec![2.0f32; n])?, context.buffer_from(&vec![3.0f32; n])?);
//! let product = context.scratch::<f32>(n)?.named("product");
//! let out = context.buffer::<f32>(n)?;
//!
//! queue.fuse(|queue| {
//!     queue.submit(|h| {
//!         h.arg(0, a.read()).arg(1, b.read()).arg(2, product.write());
//!         h.push(&(n as u32)).dispatch_items(&mul, [n as u32, 1, 1]);
//!     })?;
//!     queue.submit(|h| {
//!         h.arg(0, product.read()).arg(1, b.read()).arg(2, out.write());
//!         h.push(&(n as u32)).dispatch_items(&sub, [n as u32, 1, 1]);
//!     })?;
//!     Ok(())
//! })?;
//! assert_eq!(out.download()?, vec![3.0; n]);
//! # Ok(())
//! # }
//! ```
//!
//! What most programs use is here, the rest in the modules below. [`vulkano`] is the version whose objects [`Context::from_vulkano`] and
//! [`UserBuffer`] take, [`ash`] the one whose handles [`Context::from_raw`] and [`RawBuffer`] do.
//!
//! # Features
//!
//! | feature | on by default | adds |
//! | --- | --- | --- |
//! | `installed-spirv-tools` | yes | validation by the installed `spirv-val` |
//! | `compiled-spirv-tools` | no | validation by SPIRV-Tools in the library: minutes of C++, once |
//! | `wgsl` | yes | kernels of WGSL text |
//! | `wgpu` | no | devices of wgpu |
//! | `picture`, `json` | no | reports as SVG and as JSON: `FusionReport::to_svg`, `to_json` |
//! | `remote`, `remote-tls` | no | a cache over the network |

mod api;
mod code;
pub mod error;
mod jit;
mod options;
mod replay;
pub mod report;
mod runtime;
mod submission;
mod sync;
mod vk;

pub use api::{
    buffer::{Buffer, BufferElement},
    context::Context,
    fusion::{FusedList, FusionWrapper, PlannedList, Rebind, Recorded},
    handler::{Handler, PushValue, SubmitResult},
    image::{Image, Sampler},
    kernel::Kernel,
    queue::{HostScope, Queue},
    rust,
    texels::Texels,
};
pub use ash;
pub use error::Error;
pub use jit::{BufferId, FloatMode, Policy, Promote, SetBinding};
pub use options::{
    cache::CacheOptions,
    context::{ContextOptions, QueueOptions},
    fusion::FusionProperties,
    tuning::{ParseTuningError, Tuning},
};
pub use report::outcome::Outcome;
pub use runtime::event::Event;
pub use submission::accessor::Accessor;
pub use vk::{
    Dependency, QueueLock, RawBuffer, RawCommandBuffer, RawDevice, RawHandles, RawSemaphore, Scope,
    UserBuffer, UserImage,
};
pub use vulkano;

pub mod cache {
    //! What is kept of code: options, counters, events, explanations, recordings.

    pub use vkfuse_cache::Event;

    pub use crate::{
        code::{
            ahead::{Difference, Explanation},
            carried::is_valid_entry,
            keep::{Artifact, NotCacheable},
            log::{RecordedList, Recording, RecordingError},
            programs::{CacheStats, kernel_store},
        },
        options::cache::CacheOptions,
    };
}

pub mod environment {
    //! Variables that change how contexts and caches are made: [`VARIABLES`].

    pub use crate::options::environment::variables::{VARIABLES, Variable};
}

pub mod device {
    //! What there is to run on.

    pub use crate::vk::{DeviceInfo, DeviceKind, DeviceLimits, DeviceProfile, DeviceSelector, UserBuffer};
}

#[cfg(feature = "wgpu")]
pub mod wgpu {
    //! Over a device of wgpu's, of its Vulkan back end: its buffers as arguments, lists between its submissions.

    pub use ::wgpu;

    pub use crate::{
        api::wgpu::{Device, Fused},
        vk::wgpu::{WgpuBuffer, WgpuDevice, WgpuError},
    };
}

pub mod module {
    //! What a SPIR-V module says of itself: entry points, bindings, constants.

    pub use crate::{
        api::handler::IntoSpecValue,
        jit::{
            Binding, BindingKind, Declared, DescriptorArray, ElementType, ImageDeclaration, Interface,
            MemoryScalar, Mode, Module, PushLayout, PushMember, ScalarClass, SharedConstant, SpecConstant,
            SpecType, SpecValue, Specialized, TextureKind, is_validated, validator,
        },
    };
}

pub mod guard {
    //! A process that compiles code before this one does, in case a driver dies of it.

    #[doc(hidden)]
    pub use crate::code::programs::DEATH as DEATH_SECTION;

    pub use crate::{
        api::guard::{serve_compile_guard, serve_compile_guard_with},
        options::guard::CompileGuard,
    };
}

// Names from before there were modules.
#[doc(hidden)]
pub use crate::{
    cache::{
        Artifact, CacheStats, Difference, Event as CacheEvent, Explanation, NotCacheable, RecordedList,
        Recording, RecordingError,
    },
    device::{DeviceInfo, DeviceKind, DeviceLimits, DeviceSelector},
    error::{
        BindingName, BufferError, BuildError, DeviceError, FusionError, JitError, KernelError, KernelReason,
        OverrunAccess, PlanError, SubmitError, Unreadable,
    },
    module::{
        Binding, BindingKind, DescriptorArray, Interface, IntoSpecValue, Module, PushLayout, PushMember,
        ScalarClass, SharedConstant, SpecConstant, SpecType, SpecValue, Specialized,
    },
    report::{
        AloneReason, BarrierReason, BarrierReport, BufferReport, CancelCause, CheckReport, CheckedBy,
        CodeChange, CodeStatistic, EpilogueReport, FusionReport, GroupReport, InlineReport, Internalization,
        Members, NoPushBuffer, Objects, Places, Reason, RenameReport, ReorderReport, Report, RewriteReason,
        RewriteReport, SplitReport, Stats, StepReport, Tier, TrustedReport,
    },
};

/// The pages whose code is compiled as it stands.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    struct Readme;

    #[doc = include_str!("../../docs/rust-kernels.md")]
    struct RustKernels;
}
