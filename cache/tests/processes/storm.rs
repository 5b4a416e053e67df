//! Processes that are killed at random moments, and what must be left after each of them.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use vkfuse_cache::{Miss, Outcome, Part, Store};

use crate::hammer::bytes_published;
use crate::payload::{Random, config, is_right, key, payload};
use crate::{KEYS, pick, spawn};

pub(crate) fn storm(dir: &Path, seed: u64, limit: u64) {
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
pub(crate) struct Stormer {
    child: Child,
    lines: Receiver<String>,
}

impl Stormer {
    pub(crate) fn new(dir: &Path, seed: u64, limit: u64) -> Stormer {
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

    pub(crate) fn kill(mut self, published: &mut HashSet<u64>) {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        // A worker that ended by itself has failed a check.
        assert_eq!(status.code(), None, "a worker failed");
        for line in self.lines.iter() {
            let number = line.strip_prefix("published ").and_then(|rest| rest.strip_suffix(" ."));
            if let Some(number) = number {
                published.insert(number.parse().unwrap());
            }
        }
    }
}

pub(crate) fn kill_storm(kills: u64, limit: u64) {
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
            assert!(begin.elapsed() < Duration::from_secs(2), "a dead process is in the way");
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
    println!("{kills} kills, {} keys published, {checks} checks, limit {limit}", published.len());
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
