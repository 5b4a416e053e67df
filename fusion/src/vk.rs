//! Everything that speaks to the driver: the one module with `unsafe` in it.
//!
//! vulkano provides the objects (instance, device, queues and their locks, buffers and their memory); commands are
//! recorded and submitted through the device's function table, because vulkano's own execution layer derives its
//! barriers from a reflection that misses writes. What happens where:
//!
//! | file | what it does |
//! | --- | --- |
//! | `error` | the one error enum |
//! | `stats` | counters |
//! | `calls` | functions that go by two names |
//! | `vendor` | what is known of drivers beside what they report, a row for each |
//! | `wgpu` | a device of wgpu's, its buffers, and a command buffer of its |
//! | **`device/`** | opening a device, and what it can do |
//! | `instance` | loader, instance, validation messages, list of devices |
//! | `select` | which device to open |
//! | `create` | makes a device |
//! | `raw` | an open device of the user's by its handles |
//! | `gpu` | an open device and its queues |
//! | `caps` | what a device can do and how large things may be |
//! | `features` | which features and extensions are switched on |
//! | `newer` | features that vulkano does not know |
//! | `chain` | the feature structures that a device is made with |
//! | `float_controls` | what modules may ask of a device's floats |
//! | `spirv_caps` | SPIR-V capability to device feature |
//! | `requirements` | what else than capabilities a module may ask of a device |
//! | `device_profile` | what the planner goes by of a device |
//! | `mesa` | what depends on the version of Mesa |
//! | **`memory/`** | buffers and images, and how bytes get there |
//! | `buffer` | buffers with memory behind them |
//! | `allocate` | new memory |
//! | `import` | memory of the user's |
//! | `texture` | images and samplers |
//! | `texels` | buffers seen through a format |
//! | `transfer` | host bytes to device memory and back |
//! | `passed` | arguments in buffers of their own |
//! | **`pipeline/`** | SPIR-V words to a compute pipeline |
//! | `compute` | SPIR-V words to a compute pipeline |
//! | `module` | what exists while a pipeline is made |
//! | `driver_cache` | what exists while a pipeline is made |
//! | `statistics` | what the driver says of compiled code |
//! | **`record/`** | commands, checked and recorded |
//! | `command` | what a submission is made of |
//! | `check` | a command checked against limits and ranges before it is recorded |
//! | `template` | dispatches that are checked once and recorded on other memory each time |
//! | `sets` | descriptor sets of buffers that are written again after they were bound |
//! | `command_buffer` | a command buffer with its descriptor sets and what it keeps alive |
//! | `recorder` | commands into a command buffer |
//! | `caller` | commands into a command buffer of the user's |
//! | **`submit/`** | submission and waiting |
//! | `queue` | submission, time line, retirement |
//! | `frame` | command buffer and command pool of one submission in flight |
//! | `reusable` | submissions recorded once and made as often as wanted |
//! | `clock` | times of submissions |
//! | `semaphore` | the user's semaphores, to wait for and to signal |
//! | `wait` | polling and waiting |
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

mod calls;
mod device;
mod error;
mod memory;
mod pipeline;
mod record;
mod stats;
mod submit;
#[cfg(test)]
mod tests;
mod vendor;
#[cfg(feature = "wgpu")]
pub(crate) mod wgpu;

// Files name each other without their rooms.
use device::{
    caps, chain, create, device_profile, features, float_controls, gpu, instance, mesa, newer, raw,
    requirements, select, spirv_caps,
};
use memory::{allocate, import, passed, texels, texture, transfer};
use pipeline::{driver_cache, module, statistics};
use record::{caller, check, command, command_buffer, sets, template};
use submit::{clock, frame, queue, reusable, semaphore};

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
pub(crate) use memory::buffer::{Holder, Memory, Place};
pub(crate) use pipeline::compute::{Pipeline, PipelineOrigin, PipelineSource};
pub(crate) use queue::{GpuQueue, Point, Submitted};
pub use raw::{QueueLock, RawDevice, RawHandles};
pub(crate) use requirements::Lack;
pub(crate) use reusable::ReusableCommands;
pub use select::DeviceSelector;
pub use semaphore::RawSemaphore;
pub(crate) use stats::GpuStats;
pub(crate) use template::{CommandTemplate, Played, Pushes, Resources};
pub use texture::UserImage;
pub(crate) use texture::{ImageShape, Resource, Texture};
pub(crate) use vendor::{NARROW_BYTES, PRIVATE_BYTES};
