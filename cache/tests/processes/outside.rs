//! What others do to a store: files changed while they are read, process ids that are not unique.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use vkfuse_cache::{Miss, Store};

use crate::payload::{Random, config, is_right, key, payload};
use crate::{pick, spawn, spawn_under};

/// Keys of the test in which files are changed.
const FEW: u64 = 20;

fn time_of_reading() -> Duration {
    Duration::from_secs(pick(2, 120))
}

pub(crate) fn read(dir: &Path, seed: u64) {
    let store = Store::open(config(dir, 0));
    let mut random = Random::new(seed + 1);
    let (mut hits, mut misses) = (0_u64, 0_u64);
    let end = Instant::now() + time_of_reading();
    while Instant::now() < end {
        let number = random.next() % FEW;
        match store.get(&key(number)) {
            Ok(entry) => {
                assert!(is_right(number, &entry), "wrong {number}");
                hits += 1;
            }
            Err(miss) => {
                assert_ne!(miss, Miss::Disabled);
                misses += 1;
                let _ = store.put(&key(number), &payload(number, random.next(), 256 << 10));
            }
        }
    }
    println!("\nread {hits} {misses}");
}

fn all_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => all_files(&entry.path(), found),
            _ => found.push(entry.path()),
        }
    }
}

/// Shortens, lengthens or overwrites a file in place, which no process of this store ever does.
fn spoil(path: &Path, random: &mut Random) {
    let Ok(mut file) = fs::OpenOptions::new().write(true).open(path) else {
        return;
    };
    let length = file.metadata().map_or(0, |meta| meta.len());
    let _ = match random.next() % 3 {
        0 => file.set_len(random.next() % (length + 1)),
        1 => file.set_len(length + random.next() % 9000),
        _ => file.write_all(&vec![7; random.next() as usize % 2000]),
    };
}

#[test]
fn files_change_while_they_are_read() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    drop(Store::open(config(&dir, 0)));
    let workers: Vec<_> = (0..2).map(|seed| spawn("read", &dir, seed)).collect();
    let store = Store::open(config(&dir, 0));
    let mut random = Random::new(3);
    let (mut spoilt, mut replaced, mut evictions) = (0, 0, 0);
    let end = Instant::now() + time_of_reading();
    while Instant::now() < end {
        thread::sleep(Duration::from_micros(random.next() % 2000));
        let number = random.next() % FEW;
        match random.next() % 64 {
            0 => evictions += store.prune_to(1 << 20).files,
            1..20 => {
                let published = store.put(&key(number), &payload(number, random.next(), 256 << 10));
                replaced += u64::from(published.is_published());
            }
            _ => {
                let mut files = Vec::new();
                all_files(&dir.join("v2"), &mut files);
                if !files.is_empty() {
                    spoil(&files[random.next() as usize % files.len()], &mut random);
                    spoilt += 1;
                }
            }
        }
    }
    let (mut hits, mut misses) = (0, 0);
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        let line = text.lines().find_map(|line| line.strip_prefix("read ")).expect("a report");
        let (hit, miss) = line.split_once(' ').unwrap();
        hits += hit.parse::<u64>().unwrap();
        misses += miss.parse::<u64>().unwrap();
    }
    println!(
        "{hits} hits, {misses} misses while {spoilt} files were spoilt, {replaced} replaced, {evictions} evicted"
    );
    assert!(hits > 0 && misses > 0 && spoilt > 0);
}

/// Two groups of processes that see the same process ids.
#[test]
fn process_ids_need_not_be_unique() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    drop(Store::open(config(&dir, 4 << 20)));
    let namespace = ["unshare", "--user", "--map-root-user", "--pid", "--fork"];
    let possible = std::process::Command::new(namespace[0]).args(&namespace[1..]).arg("true").status();
    if !possible.is_ok_and(|status| status.success()) {
        println!("SKIPPED: no name spaces for processes");
        return;
    }
    let workers: Vec<_> =
        (0..2).map(|seed| spawn_under(&namespace, &format!("hammer {}", 4 << 20), &dir, seed)).collect();
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        let line = text.lines().find_map(|line| line.strip_prefix("done ")).expect("a report");
        println!("operations, hits, wrong: {line}");
        assert!(line.ends_with(" 0"), "{line}");
    }
    let _store = Store::open(config(&dir, 4 << 20));
    assert_eq!(fs::read_dir(dir.join("tmp")).unwrap().count(), 0);
}
