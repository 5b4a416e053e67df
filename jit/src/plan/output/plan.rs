//! A plan: the dispatches of a list, and the reasons.

use crate::Reason;
#[cfg(feature = "certify")]
use crate::plan::input::submission::Submission;
#[cfg(feature = "certify")]
use crate::plan::output::again::{Again, Behind, PairVerdict};
use crate::plan::output::origin::Values;
use crate::plan::output::report::Report;
use crate::plan::output::step::Step;

/// What to dispatch, in order, and why.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The dispatches.
    pub steps: Vec<Step>,
    /// Why they are what they are.
    pub report: Report,
    /// What it depends on of push constants.
    pub(crate) values: Values,
    /// What was found out about pairs of accesses, for certificates.
    #[cfg(feature = "certify")]
    pub(crate) verdicts: Vec<PairVerdict>,
    /// What is recomputed.
    #[cfg(feature = "certify")]
    pub(crate) again: Vec<Again>,
    /// What is done where something is stored.
    #[cfg(feature = "certify")]
    pub(crate) behind: Vec<Behind>,
    /// Submissions as they were when they were placed, with their positions.
    #[cfg(feature = "certify")]
    pub(crate) placed: Vec<(usize, Submission)>,
    /// The list in closed kernels, if there are some.
    #[cfg(feature = "certify")]
    pub(crate) closed: Option<Vec<Submission>>,
    /// The list that was planned, if some of it was rewritten.
    #[cfg(feature = "certify")]
    pub(crate) rewritten: Option<Vec<Submission>>,
}

/// A submission that cannot be dispatched on this device at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("submission {submission} ({kernel}): {reason}")]
pub struct PlanError {
    /// Position in the list.
    pub submission: usize,
    /// Name of the kernel.
    pub kernel: String,
    /// Why.
    pub reason: Reason,
}
