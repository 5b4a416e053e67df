//! The functions of floats on staged values, with Rust's results at the edges of their domains.
//!
//! SPIR-V leaves its own undefined on parts of Rust's domains (a negative base of `Pow`, `Atan2` of zeros, `Asin` beyond one),
//! and Vulkan allows errors where results are exact, and devices to compute as if there were neither infinities nor NaN. So
//! zeros, infinities, NaN, what leaves the range of the type and what is exact are distinguished by comparisons of bits, as
//! integers, and chosen by selections of bits; SPIR-V's functions give the rest. What is special is what C's annex F says,
//! which Rust's functions follow.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use rspirv::spirv::{GlslStd450Op as GLOp, Op};

use super::{
    Val,
    builder::Builder,
    math::{abs, extended, select},
    shape, with,
};
use crate::{
    shape::{ScalarType, Shape},
    value::{Float, Float32, Ordered},
};

/// The sign of a float, and the rest of its bits; of an `f64` the upper ones, with the last set where a lower one is.
/// These order as magnitudes do, except for those of `f64` that differ in the lower bits alone.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub(super) negative: Val<bool>,
    size: Val<u32>,
    ty: ScalarType,
}

impl Parts {
    pub(super) fn of<T: Ordered>(a: Val<T>) -> Parts {
        let word: Val<u32> = with(|b| Val::new(b.class_word(T::TYPE, a.id)));
        let rest = super::constant(u32::MAX >> 1);
        Parts { negative: super::gt(word, rest), size: super::bitand(word, rest), ty: T::TYPE }
    }

    /// The word of a float that is not negative, and has lower bits of zero.
    fn word(self, value: f64) -> Val<u32> {
        super::constant(if self.ty.held() == ScalarType::F32 {
            (value as f32).to_bits()
        } else {
            (value.to_bits() >> 32) as u32
        })
    }

    pub(super) fn is_nan(self) -> Val<bool> {
        super::gt(self.size, self.word(f64::INFINITY))
    }

    fn is_infinite(self) -> Val<bool> {
        self.is(f64::INFINITY)
    }

    fn is_zero(self) -> Val<bool> {
        self.is(0.0)
    }

    /// Whether the magnitude is `value`.
    fn is(self, value: f64) -> Val<bool> {
        super::eq(self.size, self.word(value))
    }

    /// Whether the magnitude is `value` or more, or there is none.
    fn from(self, value: f64) -> Val<bool> {
        super::ge(self.size, self.word(value))
    }

    /// Whether the magnitude is more than `value`, or there is none.
    fn above(self, value: f64) -> Val<bool> {
        super::gt(self.size, self.word(value))
    }

    /// Whether it is below zero, or NaN with a sign.
    fn below_zero(self) -> Val<bool> {
        and(self.negative, super::not(self.is_zero()))
    }
}

fn and(a: Val<bool>, b: Val<bool>) -> Val<bool> {
    super::bitand(a, b)
}

fn or(a: Val<bool>, b: Val<bool>) -> Val<bool> {
    super::bitor(a, b)
}

/// A constant, from the `f64` that it is nearest to.
fn number<T: Ordered>(value: f64) -> Val<T> {
    with(|b| Val::new(b.float(T::TYPE, value)))
}

impl Builder {
    fn class_word(&mut self, ty: ScalarType, a: u32) -> u32 {
        let word = Shape::Scalar(ScalarType::U32);
        if ty.held() == ScalarType::F32 {
            return self.same(Op::Bitcast, &word, &[a]);
        }
        let [low, high] = self.words(a);
        let (zero, one) = (self.u32(0), self.u32(1));
        let any = self.compare(Op::INotEqual, low, zero);
        let last = self.same(Op::Select, &word, &[any, one, zero]);
        self.same(Op::BitwiseOr, &word, &[high, last])
    }

