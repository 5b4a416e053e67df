//! The block of plain values: words, taken apart and put together again as Rust's layout has them.
//!
//! Words rather than typed members: any layout of `repr(C)` is one of words, no capability for narrow or wide members is
//! asked of the device, and the same code reads push constants and a uniform buffer.

use rspirv::{
    dr::{Instruction, Operand},
    spirv::{Decoration, Op, StorageClass},
};

use super::builder::{Builder, Cached};
use crate::{
    capture::Position,
    lowered::PlainIn,
    shape::{ScalarType, Shape},
};

impl Builder {
    /// Words that stand before the captures.
    fn first_word(&self) -> u32 {
        self.range_words
    }

    /// A word of the range.
    pub(super) fn range_word(&mut self, dimension: u32) -> u32 {
        self.word(dimension)
    }

    fn block(&mut self) -> (u32, StorageClass) {
        let class = match self.options.plain {
            PlainIn::Push => StorageClass::PushConstant,
            PlainIn::Uniform => StorageClass::Uniform,
        };
        if let Some(id) = self.plain {
            return (id, class);
        }
        let words = self.range_words + self.plain_words;
        let word = self.u32_type();
        let block = match self.options.plain {
            PlainIn::Push => {
                let members: Vec<_> = (0..words).map(|k| (word, 4 * k)).collect();
                self.laid_out(&members)
            }
            PlainIn::Uniform => {
                let vector = self.vector_type(word, 4);
                let n = self.u32(words.div_ceil(4));
                let array = self.strided(Op::TypeArray, vec![Operand::IdRef(vector), Operand::IdRef(n)], 16);
                self.laid_out(&[(array, 0)])
            }
        };
        self.decorate(block, Decoration::Block, Vec::new());
        let pointer = self.pointer(class, block);
        let id = self.fresh();
        self.push_global(Instruction::new(
            Op::Variable,
            Some(pointer),
            Some(id),
            vec![Operand::StorageClass(class)],
        ));
        if self.options.plain == PlainIn::Uniform {
            let binding = self.params;
            self.decorate(id, Decoration::DescriptorSet, vec![Operand::LiteralBit32(0)]);
            self.decorate(id, Decoration::Binding, vec![Operand::LiteralBit32(binding)]);
        }
        self.name(id, "captures");
        self.plain = Some(id);
        (id, class)
    }

    /// A word of the block, loaded once per function.
    fn word(&mut self, k: u32) -> u32 {
        if let Some(&id) = self.function().cached.get(&Cached::Word(k)) {
            return id;
        }
        let (block, class) = self.block();
        let word = self.u32_type();
        let pointer = self.pointer(class, word);
        let indices = match self.options.plain {
            PlainIn::Push => vec![self.u32(k)],
            PlainIn::Uniform => vec![self.u32(0), self.u32(k / 4), self.u32(k % 4)],
        };
        let operands = [block].into_iter().chain(indices).map(Operand::IdRef).collect();
        let pointer = self.prologue(Op::AccessChain, pointer, operands);
        let id = self.prologue(Op::Load, word, vec![Operand::IdRef(pointer)]);
        self.function().cached.insert(Cached::Word(k), id);
        id
    }

    /// A capture of plain values.
    pub(crate) fn load_plain(&mut self, shape: &Shape, at: Position) -> u32 {
        let at = at.aligned(shape.align()).plain;
        self.plain_value(shape, at)
    }

    fn plain_value(&mut self, shape: &Shape, at: u32) -> u32 {
        let ty = self.value_type(shape);
        let parts: Vec<u32> = match shape {
            Shape::Scalar(scalar) => return self.plain_scalar(*scalar, at),
            Shape::Vector(scalar, n) => {
                (0..*n).map(|k| self.plain_scalar(*scalar, at + k * scalar.size())).collect()
            }
            Shape::Array(element, n) => {
                (0..*n).map(|k| self.plain_value(element, at + k * element.size())).collect()
            }
            Shape::Struct(shape) => {
                shape.fields.iter().map(|field| self.plain_value(&field.shape, at + field.offset)).collect()
            }
        };
        self.op(Op::CompositeConstruct, ty, &parts)
    }

    fn plain_scalar(&mut self, scalar: ScalarType, at: u32) -> u32 {
        let first = self.first_word() + at / 4;
        let low = self.word(first);
        let (ty, word) = (self.scalar_type(scalar), self.u32_type());
        match scalar.size() {
            4 if scalar == ScalarType::U32 => low,
            4 => self.op(Op::Bitcast, ty, &[low]),
            8 => {
                let high = self.word(first + 1);
                let pair = self.vector_type(word, 2);
                let pair = self.op(Op::CompositeConstruct, pair, &[low, high]);
                self.op(Op::Bitcast, ty, &[pair])
            }
            size => {
                let from = 8 * (at % 4);
                if scalar.is_signed() {
                    let (up, down) = (self.u32(32 - 8 * size - from), self.u32(32 - 8 * size));
                    let low = self.op(Op::Bitcast, ty, &[low]);
                    let high = self.op(Op::ShiftLeftLogical, ty, &[low, up]);
                    return self.op(Op::ShiftRightArithmetic, ty, &[high, down]);
                }
                let shift = self.u32(from);
                let shifted = self.op(Op::ShiftRightLogical, word, &[low, shift]);
                let mask = self.u32(u32::MAX >> (32 - 8 * size));
                let bits = self.op(Op::BitwiseAnd, word, &[shifted, mask]);
                if scalar == ScalarType::F16 {
                    return self.half_of_bits(bits);
                }
                if scalar == ScalarType::Bool {
                    let zero = self.u32(0);
                    return self.op(Op::INotEqual, ty, &[bits, zero]);
                }
                bits
            }
        }
    }

    /// A word among the plain values, by its byte offset.
    pub(super) fn plain_word(&mut self, at: u32) -> u32 {
        let k = self.first_word() + at / 4;
        self.word(k)
    }
}
