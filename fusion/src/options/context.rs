//! Options of contexts and queues.

use std::path::PathBuf;

use crate::{
    jit::{FloatMode, Pass},
    options::{cache::CacheOptions, environment, guard::CompileGuard, tuning::Tuning},
    vk::DeviceSelector,
};

/// Options of a [`Context`](crate::Context), set by chained calls:
///
/// ```no_run
/// # fn main() -> Result<(), vkfuse::Error> {
/// use vkfuse::{Context, ContextOptions};
///
/// let context = Context::with_options(ContextOptions::new().device("H200").validation_layer(true))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ContextOptions {
    pub(crate) device: DeviceSelector,
    pub(crate) validation: bool,
    pub(crate) validate: bool,
    pub(crate) profiling: bool,
    pub(crate) cache: CacheOptions,
    pub(crate) dump_spirv: Option<PathBuf>,
    pub(crate) print_after: Vec<Pass>,
    pub(crate) tuning: Tuning,
    pub(crate) guard: CompileGuard,
    pub(crate) no_autotune: bool,
    pub(crate) robust: bool,
    pub(crate) float: FloatMode,
    pub(crate) compile_only: bool,
}

impl ContextOptions {
    /// The default options: the fastest device, no validation layer, no profiling, caches in memory and in the user's cache folder.
    /// The environment is not read, except for the settings of the caches.
    #[must_use]
    pub fn new() -> ContextOptions {
        ContextOptions::default()
    }

    /// The default options, changed by [environment variables](crate::environment::VARIABLES). Variables with invalid values, and
    /// misspelt names of variables, are logged as warnings.
    #[must_use]
    pub fn from_env() -> ContextOptions {
        environment::check_names();
        ContextOptions {
            device: environment::device(),
            validation: environment::validation(),
            validate: environment::validate(),
            profiling: environment::profiling(),
            cache: CacheOptions::default(),
            dump_spirv: environment::dump_spirv(),
            print_after: environment::print_after(),
            tuning: environment::tuning(),
            guard: environment::compile_guard(),
            no_autotune: !environment::autotune(),
            robust: false,
            float: FloatMode::Strict,
            compile_only: false,
        }
    }

    /// Selects the device: by its number in the order of the Vulkan loader, by a part of its name, or by a [`DeviceSelector`].
    #[must_use]
    pub fn device(mut self, device: impl Into<DeviceSelector>) -> ContextOptions {
        self.device = device.into();
        self
    }

    /// Opens the device for compilation alone, without queues and without memory for buffers: to see plans, and to fill caches ahead of time.
    ///
    /// Calls that would run something, or need device memory, fail with
    /// [`DeviceError::CompileOnly`](crate::error::DeviceError::CompileOnly). Lists are recorded as usual, kept with
    /// [`keep_unrun`](crate::FusionWrapper::keep_unrun), and then [planned](crate::FusedList::plan) or [warmed](crate::FusedList::warm).
    ///
    /// A device without hardware, which Mesa's RADV opens if `RADV_FORCE_FAMILY` names a family of AMD GPUs, is always opened like this.
    #[must_use]
    pub fn compile_only(mut self, on: bool) -> ContextOptions {
        self.compile_only = on;
        self
    }

    /// Enables the Khronos validation layer, if it is installed. Its messages are logged, and counted in [`Stats`](crate::Stats).
    #[must_use]
    pub fn validation_layer(mut self, on: bool) -> ContextOptions {
        self.validation = on;
        self
    }

    /// Enables translation validation: fused code is compared with the unfused list in an interpreter before it is used for the first time.
    ///
    /// The interpreter runs both on small instances of the list (few work-groups, the edges of guards, nothing to do), in hostile orders, and
    /// compares bytes, touched addresses and uninitialised reads. Code that differs is not used: the list runs unfused, with
    /// [`Reason::Differs`](crate::Reason::Differs). Code that the interpreter cannot run is used, and the report says so.
    ///
    /// This checks the planner and the emitted code, not the driver. For the driver see
    /// [`FusionProperties::verify_first_run`](crate::FusionProperties::verify_first_run).
    #[must_use]
    pub fn validate_code(mut self, on: bool) -> ContextOptions {
        self.validate = on;
        self
    }

    /// Compiles new code in a child process first, so that a crash of the driver's compiler does not end this process.
    ///
    /// Where the compiler crashes, or does not return within two minutes, the persistent cache remembers that for the code and the
    /// driver, and neither this process nor a later one with a guard gives the code to the driver: a fused list runs unfused, with
    /// [`Reason::CompilerDies`](crate::Reason::CompilerDies), and submitting a kernel that cannot be compiled by itself fails with
    /// [`BuildError::Died`](crate::BuildError::Died).
    ///
    /// Off by default: it takes a second process with a device of its own, and compiles every new pipeline twice where the driver has no
    /// pipeline cache. Pipelines that the persistent cache holds are not compiled, and do not pass the guard.
    #[must_use]
    pub fn compile_guard(mut self, guard: CompileGuard) -> ContextOptions {
        self.guard = guard;
        self
    }

