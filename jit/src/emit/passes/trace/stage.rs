//! Staged loads: their words go through an array in shared memory, so that one invocation may load what another one needs.

use std::rc::Rc;

use ahash::AHashMap;

use super::words::Polynomial;
use crate::ir::entity::Global;

/// How a way treats staged loads.
#[derive(Clone)]
pub(in crate::emit::passes) enum Stage {
    /// None are chosen yet: candidates are noted.
    Open,
    /// Stores their words to shared memory, and nothing else.
    Fill(Rc<Staged>),
    /// Loads their words from shared memory.
    Take(Rc<Staged>),
}

/// The staged loads.
pub(in crate::emit::passes) struct Staged {
    /// The array in shared memory.
    pub(in crate::emit::passes) array: Global,
    /// By the number of the access: where its words begin, and whether it is the first access to the same place, which fills them.
    pub(in crate::emit::passes) loads: AHashMap<usize, (u32, bool)>,
}

/// A candidate: an unconditional load of a 32-bit word from a buffer that the kernel does not write.
pub(in crate::emit::passes) struct Noted {
    /// Its number among the accesses of the way.
    pub(in crate::emit::passes) number: usize,
    /// The place of the first item's word.
    pub(in crate::emit::passes) place: (Global, Vec<Polynomial>),
}
