//! Many processes on one store: hammered, killed at random, stopped, racing for one key.
//!
//! The test binary runs itself again as the worker. Every worker reports what it did; what it says it
//! published must be there, and what anybody reads must be right. `VKFUSE_LONG_TESTS=1` runs the long
//! versions.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use vkfuse_cache::{Entry, Key, Miss, Outcome, Part, Skip, Store, StoreConfig};

const ROLE: &str = "VKFUSE_TEST_ROLE";
const DIR: &str = "VKFUSE_TEST_DIR";
const SEED: &str = "VKFUSE_TEST_SEED";
const KEYS: u64 = 2000;

fn is_long() -> bool {
    std::env::var_os("VKFUSE_LONG_TESTS").is_some()
}

fn pick<T>(quick: T, long: T) -> T {
    if is_long() { long } else { quick }
}

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    /// Small numbers far more often than large ones.
    fn zipf(&mut self, count: u64) -> u64 {
        let x = self.next() as f64 / (1u64 << 53) as f64;
        ((count as f64).powf(x) as u64 - 1).min(count - 1)
    }
}

fn key(number: u64) -> Key {
    Key::new(
        Part::new().str("device", "test"),
        Part::new().u64("image", number),
        Part::new().u64("spec", number % 7),
        Part::new(),
    )
}

