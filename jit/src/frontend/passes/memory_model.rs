//! Rewrites the Vulkan memory model as GLSL450, so that kernels of both can stand in one module.
//!
//! Under the Vulkan model an access, a barrier and an atomic operation each state what they make available and visible.
//! GLSL450 has no such operands: no access is private there, a `Coherent` variable is available and visible to the queue
//! family at each access, and a barrier or an ordered atomic operation covers all accesses of its storage classes. So
//! dropping the operands and decorating the variables guarantees at least what the module asked for.
//!
//! # Guarantees
//! - the memory model is GLSL450, and no instruction has an operand that only the Vulkan model has
//! - a storage buffer or storage image is `Coherent` if one of its accesses states availability or visibility, or if one is
//!   not private and the module orders buffer or image memory
//! - the scope of the queue family is written as `Device`, which means that without the Vulkan model
//!
//! # Refuses
//! - `Volatile` memory semantics and texels
//! - device addresses with accesses that others see: no variable carries the decoration
//!
//! # Leaves alone
//! - modules of other memory models; `Volatile` accesses, which are refused later

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{
    Capability, Decoration, ImageOperands, MemoryAccess, MemoryModel, MemorySemantics, Op, Scope,
    StorageClass,
};

use crate::frontend::additions::Additions;
use crate::frontend::defs::Defs;
use crate::frontend::pointers::Roots;
use crate::frontend::reason::KernelReason;
use crate::frontend::reflect::models;
use crate::frontend::resource::{self, Kind, Role, variables};
use crate::frontend::set_binding::SetBinding;

/// The extension that has the model before SPIR-V 1.5.
const EXTENSION: &str = "SPV_KHR_vulkan_memory_model";

/// What an access may state of itself in the Vulkan model alone.
const SHARES: MemoryAccess = MemoryAccess::MAKE_POINTER_AVAILABLE.union(MemoryAccess::MAKE_POINTER_VISIBLE);
const OF_THE_MODEL: MemoryAccess = SHARES.union(MemoryAccess::NON_PRIVATE_POINTER);

/// The same of a texel.
const SHARES_TEXEL: ImageOperands =
    ImageOperands::MAKE_TEXEL_AVAILABLE.union(ImageOperands::MAKE_TEXEL_VISIBLE);
const TEXEL_OF_THE_MODEL: ImageOperands = SHARES_TEXEL.union(ImageOperands::NON_PRIVATE_TEXEL);

/// Semantics that order anything.
const ORDERS: MemorySemantics = MemorySemantics::ACQUIRE
    .union(MemorySemantics::RELEASE)
    .union(MemorySemantics::ACQUIRE_RELEASE)
    .union(MemorySemantics::SEQUENTIALLY_CONSISTENT);
/// What can be bound and written.
const BOUND: MemorySemantics = MemorySemantics::UNIFORM_MEMORY.union(MemorySemantics::IMAGE_MEMORY);
/// All storage classes that GLSL450 orders.
const CLASSES: MemorySemantics = BOUND
    .union(MemorySemantics::SUBGROUP_MEMORY)
    .union(MemorySemantics::WORKGROUP_MEMORY)
    .union(MemorySemantics::CROSS_WORKGROUP_MEMORY)
    .union(MemorySemantics::ATOMIC_COUNTER_MEMORY);

/// How an access takes part in what invocations exchange.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sharing {
    /// It does not.
    Private,
    /// Through barriers and ordered atomic operations.
    NonPrivate,
    /// By its own availability or visibility operation.
    Stated,
}

/// Rewrites the module if it declares the Vulkan memory model.
pub(in crate::frontend) fn run(module: &mut Module) -> Result<(), KernelReason> {
    if models(module).1 != MemoryModel::Vulkan {
        return Ok(());
    }
    let coherent = coherent(module)?;
    let constants = constants(module);
    for block in module.functions.iter_mut().flat_map(|function| &mut function.blocks) {
        block.instructions.iter_mut().for_each(|inst| rewrite(inst, &constants.operands));
        block.instructions.retain(|inst| !constants.is_empty_barrier(inst));
    }
    for variable in coherent {
        let operands = vec![Operand::IdRef(variable), Operand::Decoration(Decoration::Coherent)];
        module.annotations.push(Instruction::new(Op::Decorate, None, None, operands));
    }
    declare(module);
    Ok(())
}

