//! Other ways to run a list that may be faster than its plan.
//!
//! The planner knows the bytes that its dispatches bind, and a few facts about a kind of device. That says nothing about the order of a gather's
//! indices, or how much of a long row a cache still holds when a kernel reads it for the second time. A decision that depends on such a thing is in
//! doubt, and the engine may measure the ways (autotuning). All of them give the same bits, so a measurement can be a run that the user asked for.
//!
//! # Guarantees
//! - where nothing is in doubt, no way but the usual one is named

use crate::plan::input::analysis::analysis_of;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::{FloatMode, FuseOptions, KEPT_WORDS, Policy};
use crate::plan::input::submission::Submission;
use crate::plan::output::plan::Plan;
use crate::plan::output::report::AloneReason;
use crate::plan::output::step::Step;
use crate::plan::rewrites::{inline, pays};
use crate::reason::{Reason, RewriteReason};

/// Below this many bytes, what a dispatch takes to start counts for more than the order in which it goes through memory.
const LEAST_BYTES: u64 = 4 << 20;
/// A fused work-group that goes through more bytes reads some of them again when no cache close to it has them any more.
const LONG_BYTES: u64 = 128 << 10;

/// A way to run a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Way {
    /// As the planner has it.
    Usual,
    /// Fused also where the planner expects that to be slower.
    Forced,
    /// Two long work-groups in one ([block coarsening](crate::plan::Limits::block_coarsening)) also where few are left of a dispatch.
    Coarser,
    /// The first rounds of long loops that load the same stay in registers ([`UnrollLimits::keep`](crate::plan::UnrollLimits::keep)).
    Kept,
    /// The same, with twice as many words in registers.
    KeptMore,
    /// Fused where kernels keep most of their invocations.
    Wide,
    /// Every kernel by itself.
    Apart,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 7] =
        [Way::Usual, Way::Forced, Way::Coarser, Way::Kept, Way::KeptMore, Way::Wide, Way::Apart];

    /// Whether it may fuse less than the usual way, so that buffers which stay inside there need memory.
    #[must_use]
    pub fn fuses_less(self) -> bool {
        matches!(self, Way::Wide | Way::Apart)
    }

    /// The options that plan it.
    #[must_use]
    pub fn options(self, options: &FuseOptions) -> FuseOptions {
        match self {
            Way::Usual => *options,
            Way::Forced => FuseOptions { force: true, ..*options },
            Way::Coarser => FuseOptions { coarser: true, ..*options },
            Way::Kept => FuseOptions { kept: KEPT_WORDS[0], ..*options },
            Way::KeptMore => FuseOptions { kept: KEPT_WORDS[1], ..*options },
            Way::Wide => FuseOptions { wide: true, ..*options },
            Way::Apart => FuseOptions { apart: true, ..*options },
        }
    }
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Way::Usual => "usual",
            Way::Forced => "forced",
            Way::Coarser => "coarser",
            Way::Kept => "kept",
            Way::KeptMore => "kept-more",
            Way::Wide => "wide",
            Way::Apart => "apart",
        })
    }
}

