//! Why something was not fused or not promoted.

use crate::kernel::KernelReason;

/// Why something was not fused, split or not promoted. Never an error: the work runs unfused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The list holds no submission.
    #[error("the fusion list is empty")]
    Empty,
    /// The kernel has no normal form.
    #[error(transparent)]
    Kernel(#[from] KernelReason),
}
