//! How a plan depends on the values of push constants.
//!
//! Planning looks at a push constant in two ways. Some words are numbers to it: indices, conditions and numbers of rounds are made of
//! them. Which words these are is known for a kernel before anything is planned ([`Specialized::planned_push`]). And arguments that
//! are equal share a slot of the fused block: the code depends on which arguments are equal, not on their values. All other
//! values are only passed on. So a plan also holds for other push constants if those words are the same and the
//! same arguments are equal; only the bytes that it passes on differ.
//!
//! # Guarantees
//! - a plan that holds for other push constants is what planning with those would give, except that a split with two reasons may
//!   name the other one
//!
//! # Refuses
//! - plans in which a kernel is recomputed inside of another, or for which that was tried: values become indices there
//! - plans with a group that ended because there was no room for more push constants

use std::sync::Arc;

use smallvec::SmallVec;

use crate::Reason;
use crate::plan::input::submission::Submission;
use crate::plan::output::origin::{Part, SlotOrigin, Values};
use crate::plan::output::plan::Plan;
use crate::plan::output::push::padded;
use crate::plan::output::recipe::PushSlot;
use crate::plan::output::step::{Source, Step};
use crate::rewrite::words_at;

impl Plan {
    /// Notes what it depends on; `list` is what became of the one that was `asked` for.
    pub(in crate::plan) fn note_values(&mut self, asked: &[Submission], list: &[Submission]) {
        let no_room = |reason: &Reason| matches!(reason, Reason::PushConstants { .. });
        let Plan { steps, report, values, .. } = self;
        values.all |= !report.inlined.is_empty()
            || !report.epilogues.is_empty()
            || report.splits.iter().any(|split| split.tried.is_some() || no_room(&split.reason));
        values.words = asked.iter().zip(list).map(|(asked, list)| words(asked, list)).collect();
        // A kernel that was rewritten has words behind those of the caller.
        for origin in steps.iter_mut().flat_map(|step| &mut step.origins) {
            let SlotOrigin { passed, computed } = origin;
            passed.retain(|part| {
                let (asked, list) = (&asked[part.submission], &list[part.submission]);
                if !Arc::ptr_eq(&asked.kernel, &list.kernel) {
                    part.bytes = words_at(&asked.kernel).saturating_sub(part.offset);
                }
                *computed |= part.bytes == 0;
                part.bytes > 0
            });
        }
        let is_same = |step: &Step| Passed::of(step).with(&|at: usize| asked[at].push.as_ref()) == step.push;
        debug_assert!(
            mutant!(ComputedIsPassedOn) || steps.iter().all(is_same),
            "with the push constants of the list, its plan passes on others"
        );
    }

    /// Whether every byte of the push constants has to be the same for this to be the plan.
    pub fn needs_all_values(&self) -> bool {
        self.values.all
    }

    /// How push constants go through it, without the rest.
    pub fn push_flow(&self) -> PushFlow {
        PushFlow { values: self.values.clone(), dispatches: self.steps.iter().map(Passed::of).collect() }
    }
}

/// How the push constants of a list's dispatches follow from those of its submissions, and which of these have to be what they
/// are for its plan to be this one.
#[derive(Clone, Debug)]
pub struct PushFlow {
    values: Values,
    dispatches: SmallVec<[Passed; 1]>,
}

/// The push constants of a dispatch.
#[derive(Clone, Debug)]
struct Passed {
    push: SmallVec<[u8; 64]>,
    from: From,
}

#[derive(Clone, Debug)]
enum From {
    /// The push constants of this submission alone, byte for byte, and how many bytes.
    One(usize, usize),
    /// Slot by slot.
    Slots(Vec<Slot>),
}

#[derive(Clone, Debug)]
struct Slot {
    offset: u32,
    size: u32,
    /// The number of the first slot of its type.
    ty: usize,
    origin: SlotOrigin,
}

impl PushFlow {
    /// That of a submission that is a dispatch by itself.
    pub fn of_one(one: &Submission, step: &Step) -> PushFlow {
        let values = Values { all: false, words: vec![words(one, one)] };
        PushFlow { values, dispatches: SmallVec::from_iter([Passed::of(step)]) }
    }

