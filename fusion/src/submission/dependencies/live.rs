//! The pending accesses, by memory. Each memory has a place number, so that reading its accesses and then changing them takes a single
//! look-up.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::Access;
use crate::submission::identity::{ByNumber, MemoryId};

/// How many memories there may be before those without pending work are dropped.
const SWEEP_AT: usize = 256;

pub(super) type Accesses = SmallVec<[Access; 3]>;

/// The table.
#[derive(Debug, Default)]
pub(super) struct Live {
    places: HashMap<MemoryId, u32, ByNumber>,
    /// With the memory that has the place.
    all: Vec<(Option<MemoryId>, Accesses)>,
    /// Places of no memory.
    free: Vec<u32>,
    sweep_at: usize,
}

impl Live {
    /// The place of a memory, which it may lose with the next sweep.
    #[inline]
    pub(super) fn place(&mut self, memory: MemoryId) -> u32 {
        match self.places.get(&memory) {
            Some(place) => *place,
            None => self.new_place(memory),
        }
    }

    #[inline(never)]
    fn new_place(&mut self, memory: MemoryId) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.all.push((None, Accesses::new()));
            self.all.len() as u32 - 1
        });
        self.all[place as usize].0 = Some(memory);
        self.places.insert(memory, place);
        place
    }

    #[inline]
    pub(super) fn at(&self, place: u32) -> &[Access] {
        &self.all[place as usize].1
    }

    /// The accesses of a memory that had this place.
    #[inline]
    pub(super) fn at_mut(&mut self, mut place: u32, memory: MemoryId) -> &mut Accesses {
        if self.all[place as usize].0 != Some(memory) {
            place = self.place(memory);
        }
        &mut self.all[place as usize].1
    }

    /// The accesses of a memory.
    pub(super) fn of(&self, memory: MemoryId) -> &[Access] {
        self.places.get(&memory).map_or(&[], |place| self.at(*place))
    }

    /// All memories with accesses.
    pub(super) fn iter(&self) -> impl Iterator<Item = (MemoryId, &[Access])> {
        self.places
            .iter()
            .map(|(memory, place)| (*memory, self.at(*place)))
            .filter(|(_, all)| !all.is_empty())
    }

    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.places.len() > self.sweep_at.max(SWEEP_AT)
    }

    /// Drops accesses, and then the memories that have none.
    pub(super) fn sweep(&mut self, mut drop_some: impl FnMut(&mut Accesses)) {
        let Live { places, all, free, sweep_at } = self;
        places.retain(|_, place| {
            let (memory, accesses) = &mut all[*place as usize];
            drop_some(accesses);
            if accesses.is_empty() {
                *memory = None;
                free.push(*place);
            }
            !accesses.is_empty()
        });
        *sweep_at = 2 * places.len();
    }
}
