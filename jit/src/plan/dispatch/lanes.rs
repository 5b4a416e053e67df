//! Whether local ids follow from sub-groups, so that barriers at which it is enough that each sub-group waits for itself are its own
//! (`emit::passes::subgroup_ids`, `emit::weak`).
//!
//! # Requires
//! - a finished group, its loops unrolled
//!
//! # Guarantees
//! - a work-group of one dimension that is a whole number of sub-groups, whose members know nothing of sub-groups themselves
//! - some member has a loop with a barrier in it whose rounds are unrolled: others have none to weaken, and keep their ids

use rspirv::spirv::Op;

use crate::analysis::cfg::Cfg;
use crate::plan::dispatch::context::Context;
use crate::plan::input::submission::Submission;
use crate::plan::output::recipe::Unroll;

/// The size of the sub-groups, if it is to matter.
pub(crate) fn choose(context: &Context<'_>) -> Option<u32> {
    let Context { group, unrolled, limits, .. } = *context;
    let members = context.members();
    fitting(context, limits.subgroup_size)
        .filter(|size| group.layout.shape.local[0] / size <= limits.max_subgroups)
        .filter(|_| members.iter().zip(unrolled).any(|(one, loops)| waits(one, loops)))
}

/// The size of the sub-groups, if work-groups can be whole numbers of them and nobody but the emitter knows of them.
pub(crate) fn fitting(context: &Context<'_>, size: u32) -> Option<u32> {
    let group = context.group;
    let local = group.layout.shape.local;
    let plain = group.trusted.is_empty()
        && !context.members().iter().any(|one| {
            let interface = &one.kernel.interface;
            interface.uses_device_addresses || interface.local_size != local
        });
    let fits = || context.allows(&context.as_submitted().in_subgroups(size));
    (size > 1 && plain && fits()).then_some(size)
}

/// Whether there is a barrier in a loop of a member whose rounds are all unrolled.
fn waits(member: &Submission, loops: &[Unroll]) -> bool {
    let whole = loops.iter().filter(|how| matches!(how, Unroll::Whole { .. }));
    let mut whole = whole.map(|how| how.index() as usize).peekable();
    if !member.kernel.interface.has_barrier || whole.peek().is_none() {
        return false;
    }
    let Some(function) =
        member.kernel.normal.as_ref().ok().and_then(|normal| normal.module.functions.first())
    else {
        return false;
    };
    let cfg = Cfg::new(function);
    whole.filter(|&index| index < cfg.loops.len()).any(|index| {
        let mut blocks = function.blocks.iter().enumerate();
        blocks.any(|(number, block)| {
            let mut waits = block.instructions.iter().filter(|inst| inst.class.opcode == Op::ControlBarrier);
            cfg.is_in_loop(number, Some(index)) && waits.next().is_some()
        })
    })
}
