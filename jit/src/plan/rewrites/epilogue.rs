//! Epilogues: a consumer is done where its producer stores.
//!
//! Where the next submission makes something of each element that a member of the group stores, each of its items can be done right behind the
//! store of its element, by the invocation that stores it: however the producer's invocations are numbered, however many elements one of them
//! stores, and whatever an element costs to make. The result is an ordinary list: the producer's kernel does both ([`rewrite::append`]), and the
//! consumer's submission does nothing. Where several members store the elements, as those of a concatenation, each does the items of its own.
//! Theorems 1 to 3 decide about it as about any other list.
//!
//! # Requires
//! - a group, and a submission that does not join it
//!
//! # Guarantees
//! - each item that stores anything reads one element, and no two items the same one ([`Pair::items`])
//! - each of these elements is stored exactly once ([`Pair::stored_once`]), by one submission or, in parts, by several ([`parts`])
//! - no other access conflicts with those of the items, so that these may be done earlier ([`Pair::undisturbed`])
//!
//! # Refuses
//! - consumers with loops behind producers that leave most of the device idle
//! - consumers whose items read several elements; consumers that are not free

#[cfg(feature = "certify")]
mod evidence;
mod items;
mod pair;
mod parts;
mod rows;

use smallvec::SmallVec;

use crate::analysis::access::{Access, AccessKind};
use crate::analysis::affine::{Affine, Atoms};
use crate::analysis::dependence::{Relation, relate};
use crate::analysis::evaluate::AccessForm;
use crate::plan::grouping::group::{Group, Rejection};
use crate::plan::grouping::in_range::{FACTS, most, stays};
use crate::plan::grouping::mapping::Layout;
use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{Arg, Promote, Submission};
use crate::plan::input::uses::Uses;
use crate::plan::input::wish::wish;
#[cfg(feature = "certify")]
use crate::plan::output::again::Behind;
use crate::plan::output::report::EpilogueReport;
use crate::plan::rewrites::{idle, inline, place, refused, rounds};
use crate::reason::{AccessSite, Reason, RewriteReason};
use crate::rewrite::{self, Handed, Ids, Slots};
use items::Items;
use pair::{Pair, Part};
use parts::Stored;

pub(in crate::plan) use pair::overlap;

/// Stores of one kernel that a consumer is put behind.
const MOST_STORES: usize = 64;

/// A list in which a submission is done where another stores what it reads.
pub(crate) struct Appended {
    pub(crate) list: Vec<Submission>,
    pub(crate) uses: Uses,
    /// The group with the submission, which does nothing any more.
    pub(crate) group: Group,
    /// One for each submission that stores some of what it reads.
    pub(crate) reports: SmallVec<[EpilogueReport; 1]>,
    #[cfg(feature = "certify")]
    pub(crate) behind: Vec<Behind>,
}

/// What is made of a producer and a consumer.
struct Made {
    submission: Submission,
    report: EpilogueReport,
    #[cfg(feature = "certify")]
    behind: Behind,
}

/// Tries to let the next submission join by doing it where what it reads is stored; `Err(None)` if there is nothing to try. `asked` is
/// the list as it was submitted.
pub(crate) fn across(
    asked: &[Submission],
    problem: Problem<'_>,
    group: &Group,
    rejection: &Rejection,
) -> Result<Appended, Option<RewriteReason>> {
    let Problem { list: before, options, .. } = problem;
    let list = before;
    let next = group.end();
    if !inline::is_tried(&list[next], rejection, options) {
        return Err(None);
    }
    let parts = parts_of(list, group.start, next);
    let Some(last) = parts.last() else { return Err(None) };
    if let Some(tied) = rewrite::why_not_free(&list[next].kernel) {
        return Err(why_tied(asked, problem, next, (last, tied)));
    }
    let made = at_stores(asked, problem, next, std::slice::from_ref(last)).or_else(|why| match why {
        Some(RewriteReason::NotStored { .. }) if parts.len() > 1 => {
            at_stores_of_parts(asked, problem, next, (&parts, Some(group.layout)))
        }
        why => Err(why),
    })?;
    let (list, reports) = (made.list, made.reports);
    let uses = Uses::of(&list).under(options.policy, &list);
    let proven = problem.proven();
    let problem = Problem { list: &list, uses: &uses, ..problem.with_options(&proven) };
    let group = place::grow(problem, group.start..next + 1)
        .map_err(|rejection| Some(why_apart(before, (last.0, next), rejection)))?;
    Ok(Appended {
        list,
        uses,
        group,
        reports,
        #[cfg(feature = "certify")]
        behind: made.behind,
    })
}

