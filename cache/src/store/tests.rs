//! Tests of the store that look inside, or put a troubled file system under it.

mod blobs;
mod corrupt;
mod crash;
mod evict;
mod faults;
mod latency;
mod later;
mod lower;
mod model;
mod pack;
mod planted;
mod vanish;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use crate::disk::Disk;
use crate::disk::faulty::Faulty;
use crate::{Clock, Entry, Key, Part, Store, StoreConfig};

/// A clock that only tests move.
#[derive(Debug)]
pub(crate) struct Hands(AtomicU64);

impl Hands {
    pub(crate) fn new() -> Arc<Hands> {
        Arc::new(Hands(AtomicU64::new(1_700_000_000)))
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::Relaxed);
    }
}

impl Clock for Hands {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

/// A folder for one test, with its settings.
pub(crate) struct Yard {
    pub(crate) clock: Arc<Hands>,
    pub(crate) config: StoreConfig,
    pub(crate) root: PathBuf,
    /// Removed at the end.
    pub(crate) base: TempDir,
}

impl Yard {
    pub(crate) fn new() -> Yard {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("cache");
        let clock = Hands::new();
        let mut config = StoreConfig::at(&root).with_clock(clock.clone());
        config.touch_interval = Duration::ZERO;
        config.sweep_age = Duration::ZERO;
        config.lock_timeout = Duration::from_millis(200);
        Yard { clock, config, root, base }
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(self.config.clone())
    }

    /// A store on a troubled file system.
    pub(crate) fn open_on(&self, disk: Faulty) -> (Store, Arc<Faulty>) {
        let disk = Arc::new(disk);
        let store = Store::open_on(self.config.clone(), disk.clone() as Arc<dyn Disk>);
        (store, disk)
    }

    /// All regular files whose names end so, sorted.
    pub(crate) fn files(&self, end: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(kind) if kind.is_file() && entry.path().to_string_lossy().ends_with(end) => {
                        found.push(entry.path());
                    }
                    _ => {}
                }
            }
        }
        found.sort();
        found
    }

    /// Files in the folder for temporary files.
    pub(crate) fn temps(&self) -> usize {
        std::fs::read_dir(self.root.join("tmp")).map_or(0, |entries| entries.count())
    }

    /// Opens the store once more as another process would, and checks what must hold whatever has
    /// happened: it works, its record is not too low, left-overs are swept.
    pub(crate) fn check(&self, when: &str) -> Store {
        let store = self.open();
        assert_eq!(store.disabled_reason(), None, "{when}");
        assert_eq!(self.temps(), 0, "temporary files after a sweep, {when}");
        let usage = store.usage();
        if let Some(recorded) = usage.recorded {
            assert!(
                recorded >= usage.bytes,
                "the record {recorded} is below {} of the disk, {when}",
                usage.bytes
            );
        }
        store
    }
}

pub(crate) fn key(number: u32) -> Key {
    Key::new(
        Part::new().str("device", "test"),
        Part::new().u32("image", number),
        Part::new().u32("spec", number % 3),
        Part::new().bool("strict", true),
    )
}

/// The only right contents for a key.
pub(crate) fn payload(number: u32, length: usize) -> Entry {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&number.to_le_bytes()).finalize_xof().fill(&mut bytes);
    Entry::new().with("spirv", bytes).with("report", "{}")
}

pub(crate) fn driver(version: u32) -> Part {
    Part::new().str("driver", "mock").u32("driver version", version)
}

/// A subscriber that keeps the lines.
pub(crate) fn transcript() -> (crate::Subscriber, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let subscriber: crate::Subscriber = Arc::new(move |event: &crate::Event| {
        sink.lock().unwrap().push(event.to_string());
    });
    (subscriber, lines)
}