fn fill(number: u64, build: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new()
        .update(&number.to_le_bytes())
        .update(&build.to_le_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

/// Every build of a key is different, and says so in both sections.
fn payload(number: u64, build: u64, most: usize) -> Entry {
    let length = 1024 + (fill(number, 0, 8)[0] as usize * most / 256);
    Entry::new()
        .with("spirv", fill(number, build, length))
        .with("report", build.to_le_bytes())
}

/// Whether an entry is one whole build of this key.
fn is_right(number: u64, entry: &Entry) -> bool {
    let build = entry
        .section("report")
        .and_then(|bytes| bytes.try_into().ok());
    let (Some(build), Some(code)) = (build, entry.section("spirv")) else {
        return false;
    };
    code == fill(number, u64::from_le_bytes(build), code.len())
}

fn config(dir: &Path, limit: u64) -> StoreConfig {
    let mut config = StoreConfig::at(dir);
    config.max_size = limit;
    config.touch_interval = Duration::ZERO;
    config.sweep_age = Duration::ZERO;
    config
}

fn spawn(role: &str, dir: &Path, seed: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "worker", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(DIR, dir)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until a worker has said so much.
fn wait_for(child: &mut Child, line: &str) -> BufReader<std::process::ChildStdout> {
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains(line) {
        text.clear();
        assert_ne!(reader.read_line(&mut text).unwrap(), 0, "no {line}");
    }
    reader
}

/// The other side of the tests below; does nothing when run as a test.
#[test]
fn worker() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let dir = std::path::PathBuf::from(std::env::var_os(DIR).unwrap());
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let (name, argument) = role.split_once(' ').unwrap_or((&role, "0"));
    let argument: u64 = argument.parse().unwrap();
    match name {
        "hammer" => hammer(&dir, seed, argument, pick(3, 600)),
        "storm" => storm(&dir, seed, argument),
        "race" => race(&dir, seed),
        "hold" => hold(&dir),
        "die-loading" => die_loading(&dir),
        "children" => children(&dir),
        other => panic!("no role {other}"),
    }
}

fn hammer(dir: &Path, seed: u64, limit: u64, seconds: u64) {
    let store = Store::open(config(dir, limit));
    assert_eq!(store.disabled_reason(), None);
    let most = pick(64 << 10, 1 << 20);
    let end = Instant::now() + Duration::from_secs(seconds);
    let totals: Vec<(u64, u64, u64)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let store = store.clone();
                scope.spawn(move || {
                    let mut random = Random::new(seed * 4 + thread + 1);
                    let (mut operations, mut hits, mut wrong) = (0, 0, 0);
                    while Instant::now() < end {
                        let number = random.zipf(KEYS);
                        match store.get(&key(number)) {
                            Ok(entry) => {
                                hits += 1;
                                wrong += u64::from(!is_right(number, &entry));
                            }
                            Err(miss) => {
                                // Two renames make an entry: a reader between them sees the first.
                                let fine = matches!(miss, Miss::Absent | Miss::Incomplete);
                                assert!(fine, "{miss}");
                                let entry = payload(number, random.next(), most);
                                let outcome = store.put(&key(number), &entry);
                                let fine = outcome.is_published()
                                    || outcome == Outcome::Skipped(Skip::LockTimeout);
                                assert!(fine, "{outcome:?}");
                            }
                        }
                        operations += 1;
                    }
                    (operations, hits, wrong)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let sum = |pick: fn(&(u64, u64, u64)) -> u64| totals.iter().map(pick).sum::<u64>();
    println!("\ndone {} {} {}", sum(|t| t.0), sum(|t| t.1), sum(|t| t.2));
}

/// Sizes under the lock of the store, so that nobody is in the middle of anything.
fn bytes_published(dir: &Path) -> Option<u64> {
    let lock = fs::File::open(dir.join("lock")).ok()?;
    lock.lock().ok()?;
    let mut total = 0;
    let mut folders = vec![dir.join("v1")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => folders.push(entry.path()),
                Ok(meta) => total += meta.len().div_ceil(4096) * 4096,
                Err(_) => {}
            }
        }
    }
    Some(total)
}

#[test]
fn hammered_by_eight_processes_while_evicting() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let limit = pick(16 << 20, 250 << 20);
    drop(Store::open(config(&dir, limit)));
    let mut workers: Vec<_> = (0..8)
        .map(|seed| spawn(&format!("hammer {limit}"), &dir, seed))
        .collect();
    let mut samples = 0;
    let mut most = 0;
    while workers[0].try_wait().unwrap().is_none() {
        if let Some(bytes) = bytes_published(&dir) {
            samples += 1;
            most = most.max(bytes);
            assert!(bytes <= limit, "{bytes} of {limit} bytes");
        }
        thread::sleep(Duration::from_millis(100));
    }
    let (mut operations, mut hits, mut wrong, mut reports) = (0, 0, 0, 0);
    for child in workers {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        let line = text.lines().find_map(|line| line.strip_prefix("done "));
        let numbers: Vec<u64> = line
            .expect("a report")
            .split(' ')
            .map(|number| number.parse().unwrap())
            .collect();
        operations += numbers[0];
        hits += numbers[1];
        wrong += numbers[2];
        reports += 1;
    }
    println!(
        "{operations} operations, {hits} hits, {wrong} wrong; at most {most} of {limit} bytes in {samples} samples"
    );
    assert_eq!((wrong, reports), (0, 8));
    assert!(hits > 0 && samples > 3);
    let store = Store::open(config(&dir, limit));
    let usage = store.usage();
    assert!(usage.bytes <= limit + (4 << 20));
    store.prune_to(limit);
    let usage = store.usage();
    assert_eq!(usage.recorded, Some(usage.bytes));
    assert_eq!(fs::read_dir(dir.join("tmp")).unwrap().count(), 0);
    assert!(
        store
            .verify(&mut |_| {})
            .iter()
            .all(|info| info.defect.is_none())
    );
}

fn storm(dir: &Path, seed: u64, limit: u64) {
    let store = Store::open(config(dir, limit));
    let mut random = Random::new(seed + 1);
    let mut out = std::io::stdout();
    loop {
        let number = random.zipf(KEYS);
        match store.get(&key(number)) {
            Ok(entry) => assert!(is_right(number, &entry), "wrong {number}"),
            Err(_) => {
                let entry = payload(number, random.next(), 16 << 10);
                if store.put(&key(number), &entry).is_published() {
                    writeln!(out, "\npublished {number} .").unwrap();
                }
            }
        }
        if random.next().is_multiple_of(8) {
            let driver = Part::new().u32("driver", 1);
            let _: Outcome = store.put_blob(&key(number), &driver, &number.to_le_bytes());
            if let Ok(load) = store.begin_load(&key(number), &driver) {
                assert_eq!(load.bytes(), number.to_le_bytes());
            }
        }
    }
}

/// A running worker and what it says.
struct Stormer {
    child: Child,
    lines: Receiver<String>,
}

impl Stormer {
    fn new(dir: &Path, seed: u64, limit: u64) -> Stormer {
        let mut child = spawn(&format!("storm {limit}"), dir, seed);
        let output = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Stormer { child, lines }
    }

    fn kill(mut self, published: &mut HashSet<u64>) {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        // A worker that ended by itself has failed a check.
        assert_eq!(status.code(), None, "a worker failed");
        for line in self.lines.iter() {
            let number = line
                .strip_prefix("published ")
                .and_then(|rest| rest.strip_suffix(" ."));
            if let Some(number) = number {
                published.insert(number.parse().unwrap());
            }
        }
    }
}

fn kill_storm(kills: u64, limit: u64) {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    drop(Store::open(config(&dir, limit)));
    let mut random = Random::new(99);
    let mut published = HashSet::new();
    let mut seed = 0;
    let mut start = |dir: &Path| {
        seed += 1;
        Stormer::new(dir, seed, limit)
    };
    let mut workers: Vec<_> = (0..4).map(|_| start(&dir)).collect();
    let mut checks = 0;
    for kill in 1..=kills {
        thread::sleep(Duration::from_millis(5 + random.next() % 20));
        let victim = random.next() as usize % workers.len();
        workers.swap_remove(victim).kill(&mut published);
        if kill % 100 == 0 || kill == kills {
            checks += 1;
            for worker in workers.drain(..) {
                worker.kill(&mut published);
            }
            let begin = Instant::now();
            let store = Store::open(config(&dir, limit));
            assert_eq!(store.disabled_reason(), None);
            assert!(
                begin.elapsed() < Duration::from_secs(2),
                "a dead process is in the way"
            );
            assert_eq!(fs::read_dir(dir.join("tmp")).unwrap().count(), 0);
            for number in 0..KEYS {
                match store.get(&key(number)) {
                    Ok(entry) => assert!(is_right(number, &entry), "wrong {number}"),
                    Err(miss) => {
                        let lost = limit == 0 && published.contains(&number);
                        assert!(!lost, "lost {number}: {miss}");
                        let torn = !matches!(miss, Miss::Absent | Miss::Incomplete);
                        assert!(!torn, "torn {number}: {miss}");
                    }
                }
            }
            let usage = store.usage();
            if limit != 0 {
                assert!(bytes_published(&dir).unwrap() <= limit);
            }
            store.prune_to(u64::MAX);
            let recounted = store.usage();
            assert_eq!(recounted.recorded, Some(recounted.bytes));
            // Nothing but the empty folders of the dead is gone.
            assert_eq!(recounted.entries, usage.entries);
            while workers.len() < 3 {
                workers.push(start(&dir));
            }
        }
        workers.push(start(&dir));
    }
    for worker in workers {
        worker.kill(&mut published);
    }
    println!(
        "{kills} kills, {} keys published, {checks} checks, limit {limit}",
        published.len()
    );
    assert!(!published.is_empty());
}

#[test]
fn killed_at_random_nothing_is_lost() {
    kill_storm(pick(100, 10_000), 0);
}

#[test]
fn killed_at_random_while_evicting() {
    kill_storm(pick(100, 10_000), 2 << 20);
}

fn race(dir: &Path, seed: u64) {
    let store = Store::open(config(dir, 0));
    println!("\nready");
    std::io::stdin().read_exact(&mut [0]).unwrap();
    let mut builds = 0;
    let entry = store.get(&key(1)).unwrap_or_else(|_| {
        builds += 1;
        thread::sleep(Duration::from_millis(200));
        let entry = payload(1, seed, 1000);
        assert!(store.put(&key(1), &entry).is_published());
        entry
    });
    assert!(is_right(1, &entry));
    assert!(is_right(1, &store.get(&key(1)).unwrap()));
    println!("\nbuilt {builds}");
}

#[test]
fn eight_processes_race_for_one_cold_key() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let mut workers: Vec<_> = (0..8).map(|seed| spawn("race", &dir, seed)).collect();
    let mut readers: Vec<_> = workers
        .iter_mut()
        .map(|child| wait_for(child, "ready"))
        .collect();
    for child in &mut workers {
        child.stdin.take().unwrap().write_all(b"x").unwrap();
    }
    for (child, reader) in workers.iter_mut().zip(&mut readers) {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert!(child.wait().unwrap().success(), "{text}");
        assert!(text.contains("built "), "{text}");
    }
}

