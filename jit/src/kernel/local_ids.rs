//! Local ids that can only be zero.
//!
//! In a dimension in which the work-group is one invocation wide a driver's compiler knows the local id of the kernel alone. So that it knows
//! as much of it in a fused kernel, where work-groups may have another shape, it is a constant in the normal form.
//!
//! # Guarantees
//! - components of the local id that are read one by one are constants where the local size is one

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, ExecutionMode, Op};

use crate::frontend::additions::Additions;

/// Puts zeros in their place.
pub(super) fn settle(module: &mut Module) {
    let size = module.execution_modes.iter().find_map(|mode| match mode.operands.as_slice() {
        [
            _,
            Operand::ExecutionMode(ExecutionMode::LocalSize),
            Operand::LiteralBit32(x),
            Operand::LiteralBit32(y),
            Operand::LiteralBit32(z),
        ] => Some([*x, *y, *z]),
        _ => None,
    });
    let Some(size) = size else { return };
    let built_in = [Operand::Decoration(Decoration::BuiltIn), Operand::BuiltIn(BuiltIn::LocalInvocationId)];
    let ids: AHashSet<u32> = module
        .annotations
        .iter()
        .filter(|inst| inst.class.opcode == Op::Decorate && inst.operands.get(1..) == Some(&built_in))
        .filter_map(|inst| inst.operands.first()?.id_ref_any())
        .collect();
    let zeros = |d: u32| size.get(d as usize) == Some(&1);
    let literals: AHashMap<u32, u32> = module
        .types_global_values
        .iter()
        .filter_map(|inst| match (inst.class.opcode, inst.operands.as_slice()) {
            (Op::Constant, [Operand::LiteralBit32(value)]) => Some((inst.result_id?, *value)),
            _ => None,
        })
        .collect();
    let (mut vectors, mut components): (AHashSet<u32>, AHashSet<u32>) = Default::default();
    let (mut places, mut ty) = (Vec::new(), None);
    for (f, function) in module.functions.iter().enumerate() {
        for (b, block) in function.blocks.iter().enumerate() {
            for (at, inst) in block.instructions.iter().enumerate() {
                let first = inst.operands.first().and_then(Operand::id_ref_any);
                let is_zero = match (inst.class.opcode, first, inst.operands.get(1)) {
                    (Op::Load, Some(from), _) if ids.contains(&from) => {
                        vectors.extend(inst.result_id);
                        false
                    }
                    (Op::AccessChain | Op::InBoundsAccessChain, Some(from), Some(Operand::IdRef(d)))
                        if ids.contains(&from) && literals.get(d).is_some_and(|&d| zeros(d)) =>
                    {
                        components.extend(inst.result_id);
                        false
                    }
                    (Op::Load, Some(from), _) => components.contains(&from),
                    (Op::CompositeExtract, Some(from), Some(Operand::LiteralBit32(d))) => {
                        vectors.contains(&from) && zeros(*d)
                    }
                    _ => false,
                };
                if is_zero {
                    places.push((f, b, at));
                    ty = inst.result_type;
                }
            }
        }
    }
    let (Some(ty), Some(mut added)) = (ty, Additions::to(module)) else { return };
    let zero = added.global(Op::Constant, Some(ty), vec![Operand::LiteralBit32(0)]);
    added.finish(module);
    let mut gone: AHashSet<u32> = AHashSet::new();
    for &(f, b, at) in places.iter().rev() {
        let instructions = &mut module.functions[f].blocks[b].instructions;
        if instructions[at].result_type == Some(ty) {
            gone.extend(instructions.remove(at).result_id);
        }
    }
    let all = module.functions.iter_mut().flat_map(|function| &mut function.blocks);
    for operand in all.flat_map(|block| &mut block.instructions).flat_map(|inst| &mut inst.operands) {
        if let Operand::IdRef(id) = operand
            && gone.contains(id)
        {
            *id = zero;
        }
    }
    module.annotations.retain(|inst| {
        inst.operands.first().and_then(Operand::id_ref_any).is_none_or(|id| !gone.contains(&id))
    });
}
