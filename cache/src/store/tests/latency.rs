//! How long a put takes as the store grows, in the thread of the program and in all.
//!
//! Prints the median and the worst: on the file system of `TMPDIR`, and on one where each change takes a millisecond.
//! Nothing is held against a time. `VKFUSE_LONG_TESTS=1` goes up to 100,000 entries.

use std::time::Instant;

use super::*;
use crate::Outcome;

fn pick<T>(quick: T, long: T) -> T {
    if std::env::var_os("VKFUSE_LONG_TESTS").is_some() { long } else { quick }
}

fn median_and_worst(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[times.len() - 1])
}

fn measure(name: &str, slow: Option<Duration>, sizes: &[u32], limit: u64) {
    let mut yard = Yard::new();
    yard.config.max_size = limit;
    let filler = yard.open();
    let disk = match slow {
        None => Faulty::none(),
        Some(pause) => Faulty::beside(move |_, operation| {
            if matches!(operation, "create" | "write" | "rename" | "remove" | "make_folder" | "list") {
                std::thread::sleep(pause);
            }
        }),
    };
    yard.config.background = true;
    let mut next = 0;
    let (store, _) = yard.open_on(disk);
    for &size in sizes {
        while next < size {
            assert!(filler.put(&key(next), &payload(next, 2000)).is_published());
            next += 1;
        }
        let count = pick(30, 100);
        let now: Vec<Duration> = (0..count)
            .map(|_| {
                let entry = payload(next, 2000);
                let start = Instant::now();
                assert!(store.put(&key(next), &entry).is_published());
                next += 1;
                start.elapsed()
            })
            .collect();
        let later: Vec<Duration> = (0..count)
            .map(|_| {
                let entry = payload(next, 2000);
                let start = Instant::now();
                let outcome = store.put_later(&key(next), entry);
                let took = start.elapsed();
                assert_eq!(outcome, Outcome::Queued);
                next += 1;
                took
            })
            .collect();
        assert!(store.flush(Duration::from_secs(300)));
        let ((now, worst_now), (later, worst_later)) = (median_and_worst(now), median_and_worst(later));
        println!(
            "{name}, {size} entries: put {now:?}, worst {worst_now:?}; put later {later:?}, worst {worst_later:?}"
        );
    }
}

#[test]
fn of_a_growing_store() {
    let sizes: &[u32] = pick(&[100, 1000], &[100, 1000, 10_000, 100_000]);
    measure("no limit", None, sizes, 0);
}

/// With room for half of what is put, so that it evicts all the time.
#[test]
fn of_a_store_that_evicts() {
    let sizes: &[u32] = pick(&[100, 1000], &[100, 1000, 10_000, 60_000]);
    measure("evicting", None, sizes, pick(8 << 20, 400 << 20));
}

#[test]
fn on_a_slow_disk() {
    let sizes: &[u32] = pick(&[50, 100], &[100, 1000, 4000]);
    measure("slow disk", Some(Duration::from_millis(1)), sizes, pick(1 << 20, 30 << 20));
}
