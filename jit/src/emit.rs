//! Emission: the SPIR-V module of one recipe.
//!
//! `pipeline` lists the passes; each file here is a pass, or a part that several share. `finish` declares the interface and the entry point, and the passes
//! in `passes` run on the IR after it. The module is validated before anything else sees it. The same recipe gives the same words, byte for byte.

mod base;
mod emission;
mod entry;
mod error;
mod finish;
mod hide;
mod ids;
mod interface;
mod internal;
mod link;
mod passes;
mod pipeline;
mod push;
mod shared;
mod stages;
mod step;

use std::sync::Arc;

use rspirv::binary::Assemble;

use crate::frontend::tools;
use crate::kernel::{FloatControls, Specialized};
use crate::plan::recipe::Recipe;
use crate::schedule::Demands;
use emission::Emission;
use pipeline::Observer;

pub use error::JitError;
pub use stages::Stage;

/// Builds the module of a recipe from the kernels it names, in order. It asks for `floats`.
pub(crate) fn emit(
    recipe: &Recipe,
    kernels: &[Arc<Specialized>],
    floats: FloatControls,
) -> Result<Vec<u32>, JitError> {
    emit_observed(recipe, kernels, floats, &mut |_| Ok(()))
}

/// As [`emit`]; `observer` sees what each pass leaves.
fn emit_observed(
    recipe: &Recipe,
    kernels: &[Arc<Specialized>],
    floats: FloatControls,
    observer: &mut Observer<'_>,
) -> Result<Vec<u32>, JitError> {
    let demands = Demands::of(kernels, !recipe.barriers.is_empty(), recipe.behind.is_some());
    let demands = demands.with_vectors(recipe.members.iter().map(|member| member.wide.as_slice()));
    let illegal = |why| JitError::new("schedule", format!("{}: {why}", recipe.schedule));
    recipe.schedule.legal(demands).map_err(illegal)?;
    let words = pipeline::run(Emission::new(recipe, kernels, floats), observer)?.assemble();
    verify(&words)?;
    Ok(words)
}

/// Whether spirv-val accepts a module that comes from elsewhere; false if there is no spirv-val. Modules that are emitted here were validated then.
pub fn is_valid(words: &[u32]) -> bool {
    tools::is_validated() && tools::validate(words).is_ok()
}

/// Runs spirv-val, where there is one, over an emitted module, in every build of this crate: what it refuses never reaches a driver.
pub(crate) fn verify(words: &[u32]) -> Result<(), JitError> {
    tools::validate(words)
        .map_err(|complaint| JitError { words: words.to_vec(), ..JitError::new("verify", complaint.detail) })
}
