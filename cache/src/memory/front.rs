//! Finished values for hits: each thread has a local map with copies of what it uses, so that a hit writes no memory that another
//! thread reads.
//!
//! A copy is a [`Cached`] of the local map's own: what is counted when it is cloned and dropped is that one, not the value. A thread
//! that does not find a key there asks the map, which knows which local maps have a copy and takes them out with the entry.
//!
//! The order of use is kept by the map, behind one lock. A hit leaves a stamp in its local map instead, and the map catches up
//! before it next looks at the order, with the stamps sorted. Then every value that was hit since is later than every one that
//! was not. The hits of one thread are in their order; those of several threads may be out of it by [`APART`] hits, for a
//! number that all of them count up would be the line of memory that all of them wait for, and a clock costs more than
//! the rest of a hit.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::key::MemoryKey;
use crate::memory::limits::Cached;
use crate::sync::{Mutex, lock, thread_number};

/// Local maps: as many as [`Places`] has bits; few for the scheduler of `tests/schedules.rs`, to which each lock is a choice.
pub(crate) const LOCALS: usize = if cfg!(vkfuse_shuttle) { 2 } else { 32 };

/// Local maps that have a copy, one bit each.
pub(crate) type Places = u32;

/// Values that are ready, for each thread those that it used.
pub(crate) struct Front<K, V> {
    locals: Box<[Padded<K, V>]>,
    hasher: ahash::RandomState,
}

/// Apart from its neighbours in the processor's cache, too.
#[repr(align(128))]
struct Padded<K, V>(Mutex<Held<K, V>>);

struct Held<K, V> {
    ready: HashMap<K, Ready<V>, ahash::RandomState>,
    /// Keys that were hit since the map caught up last, each once.
    hit: Vec<K>,
    hits: u64,
}

struct Ready<V> {
    value: Cached<V>,
    /// When it was hit last, if the map does not know yet.
    stamp: Option<u64>,
}

impl<K: MemoryKey, V> Held<K, V> {
    #[inline]
    fn hit(&mut self, key: &K) -> Option<Cached<V>> {
        let ready = self.ready.get_mut(key)?;
        if ready.stamp.replace(stamp()).is_none() {
            self.hit.push(*key);
        }
        self.hits += 1;
        Some(ready.value.clone())
    }
}

/// Hits of a thread between two publications of its clock to the other threads.
const APART: u64 = 1024;

/// A logical time of use: larger than the earlier ones of its thread, and than those that other threads have published.
fn stamp() -> u64 {
    /// The latest published time. Not one of the atomics of `crate::sync`, since only the order of eviction depends on it.
    static PUBLISHED: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static LAST: Cell<u64> = const { Cell::new(0) };
    }
    let published = PUBLISHED.load(Relaxed);
    // A thread that ends may have lost its thread-local storage already: the published time has to do.
    LAST.try_with(|last| {
        let now = last.get().max(published) + 1;
        last.set(now);
        if now.is_multiple_of(APART) {
            PUBLISHED.fetch_max(now, Relaxed);
        }
        now
    })
    .unwrap_or(published)
}

impl<K: MemoryKey, V> Front<K, V> {
    pub(crate) fn new() -> Front<K, V> {
        let hasher = ahash::RandomState::new();
        let local = |_| {
            let ready = HashMap::with_hasher(hasher.clone());
            Padded(Mutex::new(Held { ready, hit: Vec::new(), hits: 0 }))
        };
        Front { locals: (0..LOCALS).map(local).collect(), hasher: hasher.clone() }
    }

    #[inline]
    fn local(&self) -> (usize, &Mutex<Held<K, V>>) {
        let at = thread_number() % LOCALS;
        (at, &self.locals[at].0)
    }

    /// The value of a key, which was used now, if this thread's local map has it.
    #[inline]
    pub(crate) fn hit(&self, key: &K) -> Option<Cached<V>> {
        lock(self.local().1).hit(key)
    }

    /// The same without using it.
    pub(crate) fn peek(&self, key: &K) -> Option<Cached<V>> {
        lock(self.local().1).ready.get(key).map(|ready| ready.value.clone())
    }

    /// [`Front::hit`] of a key whose `value` the map has, and which this thread's local map has from now on.
    pub(crate) fn copy(&self, key: &K, value: &Arc<V>) -> (Cached<V>, Places) {
        let places = self.insert(*key, value);
        // Only the map, which is locked, removes it again.
        let hit = self.hit(key).unwrap_or_else(|| Cached::new(Arc::clone(value)));
        (hit, places)
    }

    /// Which local map has it now: this thread's.
    pub(crate) fn insert(&self, key: K, value: &Arc<V>) -> Places {
        let (at, local) = self.local();
        // It is several threads' where there are many: one of them may have put it there.
        lock(local)
            .ready
            .entry(key)
            .or_insert_with(|| Ready { value: Cached::new(Arc::clone(value)), stamp: None });
        1 << at
    }

    /// Takes the copies of a key out. The map's entry has the value as well, so nothing of the user's is dropped here.
    pub(crate) fn remove(&self, key: &K, places: Places) {
        let mut left = places;
        while left != 0 {
            lock(&self.locals[left.trailing_zeros() as usize].0).ready.remove(key);
            left &= left - 1;
        }
    }

    /// The keys that were hit since this was last asked, in the order of their last hits. One that several threads hit comes
    /// several times.
    pub(crate) fn take_hits(&self) -> Vec<K> {
        let mut all = Vec::new();
        for local in &self.locals {
            let mut held = lock(&local.0);
            let held = &mut *held;
            for key in held.hit.drain(..) {
                // One that was taken out is not used any more, and one that was put in anew has no stamp.
                if let Some(stamp) = held.ready.get_mut(&key).and_then(|ready| ready.stamp.take()) {
                    all.push((stamp, key));
                }
            }
        }
        all.sort_unstable_by_key(|(stamp, _)| *stamp);
        all.into_iter().map(|(_, key)| key).collect()
    }

    /// Takes everything out, to be dropped outside all locks.
    pub(crate) fn take_all(&self) -> impl Sized + use<K, V> {
        let taken = self.locals.iter().map(|local| {
            let mut held = lock(&local.0);
            held.hit.clear();
            std::mem::replace(&mut held.ready, HashMap::with_hasher(self.hasher.clone()))
        });
        taken.collect::<Vec<_>>()
    }

    /// Hits in all.
    pub(crate) fn hits(&self) -> u64 {
        self.locals.iter().map(|local| lock(&local.0).hits).sum()
    }
}
