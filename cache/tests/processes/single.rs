//! One moment each: a race for one key, a holder of the lock that dies or stops, a driver that dies over
//! a blob, what child processes inherit.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use vkfuse_cache::{Miss, Outcome, Part, Skip, Store};

use crate::payload::{config, is_right, key, payload};
use crate::{pick, spawn, wait_for};

pub(crate) fn race(dir: &Path, seed: u64) {
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

/// No one waits for somebody else's build, so the death of one who builds is no one's loss.

#[test]
fn eight_processes_race_for_one_cold_key() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let mut workers: Vec<_> = (0..8).map(|seed| spawn("race", &dir, seed)).collect();
    let mut readers: Vec<_> = workers.iter_mut().map(|child| wait_for(child, "ready")).collect();
    for child in &mut workers {
        child.stdin.take().unwrap().write_all(b"x").unwrap();
    }
    thread::sleep(Duration::from_millis(100));
    let mut victim = workers.swap_remove(0);
    readers.swap_remove(0);
    victim.kill().unwrap();
    victim.wait().unwrap();
    let start = Instant::now();
    let mut builds = 0;
    for (child, reader) in workers.iter_mut().zip(&mut readers) {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert!(child.wait().unwrap().success(), "{text}");
        let built = text.lines().find_map(|line| line.strip_prefix("built "));
        builds += built.expect("a report").parse::<u32>().unwrap();
    }
    println!("one of 8 killed, {builds} built, all done {:?} after the death", start.elapsed());
    assert!(builds <= 7);
}

pub(crate) fn hold(dir: &Path) {
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
        assert!(store.put(&key(round), &payload(round, 1, 1000)).is_published());
        slowest = slowest.max(start.elapsed());
    }
    println!("slowest put after a death: {slowest:?}");
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
}

pub(crate) fn die_loading(dir: &Path) {
    let store = Store::open(config(dir, 0));
    let load = store.begin_load(&key(1), &Part::new()).unwrap();
    assert_eq!(load.bytes(), b"crashes drivers");
    // What a driver does with it.
    std::process::abort();
}

#[test]
fn a_blob_that_kills_is_loaded_twice() {
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
    // Its driver may make the same once more, and that is loaded once more.
    assert!(store.put_blob(&key(1), &Part::new(), blob).is_published());
    let mut child = spawn("die-loading", &dir, 0);
    assert_eq!(child.wait().unwrap().code(), None, "the worker did not die");
    assert_eq!(store.begin_load(&key(1), &Part::new()).err(), Some(Miss::Quarantined));
    let outcome = store.put_blob(&key(1), &Part::new(), blob);
    assert_eq!(outcome, Outcome::Skipped(Skip::Quarantined));
    assert!(is_right(1, &store.get(&key(1)).unwrap()));
}

pub(crate) fn load(dir: &Path) {
    let store = Store::open(config(dir, 0));
    for _ in 0..pick(500, 10_000) {
        store.begin_load(&key(1), &Part::new()).expect("a sound blob").finish();
    }
    assert_eq!(store.stats().quarantined, 0);
    println!("\nfine");
}

#[test]
fn loads_of_healthy_processes_accuse_nobody() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let store = Store::open(config(&dir, 0));
    assert!(store.put(&key(1), &payload(1, 1, 1000)).is_published());
    assert!(store.put_blob(&key(1), &Part::new(), b"sound").is_published());
    let workers: Vec<_> = (0..pick(8, 32)).map(|seed| spawn("load", &dir, seed)).collect();
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.contains("fine"), "{text}");
    }
    assert_eq!(store.get_blob(&key(1), &Part::new()).unwrap(), b"sound");
}

pub(crate) fn children(dir: &Path) {
    let store = Store::open(config(dir, 0));
    assert!(store.put(&key(1), &payload(1, 1, 1000)).is_published());
    let _load = store.put_blob(&key(1), &Part::new(), b"blob");
    let load = store.begin_load(&key(1), &Part::new()).unwrap();
    let listing = Command::new("ls").args(["-l", "/proc/self/fd"]).output().unwrap();
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    assert!(listing.contains(" 0 -> "), "{listing}");
    assert!(!listing.contains(dir.to_str().unwrap()), "{listing}");
    load.finish();
    // Nothing is left open but the root.
    let before = fs::read_dir("/proc/self/fd").unwrap().count();
    for number in 0..100 {
        assert!(store.put(&key(number), &payload(number, 1, 1000)).is_published());
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
