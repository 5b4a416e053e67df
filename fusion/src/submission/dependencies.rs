//! The dependency graph of pending work.
//!
//! Every piece of work that reached a queue (a dispatch, a copy, an upload) is known by what it touches until it is known
//! to be complete. From that follow the only two things that order work: a pipeline barrier where both run on the same
//! queue and none lies between them yet, and a wait for a time-line value where they run on different queues. Where there
//! is no conflict there is no barrier.
//!
//! Two accesses conflict when their byte ranges of the same memory overlap and at least one of them writes.
//!
//! What is complete is not sought out: it is skipped where its memory is looked at again, and dropped where something else
//! is put in force there.
//!
//! The edges are implied by the accesses in force of each memory, and not kept: docs/architecture.md says why.
//!
//! Nothing here knows Vulkan's objects: the dependency graph can be tested, and run under an interpreter, without a device.

use std::{collections::HashMap, sync::Arc};

use smallvec::SmallVec;

use crate::{
    submission::identity::{ByNumber, MemoryId, Span},
    vk::{Barrier, Point},
};

mod dot;
mod known;
mod live;
mod works;

use live::Live;
pub(crate) use works::Mark;
use works::{Line, Work, WorkId, Works};

/// One byte range that a piece of work reads, writes, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) memory: MemoryId,
    /// Which bytes of it.
    pub(crate) span: Span,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Touch {
    /// Whether the byte ranges overlap at all.
    pub(crate) fn overlaps(&self, other: &Touch) -> bool {
        self.memory == other.memory && self.span.overlaps(other.span)
    }

    /// Whether the order of the two matters.
    pub(crate) fn conflicts(&self, other: &Touch) -> bool {
        (self.writes || other.writes) && self.overlaps(other)
    }
}

pub(crate) type Touches = SmallVec<[Touch; 8]>;

/// What a barrier has to name: how the work reaches memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Compute = 0,
    Transfer = 1,
}

/// How many accesses of a memory there may be before those go that are complete, even if they may be repeated.
const CROWD: usize = 32;

/// What a piece of work has to wait for.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// The barrier to record right before it.
    pub(crate) barrier: Option<Barrier>,
    /// Work on other queues.
    pub(crate) waits: SmallVec<[Point; 4]>,
}

#[derive(Debug, Clone)]
struct Access {
    work: WorkId,
    span: Span,
    reads: bool,
    writes: bool,
}

impl Access {
    fn conflicts(&self, touch: &Touch) -> bool {
        (touch.writes || self.writes) && self.span.overlaps(touch.span)
    }
}

/// One queue's line of work.
#[derive(Debug, Default, Clone)]
struct Lane {
    /// `synced[from][to]`: work of stage `from` up to this position is ordered before all later work of stage `to`.
    synced: [[u64; 2]; 2],
    /// The value of its time line that is known to be reached.
    done: u64,
}

/// Work added but not submitted yet, so that it can be taken back.
#[derive(Debug)]
pub(crate) struct Batch {
    lane: u32,
    /// Each with where its touches end.
    works: SmallVec<[(WorkId, usize); 2]>,
    /// Of all of them, in order, with the places of their memories.
    touches: SmallVec<[(Touch, u32); 8]>,
    synced_before: [[u64; 2]; 2],
}

/// The dependency graph. One per context; the caller's lock guards it.
#[derive(Debug, Default)]
pub(crate) struct Dependencies {
    works: Works,
    live: Live,
    lanes: Vec<Lane>,
    position: u64,
    /// What small buffers hold.
    known: HashMap<MemoryId, known::KnownBytes, ByNumber>,
    /// How many memories there may be in `known` before those that are gone are dropped.
    forget_at: usize,
}

impl Dependencies {
    #[inline]
    fn lane(&mut self, lane: u32) -> &mut Lane {
        let index = lane as usize;
        if self.lanes.len() <= index {
            self.more_lanes(index);
        }
        &mut self.lanes[index]
    }

    #[cold]
    fn more_lanes(&mut self, index: usize) {
        self.lanes.resize(index + 1, Lane::default());
    }

    /// Starts a submission to a queue.
    #[inline]
    pub(crate) fn begin(&mut self, lane: u32) -> Batch {
        let synced_before = self.lane(lane).synced;
        Batch { lane, works: SmallVec::new(), touches: SmallVec::new(), synced_before }
    }

    /// Adds a piece of work to a submission and says what it needs.
    ///
    /// Barriers count as recorded at once; other queues' points are the whole submission's to wait for.
    pub(crate) fn add(
        &mut self,
        batch: &mut Batch,
        label: &Arc<str>,
        stage: Stage,
        touches: &[Touch],
    ) -> Needs {
        self.add_all(batch, label, stage, touches.iter().copied())
    }

