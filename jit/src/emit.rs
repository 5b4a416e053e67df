//! One fused kernel as SPIR-V: links the members, writes the entry point, checks the result.
//!
//! The same recipe gives the same words, byte for byte.

mod base;
mod builder;
mod coarsening;
mod entry;
mod hide;
mod ids;
mod interface;
mod interleave;
mod internal;
mod lanes;
mod late_stores;
mod link;
mod lockstep;
mod narrow;
mod packed;
mod push;
mod registers;
mod settled;
mod stages;
mod step;
mod unroll;
mod unused;
mod vectorize;
mod weak;

use std::sync::Arc;

use rspirv::binary::Assemble;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Capability, ExecutionMode, ExecutionModel, Op, StorageClass, Word};

use crate::frontend::{controls, pipeline, tools};
use crate::kernel::{FloatControls, Specialized};
use crate::plan::recipe::{Converges, Recipe};
use crate::plan::{FloatMode, Step};
use link::Shared;

pub use stages::Stage;

/// A defect of this crate: what a pass made does not stand. Never caused by a kernel alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("internal error in pass {pass}: {detail}")]
pub struct JitError {
    /// The pass.
    pub pass: &'static str,
    /// What is wrong.
    pub detail: String,
    /// The module as far as it got, for a bug report.
    pub words: Vec<u32>,
}

impl JitError {
    pub(crate) fn new(pass: &'static str, detail: impl Into<String>) -> Self {
        Self { pass, detail: detail.into(), words: Vec::new() }
    }
}

/// Builds the module of a recipe from the kernels it names, in order. It asks for `floats`.
pub(crate) fn emit(
    recipe: &Recipe,
    kernels: &[Arc<Specialized>],
    floats: FloatControls,
) -> Result<Vec<u32>, JitError> {
    emit_watched(recipe, kernels, floats, &mut |_, _| {})
}

