//! The memory cache: one build per key, failures, limits, order of use.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;
use vkfuse_cache::{BuildError, Clock, Event, Failure, Hit, MemoryCache, MemoryLimits, Subscriber};

type Cache<V> = MemoryCache<u64, V, String>;
type Built<V> = Result<(V, u64), BuildError<String>>;

fn unlimited<V>() -> Cache<V> {
    let limits = MemoryLimits { entries: 0, bytes: 0, failure_ttl: None };
    Cache::new(limits)
}

fn rounds(quick: usize, long: usize) -> usize {
    match std::env::var_os("VKFUSE_LONG_TESTS") {
        Some(_) => long,
        None => quick,
    }
}

fn permanent<V>() -> Built<V> {
    Err(BuildError::Permanent("no such instruction".to_owned()))
}

fn transient<V>() -> Built<V> {
    Err(BuildError::Transient("out of memory".to_owned()))
}

/// Runs `work` in that many threads at once and gathers what they return.
fn together<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
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
        let first = Arc::clone(&results[0].as_ref().unwrap().0);
        let mut built = 0;
        for result in results {
            let (value, hit) = result.unwrap();
            assert!(Arc::ptr_eq(&value, &first));
            built += usize::from(hit == Hit::Built);
        }
        assert_eq!((built, *first), (1, round));
        let stats = cache.stats();
        assert_eq!(stats.hits + stats.waits + stats.misses, 64);
        assert_eq!((stats.builds, stats.building, stats.entries), (1, 0, 1));
    }
}

#[test]
fn a_panicking_builder_leaves_no_sleepers() {
    for _ in 0..rounds(10, 1000) {
        let cache = unlimited::<usize>();
        let builds = AtomicUsize::new(0);
        let start = Instant::now();
        let results = together(64, |_| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                cache.get_or_build(7, || -> Built<usize> {
                    builds.fetch_add(1, Ordering::SeqCst);
                    // So that others come to wait, and no message is printed.
                    thread::sleep(Duration::from_millis(1));
                    std::panic::resume_unwind(Box::new("builder"));
                })
            }))
        });
        assert!(start.elapsed() < Duration::from_secs(10));
        let panicked = results.iter().filter(|result| result.is_err()).count();
        assert_eq!(panicked, builds.load(Ordering::SeqCst));
        for result in results.into_iter().flatten() {
            assert!(matches!(result, Err(Failure::Panicked)));
        }
        // Nothing is poisoned, and the next call builds.
        let (value, hit) = cache.get_or_build(7, || Ok((3, 1))).unwrap();
        assert_eq!((*value, hit), (3, Hit::Built));
    }
}

#[test]
fn one_waiter_tries_again_after_a_failure_that_may_pass() {
    for _ in 0..rounds(20, 1000) {
        let cache = unlimited::<usize>();
        let builds = AtomicUsize::new(0);
        let waiting = AtomicUsize::new(0);
        let results = together(16, |_| {
            waiting.fetch_add(1, Ordering::SeqCst);
            cache.get_or_build(7, || {
                while waiting.load(Ordering::SeqCst) < 16 {
                    thread::yield_now();
                }
                thread::sleep(Duration::from_millis(2));
                match builds.fetch_add(1, Ordering::SeqCst) {
                    0 => transient(),
                    _ => Ok((5, 1)),
                }
            })
        });
        let failed = results.iter().filter(|result| result.is_err()).count();
        // The builder has its own error; everybody else has the second attempt's value.
        assert_eq!((failed, builds.load(Ordering::SeqCst)), (1, 2));
        assert_eq!(cache.stats().retries, 1);
    }
}

#[test]
fn two_failures_in_a_row_reach_everybody_and_are_forgotten() {
    let cache = unlimited::<usize>();
    let builds = AtomicUsize::new(0);
    let entered = AtomicUsize::new(0);
    let results = together(16, |_| {
        entered.fetch_add(1, Ordering::SeqCst);
        cache.get_or_build(7, || {
            while entered.load(Ordering::SeqCst) < 16 {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(20));
            builds.fetch_add(1, Ordering::SeqCst);
            transient()
        })
    });
    assert!(results.iter().all(Result::is_err));
    assert_eq!(builds.load(Ordering::SeqCst), 2);
    assert_eq!(cache.stats().entries, 0);
    assert!(cache.get_or_build(7, || Ok((1, 1))).is_ok());
}

#[derive(Debug, Default)]
struct Hands(AtomicU64);

