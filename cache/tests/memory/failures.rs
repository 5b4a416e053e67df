//! Builds that fail, panic, or ask for themselves.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use vkfuse_cache::{BuildError, Clock, Failure, Hit, MemoryLimits};

use crate::{Built, Cache, rounds, together, unlimited};

pub(crate) fn permanent<V>() -> Built<V> {
    Err(BuildError::Permanent("no such instruction".to_owned()))
}

pub(crate) fn transient<V>() -> Built<V> {
    Err(BuildError::Transient("out of memory".to_owned()))
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
        // Set back further and further.
        UNIX_EPOCH + Duration::from_secs(1_000_000 - self.0.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst))
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
fn who_may_not_wait_longer_gets_an_error_and_the_build_goes_on() {
    let limits = MemoryLimits { patience: Some(Duration::from_millis(20)), ..Default::default() };
    let cache = Cache::<usize>::new(limits);
    let (inside, out) = (Barrier::new(2), Barrier::new(2));
    let results = together(2, |index| {
        if index == 1 {
            inside.wait();
            let result = cache.get_or_build(7, || Ok((0, 1)));
            out.wait();
            return result.map(|_| ());
        }
        cache
            .get_or_build(7, || {
                inside.wait();
                // For as long as the other waits, and longer.
                out.wait();
                Ok((5, 1))
            })
            .map(|_| ())
    });
    assert!(results[0].is_ok());
    assert!(matches!(results[1], Err(Failure::TimedOut)));
    assert_eq!(cache.stats().timeouts, 1);
    assert_eq!(*cache.get_or_build(7, permanent).unwrap().0, 5);
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
