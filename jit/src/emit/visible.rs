//! Coherent accesses under the Vulkan memory model, which has no `Coherent` variables.
//!
//! Each load and store says for itself that it is seen by others. The scope is the one that the decoration stands for in
//! the other memory model.

use ahash::AHashSet;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{MemoryAccess, MemoryModel, Op, Scope, Word};

use super::builder::Builder;

/// Whether accesses have to say for themselves that they are coherent.
pub(super) fn is_asked_for(module: &Module) -> bool {
    let vulkan = Operand::MemoryModel(MemoryModel::Vulkan);
    module.memory_model.as_ref().is_some_and(|inst| inst.operands.contains(&vulkan))
}

/// Makes all loads and stores through these variables coherent.
pub(super) fn make(builder: &mut Builder, variables: &[Word]) {
    if variables.is_empty() {
        return;
    }
    let scope = builder.constant(Scope::QueueFamily as u32);
    let mut functions = std::mem::take(&mut builder.module.functions);
    for function in &mut functions {
        // What a pointer leads into. Pointers come from variables by chains alone, and those stand before their uses.
        let mut pointers: AHashSet<Word> = variables.iter().copied().collect();
        for inst in function.all_inst_iter_mut() {
            let base = inst.operands.first().and_then(Operand::id_ref_any);
            if !base.is_some_and(|base| pointers.contains(&base)) {
                continue;
            }
            match inst.class.opcode {
                Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject => {
                    pointers.extend(inst.result_id);
                }
                Op::Load => access(inst, 1, MemoryAccess::MAKE_POINTER_VISIBLE, scope),
                Op::Store => access(inst, 2, MemoryAccess::MAKE_POINTER_AVAILABLE, scope),
                _ => {}
            }
        }
    }
    builder.module.functions = functions;
}

/// Adds to the memory operands of an access, which come after `fixed` others.
fn access(inst: &mut Instruction, fixed: usize, how: MemoryAccess, scope: Word) {
    let known = inst.operands.split_off(fixed);
    let mask = match known.first() {
        Some(Operand::MemoryAccess(mask)) => *mask,
        _ => MemoryAccess::NONE,
    };
    // Behind the mask stand the operands of its bits, lowest first: the alignment, then a scope.
    let alignment = known.into_iter().filter(|operand| matches!(operand, Operand::LiteralBit32(_)));
    inst.operands.push(Operand::MemoryAccess(mask | how | MemoryAccess::NON_PRIVATE_POINTER));
    inst.operands.extend(alignment);
    inst.operands.push(Operand::IdScope(scope));
}
