//! The module of one step of a plan.

use std::sync::Arc;

use rspirv::binary::Assemble;

use super::{JitError, base};
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
            Source::Plain { kernel, float, base } => {
                let words = match float {
                    FloatMode::Strict => &kernel.plain.strict,
                    FloatMode::Contract => &kernel.plain.contract,
                };
                plain(words, self.floats, *base, kernel.interface.local_size)
            }
            Source::Fused { kernels, recipe } => super::emit(recipe, kernels, self.floats).map(Into::into),
        }
    }
}

/// The user's module, which asks for float controls, and whose work-groups are counted from `base` on.
fn plain(
    words: &[u32],
    floats: FloatControls,
    base: [u32; 3],
    local_size: [u32; 3],
) -> Result<Arc<[u32]>, JitError> {
    if floats.is_empty() && base == [0; 3] {
        return Ok(words.into());
    }
    let mut module = load::module(words).map_err(|detail| JitError::new("plain module", detail))?;
    controls::ask(&mut module, floats);
    if base != [0; 3] {
        base::start_at(&mut module, base, local_size)?;
        let words = module.assemble();
        super::verify(&words)?;
        return Ok(words.into());
    }
    Ok(module.assemble().into())
}
