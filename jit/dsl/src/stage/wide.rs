//! Integers of 64 bits, by their words: NVIDIA's driver 580.159.04 computes bits of 64-bit quotients and remainders wrongly
//! where they are multiplied with.

use rspirv::{
    dr::Operand,
    spirv::{GlslStd450Op as GLOp, Op},
};

use super::builder::Builder;
use crate::shape::{ScalarType, Shape};

const WORD: Shape = Shape::Scalar(ScalarType::U32);
const LONG: Shape = Shape::Scalar(ScalarType::U64);

/// The words of a number, the lower one first.
type Words = [u32; 2];

impl Builder {
    /// Quotient and remainder of two `u64`, made of divisions of 32 bits; the divisor is not zero.
    ///
    /// A divisor of one word is divided by as on paper, word by word. That of two words leaves a quotient of one: half
    /// of the dividend by the divisor's first 32 bits gives it, or one more than it.
    pub(super) fn divide_long(&mut self, a: u32, b: u32) -> (u32, u32) {
        let (zero, one, last) = (self.u32(0), self.u32(1), self.u32(31));
        let ([a0, a1], [b0, b1]) = (self.words(a), self.words(b));
        let short = self.compare(Op::IEqual, b1, zero);
        let first = self.same(Op::Select, &WORD, &[short, b0, one]);
        let high = self.same(Op::UDiv, &WORD, &[a1, first]);
        let taken = self.same(Op::IMul, &WORD, &[high, first]);
        let left = self.same(Op::ISub, &WORD, &[a1, taken]);
        let high = self.same(Op::Select, &WORD, &[short, high, zero]);

        // The divisor's highest bit becomes that of a word.
        let leading = self.same(Op::Select, &WORD, &[short, b0, b1]);
        let top = self.glsl(GLOp::FindUMsb, &WORD, &[leading]);
        let shift = self.same(Op::ISub, &WORD, &[last, top]);
        let shifted = self.same(Op::ShiftLeftLogical, &LONG, &[b, shift]);
        let [s0, s1] = self.words(shifted);
        let divisor = self.same(Op::Select, &WORD, &[short, s0, s1]);
        let rest = self.long([a0, left]);
        let rest = self.same(Op::ShiftLeftLogical, &LONG, &[rest, shift]);
        let half = self.same(Op::ShiftRightLogical, &LONG, &[a, one]);
        let dividend = self.same(Op::Select, &LONG, &[short, rest, half]);
        let found = self.divide_word(dividend, divisor);

        let guess = self.same(Op::ShiftRightLogical, &WORD, &[found, top]);
        let none = self.compare(Op::IEqual, guess, zero);
        let less = self.same(Op::ISub, &WORD, &[guess, one]);
        let less = self.same(Op::Select, &WORD, &[none, zero, less]);
        let low = self.same(Op::Select, &WORD, &[short, found, less]);
        self.corrected([a0, a1], [b0, b1], [low, high])
    }

    /// Quotient and remainder from a quotient that is right, or one too small and then of one word.
    fn corrected(&mut self, a: Words, b: Words, [low, high]: Words) -> (u32, u32) {
        let one = self.u32(1);
        let taken = self.product([low, high], b);
        let left = self.difference(a, taken);
        let rest = self.difference(left, b);
        let less = self.words_less(left, b);
        let next = self.same(Op::IAdd, &WORD, &[low, one]);
        let low = self.same(Op::Select, &WORD, &[less, low, next]);
        let rest = [0, 1].map(|k| self.same(Op::Select, &WORD, &[less, left[k], rest[k]]));
        (self.long([low, high]), self.long(rest))
    }

    /// A `u64` by a `u32` of at least 2^31, if the quotient is a `u32`: in two digits of 16 bits.
    fn divide_word(&mut self, a: u32, b: u32) -> u32 {
        let sixteen = self.u32(16);
        let [a0, a1] = self.words(a);
        let lead = self.same(Op::ShiftRightLogical, &WORD, &[b, sixteen]);
        let wide = self.same(Op::UConvert, &LONG, &[b]);

        let upper = self.same(Op::ShiftRightLogical, &LONG, &[a, sixteen]);
        let (first, rest) = self.digit(a1, lead, upper, wide);
        let mask = self.u32(0xffff);
        let lower = self.same(Op::BitwiseAnd, &WORD, &[a0, mask]);
        let lower = self.same(Op::UConvert, &LONG, &[lower]);
        let raised = self.same(Op::ShiftLeftLogical, &LONG, &[rest, sixteen]);
        let upper = self.same(Op::BitwiseOr, &LONG, &[raised, lower]);
        let [rest, _] = self.words(rest);
        let (second, _) = self.digit(rest, lead, upper, wide);
        let first = self.same(Op::ShiftLeftLogical, &WORD, &[first, sixteen]);
        self.same(Op::BitwiseOr, &WORD, &[first, second])
    }

