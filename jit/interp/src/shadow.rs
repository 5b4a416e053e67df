//! The last accesses to each piece of memory, and whether the next access races with them.
//!
//! Work-groups run one after the other, which keeps the state small: per piece of memory the last plain
//! writer, and of the plain readers, the atomic readers and the other atomics each the last one, the last
//! other one of its sub-group, the last one of another sub-group, and one of an earlier work-group. That is
//! enough to notice every piece of memory that is raced on: an access that is forgotten is ordered before
//! whatever all of those kept are ordered before, or its own race was already reported. (A test compares
//! this with a full log.)
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
    /// The last one of the same sub-group by another invocation.
    second: Touch,
    /// The last one of another sub-group of the same work-group.
    beside: Touch,
    /// One of an earlier work-group.
    elsewhere: Touch,
}

impl Recent {
    const NONE: Self =
        Self { last: Touch::NONE, second: Touch::NONE, beside: Touch::NONE, elsewhere: Touch::NONE };

    fn add(&mut self, touch: Touch, now: &Now) {
        let last = self.last.invocation;
        if last != touch.invocation && last != NOBODY {
            if now.in_subgroup(last) {
                self.second = self.last;
            } else if now.in_group(last) {
                self.beside = self.last;
                self.second = Touch::NONE;
            } else {
                self.elsewhere = self.last;
                self.beside = Touch::NONE;
                self.second = Touch::NONE;
            }
        }
        self.last = touch;
    }

    fn conflict(&self, now: &Now) -> Option<Touch> {
        let kept = [&self.last, &self.second, &self.beside, &self.elsewhere];
        kept.into_iter().find(|touch| !now.ordered(touch)).copied()
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
    loads: Recent,
    others: Recent,
}

impl AtomicCell {
    const NONE: Self = Self { stamp: 0, loads: Recent::NONE, others: Recent::NONE };
}

/// The invocation that accesses memory now, and what is ordered before it.
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

    fn in_subgroup(&self, invocation: u32) -> bool {
        invocation.wrapping_sub(self.subgroup_first) < self.subgroup_size && self.in_group(invocation)
    }

    /// Whether nothing can go wrong between that access and one made now.
    fn ordered(&self, touch: &Touch) -> bool {
        touch.invocation == self.invocation
            || touch.invocation == NOBODY
            || (touch.time < self.group_cover && self.in_group(touch.invocation))
            || (touch.time < self.subgroup_cover && self.in_subgroup(touch.invocation))
    }

    /// Whether a barrier of the common work-group lies between, whatever it covers.
    pub(super) fn barrier_between(&self, touch: &Touch) -> bool {
        self.in_group(touch.invocation) && touch.time < self.time
    }
}

/// Shadow state of one memory object, or of the Workgroup memory.
#[derive(Debug, Default)]
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
            self.atomics.resize(cells, AtomicCell::NONE);
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
            AccessKind::Read => cell.reads.add(touch, now),
            AccessKind::Write => {
                conflict = conflict.or_else(|| cell.reads.conflict(now));
                cell.write = touch;
            }
            AccessKind::Atomic => conflict = conflict.or_else(|| cell.reads.conflict(now)),
            AccessKind::AtomicRead => {}
        }
        if let Some(cell) = self.atomics.get_mut(index) {
            if cell.stamp != self.stamp {
                *cell = AtomicCell { stamp: self.stamp, ..AtomicCell::NONE };
            }
            match touch.kind {
                AccessKind::Read => conflict = conflict.or_else(|| cell.others.conflict(now)),
                AccessKind::Write => {
                    conflict =
                        conflict.or_else(|| cell.others.conflict(now).or_else(|| cell.loads.conflict(now)));
                }
                AccessKind::Atomic => cell.others.add(touch, now),
                AccessKind::AtomicRead => cell.loads.add(touch, now),
            }
        }
        conflict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Random;

    const KINDS: [AccessKind; 4] =
        [AccessKind::Read, AccessKind::Write, AccessKind::AtomicRead, AccessKind::Atomic];

    fn conflicting(a: AccessKind, b: AccessKind) -> bool {
        let writes = |kind| matches!(kind, AccessKind::Write | AccessKind::Atomic);
        let atomic = |kind| matches!(kind, AccessKind::AtomicRead | AccessKind::Atomic);
        (writes(a) || writes(b)) && !(atomic(a) && atomic(b))
    }

    /// A random history of one cell: groups of two sub-groups of two invocations, barriers of all sorts between
    /// the accesses. Says whether the shadow and a full log found a race.
    fn history(random: &mut Random) -> (bool, bool) {
        const GROUP: u32 = 4;
        let mut shadow = Shadow::default();
        shadow.begin(1, 0, true);
        let mut log: Vec<(Touch, [u32; 2])> = Vec::new();
        let (mut noticed, mut raced) = (false, false);
        // Few kinds at a time, or nearly every history is a race.
        let kinds = [KINDS[random.below(4)], KINDS[random.below(4)]];
        for group in 0..1 + random.below(3) as u32 {
            let (mut time, mut group_cover, mut subgroup_covers) = (0, 0, [0; 2]);
            for _ in 0..random.below(6) {
                match random.below(5) {
                    0 => {
                        time += 1;
                        group_cover = time;
                    }
                    1 => {
                        time += 1;
                        subgroup_covers[random.below(2)] = time;
                    }
                    // A barrier that does not cover this memory.
                    2 => time += 1,
                    _ => {}
                }
                let local = random.below(GROUP as usize) as u32;
                let subgroup = local / 2;
                let now = Now {
                    invocation: group * GROUP + local,
                    group_first: group * GROUP,
                    group_size: GROUP,
                    subgroup_first: group * GROUP + subgroup * 2,
                    subgroup_size: 2,
                    time,
                    group_cover,
                    subgroup_cover: subgroup_covers[subgroup as usize],
                };
                let kind = kinds[random.below(2)];
                let touch = Touch { invocation: now.invocation, time, at: 0, slot: 0, kind };
                raced |= log.iter().any(|(other, [other_group, other_subgroup])| {
                    let covered = other.time < group_cover
                        || *other_subgroup == subgroup && other.time < now.subgroup_cover;
                    let ordered = other.invocation == touch.invocation || *other_group == group && covered;
                    conflicting(other.kind, kind) && !ordered
                });
                log.push((touch, [group, subgroup]));
                noticed |= shadow.touch(0, 1, touch, &now).is_some();
            }
        }
        (noticed, raced)
    }

    #[test]
    fn notices_a_race_exactly_where_a_full_log_shows_one() {
        let mut random = Random::new(11);
        let mut races = 0;
        for round in 0..50_000 {
            let (noticed, raced) = history(&mut random);
            assert_eq!(noticed, raced, "history {round}");
            races += u32::from(raced);
        }
        assert!((5_000..45_000).contains(&races), "{races} of 50000 histories race");
    }
}
