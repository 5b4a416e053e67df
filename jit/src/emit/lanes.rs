//! Local ids that follow from the sub-group: invocation `l` of a work-group is lane `l % S` of sub-group `l / S`.
//!
//! Vulkan does not say which invocations of a work-group make up a sub-group. Barriers that only sub-groups wait at ([`super::weak`])
//! rest on it, so the fused kernel numbers its invocations itself.
//!
//! # Requires
//! - a work-group of one dimension, a multiple of `S` wide, run in full sub-groups of `S`; nothing in the members but local and global ids
//!   tells one invocation of a work-group from another
//!
//! # Guarantees
//! - each invocation of the work-group has one of the local ids, and no two the same
//! - nothing reads the dispatch's own local ids

use ahash::AHashMap;
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{BuiltIn, Capability, Op, StorageClass, Word};

use super::JitError;
use super::builder::{Builder, Code};
use super::emission::Emission;
use super::link::Shared;

/// Makes local ids of those of sub-groups. Work-groups of fewer invocations need that for shuffles alone, and not if they are sub-groups of a
/// larger one, whose ids [`super::packed`] makes.
pub(super) fn run(emission: &mut Emission<'_>) -> Result<(), JitError> {
    let (entry, recipe) = (emission.entry()?, emission.recipe);
    let Some(size) = recipe.schedule.full_subgroups() else { return Ok(()) };
    if !emission.narrowed {
        make(&mut emission.shared, entry, size, recipe.schedule.local_size()[0]);
    } else if emission.shuffles && recipe.schedule.packing().is_none() {
        make(&mut emission.shared, entry, size, size);
    }
    Ok(())
}

/// Makes local ids of those of sub-groups of `size`; the work-group has `local` invocations.
fn make(shared: &mut Shared, entry: Word, size: u32, local: u32) {
    let Shared { builder, inputs, .. } = shared;
    builder.capability(Capability::GroupNonUniform);
    let number = builder.u32();
    let mut code = Code::default();
    let subgroup = inputs.variable(builder, BuiltIn::SubgroupId, number);
    let lane = inputs.variable(builder, BuiltIn::SubgroupLocalInvocationId, number);
    let subgroup = code.value(builder, Op::Load, number, vec![Operand::IdRef(subgroup)]);
    let lane = code.value(builder, Op::Load, number, vec![Operand::IdRef(lane)]);
    let (wide, zero, own_size) = (builder.constant(size), builder.constant(0), builder.constant(local));
    let first = code.math(builder, Op::IMul, subgroup, wide);
    let own = code.math(builder, Op::IAdd, first, lane);
    // Private variables instead of the inputs.
    let mut instead: AHashMap<Word, Word> = AHashMap::new();
    for builtin in [BuiltIn::LocalInvocationId, BuiltIn::LocalInvocationIndex, BuiltIn::GlobalInvocationId] {
        let Some((input, ty)) = inputs.get(builtin) else { continue };
        let uvec3 = builder.uvec3();
        let value = match builtin {
            BuiltIn::LocalInvocationIndex => own,
            BuiltIn::LocalInvocationId => {
                let operands = [own, zero, zero].map(Operand::IdRef).to_vec();
                code.value(builder, Op::CompositeConstruct, uvec3, operands)
            }
            _ => {
                let group: [Word; 3] = std::array::from_fn(|dim| {
                    inputs.component(builder, &mut code, BuiltIn::WorkgroupId, dim)
                });
                let start = code.math(builder, Op::IMul, group[0], own_size);
                let item = code.math(builder, Op::IAdd, start, own);
                let operands = [item, group[1], group[2]].map(Operand::IdRef).to_vec();
                code.value(builder, Op::CompositeConstruct, uvec3, operands)
            }
        };
        let own_ty = if builtin == BuiltIn::LocalInvocationIndex { number } else { uvec3 };
        instead.insert(input, variable(builder, &mut code, (value, own_ty), ty));
    }
    read_instead(builder, entry, &instead, code);
}

/// A variable of the invocation that holds a value, as one of another type with the same bits if that is asked for.
pub(super) fn variable(
    builder: &mut Builder,
    code: &mut Code,
    (mut value, own): (Word, Word),
    ty: Word,
) -> Word {
    if ty != own {
        value = code.value(builder, Op::Bitcast, ty, vec![Operand::IdRef(value)]);
    }
    let pointer = builder.pointer(StorageClass::Private, ty);
    let variable = builder.variable(StorageClass::Private, pointer, None);
    code.effect(Op::Store, vec![Operand::IdRef(variable), Operand::IdRef(value)]);
    variable
}

/// Has all functions read variables of the invocation instead of inputs; `code`, which sets them, comes first in the entry point.
pub(super) fn read_instead(builder: &mut Builder, entry: Word, instead: &AHashMap<Word, Word>, code: Code) {
    let mut functions = std::mem::take(&mut builder.module.functions);
    // Pointers into the new variables.
    let mut inside: AHashMap<Word, ()> = AHashMap::new();
    for inst in functions
        .iter_mut()
        .flat_map(|function| &mut function.blocks)
        .flat_map(|block| &mut block.instructions)
    {
        let mut leads = false;
        for operand in &mut inst.operands {
            let Operand::IdRef(id) = operand else { continue };
            leads |= instead.contains_key(id) || inside.contains_key(id);
            if let Some(&variable) = instead.get(id) {
                *id = variable;
            }
        }
        if leads && matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject) {
            let pointee =
                inst.result_type.and_then(|ty| builder.definitions.get(&ty)?.operands.get(1)?.id_ref_any());
            inst.result_type = pointee.map(|pointee| builder.pointer(StorageClass::Private, pointee));
            inst.result_id.map(|id| inside.insert(id, ()));
        }
    }
    let start = functions.iter_mut().find(|function| function.def_id() == Some(entry));
    if let Some(first) = start.and_then(|function| function.blocks.first_mut()) {
        let is_variable = |inst: &&Instruction| inst.class.opcode == Op::Variable;
        let behind = first.instructions.iter().take_while(is_variable).count();
        first.instructions.splice(behind..behind, code.0);
    }
    builder.module.functions = functions;
}
