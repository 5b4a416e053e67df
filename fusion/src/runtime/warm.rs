//! Lists that nothing comes between: they are run again without the schedule.
//!
//! What orders work is behind one lock, where threads would meet that run lists of their own, on queues and memory of their own. A list that
//! was run once more with nothing but its own run to come after is *warm*: its next runs are
//! submitted under a lock of its own, and counted there. Anyone who takes the schedule for anything else tells it of them first
//! ([`Schedule::cool`]), and finds everything as if they had been made with the schedule.
//!
//! A kept list is warm where its queue has its memory to itself, or queues only read it. Of what a queue lists again and again, the list
//! that it expects is: that was recorded in sight of all others, so nothing of theirs is on its memory.
//!
//! # Guarantees
//! - a warm run is one of which nothing would be found in the schedule but the run before: nothing was put in the graph meanwhile, no memory was
//!   taken from its owner, no contents changed, and the host holds nothing of it
//! - a run of which the graph hears later counts as later than all that it knows, and as ordered before nothing
//!
//! Anyone who has the lock of a list does not ask for the schedule.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::{
    replay::{
        recorded::{Again, Take},
        routine::Routine,
    },
    report::list::Said,
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

/// A list, as far as it is run without the schedule; in lines of memory of its own.
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
    of: Of,
    /// The latest.
    point: Point,
    /// How many there were of which the schedule was not informed.
    count: u64,
}

/// What runs are of.
#[derive(Debug)]
enum Of {
    /// A kept list: what the events share, which is not held because it holds the context; where its runs count, and as what.
    Kept { event: Weak<EventInner>, queue: Arc<QueueCell>, counted: Counted },
    /// What a queue lists on the same buffers each time, and what is said of it. Its runs count in the state of the queue.
    Listed { take: Weak<Take>, said: Arc<Said> },
}

impl Runs {
    /// Those of a kept list, after a run that was made just now.
    pub(crate) fn of_kept(
        (again, point): (Again, Point),
        routine: &Routine,
        (origin, event): (&Origin, &Arc<EventInner>),
    ) -> Runs {
        let (event, queue, counted) = (Arc::downgrade(event), origin.queue.clone(), Counted::of(routine));
        Runs { again, of: Of::Kept { event, queue, counted }, point, count: 0 }
    }

    /// Those of what a queue lists on the same buffers, after a run that was made just now.
    pub(crate) fn of_listed((again, point): (Again, Point), take: &Arc<Take>, said: &Arc<Said>) -> Runs {
        let of = Of::Listed { take: Arc::downgrade(take), said: said.clone() };
        Runs { again, of, point, count: 0 }
    }

    /// Makes it once more. `None` where nothing was submitted.
    #[inline]
    fn make(&mut self, device: &Device) -> Option<Submitted> {
        self.point = self.again.play(device, self.point)?;
        self.count += 1;
        Some(Submitted { point: self.point, profile: None })
    }
}

impl Warm {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a kept list once more, if it is warm on this queue and may be run so. `None` where nothing was submitted.
    #[inline]
    pub(crate) fn run(
        &self,
        device: &Device,
        origin: &Arc<Origin>,
        may: impl FnOnce() -> bool,
    ) -> Option<Event> {
        let mut state = self.lock();
        let runs = state.runs.as_mut()?;
        let Of::Kept { event, .. } = &runs.of else { return None };
        let event = event.upgrade()?;
        if !Arc::ptr_eq(&event.origin, origin) || !may() {
            return None;
        }
        Some(Event::of_run(event, runs.make(device)?))
    }

    /// Runs what a queue has listed once more, if it is warm on these buffers; what is said of the run is taken from `spare` where that is
    /// the same. `None` where nothing was submitted.
    #[inline]
    pub(crate) fn complete(
        &self,
        device: &Device,
        take: &Arc<Take>,
        spare: &mut Option<Arc<Said>>,
    ) -> Option<(Submitted, Arc<Said>)> {
        let mut state = self.lock();
        let runs = state.runs.as_mut()?;
        let Of::Listed { take: of, said } = &runs.of else { return None };
        if of.as_ptr() != Arc::as_ptr(take) {
            return None;
        }
        let said = same_or_clone(spare, said);
        Some((runs.make(device)?, said))
    }

    /// Whether the schedule may not know of all its runs.
    pub(crate) fn is_warm(&self) -> bool {
        self.lock().runs.is_some()
    }

    /// Tells of its runs: afterwards it is not warm.
    fn cool(&self, graph: &mut Graph, key: &mut Key) {
        let mut state = self.lock();
        let Some(Runs { again, of, point, count }) = state.runs.take() else { return };
        if count > 0 {
            again.tell(graph, point);
            if let Of::Kept { queue, counted, .. } = &of {
                queue.kept.get(key).made(counted, count, point);
            }
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
        debug_assert!(state.runs.is_none(), "the schedule knows of its runs");
        state.runs = runs(&mut self.key);
        if state.runs.is_some() {
            self.warm.push(warm.clone());
        }
    }
}

/// What is said, without another count of who has it where it is at hand.
#[inline]
pub(crate) fn same_or_clone(spare: &mut Option<Arc<Said>>, said: &Arc<Said>) -> Arc<Said> {
    spare.take_if(|spare| Arc::ptr_eq(spare, said)).unwrap_or_else(|| said.clone())
}
