//! A kernel and what it was placed as: each item is done, once, and nothing else is.
//!
//! Both are read from their instructions, with the push constants of the call. An item is an invocation of the kernel's own
//! dispatch. Which item an invocation of the placed kernel does is guessed (`Placed::item`): a wrong guess proves nothing,
//! since the claims are about the bytes that both write.

use super::group::{Access, accesses, what_is_not_free};
use super::pair::{Instance, ask, instances};
use super::place::Piece;
use super::term::{Compare, Origin, Term, Word};
use super::text::Inquiry;
use super::trace::{FrameId, Ids, Member, Path, ROOT, Trace, World};
use crate::analysis::AccessKind;
use crate::plan::{Places, Submission};
use rspirv::spirv::Op;

/// A submission and what the plan runs in its place.
pub(super) struct Placed<'a> {
    own: Member<'a>,
    placed: Member<'a>,
    own_writes: Vec<Access>,
    placed_writes: Vec<Access>,
    /// Items from one row to the next, or the invocation of a line that does the first one, as the last push constants say.
    width: u32,
    order: Order,
    /// Of items that are numbered by their global ids, how many of these there are in each dimension.
    counts: Option<[u32; 3]>,
}

/// In which order items are done, as the plan says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Rows,
    Grid,
    Line,
    /// By the same work-group and local index, which are those of an item.
    Padded,
}

/// What is asked of a placed kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// An item that two invocations do, or one in two rounds.
    Twice,
    /// Something is written that no item writes.
    More,
    /// An item writes something that is not written.
    Less,
}

/// One time that the placed kernel writes.
struct Doing {
    instance: Instance,
    item: Term,
    round: Term,
}

/// An invocation.
struct Who {
    group: [Term; 3],
    local: [Term; 3],
}

