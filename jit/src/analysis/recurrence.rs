//! Trip counts of loops whose test depends on numbers alone, by running what the test depends on.
//!
//! `for (half = size / 2; half > 0; half = size / 2) { size = half + size % 2; ... }` has no counter: it neither steps nor is it
//! multiplied. But what its header carries follows from what it carried a round before, so where the first values are numbers of the
//! call, so are all others.
//!
//! # Requires
//! - a test that every round which another one follows has passed
//!
//! # Guarantees
//! - each time the loop is entered, the test holds at most as often as is returned; the iteration in which it fails is one more
//!
//! # Refuses
//! - first values that are no numbers; values that are loaded in the loop, or chosen in a way that is not followed; long loops

use ahash::{AHashMap, AHashSet};

use super::affine::Atoms;
use super::build::{Builder, Definition};
use super::evaluate::Evaluator;
use super::expr::{BinaryOp, Node, NodeId, holds, mask, sign_extend};
use super::loops::{Carried, Recurrence};

/// Most rounds that are run.
const MAX_ROUNDS: u64 = 512;

/// Most expressions that the values of a round are made of.
const MAX_NODES: usize = 128;

impl Builder<'_> {
    /// What the test of a loop depends on, if that is integers that the header carries.
    pub(super) fn recurrence(&mut self, index: usize) -> Option<Recurrence> {
        let test = self.tests[index]?;
        let phis = self.phis(index);
        let condition = self.boolean(test.condition, test.block);
        let mut recurrence = Recurrence { condition, stays: test.stays, carried: Vec::new() };
        let (mut open, mut seen) = (vec![condition], AHashSet::new());
        while let Some(node) = open.pop() {
            if !seen.insert(node) {
                continue;
            }
            if seen.len() > MAX_NODES {
                return None;
            }
            match *self.exprs.get(node) {
                Node::Opaque { id, component: 0, .. } | Node::Counter { id, .. } if phis.contains(&id) => {
                    let carried = self.carried(node, id, index)?;
                    open.push(carried.next);
                    recurrence.carried.push(carried);
                }
                Node::Opaque { .. } | Node::Counter { .. } | Node::Join { .. } | Node::Final { .. } => {
                    return None;
                }
                _ => open.extend(self.exprs.get(node).parts()),
            }
        }
        Some(recurrence)
    }

    fn carried(&mut self, leaf: NodeId, phi: u32, index: usize) -> Option<Carried> {
        let &Definition::Local { inst, .. } = self.definitions.get(&phi)? else { return None };
        let (mut first, mut next) = (None, None);
        for pair in inst.operands.chunks(2) {
            let value = pair.first()?.id_ref_any()?;
            let from = self.cfg.block_of_label(pair.get(1)?.id_ref_any()?)?;
            let is_next = self.cfg.loops[index].blocks.contains(from);
            let word = self.scalar(value, from);
            let slot = if is_next { &mut next } else { &mut first };
            if slot.replace(word).is_some_and(|known| known != word) {
                return None;
            }
        }
        Some(Carried { leaf, first: first?, next: next? })
    }
}

impl Evaluator<'_> {
    /// How often the test of a loop holds each time the loop is entered.
    pub(super) fn run(&mut self, atoms: &mut Atoms, recurrence: &Recurrence) -> Option<u64> {
        self.leave();
        let Recurrence { condition, stays, carried } = recurrence;
        let mut words = AHashMap::new();
        for one in carried {
            words.insert(one.leaf, self.word(atoms, one.first)?);
        }
        for rounds in 0..=MAX_ROUNDS {
            if (self.word_in(atoms, *condition, &mut words)? != 0) != *stays {
                return Some(if mutant!(OneRecurrenceLess) { rounds.saturating_sub(1) } else { rounds });
            }
            let mut next = AHashMap::new();
            for one in carried {
                next.insert(one.leaf, self.word_in(atoms, one.next, &mut words)?);
            }
            words = next;
        }
        None
    }

    /// The word that an expression is for every invocation.
    fn word(&mut self, atoms: &mut Atoms, node: NodeId) -> Option<u64> {
        let width = self.analysis.exprs.get(node).width();
        let number = self.value(atoms, node).constant()?;
        u64::try_from(number.rem_euclid(1 << width)).ok()
    }

    /// The word that an expression is in a round whose values these are. `words` remembers what was asked for.
    fn word_in(&mut self, atoms: &mut Atoms, node: NodeId, words: &mut AHashMap<NodeId, u64>) -> Option<u64> {
        if let Some(&word) = words.get(&node) {
            return Some(word);
        }
        let analysis = self.analysis;
        let mut of = |node: NodeId| self.word_in(atoms, node, words);
        let word = match *analysis.exprs.get(node) {
            Node::Binary { op, width, a, b } => binary(op, width, of(a)?, of(b)?)?,
            Node::Convert { signed, from, width, a } => match signed {
                true => sign_extend(of(a)?, from) as u64 & mask(width),
                false => of(a)? & mask(from) & mask(width),
            },
            Node::Select { condition, a, b, .. } => {
                let chosen = if of(condition)? != 0 { a } else { b };
                of(chosen)?
            }
            Node::Compare { op, width, a, b } => u64::from(holds(op, width, of(a)?, of(b)?)),
            Node::BoolAnd(a, b) => u64::from(of(a)? != 0 && of(b)? != 0),
            Node::BoolOr(a, b) => u64::from(of(a)? != 0 || of(b)? != 0),
            Node::BoolNot(a) => u64::from(of(a)? == 0),
            _ => self.word(atoms, node)?,
        };
        words.insert(node, word);
        Some(word)
    }
}

/// The result of an operation on two words, if it has one.
fn binary(op: BinaryOp, width: u8, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (sign_extend(a, width), sign_extend(b, width));
    let shift = || u32::try_from(b).ok().filter(|&bits| bits < u32::from(width));
    let is_defined = y != 0 && !(y == -1 && a == 1 << (width - 1));
    let word = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::UMulHigh => ((u128::from(a) * u128::from(b)) >> width) as u64,
        BinaryOp::UDiv => a.checked_div(b)?,
        BinaryOp::UMod => a.checked_rem(b)?,
        BinaryOp::SDiv => is_defined.then(|| x.wrapping_div(y))? as u64,
        BinaryOp::SRem => is_defined.then(|| x.wrapping_rem(y))? as u64,
        BinaryOp::SMod => {
            let rest = is_defined.then(|| x.wrapping_rem(y))?;
            (if rest != 0 && (rest < 0) != (y < 0) { rest + y } else { rest }) as u64
        }
        BinaryOp::Shl => a << shift()?,
        BinaryOp::ShrLogical => a >> shift()?,
        BinaryOp::ShrArithmetic => (x >> shift()?) as u64,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::UMin => a.min(b),
        BinaryOp::UMax => a.max(b),
        BinaryOp::SMin => x.min(y) as u64,
        BinaryOp::SMax => x.max(y) as u64,
    };
    Some(word & mask(width))
}
