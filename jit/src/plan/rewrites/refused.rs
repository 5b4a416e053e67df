//! Which of several reasons is reported where no rewrite lets a submission join: the one whose cause, if it were mended, lets it.

use crate::analysis::access::AccessKind;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::Submission;
use crate::reason::{AccessPair, Reason, RewriteReason};
use crate::rewrite::free;

/// That a submission is not free, with the binding that this is about.
pub(in crate::plan) fn not_free(list: &[Submission], at: usize, what: &'static str) -> RewriteReason {
    let one = &list[at];
    let bindings = &one.kernel.interface.bindings;
    let binding = match what {
        free::ATOMICS => {
            let accesses = analysis_of(one).map_or(&[][..], |analysis| &analysis.accesses);
            let atomic = accesses.iter().find(|access| access.kind == AccessKind::Atomic);
            atomic.and_then(|access| bindings.get(access.binding))
        }
        free::IMAGES => bindings.iter().find(|binding| binding.kind.texture().is_some()),
        _ => None,
    };
    RewriteReason::NotFree { submission: at, what, at: binding.map(|binding| binding.at) }
}

/// Whether nothing but the habit of a kernel keeps it from being re-indexed: it need not be built around work-groups.
pub(in crate::plan) fn is_habit(why: &RewriteReason) -> bool {
    let tied = [free::BARRIER, free::SHARED_MEMORY, free::SUBGROUPS];
    matches!(why, RewriteReason::NotFree { what, .. } if !tied.contains(what))
}

/// Of why a submission is neither placed nor recomputed, and why it is not done where another stores: what is reported, and that
/// an invocation reads several elements.
pub(in crate::plan) fn with_epilogue(
    tried: Option<RewriteReason>,
    epilogue: Option<RewriteReason>,
) -> (Option<RewriteReason>, Option<RewriteReason>) {
    use RewriteReason::{
        Count, NoDefinition, NoItem, NoSite, NotFree, NotStored, Places, Rejected, SeveralElements, TooEarly,
    };
    match (tried, epilogue) {
        (tried, several @ Some(SeveralElements { .. })) => (tried, several),
        // How many items and positions there are says more than that not all of these are stored.
        (count @ Some(Count { .. } | Places { .. }), Some(NotStored { .. })) => (count, None),
        // Without that it would be done there.
        (Some(rejected @ Rejected(_)), Some(why))
            if !is_price(&rejected) && (is_habit(&why) || matches!(why, TooEarly { .. })) =>
        {
            (Some(why), None)
        }
        // A kernel that cannot be recomputed is one that takes an epilogue.
        (
            Some(
                NoDefinition { .. }
                | NoSite { .. }
                | NoItem { .. }
                | Count { .. }
                | Places { .. }
                | NotFree { .. },
            ),
            Some(reason),
        ) => (Some(reason), None),
        (tried, reason) => (tried.or(reason), None),
    }
}

/// Of why a submission cannot be padded, and why nothing else is possible.
pub(in crate::plan) fn with_padding(
    padded: Option<RewriteReason>,
    tried: Option<RewriteReason>,
) -> Option<RewriteReason> {
    match (padded, tried) {
        (Some(RewriteReason::NotPadded { .. }), Some(habit)) if is_habit(&habit) => Some(habit),
        (padded, tried) => padded.or(tried),
    }
}

/// Of what still parts a submission from a group in which it is padded, and why nothing else is possible.
pub(in crate::plan) fn with_padded(
    rejected: RewriteReason,
    tried: Option<RewriteReason>,
) -> Option<RewriteReason> {
    use RewriteReason::{NoDefinition, NoSite, NotFree, SeveralElements, TooEarly};
    match tried {
        // It says more than that one of them is no definition.
        None | Some(NoDefinition { .. } | NoSite { .. }) => Some(rejected),
        Some(SeveralElements { .. } | NotFree { .. } | TooEarly { .. }) if is_price(&rejected) => {
            Some(rejected)
        }
        tried => tried,
    }
}

/// With what is known of several elements that an invocation reads, where those would have to be recomputed and cannot be: `recomputed` says
/// why, if that was tried.
pub(in crate::plan) fn with_several(
    tried: Option<RewriteReason>,
    several: Option<&RewriteReason>,
    recomputed: Option<RewriteReason>,
) -> Option<RewriteReason> {
    use RewriteReason::{NoDefinition, NoItem, NoLoads, NoSite, Rejected, SeveralElements};
    let Some(SeveralElements { producer, pair, .. }) = several else { return tried };
    let with = |why| Some(SeveralElements { producer: *producer, pair: pair.clone(), otherwise: why });
    match tried {
        Some(why @ (NoDefinition { .. } | NoSite { .. } | NoItem { .. })) => with(Some(Box::new(why))),
        // The same elements, with indices of rewritten kernels.
        Some(Rejected(reason)) if is_between(&reason, *producer, pair) => with(
            recomputed
                .filter(|why| {
                    matches!(why, NoDefinition { .. } | NoSite { .. } | NoItem { .. } | NoLoads { .. })
                })
                .map(Box::new),
        ),
        tried => tried,
    }
}

/// Whether that is what a producer stores and these accesses read.
fn is_between(reason: &Reason, producer: usize, AccessPair { first, second }: &AccessPair) -> bool {
    let Reason::CrossGroup(pair) = reason else { return false };
    let (store, load) = (&pair.first, &pair.second);
    let is_read = [first, second].into_iter().any(|one| one.at == load.at);
    store.submission == producer && load.submission == first.submission && is_read
}

/// Whether the price alone is what keeps kernels apart.
fn is_price(why: &RewriteReason) -> bool {
    matches!(why, RewriteReason::Rejected(reason) if matches!(**reason, Reason::SlowBroadcast { .. }))
}
