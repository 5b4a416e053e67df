//! The finished module: interface, entry point, execution modes, version.
//!
//! # Requires
//! - an emission that has its entry point
//!
//! # Guarantees
//! - the module is complete: every variable is declared and decorated
//! - under [`FloatMode::Strict`], floats are those of the members wherever the module is compiled

use rspirv::dr::{self, Operand};
use rspirv::spirv::{ExecutionMode, ExecutionModel, Op, StorageClass};

use super::emission::Emission;
use super::shared::Shared;
use super::{JitError, entry};
use crate::frontend::controls;
use crate::frontend::pipeline::make_strict;
use crate::ir::{self, EntryPoint, GlobalArg, Mode};
use crate::kernel::Specialized;
use crate::plan::recipe::Converges;
use crate::plan::{FloatMode, Step};

/// The module of an emission that all passes have run over.
pub(super) fn run(emission: Emission<'_>) -> Result<dr::Module, JitError> {
    let entry = emission.entry()?;
    let Emission { recipe, kernels, floats, shared, .. } = emission;
    let Shared { mut module, bindings, mut push, .. } = shared;
    module.version = kernels.iter().map(|kernel| version_of(kernel)).max().unwrap_or((1, 3));
    let ordered = entry::ordered(recipe, kernels);
    bindings.decorate(&mut module, &recipe.bindings, &ordered);
    // What passes on the IR load.
    let packed = recipe.schedule.packing().and_then(|how| how.total);
    let jammed = recipe.schedule.block_coarsening().and_then(|how| how.total);
    for slot in [packed, jammed, recipe.zero.filter(|_| recipe.shuffles)].into_iter().flatten() {
        push.reserve_u32(&mut module, slot);
    }
    push.declare(&mut module, recipe)?;
    let is_named = |class: StorageClass| module.version >= (1, 4) || class == StorageClass::Input;
    let interface = module.declared().filter(|&global| is_named(module.globals[global].class)).collect();
    let (model, name) = (ExecutionModel::GLCompute, Step::ENTRY.to_owned());
    module.entry_points.push(EntryPoint { model, function: entry, name, interface });
    let mode = |operands: &[Operand]| {
        let operands = operands.iter().cloned().map(GlobalArg::Literal).collect();
        Mode { op: Op::ExecutionMode, function: entry, operands }
    };
    let size = recipe.schedule.local_size().map(Operand::LiteralBit32);
    let size = [&[Operand::ExecutionMode(ExecutionMode::LocalSize)][..], &size].concat();
    module.modes.push(mode(&size));
    // The planner only groups kernels that agree on all other modes; those of floats are of members that have any.
    let asked = kernels.iter().filter_map(|kernel| kernel.normal.as_ref().ok());
    let asked = asked.flat_map(|normal| normal.modes.asked(&normal.module));
    let mut asked: Vec<Mode> =
        asked.map(|inst| Mode { op: inst.class.opcode, ..mode(&inst.operands[1..]) }).collect();
    if recipe.schedule.packing().is_some_and(|how| how.total.is_some())
        || recipe.converges == Some(Converges::Asked)
    {
        module.extension("SPV_KHR_subgroup_uniform_control_flow");
        asked.push(mode(&[Operand::ExecutionMode(ExecutionMode::SubgroupUniformControlFlowKHR)]));
    }
    for mode in asked {
        if !module.modes.contains(&mode) {
            module.modes.push(mode);
        }
    }
    let mut module = ir::export(&module);
    if recipe.float == FloatMode::Strict {
        let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        make_strict(&names.join("+"), &mut module);
    }
    controls::ask(&mut module, floats);
    Ok(module)
}

fn version_of(kernel: &Specialized) -> (u8, u8) {
    let module = kernel.normal.as_ref().ok().map(|n| &n.module);
    module.and_then(|m| m.header.as_ref()).map_or((1, 3), |h| h.version())
}
