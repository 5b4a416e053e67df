//! Results that SPIR-V leaves undefined: what they are, and whether anything depends on them.
//!
//! A kernel may compute such a result and drop it: `d == 0 ? 0 : x / d`. So one run notices where they come about, and another
//! run, with another result at one of these places, shows by its accesses and its memory whether that one reaches anything.

use std::fmt;

use super::arith::{Binary, Num, Ternary, float_value, is_open_binary, is_open_unary, mask, sign_extend};
use super::program::Inst;

/// What a run makes of undefined results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notice {
    /// They are not looked for.
    #[default]
    Not,
    /// They are listed, each instruction once.
    Listed,
    /// The instruction at this word of the programs of this dispatch has another result wherever that is undefined.
    Other {
        /// Index of the dispatch in the run.
        dispatch: usize,
        /// Offset in words of the instruction.
        word: usize,
    },
}

/// Why a result is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Undefined {
    /// An integer divided by zero, or the remainder of an integer or a float.
    DivisionByZero,
    /// The least integer divided by minus one, or its remainder.
    DivisionOverflow,
    /// The remainder (`OpSRem`, `OpSMod`) of a negative integer, or by one: Vulkan leaves it open.
    NegativeRemainder,
    /// A shift by as many bits as there are, or more.
    Shift,
    /// Bits of a word that it does not have.
    BitField,
    /// A float that is not a number, or is none of the integers of the type that it is converted to.
    Conversion,
    /// A component that a vector does not have.
    Component,
    /// A function of floats outside of its domain: the logarithm of zero, a power of a negative number.
    Domain,
    /// A clamp to a range that ends before it begins, or a smooth step over one.
    EmptyRange,
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DivisionByZero => "division by zero",
            Self::DivisionOverflow => "division of the least integer by -1",
            Self::NegativeRemainder => "remainder of or by a negative integer",
            Self::Shift => "shift by the width or more",
            Self::BitField => "bit field outside the word",
            Self::Conversion => "conversion of a float that the integer type does not have",
            Self::Component => "component that the vector does not have",
            Self::Domain => "function outside of its domain",
            Self::EmptyRange => "range that ends before it begins",
        })
    }
}

/// A lane of a result that is undefined.
pub(super) struct Lane {
    pub(super) what: Undefined,
    pub(super) register: u32,
    /// The bits in which another result differs.
    pub(super) other: u64,
}

/// The lanes of an instruction's result that are undefined; asked before it is executed.
pub(super) fn lanes(inst: &Inst, r: &[u64]) -> Vec<Lane> {
    let row = |n: u32, dst: u32, other: u64, what: &dyn Fn(u32) -> Option<Undefined>| {
        let lane = |i| Some(Lane { what: what(i)?, register: dst + i, other });
        (0..n).filter_map(lane).collect()
    };
    let register = |register: u32| r[register as usize];
    match *inst {
        Inst::Binary { op, num, splat, dst, a, b, n } => {
            let right = |i| register(if splat { b } else { b + i });
            row(n, dst, num.mask(), &|i| binary(op, num, register(a + i), right(i)))
        }
        Inst::Unary { op, num, dst, a, n } => {
            let is_open = |i| is_open_unary(op, num, register(a + i));
            row(n, dst, num.mask(), &|i| is_open(i).then_some(Undefined::Domain))
        }
        Inst::Ternary { op, num, dst, a, b, c, n } if is_range(op) => {
            let at = |register: u32, i| r[(register + i) as usize];
            row(n, dst, num.mask(), &|i| empty_range(op, num, [at(a, i), at(b, i), at(c, i)]))
        }
        Inst::Ternary {
            op: Ternary::BitFieldSExtract | Ternary::BitFieldUExtract,
            num,
            dst,
            b,
            c,
            n,
            ..
        } => row(n, dst, num.mask(), &|i| bit_field(register(b + i), register(c + i), num.bits())),
        Inst::Convert { from, to, dst, a, n } => {
            let outside = |i| converts_outside(from, to, register(a + i));
            row(n, dst, to.mask(), &|i| outside(i).then_some(Undefined::Conversion))
        }
        // Of these nothing is known but that there is a lowest bit.
        Inst::ExtractDynamic { dst, index, n, .. } => {
            row(1, dst, 1, &|_| (register(index) >= u64::from(n)).then_some(Undefined::Component))
        }
        Inst::InsertDynamic { dst, index, n, .. } => {
            row(n, dst, 1, &|_| (register(index) >= u64::from(n)).then_some(Undefined::Component))
        }
        _ => Vec::new(),
    }
}

fn bit_field(offset: u64, count: u64, bits: u32) -> Option<Undefined> {
    (offset.saturating_add(count) > u64::from(bits)).then_some(Undefined::BitField)
}

fn is_range(op: Ternary) -> bool {
    matches!(op, Ternary::FClamp | Ternary::NClamp | Ternary::UClamp | Ternary::SClamp | Ternary::SmoothStep)
}

fn empty_range(op: Ternary, num: Num, [a, b, c]: [u64; 3]) -> Option<Undefined> {
    let is_empty = match op {
        Ternary::UClamp => b > c,
        Ternary::SClamp => sign_extend(b, num.bits()) > sign_extend(c, num.bits()),
        Ternary::FClamp | Ternary::NClamp => float_value(num, b) > float_value(num, c),
        Ternary::SmoothStep => float_value(num, a) >= float_value(num, b),
        _ => false,
    };
    is_empty.then_some(Undefined::EmptyRange)
}

fn binary(op: Binary, num: Num, a: u64, b: u64) -> Option<Undefined> {
    let bits = match num {
        Num::Int(_) | Num::Signed(_) => num.bits(),
        Num::F16 | Num::F32 | Num::F64 => {
            let is_remainder = matches!(op, Binary::FRem | Binary::FMod);
            return if is_remainder && float_value(num, b) == 0.0 {
                Some(Undefined::DivisionByZero)
            } else {
                is_open_binary(op, num, a, b).then_some(Undefined::Domain)
            };
        }
        _ => return None,
    };
    match op {
        Binary::UDiv | Binary::UMod | Binary::SDiv | Binary::SRem | Binary::SMod if b & mask(bits) == 0 => {
            Some(Undefined::DivisionByZero)
        }
        Binary::SDiv | Binary::SRem | Binary::SMod
            if sign_extend(b, bits) == -1 && a & mask(bits) == 1 << (bits - 1) =>
        {
            Some(Undefined::DivisionOverflow)
        }
        Binary::SRem | Binary::SMod if sign_extend(a, bits) < 0 || sign_extend(b, bits) < 0 => {
            Some(Undefined::NegativeRemainder)
        }
        Binary::Shl | Binary::Shr | Binary::Sar if b >= u64::from(bits) => Some(Undefined::Shift),
        _ => None,
    }
}

fn converts_outside(from: Num, to: Num, a: u64) -> bool {
    let value = match from {
        Num::F16 | Num::F32 | Num::F64 => float_value(from, a),
        _ => return false,
    };
    let whole = value.trunc();
    match to {
        Num::Signed(bits) => {
            let limit = (2.0f64).powi(i32::from(bits) - 1);
            !(whole >= -limit && whole < limit)
        }
        Num::Int(bits) => !(whole >= 0.0 && whole < (2.0f64).powi(i32::from(bits))),
        _ => false,
    }
}
