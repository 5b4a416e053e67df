//! `as` between numbers, with Rust's meaning.

use rspirv::spirv::{GlslStd450Op as GLOp, Op};

use super::{Val, builder::Builder, with};
use crate::{
    shape::{ScalarType, Shape},
    value::Scalar,
};

/// `a as U`
pub fn cast<T: Scalar, U: Scalar>(a: Val<T>) -> Val<U> {
    with(|b| Val::new(b.cast(a.id, T::TYPE, U::TYPE)))
}

/// `U::from(a)`: Rust sees to it that nothing is lost.
pub fn from<U: Scalar, T: Scalar>(a: Val<T>) -> Val<U> {
    cast(a)
}

impl Builder {
    pub(super) fn cast(&mut self, a: u32, from: ScalarType, to: ScalarType) -> u32 {
        if from == to {
            return a;
        }
        if let Some(bits) = self.known(a)
            && to.is_int()
        {
            return self.scalar(to, bits);
        }
        let target = self.scalar_type(to);
        match (from, to) {
            (ScalarType::Bool, _) => {
                let [one, zero] = [1, 0].map(|bit| match to.is_float() {
                    true => self.float(to, bit as f64),
                    false => self.scalar(to, bit),
                });
                self.op(Op::Select, target, &[a, one, zero])
            }
            (from, to) if from.is_float() && to.is_float() => {
                let same = from.held() == to.held();
                let converted = if same { a } else { self.op(Op::FConvert, target, &[a]) };
                self.wrap(converted, to)
            }
            (from, to) if from.is_float() => self.saturate(a, from, to),
            (from, to) if to.is_float() => self.int_to_float(a, from, to),
            (from, to) => self.int_to_int(a, from, to),
        }
    }

    fn int_to_int(&mut self, a: u32, from: ScalarType, to: ScalarType) -> u32 {
        let converted = self.resize(a, from.held(), to.held());
        // What the type has room for needs no wrap.
        let wider = to.bits() > from.bits() && (to.is_signed() || !from.is_signed());
        if wider { converted } else { self.wrap(converted, to) }
    }

    /// Between integers of 32 and 64 bits.
    fn resize(&mut self, a: u32, from: ScalarType, to: ScalarType) -> u32 {
        if from == to {
            return a;
        }
        let target = self.scalar_type(to);
        if from.bits() == to.bits() {
            return self.op(Op::Bitcast, target, &[a]);
        }
        if from == ScalarType::I32 && to.bits() == 64 {
            return self.widen(a, target);
        }
        // UConvert makes unsigned types only; the sign of the source decides how it is widened.
        if from.is_signed() {
            let wide = signed(to.bits());
            let converted = self.same(Op::SConvert, &Shape::Scalar(wide), &[a]);
            return if to.is_signed() { converted } else { self.op(Op::Bitcast, target, &[converted]) };
        }
        let wide = unsigned(to.bits());
        let converted = self.same(Op::UConvert, &Shape::Scalar(wide), &[a]);
        if to.is_signed() { self.op(Op::Bitcast, target, &[converted]) } else { converted }
    }

    /// `i32` to 64 bits, as the pair of its words: Mesa 22.3 compares what `SConvert` gives with constants as if it had no
    /// sign.
    fn widen(&mut self, a: u32, target: u32) -> u32 {
        let int = self.scalar_type(ScalarType::I32);
        let count = self.u32(31);
        let high = self.op(Op::ShiftRightArithmetic, int, &[a, count]);
        let pair = self.vector_type(int, 2);
        let pair = self.op(Op::CompositeConstruct, pair, &[a, high]);
        self.op(Op::Bitcast, target, &[pair])
    }

    fn int_to_float(&mut self, a: u32, from: ScalarType, to: ScalarType) -> u32 {
        let op = if from.is_signed() { Op::ConvertSToF } else { Op::ConvertUToF };
        self.same(op, &Shape::Scalar(to), &[a])
    }

