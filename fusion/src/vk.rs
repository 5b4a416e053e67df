//! Everything that speaks to the driver: the one module with `unsafe` in it.
//!
//! vulkano provides the objects (instance, device, queues and their locks, buffers and their memory); commands are
//! recorded and submitted through the device's function table, because vulkano's own execution layer derives its
//! barriers from a reflection that misses writes. What happens where:
//!
//! | file | what it does |
//! | --- | --- |
//! | `error` | the one error enum |
//! | `vendor` | what is known of drivers beside what they report, a row for each |
//! | `device_profile` | what the planner goes by of a device |
//! | `caps` | what a device can do and how large things may be |
//! | `features` | which features and extensions are switched on |
//! | `caller` | commands into a command buffer of the user's |
//! | `calls` | functions that go by two names |
//! | `spirv_caps` | SPIR-V capability to device feature |
//! | `instance` | loader, instance, validation messages, list of devices |
//! | `newer` | features that vulkano does not know |
//! | `chain` | the feature structures that a device is made with |
//! | `requirements` | what else than capabilities a module may ask of a device |
//! | `create` | makes a device |
//! | `gpu` | an open device and its queues |
//! | `raw` | an open device of the user's by its handles |
//! | `semaphore` | the user's semaphores, to wait for and to signal |
//! | `select` | which device to open |
//! | `memory` | buffers with memory behind them |
//! | `allocate`, `import` | where those come from: new, or the user's |
//! | `texture` | images and samplers |
//! | `pipeline` | SPIR-V words to a compute pipeline |
//! | `module`, `driver_cache` | what exists while a pipeline is made |
//! | `command` | what a submission is made of |
//! | `check` | a command checked against limits and ranges before it is recorded |
//! | `sets` | descriptor sets of buffers that are written again after they were bound |
//! | `command_buffer` | a command buffer with its descriptor sets and what it keeps alive |
//! | `frame` | command buffer and command pool of one submission in flight |
//! | `clock` | times of submissions |
//! | `template` | dispatches that are checked once and recorded on other memory each time |
//! | `reusable` | submissions recorded once and made as often as wanted |
//! | `record` | commands into a command buffer |
//! | `queue` | submission, time line, retirement |
//! | `wait` | polling and waiting |
//! | `wgpu` | a device of wgpu's, its buffers, and a command buffer of its |
//! | `transfer` | host bytes to device memory and back |
//! | `stats` | counters |
//!
//! **Invariant.** Everything outside this module is safe Rust and has no way to hand the driver a range, a count, a
//! handle or an alignment that was not checked here. What is trusted: that modules passed `vkfuse-jit`, which
//! validates them, that `Caps::supports` was asked about their capabilities, and that the bindings and push constants
//! given for them are theirs.
//!
//! **Invariant.** What a submission refers to stays alive until its time-line value is reached; on a lost device,
//! until the context goes.
#![allow(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod allocate;
mod caller;
mod calls;
mod caps;
mod chain;
mod check;
mod clock;
mod command;
mod command_buffer;
mod create;
mod device_profile;
mod driver_cache;
mod error;
mod features;
mod float_controls;
mod frame;
mod gpu;
mod import;
mod instance;
mod memory;
mod mesa;
mod module;
mod newer;
mod passed;
mod pipeline;
mod queue;
mod raw;
mod record;
mod requirements;
mod reusable;
mod select;
mod semaphore;
mod sets;
mod spirv_caps;
mod statistics;
mod stats;
mod template;
#[cfg(test)]
mod tests;
mod texels;
mod texture;
mod transfer;
mod vendor;
mod wait;
#[cfg(feature = "wgpu")]
pub(crate) mod wgpu;

pub(crate) use allocate::MemoryKind;
pub(crate) use caller::{CallerWork, Written};
pub use caller::{Dependency, RawCommandBuffer, Scope};
pub(crate) use caps::Caps;
pub use caps::{DeviceInfo, DeviceKind, DeviceLimits};
pub(crate) use clock::Profile;
pub(crate) use command::{Barrier, BindingKind, BoundMemory, Command, Dispatch};
pub use device_profile::DeviceProfile;
pub use error::DeviceError;
pub(crate) use gpu::{Gpu, GpuOptions};
pub use import::{RawBuffer, UserBuffer};
pub(crate) use memory::{Holder, Memory, Place};
pub(crate) use pipeline::{Pipeline, PipelineOrigin, PipelineSource};
pub(crate) use queue::{GpuQueue, Point, Submitted};
pub use raw::{QueueLock, RawDevice, RawHandles};
pub(crate) use requirements::Lack;
pub(crate) use reusable::ReusableCommands;
pub use select::DeviceSelector;
pub use semaphore::RawSemaphore;
pub(crate) use stats::GpuStats;
pub(crate) use template::{CommandTemplate, Played, Pushes, Resources};
pub use texture::UserImage;
pub(crate) use texture::{ImageShape, NumericClass, Resource, Texture, Wanted};
pub(crate) use vendor::{NARROW_BYTES, PRIVATE_BYTES};