    /// One of two floats, as bits.
    fn pick(&mut self, ty: ScalarType, condition: u32, yes: u32, no: u32) -> u32 {
        let bits = if ty.held() == ScalarType::F32 {
            Shape::Scalar(ScalarType::U32)
        } else {
            Shape::Vector(ScalarType::U32, 2)
        };
        let [yes, no] = [yes, no].map(|id| self.same(Op::Bitcast, &bits, &[id]));
        let picked = self.choose(condition, &bits, yes, no);
        self.same(Op::Bitcast, &Shape::Scalar(ty), &[picked])
    }

    /// The magnitude of a float with the sign of another.
    fn with_sign(&mut self, ty: ScalarType, size: u32, sign: u32) -> u32 {
        let word = Shape::Scalar(ScalarType::U32);
        let wide = ty == ScalarType::F64;
        let [size, sign] = [size, sign]
            .map(|id| if wide { self.words(id) } else { [0, self.same(Op::Bitcast, &word, &[id])] });
        let (first, rest) = (self.u32(1 << 31), self.u32(u32::MAX >> 1));
        let upper = self.same(Op::BitwiseAnd, &word, &[size[1], rest]);
        let bit = self.same(Op::BitwiseAnd, &word, &[sign[1], first]);
        let mut bits = self.same(Op::BitwiseOr, &word, &[upper, bit]);
        if wide {
            bits = self.same(Op::CompositeConstruct, &Shape::Vector(ScalarType::U32, 2), &[size[0], bits]);
        }
        self.same(Op::Bitcast, &Shape::Scalar(ty), &[bits])
    }
}

/// `value`, except for the cases before it: the first whose condition holds.
fn cases<T: Ordered, const N: usize>(cases: [(Val<bool>, Val<T>); N], value: Val<T>) -> Val<T> {
    cases.into_iter().rev().fold(value, |rest, (condition, special)| {
        with(|b| Val::new(b.pick(T::TYPE, condition.id, special.id, rest.id)))
    })
}

fn nan<T: Ordered>() -> Val<T> {
    number(f64::NAN)
}

fn infinity<T: Ordered>() -> Val<T> {
    number(f64::INFINITY)
}

/// With the sign of another.
pub fn copysign<T: Float>(a: Val<T>, sign: Val<T>) -> Val<T> {
    with(|b| Val::new(b.with_sign(T::TYPE, a.id, sign.id)))
}

/// Whether it is no number.
pub fn is_nan<T: Float>(a: Val<T>) -> Val<bool> {
    Parts::of(a).is_nan()
}

/// Whether it is a number, and no infinity.
pub fn is_finite<T: Float>(a: Val<T>) -> Val<bool> {
    super::not(Parts::of(a).from(f64::INFINITY))
}

/// Whether it is an infinity.
pub fn is_infinite<T: Float>(a: Val<T>) -> Val<bool> {
    Parts::of(a).is_infinite()
}

/// The bits of a float.
pub fn to_bits<T: Float>(a: Val<T>) -> Val<T::Bits> {
    if T::TYPE == ScalarType::F16 {
        return with(|b| Val::new(b.bits_of_half(a.id)));
    }
    with(|b| Val::new(b.same(Op::Bitcast, &shape::<T::Bits>(), &[a.id])))
}

/// The float of these bits.
pub fn from_bits<T: Float>(bits: Val<T::Bits>) -> Val<T> {
    if T::TYPE == ScalarType::F16 {
        return with(|b| Val::new(b.half_of_bits(bits.id)));
    }
    with(|b| Val::new(b.same(Op::Bitcast, &shape::<T>(), &[bits.id])))
}

/// Square root; NaN below zero.
pub fn sqrt<T: Float>(a: Val<T>) -> Val<T> {
    let parts = Parts::of(a);
    let same = or(parts.is_zero(), parts.from(f64::INFINITY));
    cases([(parts.below_zero(), nan()), (same, a)], near(extended(GLOp::Sqrt, &[a.id])))
}

