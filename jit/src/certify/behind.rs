//! Epilogues: a consumer that runs where a producer stores what it reads. Each element is stored once, and exactly one item of the consumer reads it.
//!
//! Both kernels are read from their instructions, with the push constants of the call. Which invocation stores an element, and which item it
//! belongs to, comes from the planner (`again::Behind`): wrong evidence proves nothing, since the claims are about the bytes that are stored and loaded.

use super::body::{At, Body};
use super::element::{Side, is_same, is_there, item, number, somebody, touching};
use super::group::{Access, accesses, what_is_not_free};
use super::inlined::overlap;
use super::pair::{Instance, ask, in_frames, instances, touch};
use super::place::Piece;
use super::placed::ids;
use super::term::{Compare, Origin, Term, Word};
use super::text::Question;
use super::trace::{FrameId, Ids, Kind, Member, ROOT, Trace, World};
use crate::analysis::AccessKind;
use crate::plan::output::again::{Behind, Beside, Left, Of, Site};
use crate::plan::{Arg, Submission};

/// Words of a round's number.
const ROUND: u8 = 64;

/// A producer, and the consumer that is done behind its stores.
pub(super) struct Epilogue<'a> {
    producer: Member<'a>,
    consumer: Member<'a>,
    produced: Vec<Access>,
    consumed: Vec<Access>,
    /// Those that store other parts of the elements.
    others: Vec<Other<'a>>,
    behind: &'a Behind,
}

/// A producer of other elements of the consumer.
struct Other<'a> {
    member: Member<'a>,
    accesses: Vec<Access>,
    into: usize,
    sites: &'a [Site],
}

/// One time that an element is stored.
struct Storing {
    first: Term,
    happens: Term,
    /// Number of the store, and the rounds that it is in, outermost first.
    site: usize,
    rounds: Vec<Term>,
}

