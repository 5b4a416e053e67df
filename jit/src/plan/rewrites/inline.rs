//! Lets submissions join a group by recomputing, where they read it, what an earlier kernel stored.
//!
//! Where the next submission reads elements that other invocations of a group store (a stencil, a gather, a reversal, a
//! transposition), each of these loads becomes the definition of the element ([`rewrite::inline`]). The submission then no longer
//! accesses that buffer. The result is an ordinary list, to which theorems 1 to 3 apply as to any other. The producer also runs
//! by itself, unless its buffer is promoted: then nothing is left of it.
//!
//! # Requires
//! - a group, and a submission that does not join it because of a buffer that the group writes
//!
//! # Guarantees
//! - each element that was loaded is one that exactly one item of the producer certainly stores ([`Boundary::stored`], [`Boundary::replaceable`])
//! - what that item reads is what it read ([`Boundary::unchanged`])
//!
//! # Refuses
//! - what would not pay ([`Boundary::pays`])

pub(in crate::plan) mod boundary;
mod definitions;
pub(in crate::plan) mod digits;
mod elements;
pub(in crate::plan) mod texels;
pub(in crate::plan) mod unpromoted;

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::Reason;
use crate::kernel::Specialized;
use crate::plan::grouping::budget::Budget;
use crate::plan::grouping::group::{Group, Rejection};
use crate::plan::grouping::view::{View, ask};
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::options::FuseOptions;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{Arg, BufferId, Promote, Submission};
use crate::plan::input::uses::Uses;
use crate::plan::input::wish::wish;
#[cfg(feature = "certify")]
use crate::plan::output::again::Again;
use crate::plan::output::report::{InlineReport, Report};
use crate::plan::rewrites::proposal::{Known, Placed};
use crate::plan::rewrites::{idle, place, rows};
use crate::reason::RewriteReason;
use crate::rewrite::{self, Definition, Guarded, Parts, Rows, Slots};
use boundary::{Boundary, Done, Loads, Stored, overlap, size_of, writes};
pub(crate) use definitions::Stores;

/// Most producers that are recomputed in one submission.
const MOST_PRODUCERS: usize = 8;
/// Most loads, and operations, that one invocation repeats.
pub(in crate::plan) const MOST_LOADS: u64 = 40;
pub(in crate::plan) const MOST_WORK: u64 = 512;
/// Buffers of up to this many bytes stay in a device's caches, where it makes no difference how much of them is read.
const CACHED_BYTES: u64 = 4 << 20;

/// A list in which a submission recomputes others, and what that gains.
pub(crate) struct Inlined {
    pub(crate) list: Vec<Submission>,
    pub(crate) uses: Uses,
    /// The group with the submission, or what still keeps it apart.
    pub(crate) group: Group,
    /// What had to be placed for that.
    pub(crate) placed: Option<Placed>,
    pub(crate) inlined: Vec<InlineReport>,
    /// What there is to certify about that.
    #[cfg(feature = "certify")]
    pub(crate) again: Vec<Again>,
}

/// Whether [`across`] tries anything to let the next submission join.
pub(crate) fn is_tried(next: &Submission, rejection: &Rejection, options: &FuseOptions) -> bool {
    let is_boundary = matches!(
        rejection.reason,
        Reason::CrossGroup(_)
            | Reason::LocalSize { .. }
            | Reason::SlowBroadcast { .. }
            | Reason::UniformWritten(_)
            | Reason::SampledWritten(_)
    );
    !options.no_rewrites && is_boundary && next.base == [0; 3] && analysis_of(next).is_ok()
}

