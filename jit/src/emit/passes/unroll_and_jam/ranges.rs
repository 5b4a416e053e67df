//! What is known of numbers where one invocation does several of a work-group: its `k`-th has a local id from `k n` to `k n + n - 1`.
//!
//! In a step of a tree, `if (l < s)`, most of those that one invocation does have all the same answer. Then the branch has a constant condition, and a side
//! that nothing comes to is not written: a driver's compiler does not have to find out.
//!
//! # Guarantees
//! - a number lies in its range, in every invocation and every iteration

use ahash::AHashMap;
use rspirv::spirv::Op;

use crate::ir::entity::{Construct, Type, Value};
use crate::ir::{ConstructKind, End, Function, Module, Operation, TypeKind, fold};

/// Least and greatest value of a word of 32 bits; of a truth, 0 and 1.
pub(super) type Range = (u32, u32);

/// Ranges of the values that are written.
#[derive(Default)]
pub(super) struct Ranges {
    known: AHashMap<Value, Range>,
    /// Vectors that are local ids: those of their first components. The others are zero.
    vectors: AHashMap<Value, Range>,
}

impl Ranges {
    /// Notes the range of a local id, by that of its first component.
    pub(super) fn note_id(&mut self, value: Value, range: Range) {
        self.vectors.insert(value, range);
    }

    pub(super) fn note(&mut self, value: Value, range: Range) {
        self.known.insert(value, range);
    }

    /// The side of a selection that is always taken, if that does nothing and nothing comes out of the selection.
    pub(super) fn is_passed_by(&self, f: &Function, construct: Construct, condition: Value) -> bool {
        let data = &f.constructs[construct];
        let ConstructKind::If { accept, reject, .. } = data.kind else { return false };
        let side = match self.known.get(&condition) {
            Some((1, 1)) => &f.regions[accept],
            Some((0, 0)) => &f.regions[reject],
            _ => return false,
        };
        let ends = matches!(side.end, End::Exit { to, .. } if to == construct);
        data.results.is_empty() && side.nodes.is_empty() && ends
    }

    fn of(&self, module: &Module, f: &Function, value: Value) -> Option<Range> {
        let constant = || f.as_const(value).and_then(|constant| module.word_of(constant));
        self.known.get(&value).copied().or_else(|| constant().map(|number| (number, number)))
    }

    /// The range of an operation's result of type `ty`, from the ranges of its operands.
    pub(super) fn of_result(
        &self,
        module: &Module,
        f: &Function,
        operation: &Operation,
        ty: Type,
    ) -> Option<Range> {
        let Operation::Pure { op, args, literals } = operation else { return None };
        if !matches!(module.types.kind(ty), TypeKind::Bool | TypeKind::Int { width: 32, .. }) {
            return None;
        }
        match (op, args.as_slice(), literals.as_slice()) {
            (Op::CompositeExtract, [whole], [index]) => {
                self.vectors.get(whole).map(|&first| if *index == 0 { first } else { (0, 0) })
            }
            (Op::CopyObject | Op::Bitcast, [from], []) => self.of(module, f, *from),
            (_, args, []) => {
                let all: Option<Vec<Range>> = args.iter().map(|&arg| self.of(module, f, arg)).collect();
                result_of(*op, &all?)
            }
            _ => None,
        }
    }
}
/// The range of an operation on numbers of these ranges.
fn result_of(op: Op, all: &[Range]) -> Option<Range> {
    if all.iter().all(|range| range.0 == range.1) {
        let numbers: Vec<u32> = all.iter().map(|range| range.0).collect();
        return fold(op, &numbers).map(|number| (number, number));
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
