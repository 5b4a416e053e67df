//! Floats of 16 bits: in buffers as narrow as they are, everywhere else as 32 bits with the same value.
//!
//! An operation is one of 32 bits, rounded. For sums, differences, products, quotients and roots that is the same as one
//! rounding, since 32-bit floats have more than twice the digits and two more (Figueroa, "When is double rounding innocuous?").
//! So devices need no arithmetic of 16 bits. The bits are made by integer operations: Vulkan lets a device round towards zero when it
//! converts, and flush denormals, which those of 16 bits often are; and no driver is known that rounds to the nearest when asked to
//! (NVIDIA's rounds towards zero all the same).

use rspirv::spirv::Op;

use half::f16;

use super::{Method, Val, builder::Builder, with};
use crate::{
    capture::name_hash,
    shape::{ScalarType, Shape},
    value::Half,
};

const WORD: Shape = Shape::Scalar(ScalarType::U32);
const SINGLE: Shape = Shape::Scalar(ScalarType::F32);

/// The bits of singles: infinity, the least that is no denormal half, the first above all halves.
const INFINITY: u32 = 0x7f80_0000;
const LEAST: u32 = 0x3880_0000;
const BEYOND: u32 = 0x4780_0000;

/// The nearest half.
pub fn from_f32<T: Half>(a: Val<f32>) -> Val<T> {
    with(|b| Val::new(b.half_near(a.id)))
}

/// `a.to_f32()`: the same number.
#[diagnostic::do_not_recommend]
impl Method<{ name_hash("to_f32") }, (), Val<f32>> for f16 {
    type This = Val<f16>;
    fn call(this: Val<f16>, (): ()) -> Val<f32> {
        super::cast(this)
    }
}

/// `a.to_f64()`: the same number.
#[diagnostic::do_not_recommend]
impl Method<{ name_hash("to_f64") }, (), Val<f64>> for f16 {
    type This = Val<f16>;
    fn call(this: Val<f16>, (): ()) -> Val<f64> {
        super::cast(this)
    }
}

impl Builder {
    /// The type of halves in buffers.
    pub(super) fn half_type(&mut self) -> u32 {
        self.int_type(16, false)
    }

    /// The value of what was loaded.
    pub(super) fn half_loaded(&mut self, stored: u32) -> u32 {
        let bits = self.same(Op::UConvert, &WORD, &[stored]);
        self.half_of_bits(bits)
    }

    /// What is stored for a value.
    pub(super) fn half_stored(&mut self, value: u32) -> u32 {
        let ty = self.half_type();
        let bits = self.bits_of_half(value);
        self.op(Op::UConvert, ty, &[bits])
    }

    /// The nearest half to a single; of two, the even one.
    pub(super) fn half_near(&mut self, a: u32) -> u32 {
        let (size, sign) = self.half_parts(a);
        // Half of the last digit that is kept, less one where that is even, and then without the digits after it.
        let [thirteen, one, below, kept] = [13, 1, 0xfff, 0xffff_e000].map(|word| self.u32(word));
        let last = self.same(Op::ShiftRightLogical, &WORD, &[size, thirteen]);
        let odd = self.same(Op::BitwiseAnd, &WORD, &[last, one]);
        let more = self.same(Op::IAdd, &WORD, &[below, odd]);
        let sum = self.same(Op::IAdd, &WORD, &[size, more]);
        let whole = self.same(Op::BitwiseAnd, &WORD, &[sum, kept]);
        let rounded = self.unless_from(whole, BEYOND, |b| b.u32(INFINITY), whole);

        let small = self.beside_half(size);
        let beside = self.float(ScalarType::F32, 0.5);
        let small = self.same(Op::FSub, &SINGLE, &[small, beside]);
        let small = self.same(Op::Bitcast, &WORD, &[small]);
        let rounded = self.unless_from(size, LEAST, |_| rounded, small);
        // Infinity and what is no number.
        let rounded = self.unless_from(size, INFINITY, |_| size, rounded);
        let bits = self.same(Op::BitwiseOr, &WORD, &[rounded, sign]);
        self.same(Op::Bitcast, &SINGLE, &[bits])
    }

