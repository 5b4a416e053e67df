//! The finished module: interface, entry point, execution modes, version.
//!
//! # Requires
//! - an emission that has its entry point
//!
//! # Guarantees
//! - the module is complete: every variable is declared and decorated
//! - under [`FloatMode::Strict`], floats are those of the members wherever the module is compiled

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{ExecutionMode, ExecutionModel, Op, StorageClass};

use super::emission::Emission;
use super::shared::Shared;
use super::{JitError, entry};
use crate::frontend::controls;
use crate::frontend::pipeline::make_strict;
use crate::kernel::Specialized;
use crate::plan::recipe::Converges;
use crate::plan::{FloatMode, Step};

/// The module of an emission that all passes have run over.
pub(super) fn run(emission: Emission<'_>) -> Result<Module, JitError> {
    let entry = emission.entry()?;
    let Emission { recipe, kernels, floats, shared, .. } = emission;
    let Shared { mut builder, bindings, mut push, .. } = shared;
    let version = kernels.iter().map(|kernel| version_of(kernel)).max().unwrap_or((1, 3));
    let ordered = entry::ordered(recipe, kernels);
    bindings.decorate(&mut builder, &recipe.bindings, &ordered);
    // What passes on the IR load.
    let packed = recipe.schedule.packing().and_then(|how| how.total);
    let jammed = recipe.schedule.block_coarsening().and_then(|how| how.total);
    for slot in [packed, jammed, recipe.zero.filter(|_| recipe.shuffles)].into_iter().flatten() {
        push.reserve_u32(&mut builder, slot);
    }
    push.declare(&mut builder, recipe)?;
    let all = version >= (1, 4);
    let globals = builder.module.types_global_values.iter().filter(|inst| {
        let input = inst.operands.first() == Some(&Operand::StorageClass(StorageClass::Input));
        inst.class.opcode == Op::Variable && (all || input)
    });
    let interface: Vec<Operand> = globals.filter_map(|i| i.result_id).map(Operand::IdRef).collect();
    let mut operands = vec![
        Operand::ExecutionModel(ExecutionModel::GLCompute),
        Operand::IdRef(entry),
        Operand::LiteralString(Step::ENTRY.to_owned()),
    ];
    operands.extend(interface);
    let module = &mut builder.module;
    module.entry_points.push(Instruction::new(Op::EntryPoint, None, None, operands));
    let mut mode = vec![Operand::IdRef(entry), Operand::ExecutionMode(ExecutionMode::LocalSize)];
    mode.extend(recipe.schedule.local_size().map(Operand::LiteralBit32));
    module.execution_modes.push(Instruction::new(Op::ExecutionMode, None, None, mode));
    // The planner only groups kernels that agree on all other modes; those of floats are of members that have any.
    for normal in kernels.iter().filter_map(|k| k.normal.as_ref().ok()) {
        for mode in normal.modes.asked(&normal.module) {
            let mut mode = mode.clone();
            mode.operands[0] = Operand::IdRef(entry);
            if !module.execution_modes.contains(&mode) {
                module.execution_modes.push(mode);
            }
        }
    }
    if recipe.schedule.packing().is_some_and(|how| how.total.is_some())
        || recipe.converges == Some(Converges::Asked)
    {
        builder.extension("SPV_KHR_subgroup_uniform_control_flow");
        let module = &mut builder.module;
        let uniform = Operand::ExecutionMode(ExecutionMode::SubgroupUniformControlFlowKHR);
        let mode = Instruction::new(Op::ExecutionMode, None, None, vec![Operand::IdRef(entry), uniform]);
        if !module.execution_modes.contains(&mode) {
            module.execution_modes.push(mode);
        }
    }
    let mut module = builder.finish(version);
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