/// Tries to let the next submission join by recomputing what it reads; `Err(None)` if there is nothing to try. `asked` is the list
/// as it was submitted.
pub(crate) fn across(
    asked: &[Submission],
    problem: Problem<'_>,
    group: &Group,
    (rejection, stores): (&Rejection, Stores),
    known: &Report,
) -> Result<Inlined, Option<RewriteReason>> {
    let Problem { list, uses, options, limits } = problem;
    let next = group.end();
    let has_several = |one: &Submission| {
        let accesses = analysis_of(one).map_or(&[][..], |analysis| &analysis.accesses);
        accesses.iter().filter(|access| access.kind.writes()).count() > 1
    };
    let is_other = || stores == Stores::One || list[group.start..next].iter().any(has_several);
    if !is_tried(&list[next], rejection, options) || !is_other() {
        return Err(None);
    }
    // Recomputation is proven, also under a policy that trusts the user elsewhere.
    let proven = problem.proven();
    let problem = problem.with_options(&proven);
    let mut list = Cow::Borrowed(list);
    let mut own_uses = None;
    let mut inlined: Vec<InlineReport> = Vec::new();
    #[cfg(feature = "certify")]
    let mut again = Vec::new();
    let mut buffer = rejection.buffer;
    for _ in 0..MOST_PRODUCERS {
        // What is loaded where one producer stores nothing may be another's.
        let done: Done = inlined.iter().map(|one| (one.producer, one.at)).collect();
        let Some((producer, from)) = producer_of(&list, group.start, next, buffer, &done) else { break };
        // A producer that was placed does the same in loops; its definition is that of its items. But it was not submitted with
        // what it works out itself.
        let is_placed = known.rewrites.iter().any(|one| one.submission == producer);
        let works_out = known.inlined.iter().any(|one| one.submission == producer)
            || known.epilogues.iter().any(|one| one.changes(producer));
        if is_placed && works_out {
            break;
        }
        let uses = own_uses.as_ref().unwrap_or(uses);
        let in_place = in_place(Problem { list: &list, uses, ..problem }, group.start, producer);
        let submitted = match &in_place {
            Some(source) => source,
            None if is_placed => &asked[producer],
            None => &list[producer],
        };
        let (is_own, robust, done) = (false, limits.robust, &done);
        let halves = limits.small_scalars.float16;
        let target = &list[next].args[from];
        let (mut found, mut why) = (None, None);
        // Any other reason says more than that there is no definition.
        let mut refuse = |reason| {
            if matches!(why, None | Some(RewriteReason::NoDefinition { .. })) {
                why = Some(reason);
            }
        };
        for &way in definitions::Way::all(stores) {
            let form = match way.form(submitted, uses, producer, target) {
                None => continue,
                Some(Ok(form)) => form,
                Some(Err(reason)) => {
                    refuse(reason);
                    continue;
                }
            };
            let (source, definition) = (form.source.as_ref(), form.definition.clone());
            let list = &list;
            let boundary = Boundary {
                list,
                uses,
                source,
                definition,
                producer,
                next,
                from,
                done,
                is_own,
                robust,
                halves,
            };
            match boundary.inline(&proven) {
                Ok(made) => {
                    found = Some((form, made));
                    break;
                }
                Err(reason) => refuse(reason),
            }
            // What has one store has no other form.
            if !way.may_be_another() {
                break;
            }
        }
        let Some((form, made)) = found else { return Err(why) };
        #[cfg(feature = "certify")]
        again.push(Again {
            source: if form.is_settled { submitted.clone() } else { made.again.source },
            by_rounds: form.by_rounds.map(|by| (submitted.clone(), by)),
            ..made.again
        });
        #[cfg(not(feature = "certify"))]
        let _ = form;
        list.to_mut()[next] = made.submission;
        inlined.push(made.report);
        drop_unused(asked, list.to_mut(), next, &mut inlined);
        let uses = own_uses.insert(Uses::of(&list).under(options.policy, &list));
        let problem = Problem { list: &list, uses, ..problem };
        let (group, placed) = match grow(problem, group.start, next) {
            Ok(group) => (group, None),
            Err(Some(stopped)) if stopped.0.end() == next => {
                let (mut before, rejection) = *stopped;
                let done: Done = inlined.iter().map(|one| (one.producer, one.at)).collect();
                let is_crossed = matches!(rejection.reason, Reason::CrossGroup(_));
                if is_crossed && producer_of(&list, before.start, next, rejection.buffer, &done).is_some() {
                    buffer = rejection.buffer;
                    continue;
                }
                // What goes by elements may take the rows or the tiles that are left.
                let known = Known {
                    rewrites: &known.rewrites,
                    inlined: [&known.inlined, &inlined],
                    epilogues: &known.epilogues,
                };
                match place::across(asked, problem, &mut before, known) {
                    Ok(placed) => (before, Some(placed)),
                    Err(why) => {
                        return Err(why.or(Some(RewriteReason::Rejected(Box::new(rejection.reason)))));
                    }
                }
            }
            Err(_) => break,
        };
        return Ok(Inlined {
            list: list.into_owned(),
            uses: own_uses.unwrap_or_default(),
            group,
            placed,
            inlined,
            #[cfg(feature = "certify")]
            again,
        });
    }
    Err(None)
}

