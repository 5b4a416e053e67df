//! Graph executables: graphs on certain buffers, and what a launch of one rests on.
//!
//! | condition | kept as | who ends it | under |
//! | --- | --- | --- | --- |
//! | what is read is readable, what a launch does to contents is so, buffers are as they were planned for | `epoch` | a change of contents, a name, a promotion, a view, an exposed address | nothing: a count |
//! | no list of another queue and no host is on its memory | `owned` | whoever takes memory from its owner | the schedule |
//! | nothing but its own latest launch comes before | `mark` | work in conflict, put in the dependency graph | the schedule |
//! | its commands are recorded | `lane`, `tapes` | a launch on another hardware queue | the schedule |
//! | all of these, and no one has looked since | `relaunch` | any other use of the schedule ([`settle`](GraphExec::settle)) | a lock of its own |
//!
//! The schedule orders all work and is behind one lock, where threads would meet that launch executables of their own, on queues and memory of
//! their own. Once nothing but its own latest launch comes before, an executable is *relaunched*: under its own lock, with the launches counted
//! there. The next one to take the schedule for anything else accounts for them first, and finds everything as if they had been made with it.
//!
//! # Guarantees
//! - a launch that the dependency graph hears of later counts as later than all that it knows, and as ordered before nothing
//! - nothing here keeps a buffer alive; what was recorded with a buffer goes when the buffer does
//!
//! Whoever has the lock of an executable does not ask for the schedule.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Release},
    },
};

use smallvec::SmallVec;

use super::graph::Graph;
use crate::{
    report::{list::Said, outcome::Outcome, stats::Stats},
    submission::{
        dependencies::{Dependencies, Mark},
        device::Device,
        identity::{HandleId, QueueId},
        signature::Buffers,
    },
    vk::{CallerWork, Key, KeyId, Point, Pushes, Submitted, Tape, Under},
};

/// Relaunches that make them worth allowing, which costs about as much as a launch.
const WORTH: u64 = 16;

/// Most launches for which an executable rests that was relaunched fewer times.
const MOST_REST: u32 = 1 << 10;

/// Where things are checked, executables are relaunched as often as they can be.
const RESTS: bool = !cfg!(debug_assertions);

/// A graph on certain buffers; in lines of memory of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct GraphExec {
    /// What it is looked for by; of a kept list, which has it at hand, none.
    pub(crate) slots: SmallVec<[HandleId; 8]>,
    /// The count of changes of contents after which everything that is read was readable and every effect was in force; 0
    /// for none.
    epoch: AtomicU64,
    state: Under<ExecState>,
    relaunch: Mutex<Relaunch>,
}

/// What is under the schedule's lock.
#[derive(Debug, Default)]
pub(crate) struct ExecState {
    /// Whether there was a launch: the next one is worth a tape.
    pub(super) ran: bool,
    /// Push constants of every launch, where they are others than the graph's.
    pub(crate) own: Option<Pushes>,
    /// The hardware queue of the tapes.
    pub(super) lane: Option<u32>,
    /// By the barrier that comes first.
    pub(super) tapes: [Option<Arc<Tape>>; 4],
    /// The template on these buffers, as the program's own command buffers take it.
    pub(crate) for_caller: Option<Arc<CallerWork>>,
    /// The dependency graph's mark of the latest launch.
    pub(super) mark: Option<Mark>,
    /// What is said of a launch.
    pub(super) said: Option<Arc<Said>>,
    /// A queue that had all of its memory to itself when this many memories had been taken from their owners.
    pub(crate) owned: Option<(QueueId, u64)>,
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

#[derive(Debug, Default)]
struct Relaunch {
    allowed: Option<Allowed>,
    /// Launches with the schedule before it is tried again, and how many there were to be.
    rest: u32,
    rests: u32,
}

/// Launches without the schedule.
#[derive(Debug)]
struct Allowed {
    lane: u32,
    mark: Mark,
    /// The tape that comes after nothing, and the one that waits for the launch before.
    tapes: [Option<Arc<Tape>>; 2],
    in_order: bool,
    said: Arc<Said>,
    tally: Arc<Tally>,
    /// The queue's, which tells queues apart.
    past: Arc<Under<Past>>,
    /// The latest.
    point: Point,
    /// How many there were of which the schedule was not informed.
    count: u64,
}

impl GraphExec {
    /// Nothing is known but whether there was a run on these buffers.
    pub(crate) fn of(key: KeyId, buffers: &Buffers, ran: bool) -> GraphExec {
        let slots = buffers.iter().map(|buffer| buffer.handle).collect();
        GraphExec::with(key, buffers, slots, ExecState { ran, ..ExecState::default() })
    }