    /// Whether the plan also holds, apart from the bytes that it passes on, for a list that differs from its own in push constants
    /// alone. `before` gives the push constants of each submission at planning, and `now` the new ones.
    pub fn holds_with<'a>(
        &self,
        before: impl Fn(usize) -> &'a [u8],
        now: impl Fn(usize) -> &'a [u8],
    ) -> bool {
        (0..self.values.words.len()).all(|at| self.numbers_hold(at, before(at), now(at)))
            && self.dispatches.iter().all(|passed| passed.shares_as(&before, &now))
    }

    /// Whether the push constants of a submission that are numbers to the planner are `now` what they were `before`. That they
    /// are in every submission is the first half of [`PushFlow::holds_with`]: whether the same arguments are equal is seen when
    /// all are known.
    pub fn numbers_hold(&self, at: usize, before: &[u8], now: &[u8]) -> bool {
        before.len() == now.len() && self.numbers(at, before).eq(self.numbers(at, now))
            || mutant!(AnyValueWillDo)
    }

    /// What the planner takes for numbers of the push constants of a submission.
    pub fn numbers<'a>(
        &self,
        at: usize,
        push: &'a [u8],
    ) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a, '_> {
        let Values { all, words } = &self.values;
        let (all, words) = if *all { (Some(push), &[][..]) } else { (None, &*words[at]) };
        let word = |&(offset, bytes): &(u32, u32)| push.get(offset as usize..(offset + bytes) as usize);
        all.into_iter().map(Some).chain(words.iter().map(word))
    }

    /// The push constants of each dispatch where those of submissions are these.
    pub fn pushes<'a>(&self, now: impl Fn(usize) -> &'a [u8]) -> impl Iterator<Item = SmallVec<[u8; 64]>> {
        self.dispatches.iter().map(move |passed| passed.with(&now))
    }
}

/// The words of a submission that are numbers to the planner, of those that the caller passes.
fn words(asked: &Submission, list: &Submission) -> Vec<(u32, u32)> {
    let own = asked.kernel.planned_push();
    let rewritten = list.kernel.planned_push().iter().filter(|word| !own.contains(word));
    own.iter().chain(rewritten).map(|&(offset, width)| (offset, u32::from(width) / 8)).collect()
}

impl Part {
    /// The bytes themselves, of those of its submission: no more than a slot has.
    fn of<'a>(&self, push: &'a [u8], size: u32) -> &'a [u8] {
        let (from, bytes) = (self.offset as usize, self.bytes.min(size) as usize);
        push.get(from..push.len().min(from + bytes)).unwrap_or_default()
    }
}

impl Passed {
    fn of(step: &Step) -> Passed {
        let from = match &step.source {
            Source::Plain { kernel, .. } => {
                let own = kernel.zeros.first().map_or(step.push.len(), |&zero| zero as usize);
                From::One(step.members[0], own)
            }
            Source::Fused { recipe, .. } => {
                let first = |ty: &String| recipe.push.iter().position(|slot| slot.ty == *ty).unwrap_or(0);
                let slot = |(slot, origin): (&PushSlot, &SlotOrigin)| {
                    let &PushSlot { offset, size, ref ty } = slot;
                    Slot { offset, size, ty: first(ty), origin: origin.clone() }
                };
                From::Slots(recipe.push.iter().zip(&step.origins).map(slot).collect())
            }
        };
        Passed { push: step.push.clone(), from }
    }

    fn with<'a>(&self, now: &impl Fn(usize) -> &'a [u8]) -> SmallVec<[u8; 64]> {
        let mut push = self.push.clone();
        match &self.from {
            From::One(at, own) => push[..*own].copy_from_slice(&padded(now(*at), 0, *own)),
            From::Slots(slots) => {
                for Slot { offset, size, ty: _, origin } in slots {
                    let bytes = origin.passed.iter().map(|part| part.bytes).min().unwrap_or(0);
                    if let (false, Some(part)) = (origin.computed, origin.passed.first()) {
                        let given = part.of(now(part.submission), bytes.min(*size));
                        let offset = *offset as usize;
                        push[offset..offset + given.len()].copy_from_slice(given);
                    }
                }
            }
        }
        push
    }

    /// Whether the same arguments are equal as before.
    fn shares_as<'a>(&self, before: &impl Fn(usize) -> &'a [u8], now: &impl Fn(usize) -> &'a [u8]) -> bool {
        let From::Slots(slots) = &self.from else { return true };
        let push = self.with(now);
        let bytes = |slot: &Slot| &push[slot.offset as usize..(slot.offset + slot.size) as usize];
        let together = slots.iter().all(|slot| {
            slot.origin.passed.iter().all(|part| {
                let value = part.of(now(part.submission), slot.size);
                match slot.origin.computed {
                    true => {
                        value == part.of(before(part.submission), slot.size) || mutant!(ComputedIsPassedOn)
                    }
                    false => bytes(slot).starts_with(value) || mutant!(EqualOnceIsEqual),
                }
            })
        });
        let apart = |(number, slot): (usize, &Slot)| {
            slots[..number].iter().all(|other| other.ty != slot.ty || bytes(other) != bytes(slot))
        };
        together && slots.iter().enumerate().all(apart)
    }
}