    /// As [`add`](Dependencies::add), of accesses that are nowhere yet.
    #[inline]
    pub(crate) fn add_all(
        &mut self,
        batch: &mut Batch,
        label: &Arc<str>,
        stage: Stage,
        touches: impl Iterator<Item = Touch>,
    ) -> Needs {
        let lane = batch.lane;
        self.position += 1;
        let position = self.position;
        let synced = self.lanes[lane as usize].synced;
        let mut needs = Needs::default();
        let mut from = [false; 2];
        let first = batch.touches.len();
        for touch in touches {
            batch.touches.push((touch, self.live.place(touch.memory)));
        }
        let (before, own) = batch.touches.split_at(first);
        for (touch, place) in own {
            for access in self.live.at(*place).iter().filter(|access| access.conflicts(touch)) {
                let work = self.works.get(access.work);
                if !is_done(&self.lanes, work.point) {
                    work.order(lane, stage, &synced, &mut from, &mut needs);
                }
            }
            let mut start = 0;
            for (work, end) in &batch.works {
                if before[start..*end].iter().any(|(earlier, _)| earlier.conflicts(touch)) {
                    self.works.get(*work).order(lane, stage, &synced, &mut from, &mut needs);
                }
                start = *end;
            }
        }
        needs.barrier = match (from, stage) {
            ([false, false], _) => None,
            ([true, false], Stage::Compute) => Some(Barrier::ComputeToCompute),
            ([true, false], Stage::Transfer) => Some(Barrier::ComputeToTransfer),
            ([false, true], Stage::Compute) => Some(Barrier::TransferToCompute),
            ([false, true], Stage::Transfer) => Some(Barrier::TransferToTransfer),
            ([true, true], _) => Some(Barrier::Full),
        };
        if let Some(barrier) = needs.barrier {
            self.synced(lane, barrier, position - 1);
        }
        let work = self.works.add(label, (lane, stage), position);
        batch.works.push((work, batch.touches.len()));
        needs
    }

    /// Notes that a barrier orders everything up to a position before everything after it.
    #[inline]
    fn synced(&mut self, lane: u32, barrier: Barrier, upto: u64) {
        let synced = &mut self.lane(lane).synced;
        match barrier {
            Barrier::ComputeToCompute => synced[0][0] = upto,
            Barrier::ComputeToTransfer => synced[0][1] = upto,
            Barrier::TransferToCompute => synced[1][0] = upto,
            Barrier::TransferToTransfer => synced[1][1] = upto,
            Barrier::Full => *synced = [[upto; 2]; 2],
        }
    }

    /// Notes that a submission starts with a full barrier: everything on its queue is ordered before it.
    pub(crate) fn ordered_so_far(&mut self, batch: &Batch) {
        let upto = self.position;
        self.synced(batch.lane, Barrier::Full, upto);
    }

    /// Adds an upload, which was submitted already and orders itself against everything on its queue.
    pub(crate) fn add_ordered(&mut self, point: Point, label: &Arc<str>, touch: &Touch) {
        let mut batch = self.begin(point.queue);
        let synced = batch.synced_before;
        self.add(&mut batch, label, Stage::Transfer, std::slice::from_ref(touch));
        // What was submitted since the upload may be in the dependency graph before it, so nothing is known about the rest.
        self.lane(point.queue).synced = synced;
        for (work, _) in &batch.works {
            self.works.get_mut(*work).ordered = true;
        }
        self.commit(&batch, point);
    }

    /// Puts the work of a submission in force, at its point.
    pub(crate) fn commit(&mut self, batch: &Batch, point: Point) {
        let mut start = 0;
        for (work, end) in &batch.works {
            let touches = &batch.touches[start..*end];
            start = *end;
            let own = self.works.get_mut(*work);
            (own.point, own.accesses) = (point, touches.len() as u32);
            let line = own.line();
            for (touch, place) in touches {
                self.put(*work, line, touch, *place);
            }
            self.works.drop_unused(*work);
        }
        if self.live.is_crowded() {
            self.sweep();
        }
    }

