//! What happened: outcomes, reports, counters.

pub(crate) mod figures;
#[cfg(feature = "json")]
pub mod json;
pub(crate) mod list;
pub(crate) mod notes;
pub(crate) mod outcome;
#[cfg(feature = "picture")]
mod picture;
pub(crate) mod stats;
mod text;

pub use figures::CodeFigures;
pub use list::{
    ArgumentReport, CheckReport, CheckedBy, ChoiceReport, CodeStatistic, FusionReport, StepReport,
    SubmissionReport, Tier, WayReport,
};
pub use notes::NoteReport;
pub use outcome::{CancelCause, Outcome};
#[cfg(feature = "picture")]
pub use picture::Picture;
pub use stats::{Objects, Stats};

pub use crate::jit::{
    AccessPair, AccessSite, AloneReason, BarrierReason, BarrierReport, BufferId, BufferReport, CodeChange,
    EpilogueReport, GroupReport, InlineReport, Internalization, Members, NoPushBuffer, Note, NoteKind,
    Places, Promote, Race, Reason, RenameReport, ReorderReport, Report, RewriteReason, RewriteReport,
    SplitReport, TrustedReport, UnboundedLoop, Way, WriteRace,
};
