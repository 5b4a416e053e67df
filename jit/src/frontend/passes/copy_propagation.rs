//! Replaces copies and parts of composites by the values that they are copies of, and removes the copies that this leaves unused.
//!
//! Only moves of values are touched: no result of an operation changes.
//!
//! # Requires
//! - one function in SSA
//!
//! # Guarantees
//! - no `OpCopyObject`, no access chain from an access chain, no extract from a composite built or inserted into in sight
//! - no unused composite, access chain or load, no local variable that is only stored to
//!
//! # Leaves alone
//! - arithmetic, used or not

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass};

use crate::frontend::defs::variable_class;
use crate::frontend::opcodes;

/// Runs to a fixed point.
pub(in crate::frontend) fn run(module: &mut Module) {
    loop {
        let replacements = find(module);
        let replaced = !replacements.is_empty();
        apply(module, &replacements);
        combine_chains(module);
        let unstored = drop_stores(module);
        let removed = sweep(module);
        if !replaced && !removed && !unstored {
            return;
        }
    }
}

/// Values that are equal to an earlier one.
fn find(module: &Module) -> AHashMap<u32, u32> {
    let mut defs: AHashMap<u32, &Instruction> = AHashMap::new();
    for inst in module.all_inst_iter() {
        if let Some(id) = inst.result_id {
            defs.insert(id, inst);
        }
    }
    let mut found: AHashMap<u32, u32> = AHashMap::new();
    for inst in module.functions.iter().flat_map(|f| f.all_inst_iter()) {
        let (Some(id), Some(ty)) = (inst.result_id, inst.result_type) else {
            continue;
        };
        let source = match inst.class.opcode {
            Op::CopyObject => inst.operands.first().and_then(Operand::id_ref_any),
            Op::CompositeExtract => extracted(inst, &defs),
            _ => None,
        };
        let same_type = |source: &u32| defs.get(source).is_some_and(|inst| inst.result_type == Some(ty));
        if let Some(source) = source.filter(same_type) {
            // What the source was replaced by in this round is already known: it comes earlier.
            let source = found.get(&source).copied().unwrap_or(source);
            found.insert(id, source);
        }
    }
    found
}

/// The value that an extract takes out, if it can be seen.
fn extracted(inst: &Instruction, defs: &AHashMap<u32, &Instruction>) -> Option<u32> {
    let mut at = inst.operands.first()?.id_ref_any()?;
    let mut path: Vec<u32> = literals(&inst.operands[1..])?;
    path.reverse();
    // The next index is last. Each step goes to an earlier definition, so this ends.
    while let Some(&index) = path.last() {
        let def = defs.get(&at)?;
        match def.class.opcode {
            Op::CopyObject => at = def.operands.first()?.id_ref_any()?,
            Op::CompositeExtract => {
                path.extend(literals(&def.operands[1..])?.iter().rev());
                at = def.operands.first()?.id_ref_any()?;
            }
            Op::CompositeConstruct | Op::ConstantComposite => {
                at = part(def, index, defs)?;
                path.pop();
            }
            Op::CompositeInsert => {
                let inserted: Vec<u32> = literals(&def.operands[2..])?;
                let wanted = path.iter().rev();
                let shared = wanted.zip(&inserted).take_while(|(a, b)| a == b).count();
                if shared == inserted.len() {
                    path.truncate(path.len() - shared);
                    at = def.operands.first()?.id_ref_any()?;
                } else if shared == path.len() {
                    // The insert changed a part of what is extracted.
                    return None;
                } else {
                    at = def.operands.get(1)?.id_ref_any()?;
                }
            }
            Op::VectorShuffle => {
                let picks = literals(&def.operands[2..])?;
                let first = def.operands.first()?.id_ref_any()?;
                let (vector, component) = shuffled(def, first, *picks.get(index as usize)?, defs)?;
                at = vector;
                path.pop();
                path.push(component);
            }
            _ => return None,
        }
    }
    Some(at)
}

fn literals(operands: &[Operand]) -> Option<Vec<u32>> {
    let literal = |operand: &Operand| match operand {
        Operand::LiteralBit32(value) => Some(*value),
        _ => None,
    };
    operands.iter().map(literal).collect()
}

/// Part `index` of a construction. Vectors may be constructed from shorter vectors; those are left.
fn part(def: &Instruction, index: u32, defs: &AHashMap<u32, &Instruction>) -> Option<u32> {
    let ty = defs.get(&def.result_type?)?;
    if let (Op::TypeVector, Some(Operand::LiteralBit32(count))) = (ty.class.opcode, ty.operands.get(1))
        && def.operands.len() != *count as usize
    {
        return None;
    }
    def.operands.get(index as usize)?.id_ref_any()
}

