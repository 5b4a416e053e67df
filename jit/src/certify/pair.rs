//! Two accesses and the invocations that can meet in them.

use super::group::{Access, Group, Traces};
use super::place::Piece;
use super::term::{Compare, Origin, Term, Word};
use super::text::{Question, question};
use super::trace::{Actor, FrameId, Trace, World};

/// What is claimed of two accesses: which invocations can reach the same bytes by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Meeting {
    Nobody,
    OneInvocation,
    OneGroup,
}

/// One time that an access happens: whether it does, and its first byte in the memory object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instance {
    pub(super) frame: FrameId,
    pub(super) happens: Term,
    pub(super) first: Term,
    /// Start of the element and index that lead to it, if it goes through an array of its block.
    pub(super) element: Option<(Term, Term)>,
}

/// Most times an access happens that are distinguished.
const MAX_INSTANCES: usize = 600;

/// Every time that an access happens, and the pieces it touches. A loop that is not unrolled counts as one time,
/// in any round.
pub(super) fn instances<'a>(
    w: &mut World,
    trace: &mut Trace<'a>,
    access: &Access,
) -> Option<(Vec<Instance>, Vec<Piece>)> {
    let frames = trace.frames_of(w, access.at.0);
    in_frames(w, trace, access, &frames)
}

/// The same in given frames.
pub(super) fn in_frames<'a>(
    w: &mut World,
    trace: &mut Trace<'a>,
    access: &Access,
    frames: &[FrameId],
) -> Option<(Vec<Instance>, Vec<Piece>)> {
    if frames.len() > MAX_INSTANCES {
        return None;
    }
    let arg = &trace.member.submission.args[access.argument];
    let mut instances = Vec::new();
    let mut pieces = Vec::new();
    for &frame in frames {
        let reached = trace.reach(w, frame, access.at.0);
        if w.terms.value(reached) == Some(0) {
            continue;
        }
        let place = trace.place(w, frame, access.pointer)?;
        pieces = trace.pieces(&place)?;
        let &(last, size) = pieces.last()?;
        // What lies beyond the accessor is not touched.
        let room = match arg.len.checked_sub(last + size) {
            Some(room) => {
                let room = w.terms.constant(room, w.address);
                w.terms.compare(Compare::ULessEqual, place.offset, room)
            }
            None => w.terms.truth(false),
        };
        let inside = w.terms.both(place.inside, room);
        let base = w.terms.constant(arg.offset, w.address);
        let first = w.terms.word(Word::Add, place.offset, base);
        let happens = w.terms.both(reached, inside);
        let element = place.element.map(|(start, index)| (w.terms.word(Word::Add, start, base), index));
        instances.push(Instance { frame, happens, first, element });
    }
    Some((instances, pieces))
}

impl<'a> Group<'a> {
    /// Asks for two invocations that meet where none should; `None` if the accesses cannot be expressed.
    pub(super) fn meeting(
        &'a self,
        w: &mut World,
        traces: &mut Traces<'a>,
        (a, b): ((usize, &Access), (usize, &Access)),
        claim: Meeting,
        exact: bool,
    ) -> Option<Question> {
        let actors = [actor(self, w, "t"), actor(self, w, "u")];
        let mut sides = Vec::new();
        let mut facts = Vec::new();
        for ((number, access), actor) in [a, b].into_iter().zip(&actors) {
            let trace = self.trace(w, traces, number, actor, exact);
            let (instances, pieces) = instances(w, trace, access)?;
            facts.extend_from_slice(trace.facts());
            let (first, happens) = one_of(w, &instances, &actor.name);
            sides.push((first, happens, pieces));
        }
        let [(f, happens_a, pieces_a), (g, happens_b, pieces_b)] = sides.as_slice() else { return None };
        let touch = touch(w, (*f, pieces_a), (*g, pieces_b));
        let mut assertions = vec![*happens_a, *happens_b, touch];
        if claim != Meeting::Nobody {
            let same = self.is_same(w, &actors[0], &actors[1], claim == Meeting::OneGroup);
            assertions.push(w.terms.not(same));
        }
        Some(ask(w, assertions, &facts))
    }
}

impl<'a> Group<'a> {
    /// Asks for an invocation behind the last one of a member's own dispatch that comes to one of its accesses.
    pub(super) fn beyond(
        &'a self,
        w: &mut World,
        traces: &mut Traces<'a>,
        (number, access): (usize, &Access),
        exact: bool,
    ) -> Option<Question> {
        let reader = actor(self, w, "t");
        let [own, ..] = self.extents(&self.members[number]).0;
        let own = w.terms.constant(u64::from(own), 32);
        let ids = self.ids(w, number, &reader);
        let behind = w.terms.compare(Compare::ULessEqual, own, ids.global[0]);
        let trace = self.trace(w, traces, number, &reader, exact);
        let mut comes = Vec::new();
        for frame in trace.frames_of(w, access.at.0) {
            comes.push(trace.reach(w, frame, access.at.0));
        }
        let comes = w.terms.any(comes);
        let facts = trace.facts().to_vec();
        Some(ask(w, vec![behind, comes], &facts))
    }
}

/// The invocation of that name; the same name always gives the same invocation.
pub(super) fn actor(group: &Group<'_>, w: &mut World, name: &str) -> Actor {
    w.actors.get(name).cloned().unwrap_or_else(|| {
        let actor = group.actor(w, name);
        w.actors.insert(name.to_owned(), actor.clone());
        actor
    })
}

/// Whether two accesses have a byte in common, by the first byte and the pieces of each.
pub(super) fn touch(w: &mut World, (f, a): (Term, &[Piece]), (g, b): (Term, &[Piece])) -> Term {
    let mut touching = Vec::new();
    for &(from_a, size_a) in a {
        for &(from_b, size_b) in b {
            let bounds = [(f, from_a, g, from_b + size_b), (g, from_b, f, from_a + size_a)];
            let parts = bounds.map(|(x, dx, y, dy)| {
                let (dx, dy) = (w.terms.constant(dx, w.address), w.terms.constant(dy, w.address));
                let low = w.terms.word(Word::Add, x, dx);
                let high = w.terms.word(Word::Add, y, dy);
                w.terms.compare(Compare::ULess, low, high)
            });
            touching.push(w.terms.both(parts[0], parts[1]));
        }
    }
    w.terms.any(touching)
}

/// First byte of one of the instances, and whether that one happens.
pub(super) fn one_of(w: &mut World, instances: &[Instance], who: &str) -> (Term, Term) {
    match instances {
        [one] => (one.first, one.happens),
        _ => {
            let first = w.terms.fresh(w.address, Origin::Id, format!("{who}: first byte"));
            let mut ways = Vec::new();
            for one in instances {
                let here = w.terms.compare(Compare::Equal, first, one.first);
                ways.push(w.terms.both(one.happens, here));
            }
            (first, w.terms.any(ways))
        }
    }
}

/// The question whether all of this can be, with those facts that have to do with it.
pub(super) fn ask(w: &World, mut assertions: Vec<Term>, facts: &[Term]) -> Question {
    let mut symbols = w.terms.symbols(&assertions);
    let mut rest: Vec<Term> = facts.to_vec();
    rest.sort_unstable();
    rest.dedup();
    loop {
        let (near, far): (Vec<Term>, Vec<Term>) = rest.into_iter().partition(|&fact| {
            let own = w.terms.symbols(&[fact]);
            own.iter().any(|s| symbols.contains(s))
        });
        rest = far;
        if near.is_empty() {
            break;
        }
        symbols.extend(w.terms.symbols(&near));
        assertions.extend(near);
    }
    question(&w.terms, &assertions)
}
