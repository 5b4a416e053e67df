//! Processes that may open few files, or have little memory.

#![allow(unsafe_code, reason = "there is no safe way to limit a process")]

use std::fs;
use std::hint::black_box;
use std::io;
use std::path::Path;

use vkfuse_cache::{Entry, Miss, Outcome, Part, Skip, Store};

use crate::payload::{config, fill, is_right, key, payload};
use crate::{pick, spawn, spawn_under};

pub(crate) fn few_handles(dir: &Path) {
    let store = Store::open(config(dir, 0));
    assert!(store.is_enabled());
    let mut held = Vec::new();
    let (mut hits, mut misses, mut written, mut dropped) = (0, 0, 0, 0);
    // From plenty down to none left, and back.
    for round in 0..40 {
        match round {
            0..20 => held.extend(fs::File::open("/dev/null")),
            _ => drop(held.pop()),
        }
        match store.get(&key(1)) {
            Ok(entry) => {
                assert!(is_right(1, &entry));
                hits += 1;
            }
            Err(miss) => {
                assert!(matches!(miss, Miss::Io(_)), "{miss}");
                misses += 1;
            }
        }
        match store.put(&key(100 + round), &payload(100 + round, 1, 1000)).is_published() {
            true => written += 1,
            false => dropped += 1,
        }
    }
    assert!(is_right(1, &store.get(&key(1)).unwrap()));
    println!("\nfine: {hits} hits, {misses} misses, {written} written, {dropped} dropped");
    assert!(hits > 0 && misses > 0 && written > 0 && dropped > 0);
}

#[test]
fn a_process_without_free_handles_misses_and_recovers() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let store = Store::open(config(&dir, 0));
    assert!(store.put(&key(1), &payload(1, 1, 1000)).is_published());
    let limited = ["sh", "-c", "ulimit -n 16; exec \"$0\" \"$@\""];
    let output = spawn_under(&limited, "few-handles", &dir, 0).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("fine"), "{text}");
    println!("{}", text.lines().find(|line| line.contains("fine")).unwrap_or_default());
    assert_eq!(fs::read_dir(dir.join("tmp")).unwrap().count(), 0);
}

/// Bytes of the entry that does not fit into what memory there is.
const LARGE: usize = 48 << 20;

/// Limits the address space of this process; none lifts that.
fn limit_memory(bytes: Option<u64>) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure outlives the calls.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &mut limit), 0);
        limit.rlim_cur = bytes.unwrap_or(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &limit), 0);
    }
}

/// Bytes of address space that this process has.
fn memory() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

fn large() -> Entry {
    Entry::new().with("spirv", fill(2, 1, LARGE)).with("report", 1u64.to_le_bytes())
}

pub(crate) fn little_memory(dir: &Path) {
    let store = Store::open(config(dir, 0));
    let entry = large();
    let (mut hits, mut misses, mut written, mut dropped) = (0, 0, 0, 0);
    for step in 0..pick(24, 240) {
        limit_memory(Some(memory() + step * (LARGE as u64 / pick(8, 80))));
        let small = store.get(&key(1));
        let (found, outcome) = (store.get(&key(2)), store.put(&key(3), &entry));
        limit_memory(None);
        assert!(is_right(1, &small.unwrap()));
        match found {
            Ok(found) => {
                assert!(found == entry);
                hits += 1;
            }
            Err(Miss::Io(fault)) if fault.kind == io::ErrorKind::OutOfMemory => misses += 1,
            Err(miss) => panic!("{miss}"),
        }
        match outcome {
            Outcome::Skipped(Skip::Io(fault)) if fault.kind == io::ErrorKind::OutOfMemory => dropped += 1,
            outcome => {
                assert!(outcome.is_published(), "{outcome:?}");
                written += 1;
            }
        }
        // With memory again, nothing is remembered of it.
        assert!(store.get(&key(2)).is_ok());
    }
    println!("\nfine: {hits} hits, {misses} misses, {written} written, {dropped} dropped");
    assert!(hits > 0 && misses > 0 && written > 0 && dropped > 0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_large_entry_without_memory_for_it_is_missed_and_not_lost() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let store = Store::open(config(&dir, 0));
    assert!(store.put(&key(1), &payload(1, 1, 1000)).is_published());
    assert!(store.put(&key(2), &large()).is_published());
    let output = spawn("little-memory", &dir, 0).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("fine"), "{text}");
    println!("{}", text.lines().find(|line| line.contains("fine")).unwrap_or_default());
    assert_eq!(fs::read_dir(dir.join("tmp")).unwrap().count(), 0);
}

/// Takes all memory there is, gives `left` pieces of it back, and uses the store until there is none.
pub(crate) fn no_memory(dir: &Path, left: u64) {
    let store = Store::open(config(dir, 0));
    let entry = payload(2, 2, 5000);
    let driver = Part::new().u32("driver", 1);
    let mut taken: Vec<Vec<u8>> = Vec::with_capacity(1 << 20);
    println!("\nready");
    limit_memory(Some(memory()));
    for size in [1 << 16, 1 << 12, 1 << 10, 256, 96, 24] {
        loop {
            let mut piece = Vec::new();
            if taken.len() == taken.capacity() || piece.try_reserve_exact(size).is_err() {
                break;
            }
            taken.push(piece);
        }
    }
    black_box(&taken);
    // From the small ones up, so that what is given back is enough for more and more of the work.
    for _ in 0..left {
        taken.pop();
    }
    let found = store.get(&key(1));
    let outcome = store.put(&key(2), &entry);
    let _: Outcome = store.put_blob(&key(1), &driver, b"blob of 1");
    drop(store.begin_load(&key(1), &driver));
    store.prune_to(u64::MAX);
    drop(store);
    limit_memory(None);
    drop(taken);
    if let Ok(found) = found {
        assert!(is_right(1, &found));
    }
    println!("\nfine {}", outcome.is_published());
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_ends_for_want_of_memory_harms_nobody() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let store = Store::open(config(&dir, 0));
    for number in 1..=3 {
        assert!(store.put(&key(number), &payload(number, 1, 5000)).is_published());
    }
    let (mut ended, mut survived) = (0, 0);
    for run in 0..pick(24, 300) {
        let left = run * run * 400 / pick(24 * 24, 300 * 300);
        let output = spawn(&format!("no-memory {left}"), &dir, 0).wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("ready"), "{text}");
        match output.status.success() {
            true => survived += 1,
            false => ended += 1,
        }
        let next = Store::open(config(&dir, 0));
        assert_eq!(fs::read_dir(dir.join("tmp")).unwrap().count(), 0);
        for number in 1..=3 {
            let found = next.get(&key(number));
            assert!(found.is_ok_and(|entry| is_right(number, &entry)), "{number}, {left} left");
        }
        let usage = next.usage();
        assert!(usage.recorded >= Some(usage.bytes), "{usage:?}, {left} left");
        assert!(next.put(&key(2), &payload(2, run, 5000)).is_published());
    }
    println!("{ended} processes ended for want of memory, {survived} did not");
    assert!(ended > 0 && survived > 0);
}
