//! Passes of spirv-opt on a decoded module.
//!
//! No pass that the others ask for here computes with floats; those that do in SPIRV-Tools (simplification, constant
//! propagation, redundancy and strength passes) are out.

use rspirv::binary::Assemble;
use rspirv::dr::Module;
use spirv_tools::opt::Passes;

use crate::frontend::reason::KernelReason;
use crate::frontend::{load, tools};

/// The module after these passes.
pub(super) fn optimize(module: &Module, passes: &[Passes]) -> Result<Module, KernelReason> {
    let words = tools::optimize(&module.assemble(), passes)
        .map_err(|complaint| KernelReason::Optimizer(complaint.detail))?;
    load::module(&words).map_err(KernelReason::Optimizer)
}
