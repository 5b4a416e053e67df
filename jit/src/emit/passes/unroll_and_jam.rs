//! Unroll-and-jam: several work-groups in one (block coarsening), or a work-group by fewer invocations, each of which does several of the kernel's (thread
//! coarsening).
//!
//! *Block coarsening*: each invocation does what the invocations of its local id do in `G` work-groups that follow each other: a load of one, the
//! same load of the next, and so on, then what comes after it. One barrier serves all of them. What of a function has to be
//! done for one work-group after another says [`analysis::uniformity`](crate::analysis::uniformity).
//! The last work-group has fewer to do if their number is no multiple of `G`: it does them one by one, in a loop, with a
//! barrier between two of them, for they use the same shared memory. Whether a work-group is that one follows from its number, so
//! all of it takes that way.
//!
//! *Thread coarsening*: the same for invocations of a work-group, with shared memory in common. Where those that are left are one sub-group, a barrier is one
//! of the sub-group, which costs next to nothing: a tree in shared memory runs without waiting. Kernels that have no such way are left as they are: then the
//! work-group has its own invocations.
//!
//! # Requires
//! - functions without parameters, for which `analysis::uniformity` has found a manner; for thread coarsening, work-groups that are lines
//!
//! # Guarantees
//! - each work-group, or invocation, of the kernel is done once, with its ids, its shared memory and its invocations' own variables
//! - control flow around barriers is what it was in the kernel
//! - barriers are a sub-group's only where the invocations that are left are all of one
//! - what one of the invocations side by side never comes to, as its local id and the push constants' ranges say, is not in the code

mod copies;
mod ids;
mod jam;
mod ranges;

use rspirv::spirv::{Capability, Scope};

use super::bindings;
use crate::analysis::uniformity::{Alone, Globals, Manner, Sides, join_ends, manners};
use crate::emit::JitError;
use crate::frontend::fold_selections;
use crate::ir::{Module, Operation};
use crate::plan::recipe::Recipe;
use jam::{Jam, One, Several, Version, Ways, error};

/// Coarsens work-groups, or invocations.
pub(in crate::emit) fn run(module: &mut Module, recipe: &Recipe) -> Result<(), JitError> {
    let Some(entry) = module.entry_points.first().map(|entry| entry.function) else { return Ok(()) };
    let schedule = &recipe.schedule;
    let main = if let Some(how) = schedule.block_coarsening() {
        let known = ways(module, recipe, Several::Groups(how)).map_err(|alone| error(&alone.to_string()))?;
        let mut jam = Jam::new(module, recipe, Several::Groups(how), how.groups, known)?;
        let together = jam.version(entry, Version::Together)?;
        match how.total {
            None => together,
            Some(_) => {
                let rest = jam.version(entry, Version::Alone(One::Rest))?;
                jam.choose(together, rest)
            }
        }
    } else if let Some(several) = schedule.thread_coarsening() {
        let [x, y, z] = schedule.local_size();
        let left = x / several;
        module.defined.iter().for_each(|&func| join_ends(&mut module.functions[func]));
        let known = ways(module, recipe, Several::Invocations { left });
        let Some(known) =
            known.ok().filter(|(_, of)| matches!(of.get(&entry), Some(Manner::Together { .. })))
        else {
            return match schedule.packing() {
                Some(_) => Err(error("there is no way for work-groups that are to be in one")),
                None => Ok(()),
            };
        };
        let mut jam = Jam::new(module, recipe, Several::Invocations { left }, several, known)?;
        let main = jam.version(entry, Version::Together)?;
        if schedule.full_subgroups().is_some_and(|size| left == size || mutant!(LeftAreOneSubgroup)) {
            weaken(module);
        }
        module.set_local_size([left, y, z]);
        module.defined.clone().into_iter().for_each(|func| fold_selections(module, func));
        main
    } else {
        return Ok(());
    };
    module.entry_points.iter_mut().for_each(|one| one.function = main);
    module.modes.iter_mut().for_each(|mode| mode.function = main);
    Ok(())
}

/// Makes all barriers those of a sub-group.
fn weaken(module: &mut Module) {
    module.capability(Capability::GroupNonUniform);
    for func in module.defined.clone() {
        for data in module.functions[func].insts.values_mut() {
            if let Operation::Barrier { execution: Some(execution), memory, .. } = &mut data.operation {
                (*execution, *memory) = (Scope::Subgroup, Scope::Subgroup);
            }
        }
    }
}

/// What is known of the functions of a kernel.
fn ways(module: &Module, recipe: &Recipe, what: Several) -> Result<Ways, Alone> {
    let sides = match what {
        Several::Groups(how) => Sides::GroupsAlong(how.axis),
        Several::Invocations { .. } => Sides::Invocations,
    };
    let mut globals = Globals::of(module, sides);
    globals.frozen =
        module.declared().filter(|&global| bindings::is_frozen(module, recipe, global)).collect();
    let manners = manners(module, &mut globals)?;
    Ok((globals, manners))
}
