//! Replaces divisions of an item's number by the length of its row: where the item is placed, quotient and remainder are known already.
//!
//! An element-wise kernel computes row and column as `i / w` and `i % w`, with `w` among its push constants. An integer division
//! by a number that the compiler does not know is some twenty instructions.
//!
//! # Requires
//! - an item's number below 2³¹, and a `w` that is not zero
//!
//! # Guarantees
//! - `i / w` and `i % w` are what they were where `i = row w + column` with `column < w`

use ahash::{AHashMap, AHashSet};
use rspirv::spirv::Op;

use crate::ir::entity::{Func, Global, Place, Region, Value};
use crate::ir::{Args, Module, Operation, Root, TypeKind};

/// In a region, replaces quotients and remainders of `item` and of words of the push constants that are the length of a row: these begin at
/// the bytes `widths`.
pub(super) fn replace(
    module: &mut Module,
    (func, region): (Func, Region),
    item: Value,
    [row, column]: [Value; 2],
    widths: &[u32],
) {
    let Some(block) = module.push_constants().filter(|_| !widths.is_empty()) else { return };
    // Names of the item's number and of its row's length.
    let (mut items, mut lengths) = (AHashSet::from_iter([item]), AHashSet::new());
    // Vectors that begin with the item's number, and whether the length is zero: WGSL divides by one where it is.
    let (mut vectors, mut zeros) = (AHashMap::new(), AHashSet::new());
    let mut replaced = Vec::new();
    let f = &module.functions[func];
    let is_int =
        |value: Value| matches!(module.types.kind(f.values[value].ty), TypeKind::Int { width: 32, .. });
    let is_zero = |value: Value| f.number(module, value) == Some(0);
    for inst in f.insts_in(region) {
        let data = &f.insts[inst];
        let Some(result) = data.result else { continue };
        let (op, args, literals) = match &data.operation {
            Operation::Pure { op, args, literals } => (*op, args.as_slice(), literals.as_slice()),
            Operation::Load { place, .. } if is_int(result) => {
                let offset = offset_of(module, func, block, *place);
                offset.filter(|offset| widths.contains(offset)).map(|_| lengths.insert(result));
                continue;
            }
            _ => continue,
        };
        match (op, args, literals) {
            (Op::CompositeConstruct, [first, _, _], _) if items.contains(first) => {
                vectors.insert(result, *first);
            }
            (Op::CompositeExtract, [vector], [0]) if vectors.contains_key(vector) => {
                items.insert(result);
            }
            (Op::CopyObject | Op::Bitcast, [of], _) if is_int(result) => {
                items.contains(of).then(|| items.insert(result));
                lengths.contains(of).then(|| lengths.insert(result));
            }
            (Op::IEqual, [of, zero], _) if lengths.contains(of) && is_zero(*zero) => {
                zeros.insert(result);
            }
            (Op::Select, [if_zero, _, of], _) if zeros.contains(if_zero) && lengths.contains(of) => {
                lengths.insert(result);
            }
            (Op::UDiv | Op::SDiv, [a, b], _) if items.contains(a) && lengths.contains(b) => {
                replaced.push((inst, row));
            }
            (Op::UMod | Op::SRem | Op::SMod, [a, b], _) if items.contains(a) && lengths.contains(b) => {
                replaced.push((inst, column));
            }
            _ => {}
        }
    }
    let number = module.u32();
    let f = &mut module.functions[func];
    for (inst, by) in replaced {
        let is_same = f.insts[inst].result.is_some_and(|result| f.values[result].ty == number);
        let op = if is_same { Op::CopyObject } else { Op::Bitcast };
        f.insts[inst].operation =
            Operation::Pure { op, args: Args::from_slice(&[by]), literals: Default::default() };
    }
}

/// First byte of a place in the push constants, if constants lead there through structs and to a component of a vector of words.
pub(super) fn offset_of(module: &Module, func: Func, block: Global, place: Place) -> Option<u32> {
    let f = &module.functions[func];
    let data = &f.places[place];
    let (_, mut ty) =
        module.types.pointer(module.globals[block].pointer).filter(|_| data.root == Root::Global(block))?;
    let mut offset = 0;
    for &index in &data.path {
        let index = f.number(module, index)?;
        offset += match *module.types.kind(ty) {
            TypeKind::Struct { .. } => module.offset(ty, index)?,
            TypeKind::Vector { element, .. } if module.types.width(element) == Some(32) => 4 * index,
            _ => return None,
        };
        ty = module.types.part(ty, Some(index))?;
    }
    Some(offset)
}
