//! Threads of many processes that read and write at once, while entries are evicted, and while the
//! folder is taken away under them.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use vkfuse_cache::{Miss, Outcome, Skip, Store};

use crate::payload::{Random, build_in, config, is_right, key, payload, payload_of_any_size};
use crate::{KEYS, pick, spawn};

/// Builds of this version are odd, those of the next even.
const PARITY: u64 = if cfg!(vkfuse_next_format) { 0 } else { 1 };

/// How long four threads read and write: this many operations each, or until somebody says that it is
/// enough; where the store is ruined meanwhile, for a time.
fn quota(is_ruined: bool) -> (u64, Duration) {
    match is_ruined {
        true => (u64::MAX, Duration::from_secs(pick(2, 120))),
        false => (pick(1_500, 31_250), Duration::from_secs(pick(60, 900))),
    }
}

pub(crate) fn hammer(dir: &Path, seed: u64, limit: u64, is_ruined: bool) {
    let store = Store::open(config(dir, limit));
    assert_eq!(store.disabled_reason(), None);
    let most = pick(64 << 10, 1 << 20);
    let (quota, time) = quota(is_ruined);
    let end = Instant::now() + time;
    let totals: Vec<(u64, u64, u64)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let store = store.clone();
                scope.spawn(move || {
                    let mut random = Random::new(seed * 4 + thread + 1);
                    let (mut operations, mut hits, mut wrong) = (0, 0, 0);
                    while operations < quota && Instant::now() < end {
                        let number = random.zipf(KEYS);
                        match store.get(&key(number)) {
                            Ok(entry) => {
                                hits += 1;
                                let is_ours = build_in(&entry).is_some_and(|build| build % 2 == PARITY);
                                wrong += u64::from(!is_ours || !is_right(number, &entry));
                            }
                            Err(miss) => {
                                // Two renames make an entry: a reader between them sees the first.
                                let fine = matches!(miss, Miss::Absent | Miss::Incomplete);
                                assert!(fine || is_ruined, "{miss}");
                                let build = random.next() / 2 * 2 + PARITY;
                                let entry = payload_of_any_size(number, build, most);
                                let outcome = store.put(&key(number), &entry);
                                let fine =
                                    outcome.is_published() || outcome == Outcome::Skipped(Skip::LockTimeout);
                                assert!(fine || is_ruined, "{outcome:?}");
                            }
                        }
                        operations += 1;
                    }
                    (operations, hits, wrong)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let sum = |pick: fn(&(u64, u64, u64)) -> u64| totals.iter().map(pick).sum::<u64>();
    println!("\ndone {} {} {}", sum(|t| t.0), sum(|t| t.1), sum(|t| t.2));
}

/// Sizes under the lock of the store, so that no one is in the middle of anything.
pub(crate) fn bytes_published(dir: &Path) -> Option<u64> {
    let lock = fs::File::open(dir.join("lock")).ok()?;
    lock.lock().ok()?;
    let mut total = 0;
    let mut folders = vec![dir.join("v2"), dir.join("v3")];
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

/// What processes that hammer have done.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) operations: u64,
    pub(crate) hits: u64,
    pub(crate) wrong: u64,
    /// Samples of the size while they did it, and the largest.
    pub(crate) samples: u64,
    pub(crate) most: u64,
}

/// Looks at the size under the lock as long as the workers run, and adds up what they say. Each of them
/// has to end well and to report.
pub(crate) fn watch(mut workers: Vec<Child>, dir: &Path, limit: u64) -> Report {
    let mut report = Report::default();
    while workers.iter_mut().any(|worker| worker.try_wait().unwrap().is_none()) {
        if let Some(bytes) = bytes_published(dir) {
            report.samples += 1;
            report.most = report.most.max(bytes);
            assert!(bytes <= limit, "{bytes} of {limit} bytes");
        }
        thread::sleep(Duration::from_millis(100));
    }
    for child in workers {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        let line = text.lines().find_map(|line| line.strip_prefix("done "));
        let numbers: Vec<u64> =
            line.expect("a report").split(' ').map(|number| number.parse().unwrap()).collect();
        report.operations += numbers[0];
        report.hits += numbers[1];
        report.wrong += numbers[2];
    }
    report
}

#[test]
fn hammered_by_eight_processes_while_evicting() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    // A quarter of what all keys take.
    let limit = pick(16 << 20, 80 << 20);
    drop(Store::open(config(&dir, limit)));
    let start = Instant::now();
    let workers = (0..8).map(|seed| spawn(&format!("hammer {limit}"), &dir, seed)).collect();
    let report = watch(workers, &dir, limit);
    let Report { operations, hits, wrong, samples, most } = report;
    println!(
        "{operations} operations in {:?}, {hits} hits, {wrong} wrong; at most {most} of {limit} bytes in \
         {samples} samples",
        start.elapsed()
    );
    assert_eq!(wrong, 0);
    assert!(hits > 0 && samples > 3);
    let store = Store::open(config(&dir, limit));
    let usage = store.usage();
    assert!(usage.bytes <= limit + (4 << 20));
    store.prune_to(limit);
    let usage = store.usage();
    assert_eq!(usage.recorded, Some(usage.bytes));
    assert_eq!(fs::read_dir(dir.join("tmp")).unwrap().count(), 0);
    assert!(store.verify(&mut |_| {}).iter().all(|info| info.defect.is_none()));
}

/// Takes away, replaces or renames one of the parts of a store.
fn ruin(dir: &Path, random: &mut Random) {
    let parts = ["", "lock", "tmp", "v2"];
    let path = dir.join(parts[random.next() as usize % parts.len()]);
    match random.next() % 3 {
        0 => {
            let _ = fs::remove_dir_all(&path);
            let _ = fs::remove_file(&path);
        }
        1 => {
            let aside = dir.with_extension(random.next().to_string());
            let _ = fs::rename(&path, aside);
        }
        _ if path.is_dir() && path != dir => {
            let _ = fs::remove_dir_all(&path);
            let _ = fs::write(&path, b"in the way");
        }
        _ => {}
    }
}

#[test]
fn ruined_while_in_use() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let limit = 4 << 20;
    let mut workers: Vec<_> = (0..2).map(|seed| spawn(&format!("ruins {limit}"), &dir, seed)).collect();
    let mut random = Random::new(5);
    let mut ruins = 0;
    while workers[0].try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(10 + random.next() % 30));
        ruin(&dir, &mut random);
        ruins += 1;
    }
    for child in workers {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        let line = text.lines().find_map(|line| line.strip_prefix("done "));
        assert!(line.expect("a report").ends_with(" 0"), "wrong values: {text}");
    }
    println!("{ruins} times ruined");
    let store = Store::open(config(&dir, limit));
    assert_eq!(store.disabled_reason(), None);
    assert!(store.put(&key(1), &payload(1, 1, 1000)).is_published());
    assert!(is_right(1, &store.get(&key(1)).unwrap()));
}
