//! Checks that no decoded instruction reaches outside the register file.
//!
//! In a valid module none does, because operands have the types that their instructions ask for. Types
//! are not compared one by one while decoding; this makes sure that a module that breaks them is refused
//! instead of interpreted out of bounds.

use super::{Decoded, NONE};
use crate::error::OracleError;
use crate::program::{GroupOp, Inst, Program};

pub(super) fn verify(program: &Program) -> Decoded<()> {
    let len = program.registers.len() as u64;
    for (inst, word) in program.code.iter().zip(&program.words) {
        let fits = ranges(inst, program).iter().all(|(first, lanes)| u64::from(*first) + lanes <= len);
        if !fits || !tables_fit(inst, program, len) {
            return Err(OracleError::malformed("an operand has the wrong type", *word as usize));
        }
    }
    let edges =
        program.moves.iter().all(|step| u64::from(step.from.max(step.to)) + u64::from(step.lanes) <= len);
    if edges { Ok(()) } else { Err(OracleError::malformed("a phi has operands of another type", 0)) }
}

/// First register and number of lanes of each operand; unused places are empty.
fn ranges(inst: &Inst, program: &Program) -> [(u32, u64); 4] {
    const NO: (u32, u64) = (0, 0);
    let lanes = |first: u32, n: u32| (first, u64::from(n));
    let splat_or = |splat: bool, n: u32| if splat { 1 } else { n };
    match *inst {
        Inst::Move { dst, src, n } => [lanes(dst, n), lanes(src, n), NO, NO],
        Inst::Gather { dst, n, .. } => [lanes(dst, n), NO, NO, NO],
        Inst::Unary { dst, a, n, .. } | Inst::Convert { dst, a, n, .. } => {
            [lanes(dst, n), lanes(a, n), NO, NO]
        }
        Inst::Binary { splat, dst, a, b, n, .. } => {
            [lanes(dst, n), lanes(a, n), lanes(b, splat_or(splat, n)), NO]
        }
        Inst::Ternary { dst, a, b, c, n, .. } => [lanes(dst, n), lanes(a, n), lanes(b, n), lanes(c, n)],
        Inst::Wide { dst, a, b, n, .. } => [(dst, 2 * u64::from(n)), lanes(a, n), lanes(b, n), NO],
        Inst::Regroup { dst, a, from, to, n } => {
            let bits = u64::from(n) * u64::from(to);
            [lanes(dst, n), (a, bits.div_ceil(u64::from(from.max(1)))), NO, NO]
        }
        Inst::BitFieldInsert { dst, a, insert, offset, count } => {
            [lanes(dst.max(offset), 1), lanes(a, 1), lanes(insert, 1), lanes(count, 1)]
        }
        Inst::Pack { op, dst, a } => [lanes(dst, op.lanes().1), lanes(a, op.lanes().0), NO, NO],
        Inst::Dot { dst, a, a_step, b, b_step, n, .. } => {
            let reach = |step: u16| u64::from(n.saturating_sub(1)) * u64::from(step) + 1;
            [lanes(dst, 1), (a, reach(a_step)), (b, reach(b_step)), NO]
        }
        Inst::IntDot { how, dst, a, b, add, n } => {
            let n = u32::from(n);
            [lanes(dst, 1), lanes(a, n), lanes(b, n), if how.saturates { lanes(add, 1) } else { NO }]
        }
        Inst::Select { splat, dst, c, a, b, n } => {
            [lanes(dst, n), lanes(c, splat_or(splat, n)), lanes(a, n), lanes(b, n)]
        }
        Inst::Any { dst, a, n } | Inst::All { dst, a, n } => [lanes(dst, 1), lanes(a, n), NO, NO],
        Inst::ExtractDynamic { dst, a, index, n } => [lanes(dst, 1), lanes(a, n.max(1)), lanes(index, 1), NO],
        Inst::InsertDynamic { dst, a, value, index, n } => {
            [lanes(dst, n.max(1)), lanes(a, n), lanes(value, 1), lanes(index, 1)]
        }
        Inst::Chain { dst, base, .. } => [lanes(dst, 2), lanes(base, 2), NO, NO],
        Inst::LoadBytes { dst, pointer, n, .. }
        | Inst::LoadBlock { dst, pointer, n, .. }
        | Inst::LoadLanes { dst, pointer, n, .. } => [lanes(dst, n), lanes(pointer, 2), NO, NO],
        Inst::StoreBytes { src, pointer, n, .. }
        | Inst::StoreBlock { src, pointer, n, .. }
        | Inst::StoreLanes { src, pointer, n, .. } => [lanes(src, n), lanes(pointer, 2), NO, NO],
        Inst::ReadTexel { dst, image, at, sizes, n, .. } | Inst::Sample { dst, image, at, sizes, n, .. } => {
            [lanes(dst, n), lanes(image, 2), lanes(at, sizes), NO]
        }
        Inst::WriteTexel { src, image, at, sizes, n } => {
            [lanes(src, n), lanes(image, 2), lanes(at, sizes), NO]
        }
        Inst::TexelPointer { dst, image, at, sizes } => {
            [lanes(dst, 2), lanes(image, 2), lanes(at, sizes), NO]
        }
        Inst::ImageSize { dst, image, n } => [lanes(dst, n), lanes(image, 2), NO, NO],
        Inst::Atomic { dst, pointer, value, comparator, .. } => {
            [lanes(dst, 1), lanes(pointer, 2), lanes(value, 1), lanes(comparator, 1)]
        }
        Inst::ArrayLength { dst, pointer, .. } => [lanes(dst, 1), lanes(pointer, 2), NO, NO],
        Inst::PointerDifference { dst, a, b, .. } => [lanes(dst, 1), lanes(a, 2), lanes(b, 2), NO],
        Inst::Branch { cond: a, .. } | Inst::Switch { selector: a, .. } => [lanes(a, 1), NO, NO, NO],
        Inst::Call { link, .. } | Inst::Return { link } => [lanes(link, 1), NO, NO, NO],
        Inst::Subgroup { index } => {
            let group = program.groups[index as usize];
            let results = if group.op == GroupOp::Ballot { 4 } else { group.n.max(1) };
            [lanes(group.dst, results), lanes(group.a, group.n.max(1)), lanes(group.b, 1), NO]
        }
        Inst::Reset { .. }
        | Inst::Jump { .. }
        | Inst::End
        | Inst::Unreachable
        | Inst::Barrier { .. }
        | Inst::Fence { .. } => [NO; 4],
    }
}

/// Registers that instructions name by way of a table.
fn tables_fit(inst: &Inst, program: &Program, len: u64) -> bool {
    match *inst {
        Inst::Gather { first, n, .. } => {
            program.gathers[first as usize..(first + n) as usize].iter().all(|lane| u64::from(*lane) < len)
        }
        Inst::Chain { first, count, .. } => {
            let terms = &program.terms[first as usize..(first + count) as usize];
            terms.iter().all(|term| u64::from(term.register) < len)
        }
        Inst::ReadTexel { lod, offset, .. } => {
            (lod == NONE || u64::from(lod) < len) && (offset == NONE || u64::from(offset) + 3 <= len)
        }
        Inst::Sample { offset, .. } => offset == NONE || u64::from(offset) + 3 <= len,
        _ => true,
    }
}
