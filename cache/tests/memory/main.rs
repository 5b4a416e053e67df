//! The memory cache: one build per key, limits, order of use, what happens to values.

mod failures;
mod model;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;

use failures::{permanent, transient};
use vkfuse_cache::{BuildError, Cached, Event, Hit, MemoryCache, MemoryLimits, Subscriber};

pub(crate) type Cache<V> = MemoryCache<u64, V, String>;
pub(crate) type Built<V> = Result<(V, u64), BuildError<String>>;

pub(crate) fn unlimited<V>() -> Cache<V> {
    let limits = MemoryLimits { entries: 0, bytes: 0, failure_ttl: None, patience: None };
    Cache::new(limits)
}

pub(crate) fn rounds(quick: usize, long: usize) -> usize {
    let rounds = match std::env::var_os("VKFUSE_LONG_TESTS") {
        Some(_) => long,
        None => quick,
    };
    println!("{rounds} rounds");
    rounds
}

/// Runs `work` in that many threads at once and gathers what they return.
pub(crate) fn together<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(threads);
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|index| {
                let (barrier, work) = (&barrier, &work);
                scope.spawn(move || {
                    barrier.wait();
                    work(index)
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    })
}

#[test]
fn sixty_four_threads_one_key_one_build() {
    for round in 0..rounds(50, 1000) {
        let cache = unlimited::<usize>();
        let builds = AtomicUsize::new(0);
        let results = together(64, |_| {
            cache.get_or_build(7, || {
                builds.fetch_add(1, Ordering::SeqCst);
                thread::yield_now();
                Ok((round, 1))
            })
        });
        assert_eq!(builds.load(Ordering::SeqCst), 1);
        let first = results[0].as_ref().unwrap().0.clone();
        let mut built = 0;
        for result in results {
            let (value, hit) = result.unwrap();
            assert!(Cached::ptr_eq(&value, &first));
            built += usize::from(hit == Hit::Built);
        }
        assert_eq!((built, *first), (1, round));
        let stats = cache.stats();
        assert_eq!(stats.hits + stats.waits + stats.misses, 64);
        assert_eq!((stats.builds, stats.building, stats.entries), (1, 0, 1));
    }
}

#[test]
fn clearing_during_a_build_leaves_no_sleepers_and_keeps_nothing() {
    for _ in 0..rounds(20, 1000) {
        let cache = unlimited::<usize>();
        let results = together(8, |index| {
            if index == 0 {
                for _ in 0..50 {
                    cache.clear();
                    cache.resize(MemoryLimits { entries: 1, ..Default::default() });
                    thread::yield_now();
                }
                return true;
            }
            (0..20).all(|key| {
                let result = cache.get_or_build(key, || {
                    thread::yield_now();
                    Ok((key as usize, 1))
                });
                *result.unwrap().0 == key as usize
            })
        });
        assert!(results.into_iter().all(|fine| fine));
        assert_eq!(cache.stats().building, 0);
        assert!(cache.stats().entries <= 1);
        cache.clear();
        let stats = cache.stats();
        assert_eq!((stats.entries, stats.bytes), (0, 0));
    }
}

#[test]
fn an_evicted_value_lives_as_long_as_it_is_used() {
    let cache = unlimited::<String>();
    cache.resize(MemoryLimits { entries: 1, ..Default::default() });
    let (held, _) = cache.get_or_build(1, || Ok(("pipeline".to_owned(), 1))).unwrap();
    cache.get_or_build(2, || Ok(("other".to_owned(), 1))).unwrap();
    assert_eq!(cache.get(&1), None);
    assert_eq!(*held, "pipeline");
    let value = held.to_arc();
    drop(held);
    assert_eq!(Arc::strong_count(&value), 1);
}

