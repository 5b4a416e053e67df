//! Gives push constants a type of their own.
//!
//! Front ends and the import make one type of two structs with the same members and decorations, so the block of the push constants may be
//! that of a buffer as well. Changing it, to embed it in another block or to add members, would change the buffer.
//!
//! # Requires
//! - a module in normal form: no push constants but one variable, reached through access chains
//!
//! # Guarantees
//! - nothing but that variable has the type of its block
//!
//! # Leaves alone
//! - a block that is used otherwise

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass};

/// Makes a copy of the block's type, if a buffer has it too.
pub(super) fn separate(module: &mut Module) {
    let push = Operand::StorageClass(StorageClass::PushConstant);
    let globals = &module.types_global_values;
    let place = |id: Option<u32>| id.and_then(|id| globals.iter().position(|g| g.result_id == Some(id)));
    let Some(variable) = globals
        .iter()
        .position(|inst| inst.class.opcode == Op::Variable && inst.operands.first() == Some(&push))
    else {
        return;
    };
    let Some(pointer) = place(globals[variable].result_type) else { return };
    let Some(block) = place(globals[pointer].operands.get(1).and_then(Operand::id_ref_any)) else { return };
    let (Some(ty), Some(id)) = (globals[block].result_id, globals[variable].result_id) else { return };
    let mentions = |inst: &Instruction, id: u32| inst.operands.contains(&Operand::IdRef(id));
    let mut others = globals.iter().enumerate().filter(|(at, inst)| *at != pointer && mentions(inst, ty));
    let only_chains = module.functions.iter().flat_map(|function| function.all_inst_iter()).all(|inst| {
        let chain = matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain);
        chain || !mentions(inst, id) && inst.result_type != Some(ty)
    });
    let Some(header) = &mut module.header else { return };
    if others.next().is_none() || !only_chains {
        return;
    }
    let (own, reached) = (header.bound, header.bound + 1);
    header.bound += 2;
    let mut copy = globals[block].clone();
    copy.result_id = Some(own);
    let to = Instruction::new(Op::TypePointer, None, Some(reached), vec![push, Operand::IdRef(own)]);
    module.types_global_values[variable].result_type = Some(reached);
    module.types_global_values.splice(block + 1..=block, [copy, to]);
    let said = module.annotations.iter().filter(|inst| inst.operands.first() == Some(&Operand::IdRef(ty)));
    let said: Vec<Instruction> = said.cloned().collect();
    module.annotations.extend(said.into_iter().map(|mut inst| {
        inst.operands[0] = Operand::IdRef(own);
        inst
    }));
}
