//! A kernel and its form by rounds, where each round of its loop is an item: every item writes what its round wrote, and no two rounds meet.
//!
//! Both are read from their instructions, with the push constants of the call. With `n` rounds, work-group `n g + r`, or invocation `n x + r` of a line, is compared
//! with round `r` of work-group `g`, or of invocation `x`. That pairing comes from the planner. A wrong one cannot make a false claim hold, since the claims are
//! about bytes.

use super::group::{Access, accesses, what_is_not_free};
use super::pair::{Instance, ask, instances, one_of, touch};
use super::place::Piece;
use super::placed::{ids, is_among};
use super::term::{Compare, Term, Word};
use super::text::{Inquiry, Question};
use super::trace::{Member, ROOT, Trace, World};
use crate::analysis::AccessKind;
use crate::plan::Submission;
use crate::plan::output::again::Counted;

/// A submission and what it is by rounds.
pub(super) struct ByRounds<'a> {
    own: Member<'a>,
    by: Member<'a>,
    own_accesses: Vec<Access>,
    by_accesses: Vec<Access>,
    counted: Counted,
}

/// An invocation of each of the two that belong together.
struct Both {
    /// Group ids and local ids of the one by rounds, and those of the other.
    by: [Term; 3],
    local: [Term; 3],
    own: [Term; 3],
    own_local: [Term; 3],
    round: Term,
    /// That they do.
    fits: Term,
}

