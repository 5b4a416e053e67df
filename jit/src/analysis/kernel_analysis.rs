//! What the analysis of one kernel found: all that plans ask of it, with nothing of a call in it.
//!
//! `build` makes it, `evaluate` puts numbers in.

use std::collections::BTreeMap;

use ahash::AHashMap;

use super::access::{Access, LengthQuery, PushUse, Texel};
use super::expr::{Exprs, NodeId, Passed};
use super::loops::LoopRounds;

/// What the analysis of one kernel found.
#[derive(Clone, Debug, Default)]
pub struct KernelAnalysis {
    /// Expressions of indices and conditions.
    pub exprs: Exprs,
    /// Accesses in program order.
    pub accesses: Vec<Access>,
    /// Joint stores: where one of several stores to a place happens whenever certain guards hold, one store under these guards. It
    /// is not among the accesses, and only says what is written.
    pub(crate) joint: Vec<Access>,
    /// Dominance between the blocks of accesses: `(a, b)` with a's block dominating b's.
    pub(crate) dominance: Vec<Vec<bool>>,
    /// Queries of a buffer's length, in program order.
    pub(crate) lengths: Vec<LengthQuery>,
    /// Its loops.
    pub(crate) loops: Vec<LoopRounds>,
    /// Counters that some rounds leave as they are: their loops, and the branches that a round takes if it steps.
    pub(crate) skipping: Vec<(usize, Vec<Passed>)>,
    /// The places in buffers that expressions depend on: binding, offset and width in bits.
    pub(crate) cells: Vec<(u16, u32, u8)>,
    /// Of a kernel with one store: divisions that may not be done where that is, by block and position.
    pub(crate) divisions: BTreeMap<(usize, usize), Division>,
    /// Of loads and stores, by their numbers, the factors of the products that are terms of the element's index.
    pub(crate) products: BTreeMap<usize, Vec<[NodeId; 2]>>,
    /// Quotients and remainders outside of loops, by block and position: dividend and divisor.
    pub(crate) quotients: BTreeMap<(usize, usize), [NodeId; 2]>,
    /// What the kernel reads of its push constants.
    pub(crate) push: PushUse,
    /// Bindings reached in a way the analysis does not follow.
    pub(crate) escaped: Vec<(usize, String)>,
}

/// What is divided by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Division {
    pub(super) signed: bool,
    /// Dividend and divisor of each component.
    pub(super) parts: Vec<(NodeId, NodeId)>,
}

impl KernelAnalysis {
    /// An access by its number; the joint ones come after the others.
    pub(crate) fn access(&self, number: usize) -> Option<&Access> {
        self.accesses.iter().chain(&self.joint).nth(number)
    }

    /// Whether access `a` has happened whenever access `b` of the same invocation happens.
    pub(crate) fn precedes(&self, a: usize, b: usize) -> bool {
        let (Some(first), Some(second)) = (self.accesses.get(a), self.accesses.get(b)) else { return false };
        if mutant!(AnyBlockDominates) {
            return a < b;
        }
        if first.at.0 == second.at.0 { first.at.1 < second.at.1 } else { self.dominance[a][b] }
    }

    /// Accesses by block and position: their number, and that among those of their binding.
    pub(crate) fn numbered(&self) -> AHashMap<(usize, usize), (usize, usize)> {
        let mut counts: AHashMap<usize, usize> = AHashMap::new();
        let numbered = self.accesses.iter().enumerate().map(|(number, access)| {
            let next = counts.entry(access.binding).or_default();
            *next += 1;
            (access.at, (number, *next - 1))
        });
        numbered.collect()
    }

    /// Length queries by the id of their result: the number among those of their binding, through whatever variable.
    pub(crate) fn numbered_lengths(&self) -> AHashMap<u32, usize> {
        let mut counts: AHashMap<usize, usize> = AHashMap::new();
        let numbered = self.lengths.iter().map(|query| {
            let next = counts.entry(query.binding).or_default();
            *next += 1;
            (query.id, *next - 1)
        });
        numbered.collect()
    }

    /// The byte offset of an access, or the coordinates of its texel, as text, for people.
    pub fn describe(&self, access: &Access) -> String {
        match access.texel {
            None => {}
            Some(Texel::Any) => return "any texel".to_owned(),
            Some(Texel::At(_) | Texel::Fetched(_)) => {
                let each = access.terms.iter().map(|term| self.exprs.display(term.index));
                return format!("({})", each.collect::<Vec<_>>().join(", "));
            }
        }
        let mut text = String::new();
        for term in &access.terms {
            if !text.is_empty() {
                text.push_str(" + ");
            }
            text.push_str(&self.exprs.display(term.index));
            if term.stride != 1 {
                text.push_str(&format!(" * {}", term.stride));
            }
        }
        if access.constant != 0 || text.is_empty() {
            if !text.is_empty() {
                text.push_str(" + ");
            }
            text.push_str(&access.constant.to_string());
        }
        text
    }
}