    /// Floats to integers: towards zero, to the nearest number of the type, and nothing to zero.
    fn saturate(&mut self, a: u32, from: ScalarType, to: ScalarType) -> u32 {
        let bits = to.bits();
        let (low, high) = if to.is_signed() {
            (-((1_u128 << (bits - 1)) as f64), (1_u128 << (bits - 1)) as f64)
        } else {
            (0.0, (1_u128 << bits) as f64)
        };
        let (low_float, high_float) = (self.float(from, low), self.float(from, high));
        let zero = self.float(from, 0.0);
        let (not_low, not_high) = (
            self.compare(Op::FOrdGreaterThanEqual, a, low_float),
            self.compare(Op::FOrdLessThan, a, high_float),
        );
        let fits = self.compare(Op::LogicalAnd, not_low, not_high);
        let safe = self.same(Op::Select, &Shape::Scalar(from), &[fits, a, zero]);

        let converted = self.towards_zero(safe, from, to);

        let mask = u64::MAX >> (64 - bits);
        let (least, greatest) = if to.is_signed() { (1 << (bits - 1), mask >> 1) } else { (0, mask) };
        let (least, greatest) = (self.scalar(to, least), self.scalar(to, greatest));
        let above = self.compare(Op::FOrdGreaterThanEqual, a, high_float);
        let below = self.compare(Op::FOrdLessThan, a, low_float);
        let shape = Shape::Scalar(to);
        let low_done = self.same(Op::Select, &shape, &[below, least, converted]);
        self.same(Op::Select, &shape, &[above, greatest, low_done])
    }

    /// A float that is in range of the integer.
    fn towards_zero(&mut self, a: u32, from: ScalarType, to: ScalarType) -> u32 {
        match (to.bits() == 64, to.is_signed()) {
            (false, true) => self.same(Op::ConvertFToS, &Shape::Scalar(to), &[a]),
            (false, false) => self.same(Op::ConvertFToU, &Shape::Scalar(to), &[a]),
            (true, false) => self.words_of(a, from),
            (true, true) => self.words_with_sign(a, from),
        }
    }

    /// A float from 0 to below 2^64 as `u64`, word by word: NVIDIA's 580 converts to 32 bits at the most, and to the
    /// nearest number of those, if only low bits are used. All steps are exact: both halves are parts of the same
    /// digits, and what is lost of a number below one is no whole number.
    fn words_of(&mut self, a: u32, from: ScalarType) -> u32 {
        let float = Shape::Scalar(from);
        let (down, up) = (self.float(from, 1.0 / 4_294_967_296.0), self.float(from, 4_294_967_296.0));
        let scaled = self.same(Op::FMul, &float, &[a, down]);
        let high = self.whole(scaled, from);
        let above = self.same(Op::FMul, &float, &[high, up]);
        let low = self.same(Op::FSub, &float, &[a, above]);

        let word = Shape::Scalar(ScalarType::U32);
        let words = [low, high].map(|half| self.same(Op::ConvertFToU, &word, &[half]));
        self.long(words)
    }

    /// The whole part of a float from 0 to below 2^52. For `f64` by hand: llvmpipe's `Trunc` leaves those from 2^24 on as they
    /// are where its vectors are wider than the processor's.
    pub(super) fn whole(&mut self, a: u32, from: ScalarType) -> u32 {
        let float = Shape::Scalar(from);
        if from != ScalarType::F64 {
            return self.glsl(GLOp::Trunc, &float, &[a]);
        }
        // Beside 2^52 there is room for whole numbers only. The nearest of them may be the next one.
        let (beside, one) = (self.float(from, 4_503_599_627_370_496.0), self.float(from, 1.0));
        let sum = self.same(Op::FAdd, &float, &[a, beside]);
        let nearest = self.same(Op::FSub, &float, &[sum, beside]);
        let before = self.same(Op::FSub, &float, &[nearest, one]);
        let next = self.compare(Op::FOrdGreaterThan, nearest, a);
        self.same(Op::Select, &float, &[next, before, nearest])
    }

    /// A float from -2^63 to below 2^63 as `i64`.
    fn words_with_sign(&mut self, a: u32, from: ScalarType) -> u32 {
        let size = self.glsl(GLOp::FAbs, &Shape::Scalar(from), &[a]);
        let (size, zero) = (self.words_of(size, from), self.float(from, 0.0));
        let long = Shape::Scalar(ScalarType::I64);
        let size = self.same(Op::Bitcast, &long, &[size]);
        let negated = self.same(Op::SNegate, &long, &[size]);
        let negative = self.compare(Op::FOrdLessThan, a, zero);
        self.same(Op::Select, &long, &[negative, negated, size])
    }

    /// A float constant; `value` is exact in all sizes.
    pub(super) fn float(&mut self, ty: ScalarType, value: f64) -> u32 {
        match ty.held() {
            ScalarType::F32 => self.scalar(ScalarType::F32, u64::from((value as f32).to_bits())),
            ty => self.scalar(ty, value.to_bits()),
        }
    }
}

fn signed(bits: u32) -> ScalarType {
    if bits == 32 { ScalarType::I32 } else { ScalarType::I64 }
}

fn unsigned(bits: u32) -> ScalarType {
    if bits == 32 { ScalarType::U32 } else { ScalarType::U64 }
}
