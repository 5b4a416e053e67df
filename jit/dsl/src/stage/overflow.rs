//! Arithmetic of integers that says where it leaves the range of the type.

use rspirv::{dr::Operand, spirv::Op};

use super::{Val, math::select, place::construct, with};
use crate::{
    shape::{ScalarType, Shape},
    value::Int,
};

/// A result, wrapped around, and whether it was.
struct Wrapped<T> {
    value: Val<T>,
    over: Val<bool>,
}

fn least<T: Int>() -> Val<T> {
    let bits = if T::TYPE.is_signed() { 1 << (T::TYPE.bits() - 1) } else { 0 };
    with(|b| Val::new(b.scalar(T::TYPE, bits)))
}

fn greatest<T: Int>() -> Val<T> {
    let all = u64::MAX >> (64 - T::TYPE.bits());
    let bits = if T::TYPE.is_signed() { all >> 1 } else { all };
    with(|b| Val::new(b.scalar(T::TYPE, bits)))
}

fn zero<T: Int>() -> Val<T> {
    super::constant(T::ZERO)
}

fn is_negative<T: Int>(a: Val<T>) -> Val<bool> {
    if T::TYPE.is_signed() { super::lt(a, zero()) } else { super::constant(false) }
}

/// An operation of narrow integers, in 32 bits: what differs from it after the wrap has left the type.
fn narrow<T: Int>(op: Op, a: Val<T>, b: Val<T>) -> Wrapped<T> {
    with(|builder| {
        let wide = builder.same(op, &Shape::Scalar(T::TYPE), &[a.id, b.id]);
        let value = builder.wrap(wide, T::TYPE);
        Wrapped { value: Val::new(value), over: Val::new(builder.compare(Op::INotEqual, wide, value)) }
    })
}

fn is_narrow<T: Int>() -> bool {
    T::TYPE.bits() < 32
}

fn added<T: Int>(a: Val<T>, b: Val<T>) -> Wrapped<T> {
    if is_narrow::<T>() {
        return narrow(Op::IAdd, a, b);
    }
    let value = super::add(a, b);
    let over = if T::TYPE.is_signed() {
        super::lt(super::bitand(super::bitxor(a, value), super::bitxor(b, value)), zero())
    } else {
        super::lt(value, a)
    };
    Wrapped { value, over }
}

fn subtracted<T: Int>(a: Val<T>, b: Val<T>) -> Wrapped<T> {
    if is_narrow::<T>() {
        return narrow(Op::ISub, a, b);
    }
    let value = super::sub(a, b);
    let over = if T::TYPE.is_signed() {
        super::lt(super::bitand(super::bitxor(a, b), super::bitxor(a, value)), zero())
    } else {
        super::lt(a, b)
    };
    Wrapped { value, over }
}

fn multiplied<T: Int>(a: Val<T>, b: Val<T>) -> Wrapped<T> {
    if is_narrow::<T>() {
        return narrow(Op::IMul, a, b);
    }
    let value = super::mul(a, b);
    let over = if T::TYPE.bits() == 64 { beyond::<T, u64>(a, b) } else { beyond::<T, u32>(a, b) };
    Wrapped { value, over }
}

/// Whether a product leaves the type, by that of the magnitudes.
fn beyond<T: Int, U: Int>(a: Val<T>, b: Val<T>) -> Val<bool> {
    let [size_a, size_b] = [a, b].map(|a| {
        let bits = super::cast::<T, U>(a);
        select(is_negative(a), super::sub(zero(), bits), bits)
    });
    let size = super::mul(size_a, size_b);
    let too_long = if U::TYPE == ScalarType::U32 {
        with(|builder| {
            let word = Operand::IdRef(builder.u32_type());
            let pair = builder.global(Op::TypeStruct, None, vec![word.clone(), word]);
            let both = builder.op(Op::UMulExtended, pair, &[size_a.id, size_b.id]);
            let high = builder.extract(&Shape::Scalar(ScalarType::U32), both, 1);
            let zero = builder.u32(0);
            Val::new(builder.compare(Op::INotEqual, high, zero))
        })
    } else {
        // By zero it is divided as by one, and both are zero then.
        let back = super::div(size, size_a);
        super::bitand(super::ne(size_a, zero()), super::ne(back, size_b))
    };
    if !T::TYPE.is_signed() {
        return too_long;
    }
    let most = super::cast::<T, U>(greatest::<T>());
    let negative = super::ne(is_negative(a), is_negative(b));
    let most = select(negative, super::add(most, super::constant(U::ONE)), most);
    super::bitor(too_long, super::gt(size, most))
}

/// The end of the type on the side that a condition says.
fn end<T: Int>(low: Val<bool>) -> Val<T> {
    select(low, least(), greatest())
}