/// A whole number near to `a`, whose sign it has; `a` itself where there are no others.
fn rounded<T: Float>(a: Val<T>, f: impl FnOnce() -> Val<T>) -> Val<T> {
    // The first from which on all are whole, by the digits of the type.
    let first = if T::TYPE.held() == ScalarType::F32 { 8_388_608.0 } else { 4_503_599_627_370_496.0 };
    cases([(Parts::of(a).from(first), a)], copysign(f(), a))
}

/// Down to a whole number.
pub fn floor<T: Float>(a: Val<T>) -> Val<T> {
    rounded(a, || {
        if T::TYPE.held() == ScalarType::F32 {
            return extended(GLOp::Floor, &[a.id]);
        }
        let whole = trunc(a);
        select(super::gt(whole, a), super::sub(whole, super::constant(T::ONE)), whole)
    })
}

/// Up to a whole number.
pub fn ceil<T: Float>(a: Val<T>) -> Val<T> {
    rounded(a, || {
        if T::TYPE.held() == ScalarType::F32 {
            return extended(GLOp::Ceil, &[a.id]);
        }
        let whole = trunc(a);
        select(super::lt(whole, a), super::add(whole, super::constant(T::ONE)), whole)
    })
}

/// To a whole number towards zero.
pub fn trunc<T: Float>(a: Val<T>) -> Val<T> {
    rounded(a, || {
        let size = abs(a);
        with(|b| Val::new(b.whole(size.id, T::TYPE)))
    })
}

/// To the nearest whole number, halves away from zero; SPIR-V leaves halves open.
pub fn round<T: Float>(a: Val<T>) -> Val<T> {
    rounded(a, || {
        let whole = trunc(a);
        let away = super::ge(abs(super::sub(a, whole)), number(0.5));
        let one = copysign(super::constant(T::ONE), a);
        select(away, super::add(whole, one), whole)
    })
}

/// One by it.
pub fn recip<T: Float>(a: Val<T>) -> Val<T> {
    let parts = Parts::of(a);
    let size = cases(
        [(parts.is_zero(), infinity()), (parts.is_infinite(), number(0.0))],
        super::div(super::constant(T::ONE), a),
    );
    cases([(parts.is_nan(), a)], copysign(size, a))
}

/// What a wider result is in the type.
fn near<T: Float>(a: Val<T>) -> Val<T> {
    with(|b| Val::new(b.wrap(a.id, T::TYPE)))
}

/// `a * b + c`, with one rounding or with two.
pub fn mul_add<T: Float>(a: Val<T>, b: Val<T>, c: Val<T>) -> Val<T> {
    near(extended(GLOp::Fma, &[a.id, b.id, c.id]))
}

/// To a whole power: by squaring, from the lowest bit of the exponent up, in the host's order.
pub fn powi<T: Float>(a: Val<T>, exponent: Val<i32>) -> Val<T> {
    let one = super::constant(T::ONE);
    if let Some(n) = with(|b| b.known(exponent.id)) {
        let n = n as i32;
        let (mut left, mut square, mut power) = (n.unsigned_abs(), a, None);
        while left != 0 {
            if left & 1 == 1 {
                power = Some(power.map_or(square, |power| super::mul(power, square)));
            }
            left >>= 1;
            if left != 0 {
                square = super::mul(square, square);
            }
        }
        let power = power.unwrap_or(one);
        return if n < 0 { recip(power) } else { power };
    }
    let (zero, last) = (super::constant(0_u32), super::constant(1_u32));
    let left = super::var(super::cast::<i32, u32>(abs(exponent)));
    let (square, power) = (super::var(a), super::var(one));
    super::while_(
        || super::ne(super::rd(left), zero),
        || {
            let odd = super::ne(super::bitand(super::rd(left), last), zero);
            let product = super::mul(super::rd(power), super::rd(square));
            super::assign(power, select(odd, product, super::rd(power)));
            super::assign(left, super::shr(super::rd(left), last));
            super::assign(square, super::mul(super::rd(square), super::rd(square)));
        },
    );
    let power = super::rd(power);
    select(super::lt(exponent, super::constant(0_i32)), recip(power), power)
}

