//! Conditions that are kept in values: choices between words, and comparisons of words that conditions choose.
//!
//! # Guarantees
//! - a choice between truths is a conjunction or a disjunction where it is one
//! - `(c ? 1 : 0) != 0` is `c`, whatever words stand for true and false, and however many conditions choose
//! - flags that `|` or `&` puts together are what is put together of their conditions

use super::expr::{BinaryOp, CompareOp, Exprs, Node, NodeId, holds};

/// Most words that a comparison is followed through.
const MAX_WORDS: u32 = 64;

/// A comparison of a word with a constant.
#[derive(Clone, Copy)]
struct Comparison {
    op: CompareOp,
    width: u8,
    constant: u64,
    /// Whether the constant stands first.
    swapped: bool,
}

impl Exprs {
    /// A comparison of two words; decided if both are constants, and made of conditions if these choose between constants.
    pub(crate) fn compare(&mut self, op: CompareOp, width: u8, a: NodeId, b: NodeId) -> NodeId {
        let mut budget = MAX_WORDS;
        let asked = match (self.get(a), self.get(b)) {
            (_, &Node::Const { value, .. }) => {
                self.asked(Comparison { op, width, constant: value, swapped: false }, a, &mut budget)
            }
            (&Node::Const { value, .. }, _) => {
                self.asked(Comparison { op, width, constant: value, swapped: true }, b, &mut budget)
            }
            _ => None,
        };
        asked.unwrap_or_else(|| self.add(Node::Compare { op, width, a, b }))
    }

    /// What a comparison is of a word that is made of constants by conditions.
    fn asked(&mut self, comparison: Comparison, word: NodeId, budget: &mut u32) -> Option<NodeId> {
        let Comparison { op, width, constant, swapped } = comparison;
        *budget = budget.checked_sub(1)?;
        match *self.get(word) {
            Node::Const { value, .. } => {
                let (x, y) = if swapped { (constant, value) } else { (value, constant) };
                let holds = holds(op, width, x, y);
                Some(self.constant(u64::from(holds), 1))
            }
            Node::Select { condition, a, b, .. } => {
                let a = self.asked(comparison, a, budget)?;
                let b = self.asked(comparison, b, budget)?;
                Some(self.choose(condition, a, b))
            }
            Node::Binary { op: by @ (BinaryOp::Or | BinaryOp::And), a, b, .. } => {
                let differs = match op {
                    CompareOp::NotEqual => true,
                    CompareOp::Equal => false,
                    _ => return None,
                };
                // Two words may have bits and none of them in common.
                let are_bits = self.is_bit(a) && self.is_bit(b) || mutant!(AnyWordIsABit);
                let are_asked = by == BinaryOp::Or || are_bits;
                if constant != 0 || !are_asked {
                    return None;
                }
                let (a, b) = (self.asked(comparison, a, budget)?, self.asked(comparison, b, budget)?);
                let is_or = by == BinaryOp::Or && !mutant!(OneFlagIsAll);
                Some(if is_or == differs { self.or(a, b) } else { self.and(a, b) })
            }
            _ => None,
        }
    }

    /// Whether a word is zero or one, as far as conditions choose it.
    fn is_bit(&self, word: NodeId) -> bool {
        let mut open = vec![word];
        for _ in 0..MAX_WORDS {
            match open.pop().map(|word| self.get(word)) {
                None => return true,
                Some(Node::Const { value: 0 | 1, .. }) => {}
                Some(&Node::Select { a, b, .. })
                | Some(&Node::Binary { op: BinaryOp::And | BinaryOp::Or, a, b, .. }) => open.extend([a, b]),
                Some(_) => return false,
            }
        }
        false
    }

    /// `condition ? a : b`.
    pub(crate) fn pick(&mut self, width: u8, condition: NodeId, a: NodeId, b: NodeId) -> NodeId {
        match self.get(condition) {
            Node::Const { value: 0, .. } => b,
            Node::Const { .. } => a,
            _ if width == 1 => self.choose(condition, a, b),
            _ => self.add(Node::Select { width, condition, a, b }),
        }
    }

    /// `condition ? a : b` of boolean nodes, as conjunction or disjunction where it is one.
    pub(crate) fn choose(&mut self, condition: NodeId, a: NodeId, b: NodeId) -> NodeId {
        if a == b {
            return a;
        }
        let negated = self.not(condition);
        match self.get(b) {
            // `b` is what the condition is not, so it is true where it is chosen.
            _ if b == negated => return self.or(negated, a),
            _ if b == condition => return self.and(condition, a),
            Node::Const { value: 0, .. } => return self.and(condition, a),
            Node::Const { .. } => return self.or(negated, a),
            _ => {}
        }
        // The same from the other side: `a` is chosen where the condition holds.
        match self.get(a) {
            _ if a == negated => return self.and(negated, b),
            _ if a == condition => return self.or(condition, b),
            Node::Const { value: 0, .. } => return self.and(negated, b),
            Node::Const { .. } => return self.or(condition, b),
            _ => {}
        }
        let yes = self.add(Node::BoolAnd(condition, a));
        let no = self.add(Node::BoolAnd(negated, b));
        self.add(Node::BoolOr(yes, no))
    }
}
