//! A fusion list into dispatches: groups, barriers, internalization, and the recipe of each.
//!
//! [`plan`] never fails. What cannot be fused becomes a dispatch of its own, and the [`Report`] says why.
//! Planning uses the numbers of this one call (group counts, push constants, offsets), but what comes
//! out for the code is only what those numbers allow: equal outcomes for other numbers give the same
//! recipe and so the same key.

//!
//! The folders are in the order in which each may use those before it: `input` is what a plan is made from, `output` what it is made of,
//! `grouping` says what may be one dispatch, `promotion` which buffers stay inside of one, `rewrites` what lets more kernels join, and
//! `dispatch` which invocation does which work. `growth` lets a group grow, the planner tries all of it, and `doubt` names what is to be measured. `overrun` finds submissions that are
//! mistaken about how much they touch, `repeated` those whose work-groups do again what others did, `old_contents` those that read
//! what nothing has written, `races` those whose invocations read what others write or write different values (`stored`) to one place,
//! `touching` arguments that share what they bind, and `notes` all of these in a list.

pub(crate) mod dispatch;
mod doubt;
pub(crate) mod grouping;
mod growth;
pub(crate) mod input;
mod notes;
mod old_contents;
pub(crate) mod output;
mod overrun;
mod planner;
pub(crate) mod promotion;
mod races;
mod repeated;
pub(crate) mod rewrites;
mod stored;
mod touching;

pub use doubt::{Way, doubts};
pub use grouping::cause::not_followed;
pub use input::limits::{
    BlockCoarseningLimits, Limits, ShapeLimits, SmallScalars, SubgroupLimits, ThreadCoarseningLimits,
    UnrollLimits,
};
pub use input::options::{FloatMode, FuseOptions, Policy};
pub use input::submission::{
    Arg, BufferId, ImageSize, Internalization, Number, Numbers, Promote, Submission, has_work,
};
pub use input::uses::with_settled_numbers;
pub use notes::{Known, Note, NoteKind, in_words, notes, writers_in_words};
pub use old_contents::{
    OldRead, Span, Texels, groups_in_use, lost_updates, may_read, may_write, may_write_texels, old_reads,
};
pub use output::changed::CodeChange;
pub use output::ingredients::Ingredients;
pub use output::members::Members;
pub use output::plan::{Plan, PlanError};
pub(crate) use output::recipe;
pub use output::report::{
    AloneReason, BarrierReason, BarrierReport, BufferReport, EpilogueReport, GroupReport, InlineReport,
    Places, RenameReport, ReorderReport, Report, RewriteReport, SplitReport, TrustedReport,
};
pub(crate) use output::step;
pub use output::step::{Bound, Placement, Step, unfused_schedule};
pub use output::values::PushFlow;
pub use overrun::{Overrun, TexelOverrun, loop_rounds, overrun, texel_overrun};
pub use planner::{closed, plan, plan_unfused};
pub(crate) use planner::{plan_as, plan_in_order};
pub use races::{Race, WriteRace, race, write_race};
pub use repeated::{repeated, repeated_inside};
pub use rewrites::must_write::{overwrites, read_up_to, written};
pub use touching::{Touching, touching};
