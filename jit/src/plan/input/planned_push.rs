//! The push constants of a kernel whose values a plan may depend on.

use rspirv::spirv::{Op, StorageClass};

use crate::ir::fold;
use crate::kernel::{NormalKernel, Specialized};

/// Operations between a guard's limit and what it is made of.
pub(in crate::plan) const MOST_STEPS: u32 = 8;

impl Specialized {
    /// The push constants that plans may depend on: offset and width in bits. None for a kernel that cannot be fused.
    pub fn planned_push(&self) -> &[(u32, u8)] {
        let Ok(normal) = &self.normal else { return &[] };
        normal.planned_push.get_or_init(kept!(|| {
            let mut words = normal.analysis.exprs.pushed();
            words.extend(looked_at(normal));
            words.sort_unstable();
            words.dedup();
            if mutant!(NoValueIsPlanned) { Vec::new() } else { words }
        }))
    }
}

/// The push constants that the shape of a dispatch may depend on in a kernel: offset and width in bits.
fn looked_at(normal: &NormalKernel) -> Vec<(u32, u8)> {
    let seen = std::cell::RefCell::new(Vec::new());
    // No product or quotient of ones is left early.
    let word = |at: u32| {
        seen.borrow_mut().push((at, 32));
        Some(1)
    };
    for guard in normal.straight_line.iter().flat_map(|s| &s.guards) {
        number_of(normal, guard.limit, MOST_STEPS, &word);
    }
    seen.into_inner()
}

/// A number made of constants and of push constants, whose words at offsets these are.
pub(in crate::plan) fn number_of(
    normal: &NormalKernel,
    id: u32,
    depth: u32,
    word: &impl Fn(u32) -> Option<u32>,
) -> Option<u32> {
    if let Some((value, _)) = normal.types.constant(id) {
        return u32::try_from(value).ok();
    }
    let body = normal.module.functions.first()?.blocks.iter().flat_map(|b| &b.instructions);
    let inst = { body }.find(|inst| inst.result_id == Some(id))?;
    let operand = |n: usize| inst.operands.get(n).and_then(|o| o.id_ref_any());
    let part = |n: usize| number_of(normal, operand(n)?, depth.checked_sub(1)?, word);
    // Both, whatever the first is: what is looked at must not depend on it.
    let parts = || part(0).zip(part(1));
    match inst.class.opcode {
        Op::CopyObject | Op::Bitcast => part(0),
        op @ (Op::IAdd | Op::ISub | Op::IMul | Op::UDiv) => parts().and_then(|(a, b)| fold(op, &[a, b])),
        Op::Load => pushed(normal, operand(0)?).and_then(word),
        _ => None,
    }
}

/// The offset of a push constant behind a chain of constants.
fn pushed(normal: &NormalKernel, pointer: u32) -> Option<u32> {
    let body = normal.module.functions.first()?.blocks.iter().flat_map(|b| &b.instructions);
    let chain = { body }.find(|inst| inst.result_id == Some(pointer))?;
    let ids: Vec<u32> = chain.operands.iter().filter_map(|o| o.id_ref_any()).collect();
    let (base, indices) = ids.split_first()?;
    let variable = normal.module.types_global_values.iter().find(|inst| inst.result_id == Some(*base))?;
    let (class, block) = normal.types.pointee(variable.result_type?)?;
    if class != StorageClass::PushConstant {
        return None;
    }
    normal.types.constant_offset(block, indices)
}
