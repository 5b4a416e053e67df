//! Brings what the passes on the IR do not see through to what they do.
//!
//! # Requires
//! - a specialised, pruned module, before inlining
//!
//! # Guarantees
//! - no `OpCopyMemory`: it is a load and a store
//! - function control masks are empty: `DontInline` would be obeyed
//!
//! # Leaves alone
//! - `OpCopyMemorySized`, which is refused later

use ahash::AHashMap;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{FunctionControl, Op};

use crate::frontend::additions::Additions;
use crate::frontend::defs::Defs;

/// Replaces copies and removes hints.
pub(in crate::frontend) fn run(module: &mut Module) {
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

fn expand_copies(module: &mut Module) {
    let Some(mut added) = Additions::to(module) else { return };
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
                    let value = added.fresh();
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
    added.finish(module);
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