/// As [`emit`], and shows `watch` the module after each stage, by the name of its file.
fn emit_watched(
    recipe: &Recipe,
    kernels: &[Arc<Specialized>],
    floats: FloatControls,
    watch: &mut dyn FnMut(&'static str, &Module),
) -> Result<Vec<u32>, JitError> {
    let mut builder = builder::Builder::new();
    let push = push::PushVariable::new(&mut builder, recipe);
    let mut shared = Shared {
        builder,
        inputs: ids::Inputs::default(),
        bindings: interface::Bindings::default(),
        push,
        internal: vec![None; recipe.internal.len()],
        kept: vec![None; recipe.kept.len()],
        halves: kernels.iter().any(|kernel| computes_with_halves(kernel)),
    };
    let mut linked = Vec::with_capacity(kernels.len());
    for (member, kernel) in recipe.members.iter().zip(kernels) {
        if member.kernel != kernel.hash {
            return Err(JitError::new("link", format!("kernel {} is not the one planned", kernel.name)));
        }
        linked.push(link::link(&mut shared, recipe, member, kernel)?);
    }
    watch("link", &shared.builder.module);
    let weaken = |shared: &mut Shared| {
        if let Some(size) = recipe.subgroup {
            weak::barriers(shared, size, recipe.local_size[0]);
        }
    };
    if recipe.narrow.is_none() {
        weaken(&mut shared);
        watch("weak", &shared.builder.module);
    }
    let mut entry = match recipe.coarsening {
        Some(coarsening) => coarsening::build(&mut shared, recipe, coarsening, &linked, kernels)?,
        None => entry::build(&mut shared, recipe, &linked),
    };
    watch(if recipe.coarsening.is_some() { "coarsening" } else { "entry" }, &shared.builder.module);
    if let Some(how) = recipe.interleave {
        entry = interleave::build(&mut shared, recipe, how, entry)?;
        watch("interleave", &shared.builder.module);
    }
    let mut local_size = recipe.local_size;
    let narrow = match recipe.narrow {
        Some(several) => narrow::build(&mut shared, recipe, several, entry)?.zip(recipe.narrow),
        None => None,
    };
    watch("narrow", &shared.builder.module);
    if let Some((made, several)) = narrow {
        entry = made;
        local_size[0] /= several;
        let size = recipe.subgroup.filter(|_| recipe.registers);
        let shuffles = size.filter(|&size| {
            registers::make(&mut shared, entry, (size, recipe.packed.is_some()), recipe.zero)
        });
        watch("registers", &shared.builder.module);
        match (recipe.packed, shuffles) {
            (Some(how), _) => {
                entry = packed::make(&mut shared, entry, how);
                local_size[0] *= how.groups;
            }
            (None, Some(size)) => lanes::make(&mut shared, entry, size, size),
            (None, None) => {}
        }
        watch("packed or lanes", &shared.builder.module);
    } else if recipe.packed.is_some() {
        return Err(JitError::new("packed", "work-groups that are not by fewer invocations"));
    } else if recipe.narrow.is_some() {
        weaken(&mut shared);
        watch("weak", &shared.builder.module);
    }
    if let Some(how) = recipe.lockstep
        && let Some((several, how)) = lockstep::build(&mut shared, recipe, how, entry)?
    {
        entry = several;
        local_size[usize::from(how.axis)] /= how.items;
    }
    watch("lockstep", &shared.builder.module);
    if let Some(size) = recipe.subgroup.filter(|_| narrow.is_none()) {
        lanes::make(&mut shared, entry, size, recipe.local_size[0]);
        watch("lanes", &shared.builder.module);
    }
    if let Some(most) = recipe.late_stores {
        late_stores::make(&mut shared, recipe, kernels, most);
        watch("late_stores", &shared.builder.module);
    }
    unused::drop(&mut shared.builder.module);
    watch("unused", &shared.builder.module);
    let version = kernels.iter().map(|k| version_of(k)).max().unwrap_or((1, 3));
    let mut module = finish(shared, recipe, kernels, (entry, local_size), version)?;
    controls::ask(&mut module, floats);
    watch("finish", &module);
    let mut words = module.assemble();
    if recipe.converges.is_some() && !mutant!(ReturnsStayApart) {
        words = match tools::merge_returns(&words) {
            Ok(merged) => merged,
            Err(complaint) => {
                return Err(JitError { words, ..JitError::new("merge-return", complaint.detail) });
            }
        };
    }
    verify(&words)?;
    Ok(words)
}

/// Whether a kernel has halves for more than memory.
fn computes_with_halves(kernel: &Specialized) -> bool {
    let module = kernel.normal.as_ref().ok().map(|normal| &normal.module);
    let halves = Operand::Capability(Capability::Float16);
    module.is_some_and(|m| m.capabilities.iter().any(|inst| inst.operands.contains(&halves)))
}

fn version_of(kernel: &Specialized) -> (u8, u8) {
    let module = kernel.normal.as_ref().ok().map(|n| &n.module);
    module.and_then(|m| m.header.as_ref()).map_or((1, 3), |h| h.version())
}

/// Whether spirv-val accepts a module that came from elsewhere: what is made here was asked of it when it was made.
pub fn is_valid(words: &[u32]) -> bool {
    tools::validate(words).is_ok()
}

/// Runs spirv-val over an emitted module, in every build of this crate: what it refuses never reaches a driver.
pub(crate) fn verify(words: &[u32]) -> Result<(), JitError> {
    tools::validate(words)
        .map_err(|complaint| JitError { words: words.to_vec(), ..JitError::new("verify", complaint.detail) })
}

fn finish(
    shared: Shared,
    recipe: &Recipe,
    kernels: &[Arc<Specialized>],
    (entry, local_size): (Word, [u32; 3]),
    version: (u8, u8),
) -> Result<Module, JitError> {
    let Shared { mut builder, bindings, push, .. } = shared;
    let ordered = entry::ordered(recipe, kernels);
    bindings.decorate(&mut builder, &recipe.bindings, &ordered);
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
    mode.extend(local_size.iter().map(|&n| Operand::LiteralBit32(n)));
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
    if recipe.packed.is_some_and(|how| how.total.is_some()) || recipe.converges == Some(Converges::Asked) {
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
        pipeline::make_strict(&names.join("+"), &mut module);
    }
    Ok(module)
}