/// Drops producers whose elements are no longer loaded and need not be in memory, since their buffer was promoted. An empty kernel
/// takes their place.
fn drop_unused(asked: &[Submission], list: &mut [Submission], next: usize, inlined: &mut [InlineReport]) {
    let wishes = Uses::of(asked);
    loop {
        let uses = Uses::of(list);
        let mut is_done = true;
        for one in inlined.iter_mut().filter(|one| !one.gone) {
            let used = uses.of_buffer(one.buffer);
            let wish = wish(asked, &wishes, one.buffer);
            let is_promoted = matches!(wish, Ok(wish) if wish != Promote::None);
            let is_used = used.iter().any(|&(at, _)| at != one.producer);
            if !is_promoted || is_used || stores_elsewhere(list, &uses, one.producer, one.buffer) {
                continue;
            }
            let (shape, kernel) = (&list[next], &list[one.producer].kernel);
            let Some(idle) = idle::idle(kernel, shape.groups, shape.kernel.interface.local_size) else {
                continue;
            };
            list[one.producer] = idle;
            one.gone = true;
            is_done = false;
        }
        if is_done {
            return;
        }
    }
}

/// Whether a submission may write to another buffer.
fn stores_elsewhere(list: &[Submission], uses: &Uses, at: usize, buffer: BufferId) -> bool {
    let (Some(view), Ok(analysis)) = (View::of(list, uses, at), analysis_of(&list[at])) else { return true };
    let mut writes = analysis.accesses.iter().zip(&view.forms).filter(|(access, _)| access.kind.writes());
    writes.any(|(access, form)| !form.never && list[at].args[access.binding].buffer != buffer)
        && !mutant!(OthersAreNotStored)
}

/// The arguments of a kernel that was made of two: those of the one, and those of the other behind them.
pub(in crate::plan) fn args(
    kernel: &Specialized,
    own: &Submission,
    other: &Submission,
    slots: Slots,
) -> Option<SmallVec<[Arg; 8]>> {
    let own = own.args.iter().map(|arg| (arg.at, arg));
    let theirs = other.args.iter().enumerate().map(|(number, arg)| (slots.at(number), arg));
    let all: Vec<_> = own.chain(theirs).collect();
    let args = kernel.interface.bindings.iter().map(|binding| {
        let found = all.iter().find(|(at, _)| *at == binding.at);
        found.map(|&(at, arg)| Arg { at, ..arg.clone() })
    });
    args.collect()
}

/// A submission that writes over the texels that it reads, each item its own, as one that recomputes what it read: what it writes in the end
/// is then made of what an earlier submission read. `None` if it is no such submission, or that is not known.
///
/// Of what comes out only the definition is of use. What it reads it reads before it writes, since the value that is written is made of it.
fn in_place(problem: Problem<'_>, start: usize, next: usize) -> Option<Submission> {
    let Problem { list, uses, options, limits } = problem;
    let one = &list[next];
    let definition = Definition::of(&one.kernel).ok().filter(|definition| definition.texels.is_some())?;
    let from = definition.binding;
    if !definition.loads.contains(&from) {
        return None;
    }
    let producer = (start..next).rev().find(|&at| writes(&list[at], &one.args[from]))?;
    let before = in_place(problem, start, producer);
    let source = before.as_ref().unwrap_or(&list[producer]);
    let definition = Definition::of(&source.kernel).ok().filter(|definition| definition.texels.is_some())?;
    let done = Done::new();
    // Texels are no bytes of a range.
    let (is_own, robust, done) = (true, false, &done);
    let halves = limits.small_scalars.float16;
    let boundary =
        Boundary { list, uses, source, definition, producer, next, from, done, is_own, robust, halves };
    Some(boundary.inline(options).ok()?.submission)
}

