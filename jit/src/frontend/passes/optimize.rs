//! Passes of spirv-opt on a decoded module.
//!
//! No pass that the others ask for here computes with floats; those that do in SPIRV-Tools (simplification, constant
//! propagation, redundancy and strength passes) are out.
//!
//! Several passes leave a module alone that declares an extension they have no entry for. What says how a kernel runs, and not
//! what its instructions do, is taken out of the module while they run: execution modes, with the extensions and capabilities
//! that the validator asks for on their account.

use rspirv::binary::Assemble;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Capability, ExecutionMode};
use spirv_tools::opt::Passes;

use crate::frontend::reason::KernelReason;
use crate::frontend::{load, tools};

/// Extensions of execution modes.
const EXTENSIONS: [&str; 3] =
    ["SPV_KHR_float_controls", "SPV_KHR_maximal_reconvergence", "SPV_KHR_subgroup_uniform_control_flow"];

/// Their capabilities.
const CAPABILITIES: [Capability; 5] = [
    Capability::DenormPreserve,
    Capability::DenormFlushToZero,
    Capability::SignedZeroInfNanPreserve,
    Capability::RoundingModeRTE,
    Capability::RoundingModeRTZ,
];

/// The module after these passes.
pub(super) fn optimize(module: &Module, passes: &[Passes]) -> Result<Module, KernelReason> {
    let mut bare = module.clone();
    bare.extensions.retain(|inst| {
        !matches!(inst.operands.first(), Some(Operand::LiteralString(name)) if EXTENSIONS.contains(&name.as_str()))
    });
    bare.capabilities.retain(|inst| {
        !matches!(inst.operands.first(), Some(Operand::Capability(which)) if CAPABILITIES.contains(which))
    });
    let is_size =
        |inst: &Instruction| inst.operands.get(1) == Some(&Operand::ExecutionMode(ExecutionMode::LocalSize));
    bare.execution_modes.retain(is_size);
    let words = tools::optimize(&bare.assemble(), passes)
        .map_err(|complaint| KernelReason::Optimizer(complaint.detail))?;
    let mut optimized = load::module(&words).map_err(KernelReason::Optimizer)?;
    // None of the passes touches these.
    optimized.extensions.clone_from(&module.extensions);
    optimized.capabilities.clone_from(&module.capabilities);
    optimized.execution_modes.clone_from(&module.execution_modes);
    Ok(optimized)
}
