//! The pieces of work that accesses refer to, each kept for as long as one does.

use std::sync::Arc;

use super::{Needs, Stage};
use crate::vk::Point;

/// A piece of work, by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkId(u32);

/// A mark of a piece of work that may be repeated: see [`Dependencies::repeat`](super::Dependencies::repeat).
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
    /// It may be repeated: see [`Dependencies::repeat`](super::Dependencies::repeat).
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
    /// What is not there any more has the number 0, which no work has. It keeps its label: the next one here is likely to have it, too.
    slots: Vec<Work>,
    free: Vec<u32>,
}

impl Works {
    /// Adds work that is nowhere yet.
    #[inline]
    pub(crate) fn add(&mut self, label: &Arc<str>, (queue, stage): Line, position: u64) -> WorkId {
        let (point, number) = (Point { queue, value: u64::MAX }, position);
        let new =
            |label| Work { label, stage, point, position, number, again: false, ordered: false, accesses: 0 };
        let Some(slot) = self.free.pop() else {
            self.slots.push(new(label.clone()));
            return WorkId(self.slots.len() as u32 - 1);
        };
        let work = &mut self.slots[slot as usize];
        if Arc::ptr_eq(&work.label, label) {
            (work.stage, work.point, work.position, work.number) = (stage, point, position, number);
            (work.again, work.ordered, work.accesses) = (false, false, 0);
        } else {
            *work = new(label.clone());
        }
        WorkId(slot)
    }

    #[inline]
    pub(crate) fn get(&self, id: WorkId) -> &Work {
        let work = &self.slots[id.0 as usize];
        assert!(work.number > 0, "invariant: work is kept while an access refers to it");
        work
    }

    /// The work of a mark, if it is still there.
    #[inline]
    pub(crate) fn find(&mut self, mark: Mark) -> Option<&mut Work> {
        self.slots.get_mut(mark.work.0 as usize).filter(|work| work.number == mark.number)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: WorkId) -> &mut Work {
        let work = &mut self.slots[id.0 as usize];
        assert!(work.number > 0, "invariant: work is kept while an access refers to it");
        work
    }

    /// One access less refers to it.
    #[inline]
    pub(crate) fn release(&mut self, id: WorkId) {
        let work = self.get_mut(id);
        work.accesses -= 1;
        if work.accesses == 0 {
            work.number = 0;
            self.free.push(id.0);
        }
    }

    /// Forgets it if no access refers to it.
    #[inline]
    pub(crate) fn drop_unused(&mut self, id: WorkId) {
        let work = self.get_mut(id);
        if work.accesses == 0 {
            work.number = 0;
            self.free.push(id.0);
        }
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (WorkId, &Work)> {
        self.slots
            .iter()
            .enumerate()
            .filter(|(_, work)| work.number > 0)
            .map(|(at, work)| (WorkId(at as u32), work))
    }
}
