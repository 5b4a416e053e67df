//! What the caches cost, as ratios measured in one run.
//!
//! Figures are always printed; they are only held against their limits with `VKFUSE_LONG_TESTS=1` and
//! an optimised build, for a busy machine gives any figure.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use vkfuse_cache::{BuildError, Entry, Key, MemoryCache, MemoryLimits, Part, Store, StoreConfig};

fn is_long() -> bool {
    std::env::var_os("VKFUSE_LONG_TESTS").is_some()
}

fn is_strict() -> bool {
    is_long() && !cfg!(debug_assertions)
}

fn check(what: &str, ratio: f64, limit: f64) {
    println!("{what}: {ratio:.2} (limit {limit})");
    if is_strict() {
        assert!(ratio <= limit, "{what}: {ratio:.2} is over {limit}");
    }
}

/// The best of several rounds, which is what the machine can do.
fn best(rounds: usize, mut work: impl FnMut()) -> Duration {
    (0..rounds)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn id(number: u64) -> [u8; 32] {
    *blake3::hash(&number.to_le_bytes()).as_bytes()
}

fn key(number: u32) -> Key {
    Key::new(Part::new().str("device", "test"), Part::new().u32("image", number), Part::new(), Part::new())
}

fn never() -> Result<(u64, u64), BuildError<String>> {
    Err(BuildError::Permanent("not in the cache".to_owned()))
}

#[test]
fn memory_hit_against_a_bare_lru() {
    const ENTRIES: u64 = 1000;
    const CALLS: u64 = 400_000;
    let ids: Vec<_> = (0..ENTRIES).map(id).collect();
    let bare = Mutex::new(lru::LruCache::<[u8; 32], Arc<u64>, ahash::RandomState>::with_hasher(
        NonZeroUsize::new(ENTRIES as usize).unwrap(),
        ahash::RandomState::new(),
    ));
    let cache = MemoryCache::<[u8; 32], u64, String>::new(MemoryLimits::default());
    for (index, id) in ids.iter().enumerate() {
        bare.lock().unwrap().put(*id, Arc::new(index as u64));
        cache.get_or_build(*id, || Ok((index as u64, 8))).unwrap();
    }
    let at = |call: u64| &ids[(call * 7919 % ENTRIES) as usize];
    let bare_time = best(7, || {
        for call in 0..CALLS {
            black_box(bare.lock().unwrap().get(at(call)).map(Arc::clone));
        }
    });
    let cache_time = best(7, || {
        for call in 0..CALLS {
            black_box(cache.get_or_build(*at(call), never).unwrap());
        }
    });
    let ratio = cache_time.as_secs_f64() / bare_time.as_secs_f64();
    println!("bare {:?}, cache {:?} per hit", bare_time / CALLS as u32, cache_time / CALLS as u32);
    check("memory hit / bare lru under a mutex", ratio, 3.0);
}

/// More threads than the machine has cores make no fewer hits than those that it has, and up to there each makes more; whether
/// all use the same keys or each its own. In turns, so that whatever else the machine does meets all alike.
#[test]
fn memory_hits_of_several_threads() {
    const CALLS: u64 = 200_000;
    const THREADS: [u64; 5] = [1, 2, 4, 8, 16];
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
    for (what, apart) in [("the same 64 keys", 0), ("64 keys for each thread", 64), ("one key", 0)] {
        let keys = if what == "one key" { 1 } else { 64 };
        let ids: Vec<_> = (0..keys + 16 * apart).map(id).collect();
        let cache = MemoryCache::<[u8; 32], u64, String>::new(MemoryLimits::default());
        for (index, id) in ids.iter().enumerate() {
            cache.get_or_build(*id, || Ok((index as u64, 8))).unwrap();
        }
        let mut rates = [0.0_f64; THREADS.len()];
        for _ in 0..15 {
            for (rate, threads) in rates.iter_mut().zip(THREADS) {
                *rate = rate.max(hits_a_second(&cache, &ids, threads, keys, apart, CALLS));
            }
        }
        for (at, threads) in THREADS.into_iter().enumerate() {
            let most = rates[..at].iter().copied().fold(0.0, f64::max);
            println!("{what}, {threads} threads: {:.1} million hits a second", rates[at] / 1e6);
            if is_strict() {
                assert!(rates[at] >= 1e6 && rates[at] >= 0.85 * most, "{rates:?}");
                assert!(threads != 2 || cores < 2 || rates[at] > 1.2 * most, "{rates:?}");
            }
        }
    }
}

/// `calls` hits by each thread, from the first that begins to the last that ends.
fn hits_a_second(
    cache: &MemoryCache<[u8; 32], u64, String>,
    ids: &[[u8; 32]],
    threads: u64,
    keys: u64,
    apart: u64,
    calls: u64,
) -> f64 {
    let barrier = std::sync::Barrier::new(threads as usize);
    let run = |thread: u64| {
        let ids = &ids[(thread * apart) as usize..][..keys as usize];
        // What it uses is found by itself from the second time on.
        for id in ids {
            black_box(cache.get_or_build(*id, never).unwrap());
        }
        barrier.wait();
        let start = Instant::now();
        for call in 0..calls {
            black_box(cache.get_or_build(ids[(call * 7 % keys) as usize], never).unwrap());
        }
        (start, Instant::now())
    };
    let times: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let (run, scope) = (&run, scope);
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let start = times.iter().map(|(start, _)| *start).min().unwrap();
    let end = times.iter().map(|(_, end)| *end).max().unwrap();
    (threads * calls) as f64 / (end - start).as_secs_f64()
}

#[test]
fn disk_hit_against_reading_and_hashing() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().join("cache");
    let store = Store::open(StoreConfig::at(&root));
    for kib in [4, 16, 64, 256] {
        let key = key(kib);
        let entry = Entry::new().with("spirv", vec![7; kib as usize * 1024]);
        assert!(store.put(&key, &entry).is_published());
        let info = store.entries(&mut |_| {}).into_iter().find(|info| info.id() == Some(key.id()));
        let [key_path, path] = info.unwrap().files().map(|file| root.join(file));
        // An entry is two files, so both are read here as well.
        let plain = best(200, || {
            let bytes = std::fs::read(&path).unwrap();
            black_box(std::fs::read(&key_path).unwrap());
            black_box(blake3::hash(&bytes));
        });
        let hit = best(200, || {
            black_box(store.get(&key).unwrap());
        });
        println!("{kib} KiB: read and hash {plain:?}, hit {hit:?}");
        let ratio = hit.as_secs_f64() / plain.as_secs_f64();
        check(&format!("disk hit of {kib} KiB / read and hash"), ratio, 2.0);
        let alone = best(200, || {
            let bytes = std::fs::read(&path).unwrap();
            black_box(blake3::hash(&bytes));
        });
        let ratio = hit.as_secs_f64() / alone.as_secs_f64();
        check(&format!("disk hit of {kib} KiB / read and hash the .bin alone"), ratio, 2.0);
    }
}