/// The group up to `next`, which it includes; or the group before it, and why it stays apart.
fn grow(problem: Problem<'_>, start: usize, next: usize) -> Result<Group, Option<Box<(Group, Rejection)>>> {
    let Problem { list, options, limits, .. } = problem;
    let mut budget = Budget::new(&list[start]);
    let Ok(mut group) = Group::new(problem, start) else { return Err(None) };
    while group.end() <= next {
        let joined = budget
            .add(&list[group.end()], options.float, limits)
            .map_err(Rejection::from)
            .and_then(|()| group.join(problem));
        if let Err(rejection) = joined {
            return Err(Some(Box::new((group, rejection))));
        }
    }
    Ok(group)
}

/// The last submission before `next` that stores what `next` only reads, other than those that are `done`, and the binding of `next` that reads
/// it. Only `buffer` is looked at if there is one, otherwise any.
fn producer_of(
    list: &[Submission],
    start: usize,
    next: usize,
    buffer: Option<BufferId>,
    done: &Done,
) -> Option<(usize, usize)> {
    let one = &list[next];
    let bindings = one.args.iter().zip(&one.kernel.interface.bindings).enumerate();
    let reads = bindings.filter(|(_, (arg, binding))| {
        binding.reads && !binding.writes && buffer.is_none_or(|buffer| buffer == arg.buffer)
    });
    let found = reads.filter_map(|(number, (arg, _))| {
        let producer =
            (start..next).rev().find(|&at| writes(&list[at], arg) && !done.contains(&(at, arg.at)))?;
        Some((producer, number))
    });
    found.max_by_key(|&(producer, _)| producer)
}

/// A submission that recomputes what it loaded.
struct Made {
    submission: Submission,
    report: InlineReport,
    #[cfg(feature = "certify")]
    again: Again,
}

