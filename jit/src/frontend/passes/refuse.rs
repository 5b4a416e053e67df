//! What the normal form cannot express, found before and after the passes on the IR run.
//!
//! # Requires
//! - for [`instructions`]: one function
//!
//! # Guarantees
//! - the later stages know every capability, mode, resource and instruction
//!
//! # Refuses
//! - capabilities outside the list below, unless nothing of them is used
//! - resources that are not single buffers, images or samplers; other memory models
//! - pointers into buffers, shared memory or push constants used other than by access chains, loads,
//!   stores and atomics
//! - volatile accesses; execution modes that concern a whole entry point; foreign instruction sets

use ahash::AHashMap;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{AddressingModel, Capability, Decoration, ExecutionMode, MemoryModel, Op};

use crate::frontend::defs::Defs;
use crate::frontend::opcodes;
use crate::frontend::pointers::{Roots, Touch, touch};
use crate::frontend::reason::KernelReason;
use crate::frontend::reflect::{BindingKind, models};
use crate::frontend::resource::{Kind, MIXED, Role, Variable, variables};
use crate::frontend::set_binding::SetBinding;

/// Capabilities whose instructions the later stages know.
const KNOWN: &[Capability] = &[
    Capability::Shader,
    Capability::Matrix,
    Capability::Float16,
    Capability::Float64,
    Capability::Int8,
    Capability::Int16,
    Capability::Int64,
    Capability::Int64Atomics,
    Capability::StorageBuffer8BitAccess,
    Capability::UniformAndStorageBuffer8BitAccess,
    Capability::StoragePushConstant8,
    Capability::StorageBuffer16BitAccess,
    Capability::UniformAndStorageBuffer16BitAccess,
    Capability::StoragePushConstant16,
    Capability::GroupNonUniform,
    Capability::GroupNonUniformVote,
    Capability::GroupNonUniformArithmetic,
    Capability::GroupNonUniformBallot,
    Capability::GroupNonUniformShuffle,
    Capability::GroupNonUniformShuffleRelative,
    Capability::GroupNonUniformClustered,
    Capability::GroupNonUniformQuad,
    Capability::GroupNonUniformRotateKHR,
    Capability::SubgroupBallotKHR,
    Capability::SubgroupVoteKHR,
    Capability::VulkanMemoryModel,
    Capability::VulkanMemoryModelDeviceScope,
    Capability::AtomicFloat16AddEXT,
    Capability::AtomicFloat32AddEXT,
    Capability::AtomicFloat64AddEXT,
    Capability::AtomicFloat16MinMaxEXT,
    Capability::AtomicFloat32MinMaxEXT,
    Capability::AtomicFloat64MinMaxEXT,
    Capability::DotProduct,
    Capability::DotProductInputAll,
    Capability::DotProductInput4x8Bit,
    Capability::DotProductInput4x8BitPacked,
    Capability::DenormPreserve,
    Capability::DenormFlushToZero,
    Capability::SignedZeroInfNanPreserve,
    Capability::RoundingModeRTE,
    Capability::RoundingModeRTZ,
    Capability::ExpectAssumeKHR,
    // Compilers declare these for what they might have used. Their use is refused by resource or by
    // instruction, not by declaration.
    Capability::ImageQuery,
    Capability::ImageGatherExtended,
    Capability::ImageCubeArray,
    Capability::SampledCubeArray,
    Capability::ImageMSArray,
    Capability::StorageImageMultisample,
    Capability::Sampled1D,
    Capability::Image1D,
    Capability::SampledBuffer,
    Capability::ImageBuffer,
    Capability::StorageImageExtendedFormats,
    Capability::StorageImageReadWithoutFormat,
    Capability::StorageImageWriteWithoutFormat,
    Capability::ShaderNonUniform,
    Capability::RuntimeDescriptorArray,
    Capability::UniformBufferArrayDynamicIndexing,
    Capability::StorageBufferArrayDynamicIndexing,
    Capability::StorageBufferArrayNonUniformIndexing,
    Capability::UniformBufferArrayNonUniformIndexing,
    Capability::VariablePointersStorageBuffer,
    Capability::VariablePointers,
    // Which memory such a kernel touches is unknown to the planner, which therefore lets it run alone or trusts the user.
    Capability::PhysicalStorageBufferAddresses,
];

