//! What is planned: a list, how it is to be fused, and on which device.

use crate::plan::input::limits::Limits;
use crate::plan::input::options::{FuseOptions, Policy};
use crate::plan::input::submission::Submission;
use crate::plan::input::uses::Uses;

/// A list as it is at one point of planning, with what every decision about it may depend on.
#[derive(Clone, Copy)]
pub(in crate::plan) struct Problem<'a> {
    pub(in crate::plan) list: &'a [Submission],
    /// The uses of its buffers, which a rewrite that leaves all arguments as they are does not change.
    pub(in crate::plan) uses: &'a Uses,
    pub(in crate::plan) options: &'a FuseOptions,
    pub(in crate::plan) limits: &'a Limits,
}

impl<'a> Problem<'a> {
    /// The same with another list, whose arguments are those of this one.
    pub(in crate::plan) fn with_list(self, list: &'a [Submission]) -> Self {
        Self { list, ..self }
    }

    /// The same with other options.
    pub(in crate::plan) fn with_options(self, options: &'a FuseOptions) -> Self {
        Self { options, ..self }
    }

    /// Its options under [`Policy::Prove`]: rewrites are proven under either policy.
    pub(in crate::plan) fn proven(self) -> FuseOptions {
        FuseOptions { policy: Policy::Prove, ..*self.options }
    }
}