impl Boundary<'_> {
    /// Submission `next` with the definition in the place of its loads.
    fn inline(&self, options: &FuseOptions) -> Result<Made, RewriteReason> {
        let &Self { source, producer, from, ref definition, .. } = self;
        let consumer = &self.list[self.next];
        if source.base != [0; 3] {
            return Err(RewriteReason::NoDefinition {
                producer,
                what: "work-group ids that start elsewhere",
            });
        }
        // With the numbers of the call, the stores to the buffer may be those that do not happen.
        if !overlap(&source.args[definition.binding], &consumer.args[from]) && !mutant!(AnyStoreIsTheOne) {
            return Err(RewriteReason::NoDefinition { producer, what: "a store that does not happen" });
        }
        self.unchanged()?;
        self.divides()?;
        self.has_first_elements()?;
        let (mut stored, loads) = match definition.texels {
            Some(texels) => {
                let stored = self.stored_texels(texels)?;
                let loads = self.replaceable_texels(&stored.sides, texels)?;
                (stored, loads)
            }
            None => {
                let stored = self.stored()?;
                let loads = self.replaceable(&stored)?;
                (stored, loads)
            }
        };
        stored.ids.shifted = loads.shift != 0;
        (stored.ids.from_first, stored.ids.to_last) = (loads.below, loads.above);
        stored.ids.known = loads.known.clone();
        stored.ids.rows = self.rows(&stored, &loads);
        stored.ids.by_row = stored.ids.rows.digits;
        let definition = &definition.in_order(&stored.ids.sites);
        let report = self.pays(&loads, options)?;
        let halves = self.halves || mutant!(DevicesComputeWithHalves);
        let (own, theirs) = (&consumer.kernel, &source.kernel);
        let kernel = rewrite::inline(own, from, theirs, definition, &stored.ids, halves)?;
        let slots = Slots::of(&consumer.kernel, &source.kernel);
        let mut push = consumer.push.clone();
        push.resize(slots.push as usize, 0);
        push.extend_from_slice(&source.push);
        push.resize(slots.words as usize, 0);
        let word = |n: i128| (n as u32).to_le_bytes();
        if stored.ids.shifted {
            push.extend_from_slice(&word(loads.shift));
        }
        if stored.ids.based {
            push.extend_from_slice(&word(stored.first));
        }
        // As the consumer counts.
        if stored.ids.from_first {
            push.extend_from_slice(&word(loads.first));
        }
        if stored.ids.to_last {
            push.extend_from_slice(&word(loads.end));
        }
        let weights = stored.weights.iter().copied().chain(stored.sides.bases(&stored.ids));
        weights.for_each(|word| push.extend_from_slice(&word.to_le_bytes()));
        if rewrite::hides(&consumer.kernel, &source.kernel) {
            push.extend_from_slice(&[0; 4]);
        }
        let args = args(&kernel, consumer, source, slots);
        let args = args.ok_or_else(|| RewriteReason::NotInlined { what: "an unknown binding".to_owned() })?;
        Ok(Made {
            submission: Submission { kernel, base: [0; 3], groups: consumer.groups, args, push },
            report,
            #[cfg(feature = "certify")]
            again: Again {
                producer,
                next: self.next,
                source: source.clone(),
                by_rounds: None,
                consumer: consumer.clone(),
                from,
                digits: stored.digits.iter().map(|digit| digit.of_elements(stored.stride)).collect(),
                origin: stored.origin,
                stride: stored.stride,
                first: stored.first,
                count: stored.count,
                below: loads.below,
                above: loads.above,
                is_texels: definition.texels.is_some(),
                is_of_parts: loads.parts != Parts::Whole,
                sites: definition.sites.iter().map(|site| site.at).collect(),
            },
        })
    }

    /// Rows of the loads, of a length that the definition divides by.
    fn rows(&self, stored: &Stored, loads: &Loads) -> Rows {
        let &Self { list, uses, source, producer, next, from, ref definition, .. } = self;
        let (Ok(own), Ok(theirs)) = (analysis_of(&list[next]), analysis_of(source)) else {
            return Rows::default();
        };
        let is_same = loads.parts == Parts::Whole && (loads.shift == 0 || mutant!(ArraysBeginTogether));
        let ([site], None, true) = (definition.sites.as_slice(), definition.texels, is_same) else {
            return Rows::default();
        };
        let divisions = rows::divisions(source, (uses, producer), &theirs.accesses[site.store]);
        // The heaviest digit of an index.
        let heaviest = stored.ids.digits.len().checked_sub(2).and_then(|at| stored.weights.get(at));
        let by_digits = heaviest.filter(|_| !stored.ids.based).map(|&weight| i128::from(weight));
        let loads = own.accesses.iter().enumerate().filter(|(_, access)| access.binding == from);
        let loads: Vec<usize> = loads.map(|(number, _)| number).collect();
        rows::best(&list[next], (uses, next), &loads, &divisions, by_digits)
    }

    /// Whether what the producer reads, and what it stores, is still what it was when `next` runs, and while it runs.
    fn unchanged(&self) -> Result<(), RewriteReason> {
        let &Self { list, source, producer, next, from, ref definition, done, .. } = self;
        let target = &list[next].args[from];
        for (at, one) in list.iter().enumerate().take(next + 1).skip(producer) {
            let wrong = Err(RewriteReason::Overwritten { producer, writer: at });
            if one.kernel.interface.uses_device_addresses {
                return wrong;
            }
            let sources = definition.loads.iter().map(|&binding| &source.args[binding]);
            if { sources }.any(|arg| writes(one, arg)) && !mutant!(SourcesStay) {
                return wrong;
            }
            let is_own = self.is_own && at == next;
            let is_target = at > producer && !is_own && !done.contains(&(at, target.at));
            if is_target && writes(one, target) && !mutant!(TargetsStay) {
                return wrong;
            }
        }
        Ok(())
    }

    /// Whether what the definition divides under conditions can be divided without them, for every item that stores an element.
    fn divides(&self) -> Result<(), RewriteReason> {
        let &Self { source, uses, producer, ref definition, .. } = self;
        if definition.divisions.is_empty() {
            return Ok(());
        }
        let has_result = analysis_of(source).ok().and_then(|analysis| {
            let guards = &analysis.access(definition.store())?.guards;
            let mut all = true;
            ask(source, uses, producer, |evaluator, atoms| {
                all = definition.divisions.iter().all(|place| {
                    let division = analysis.divisions.get(place);
                    division.is_some_and(|division| evaluator.divides(atoms, guards, division))
                });
            })?;
            Some(all)
        });
        let what = "a division under a condition, by what may be zero";
        has_result.filter(|&all| all).map(|_| ()).ok_or(RewriteReason::NoDefinition { producer, what })
    }

    /// Whether there is a first element where the definition may load that, whatever the item would have loaded.
    fn has_first_elements(&self) -> Result<(), RewriteReason> {
        let &Self { source, producer, ref definition, .. } = self;
        let has = |one: &Guarded| one.end <= source.args[one.binding].len || mutant!(BuffersHaveElements);
        let what = "a load under a condition, of a buffer without elements";
        let all = definition.guarded.iter().all(has);
        all.then_some(()).ok_or(RewriteReason::NoDefinition { producer, what })
    }

    /// The list with the producer in the form in which it is recomputed.
    fn worked_out(&self) -> Cow<'_, [Submission]> {
        let &Self { list, source, producer, .. } = self;
        if std::ptr::eq(source, &list[producer]) {
            return Cow::Borrowed(list);
        }
        let mut list = list.to_vec();
        list[producer] = source.clone();
        Cow::Owned(list)
    }

    /// Whether recomputing is not slower than storing and loading.
    ///
    /// Traffic between memory and caches is counted once for each element, since neighbouring invocations load the same. An element is still
    /// stored if something else reads it, or if it was not promoted; then recomputing a value from more bytes than it has itself costs more than it
    /// saves. A load without order costs a whole cache line for each operand of the value.
    fn pays(&self, loads: &Loads, options: &FuseOptions) -> Result<InlineReport, RewriteReason> {
        let &Self { list, uses, source, producer, next, from, ref definition, .. } = self;
        let target = &list[next].args[from];
        let wish = wish(list, uses, target.buffer).unwrap_or_default();
        let users = uses.of_buffer(target.buffer);
        let kept = wish == Promote::None || users.iter().any(|&(at, _)| at != producer && at != next);
        let each = definition.loads.len() as u64;
        let times = loads.times.saturating_mul(match loads.parts {
            Parts::Several(count) => count.into(),
            Parts::Whole | Parts::PartOf(_) => 1,
        });
        let again = each.saturating_mul(times);
        let work = definition.work.saturating_mul(times);
        let read: u64 = definition.loads.iter().map(|&binding| size_of(source, binding)).sum();
        // What an item loads, it loads for all of its elements.
        let read = read.div_ceil(definition.sites.len().max(1) as u64);
        let element = size_of(source, definition.binding);
        let saved = if kept { element } else { 2 * element };
        let len = |binding: usize| match source.kernel.interface.bindings[binding].kind.texture() {
            Some(_) => texels::bytes_of(source, binding),
            None => source.args[binding].len,
        };
        let bytes = (0..source.args.len()).map(len).fold(0, u64::saturating_add);
        let is_cached = bytes <= CACHED_BYTES;
        let fits = again <= MOST_LOADS && work <= MOST_WORK;
        let moves_less = is_cached || read <= saved && (loads.in_order || each <= 1);
        if !(fits && moves_less || options.force || self.is_own) {
            return Err(RewriteReason::Costs { loads: again, work, read, saved });
        }
        let elements = len(definition.binding).min(target.len) / element.max(1);
        Ok(InlineReport {
            submission: next,
            producer,
            buffer: target.buffer,
            loads: loads.count,
            times: loads.times,
            paid: again,
            saved: saved * elements,
            at: target.at,
            gone: false,
        })
    }
}
