//! What became of a submission or of a fusion list.

use std::fmt;

use crate::jit::{Plan, Reason};

/// What became of a submission, or of the fusion list that it was part of.
///
/// Carried by every [`Event`](crate::Event).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It is in the list of a queue in fusion mode, and nothing has run yet.
    Pending,
    /// It was submitted outside fusion mode.
    Unfused,
    /// The whole list became one kernel.
    Fused,
    /// The list became several kernels, at least one of them fused; the report says where it was split and why.
    Split,
    /// Fusion mode ended before the list was completed; the list ran unfused.
    Cancelled {
        /// What ended it.
        by: CancelCause,
    },
    /// The list was completed, and nothing of it could be fused; it ran unfused.
    Refused {
        /// Why.
        reason: Reason,
    },
    /// The list was completed, and ran unfused because its fused code is still being built in the background
    /// ([`FusionProperties::build_in_background`](crate::FusionProperties::build_in_background)).
    Building,
    /// It did not run: the event's `wait` returns the error.
    Failed,
}

impl Outcome {
    /// What a plan comes to.
    pub(crate) fn of(plan: &Plan) -> Outcome {
        if plan.steps.len() == 1 && plan.steps[0].is_fused() {
            Outcome::Fused
        } else if plan.steps.iter().any(|step| step.members.len() > 1) {
            Outcome::Split
        } else {
            Outcome::Refused { reason: Outcome::refusal(plan) }
        }
    }

    /// Why a plan is not one kernel: the reason at its first split.
    pub(crate) fn refusal(plan: &Plan) -> Reason {
        if plan.steps.is_empty() {
            return Reason::NoWorkGroups;
        }
        plan.report.splits.first().map_or(Reason::Single, |split| split.reason.clone())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Pending => f.write_str("pending"),
            Outcome::Unfused => f.write_str("unfused"),
            Outcome::Fused => f.write_str("fused"),
            Outcome::Split => f.write_str("split"),
            Outcome::Cancelled { by } => write!(f, "cancelled by {by}"),
            Outcome::Refused { reason } => write!(f, "refused: {reason}"),
            Outcome::Building => f.write_str("unfused while it is built"),
            Outcome::Failed => f.write_str("failed"),
        }
    }
}

/// What ended fusion mode before `complete_fusion` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelCause {
    /// `cancel_fusion` was called.
    Explicit,
    /// A wait for the queue, or for the whole context.
    QueueWait,
    /// A wait for the event of a listed submission or of the list.
    EventWait,
    /// The host reads a buffer that a listed kernel writes.
    HostRead,
    /// An argument that is declared to be constant, of a buffer that a listed kernel writes.
    Constant,
    /// The host writes a buffer that a listed kernel uses.
    HostWrite,
    /// A copy, fill or update of a buffer that a listed kernel uses.
    Command,
    /// A host task on a buffer that a listed kernel uses.
    HostTask,
    /// A submission to another queue that has to come after, or that depends on a listed event.
    OtherQueue,
    /// The last handle of the queue was dropped.
    QueueDropped,
    /// The closure of `fuse` returned an error or panicked, or the wrapper that began the list was dropped.
    ScopeLeft,
    /// A kept list that was recorded into a command buffer of the program's, and conflicts with what is listed.
    Recorded,
    /// A semaphore of the program's that is to be signalled after what is listed.
    Semaphore,
}

impl fmt::Display for CancelCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CancelCause::Explicit => "request",
            CancelCause::QueueWait => "a wait for the queue",
            CancelCause::EventWait => "a wait for an event",
            CancelCause::HostRead => "a host read",
            CancelCause::Constant => "an argument that is declared constant, and that the list writes",
            CancelCause::HostWrite => "a host write",
            CancelCause::Command => "a copy, fill or update",
            CancelCause::HostTask => "a host task",
            CancelCause::OtherQueue => "a submission to another queue",
            CancelCause::QueueDropped => "the end of the queue",
            CancelCause::ScopeLeft => "leaving the fusion scope early",
            CancelCause::Recorded => "recording a list into a command buffer",
            CancelCause::Semaphore => "the signal of a semaphore",
        })
    }
}
