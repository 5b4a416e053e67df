//! Kept lists that nothing comes between: they are run again without the schedule.
//!
//! What orders work is behind one lock, where threads would meet that run lists of their own, on queues and memory of their own. A kept list that
//! was run once more with nothing but its own run to come after, on memory that its queue has to itself or that queues only read, is *warm*: its next runs are
//! submitted under a lock of its own, and counted there. Whoever takes the schedule for anything else tells it of them first
//! ([`Schedule::cool`]), and finds everything as if they had been made with the schedule.
//!
//! # Guarantees
//! - a warm run is one of which nothing would be found in the schedule but the run before: nothing was put in the graph meanwhile, no memory was
//!   taken from its owner, no contents changed, and the host holds nothing of it
//! - a run of which the graph hears later counts as later than all that it knows, and as ordered before nothing
//!
//! Whoever has the lock of a list does not ask for the schedule.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::{
    replay::{
        recorded::{Again, Take},
        routine::Routine,
    },
    runtime::{
        again::Counted,
        event::{Event, EventInner},
        queues::{Origin, QueueCell},
        schedule::Schedule,
    },
    submission::{device::Device, graph::Graph},
    vk::{Key, Point, Submitted},
};

/// Runs that make it worth being warm, which costs about as much as a run.
const WORTH: u64 = 16;

/// Most runs for which a list rests that had fewer.
const MOST_REST: u32 = 1 << 10;

/// Where things are checked, lists are warm as often as they can be.
const RESTS: bool = !cfg!(debug_assertions);

/// A kept list, as far as it is run without the schedule; in lines of memory of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Warm(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Those that it makes, while it is warm.
    runs: Option<Runs>,
    /// Runs with the schedule before it is tried again, and how many there were to be.
    rest: u32,
    rests: u32,
}

/// Runs that are made without the schedule.
#[derive(Debug)]
pub(crate) struct Runs {
    again: Again,
    /// What their events share. Not held: it holds the context.
    event: Weak<EventInner>,
    queue: Arc<QueueCell>,
    counted: Counted,
    /// The latest.
    point: Point,
    /// How many there were of which the schedule was not told.
    count: u64,
}

impl Runs {
    /// Those after a run that was made just now.
    pub(crate) fn after(
        point: Point,
        (again, routine): (Again, &Routine),
        (origin, event): (&Origin, &Arc<EventInner>),
    ) -> Runs {
        let (event, queue, counted) = (Arc::downgrade(event), origin.queue.clone(), Counted::of(routine));
        Runs { again, event, queue, counted, point, count: 0 }
    }
}

impl Warm {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs it once more, if it is warm on this queue and may be run so. `None` where nothing was submitted.
    #[inline]
    pub(crate) fn run(
        &self,
        device: &Device,
        origin: &Arc<Origin>,
        may: impl FnOnce() -> bool,
    ) -> Option<Event> {
        let mut state = self.lock();
        let runs = state.runs.as_mut()?;
        let event = runs.event.upgrade()?;
        if !Arc::ptr_eq(&event.origin, origin) || !may() {
            return None;
        }
        let point = runs.again.play(device, runs.point)?;
        (runs.point, runs.count) = (point, runs.count + 1);
        Some(Event::of_run(event, Submitted { point, profile: None }))
    }

    /// Whether the schedule may not know of all its runs.
    pub(crate) fn is_warm(&self) -> bool {
        self.lock().runs.is_some()
    }

    /// Tells of its runs: afterwards it is not warm.
    fn cool(&self, graph: &mut Graph, key: &mut Key) {
        let mut state = self.lock();
        let Some(Runs { again, queue, counted, point, count, .. }) = state.runs.take() else { return };
        if count > 0 {
            again.tell(graph, point);
            queue.kept.get(key).made(&counted, count, point);
        }
        state.rests = if RESTS && count < WORTH { (2 * state.rests + 1).min(MOST_REST) } else { 0 };
        state.rest = state.rests;
    }
}

impl Schedule {
    /// Whether a run of what a queue owns finds nothing here but the run before.
    pub(crate) fn repeats(&mut self, queue: &QueueCell, take: &Take, routine: &Routine) -> bool {
        let owned = Some((queue.id, self.revoked));
        let take = take.state(&mut self.key);
        take.owned == owned
            && !routine.has_numbers()
            && routine.replay.repeats(&mut self.graph, queue.lane, take)
    }

    /// Hears of all runs that were made without it.
    #[inline]
    pub(crate) fn cool(&mut self) {
        for warm in self.warm.drain(..) {
            warm.cool(&mut self.graph, &mut self.key);
        }
    }

    /// Lets a list make its next runs without the schedule, unless it rests.
    pub(crate) fn heat(&mut self, warm: &Arc<Warm>, runs: impl FnOnce(&mut Key) -> Option<Runs>) {
        let mut state = warm.lock();
        if state.rest > 0 {
            state.rest -= 1;
            return;
        }
        state.runs = runs(&mut self.key);
        if state.runs.is_some() {
            self.warm.push(warm.clone());
        }
    }
}
