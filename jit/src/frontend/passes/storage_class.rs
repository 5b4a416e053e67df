//! Converts storage buffers of the older spelling, `BufferBlock` in `Uniform` (SPIR-V 1.0 to 1.2).
//!
//! # Requires
//! - one function, so that no pointer is a parameter; version 1.3
//!
//! # Guarantees
//! - storage buffers are `Block` structures in the `StorageBuffer` class, and pointers into them are of that class
//!
//! # Leaves alone
//! - uniform buffers, and types that the buffers are made of

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Module, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass};

use crate::frontend::additions::Additions;
use crate::frontend::defs::Defs;
use crate::frontend::resource::{Kind, Role, variables};

/// Converts storage buffers of the older spelling. Runs after inlining.
pub(in crate::frontend) fn run(module: &mut Module) {
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
    let Some(mut added) = Additions::to(module) else { return };
    let mut renamed: AHashMap<u32, u32> = AHashMap::new();
    let mut pointers = buffers.clone();
    let mut renew = |ty: &mut Option<u32>| {
        if let Some(ty) = ty {
            *ty = *renamed.entry(*ty).or_insert_with(|| added.fresh());
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
    added.finish(module);
}
