//! Graph executables: graphs on certain buffers, and how they are launched without the schedule.
//!
//! # Guarantees
//! - a launch that the dependency graph hears of later counts as later than all that it knows, and as ordered before nothing
//! - nothing here keeps a buffer alive; what was recorded with a buffer goes when the buffer does
//!
//! With the lock of an executable the schedule is never asked for.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Acquire},
};

use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::{
    report::{list::Summary, outcome::Outcome, stats::Stats},
    submission::{
        dependencies::{Dependencies, Mark},
        device::Device,
        identity::HandleId,
        signature::Buffers,
    },
    vk::{Barrier, CallerWork, Point, Pushes, ReusableCommands, Submitted},
};

/// A graph on certain buffers; in lines of memory of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct GraphExec {
    /// What it is looked for by.
    pub(crate) slots: SmallVec<[HandleId; 8]>,
    /// The count of changes of contents after which everything that is read was readable and every effect was in force; 0
    /// for none.
    pub(super) epoch: AtomicU64,
    pub(crate) state: Mutex<ExecState>,
}

type Reusables = SmallVec<[(Option<Barrier>, Arc<ReusableCommands>); 2]>;

/// The reusable command buffer that starts with a barrier.
#[inline]
pub(super) fn starting_with(all: &Reusables, first: Option<Barrier>) -> Option<&Arc<ReusableCommands>> {
    all.iter().find(|(barrier, _)| *barrier == first).map(|(_, commands)| commands)
}

/// What is under the executable's lock. Only `relaunches` changes without the schedule.
#[derive(Debug, Default)]
pub(crate) struct ExecState {
    /// Whether there was a launch: the next one is worth a reusable command buffer.
    pub(super) ran: bool,
    /// Push constants of every launch, where they are others than the graph's.
    pub(crate) own: Option<Pushes>,
    /// The hardware queue of the reusable command buffers.
    pub(super) lane: Option<u32>,
    /// By the barrier that comes first.
    pub(super) reusables: Reusables,
    /// The template on these buffers, as the program's own command buffers take it.
    pub(crate) for_caller: Option<Arc<CallerWork>>,
    /// The dependency graph's mark of the latest launch.
    pub(super) mark: Option<Mark>,
    /// What events of its launches report.
    pub(super) summary: Option<Arc<Summary>>,
    /// Launches without the schedule, where they are allowed.
    relaunches: Option<Relaunches>,
}

/// Launches without the schedule.
#[derive(Debug)]
struct Relaunches {
    tally: Arc<Tally>,
    /// The queue's, which tells queues apart.
    past: Arc<Mutex<Past>>,
    /// The latest.
    point: Point,
    /// How many there were without a call of the schedule.
    count: u64,
}

/// What a launch counts as.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) dispatches: u64,
    /// Of a list.
    pub(crate) outcome: Option<Outcome>,
}

/// What a queue has run.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// The latest submission.
    pub(crate) last: Option<Point>,
    /// Its launches.
    pub(crate) counts: Stats,
}

impl Past {
    /// Notes a submission. It need not be the latest: of some the schedule hears later.
    #[inline]
    pub(crate) fn ran(&mut self, point: Point) {
        self.last = self.last.max(Some(point));
    }

    /// Notes this many launches, the latest at this point.
    #[inline]
    pub(crate) fn launched(&mut self, tally: &Tally, times: u64, point: Point) {
        self.ran(point);
        let counts = &mut self.counts;
        counts.memory_hits += tally.dispatches * times;
        counts.made_again += times;
        if let Some(outcome) = &tally.outcome {
            counts.lists(outcome, times);
        }
    }
}

impl ExecState {
    /// Submits the reusable command buffer once more; `None` if other work came between, or nothing was recorded.
    #[inline]
    pub(crate) fn repeat(
        &self,
        device: &Device,
        deps: &mut Dependencies,
        (lane, profile): (u32, bool),
    ) -> Option<Submitted> {
        let mark = self.mark.filter(|_| self.lane == Some(lane))?;
        // Whether it is pending itself is all that matters of what is.
        deps.seen(lane, device.gpu.done(lane));
        let waits = deps.repeat(mark, lane)?;
        let first = waits.then_some(Barrier::ComputeToCompute);
        let submitted = device.gpu.play(lane, starting_with(&self.reusables, first)?, &[], profile).ok()?;
        deps.repeated(mark, submitted.point, waits);
        Some(submitted)
    }

