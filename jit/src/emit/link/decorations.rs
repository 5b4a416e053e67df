//! Decorations of a member.

use ahash::AHashMap;
use rspirv::dr::{Module, Operand};
use rspirv::spirv::{Decoration, Op, Word};

/// Decorations by id; member decorations start with the member's number.
pub(super) fn decorations(module: &Module) -> AHashMap<Word, Vec<Vec<Operand>>> {
    let mut map: AHashMap<Word, Vec<Vec<Operand>>> = AHashMap::new();
    for inst in &module.annotations {
        if !matches!(inst.class.opcode, Op::Decorate | Op::MemberDecorate) {
            continue;
        }
        if let Some((Operand::IdRef(id), rest)) = inst.operands.split_first() {
            map.entry(*id).or_default().push(rest.to_vec());
        }
    }
    map
}

/// Whether a decoration says how memory may be accessed, which the fused module says anew.
pub(super) fn is_access_qualifier(decoration: &[Operand]) -> bool {
    decoration.iter().any(|operand| {
        matches!(
            operand,
            Operand::Decoration(
                Decoration::NonWritable
                    | Decoration::NonReadable
                    | Decoration::Coherent
                    | Decoration::Volatile
                    | Decoration::Restrict
                    | Decoration::Aliased
            )
        )
    })
}

pub(super) fn asks_for_order(decoration: &[Operand]) -> bool {
    let order = |d: &Operand| matches!(d, Operand::Decoration(Decoration::Coherent | Decoration::Volatile));
    decoration.iter().any(order)
}

/// The claim that memory is reached in no other way, taken back: other members may reach it.
pub(super) fn claimless(decoration: &[Operand]) -> Vec<Operand> {
    let claimless = |operand: &Operand| match operand {
        Operand::Decoration(Decoration::RestrictPointer) => Operand::Decoration(Decoration::AliasedPointer),
        other => other.clone(),
    };
    decoration.iter().map(claimless).collect()
}