impl<'a> ByRounds<'a> {
    /// `None` if the kernels cannot be read.
    pub(super) fn new(own: &'a Submission, by: &'a Submission, counted: Counted) -> Option<Self> {
        let member = |submission: &'a Submission| {
            let body = super::body::Body::new(&submission.kernel.normal.as_ref().ok()?.module)?;
            Some(Member { position: counted.at, submission, body })
        };
        let (own, by) = (member(own)?, member(by)?);
        let (own_accesses, by_accesses) = (accesses(&own).ok()?, accesses(&by).ok()?);
        Some(Self { own, by, own_accesses, by_accesses, counted })
    }

    /// What of the two submissions does not fit together, whatever their instructions do.
    pub(super) fn mismatch(&self) -> Option<String> {
        let (own, by) = (self.own.submission, self.by.submission);
        let [x, y, z] = own.groups;
        let groups = x.checked_mul(self.counted.count).map(|x| [x, y, z]);
        let sizes = [own, by].map(|one| one.kernel.interface.local_size);
        match what_is_not_free(&self.own) {
            Some(what) => Some(format!("it goes by rounds, but has {what}")),
            None if own.args != by.args || own.push != by.push => {
                Some("it has other arguments by rounds".to_owned())
            }
            None if own.base != [0; 3] || by.base != [0; 3] => {
                Some("its work-groups begin elsewhere".to_owned())
            }
            None if groups != Some(by.groups) || sizes[0] != sizes[1] => {
                Some("it has other invocations than rounds".to_owned())
            }
            None => None,
        }
    }

    /// The writes of the kernel, or of the one by rounds.
    pub(super) fn writes(&self, is_own: bool) -> impl Iterator<Item = &Access> {
        let all = if is_own { &self.own_accesses } else { &self.by_accesses };
        all.iter().filter(|access| access.kind != AccessKind::Read)
    }

    /// Pairs of accesses of the kernel by rounds to the same buffer, where at least one access writes.
    pub(super) fn pairs(&self) -> Vec<(&Access, &Access)> {
        let all = &self.by_accesses;
        let buffer = |access: &Access| self.by.submission.args[access.argument].buffer;
        let pairs = all.iter().enumerate().flat_map(|(n, a)| all[n..].iter().map(move |b| (a, b)));
        let writes = |access: &Access| access.kind != AccessKind::Read;
        pairs.filter(|(a, b)| buffer(a) == buffer(b) && (writes(a) || writes(b))).collect()
    }

    pub(super) fn world(&self) -> World {
        let args = &self.own.submission.args;
        let written = self.writes(true).chain(self.writes(false));
        World::new(args.iter(), written.map(|access| args[access.argument].buffer.0).collect())
    }

    fn group(&self, w: &mut World, name: &str) -> [Term; 3] {
        std::array::from_fn(|d| w.id(self.by.submission.groups[d], format!("{name}: group id {d}")))
    }

    fn local(&self, w: &mut World, name: &str) -> [Term; 3] {
        let size = self.by.submission.kernel.interface.local_size;
        std::array::from_fn(|d| w.id(size[d], format!("{name}: local id {d}")))
    }

    fn both(&self, w: &mut World) -> Both {
        let (by, local) = (self.group(w, "t"), self.local(w, "t"));
        let first = w.id(self.own.submission.groups[0], "group id 0 of the round".to_owned());
        let round = w.id(self.counted.count, "round".to_owned());
        let count = w.terms.constant(u64::from(self.counted.count), 32);
        let own = [first, by[1], by[2]];
        let mut own_local = local;
        // Work-groups, or the invocations of a line.
        let (mut numbered, mut place) = (first, by[0]);
        if self.counted.beside {
            let size = self.by.submission.kernel.interface.local_size[0];
            own_local[0] = w.id(size, "local id 0 of the round".to_owned());
            let size = w.terms.constant(u64::from(size), 32);
            let mut line = |group: Term, inside: Term| {
                let start = w.terms.word(Word::Mul, group, size);
                w.terms.word(Word::Add, start, inside)
            };
            (numbered, place) = (line(first, own_local[0]), line(by[0], local[0]));
        }
        let start = w.terms.word(Word::Mul, numbered, count);
        let number = w.terms.word(Word::Add, start, round);
        let fits = w.terms.compare(Compare::Equal, number, place);
        Both { by, local, own, own_local, round, fits }
    }

    /// Asks for a write of the kernel in some round that it does not do by rounds, or the other way round. Nothing is
    /// claimed of a write whose place or condition comes from memory.
    pub(super) fn question(&self, w: &mut World, access: &Access, is_own: bool) -> Inquiry {
        self.inquiry(w, access, is_own).unwrap_or(Inquiry::Asked(None))
    }

    /// As `question`; `None` if it cannot be written down.
    fn inquiry(&self, w: &mut World, access: &Access, is_own: bool) -> Option<Inquiry> {
        let both = self.both(w);
        let own_ids = ids(w, self.own.submission, both.own, both.own_local);
        let by_ids = ids(w, self.by.submission, both.by, both.local);
        let mut own = Trace::new(&self.own, own_ids, "t", true);
        let mut by = Trace::new(&self.by, by_ids, "t by rounds", true);
        let of = |all: Vec<Access>| -> Vec<Access> {
            all.into_iter().filter(|one| one.argument == access.argument).collect()
        };
        let (of_own, of_by) = match is_own {
            true => (vec![*access], of(self.writes(false).copied().collect())),
            false => (of(self.writes(true).copied().collect()), vec![*access]),
        };
        // Each with the round that it is of.
        let mut mine: Vec<(Instance, Vec<Piece>, Term)> = Vec::new();
        for one in of_own {
            let (found, pieces) = instances(w, &mut own, &one)?;
            for instance in found {
                let mut outer = instance.frame;
                while outer != ROOT && own.parent(outer)? != ROOT {
                    outer = own.parent(outer)?;
                }
                // Rounds that are unrolled are numbered in their order.
                let number = match outer == ROOT {
                    true => self.writes(true).position(|write| write.at == one.at)? as u32,
                    false => own.round(outer)?,
                };
                let round = w.terms.constant(u64::from(number), 32);
                mine.push((instance, pieces.clone(), round));
            }
        }
        let mut theirs: Vec<(Instance, Vec<Piece>)> = Vec::new();
        for one in of_by {
            let (found, pieces) = instances(w, &mut by, &one)?;
            theirs.extend(found.into_iter().map(|instance| (instance, pieces.clone())));
        }
        let all = mine.iter().map(|(one, ..)| one).chain(theirs.iter().map(|(one, _)| one));
        let all: Vec<Term> = all.flat_map(|one| [one.happens, one.first]).collect();
        if w.terms.symbols(&all).iter().any(|&symbol| !w.is_cell(symbol)) {
            return Some(Inquiry::FromMemory);
        }
        let mut ways = Vec::new();
        if is_own {
            for (instance, pieces, round) in &mine {
                let found = is_among(w, instance, pieces, theirs.iter().map(|(one, p)| (one, p, None)));
                let missing = w.terms.not(found);
                let here = w.terms.compare(Compare::Equal, *round, both.round);
                ways.push(w.terms.all([instance.happens, here, missing]));
            }
        } else {
            for (instance, pieces) in &theirs {
                let others = mine.iter().map(|(one, p, round)| (one, p, Some((*round, both.round))));
                let found = is_among(w, instance, pieces, others);
                let missing = w.terms.not(found);
                ways.push(w.terms.both(instance.happens, missing));
            }
        }
        let wrong = w.terms.any(ways);
        let facts: Vec<Term> = own.facts().iter().chain(by.facts()).copied().collect();
        Some(Inquiry::Asked(Some(ask(w, vec![both.fits, wrong], &facts))))
    }

    /// Asks for two invocations by rounds that have to do with one byte.
    pub(super) fn meeting(&self, w: &mut World, a: &Access, b: &Access) -> Option<Question> {
        let mut sides = Vec::new();
        let mut facts = Vec::new();
        let mut who = Vec::new();
        for (name, access) in [("t", a), ("u", b)] {
            let (group, local) = (self.group(w, name), self.local(w, name));
            let own = ids(w, self.by.submission, group, local);
            let mut trace = Trace::new(&self.by, own, name, true);
            let (found, pieces) = instances(w, &mut trace, access)?;
            facts.extend_from_slice(trace.facts());
            let (first, happens) = one_of(w, &found, name);
            sides.push((first, happens, pieces));
            who.push([group, local].concat());
        }
        let [(f, is_a, pieces_a), (g, is_b, pieces_b)] = sides.as_slice() else { return None };
        let touch = touch(w, (*f, pieces_a), (*g, pieces_b));
        let mut same = w.terms.truth(true);
        for (x, y) in who[0].iter().zip(&who[1]) {
            let equal = w.terms.compare(Compare::Equal, *x, *y);
            same = w.terms.both(same, equal);
        }
        let others = w.terms.not(same);
        Some(ask(w, vec![*is_a, *is_b, touch, others], &facts))
    }
}
