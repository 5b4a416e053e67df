//! What is known of numbers where one invocation does several of a work-group: its `k`-th has a local id from `k n` to `k n + n - 1`.
//!
//! In a step of a tree, `if (l < s)`, most of those that one invocation does have all the same answer. Then the question is none, and what nobody does is
//! not written. A driver's compiler does not have to find out.
//!
//! # Guarantees
//! - a number lies in its range, in every invocation and every round

use ahash::AHashMap;
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::{Body, Weaver};
use crate::analysis::uniformity::Construct;
use crate::emit::builder::Builder;
use crate::emit::evaluate::evaluate;

/// Least and greatest value of a word of 32 bits; of a truth, 0 and 1.
pub(super) type Range = (u32, u32);

/// Ranges by the ids of what is written.
#[derive(Default)]
pub(super) struct Ranges {
    known: AHashMap<Word, Range>,
    /// Vectors that are local ids: those of their first components. The others are zero.
    vectors: AHashMap<Word, Range>,
}

impl Ranges {
    /// Notes the range of a local id, by that of its first component.
    pub(super) fn note_id(&mut self, result: Word, range: Range) {
        self.vectors.insert(result, range);
    }

    pub(super) fn note(&mut self, result: Word, range: Range) {
        self.known.insert(result, range);
    }

    /// What a truth always is.
    pub(super) fn decided(&self, id: Word) -> Option<bool> {
        self.known.get(&id).filter(|range| range.0 == range.1).map(|range| range.0 != 0)
    }

    fn of(&self, builder: &Builder, id: Word) -> Option<Range> {
        if let Some(&range) = self.known.get(&id) {
            return Some(range);
        }
        let inst = builder.definitions.get(&id)?;
        match (inst.class.opcode, inst.operands.as_slice()) {
            (Op::Constant, [Operand::LiteralBit32(value)]) if is_word(builder, inst.result_type) => {
                Some((*value, *value))
            }
            (Op::ConstantTrue, _) => Some((1, 1)),
            (Op::ConstantFalse, _) => Some((0, 0)),
            _ => None,
        }
    }

    /// Works out the range of a result of which the operands are known; hands out what a truth always is.
    pub(super) fn follow(&mut self, builder: &Builder, inst: &Instruction) -> Option<bool> {
        let (op, result) = (inst.class.opcode, inst.result_id?);
        let is_truth = is_truth(builder, inst.result_type);
        if !is_truth && !is_word(builder, inst.result_type) {
            return None;
        }
        let ids: Vec<Word> = inst.operands.iter().filter_map(Operand::id_ref_any).collect();
        let range = match (op, inst.operands.as_slice()) {
            (Op::CompositeExtract, [Operand::IdRef(whole), Operand::LiteralBit32(index)]) => {
                self.vectors.get(whole).map(|&first| if *index == 0 { first } else { (0, 0) })
            }
            (Op::CopyObject | Op::Bitcast, [Operand::IdRef(from)]) => self.of(builder, *from),
            _ => {
                let all: Option<Vec<Range>> = ids.iter().map(|&id| self.of(builder, id)).collect();
                result_of(op, &all?)
            }
        }?;
        self.known.insert(result, range);
        (is_truth && range.0 == range.1).then_some(range.0 != 0)
    }
}

impl Weaver<'_> {
    /// Whether what is written at `place` never enters a selection, of which nothing else is needed.
    pub(super) fn is_passed_by(&self, body: &Body<'_>, one: &Construct, place: usize) -> bool {
        let blocks = &body.original.blocks;
        let Some(last) = blocks[one.header].instructions.last() else { return false };
        let [Operand::IdRef(condition), Operand::IdRef(yes), Operand::IdRef(no), ..] =
            last.operands.as_slice()
        else {
            return false;
        };
        let chooses = blocks[one.merge].instructions.first().is_some_and(|inst| inst.class.opcode == Op::Phi);
        let side = match self.ranges.decided(self.value(body, *condition, place)) {
            Some(true) => yes,
            Some(false) => no,
            None => return false,
        };
        last.class.opcode == Op::BranchConditional && !chooses && body.block_of(*side) == Some(one.merge)
    }
}

fn is_word(builder: &Builder, ty: Option<Word>) -> bool {
    let inst = ty.and_then(|ty| builder.definitions.get(&ty));
    inst.is_some_and(|inst| {
        inst.class.opcode == Op::TypeInt && inst.operands.first() == Some(&Operand::LiteralBit32(32))
    })
}

fn is_truth(builder: &Builder, ty: Option<Word>) -> bool {
    let inst = ty.and_then(|ty| builder.definitions.get(&ty));
    inst.is_some_and(|inst| inst.class.opcode == Op::TypeBool)
}

/// The range of an operation on numbers of these ranges.
fn result_of(op: Op, all: &[Range]) -> Option<Range> {
    if all.iter().all(|range| range.0 == range.1) {
        let numbers: Vec<u32> = all.iter().map(|range| range.0).collect();
        return evaluate(op, &numbers).map(|number| (number, number));
    }
    let &[(a0, a1), (b0, b1)] = all else { return None };
    let is_signed =
        matches!(op, Op::SLessThan | Op::SLessThanEqual | Op::SGreaterThan | Op::SGreaterThanEqual);
    if is_signed && a1.max(b1) > i32::MAX as u32 {
        return None;
    }
    // Whether the first is always below, or never.
    let below = |yes: bool, no: bool| match (yes, no) {
        (true, _) => Some((1, 1)),
        (_, true) => Some((0, 0)),
        _ => None,
    };
    match op {
        Op::IAdd => Some((a0.checked_add(b0)?, a1.checked_add(b1)?)),
        Op::ISub => Some((a0.checked_sub(b1)?, a1.checked_sub(b0)?)),
        Op::IMul => Some((a0.checked_mul(b0)?, a1.checked_mul(b1)?)),
        Op::ULessThan | Op::SLessThan => below(a1 < b0, a0 >= b1),
        Op::ULessThanEqual | Op::SLessThanEqual => below(a1 <= b0, a0 > b1),
        Op::UGreaterThan | Op::SGreaterThan => below(a0 > b1, a1 <= b0),
        Op::UGreaterThanEqual | Op::SGreaterThanEqual => below(a0 >= b1, a1 < b0),
        Op::IEqual => below(false, a1 < b0 || b1 < a0),
        Op::INotEqual => below(a1 < b0 || b1 < a0, false),
        _ => None,
    }
}
