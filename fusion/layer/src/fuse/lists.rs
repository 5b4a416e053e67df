//! The lists that were submitted, and what became of each.

use super::plans::{Kernels, Planned};
use crate::sink::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Lists that are kept; those after them stay as they are.
const MOST: usize = 1024;

/// A list.
#[derive(Default)]
pub(super) struct List(Mutex<State>);

/// How far it is.
#[derive(Clone, Default)]
pub(super) enum State {
    #[default]
    New,
    Building,
    /// It stays as it is.
    Unfit,
    Planned(Arc<Planned>),
}

impl List {
    pub(super) fn state(&self) -> State {
        lock(&self.0).clone()
    }

    /// Whether the caller is to have it built.
    pub(super) fn begin(&self) -> bool {
        let mut state = lock(&self.0);
        let is_new = matches!(*state, State::New);
        if is_new {
            *state = State::Building;
        }
        is_new
    }

    pub(super) fn becomes(&self, state: State) {
        *lock(&self.0) = state;
    }
}

/// Lists by their structure, which is compared in full.
#[derive(Default)]
pub(crate) struct Lists {
    known: Mutex<HashMap<Vec<u8>, Arc<List>>>,
    pub(super) kernels: Arc<Kernels>,
}

impl Lists {
    pub(super) fn of(&self, structure: Vec<u8>) -> Option<Arc<List>> {
        let mut known = lock(&self.known);
        if known.len() >= MOST && !known.contains_key(&structure) {
            return None;
        }
        Some(known.entry(structure).or_default().clone())
    }

    pub(super) fn clear(&self) {
        lock(&self.known).clear();
        self.kernels.clear();
    }
}
