//! Takes buffer layout off types of variables that are not in buffers.
//!
//! naga uses one array or structure type for a buffer and for a work-group, private or local variable.
//! The layout decorations mean nothing there, and Vulkan forbids them
//! (`VUID-StandaloneSpirv-None-10684`). Drivers do not mind; validation layers do.
//!
//! # Guarantees
//! - where it can be done without touching values, pointers of these storage classes point to twins of
//!   the types, without decorations
//!
//! # Refuses
//! - a storage class in which such a composite is loaded, copied or stored as a whole, other than as
//!   zero: its types stay as they are

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass};

use super::defs::{Defs, type_parts};

/// Runs on a specialised module, before it is pruned.
pub(super) fn run(module: &mut Module) {
    for class in [
        StorageClass::Workgroup,
        StorageClass::Private,
        StorageClass::Function,
    ] {
        if let Some(plan) = plan(module, class) {
            apply(module, plan);
        }
    }
}

/// What has to change for one storage class.
#[derive(Default)]
struct Plan {
    /// Pointer types that point to a type with layout.
    pointers: AHashSet<u32>,
    /// Those types, and the types with layout that they are made of.
    types: AHashSet<u32>,
    /// Null constants stored through such a pointer or initializing such a variable, with their types.
    nulls: AHashMap<u32, u32>,
}

fn plan(module: &Module, class: StorageClass) -> Option<Plan> {
    let defs = Defs::new(module);
    let mut laid_out: AHashSet<u32> = AHashSet::new();
    let mut plan = Plan::default();
    for inst in &module.types_global_values {
        let Some(id) = inst.result_id else { continue };
        match defs.pointer(id) {
            Some((found, pointee)) if found == class && laid_out.contains(&pointee) => {
                plan.pointers.insert(id);
                collect(pointee, &laid_out, &defs, &mut plan.types);
            }
            _ if has_layout(id, &defs) || type_parts(inst).any(|id| laid_out.contains(&id)) => {
                laid_out.insert(id);
            }
            _ => {}
        }
    }
    if plan.pointers.is_empty() {
        return None;
    }
    for inst in module.all_inst_iter() {
        note_use(inst, &defs, &mut plan)?;
    }
    Some(plan)
}

fn has_layout(ty: u32, defs: &Defs<'_>) -> bool {
    [
        Decoration::ArrayStride,
        Decoration::Offset,
        Decoration::MatrixStride,
        Decoration::Block,
        Decoration::BufferBlock,
    ]
    .iter()
    .any(|kind| defs.decorated_anywhere(ty, *kind))
}

fn collect(ty: u32, laid_out: &AHashSet<u32>, defs: &Defs<'_>, out: &mut AHashSet<u32>) {
    if laid_out.contains(&ty) && out.insert(ty) {
        for part in defs.get(ty).into_iter().flat_map(type_parts) {
            collect(part, laid_out, defs, out);
        }
    }
}

/// Checks one instruction; `None` if it stands in the way.
fn note_use(inst: &Instruction, defs: &Defs<'_>, plan: &mut Plan) -> Option<()> {
    let ids: Vec<u32> = inst
        .operands
        .iter()
        .filter_map(Operand::id_ref_any)
        .collect();
    let ours = |id: &u32| {
        defs.type_of(*id)
            .is_some_and(|ty| plan.pointers.contains(&ty))
    };
    let object = match inst.class.opcode {
        Op::Variable if inst.result_id.as_ref().is_some_and(ours) => ids.first().copied(),
        Op::Store if ids.first().is_some_and(ours) => ids.get(1).copied(),
        Op::Load | Op::CopyMemory | Op::CopyMemorySized | Op::Select | Op::Phi
            if ids.iter().any(ours) =>
        {
            return None;
        }
        _ => return Some(()),
    };
    if let Some(object) = object {
        let inst = defs.get(object)?;
        if inst.class.opcode != Op::ConstantNull {
            return None;
        }
        plan.nulls.insert(object, inst.result_type?);
    }
    Some(())
}

fn apply(module: &mut Module, plan: Plan) {
    let Some(mut bound) = module.header.as_ref().map(|header| header.bound) else {
        return;
    };
    let mut fresh = || {
        bound += 1;
        bound - 1
    };
    let mut twins: AHashMap<u32, u32> = AHashMap::new();
    let mut nulls: AHashMap<u32, u32> = AHashMap::new();
    let mut globals = Vec::with_capacity(module.types_global_values.len() + plan.types.len());
    for mut inst in module.types_global_values.drain(..) {
        let id = inst.result_id;
        if id.is_some_and(|id| plan.pointers.contains(&id)) {
            rename(&mut inst.operands[1..], &twins);
        }
        let twin = id.filter(|id| plan.types.contains(id)).map(|id| {
            let mut twin = inst.clone();
            rename(&mut twin.operands, &twins);
            let new = fresh();
            twin.result_id = Some(new);
            twins.insert(id, new);
            twin
        });
        // A null of the twin goes behind the null that it stands in for: the twin is there by then.
        let null = id.and_then(|id| Some((id, *twins.get(plan.nulls.get(&id)?)?)));
        let null = null.map(|(id, ty)| {
            let new = fresh();
            nulls.insert(id, new);
            Instruction::new(Op::ConstantNull, Some(ty), Some(new), Vec::new())
        });
        if inst.class.opcode == Op::Variable
            && inst
                .result_type
                .is_some_and(|ty| plan.pointers.contains(&ty))
        {
            rename(&mut inst.operands, &nulls);
        }
        globals.push(inst);
        globals.extend(twin);
        globals.extend(null);
    }
    module.types_global_values = globals;
    let mut ours: AHashSet<u32> = AHashSet::new();
    for inst in module.all_inst_iter_mut() {
        if inst
            .result_type
            .is_some_and(|ty| plan.pointers.contains(&ty))
        {
            ours.extend(inst.result_id);
        }
        let target = inst.operands.first().and_then(Operand::id_ref_any);
        match inst.class.opcode {
            Op::Store if target.is_some_and(|id| ours.contains(&id)) => {
                rename(&mut inst.operands[1..], &nulls);
            }
            Op::Variable if inst.result_id.is_some_and(|id| ours.contains(&id)) => {
                rename(&mut inst.operands, &nulls);
            }
            _ => {}
        }
    }
    if let Some(header) = &mut module.header {
        header.bound = bound;
    }
}

fn rename(operands: &mut [Operand], new_ids: &AHashMap<u32, u32>) {
    for operand in operands {
        if let Some(id) = operand.id_ref_any_mut()
            && let Some(new) = new_ids.get(id)
        {
            *id = *new;
        }
    }
}
