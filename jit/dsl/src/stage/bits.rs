//! The bits of integers: counted, and in other orders. Those of 64 bits by their words, narrow ones as the low bits of one.

use rspirv::spirv::{GlslStd450Op as GLOp, Op};

use super::{Val, builder::Builder, with};
use crate::{
    shape::{ScalarType, Shape},
    value::Int,
};

const WORD: Shape = Shape::Scalar(ScalarType::U32);

impl ScalarType {
    /// The integer of the same size without a sign.
    fn unsigned(self) -> ScalarType {
        match self {
            ScalarType::I8 => ScalarType::U8,
            ScalarType::I16 => ScalarType::U16,
            ScalarType::I32 => ScalarType::U32,
            ScalarType::I64 => ScalarType::U64,
            other => other,
        }
    }
}

impl Builder {
    /// The words of an integer, the lower one first; one word for those that have room in it.
    fn words_of_int(&mut self, ty: ScalarType, a: u32) -> Vec<u32> {
        let bits = self.cast(a, ty, ty.unsigned());
        if ty.bits() == 64 { self.words(bits).to_vec() } else { vec![bits] }
    }

    /// The integer of these words.
    fn int_of_words(&mut self, ty: ScalarType, words: &[u32]) -> u32 {
        let bits = match words {
            &[low, high] => self.long([low, high]),
            words => words[0],
        };
        self.cast(bits, ty.unsigned(), ty)
    }

    fn word_op(&mut self, op: Op, a: u32, b: u32) -> u32 {
        self.same(op, &WORD, &[a, b])
    }

    /// Zeros above the highest one of a word; 32 of zero.
    fn leading(&mut self, word: u32) -> u32 {
        let (top, last) = (self.glsl(GLOp::FindUMsb, &WORD, &[word]), self.u32(31));
        // Minus one, for zero, makes it 32.
        self.word_op(Op::ISub, last, top)
    }

    /// Zeros below the lowest one of a word; 32 of zero.
    fn trailing(&mut self, word: u32) -> u32 {
        let (bottom, most) = (self.glsl(GLOp::FindILsb, &WORD, &[word]), self.u32(32));
        let less = self.compare(Op::ULessThan, bottom, most);
        self.same(Op::Select, &WORD, &[less, bottom, most])
    }

    /// A count of the second word, and 32 more of the first if the second is zero.
    fn further(&mut self, near: u32, of_near: u32, of_far: u32) -> u32 {
        let (zero, more) = (self.u32(0), self.u32(32));
        let none = self.compare(Op::IEqual, near, zero);
        let sum = self.word_op(Op::IAdd, of_far, more);
        self.same(Op::Select, &WORD, &[none, sum, of_near])
    }

    /// The bytes of a word in reverse.
    fn swapped(&mut self, word: u32) -> u32 {
        let mut swapped = None;
        for (from, to) in [(0, 24), (8, 16), (16, 8), (24, 0)] {
            let (down, mask, up) = (self.u32(from), self.u32(0xff), self.u32(to));
            let byte = self.word_op(Op::ShiftRightLogical, word, down);
            let byte = self.word_op(Op::BitwiseAnd, byte, mask);
            let byte = self.word_op(Op::ShiftLeftLogical, byte, up);
            swapped = Some(swapped.map_or(byte, |all| self.word_op(Op::BitwiseOr, all, byte)));
        }
        swapped.unwrap_or(word)
    }

    /// Words in reverse, each turned, and for narrow integers the upper bits, where they now are.
    fn turned(&mut self, ty: ScalarType, a: u32, turn: impl Fn(&mut Builder, u32) -> u32) -> u32 {
        let words = self.words_of_int(ty, a);
        let mut turned: Vec<u32> = words.iter().rev().map(|&word| turn(self, word)).collect();
        if ty.bits() < 32 {
            let down = self.u32(32 - ty.bits());
            turned[0] = self.word_op(Op::ShiftRightLogical, turned[0], down);
        }
        self.int_of_words(ty, &turned)
    }

    fn rotated(&mut self, ty: ScalarType, a: u32, left: u32) -> u32 {
        let unsigned = ty.unsigned();
        let shape = Shape::Scalar(unsigned);
        let bits = self.cast(a, ty, unsigned);
        let (all, zero) = (self.u32(ty.bits() - 1), self.u32(0));
        let up = self.word_op(Op::BitwiseAnd, left, all);
        let down = self.word_op(Op::ISub, zero, left);
        let down = self.word_op(Op::BitwiseAnd, down, all);
        let high = self.same(Op::ShiftLeftLogical, &shape, &[bits, up]);
        let low = self.same(Op::ShiftRightLogical, &shape, &[bits, down]);
        let both = self.same(Op::BitwiseOr, &shape, &[high, low]);
        let both = self.wrap(both, unsigned);
        self.cast(both, unsigned, ty)
    }
}

/// Number of ones.
pub fn count_ones<T: Int>(a: Val<T>) -> Val<u32> {
    with(|b| {
        let words = b.words_of_int(T::TYPE, a.id);
        let counts: Vec<u32> = words.iter().map(|&word| b.same(Op::BitCount, &WORD, &[word])).collect();
        Val::new(counts.into_iter().reduce(|a, c| b.word_op(Op::IAdd, a, c)).unwrap_or(0))
    })
}

/// Number of zeros above the highest one.
pub fn leading_zeros<T: Int>(a: Val<T>) -> Val<u32> {
    with(|b| {
        let words = b.words_of_int(T::TYPE, a.id);
        let counts: Vec<u32> = words.iter().map(|&word| b.leading(word)).collect();
        Val::new(match counts[..] {
            [low, high] => b.further(words[1], high, low),
            _ => {
                let missing = b.u32(32 - T::TYPE.bits());
                b.word_op(Op::ISub, counts[0], missing)
            }
        })
    })
}

/// Number of zeros below the lowest one.
pub fn trailing_zeros<T: Int>(a: Val<T>) -> Val<u32> {
    with(|b| {
        let words = b.words_of_int(T::TYPE, a.id);
        let counts: Vec<u32> = words.iter().map(|&word| b.trailing(word)).collect();
        Val::new(match counts[..] {
            [low, high] => b.further(words[0], low, high),
            _ => {
                let most = b.u32(T::TYPE.bits());
                let less = b.compare(Op::ULessThan, counts[0], most);
                b.same(Op::Select, &WORD, &[less, counts[0], most])
            }
        })
    })
}

/// In reverse.
pub fn reverse_bits<T: Int>(a: Val<T>) -> Val<T> {
    with(|b| Val::new(b.turned(T::TYPE, a.id, |b, word| b.same(Op::BitReverse, &WORD, &[word]))))
}

/// Bytes in reverse.
pub fn swap_bytes<T: Int>(a: Val<T>) -> Val<T> {
    with(|b| Val::new(b.turned(T::TYPE, a.id, Builder::swapped)))
}

/// Up, and what leaves the type from below in again.
pub fn rotate_left<T: Int>(a: Val<T>, count: Val<u32>) -> Val<T> {
    with(|b| Val::new(b.rotated(T::TYPE, a.id, count.id)))
}

/// Down, and what leaves the type from above in again.
pub fn rotate_right<T: Int>(a: Val<T>, count: Val<u32>) -> Val<T> {
    let left = super::sub(super::constant(0_u32), count);
    with(|b| Val::new(b.rotated(T::TYPE, a.id, left.id)))
}
