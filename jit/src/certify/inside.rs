//! Buffers that stay inside: every byte that is read was written before, and elements and slots belong together.

use std::cmp::Ordering;

use super::group::{Access, Group, Traces};
use super::pair::{Instance, actor, ask, in_frames, instances};
use super::place::Piece;
use super::term::{Compare, Origin, Term, Word};
use super::text::Question;
use super::trace::{Actor, FrameId, ROOT, Trace, World};
use crate::analysis::AccessKind;
use crate::analysis::resolved_branches::ResolvedBranch;
use crate::plan::Internalization;
use crate::plan::recipe::SlotOf;

/// An access to a buffer that stays inside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inner<'s> {
    pub(super) member: usize,
    pub(super) access: Access,
    pub(super) slot: &'s SlotOf,
}

/// Most invocations of a work-group that are looked at one by one, and most of their writes.
const MAX_NEIGHBOURS: u64 = 512;
const MAX_WRITES: usize = 4096;

impl<'a> Group<'a> {
    /// Asks for a byte that an invocation reads, and that no access which certainly comes before has written. `exact`: whether
    /// loops are unrolled. `by_group`: whether writes by other invocations of the work-group count.
    pub(super) fn check_covered(
        &'a self,
        w: &mut World,
        traces: &mut Traces<'a>,
        accesses: &[Inner<'_>],
        read: &Inner<'_>,
        (exact, by_group): (bool, bool),
    ) -> Option<Question> {
        let reader = actor(self, w, "t");
        let byte = match w.byte {
            Some(byte) => byte,
            None => w.terms.fresh(w.address, Origin::Id, "byte"),
        };
        w.byte = Some(byte);
        let trace = self.trace(w, traces, read.member, &reader, exact);
        let (reads, pieces) = instances(w, trace, &read.access)?;
        let writes = |inner: &&Inner<'_>| inner.access.kind != AccessKind::Read;
        // Whether a write does not count because it cannot be written down.
        let mut left_out = false;
        // Some read of this byte that finds nothing of its own member's.
        let mut ways = Vec::new();
        for one in &reads {
            let here = holds(w, one.first, &pieces, byte);
            let mut way = w.terms.both(one.happens, here);
            for other in accesses.iter().filter(writes).filter(|o| o.member == read.member) {
                let frames = before(w, trace, &other.access, (one.frame, &read.access));
                let found = in_frames(w, trace, &other.access, &frames);
                let is_open = is_open(w, trace, &other.access);
                left_out |= found.is_none() || is_open;
                let Some((instances, pieces)) = found else { continue };
                for instance in instances {
                    let missed = misses(w, &instance, &pieces, byte);
                    way = w.terms.both(way, missed);
                }
            }
            ways.push(way);
        }
        let mut assertions = vec![w.terms.any(ways)];
        let mut facts = trace.facts().to_vec();
        let mut writers = vec![(reader.clone(), false)];
        if by_group {
            let size = self.recipe.schedule.local_size();
            if size.iter().map(|&n| u64::from(n)).product::<u64>() > MAX_NEIGHBOURS {
                return None;
            }
            for z in 0..size[2] {
                for y in 0..size[1] {
                    for x in 0..size[0] {
                        writers.push((self.neighbour(w, &reader, [x, y, z]), true));
                    }
                }
            }
        }
        let mut count = 0;
        for other in accesses.iter().filter(writes).filter(|o| o.member < read.member) {
            for (writer, is_other) in &writers {
                if *is_other && !self.has_barrier(other.member, read.member) {
                    continue;
                }
                let trace = self.trace(w, traces, other.member, writer, exact);
                let frames = certain(w, trace, &other.access);
                let found = in_frames(w, trace, &other.access, &frames);
                let is_open = is_open(w, trace, &other.access);
                left_out |= found.is_none() || is_open;
                let Some((instances, pieces)) = found else { continue };
                facts.extend_from_slice(trace.facts());
                count += instances.len();
                if count > MAX_WRITES {
                    return None;
                }
                for instance in instances {
                    let missed = misses(w, &instance, &pieces, byte);
                    assertions.push(missed);
                }
            }
        }
        assertions.sort_unstable();
        assertions.dedup();
        let mut question = ask(w, assertions, &facts);
        if left_out {
            question.loose.get_or_insert("a write in a loop that is not unrolled");
        }
        Some(question)
    }

    /// Asks for two accesses of one owner that share a slot and no element, or an element and no slot, or are in none.
    pub(super) fn slots(
        &'a self,
        w: &mut World,
        traces: &mut Traces<'a>,
        (a, b): (&Inner<'_>, &Inner<'_>),
        (kind, slots): (Internalization, u32),
        exact: bool,
    ) -> Option<Question> {
        let actors = [actor(self, w, "t"), actor(self, w, "u")];
        let limit = w.terms.constant(u64::from(slots), 32);
        let same = self.is_same(w, &actors[0], &actors[1], kind == Internalization::Local);
        let mut assertions = vec![same];
        let mut facts = Vec::new();
        let mut sides = Vec::new();
        for (inner, actor) in [a, b].into_iter().zip(&actors) {
            let trace = self.trace(w, traces, inner.member, actor, exact);
            let (instances, _) = instances(w, trace, &inner.access)?;
            let mut found = Vec::new();
            for instance in &instances {
                let (element, index) = instance.element?;
                let slot = if slots == 1 {
                    w.terms.constant(0, 32)
                } else {
                    slot_of(w, trace, instance.frame, actor, inner.slot, index)?
                };
                found.push((instance.happens, element, slot));
            }
            facts.extend_from_slice(trace.facts());
            sides.push(match found.as_slice() {
                &[(happens, element, slot)] => {
                    assertions.push(happens);
                    (element, slot)
                }
                _ => {
                    let element = w.terms.fresh(w.address, Origin::Id, format!("{}: element", actor.name));
                    let slot = w.terms.fresh(32, Origin::Id, format!("{}: slot", actor.name));
                    let mut ways = Vec::new();
                    for (happens, own_element, own_slot) in found {
                        let here = w.terms.compare(Compare::Equal, element, own_element);
                        let there = w.terms.compare(Compare::Equal, slot, own_slot);
                        ways.push(w.terms.all([happens, here, there]));
                    }
                    assertions.push(w.terms.any(ways));
                    (element, slot)
                }
            });
        }
        let [(element_a, slot_a), (element_b, slot_b)] = sides.as_slice() else { return None };
        let same_element = w.terms.compare(Compare::Equal, *element_a, *element_b);
        let same_slot = w.terms.compare(Compare::Equal, *slot_a, *slot_b);
        let agree = w.terms.equal(same_element, same_slot);
        let differ = w.terms.not(agree);
        let past = [slot_a, slot_b].map(|&slot| w.terms.compare(Compare::ULessEqual, limit, slot));
        let outside = w.terms.either(past[0], past[1]);
        assertions.push(w.terms.either(differ, outside));
        Some(ask(w, assertions, &facts))
    }

    /// Asks for an invocation that takes another side of a branch than the planner says.
    pub(super) fn parts(
        &'a self,
        w: &mut World,
        traces: &mut Traces<'a>,
        member: usize,
        branch: &ResolvedBranch,
        exact: bool,
    ) -> Option<Question> {
        let reader = actor(self, w, "t");
        let trace = self.trace(w, traces, member, &reader, exact);
        let block = branch.block as usize;
        let mut others = Vec::new();
        for frame in trace.frames_of(w, block) {
            others.push(trace.leaves(w, frame, block, !branch.taken)?);
        }
        let other = w.terms.any(others);
        let facts = trace.facts().to_vec();
        Some(ask(w, vec![other], &facts))
    }

    /// Asks for an invocation that does fewer than `sure` rounds of a loop, or more than `most`, if that is known.
    pub(super) fn rounds(
        &'a self,
        w: &mut World,
        traces: &mut Traces<'a>,
        member: usize,
        of: usize,
        (sure, most): (u32, Option<u32>),
    ) -> Option<Question> {
        let reader = actor(self, w, "t");
        let trace = self.trace(w, traces, member, &reader, true);
        if of >= trace.body().loops.len() || trace.body().loops[of].parent.is_some() {
            return None;
        }
        let frames = trace.rounds(w, ROOT, of)?;
        let enters = trace.entry(w, frames[0]);
        // The test is evaluated once more than the loop has rounds.
        let mut passes = |w: &mut World, round: u32| match frames.get(round as usize) {
            Some(&frame) => trace.entry(w, frame),
            None => w.terms.truth(false),
        };
        let reaches = passes(w, sure);
        let ends = match most {
            Some(most) => {
                let more = passes(w, most + 1);
                let no_more = w.terms.not(more);
                w.terms.both(reaches, no_more)
            }
            None => reaches,
        };
        let other = w.terms.not(ends);
        let facts = trace.facts().to_vec();
        Some(ask(w, vec![enters, other], &facts))
    }
}

/// Whether a byte is one of an access's.
fn holds(w: &mut World, first: Term, pieces: &[Piece], byte: Term) -> Term {
    let mut ways = Vec::new();
    for &(at, size) in pieces {
        let (from, to) = (w.terms.constant(at, w.address), w.terms.constant(at + size, w.address));
        let (from, to) = (w.terms.word(Word::Add, first, from), w.terms.word(Word::Add, first, to));
        let low = w.terms.compare(Compare::ULessEqual, from, byte);
        let high = w.terms.compare(Compare::ULess, byte, to);
        ways.push(w.terms.both(low, high));
    }
    w.terms.any(ways)
}

fn misses(w: &mut World, instance: &Instance, pieces: &[Piece], byte: Term) -> Term {
    let here = holds(w, instance.first, pieces, byte);
    let writes = w.terms.both(instance.happens, here);
    w.terms.not(writes)
}

/// Whether an access lies in a loop that is not unrolled.
fn is_open(w: &mut World, trace: &mut Trace<'_>, access: &Access) -> bool {
    let mut frame = ROOT;
    trace.body().chain(None, access.at.0).into_iter().any(|inner| match trace.rounds(w, frame, inner) {
        Some(rounds) => {
            frame = rounds[0];
            false
        }
        None => true,
    })
}

/// Frames in which an access is known to happen or not: all its loops are unrolled.
fn certain<'a>(w: &mut World, trace: &mut Trace<'a>, access: &Access) -> Vec<FrameId> {
    let mut frames = vec![ROOT];
    for inner in trace.body().chain(None, access.at.0) {
        let mut next = Vec::new();
        for outer in frames {
            next.extend(trace.rounds(w, outer, inner).iter().flat_map(|rounds| rounds.iter().copied()));
        }
        frames = next;
    }
    frames
}

