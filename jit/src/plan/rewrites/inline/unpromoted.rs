//! Recomputes, at every load, what was to be promoted and did not fit.
//!
//! Rows of more elements than registers and shared memory hold stay in memory between the kernels of a group: such a buffer is stored once and
//! loaded by each of its readers. Where its definition loads less than that, all readers recompute it, and the producer has
//! nothing left to do. Otherwise its only reader, if it has one, is done where it is stored ([`epilogue`]).
//!
//! A buffer with one reader is also recomputed if that saves a dispatch: where its producer is in another dispatch than the reader, or is the first
//! submission of one ([`apart`]). Of two buffers that a submission reads, one can then be stored by a kernel that takes the submission as its epilogue,
//! and the other be recomputed there.
//!
//! # Requires
//! - the plan of a list, which reports the buffers that were to be promoted, and its dispatches
//!
//! # Guarantees
//! - the buffers that are recomputed have no reader left in the list; each load was replaced as at a kernel boundary ([`Boundary::inline`])
//! - fewer bytes move, if what is much shorter than the buffer stays in caches
//!
//! # Refuses
//! - buffers that stay in caches, unless that saves a dispatch; several producers, readers that write the buffer as well
//!
//! # Leaves alone
//! - whether the list that comes out is one dispatch as before: its plan says so

use smallvec::SmallVec;

use super::boundary::{Boundary, Done, size_of};
use super::drop_unused;
use super::texels::bytes_of;
use crate::kernel::SetBinding;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::FuseOptions;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{BufferId, Internalization, Promote, Submission};
use crate::plan::input::uses::Uses;
#[cfg(feature = "certify")]
use crate::plan::output::again::{Again, Behind};
use crate::plan::output::plan::Plan;
use crate::plan::output::report::{EpilogueReport, InlineReport, Report};
use crate::plan::rewrites::{epilogue, rounds};
use crate::reason::RewriteReason;
use crate::rewrite::{self, Definition};

/// Operations that are done in the time in which a byte moves, on a device whose memory is fast.
const WORK_OF_A_BYTE: u64 = 6;
/// Elements that an invocation of a producer may store.
const MOST_ROUNDS: u32 = 1 << 16;
/// Readers of one buffer.
const MOST_READERS: usize = 8;

/// A list whose readers recompute what was not promoted.
#[derive(Clone)]
pub(in crate::plan) struct Recomputed {
    pub(in crate::plan) list: Vec<Submission>,
    pub(in crate::plan) inlined: Vec<InlineReport>,
    pub(in crate::plan) epilogues: Vec<EpilogueReport>,
    #[cfg(feature = "certify")]
    pub(in crate::plan) again: Vec<Again>,
    #[cfg(feature = "certify")]
    pub(in crate::plan) behind: Vec<Behind>,
}

/// Why a submission does not recompute what another one stores.
pub(in crate::plan) struct Refused {
    producer: usize,
    next: usize,
    reason: RewriteReason,
}

/// Buffers that a plan left in memory although they were to be promoted, if they are too large for caches and one submission stores all of each;
/// with that submission.
pub(in crate::plan) fn unpromoted(
    asked: &[Submission],
    plan: &Plan,
    limits: &Limits,
) -> Vec<(usize, BufferId)> {
    let kept = plan.report.buffers.iter();
    let kept = kept.filter(|one| one.asked != Promote::None && one.got == Internalization::None);
    let uses = Uses::of(asked);
    let producer = |buffer| only_producer(asked, &uses, buffer, limits.cached_bytes);
    let mut found: Vec<_> = kept.filter_map(|one| Some((producer(one.buffer)?, one.buffer))).collect();
    // What is made of others comes after them, so that it is made of what they are made of.
    found.sort_unstable();
    found
}

/// Buffers that were to be promoted and have one reader, if their producer is done in another dispatch than that, or begins one; with the
/// producer.
pub(in crate::plan) fn apart(asked: &[Submission], plan: &Plan) -> Vec<(usize, BufferId)> {
    if plan.steps.len() < 2 {
        return Vec::new();
    }
    let uses = Uses::of(asked);
    let group_of = |at: usize| plan.report.groups.iter().position(|group| group.members.contains(&at));
    let is_apart = |&(producer, buffer): &(usize, BufferId)| {
        let reader = match readers(asked, producer, buffer).as_deref() {
            Some(&[reader]) => reader,
            _ => return false,
        };
        let own = group_of(producer);
        let begins = || {
            let group = own.filter(|&number| number > 0).and_then(|number| plan.report.groups.get(number));
            group.is_some_and(|group| group.members.first() == Some(&producer))
        };
        own != group_of(reader) || begins()
    };
    let wished = plan.report.buffers.iter().filter(|one| one.asked != Promote::None);
    let found = wished.filter_map(|one| Some((only_producer(asked, &uses, one.buffer, 0)?, one.buffer)));
    let mut found: Vec<_> = found.filter(is_apart).collect();
    found.sort_unstable();
    found
}