    /// That of a kept list, whose dispatches all are passed this instead of the graph's push constants.
    pub(crate) fn passing(key: KeyId, buffers: &Buffers, own: Option<Pushes>) -> GraphExec {
        GraphExec::with(key, buffers, SmallVec::new(), ExecState { own, ..ExecState::default() })
    }

    fn with(key: KeyId, buffers: &Buffers, slots: SmallVec<[HandleId; 8]>, state: ExecState) -> GraphExec {
        buffers.iter().for_each(|buffer| buffer.make_known());
        let (epoch, relaunch) = Default::default();
        GraphExec { slots, epoch, state: Under::new(key, state), relaunch }
    }

    /// Whether a launch is in force: nothing that it rests on, and none of what it did, has changed up to this count.
    #[inline]
    pub(crate) fn is_in_force(&self, changes: u64) -> bool {
        self.epoch.load(Acquire) == changes
    }

    /// Notes up to which count a launch is in force.
    pub(super) fn comes_into_force(&self, changes: u64) {
        self.epoch.store(changes, Release);
    }

    pub(crate) fn is_of(&self, buffers: &Buffers) -> bool {
        self.slots.iter().zip(buffers).all(|(known, buffer)| *known == buffer.handle)
    }

    #[inline]
    pub(crate) fn state<'a>(&'a self, key: &'a mut Key) -> &'a mut ExecState {
        self.state.get(key)
    }

    fn lock(&self) -> MutexGuard<'_, Relaunch> {
        self.relaunch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Launches it once more without the schedule, if that is allowed on the queue with this past, and `may` gives something of what is said of
    /// a launch. `None` where nothing was submitted, or the device is lost.
    #[inline]
    pub(crate) fn relaunch<R>(
        &self,
        device: &Device,
        past: &Arc<Under<Past>>,
        may: impl FnOnce(&Arc<Said>) -> Option<R>,
    ) -> Option<(Submitted, R)> {
        let mut relaunch = self.lock();
        let allowed = relaunch.allowed.as_mut().filter(|allowed| Arc::ptr_eq(&allowed.past, past))?;
        let result = may(&allowed.said)?;
        let waits = allowed.in_order && device.gpu.done(allowed.lane) < allowed.point.value;
        let point = device.gpu.play_alone(allowed.lane, allowed.tapes[usize::from(waits)].as_ref()?)?;
        (allowed.point, allowed.count) = (point, allowed.count + 1);
        Some((Submitted { point, profile: None }, result))
    }

    /// Whether the schedule may not know of all its launches.
    pub(crate) fn is_relaunched(&self) -> bool {
        self.lock().allowed.is_some()
    }

    /// Whether a launch of it has nothing but its latest one to come after, of which the schedule knows.
    pub(crate) fn repeats(&self, deps: &mut Dependencies, key: &mut Key, lane: u32) -> bool {
        let state = self.state(key);
        state.lane == Some(lane)
            && state.ran
            && state.mark.is_some_and(|mark| deps.repeat(mark, lane).is_some())
            && !self.is_relaunched()
    }

    /// Allows relaunches after a launch at a point, unless it rests. Whether it does.
    pub(crate) fn allow(
        &self,
        graph: &Graph,
        state: &ExecState,
        (past, point): (&Arc<Under<Past>>, Point),
    ) -> bool {
        let mut relaunch = self.lock();
        if relaunch.rest > 0 {
            relaunch.rest -= 1;
            return false;
        }
        debug_assert!(relaunch.allowed.is_none(), "the schedule knows of its launches");
        let (Some(lane), Some(mark), Some(said)) = (state.lane, state.mark, &state.said) else {
            return false;
        };
        let tapes = [state.tapes[0].clone(), state.tapes[1].clone()];
        let (said, tally, past) = (said.clone(), graph.tally.clone(), past.clone());
        let in_order = graph.in_order;
        relaunch.allowed = Some(Allowed { lane, mark, tapes, in_order, said, tally, past, point, count: 0 });
        true
    }

    /// Accounts for its launches without the schedule: afterwards there are none.
    pub(crate) fn settle(&self, deps: &mut Dependencies, key: &mut Key) {
        let mut relaunch = self.lock();
        let Some(Allowed { mark, tally, past, point, count, .. }) = relaunch.allowed.take() else { return };
        if count > 0 {
            // What came before on its queue and after earlier launches is not known, so that counts as not ordered.
            deps.repeated(mark, point, false);
            past.get(key).launched(&tally, count, point);
        }
        relaunch.rests = if RESTS && count < WORTH { (2 * relaunch.rests + 1).min(MOST_REST) } else { 0 };
        relaunch.rest = relaunch.rests;
    }
}