    /// The bits of a half, of the single that it is held in.
    pub(super) fn bits_of_half(&mut self, a: u32) -> u32 {
        let (size, sign) = self.half_parts(a);
        let [thirteen, sixteen, less] = [13, 16, 0x1_c000].map(|word| self.u32(word));
        let bits = self.same(Op::ShiftRightLogical, &WORD, &[size, thirteen]);
        let bits = self.same(Op::ISub, &WORD, &[bits, less]);

        let small = self.beside_half(size);
        let small = self.same(Op::Bitcast, &WORD, &[small]);
        let beside = self.u32(0.5_f32.to_bits());
        let small = self.same(Op::ISub, &WORD, &[small, beside]);
        let bits = self.unless_from(size, LEAST, |_| bits, small);
        let bits = self.unless_from(size, INFINITY, |b| b.u32(0x7c00), bits);
        let bits = self.unless_from(size, INFINITY + 1, |b| b.u32(0x7e00), bits);
        let sign = self.same(Op::ShiftRightLogical, &WORD, &[sign, sixteen]);
        self.same(Op::BitwiseOr, &WORD, &[bits, sign])
    }

    /// The single of a half's bits.
    pub(super) fn half_of_bits(&mut self, bits: u32) -> u32 {
        let [thirteen, sixteen] = [13, 16].map(|word| self.u32(word));
        let [rest, first] = [0x7fff, 0x8000].map(|mask| {
            let mask = self.u32(mask);
            self.same(Op::BitwiseAnd, &WORD, &[bits, mask])
        });
        let sign = self.same(Op::ShiftLeftLogical, &WORD, &[first, sixteen]);
        let raised = self.same(Op::ShiftLeftLogical, &WORD, &[rest, thirteen]);
        let [normal, beyond] = [0x3800_0000, 0x7000_0000].map(|bias| {
            let bias = self.u32(bias);
            self.same(Op::IAdd, &WORD, &[raised, bias])
        });
        let (digits, last) =
            (self.same(Op::ConvertUToF, &SINGLE, &[rest]), self.float(ScalarType::F32, 1.0 / 16_777_216.0));
        let small = self.same(Op::FMul, &SINGLE, &[digits, last]);
        let small = self.same(Op::Bitcast, &WORD, &[small]);
        let size = self.unless_from(rest, 0x400, |_| normal, small);
        let size = self.unless_from(rest, 0x7c00, |_| beyond, size);
        let bits = self.same(Op::BitwiseOr, &WORD, &[size, sign]);
        self.same(Op::Bitcast, &SINGLE, &[bits])
    }

    /// The bits of a single without its sign, and its sign.
    fn half_parts(&mut self, a: u32) -> (u32, u32) {
        let word = self.same(Op::Bitcast, &WORD, &[a]);
        let [rest, first] = [u32::MAX >> 1, 1 << 31].map(|mask| {
            let mask = self.u32(mask);
            self.same(Op::BitwiseAnd, &WORD, &[word, mask])
        });
        (rest, first)
    }

    /// A magnitude next to one half, where the last digit is that of denormal halves.
    fn beside_half(&mut self, size: u32) -> u32 {
        let (single, beside) = (self.same(Op::Bitcast, &SINGLE, &[size]), self.float(ScalarType::F32, 0.5));
        self.same(Op::FAdd, &SINGLE, &[single, beside])
    }

    /// `below`, or something else where a word is `first` or more.
    fn unless_from(
        &mut self,
        word: u32,
        first: u32,
        other: impl FnOnce(&mut Builder) -> u32,
        below: u32,
    ) -> u32 {
        let (other, first) = (other(self), self.u32(first));
        let is_from = self.compare(Op::UGreaterThanEqual, word, first);
        self.same(Op::Select, &WORD, &[is_from, other, below])
    }
}