/// Frames in which an access comes before the access `later` in `frame`: those in the same round of all loops that are
/// not unrolled.
fn before(
    w: &mut World,
    trace: &mut Trace<'_>,
    access: &Access,
    (frame, later): (FrameId, &Access),
) -> Vec<FrameId> {
    let mut around = Vec::new();
    let mut at = Some(frame);
    while let Some(frame) = at {
        around.push(frame);
        at = trace.parent(frame);
    }
    let mut frames = vec![ROOT];
    for inner in trace.body().chain(None, access.at.0) {
        let mut next = Vec::new();
        for outer in frames {
            match trace.rounds(w, outer, inner) {
                Some(rounds) => next.extend(rounds.iter().copied()),
                None => next.extend(
                    around
                        .iter()
                        .copied()
                        .filter(|&f| trace.parent(f) == Some(outer) && trace.loop_of(f) == Some(inner)),
                ),
            }
        }
        frames = next;
    }
    frames.retain(|&own| order(trace, (own, access), (frame, later)) == Some(Ordering::Less));
    frames
}

/// Which of two instructions of one invocation comes first, if both happen.
fn order(trace: &Trace<'_>, a: (FrameId, &Access), b: (FrameId, &Access)) -> Option<Ordering> {
    let way = |(frame, access): (FrameId, &Access)| {
        let mut frames = vec![frame];
        while let Some(parent) = trace.parent(frames[frames.len() - 1]) {
            frames.push(parent);
        }
        frames.reverse();
        (frames, access.at)
    };
    let ((a, at_a), (b, at_b)) = (way(a), way(b));
    let body = trace.body();
    // Where a way goes on below a frame: into a loop, or to the instruction itself.
    let next = |frames: &[FrameId], level: usize, block: usize| {
        let into = frames.get(level + 1).and_then(|&f| trace.loop_of(f));
        (into, body.rank[into.map_or(block, |l| body.loops[l].header)])
    };
    for level in 0.. {
        let (into_a, rank_a) = next(&a, level, at_a.0);
        let (into_b, rank_b) = next(&b, level, at_b.0);
        if rank_a != rank_b {
            return Some(rank_a.cmp(&rank_b));
        }
        match (into_a, into_b) {
            (None, None) => return Some(at_a.1.cmp(&at_b.1)),
            (Some(_), Some(_)) if a[level + 1] == b[level + 1] => {}
            (Some(_), Some(_)) => {
                let (x, y) = (trace.round(a[level + 1])?, trace.round(b[level + 1])?);
                return Some(x.cmp(&y));
            }
            _ => return None,
        }
    }
    None
}