    /// Whether lists are measured on the device where the planner does not know which way to run them is the fastest; on by default.
    ///
    /// The persistent cache remembers the choice. If this is off, such a list runs as the planner expects to be faster, the same way every time.
    /// [`FusionProperties::autotune`](crate::FusionProperties::autotune) sets it for one list, and explains what is measured.
    #[must_use]
    pub fn autotune(mut self, on: bool) -> ContextOptions {
        self.no_autotune = !on;
        self
    }

    /// Sets how floating-point operations are compiled outside of fusion lists, and in lists that are cancelled.
    ///
    /// [`FloatMode::Strict`], the default, gives the same bits as fused lists under `Strict`. [`FloatMode::Contract`] leaves the float
    /// decorations and execution modes of each kernel as the compiler wrote them.
    /// [`FusionProperties::float`](crate::FusionProperties::float) sets the mode for one list, including kernels in it that run alone.
    #[must_use]
    pub fn float(mut self, float: FloatMode) -> ContextOptions {
        self.float = float;
        self
    }

    /// Measures the device time of every submission of every queue, and queries the driver's statistics of compiled code
    /// ([`StepReport::statistics`](crate::StepReport::statistics)).
    #[must_use]
    pub fn profiling(mut self, on: bool) -> ContextOptions {
        self.profiling = on;
        self
    }

    /// Makes accesses outside of a bound range defined, as the Vulkan feature `robustBufferAccess2` does: they read zeros and write nothing, fused
    /// and unfused.
    ///
    /// Off by default, because it costs time: drivers compare every address with the end of its range, and fewer kernels are fused. If it
    /// cannot be shown that the accesses to data passed from one kernel to another stay in range, the two become separate dispatches. A kernel with an access
    /// that may leave a uniform buffer, an array inside of a block, or a range whose length is no multiple of four bytes is not fused at all
    /// ([`Reason::MayLeaveRange`](crate::Reason::MayLeaveRange)).
    ///
    /// A context that opens its own device enables the feature, and fails if the device does not have it. For a device that the program opened, this
    /// option declares that the device was made with the feature; it is not needed where the context can see that: for devices of vulkano, and for
    /// a [`RawDevice`](crate::RawDevice) with its create info.
    #[must_use]
    pub fn robust_buffer_access(mut self, on: bool) -> ContextOptions {
        self.robust = on;
        self
    }

    /// Sets parameters of the schedules that the planner chooses, which by default are those that are known to be best for the device. They affect
    /// the speed of fused lists, never their results.
    #[must_use]
    pub fn tuning(mut self, tuning: Tuning) -> ContextOptions {
        self.tuning = tuning;
        self
    }

    /// Sets how code is cached: in memory, on disk, over the network.
    #[must_use]
    pub fn cache(mut self, cache: CacheOptions) -> ContextOptions {
        self.cache = cache;
        self
    }

    /// Writes the SPIR-V of every kernel that is built or loaded from a cache to a folder. Files are named by the key of the code.
    #[must_use]
    pub fn dump_spirv(mut self, folder: impl Into<PathBuf>) -> ContextOptions {
        self.dump_spirv = Some(folder.into());
        self
    }
}

impl From<usize> for DeviceSelector {
    fn from(index: usize) -> DeviceSelector {
        DeviceSelector::Index(index)
    }
}

impl From<&str> for DeviceSelector {
    fn from(name: &str) -> DeviceSelector {
        DeviceSelector::Name(name.to_owned())
    }
}

impl From<String> for DeviceSelector {
    fn from(name: String) -> DeviceSelector {
        DeviceSelector::Name(name)
    }
}

/// Options of a [`Queue`](crate::Queue), set by chained calls.
#[derive(Debug, Clone, Default)]
pub struct QueueOptions {
    pub(crate) fusion: bool,
    pub(crate) profiling: bool,
}

impl QueueOptions {
    /// The default options: submissions go to the device at once, and are not timed.
    #[must_use]
    pub fn new() -> QueueOptions {
        QueueOptions::default()
    }

    /// Allows the queue to enter fusion mode ([`Queue::fuse`](crate::Queue::fuse), [`FusionWrapper`](crate::FusionWrapper)). Outside of fusion
    /// mode this changes nothing.
    #[must_use]
    pub fn enable_fusion(mut self, on: bool) -> QueueOptions {
        self.fusion = on;
        self
    }

    /// Measures the device time of every submission of this queue: [`Event::gpu_time`](crate::Event::gpu_time).
    #[must_use]
    pub fn profiling(mut self, on: bool) -> QueueOptions {
        self.profiling = on;
        self
    }
}
