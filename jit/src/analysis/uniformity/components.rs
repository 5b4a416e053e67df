//! Which components of a value differ between work-groups.
//!
//! Work-groups that follow each other in one dimension have the other components of their ids in common: tiles next to each other
//! lie in the same rows.

use ahash::AHashMap;
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, Word};

/// A bit for each component of a vector, all of them for anything else; 0: the value is common.
pub(super) type Mask = u32;

pub(super) const ALL: Mask = Mask::MAX;

/// What varies of a result that follows from its operands. `of` says what of an operand does, and `components` how many a vector has;
/// `constants` are numbers by their ids, and `vectors` the same for vector types.
pub(super) fn of_result(
    inst: &Instruction,
    constants: &AHashMap<Word, u32>,
    vectors: &AHashMap<Word, u32>,
    of: impl Fn(Word) -> Mask,
    components: impl Fn(Word) -> Option<u32>,
) -> Mask {
    let ids = || inst.operands.iter().filter_map(Operand::id_ref_any);
    let any = |mask: Mask| if mask == 0 { 0 } else { ALL };
    let component = |mask: Mask, index: u32| match mask {
        ALL => ALL,
        some => any(some.checked_shr(index).unwrap_or(1) & 1),
    };
    let all = ids().fold(0, |all, id| all | of(id));
    if all == 0 {
        return 0;
    }
    match (inst.class.opcode, inst.operands.as_slice()) {
        (Op::CompositeExtract, [Operand::IdRef(whole), Operand::LiteralBit32(index)]) => {
            component(of(*whole), *index)
        }
        (Op::AccessChain | Op::InBoundsAccessChain, [Operand::IdRef(whole), Operand::IdRef(index)]) => {
            constants.get(index).map_or(ALL, |&index| component(of(*whole), index))
        }
        (Op::CompositeConstruct, parts)
            if inst.result_type.is_some_and(|ty| vectors.get(&ty) == Some(&(parts.len() as u32))) =>
        {
            (0..).zip(ids()).fold(0, |mask, (index, id)| mask | (any(of(id)) & 1 << index))
        }
        (Op::VectorShuffle, [Operand::IdRef(first), Operand::IdRef(second), picked @ ..]) => {
            let Some(count) = components(*first) else { return ALL };
            let one = |picked: &Operand| match picked {
                Operand::LiteralBit32(index) if *index < count => component(of(*first), *index),
                Operand::LiteralBit32(Word::MAX) => 0,
                Operand::LiteralBit32(index) => component(of(*second), index - count),
                _ => ALL,
            };
            (0..).zip(picked).fold(0, |mask, (index, picked)| mask | (one(picked) & 1 << index))
        }
        (Op::Load | Op::CopyObject | Op::Phi | Op::IAdd | Op::ISub | Op::IMul, _) => all,
        _ => ALL,
    }
}
