//! Sizes of types: by decoration for buffers and push constants, by std430's rules for shared memory.

use super::types::{MatrixLayout, Type, Types};

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

/// Bytes and end of the fixed part of a block, and the stride of a trailing runtime array.
pub(super) struct Block {
    pub(super) fixed: u64,
    pub(super) runtime_stride: Option<u32>,
}

/// Lays out a buffer's structure type. Sizes saturate.
pub(super) fn block(ty: u32, types: &Types) -> Block {
    let mut block = Block { fixed: 0, runtime_stride: None };
    if let Type::Struct { members } = types.get(ty) {
        for member in members {
            match types.get(member.ty) {
                Type::RuntimeArray { stride, .. } => block.runtime_stride = Some(*stride),
                _ => block.fixed = block.fixed.max(types.end(member)),
            }
        }
    }
    block
}

/// A block of the size that is accepted has no more, unless its members overlap.
const MAX_SCALARS: usize = 1 << 16;

/// Flattens a push-constant block to scalars, in offset order.
pub(super) fn scalars(ty: u32, types: &Types) -> Vec<PushMember> {
    let mut out = Vec::new();
    flatten(ty, 0, MatrixLayout::default(), types, &mut out);
    out.sort_by_key(|member| (member.offset, member.size));
    out.dedup();
    out
}

fn flatten(ty: u32, base: u64, matrix: MatrixLayout, types: &Types, out: &mut Vec<PushMember>) {
    if out.len() >= MAX_SCALARS {
        return;
    }
    let mut scalar =
        |class, size: u64| out.push(PushMember { offset: base as u32, size: size as u32, class });
    match types.get(ty) {
        Type::Int { signed: false, .. } => scalar(ScalarClass::Uint, types.span(ty, matrix)),
        Type::Int { .. } => scalar(ScalarClass::Int, types.span(ty, matrix)),
        Type::Float { .. } => scalar(ScalarClass::Float, types.span(ty, matrix)),
        Type::Pointer { .. } => scalar(ScalarClass::Address, 8),
        Type::Vector { element, count } => {
            let step = types.span(*element, matrix);
            for index in 0..u64::from(*count) {
                flatten(*element, base + index * step, matrix, types, out);
            }
        }
        Type::Matrix { column, count } => {
            let Type::Vector { element, count: rows } = types.get(*column) else { return };
            let (step, stride) = (types.span(*element, matrix), u64::from(matrix.stride));
            for c in 0..u64::from(*count) {
                for r in 0..u64::from(*rows) {
                    let at = match matrix.row_major {
                        true => r * stride + c * step,
                        false => c * stride + r * step,
                    };
                    flatten(*element, base + at, matrix, types, out);
                }
            }
        }
        Type::Array { element, count, stride } => {
            for index in 0..(*count).min(MAX_SCALARS as u64) {
                flatten(*element, base + index * u64::from(*stride), matrix, types, out);
            }
        }
        Type::Struct { members } => {
            for member in members {
                flatten(member.ty, base + u64::from(member.offset), member.matrix, types, out);
            }
        }
        Type::Bool | Type::RuntimeArray { .. } | Type::Other => {}
    }
}

/// Bytes of shared memory a type takes, with alignment. Vulkan counts shared memory as if laid out by
/// std430 with 4-byte bools (`maxComputeSharedMemorySize`).
pub(super) fn shared(ty: u32, types: &Types) -> (u64, u64) {
    let times = |part: u32, count: u64| {
        let (size, align) = shared(part, types);
        (round_up(size, align).saturating_mul(count), align)
    };
    match types.get(ty) {
        Type::Bool => (4, 4),
        Type::Int { width, .. } | Type::Float { width } => {
            let bytes = u64::from(*width) / 8;
            (bytes, bytes.max(1))
        }
        Type::Vector { element, count } => {
            let (size, align) = shared(*element, types);
            (size * u64::from(*count), align * if *count == 2 { 2 } else { 4 })
        }
        Type::Matrix { column, count } => times(*column, u64::from(*count)),
        Type::Array { element, count, .. } => times(*element, *count),
        Type::Struct { members } => {
            let (mut end, mut widest) = (0, 1);
            for member in members {
                let (size, align) = shared(member.ty, types);
                end = round_up(end, align).saturating_add(size);
                widest = widest.max(align);
            }
            (round_up(end, widest), widest)
        }
        Type::Pointer { .. } | Type::RuntimeArray { .. } | Type::Other => (8, 8),
    }
}

/// The next multiple of `align`, saturating.
pub(super) fn round_up(size: u64, align: u64) -> u64 {
    size.checked_next_multiple_of(align).unwrap_or(u64::MAX)
}
