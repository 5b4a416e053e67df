//! Where lines of elements begin: parts of a whole that several kernels store, and slices of it.

use smallvec::SmallVec;

use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::Submission;
use crate::plan::output::report::Places;
use crate::plan::rewrites::proposal::{Partners, Proposal};

/// What lines of elements would have each other do: of two that go through a buffer element by element, one from a later element on, that one's items
/// are the other's from there on. Two halves of a buffer, and what goes through the whole.
pub(super) fn shifted<'a>(
    list: &[Submission],
    members: &std::ops::Range<usize>,
    goes: &[(usize, bool)],
    view: &impl Fn(usize) -> Option<&'a View>,
    which: Partners,
) -> SmallVec<[Proposal; 2]> {
    let mut found: SmallVec<[Proposal; 2]> = SmallVec::new();
    if which == Partners::Any {
        return found;
    }
    for partner in members.clone().rev() {
        let Some(theirs) = view(partner) else { continue };
        let begins = |at: usize| {
            at != partner && view(at).is_some_and(|own| starts(list, (at, own), (partner, theirs)).is_some())
        };
        if goes.iter().any(|&(at, _)| begins(at)) {
            let (groups, local) = (list[partner].groups, list[partner].kernel.interface.local_size);
            let places = Places::Line { start: 0 };
            found.push(Proposal { partner, places, groups, local, by_groups: false });
        }
    }
    found
}

/// How many elements later a submission begins in a buffer than a partner does, where both go through it element by element.
pub(super) fn starts(
    list: &[Submission],
    (at, own): (usize, &View),
    (partner, theirs): (usize, &View),
) -> Option<u32> {
    let accesses = |position: usize, view: &View| {
        let accesses = analysis_of(&list[position]).map_or(&[][..], |analysis| &analysis.accesses);
        let flat = accesses.iter().zip(&view.forms).filter_map(|(access, form)| {
            let buffer = list[position].args[access.binding].buffer;
            Some((buffer, view.stride(form)?, form.offset.constant))
        });
        flat.collect::<SmallVec<[_; 4]>>()
    };
    let (own, theirs) = (accesses(at, own), accesses(partner, theirs));
    let found = own.iter().flat_map(|one| theirs.iter().map(move |other| (one, other)));
    let found = found.filter(|(one, other)| (one.0, one.1) == (other.0, other.1));
    let mut starts = found.map(|(one, other)| {
        let later = one.2 - other.2;
        u32::try_from(later / one.1).ok().filter(|_| later % one.1 == 0)
    });
    // Neighbours' elements have no common start.
    let first = starts.next()??;
    (first > 0 && starts.all(|start| start == Some(first))).then_some(first)
}
