//! Numbers of items next to each other, divided by what is a multiple of four: one division for all of them.
//!
//! Let `v` be a multiple of four and `0 <= k < 4`. Then `v + k` does not wrap, and for `d = 4 e` with `e > 0`
//!
//! ```text
//! (v + k) mod d = 4 ((v / 4) mod e) + k        (v + k) / d = (v / 4) / e
//! ```
//!
//! so the remainders of four items are next to each other again, and the quotient is the same for all.
//!
//! # Guarantees
//! - what is written has the value of what it is written for, for all items, whether they take the way or not

use rspirv::spirv::Op;

use super::memory::Pointer;
use super::vectors::WIDE;
use super::words::Polynomial;
use super::write::divisor;
use super::{Traced, Tracer};
use crate::ir::entity::{Type, Value};

const FOUR: u32 = WIDE as u32;

impl Tracer<'_> {
    /// Notes that a push constant which was loaded is a multiple, if it is.
    pub(super) fn note_multiple(&mut self, pointer: &Pointer, loaded: Value) -> Traced<()> {
        let ty = self.ty(loaded);
        if self.start.source.multiples.is_empty() || self.words(loaded) != Some(Polynomial::word(loaded)) {
            return Ok(());
        }
        let path = self.numbers(&pointer.path)?;
        let module = &*self.code.module;
        let block = module.types.pointer(module.globals[pointer.global()?].pointer);
        let offset = block.and_then(|(_, block)| module.part_at(block, path)).map(|(_, offset)| offset);
        let Some(&of) = offset.and_then(|offset| self.start.source.multiples.get(&offset)) else {
            return Ok(());
        };
        let shift = self.constant(ty, of.trailing_zeros());
        let part = self.pure(Op::ShiftRightLogical, ty, &[loaded, shift], &[])?;
        self.note_range(part, (1, u32::MAX / of));
        let words = Polynomial::word(part).times(&Polynomial::constant(of));
        if let Some(fact) = self.facts.get_mut(&loaded) {
            fact.words = words;
        }
        Ok(())
    }

    /// Notes the least and the greatest number of a word.
    pub(in crate::emit::passes) fn note_range(&mut self, word: Value, range: (u32, u32)) {
        self.fact(word);
        if let Some(fact) = self.facts.get_mut(&word) {
            fact.range = Some(range);
        }
    }

    /// Whether a word is certainly not zero.
    pub(super) fn is_not_zero(&mut self, value: Value) -> bool {
        let product = self.words(value).and_then(|words| self.product(&words));
        product.is_some_and(|(word, _)| self.fact(word).range.is_some_and(|(least, _)| least > 0))
    }

    /// The word and its factor of a product that does not wrap.
    fn product(&self, words: &Polynomial) -> Option<(Value, u32)> {
        let (word, factor) = words.as_product()?;
        let (_, most) = self.facts.get(&word)?.range?;
        most.checked_mul(factor).map(|_| (word, factor))
    }

    /// Quotient or remainder of a multiple, and a number less than the divisor, by a number.
    pub(super) fn part_of_multiple(&self, op: Op, value: &Polynomial, by: u32) -> Option<Polynomial> {
        let divisor = divisor(op, by).filter(|&divisor| divisor != 0)?;
        let (rest, constant) = value.split();
        match op {
            Op::UMod | Op::BitwiseAnd => {
                // Powers of two divide what words wrap at.
                let divides = divisor.is_power_of_two() && rest.is_multiple(divisor, &[]);
                divides.then(|| Polynomial::constant(constant % divisor))
            }
            _ => {
                let (word, factor) = self.product(value)?;
                let is_multiple = factor.is_multiple_of(divisor);
                is_multiple.then(|| Polynomial::word(word).times(&Polynomial::constant(factor / divisor)))?
            }
        }
    }

    /// Remainders, quotients and comparisons of numbers of items next to each other, if one does for all of them.
    pub(super) fn of_quarters(&mut self, op: Op, ty: Type, [a, b]: [Value; 2]) -> Traced<Option<Value>> {
        let Some(base) = self.base_of_four().filter(|_| self.varies(a)) else { return Ok(None) };
        let (Some(words), Some(divisor)) = (self.words(a), self.words(b)) else { return Ok(None) };
        // What keeps items out of range is asked of their numbers.
        if !matches!(op, Op::UDiv | Op::UMod | Op::ULessThan)
            || op == Op::ULessThan && words.of(base).is_some()
        {
            return Ok(None);
        }
        let Some(lane) = lane(&words) else { return Ok(None) };
        let Some(by) = self.quarter_of(&divisor, self.ty(b))? else { return Ok(None) };
        let quarter = self.quarter(a, &words, lane)?;
        let part = self.pure(op, ty, &[quarter, by], &[])?;
        match op {
            Op::ULessThan => Ok(Some(part)),
            Op::UDiv => {
                self.note_range(part, (0, u32::MAX / FOUR));
                Ok(Some(part))
            }
            _ => self.behind_quarter(part, lane).map(Some),
        }
    }

    /// A choice between numbers of items next to each other, which are next to each other again.
    pub(super) fn chosen(&mut self, condition: Value, yes: Value, no: Value) -> Traced<Option<Value>> {
        let (Some(a), Some(b)) = (self.words(yes), self.words(no)) else { return Ok(None) };
        let lane = match (self.base_of_four(), lane(&a), lane(&b)) {
            (Some(_), Some(first), Some(second)) if first == second => first,
            _ => return Ok(None),
        };
        let ty = self.ty(yes);
        let (yes, no) = (self.quarter(yes, &a, lane)?, self.quarter(no, &b, lane)?);
        let (yes, no) = (self.cast(yes, ty)?, self.cast(no, ty)?);
        let quarter = self.pure(Op::Select, ty, &[condition, yes, no], &[])?;
        self.behind_quarter(quarter, lane).map(Some)
    }

    /// The invocation's number, where it does four items next to each other.
    fn base_of_four(&self) -> Option<Value> {
        self.start.ids.base.filter(|&(_, step)| step == FOUR).map(|(base, _)| base)
    }

    /// Four times a word that is not above a quarter of all words, and a number below four.
    fn behind_quarter(&mut self, quarter: Value, lane: u32) -> Traced<Value> {
        self.note_range(quarter, (0, u32::MAX / FOUR));
        let ty = self.ty(quarter);
        let first = self.times(quarter, FOUR, ty)?;
        let lane = self.constant(ty, lane);
        self.pure(Op::IAdd, ty, &[first, lane], &[])
    }

    /// A quarter of the multiple of four that lies this far before a number.
    fn quarter(&mut self, value: Value, words: &Polynomial, lane: u32) -> Traced<Value> {
        let ty = self.ty(value);
        let lane = lane.wrapping_neg();
        let first = words.plus(1, &Polynomial::constant(lane));
        if let Some((word, factor)) = first.and_then(|first| self.product(&first)) {
            return self.times(word, factor / FOUR, ty);
        }
        let (lane, two) = (self.constant(ty, lane), self.constant(ty, FOUR.trailing_zeros()));
        let first = self.pure(Op::IAdd, ty, &[value, lane], &[])?;
        self.pure(Op::ShiftRightLogical, ty, &[first, two], &[])
    }

    /// A quarter of what is a multiple of four, the same for all items, and not zero.
    fn quarter_of(&mut self, words: &Polynomial, ty: Type) -> Traced<Option<Value>> {
        if let Some(number) = words.as_constant() {
            let is_multiple = number != 0 && number.is_multiple_of(FOUR);
            return Ok(is_multiple.then(|| self.constant(ty, number / FOUR)));
        }
        match self.product(words) {
            Some((word, factor)) if factor.is_multiple_of(FOUR) && !self.varies(word) => {
                self.times(word, factor / FOUR, ty).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn times(&mut self, word: Value, factor: u32, ty: Type) -> Traced<Value> {
        let factor = self.constant(ty, factor);
        let word = self.cast(word, ty)?;
        self.pure(Op::IMul, ty, &[word, factor], &[])
    }
}

/// How far a number lies behind a multiple of four, if that is known; it is not a constant.
fn lane(words: &Polynomial) -> Option<u32> {
    let (rest, constant) = words.split();
    let begins = rest.is_multiple(FOUR, &[]) || mutant!(QuartersBeginAnywhere);
    (begins && rest.as_constant().is_none()).then_some(constant % FOUR)
}
