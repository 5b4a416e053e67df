//! Writes the components of vectors, and what is computed of them, as instructions of their own.

use ahash::AHashMap;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{GlslStd450Op as Glsl, Op, Word};

use crate::frontend::additions::Additions;

/// A module that is added to, and what is computed at present.
pub(super) struct Writer {
    pub(super) added: Additions,
    /// Width of each float type, and scalar type and number of components of each vector type.
    floats: AHashMap<Word, u32>,
    vectors: AHashMap<Word, (Word, u32)>,
    /// Type and number of the columns of each matrix type.
    pub(super) matrices: AHashMap<Word, (Word, u32)>,
    /// Type of each value.
    pub(super) types: AHashMap<Word, Word>,
    boolean: Option<Word>,
    constants: AHashMap<(Word, u32), Word>,
    pub(super) lines: Vec<Instruction>,
    pub(super) set: Word,
}

/// A value by its components, all of one type.
pub(super) struct Parts {
    pub(super) scalar: Word,
    pub(super) ids: Vec<Word>,
}

impl Writer {
    /// `None` if the module has no header.
    pub(super) fn new(module: &Module) -> Option<Self> {
        let mut floats = AHashMap::new();
        let mut vectors = AHashMap::new();
        let mut matrices = AHashMap::new();
        let mut boolean = None;
        for inst in &module.types_global_values {
            match (inst.class.opcode, inst.result_id, inst.operands.as_slice()) {
                (Op::TypeFloat, Some(id), [Operand::LiteralBit32(width)]) => {
                    floats.insert(id, *width);
                }
                (Op::TypeVector, Some(id), [Operand::IdRef(scalar), Operand::LiteralBit32(count)]) => {
                    vectors.insert(id, (*scalar, *count));
                }
                (Op::TypeMatrix, Some(id), [Operand::IdRef(column), Operand::LiteralBit32(count)]) => {
                    matrices.insert(id, (*column, *count));
                }
                (Op::TypeBool, Some(id), _) => boolean = Some(id),
                _ => {}
            }
        }
        let all = module.all_inst_iter();
        let types = all.filter_map(|inst| Some((inst.result_id?, inst.result_type?))).collect();
        Some(Self {
            added: Additions::to(module)?,
            floats,
            vectors,
            matrices,
            types,
            boolean,
            constants: AHashMap::new(),
            lines: Vec::new(),
            set: 0,
        })
    }

    /// Sum of the products of the components, from the first on.
    pub(super) fn dot(&mut self, x: &Parts, y: &Parts) -> Word {
        let mut sum = None;
        for (&a, &b) in x.ids.iter().zip(&y.ids) {
            let product = self.binary(Op::FMul, x.scalar, a, b);
            sum = Some(sum.map_or(product, |sum| self.binary(Op::FAdd, x.scalar, sum, product)));
        }
        sum.expect("invariant: a vector has components")
    }

    pub(super) fn each(&mut self, x: &Parts, mut f: impl FnMut(&mut Self, usize, Word) -> Word) -> Parts {
        let ids = x.ids.iter().enumerate().map(|(at, &a)| f(self, at, a)).collect();
        Parts { scalar: x.scalar, ids }
    }

    /// Scalar type and number of components of a float type.
    pub(super) fn shape(&self, ty: Word) -> Option<(Word, u32)> {
        if self.floats.contains_key(&ty) {
            return Some((ty, 1));
        }
        let shape = *self.vectors.get(&ty)?;
        self.floats.contains_key(&shape.0).then_some(shape)
    }

    pub(super) fn parts(&mut self, value: Word) -> Option<Parts> {
        let (scalar, count) = self.shape(*self.types.get(&value)?)?;
        if count == 1 {
            return Some(Parts { scalar, ids: vec![value] });
        }
        let extract = |w: &mut Self, n| {
            w.value(Op::CompositeExtract, scalar, vec![Operand::IdRef(value), Operand::LiteralBit32(n)])
        };
        let ids = (0..count).map(|n| extract(self, n)).collect();
        Some(Parts { scalar, ids })
    }

    /// Gives the components the id of the instruction that they replace.
    pub(super) fn finish(&mut self, parts: &Parts, ty: Word, id: Word) {
        let (op, operands) = match parts.ids.as_slice() {
            [one] => (Op::CopyObject, vec![Operand::IdRef(*one)]),
            ids => (Op::CompositeConstruct, ids.iter().map(|&id| Operand::IdRef(id)).collect()),
        };
        self.lines.push(Instruction::new(op, Some(ty), Some(id), operands));
    }

    pub(super) fn value(&mut self, op: Op, ty: Word, operands: Vec<Operand>) -> Word {
        let id = self.added.fresh();
        self.types.insert(id, ty);
        self.lines.push(Instruction::new(op, Some(ty), Some(id), operands));
        id
    }

    pub(super) fn binary(&mut self, op: Op, ty: Word, a: Word, b: Word) -> Word {
        self.value(op, ty, vec![Operand::IdRef(a), Operand::IdRef(b)])
    }

    pub(super) fn extended(&mut self, op: Glsl, ty: Word, a: Word) -> Word {
        let set = self.set;
        let number = Operand::LiteralExtInstInteger(op as u32);
        self.value(Op::ExtInst, ty, vec![Operand::IdRef(set), number, Operand::IdRef(a)])
    }

    pub(super) fn is_negative(&mut self, scalar: Word, a: Word) -> Word {
        let zero = self.constant(scalar, 0);
        let boolean = self.booleans(1);
        self.binary(Op::FOrdLessThan, boolean, a, zero)
    }

    /// The type `bool` for one Boolean, or the vector of `count` Booleans.
    pub(super) fn booleans(&mut self, count: u32) -> Word {
        let added = &mut self.added;
        let scalar = *self.boolean.get_or_insert_with(|| added.global(Op::TypeBool, None, Vec::new()));
        if count == 1 {
            return scalar;
        }
        let mut vectors = self.vectors.iter();
        if let Some((&known, _)) = vectors.find(|(_, shape)| **shape == (scalar, count)) {
            return known;
        }
        let operands = vec![Operand::IdRef(scalar), Operand::LiteralBit32(count)];
        let id = self.added.global(Op::TypeVector, None, operands);
        self.vectors.insert(id, (scalar, count));
        id
    }

    pub(super) fn select(&mut self, ty: Word, condition: Word, yes: Word, no: Word) -> Word {
        let operands = [condition, yes, no].map(Operand::IdRef).to_vec();
        self.value(Op::Select, ty, operands)
    }

    /// A small number as a constant of a float type.
    pub(super) fn constant(&mut self, ty: Word, number: u32) -> Word {
        if let Some(&known) = self.constants.get(&(ty, number)) {
            return known;
        }
        // Zero, or a power of two: an exponent and no fraction.
        let exponent = |bias: u64| if number == 0 { 0 } else { bias + u64::from(number.ilog2()) };
        let literal = match self.floats.get(&ty) {
            Some(16) => Operand::LiteralBit32((exponent(15) << 10) as u32),
            Some(64) => Operand::LiteralBit64(exponent(1023) << 52),
            _ => Operand::LiteralBit32((exponent(127) << 23) as u32),
        };
        let id = self.added.global(Op::Constant, Some(ty), vec![literal]);
        self.types.insert(id, ty);
        self.constants.insert((ty, number), id);
        id
    }
}