/// Why a group does not hold in which `next` is done where `producer` stores. What only `next` accesses is said of it.
fn why_apart(list: &[Submission], (producer, next): (usize, usize), rejection: Rejection) -> RewriteReason {
    let binding = |at: usize| list[at].args.iter().position(|arg| Some(arg.buffer) == rejection.buffer);
    if let (Reason::CrossGroup(pair), Some(own), None) = (&rejection.reason, binding(next), binding(producer))
    {
        let is_other = |site: &&AccessSite| ![producer, next].contains(&site.submission);
        let (first, second) = (&pair.first, &pair.second);
        if let Some(other) = [first, second].into_iter().find(is_other) {
            let own = &list[next].kernel.interface.bindings[own];
            return RewriteReason::TooEarly {
                submission: next,
                producer,
                other: other.submission,
                at: own.at,
                writes: own.writes && !own.reads,
                is_written: other.kind.writes(),
            };
        }
    }
    RewriteReason::Rejected(Box::new(rejection.reason))
}

/// What keeps a consumer that is not free from being done where another stores, if nothing else does.
fn why_tied(
    asked: &[Submission],
    problem: Problem<'_>,
    next: usize,
    (&(producer, into), tied): (&Part, &'static str),
) -> Option<RewriteReason> {
    let Problem { list, uses, limits, .. } = problem;
    let parts = &[(producer, into)];
    let pair = Pair { asked, list, uses, producer, next, into, limits, parts };
    match shown(&[pair], None) {
        Ok(_) => Some(refused::not_free(list, next, tied)),
        // Rounds could be items.
        Err(Some(RewriteReason::SeveralElements { pair, .. })) if pair.first == pair.second => {
            Some(refused::not_free(list, next, tied)).filter(refused::is_habit)
        }
        Err(why) => why.filter(|why| matches!(why, RewriteReason::NoEpilogue { access: Some(access), .. } if access.kind == AccessKind::Atomic)),
    }
}

/// A list with a submission done where others store what it reads.
pub(in crate::plan) struct AtStores {
    pub(in crate::plan) list: Vec<Submission>,
    pub(in crate::plan) reports: SmallVec<[EpilogueReport; 1]>,
    #[cfg(feature = "certify")]
    pub(in crate::plan) behind: Vec<Behind>,
}

/// The list in which submission `next` is done where others store, and has nothing left to do itself.
pub(in crate::plan) fn at_stores(
    asked: &[Submission],
    problem: Problem<'_>,
    next: usize,
    parts: &[Part],
) -> Result<AtStores, Option<RewriteReason>> {
    at_stores_of_parts(asked, problem, next, (parts, None))
}

/// The same of several that store parts of what it reads, in a group with this layout.
fn at_stores_of_parts(
    asked: &[Submission],
    problem: Problem<'_>,
    next: usize,
    (parts, layout): (&[Part], Option<Layout>),
) -> Result<AtStores, Option<RewriteReason>> {
    let Problem { list, uses, limits, .. } = problem;
    let append = |list: &[Submission]| {
        let pair = |&(producer, into)| Pair { asked, list, uses, producer, next, into, limits, parts };
        let pairs: SmallVec<[Pair<'_>; 1]> = parts.iter().map(pair).collect();
        append(&pairs, layout)
    };
    // A kernel whose invocations do several elements may have each of them as an item.
    let made = append(list).or_else(|why| -> Result<SmallVec<[Made; 1]>, Option<RewriteReason>> {
        let (each, _counted) = rounds::of(&list[next], uses, next).ok_or(why)?;
        let mut by_rounds = list.to_vec();
        by_rounds[next] = each;
        let made = append(&by_rounds)?;
        #[cfg(feature = "certify")]
        let made = made.into_iter().map(|one| one.by_rounds(&list[next], _counted)).collect();
        Ok(made)
    })?;
    let mut list = list.to_vec();
    let first = made.first().ok_or(None)?;
    let (groups, local) = (first.submission.groups, first.submission.kernel.interface.local_size);
    list[next] = idle::idle(&list[next].kernel, groups, local).ok_or(None)?;
    let mut reports = SmallVec::new();
    #[cfg(feature = "certify")]
    let mut behind = Vec::new();
    for one in made {
        list[one.report.producer] = one.submission;
        reports.push(one.report);
        #[cfg(feature = "certify")]
        behind.push(one.behind);
    }
    Ok(AtStores {
        list,
        reports,
        #[cfg(feature = "certify")]
        behind,
    })
}

/// The items of the consumer and the stores of the producers, each element shown to be stored once.
fn shown(
    pairs: &[Pair<'_>],
    layout: Option<Layout>,
) -> Result<SmallVec<[(Items, Stored); 1]>, Option<RewriteReason>> {
    let mut all: SmallVec<[(Items, Stored); 1]> = SmallVec::new();
    let mut why = Ok(());
    for pair in pairs {
        pair.has_place()?;
        // Without that, the others still have to hold.
        let disturbed = pair.undisturbed();
        let items = pair.items()?;
        let stored = pair.stored_once(&items)?;
        all.push((items, stored));
        why = why.and(disturbed);
    }
    parts::cover(pairs, &all, layout)?;
    why?;
    Ok(all)
}

/// The producers' submissions with the consumer behind their stores: each does the items of the elements that it stores.
fn append(pairs: &[Pair<'_>], layout: Option<Layout>) -> Result<SmallVec<[Made; 1]>, Option<RewriteReason>> {
    let all = shown(pairs, layout)?;
    let is_needed =
        pairs.iter().zip(&all).any(|(pair, (items, stored))| pair.is_needed(&stored.handed, items));
    let each = pairs.iter().zip(&all).map(|(pair, (items, stored))| pair.append(items, stored, is_needed));
    let made = each.collect::<Result<SmallVec<[Made; 1]>, _>>();
    #[cfg(feature = "certify")]
    let made = made.map(|mut made| {
        Made::tell_of_others(&mut made);
        made
    });
    made
}

/// The submissions before `next` that write what `next` reads, each with the binding that it writes it through: the last one, and those before it
/// that write through what `next` reads of that one.
fn parts_of(list: &[Submission], start: usize, next: usize) -> SmallVec<[Part; 2]> {
    let one = &list[next];
    let read: SmallVec<[&Arg; 4]> = { one.args.iter().zip(&one.kernel.interface.bindings) }
        .filter(|(_, binding)| binding.reads)
        .map(|(arg, _)| arg)
        .collect();
    let writes = |at: usize, into: &[&Arg]| {
        let accesses = analysis_of(&list[at]).map_or(&[][..], |analysis| &analysis.accesses);
        let written = accesses.iter().filter(|access| access.kind.writes()).map(|access| access.binding);
        let mut written =
            written.filter(|&number| into.iter().any(|own| overlap(own, &list[at].args[number])));
        written.next()
    };
    let mut parts: SmallVec<[Part; 2]> = SmallVec::new();
    let mut into = read;
    for at in (start..next).rev() {
        let Some(number) = writes(at, &into) else { continue };
        if parts.is_empty() {
            // From here on, of what this one writes.
            into.retain(|own| overlap(own, &list[at].args[number]));
        }
        parts.push((at, number));
    }
    parts.reverse();
    parts
}

impl Pair<'_> {
    /// Whether the consumer may have a place in the producer at all.
    fn has_place(&self) -> Result<(), RewriteReason> {
        let &Self { list, producer, next, .. } = self;
        let (source, consumer) = (&list[producer], &list[next]);
        for (at, one) in [(producer, source), (next, consumer)] {
            if one.base != [0; 3] {
                return Err(self.fault(at, "work-group ids that start elsewhere".into(), None));
            }
        }
        // Where few invocations store, its loops would run on a part of the device: a dispatch of its own is faster (`docs/journal.md`).
        let sizes = source.groups.iter().chain(&source.kernel.interface.local_size);
        let invocations = sizes.map(|&n| u64::from(n)).product::<u64>();
        let has_loops = analysis_of(consumer).is_ok_and(|analysis| !analysis.loops.is_empty());
        if has_loops && invocations < self.limits.overlapping_invocations {
            return Err(self.wrong("loops, for which too few invocations store"));
        }
        Ok(())
    }

    /// The producer's submission with the consumer behind its stores.
    fn append(&self, items: &Items, stored: &Stored, is_needed: bool) -> Result<Made, Option<RewriteReason>> {
        let &Self { list, producer, next, .. } = self;
        let (source, consumer) = (&list[producer], &list[next]);
        let mut handed = stored.handed.clone();
        // What is stored back may be left in memory whatever was wished, and then all of it has to be there.
        let is_left = is_needed || !items.stored_back.is_empty() && !mutant!(StoredBackIsInside);
        handed.keeps = is_left && !(items.all_back && !stored.below && !stored.above);
        let reads_back = rewrite::reads_back(&source.kernel, &consumer.kernel, &handed.stores);
        handed.keeps |= reads_back && !mutant!(HalvesAreNotKept);
        let gone = !is_needed && items.stored_back.is_empty() && !reads_back;
        (handed.loads, handed.stored_back) = (items.loads.clone(), items.stored_back.clone());
        let number = |bytes: i128| (bytes - stored.origin) / items.stride;
        let first = number(items.first);
        handed.rows = self.rows(&handed.stores, items, (stored.origin, first != 0));
        let ids = Ids {
            based: first != 0,
            by_row: handed.rows.digits,
            from_first: stored.below,
            to_last: stored.above,
            digits: items.digits.iter().map(|digit| digit.is).collect(),
            ..Ids::default()
        };
        let kernel = rewrite::append(&source.kernel, &consumer.kernel, &handed, &ids)?;
        let slots = Slots::of(&source.kernel, &consumer.kernel);
        let mut push = source.push.clone();
        push.resize(slots.push as usize, 0);
        push.extend_from_slice(&consumer.push);
        push.resize(slots.words as usize, 0);
        let based = ids.based.then_some(first);
        let bounds = [ids.from_first.then_some(first), ids.to_last.then_some(first + items.count)];
        let weights = items.digits.iter().skip(1).map(|digit| digit.weight / items.stride);
        let greatest = items.digits.iter().filter(|digit| digit.is.mirrored).map(|digit| digit.count - 1);
        let scales = items.digits.iter().filter(|digit| digit.is.scaled).map(|digit| digit.scale);
        let words = based.into_iter().chain(bounds.into_iter().flatten());
        let words = words.chain(weights).chain(greatest).chain(scales);
        words.for_each(|word| push.extend_from_slice(&(word as u32).to_le_bytes()));
        if rewrite::hides(&source.kernel, &consumer.kernel) {
            push.extend_from_slice(&[0; 4]);
        }
        let args = inline::args(&kernel, source, consumer, slots);
        let unknown = || RewriteReason::NotAppended { what: "an unknown binding".to_owned() };
        let elements = if self.parts.len() > 1 { stored.certain } else { items.count };
        let report = EpilogueReport {
            submission: next,
            producer,
            buffer: source.args[self.into].buffer,
            stores: handed.stores.len() as u32,
            elements: elements as u64,
            saved: (items.stride * elements) as u64
                * match (reads_back, handed.keeps) {
                    (true, _) => 0,
                    (false, true) => 1,
                    (false, false) => 2,
                },
            gone,
        };
        let args = args.ok_or_else(unknown)?;
        let submission = Submission { kernel, base: [0; 3], groups: source.groups, args, push };
        Ok(Made {
            #[cfg(feature = "certify")]
            behind: self.evidence(&handed, stored, items, &submission),
            submission,
            report,
        })
    }

    /// Whether the consumer may be done where the producer is: no access from there up to the consumer conflicts with its own, except for
    /// those to the elements.
    fn undisturbed(&self) -> Result<(), RewriteReason> {
        let &Self { list, producer, next, .. } = self;
        let consumer = &list[next];
        let used = |one: &'_ Submission| -> Vec<(usize, bool, bool)> {
            let bindings = one.kernel.interface.bindings.iter().enumerate();
            bindings.map(|(number, binding)| (number, binding.reads, binding.writes)).collect()
        };
        let own = used(consumer);
        for (at, one) in list.iter().enumerate().take(next + 1).skip(producer) {
            if one.kernel.interface.uses_device_addresses {
                return Err(self.fault(at, "device addresses".into(), None));
            }
            if at == next {
                break;
            }
            for (theirs, reads, writes) in used(one) {
                // Each of those that store parts is looked at by itself.
                let into = self.parts.iter().find(|part| part.0 == at).map(|part| part.1);
                let is_handed = into == Some(theirs);
                for &(number, own_reads, own_writes) in &own {
                    let meet = overlap(&one.args[theirs], &consumer.args[number]);
                    let conflict = writes && (own_reads || own_writes) || reads && own_writes;
                    // Those are looked at one by one.
                    let is_handed = is_handed || self.stores(at) && self.is_handed(number);
                    if meet && conflict && !is_handed && !mutant!(ItemsMayBeEarly) {
                        let own_at = consumer.kernel.interface.bindings[number].at;
                        return Err(RewriteReason::TooEarly {
                            submission: next,
                            producer,
                            other: at,
                            at: own_at,
                            writes: !(writes && own_reads),
                            is_written: writes,
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// Shows that the producer stores each of the elements at most once, and accesses them in no other way. It may read those that are not
    /// stored back. That all of them are stored is shown of all producers together ([`parts::cover`]).
    fn stored_once(&self, items: &Items) -> Result<Stored, RewriteReason> {
        let &Self { list, uses, producer, into, limits, .. } = self;
        let wrong = |what| self.source_has(what);
        let source = &list[producer];
        let View { mut atoms, shape, forms, .. } =
            View::of(list, uses, producer).ok_or_else(|| wrong("too many items"))?;
        let analysis = analysis_of(source).map_err(|_| wrong("a pointer"))?;
        let end = items.first + items.stride * items.count;
        let mut stored =
            Stored { handed: Handed::default(), origin: 0, below: false, above: false, certain: 0 };
        let mut all: Vec<(&Access, &AccessForm)> = Vec::new();
        for (number, (access, form)) in analysis.accesses.iter().zip(&forms).enumerate() {
            let arg = &source.args[access.binding];
            let consumer = &list[self.next];
            let meets =
                consumer.args.iter().enumerate().any(|(n, own)| self.is_handed(n) && overlap(own, arg));
            if !meets || form.never {
                continue;
            }
            // What only reads elements finds them as before, unless these are stored back.
            let changes = !items.stored_back.is_empty() && !mutant!(StoredBackIsUnseen);
            if access.kind == AccessKind::Read && !changes {
                continue;
            }
            if access.binding != into || access.kind != AccessKind::Write {
                return Err(self.source_at("another access to what it stores", number));
            }
            let element = access.element.and_then(|e| e.index).filter(|_| access.whole_element);
            let element = element.ok_or_else(|| wrong("stores of parts of elements"))?;
            let origin = i128::from(arg.offset) + i128::from(element.start);
            if i128::from(element.stride) != items.stride || (items.first - origin) % items.stride != 0 {
                return Err(match i128::from(element.stride) == items.stride {
                    true => self.wrong("elements that begin elsewhere"),
                    false => self.wrong(format!(
                        "elements of {} bytes, and the other one stores elements of {}",
                        items.stride, element.stride
                    )),
                });
            }
            if !all.is_empty() && stored.origin != origin {
                return Err(wrong("several arrays"));
            }
            stored.origin = origin;
            if form.unknown || limits.robust && !stays(&atoms, form) {
                return Err(self.source_at("a store that is not followed", number));
            }
            let mirrored = Affine::default().plus(&form.offset, -1);
            let mirrored = mirrored.ok_or_else(|| wrong("an index beyond all numbers"))?;
            let (low, high) =
                (-most(&atoms, form, &mirrored, FACTS), most(&atoms, form, &form.offset, FACTS));
            if low < origin || high - origin >= items.stride << 31 {
                return Err(wrong("an index beyond all numbers"));
            }
            stored.below |= low < items.first;
            stored.above |= high >= end;
            stored.handed.stores.push(number);
            all.push((access, form));
        }
        if all.is_empty() || all.len() > MOST_STORES {
            return Err(wrong("no stores, or many"));
        }
        if !items.stored_back.is_empty() && self.origin_of(&items.stored_back) != Some(stored.origin) {
            return Err(self.wrong("elements that begin elsewhere"));
        }
        // Where nothing says when a store happens, it is not known to be a second one.
        let unclear = |stores: &[usize]| {
            let unclear = stores.iter().find(|&&n| !all[n].1.followed).map(|&n| stored.handed.stores[n]);
            unclear.map(|number| self.source_at("a store under a condition that is not followed", number))
        };
        let twice = || wrong("elements that may be stored twice");
        for (n, (access, a)) in all.iter().enumerate() {
            for (m, (_, b)) in all.iter().enumerate().skip(n + 1) {
                if relate(&mut atoms, shape, a, b) != Relation::Disjoint && !mutant!(StoresAreApart) {
                    return Err(unclear(&[n, m]).unwrap_or_else(twice));
                }
            }
            let itself = relate(&mut atoms, shape, a, a);
            let is_own = matches!(itself, Relation::Disjoint | Relation::SameInvocation);
            let is_once = is_own && (access.loop_depth == 0 || differs_by_round(&atoms, a));
            if !is_once && !mutant!(StoresAreApart) {
                let rounds = || match is_own && !(a.certain && a.begun.is_empty()) {
                    true => {
                        self.source_at("a store in rounds that are not followed", stored.handed.stores[n])
                    }
                    false => twice(),
                };
                return Err(unclear(&[n]).unwrap_or_else(rounds));
            }
        }
        stored.certain = all.iter().map(|(_, form)| parts::certain(&atoms, shape, form)).sum();
        Ok(stored)
    }

    /// Where the array begins that the consumer stores to.
    fn origin_of(&self, stores: &[usize]) -> Option<i128> {
        let one = &self.list[self.next];
        let access = &analysis_of(one).ok()?.accesses[*stores.first()?];
        let start = access.element.and_then(|e| e.index)?.start;
        Some(i128::from(one.args[access.binding].offset) + i128::from(start))
    }

    /// Whether the elements are needed in memory: by other submissions, by other accesses of these two, or since they are not promoted.
    fn is_needed(&self, handed: &Handed, items: &Items) -> bool {
        let &Self { asked, list, uses, producer, next, into, .. } = self;
        let source = &list[producer];
        let buffer = source.args[into].buffer;
        let wish = wish(asked, &Uses::of(asked), buffer);
        let is_promoted = matches!(wish, Ok(wish) if wish != Promote::None);
        let accesses = analysis_of(source).map_or(&[][..], |analysis| &analysis.accesses);
        let mut own = accesses.iter().enumerate();
        let all = own.all(|(number, access)| {
            source.args[access.binding].buffer != buffer || handed.stores.contains(&number)
        });
        let mut users = uses.of_buffer(buffer).iter();
        let others = users.any(|&(at, _)| !self.stores(at) && at != next);
        let is_inside = is_promoted && all && !others;
        let consumer = &list[next];
        let accesses = analysis_of(consumer).map_or(&[][..], |analysis| &analysis.accesses);
        let is_handed = |number: usize| items.loads.contains(&number) || items.stored_back.contains(&number);
        let reads_else = accesses
            .iter()
            .enumerate()
            .any(|(number, access)| consumer.args[access.binding].buffer == buffer && !is_handed(number));
        !is_inside || reads_else
    }
}

/// Whether no two rounds of the loops around a store are at one place, in one invocation.
fn differs_by_round(atoms: &Atoms, form: &AccessForm) -> bool {
    let mut counters: SmallVec<[(i128, i128); 4]> = form
        .counters
        .iter()
        .map(|&id| (form.offset.coefficient(id).abs(), form.ranges.get(atoms, id)))
        .map(|(weight, (low, high))| (weight, high - low))
        .filter(|&(_, more)| more > 0)
        .collect();
    counters.sort_unstable();
    let mut before = 0;
    let apart = counters.iter().all(|&(weight, more)| {
        let is_apart = weight >= before + form.size;
        before += weight * more;
        is_apart
    });
    form.certain && form.begun.is_empty() && apart
}