    /// Allows relaunches after a launch at a point, on the queue with this past. Whether it does.
    pub(crate) fn allow(&mut self, tally: &Arc<Tally>, past: &Arc<Mutex<Past>>, point: Point) -> bool {
        debug_assert!(self.relaunches.is_none(), "the schedule knows of its launches");
        let (tally, past) = (tally.clone(), past.clone());
        self.relaunches = self.mark.is_some().then_some(Relaunches { tally, past, point, count: 0 });
        self.mark.is_some()
    }
}

impl GraphExec {
    /// On these buffers, on which it ran or did not. The dispatches of a kept list may all be passed something `own` instead of the graph's push
    /// constants.
    pub(crate) fn new(buffers: &Buffers, ran: bool, own: Option<Pushes>) -> GraphExec {
        buffers.iter().for_each(|buffer| buffer.make_known());
        let slots = buffers.iter().map(|buffer| buffer.handle).collect();
        let state = Mutex::new(ExecState { ran, own, ..ExecState::default() });
        GraphExec { slots, epoch: AtomicU64::new(0), state }
    }

    /// Whether a launch is in force: nothing that it rests on, and none of what it did, has changed up to this count.
    #[inline]
    pub(crate) fn is_in_force(&self, changes: u64) -> bool {
        self.epoch.load(Acquire) == changes
    }

    pub(crate) fn is_of(&self, buffers: &Buffers) -> bool {
        self.slots.iter().zip(buffers).all(|(known, buffer)| *known == buffer.handle)
    }

    /// Launches it once more without the schedule, on the queue of this number and past. `may` is given the summary of a launch, and what it
    /// makes of that is returned. `None` if relaunches are not allowed there, if `may` refuses, or if the device is lost: nothing was
    /// submitted then.
    #[inline]
    pub(crate) fn relaunch<R>(
        &self,
        device: &Device,
        (lane, past): (u32, &Arc<Mutex<Past>>),
        may: impl FnOnce(&Arc<Summary>) -> Option<R>,
    ) -> Option<(Submitted, R)> {
        let ExecState { relaunches, summary, reusables, .. } = &mut *self.state.lock();
        let relaunches = relaunches.as_mut().filter(|known| Arc::ptr_eq(&known.past, past))?;
        let result = may(summary.as_ref()?)?;
        let waits = device.gpu.done(lane) < relaunches.point.value;
        let first = waits.then_some(Barrier::ComputeToCompute);
        let point = device.gpu.play_alone(lane, starting_with(reusables, first)?)?;
        (relaunches.point, relaunches.count) = (point, relaunches.count + 1);
        Some((Submitted { point, profile: None }, result))
    }

    /// Whether the schedule may not know of all its launches.
    pub(crate) fn is_relaunched(&self) -> bool {
        self.state.lock().relaunches.is_some()
    }

    /// Whether a launch of it has nothing to wait for except its latest one, which the schedule knows.
    pub(crate) fn repeats(&self, deps: &mut Dependencies, lane: u32) -> bool {
        let state = self.state.lock();
        state.lane == Some(lane)
            && state.mark.is_some_and(|mark| deps.repeat(mark, lane).is_some())
            && state.relaunches.is_none()
    }

    /// Accounts for its launches without the schedule: afterwards there are none.
    pub(crate) fn settle(&self, deps: &mut Dependencies) {
        let mut state = self.state.lock();
        if let (Some(Relaunches { tally, past, point, count: count @ 1.. }), Some(mark)) =
            (state.relaunches.take(), state.mark)
        {
            // What came before on its queue and after earlier launches is not known, so that counts as not ordered.
            deps.repeated(mark, point, false);
            past.lock().launched(&tally, count, point);
        }
    }
}