impl Recomputed {
    /// The list in which these buffers are recomputed by their only readers.
    ///
    /// # Errors
    /// The reasons, if none of them can be.
    pub(in crate::plan) fn beside(
        asked: &[Submission],
        apart: &[(usize, BufferId)],
        options: &FuseOptions,
        limits: &Limits,
    ) -> Result<Self, Vec<Refused>> {
        let (mut all, mut refused) = (Self::none(asked), Vec::new());
        for &one in apart {
            // What is left of the producer goes with what is next to it.
            let shape = one.0.checked_sub(1).unwrap_or(1);
            let made = all.recompute(asked, one, Some(shape), options, limits);
            refused.extend(made.err().flatten());
        }
        if all.inlined.is_empty() { Err(refused) } else { Ok(all) }
    }

    fn none(asked: &[Submission]) -> Self {
        Self {
            list: asked.to_vec(),
            inlined: Vec::new(),
            epilogues: Vec::new(),
            #[cfg(feature = "certify")]
            again: Vec::new(),
            #[cfg(feature = "certify")]
            behind: Vec::new(),
        }
    }

    /// The list in which these buffers are recomputed, or done where they are stored; `None` if that pays for none of them.
    pub(in crate::plan) fn of(
        asked: &[Submission],
        unpromoted: &[(usize, BufferId)],
        options: &FuseOptions,
        limits: &Limits,
    ) -> Option<Self> {
        let mut all = Self::none(asked);
        // That it pays is decided for all readers together.
        let forced = FuseOptions { force: true, ..*options };
        for &(producer, buffer) in unpromoted {
            // Of an image, each reader has to gain: it is no matter of space.
            let is_image = asked[producer].args.iter().any(|arg| arg.buffer == buffer && arg.image.is_some());
            let own = if is_image { options } else { &forced };
            if all.recompute(asked, (producer, buffer), None, own, limits).is_err() {
                all.append(asked, (producer, buffer), options, limits);
            }
        }
        (!all.inlined.is_empty() || !all.epilogues.is_empty()).then_some(all)
    }

    /// Has the only reader of a buffer done where it is stored.
    fn append(
        &mut self,
        asked: &[Submission],
        (producer, buffer): (usize, BufferId),
        options: &FuseOptions,
        limits: &Limits,
    ) -> Option<()> {
        let readers = readers(&self.list, producer, buffer)?;
        let &[next] = readers.as_slice() else { return None };
        if rewrite::why_not_free(&self.list[next].kernel).is_some() {
            return None;
        }
        let one = &self.list[producer];
        let mut bindings = one.args.iter().zip(&one.kernel.interface.bindings);
        let into = bindings.position(|(arg, binding)| arg.buffer == buffer && binding.writes)?;
        let uses = Uses::of(&self.list).under(options.policy, &self.list);
        let problem = Problem { list: &self.list, uses: &uses, options, limits };
        let made = epilogue::at_stores(asked, problem, next, &[(producer, into)]).ok()?;
        self.list = made.list;
        self.epilogues.extend(made.reports);
        #[cfg(feature = "certify")]
        self.behind.extend(made.behind);
        Some(())
    }