/// Number of the slot that the emitted code computes.
fn slot_of(
    w: &mut World,
    trace: &Trace<'_>,
    frame: FrameId,
    actor: &Actor,
    slot: &SlotOf,
    index: Term,
) -> Option<Term> {
    Some(match slot {
        SlotOf::Fixed(number) => w.terms.constant(u64::from(*number), 32),
        SlotOf::Unrolled { first, by } => {
            let mut number = i64::from(*first);
            for &(of, slots) in by {
                let mut at = Some(frame);
                while let Some(frame) = at.filter(|&f| trace.loop_of(f) != Some(of as usize)) {
                    at = trace.parent(frame);
                }
                number += slots * i64::from(trace.round(at?)?);
            }
            w.terms.constant(number as u64, 32)
        }
        SlotOf::Relative { group, local, constant, divisor } => {
            let mut sum = w.terms.low(index, 32);
            for (factors, ids) in [(group, actor.group), (local, actor.local)] {
                for (&factor, id) in factors.iter().zip(ids) {
                    let factor = w.terms.constant(factor as u64, 32);
                    let part = w.terms.word(Word::Mul, id, factor);
                    sum = w.terms.word(Word::Sub, sum, part);
                }
            }
            let constant = w.terms.constant(*constant as u64, 32);
            sum = w.terms.word(Word::Add, sum, constant);
            let divisor = w.terms.constant(u64::from(*divisor), 32);
            w.terms.word(Word::UDiv, sum, divisor)
        }
    })
}
