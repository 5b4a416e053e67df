//! How a list may be fused.

use crate::jit::{FloatMode, FuseOptions, Policy};

/// How a list may be fused. The defaults prove everything and change no bit of any result.
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
    /// The defaults.
    #[must_use]
    pub fn new() -> FusionProperties {
        FusionProperties::default()
    }

    /// Leaves out barriers between the fused kernels even where one is needed. Has an effect only under
    /// [`Policy::Trust`]; the report lists what was trusted. Where none is needed there is none anyway.
    #[must_use]
    pub fn no_barriers(mut self) -> FusionProperties {
        self.no_barriers = true;
        self
    }

    /// Fuses also where that is known to be slower, and makes it an error if the list does not become one kernel.
    /// The list runs unfused then.
    #[must_use]
    pub fn force_fusion(mut self) -> FusionProperties {
        self.force = true;
        self
    }

    /// Fuses nothing: every kernel is a dispatch of its own, all in one command buffer with the barriers between them that they need.
    /// That is what a program does that records its kernels by hand, and what fusion is to be measured against.
    #[must_use]
    pub fn unfused(mut self) -> FusionProperties {
        (self.apart, self.no_autotune) = (true, true);
        self
    }

    /// Runs every kernel in its own order. Without this, a kernel that goes by its element number may take the rows or tiles of
    /// another, and so join it in one kernel: the report's `rewrites` say which.
    #[must_use]
    pub fn no_rewrites(mut self) -> FusionProperties {
        self.no_rewrites = true;
        self
    }

    /// Does not wait for fused code that is not in memory: the list runs unfused, with the outcome
    /// [`Outcome::Building`](crate::Outcome::Building), while a thread of its own builds or loads the code. As soon as
    /// that is there, lists of the same structure run fused. Without a memory cache this changes nothing.
    #[must_use]
    pub fn build_in_background(mut self) -> Self {
        self.background = true;
        self
    }

    /// Compares fused and unfused on the device where fused code is used for the first time by this context: for who
    /// distrusts a driver.
    ///
    /// The fused list runs on copies of the buffers that it writes, the unfused one on the buffers themselves, from the same
    /// contents; then all bytes are compared, and ending the list waits for that. The results are the unfused ones in any case. If they
    /// differ, the list's fused code is not used again by this context, for no list, and the outcome says so:
    /// [`Reason::Differs`](crate::Reason::Differs). If they cannot be compared, because there is no memory for the
    /// copies or a kernel follows device addresses, the list runs unfused with [`Reason::NotCompared`](crate::Reason::NotCompared).
    ///
    /// What stays inside the fused kernel is not compared, and cannot be read afterwards either. Equal bytes on one run show little about
    /// others: other numbers, and races that came out well.
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

    /// Whether what cannot be proven is split (`Prove`, the default) or believed (`Trust`).
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> FusionProperties {
        self.policy = policy;
        self
    }

    /// Whether floating-point results must have the same bits as unfused (`Strict`, the default), or the driver may
    /// contract operations across the former kernel borders (`Contract`). Kernels of the list that run alone are compiled in the same mode:
    /// under `Contract` with their own float decorations and execution modes.
    /// [`ContextOptions::float`](crate::ContextOptions::float) says it of what runs outside of lists.
    #[must_use]
    pub fn float(mut self, float: FloatMode) -> FusionProperties {
        self.float = float;
        self
    }

    pub(crate) fn options(&self) -> FuseOptions {
        FuseOptions {
            policy: self.policy,
            no_barriers: self.no_barriers,
            float: self.float,
            force: self.force,
            no_rewrites: self.no_rewrites,
            apart: self.apart,
        }
    }
}
