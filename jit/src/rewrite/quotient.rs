//! The number of an item, divided by the length of its row: where the item is placed, both results are there already.
//!
//! A kernel that goes by elements finds row and column as `i / w` and `i % w`, with `w` among its push constants. An integer division
//! by a number that the compiler does not know is some twenty instructions.
//!
//! # Requires
//! - an item's number below 2³¹, and a `w` that is not zero
//!
//! # Guarantees
//! - `i / w` and `i % w` are what they were where `i = row w + column` with `column < w`

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::writer::Writer;

/// Replaces quotients and remainders of `item` and of words of the push constants that are the length of a row: these begin at
/// the bytes `widths`.
pub(super) fn replace(
    writer: &mut Writer,
    function: &mut Function,
    item: Word,
    [row, column]: [Word; 2],
    widths: &[u32],
) {
    if widths.is_empty() {
        return;
    }
    let Some((block, ty)) = writer.pushed() else { return };
    let u32 = writer.u32();
    let is_int = {
        let types = writer.module.types_global_values.iter();
        let ints = types.filter(|inst| inst.class.opcode == Op::TypeInt);
        let words = ints.filter(|inst| inst.operands.first() == Some(&Operand::LiteralBit32(32)));
        let words: AHashSet<Word> = words.filter_map(|inst| inst.result_id).collect();
        move |ty: Option<Word>| ty.is_some_and(|ty| words.contains(&ty))
    };
    // Names of the item's number, of pointers to its row's length, and of that.
    let mut items = AHashSet::from_iter([item]);
    let (mut pointers, mut lengths) = (AHashSet::new(), AHashSet::new());
    // Vectors that begin with the item's number, and whether the length is zero: WGSL divides by one where it is.
    let (mut vectors, mut zeros) = (AHashMap::new(), AHashSet::new());
    for inst in function.blocks.iter_mut().flat_map(|block| &mut block.instructions) {
        let Some(id) = inst.result_id else { continue };
        let mut ids = [None; 2];
        ids.iter_mut().zip(&inst.operands).for_each(|(id, operand)| *id = operand.id_ref_any());
        let third = inst.operands.get(2).and_then(Operand::id_ref_any);
        match (inst.class.opcode, ids, inst.operands.len()) {
            (Op::AccessChain | Op::InBoundsAccessChain, [Some(base), _], _) if base == block => {
                let offset = writer.offset_of(ty, &inst.operands[1..]);
                offset.filter(|offset| widths.contains(offset)).map(|_| pointers.insert(id));
            }
            (Op::Load, [Some(pointer), _], 1) if pointers.contains(&pointer) && is_int(inst.result_type) => {
                lengths.insert(id);
            }
            (Op::CompositeConstruct, [Some(first), _], 3) if items.contains(&first) => {
                vectors.insert(id, first);
            }
            (Op::CompositeExtract, [Some(vector), _], 2)
                if vectors.contains_key(&vector) && inst.operands[1] == Operand::LiteralBit32(0) =>
            {
                items.insert(id);
            }
            (Op::CopyObject | Op::Bitcast, [Some(of), _], 1) if is_int(inst.result_type) => {
                let (is_item, is_length) = (items.contains(&of), lengths.contains(&of));
                is_item.then(|| items.insert(id));
                is_length.then(|| lengths.insert(id));
            }
            (Op::IEqual, [Some(of), Some(zero)], 2)
                if lengths.contains(&of) && writer.value(zero) == Some(0) =>
            {
                zeros.insert(id);
            }
            (Op::Select, [Some(if_zero), _], 3) if zeros.contains(&if_zero) => {
                third.filter(|of| lengths.contains(of)).map(|_| lengths.insert(id));
            }
            (op, [Some(a), Some(b)], 2) if items.contains(&a) && lengths.contains(&b) => {
                let found = match op {
                    Op::UDiv | Op::SDiv => row,
                    Op::UMod | Op::SRem | Op::SMod => column,
                    _ => continue,
                };
                let op = if inst.result_type == Some(u32) { Op::CopyObject } else { Op::Bitcast };
                *inst = Instruction::new(op, inst.result_type, Some(id), vec![Operand::IdRef(found)]);
            }
            _ => {}
        }
    }
}
