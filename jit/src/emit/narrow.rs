//! A work-group by fewer invocations, each of which does several of the kernel's, side by side ([`super::interleave`]).
//!
//! Where those that are left are one sub-group, a barrier is one of the sub-group, which costs next to nothing: a tree in shared memory runs
//! without waiting.
//!
//! # Requires
//! - the finished functions of a fused kernel, whose work-groups are lines
//!
//! # Guarantees
//! - each invocation of the kernel is done once, with its ids and its own variables; shared memory is the work-group's, as before
//! - control flow around barriers is what it was in the kernel
//! - barriers are a sub-group's only where the invocations that are left are all of one
//!
//! Kernels that have no such way are left as they are: then the work-group has its own invocations.

use rspirv::dr::{Function, Operand};
use rspirv::spirv::{Capability, Op, Scope};

use super::JitError;
use super::emission::Emission;
use super::interleave;
use super::link::Shared;

/// Makes an entry point of a work-group that has fewer invocations, if there is a way.
pub(super) fn run(emission: &mut Emission<'_>) -> Result<(), JitError> {
    let (entry, recipe) = (emission.entry()?, emission.recipe);
    let Some(several) = recipe.schedule.thread_coarsening() else { return Ok(()) };
    let shared = &mut emission.shared;
    let Some(made) = interleave::build_narrow(shared, recipe, several, entry)? else {
        return match recipe.schedule.packing() {
            Some(_) => Err(JitError::new("narrow", "there is no way for work-groups that are to be in one")),
            None => Ok(()),
        };
    };
    let left = recipe.schedule.local_size()[0] / several;
    let subgroup = recipe.schedule.full_subgroups();
    if subgroup.is_some_and(|size| left == size || mutant!(LeftAreOneSubgroup)) {
        weaken(shared);
    }
    emission.entry = Some(made);
    emission.local_size[0] /= several;
    Ok(())
}

/// Makes all barriers those of a sub-group.
fn weaken(shared: &mut Shared) {
    let builder = &mut shared.builder;
    builder.capability(Capability::GroupNonUniform);
    let scope = builder.constant(Scope::Subgroup as u32);
    let all = builder.module.functions.iter_mut().flat_map(Function::all_inst_iter_mut);
    for inst in all.filter(|inst| inst.class.opcode == Op::ControlBarrier) {
        inst.operands[0] = Operand::IdScope(scope);
        inst.operands[1] = Operand::IdScope(scope);
    }
}
