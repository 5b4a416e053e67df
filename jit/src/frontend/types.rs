//! Types of a module and where their parts lie in memory.
//!
//! Offsets and strides come from the `Offset`, `ArrayStride` and `MatrixStride` decorations alone, so
//! std140, std430 and scalar layouts need no rule of their own.

use ahash::AHashMap;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass};

use super::value::truncate;

/// A type, with the ids of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Bool,
    Int { width: u8, signed: bool },
    Float { width: u8 },
    Vector { element: u32, count: u32 },
    Matrix { column: u32, count: u32 },
    Array { element: u32, count: u64, stride: u32 },
    RuntimeArray { element: u32, stride: u32 },
    Struct { members: Vec<Member> },
    Pointer { class: StorageClass, pointee: u32 },
    Other,
}

/// One struct member and its layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) ty: u32,
    pub(crate) offset: u32,
    pub(crate) matrix: MatrixLayout,
}

/// Layout of the matrices inside a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MatrixLayout {
    pub(crate) stride: u32,
    pub(crate) row_major: bool,
}

/// Scalars narrower than 32 bits. Buffers take them with a storage capability alone; variables and
/// arithmetic need these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SmallScalars {
    /// Capability `Int8`.
    pub int8: bool,
    /// Capability `Int16`.
    pub int16: bool,
    /// Capability `Float16`.
    pub float16: bool,
}

/// All types of a module, and its integer constants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    types: AHashMap<u32, Type>,
    constants: AHashMap<u32, (u64, u8)>,
}