/// Copies are threads' own; what they are of is one value, counted and evicted as one.
#[test]
fn what_is_taken_out_no_thread_finds_again() {
    let takers: [fn(&Cache<u64>); 4] = [
        |cache| drop(cache.remove(&1)),
        |cache| cache.clear(),
        |cache| cache.resize(MemoryLimits { entries: 1, ..Default::default() }),
        |cache| cache.resize(MemoryLimits { bytes: 8, ..Default::default() }),
    ];
    for taken in takers {
        let cache = unlimited::<u64>();
        let (first, _) = cache.get_or_build(1, || Ok((10, 8))).unwrap();
        let (used, out) = (Barrier::new(9), Barrier::new(9));
        thread::scope(|scope| {
            let (cache, used, out, first) = (&cache, &used, &out, &first);
            // A thread that panicked would leave the others at a barrier.
            let run = move || {
                let is_same = |_| {
                    let (value, hit) = cache.get_or_build(1, || Ok((0, 0))).unwrap();
                    Cached::ptr_eq(&value, first) && hit == Hit::Memory
                };
                let same = (0..2).all(is_same);
                used.wait();
                out.wait();
                same && cache.get(&1).is_none() && cache.peek(&1).is_none()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
            used.wait();
            let stats = cache.stats();
            cache.get_or_build(2, || Ok((20, 8))).unwrap();
            taken(cache);
            let left = first.to_arc();
            let count = Arc::strong_count(&left);
            out.wait();
            assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
            assert_eq!((stats.entries, stats.bytes, stats.hits, stats.misses), (1, 8, 16, 1));
            // That of `first`, and this one.
            assert_eq!(count, 2);
        });
    }
}

/// What one thread uses is used to all, and not older than what another built since.
#[test]
fn a_hit_of_any_thread_keeps_a_value() {
    let cache = unlimited::<u64>();
    for key in 0..4 {
        cache.get_or_build(key, || Ok((key, 1))).unwrap();
    }
    // The second time in the thread's local map.
    let hit = |key| thread::scope(|scope| scope.spawn(|| assert!(cache.get(&key).is_some())).join().unwrap());
    hit(1);
    hit(1);
    cache.get_or_build(9, || Ok((9, 1))).unwrap();
    hit(0);
    cache.resize(MemoryLimits { entries: 3, ..Default::default() });
    let left: Vec<u64> = (0..10).filter(|key| cache.peek(key).is_some()).collect();
    assert_eq!(left, [0, 1, 9]);
}

/// A value that uses the cache when it is dropped.
struct Nosy(Arc<OnceLock<Cache<Nosy>>>, Arc<AtomicUsize>);

impl Drop for Nosy {
    fn drop(&mut self) {
        if let Some(cache) = self.0.get() {
            cache.stats();
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[test]
fn values_are_dropped_outside_the_lock() {
    let home = Arc::new(OnceLock::new());
    let drops = Arc::new(AtomicUsize::new(0));
    let limits = MemoryLimits { entries: 2, bytes: 100, failure_ttl: None, patience: None };
    let _ = home.set(Cache::new(limits));
    let cache = home.get().unwrap();
    let nosy = || Nosy(Arc::clone(&home), Arc::clone(&drops));
    for key in 0..5 {
        drop(cache.get_or_build(key, || Ok((nosy(), 1))).unwrap());
    }
    assert_eq!(drops.load(Ordering::SeqCst), 3);
    drop(cache.get_or_build(9, || Ok((nosy(), 101))).unwrap());
    drop(cache.remove(&4));
    cache.resize(MemoryLimits { entries: 1, ..limits });
    cache.clear();
    assert_eq!(drops.load(Ordering::SeqCst), 6);
}

#[test]
fn a_value_over_the_limit_is_given_and_not_kept() {
    let cache = unlimited::<usize>();
    cache.resize(MemoryLimits { bytes: 100, ..Default::default() });
    cache.get_or_build(1, || Ok((1, 60))).unwrap();
    let (value, hit) = cache.get_or_build(2, || Ok((2, 101))).unwrap();
    assert_eq!((*value, hit), (2, Hit::Built));
    assert!(cache.peek(&1).is_some() && cache.peek(&2).is_none());
    assert_eq!(cache.stats().evictions, 0);
}

#[test]
fn events_are_a_transcript() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let subscriber: Subscriber = Arc::new(move |event: &Event| {
        sink.lock().unwrap().push(event.to_string());
    });
    let cache =
        Cache::<usize>::new(MemoryLimits { entries: 1, ..Default::default() }).with_subscriber(subscriber);
    let _ = cache.get_or_build(1, || Ok((1, 10)));
    let _ = cache.get_or_build(1, || Ok((1, 10)));
    let _ = cache.get_or_build(2, permanent);
    let _ = cache.get_or_build(2, permanent);
    let _ = cache.get_or_build(3, transient);
    let expected = "\
will-build 0000000000000001
did-build 0000000000000001 10
did-hit-memory 0000000000000001
will-build 0000000000000002
did-fail 0000000000000002 (permanent)
did-evict-memory 0000000000000001 10
did-hit-failure 0000000000000002
will-build 0000000000000003
did-fail 0000000000000003 (transient)";
    assert_eq!(lines.lock().unwrap().join("\n"), expected);
}
