//! What happened: outcomes, reports, counters.

pub(crate) mod list;
pub(crate) mod outcome;
pub(crate) mod stats;

pub use list::{CheckReport, CheckedBy, FusionReport, StepReport, Tier};
pub use outcome::{CancelCause, Outcome};
pub use stats::{Objects, Stats};

pub use crate::jit::{
    AloneReason, BarrierReason, BarrierReport, BufferId, BufferReport, GroupReport, InlineReport,
    Internalization, Places, Promote, Reason, Report, RewriteReason, RewriteReport, SplitReport,
    TrustedReport,
};
