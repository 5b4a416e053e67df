//! Rounds in which a loop that is not unrolled is likely to end.
//!
//! That a loop runs a round says that it did not end in an earlier one. This is stated for a few of the earlier rounds only, chosen so that
//! it says most: those in which a counter is about to wrap, or equals the number that it is compared with. The comparison may take the counter
//! before its step or behind it, as loops are tested at their beginning or at their end. Any other choice would be correct too, and prove less.

use rspirv::spirv::Op;

use super::term::{Term, Word, mask, signed};
use super::trace::{FrameId, Path, Trace, World};

/// Most comparisons of one loop that are looked at.
const MAX_COMPARISONS: usize = 8;
/// Longest sum of a counter and numbers.
const MAX_TERMS: u32 = 4;

/// A number that grows by the same in each round.
struct Sequence {
    first: Term,
    step: Term,
    /// What it is compared with for equality.
    limit: Option<Term>,
}

impl Trace<'_> {
    /// The numbers of such rounds, as words of `count` bits.
    pub(super) fn likely_ends(&mut self, w: &mut World, parent: FrameId, of: usize, count: u8) -> Vec<Term> {
        let mut numbers = Vec::new();
        let mut found = Vec::new();
        for Sequence { first, step, limit } in self.sequences(w, parent, of) {
            let width = w.terms.width(first);
            let Some(by) = w.terms.value(step).map(|step| signed(step, width)) else { continue };
            if by == 0 || width > count {
                continue;
            }
            before_wrap(w.terms.range(first), by, width, &mut numbers);
            let Some(limit) = limit.filter(|&limit| w.terms.width(limit) == width) else { continue };
            let (from, to) = if by > 0 { (first, limit) } else { (limit, first) };
            let way = w.terms.word(Word::Sub, to, from);
            let size = w.terms.constant(by.unsigned_abs(), width);
            let rounds = w.terms.word(Word::UDiv, way, size);
            found.push(w.terms.extend(rounds, count, false));
        }
        numbers.retain(|&n| n <= mask(count));
        found.extend(numbers.into_iter().map(|n| w.terms.constant(n, count)));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// What the loop carries, and what is compared in its rounds.
    fn sequences(&mut self, w: &mut World, parent: FrameId, of: usize) -> Vec<Sequence> {
        let body = self.body();
        let phis = body.block(body.loops[of].header).iter().take_while(|i| i.class.opcode == Op::Phi);
        let mut found = Vec::new();
        for phi in phis.filter_map(|inst| inst.result_id) {
            let carried = self.carried(w, parent, of, phi);
            found.extend(carried.map(|(first, step)| Sequence { first, step, limit: None }));
        }
        let blocks = (0..body.blocks()).filter(|&b| body.home[b] == Some(of) && body.reached[b]);
        let compared = blocks.flat_map(|b| body.block(b)).filter_map(|inst| {
            let is_equality = match inst.class.opcode {
                Op::IEqual | Op::INotEqual => true,
                Op::ULessThan | Op::ULessThanEqual | Op::UGreaterThan | Op::UGreaterThanEqual => false,
                Op::SLessThan | Op::SLessThanEqual | Op::SGreaterThan | Op::SGreaterThanEqual => false,
                _ => return None,
            };
            let [a, b] = inst.operands.as_slice() else { return None };
            Some((is_equality, a.id_ref_any()?, b.id_ref_any()?))
        });
        for (is_equality, a, b) in compared.take(MAX_COMPARISONS) {
            for (side, other) in [(a, b), (b, a)] {
                let Some((first, step)) = self.sequence(w, parent, of, side, MAX_TERMS) else { continue };
                let limit = if is_equality { self.steady(w, parent, of, other) } else { None };
                found.push(Sequence { first, step, limit });
            }
        }
        found
    }

    /// First value and step of a counter, or of the sum of one and what seems to be the same in all rounds.
    fn sequence(
        &mut self,
        w: &mut World,
        parent: FrameId,
        of: usize,
        id: u32,
        left: u32,
    ) -> Option<(Term, Term)> {
        let body = self.body();
        let id = self.source(id);
        if let Some(carried) = self.carried(w, parent, of, id) {
            return Some(carried);
        }
        let left = left.checked_sub(1)?;
        let (at, inst) = body.local(id).filter(|(at, _)| body.home[at.0] == Some(of))?;
        debug_assert!(body.loops[of].inside[at.0]);
        let operand = |n: usize| inst.operands.get(n).and_then(|o| o.id_ref_any());
        let (op, ways) = match inst.class.opcode {
            Op::IAdd => (Word::Add, vec![(operand(0)?, operand(1)?), (operand(1)?, operand(0)?)]),
            Op::ISub => (Word::Sub, vec![(operand(0)?, operand(1)?)]),
            _ => return None,
        };
        ways.into_iter().find_map(|(counter, by)| {
            let (first, step) = self.sequence(w, parent, of, counter, left)?;
            let by =
                self.steady(w, parent, of, by).filter(|&by| w.terms.width(by) == w.terms.width(first))?;
            Some((w.terms.word(op, first, by), step))
        })
    }

    /// A scalar that seems to be the same in all rounds of a loop: it is in the first two.
    fn steady(&mut self, w: &mut World, parent: FrameId, of: usize, id: u32) -> Option<Term> {
        if let Some(fixed) = self.fixed(w, parent, of, id) {
            return Some(fixed);
        }
        let width = self.count_width(of);
        let [first, second] = [0, 1].map(|count| {
            let count = w.terms.constant(count, width);
            let round = self.bare(w, parent, of, count);
            self.leaf(w, round, id, Path::new())
        });
        (first == second).then_some(first)
    }
}

/// The rounds in which a number whose first value lies in a range is about to wrap, by either reading of its sign.
fn before_wrap((low, high): (u64, u64), by: i64, width: u8, numbers: &mut Vec<u64>) {
    let sign = 1u64 << (width - 1);
    let size = by.unsigned_abs();
    if by > 0 {
        numbers.push((mask(width) - high) / size);
        if high < sign {
            numbers.push((sign - 1 - high) / size);
        } else if low >= sign {
            // From a negative number up to the greatest positive one.
            numbers.push((mask(width) - high + sign) / size);
        }
    } else {
        numbers.push(low / size);
        if high < sign {
            numbers.push((low + sign) / size);
        }
    }
}
