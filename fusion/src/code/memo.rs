//! Plans that were made before.
//!
//! A plan follows from the list alone: the kernels, the group counts, which arguments are the same bytes of the same memory,
//! the promotions asked for, the options and the device's limits. It does not follow from which memory that is. So a plan is
//! kept with its buffers numbered in order of first use, and serves every list of the same structure. Of push constants only
//! those words have to be the same that indices and conditions are made of, and the same ones have to be equal
//! ([`PushFlow::holds_with`]): with the others, the plan is the one that was kept except for the bytes that it passes on.
//!
//! # Guarantees
//! - what is found is what planning would give: a hash only finds candidates, and every part of the structure is compared
//! - no more than a given number of plans are kept, those used last

use std::{num::NonZeroUsize, sync::Arc};

use ahash::{AHashMap, RandomState};
use lru::LruCache;
use smallvec::SmallVec;

use crate::{
    jit::{
        BufferId, FuseOptions, ImageSize, Numbers, Plan, Promote, PushFlow, Report, Specialized, Submission,
    },
    report::list::rename,
};

#[cfg(test)]
mod tests;

/// How many plans are kept.
pub(crate) const CAPACITY: usize = 256;

/// The plans of a context, whose limits never change.
#[derive(Debug)]
pub(crate) struct Memo {
    /// By the hash of the structure; of two structures with one hash the later stays.
    kept: Option<LruCache<u64, Arc<Planned>>>,
    hasher: RandomState,
}

/// A plan whose buffers are numbers, with the structure it is for.
#[derive(Debug)]
pub(crate) struct Planned {
    options: FuseOptions,
    structure: Vec<Call>,
    /// Its buffers are numbered in order of first use.
    pub(crate) plan: Plan,
    /// How push constants go through it; its own are those of the structure.
    pub(crate) flow: Arc<PushFlow>,
}

/// One submission of a structure.
#[derive(Debug)]
struct Call {
    /// The very object: kept alive here, so that its address is its identity.
    kernel: Arc<Specialized>,
    base: [u32; 3],
    groups: [u32; 3],
    push: SmallVec<[u8; 32]>,
    args: SmallVec<[Argument; 8]>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Argument {
    buffer: u64,
    offset: u64,
    len: u64,
    promote: Promote,
    numbers: Option<Numbers>,
    image: Option<ImageSize>,
}

/// The buffers of a list in order of first use.
#[derive(Debug, Default)]
pub(crate) struct Numbered {
    ids: SmallVec<[BufferId; 16]>,
    /// The place of each, where there are many.
    index: AHashMap<BufferId, u64>,
}

impl Numbered {
    pub(crate) fn of<'a>(list: impl Iterator<Item = &'a Submission>) -> Numbered {
        let mut numbers = Numbered::default();
        for arg in list.flat_map(|submission| &submission.args) {
            numbers.number(arg.buffer);
        }
        numbers
    }

    /// The number of a buffer; the next one if it was not seen before.
    fn number(&mut self, id: BufferId) -> u64 {
        if self.index.is_empty() {
            if let Some(known) = self.ids.iter().position(|known| *known == id) {
                return known as u64;
            }
            if self.ids.len() >= 16 {
                self.index = self.ids.iter().enumerate().map(|(number, id)| (*id, number as u64)).collect();
            }
        } else if let Some(known) = self.index.get(&id) {
            return *known;
        }
        let number = self.ids.len() as u64;
        self.ids.push(id);
        if !self.index.is_empty() {
            self.index.insert(id, number);
        }
        number
    }

    /// The buffer of a number that these gave out.
    pub(crate) fn buffer(&self, number: BufferId) -> BufferId {
        self.ids.get(number.0 as usize).copied().unwrap_or(number)
    }

    /// A report about numbers, about the buffers.
    pub(crate) fn report(&self, report: &Report) -> Report {
        let mut report = report.clone();
        rename(&mut report, |number| self.buffer(number));
        report
    }
}

impl Memo {
    /// Room for this many plans.
    pub(crate) fn new(capacity: usize) -> Memo {
        Memo { kept: NonZeroUsize::new(capacity).map(LruCache::new), hasher: RandomState::new() }
    }

