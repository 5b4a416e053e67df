//! Properties of a fusion list.

use std::sync::Once;

use crate::jit::{FloatMode, FuseOptions, Policy};

/// Properties of a fusion list.
///
/// They are passed to [`FusionWrapper::complete_fusion`](crate::FusionWrapper::complete_fusion) or
/// [`Queue::fuse_with`](crate::Queue::fuse_with).
///
/// With the defaults every fusion is proven, a fused list gives the same bits as an unfused one, and kernels are fused only where that is
/// expected to be faster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct FusionProperties {
    pub(crate) no_barriers: bool,
    pub(crate) force: bool,
    pub(crate) no_rewrites: bool,
    pub(crate) background: bool,
    pub(crate) verify: bool,
    pub(crate) no_autotune: bool,
    pub(crate) apart: bool,
    pub(crate) policy: Policy,
    pub(crate) float: FloatMode,
}

impl FusionProperties {
    /// The default properties.
    #[must_use]
    pub fn new() -> FusionProperties {
        FusionProperties::default()
    }

    /// Omits barriers between fused kernels, also where the planner finds that one is needed. Only has an effect under [`Policy::Trust`], and the
    /// report lists the omitted ones. Barriers that are not needed are always omitted.
    #[must_use]
    pub fn no_barriers(mut self) -> FusionProperties {
        self.no_barriers = true;
        self
    }

    /// Fuses also where that is expected to be slower. If the list cannot become one kernel, it runs unfused, and completing it is an
    /// error.
    #[must_use]
    pub fn force_fusion(mut self) -> FusionProperties {
        self.force = true;
        self
    }

    /// Fuses nothing: every kernel is a dispatch of its own, in one command buffer with the necessary barriers. This is what a program
    /// would record by hand, and the baseline to compare fusion with. With [`force_fusion`](Self::force_fusion) it is an error.
    #[must_use]
    pub fn unfused(mut self) -> FusionProperties {
        (self.apart, self.no_autotune) = (true, true);
        self
    }

    /// Keeps the order in which each kernel processes its elements. Without this, a kernel that processes elements independently may take them in
    /// the order of another kernel's rows or tiles, so that the two can be fused; the report's `rewrites` name such kernels.
    #[must_use]
    pub fn no_rewrites(mut self) -> FusionProperties {
        self.no_rewrites = true;
        self
    }

    /// Does not wait for fused code that is not in the memory cache: the list runs unfused, with the outcome
    /// [`Outcome::Building`](crate::Outcome::Building), while a background thread builds or loads the code. Once the code is
    /// ready, lists of the same structure run fused. Has no effect without a memory cache.
    #[must_use]
    pub fn build_in_background(mut self) -> Self {
        self.background = true;
        self
    }

    /// Compares the results of fused and unfused code on the device, when this context uses fused code for the first time. This guards against
    /// errors of the driver's compiler.
    ///
    /// The unfused list runs on the buffers themselves, and the fused one on copies of the buffers that it writes, with the same contents. Then all
    /// bytes are compared; completing the list waits for that. Its results are the unfused ones in any case. If bytes differ, this context does
    /// not use the fused code again, and the outcome is [`Reason::Differs`](crate::Reason::Differs). If a comparison is not possible, because there
    /// is no memory for the copies or a kernel uses device addresses, the list runs unfused with
    /// [`Reason::NotCompared`](crate::Reason::NotCompared).
    ///
    /// Contents that stay inside of the fused kernel are not compared, and cannot be read afterwards either. One run with equal bytes shows little
    /// about runs with other data, or about races.
    #[must_use]
    pub fn verify_first_run(mut self, on: bool) -> FusionProperties {
        self.verify = on;
        self
    }

    /// Whether the list is measured on the device if the planner does not know which way to run it is the fastest; on by default.
    ///
    /// Some decisions depend on what the planner cannot see: whether a gather's indices are in order, how much of a long row a cache still
    /// holds. Such a list runs in two ways in turn, a dozen times in all. Both ways give the same bits, so every measured run is one that the
    /// program asked for. The device takes the times, and the fastest way stays.
    /// [`FusionReport::choice`](crate::report::FusionReport::choice) shows what was measured, and the persistent cache remembers it for the
    /// device and its driver. No call waits for this: a background thread builds the other way, and a way that is clearly slower gets no
    /// third turn. A list that is verified or built in the background is not measured.
    ///
    /// The fastest way may depend on the contents of buffers, which change. So a list that is fused against the planner's
    /// expectation is timed in one of 32 runs, and measured again where it takes longer than unfused; a kept list (see
    /// [`FusionWrapper::complete_and_keep`](crate::FusionWrapper::complete_and_keep)) is therefore planned at every run.
    ///
    /// One way may leave the contents of a promoted buffer in memory where the other does not. Until a way stays, the buffer can be read
    /// after some runs, and reading it after others is an error. The report of each run says which.
    ///
    /// If this is off, the list runs in the way that the planner expects to be faster, the same every time.
    #[must_use]
    pub fn autotune(mut self, on: bool) -> FusionProperties {
        self.no_autotune = !on;
        self
    }

    /// Sets what happens where a fusion cannot be proven correct: with [`Policy::Prove`], the default, the kernels stay separate dispatches; with
    /// [`Policy::Trust`] they are fused, and the report lists what was trusted.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> FusionProperties {
        self.policy = policy;
        self
    }

    /// Sets how floating-point operations of the list are compiled. With [`FloatMode::Strict`], the default, results have the same bits as
    /// unfused. With [`FloatMode::Contract`] the driver may contract operations across kernel boundaries.
    ///
    /// Kernels of the list that run alone are compiled in the same mode: under `Contract` with their own float decorations and execution modes.
    /// [`ContextOptions::float`](crate::ContextOptions::float) sets the mode outside of lists.
    #[must_use]
    pub fn float(mut self, float: FloatMode) -> FusionProperties {
        self.float = float;
        self
    }

    pub(crate) fn options(&self) -> FuseOptions {
        if self.force && self.apart {
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                tracing::warn!("`unfused` and `force_fusion` exclude each other: the list is an error");
            });
        }
        if self.no_barriers && self.policy != Policy::Trust {
            static SAID: Once = Once::new();
            SAID.call_once(|| tracing::warn!(target: "vkfuse::request", "`no_barriers` has no effect without the policy `trust`"));
        }
        FuseOptions {
            policy: self.policy,
            no_barriers: self.no_barriers,
            float: self.float,
            force: self.force,
            no_rewrites: self.no_rewrites,
            apart: self.apart,
            coarser: false,
            kept: 0,
            wide: false,
        }
    }
}
