//! What is pending, listed and held: the state that orders everything.
//!
//! What is pending and held is behind one lock, what a queue lists behind the queue's own, which is taken second. A queue lists
//! by that alone what it is predicted to on memory that it owns ([`Owner`](crate::submission::identity::Owner)); so threads
//! with queues and memory of their own meet where they hand lists to the device, and nowhere else.
//!
//! # Invariants
//!
//! - Fusion lists of different queues never conflict: whatever would conflict with a list ends that list first. So no
//!   list ever waits for another, and no order of calls can make a circle.
//! - While a list ends (its kernels are being built, outside the lock) it stays visible as *ending*, and anyone who conflicts
//!   with it waits. So no one can slip in between a list and its execution.
//! - The lock is never held while a kernel is built, a closure runs, or the device is waited for.

use std::{
    sync::Arc,
    thread::{self, ThreadId},
};

use parking_lot::MutexGuard;
use smallvec::SmallVec;

use crate::{
    code::build::builder,
    error::{BufferError, Error},
    replay::{cache::GraphCache, exec::GraphExec, predicted::Prediction},
    report::{outcome::CancelCause, stats::Stats},
    runtime::{
        context::{ContextInner, HostHold},
        end::Seen,
        event::{EventInner, HostDone},
        queues::QueueCell,
    },
    submission::{
        buffer::BufferInner,
        dependencies::{Dependencies, Touch, Touches},
        entry::Entry,
        identity::{MemoryId, QueueId, Span},
    },
    sync::spin_then_lock,
    vk::Point,
};

/// The state that orders everything. It does not share lines of memory with its lock, which others look at meanwhile.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Schedule {
    pub(crate) deps: Dependencies,
    pub(crate) queues: Vec<Arc<QueueCell>>,
    pub(crate) holds: Vec<Hold>,
    pub(crate) cache: GraphCache,
    /// What is counted under this lock, and was by queues that are gone; the other counters of a context are atomic.
    pub(crate) counts: Stats,
    /// Host tasks of queues that are gone, which may not be done yet, or failed and no one was notified.
    pub(crate) orphans: Tasks,
    next: u64,
    /// Executables that may have been launched without it.
    pub(crate) relaunched: Vec<Arc<GraphExec>>,
}

/// What a queue has listed and done.
#[derive(Debug, Default)]
pub(crate) struct QueueState {
    pub(crate) mode: Mode,
    /// How many lists were begun on it, which is the number of the one that is recorded.
    pub(crate) lists: u64,
    /// The completion event of the latest list that ended.
    pub(crate) completion: Option<Arc<EventInner>>,
    /// The latest list, if its graph was launched: the next one is likely to be the same.
    pub(crate) predicted: Option<Box<Prediction>>,
    /// Host tasks of this queue that may not be done yet, or failed and no one was notified.
    pub(crate) tasks: Tasks,
}

pub(crate) type Tasks = SmallVec<[Arc<HostDone>; 1]>;

/// Whether submissions run or are recorded.
#[derive(Debug, Default)]
pub(crate) enum Mode {
    /// They run.
    #[default]
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
    /// A graph that it agrees with so far. Then there are no entries.
    pub(crate) followed: Option<Box<Prediction>>,
    /// Submissions that failed while it was recorded, and are not in it: how many, and what the first error says.
    pub(crate) rejected: Option<Box<(usize, String)>>,
}

/// When an access observes a listed submission: where their order matters ([`Touch::conflicts`]), or wherever they have a byte in
/// common ([`Touch::overlaps`]).
pub(crate) type Rule = fn(&Touch, &Touch) -> bool;

/// Bytes that the host (a closure or a host task) has for itself.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) id: u64,
    touches: Touches,
    thread: ThreadId,
    /// The name of the buffer, of the first if there are several.
    buffer: Arc<str>,
}

impl List {
    /// An empty list.
    pub(crate) fn new(completion: Arc<EventInner>) -> List {
        List { entries: Vec::new(), completion, followed: None, rejected: None }
    }

    /// What it holds so far, as a part of a sentence.
    pub(crate) fn so_far(&self) -> String {
        const NAMED: usize = 3;
        let followed = self.followed.iter();
        let known = followed.flat_map(|one| (0..one.at).filter_map(|at| one.cached.graph.nodes.unbound(at)));
        let labels: Vec<&str> = self.entries.iter().chain(known).map(|entry| &*entry.label).collect();
        let named =
            labels.iter().take(NAMED).map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
        match labels.len() {
            0 => "nothing was submitted to its list yet".to_owned(),
            1 => format!("its list has one submission, of {named}"),
            count if count <= NAMED => format!("its list has {count} submissions, of {named}"),
            count => format!("its list has {count} submissions, the first of {named}"),
        }
    }

    /// Whether an access observes something in the list.
    fn observed_by(&self, touches: &[Touch], rule: Rule) -> bool {
        let observed = |listed: &Touch| touches.iter().any(|touch| rule(touch, listed));
        self.entries.iter().flat_map(|entry| &entry.touches).any(observed)
            || self.followed.iter().flat_map(|followed| followed.touches()).any(|listed| observed(&listed))
    }
}

impl QueueState {
    /// The list that is recorded or ends.
    pub(crate) fn list(&self) -> Option<&List> {
        match &self.mode {
            Mode::Direct => None,
            Mode::Recording(list) => Some(list),
            Mode::Ending(list, _) => Some(list),
        }
    }
}

impl Schedule {
    /// The event of a list that an access observes. `except` is the queue whose own list does not count.
    fn observed(&self, touches: &[Touch], except: Option<QueueId>, rule: Rule) -> Option<Arc<EventInner>> {
        let others = self.queues.iter().filter(|queue| Some(queue.id) != except);
        others.map(|queue| queue.state()).find_map(|state| {
            let list = state.list().filter(|list| list.observed_by(touches, rule))?;
            Some(list.completion.clone())
        })
    }

