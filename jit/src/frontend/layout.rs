//! Sizes of types: by decoration for buffers and push constants, by std430's rules for shared memory.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Decoration, Op};

use super::defs::{Defs, type_parts};

/// One scalar of a push-constant block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushMember {
    /// Byte offset in the block.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Kind of scalar.
    pub class: ScalarClass,
}

/// Kind of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ScalarClass {
    Int,
    Uint,
    Float,
    /// A device address.
    Address,
}

/// How a matrix lies in memory, which the structure member around it says.
#[derive(Clone, Copy, Default)]
struct Matrix {
    stride: u64,
    row_major: bool,
}

/// Bytes and end of the fixed part of a block, and the stride of a trailing runtime array.
pub(super) struct Block {
    pub(super) fixed: u64,
    pub(super) runtime_stride: Option<u32>,
}

/// Lays out a buffer's structure type. Sizes saturate.
pub(super) fn block(ty: u32, defs: &Defs<'_>) -> Block {
    let mut fixed = 0;
    let mut runtime_stride = None;
    for (index, member) in members(ty, defs) {
        let offset = offset(ty, index, defs);
        match runtime_array(member, defs) {
            Some(stride) => runtime_stride = Some(stride),
            None => {
                let size = size(member, matrix(ty, index, defs), defs);
                fixed = fixed.max(offset.saturating_add(size));
            }
        }
    }
    Block { fixed, runtime_stride }
}

fn members<'a>(ty: u32, defs: &'a Defs<'_>) -> impl Iterator<Item = (u32, u32)> + 'a {
    let inst = defs.get(ty).filter(|inst| inst.class.opcode == Op::TypeStruct);
    inst.into_iter().flat_map(|inst| (0..).zip(type_parts(inst)))
}

fn runtime_array(ty: u32, defs: &Defs<'_>) -> Option<u32> {
    let array = defs.op(ty) == Some(Op::TypeRuntimeArray);
    array.then(|| defs.decoration(ty, Decoration::ArrayStride).unwrap_or(0))
}

fn offset(ty: u32, member: u32, defs: &Defs<'_>) -> u64 {
    u64::from(defs.member_decoration(ty, member, Decoration::Offset).unwrap_or(0))
}

fn matrix(ty: u32, member: u32, defs: &Defs<'_>) -> Matrix {
    let stride = defs.member_decoration(ty, member, Decoration::MatrixStride);
    Matrix {
        stride: u64::from(stride.unwrap_or(0)),
        row_major: defs.member_decoration(ty, member, Decoration::RowMajor).is_some(),
    }
}

fn literal(inst: &Instruction, index: usize) -> u64 {
    match inst.operands.get(index) {
        Some(Operand::LiteralBit32(value)) => u64::from(*value),
        _ => 0,
    }
}

/// The type of the parts of a vector, a matrix or an array.
fn part<'a>(inst: &Instruction, defs: &'a Defs<'_>) -> Option<(u32, &'a Instruction)> {
    let id = type_parts(inst).next()?;
    Some((id, defs.get(id)?))
}

/// Bytes of a part of a vector, a matrix or an array.
fn part_size(inst: &Instruction, matrix: Matrix, defs: &Defs<'_>) -> u64 {
    part(inst, defs).map_or(0, |(id, _)| size(id, matrix, defs))
}

fn array_length(inst: &Instruction, defs: &Defs<'_>) -> u64 {
    let length = inst.operands.get(1).and_then(Operand::id_ref_any);
    length.and_then(|id| defs.constant(id)).unwrap_or(0)
}

/// Bytes from the start to the last byte of a type with explicit layout.
fn size(ty: u32, matrix: Matrix, defs: &Defs<'_>) -> u64 {
    let Some(inst) = defs.get(ty) else { return 0 };
    match inst.class.opcode {
        Op::TypeInt | Op::TypeFloat => literal(inst, 0) / 8,
        Op::TypePointer => 8,
        Op::TypeVector => part_size(inst, matrix, defs) * literal(inst, 1),
        Op::TypeMatrix => {
            let columns = literal(inst, 1);
            let Some((_, column)) = part(inst, defs) else { return 0 };
            let (rows, scalar) = (literal(column, 1), part_size(column, matrix, defs));
            let (major, minor) = match matrix.row_major {
                true => (rows, columns),
                false => (columns, rows),
            };
            matrix.stride * major.saturating_sub(1) + scalar * minor
        }
        Op::TypeArray => {
            let stride = defs.decoration(ty, Decoration::ArrayStride).unwrap_or(0);
            match array_length(inst, defs) {
                0 => 0,
                length => {
                    let last = (length - 1).saturating_mul(u64::from(stride));
                    last.saturating_add(part_size(inst, matrix, defs))
                }
            }
        }
        Op::TypeStruct => members(ty, defs)
            .map(|(index, member)| {
                let size = size(member, self::matrix(ty, index, defs), defs);
                offset(ty, index, defs).saturating_add(size)
            })
            .max()
            .unwrap_or(0),
        _ => 0,
    }
}

