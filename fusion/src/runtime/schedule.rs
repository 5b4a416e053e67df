//! What is pending, listed and held: the state that orders everything, behind one lock.
//!
//! # Invariants
//!
//! - Fusion lists of different queues never conflict: whatever would conflict with a list ends that list first. So no
//!   list ever waits for another, and no order of calls can make a circle.
//! - While a list ends (its kernels are being built, outside the lock) it stays visible as *ending*, and whoever conflicts
//!   with it waits. So no one can slip in between a list and its execution.
//! - The lock is never held while a kernel is built, a closure runs, or the device is waited for.

use std::{
    hint::spin_loop,
    sync::{Arc, MutexGuard, PoisonError, TryLockError},
    thread::{self, ThreadId},
};

use smallvec::SmallVec;

use crate::{
    code::build::builder,
    error::{BufferError, Error},
    replay::{
        known::{Followed, Known, KnownLists},
        recorded::Take,
    },
    report::{outcome::CancelCause, stats::Stats},
    runtime::{
        context::{ContextInner, HostHold},
        end::End,
        event::{EventInner, HostDone},
        queues::Queues,
    },
    submission::{
        buffer::BufferInner,
        entry::Entry,
        graph::{Graph, Touch, Touches},
    },
    vk::Point,
};

/// A queue's number in its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueId(pub(crate) u64);

/// The state that orders everything.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    pub(crate) graph: Graph,
    pub(crate) queues: Queues,
    holds: Vec<Hold>,
    pub(crate) known: KnownLists,
    /// What is counted under this lock; the other counters of a context are atomic.
    pub(crate) counts: Stats,
    /// Host tasks of queues that are gone, which may not be done yet, or failed and nobody was told.
    pub(crate) orphans: Tasks,
    next: u64,
}

/// A queue as the schedule sees it.
#[derive(Debug)]
pub(crate) struct QueueState {
    /// The hardware queue it submits to.
    pub(crate) lane: u32,
    pub(crate) profiling: bool,
    pub(crate) mode: Mode,
    /// The completion event of the latest list that ended.
    pub(crate) completion: Option<Arc<EventInner>>,
    /// The latest list, if it was a known one, and the buffers that it ran on: the next one is likely to be the same.
    pub(crate) expects: Option<(Arc<Known>, Arc<Take>)>,
    /// The latest submission of this queue.
    pub(crate) last: Option<Point>,
    /// Host tasks of this queue that may not be done yet, or failed and nobody was told.
    pub(crate) tasks: Tasks,
}

pub(crate) type Tasks = SmallVec<[Arc<HostDone>; 1]>;

/// Whether submissions run or are recorded.
#[derive(Debug)]
pub(crate) enum Mode {
    /// They run.
    Direct,
    /// They are listed.
    Recording(List),
    /// The list is being built and is about to run, in this thread; submissions wait.
    Ending(Arc<List>, ThreadId),
}

/// A fusion list.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) entries: Vec<Entry>,
    /// The event of the list and of every submission in it: they share their fate.
    pub(crate) completion: Arc<EventInner>,
    /// A known list that it agrees with so far. Then there are no entries.
    pub(crate) followed: Option<Followed>,
}

/// When an access observes a listed submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Where their order matters: at least one writes.
    Conflict,
    /// Where they have a byte in common.
    Overlap,
}

/// Bytes that the host (a closure or a host task) has for itself.
#[derive(Debug)]
struct Hold {
    id: u64,
    touches: Touches,
    thread: ThreadId,
    /// The name of the buffer, of the first if there are several.
    buffer: Arc<str>,
}

impl List {
    /// An empty list.
    pub(crate) fn new(completion: Arc<EventInner>) -> List {
        List { entries: Vec::new(), completion, followed: None }
    }

    /// Whether an access observes something in the list.
    fn observed_by(&self, touches: &[Touch], rule: Rule) -> bool {
        let observed = |listed: &Touch| {
            touches.iter().any(|touch| match rule {
                Rule::Conflict => touch.conflicts(listed),
                Rule::Overlap => touch.overlaps(listed),
            })
        };
        self.entries.iter().flat_map(|entry| &entry.touches).any(observed)
            || self.followed.iter().flat_map(Followed::touches).any(|listed| observed(&listed))
    }
}

impl Schedule {
    /// A queue with a list that an access observes. `except` is the queue whose own list does not count.
    fn observed(&self, touches: &[Touch], except: Option<QueueId>, rule: Rule) -> Option<QueueId> {
        self.queues.iter().find_map(|(id, queue)| {
            let list = match &queue.mode {
                Mode::Direct => return None,
                Mode::Recording(list) => list,
                Mode::Ending(list, _) => list,
            };
            (Some(*id) != except && list.observed_by(touches, rule)).then_some(*id)
        })
    }