impl<'a> Epilogue<'a> {
    /// `None` if the kernels cannot be read.
    pub(super) fn new(behind: &'a Behind) -> Option<Self> {
        let member = |at: usize| {
            let submission = &behind.list[at];
            let body = Body::new(&submission.kernel.normal.as_ref().ok()?.module)?;
            Some(Member { position: at, submission, body })
        };
        let (producer, consumer) = (member(behind.producer)?, member(behind.next)?);
        let (produced, consumed) = (accesses(&producer).ok()?, accesses(&consumer).ok()?);
        let other = |beside: &'a Beside| {
            let member = member(beside.producer)?;
            let accesses = accesses(&member).ok()?;
            Some(Other { member, accesses, into: beside.into, sites: &beside.sites })
        };
        let others = behind.others.iter().map(other).collect::<Option<Vec<_>>>()?;
        Some(Self { producer, consumer, produced, consumed, others, behind })
    }

    /// What of the list does not allow it, whatever the instructions compute.
    pub(super) fn mismatch(&self) -> Option<String> {
        let &Behind { ref list, producer, next, left, below, above, .. } = self.behind;
        if producer >= next || self.others.iter().any(|other| other.member.position >= next) {
            return Some("what it reads is stored later".to_owned());
        }
        if let Some(what) = what_is_not_free(&self.consumer) {
            return Some(format!("it is done elsewhere, but has {what}"));
        }
        if [producer, next].iter().any(|&at| list[at].base != [0; 3]) {
            return Some("work-groups that begin elsewhere".to_owned());
        }
        for at in producer..next {
            let one = &list[at];
            if !one.runs() {
                continue;
            }
            let Some(used) = uses(at, one) else { return Some("a kernel is not read".to_owned()) };
            for (theirs, own) in
                used.iter().flat_map(|theirs| self.consumed.iter().map(move |own| (theirs, own)))
            {
                let (arg, own_arg) = (&one.args[theirs.0], &list[next].args[own.argument]);
                let is_read = theirs.1 == AccessKind::Read && own.kind == AccessKind::Read;
                // What is handed on is looked at by the bytes, of each that stores a part by itself.
                let stores = at == producer || self.others.iter().any(|other| other.member.position == at);
                let is_handed = stores && self.is_handed(own_arg);
                if overlap(arg, own_arg) && !is_read && !is_handed {
                    return Some(format!("submission {at} has bytes in common with it"));
                }
            }
        }
        if list[producer..=next].iter().any(|one| one.kernel.interface.uses_device_addresses) {
            return Some("device addresses are followed".to_owned());
        }
        let reads_again =
            |store: &Access| self.handed(AccessKind::Read).any(|load| self.comes_after(store.at, load.at));
        if self.handed(AccessKind::Write).any(reads_again) {
            return Some("an element may be read after it was stored back".to_owned());
        }
        if self.handed(AccessKind::Atomic).next().is_some() {
            return Some("an atomic operation on an element".to_owned());
        }
        if left == Left::StoredBack && (below || above) {
            return Some("elements that have no item are not stored".to_owned());
        }
        (left == Left::Nothing && self.is_missed())
            .then(|| "somebody looks for what is not stored".to_owned())
    }

    /// Whether an argument of the consumer is on bytes that elements are stored among.
    fn is_handed(&self, arg: &Arg) -> bool {
        overlap(arg, &self.producer.submission.args[self.behind.into])
    }

    /// The consumer's accesses of a kind to such arguments.
    fn handed(&self, kind: AccessKind) -> impl Iterator<Item = &Access> {
        self.consumed.iter().filter(move |access| {
            access.kind == kind && self.is_handed(&self.consumer.submission.args[access.argument])
        })
    }

    /// Whether an instruction of the consumer may come after another.
    fn comes_after(&self, first: At, second: At) -> bool {
        let body = &self.consumer.body;
        let mut seen = vec![false; body.blocks()];
        let mut open = body.after[first.0].clone();
        while let Some(block) = open.pop() {
            if !std::mem::replace(&mut seen[block], true) {
                open.extend(&body.after[block]);
            }
        }
        seen[second.0] || first.0 == second.0 && first.1 < second.1
    }

    /// Whether other submissions use the buffer of the elements.
    fn is_missed(&self) -> bool {
        let Behind { list, producer, next, into, .. } = self.behind;
        let buffer = list[*producer].args[*into].buffer;
        let is_part = |at: &usize| self.others.iter().any(|other| other.member.position == *at);
        let others = list.iter().enumerate();
        let others = others.filter(|(at, one)| one.runs() && at != producer && at != next && !is_part(at));
        let by_others = { others }.any(|(_, one)| one.args.iter().any(|arg| arg.buffer == buffer));
        let of = |member: &Member<'_>, access: &Access| member.submission.args[access.argument].buffer;
        let by_producer = self.produced.iter().any(|access| {
            of(&self.producer, access) == buffer && self.sites().all(|(_, site)| site.at != access.at)
        });
        // Of other parts, their own claims say the same.
        let by_consumer = self.consumed.iter().any(|access| {
            let is_handed = self.is_handed(&self.consumer.submission.args[access.argument]);
            of(&self.consumer, access) == buffer && !(is_handed && access.kind == AccessKind::Read)
        });
        by_others || by_producer || by_consumer
    }

    /// The stores that the consumer is done behind.
    fn sites(&self) -> impl Iterator<Item = (&Access, &'a Site)> {
        sites(&self.produced, self.behind.into, &self.behind.sites)
    }

    /// All stores of elements, by the members that do them.
    fn all_sites(&self) -> impl Iterator<Item = (&Member<'a>, &Access, &'a Site)> {
        let own = self.sites().map(|(access, site)| (&self.producer, access, site));
        let others = self.others.iter().flat_map(|other| {
            let sites = sites(&other.accesses, other.into, other.sites);
            sites.map(|(access, site)| (&other.member, access, site))
        });
        own.chain(others)
    }

    pub(super) fn world(&self) -> World {
        let both = [(&self.producer, &self.produced), (&self.consumer, &self.consumed)];
        let others = self.others.iter().map(|other| (&other.member, &other.accesses));
        let all: Vec<_> = both.into_iter().chain(others).collect();
        let args = all.iter().flat_map(|(member, _)| &member.submission.args);
        let written = all.iter().flat_map(|(member, accesses)| {
            let writes = accesses.iter().filter(|access| access.kind != AccessKind::Read);
            writes.map(|access| member.submission.args[access.argument].buffer.0)
        });
        World::new(args, written.collect())
    }

    /// Every time that an invocation stores an element, and the bytes of it.
    fn storings(&self, w: &mut World, trace: &mut Trace<'_>) -> Option<(Vec<Storing>, Vec<Piece>)> {
        let (mut all, mut bytes): (Vec<Storing>, Option<Vec<Piece>>) = (Vec::new(), None);
        for (number, (access, _)) in self.sites().enumerate() {
            let (stores, pieces) = instances(w, trace, access)?;
            if stores.is_empty() {
                continue;
            }
            if *bytes.get_or_insert_with(|| pieces.clone()) != pieces {
                return None;
            }
            for Instance { frame, happens, first, .. } in stores {
                let rounds = rounds(w, trace, frame);
                all.push(Storing { first, happens, site: number, rounds });
            }
        }
        Some((all, bytes.unwrap_or_default()))
    }

    /// Asks for an element that is stored twice.
    pub(super) fn once(&self, w: &mut World, exact: bool) -> Option<Question> {
        let (mut facts, mut assertions, mut sides) = (Vec::new(), Vec::new(), Vec::new());
        for name in ["t", "u"] {
            let who = somebody(w, &self.producer, name);
            let mut trace = Trace::new(&self.producer, who, name, exact);
            let (stores, pieces) = self.storings(w, &mut trace)?;
            let depth = stores.iter().map(|one| one.rounds.len()).max().unwrap_or(0);
            let first = w.terms.fresh(w.address, Origin::Id, format!("{name}: first byte"));
            let site = w.terms.fresh(32, Origin::Id, format!("{name}: store"));
            let rounds: Vec<Term> =
                (0..depth).map(|n| w.terms.fresh(ROUND, Origin::Id, format!("{name}: round {n}"))).collect();
            let mut ways = Vec::new();
            for one in stores {
                let number = w.terms.constant(one.site as u64, 32);
                let mut all = vec![one.happens, w.terms.compare(Compare::Equal, first, one.first)];
                all.push(w.terms.compare(Compare::Equal, site, number));
                for (n, &round) in rounds.iter().enumerate() {
                    let own = one.rounds.get(n).copied().unwrap_or_else(|| w.terms.constant(0, ROUND));
                    all.push(w.terms.compare(Compare::Equal, round, own));
                }
                ways.push(w.terms.all(all));
            }
            assertions.push(w.terms.any(ways));
            facts.extend_from_slice(trace.facts());
            sides.push((who, first, site, rounds, pieces));
        }
        let [(t, f, a, r, pieces), (u, g, b, s, others)] = sides.as_slice() else { return None };
        assertions.push(touch(w, (*f, pieces), (*g, others)));
        let mut same = is_same(w, t, u);
        for (a, b) in [(a, b)].into_iter().chain(r.iter().zip(s)) {
            let equal = w.terms.compare(Compare::Equal, *a, *b);
            same = w.terms.both(same, equal);
        }
        assertions.push(w.terms.not(same));
        Some(ask(w, assertions, &facts))
    }

    /// Asks for an element that this producer stores and another one as well.
    pub(super) fn apart_from(&self, w: &mut World, other: usize, exact: bool) -> Option<Question> {
        let other = self.others.get(other)?;
        let own = sites(&self.produced, self.behind.into, &self.behind.sites);
        let theirs = sites(&other.accesses, other.into, other.sites);
        let who = somebody(w, &self.producer, "t");
        let mut trace = Trace::new(&self.producer, who, "t", exact);
        let ours = own.map(|(access, _)| instances(w, &mut trace, access)).collect::<Option<Vec<Side>>>()?;
        let mut facts = trace.facts().to_vec();
        let who = somebody(w, &other.member, "u");
        let mut trace = Trace::new(&other.member, who, "u", exact);
        let theirs =
            theirs.map(|(access, _)| instances(w, &mut trace, access)).collect::<Option<Vec<Side>>>()?;
        facts.extend_from_slice(trace.facts());
        let mut ways = Vec::new();
        for (a, b) in ours.iter().flat_map(|a| theirs.iter().map(move |b| (a, b))) {
            ways.push(touching(w, a, b));
        }
        let both = w.terms.any(ways);
        Some(ask(w, vec![both], &facts))
    }

    /// The positions of those that store other parts.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> + '_ {
        self.others.iter().map(|other| other.member.position)
    }

    /// Asks for another access of the producer to the bytes, or for a store to an element that does not exist, if no comparison excludes
    /// that.
    pub(super) fn apart(&self, w: &mut World, exact: bool) -> Option<Question> {
        let Behind { below, above, .. } = *self.behind;
        let who = somebody(w, &self.producer, "t");
        let mut trace = Trace::new(&self.producer, who, "t", exact);
        let (stores, _) = self.storings(w, &mut trace)?;
        let mut ways = Vec::new();
        let [start, end] = [0, self.behind.count].map(|number| self.byte(w, number));
        for one in stores {
            let before = w.terms.compare(Compare::ULess, one.first, start);
            let behind = w.terms.compare(Compare::ULessEqual, end, one.first);
            let outside = [(before, below), (behind, above)].into_iter().filter(|&(_, compared)| !compared);
            let outside = outside.map(|(outside, _)| outside).collect();
            let outside = w.terms.any(outside);
            ways.push(w.terms.both(one.happens, outside));
        }
        let mut args = self.consumed.iter().map(|access| &self.consumer.submission.args[access.argument]);
        let handed: Vec<&Arg> = args.by_ref().filter(|arg| self.is_handed(arg)).collect();
        // Who reads an element finds it as before, unless it is stored back.
        let changes = self.handed(AccessKind::Write).next().is_some();
        let others = self.produced.iter().filter(|access| changes || access.kind != AccessKind::Read);
        let others = others.filter(|access| {
            let arg = &self.producer.submission.args[access.argument];
            handed.iter().any(|own| overlap(own, arg)) && self.sites().all(|(_, site)| site.at != access.at)
        });
        for access in others {
            ways.extend(instances(w, &mut trace, access)?.0.iter().map(|one| one.happens));
        }
        let wrong = w.terms.any(ways);
        Some(ask(w, vec![wrong], trace.facts()))
    }

    /// The first byte of an element.
    fn byte(&self, w: &mut World, number: i128) -> Term {
        w.terms.constant((self.behind.first + number * self.behind.stride) as u64, w.address)
    }

    /// The first byte of an element whose number is a word.
    fn byte_of(&self, w: &mut World, number: Term) -> Term {
        let number = w.terms.extend(number, w.address, false);
        let stride = w.terms.constant(self.behind.stride as u64, w.address);
        let distance = w.terms.word(Word::Mul, number, stride);
        let start = self.byte(w, 0);
        w.terms.word(Word::Add, start, distance)
    }

    /// Any element, and the ids of its item, if that is there.
    fn element(&self, w: &mut World) -> (Term, Ids, Term) {
        let most = self.behind.count as u64 - 1;
        let element = w.terms.symbol(32, most, Origin::Id, "element");
        let (ids, there) = item(w, &self.behind.digits, &self.consumer, element);
        (element, ids, there)
    }

    /// Asks for an element that has no item, or the item of another.
    pub(super) fn has_item(&self, w: &mut World) -> Option<Question> {
        let (element, ids, there) = self.element(w);
        let own = number(w, &self.behind.digits, &ids);
        let is_it = w.terms.compare(Compare::Equal, own, element);
        let right = w.terms.both(there, is_it);
        let wrong = w.terms.not(right);
        Some(ask(w, vec![wrong], &[]))
    }

    /// Any invocation of the consumer that writes something: its trace, that it writes, and the number of its element.
    fn writer(&self, w: &mut World) -> Option<(Trace<'_>, Term, Term)> {
        let who = somebody(w, &self.consumer, "item");
        let mut trace = Trace::new(&self.consumer, who, "item", true);
        let mut ways = Vec::new();
        for access in self.consumed.iter().filter(|access| access.kind != AccessKind::Read) {
            ways.extend(instances(w, &mut trace, access)?.0.iter().map(|one| one.happens));
        }
        let writes = w.terms.any(ways);
        let element = number(w, &self.behind.digits, &trace.ids);
        Some((trace, writes, element))
    }

    /// Asks for an item that writes and has no element, or reads another, or another part of it.
    pub(super) fn reads_its_element(&self, w: &mut World) -> Option<Question> {
        let (mut trace, writes, element) = self.writer(w)?;
        let count = w.terms.constant(self.behind.count as u64, 32);
        let exists = w.terms.compare(Compare::ULess, element, count);
        let (own, there) = item(w, &self.behind.digits, &self.consumer, element);
        let same = is_same(w, &own, &trace.ids);
        let has = w.terms.all([exists, there, same]);
        let mut ways = vec![w.terms.not(has)];
        let who = somebody(w, &self.producer, "t");
        let (_, stored) = self.storings(w, &mut Trace::new(&self.producer, who, "t", true))?;
        let byte = self.byte_of(w, element);
        let handed: Vec<Access> = [AccessKind::Read, AccessKind::Write]
            .into_iter()
            .flat_map(|kind| self.handed(kind))
            .copied()
            .collect();
        for access in &handed {
            let (places, pieces): Side = instances(w, &mut trace, access)?;
            for one in places {
                let is_own = w.terms.compare(Compare::Equal, one.first, byte);
                let other = w.terms.not(is_own);
                let other = if pieces == stored { other } else { w.terms.truth(true) };
                ways.push(w.terms.both(one.happens, other));
            }
        }
        let wrong = w.terms.any(ways);
        Some(ask(w, vec![writes, wrong], trace.facts()))
    }

    /// Asks for an item that writes and whose element is not stored.
    pub(super) fn stored(&self, w: &mut World) -> Option<Question> {
        let (trace, writes, element) = self.writer(w)?;
        let mut facts = trace.facts().to_vec();
        let byte = self.byte_of(w, element);
        let mut ways = Vec::new();
        for (number, (producer, access, site)) in self.all_sites().enumerate() {
            let (ids, rounds, there) = who_stores(w, producer, site, byte)?;
            let mut trace = Trace::new(producer, ids, format!("store {number}"), true);
            let frames = in_rounds(w, &mut trace, access.at.0, &rounds);
            let only: Vec<FrameId> = frames.iter().map(|one| one.0).collect();
            let (stores, _) = in_frames(w, &mut trace, access, &only)?;
            for store in stores {
                let is_it = w.terms.compare(Compare::Equal, store.first, byte);
                let is_begun = frames.iter().find(|one| one.0 == store.frame)?.1;
                ways.push(w.terms.all([there, is_begun, store.happens, is_it]));
            }
            // Of an invocation that is not there nothing is known.
            for &fact in trace.facts() {
                facts.push(w.terms.implies(there, fact));
            }
        }
        let found = w.terms.any(ways);
        let missing = w.terms.not(found);
        Some(ask(w, vec![writes, missing], &facts))
    }

    /// Asks for an element that is not stored back.
    pub(super) fn stored_back(&self, w: &mut World) -> Option<Question> {
        let (element, ids, _) = self.element(w);
        let byte = self.byte_of(w, element);
        let mut trace = Trace::new(&self.consumer, ids, "item", true);
        let mut ways = Vec::new();
        for access in self.handed(AccessKind::Write) {
            for one in instances(w, &mut trace, access)?.0 {
                let is_it = w.terms.compare(Compare::Equal, one.first, byte);
                ways.push(w.terms.both(one.happens, is_it));
            }
        }
        let found = w.terms.any(ways);
        let missing = w.terms.not(found);
        Some(ask(w, vec![missing], trace.facts()))
    }
}

