//! The pieces of work that accesses refer to, each kept for as long as one does.

use std::sync::Arc;

use super::{Needs, Stage};
use crate::vk::Point;

/// A piece of work, by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkId(u32);

/// A mark of a piece of work that may be repeated: see [`Graph::repeat`](super::Graph::repeat).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) work: WorkId,
    pub(crate) number: u64,
}

/// A queue, and how work on it reaches memory.
pub(crate) type Line = (u32, Stage);

#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Work {
    pub(crate) label: Arc<str>,
    pub(crate) stage: Stage,
    pub(crate) point: Point,
    /// Place in the order of everything that was ever added.
    pub(crate) position: u64,
    /// Its position when it was added, which no other work has.
    pub(crate) number: u64,
    /// It may be repeated: see [`Graph::repeat`](super::Graph::repeat).
    pub(crate) again: bool,
    /// It ends with a barrier of its own, so nothing on its queue needs another one.
    pub(crate) ordered: bool,
    /// Accesses in force that refer to it.
    pub(crate) accesses: u32,
}

impl Work {
    /// What orders later work of a stage on a queue after this: a barrier from its stage, a wait, or what is there already.
    pub(crate) fn order(
        &self,
        lane: u32,
        stage: Stage,
        synced: &[[u64; 2]; 2],
        from: &mut [bool; 2],
        needs: &mut Needs,
    ) {
        if self.point.queue == lane {
            from[self.stage as usize] |=
                !self.ordered && self.position > synced[self.stage as usize][stage as usize];
        } else if !needs.waits.contains(&self.point) {
            needs.waits.push(self.point);
        }
    }

    /// Its queue and stage: what one barrier orders is of one line.
    pub(crate) fn line(&self) -> Line {
        (self.point.queue, self.stage)
    }
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Works {
    slots: Vec<Option<Work>>,
    free: Vec<u32>,
}

impl Works {
    #[inline]
    pub(crate) fn add(&mut self, work: Work) -> WorkId {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(work);
            return WorkId(slot);
        }
        self.slots.push(Some(work));
        WorkId(self.slots.len() as u32 - 1)
    }

    #[inline]
    pub(crate) fn get(&self, id: WorkId) -> &Work {
        self.slots[id.0 as usize].as_ref().expect("invariant: work is kept while an access refers to it")
    }

    /// The work of a mark, if it is still there.
    #[inline]
    pub(crate) fn find(&mut self, mark: Mark) -> Option<&mut Work> {
        let slot = self.slots.get_mut(mark.work.0 as usize)?;
        slot.as_mut().filter(|work| work.number == mark.number)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: WorkId) -> &mut Work {
        self.slots[id.0 as usize].as_mut().expect("invariant: work is kept while an access refers to it")
    }

    /// One access less refers to it.
    #[inline]
    pub(crate) fn release(&mut self, id: WorkId) {
        self.get_mut(id).accesses -= 1;
        self.drop_unused(id);
    }

    /// Forgets it if no access refers to it.
    #[inline]
    pub(crate) fn drop_unused(&mut self, id: WorkId) {
        if self.get(id).accesses == 0 {
            self.slots[id.0 as usize] = None;
            self.free.push(id.0);
        }
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (WorkId, &Work)> {
        self.slots.iter().enumerate().filter_map(|(at, work)| Some((WorkId(at as u32), work.as_ref()?)))
    }
}
