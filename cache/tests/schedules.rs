//! The memory cache under a scheduler that chooses the interleavings.
//!
//! `RUSTFLAGS="--cfg vkfuse_shuttle" cargo test -p vkfuse-cache --test schedules --target-dir target/shuttle`

#![cfg(vkfuse_shuttle)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuttle::thread;
use vkfuse_cache::{BuildError, Failure, Hit, MemoryCache, MemoryLimits};

type Cache = MemoryCache<u64, usize, &'static str>;

fn schedules() -> usize {
    let schedules = match std::env::var_os("VKFUSE_LONG_TESTS") {
        Some(_) => 100_000,
        None => 10_000,
    };
    println!("{schedules} schedules");
    schedules
}

/// One test at a time: every run of the scheduler numbers its threads alike, and the table of waiting
/// threads is one for the whole process.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn cache(entries: usize) -> Arc<Cache> {
    Arc::new(Cache::new(MemoryLimits { entries, bytes: 0, failure_ttl: None, patience: None }))
}

/// Runs `work` in that many threads and waits for them.
fn together<T: Send + 'static>(threads: usize, work: impl Fn(usize) -> T + Send + Sync + 'static) -> Vec<T> {
    let work = Arc::new(work);
    let handles: Vec<_> = (0..threads)
        .map(|index| {
            let work = Arc::clone(&work);
            thread::spawn(move || work(index))
        })
        .collect();
    handles.into_iter().map(|handle| handle.join().unwrap()).collect()
}

#[test]
fn one_key_is_built_once() {
    let _alone = alone();
    shuttle::check_random(
        || {
            let cache = cache(0);
            let builds = Arc::new(AtomicUsize::new(0));
            let (shared, counter) = (Arc::clone(&cache), Arc::clone(&builds));
            let results = together(3, move |_| {
                shared.get_or_build(1, || {
                    counter.fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                    Ok((5, 1))
                })
            });
            assert!(results.into_iter().all(|result| *result.unwrap().0 == 5));
            assert_eq!(builds.load(Ordering::SeqCst), 1);
        },
        schedules(),
    );
}

#[test]
fn a_failure_that_may_pass_is_tried_at_most_twice_for_those_who_wait() {
    let _alone = alone();
    shuttle::check_random(
        || {
            let cache = cache(0);
            let builds = Arc::new(AtomicUsize::new(0));
            let (shared, counter) = (Arc::clone(&cache), Arc::clone(&builds));
            let results = together(3, move |_| {
                shared.get_or_build(1, || {
                    thread::yield_now();
                    match counter.fetch_add(1, Ordering::SeqCst) {
                        0 => Err(BuildError::Transient("once")),
                        _ => Ok((5, 1)),
                    }
                })
            });
            let failed = results.iter().filter(|result| result.is_err()).count();
            assert_eq!((failed, builds.load(Ordering::SeqCst)), (1, 2));
            assert_eq!(cache.stats().building, 0);
        },
        schedules(),
    );
}

#[test]
fn failing_for_ever_ends_for_everybody() {
    let _alone = alone();
    shuttle::check_random(
        || {
            let cache = cache(0);
            let shared = Arc::clone(&cache);
            let results = together(3, move |index| {
                shared.get_or_build(1, || {
                    thread::yield_now();
                    match index {
                        0 => Err(BuildError::Permanent("never")),
                        _ => Err(BuildError::Transient("not now")),
                    }
                })
            });
            assert!(results.iter().all(Result::is_err));
            assert_eq!(cache.stats().building, 0);
        },
        schedules(),
    );
}

#[test]
fn clearing_and_evicting_at_any_time_is_safe() {
    let _alone = alone();
    shuttle::check_random(
        || {
            let cache = cache(1);
            let shared = Arc::clone(&cache);
            let results = together(3, move |index| {
                if index == 2 {
                    shared.clear();
                    shared.remove(&1);
                    return true;
                }
                [1, 2, 1].into_iter().all(|key| {
                    let result = shared.get_or_build(key, || {
                        thread::yield_now();
                        Ok((key as usize, 1))
                    });
                    *result.unwrap().0 == key as usize
                })
            });
            assert!(results.into_iter().all(|fine| fine));
            let stats = cache.stats();
            assert!(stats.entries <= 1 && stats.building == 0);
        },
        schedules(),
    );
}

#[test]
fn builders_that_wait_for_each_other_are_told() {
    let _alone = alone();
    shuttle::check_random(
        || {
            let cache = cache(0);
            let shared = Arc::clone(&cache);
            let results = together(2, move |index| {
                let (mine, other) = (index as u64, 1 - index as u64);
                shared.get_or_build(mine, || match shared.get_or_build(other, || Ok((1, 1))) {
                    Ok((value, _)) => Ok((*value + 1, 1)),
                    Err(Failure::Reentrant) => Err(BuildError::Permanent("ring")),
                    Err(_) => Err(BuildError::Permanent("failed")),
                })
            });
            for result in results {
                match result {
                    Ok((value, hit)) => assert!((1..=2).contains(&*value) || hit == Hit::Memory),
                    Err(failure) => {
                        let error = failure.error().map_or("", |error| **error);
                        assert!(["ring", "failed"].contains(&error));
                    }
                }
            }
            assert_eq!(cache.stats().building, 0);
        },
        schedules(),
    );
}
