//! Joint stores: stores to one place under exclusive guards that together certainly write. They are in both arms of a branch, in all
//! cases of a switch, or before a `return` and behind it.
//!
//! # Guarantees
//! - wherever the guards of a joint store hold, one of its stores happens, to its bytes, in each round of its loops

use ahash::AHashMap;

use super::access::{Access, AccessKind};
use super::build::Builder;
use super::bytes::Pieces;
use super::expr::NodeId;

/// Most stores of one place that are looked at together.
const MAX_STORES: usize = 32;

/// Where a store goes: binding, constant part, indices with strides, bytes. Equal expressions have equal nodes.
type Place<'a> = (usize, u64, Vec<(NodeId, u64)>, Option<&'a Pieces>);

impl Builder<'_> {
    pub(super) fn joint(&mut self, accesses: &[Access]) -> Vec<Access> {
        let mut index: AHashMap<Place<'_>, usize> = AHashMap::new();
        let mut places: Vec<Vec<&Access>> = Vec::new();
        for access in
            accesses.iter().filter(|access| access.kind == AccessKind::Write && access.texel.is_none())
        {
            let terms = access.terms.iter().map(|term| (term.index, term.stride)).collect();
            let place = (access.binding, access.constant, terms, access.pieces.as_ref());
            let number = *index.entry(place).or_insert(places.len());
            if number == places.len() {
                places.push(Vec::new());
            }
            places[number].push(access);
        }
        places.iter().filter_map(|stores| self.joined(stores)).collect()
    }

    /// The stores of one place as one, if that says more than each by itself.
    fn joined(&mut self, stores: &[&Access]) -> Option<Access> {
        let mut blocks: Vec<usize> = stores.iter().map(|access| access.at.0).collect();
        blocks.dedup();
        if blocks.len() < 2 || stores.len() > MAX_STORES {
            return None;
        }
        let edges = self.cfg.common_guards(self.function, &blocks)?;
        if stores.iter().any(|access| access.exact_guards && access.guards.len() == edges.len()) {
            return None;
        }
        let first = *stores.first()?;
        let guards = edges.iter().map(|edge| self.guard(edge)).collect();
        let loops = self.places(first.at.0, &edges);
        Some(Access { guards, exact_guards: true, loops, ..first.clone() })
    }
}
