//! Types and constants of SPIR-V from shapes.
//!
//! A shape has two types: the one of its values, without layout, and the one it has in buffers, with the offsets that
//! Rust gives. They are the same for what has no inside.

use rspirv::{
    dr::Operand,
    spirv::{Capability, Decoration, Op, StorageClass},
};

use super::builder::Builder;
use crate::shape::{ScalarType, Shape};

impl Builder {
    pub(super) fn void(&mut self) -> u32 {
        self.global(Op::TypeVoid, None, Vec::new())
    }

    pub(super) fn bool_type(&mut self) -> u32 {
        self.global(Op::TypeBool, None, Vec::new())
    }

    pub(super) fn u32_type(&mut self) -> u32 {
        self.scalar_type(ScalarType::U32)
    }

    pub(super) fn scalar_type(&mut self, scalar: ScalarType) -> u32 {
        if scalar == ScalarType::Bool {
            return self.bool_type();
        }
        match scalar {
            ScalarType::I64 | ScalarType::U64 => self.capability(Capability::Int64),
            ScalarType::F64 => self.capability(Capability::Float64),
            _ => {}
        }
        let scalar = scalar.held();
        if scalar.is_float() {
            return self.global(Op::TypeFloat, None, vec![Operand::LiteralBit32(scalar.bits())]);
        }
        self.int_type(scalar.bits(), scalar.is_signed())
    }

    pub(super) fn int_type(&mut self, bits: u32, signed: bool) -> u32 {
        let operands = vec![Operand::LiteralBit32(bits), Operand::LiteralBit32(u32::from(signed))];
        self.global(Op::TypeInt, None, operands)
    }

    pub(super) fn vector_type(&mut self, component: u32, n: u32) -> u32 {
        self.global(Op::TypeVector, None, vec![Operand::IdRef(component), Operand::LiteralBit32(n)])
    }

    pub(super) fn array_type(&mut self, element: u32, n: u32) -> u32 {
        let n = self.u32(n);
        self.global(Op::TypeArray, None, vec![Operand::IdRef(element), Operand::IdRef(n)])
    }

    /// The type of values.
    pub(super) fn value_type(&mut self, shape: &Shape) -> u32 {
        match shape {
            Shape::Scalar(scalar) => self.scalar_type(*scalar),
            Shape::Vector(scalar, n) => {
                let component = self.scalar_type(*scalar);
                self.vector_type(component, *n)
            }
            Shape::Array(element, n) => {
                let element = self.value_type(element);
                self.array_type(element, *n)
            }
            Shape::Struct(shape) => {
                let members =
                    shape.fields.iter().map(|f| Operand::IdRef(self.value_type(&f.shape))).collect();
                self.global(Op::TypeStruct, None, members)
            }
        }
    }

    /// The type in buffers.
    pub(super) fn memory_type(&mut self, shape: &Shape) -> u32 {
        if let Some(&id) = self.memory_types.get(shape) {
            return id;
        }
        let id = match shape {
            Shape::Scalar(scalar) => return self.stored_type(*scalar),
            Shape::Vector(_, n) if *n != 3 => return self.value_type(shape),
            Shape::Vector(scalar, n) => {
                let component = self.scalar_type(*scalar);
                let offsets: Vec<_> = (0..*n).map(|k| (component, k * scalar.size())).collect();
                self.laid_out(&offsets)
            }
            Shape::Array(element, n) => {
                let (stride, element) = (element.size(), self.memory_type(element));
                let n = self.u32(*n);
                self.strided(Op::TypeArray, vec![Operand::IdRef(element), Operand::IdRef(n)], stride)
            }
            Shape::Struct(shape) => {
                let members: Vec<_> =
                    shape.fields.iter().map(|f| (self.memory_type(&f.shape), f.offset)).collect();
                self.laid_out(&members)
            }
        };
        self.memory_types.insert(shape.clone(), id);
        id
    }

    /// A struct with offsets, of its own.
    pub(super) fn laid_out(&mut self, members: &[(u32, u32)]) -> u32 {
        let id = self.fresh();
        let operands = members.iter().map(|&(ty, _)| Operand::IdRef(ty)).collect();
        self.push_global(rspirv::dr::Instruction::new(Op::TypeStruct, None, Some(id), operands));
        for (k, &(_, offset)) in members.iter().enumerate() {
            self.decorate_member(id, k as u32, Decoration::Offset, offset);
        }
        id
    }

    /// An array with a stride, of its own.
    pub(super) fn strided(&mut self, op: Op, operands: Vec<Operand>, stride: u32) -> u32 {
        let id = self.fresh();
        self.push_global(rspirv::dr::Instruction::new(op, None, Some(id), operands));
        self.decorate(id, Decoration::ArrayStride, vec![Operand::LiteralBit32(stride)]);
        id
    }

    pub(super) fn pointer(&mut self, class: StorageClass, pointee: u32) -> u32 {
        self.global(Op::TypePointer, None, vec![Operand::StorageClass(class), Operand::IdRef(pointee)])
    }

    pub(super) fn u32(&mut self, value: u32) -> u32 {
        self.scalar(ScalarType::U32, u64::from(value))
    }

    /// A constant from its bits.
    pub(super) fn scalar(&mut self, scalar: ScalarType, bits: u64) -> u32 {
        let ty = self.scalar_type(scalar);
        let value = match scalar {
            ScalarType::F16 => u64::from(half::f16::from_bits(bits as u16).to_f32().to_bits()),
            scalar if scalar.is_int() => scalar.extend(bits),
            _ => bits,
        };
        let (op, operands) = match scalar {
            ScalarType::Bool if bits & 1 == 1 => (Op::ConstantTrue, Vec::new()),
            ScalarType::Bool => (Op::ConstantFalse, Vec::new()),
            _ if scalar.size() == 8 => (Op::Constant, vec![Operand::LiteralBit64(value)]),
            _ => (Op::Constant, vec![Operand::LiteralBit32(value as u32)]),
        };
        let id = self.global(op, Some(ty), operands);
        if scalar.is_int() {
            self.known.insert(id, value);
        }
        id
    }

    /// A constant from the bytes of `repr(C)`.
    pub(super) fn constant(&mut self, shape: &Shape, bytes: &[u8]) -> u32 {
        let ty = self.value_type(shape);
        let parts: Vec<u32> = match shape {
            Shape::Scalar(scalar) => {
                let mut bits = [0; 8];
                bits[..bytes.len()].copy_from_slice(bytes);
                return self.scalar(*scalar, u64::from_ne_bytes(bits));
            }
            Shape::Vector(scalar, _) => bytes
                .chunks_exact(scalar.size() as usize)
                .map(|bytes| self.constant(&Shape::Scalar(*scalar), bytes))
                .collect(),
            Shape::Array(element, _) => bytes
                .chunks_exact(element.size().max(1) as usize)
                .map(|bytes| self.constant(element, bytes))
                .collect(),
            Shape::Struct(shape) => shape
                .fields
                .iter()
                .map(|field| {
                    let at = field.offset as usize;
                    self.constant(&field.shape, &bytes[at..at + field.shape.size() as usize])
                })
                .collect(),
        };
        let operands = parts.into_iter().map(Operand::IdRef).collect();
        self.global(Op::ConstantComposite, Some(ty), operands)
    }

    /// The constant of all zeros.
    pub(super) fn zero(&mut self, shape: &Shape) -> u32 {
        self.constant(shape, &vec![0; shape.size() as usize])
    }

    /// The number that an id is known to be, extended by its sign to 64 bits.
    pub(super) fn known(&self, id: u32) -> Option<u64> {
        self.known.get(&id).copied()
    }
}