/// The bits of a memory-semantics operand.
fn semantics(defs: &Defs<'_>, id: u32) -> MemorySemantics {
    let bits = defs.constant(id).and_then(|bits| u32::try_from(bits).ok());
    bits.map_or(MemorySemantics::all(), MemorySemantics::from_bits_truncate)
}

/// The variables that have to be `Coherent`, in order.
fn coherent(module: &Module) -> Result<Vec<u32>, KernelReason> {
    let defs = Defs::new(module);
    let variables = variables(module, &defs);
    let resources: AHashMap<u32, (SetBinding, Kind)> = variables
        .iter()
        .filter_map(|variable| match variable.role {
            Role::Resource { at, kind, .. } => Some((variable.id, (at, kind))),
            _ => None,
        })
        .collect();
    let roots = Roots::trace_handles(module, resources.keys().copied());
    let insts = || module.functions.iter().flat_map(|function| function.all_inst_iter());
    let bound =
        |inst: &Instruction| -> Vec<u32> { accessed(inst).flat_map(|id| roots.of(id)).copied().collect() };
    let mut orders = false;
    for inst in insts() {
        for operand in &inst.operands {
            if let Operand::IdMemorySemantics(id) = operand {
                let semantics = semantics(&defs, *id);
                if semantics.contains(MemorySemantics::VOLATILE) {
                    let at = bound(inst).first().map(|id| resources[id].0);
                    return Err(KernelReason::Volatile { at });
                }
                orders |= semantics.intersects(ORDERS) && semantics.intersects(BOUND);
            }
        }
    }
    let threshold =
        if orders && !mutant!(VulkanBarriersOrderNothing) { Sharing::NonPrivate } else { Sharing::Stated };
    let mut found: AHashSet<u32> = AHashSet::new();
    for inst in insts() {
        if volatile_texel(inst) {
            let at = bound(inst).first().map(|id| resources[id].0);
            return Err(KernelReason::Volatile { at });
        }
        if sharing(inst) < threshold || mutant!(VulkanModelIsPrivate) {
            continue;
        }
        if leads_to_an_address(inst, &defs) {
            let detail = "Vulkan, and shares what device addresses lead to".to_owned();
            return Err(KernelReason::MemoryModel(detail));
        }
        found.extend(bound(inst));
    }
    let is_storage = |id: &u32| {
        let kind = resources.get(id).map(|(_, kind)| *kind);
        matches!(
            kind,
            Some(Kind::StorageBuffer | Kind::Other(resource::STORAGE_IMAGE | resource::STORAGE_TEXELS))
        )
    };
    let ids = variables.iter().map(|variable| variable.id);
    Ok(ids.filter(|id| found.contains(id) && is_storage(id)).collect())
}

fn sharing(inst: &Instruction) -> Sharing {
    let of = |stated: bool, non_private: bool| match (stated, non_private) {
        (true, _) => Sharing::Stated,
        (false, true) => Sharing::NonPrivate,
        (false, false) => Sharing::Private,
    };
    let each = inst.operands.iter().map(|operand| match operand {
        Operand::MemoryAccess(access) => {
            of(access.intersects(SHARES), access.contains(MemoryAccess::NON_PRIVATE_POINTER))
        }
        Operand::ImageOperands(texel) => {
            of(texel.intersects(SHARES_TEXEL), texel.contains(ImageOperands::NON_PRIVATE_TEXEL))
        }
        _ => Sharing::Private,
    });
    each.max().unwrap_or(Sharing::Private)
}

fn volatile_texel(inst: &Instruction) -> bool {
    inst.operands.iter().any(|operand| {
        matches!(operand, Operand::ImageOperands(texel) if texel.contains(ImageOperands::VOLATILE_TEXEL))
    })
}

/// Whether an access goes to memory that no variable stands for.
fn leads_to_an_address(inst: &Instruction, defs: &Defs<'_>) -> bool {
    let class = |id| Some(defs.pointer(defs.type_of(id)?)?.0);
    accessed(inst).any(|id| class(id) == Some(StorageClass::PhysicalStorageBuffer))
}

/// The pointers, or the image, that an instruction accesses.
fn accessed(inst: &Instruction) -> impl Iterator<Item = u32> + '_ {
    let count = if inst.class.opcode == Op::CopyMemory { 2 } else { 1 };
    inst.operands.iter().take(count).filter_map(Operand::id_ref_any)
}