    /// Whether nothing is in the way of what a queue lists or runs on these buffers: no list of another queue, and not the
    /// host. Only where others may have used the memory does it matter what is touched.
    pub(crate) fn is_free<'a>(
        &mut self,
        queue: QueueId,
        buffers: impl Iterator<Item = &'a Arc<BufferInner>> + Clone,
        touches: impl FnOnce() -> Touches,
    ) -> bool {
        if buffers.clone().all(|buffer| buffer.shared.owner.is(queue)) {
            return true;
        }
        let touches = touches();
        let is_allowed = |buffer: &&Arc<BufferInner>| {
            buffer.shared.owner.allows(queue, is_written(buffer.shared.id, &touches))
        };
        if buffers.clone().all(|buffer| is_allowed(&buffer)) {
            return true;
        }
        // What is launched without the schedule rests on who owns its memory.
        self.settle_relaunches();
        buffers.clone().filter(|buffer| !is_allowed(buffer)).for_each(|buffer| buffer.shared.owner.revoke());
        let is_free = self.is_clear(queue, &touches);
        if is_free {
            self.give(queue, &touches, buffers);
        }
        is_free
    }

    /// Whether neither what other queues list nor a hold is in conflict with accesses.
    fn is_clear(&self, queue: QueueId, touches: &[Touch]) -> bool {
        self.observed(touches, Some(queue), Touch::conflicts).is_none() && self.held(touches).is_none()
    }

    /// Lets a queue use memory that was taken from others: as the only one, or as one of several that read it.
    fn give<'a>(
        &self,
        queue: QueueId,
        touches: &[Touch],
        buffers: impl Iterator<Item = &'a Arc<BufferInner>>,
    ) {
        for shared in buffers.map(|buffer| &buffer.shared) {
            let is_written = is_written(shared.id, touches);
            if shared.owner.allows(queue, is_written) {
                continue;
            }
            let all = |writes| Touch { memory: shared.id, span: Span::new(0, u64::MAX), reads: true, writes };
            if self.queues.len() > 1 && !is_written && self.is_clear(queue, &[all(false)]) {
                shared.owner.share();
            } else if self.is_clear(queue, &[all(true)]) {
                shared.owner.give(queue);
            }
        }
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
}

/// Whether accesses write any of a memory.
fn is_written(memory: MemoryId, touches: &[Touch]) -> bool {
    touches.iter().any(|touch| touch.memory == memory && touch.writes)
}

impl ContextInner {
    /// The schedule, which knows of all launches.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, Schedule> {
        let mut schedule = self.lock_as_it_is();
        schedule.settle_relaunches();
        schedule
    }

    /// The schedule, which may not know of all launches.
    #[inline]
    pub(crate) fn lock_as_it_is(&self) -> MutexGuard<'_, Schedule> {
        spin_then_lock(&self.schedule)
    }

    /// Waits until something about queues or holds has changed.
    pub(crate) fn wait_for_change(&self, schedule: &mut MutexGuard<'_, Schedule>) {
        self.changed.wait(schedule);
        schedule.settle_relaunches();
    }

    /// Waits until something has changed, while a thread ends a list. What that thread calls meanwhile cannot wait for it.
    pub(crate) fn wait_for_list(
        &self,
        schedule: &mut MutexGuard<'_, Schedule>,
        thread: ThreadId,
    ) -> Result<(), Error> {
        if thread == builder() {
            return Err(Error::OwnList);
        }
        self.wait_for_change(schedule);
        Ok(())
    }

    /// Makes sure that an access comes after every list that it observes and after the host's use of the same bytes,
    /// and returns with the lock held, so that it takes its place before anything else does.
    pub(crate) fn observe<'a>(
        &self,
        touches: &[Touch],
        buffers: impl Iterator<Item = &'a Arc<BufferInner>> + Clone,
        except: Option<QueueId>,
        rule: Rule,
        cause: CancelCause,
    ) -> Result<MutexGuard<'_, Schedule>, Error> {
        let mut schedule = self.lock();
        loop {
            let others =
                |buffer: &&Arc<BufferInner>| !except.is_some_and(|queue| buffer.shared.owner.is(queue));
            buffers.clone().filter(others).for_each(|buffer| buffer.shared.owner.revoke());
            if let Some(event) = schedule.observed(touches, except, rule) {
                drop(schedule);
                let seen = Box::new(Seen { touches: touches.into(), rule });
                self.cancel_list_for(&event, cause, Some(seen))?;
                schedule = self.lock();
                continue;
            }
            match schedule.held(touches) {
                None => {
                    if let Some(queue) = except {
                        schedule.give(queue, touches, buffers);
                    }
                    return Ok(schedule);
                }
                Some(hold) if hold.thread == thread::current().id() => {
                    return Err(Error::buffer(&hold.buffer, BufferError::HostAccess));
                }
                Some(_) => self.wait_for_change(&mut schedule),
            }
        }
    }

    /// Takes bytes for the host until the hold is dropped, and says what to wait for before touching them.
    pub(crate) fn hold(
        self: &Arc<Self>,
        buffer: &Arc<BufferInner>,
        touch: Touch,
        cause: CancelCause,
    ) -> Result<(HostHold, SmallVec<[Point; 4]>), Error> {
        let (touches, buffers) = (std::slice::from_ref(&touch), std::iter::once(buffer));
        let mut schedule = self.observe(touches, buffers, None, Touch::conflicts, cause)?;
        buffer.memory(&mut schedule.deps)?;
        self.refresh(&mut schedule.deps);
        let points = schedule.deps.conflicts(&touch);
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
