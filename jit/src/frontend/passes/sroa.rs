//! Splits local structures and arrays into variables of their parts, so that they can become values.
//!
//! The optimizer has such a pass, but not among those that can be chosen one by one.
//!
//! # Requires
//! - one function
//!
//! # Guarantees
//! - a local structure or array that is only loaded and stored as a whole, or accessed at constant first
//!   indices, is replaced by one variable for each part; parts are split in turn
//! - the same for a vector or matrix of which parts are accessed. The optimizer does these as well, but
//!   only in modules all of whose extensions it knows
//!
//! # Leaves alone
//! - variables indexed dynamically, that start with anything but a composite of constants, or of more than 64 parts

use ahash::AHashMap;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass};
use spirv_tools::opt::Passes;

use super::optimize::optimize;
use crate::frontend::defs::{Defs, type_parts, variable_class};
use crate::frontend::reason::KernelReason;

/// Larger arrays are rarely worth a value for each element.
const MAX_PARTS: u64 = 64;

/// A variable that can be split.
struct Split {
    /// The composite's type.
    ty: u32,
    /// Types of the parts.
    parts: Vec<u32>,
    /// Constants that the parts start with.
    starts: Option<Vec<u32>>,
    /// Variables that take their place.
    ids: Vec<u32>,
    /// Whether it is worth it: not for a vector that is always used as a whole.
    wanted: bool,
}

/// Takes values out of the variables that are new.
const VALUES: &[Passes] = &[
    Passes::LocalAccessChainConvert,
    Passes::LocalSingleBlockLoadStoreElim,
    Passes::LocalSingleStoreElim,
    Passes::LocalMultiStoreElim,
    Passes::AggressiveDCE,
];

/// Splits what can be split, and makes values of the parts.
pub(in crate::frontend) fn run(module: &mut Module) -> Result<(), KernelReason> {
    let mut any = false;
    // Each round splits one level; types nest at most 255 deep.
    for _ in 0..255 {
        let mut splits = find(module);
        if splits.is_empty() {
            break;
        }
        any = true;
        rewrite(module, &mut splits);
    }
    if any {
        *module = optimize(module, VALUES)?;
    }
    Ok(())
}

fn find(module: &Module) -> AHashMap<u32, Split> {
    let defs = Defs::new(module);
    let mut found: AHashMap<u32, Split> = AHashMap::new();
    let insts = || module.functions.iter().flat_map(|f| f.all_inst_iter());
    for inst in insts() {
        if variable_class(inst) == Some(StorageClass::Function)
            && let (Some(id), Some(pointer)) = (inst.result_id, inst.result_type)
            && let Some((_, ty)) = defs.pointer(pointer)
            && let Some(parts) = parts(ty, &defs)
            && let Ok(starts) = starts(inst, parts.len(), &defs)
        {
            let wanted = matches!(defs.op(ty), Some(Op::TypeStruct | Op::TypeArray));
            let split = Split { ty, parts, starts, ids: Vec::new(), wanted };
            found.insert(id, split);
        }
    }
    if found.is_empty() {
        return found;
    }
    for inst in insts() {
        for (index, operand) in inst.operands.iter().enumerate() {
            let Some(id) = operand.id_ref_any() else {
                continue;
            };
            if let Some(split) = found.get_mut(&id) {
                split.wanted |= inst.class.opcode != Op::Load && inst.class.opcode != Op::Store;
                if !can_rewrite(inst, index, split, &defs) {
                    found.remove(&id);
                }
            }
        }
    }
    found.retain(|_, split| split.wanted);
    found
}

fn parts(ty: u32, defs: &Defs<'_>) -> Option<Vec<u32>> {
    let inst = defs.get(ty)?;
    match inst.class.opcode {
        Op::TypeVector | Op::TypeMatrix => {
            let Operand::LiteralBit32(count) = *inst.operands.get(1)? else {
                return None;
            };
            let part = type_parts(inst).next()?;
            (u64::from(count) <= MAX_PARTS).then(|| vec![part; count as usize])
        }
        Op::TypeStruct if (inst.operands.len() as u64) <= MAX_PARTS => Some(type_parts(inst).collect()),
        Op::TypeArray => {
            let length = defs.constant(inst.operands.get(1)?.id_ref_any()?)?;
            let part = type_parts(inst).next()?;
            (length <= MAX_PARTS).then(|| vec![part; length as usize])
        }
        _ => None,
    }
}

/// The constants that the parts of a variable start with; an error if they cannot be told.
fn starts(variable: &Instruction, count: usize, defs: &Defs<'_>) -> Result<Option<Vec<u32>>, ()> {
    let Some(start) = variable.operands.get(1) else { return Ok(None) };
    let start = start.id_ref_any().and_then(|id| defs.get(id)).ok_or(())?;
    let parts: Vec<u32> = start.operands.iter().filter_map(Operand::id_ref_any).collect();
    match start.class.opcode == Op::ConstantComposite && parts.len() == count {
        true => Ok(Some(parts)),
        false => Err(()),
    }
}

fn can_rewrite(inst: &Instruction, operand: usize, split: &Split, defs: &Defs<'_>) -> bool {
    match (inst.class.opcode, operand) {
        // Memory operands mean nothing for a variable that one invocation has to itself; volatile is
        // left alone all the same.
        (Op::Load, 0) => inst.operands.len() == 1,
        (Op::Store, 0) => inst.operands.len() == 2,
        (Op::AccessChain | Op::InBoundsAccessChain, 0) => {
            let first = inst.operands.get(1).and_then(Operand::id_ref_any);
            let index = first.and_then(|id| defs.constant(id));
            index.is_some_and(|index| index < split.parts.len() as u64)
        }
        _ => false,
    }
}