    /// The 16 bits that `a` by `b` is, and what is left; `a_lead` by `lead`, both without their last 16 bits, is at most
    /// two more.
    fn digit(&mut self, a_lead: u32, lead: u32, a: u32, b: u32) -> (u32, u32) {
        let (one, zero) = (self.u32(1), self.scalar(ScalarType::U64, 0));
        let mut digit = self.same(Op::UDiv, &WORD, &[a_lead, lead]);
        let wide = self.same(Op::UConvert, &LONG, &[digit]);
        let taken = self.same(Op::IMul, &LONG, &[wide, b]);
        let mut left = self.same(Op::ISub, &LONG, &[a, taken]);
        for _ in 0..2 {
            let over = self.compare(Op::SLessThan, left, zero);
            let (less, more) =
                (self.same(Op::ISub, &WORD, &[digit, one]), self.same(Op::IAdd, &LONG, &[left, b]));
            digit = self.same(Op::Select, &WORD, &[over, less, digit]);
            left = self.same(Op::Select, &LONG, &[over, more, left]);
        }
        (digit, left)
    }

    /// The product of two numbers of 64 bits, signed or not: NVIDIA's 580 takes the lowest bit of a quotient or
    /// remainder for one when it is multiplied in 64 bits.
    pub(super) fn product_long(&mut self, shape: &Shape, a: u32, b: u32) -> u32 {
        let (a, b) = (self.words(a), self.words(b));
        let words = self.product(a, b);
        let product = self.long(words);
        if *shape == LONG { product } else { self.same(Op::Bitcast, shape, &[product]) }
    }

    /// The lower two words of a product.
    fn product(&mut self, [a0, a1]: Words, [b0, b1]: Words) -> Words {
        let word = Operand::IdRef(self.u32_type());
        let pair = self.global(Op::TypeStruct, None, vec![word.clone(), word]);
        let both = self.op(Op::UMulExtended, pair, &[a0, b0]);
        let [low, carried] = [0, 1].map(|k| self.extract(&WORD, both, k));
        let (first, second) = (self.same(Op::IMul, &WORD, &[a0, b1]), self.same(Op::IMul, &WORD, &[a1, b0]));
        let cross = self.same(Op::IAdd, &WORD, &[first, second]);
        [low, self.same(Op::IAdd, &WORD, &[carried, cross])]
    }

    fn difference(&mut self, [a0, a1]: Words, [b0, b1]: Words) -> Words {
        let (zero, one) = (self.u32(0), self.u32(1));
        let low = self.same(Op::ISub, &WORD, &[a0, b0]);
        let borrows = self.compare(Op::ULessThan, a0, b0);
        let borrow = self.same(Op::Select, &WORD, &[borrows, one, zero]);
        let high = self.same(Op::ISub, &WORD, &[a1, b1]);
        [low, self.same(Op::ISub, &WORD, &[high, borrow])]
    }

    /// Whether `a < b`.
    fn words_less(&mut self, [a0, a1]: Words, [b0, b1]: Words) -> u32 {
        let (above, same) = (self.compare(Op::ULessThan, a1, b1), self.compare(Op::IEqual, a1, b1));
        let below = self.compare(Op::ULessThan, a0, b0);
        let below = self.compare(Op::LogicalAnd, same, below);
        self.compare(Op::LogicalOr, above, below)
    }

    /// The words of 64 bits.
    pub(super) fn words(&mut self, a: u32) -> Words {
        let pair = self.same(Op::Bitcast, &Shape::Vector(ScalarType::U32, 2), &[a]);
        [0, 1].map(|k| self.extract(&WORD, pair, k))
    }

    /// The `u64` of two words.
    pub(super) fn long(&mut self, words: Words) -> u32 {
        let pair = self.same(Op::CompositeConstruct, &Shape::Vector(ScalarType::U32, 2), &words);
        self.same(Op::Bitcast, &LONG, &[pair])
    }

    /// An `i64` as `u64`, without its sign, and whether it had one.
    pub(super) fn magnitude(&mut self, a: u32) -> (u32, u32) {
        let zero = self.scalar(ScalarType::I64, 0);
        let negative = self.compare(Op::SLessThan, a, zero);
        let bits = self.same(Op::Bitcast, &LONG, &[a]);
        (self.negated(negative, bits), negative)
    }

    /// Minus a `u64` if a condition holds.
    pub(super) fn negated(&mut self, condition: u32, a: u32) -> u32 {
        let zero = self.scalar(ScalarType::U64, 0);
        let minus = self.same(Op::ISub, &LONG, &[zero, a]);
        self.same(Op::Select, &LONG, &[condition, minus, a])
    }
}
