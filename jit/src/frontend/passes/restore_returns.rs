//! Turns breaks out of a construct around the whole body back into early returns.
//!
//! Optimizers give a function a single return by putting its body into a switch with nothing to switch
//! on, and leaving that in place of returning. A guard is easier to recognise as a return.
//!
//! # Requires
//! - one function
//!
//! # Guarantees
//! - no switch without cases whose merge block only returns
//!
//! # Leaves alone
//! - constructs left by a conditional branch or by another switch

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::Op;

/// Unwraps every such construct.
pub(in crate::frontend) fn run(module: &mut Module) {
    for function in &mut module.functions {
        let merges: AHashMap<u32, u32> = function.blocks.iter().filter_map(wrapper).collect();
        let merges: AHashSet<u32> = merges.into_keys().filter(|merge| can_unwrap(function, *merge)).collect();
        if !merges.is_empty() {
            unwrap(function, &merges);
        }
    }
}

/// Merge block and body of a block that ends in a switch without cases.
fn wrapper(block: &Block) -> Option<(u32, u32)> {
    let [.., merge, switch] = block.instructions.as_slice() else {
        return None;
    };
    let wraps = merge.class.opcode == Op::SelectionMerge
        && switch.class.opcode == Op::Switch
        && switch.operands.len() == 2;
    let id = |inst: &Instruction, at: usize| inst.operands.get(at).and_then(Operand::id_ref_any);
    wraps.then(|| Some((id(merge, 0)?, id(switch, 1)?)))?
}

fn can_unwrap(function: &Function, merge: u32) -> bool {
    let only_returns =
        |block: &Block| matches!(block.instructions.as_slice(), [inst] if inst.class.opcode == Op::Return);
    function.blocks.iter().all(|block| {
        if block.label_id() == Some(merge) {
            return only_returns(block);
        }
        let named = |inst: &Instruction| inst.operands.contains(&Operand::IdRef(merge));
        let is_wrapper = wrapper(block).is_some_and(|(id, body)| id == merge && body != merge);
        block.instructions.iter().all(|inst| match inst.class.opcode {
            Op::Branch => true,
            Op::SelectionMerge if is_wrapper => true,
            _ => !named(inst),
        })
    })
}

fn unwrap(function: &mut Function, merges: &AHashSet<u32>) {
    for block in &mut function.blocks {
        if let Some((merge, body)) = wrapper(block)
            && merges.contains(&merge)
        {
            block.instructions.pop();
            block.instructions.pop();
            let target = vec![Operand::IdRef(body)];
            block.instructions.push(Instruction::new(Op::Branch, None, None, target));
            continue;
        }
        if let Some(last) = block.instructions.last_mut()
            && last.class.opcode == Op::Branch
            && last.operands[0].id_ref_any().is_some_and(|id| merges.contains(&id))
        {
            *last = Instruction::new(Op::Return, None, None, Vec::new());
        }
    }
    // Nothing leads to them any more.
    function.blocks.retain(|block| !block.label_id().is_some_and(|id| merges.contains(&id)));
    join(function);
}

/// Joins a block with the next one if that is its only successor and it the only predecessor.
fn join(function: &mut Function) {
    let mut named: AHashMap<u32, usize> = AHashMap::new();
    for inst in function.all_inst_iter() {
        for id in inst.operands.iter().filter_map(Operand::id_ref_any) {
            *named.entry(id).or_default() += 1;
        }
    }
    let mut out: Vec<Block> = Vec::with_capacity(function.blocks.len());
    for block in function.blocks.drain(..) {
        let label = block.label_id();
        // A phi may have a single source; it cannot stand in the middle of a block.
        let starts_plainly = block.instructions.first().is_some_and(|inst| inst.class.opcode != Op::Phi);
        if let Some(last) = out.last_mut()
            && starts_plainly
            && let [rest @ .., branch] = last.instructions.as_slice()
            && rest.last().is_none_or(|inst| inst.class.opcode != Op::LoopMerge)
            && branch.class.opcode == Op::Branch
            && branch.operands[0].id_ref_any() == label
            && label.is_some_and(|id| named.get(&id) == Some(&1))
        {
            last.instructions.pop();
            last.instructions.extend(block.instructions);
        } else {
            out.push(block);
        }
    }
    function.blocks = out;
}
