//! Processes that are killed at random moments, and what must be left after each of them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use vkfuse_cache::{Event, KeyId, Miss, Outcome, Part, Store};

use crate::hammer::bytes_published;
use crate::payload::{Random, config, is_right, key, payload};
use crate::{KEYS, pick, spawn_under};

/// Threads of each process, and processes at a time.
const THREADS: u64 = 4;
const PROCESSES: usize = 8;

/// Every second process writes in the background, and says what was published when its store says so.
pub(crate) fn storm(dir: &Path, seed: u64, limit: u64) {
    let mut config = config(dir, limit);
    config.background = seed.is_multiple_of(2);
    if config.background {
        let numbers: HashMap<KeyId, u64> = (0..KEYS).map(|number| (key(number).id(), number)).collect();
        config.subscriber = Some(Arc::new(move |event: &Event| {
            if let Event::DidPublish { key, .. } = event {
                say(&format!("\npublished {} 0 0 0 .\n", numbers[key]));
            }
        }));
    }
    let store = Store::open(config);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || rage(store, seed * THREADS + thread, seed.is_multiple_of(2)));
        }
    });
}

/// Reads, writes and loads until the process is killed; ends it if anything is wrong.
fn rage(store: &Store, seed: u64, later: bool) {
    let mut random = Random::new(seed + 1);
    let (mut operations, mut loads, mut barred) = (0_u64, 0_u64, 0_u64);
    loop {
        operations += 1;
        let number = random.zipf(KEYS);
        match store.get(&key(number)) {
            Ok(entry) if !is_right(number, &entry) => fail(&format!("wrong {number}")),
            Ok(_) => {}
            Err(_) => {
                let entry = payload(number, random.next(), 16 << 10);
                if later {
                    let _ = store.put_later(&key(number), entry);
                } else if store.put(&key(number), &entry).is_published() {
                    say(&format!("\npublished {number} {operations} {loads} {barred} .\n"));
                    (operations, loads, barred) = (0, 0, 0);
                }
            }
        }
        if random.next().is_multiple_of(8) {
            let driver = Part::new().u32("driver", 1);
            let _: Outcome = store.put_blob(&key(number), &driver, &number.to_le_bytes());
            match store.begin_load(&key(number), &driver) {
                Ok(load) if load.bytes() != number.to_le_bytes() => fail(&format!("wrong blob {number}")),
                Ok(_) => loads += 1,
                Err(Miss::Quarantined) => barred += 1,
                Err(_) => {}
            }
        }
    }
}

/// One write, so that the lines of threads do not mix.
fn say(line: &str) {
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}

fn fail(what: &str) -> ! {
    eprintln!("{what}");
    std::process::exit(3);
}

/// A running worker and what it says.
pub(crate) struct Stormer {
    child: Child,
    lines: Receiver<String>,
}

impl Stormer {
    pub(crate) fn new(dir: &Path, seed: u64, limit: u64) -> Stormer {
        // Behind this process, so that it is this one that decides when a worker dies.
        let mut child = spawn_under(&["nice", "-n", "5"], &format!("storm {limit}"), dir, seed);
        let output = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Stormer { child, lines }
    }

    pub(crate) fn kill(mut self, seen: &mut Seen) {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        // A worker that ended by itself has failed a check.
        assert_eq!(status.code(), None, "a worker failed");
        for line in self.lines.iter() {
            let words = line.strip_prefix("published ").and_then(|rest| rest.strip_suffix(" ."));
            let words: Vec<u64> =
                words.into_iter().flat_map(|words| words.split(' ')).map(|w| w.parse().unwrap()).collect();
            if let [number, operations, loads, barred] = words[..] {
                seen.published.insert(number);
                seen.operations += operations;
                seen.loads += loads;
                seen.barred += barred;
            }
        }
    }
}

/// What the dead have said.
#[derive(Default)]
pub(crate) struct Seen {
    published: HashSet<u64>,
    /// Operations of threads up to the last that they published; those after it died with them.
    operations: u64,
    /// Blobs loaded, and blobs that were barred because somebody had died over them.
    loads: u64,
    barred: u64,
}

pub(crate) fn kill_storm(kills: u64, limit: u64) {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    drop(Store::open(config(&dir, limit)));
    let mut random = Random::new(99);
    let mut seen = Seen::default();
    let mut seed = 0;
    let mut start = |dir: &Path| {
        seed += 1;
        Stormer::new(dir, seed, limit)
    };
    let mut workers: Vec<_> = (0..PROCESSES).map(|_| start(&dir)).collect();
    let mut checks = 0;
    for kill in 1..=kills {
        thread::sleep(Duration::from_millis(5 + random.next() % 20));
        let victim = random.next() as usize % workers.len();
        workers.swap_remove(victim).kill(&mut seen);
        if kill % 100 == 0 || kill == kills {
            checks += 1;
            for worker in workers.drain(..) {
                worker.kill(&mut seen);
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
                        let lost = limit == 0 && seen.published.contains(&number);
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
            while workers.len() < PROCESSES - 1 {
                workers.push(start(&dir));
            }
        }
        workers.push(start(&dir));
    }
    for worker in workers {
        worker.kill(&mut seen);
    }
    println!(
        "{kills} kills of {PROCESSES} processes with {THREADS} threads, {} operations, {} keys published, \
         {checks} checks of all {KEYS} keys, {} blobs loaded, {} barred, limit {limit}",
        seen.operations,
        seen.published.len(),
        seen.loads,
        seen.barred
    );
    assert!(!seen.published.is_empty());
}

#[test]
fn killed_at_random_nothing_is_lost() {
    kill_storm(pick(500, 10_000), 0);
}

#[test]
fn killed_at_random_while_evicting() {
    kill_storm(pick(300, 5000), 2 << 20);
}

/// So little room that an eviction is always under way.
#[test]
fn killed_at_random_with_room_for_little() {
    for limit in [50 << 10, 200 << 10, 1 << 20] {
        kill_storm(pick(100, 3000), limit);
    }
}