fn rewrite(module: &mut Module, splits: &mut AHashMap<u32, Split>) {
    let Some(mut bound) = module.header.as_ref().map(|header| header.bound) else {
        return;
    };
    let mut fresh = || {
        bound += 1;
        bound - 1
    };
    // In order of appearance, not of the map: equal input gives equal output.
    let variables: Vec<u32> = module
        .functions
        .iter()
        .flat_map(|f| f.all_inst_iter())
        .filter_map(|inst| inst.result_id)
        .filter(|id| splits.contains_key(id))
        .collect();
    let mut pointers = function_pointers(module);
    for id in &variables {
        if let Some(split) = splits.get_mut(id) {
            for part in &split.parts {
                pointers.entry(*part).or_insert_with(|| {
                    let id = fresh();
                    let operands = vec![Operand::StorageClass(StorageClass::Function), Operand::IdRef(*part)];
                    let pointer = Instruction::new(Op::TypePointer, None, Some(id), operands);
                    module.types_global_values.push(pointer);
                    id
                });
                split.ids.push(fresh());
            }
        }
    }
    let constants: AHashMap<u32, u64> = {
        let defs = Defs::new(module);
        let ids = module.types_global_values.iter().filter_map(|inst| inst.result_id);
        ids.filter_map(|id| Some((id, defs.constant(id)?))).collect()
    };
    let mut renames: AHashMap<u32, u32> = AHashMap::new();
    for block in module.functions.iter_mut().flat_map(|f| &mut f.blocks) {
        let mut out = Vec::with_capacity(block.instructions.len());
        for inst in block.instructions.drain(..) {
            let target = match inst.class.opcode {
                Op::Variable => inst.result_id,
                _ => inst.operands.first().and_then(Operand::id_ref_any),
            };
            match target.and_then(|id| splits.get(&id)) {
                Some(split) => {
                    let part = part_of(&inst, split, &constants);
                    match (inst.result_id, part) {
                        // The chain ends at the part: its variable is the pointer.
                        (Some(id), Some(part)) if inst.operands.len() == 2 => {
                            renames.insert(id, part);
                        }
                        (Some(_), Some(part)) => out.push(shorten(inst, part)),
                        _ => replace(inst, split, &pointers, &mut fresh, &mut out),
                    }
                }
                None => out.push(inst),
            }
        }
        block.instructions = out;
    }
    for inst in module.functions.iter_mut().flat_map(|f| f.all_inst_iter_mut()) {
        for operand in &mut inst.operands {
            if let Some(id) = operand.id_ref_any_mut()
                && let Some(new) = renames.get(id)
            {
                *id = *new;
            }
        }
    }
    module.annotations.retain(|inst| {
        let target = inst.operands.first().and_then(Operand::id_ref_any);
        !target.is_some_and(|id| splits.contains_key(&id))
    });
    if let Some(header) = &mut module.header {
        header.bound = bound;
    }
}

/// Pointer types of the `Function` class there are, by what they point to.
fn function_pointers(module: &Module) -> AHashMap<u32, u32> {
    let globals = module.types_global_values.iter();
    let pointers = globals.filter(|inst| inst.class.opcode == Op::TypePointer);
    pointers
        .filter_map(|inst| match inst.operands.as_slice() {
            [Operand::StorageClass(StorageClass::Function), Operand::IdRef(pointee)] => {
                Some((*pointee, inst.result_id?))
            }
            _ => None,
        })
        .collect()
}

/// The variable that an access chain from a split variable leads to.
fn part_of(inst: &Instruction, split: &Split, constants: &AHashMap<u32, u64>) -> Option<u32> {
    if !matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain) {
        return None;
    }
    let index = constants.get(&inst.operands.get(1)?.id_ref_any()?)?;
    split.ids.get(usize::try_from(*index).ok()?).copied()
}

/// An access chain that starts at the part.
fn shorten(mut inst: Instruction, part: u32) -> Instruction {
    inst.operands.remove(0);
    inst.operands[0] = Operand::IdRef(part);
    inst
}

fn replace(
    inst: Instruction,
    split: &Split,
    pointers: &AHashMap<u32, u32>,
    fresh: &mut impl FnMut() -> u32,
    out: &mut Vec<Instruction>,
) {
    let parts = || split.parts.iter().zip(&split.ids);
    match inst.class.opcode {
        Op::Variable => {
            for (at, (part, id)) in parts().enumerate() {
                let mut operands = vec![Operand::StorageClass(StorageClass::Function)];
                operands.extend(split.starts.as_ref().map(|starts| Operand::IdRef(starts[at])));
                let pointer = pointers.get(part).copied();
                out.push(Instruction::new(Op::Variable, pointer, Some(*id), operands));
            }
        }
        Op::Load => {
            let mut values = Vec::with_capacity(split.parts.len());
            for (part, id) in parts() {
                let value = fresh();
                let from = vec![Operand::IdRef(*id)];
                out.push(Instruction::new(Op::Load, Some(*part), Some(value), from));
                values.push(Operand::IdRef(value));
            }
            let (ty, id) = (Some(split.ty), inst.result_id);
            out.push(Instruction::new(Op::CompositeConstruct, ty, id, values));
        }
        Op::Store => {
            let object = inst.operands.get(1).and_then(Operand::id_ref_any).unwrap_or(0);
            for (index, (part, id)) in (0..).zip(parts()) {
                let value = fresh();
                let from = vec![Operand::IdRef(object), Operand::LiteralBit32(index)];
                let extract = Op::CompositeExtract;
                out.push(Instruction::new(extract, Some(*part), Some(value), from));
                let to = vec![Operand::IdRef(*id), Operand::IdRef(value)];
                out.push(Instruction::new(Op::Store, None, None, to));
            }
        }
        _ => out.push(inst),
    }
}
