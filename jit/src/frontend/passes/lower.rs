//! Brings older and rarer spellings to the one that later stages see.
//!
//! # Guarantees
//! - storage buffers are `Block` structures in the `StorageBuffer` class; the older spelling
//!   (`BufferBlock` in `Uniform`, SPIR-V 1.0 to 1.2) is converted, pointer types included
//! - no `OpCopyMemory`: it is a load and a store
//! - types stand before what is made of them; there is no `OpTypeForwardPointer`
//! - the version is 1.3 or later, function control masks are empty
//!
//! # Requires
//! - for the storage class: one function, so that no pointer is a parameter

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, FunctionControl, Op, StorageClass};

use crate::frontend::defs::Defs;
use crate::frontend::reason::KernelReason;
use crate::frontend::resource::{Kind, Role, variables};

/// The lowest version in which the normal form can be written without extensions: Vulkan 1.1's.
const FLOOR: (u8, u8) = (1, 3);

/// Replaces copies and removes hints that would keep the optimizer from inlining. Runs before it.
pub(in crate::frontend) fn before_inlining(module: &mut Module) {
    for function in &mut module.functions {
        if let Some(def) = &mut function.def {
            for operand in &mut def.operands {
                if let Operand::FunctionControl(control) = operand {
                    *control = FunctionControl::NONE;
                }
            }
        }
    }
    expand_copies(module);
}

/// Makes an id that is free in a module.
fn fresh(bound: &mut u32) -> u32 {
    let id = *bound;
    *bound += 1;
    id
}

fn expand_copies(module: &mut Module) {
    let Some(mut bound) = module.header.as_ref().map(|header| header.bound) else {
        return;
    };
    let pointees: AHashMap<u32, u32> = {
        let defs = Defs::new(module);
        let copies = module
            .functions
            .iter()
            .flat_map(|f| f.all_inst_iter())
            .filter(|inst| inst.class.opcode == Op::CopyMemory);
        let sources = copies.filter_map(|inst| inst.operands.get(1)?.id_ref_any());
        sources.filter_map(|id| Some((id, defs.pointer(defs.type_of(id)?)?.1))).collect()
    };
    if pointees.is_empty() {
        return;
    }
    for block in module.functions.iter_mut().flat_map(|f| &mut f.blocks) {
        let mut out = Vec::with_capacity(block.instructions.len());
        for inst in block.instructions.drain(..) {
            match copy_parts(&inst, &pointees) {
                Some((target, source, ty, access)) => {
                    let value = fresh(&mut bound);
                    let (store, load) = access;
                    let mut operands = vec![Operand::IdRef(source)];
                    operands.extend(load);
                    out.push(Instruction::new(Op::Load, Some(ty), Some(value), operands));
                    let mut operands = vec![Operand::IdRef(target), Operand::IdRef(value)];
                    operands.extend(store);
                    out.push(Instruction::new(Op::Store, None, None, operands));
                }
                None => out.push(inst),
            }
        }
        block.instructions = out;
    }
    if let Some(header) = &mut module.header {
        header.bound = bound;
    }
}

/// Memory operands of the write and of the read.
type Access = (Vec<Operand>, Vec<Operand>);

fn copy_parts(inst: &Instruction, pointees: &AHashMap<u32, u32>) -> Option<(u32, u32, u32, Access)> {
    if inst.class.opcode != Op::CopyMemory {
        return None;
    }
    let target = inst.operands.first()?.id_ref_any()?;
    let source = inst.operands.get(1)?.id_ref_any()?;
    let ty = *pointees.get(&source)?;
    let rest = &inst.operands[2..];
    let is_mask = |operand: &Operand| matches!(operand, Operand::MemoryAccess(_));
    let second = rest.iter().skip(1).position(is_mask).map(|at| at + 1);
    let access = match second {
        // Two masks: the first is the target's (SPIR-V 1.4).
        Some(at) => (rest[..at].to_vec(), rest[at..].to_vec()),
        // Availability belongs to writes only and visibility to reads only, so a single mask cannot
        // carry either, and the rest of it may go on both.
        None => (rest.to_vec(), rest.to_vec()),
    };
    Some((target, source, ty, access))
}

