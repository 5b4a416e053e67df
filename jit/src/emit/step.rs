//! The module of one step of a plan.

use std::sync::Arc;

use rspirv::binary::Assemble;

use super::JitError;
use crate::frontend::{controls, load};
use crate::kernel::FloatControls;
use crate::plan::step::Source;
use crate::plan::{FloatMode, Step};

impl Step {
    /// The SPIR-V of this step. The only slow part of planning: call it on a cache miss.
    ///
    /// # Errors
    /// A [`JitError`] is a defect of this crate, never of the kernels; it names the pass.
    pub fn build(&self) -> Result<Arc<[u32]>, JitError> {
        match &self.source {
            Source::Plain { kernel, float } => match float {
                FloatMode::Strict => controlled(&kernel.plain.strict, self.floats),
                FloatMode::Contract => Ok(kernel.plain.contract.as_slice().into()),
            },
            Source::Fused { kernels, recipe } => super::emit(recipe, kernels, self.floats).map(Into::into),
        }
    }
}

/// A module that asks for float controls.
fn controlled(words: &[u32], floats: FloatControls) -> Result<Arc<[u32]>, JitError> {
    if floats.is_empty() {
        return Ok(words.into());
    }
    let mut module = load::module(words).map_err(|detail| JitError::new("float controls", detail))?;
    controls::ask(&mut module, floats);
    Ok(module.assemble().into())
}