/// `a + b`, or the end of the type that it is beyond.
pub fn saturating_add<T: Int>(a: Val<T>, b: Val<T>) -> Val<T> {
    let Wrapped { value, over } = added(a, b);
    select(over, end(is_negative(a)), value)
}

/// `a - b`, or the end of the type that it is beyond.
pub fn saturating_sub<T: Int>(a: Val<T>, b: Val<T>) -> Val<T> {
    let Wrapped { value, over } = subtracted(a, b);
    let low = if T::TYPE.is_signed() { is_negative(a) } else { super::constant(true) };
    select(over, end(low), value)
}

/// `a * b`, or the end of the type that it is beyond.
pub fn saturating_mul<T: Int>(a: Val<T>, b: Val<T>) -> Val<T> {
    let Wrapped { value, over } = multiplied(a, b);
    select(over, end(super::ne(is_negative(a), is_negative(b))), value)
}

/// A value unless a condition holds.
fn unless<T: Int>(over: Val<bool>, value: Val<T>) -> Val<Option<T>> {
    construct(&[super::not(over).id, value.id])
}

/// `a + b`, if it is in range.
pub fn checked_add<T: Int>(a: Val<T>, b: Val<T>) -> Val<Option<T>> {
    let Wrapped { value, over } = added(a, b);
    unless(over, value)
}

/// `a - b`, if it is in range.
pub fn checked_sub<T: Int>(a: Val<T>, b: Val<T>) -> Val<Option<T>> {
    let Wrapped { value, over } = subtracted(a, b);
    unless(over, value)
}

/// `a * b`, if it is in range.
pub fn checked_mul<T: Int>(a: Val<T>, b: Val<T>) -> Val<Option<T>> {
    let Wrapped { value, over } = multiplied(a, b);
    unless(over, value)
}

/// Whether `a / b` is not defined.
fn has_no_quotient<T: Int>(a: Val<T>, b: Val<T>) -> Val<bool> {
    let by_zero = super::eq(b, zero());
    if !T::TYPE.is_signed() {
        return by_zero;
    }
    let minus = with(|builder| Val::new(builder.scalar(T::TYPE, u64::MAX)));
    super::bitor(by_zero, super::bitand(super::eq(a, least()), super::eq(b, minus)))
}

/// `a / b`, if there is such a number.
pub fn checked_div<T: Int>(a: Val<T>, b: Val<T>) -> Val<Option<T>> {
    unless(has_no_quotient(a, b), super::div(a, b))
}

/// `a % b`, if there is such a number.
pub fn checked_rem<T: Int>(a: Val<T>, b: Val<T>) -> Val<Option<T>> {
    unless(has_no_quotient(a, b), super::rem(a, b))
}

/// `a / b`, such that what is left is not negative.
pub fn div_euclid<T: Int>(a: Val<T>, b: Val<T>) -> Val<T> {
    let quotient = super::div(a, b);
    if !T::TYPE.is_signed() {
        return quotient;
    }
    let (one, left) = (super::constant(T::ONE), super::rem(a, b));
    let next = select(is_negative(b), super::add(quotient, one), super::sub(quotient, one));
    select(is_negative(left), next, quotient)
}

/// What is left of `a` by `b`, which is not negative.
pub fn rem_euclid<T: Int>(a: Val<T>, b: Val<T>) -> Val<T> {
    let left = super::rem(a, b);
    if !T::TYPE.is_signed() {
        return left;
    }
    let up = select(is_negative(b), super::sub(left, b), super::add(left, b));
    select(is_negative(left), up, left)
}

/// To a whole power, wrapping as all arithmetic does.
pub fn pow<T: Int>(a: Val<T>, exponent: Val<u32>) -> Val<T> {
    let one = super::constant(T::ONE);
    if let Some(mut left) = with(|b| b.known(exponent.id)) {
        let (mut square, mut power) = (a, one);
        while left != 0 {
            if left & 1 == 1 {
                power = super::mul(power, square);
            }
            left >>= 1;
            if left != 0 {
                square = super::mul(square, square);
            }
        }
        return power;
    }
    let (none, last) = (super::constant(0_u32), super::constant(1_u32));
    let (left, square, power) = (super::var(exponent), super::var(a), super::var(one));
    super::while_(
        || super::ne(super::rd(left), none),
        || {
            let odd = super::ne(super::bitand(super::rd(left), last), none);
            let product = super::mul(super::rd(power), super::rd(square));
            super::assign(power, select(odd, product, super::rd(power)));
            super::assign(left, super::shr(super::rd(left), last));
            super::assign(square, super::mul(super::rd(square), super::rd(square)));
        },
    );
    super::rd(power)
}