/// Converts storage buffers of the older spelling. Runs after inlining.
pub(in crate::frontend) fn storage_class(module: &mut Module) {
    let (buffers, blocks) = {
        let defs = Defs::new(module);
        let legacy = variables(module, &defs).into_iter().filter(|variable| {
            matches!(variable.role, Role::Resource { kind: Kind::StorageBuffer, .. })
                && defs.decoration(variable.ty, Decoration::BufferBlock).is_some()
        });
        let pairs: Vec<(u32, u32)> = legacy.map(|variable| (variable.id, variable.ty)).collect();
        let buffers: AHashSet<u32> = pairs.iter().map(|(id, _)| *id).collect();
        let blocks: AHashSet<u32> = pairs.iter().map(|(_, ty)| *ty).collect();
        (buffers, blocks)
    };
    if buffers.is_empty() {
        return;
    }
    for inst in &mut module.annotations {
        let ours = inst.operands.first().and_then(Operand::id_ref_any);
        for operand in &mut inst.operands {
            if *operand == Operand::Decoration(Decoration::BufferBlock)
                && ours.is_some_and(|id| blocks.contains(&id))
            {
                *operand = Operand::Decoration(Decoration::Block);
            }
        }
    }
    retype(module, &buffers);
}

/// Gives the variables, and every access chain from them, pointer types of the `StorageBuffer` class.
fn retype(module: &mut Module, buffers: &AHashSet<u32>) {
    let Some(mut bound) = module.header.as_ref().map(|header| header.bound) else {
        return;
    };
    let mut renamed: AHashMap<u32, u32> = AHashMap::new();
    let mut pointers = buffers.clone();
    let mut renew = |ty: &mut Option<u32>| {
        if let Some(ty) = ty {
            *ty = *renamed.entry(*ty).or_insert_with(|| fresh(&mut bound));
        }
    };
    for inst in &mut module.types_global_values {
        if inst.result_id.is_some_and(|id| buffers.contains(&id)) {
            renew(&mut inst.result_type);
            inst.operands[0] = Operand::StorageClass(StorageClass::StorageBuffer);
        }
    }
    for inst in module.functions.iter_mut().flat_map(|f| f.all_inst_iter_mut()) {
        let derives = matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject);
        let base = inst.operands.first().and_then(Operand::id_ref_any);
        if derives && base.is_some_and(|id| pointers.contains(&id)) {
            renew(&mut inst.result_type);
            pointers.extend(inst.result_id);
        }
    }
    let mut globals = Vec::with_capacity(module.types_global_values.len() + renamed.len());
    for inst in module.types_global_values.drain(..) {
        let twin = inst.result_id.and_then(|id| renamed.get(&id)).map(|id| {
            let mut twin = inst.clone();
            twin.result_id = Some(*id);
            twin.operands[0] = Operand::StorageClass(StorageClass::StorageBuffer);
            twin
        });
        globals.push(inst);
        globals.extend(twin);
    }
    module.types_global_values = globals;
    if let Some(header) = &mut module.header {
        header.bound = bound;
    }
}

/// Puts every type behind those it is made of, so that none has to be announced.
pub(in crate::frontend) fn order_types(module: &mut Module) -> Result<(), KernelReason> {
    if !module.types_global_values.iter().any(|inst| inst.class.opcode == Op::TypeForwardPointer) {
        return Ok(());
    }
    let mut globals: Vec<Option<Instruction>> = module.types_global_values.drain(..).map(Some).collect();
    let numbered = globals.iter().flatten().enumerate();
    let at: AHashMap<u32, usize> =
        numbered.filter_map(|(number, inst)| Some((inst.result_id?, number))).collect();
    // Depth first: what is open when it is met again is made of itself.
    let mut open = vec![false; globals.len()];
    let mut stack: Vec<usize> = (0..globals.len()).rev().collect();
    while let Some(&top) = stack.last() {
        let Some(inst) = globals[top].as_ref().filter(|i| i.class.opcode != Op::TypeForwardPointer) else {
            stack.pop();
            continue;
        };
        let parts = inst.result_type.into_iter().chain(inst.operands.iter().filter_map(Operand::id_ref_any));
        let missing: Vec<usize> =
            parts.filter_map(|id| at.get(&id).copied()).filter(|&part| globals[part].is_some()).collect();
        if missing.is_empty() {
            stack.pop();
            module.types_global_values.extend(globals[top].take());
        } else if missing.iter().any(|&part| open[part]) || open[top] {
            return Err(KernelReason::RecursivePointers);
        } else {
            open[top] = true;
            stack.extend(missing);
        }
    }
    Ok(())
}

/// Raises the version to the floor and drops the extensions it makes core.
pub(in crate::frontend) fn raise_version(module: &mut Module) {
    if let Some(header) = &mut module.header
        && header.version() < FLOOR
    {
        header.set_version(FLOOR.0, FLOOR.1);
    }
    module.extensions.retain(|inst| {
        let name = match inst.operands.first() {
            Some(Operand::LiteralString(name)) => name.as_str(),
            _ => "",
        };
        !matches!(
            name,
            "SPV_KHR_storage_buffer_storage_class"
                | "SPV_KHR_16bit_storage"
                | "SPV_KHR_device_group"
                | "SPV_KHR_variable_pointers"
        )
    });
}
