//! Indices that are a row times its length and a column, and numbers that are divided: where such a number is at hand with its row and column, its
//! quotient and remainder are there already.
//!
//! # Guarantees
//! - each product that is a term of the index of a stored element is listed, and each quotient and remainder of words

use rspirv::dr::Instruction;
use rspirv::spirv::Op;
use smallvec::SmallVec;
use std::collections::BTreeMap;

use super::access::{Access, AccessKind};
use super::affine::{Affine, Atoms};
use super::build::{Builder, id_at};
use super::evaluate::Evaluator;
use super::expr::NodeId;
use super::word::as_unsigned;

/// Most terms of a sum.
const MOST_TERMS: usize = 16;

/// A product that is a term of a sum: its id, and its factors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) id: u32,
    pub(crate) factors: [u32; 2],
}

/// The products that are terms of a sum of words, in an order that follows from the code alone.
pub(crate) fn products<'a>(
    sum: u32,
    made: impl Fn(u32) -> Option<&'a Instruction>,
) -> SmallVec<[Product; 2]> {
    let mut found = SmallVec::new();
    let mut open: SmallVec<[u32; 4]> = SmallVec::from_slice(&[sum]);
    for _ in 0..MOST_TERMS {
        let Some(id) = open.pop() else { break };
        let Some(inst) = made(id) else { continue };
        match (inst.class.opcode, id_at(inst, 0), id_at(inst, 1)) {
            (Op::CopyObject | Op::Bitcast, Some(of), _) => open.push(of),
            (Op::IAdd, Some(a), Some(b)) => open.extend([b, a]),
            (Op::IMul, Some(a), Some(b)) => found.push(Product { id, factors: [a, b] }),
            _ => {}
        }
    }
    found
}

impl Builder<'_> {
    /// Of loads of an element and stores to it, the factors of the products that are terms of its index.
    pub(super) fn products_of_indices(&mut self, accesses: &[Access]) -> BTreeMap<usize, Vec<[NodeId; 2]>> {
        let mut found = BTreeMap::new();
        for (number, access) in accesses.iter().enumerate() {
            let index = access.element.and_then(|element| element.index);
            let Some(index) = index.filter(|_| access.kind != AccessKind::Atomic) else { continue };
            let (block, position) = access.at;
            let local = |id: u32| self.definitions.get(&id).map(|definition| definition.inst());
            let chain = id_at(&self.function.blocks[block].instructions[position], 0).and_then(local);
            let Some(index) = chain.and_then(|chain| id_at(chain, index.depth + 1)) else { continue };
            let all = products(index, local);
            let factors = all.into_iter().map(|one| one.factors.map(|id| self.component(id, 0, block)));
            let factors: Vec<[NodeId; 2]> = factors.collect();
            if !factors.is_empty() {
                found.insert(number, factors);
            }
        }
        found
    }

    /// Quotients and remainders of single words, outside of loops, by block and position: dividend and divisor.
    pub(super) fn quotients(&mut self) -> BTreeMap<(usize, usize), [NodeId; 2]> {
        let mut found = BTreeMap::new();
        for (block, body) in self.function.blocks.iter().enumerate() {
            if !self.cfg.is_reachable(block) || self.cfg.innermost_loop(block).is_some() {
                continue;
            }
            for (position, inst) in body.instructions.iter().enumerate() {
                let divides =
                    matches!(inst.class.opcode, Op::UDiv | Op::SDiv | Op::UMod | Op::SRem | Op::SMod);
                let (Some(a), Some(b), Some(ty)) = (id_at(inst, 0), id_at(inst, 1), inst.result_type) else {
                    continue;
                };
                if divides && self.types.components(ty) == 1 {
                    found.insert((block, position), [a, b].map(|id| self.component(id, 0, block)));
                }
            }
        }
        found
    }
}

impl Evaluator<'_> {
    /// A word of 32 bits as a number, wherever it is computed.
    pub(crate) fn number(&mut self, atoms: &mut Atoms, node: NodeId) -> Option<Affine> {
        self.leave();
        self.number_here(atoms, node)
    }

    /// The same in the context of the access that was asked for last.
    pub(crate) fn number_here(&mut self, atoms: &mut Atoms, node: NodeId) -> Option<Affine> {
        let width = self.analysis.exprs.get(node).width();
        let value = self.value(atoms, node);
        (width == 32).then(|| as_unsigned(&value, width)).flatten().map(|value| value.form)
    }
}