impl<'a> Placed<'a> {
    /// `None` if the kernels cannot be read, or have another form than a placed kernel has.
    pub(super) fn new(
        own: &'a Submission,
        placed: &'a Submission,
        position: usize,
        places: Option<Places>,
    ) -> Option<Self> {
        let member = |submission: &'a Submission| {
            let body = super::body::Body::new(&submission.kernel.normal.as_ref().ok()?.module)?;
            Some(Member { position, submission, body })
        };
        let (own, placed) = (member(own)?, member(placed)?);
        let writes = |member: &Member<'_>| {
            let all = accesses(member).ok()?.into_iter();
            Some(all.filter(|access| access.kind != AccessKind::Read).collect::<Vec<_>>())
        };
        let size = own.submission.kernel.interface.push.as_ref().map_or(0, |push| push.size as usize);
        let is_padded = matches!(places, Some(Places::Padded { .. }));
        let words = match is_padded {
            true => &[1, 0, 0, 0],
            false => placed.submission.push.get(size.next_multiple_of(4)..)?,
        };
        // Counts of work-groups stand behind the words of the order.
        let several = own.submission.groups.iter().filter(|&&count| count != 1).count();
        let counts = match places {
            Some(Places::Blocks { counts, .. }) => Some(counts),
            _ => None,
        };
        let order = match places {
            Some(Places::Line { .. }) => Order::Line,
            Some(Places::Blocks { .. }) => Order::Rows,
            Some(Places::Padded { .. }) => Order::Padded,
            _ if words.len().checked_sub(4 * several.saturating_sub(1))? > 4 => Order::Grid,
            _ => Order::Rows,
        };
        let width = u32::from_le_bytes(words.get(..4)?.try_into().ok()?);
        let (own_writes, placed_writes) = (writes(&own)?, writes(&placed)?);
        Some(Self { own, placed, own_writes, placed_writes, width, order, counts })
    }

    /// What of the two submissions does not fit together, whatever their instructions do.
    pub(super) fn mismatch(&self) -> Option<String> {
        let (own, placed) = (self.own.submission, self.placed.submission);
        // What the kernel does not take is left out.
        let taken = own.kernel.interface.push.as_ref().map_or(0, |push| push.size as usize);
        let same_push = placed.push.starts_with(&own.push[..taken.min(own.push.len())]);
        match what_is_not_free(&self.own).filter(|_| self.order != Order::Padded) {
            Some(what) => Some(format!("it is placed, but has {what}")),
            None if own.args != placed.args => Some("it has other arguments where it is placed".to_owned()),
            None if !same_push => Some("it has other push constants where it is placed".to_owned()),
            None if self.width == 0 => Some("its rows have no items".to_owned()),
            None if self.order == Order::Padded && own.groups != placed.groups => {
                Some("it has other work-groups where it is padded".to_owned())
            }
            None if own.base != [0; 3] => Some("its items do not begin with work-group 0".to_owned()),
            None => None,
        }
    }

    pub(super) fn writes(&self, wrong: Wrong) -> impl Iterator<Item = &Access> {
        if wrong == Wrong::Less { self.own_writes.iter() } else { self.placed_writes.iter() }
    }

    pub(super) fn world(&self) -> World {
        let args = &self.own.submission.args;
        let writes = self.own_writes.iter().chain(&self.placed_writes);
        World::new(args.iter(), writes.map(|access| args[access.argument].buffer.0).collect())
    }

    /// Asks for something wrong about a write. Of a write whose place or condition comes
    /// from memory only that no item does it twice is claimed.
    pub(super) fn question(&self, w: &mut World, access: &Access, wrong: Wrong) -> Inquiry {
        self.inquiry(w, access, wrong).unwrap_or(Inquiry::Asked(None))
    }

    /// As `question`; `None` if it cannot be written down.
    fn inquiry(&self, w: &mut World, access: &Access, wrong: Wrong) -> Option<Inquiry> {
        let mut assertions = Vec::new();
        let mut facts = Vec::new();
        let who = self.somebody(w, "t", wrong == Wrong::Less);
        let mut placed = self.trace(w, &who, "t");
        if wrong == Wrong::Twice {
            let other = self.somebody(w, "u", false);
            let mut second = self.trace(w, &other, "u");
            let item = w.terms.fresh(32, Origin::Id, "item");
            let mut rounds = Vec::new();
            for (name, (who, trace)) in [("t", (&who, &mut placed)), ("u", (&other, &mut second))] {
                let round = w.terms.fresh(32, Origin::Id, format!("{name}: round"));
                let (doings, _) = self.doings(w, trace, who, access)?;
                let ways = doings.iter().map(|one| {
                    let here = w.terms.compare(Compare::Equal, one.item, item);
                    let now = w.terms.compare(Compare::Equal, one.round, round);
                    w.terms.all([one.instance.happens, here, now])
                });
                let ways = ways.collect();
                assertions.push(w.terms.any(ways));
                facts.extend_from_slice(trace.facts());
                rounds.push(round);
            }
            let mut same = w.terms.compare(Compare::Equal, rounds[0], rounds[1]);
            for (a, b) in who.group.iter().chain(&who.local).zip(other.group.iter().chain(&other.local)) {
                let equal = w.terms.compare(Compare::Equal, *a, *b);
                same = w.terms.both(same, equal);
            }
            assertions.push(w.terms.not(same));
            return Some(Inquiry::Asked(Some(ask(w, assertions, &facts))));
        }
        // An item of the kernel's own dispatch, by its work-group and the place in it.
        let count = self.items()?;
        let own_size = self.own.submission.kernel.interface.local_size;
        // The last of several dimensions goes on past the dispatch: whether the item exists is a part of what is asked.
        let last = match self.counts {
            Some(counts) => last_of(counts).unwrap_or(3),
            None => (0..3).rev().find(|&d| self.own.submission.groups[d] != 1).unwrap_or(0),
        };
        let before = match self.counts {
            Some(counts) => {
                let below = counts.iter().take(last).map(|&n| u64::from(n)).product::<u64>();
                below.checked_mul(own_size.get(last).copied().unwrap_or(1).into())?.max(1)
            }
            None => {
                let others = (0..3).filter(|&d| d != last);
                let others: u64 = others.map(|d| u64::from(self.own.submission.groups[d])).product();
                others.checked_mul(own_size.iter().map(|&n| u64::from(n)).product())?.max(1)
            }
        };
        let mut id = |most: u64, what: &str, d: usize| match most {
            0 => w.terms.constant(0, 32),
            _ => w.terms.symbol(32, most, Origin::Id, format!("item's {what} id {}", ["x", "y", "z"][d])),
        };
        let group = std::array::from_fn(|d| {
            let count = u64::from(self.own.submission.groups[d]);
            let many = if d == last && wrong != Wrong::Less { (1 << 32) / before } else { count };
            id(many.saturating_sub(1), "group", d)
        });
        let local = std::array::from_fn(|d| id(u64::from(own_size[d]).saturating_sub(1), "local", d));
        let own_who = Who { group, local };
        let ids = self.ids(w, &self.own, &own_who);
        let (item, has_number) = match self.counts {
            Some(counts) => by_global_ids(w, counts, ids.global),
            None => (self.number(w, &own_who, ids.index), w.terms.truth(true)),
        };
        let mut own = Trace::new(&self.own, ids, "item", true);
        let mut mine = Vec::new();
        let candidates = |of: &'_ [Access]| -> Vec<Access> {
            of.iter().filter(|other| other.argument == access.argument).copied().collect()
        };
        let own_accesses = if wrong == Wrong::Less { vec![*access] } else { candidates(&self.own_writes) };
        for one in own_accesses {
            let (instances, pieces) = instances(w, &mut own, &one)?;
            mine.extend(instances.into_iter().map(|instance| (instance, pieces.clone())));
        }
        let placed_accesses =
            if wrong == Wrong::Less { candidates(&self.placed_writes) } else { vec![*access] };
        let mut theirs = Vec::new();
        for one in placed_accesses {
            let (doings, pieces) = self.doings(w, &mut placed, &who, &one)?;
            theirs.extend(doings.into_iter().map(|doing| (doing, pieces.clone())));
        }
        facts.extend_from_slice(own.facts());
        facts.extend_from_slice(placed.facts());
        let all = mine.iter().map(|(one, _)| one).chain(theirs.iter().map(|(one, _)| &one.instance));
        let all: Vec<Term> = all.flat_map(|one| [one.happens, one.first]).collect();
        // What two traces read is not known to be the same.
        if w.terms.symbols(&all).iter().any(|&symbol| !w.is_cell(symbol)) {
            return Some(Inquiry::FromMemory);
        }
        match wrong {
            Wrong::More => {
                let count = w.terms.constant(u64::from(count), 32);
                let ways: Vec<Term> = theirs
                    .iter()
                    .map(|(doing, pieces)| {
                        let found =
                            is_among(w, &doing.instance, pieces, mine.iter().map(|(one, p)| (one, p, None)));
                        let there = w.terms.compare(Compare::ULess, item, count);
                        let found = w.terms.both(found, there);
                        let is_it = w.terms.compare(Compare::Equal, item, doing.item);
                        let is_it = w.terms.both(is_it, has_number);
                        let missing = w.terms.not(found);
                        let wrong = w.terms.both(is_it, missing);
                        let exists = w.terms.compare(Compare::ULess, doing.item, count);
                        let beyond = w.terms.not(exists);
                        let wrong = w.terms.either(wrong, beyond);
                        w.terms.both(doing.instance.happens, wrong)
                    })
                    .collect();
                assertions.push(w.terms.any(ways));
            }
            _ => {
                // The invocation that would have to do it.
                let is_it = self.is_for(w, item, &who);
                let there = self.is_there(w, &who);
                assertions.push(is_it);
                let ways: Vec<Term> = mine
                    .iter()
                    .map(|(instance, pieces)| {
                        let others = theirs.iter().map(|(one, p)| (&one.instance, p, Some(one.item)));
                        let others = others.map(|(one, p, by)| (one, p, by.map(|by| (by, item))));
                        let found = is_among(w, instance, pieces, others);
                        let found = w.terms.all([found, there, has_number]);
                        let missing = w.terms.not(found);
                        w.terms.both(instance.happens, missing)
                    })
                    .collect();
                assertions.push(w.terms.any(ways));
            }
        }
        Some(Inquiry::Asked(Some(ask(w, assertions, &facts))))
    }

    /// Any invocation of the placed dispatch, or, if `all`, any that there would be if it were large enough for all items.
    fn somebody(&self, w: &mut World, name: &str, all: bool) -> Who {
        let size = self.placed.submission.kernel.interface.local_size;
        let mut groups = self.placed.submission.groups;
        if all {
            let items = self.items().unwrap_or(u32::MAX);
            let rows = items / self.width + 1;
            groups = match self.order {
                Order::Grid => [self.width / size[0] + 1, rows / size[1] + 1, 1],
                Order::Rows => [rows, 1, 1],
                Order::Padded => groups,
                Order::Line => [self.width.saturating_add(items) / size[0] + 1, 1, 1],
            };
        }
        let [group, local] = w.any(groups, size, name);
        Who { group, local }
    }

    /// Items of the kernel's own dispatch, of those that have a number.
    fn items(&self) -> Option<u32> {
        let own = self.own.submission;
        if let Some(counts) = self.counts {
            let Some(last) = last_of(counts) else { return Some(1) };
            let below = counts[..last].iter().copied().try_fold(1u32, u32::checked_mul)?;
            let ids = own.groups[last].checked_mul(own.kernel.interface.local_size[last])?;
            return below.checked_mul(ids);
        }
        let factors = own.groups.iter().chain(&own.kernel.interface.local_size);
        factors.copied().try_fold(1u32, u32::checked_mul)
    }

    /// The number of an item of the kernel's own dispatch, from its work-group and its index in that work-group.
    fn number(&self, w: &mut World, who: &Who, index: Term) -> Term {
        let own = self.own.submission;
        let mut number = who.group[2];
        for d in [1, 0] {
            let count = w.terms.constant(u64::from(own.groups[d]), 32);
            number = w.terms.word(Word::Mul, number, count);
            number = w.terms.word(Word::Add, number, who.group[d]);
        }
        let size =
            w.terms.constant(own.kernel.interface.local_size.iter().map(|&n| u64::from(n)).product(), 32);
        number = w.terms.word(Word::Mul, number, size);
        w.terms.word(Word::Add, number, index)
    }

    /// The dimension of a row's work-groups.
    fn line(&self) -> usize {
        let size = self.placed.submission.kernel.interface.local_size;
        (0..3).find(|&d| size[d] != 1).unwrap_or(0)
    }

    /// Whether an invocation is part of the placed dispatch.
    fn is_there(&self, w: &mut World, who: &Who) -> Term {
        let mut there = w.terms.truth(true);
        for (group, count) in who.group.iter().zip(self.placed.submission.groups) {
            let count = w.terms.constant(u64::from(count), 32);
            let below = w.terms.compare(Compare::ULess, *group, count);
            there = w.terms.both(there, below);
        }
        there
    }

    fn ids(&self, w: &mut World, of: &Member<'_>, who: &Who) -> Ids {
        ids(w, of.submission, who.group, who.local)
    }

    fn trace<'t>(&'t self, w: &mut World, who: &Who, name: &str) -> Trace<'t>
    where
        'a: 't,
    {
        let ids = self.ids(w, &self.placed, who);
        Trace::new(&self.placed, ids, name, true)
    }

    /// Every time that the placed kernel does a write, with the item that it is for.
    fn doings<'t>(
        &'t self,
        w: &mut World,
        trace: &mut Trace<'t>,
        who: &Who,
        access: &Access,
    ) -> Option<(Vec<Doing>, Vec<Piece>)> {
        let (instances, pieces) = instances(w, trace, access)?;
        let mut doings = Vec::new();
        for instance in instances {
            let (item, round) = self.item(w, trace, who, instance.frame)?;
            doings.push(Doing { instance, item, round });
        }
        Some((doings, pieces))
    }

    /// The item that is done in a frame, as far as can be guessed: of a row, the counter of the loop around the body says
    /// which.
    fn item(&self, w: &mut World, trace: &mut Trace<'_>, who: &Who, frame: FrameId) -> Option<(Term, Term)> {
        let width = w.terms.constant(u64::from(self.width), 32);
        let zero = w.terms.constant(0, 32);
        match self.order {
            Order::Grid => {
                let row = w.terms.word(Word::Mul, trace.ids.global[1], width);
                return Some((w.terms.word(Word::Add, row, trace.ids.global[0]), zero));
            }
            Order::Line => return Some((w.terms.word(Word::Sub, trace.ids.global[0], width), zero)),
            Order::Padded => return Some((self.number(w, who, trace.ids.index), zero)),
            Order::Rows => {}
        }
        let mut outer = frame;
        while trace.parent(outer)? != ROOT {
            outer = trace.parent(outer)?;
        }
        let round = w.terms.constant(u64::from(trace.round(outer)?), 32);
        let header = trace.body().loops[trace.loop_of(outer)?].header;
        let phis = trace.body().block(header).iter().take_while(|inst| inst.class.opcode == Op::Phi);
        let phis: Vec<u32> = phis.filter_map(|inst| inst.result_id).collect();
        let begins = trace.rounds(w, ROOT, trace.loop_of(outer)?)?.first().copied()?;
        for phi in phis {
            if trace.leaf(w, begins, phi, Path::new()) == who.local[self.line()] {
                let counter = trace.leaf(w, outer, phi, Path::new());
                let row = w.terms.word(Word::Mul, who.group[0], width);
                return Some((w.terms.word(Word::Add, row, counter), round));
            }
        }
        None
    }

    /// Whether an invocation is the one that has to do an item, if any has: the row of the item, and the place in it. There is
    /// no other way to write the item's number so.
    fn is_for(&self, w: &mut World, item: Term, who: &Who) -> Term {
        let wide = |w: &mut World, term: Term| w.terms.extend(term, 64, false);
        let width = w.terms.constant(u64::from(self.width), 64);
        let size = self.placed.submission.kernel.interface.local_size;
        let (row, place) = match self.order {
            Order::Line => {
                let ids = self.ids(w, &self.placed, who);
                let (place, item) = (wide(w, ids.global[0]), wide(w, item));
                let number = w.terms.word(Word::Add, item, width);
                return w.terms.compare(Compare::Equal, number, place);
            }
            Order::Padded => {
                let index = self.ids(w, &self.placed, who).index;
                let number = self.number(w, who, index);
                let size =
                    self.own.submission.kernel.interface.local_size.iter().map(|&n| u64::from(n)).product();
                let count = w.terms.constant(size, 32);
                let is_own = w.terms.compare(Compare::ULess, index, count);
                let is_it = w.terms.compare(Compare::Equal, number, item);
                return w.terms.both(is_it, is_own);
            }
            Order::Grid => {
                let ids = self.ids(w, &self.placed, who);
                (wide(w, ids.global[1]), wide(w, ids.global[0]))
            }
            Order::Rows => {
                let size = size[self.line()];
                let step = w.terms.constant(u64::from(size), 64);
                let most = u64::from(self.width.div_ceil(size.max(1)));
                let round = w.terms.symbol(64, most, Origin::Id, "round of the item");
                let start = w.terms.word(Word::Mul, round, step);
                let local = wide(w, who.local[self.line()]);
                (wide(w, who.group[0]), w.terms.word(Word::Add, start, local))
            }
        };
        let before = w.terms.word(Word::Mul, row, width);
        let number = w.terms.word(Word::Add, before, place);
        let item = wide(w, item);
        let is_it = w.terms.compare(Compare::Equal, number, item);
        let in_row = w.terms.compare(Compare::ULess, place, width);
        w.terms.both(is_it, in_row)
    }
}