/// Checks what is declared: capabilities, models, modes, resources.
pub(in crate::frontend) fn declarations(module: &Module) -> Result<(), KernelReason> {
    let (addressing, memory) = models(module);
    if !matches!(addressing, AddressingModel::Logical | AddressingModel::PhysicalStorageBuffer64) {
        return Err(KernelReason::AddressingModel(format!("{addressing:?}")));
    }
    if !matches!(memory, MemoryModel::GLSL450 | MemoryModel::Vulkan) {
        return Err(KernelReason::MemoryModel(format!("{memory:?}")));
    }
    let defs = Defs::new(module);
    let variables = variables(module, &defs);
    for variable in &variables {
        resource(variable)?;
    }
    mixed(&variables)?;
    for inst in &module.capabilities {
        if let Some(Operand::Capability(capability)) = inst.operands.first()
            && !KNOWN.contains(capability)
        {
            return Err(KernelReason::Capability(format!("{capability:?}")));
        }
    }
    for inst in &module.ext_inst_imports {
        match inst.operands.first() {
            Some(Operand::LiteralString(name)) if name == "GLSL.std.450" => {}
            Some(Operand::LiteralString(name)) => {
                return Err(KernelReason::InstructionSet(name.clone()));
            }
            _ => {}
        }
    }
    for inst in &module.execution_modes {
        execution_mode(inst)?;
    }
    Ok(())
}

fn execution_mode(inst: &Instruction) -> Result<(), KernelReason> {
    let Some(Operand::ExecutionMode(mode)) = inst.operands.get(1) else {
        return Ok(());
    };
    let known = matches!(
        mode,
        ExecutionMode::LocalSize
            | ExecutionMode::DenormPreserve
            | ExecutionMode::DenormFlushToZero
            | ExecutionMode::SignedZeroInfNanPreserve
            | ExecutionMode::RoundingModeRTE
            | ExecutionMode::RoundingModeRTZ
            | ExecutionMode::SubgroupUniformControlFlowKHR
            | ExecutionMode::MaximallyReconvergesKHR
    );
    if known && inst.class.opcode == Op::ExecutionMode {
        Ok(())
    } else {
        Err(KernelReason::ExecutionMode(format!("{mode:?}")))
    }
}

fn resource(variable: &Variable) -> Result<(), KernelReason> {
    match variable.role {
        Role::Resource { at, array: Some(_), .. } => Err(KernelReason::DescriptorArray { at }),
        // What is a buffer to one kernel and texels to another has no common unit of places.
        Role::Resource { kind: Kind::Other(kind), .. }
            if BindingKind::Other(kind).texture().is_some_and(|kind| !kind.is_texels()) =>
        {
            Ok(())
        }
        Role::Resource { at, kind: Kind::Other(kind), .. } => Err(KernelReason::Resource { at, kind }),
        Role::Other => {
            Err(KernelReason::Instruction("a global variable of an unknown storage class".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Whether variables of different kinds share a binding.
fn mixed(variables: &[Variable]) -> Result<(), KernelReason> {
    let mut kinds: AHashMap<SetBinding, Kind> = AHashMap::new();
    for variable in variables {
        if let Role::Resource { at, kind, .. } = variable.role
            && *kinds.entry(at).or_insert(kind) != kind
        {
            return Err(KernelReason::Resource { at, kind: MIXED });
        }
    }
    Ok(())
}

/// Checks what the single function of a normalised module does.
pub(in crate::frontend) fn instructions(module: &Module) -> Result<(), KernelReason> {
    let defs = Defs::new(module);
    let variables = variables(module, &defs);
    let memory: Vec<Variable> = variables
        .into_iter()
        .filter(|variable| matches!(variable.role, Role::Resource { .. } | Role::Push | Role::Workgroup))
        .collect();
    let at = |id: u32| {
        memory.iter().find(|variable| variable.id == id).and_then(|variable| match variable.role {
            Role::Resource { at, .. } => Some(at),
            _ => None,
        })
    };
    for variable in &memory {
        if defs.decorated_anywhere(variable.id, Decoration::Volatile)
            || defs.decorated_anywhere(variable.ty, Decoration::Volatile)
        {
            return Err(KernelReason::Volatile { at: at(variable.id) });
        }
    }
    let roots = Roots::trace(module, memory.iter().map(|variable| variable.id));
    for inst in module.functions.iter().flat_map(|f| f.all_inst_iter()) {
        instruction(inst, &roots, &at)?;
    }
    Ok(())
}

fn instruction(
    inst: &Instruction,
    roots: &Roots,
    at: &impl Fn(u32) -> Option<SetBinding>,
) -> Result<(), KernelReason> {
    let op = inst.class.opcode;
    if op == Op::FunctionCall {
        return Err(KernelReason::Call);
    }
    if opcodes::has(op, opcodes::REFUSED) {
        return Err(KernelReason::Instruction(format!("Op{op:?}")));
    }
    for (index, operand) in inst.operands.iter().enumerate() {
        let pointed = operand.id_ref_any().map_or(&[][..], |id| roots.of(id));
        let Some(root) = pointed.first() else {
            continue;
        };
        if touch(inst, index) == Touch::Escapes {
            return Err(KernelReason::VariablePointer { at: at(*root), op: format!("Op{op:?}") });
        }
        if opcodes::is_volatile(inst) {
            return Err(KernelReason::Volatile { at: at(*root) });
        }
    }
    Ok(())
}
