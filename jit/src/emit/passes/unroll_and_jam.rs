//! Unroll-and-jam: one work-group does the work of several (block coarsening), or one invocation the work of several of its work-group (thread coarsening).
//!
//! *Block coarsening*: each invocation does the work of its local id in `G` consecutive work-groups: a load of the first, the
//! same load of the next, and so on, then the next instruction. One barrier serves all of them.
//! [`analysis::uniformity`](crate::analysis::uniformity) says which parts of a function have to be done for one work-group after another.
//! If the number of work-groups is no multiple of `G`, the last one has fewer to do: it does them one by one, in a loop, with a
//! barrier between two of them, since they use the same shared memory. Which work-group is the last follows from its number, so control flow stays uniform.
//!
//! *Thread coarsening*: the same for invocations of a work-group, which share its shared memory. Where a single sub-group of invocations is left, barriers become
//! those of the sub-group, which cost next to nothing: a tree in shared memory runs without waiting. Kernels that this cannot be done to keep all of their
//! invocations. Both at once are block coarsening, and thread coarsening of what that made.
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

use ahash::AHashMap;
use rspirv::spirv::{Capability, Scope};

use super::bindings;
use crate::analysis::uniformity::{Alone, Globals, Manner, Sides, join_ends, manners};
use crate::emit::JitError;
use crate::frontend::fold_selections;
use crate::ir::entity::Func;
use crate::ir::{Module, Operation};
use crate::plan::recipe::Recipe;
use crate::schedule::BlockCoarsening;
use jam::{Jam, One, Several, Version, Ways, error};

/// Coarsens work-groups, invocations, or both: invocations of work-groups that already do several.
pub(in crate::emit) fn run(module: &mut Module, recipe: &Recipe) -> Result<(), JitError> {
    if let Some(how) = recipe.schedule.block_coarsening() {
        blocks(module, recipe, how)?;
    }
    match recipe.schedule.thread_coarsening() {
        Some(several) => threads(module, recipe, several),
        None => Ok(()),
    }
}

/// Makes another function the entry point.
fn enter(module: &mut Module, main: Func) {
    module.entry_points.iter_mut().for_each(|one| one.function = main);
    module.modes.iter_mut().for_each(|mode| mode.function = main);
}

fn blocks(module: &mut Module, recipe: &Recipe, how: BlockCoarsening) -> Result<(), JitError> {
    let Some(entry) = module.entry_points.first().map(|entry| entry.function) else { return Ok(()) };
    let known = ways(module, recipe, Several::Groups(how)).map_err(|alone| error(&alone.to_string()))?;
    let mut jam = Jam::new(module, recipe, Several::Groups(how), how.groups, known)?;
    let together = jam.version(entry, Version::Together)?;
    let main = match how.total {
        None => together,
        Some(_) => {
            let rest = jam.version(entry, Version::Alone(One::Rest))?;
            jam.choose(together, rest)
        }
    };
    enter(module, main);
    Ok(())
}

fn threads(module: &mut Module, recipe: &Recipe, several: u32) -> Result<(), JitError> {
    let Some(entry) = module.entry_points.first().map(|entry| entry.function) else { return Ok(()) };
    let schedule = &recipe.schedule;
    let [x, y, z] = schedule.local_size();
    let left = x / several;
    module.defined.iter().for_each(|&func| join_ends(&mut module.functions[func]));
    let known = ways(module, recipe, Several::Invocations { left });
    let is_together = |of: &AHashMap<Func, Manner>| matches!(of.get(&entry), Some(Manner::Together { .. }));
    let Some(known) = known.ok().filter(|(_, of)| is_together(of)) else {
        return match schedule.packing() {
            Some(_) => Err(error("there is no way for work-groups that are to be in one")),
            None => Ok(()),
        };
    };
    let mut jam = Jam::new(module, recipe, Several::Invocations { left }, several, known)?;
    let main = jam.version(entry, Version::Together)?;
    let lanes = left * schedule.groups_in_lanes();
    if schedule.full_subgroups().is_some_and(|size| lanes == size || mutant!(LeftAreOneSubgroup)) {
        weaken(module);
    }
    module.set_local_size([left, y, z]);
    module.defined.clone().into_iter().for_each(|func| fold_selections(module, func));
    enter(module, main);
    Ok(())
}

/// Makes all barriers those of a sub-group, whose lanes are one work-group or several that come to the same barriers.
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
    globals.frozen = bindings::frozen(module, recipe);
    let manners = manners(module, &mut globals)?;
    Ok((globals, manners))
}
