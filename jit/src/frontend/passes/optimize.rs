//! Passes of spirv-opt on a decoded module.
//!
//! No pass that the others ask for here computes with floats; those that do in SPIRV-Tools (simplification, constant
//! propagation, redundancy and strength passes) are out.
//!
//! Extensions are taken out of the module while the passes run: several of them leave a module alone that declares an extension
//! they have no entry for, even one of which it uses nothing. Capabilities stay, and those of the modules that come here are
//! all known (`refuse`): none gives a load, a store or a variable of the invocation another meaning.

use rspirv::binary::Assemble;
use rspirv::dr::Module;
use spirv_tools::opt::Passes;

use crate::frontend::reason::KernelReason;
use crate::frontend::{load, tools};

/// The module after these passes.
pub(super) fn optimize(module: &Module, passes: &[Passes]) -> Result<Module, KernelReason> {
    let mut bare = module.clone();
    let extensions = std::mem::take(&mut bare.extensions);
    let words = tools::optimize(&bare.assemble(), passes)
        .map_err(|complaint| KernelReason::Optimizer(complaint.detail))?;
    let mut optimized = load::module(&words).map_err(KernelReason::Optimizer)?;
    optimized.extensions = extensions;
    Ok(optimized)
}
