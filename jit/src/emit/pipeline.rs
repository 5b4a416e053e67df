//! The passes of emission in run order, and their runner.
//!
//! # Guarantees
//! - a pass is run here and nowhere else, after those that stand before it
//! - after each pass an observer may see what it left, and stop emission ([`Observer`])

use std::time::{Duration, Instant};

use rspirv::dr::Module;

use super::emission::Emission;
use super::{JitError, finish};
use super::{
    coarsening, entry, interleave, lanes, late_stores, link, lockstep, narrow, packed, registers, unused,
    weak,
};
use crate::plan::recipe::Recipe;

/// From the members' kernels to the functions of the fused one.
///
/// What some passes find depends on the code: a kernel may have no way for fewer invocations ([`narrow`]), and then the passes on what it
/// leaves do nothing ([`Emission::narrowed`]).
const PIPELINE: &[Pass] = &[
    pass("link", |_| true, link_all),
    // Barriers become those of sub-groups before they are copied; with fewer invocations only if there is no way for these.
    pass("weak", |recipe| wants_weak(recipe, false), weak::run),
    pass("entry", |recipe| recipe.schedule.item_coarsening().is_none(), entry::run),
    pass("coarsening", |recipe| recipe.schedule.item_coarsening().is_some(), coarsening::run),
    pass("interleave", |recipe| recipe.schedule.block_coarsening().is_some(), interleave::run),
    pass("narrow", |recipe| recipe.schedule.thread_coarsening().is_some(), narrow::run),
    pass("registers", |recipe| recipe.shuffles, registers::run),
    pass("packed", |recipe| recipe.schedule.packing().is_some(), packed::run),
    pass("weak", |recipe| wants_weak(recipe, true), weak::run),
    pass("lockstep", |recipe| recipe.schedule.superword().is_some(), lockstep::run),
    pass("lanes", |recipe| recipe.schedule.full_subgroups().is_some(), lanes::run),
    pass("late_stores", |recipe| recipe.late_stores.is_some(), late_stores::run),
    pass("unused", |_| true, unused::run),
];

/// Whether barriers may become those of sub-groups, in work-groups with fewer invocations or in others.
fn wants_weak(recipe: &Recipe, by_fewer: bool) -> bool {
    recipe.schedule.full_subgroups().is_some() && recipe.schedule.thread_coarsening().is_some() == by_fewer
}

/// A pass of emission. Its file says what it requires and what it guarantees.
struct Pass {
    /// The name of its file.
    name: &'static str,
    /// Whether a recipe asks for it.
    wanted: fn(&Recipe) -> bool,
    run: Run,
}

type Run = fn(&mut Emission<'_>) -> Result<(), JitError>;

const fn pass(name: &'static str, wanted: fn(&Recipe) -> bool, run: Run) -> Pass {
    Pass { name, wanted, run }
}

/// Links the members of the recipe, in order.
fn link_all(emission: &mut Emission<'_>) -> Result<(), JitError> {
    let Emission { recipe, kernels, shared, linked, .. } = emission;
    for (member, kernel) in recipe.members.iter().zip(kernels.iter()) {
        if member.kernel != kernel.hash {
            return Err(JitError::new("link", format!("kernel {} is not the one planned", kernel.name)));
        }
        linked.push(link::link(shared, recipe, member, kernel)?);
    }
    Ok(())
}

/// What a pass left.
pub(super) struct After<'a> {
    /// The pass.
    pub(super) pass: &'static str,
    /// How long it ran.
    pub(super) took: Duration,
    /// The module, which is complete only after the last pass, `finish`.
    pub(super) module: &'a Module,
    /// What the next pass takes; `None` after `finish`.
    emission: Option<&'a Emission<'a>>,
}

impl After<'_> {
    /// A complete module of what the pass left, for spirv-val: of a copy, finished as if no pass came behind. An emission without an entry
    /// point has one here that calls nothing.
    pub(super) fn finished(&self) -> Result<Module, JitError> {
        let Some(emission) = self.emission else { return Ok(self.module.clone()) };
        let mut copy = emission.clone();
        if copy.entry.is_none() {
            let blocks = entry::Blocks::new(&mut copy.shared.builder);
            copy.entry = Some(entry::finish(&mut copy.shared, blocks));
        }
        finish::run(copy)
    }
}

/// Sees what each pass leaves. An error ends emission.
pub(super) type Observer<'a> = dyn FnMut(&After<'_>) -> Result<(), JitError> + 'a;

/// Runs the passes that the recipe asks for.
pub(super) fn run(emission: &mut Emission<'_>, observer: &mut Observer<'_>) -> Result<(), JitError> {
    for pass in PIPELINE.iter().filter(|pass| (pass.wanted)(emission.recipe)) {
        let start = Instant::now();
        (pass.run)(emission)?;
        let (took, module) = (start.elapsed(), &emission.shared.builder.module);
        observer(&After { pass: pass.name, took, module, emission: Some(emission) })?;
    }
    Ok(())
}

/// Finishes the module ([`finish`]).
pub(super) fn finish(emission: Emission<'_>, observer: &mut Observer<'_>) -> Result<Module, JitError> {
    let start = Instant::now();
    let module = finish::run(emission)?;
    observer(&After { pass: "finish", took: start.elapsed(), module: &module, emission: None })?;
    Ok(module)
}