impl Clock for Hands {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

#[test]
fn a_lasting_failure_is_remembered_for_its_time() {
    let clock = Arc::new(Hands::default());
    let limits = MemoryLimits { failure_ttl: Some(Duration::from_secs(60)), ..Default::default() };
    let cache = Cache::<usize>::new(limits).with_clock(clock.clone());
    let builds = AtomicUsize::new(0);
    let ask = || {
        let result = cache.get_or_build(7, || {
            builds.fetch_add(1, Ordering::SeqCst);
            permanent()
        });
        result.unwrap_err().to_string()
    };
    for _ in 0..5 {
        assert_eq!(ask(), "no such instruction");
    }
    assert_eq!(builds.load(Ordering::SeqCst), 1);
    assert_eq!(cache.stats().failure_hits, 4);
    clock.0.store(61, Ordering::SeqCst);
    ask();
    ask();
    assert_eq!(builds.load(Ordering::SeqCst), 2);
    cache.remove(&7);
    ask();
    cache.clear();
    ask();
    assert_eq!(builds.load(Ordering::SeqCst), 4);
    assert_eq!(cache.get(&7), None);
}

#[test]
fn a_build_that_asks_for_itself_gets_an_error() {
    let cache = unlimited::<usize>();
    let result = cache.get_or_build(1, || {
        let inner = cache.get_or_build(1, || Ok((1, 1)));
        assert!(matches!(inner, Err(Failure::Reentrant)));
        // Another key is fine.
        let (other, _) = cache.get_or_build(2, || Ok((2, 1))).unwrap();
        Ok((*other, 1))
    });
    assert_eq!(*result.unwrap().0, 2);
}

#[test]
fn two_builds_that_need_each_other_do_not_wait_for_ever() {
    for _ in 0..rounds(20, 1000) {
        // Two caches, as there are two levels of compiled things.
        let (programs, kernels) = (unlimited::<usize>(), unlimited::<usize>());
        let inside = Barrier::new(2);
        let start = Instant::now();
        let results = together(2, |index| {
            let (mine, other) = match index {
                0 => (&programs, &kernels),
                _ => (&kernels, &programs),
            };
            mine.get_or_build(1, || {
                inside.wait();
                match other.get_or_build(1, || Ok((9, 1))) {
                    Ok((value, _)) => Ok((*value + 1, 1)),
                    Err(Failure::Reentrant) => Err(BuildError::Permanent("ring".to_owned())),
                    Err(failure) => Err(BuildError::Permanent(failure.to_string())),
                }
            })
        });
        assert!(start.elapsed() < Duration::from_secs(5));
        assert!(results.iter().all(Result::is_err));
        let messages: Vec<_> = results.into_iter().map(|r| r.unwrap_err().to_string()).collect();
        assert_eq!(messages, ["ring", "ring"]);
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
    assert_eq!(Arc::strong_count(&held), 1);
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
    let limits = MemoryLimits { entries: 2, bytes: 100, failure_ttl: None };
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

#[derive(Debug, Clone)]
enum Step {
    Get(u64),
    Build(u64, u64),
    Resize(usize, u64),
    Remove(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..12u64).prop_map(Step::Get),
        6 => (0..12u64, 0..50u64).prop_map(|(key, bytes)| Step::Build(key, bytes)),
        1 => (0..6usize, 0..120u64).prop_map(|(entries, bytes)| Step::Resize(entries, bytes)),
        1 => (0..12u64).prop_map(Step::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn keeps_what_the_model_keeps(steps in prop::collection::vec(step(), 1..200)) {
        let cache = unlimited::<u64>();
        // Key to (time of use, bytes).
        let mut model: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
        let (mut most, mut bytes_most) = (0, 0);
        for (time, step) in steps.into_iter().enumerate() {
            match step {
                Step::Get(key) => {
                    prop_assert_eq!(cache.get(&key).is_some(), model.contains_key(&key));
                    if let Some(kept) = model.get_mut(&key) {
                        kept.0 = time;
                    }
                }
                Step::Build(key, bytes) => {
                    let (_, hit) = cache.get_or_build(key, || Ok((key, bytes))).unwrap();
                    prop_assert_eq!(hit == Hit::Memory, model.contains_key(&key));
                    match model.get_mut(&key) {
                        Some(kept) => kept.0 = time,
                        None if bytes_most != 0 && bytes > bytes_most => {}
                        None => {
                            model.insert(key, (time, bytes));
                        }
                    }
                }
                Step::Resize(entries, bytes) => {
                    (most, bytes_most) = (entries, bytes);
                    cache.resize(MemoryLimits { entries, bytes, failure_ttl: None });
                }
                Step::Remove(key) => {
                    prop_assert_eq!(cache.remove(&key).is_some(), model.remove(&key).is_some());
                }
            }
            let sum = |model: &BTreeMap<u64, (usize, u64)>| model.values().map(|kept| kept.1).sum::<u64>();
            while (most != 0 && model.len() > most) || (bytes_most != 0 && sum(&model) > bytes_most) {
                let oldest = *model.iter().min_by_key(|(_, kept)| kept.0).unwrap().0;
                model.remove(&oldest);
            }
            let stats = cache.stats();
            prop_assert_eq!((stats.entries, stats.bytes), (model.len(), sum(&model)));
        }
        for key in 0..12 {
            prop_assert_eq!(cache.peek(&key).is_some(), model.contains_key(&key));
        }
    }
}
