//! Several work-groups of one sub-group each in one work-group, a sub-group for each.
//!
//! A device starts work-groups one after another, and small ones end before the next ones have started. Here a work-group has `W` sub-groups, each of
//! which is one of the kernel's: sub-group `s` of work-group `w` is work-group `W w + s`.
//!
//! # Requires
//! - a finished kernel whose work-groups are one full sub-group each, that tells its invocations apart by local ids alone, and whose barriers are the
//!   sub-group's; a number of work-groups along `x` that is a multiple of `W`, or a slot with that number
//!
//! # Guarantees
//! - each work-group of the kernel is done once, by a sub-group of its own, with its ids
//! - shared memory has a slice for each sub-group, and no sub-group has another one's
//! - sub-groups that are behind the last work-group do nothing

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{BuiltIn, Capability, Op, StorageClass, Word};

use super::JitError;
use super::builder::{Builder, Code};
use super::emission::Emission;
use super::entry::{self, Blocks};
use super::lanes;
use super::link::Shared;
use crate::schedule::Packing;

/// Makes the kernel's work-groups sub-groups, several of them in one.
pub(super) fn run(emission: &mut Emission<'_>) -> Result<(), JitError> {
    let entry = emission.entry()?;
    let Some(how) = emission.recipe.schedule.packing() else { return Ok(()) };
    if !emission.narrowed {
        return Err(JitError::new("packed", "work-groups that are not by fewer invocations"));
    }
    emission.entry = Some(make(&mut emission.shared, entry, how));
    emission.local_size[0] *= how.groups;
    Ok(())
}

/// Makes the kernel's work-groups sub-groups, several of them in one. Returns the new entry point.
fn make(shared: &mut Shared, entry: Word, how: Packing) -> Word {
    pack(shared, entry, how);
    match how.total {
        Some(total) if !mutant!(LastSubgroupsAreMore) => guarded(shared, entry, how.groups, total),
        _ => entry,
    }
}

/// An entry point that leaves out sub-groups for which there is no work-group. All invocations of a sub-group go the same way, and with
/// `SubgroupUniformControlFlowKHR` they stay together on it.
fn guarded(shared: &mut Shared, entry: Word, several: u32, total: u16) -> Word {
    shared.builder.extension("SPV_KHR_subgroup_uniform_control_flow");
    let mut blocks = Blocks::new(&mut shared.builder);
    let Shared { builder, inputs, .. } = &mut *shared;
    let number = builder.u32();
    let x = inputs.component(builder, &mut blocks.code, BuiltIn::WorkgroupId, 0);
    let count = builder.constant(several);
    let first = blocks.code.math(builder, Op::IMul, x, count);
    let subgroup = inputs.variable(builder, BuiltIn::SubgroupId, number);
    let own = blocks.code.value(builder, Op::Load, number, vec![Operand::IdRef(subgroup)]);
    let own = blocks.code.math(builder, Op::IAdd, first, own);
    let after = entry::guard(shared, &mut blocks, own, total);
    let void = shared.builder.void();
    blocks.code.value(&mut shared.builder, Op::FunctionCall, void, vec![Operand::IdRef(entry)]);
    blocks.code.effect(Op::Branch, vec![Operand::IdRef(after)]);
    blocks.next(after);
    entry::finish(shared, blocks)
}

fn pack(shared: &mut Shared, entry: Word, how: Packing) {
    let Packing { groups: several, total } = how;
    let Shared { builder, inputs, push, .. } = shared;
    builder.capability(Capability::GroupNonUniform);
    let number = builder.u32();
    let mut code = Code::default();
    let subgroup = inputs.variable(builder, BuiltIn::SubgroupId, number);
    let lane = inputs.variable(builder, BuiltIn::SubgroupLocalInvocationId, number);
    slices(builder, subgroup, several);
    let mut instead: AHashMap<Word, Word> = AHashMap::new();
    for builtin in [
        BuiltIn::LocalInvocationId,
        BuiltIn::LocalInvocationIndex,
        BuiltIn::WorkgroupId,
        BuiltIn::NumWorkgroups,
    ] {
        let Some((input, ty)) = inputs.get(builtin) else { continue };
        let (uvec3, zero, count) = (builder.uvec3(), builder.constant(0), builder.constant(several));
        let load = |builder: &mut Builder, code: &mut Code, variable: Word| {
            code.value(builder, Op::Load, number, vec![Operand::IdRef(variable)])
        };
        let value = match builtin {
            BuiltIn::LocalInvocationIndex => load(builder, &mut code, lane),
            BuiltIn::LocalInvocationId => {
                let own = load(builder, &mut code, lane);
                let operands = [own, zero, zero].map(Operand::IdRef).to_vec();
                code.value(builder, Op::CompositeConstruct, uvec3, operands)
            }
            _ => {
                let [x, y, z] = inputs.all_components(builder, &mut code, builtin);
                let mut x = match total {
                    Some(total) if builtin == BuiltIn::NumWorkgroups => {
                        push.load_u32(builder, &mut code, total)
                    }
                    _ => code.math(builder, Op::IMul, x, count),
                };
                if builtin == BuiltIn::WorkgroupId && !mutant!(SubgroupsAreOneGroup) {
                    let own = load(builder, &mut code, subgroup);
                    x = code.math(builder, Op::IAdd, x, own);
                }
                let operands = [x, y, z].map(Operand::IdRef).to_vec();
                code.value(builder, Op::CompositeConstruct, uvec3, operands)
            }
        };
        let own_ty = if builtin == BuiltIn::LocalInvocationIndex { number } else { uvec3 };
        instead.insert(input, lanes::variable(builder, &mut code, (value, own_ty), ty));
    }
    lanes::read_instead(builder, entry, &instead, code);
}

