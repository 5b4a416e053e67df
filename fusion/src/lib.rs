//! Run-time kernel fusion for Vulkan compute: fused, proven, or refused with a reason.
//!
//! A [`Queue`] is put into fusion mode, small SPIR-V kernels are submitted to it as usual, and on completion they run as
//! one kernel: linked at run time, shown to be safe to fuse, their temporaries kept in registers or shared memory. What
//! cannot be shown to be safe runs unfused, and the [`FusionReport`] says why.
//!
//! ```no_run
//! # use vkfuse::{Context, QueueOptions};
//! # fn main() -> Result<(), vkfuse::Error> {
//! let context = Context::new()?;
//! let queue = context.queue(QueueOptions::new().enable_fusion(true))?;
//! let mul = context.load_spirv("mul.spv")?;
//! let a = context.buffer_from(&[2.0f32; 1000])?;
//! let (square, cube) = (context.scratch::<f32>(1000)?, context.buffer::<f32>(1000)?);
//! let done = queue.fuse(|queue| {
//!     for (x, z) in [(&a, &square), (&square, &cube)] {
//!         queue.submit(|h| {
//!             h.arg(0, x.read()).arg(1, a.read()).arg(2, z.write());
//!             h.push(&1000u32).dispatch_items(&mul, [1000, 1, 1]);
//!         })?;
//!     }
//!     Ok(())
//! })?;
//! println!("{}: {}", done.outcome(), cube.download()?[0]); // fused: 8
//! # Ok(())
//! # }
//! ```
//!
//! # Terms
//!
//! - A *submission* is one dispatch; the *fusion list* is what was submitted since [`start_fusion`](FusionWrapper::start_fusion).
//! - Accesses *conflict* where they have a byte in common and at least one writes. Work that conflicts keeps the order in which it was
//!   submitted, over all queues of a [`Context`]; the rest may overlap.
//! - An action *observes* a listed submission where it would see, or change, what that reads or writes ([`CancelCause`] has all). It
//!   *cancels* the list first, which then runs unfused.
//! - A buffer is *internalized* where a fused kernel keeps its contents. Reading it is an error until something writes it.
//!
//! # Features
//!
//! `installed-spirv-tools` (default): kernels are validated by the installed `spirv-val`; `compiled-spirv-tools`: by SPIRV-Tools in the
//! library (minutes of C++). `wgsl` (default): kernels of WGSL text. `wgpu`: its devices. `picture`, `json`: reports as SVG and JSON.
//! `remote`, `remote-tls`: a cache over the network.

mod api;
mod code;
pub mod error;
mod jit;
pub mod options;
mod replay;
pub mod report;
mod runtime;
mod submission;
mod sync;
mod vk;

pub use api::{
    buffer::Buffer, context::Context, fusion::FusionWrapper, handler::Handler, kernel::Kernel, queue::Queue,
    rust,
};
pub use runtime::event::Event;
pub use submission::accessor::Accessor;

pub mod cache {
    //! What is kept of code: options, counters, events, explanations, recordings.

    pub use vkfuse_cache::Event;

    pub use crate::code::{
        ahead::{Difference, Explanation},
        carried::{is_approval, is_valid_entry},
        keep::{Artifact, NotCacheable},
        log::{RecordedList, Recording, RecordingError},
        programs::{CacheStats, kernel_store},
    };
    #[doc(hidden)]
    pub use crate::options::CacheOptions;
}

pub mod environment {
    //! Variables that change how contexts and caches are made: [`VARIABLES`].

    pub use crate::options::environment::variables::{VARIABLES, Variable};
}

pub mod device {
    //! What there is to run on.

    #[doc(hidden)]
    pub use crate::vk::UserBuffer;
    pub use crate::vk::{DeviceInfo, DeviceKind, DeviceLimits, DeviceProfile, DeviceSelector};
}

pub mod image {
    //! Images, samplers and texel buffers.

    pub use crate::api::{
        image::{Image, Sampler},
        texels::Texels,
    };
}

pub mod interop {
    //! Devices, buffers and command buffers that the program made.
    //!
    //! [`Context::from_vulkano`](crate::Context::from_vulkano) and [`UserBuffer`] take objects of [`vulkano`], of the version that is
    //! re-exported here; [`Context::from_raw`](crate::Context::from_raw) and [`RawBuffer`] take handles of [`ash`].

    pub use ash;
    pub use vulkano;

    pub use crate::vk::{
        Dependency, QueueLock, RawBuffer, RawCommandBuffer, RawDevice, RawHandles, RawSemaphore, Scope,
        UserBuffer, UserImage,
    };
}

pub mod lists {
    //! Fusion lists that are kept: run again on other buffers, planned ahead, recorded.

    pub use crate::api::fusion::{FusedList, PlannedList, Rebind, Recorded};
}

pub mod submit {
    //! What submissions and host tasks are given, and return.

    pub use crate::{
        api::{
            buffer::BufferElement,
            handler::{PushValue, SubmitResult},
            queue::HostScope,
        },
        jit::SetBinding,
    };
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

// Names of the modules, at the root as well.
#[doc(hidden)]
pub use crate::{
    cache::{
        Artifact, CacheStats, Difference, Event as CacheEvent, Explanation, NotCacheable, RecordedList,
        Recording, RecordingError,
    },
    device::{DeviceInfo, DeviceKind, DeviceLimits, DeviceSelector},
    error::{
        BindingName, BufferError, BuildError, DeviceError, Error, FusionError, JitError, KernelError,
        KernelReason, OverrunAccess, PlanError, SubmitError, Unreadable,
    },
    image::{Image, Sampler, Texels},
    interop::{
        Dependency, QueueLock, RawBuffer, RawCommandBuffer, RawDevice, RawHandles, RawSemaphore, Scope,
        UserBuffer, UserImage, ash, vulkano,
    },
    lists::{FusedList, PlannedList, Rebind, Recorded},
    module::{
        Binding, BindingKind, DescriptorArray, Interface, IntoSpecValue, Module, PushLayout, PushMember,
        ScalarClass, SharedConstant, SpecConstant, SpecType, SpecValue, Specialized,
    },
    options::{
        CacheOptions, ContextOptions, FloatMode, FusionProperties, ParseTuningError, Policy, Promote,
        QueueOptions, Tuning,
    },
    report::{
        AloneReason, BarrierReason, BarrierReport, BufferId, BufferReport, CancelCause, CheckReport,
        CheckedBy, CodeChange, CodeStatistic, EpilogueReport, FusionReport, GroupReport, InlineReport,
        Internalization, Members, NoPushBuffer, Note, NoteKind, NoteReport, Objects, Outcome, Places, Reason,
        RenameReport, ReorderReport, Report, RewriteReason, RewriteReport, SplitReport, Stats, StepReport,
        Tier, TrustedReport,
    },
    submit::{BufferElement, HostScope, PushValue, SetBinding, SubmitResult},
};

/// The pages whose code is compiled as it stands.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    struct Readme;

    #[doc = include_str!("../../docs/rust-kernels.md")]
    struct RustKernels;
}
