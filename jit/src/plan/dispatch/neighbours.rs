//! What an index is for four items next to each other, if the number of the first one is a multiple of four.
//!
//! # Requires
//! - a kernel that has its items' numbers from `GlobalInvocationId.x`, and the numbers of the call
//!
//! # Guarantees
//! - results hold for arithmetic modulo `2^32`: adding less than four to a multiple of four does not overflow

use crate::analysis::expr::{BinaryOp, CompareOp, Exprs, IdKind, Node, NodeId};

/// Most steps into an expression.
const MOST_STEPS: u32 = 64;

/// A word of four items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Word {
    /// One more from item to item; otherwise the same for all.
    steps: bool,
    /// That of the first item is a multiple of four.
    multiple: bool,
    /// It is this number.
    number: Option<u32>,
}

impl Word {
    fn number(number: u32) -> Self {
        Self { steps: false, multiple: number.is_multiple_of(4), number: Some(number) }
    }

    fn same(multiple: bool) -> Self {
        Self { multiple, ..Self::default() }
    }
}

/// Indices of a kernel that is submitted with these push constants.
pub(super) struct Neighbours<'a> {
    pub(super) exprs: &'a Exprs,
    pub(super) push: &'a [u8],
}

impl Neighbours<'_> {
    /// Whether the index of the first item is a multiple of four, and the others are those behind it.
    pub(super) fn are_vector(&self, index: NodeId) -> bool {
        let word = self.word(index, &mut MOST_STEPS.clone());
        word.is_some_and(|word| word.steps && word.multiple)
    }

    fn word(&self, node: NodeId, steps: &mut u32) -> Option<Word> {
        *steps = steps.checked_sub(1)?;
        match *self.exprs.get(node) {
            Node::Const { value, width: 32 } => Some(Word::number(value as u32)),
            Node::Push { offset, width: 32 } => {
                let bytes = self.push.get(offset as usize..)?.first_chunk()?;
                Some(Word::number(u32::from_le_bytes(*bytes)))
            }
            Node::Id { kind: IdKind::Global, dim: 0 } => {
                Some(Word { steps: true, multiple: true, number: None })
            }
            Node::Binary { op, width: 32, a, b } => {
                let (a, b) = (self.word(a, steps)?, self.word(b, steps)?);
                binary(op, a, b)
            }
            Node::Select { width: 32, condition, a, b } => {
                if let Some(truth) = self.truth(condition, steps) {
                    return self.word(if truth { a } else { b }, steps);
                }
                let (a, b) = (self.word(a, steps)?, self.word(b, steps)?);
                let fits = self.is_one_for_all(condition, steps)? && a.steps == b.steps;
                fits.then_some(Word { multiple: a.multiple && b.multiple, number: None, ..a })
            }
            _ => None,
        }
    }

    /// Whether a number is another, if both are known: divisors are compared with zero.
    fn truth(&self, condition: NodeId, steps: &mut u32) -> Option<bool> {
        match *self.exprs.get(condition) {
            Node::Compare { op: CompareOp::Equal, width: 32, a, b } => {
                Some(self.word(a, steps)?.number? == self.word(b, steps)?.number?)
            }
            _ => None,
        }
    }

    /// Whether a condition is the same for all four.
    fn is_one_for_all(&self, condition: NodeId, steps: &mut u32) -> Option<bool> {
        *steps = steps.checked_sub(1)?;
        match *self.exprs.get(condition) {
            Node::Compare { op: CompareOp::ULess, width: 32, a, b } => {
                let (a, b) = (self.word(a, steps)?, self.word(b, steps)?);
                Some(!b.steps && (!a.steps || a.multiple && b.multiple))
            }
            _ => Some(false),
        }
    }
}

fn binary(op: BinaryOp, a: Word, b: Word) -> Option<Word> {
    let both = a.multiple && b.multiple;
    if let (Some(a), Some(b)) = (a.number, b.number) {
        let number = match op {
            BinaryOp::Add => Some(a.wrapping_add(b)),
            BinaryOp::Sub => Some(a.wrapping_sub(b)),
            BinaryOp::Mul => Some(a.wrapping_mul(b)),
            BinaryOp::UDiv => a.checked_div(b),
            BinaryOp::UMod => a.checked_rem(b),
            BinaryOp::Shl => a.checked_shl(b),
            BinaryOp::ShrLogical => a.checked_shr(b),
            BinaryOp::And => Some(a & b),
            _ => None,
        };
        return number.map(Word::number);
    }
    match (op, b.number) {
        (BinaryOp::Add, _) if !(a.steps && b.steps) => {
            Some(Word { steps: a.steps || b.steps, multiple: both, number: None })
        }
        (BinaryOp::Sub, _) if a.steps || !b.steps => {
            Some(Word { steps: a.steps && !b.steps, multiple: both, number: None })
        }
        (BinaryOp::Mul, _) if !a.steps && !b.steps => Some(Word::same(a.multiple || b.multiple)),
        (BinaryOp::UDiv, Some(by)) if a.steps && a.multiple && b.multiple && by != 0 => {
            Some(Word::same(false))
        }
        (BinaryOp::UMod, Some(by)) if a.steps && a.multiple && b.multiple && by != 0 => Some(a),
        (BinaryOp::UMod, Some(by)) if !a.steps && by != 0 => Some(Word::same(both)),
        (BinaryOp::ShrLogical, Some(by)) if a.steps && a.multiple && (2..32).contains(&by) => {
            Some(Word::same(false))
        }
        (BinaryOp::And, Some(mask))
            if a.steps && a.multiple && mask >= 3 && mask.wrapping_add(1).is_power_of_two() =>
        {
            Some(a)
        }
        (BinaryOp::Shl, Some(by)) if !a.steps && by < 32 => Some(Word::same(a.multiple || by >= 2)),
        (BinaryOp::UDiv | BinaryOp::ShrLogical, Some(1..)) if !a.steps => Some(Word::same(false)),
        (BinaryOp::And, _) if !a.steps && !b.steps => Some(Word::same(a.multiple || b.multiple)),
        _ => None,
    }
}
