//! The memory cache: get or build, with one build per key at a time.
//!
//! A hit takes the lock of the thread's local map and nothing else. Finding that there is none, inserting one, and the first hit of a
//! thread on a key take the map's lock. The first caller builds outside it; others wait on that entry alone. The order of use is exact for a thread, and the
//! limits are exact. What is evicted, removed or cleared is dropped outside
//! every lock, and lives as long as a caller holds it.
//!
//! # Guarantees
//! - at most one build of a key at a time, as long as the cache is not cleared in between
//! - a failure is returned to all waiting callers; only [`BuildError::Permanent`] is remembered
//! - after a failure that may pass, and after a panic, one waiter builds once more
//! - a build that asks for itself gets an error and does not wait

mod failure;
mod front;
mod limits;
mod map;
mod slot;
mod waits;

use std::sync::Arc;

pub use failure::{BuildError, Failure};
pub use limits::{Cached, Hit, MemoryLimits, MemoryStats};

use crate::clock::{Clock, SystemClock};
use crate::event::{Event, Subscriber};
use crate::key::MemoryKey;
use crate::sync::{Mutex, lock};
use front::Front;
use map::{Dropped, Map};
use slot::{Joined, Settled, Slot, State};

/// A map from keys to shared values that builds what it lacks.
///
/// ```
/// use vkfuse_cache::{BuildError, Hit, MemoryCache, MemoryLimits};
///
/// let cache = MemoryCache::<u64, String, std::io::Error>::new(MemoryLimits::default());
/// let build = || Ok::<_, BuildError<std::io::Error>>((String::from("pipeline"), 8));
/// let (first, how) = cache.get_or_build(1, build).unwrap();
/// assert_eq!(how, Hit::Built);
/// let (second, how) = cache.get_or_build(1, build).unwrap();
/// assert_eq!(how, Hit::Memory);
/// assert!(vkfuse_cache::Cached::ptr_eq(&first, &second));
/// ```
pub struct MemoryCache<K: MemoryKey, V, E> {
    map: Mutex<Map<K, V, E>>,
    front: Arc<Front<K, V>>,
    subscriber: Option<Subscriber>,
    clock: Arc<dyn Clock>,
}

impl<K: MemoryKey, V, E> MemoryCache<K, V, E> {
    /// An empty cache.
    pub fn new(limits: MemoryLimits) -> Self {
        let front = Arc::new(Front::new());
        let map = Mutex::new(Map::new(limits, Arc::clone(&front)));
        MemoryCache { map, front, subscriber: None, clock: Arc::new(SystemClock) }
    }

    /// Sends every event to `subscriber`, outside every lock.
    pub fn with_subscriber(mut self, subscriber: Subscriber) -> Self {
        self.subscriber = Some(subscriber);
        self
    }

    /// Takes the time, for the life of stored failures, from `clock`.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The finished value of `key`. Does not wait for one that is being built.
    pub fn get(&self, key: &K) -> Option<Cached<V>> {
        let value = self.front.hit(key).or_else(|| {
            let mut map = lock(&self.map);
            let copy = map.copy(key);
            map.stats.misses += u64::from(copy.is_none());
            copy
        });
        if value.is_some() {
            self.emit(|| Event::DidHitMemory { key: key.id() });
        }
        value
    }

    /// Like [`MemoryCache::get`], but counts neither as a use nor in the statistics.
    pub fn peek(&self, key: &K) -> Option<Cached<V>> {
        self.front.peek(key).or_else(|| lock(&self.map).peek(key))
    }

    /// The value of `key`, from memory or from `build`, which also says how many bytes it weighs.
    ///
    /// # Errors
    /// [`Failure::Build`] with the builder's error, also when another thread's build failed or a
    /// lasting failure is stored; [`Failure::Panicked`] when the thread waited for panicked;
    /// [`Failure::TimedOut`] when it took longer than [`MemoryLimits::patience`];
    /// [`Failure::Reentrant`] when this thread is building `key`, or waiting would close a ring.
    pub fn get_or_build<F>(&self, key: K, build: F) -> Result<(Cached<V>, Hit), Failure<E>>
    where
        F: FnOnce() -> Result<(V, u64), BuildError<E>>,
    {
        if let Some(value) = self.front.hit(&key) {
            self.emit(|| Event::DidHitMemory { key: key.id() });
            return Ok((value, Hit::Memory));
        }
        loop {
            let mut map = lock(&self.map);
            if let Some(value) = map.copy(&key) {
                drop(map);
                self.emit(|| Event::DidHitMemory { key: key.id() });
                return Ok((value, Hit::Memory));
            }
            let Some(slot) = map.touch(&key) else {
                let slot = Slot::building();
                map.insert(key, Arc::clone(&slot));
                map.stats.misses += 1;
                drop(map);
                return self.build(key, &slot, 1, build);
            };
            let slot = Arc::clone(slot);
            let patience = map.limits().patience;
            drop(map);
            match slot.join(|| self.clock.monotonic(), patience) {
                Joined::Ready { waited } => {
                    let Some(value) = slot.value.get() else {
                        continue;
                    };
                    return Ok((Cached::new(Arc::clone(value)), self.note_join(key, waited)));
                }
                Joined::Failed { failure, waited } => {
                    let mut map = lock(&self.map);
                    if waited {
                        map.stats.waits += 1;
                    } else {
                        map.stats.failure_hits += 1;
                    }
                    drop(map);
                    if !waited {
                        self.emit(|| Event::DidHitFailure { key: key.id() });
                    }
                    return Err(failure);
                }
                Joined::Build { attempt } => {
                    lock(&self.map).stats.retries += 1;
                    self.emit(|| Event::DidRetry { key: key.id() });
                    return self.build(key, &slot, attempt, build);
                }
                Joined::Stale => {
                    let dropped = lock(&self.map).forget(&key, &slot);
                    drop(dropped);
                }
                Joined::Ring => return Err(Failure::Reentrant),
                Joined::TimedOut => {
                    lock(&self.map).stats.timeouts += 1;
                    return Err(Failure::TimedOut);
                }
            }
        }
    }