    /// Has all readers of a buffer recompute it; leaves all as it is if one of them cannot. What is left of the producer has the shape of the first
    /// reader, or of another submission.
    fn recompute(
        &mut self,
        asked: &[Submission],
        (producer, buffer): (usize, BufferId),
        shape: Option<usize>,
        options: &FuseOptions,
        limits: &Limits,
    ) -> Result<(), Option<Refused>> {
        let readers: Vec<usize> = readers(&self.list, producer, buffer).ok_or(None)?;
        let submitted = self.list[producer].clone();
        let definition = Definition::of(&submitted.kernel).ok();
        // What an invocation stores in several elements is the definition of each of them.
        let uses = Uses::of(&self.list).under(options.policy, &self.list);
        let by_rounds = match definition {
            Some(_) => None,
            None => Some(rounds::of_many(&submitted, &uses, producer, MOST_ROUNDS).ok_or(None)?),
        };
        let source = by_rounds.as_ref().map_or_else(|| submitted.clone(), |(one, _)| one.clone());
        let definition = definition.or_else(|| Definition::of(&source.kernel).ok());
        let definition = definition.ok_or(None)?;
        if !pays(&source, &definition, readers.len()) {
            return Err(None);
        }
        let before = self.clone();
        let shape = shape.or(readers.first().copied()).ok_or(None)?;
        for next in readers {
            let mut why = None;
            // Each binding once: where not all elements are stored, the others are still loaded, and the buffer stays.
            for at in loaded_from(&self.list[next], buffer) {
                let uses = Uses::of(&self.list).under(options.policy, &self.list);
                let (list, done) = (&self.list, &Done::new());
                let Some(from) = list[next].args.iter().position(|arg| arg.at == at) else { continue };
                let definition = definition.clone();
                let (source, is_own, robust) = (&source, false, limits.robust);
                let boundary = Boundary {
                    list,
                    uses: &uses,
                    source,
                    definition,
                    producer,
                    next,
                    from,
                    done,
                    is_own,
                    robust,
                    halves: limits.small_scalars.float16,
                };
                let made = match boundary.inline(options) {
                    Ok(made) => made,
                    Err(reason) => {
                        why = Some(Refused { producer, next, reason });
                        break;
                    }
                };
                self.list[next] = made.submission;
                self.inlined.push(made.report);
                #[cfg(feature = "certify")]
                self.again.push(Again {
                    by_rounds: by_rounds.as_ref().map(|&(_, by)| (submitted.clone(), by)),
                    ..made.again
                });
            }
            if !loaded_from(&self.list[next], buffer).is_empty() {
                *self = before;
                return Err(why);
            }
        }
        drop_unused(asked, &mut self.list, shape, &mut self.inlined);
        Ok(())
    }
}

impl Refused {
    /// Says of a cut between the two, or before the producer, why that was not recomputed, if nothing is said yet and the kernel is why.
    pub(in crate::plan) fn tell(self, report: &mut Report) {
        let Self { producer, next, reason } = self;
        let parts = |after: usize| after + 1 == producer || (producer..next).contains(&after);
        let cut = report.splits.iter_mut().find(|split| split.tried.is_none() && parts(split.after));
        if let (Some(cut), RewriteReason::NotInlined { .. }) = (cut, &reason) {
            cut.tried = Some(reason);
        }
    }
}

/// The only submission that writes a buffer, if it does not read it, and the buffer is too large for caches.
fn only_producer(list: &[Submission], uses: &Uses, buffer: BufferId, cached_bytes: u64) -> Option<usize> {
    let places = uses.of_buffer(buffer).iter();
    let mut writers = places.filter(|&&(at, binding)| list[at].kernel.interface.bindings[binding].writes);
    let (&(at, binding), None) = (writers.next()?, writers.next()) else { return None };
    let is_read = list[at].kernel.interface.bindings[binding].reads;
    // An image is in memory wherever it could be promoted, if it is not recomputed.
    let is_large = list[at].args[binding].len > cached_bytes || list[at].args[binding].image.is_some();
    (is_large && !is_read).then_some(at)
}

/// Submissions behind the producer that load from the buffer; `None` if one before it does, or there are none or too many.
fn readers(list: &[Submission], producer: usize, buffer: BufferId) -> Option<Vec<usize>> {
    let reads = |at: &usize| *at != producer && !loaded_from(&list[*at], buffer).is_empty();
    let all: Vec<usize> = (0..list.len()).filter(reads).collect();
    let is_behind = all.first().is_some_and(|&first| first > producer);
    (is_behind && all.len() <= MOST_READERS).then_some(all)
}

/// The bindings that a submission loads the buffer's elements from.
fn loaded_from(one: &Submission, buffer: BufferId) -> SmallVec<[SetBinding; 2]> {
    let bindings = one.args.iter().zip(&one.kernel.interface.bindings);
    let loaded = bindings.filter(|(arg, binding)| arg.buffer == buffer && binding.reads);
    loaded.map(|(arg, _)| arg.at).collect()
}

/// Whether fewer bytes move where all readers recompute an element than where it is stored and loaded by each of them.
fn pays(source: &Submission, definition: &Definition, readers: usize) -> bool {
    let len = |binding: usize| match source.args[binding].image {
        Some(_) => bytes_of(source, binding),
        None => source.args[binding].len,
    };
    let element = size_of(source, definition.binding);
    // What is half as long stays in caches while it is used.
    let moved = definition.loads.iter().filter(|&&binding| 2 * len(binding) > len(definition.binding));
    let moved: u64 = moved.map(|&binding| size_of(source, binding)).sum();
    let readers = readers as u64;
    let (kept, recomputed) = (moved + element + readers * element, readers * moved);
    // The producer does it once as it is.
    let more = definition.work.saturating_mul(readers.saturating_sub(1));
    kept.checked_sub(recomputed).is_some_and(|saved| saved > 0 && more <= WORK_OF_A_BYTE * saved)
}