/// The stores through an argument that elements are stored by.
fn sites<'b, 'a: 'b>(
    accesses: &'b [Access],
    into: usize,
    known: &'a [Site],
) -> impl Iterator<Item = (&'b Access, &'a Site)> {
    let of = move |access: &Access| known.iter().find(|site| site.at == access.at);
    let stores = accesses.iter().filter(move |access| access.argument == into);
    stores
        .filter(|access| access.kind == AccessKind::Write)
        .filter_map(move |access| Some((access, of(access)?)))
}

/// The invocation and the rounds in which a store goes to a byte, as guessed, and whether they are there.
fn who_stores(
    w: &mut World,
    producer: &Member<'_>,
    site: &Site,
    byte: Term,
) -> Option<(Ids, Vec<Term>, Term)> {
    let start = w.terms.constant(site.first as u64, w.address);
    let zero = w.terms.constant(0, w.address);
    let (mut group, mut local) = ([zero; 3], [zero; 3]);
    let (mut rounds, mut number) = (Vec::new(), zero);
    let mut rest = w.terms.word(Word::Sub, byte, start);
    for (parts, is_last) in [(site.digits.as_ref()?, false), (&site.number, true)] {
        if is_last {
            rest = number;
        }
        for part in parts {
            let weight = w.terms.constant(part.weight.unsigned_abs() as u64, w.address);
            let most = w.terms.constant(part.most as u64, w.address);
            let value = w.terms.word(Word::UDiv, rest, weight);
            let is_less = w.terms.compare(Compare::ULess, value, most);
            let value = w.terms.choose(is_less, value, most);
            let taken = w.terms.word(Word::Mul, value, weight);
            rest = w.terms.word(Word::Sub, rest, taken);
            let value = if part.weight < 0 { w.terms.word(Word::Sub, most, value) } else { value };
            let low = w.terms.constant(part.low as u64, w.address);
            let value = w.terms.word(Word::Mul, value, low);
            let id = match part.of {
                Of::Group(d) => &mut group[d],
                Of::Local(d) => &mut local[d],
                Of::Round(n) => {
                    rounds.resize(rounds.len().max(n + 1), zero);
                    &mut rounds[n]
                }
                Of::Number => &mut number,
            };
            *id = w.terms.word(Word::Add, *id, value);
        }
    }
    let [group, local] = [group, local].map(|ids| ids.map(|id| w.terms.low(id, 32)));
    let all = (0..3).map(|d| is_there(w, producer, d, (group[d], local[d])));
    let all: Vec<Term> = all.collect();
    let there = w.terms.all(all);
    Some((ids(w, producer.submission, group, local), rounds, there))
}

