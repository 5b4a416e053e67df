//! Which components of a value differ between work-groups.
//!
//! Work-groups that follow each other in one dimension have the other components of their ids in common: tiles next to each other
//! lie in the same rows.

use rspirv::spirv::Op;

use crate::ir::entity::Value;

/// A bit for each component of a vector, all of them for anything else; 0: the value is common.
pub(super) type Mask = u32;

pub(super) const ALL: Mask = Mask::MAX;

/// All of a value, if anything of it differs.
pub(super) fn any(mask: Mask) -> Mask {
    if mask == 0 { 0 } else { ALL }
}

/// A component of a value.
pub(super) fn component(mask: Mask, index: u32) -> Mask {
    match mask {
        ALL => ALL,
        some => any(some.checked_shr(index).unwrap_or(1) & 1),
    }
}

/// What varies of a result, a vector of `count` components if it is one, that follows from its operands. `of` says what of an operand does, and
/// `components` how many a vector has.
pub(super) fn of_result(
    op: Op,
    args: &[Value],
    literals: &[u32],
    count: Option<u32>,
    of: impl Fn(Value) -> Mask,
    components: impl Fn(Value) -> Option<u32>,
) -> Mask {
    let all = args.iter().fold(0, |all, &arg| all | of(arg));
    if all == 0 {
        return 0;
    }
    match (op, args, literals) {
        (Op::CompositeExtract, &[whole], &[index]) => component(of(whole), index),
        (Op::CompositeConstruct, parts, _) if count == Some(parts.len() as u32) => {
            (0..).zip(parts).fold(0, |mask, (index, &part)| mask | (any(of(part)) & 1 << index))
        }
        (Op::VectorShuffle, &[first, second], picked) => {
            let Some(count) = components(first) else { return ALL };
            let one = |picked: u32| match picked {
                index if index < count => component(of(first), index),
                u32::MAX => 0,
                index => component(of(second), index - count),
            };
            (0..).zip(picked).fold(0, |mask, (index, &picked)| mask | (one(picked) & 1 << index))
        }
        (Op::CopyObject | Op::IAdd | Op::ISub | Op::IMul, ..) => all,
        _ => ALL,
    }
}