impl Types {
    pub(crate) fn new(module: &Module) -> Self {
        let mut strides = AHashMap::new();
        let mut members: AHashMap<(u32, u32), Member> = AHashMap::new();
        for inst in &module.annotations {
            let operands = &inst.operands;
            match (inst.class.opcode, operands.as_slice()) {
                (
                    Op::Decorate,
                    [
                        Operand::IdRef(id),
                        Operand::Decoration(Decoration::ArrayStride),
                        Operand::LiteralBit32(n),
                    ],
                ) => {
                    strides.insert(*id, *n);
                }
                (
                    Op::MemberDecorate,
                    [Operand::IdRef(id), Operand::LiteralBit32(m), Operand::Decoration(what), rest @ ..],
                ) => {
                    let member = members.entry((*id, *m)).or_default();
                    match (what, rest) {
                        (Decoration::Offset, [Operand::LiteralBit32(n)]) => member.offset = *n,
                        (Decoration::MatrixStride, [Operand::LiteralBit32(n)]) => member.matrix.stride = *n,
                        (Decoration::RowMajor, _) => member.matrix.row_major = true,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        let mut this = Self { types: AHashMap::new(), constants: AHashMap::new() };
        for inst in &module.types_global_values {
            let Some(id) = inst.result_id else { continue };
            match inst.class.opcode {
                Op::Constant | Op::ConstantNull => {
                    if let Some(&Type::Int { width, .. }) = inst.result_type.and_then(|t| this.types.get(&t))
                    {
                        this.constants.insert(id, (truncate(literal(inst, 0), width.into()), width));
                    }
                }
                _ => {
                    let stride = strides.get(&id).copied().unwrap_or(0);
                    let member = |n| members.get(&(id, n)).cloned().unwrap_or_default();
                    if let Some(ty) = this.declared(inst, stride, member) {
                        this.types.insert(id, ty);
                    }
                }
            }
        }
        this
    }

    /// The type that an instruction declares; none if it declares no type.
    fn declared(&self, inst: &Instruction, stride: u32, member: impl Fn(u32) -> Member) -> Option<Type> {
        let id_at = |n: usize| inst.operands.get(n)?.id_ref_any();
        Some(match inst.class.opcode {
            Op::TypeBool => Type::Bool,
            Op::TypeInt => Type::Int { width: literal(inst, 0) as u8, signed: literal(inst, 1) != 0 },
            Op::TypeFloat => Type::Float { width: literal(inst, 0) as u8 },
            Op::TypeVector => Type::Vector { element: id_at(0)?, count: literal(inst, 1) as u32 },
            Op::TypeMatrix => Type::Matrix { column: id_at(0)?, count: literal(inst, 1) as u32 },
            Op::TypeArray => {
                let count = self.constant(id_at(1)?).map_or(0, |(value, _)| value);
                Type::Array { element: id_at(0)?, count, stride }
            }
            Op::TypeRuntimeArray => Type::RuntimeArray { element: id_at(0)?, stride },
            Op::TypeStruct => {
                let members =
                    (0..inst.operands.len()).map(|n| Some(Member { ty: id_at(n)?, ..member(n as u32) }));
                Type::Struct { members: members.collect::<Option<_>>()? }
            }
            Op::TypePointer => match inst.operands.first() {
                Some(Operand::StorageClass(class)) => Type::Pointer { class: *class, pointee: id_at(1)? },
                _ => Type::Other,
            },
            _ => return None,
        })
    }

    pub(crate) fn get(&self, id: u32) -> &Type {
        self.types.get(&id).unwrap_or(&Type::Other)
    }

    /// Value and width of an integer constant.
    pub(crate) fn constant(&self, id: u32) -> Option<(u64, u8)> {
        self.constants.get(&id).copied()
    }

    /// Pointee of a pointer type.
    pub(crate) fn pointee(&self, id: u32) -> Option<(StorageClass, u32)> {
        match self.get(id) {
            Type::Pointer { class, pointee } => Some((*class, *pointee)),
            _ => None,
        }
    }

    /// Integer width of a scalar, or of the components of a vector.
    pub(crate) fn int_width(&self, id: u32) -> Option<u8> {
        match self.get(id) {
            Type::Int { width, .. } => Some(*width),
            Type::Bool => Some(1),
            Type::Vector { element, .. } => self.int_width(*element),
            _ => None,
        }
    }

    /// Number of components: 1 for scalars.
    pub(crate) fn components(&self, id: u32) -> u32 {
        match self.get(id) {
            Type::Vector { count, .. } => *count,
            _ => 1,
        }
    }

    /// Byte offset of what constant indices lead to, from the start of a block.
    pub(crate) fn constant_offset(&self, block: u32, indices: &[u32]) -> Option<u32> {
        let indices = indices.iter().map(|&index| Some(self.constant(index)?.0));
        self.part_at(block, indices.collect::<Option<Vec<u64>>>()?).map(|(offset, _)| offset)
    }

    /// Byte offset of what indices lead to, from the start of a block, and its type.
    pub(crate) fn part_at(&self, block: u32, indices: Vec<u64>) -> Option<(u32, u32)> {
        let (mut ty, mut offset, mut matrix) = (block, 0u64, MatrixLayout::default());
        // Between the elements of a column that is not in one piece.
        let mut row = None;
        for value in indices {
            let (next, stride) = match self.get(ty) {
                Type::Struct { members } => {
                    let member = members.get(value as usize)?;
                    if member.matrix.stride != 0 {
                        matrix = member.matrix;
                    }
                    offset += u64::from(member.offset);
                    ty = member.ty;
                    continue;
                }
                Type::Array { element, stride, .. } => (*element, u64::from(*stride)),
                Type::Matrix { column, .. } if !matrix.row_major => (*column, u64::from(matrix.stride)),
                Type::Matrix { column, .. } => {
                    let Type::Vector { element, .. } = self.get(*column) else { return None };
                    row = Some(u64::from(matrix.stride));
                    (*column, self.span(*element, matrix))
                }
                Type::Vector { element, .. } => {
                    (*element, row.take().unwrap_or_else(|| self.span(*element, matrix)))
                }
                _ => return None,
            };
            offset += value * stride;
            ty = next;
        }
        Some((u32::try_from(offset).ok()?, ty))
    }

    /// First byte behind a member of a structure.
    pub(crate) fn end(&self, member: &Member) -> u64 {
        u64::from(member.offset).saturating_add(self.span(member.ty, member.matrix))
    }

    /// Bytes from the first to the last byte of a value in memory, saturating; a runtime array counts nothing.
    pub(crate) fn span(&self, id: u32, matrix: MatrixLayout) -> u64 {
        match self.get(id) {
            Type::Int { width, .. } | Type::Float { width } => u64::from(*width) / 8,
            Type::Pointer { class: StorageClass::PhysicalStorageBuffer, .. } => 8,
            Type::Vector { element, count } => self.span(*element, matrix) * u64::from(*count),
            Type::Matrix { column, count } => {
                let (rows, scalar) = match self.get(*column) {
                    Type::Vector { element, count } => (u64::from(*count), self.span(*element, matrix)),
                    _ => (0, 0),
                };
                let (lines, per_line) =
                    if matrix.row_major { (rows, u64::from(*count)) } else { (u64::from(*count), rows) };
                u64::from(matrix.stride) * lines.saturating_sub(1) + per_line * scalar
            }
            Type::Array { element, count, stride } => match count {
                0 => 0,
                n => u64::from(*stride).saturating_mul(n - 1).saturating_add(self.span(*element, matrix)),
            },
            Type::Struct { members } => members.iter().map(|member| self.end(member)).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// The signature of elements whose matrices lie as `matrix` says, with all scalars of one width alike: equal for
    /// types whose values differ by bit casts alone.
    pub(crate) fn bit_signature(&self, id: u32, matrix: MatrixLayout) -> String {
        let mut out = String::new();
        self.write_signature(id, matrix, &mut out);
        out.replace(['i', 'u', 'f'], "w")
    }

    /// The type as text: equal for types of equal structure and layout, in whatever module.
    pub(crate) fn signature(&self, id: u32) -> String {
        let mut out = String::new();
        self.write_signature(id, MatrixLayout::default(), &mut out);
        out
    }

    /// Widths of the scalars in a type that need a capability outside of buffers: integers and floats.
    pub(crate) fn small_scalars(&self, id: u32) -> SmallScalars {
        let none = SmallScalars::default();
        match self.get(id) {
            Type::Int { width: 8, .. } => SmallScalars { int8: true, ..none },
            Type::Int { width: 16, .. } => SmallScalars { int16: true, ..none },
            Type::Float { width: 16 } => SmallScalars { float16: true, ..none },
            Type::Vector { element, .. } | Type::Array { element, .. } => self.small_scalars(*element),
            Type::Matrix { column, .. } => self.small_scalars(*column),
            Type::Struct { members } => members.iter().fold(none, |all, member| {
                let one = self.small_scalars(member.ty);
                SmallScalars {
                    int8: all.int8 || one.int8,
                    int16: all.int16 || one.int16,
                    float16: all.float16 || one.float16,
                }
            }),
            _ => none,
        }
    }

    fn write_signature(&self, id: u32, matrix: MatrixLayout, out: &mut String) {
        use std::fmt::Write as _;
        let _ = match self.get(id) {
            Type::Bool => write!(out, "b"),
            Type::Int { width, signed } => {
                write!(out, "{}{width}", if *signed { 'i' } else { 'u' })
            }
            Type::Float { width } => write!(out, "f{width}"),
            Type::Vector { element, count } => {
                self.write_signature(*element, matrix, out);
                write!(out, "x{count}")
            }
            Type::Matrix { column, count } => {
                self.write_signature(*column, matrix, out);
                write!(out, "m{count}s{}r{}", matrix.stride, u8::from(matrix.row_major))
            }
            Type::Array { element, count, stride } => {
                out.push('[');
                self.write_signature(*element, matrix, out);
                write!(out, ";{count}/{stride}]")
            }
            Type::RuntimeArray { element, stride } => {
                out.push('[');
                self.write_signature(*element, matrix, out);
                write!(out, "/{stride}]")
            }
            Type::Struct { members } => {
                out.push('{');
                for member in members {
                    let _ = write!(out, "{}:", member.offset);
                    self.write_signature(member.ty, member.matrix, out);
                    out.push(',');
                }
                write!(out, "}}")
            }
            Type::Pointer { pointee, .. } => {
                out.push('*');
                self.write_signature(*pointee, MatrixLayout::default(), out);
                Ok(())
            }
            Type::Other => write!(out, "?{id}"),
        };
    }
}

/// The number at an operand; 0 if there is none.
fn literal(inst: &Instruction, operand: usize) -> u64 {
    match inst.operands.get(operand) {
        Some(Operand::LiteralBit32(value)) => u64::from(*value),
        Some(Operand::LiteralBit64(value)) => *value,
        _ => 0,
    }
}