/// What a submission accesses, by its instructions; `None` if it is not read.
fn uses(position: usize, one: &Submission) -> Option<Vec<(usize, AccessKind)>> {
    let body = Body::new(&one.kernel.normal.as_ref().ok()?.module)?;
    let all = accesses(&Member { position, submission: one, body }).ok()?;
    Some(all.iter().map(|access| (access.argument, access.kind)).collect())
}

/// The numbers of the rounds that a frame is in, outermost first.
fn rounds(w: &mut World, trace: &Trace<'_>, mut frame: FrameId) -> Vec<Term> {
    let mut found = Vec::new();
    while frame != ROOT {
        found.push(match trace.frames[frame].kind {
            Kind::Round { number, .. } => w.terms.constant(u64::from(number), ROUND),
            Kind::Any { count, .. } => w.terms.extend(count, ROUND, false),
            Kind::Function => break,
        });
        frame = trace.frames[frame].parent;
    }
    found.reverse();
    found
}

/// The rounds that a block is in: all rounds of unrolled loops, and of each other loop the round with that number. Each comes with the condition
/// that it is reached: all rounds before go on.
fn in_rounds(w: &mut World, trace: &mut Trace<'_>, block: usize, numbers: &[Term]) -> Vec<(FrameId, Term)> {
    let mut frames = vec![(ROOT, w.terms.truth(true))];
    for (n, of) in trace.body().chain(None, block).into_iter().enumerate() {
        let mut next = Vec::new();
        for (outer, begun) in frames {
            if let Some(rounds) = trace.rounds(w, outer, of) {
                next.extend(rounds.iter().map(|&round| (round, begun)));
                continue;
            }
            let width = trace.count_width(of);
            let number = numbers.get(n).copied().unwrap_or_else(|| w.terms.constant(0, w.address));
            let number = w.terms.extend(number, width.max(w.address), false);
            let number = w.terms.low(number, width);
            let enters = trace.enters(w, outer, of);
            let earlier = w.terms.fresh(width, Origin::Id, "a round before");
            let frame = trace.bare(w, outer, of, earlier);
            let goes_on = trace.again(w, frame);
            let is_before = w.terms.compare(Compare::ULess, earlier, number);
            let goes_on = w.terms.implies(is_before, goes_on);
            let begun = w.terms.all([begun, enters, goes_on]);
            next.push((trace.bare(w, outer, of, number), begun));
        }
        frames = next;
    }
    frames
}