    /// The plan of a list of this structure, if one is kept; and the list's buffers by number.
    pub(crate) fn get<'a>(
        &mut self,
        list: impl Iterator<Item = &'a Submission> + Clone,
        options: &FuseOptions,
    ) -> (Option<Arc<Planned>>, Numbered) {
        let mut numbers = Numbered::of(list.clone());
        let found = [false, true].into_iter().find_map(|all| {
            let hash = self.hash(list.clone(), options, all, &mut numbers);
            let found = self.kept.as_mut()?.get(&hash)?;
            found.with_push_of(list.clone(), options, &mut numbers)
        });
        (found, numbers)
    }

    /// Keeps the plan that was made of a list.
    pub(crate) fn put<'a>(
        &mut self,
        list: impl Iterator<Item = &'a Submission> + Clone,
        options: &FuseOptions,
        mut plan: Plan,
    ) -> Arc<Planned> {
        let mut numbers = Numbered::of(list.clone());
        for bound in plan.steps.iter_mut().flat_map(|step| &mut step.bindings) {
            bound.buffer = BufferId(numbers.number(bound.buffer));
        }
        rename(&mut plan.report, |buffer| BufferId(numbers.number(buffer)));
        let structure = list.clone().map(|submission| Call::of(submission, &mut numbers)).collect();
        let flow = Arc::new(plan.push_flow());
        let planned = Arc::new(Planned { options: *options, structure, plan, flow });
        let hash = self.hash(list, options, planned.plan.needs_all_values(), &mut numbers);
        if let Some(kept) = &mut self.kept {
            kept.put(hash, planned.clone());
        }
        planned
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.kept.iter_mut().for_each(LruCache::clear);
    }

    /// The hash of a structure: of all push constants, for plans that depend on all of them, or of those words that any plan may
    /// depend on.
    fn hash<'a>(
        &self,
        list: impl Iterator<Item = &'a Submission>,
        options: &FuseOptions,
        all: bool,
        numbers: &mut Numbered,
    ) -> u64 {
        use std::hash::{BuildHasher, Hash, Hasher};
        let mut hasher = self.hasher.build_hasher();
        (options, all).hash(&mut hasher);
        for submission in list {
            hasher.write_usize(Arc::as_ptr(&submission.kernel).addr());
            submission.base.hash(&mut hasher);
            submission.groups.hash(&mut hasher);
            if all {
                submission.push.hash(&mut hasher);
            } else {
                for &(offset, width) in submission.kernel.planned_push() {
                    let (from, to) = (offset as usize, offset as usize + usize::from(width / 8));
                    submission.push.get(from..to).hash(&mut hasher);
                }
            }
            for arg in &submission.args {
                Argument::of(arg, numbers).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

impl Planned {
    /// The plan with the push constants of a list of this structure; nothing where the list is another one.
    fn with_push_of<'a>(
        self: &Arc<Self>,
        list: impl Iterator<Item = &'a Submission> + Clone,
        options: &FuseOptions,
        numbers: &mut Numbered,
    ) -> Option<Arc<Planned>> {
        let mut structure = self.structure.iter();
        let fits = self.options == *options
            && list
                .clone()
                .all(|submission| structure.next().is_some_and(|call| call.fits(submission, numbers)))
            && structure.next().is_none();
        if !fits {
            return None;
        }
        let now: SmallVec<[&[u8]; 16]> = list.map(|submission| &*submission.push).collect();
        if self.structure.iter().zip(&now).all(|(call, now)| &*call.push == *now) {
            return Some(self.clone());
        }
        let before = |at: usize| &*self.structure[at].push;
        if !self.flow.holds_with(before, |at| now[at]) {
            return None;
        }
        let mut plan = self.plan.clone();
        for (step, push) in plan.steps.iter_mut().zip(self.flow.pushes(|at| now[at])) {
            step.push = push;
        }
        let flow = self.flow.clone();
        // The structure is that of the plan which is kept.
        Some(Arc::new(Planned { options: *options, structure: Vec::new(), plan, flow }))
    }
}

impl Call {
    fn of(submission: &Submission, numbers: &mut Numbered) -> Call {
        let Submission { kernel, base, groups, args, push } = submission;
        Call {
            kernel: kernel.clone(),
            base: *base,
            groups: *groups,
            push: push.clone(),
            args: args.iter().map(|arg| Argument::of(arg, numbers)).collect(),
        }
    }

    /// Whether a submission is this, except for push constants.
    fn fits(&self, submission: &Submission, numbers: &mut Numbered) -> bool {
        Arc::ptr_eq(&self.kernel, &submission.kernel)
            && self.base == submission.base
            && self.groups == submission.groups
            && self.args.len() == submission.args.len()
            && self.args.iter().zip(&submission.args).all(|(known, arg)| *known == Argument::of(arg, numbers))
    }
}

impl Argument {
    /// An argument with its buffer numbered. Its set and binding are the kernel's.
    fn of(arg: &crate::jit::Arg, numbers: &mut Numbered) -> Argument {
        let crate::jit::Arg { at: _, buffer, offset, len, promote, numbers: held, image } = arg;
        let buffer = numbers.number(*buffer);
        let (offset, len, promote, image) = (*offset, *len, *promote, *image);
        Argument { buffer, offset, len, promote, numbers: held.clone(), image }
    }
}
