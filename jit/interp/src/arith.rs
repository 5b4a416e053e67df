//! Scalar arithmetic on lanes: integers of 8 to 64 bits, f16, f32, f64, Booleans.
//!
//! A lane holds the bits of its scalar, zero-extended. What SPIR-V leaves undefined has one fixed result
//! here: division by zero gives 0, shifts take their count modulo the width, conversions saturate.

mod convert;
mod dot;
mod float;
mod glsl;
pub(super) mod half;
mod integer;
mod open;
mod pack;

pub(super) use convert::convert;
pub(super) use dot::{IntDot, int_dot};
pub(super) use glsl::ternary;
pub(super) use open::{
    is_open_binary, is_open_unary, other_binary, other_converted, other_ternary, other_unary,
};
pub(super) use pack::{Pack, pack};

/// Type of a scalar, without signedness, which SPIR-V keeps in the instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Num {
    Bool,
    /// An integer of this many bits. As the source or target of a conversion: an unsigned one.
    Int(u8),
    /// Only in conversions: a signed integer.
    Signed(u8),
    F16,
    F32,
    F64,
}

impl Num {
    pub(super) fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::Int(bits) | Self::Signed(bits) => u32::from(bits),
            Self::F16 => 16,
            Self::F32 => 32,
            Self::F64 => 64,
        }
    }

    pub(super) fn mask(self) -> u64 {
        mask(self.bits())
    }
}

pub(super) fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

pub(super) fn sign_extend(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits.clamp(1, 64);
    ((value << unused) as i64) >> unused
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    // Integers
    Neg,
    Not,
    Abs,
    Sign,
    BitReverse,
    BitCount,
    FindILsb,
    FindSMsb,
    FindUMsb,
    // Booleans
    LogicalNot,
    // Floats
    FNeg,
    FAbs,
    FSign,
    IsNan,
    IsInf,
    QuantizeToF16,
    RoundEven,
    Trunc,
    Floor,
    Ceil,
    Fract,
    Radians,
    Degrees,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Exp,
    Log,
    Exp2,
    Log2,
    Sqrt,
    InverseSqrt,
    /// Significand of `frexp`.
    FrexpSignificand,
    /// Exponent of `frexp`, as a 32-bit integer.
    FrexpExponent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    // Integers
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    UMod,
    SRem,
    SMod,
    Shl,
    Shr,
    Sar,
    And,
    Or,
    Xor,
    UMin,
    SMin,
    UMax,
    SMax,
    // Integers to Boolean (the equalities serve Booleans too)
    Equal,
    NotEqual,
    ULess,
    ULessEqual,
    SLess,
    SLessEqual,
    // Floats
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
    FMod,
    FMin,
    FMax,
    NMin,
    NMax,
    Pow,
    Atan2,
    Step,
    Ldexp,
    /// `a - b` where `b` is `a` truncated; zero for infinities, with the sign of `a`.
    Modf,
    // Floats to Boolean
    FOrdEqual,
    FUnordEqual,
    FOrdNotEqual,
    FUnordNotEqual,
    FOrdLess,
    FUnordLess,
    FOrdLessEqual,
    FUnordLessEqual,
    FOrdered,
    FUnordered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ternary {
    Fma,
    FMix,
    SmoothStep,
    FClamp,
    NClamp,
    UClamp,
    SClamp,
    /// Offset in `b`, count in `c`.
    BitFieldSExtract,
    BitFieldUExtract,
}

/// Operations with two results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wide {
    AddCarry,
    SubBorrow,
    UMulExtended,
    SMulExtended,
}

pub(super) fn unary(op: Unary, num: Num, a: u64) -> u64 {
    match num {
        Num::Bool => a ^ 1,
        Num::Int(_) | Num::Signed(_) => integer::unary(op, num.bits(), a),
        Num::F16 | Num::F32 | Num::F64 => float::unary(op, num, a),
    }
}

pub(super) fn binary(op: Binary, num: Num, a: u64, b: u64) -> u64 {
    match num {
        Num::Bool | Num::Int(_) | Num::Signed(_) => integer::binary(op, num.bits(), a, b),
        Num::F16 | Num::F32 | Num::F64 => float::binary(op, num, a, b),
    }
}

pub(super) use float::value as float_value;
pub(super) use integer::{bit_field_insert, wide};
