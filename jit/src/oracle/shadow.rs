//! Who touched each piece of memory last, and whether the next access races with that.
//!
//! Work-groups run one after the other, which keeps the state small: per piece of memory the last plain
//! writer, and of the plain readers and of the atomics each the last one, the last one by another
//! invocation, and one of an earlier work-group. That is enough to notice every piece of memory that is
//! raced on: whoever is forgotten is either ordered before all later accesses of the group, or stands
//! in for by one of those kept, or its race was already reported.
//!
//! A piece ("grain") is the largest power of two up to four bytes that divides every offset, stride and
//! width of the dispatch, so that two scalars never share a grain. State is not cleared between
//! dispatches (or groups, for Workgroup memory) but stamped.

use super::finding::AccessKind;

/// No invocation.
const NOBODY: u32 = u32::MAX;

/// One remembered access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    /// Linear index of the invocation in the dispatch, group by group.
    pub(super) invocation: u32,
    /// Barriers that the work-group had passed.
    pub(super) time: u32,
    /// Index of the instruction in the program.
    pub(super) at: u32,
    /// Index of the binding in the program; its number of bindings for other memory.
    pub(super) slot: u16,
    pub(super) kind: AccessKind,
}

impl Touch {
    const NONE: Self = Self { invocation: NOBODY, time: 0, at: 0, slot: 0, kind: AccessKind::Read };
}

/// The last accesses of one kind.
#[derive(Clone, Copy, Debug)]
struct Recent {
    last: Touch,
    /// The last one of the same work-group by another invocation.
    second: Touch,
    /// One of an earlier work-group.
    elsewhere: Touch,
}

impl Recent {
    const NONE: Self = Self { last: Touch::NONE, second: Touch::NONE, elsewhere: Touch::NONE };

    fn add(&mut self, touch: Touch, now: &Now) {
        if self.last.invocation != touch.invocation && self.last.invocation != NOBODY {
            if now.in_group(self.last.invocation) {
                self.second = self.last;
            } else {
                self.elsewhere = self.last;
                self.second = Touch::NONE;
            }
        }
        self.last = touch;
    }

    fn conflict(&self, now: &Now, harmless: impl Fn(&Touch) -> bool) -> Option<Touch> {
        [&self.last, &self.second, &self.elsewhere]
            .into_iter()
            .find(|touch| !now.ordered(touch) && !harmless(touch))
            .copied()
    }
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    stamp: u32,
    write: Touch,
    reads: Recent,
}

#[derive(Clone, Copy, Debug)]
struct AtomicCell {
    stamp: u32,
    atomics: Recent,
}

/// Who accesses memory now, and what is ordered before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Now {
    /// Linear index of the invocation in the dispatch.
    pub(super) invocation: u32,
    /// Linear index of the first invocation of its group.
    pub(super) group_first: u32,
    /// Invocations in a group.
    pub(super) group_size: u32,
    /// First invocation of the sub-group, and how many it has.
    pub(super) subgroup_first: u32,
    pub(super) subgroup_size: u32,
    /// Barriers that the group has passed.
    pub(super) time: u32,
    /// Accesses of the group before this time are ordered before now, for this kind of memory.
    pub(super) group_cover: u32,
    /// The same for accesses of the sub-group.
    pub(super) subgroup_cover: u32,
}

impl Now {
    fn in_group(&self, invocation: u32) -> bool {
        invocation.wrapping_sub(self.group_first) < self.group_size
    }

    /// Whether nothing can go wrong between that access and one made now.
    fn ordered(&self, touch: &Touch) -> bool {
        touch.invocation == self.invocation
            || touch.invocation == NOBODY
            || (self.in_group(touch.invocation)
                && (touch.time < self.group_cover
                    || (touch.time < self.subgroup_cover
                        && touch.invocation.wrapping_sub(self.subgroup_first) < self.subgroup_size)))
    }

    /// Whether a barrier of the common work-group lies between, whatever it covers.
    pub(super) fn barrier_between(&self, touch: &Touch) -> bool {
        self.in_group(touch.invocation) && touch.time < self.time
    }
}

/// Shadow state of one memory object, or of the Workgroup memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Shadow {
    stamp: u32,
    /// log2 of the bytes in a grain.
    shift: u32,
    cells: Vec<Cell>,
    /// Filled only while some program has atomics.
    atomics: Vec<AtomicCell>,
}

impl Shadow {
    /// Forgets everything, and prepares for `len` bytes (or scalars, with a shift of 0).
    pub(super) fn begin(&mut self, len: usize, shift: u32, atomics: bool) {
        if self.stamp == u32::MAX {
            self.cells.clear();
            self.atomics.clear();
            self.stamp = 0;
        }
        self.stamp += 1;
        self.shift = shift;
        let cells = (len >> shift) + 1;
        if self.cells.len() < cells {
            self.cells.resize(cells, Cell { stamp: 0, write: Touch::NONE, reads: Recent::NONE });
        }
        if atomics && self.atomics.len() < cells {
            self.atomics.resize(cells, AtomicCell { stamp: 0, atomics: Recent::NONE });
        }
        if !atomics {
            self.atomics.clear();
        }
    }

    /// Notes an access to bytes inside the length given to `begin`, and returns an earlier access that it
    /// races with.
    pub(super) fn touch(&mut self, offset: usize, width: usize, touch: Touch, now: &Now) -> Option<Touch> {
        let first = offset >> self.shift;
        let last = (offset + width - 1) >> self.shift;
        let mut conflict = None;
        for index in first..=last {
            let found = self.touch_cell(index, touch, now);
            conflict = conflict.or(found);
        }
        conflict
    }

    fn touch_cell(&mut self, index: usize, touch: Touch, now: &Now) -> Option<Touch> {
        let cell = &mut self.cells[index];
        if cell.stamp != self.stamp {
            *cell = Cell { stamp: self.stamp, write: Touch::NONE, reads: Recent::NONE };
        }
        let mut conflict = (!now.ordered(&cell.write)).then_some(cell.write);
        match touch.kind {
            AccessKind::Read | AccessKind::AtomicRead => cell.reads.add(touch, now),
            AccessKind::Write => {
                conflict = conflict.or_else(|| cell.reads.conflict(now, |_| false));
                cell.write = touch;
            }
            AccessKind::Atomic => {
                let atomic_read = |other: &Touch| other.kind == AccessKind::AtomicRead;
                conflict = conflict.or_else(|| cell.reads.conflict(now, atomic_read));
            }
        }
        if let Some(cell) = self.atomics.get_mut(index) {
            if cell.stamp != self.stamp {
                *cell = AtomicCell { stamp: self.stamp, atomics: Recent::NONE };
            }
            match touch.kind {
                AccessKind::Read | AccessKind::Write => {
                    conflict = conflict.or_else(|| cell.atomics.conflict(now, |_| false));
                }
                AccessKind::Atomic => cell.atomics.add(touch, now),
                AccessKind::AtomicRead => {}
            }
        }
        conflict
    }
}