/// A block of the size that is accepted has no more, unless its members overlap.
const MAX_SCALARS: usize = 1 << 16;

/// Flattens a push-constant block to scalars, in offset order.
pub(super) fn scalars(ty: u32, defs: &Defs<'_>) -> Vec<PushMember> {
    let mut out = Vec::new();
    flatten(ty, 0, Matrix::default(), defs, &mut out);
    out.sort_by_key(|member| (member.offset, member.size));
    out.dedup();
    out
}

fn flatten(ty: u32, base: u64, matrix: Matrix, defs: &Defs<'_>, out: &mut Vec<PushMember>) {
    let Some(inst) = defs.get(ty) else { return };
    if out.len() >= MAX_SCALARS {
        return;
    }
    let mut scalar = |class| {
        out.push(PushMember { offset: base as u32, size: size(ty, matrix, defs) as u32, class });
    };
    match inst.class.opcode {
        Op::TypeInt if literal(inst, 1) == 0 => scalar(ScalarClass::Uint),
        Op::TypeInt => scalar(ScalarClass::Int),
        Op::TypeFloat => scalar(ScalarClass::Float),
        Op::TypePointer => scalar(ScalarClass::Address),
        Op::TypeVector => {
            let Some((scalar, _)) = part(inst, defs) else { return };
            let step = size(scalar, matrix, defs);
            for index in 0..literal(inst, 1) {
                flatten(scalar, base + index * step, matrix, defs, out);
            }
        }
        Op::TypeMatrix => {
            let Some((_, vector)) = part(inst, defs) else { return };
            let Some((scalar, _)) = part(vector, defs) else { return };
            let step = size(scalar, matrix, defs);
            for c in 0..literal(inst, 1) {
                for r in 0..literal(vector, 1) {
                    let at = match matrix.row_major {
                        true => r * matrix.stride + c * step,
                        false => c * matrix.stride + r * step,
                    };
                    flatten(scalar, base + at, matrix, defs, out);
                }
            }
        }
        Op::TypeArray => {
            let Some((element, _)) = part(inst, defs) else { return };
            let stride = defs.decoration(ty, Decoration::ArrayStride).unwrap_or(0);
            for index in 0..array_length(inst, defs).min(MAX_SCALARS as u64) {
                flatten(element, base + index * u64::from(stride), matrix, defs, out);
            }
        }
        Op::TypeStruct => {
            for (index, member) in members(ty, defs) {
                let at = base + offset(ty, index, defs);
                flatten(member, at, self::matrix(ty, index, defs), defs, out);
            }
        }
        _ => {}
    }
}

/// Bytes of shared memory a type takes, with alignment. Vulkan counts shared memory as if laid out by
/// std430 with 4-byte bools (`maxComputeSharedMemorySize`).
pub(super) fn shared(ty: u32, defs: &Defs<'_>) -> (u64, u64) {
    let Some(inst) = defs.get(ty) else {
        return (0, 1);
    };
    let of_part = |inst| part(inst, defs).map_or((0, 1), |(id, _)| shared(id, defs));
    match inst.class.opcode {
        Op::TypeBool => (4, 4),
        Op::TypeInt | Op::TypeFloat => (literal(inst, 0) / 8, (literal(inst, 0) / 8).max(1)),
        Op::TypeVector => {
            let (size, align) = of_part(inst);
            let count = literal(inst, 1);
            (size * count, align * if count == 2 { 2 } else { 4 })
        }
        Op::TypeMatrix | Op::TypeArray => {
            let (size, align) = of_part(inst);
            let count = match inst.class.opcode {
                Op::TypeMatrix => literal(inst, 1),
                _ => array_length(inst, defs),
            };
            (round_up(size, align).saturating_mul(count), align)
        }
        Op::TypeStruct => {
            let (mut end, mut widest) = (0, 1);
            for (_, member) in members(ty, defs) {
                let (size, align) = shared(member, defs);
                end = round_up(end, align).saturating_add(size);
                widest = widest.max(align);
            }
            (round_up(end, widest), widest)
        }
        _ => (8, 8),
    }
}

/// The next multiple of `align`, saturating.
pub(super) fn round_up(size: u64, align: u64) -> u64 {
    size.checked_next_multiple_of(align).unwrap_or(u64::MAX)
}
