//! Writes in the background.
//!
//! What is to be written waits in a bounded queue and is written by a thread of the store, one after the other; where the
//! queue is full it is dropped. Ageing, sweeping and the eviction that keeps some room free have a thread of
//! their own, so that writes go on meanwhile. An entry that waits is found by the store that it waits in.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::config::StoreConfig;
use crate::entry::Entry;
use crate::key::KeyId;
use crate::store::evict::{self, Target};
use crate::store::inner::Inner;
use crate::store::lane::{Job, Lane, Refused};
use crate::store::reason::Skip;
use crate::store::sweep;

/// Work that does not wait in a queue of its own: what is asked for twice is done once.
const TIDYING: usize = 1;

/// The threads of a store.
pub(crate) struct Later {
    writer: Lane,
    tidier: Arc<Lane>,
    waiting: Arc<Waiting>,
}

/// Entries in the queue, with how often they are in it.
#[derive(Default)]
struct Waiting(Mutex<HashMap<KeyId, (Entry, usize)>>);

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, HashMap<KeyId, (Entry, usize)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, id: KeyId, entry: &Entry) {
        let mut waiting = self.lock();
        let (kept, times) = waiting.entry(id).or_insert_with(|| (entry.clone(), 0));
        *kept = entry.clone();
        *times += 1;
    }

    fn take(&self, id: KeyId) {
        let mut waiting = self.lock();
        if let Some((_, times)) = waiting.get_mut(&id) {
            *times -= 1;
            if *times == 0 {
                waiting.remove(&id);
            }
        }
    }
}

/// An entry in the queue; gone from it when dropped.
pub(crate) struct Ticket(Arc<Waiting>, KeyId);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.take(self.1);
    }
}

impl Later {
    pub(crate) fn new(config: &StoreConfig) -> Later {
        Later {
            writer: Lane::new("vkfuse store", config.queue_entries, config.queue_bytes),
            tidier: Arc::new(Lane::new("vkfuse tidy", TIDYING, u64::MAX)),
            waiting: Arc::default(),
        }
    }

    /// Whether this is the process that the threads are in.
    pub(crate) fn is_here(&self) -> bool {
        self.writer.is_here()
    }

    /// The entry of a key that is still to be written.
    pub(crate) fn find(&self, id: &KeyId) -> Option<Entry> {
        self.waiting.lock().get(id).map(|(entry, _)| entry.clone())
    }

    /// Makes an entry found from now on, until the ticket is dropped.
    pub(crate) fn ticket(&self, id: KeyId, entry: &Entry) -> Ticket {
        self.waiting.add(id, entry);
        Ticket(Arc::clone(&self.waiting), id)
    }

    /// Does a write later, or now where there is no thread.
    pub(crate) fn write(&self, inner: &Arc<Inner>, bytes: u64, job: Job) -> Result<(), Skip> {
        let (tidier, store) = (Arc::clone(&self.tidier), Arc::clone(inner));
        let job: Job = Box::new(move || {
            job();
            keep_room(&tidier, &store);
        });
        match self.writer.push(bytes, job) {
            Ok(()) => Ok(()),
            Err(Refused::Full) => Err(Skip::QueueFull),
            Err(Refused::NoThread(job)) => {
                job();
                Ok(())
            }
        }
    }

    /// Sweeps and removes what is too old, in the background.
    pub(crate) fn tidy(&self, inner: &Arc<Inner>) {
        let store = Arc::clone(inner);
        let job: Job = Box::new(move || {
            let root = store.root();
            sweep::sweep(&store, &root);
            sweep::trim(&store, &root);
        });
        // What is not done now is done when the store is opened next.
        let _ = self.tidier.push(0, job);
    }

    /// Waits until what was to be written is written.
    pub(crate) fn drain(&self, patience: Duration) -> bool {
        self.writer.drain(patience)
    }
}

#[cfg(test)]
impl crate::Store {
    /// Waits until nothing is done in the background, evictions among it.
    pub(crate) fn settle(&self, patience: Duration) -> bool {
        self.later().is_none_or(|later| later.writer.drain(patience) && later.tidier.drain(patience))
    }
}

/// Evicts before a write has to: once an eighth of the limit is left, in a thread of its own.
fn keep_room(tidier: &Lane, inner: &Arc<Inner>) {
    let limit = inner.config.max_size;
    let trigger = limit - limit / 8;
    if limit == 0 || inner.stored.load(Relaxed) <= trigger {
        return;
    }
    let store = Arc::clone(inner);
    let job: Job = Box::new(move || {
        let root = store.root();
        let target = Target { trigger, goal: limit - limit / 3, oldest: evict::oldest(&store) };
        let pruned = evict::evict(&store, &root, target);
        if pruned.problem.is_none() {
            store.stored.store(pruned.left, Relaxed);
        }
    });
    // One that is under way already does the same.
    let _ = tidier.push(0, job);
}
