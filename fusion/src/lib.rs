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
//! - An action *observes* a listed submission when it would see, or change, what the submission reads or writes: a wait,
//!   a host access, a copy, a submission to another queue that conflicts. What observes a list *cancels* it first: the list
//!   runs unfused, as if it had been submitted without fusion mode. [`CancelCause`] lists the actions.
//! - A buffer is *internalized* (promoted) when its contents stay inside a fused kernel. Its memory then holds older
//!   bytes; reading them is an error that names the buffer, until something writes it.
//!
//! # Example
//!
//! ```no_run
//! use vkfuse::{Context, FusionProperties, FusionWrapper, Outcome, QueueOptions};
//!
//! # fn main() -> Result<(), vkfuse::Error> {
//! let context = Context::new()?;
//! let queue = context.queue(QueueOptions::new().enable_fusion(true))?;
//! let (mul, sub) = (context.load_spirv("mul.spv")?, context.load_spirv("sub.spv")?);
//! let n = 1000;
//! let a = context.buffer_from(&vec![2.0f32; n])?;
//! let b = context.buffer_from(&vec![3.0f32; n])?;
//! let product = context.scratch::<f32>(n)?.named("product");
//! let out = context.buffer::<f32>(n)?;
//!
//! let fusion = FusionWrapper::new(&queue)?;
//! fusion.start_fusion()?;
//! queue.submit(|h| {
//!     h.arg(0, a.read()).arg(1, b.read()).arg(2, product.write());
//!     h.push(&(n as u32)).dispatch_items(&mul, [n as u32, 1, 1]);
//! })?;
//! queue.submit(|h| {
//!     h.arg(0, product.read()).arg(1, b.read()).arg(2, out.write());
//!     h.push(&(n as u32)).dispatch_items(&sub, [n as u32, 1, 1]);
//! })?;
//! let done = fusion.complete_fusion(&FusionProperties::default())?;
//! assert_eq!(done.outcome(), Outcome::Fused);
//! assert_eq!(out.download()?, vec![3.0; n]);
//! # Ok(())
//! # }
//! ```

mod api;
mod code;
mod error;
mod jit;
mod options;
mod replay;
mod report;
mod runtime;
mod submission;
mod vk;

pub use api::buffer::Buffer;
pub use api::context::Context;
pub use api::fusion::{FusedList, FusionWrapper, Rebind};
pub use api::handler::{Handler, IntoSpecValue, SubmitResult};
pub use api::kernel::Kernel;
pub use api::queue::{HostScope, Queue};
pub use api::rust;
pub use code::{
    ahead::{Difference, Explanation},
    keep::{Artifact, NotCacheable},
    log::{RecordedList, Recording, RecordingError},
    programs::CacheStats,
};
pub use error::{
    BindingName, BufferError, BuildError, DeviceError, Error, FusionError, Slot, SubmitError, Unreadable,
};
pub use jit::{
    BarrierReason, BarrierReport, Binding, BindingKind, BufferId, BufferReport, FloatMode, GroupReport,
    Interface, Internalization, JitError, KernelError, KernelReason, Module, PlanError, Policy, Promote,
    PushLayout, PushMember, Reason, Report, ScalarClass, ShapeFacts, SpecConstant, SpecType, SpecValue,
    Specialized, SplitReport, TrustedReport,
};
pub use options::fusion::FusionProperties;
pub use options::{
    cache::CacheOptions,
    context::{ContextOptions, QueueOptions},
};
pub use report::list::{CheckReport, CheckedBy, FusionReport, StepReport, Tier};
pub use report::outcome::{CancelCause, Outcome};
pub use report::stats::{Objects, Stats};
pub use runtime::event::Event;
pub use submission::accessor::Accessor;
pub use vk::{DeviceInfo, DeviceKind, DeviceLimits, DeviceSelector, UserBuffer};
pub use vkfuse_cache::Event as CacheEvent;
