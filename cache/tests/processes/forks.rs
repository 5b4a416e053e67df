//! Processes that fork with a store open, or with its lock held.

#![allow(unsafe_code, reason = "there is no safe fork")]

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use vkfuse_cache::{Outcome, Skip, Store};

use crate::payload::{config, is_right, key, payload};
use crate::{spawn, wait_for};

/// Runs `work` in a child of this process and ends the child. Returns its id in the parent.
fn fork(work: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the worker's other thread only waits for this one and holds no lock that the child needs.
    match unsafe { libc::fork() } {
        0 => {
            work();
            // SAFETY: ends the process without running what the parent has registered to run at exit.
            unsafe { libc::_exit(0) }
        }
        child => child,
    }
}

/// Waits for a child. Says whether it ended well.
fn ended_well(child: libc::pid_t) -> bool {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    waited == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

pub(crate) fn fork_while_open(dir: &Path) {
    let store = Store::open(config(dir, 0));
    assert!(store.put(&key(1), &payload(1, 1, 1000)).is_published());
    let children: Vec<_> = (10..14)
        .map(|number| {
            let store = store.clone();
            fork(move || {
                assert!(is_right(1, &store.get(&key(1)).unwrap()));
                for number in [number, 20] {
                    assert!(store.put(&key(number), &payload(number, number, 1000)).is_published());
                }
                drop(store);
            })
        })
        .collect();
    // A child has the queue, and not the thread that writes: it writes itself, whatever that thread was at.
    let mut background = config(dir, 0);
    background.background = true;
    let later = Store::open(background);
    for number in 60..80 {
        assert_eq!(later.put_later(&key(number), payload(number, 1, 1000)), Outcome::Queued);
    }
    let mut children: Vec<libc::pid_t> = children;
    let copy = later.clone();
    children.push(fork(move || {
        assert!(copy.put_later(&key(80), payload(80, 1, 1000)).is_published());
        assert!(copy.flush(Duration::from_secs(60)));
        drop(copy);
    }));
    assert!(later.flush(Duration::from_secs(60)));
    drop(later);
    // The parent goes on meanwhile.
    for number in 30..60 {
        assert!(store.put(&key(number), &payload(number, 1, 1000)).is_published());
    }
    assert!(children.into_iter().all(ended_well), "a child failed");
    for number in [1, 10, 11, 12, 13, 20, 30, 59, 60, 79, 80] {
        assert!(is_right(number, &store.get(&key(number)).unwrap()), "{number}");
    }
    let start = Instant::now();
    drop(store);
    println!("\nfine, the end took {:?}", start.elapsed());
}

#[test]
fn children_of_a_fork_share_the_store() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let output = spawn("fork", &dir, 0).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("fine"), "{text}");
    println!("{}", text.lines().find(|line| line.contains("fine")).unwrap_or_default());
    let store = Store::open(config(&dir, 0));
    assert_eq!(fs::read_dir(dir.join("tmp")).unwrap().count(), 0);
    let usage = store.usage();
    assert_eq!((usage.entries, usage.recorded), (57, Some(usage.bytes)));
}

pub(crate) fn hold_and_fork(dir: &Path) {
    let lock = fs::File::open(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    let child = fork(|| thread::sleep(Duration::from_secs(3)));
    println!("\nlocked by {child}");
    thread::sleep(Duration::from_secs(600));
    drop(lock);
}

/// A kernel lock belongs to the open file, and so to a child that was forked with it.
#[test]
fn a_child_that_keeps_the_lock_of_its_dead_parent_is_not_waited_for() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let store = Store::open(config(&dir, 0));
    assert!(store.put(&key(1), &payload(1, 1, 1000)).is_published());
    let mut child = spawn("hold-and-fork", &dir, 0);
    let _reader = wait_for(&mut child, "locked by");
    child.kill().unwrap();
    child.wait().unwrap();
    let start = Instant::now();
    let outcome = store.put(&key(2), &payload(2, 1, 1000));
    assert_eq!(outcome, Outcome::Skipped(Skip::LockTimeout));
    println!("dropped a write after {:?}", start.elapsed());
    assert!(is_right(1, &store.get(&key(1)).unwrap()));
    // The child ends by itself.
    let published = (0..200).any(|_| {
        thread::sleep(Duration::from_millis(50));
        store.put(&key(2), &payload(2, 1, 1000)).is_published()
    });
    assert!(published);
}
