//! A store with very many entries, among very many files that are not its own.
//!
//! Nothing here is held against a time; the figures are printed, and `VKFUSE_LONG_TESTS=1` takes 100,000
//! entries and a million foreign files. `TMPDIR=/dev/shm` keeps that off the disk.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use vkfuse_cache::{Entry, Key, Part, Store, StoreConfig};

fn pick<T>(quick: T, long: T) -> T {
    if std::env::var_os("VKFUSE_LONG_TESTS").is_some() { long } else { quick }
}

/// Few devices and options, many kernels: as a real store.
fn key(number: u32) -> Key {
    Key::new(
        Part::new().u32("device", number % 2),
        Part::new().u32("image", number),
        Part::new(),
        Part::new().bool("strict", number.is_multiple_of(3)),
    )
}

fn entry(number: u32) -> Entry {
    Entry::new().with("spirv", number.to_le_bytes().repeat(64))
}

/// How often something was done, and the longest that it took.
#[derive(Debug, Default)]
struct Turns {
    count: u32,
    longest: Duration,
}

impl Turns {
    fn take(over: &AtomicBool, mut turn: impl FnMut(u32)) -> Turns {
        let mut turns = Turns::default();
        while !over.load(Ordering::Relaxed) {
            let start = Instant::now();
            turn(turns.count);
            turns.longest = turns.longest.max(start.elapsed());
            turns.count += 1;
            thread::sleep(Duration::from_micros(200));
        }
        turns
    }
}

/// The turns of somebody who waits for the lock, and of somebody who writes, while `work` runs.
fn turns_during(dir: &Path, put: impl Fn(u32) + Sync, work: impl FnOnce()) -> (Turns, Turns) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let file = fs::File::open(dir.join("lock")).unwrap();
            Turns::take(&over, |_| {
                file.lock().unwrap();
                file.unlock().unwrap();
            })
        });
        let writer = scope.spawn(|| Turns::take(&over, &put));
        work();
        over.store(true, Ordering::Relaxed);
        (waiter.join().unwrap(), writer.join().unwrap())
    })
}

/// The middle of the times of `work` for some numbers.
fn middle(numbers: impl Iterator<Item = u32>, mut work: impl FnMut(u32)) -> Duration {
    let mut times: Vec<Duration> = numbers
        .map(|number| {
            let start = Instant::now();
            work(number);
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn many_entries_among_many_foreign_files() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let mut config = StoreConfig::at(&dir);
    config.max_size = 0;
    let store = Store::open(config.clone());
    let count = pick(1_000, 100_000);
    let foreign = pick(2_000, 1_000_000);
    let put = |number| assert!(store.put(&key(number), &entry(number)).is_published());
    let get = |number| assert_eq!(store.get(&key(number)), Ok(entry(number)));
    (0..100).for_each(put);
    let (put_few, get_few) = (middle(100..300, put), middle(0..100, get));
    (300..count).for_each(put);
    for number in 0..foreign {
        let folder = ["v2", "tmp", "."][number % 3];
        fs::write(dir.join(folder).join(format!("foreign {number}")), b"").unwrap();
    }
    let (put_many, get_many) = (middle(count..count + 200, put), middle(count - 100..count, get));
    println!("put: {put_few:?} with 100 entries, {put_many:?} with {count} entries, {foreign} foreign files");
    println!("hit: {get_few:?} and {get_many:?}");
    let usage = store.usage();
    assert_eq!(usage.entries, count as usize + 200);
    let target = usage.bytes / 3 * 2;
    let start = Instant::now();
    let mut removed = 0;
    // The writer's keys are few, so that it replaces what it wrote and the store does not grow.
    let other = Store::open(config.clone());
    let replace = |turn: u32| {
        let number = count + 1000 + turn % 8;
        assert!(other.put(&key(number), &entry(number)).is_published());
    };
    (0..8).for_each(replace);
    let (waiter, writer) = turns_during(&dir, replace, || removed = store.prune_to(target).files);
    println!(
        "{removed} entries evicted in {:?}; meanwhile the lock was taken {} times, after at most {:?}, and \
         {} entries written, in at most {:?} each",
        start.elapsed(),
        waiter.count,
        waiter.longest,
        writer.count,
        writer.longest
    );
    assert!(waiter.count > 0 && writer.count > 0);
    drop(other);
    let usage = store.usage();
    assert!(usage.bytes <= target + (1 << 20) && removed > 0);
    // What was written during the count is counted twice rather than not at all.
    assert!(usage.recorded >= Some(usage.bytes));
    store.prune_to(u64::MAX);
    let usage = store.usage();
    assert_eq!(usage.recorded, Some(usage.bytes));
    // All that is left is sound, and what is not of the store is still there.
    let infos = store.entries(&mut |_| {});
    assert!(infos.len() == usage.entries && infos.iter().all(|info| info.defect.is_none()));
    for number in [0, foreign / 2, foreign - 1] {
        let folder = ["v2", "tmp", "."][number % 3];
        assert!(dir.join(folder).join(format!("foreign {number}")).exists());
    }
    let start = Instant::now();
    drop(store);
    drop(Store::open(config));
    println!("closed and opened again in {:?}", start.elapsed());
}
