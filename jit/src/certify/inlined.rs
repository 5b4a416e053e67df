//! A kernel that is computed where another loaded what it stores: each of these loads would have found what one item stores.
//!
//! Both kernels are read from their instructions, with the push constants of the call. Which item stores an element is guessed
//! (`again::Again`): a wrong guess proves nothing, since the claims are about the bytes that are stored and loaded.

use super::element::{Side, item_and_site, somebody, touching};
use super::group::{Access, accesses};
use super::pair::{Instance, ask, instances};
use super::place::Piece;
use super::term::{Compare, Term, Word};
use super::text::Question;
use super::trace::{Ids, Member, Trace, World};
use crate::analysis::AccessKind;
use crate::plan::output::again::Again;
use crate::plan::{Arg, Submission};

/// One producer and the submission it was inlined in, as that was before.
pub(super) struct Inlined<'a> {
    consumer: Member<'a>,
    producer: Member<'a>,
    loads: Vec<Access>,
    stores: Vec<Access>,
    /// Arguments of the producer that it reads.
    sources: Vec<usize>,
    again: &'a Again,
}

impl<'a> Inlined<'a> {
    /// `None` if the kernels cannot be read.
    pub(super) fn new(again: &'a Again) -> Option<Self> {
        let member = |submission: &'a Submission, position| {
            let body = super::body::Body::new(&submission.kernel.normal.as_ref().ok()?.module)?;
            Some(Member { position, submission, body })
        };
        let consumer = member(&again.consumer, again.next)?;
        let producer = member(&again.source, again.producer)?;
        let of_consumer = accesses(&consumer).ok()?.into_iter();
        let loads = of_consumer.filter(|access| access.argument == again.from).collect();
        let (reads, mut stores): (Vec<Access>, Vec<Access>) =
            accesses(&producer).ok()?.into_iter().partition(|access| access.kind == AccessKind::Read);
        // What it stores elsewhere is not asked for.
        let target = &again.consumer.args[again.from];
        stores.retain(|store| overlap(&again.source.args[store.argument], target));
        let sources = reads.iter().map(|access| access.argument).collect();
        Some(Self { consumer, producer, loads, stores, sources, again })
    }

    /// What of the list does not allow it, whatever the instructions compute. `all` are the producers that were inlined anywhere.
    /// `order` is the one in which the list is done, if not in its own.
    pub(super) fn mismatch(
        &self,
        (list, order): (&[Submission], Option<&[usize]>),
        all: &[Again],
    ) -> Option<String> {
        let &Again { producer, next, from, .. } = self.again;
        let target = &self.again.consumer.args[from];
        let Some((first, others)) = self.stores.split_first() else {
            return Some("it stores nothing".to_owned());
        };
        let is_alike = |one: &Access| one.kind == AccessKind::Write && one.argument == first.argument;
        if !is_alike(first) || !others.iter().all(is_alike) {
            return Some("it does more than to store elements".to_owned());
        }
        if let Some(load) = self.loads.iter().find(|load| load.kind != AccessKind::Read) {
            return Some(format!("the consumer does more than to load at {:?}", load.at));
        }
        let is_done = |at: usize| {
            let mut others = all.iter().filter(|one| one.next == next && one.producer == at);
            others.any(|one| one.consumer.args[one.from].at == target.at)
        };
        let own: Vec<usize> = (0..list.len()).collect();
        let order = order.unwrap_or(&own);
        let number = |of: usize| order.iter().position(|&at| at == of);
        let (Some(first), Some(last)) = (number(producer), number(next)) else {
            return Some("a submission is not done".to_owned());
        };
        if first >= last {
            return Some("what it is made of comes later".to_owned());
        }
        for &at in &order[first..=last] {
            let one = &list[at];
            let Some(normal) = one.kernel.normal.as_ref().ok() else {
                return Some("a kernel is not read".to_owned());
            };
            let Some(body) = super::body::Body::new(&normal.module) else {
                return Some("a kernel is not read".to_owned());
            };
            let Ok(accesses) = accesses(&Member { position: at, submission: one, body }) else {
                return Some("a kernel is not read".to_owned());
            };
            let written = accesses.iter().filter(|access| access.kind != AccessKind::Read);
            for access in written {
                let arg = &one.args[access.argument];
                if self.sources.iter().any(|&source| overlap(arg, &self.again.source.args[source])) {
                    return Some(format!("submission {at} writes what it is made of"));
                }
                if at != producer && !is_done(at) && overlap(arg, target) {
                    return Some(format!("submission {at} writes what it stores"));
                }
            }
        }
        None
    }

    pub(super) fn loads(&self) -> impl Iterator<Item = &Access> {
        self.loads.iter()
    }

    pub(super) fn world(&self) -> World {
        let members = [(&self.consumer, &self.loads), (&self.producer, &self.stores)];
        let args = members.iter().flat_map(|(member, _)| &member.submission.args);
        let written = members.iter().flat_map(|(member, _)| {
            let bindings = member.submission.args.iter().zip(&member.submission.kernel.interface.bindings);
            bindings.filter(|(_, binding)| binding.writes).map(|(arg, _)| arg.buffer.0)
        });
        World::new(args, written.collect())
    }

    /// Asks for a load that is computed of an element that the item does not store.
    pub(super) fn stored(&self, w: &mut World, load: &Access, exact: bool) -> Option<Question> {
        let consumer = somebody(w, &self.consumer, "t");
        let mut trace = Trace::new(&self.consumer, consumer, "t", exact);
        let (loads, pieces) = instances(w, &mut trace, load)?;
        let mut facts = trace.facts().to_vec();
        let mut ways = Vec::new();
        for (number, one) in loads.iter().enumerate() {
            let within = self.is_within(w, one.first);
            let found = match self.again.is_of_parts {
                true => self.parts_are_stored(w, number, one, &pieces, &mut facts)?,
                false => {
                    let (ids, site, there) = self.item(w, one.first);
                    let sides = self.stores_of(w, ids, &format!("item {number}"), true, &mut facts)?;
                    let mut ways = Vec::new();
                    for (at, (stores, theirs)) in sides.iter().enumerate() {
                        let is = is_among(w, one, &pieces, (stores, theirs));
                        let asked = self.is_asked(w, at, site);
                        ways.push(w.terms.both(is, asked));
                    }
                    let found = w.terms.any(ways);
                    w.terms.both(found, there)
                }
            };
            let missing = w.terms.not(found);
            ways.push(w.terms.all([one.happens, within, missing]));
        }
        let wrong = w.terms.any(ways);
        Some(ask(w, vec![wrong], &facts))
    }

    /// Whether each part of a load, of as many bytes as an element that is stored or fewer, is among the bytes that the guessed item of
    /// the part stores.
    fn parts_are_stored(
        &self,
        w: &mut World,
        number: usize,
        load: &Instance,
        pieces: &[Piece],
        facts: &mut Vec<Term>,
    ) -> Option<Term> {
        let (&[(0, size)], stride) = (pieces, self.again.stride as u64) else { return None };
        let count = size.div_ceil(stride);
        if count > 1 && size % stride != 0 {
            return None;
        }
        let mut all = w.terms.truth(true);
        for part in 0..count {
            let distance = w.terms.constant(part * stride, w.address);
            let at = w.terms.word(Word::Add, load.first, distance);
            let (ids, site, there) = self.item(w, at);
            let sides = self.stores_of(w, ids, &format!("item {number}.{part}"), true, facts)?;
            let needed = w.terms.constant(size.min(stride), w.address);
            let end = w.terms.word(Word::Add, at, needed);
            let mut ways = Vec::new();
            for (number, (stores, theirs)) in sides.iter().enumerate() {
                let [(0, stored)] = theirs[..] else { return None };
                let stored = w.terms.constant(stored, w.address);
                let asked = self.is_asked(w, number, site);
                for store in stores {
                    let begins = w.terms.compare(Compare::ULessEqual, store.first, at);
                    let store_end = w.terms.word(Word::Add, store.first, stored);
                    let ends = w.terms.compare(Compare::ULessEqual, end, store_end);
                    ways.push(w.terms.all([store.happens, begins, ends, asked]));
                }
            }
            let found = w.terms.any(ways);
            all = w.terms.all([all, found, there]);
        }
        Some(all)
    }

    /// Asks for two items that store to one byte, which none that is stored may have.
    pub(super) fn once(&self, w: &mut World, exact: bool) -> Option<Question> {
        let [t, u] = ["t", "u"].map(|name| somebody(w, &self.producer, name));
        let mut facts = Vec::new();
        let ours = self.stores_of(w, t, "t", exact, &mut facts)?;
        let theirs = self.stores_of(w, u, "u", exact, &mut facts)?;
        let mut ways = Vec::new();
        for (a, b) in ours.iter().flat_map(|a| theirs.iter().map(move |b| (a, b))) {
            ways.push(touching(w, a, b));
        }
        let touch = w.terms.any(ways);
        let mut same = w.terms.truth(true);
        for (a, b) in t.group.iter().chain(&t.local).zip(u.group.iter().chain(&u.local)) {
            let equal = w.terms.compare(Compare::Equal, *a, *b);
            same = w.terms.both(same, equal);
        }
        let other = w.terms.not(same);
        Some(ask(w, vec![touch, other], &facts))
    }

    /// Whether a store is the one that goes to an element by its digit, if an item does several.
    fn is_asked(&self, w: &mut World, store: usize, site: Option<Term>) -> Term {
        let place = self.again.sites.iter().position(|at| *at == self.stores[store].at);
        match (site, place) {
            (None, _) => w.terms.truth(true),
            (Some(_), None) => w.terms.truth(false),
            (Some(site), Some(number)) => {
                let number = w.terms.constant(number as u64, 32);
                w.terms.compare(Compare::Equal, site, number)
            }
        }
    }

    /// Asks for an item that stores to one byte by two of its stores.
    pub(super) fn sites_apart(&self, w: &mut World, exact: bool) -> Option<Question> {
        let (t, mut facts) = (somebody(w, &self.producer, "t"), Vec::new());
        let sides = self.stores_of(w, t, "t", exact, &mut facts)?;
        let mut ways = Vec::new();
        for (number, first) in sides.iter().enumerate() {
            for second in &sides[number + 1..] {
                ways.push(touching(w, first, second));
            }
        }
        let touch = w.terms.any(ways);
        Some(ask(w, vec![touch], &facts))
    }

    /// Whether an item does several of the stores.
    pub(super) fn has_sites(&self) -> bool {
        self.again.sites.len() > 1
    }

    /// Asks for an item that does two of the stores.
    pub(super) fn one_store(&self, w: &mut World, exact: bool) -> Option<Question> {
        let (t, mut facts) = (somebody(w, &self.producer, "t"), Vec::new());
        let sides = self.stores_of(w, t, "t", exact, &mut facts)?;
        let mut ways = Vec::new();
        for (number, (first, _)) in sides.iter().enumerate() {
            for (second, _) in &sides[number + 1..] {
                for (a, b) in first.iter().flat_map(|a| second.iter().map(move |b| (a, b))) {
                    ways.push(w.terms.both(a.happens, b.happens));
                }
            }
        }
        let both = w.terms.any(ways);
        Some(ask(w, vec![both], &facts))
    }

    /// Whether the producer has several stores.
    pub(super) fn has_several(&self) -> bool {
        self.stores.len() > 1
    }

    /// What an item stores, by store.
    fn stores_of(
        &self,
        w: &mut World,
        ids: Ids,
        name: &str,
        exact: bool,
        facts: &mut Vec<Term>,
    ) -> Option<Vec<Side>> {
        let mut trace = Trace::new(&self.producer, ids, name, exact);
        let sides = { self.stores.iter() }.map(|store| instances(w, &mut trace, store));
        let sides = sides.collect::<Option<Vec<_>>>()?;
        facts.extend_from_slice(trace.facts());
        Some(sides)
    }

    /// Asks for a load that stays one, of an element that an item stores.
    pub(super) fn apart(&self, w: &mut World, load: &Access, exact: bool) -> Option<Question> {
        let consumer = somebody(w, &self.consumer, "t");
        let mut trace = Trace::new(&self.consumer, consumer, "t", exact);
        let (mut loads, pieces) = instances(w, &mut trace, load)?;
        let mut facts = trace.facts().to_vec();
        for one in &mut loads {
            let within = self.is_within(w, one.first);
            let outside = w.terms.not(within);
            one.happens = w.terms.both(one.happens, outside);
        }
        let item = somebody(w, &self.producer, "u");
        let (sides, loads) = (self.stores_of(w, item, "u", exact, &mut facts)?, (loads, pieces));
        let ways: Vec<Term> = sides.iter().map(|stores| touching(w, &loads, stores)).collect();
        let touch = w.terms.any(ways);
        Some(ask(w, vec![touch], &facts))
    }

    /// Whether an element is computed, by its first byte: if not all are, a comparison says which.
    fn is_within(&self, w: &mut World, first: Term) -> Term {
        let Again { origin, stride, first: least, count, below, above, .. } = *self.again;
        let mut within = w.terms.truth(true);
        if below {
            let least = w.terms.constant((origin + least * stride) as u64, w.address);
            within = w.terms.compare(Compare::ULessEqual, least, first);
        }
        if above {
            let end = w.terms.constant((origin + (least + count) * stride) as u64, w.address);
            let before = w.terms.compare(Compare::ULess, first, end);
            within = w.terms.both(within, before);
        }
        within
    }

    /// The ids of the item that stores an element and which of its stores that is, as guessed, and whether there is such an item.
    fn item(&self, w: &mut World, first: Term) -> (Ids, Option<Term>, Term) {
        let Again { origin, stride, first: least, .. } = *self.again;
        let start = w.terms.constant((origin + least * stride) as u64, w.address);
        let distance = w.terms.word(Word::Sub, first, start);
        let stride = w.terms.constant(stride as u64, w.address);
        let number = w.terms.word(Word::UDiv, distance, stride);
        let number = w.terms.low(number, 32);
        item_and_site(w, &self.again.digits, &self.producer, number)
    }
}

pub(super) fn overlap(a: &Arg, b: &Arg) -> bool {
    a.buffer == b.buffer && a.offset < b.offset + b.len && b.offset < a.offset + a.len
}

/// Whether one of the stores happens, at exactly the bytes of a load.
fn is_among(
    w: &mut World,
    load: &Instance,
    pieces: &[Piece],
    (stores, theirs): (&[Instance], &[Piece]),
) -> Term {
    if pieces != theirs {
        return w.terms.truth(false);
    }
    let mut ways = Vec::new();
    for store in stores {
        let same = w.terms.compare(Compare::Equal, store.first, load.first);
        ways.push(w.terms.both(store.happens, same));
    }
    w.terms.any(ways)
}