/// Gives each variable of shared memory a slice for each sub-group.
fn slices(builder: &mut Builder, subgroup: Word, several: u32) {
    let is_shared = |inst: &Instruction| {
        inst.class.opcode == Op::Variable
            && inst.operands.first() == Some(&Operand::StorageClass(StorageClass::Workgroup))
    };
    let variables: Vec<Instruction> =
        builder.module.types_global_values.iter().filter(|inst| is_shared(inst)).cloned().collect();
    if variables.is_empty() || mutant!(SlicesAreOne) {
        return;
    }
    let length = builder.constant(several);
    // By the variable before: the one of all slices, and the type of a pointer to a slice.
    let mut of: AHashMap<Word, (Word, Word)> = AHashMap::new();
    for inst in variables {
        let (Some(id), Some(slice)) = (inst.result_id, inst.result_type) else { continue };
        let pointee = builder.definitions.get(&slice).and_then(|ty| ty.operands.get(1)?.id_ref_any());
        let Some(pointee) = pointee else { continue };
        let operands = vec![Operand::IdRef(pointee), Operand::IdRef(length)];
        let array = builder.global(Op::TypeArray, None, operands, Vec::new());
        let pointer = builder.pointer(StorageClass::Workgroup, array);
        let variable = builder.variable(StorageClass::Workgroup, pointer, None);
        of.insert(id, (variable, slice));
    }
    let gone: AHashSet<Word> = of.keys().copied().collect();
    builder.module.types_global_values.retain(|inst| inst.result_id.is_none_or(|id| !gone.contains(&id)));
    // What was said of one of them is said of none.
    let names = |inst: &Instruction| inst.operands.first().and_then(Operand::id_ref_any);
    builder.module.annotations.retain(|inst| names(inst).is_none_or(|id| !gone.contains(&id)));
    let mut functions = std::mem::take(&mut builder.module.functions);
    for function in &mut functions {
        slice(builder, function, &of, subgroup);
    }
    builder.module.functions = functions;
}

/// Has all pointers of a function into shared memory go through the slice of its sub-group.
fn slice(builder: &mut Builder, function: &mut Function, of: &AHashMap<Word, (Word, Word)>, subgroup: Word) {
    let uses = |inst: &Instruction| {
        inst.operands.iter().any(|operand| operand.id_ref_any().is_some_and(|id| of.contains_key(&id)))
    };
    if !function.all_inst_iter().any(uses) {
        return;
    }
    let mut head = Code::default();
    let number = builder.u32();
    let own = head.value(builder, Op::Load, number, vec![Operand::IdRef(subgroup)]);
    let mut pointers: Vec<(Word, Word)> = Vec::new();
    let mut all: Vec<_> = of.iter().collect();
    all.sort_unstable();
    for (&before, &(variable, slice)) in all {
        let names = |inst: &Instruction| inst.operands.contains(&Operand::IdRef(before));
        if function.all_inst_iter().any(names) {
            let operands = vec![Operand::IdRef(variable), Operand::IdRef(own)];
            pointers.push((before, head.value(builder, Op::AccessChain, slice, operands)));
        }
    }
    for inst in function.blocks.iter_mut().flat_map(|block| &mut block.instructions) {
        for operand in &mut inst.operands {
            if let Operand::IdRef(id) = operand
                && let Some(&(_, pointer)) = pointers.iter().find(|(before, _)| before == id)
            {
                *id = pointer;
            }
        }
    }
    if let Some(first) = function.blocks.first_mut() {
        let is_variable = |inst: &&Instruction| inst.class.opcode == Op::Variable;
        let behind = first.instructions.iter().take_while(is_variable).count();
        first.instructions.splice(behind..behind, head.0);
    }
}