    /// Takes `key` out, a stored failure as well. A build in progress finishes for its waiters, but
    /// is not kept.
    pub fn remove(&self, key: &K) -> Option<Cached<V>> {
        let slot = lock(&self.map).pop(key)?;
        slot.value.get().map(|value| Cached::new(Arc::clone(value)))
    }

    /// Takes everything out. Builds in progress finish for their waiters, but are not kept.
    pub fn clear(&self) {
        let everything = lock(&self.map).take_all();
        drop(everything);
    }

    /// Changes the limits and evicts what they no longer allow.
    pub fn resize(&self, limits: MemoryLimits) {
        let dropped = lock(&self.map).set_limits(limits);
        self.drop_evicted(dropped);
    }

    /// The counters, and how full the cache is.
    pub fn stats(&self) -> MemoryStats {
        lock(&self.map).stats()
    }

    fn build<F>(
        &self,
        key: K,
        slot: &Arc<Slot<V, E>>,
        attempt: u32,
        build: F,
    ) -> Result<(Cached<V>, Hit), Failure<E>>
    where
        F: FnOnce() -> Result<(V, u64), BuildError<E>>,
    {
        let mut job = Job { cache: self, key, slot, attempt, settled: false };
        self.emit(|| Event::WillBuild { key: key.id() });
        match build() {
            Ok((value, bytes)) => Ok((job.succeed(Arc::new(value), bytes), Hit::Built)),
            Err(error) => {
                let permanent = matches!(error, BuildError::Permanent(_));
                let failure = Failure::Build { error: Arc::new(error.into_inner()), permanent };
                job.fail(failure.clone(), permanent);
                Err(failure)
            }
        }
    }

    fn note_join(&self, key: K, waited: bool) -> Hit {
        let mut map = lock(&self.map);
        if waited {
            map.stats.waits += 1;
            drop(map);
            self.emit(|| Event::DidWait { key: key.id() });
            Hit::Waited
        } else {
            map.stats.hits += 1;
            drop(map);
            self.emit(|| Event::DidHitMemory { key: key.id() });
            Hit::Memory
        }
    }

    fn drop_evicted(&self, dropped: Vec<Dropped<K, V, E>>) {
        for evicted in dropped {
            self.emit(|| Event::DidEvictMemory { key: evicted.key.id(), bytes: evicted.bytes });
        }
    }

    #[inline]
    fn emit(&self, event: impl FnOnce() -> Event) {
        if let Some(subscriber) = &self.subscriber {
            subscriber(&event());
        }
    }
}

/// A build under way. Dropped without an outcome, the builder has panicked.
struct Job<'a, K: MemoryKey, V, E> {
    cache: &'a MemoryCache<K, V, E>,
    key: K,
    slot: &'a Arc<Slot<V, E>>,
    attempt: u32,
    settled: bool,
}

impl<K: MemoryKey, V, E> Job<'_, K, V, E> {
    fn succeed(&mut self, value: Arc<V>, bytes: u64) -> Cached<V> {
        self.settled = true;
        let mut map = lock(&self.cache.map);
        // Only the builder sets the value, and a slot has one builder at a time.
        let _ = self.slot.value.set(Arc::clone(&value));
        map.stats.builds += 1;
        let dropped = map.finish(&self.key, self.slot, bytes);
        drop(map);
        self.slot.settle(self.attempt, State::Ready);
        self.cache.emit(|| Event::DidBuild { key: self.key.id(), bytes });
        self.cache.drop_evicted(dropped);
        Cached::new(value)
    }

    fn fail(&mut self, failure: Failure<E>, permanent: bool) {
        self.settled = true;
        let cache = self.cache;
        let state = if permanent {
            let ttl = lock(&cache.map).limits().failure_ttl;
            let until = ttl.and_then(|ttl| cache.clock.monotonic().checked_add(ttl));
            State::Failed { failure, until }
        } else {
            State::Over(failure)
        };
        let settled = self.slot.settle(self.attempt, state);
        let mut map = lock(&cache.map);
        map.stats.failures += 1;
        let dropped = if permanent {
            map.finish(&self.key, self.slot, 0)
        } else {
            if settled == Settled::Final {
                map.forget(&self.key, self.slot);
            }
            Vec::new()
        };
        drop(map);
        cache.emit(|| Event::DidFail { key: self.key.id(), permanent });
        cache.drop_evicted(dropped);
    }
}

impl<K: MemoryKey, V, E> Drop for Job<'_, K, V, E> {
    fn drop(&mut self) {
        if !self.settled {
            self.fail(Failure::Panicked, false);
        }
    }
}