/// The last dimension that counts in the numbers of items.
fn last_of(counts: [u32; 3]) -> Option<usize> {
    (0..3).rev().find(|&d| counts[d] > 1)
}

/// The number of an item that is numbered by its global ids, and whether it has one.
fn by_global_ids(w: &mut World, counts: [u32; 3], global: [Term; 3]) -> (Term, Term) {
    let last = last_of(counts);
    let (mut number, mut has_number) = (w.terms.constant(0, 32), w.terms.truth(true));
    for d in (0..3).rev() {
        let count = w.terms.constant(u64::from(counts[d]), 32);
        if Some(d) != last {
            let below = w.terms.compare(Compare::ULess, global[d], count);
            has_number = w.terms.both(has_number, below);
        }
        if last.is_some_and(|last| d <= last) {
            number = w.terms.word(Word::Mul, number, count);
            number = w.terms.word(Word::Add, number, global[d]);
        }
    }
    (number, has_number)
}

/// Whether one of `others` happens, at the same bytes, and, where that is asked, with two equal terms.
pub(super) fn is_among<'i>(
    w: &mut World,
    one: &Instance,
    pieces: &[Piece],
    others: impl Iterator<Item = (&'i Instance, &'i Vec<Piece>, Option<(Term, Term)>)>,
) -> Term {
    let mut ways = Vec::new();
    for (other, their_pieces, equal) in others {
        if their_pieces.as_slice() != pieces {
            continue;
        }
        let same = w.terms.compare(Compare::Equal, one.first, other.first);
        let equal = match equal {
            Some((a, b)) => w.terms.compare(Compare::Equal, a, b),
            None => w.terms.truth(true),
        };
        ways.push(w.terms.all([other.happens, same, equal]));
    }
    w.terms.any(ways)
}

/// The ids of an invocation of a submission that runs by itself.
pub(super) fn ids(w: &mut World, of: &Submission, group: [Term; 3], local: [Term; 3]) -> Ids {
    let constant = |w: &mut World, n: u32| w.terms.constant(u64::from(n), 32);
    let size = of.kernel.interface.local_size;
    let global = std::array::from_fn(|d| {
        let size = constant(w, size[d]);
        let start = w.terms.word(Word::Mul, group[d], size);
        w.terms.word(Word::Add, start, local[d])
    });
    let counts = of.groups.map(|n| constant(w, n));
    let mut index = local[2];
    for d in [1, 0] {
        let size = constant(w, size[d]);
        index = w.terms.word(Word::Mul, index, size);
        index = w.terms.word(Word::Add, index, local[d]);
    }
    let runs = w.terms.truth(true);
    Ids { group, local, global, counts, index, runs }
}