    /// Adds an access, and drops those that are complete and those that it makes superfluous: what conflicts with those conflicts with it
    /// too, and it is ordered after them. Without this a buffer that is used all the time and never waited for would
    /// collect accesses without limit.
    fn put(&mut self, work: WorkId, line: Line, touch: &Touch, place: u32) {
        if touch.writes {
            self.forget(touch);
        }
        let (works, lanes, accesses) = (&mut self.works, &self.lanes, self.live.at_mut(place, touch.memory));
        let is_crowded = accesses.len() > CROWD;
        let new = Access { work, span: touch.span, reads: touch.reads, writes: touch.writes };
        let (mut at, mut is_put) = (0, false);
        // Their order does not matter.
        while let Some(old) = accesses.get_mut(at) {
            let (of, conflicts) = (old.work, old.conflicts(touch));
            let earlier = works.get_mut(of);
            // A later read stands for an earlier one only where one barrier would order both.
            let stands_for = touch.writes || (!old.writes && earlier.line() == line);
            let is_superfluous = touch.span.covers(old.span) && stands_for;
            // What is repeated is repeated with all that it has in force.
            let is_repeated = earlier.again && !conflicts && !is_crowded;
            if of == work || is_repeated || !(is_superfluous || is_done(lanes, earlier.point)) {
                earlier.again &= of == work || !conflicts;
            } else {
                earlier.again = false;
                works.release(of);
                if is_put {
                    accesses.swap_remove(at);
                    continue;
                }
                (*old, is_put) = (new.clone(), true);
            }
            at += 1;
        }
        if !is_put {
            accesses.push(new);
        }
    }

    /// Takes back a submission that did not happen.
    pub(crate) fn roll_back(&mut self, batch: &Batch) {
        for (work, _) in &batch.works {
            self.works.drop_unused(*work);
        }
        self.lane(batch.lane).synced = batch.synced_before;
    }

    /// Learns how far a queue's time line has come.
    #[inline]
    pub(crate) fn seen(&mut self, lane: u32, done: u64) {
        let known = &mut self.lane(lane).done;
        *known = done.max(*known);
    }

    /// Drops everything that is complete.
    pub(crate) fn sweep(&mut self) {
        let (works, lanes) = (&mut self.works, &self.lanes);
        self.live.sweep(|accesses| {
            let mut at = 0;
            while let Some(work) = accesses.get(at).map(|access| access.work) {
                if is_done(lanes, works.get(work).point) {
                    works.release(work);
                    accesses.swap_remove(at);
                } else {
                    at += 1;
                }
            }
        });
    }

    /// The points of pending work that conflicts with an access from outside the dependency graph, such as the host's.
    pub(crate) fn conflicts(&self, touch: &Touch) -> SmallVec<[Point; 4]> {
        let mut points: SmallVec<[Point; 4]> = SmallVec::new();
        for access in self.live.of(touch.memory) {
            let point = self.works.get(access.work).point;
            if !access.conflicts(touch) || is_done(&self.lanes, point) {
                continue;
            }
            match points.iter_mut().find(|p| p.queue == point.queue) {
                Some(known) => known.value = known.value.max(point.value),
                None => points.push(point),
            }
        }
        points
    }
}

fn is_done(lanes: &[Lane], point: Point) -> bool {
    lanes.get(point.queue as usize).is_some_and(|lane| point.value <= lane.done)
}

/// Submissions that are made again and again.
impl Dependencies {
    /// Puts in force, as [`commit`](Dependencies::commit) does, a submission of one piece of work, and gives a mark of it if it waited
    /// for nothing, so that it may be repeated.
    pub(crate) fn commit_repeatable(&mut self, batch: &Batch, point: Point, waited: bool) -> Option<Mark> {
        self.commit(batch, point);
        match &*batch.works {
            [(work, 1..)] if !waited => {
                let (work, Work { number, again, .. }) = (*work, self.works.get_mut(*work));
                *again = true;
                Some(Mark { work, number: *number })
            }
            _ => None,
        }
    }

    /// Notes that a submission is not repeated any more: another one takes its place.
    pub(crate) fn repeat_no_more(&mut self, mark: Option<Mark>) {
        if let Some(Work { again, .. }) = mark.and_then(|mark| self.works.find(mark)) {
            *again = false;
        }
    }

    /// Whether a submission can be made again on its queue with nothing but itself to come after: all that it put in force still
    /// is, and nothing was that conflicts with it. Then says whether it is pending.
    #[inline]
    pub(crate) fn repeat(&mut self, mark: Mark, lane: u32) -> Option<bool> {
        let work = self.works.find(mark)?;
        (work.again && work.point.queue == lane).then(|| !is_done(&self.lanes, work.point))
    }

    /// Notes that a submission that can be was made again, with a barrier for kernels before it or without: everything that
    /// was to come after the earlier one now comes after this one.
    #[inline]
    pub(crate) fn repeated(&mut self, mark: Mark, point: Point, barrier: bool) {
        if barrier {
            let upto = self.position;
            self.synced(point.queue, Barrier::ComputeToCompute, upto);
        }
        self.position += 1;
        let position = self.position;
        let work = self.works.get_mut(mark.work);
        (work.point, work.position) = (point, position);
    }

    /// Notes that what is in force on a memory must not be repeated without a look at what it writes.
    fn disturb(&mut self, memory: MemoryId) {
        for access in self.live.of(memory) {
            self.works.get_mut(access.work).again = false;
        }
    }
}

#[cfg(test)]
mod tests;