fn shuffled(
    def: &Instruction,
    first: u32,
    pick: u32,
    defs: &AHashMap<u32, &Instruction>,
) -> Option<(u32, u32)> {
    let ty = defs.get(&defs.get(&first)?.result_type?)?;
    let Some(Operand::LiteralBit32(count)) = ty.operands.get(1) else {
        return None;
    };
    if pick < *count {
        return Some((first, pick));
    }
    let second = def.operands.get(1)?.id_ref_any()?;
    // All ones picks an undefined component.
    (pick != u32::MAX).then_some((second, pick - count))
}

fn apply(module: &mut Module, replacements: &AHashMap<u32, u32>) {
    if replacements.is_empty() {
        return;
    }
    for inst in module.functions.iter_mut().flat_map(|f| f.all_inst_iter_mut()) {
        for operand in &mut inst.operands {
            if let Some(id) = operand.id_ref_any_mut()
                && let Some(new) = replacements.get(id)
            {
                *id = *new;
            }
        }
    }
}

/// Lets every access chain start at a variable.
fn combine_chains(module: &mut Module) {
    let mut chains: AHashMap<u32, (Op, Vec<Operand>)> = AHashMap::new();
    for inst in module.functions.iter_mut().flat_map(|f| f.all_inst_iter_mut()) {
        let op = inst.class.opcode;
        if !matches!(op, Op::AccessChain | Op::InBoundsAccessChain) {
            continue;
        }
        let base = inst.operands.first().and_then(Operand::id_ref_any);
        if let Some((base_op, operands)) = base.and_then(|id| chains.get(&id)) {
            let combined = [operands, &inst.operands[1..]].concat();
            // In bounds only if both are.
            let op = if *base_op == op { op } else { Op::AccessChain };
            *inst = Instruction::new(op, inst.result_type, inst.result_id, combined);
        }
        if let Some(id) = inst.result_id {
            chains.insert(id, (inst.class.opcode, inst.operands.clone()));
        }
    }
}

/// Drops stores to local variables that nothing else uses.
fn drop_stores(module: &mut Module) -> bool {
    let insts = || module.functions.iter().flat_map(|f| f.all_inst_iter());
    let mut stored: AHashSet<u32> = insts()
        .filter(|inst| variable_class(inst) == Some(StorageClass::Function))
        .filter_map(|inst| inst.result_id)
        .collect();
    for inst in insts() {
        for (index, operand) in inst.operands.iter().enumerate() {
            let is_target = inst.class.opcode == Op::Store && index == 0;
            if let (false, Some(id)) = (is_target, operand.id_ref_any()) {
                stored.remove(&id);
            }
        }
    }
    for block in module.functions.iter_mut().flat_map(|f| &mut f.blocks) {
        block.instructions.retain(|inst| {
            let target = inst.operands.first().and_then(Operand::id_ref_any);
            let store = inst.class.opcode == Op::Store && target.is_some_and(|id| stored.contains(&id));
            !store && !inst.result_id.is_some_and(|id| stored.contains(&id))
        });
    }
    module.annotations.retain(|inst| {
        let target = inst.operands.first().and_then(Operand::id_ref_any);
        !target.is_some_and(|id| stored.contains(&id))
    });
    !stored.is_empty()
}

/// Drops instructions without effect whose result is not used; says whether there were any.
fn sweep(module: &mut Module) -> bool {
    let insts = || module.functions.iter().flat_map(|f| f.all_inst_iter());
    let mut uses: AHashMap<u32, usize> = AHashMap::new();
    for id in insts().flat_map(|inst| inst.operands.iter().filter_map(Operand::id_ref_any)) {
        *uses.entry(id).or_default() += 1;
    }
    let pure: AHashMap<u32, &Instruction> =
        insts().filter(|inst| is_pure(inst)).filter_map(|inst| Some((inst.result_id?, inst))).collect();
    let unused = |id: &u32| !uses.contains_key(id);
    let mut queue: Vec<u32> = pure.keys().copied().filter(unused).collect();
    let mut dead: AHashSet<u32> = AHashSet::new();
    while let Some(id) = queue.pop() {
        dead.insert(id);
        for id in pure[&id].operands.iter().filter_map(Operand::id_ref_any) {
            let count = uses.entry(id).or_default();
            *count = count.saturating_sub(1);
            if *count == 0 && pure.contains_key(&id) {
                queue.push(id);
            }
        }
    }
    if dead.is_empty() {
        return false;
    }
    for block in module.functions.iter_mut().flat_map(|f| &mut f.blocks) {
        block.instructions.retain(|inst| !inst.result_id.is_some_and(|id| dead.contains(&id)));
    }
    module.annotations.retain(|inst| {
        let target = inst.operands.first().and_then(Operand::id_ref_any);
        !target.is_some_and(|id| dead.contains(&id))
    });
    true
}

fn is_pure(inst: &Instruction) -> bool {
    match inst.class.opcode {
        Op::CopyObject
        | Op::CompositeExtract
        | Op::CompositeInsert
        | Op::CompositeConstruct
        | Op::VectorShuffle
        | Op::AccessChain
        | Op::InBoundsAccessChain
        | Op::Undef => true,
        Op::Load => !opcodes::is_volatile(inst),
        _ => false,
    }
}
