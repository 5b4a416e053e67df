//! How to make a context and its queues.

use std::path::PathBuf;

use crate::{
    jit::{FloatMode, Pass},
    options::{cache::CacheOptions, environment, guard::CompileGuard, tuning::Tuning},
    vk::DeviceSelector,
};

/// How to make a [`Context`](crate::Context). Methods take and return the options by value.
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
    /// The defaults: the fastest device, no validation, no profiling, caches in memory and in the user's cache folder.
    #[must_use]
    pub fn new() -> ContextOptions {
        ContextOptions::default()
    }

    /// The defaults, changed by [environment variables](crate::environment::VARIABLES). One that cannot be read, or whose
    /// name is almost that of another, is a warning in the log.
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

    /// Which device: a number in the loader's order, a part of its name, or a [`DeviceSelector`].
    #[must_use]
    pub fn device(mut self, device: impl Into<DeviceSelector>) -> ContextOptions {
        self.device = device.into();
        self
    }

    /// Opens the device to plan, to emit, to build pipelines and to fill the cache, and for nothing else: without queues, and without memory
    /// for buffers. What would run, or takes memory, is [`DeviceError::CompileOnly`](crate::error::DeviceError::CompileOnly); a list is
    /// recorded as ever, kept with [`keep_unrun`](crate::FusionWrapper::keep_unrun), and then [planned](crate::FusedList::plan) or
    /// [warmed](crate::FusedList::warm).
    ///
    /// A device without hardware, which Mesa's RADV opens where `RADV_FORCE_FAMILY` names a family of AMD's, is opened like this in any case.
    #[must_use]
    pub fn compile_only(mut self, on: bool) -> ContextOptions {
        self.compile_only = on;
        self
    }

    /// Switches the Khronos validation layer on, if it is installed. Its messages go to the log and are counted in
    /// [`Stats`](crate::Stats).
    #[must_use]
    pub fn validation_layer(mut self, on: bool) -> ContextOptions {
        self.validation = on;
        self
    }

    /// Translation validation: before fused code is used for the first time, an interpreter runs it and the unfused list
    /// on small instances of the list (few work-groups, the edges of guards, nothing to do), in hostile orders, and compares
    /// bytes, touched sets and uninitialised reads. Code that differs is not used: the list runs unfused, with
    /// [`Reason::Differs`](crate::Reason::Differs). What the interpreter cannot judge is used; the report says so.
    ///
    /// This checks the planner and the code it makes, not the driver: for that see
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

    /// How floats are compiled in what runs outside of fusion lists, and in lists that are cancelled: `Strict`, the default, gives the
    /// bits that a fused list gives under `Strict`. `Contract` leaves the float decorations and execution modes of each kernel as the
    /// user's compiler wrote them. [`FusionProperties::float`](crate::FusionProperties::float) says it of one list, those of its kernels
    /// that run alone included.
    #[must_use]
    pub fn float(mut self, float: FloatMode) -> ContextOptions {
        self.float = float;
        self
    }

    /// Takes the time on the device of every submission of every queue, and asks the driver about the code that it makes
    /// ([`StepReport::statistics`](crate::StepReport::statistics)).
    #[must_use]
    pub fn profiling(mut self, on: bool) -> ContextOptions {
        self.profiling = on;
        self
    }

    /// Accesses outside of the range that is bound are defined, as Vulkan's feature `robustBufferAccess2` has it: they read zeros and write
    /// nothing, fused and unfused. Off by default, because it costs time: drivers compare every address with the end of its range, and
    /// what is fused then rests on what can be shown to stay within its range. Where that cannot be shown of what one kernel writes and another
    /// one accesses they are two dispatches, and a kernel is not fused where an access may leave a uniform buffer, an array inside of a
    /// block, or a range whose length is no multiple of four bytes ([`Reason::MayLeaveRange`](crate::Reason::MayLeaveRange)).
    ///
    /// A context with a device of its own switches the feature on, and does not open where the device has not got it. Over
    /// a device of the program's it is a statement: the program says that the device was made with the feature. Where that is seen
    /// already (`vulkano`'s device, or the create info of a [`RawDevice`](crate::RawDevice)) it need not be said.
    #[must_use]
    pub fn robust_buffer_access(mut self, on: bool) -> ContextOptions {
        self.robust = on;
        self
    }

    /// Parameters of the schedules that the planner chooses, instead of those known to be best for the device. They change how fast
    /// a fused list runs, and never what it computes.
    #[must_use]
    pub fn tuning(mut self, tuning: Tuning) -> ContextOptions {
        self.tuning = tuning;
        self
    }

    /// How code is cached.
    #[must_use]
    pub fn cache(mut self, cache: CacheOptions) -> ContextOptions {
        self.cache = cache;
        self
    }

    /// Writes the SPIR-V of every kernel that is built or loaded into a folder, named by its key.
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

/// How to make a [`Queue`](crate::Queue).
#[derive(Debug, Clone, Default)]
pub struct QueueOptions {
    pub(crate) fusion: bool,
    pub(crate) profiling: bool,
}

impl QueueOptions {
    /// A queue that runs what is submitted at once.
    #[must_use]
    pub fn new() -> QueueOptions {
        QueueOptions::default()
    }

    /// Lets the queue enter fusion mode.
    #[must_use]
    pub fn enable_fusion(mut self, on: bool) -> QueueOptions {
        self.fusion = on;
        self
    }

    /// Takes the time on the device of every submission of this queue.
    #[must_use]
    pub fn profiling(mut self, on: bool) -> QueueOptions {
        self.profiling = on;
        self
    }
}