/// The ways that may be faster than a plan of the usual one for this list.
#[must_use]
pub fn doubts(plan: &Plan, list: &[Submission], options: &FuseOptions, limits: &Limits) -> Vec<Way> {
    // Images have no bytes that anybody knows.
    let bytes = |step: &Step| {
        let buffers = step.bindings.iter().filter(|bound| bound.kind.texture().is_none());
        buffers.fold(0, |sum: u64, bound| sum.saturating_add(bound.len))
    };
    let total = plan.steps.iter().map(bytes).fold(0, u64::saturating_add);
    // What is trusted or contracted need not give the same bits in every way.
    let differs = options.policy != Policy::Prove || options.float != FloatMode::Strict;
    if differs || options.force || options.coarser || options.kept > 0 || options.wide || options.apart {
        return Vec::new();
    }
    let is_large = total >= LEAST_BYTES;
    let close = is_large
        && plan.report.splits.iter().any(|split| {
            matches!(split.reason, Reason::SlowBroadcast { .. }) || split.tried.as_ref().is_some_and(is_close)
        });
    let is_long = |step: &Step| {
        let groups = step.groups.iter().map(|&count| u64::from(count)).product::<u64>();
        is_large && bytes(step) / groups.max(1) > LONG_BYTES
    };
    let fused = || plan.steps.iter().filter(|step| step.is_fused());
    let narrow = fused().filter(|step| is_narrow(step, list, limits)).count();
    let apart = narrow > 0 || fused().any(is_long) || fused().any(|step| does_in_turn(step, list, limits));
    // Where two kernels are all that is fused, the way in which they are wide is that in which they are apart.
    let wide = narrow > 0 && (fused().count() > 1 || fused().any(|step| step.members.len() > 2));
    // Two long rows of a work-group have more loads in flight, and load once what both need; but fewer work-groups may be too few for the device.
    let least = u64::from(Way::Coarser.options(options).limits(limits).block_coarsening.least);
    let mut steps = plan.steps.iter().zip(&plan.report.groups);
    // What is kept is not loaded again; but it is more code, and leaves fewer registers for loads in flight.
    let long = steps.clone().filter(|(step, _)| is_long(step));
    let kept = long.map(|(_, group)| group.may_keep).fold(0, u32::max);
    let coarser = steps.any(|(step, group)| match group.alone {
        Some(AloneReason::Few { work_groups, .. }) => work_groups >= 2 * least && is_long(step),
        _ => false,
    });
    let ways = [
        (close, Way::Forced),
        (coarser, Way::Coarser),
        (kept > 0, Way::Kept),
        (kept > KEPT_WORDS[0], Way::KeptMore),
        (wide, Way::Wide),
        (apart, Way::Apart),
    ];
    ways.into_iter().filter_map(|(is_in_doubt, way)| is_in_doubt.then_some(way)).collect()
}

/// Whether a fused dispatch has far fewer invocations than one of its members had, on a device that runs many at once.
fn is_narrow(step: &Step, list: &[Submission], limits: &Limits) -> bool {
    let mut members = step.members.iter().filter_map(|&at| list.get(at));
    let counts = step.groups.into_iter().chain(step.local_size());
    let fused = counts.map(u64::from).fold(1, u64::saturating_mul);
    members.any(|one| pays::is_narrow(fused, one.invocations(), limits))
}

/// Whether a fused dispatch does one after another what the device would run at the same time: two members that take long, hand each other nothing, and
/// do not fill the device. What both hand on to a third may not be worth it.
fn does_in_turn(step: &Step, list: &[Submission], limits: &Limits) -> bool {
    let members: Vec<&Submission> = step.members.iter().filter_map(|&at| list.get(at)).collect();
    if !members.iter().all(|one| one.invocations() < limits.overlapping_invocations) {
        return false;
    }
    let takes_long = |one: &&Submission| {
        let has_loops = analysis_of(one).is_ok_and(|analysis| !analysis.loops.is_empty());
        has_loops || one.kernel.interface.has_barrier
    };
    let hands = |from: &Submission, to: &Submission| {
        let written =
            from.args.iter().zip(&from.kernel.interface.bindings).filter(|(_, binding)| binding.writes);
        written.into_iter().any(|(arg, _)| to.args.iter().any(|other| other.buffer == arg.buffer))
    };
    let long: Vec<usize> = (0..members.len()).filter(|&at| takes_long(&members[at])).collect();
    if long.len() < 2 {
        return false;
    }
    // By member: those that hand something to it, or to one that does.
    let mut behind: Vec<Vec<usize>> = Vec::new();
    for (at, one) in members.iter().enumerate() {
        let mut own = Vec::new();
        for before in (0..at).filter(|&before| hands(members[before], one)) {
            own.push(before);
            own.extend(&behind[before]);
        }
        own.sort_unstable();
        own.dedup();
        behind.push(own);
    }
    long.iter()
        .enumerate()
        .any(|(number, &at)| long[..number].iter().any(|before| !behind[at].contains(before)))
}

/// Whether a rewrite was left out for its price alone, and that is not far from what it saves.
fn is_close(reason: &RewriteReason) -> bool {
    match reason {
        RewriteReason::FewRows { .. } | RewriteReason::NotKept { .. } | RewriteReason::Idle { .. } => true,
        RewriteReason::Rejected(reason) => matches!(**reason, Reason::SlowBroadcast { .. }),
        RewriteReason::Costs { loads, work, .. } => {
            *loads <= inline::MOST_LOADS && *work <= inline::MOST_WORK
        }
        _ => false,
    }
}