    /// Whether there is nothing that could be in anyone's way, but for a queue's own list.
    pub(crate) fn quiet(&self, queue: QueueId) -> bool {
        self.holds.is_empty()
            && self.queues.iter().all(|(id, state)| *id == queue || matches!(state.mode, Mode::Direct))
    }

    /// Whether an access observes another queue's list, or has to wait for the host.
    pub(crate) fn in_the_way(&self, touches: &[Touch], queue: QueueId) -> bool {
        self.observed(touches, Some(queue), Rule::Conflict).is_some() || self.held(touches).is_some()
    }

    /// A hold in conflict with an access.
    fn held(&self, touches: &[Touch]) -> Option<&Hold> {
        let conflicts =
            |hold: &&Hold| hold.touches.iter().any(|held| touches.iter().any(|touch| touch.conflicts(held)));
        self.holds.iter().find(conflicts)
    }

    /// A number that was not given out before.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(crate) fn release(&mut self, id: u64) {
        self.holds.retain(|hold| hold.id != id);
    }
}

impl ContextInner {
    /// The schedule. A panic while it was locked cannot leave it half-changed in a way that matters more than
    /// a deadlock of everybody else, so poisoning is ignored.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, Schedule> {
        match self.schedule.try_lock() {
            Ok(schedule) => schedule,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => self.lock_soon(),
        }
    }

    /// The schedule, which another thread has. What is done under the lock mostly takes less time than to fall asleep and be
    /// woken, and once a thread sleeps, the next ones do too: so it is asked for again for a few microseconds first, after longer
    /// and longer pauses.
    #[cold]
    fn lock_soon(&self) -> MutexGuard<'_, Schedule> {
        const PAUSES: [u32; 10] = [4, 8, 16, 32, 32, 32, 32, 32, 32, 32];
        for pauses in PAUSES {
            (0..pauses).for_each(|_| spin_loop());
            match self.schedule.try_lock() {
                Ok(schedule) => return schedule,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something about queues or holds has changed.
    pub(crate) fn wait_for_change<'a>(&self, schedule: MutexGuard<'a, Schedule>) -> MutexGuard<'a, Schedule> {
        self.changed.wait(schedule).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something has changed, while a thread ends a list. What that thread calls meanwhile cannot wait for it.
    pub(crate) fn wait_for_list<'a>(
        &self,
        schedule: MutexGuard<'a, Schedule>,
        thread: ThreadId,
    ) -> Result<MutexGuard<'a, Schedule>, Error> {
        if thread == builder() {
            return Err(Error::OwnList);
        }
        Ok(self.wait_for_change(schedule))
    }

    /// Makes sure that an access comes after every list that it observes and after the host's use of the same bytes,
    /// and returns with the lock held, so that it takes its place before anything else does.
    pub(crate) fn observe(
        &self,
        touches: &[Touch],
        except: Option<QueueId>,
        rule: Rule,
        cause: CancelCause,
    ) -> Result<MutexGuard<'_, Schedule>, Error> {
        let mut schedule = self.lock();
        loop {
            if let Some(queue) = schedule.observed(touches, except, rule) {
                drop(schedule);
                // What fails in that list is an affair of its events, and of whoever reads what it should have written.
                match self.end_list(queue, &End::Cancel(cause)) {
                    Err(Error::OwnList) => return Err(Error::OwnList),
                    Err(error) => tracing::debug!(%error, %cause, "a list that was in the way failed"),
                    Ok(_) => {}
                }
                schedule = self.lock();
                continue;
            }
            match schedule.held(touches) {
                None => return Ok(schedule),
                Some(hold) if hold.thread == thread::current().id() => {
                    return Err(Error::buffer(&hold.buffer, BufferError::HostAccess));
                }
                Some(_) => schedule = self.wait_for_change(schedule),
            }
        }
    }

    /// Takes bytes for the host until the hold is dropped, and says what to wait for before touching them.
    pub(crate) fn hold(
        self: &Arc<Self>,
        buffer: &BufferInner,
        touch: Touch,
        cause: CancelCause,
    ) -> Result<(HostHold, SmallVec<[Point; 4]>), Error> {
        let mut schedule = self.observe(std::slice::from_ref(&touch), None, Rule::Conflict, cause)?;
        buffer.memory(&mut schedule.graph)?;
        self.refresh(&mut schedule.graph);
        let points = schedule.graph.conflicts(&touch);
        let hold =
            self.hold_now(&mut schedule, buffer.name(), Touches::from_iter([touch]), thread::current().id());
        Ok((hold, points))
    }

    /// Takes bytes for the host, after [`ContextInner::observe`] found nothing in the way.
    pub(crate) fn hold_now(
        self: &Arc<Self>,
        schedule: &mut Schedule,
        buffer: Arc<str>,
        touches: Touches,
        thread: ThreadId,
    ) -> HostHold {
        let id = schedule.number();
        schedule.holds.push(Hold { id, touches, thread, buffer });
        HostHold { context: self.clone(), id }
    }
}
