//! Floats the driver's compiler cannot see through.
//!
//! The words of `x` become `x + zero`, where `zero` is a push constant that is zero: nothing is known of the result,
//! so no rule of the compiler reaches from what `x` is made of to what is made of it. A sum of both, and not their difference bit by bit,
//! for what is hidden twice would not be hidden. All bits survive, those of a NaN too, because the operation is one of integers; and
//! a value that was kept more precisely than its type is rounded to it. Which values are hidden says the plan (`plan::grouping::boundary`).

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::builder::{Builder, Code};
use crate::frontend::defs;
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
pub(crate) fn holds_floats(builder: &Builder, ty: Word) -> bool {
    defs::holds_floats(&|id| builder.definitions.get(&id), ty, &|_| true)
}

/// Whether values of a type hold floats of 16 bits.
pub(crate) fn holds_halves(builder: &Builder, ty: Word) -> bool {
    defs::holds_floats(&|id| builder.definitions.get(&id), ty, &|width| width == 16)
}

/// Hides the floats in `value` of type `ty`; the result gets the id `result`.
pub(crate) fn hide(
    builder: &mut Builder,
    code: &mut Code,
    zero: Word,
    (value, ty): (Word, Word),
    result: Word,
) {
    match shape(builder, ty) {
        Shape::Bits { width: 16, count: 1 } => {
            // Two of them make a word, so that no integers of 16 bits are asked for.
            let pair = vector(builder, ty, 2);
            let both = code.value(builder, Op::CompositeConstruct, pair, vec![Operand::IdRef(value); 2]);
            let hidden = builder.fresh();
            combine(builder, code, zero, (both, pair), 1, hidden);
            let operands = vec![Operand::IdRef(hidden), Operand::LiteralBit32(0)];
            code.0.push(Instruction::new(Op::CompositeExtract, Some(ty), Some(result), operands));
        }
        Shape::Bits { width, count } => combine(builder, code, zero, (value, ty), width * count / 32, result),
        Shape::Parts(parts) => {
            let mut all = Vec::with_capacity(parts.len());
            for (number, part) in (0..).zip(parts) {
                let operands = vec![Operand::IdRef(value), Operand::LiteralBit32(number)];
                let mut one = code.value(builder, Op::CompositeExtract, part, operands);
                if holds_floats(builder, part) {
                    let hidden = builder.fresh();
                    hide(builder, code, zero, (one, part), hidden);
                    one = hidden;
                }
                all.push(Operand::IdRef(one));
            }
            code.0.push(Instruction::new(Op::CompositeConstruct, Some(ty), Some(result), all));
        }
        Shape::Other => {
            let operands = vec![Operand::IdRef(value)];
            code.0.push(Instruction::new(Op::CopyObject, Some(ty), Some(result), operands));
        }
    }
}

/// What combines a value with the zero.
pub(crate) fn operation() -> Op {
    if mutant!(HiddenTwiceIsOpen) { Op::BitwiseXor } else { Op::IAdd }
}

/// How the bits of a value are reached.
enum Shape {
    /// As whole words, or as one half of one.
    Bits { width: u32, count: u32 },
    /// One part after the other.
    Parts(Vec<Word>),
    /// It holds no floats.
    Other,
}

fn shape(builder: &Builder, ty: Word) -> Shape {
    let Some(inst) = builder.definitions.get(&ty) else { return Shape::Other };
    let part = || inst.operands.first().and_then(Operand::id_ref_any);
    match (inst.class.opcode, inst.operands.as_slice()) {
        (Op::TypeFloat, [Operand::LiteralBit32(width), ..]) => Shape::Bits { width: *width, count: 1 },
        (Op::TypeMatrix, [Operand::IdRef(column), Operand::LiteralBit32(count)]) => {
            Shape::Parts(vec![*column; *count as usize])
        }
        (Op::TypeVector, [_, Operand::LiteralBit32(count)]) => {
            let scalar = part().and_then(|part| builder.definitions.get(&part));
            let width = scalar.and_then(|scalar| match (scalar.class.opcode, scalar.operands.first()) {
                (Op::TypeFloat, Some(Operand::LiteralBit32(width))) => Some(*width),
                _ => None,
            });
            match width {
                // Vectors have four components at most.
                None => Shape::Other,
                Some(width) if width * count <= 128 && (width * count) % 32 == 0 => {
                    Shape::Bits { width, count: *count }
                }
                Some(_) => part().map_or(Shape::Other, |part| Shape::Parts(vec![part; *count as usize])),
            }
        }
        _ => builder.parts(ty).map_or(Shape::Other, Shape::Parts),
    }
}

/// Hides a value of `words` words: casts it to unsigned words, combines each of them with the zero, and casts back.
fn combine(
    builder: &mut Builder,
    code: &mut Code,
    zero: Word,
    (value, ty): (Word, Word),
    words: u32,
    result: Word,
) {
    let word = builder.u32();
    let (bits, mask) = if words == 1 {
        (word, zero)
    } else {
        let bits = vector(builder, word, words);
        let parts = vec![Operand::IdRef(zero); words as usize];
        (bits, code.value(builder, Op::CompositeConstruct, bits, parts))
    };
    let value = code.value(builder, Op::Bitcast, bits, vec![Operand::IdRef(value)]);
    let hidden = code.value(builder, operation(), bits, vec![Operand::IdRef(value), Operand::IdRef(mask)]);
    code.0.push(Instruction::new(Op::Bitcast, Some(ty), Some(result), vec![Operand::IdRef(hidden)]));
}

fn vector(builder: &mut Builder, scalar: Word, count: u32) -> Word {
    let operands = vec![Operand::IdRef(scalar), Operand::LiteralBit32(count)];
    builder.global(Op::TypeVector, None, operands, Vec::new())
}