macro_rules! extended {
    ($($(#[$doc:meta])+ $name:ident $op:ident |$value:ident, $a:ident, $parts:ident| $cases:expr;)+) => {$(
        $(#[$doc])+
        pub fn $name<T: Float32>($a: Val<T>) -> Val<T> {
            let $parts = Parts::of($a);
            let $value = extended(GLOp::$op, &[$a.id]);
            $cases
        }
    )+};
}

extended! {
    /// Sine, as exact as Vulkan asks for: between minus pi and pi. Beyond it is left to the device how exact it is, but an
    /// infinity has none.
    sin Sin |value, a, parts| cases([(parts.is_zero(), a), (parts.from(f64::INFINITY), nan())], value);
    /// Cosine, as exact as [`sin`].
    cos Cos |value, a, parts| cases(
        [(parts.is_zero(), number(1.0)), (parts.from(f64::INFINITY), nan())],
        value,
    );
    /// Tangent, as exact as [`sin`].
    tan Tan |value, a, parts| cases([(parts.is_zero(), a), (parts.from(f64::INFINITY), nan())], value);
    /// The angle of a sine; NaN of more than one.
    asin Asin |value, a, parts| cases(
        [
            (parts.is_zero(), a),
            (parts.above(1.0), nan()),
            (parts.is(1.0), copysign(number(FRAC_PI_2), a)),
        ],
        value,
    );
    /// The angle of a cosine; NaN of more than one.
    acos Acos |value, a, parts| cases(
        [
            (parts.is_zero(), number(FRAC_PI_2)),
            (parts.above(1.0), nan()),
            (parts.is(1.0), select(parts.negative, number(PI), number(0.0))),
        ],
        value,
    );
    /// The angle of a tangent.
    atan Atan |value, a, parts| cases(
        [
            (or(parts.is_zero(), parts.is_nan()), a),
            (parts.is_infinite(), copysign(number(FRAC_PI_2), a)),
        ],
        value,
    );
    /// Hyperbolic sine; it has left the range of the type at 90, and may where `exp` has.
    sinh Sinh |value, a, parts| cases(
        [(or(parts.is_zero(), parts.is_nan()), a), (parts.from(90.0), copysign(infinity(), a))],
        value,
    );
    /// Hyperbolic cosine; it has left the range of the type at 90, and may where `exp` has.
    cosh Cosh |value, a, parts| cases(
        [(parts.is_zero(), number(1.0)), (parts.is_nan(), a), (parts.from(90.0), infinity())],
        value,
    );
    /// Hyperbolic tangent; one from 10 on, where SPIR-V may divide infinities.
    tanh Tanh |value, a, parts| cases(
        [(or(parts.is_zero(), parts.is_nan()), a), (parts.from(10.0), copysign(number(1.0), a))],
        value,
    );
    /// To the power of e.
    exp Exp |value, a, parts| exponential(a, parts, [104.0, 89.0], value);
    /// To the power of two.
    exp2 Exp2 |value, a, parts| exponential(a, parts, [150.0, 128.0], value);
}

/// An exponential, which has left the range of the type at minus the first end and at the second.
fn exponential<T: Float32>(a: Val<T>, parts: Parts, [least, most]: [f64; 2], value: Val<T>) -> Val<T> {
    let below = and(parts.negative, parts.from(least));
    let above = and(super::not(parts.negative), parts.from(most));
    cases(
        [(parts.is_zero(), number(1.0)), (parts.is_nan(), a), (below, number(0.0)), (above, infinity())],
        value,
    )
}

/// Natural logarithm; NaN below zero.
pub fn ln<T: Float32>(a: Val<T>) -> Val<T> {
    logarithm(GLOp::Log, a, -149.0 * std::f64::consts::LN_2)
}

/// Binary logarithm; NaN below zero.
pub fn log2<T: Float32>(a: Val<T>) -> Val<T> {
    logarithm(GLOp::Log2, a, -149.0)
}

/// A logarithm. Of a denormal number, which devices take for zero and llvmpipe for one with another exponent, it is that of
/// its bits as a whole number, which is by `least`, the logarithm of the last bit, too high.
fn logarithm<T: Float32>(function: GLOp, a: Val<T>, least: f64) -> Val<T> {
    let parts = Parts::of(a);
    let denormal = super::not(parts.from(f64::from(f32::MIN_POSITIVE)));
    let whole = super::cast::<u32, f32>(parts.size);
    let (from, below) =
        (cases([(denormal, Val::new(whole.id))], a), select(denormal, number(least), number(0.0)));
    let value = super::add(extended(function, &[from.id]), below);
    cases(
        [
            (parts.is_zero(), number(f64::NEG_INFINITY)),
            (parts.negative, nan()),
            (parts.from(f64::INFINITY), a),
            (parts.is(1.0), number(0.0)),
        ],
        value,
    )
}

/// The angle of `(x, y)` where `a` is `y`: that of the magnitudes, on the side that the signs say. Zeros have signs, and
/// infinities are equally far.
pub fn atan2<T: Float32>(a: Val<T>, x: Val<T>) -> Val<T> {
    let (y_parts, x_parts) = (Parts::of(a), Parts::of(x));
    let steep = or(x_parts.is_zero(), y_parts.is_infinite());
    let angle = cases(
        [
            (y_parts.is_zero(), number(0.0)),
            (and(x_parts.is_infinite(), y_parts.is_infinite()), number(FRAC_PI_4)),
            (steep, number(FRAC_PI_2)),
            (x_parts.is_infinite(), number(0.0)),
        ],
        extended(GLOp::Atan2, &[abs(a).id, abs(x).id]),
    );
    let turned = super::sub(number(PI), angle);
    let angle = copysign(cases([(x_parts.negative, turned)], angle), a);
    cases([(or(x_parts.is_nan(), y_parts.is_nan()), nan())], angle)
}

/// `a` to a power: that of its magnitude, which is a power of two, with the sign that a whole exponent gives it. NaN of a
/// negative base to a power that is not whole; one of the base one and of the exponent zero, whatever the other is.
pub fn powf<T: Float32>(a: Val<T>, exponent: Val<T>) -> Val<T> {
    let (base, power) = (Parts::of(a), Parts::of(exponent));
    let product = super::mul(exponent, log2(abs(a)));
    let above = super::ne(base.above(1.0), power.negative);
    let far = or(or(base.is_zero(), base.is_infinite()), power.is_infinite());
    let size =
        cases([(base.is(1.0), number(1.0)), (far, cases([(above, infinity())], number(0.0)))], exp2(product));

    // From 2^24 on all are even.
    let large = power.from(16_777_216.0);
    let small: Val<i32> = {
        let small: Val<T> = select(large, number(0.0), exponent);
        with(|b| Val::new(b.same(Op::ConvertFToS, &Shape::Scalar(ScalarType::I32), &[small.id])))
    };
    let back: Val<T> =
        with(|b| Val::new(b.same(Op::ConvertSToF, &Shape::Scalar(ScalarType::F32), &[small.id])));
    let whole = or(large, super::eq(back, exponent));
    let last = super::bitand(small, super::constant(1_i32));
    let odd = and(whole, super::ne(last, super::constant(0_i32)));
    let turned = and(base.negative, odd);
    let size = copysign(size, cases([(turned, number(-1.0))], number(1.0)));

    let one = or(power.is_zero(), and(base.is(1.0), super::not(base.negative)));
    let none = and(and(base.negative, super::not(whole)), super::not(far));
    let none = or(none, or(base.is_nan(), power.is_nan()));
    cases([(one, number(1.0)), (none, nan())], size)
}
