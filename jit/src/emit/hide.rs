//! Floats the driver's compiler cannot see through.
//!
//! The words of `x` become `x + zero`, where `zero` is a push constant that is zero: nothing is known of the result,
//! so no rule of the compiler reaches from what `x` is made of to what is made of it. A sum of both, and not their difference bit by bit,
//! for what is hidden twice would not be hidden. All bits survive, those of a NaN too, because the operation is one of integers; and
//! a value that was kept more precisely than its type is rounded to it. Which values are hidden says the plan (`plan::grouping::boundary`).

use rspirv::spirv::Op;

use crate::ir::entity::{Type, Value};
use crate::ir::{Args, Builder, Module, Operation, TypeKind};
use crate::plan::recipe::Hidden;

/// How what an access brings in is hidden.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::emit) enum Hiding {
    /// It need not be.
    None,
    /// By an operation on its bits.
    Word,
    /// By having it loaded from memory, whatever the compiler knows of it: halves that only memory may hold have no
    /// operation.
    Volatile,
}

impl Hiding {
    /// How a value is hidden that an access to a binding brings in. `matters` says whether it holds floats, `in_memory` that it holds
    /// halves, which may be kept in memory and not be computed with.
    pub(in crate::emit) fn of(hidden: &Hidden, binding: usize, matters: bool, in_memory: bool) -> Self {
        let is_met = hidden.bindings.get(binding).copied().unwrap_or(false);
        if !matters || !is_met {
            Self::None
        } else if in_memory {
            Self::Volatile
        } else {
            Self::Word
        }
    }
}

/// Whether values of a type hold floats.
pub(crate) fn holds_floats(module: &Module, ty: Type) -> bool {
    module.types.holds_floats(ty, &|_| true)
}

/// Whether values of a type hold floats of 16 bits.
pub(crate) fn holds_halves(module: &Module, ty: Type) -> bool {
    module.types.holds_floats(ty, &|width| width == 16)
}

/// Hides the floats in a value: what makes the hidden one.
pub(crate) fn hide(code: &mut Builder<'_>, zero: Value, value: Value) -> Operation {
    let ty = code.f().values[value].ty;
    match shape(code.module, ty) {
        Shape::Bits { width: 16, count: 1 } => {
            // Two of them make a word, so that no integers of 16 bits are asked for.
            let pair = code.module.ty(TypeKind::Vector { element: ty, count: 2 });
            let both = code.pure(Op::CompositeConstruct, pair, &[value; 2], &[]);
            let hidden = combine(code, zero, both, 1);
            let hidden = code.value(hidden, pair);
            operation(Op::CompositeExtract, &[hidden], &[0])
        }
        Shape::Bits { width, count } => combine(code, zero, value, width * count / 32),
        Shape::Parts(parts) => {
            let mut all = Vec::with_capacity(parts.len());
            for (number, part) in (0..).zip(parts) {
                let mut one = code.pure(Op::CompositeExtract, part, &[value], &[number]);
                if holds_floats(code.module, part) {
                    let hidden = hide(code, zero, one);
                    one = code.value(hidden, part);
                }
                all.push(one);
            }
            operation(Op::CompositeConstruct, &all, &[])
        }
        Shape::Other => Operation::copy(value),
    }
}

/// What combines a value with the zero.
pub(crate) fn combination() -> Op {
    if mutant!(HiddenTwiceIsOpen) { Op::BitwiseXor } else { Op::IAdd }
}

fn operation(op: Op, args: &[Value], literals: &[u32]) -> Operation {
    Operation::Pure { op, args: Args::from_slice(args), literals: literals.into() }
}

/// How the bits of a value are reached.
enum Shape {
    /// As whole words, or as one half of one.
    Bits { width: u32, count: u32 },
    /// One part after the other.
    Parts(Vec<Type>),
    /// It holds no floats.
    Other,
}

fn shape(module: &Module, ty: Type) -> Shape {
    match *module.types.kind(ty) {
        TypeKind::Matrix { column, count } => Shape::Parts(vec![column; count as usize]),
        // Vectors have four components at most.
        TypeKind::Vector { element, count } => match module.types.float_width(element) {
            None => Shape::Other,
            Some(width) if width * count <= 128 && (width * count) % 32 == 0 => Shape::Bits { width, count },
            Some(_) => Shape::Parts(vec![element; count as usize]),
        },
        _ => match module.types.float_width(ty) {
            Some(width) => Shape::Bits { width, count: 1 },
            None => module.parts(ty).map_or(Shape::Other, Shape::Parts),
        },
    }
}

/// Hides a value of `words` words: casts it to unsigned words, combines each of them with the zero, and casts back.
fn combine(code: &mut Builder<'_>, zero: Value, value: Value, words: u32) -> Operation {
    let (mut bits, mut mask) = (code.module.u32(), zero);
    if words > 1 {
        bits = code.module.ty(TypeKind::Vector { element: bits, count: words });
        mask = code.pure(Op::CompositeConstruct, bits, &vec![zero; words as usize], &[]);
    }
    let value = code.pure(Op::Bitcast, bits, &[value], &[]);
    let hidden = code.pure(combination(), bits, &[value, mask], &[]);
    operation(Op::Bitcast, &[hidden], &[])
}
