//! Plans that were made before.
//!
//! A plan follows from the list alone: the kernels, the group counts, the push constants, which arguments are the same
//! bytes of the same memory, the promotions asked for, the options and the device's limits. It does not follow from which
//! memory that is. So a plan is kept with its buffers numbered in order of first use, and serves every list of the same
//! structure.
//!
//! # Guarantees
//! - what is found is what planning would give: a hash only finds candidates, and every part of the structure is compared
//! - no more than a given number of plans are kept, those used last

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use ahash::{AHashMap, RandomState};
use smallvec::SmallVec;

use crate::jit::{BufferId, FuseOptions, Plan, Promote, Report, Specialized, Submission};

#[cfg(test)]
mod tests;

/// How many plans are kept.
pub(crate) const CAPACITY: usize = 256;

/// The plans of a context, whose limits never change.
#[derive(Debug)]
pub(crate) struct Memo {
    kept: AHashMap<u64, SmallVec<[Arc<Planned>; 1]>>,
    count: usize,
    capacity: usize,
    /// Counts lookups, to know which plan was used last.
    now: u64,
    hasher: RandomState,
}

/// A plan whose buffers are numbers, with the structure it is for.
#[derive(Debug)]
pub(crate) struct Planned {
    options: FuseOptions,
    structure: Vec<Call>,
    /// Its buffers are numbered in order of first use.
    pub(crate) plan: Plan,
    used: AtomicU64,
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
}

/// The buffers of a list in order of first use.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    ids: SmallVec<[BufferId; 16]>,
    /// The place of each, where there are many.
    index: AHashMap<BufferId, u64>,
}

impl Numbers {
    pub(crate) fn of<'a>(list: impl Iterator<Item = &'a Submission>) -> Numbers {
        let mut numbers = Numbers::default();
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

fn rename(report: &mut Report, mut to: impl FnMut(BufferId) -> BufferId) {
    let Report { groups: _, splits, buffers, trusted } = report;
    splits.iter_mut().filter_map(|split| split.buffer.as_mut()).for_each(|buffer| *buffer = to(*buffer));
    buffers.iter_mut().for_each(|report| report.buffer = to(report.buffer));
    trusted.iter_mut().for_each(|report| report.buffer = report.buffer.map(&mut to));
}

impl Memo {
    /// Room for so many plans.
    pub(crate) fn new(capacity: usize) -> Memo {
        Memo { kept: AHashMap::new(), count: 0, capacity, now: 0, hasher: RandomState::new() }
    }

    /// The plan of a list of this structure, if one is kept; and the list's buffers by number.
    pub(crate) fn get<'a>(
        &mut self,
        list: impl Iterator<Item = &'a Submission> + Clone,
        options: &FuseOptions,
    ) -> (Option<Arc<Planned>>, Numbers) {
        let mut numbers = Numbers::of(list.clone());
        let hash = self.hash(list.clone(), options, &mut numbers);
        self.now += 1;
        let found = self.kept.get(&hash).and_then(|candidates| {
            candidates.iter().find(|planned| planned.fits(list.clone(), options, &mut numbers))
        });
        if let Some(planned) = found {
            planned.used.store(self.now, Relaxed);
        }
        (found.cloned(), numbers)
    }

    /// Keeps the plan that was made of a list.
    pub(crate) fn put<'a>(
        &mut self,
        list: impl Iterator<Item = &'a Submission> + Clone,
        options: &FuseOptions,
        mut plan: Plan,
    ) -> Arc<Planned> {
        let mut numbers = Numbers::of(list.clone());
        for bound in plan.steps.iter_mut().flat_map(|step| &mut step.bindings) {
            bound.buffer = BufferId(numbers.number(bound.buffer));
        }
        rename(&mut plan.report, |buffer| BufferId(numbers.number(buffer)));
        let structure = list.clone().map(|submission| Call::of(submission, &mut numbers)).collect();
        let planned =
            Arc::new(Planned { options: *options, structure, plan, used: AtomicU64::new(self.now) });
        if self.capacity > 0 {
            while self.count >= self.capacity {
                self.drop_oldest();
            }
            let hash = self.hash(list, options, &mut numbers);
            self.kept.entry(hash).or_default().push(planned.clone());
            self.count += 1;
        }
        planned
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.count = 0;
    }

    fn drop_oldest(&mut self) {
        let used = |planned: &Arc<Planned>| planned.used.load(Relaxed);
        let oldest =
            self.kept.iter().flat_map(|(hash, all)| all.iter().map(move |one| (used(one), *hash))).min();
        let Some((oldest, hash)) = oldest else { return self.count = 0 };
        if let Some(all) = self.kept.get_mut(&hash) {
            let before = all.len();
            all.retain(|one| used(one) != oldest);
            self.count -= before - all.len();
            if all.is_empty() {
                self.kept.remove(&hash);
            }
        }
    }

    fn hash<'a>(
        &self,
        list: impl Iterator<Item = &'a Submission>,
        options: &FuseOptions,
        numbers: &mut Numbers,
    ) -> u64 {
        use std::hash::{BuildHasher, Hash, Hasher};
        let mut hasher = self.hasher.build_hasher();
        options.hash(&mut hasher);
        for submission in list {
            hasher.write_usize(Arc::as_ptr(&submission.kernel).addr());
            submission.base.hash(&mut hasher);
            submission.groups.hash(&mut hasher);
            submission.push.hash(&mut hasher);
            for arg in &submission.args {
                Argument::of(arg, numbers).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

impl Planned {
    fn fits<'a>(
        &self,
        list: impl Iterator<Item = &'a Submission>,
        options: &FuseOptions,
        numbers: &mut Numbers,
    ) -> bool {
        let mut structure = self.structure.iter();
        self.options == *options
            && list
                .into_iter()
                .all(|submission| structure.next().is_some_and(|call| call.fits(submission, numbers)))
            && structure.next().is_none()
    }
}

impl Call {
    fn of(submission: &Submission, numbers: &mut Numbers) -> Call {
        let Submission { kernel, base, groups, args, push } = submission;
        Call {
            kernel: kernel.clone(),
            base: *base,
            groups: *groups,
            push: push.clone(),
            args: args.iter().map(|arg| Argument::of(arg, numbers)).collect(),
        }
    }

    fn fits(&self, submission: &Submission, numbers: &mut Numbers) -> bool {
        Arc::ptr_eq(&self.kernel, &submission.kernel)
            && self.base == submission.base
            && self.groups == submission.groups
            && self.push == submission.push
            && self.args.len() == submission.args.len()
            && self.args.iter().zip(&submission.args).all(|(known, arg)| *known == Argument::of(arg, numbers))
    }
}

impl Argument {
    /// An argument with its buffer numbered. Its set and binding are the kernel's.
    fn of(arg: &crate::jit::Arg, numbers: &mut Numbers) -> Argument {
        let crate::jit::Arg { set: _, binding: _, buffer, offset, len, promote } = arg;
        Argument { buffer: numbers.number(*buffer), offset: *offset, len: *len, promote: *promote }
    }
}