/// The constants that take the place of scopes and semantics.
#[derive(Default)]
struct Constants {
    /// By the operand that they replace.
    operands: AHashMap<Operand, Operand>,
    /// New semantics that order nothing.
    nothing: Vec<Operand>,
}

impl Constants {
    /// Whether it is a memory barrier that orders nothing since its semantics were rewritten.
    fn is_empty_barrier(&self, inst: &Instruction) -> bool {
        inst.class.opcode == Op::MemoryBarrier && inst.operands.iter().any(|it| self.nothing.contains(it))
    }
}

fn constants(module: &mut Module) -> Constants {
    let mut wanted: Vec<(Operand, u32, u32)> = Vec::new();
    {
        let defs = Defs::new(module);
        let operands =
            module.functions.iter().flat_map(|f| f.all_inst_iter()).flat_map(|inst| &inst.operands);
        for operand in operands {
            let (id, value) = match operand {
                Operand::IdScope(id) if defs.constant(*id) == Some(Scope::QueueFamily as u64) => {
                    (*id, Scope::Device as u32)
                }
                Operand::IdMemorySemantics(id) => {
                    let old = semantics(&defs, *id);
                    let mut new = old & (ORDERS | CLASSES);
                    // An order of nothing is not valid.
                    if !new.intersects(CLASSES) || !new.intersects(ORDERS) {
                        new = MemorySemantics::empty();
                    }
                    if new == old {
                        continue;
                    }
                    (*id, new.bits())
                }
                _ => continue,
            };
            if let Some(ty) = defs.type_of(id)
                && !wanted.iter().any(|(known, _, _)| known == operand)
            {
                wanted.push((operand.clone(), ty, value));
            }
        }
    }
    let mut constants = Constants::default();
    let Some(mut added) = Additions::to(module) else { return constants };
    for (operand, ty, value) in wanted {
        let id = added.global(Op::Constant, Some(ty), vec![Operand::LiteralBit32(value)]);
        let new = match operand {
            Operand::IdScope(_) => Operand::IdScope(id),
            _ => Operand::IdMemorySemantics(id),
        };
        if matches!(new, Operand::IdMemorySemantics(_)) && value == 0 {
            constants.nothing.push(new.clone());
        }
        constants.operands.insert(operand, new);
    }
    added.finish(module);
    constants
}

/// Takes out what only the Vulkan model says.
fn rewrite(inst: &mut Instruction, constants: &AHashMap<Operand, Operand>) {
    let (mut was_masked, is_copy) = (false, inst.class.opcode == Op::CopyMemory);
    for operand in &mut inst.operands {
        match operand {
            Operand::MemoryAccess(access) => {
                was_masked |= access.intersects(SHARES);
                access.remove(OF_THE_MODEL);
            }
            Operand::ImageOperands(texel) => {
                was_masked |= texel.intersects(SHARES_TEXEL);
                texel.remove(TEXEL_OF_THE_MODEL);
            }
            _ => {}
        }
    }
    // Accesses have no other scopes than those of the operands that are gone.
    if was_masked {
        inst.operands.retain(|operand| !matches!(operand, Operand::IdScope(_)));
    }
    inst.operands.retain(|operand| match operand {
        // The first of two masks says which one the second is.
        Operand::MemoryAccess(access) => !access.is_empty() || is_copy,
        Operand::ImageOperands(texel) => !texel.is_empty(),
        _ => true,
    });
    for operand in &mut inst.operands {
        if let Some(new) = constants.get(operand) {
            *operand = new.clone();
        }
    }
}

fn declare(module: &mut Module) {
    let gone = [Capability::VulkanMemoryModel, Capability::VulkanMemoryModelDeviceScope];
    module.capabilities.retain(|inst| {
        !matches!(inst.operands.first(), Some(Operand::Capability(capability)) if gone.contains(capability))
    });
    let extension = Operand::LiteralString(EXTENSION.to_owned());
    module.extensions.retain(|inst| !inst.operands.contains(&extension));
    if let Some(model) = &mut module.memory_model
        && let Some(memory) = model.operands.get_mut(1)
    {
        *memory = Operand::MemoryModel(MemoryModel::GLSL450);
    }
}
