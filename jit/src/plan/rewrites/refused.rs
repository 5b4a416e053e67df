//! Which of several reasons is reported where no rewrite lets a submission join: the one whose cause, if it were mended, lets it.

use crate::analysis::access::AccessKind;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::Submission;
use crate::reason::RewriteReason;
use crate::rewrite;

/// That a submission is not free, with the binding that this is about.
pub(in crate::plan) fn not_free(list: &[Submission], at: usize, what: &'static str) -> RewriteReason {
    let one = &list[at];
    let bindings = &one.kernel.interface.bindings;
    let binding = match what {
        rewrite::ATOMICS => {
            let accesses = analysis_of(one).map_or(&[][..], |analysis| &analysis.accesses);
            let atomic = accesses.iter().find(|access| access.kind == AccessKind::Atomic);
            atomic.and_then(|access| bindings.get(access.binding))
        }
        rewrite::IMAGES => bindings.iter().find(|binding| binding.kind.texture().is_some()),
        _ => None,
    };
    RewriteReason::NotFree { submission: at, what, at: binding.map(|binding| binding.at) }
}

/// Whether nothing but the habit of a kernel keeps it from being re-indexed: it need not be built around work-groups.
fn is_habit(why: &RewriteReason) -> bool {
    let tied = [rewrite::BARRIER, rewrite::SHARED_MEMORY, rewrite::SUBGROUPS];
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
        (Some(Rejected(_)), Some(why)) if is_habit(&why) || matches!(why, TooEarly { .. }) => {
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

/// With what is known of several elements that an invocation reads, where those would have to be recomputed and cannot be.
pub(in crate::plan) fn with_several(
    tried: Option<RewriteReason>,
    several: Option<RewriteReason>,
) -> Option<RewriteReason> {
    use RewriteReason::{NoDefinition, NoItem, NoSite, SeveralElements};
    match (tried, several) {
        (
            Some(why @ (NoDefinition { .. } | NoSite { .. } | NoItem { .. })),
            Some(SeveralElements { producer, pair, .. }),
        ) => Some(SeveralElements { producer, pair, otherwise: Some(Box::new(why)) }),
        (tried, several) => tried.or(several),
    }
}