/// The middle one of many puts of new keys, for the first in a folder of the disk always costs more.
fn put_times(store: &Store, first: u32) -> Vec<Duration> {
    let entry = Entry::new().with("spirv", vec![7; 2000]);
    (first..first + 50)
        .map(|number| {
            let start = Instant::now();
            assert!(store.put(&key(number), &entry).is_published());
            start.elapsed()
        })
        .collect()
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn put_does_not_grow_with_the_store() {
    let base = tempfile::tempdir().unwrap();
    let open = |name: &str, entries: u32| {
        let store = Store::open(StoreConfig::at(base.path().join(name)));
        let entry = Entry::new().with("spirv", vec![7; 2000]);
        for number in 0..entries {
            assert!(store.put(&key(number), &entry).is_published());
        }
        store
    };
    let entries = if is_long() { 10_000 } else { 2_000 };
    let (few, many) = (open("few", 100), open("many", entries));
    // In turns, so that whatever else the machine does meets both alike.
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for round in 0..8 {
        small.extend(put_times(&few, 1_000_000 + round * 50));
        large.extend(put_times(&many, 1_000_000 + round * 50));
    }
    let (small, large) = (middle(small), middle(large));
    println!("a put into 100 to 500 entries {small:?}, into {entries} {large:?}");
    check("put into many / put into 100", large.as_secs_f64() / small.as_secs_f64(), 2.0);
}
