//! Finished values by key, for hits: in shards, so that threads that hit different keys do not wait for each other.
//!
//! The order of use is kept by the map, behind one lock. A hit leaves a stamp in its shard instead, and the map catches up
//! before it next looks at the order, with the stamps sorted. Then every value that was hit since is later than every one that
//! was not. The hits of one thread are in their order; those of several threads may be out of it by [`APART`] hits, for a
//! number that all of them count up would be the line of memory that all of them wait for, and a clock costs more than
//! the rest of a hit.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::key::MemoryKey;
use crate::sync::{Mutex, lock};

/// A power of two. Enough that sixteen threads seldom meet; few for the scheduler of `tests/schedules.rs`, to which each lock is a
/// choice.
const SHARDS: usize = if cfg!(vkfuse_shuttle) { 2 } else { 64 };

/// Values that are ready.
pub(crate) struct Front<K, V> {
    shards: Box<[Shard<K, V>]>,
    hasher: ahash::RandomState,
}

/// Apart from its neighbours in the processor's cache, too.
#[repr(align(128))]
struct Shard<K, V>(Mutex<Held<K, V>>);

struct Held<K, V> {
    ready: HashMap<K, Ready<V>, ahash::RandomState>,
    /// Keys that were hit since the map caught up last, each once.
    hit: Vec<K>,
    hits: u64,
}

struct Ready<V> {
    value: Arc<V>,
    /// When it was hit last, if the map does not know yet.
    stamp: Option<u64>,
}

/// How many hits a thread makes before it tells the others how far it has counted.
const APART: u64 = 256;

/// A number that is later than those before it in its thread, and than what other threads told.
fn stamp() -> u64 {
    /// What threads told. Not the scheduler's (`crate::sync`): nothing but the order of use goes by it.
    static TOLD: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static LAST: Cell<u64> = const { Cell::new(0) };
    }
    let told = TOLD.load(Relaxed);
    // Where a thread's own storage is gone already, what others told has to do.
    LAST.try_with(|last| {
        let now = last.get().max(told) + 1;
        last.set(now);
        if now.is_multiple_of(APART) {
            TOLD.fetch_max(now, Relaxed);
        }
        now
    })
    .unwrap_or(told)
}

impl<K: MemoryKey, V> Front<K, V> {
    pub(crate) fn new() -> Front<K, V> {
        let hasher = ahash::RandomState::new();
        let shard = |_| {
            let ready = HashMap::with_hasher(hasher.clone());
            Shard(Mutex::new(Held { ready, hit: Vec::new(), hits: 0 }))
        };
        Front { shards: (0..SHARDS).map(shard).collect(), hasher: hasher.clone() }
    }

    #[inline]
    fn shard(&self, key: &K) -> &Mutex<Held<K, V>> {
        // The maps go by the low and the highest bits.
        let at = (self.hasher.hash_one(key) >> 32) as usize & (SHARDS - 1);
        &self.shards[at].0
    }

    /// The value of a key, which was used now.
    #[inline]
    pub(crate) fn hit(&self, key: &K) -> Option<Arc<V>> {
        let mut held = lock(self.shard(key));
        let held = &mut *held;
        let ready = held.ready.get_mut(key)?;
        if ready.stamp.replace(stamp()).is_none() {
            held.hit.push(*key);
        }
        held.hits += 1;
        Some(Arc::clone(&ready.value))
    }

    pub(crate) fn peek(&self, key: &K) -> Option<Arc<V>> {
        lock(self.shard(key)).ready.get(key).map(|ready| Arc::clone(&ready.value))
    }

    pub(crate) fn insert(&self, key: K, value: Arc<V>) {
        lock(self.shard(&key)).ready.insert(key, Ready { value, stamp: None });
    }

    /// What is taken out is to be dropped outside all locks.
    pub(crate) fn remove(&self, key: &K) -> Option<Arc<V>> {
        lock(self.shard(key)).ready.remove(key).map(|ready| ready.value)
    }

    /// The keys that were hit since this was last asked, in the order of their last hits.
    pub(crate) fn take_hits(&self) -> Vec<K> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let mut held = lock(&shard.0);
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
        let taken = self.shards.iter().map(|shard| {
            let mut held = lock(&shard.0);
            held.hit.clear();
            std::mem::replace(&mut held.ready, HashMap::with_hasher(self.hasher.clone()))
        });
        taken.collect::<Vec<_>>()
    }

    /// Hits in all.
    pub(crate) fn hits(&self) -> u64 {
        self.shards.iter().map(|shard| lock(&shard.0).hits).sum()
    }
}
