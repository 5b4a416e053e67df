//! What a plan depends on of the values of push constants.
//!
//! Planning looks at a push constant in two ways. Indices, conditions and numbers of rounds are made of some: those words are
//! numbers to it, and are known of a kernel before anything is planned ([`Specialized::planned_push`]). And two arguments share
//! a slot of the fused block where they are equal: not what they are, but which are equal, goes into the code. What else a
//! kernel computes with is passed on, whatever it is. So a plan also is that of a list with other push constants if those
//! words are the same and the same arguments are equal, but for the bytes that it passes on.
//!
//! # Guarantees
//! - what is said to hold for other push constants is what planning with those would give, but for which of two reasons a
//!   split has where there are two
//!
//! # Refuses
//! - plans for which a kernel was worked out again inside of another, or that was tried: values become indices there
//! - plans of which a group ended for want of room for push constants

use smallvec::SmallVec;

use super::push::padded;
use super::step::{Source, Step};
use super::submission::Submission;
use super::{Plan, shape};
use crate::Reason;
use crate::kernel::Specialized;

/// What a plan depends on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    /// On every byte.
    pub(crate) all: bool,
    /// Words that are numbers, of each submission: offset and bytes.
    words: Vec<Vec<(u32, u32)>>,
}

/// Where the value of a slot is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotOrigin {
    /// Submissions and offsets in their push constants, of which all are equal.
    passed: SmallVec<[(usize, u32); 2]>,
    /// The planner, too.
    computed: bool,
}

impl SlotOrigin {
    pub(crate) fn add(&mut self, origin: Option<(usize, u32)>) {
        match origin {
            Some(origin) => self.passed.push(origin),
            None => self.computed = true,
        }
    }
}

impl Specialized {
    /// The push constants that plans may depend on: offset and width in bits. None for a kernel that cannot be fused.
    pub fn planned_push(&self) -> &[(u32, u8)] {
        let Ok(normal) = &self.normal else { return &[] };
        normal.planned_push.get_or_init(|| {
            let mut words = normal.analysis.exprs.pushed();
            words.extend(shape::looked_at(normal));
            words.sort_unstable();
            words.dedup();
            if mutant!(NoValueIsPlanned) { Vec::new() } else { words }
        })
    }
}

impl Plan {
    /// Notes what it depends on; `list` is what became of the one that was `asked` for.
    pub(super) fn note_values(&mut self, asked: &[Submission], list: &[Submission]) {
        let no_room = |reason: &Reason| matches!(reason, Reason::PushConstants { .. });
        let Plan { steps, report, values, .. } = self;
        values.all |= !report.inlined.is_empty()
            || report.splits.iter().any(|split| split.tried.is_some() || no_room(&split.reason));
        values.words = asked.iter().zip(list).map(|(asked, list)| words(asked, list)).collect();
        // A kernel that was rewritten has words behind those of the caller.
        for origin in steps.iter_mut().flat_map(|step| &mut step.origins) {
            let SlotOrigin { passed, computed } = origin;
            passed.retain(|(at, offset)| {
                let is_own =
                    list[*at].push.len() > asked[*at].push.len() && *offset as usize >= asked[*at].push.len();
                *computed |= is_own;
                !is_own
            });
        }
    }

    /// Whether every byte of the push constants has to be the same for this to be the plan.
    pub fn needs_all_values(&self) -> bool {
        self.values.all
    }

    /// Whether it is the plan, but for the bytes that it passes on, of a list that differs from its own in push constants alone:
    /// those of submissions are these `now`, and were those `before`.
    pub fn holds_with<'a>(
        &self,
        before: impl Fn(usize) -> &'a [u8],
        now: impl Fn(usize) -> &'a [u8],
    ) -> bool {
        let Values { all, words } = &self.values;
        let same = |at: usize, (offset, bytes): (u32, u32)| {
            let (from, to) = (offset as usize, (offset + bytes) as usize);
            before(at).get(from..to) == now(at).get(from..to)
        };
        let holds = |(at, words): (usize, &Vec<(u32, u32)>)| {
            before(at).len() == now(at).len()
                && if *all { before(at) == now(at) } else { words.iter().all(|&word| same(at, word)) }
                || mutant!(AnyValueWillDo)
        };
        words.iter().enumerate().all(holds) && self.steps.iter().all(|step| step.shares_as(&before, &now))
    }
}

/// The words of a submission that are numbers to the planner, of those that the caller passes.
fn words(asked: &Submission, list: &Submission) -> Vec<(u32, u32)> {
    let own = asked.kernel.planned_push();
    let rewritten = list.kernel.planned_push().iter().filter(|word| !own.contains(word));
    own.iter().chain(rewritten).map(|&(offset, width)| (offset, u32::from(width) / 8)).collect()
}

impl Step {
    /// Its push constants where those of submissions are these.
    pub fn push_with<'a>(&self, now: impl Fn(usize) -> &'a [u8]) -> SmallVec<[u8; 64]> {
        let mut push = self.push.clone();
        match &self.source {
            Source::Plain { .. } => {
                let size = push.len();
                push = padded(now(self.members.start), 0, size).into_iter().collect();
            }
            Source::Fused { recipe, .. } => {
                for (slot, origin) in recipe.push.iter().zip(&self.origins) {
                    let (from, to) = (slot.offset as usize, (slot.offset + slot.size) as usize);
                    if let (false, Some(&(at, offset))) = (origin.computed, origin.passed.first()) {
                        push[from..to].copy_from_slice(&padded(now(at), offset as usize, to - from));
                    }
                }
            }
        }
        push
    }

    /// Whether the same arguments are equal as before.
    fn shares_as<'a>(&self, before: &impl Fn(usize) -> &'a [u8], now: &impl Fn(usize) -> &'a [u8]) -> bool {
        let Source::Fused { recipe, .. } = &self.source else { return true };
        let push = self.push_with(now);
        let slots = || recipe.push.iter().zip(&self.origins);
        let bytes = |offset: u32, size: u32| &push[offset as usize..(offset + size) as usize];
        let together = slots().all(|(slot, origin)| {
            let size = slot.size as usize;
            origin.passed.iter().all(|&(at, offset)| {
                let value = padded(now(at), offset as usize, size);
                match origin.computed {
                    true => value == padded(before(at), offset as usize, size) || mutant!(ComputedIsPassedOn),
                    false => &*value == bytes(slot.offset, slot.size) || mutant!(EqualOnceIsEqual),
                }
            })
        });
        let apart = |(number, (slot, _)): (usize, (&super::recipe::PushSlot, &SlotOrigin))| {
            recipe.push[..number].iter().all(|other| {
                other.ty != slot.ty || bytes(other.offset, other.size) != bytes(slot.offset, slot.size)
            })
        };
        together && slots().enumerate().all(apart)
    }
}
