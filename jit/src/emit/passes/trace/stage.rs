//! Loads that are staged: the elements that all items of a work-group load by one of them go through an array in shared memory, so that other
//! invocations may load them than those that need them.

use std::rc::Rc;

use ahash::AHashMap;

use super::words::Polynomial;
use crate::ir::entity::Global;

/// What a way does with loads that are staged.
#[derive(Clone)]
pub(in crate::emit::passes) enum Stage {
    /// It is not known yet which are: those that might be are noted.
    Open,
    /// It stores what they load, and nothing else.
    Fill(Rc<Staged>),
    /// It takes what was stored.
    Take(Rc<Staged>),
}

/// Loads that are staged, and where.
pub(in crate::emit::passes) struct Staged {
    /// Words in shared memory.
    pub(in crate::emit::passes) array: Global,
    /// By the number of an access: the first word of what its items load, and whether it is the first access that loads this.
    pub(in crate::emit::passes) loads: AHashMap<usize, (u32, bool)>,
}

/// A load that might be staged: of a word that nothing writes, whenever the way is taken.
pub(in crate::emit::passes) struct Noted {
    /// Its number among the accesses of the way.
    pub(in crate::emit::passes) number: usize,
    /// Where the first item's word lies.
    pub(in crate::emit::passes) place: (Global, Vec<Polynomial>),
}
