//! The module of one step of a plan.

use std::sync::Arc;

use rspirv::binary::Assemble;
use rspirv::spirv::Op;

use super::link::seam::make_volatile;
use super::{JitError, base};
use crate::frontend::{controls, load, pipeline};
use crate::kernel::{FloatControls, Specialized};
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
                let closed = match float {
                    FloatMode::Strict => own_loads_closed(kernel)?,
                    FloatMode::Contract => None,
                };
                let words = match float {
                    FloatMode::Strict => closed.as_ref().unwrap_or(&kernel.plain.strict),
                    FloatMode::Contract => &kernel.plain.contract,
                };
                plain(words, self.floats, *base, kernel.interface.local_size)
            }
            Source::Fused { kernels, recipe } => super::emit(recipe, kernels, self.floats).map(Into::into),
        }
    }
}

/// What runs unfused of a kernel that may load what it stored itself, if its floats are not plain: its normal form, in which
/// these loads are volatile. How far a driver sees through a store depends on what it knows of the memory, and of a fused
/// kernel it knows more; there they are hidden (`plan::seam`).
fn own_loads_closed(kernel: &Specialized) -> Result<Option<Vec<u32>>, JitError> {
    let Ok(normal) = &kernel.normal else { return Ok(None) };
    if !normal.own_loads().contains(&true) {
        return Ok(None);
    }
    let mut module = normal.module.clone();
    let Some(function) = module.functions.first_mut() else { return Ok(None) };
    let own = normal.own_loads().iter().zip(&normal.analysis.accesses).filter(|(own, _)| **own);
    for (block, at) in own.map(|(_, access)| access.at) {
        let load = function.blocks.get_mut(block).and_then(|block| block.instructions.get_mut(at));
        if let Some(load) = load.filter(|load| load.class.opcode == Op::Load) {
            make_volatile(&mut load.operands);
        }
    }
    pipeline::make_strict(&kernel.name, &mut module);
    let words = module.assemble();
    super::verify(&words)?;
    Ok(Some(words))
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