fn hold(dir: &Path) {
    let lock = fs::File::open(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    println!("\nlocked");
    thread::sleep(Duration::from_secs(600));
    drop(lock);
}

#[test]
fn a_dead_holder_of_the_lock_is_no_hindrance_and_a_stopped_one_only_for_a_while() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let store = Store::open(config(&dir, 0));
    let mut slowest = Duration::ZERO;
    for round in 0..pick(10, 1000) {
        let mut child = spawn("hold", &dir, 0);
        let _reader = wait_for(&mut child, "locked");
        if round == 0 {
            // It sleeps with the lock, which is what a stopped process does.
            let start = Instant::now();
            let outcome = store.put(&key(1), &payload(1, 1, 1000));
            assert_eq!(outcome, Outcome::Skipped(Skip::LockTimeout));
            let waited = start.elapsed();
            assert!(waited < Duration::from_millis(1300), "{waited:?}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let start = Instant::now();
        assert!(
            store
                .put(&key(round), &payload(round, 1, 1000))
                .is_published()
        );
        slowest = slowest.max(start.elapsed());
    }
    println!("slowest put after a death: {slowest:?}");
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
}

fn die_loading(dir: &Path) {
    let store = Store::open(config(dir, 0));
    let load = store.begin_load(&key(1), &Part::new()).unwrap();
    assert_eq!(load.bytes(), b"crashes drivers");
    // What a driver does with it.
    std::process::abort();
}

#[test]
fn a_blob_that_kills_is_loaded_once() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let store = Store::open(config(&dir, 0));
    assert!(store.put(&key(1), &payload(1, 1, 1000)).is_published());
    let blob = b"crashes drivers";
    assert!(store.put_blob(&key(1), &Part::new(), blob).is_published());
    let mut child = spawn("die-loading", &dir, 0);
    assert_eq!(child.wait().unwrap().code(), None, "the worker did not die");
    for _ in 0..2 {
        let miss = store.begin_load(&key(1), &Part::new()).err();
        assert_eq!(miss, Some(Miss::Quarantined));
    }
    let outcome = store.put_blob(&key(1), &Part::new(), blob);
    assert_eq!(outcome, Outcome::Skipped(Skip::Quarantined));
    assert!(is_right(1, &store.get(&key(1)).unwrap()));
}

fn children(dir: &Path) {
    let store = Store::open(config(dir, 0));
    assert!(store.put(&key(1), &payload(1, 1, 1000)).is_published());
    let _load = store.put_blob(&key(1), &Part::new(), b"blob");
    let load = store.begin_load(&key(1), &Part::new()).unwrap();
    let listing = Command::new("ls")
        .args(["-l", "/proc/self/fd"])
        .output()
        .unwrap();
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    assert!(listing.contains(" 0 -> "), "{listing}");
    assert!(!listing.contains(dir.to_str().unwrap()), "{listing}");
    load.finish();
    // Nothing is left open but the root.
    let before = fs::read_dir("/proc/self/fd").unwrap().count();
    for number in 0..100 {
        assert!(
            store
                .put(&key(number), &payload(number, 1, 1000))
                .is_published()
        );
        assert!(store.get(&key(number)).is_ok());
        assert!(store.get(&key(number + 1000)).is_err());
        let _ = store.begin_load(&key(1), &Part::new());
    }
    store.prune_to(10_000);
    store.verify(&mut |_| {});
    assert_eq!(fs::read_dir("/proc/self/fd").unwrap().count(), before);
    println!("\nfine");
}

#[test]
#[cfg(target_os = "linux")]
fn children_inherit_nothing_and_no_handle_leaks() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let output = spawn("children", &dir, 0).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("fine"), "{text}");
}
