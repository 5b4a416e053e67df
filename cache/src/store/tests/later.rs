//! Writes in the background: no one waits for them, nothing is lost silently, and the queue has an end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, PoisonError};

use super::*;
use crate::{Layer, Outcome, Skip};

const LONG: Duration = Duration::from_secs(120);

/// A door that operations of one name wait before while it is shut.
#[derive(Default)]
struct Door {
    shut: Mutex<bool>,
    moved: Condvar,
    /// Whether somebody has come to it while it was shut.
    reached: AtomicBool,
}

impl Door {
    fn set(&self, shut: bool) {
        *self.shut.lock().unwrap() = shut;
        self.moved.notify_all();
    }

    fn pass(&self) {
        let mut shut = self.shut.lock().unwrap_or_else(PoisonError::into_inner);
        while *shut {
            self.reached.store(true, Ordering::SeqCst);
            shut = self.moved.wait(shut).unwrap();
        }
    }

    fn wait_until_reached(&self) {
        while !self.reached.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A store that writes in the background on a disk whose operations of that name wait before the door.
fn behind(yard: &mut Yard, operation: &'static str) -> (Store, Arc<Door>) {
    yard.config.background = true;
    let door = Arc::new(Door::default());
    let at = Arc::clone(&door);
    let disk = Faulty::beside(move |_, name| {
        if name == operation {
            at.pass();
        }
    });
    (yard.open_on(disk).0, door)
}

#[test]
fn what_waits_is_found_here_and_by_others_once_it_is_written() {
    let mut yard = Yard::new();
    let (store, door) = behind(&mut yard, "rename");
    door.set(true);
    for number in 0..20 {
        assert_eq!(store.put_later(&key(number), payload(number, 900)), Outcome::Queued);
        assert_eq!(store.put_blob_later(&key(number), &driver(1), vec![number as u8; 300]), Outcome::Queued);
    }
    door.wait_until_reached();
    let other = Store::open(StoreConfig { background: false, ..yard.config.clone() });
    for number in 0..20 {
        let found = store.find(&key(number)).unwrap();
        assert_eq!((found.entry, found.layer), (payload(number, 900), Layer::Store));
        assert!(store.look(&key(number)).is_ok());
        assert!(other.get(&key(number)).is_err());
    }
    assert!(!store.flush(Duration::from_millis(10)));
    door.set(false);
    assert!(store.flush(LONG));
    for number in 0..20 {
        assert_eq!(other.get(&key(number)).unwrap(), payload(number, 900));
        assert_eq!(other.get_blob(&key(number), &driver(1)).unwrap(), [number as u8; 300]);
        assert_eq!(store.get(&key(number)).unwrap(), payload(number, 900));
    }
    let stats = store.stats();
    assert_eq!((stats.queued, stats.published, stats.blobs_published, stats.skipped), (40, 20, 20, 0));
}

#[test]
fn nobody_waits_for_an_eviction() {
    let mut yard = Yard::new();
    yard.config.max_size = 600_000;
    let (store, door) = behind(&mut yard, "remove");
    for number in 0..8 {
        assert!(store.put(&key(number), &payload(number, 4000)).is_published());
    }
    door.set(true);
    // More than fits, so that an eviction comes to the door; each of these calls returns all the same.
    let mut number = 8;
    while !door.reached.load(Ordering::SeqCst) {
        let _ = store.put_later(&key(number), payload(number, 4000));
        assert_eq!(store.get(&key(0)).unwrap(), payload(0, 4000));
        assert!(store.get(&key(1_000_000)).is_err());
        number += 1;
        std::thread::sleep(Duration::from_micros(200));
    }
    for more in number..number + 40 {
        let _ = store.put_later(&key(more), payload(more, 4000));
    }
    door.set(false);
    assert!(store.settle(LONG));
    assert!(store.stats().evicted > 0);
    drop(store);
    let usage = yard.check("after it").usage();
    assert!(usage.bytes <= 600_000, "{usage:?}");
}

#[test]
fn room_is_made_before_it_is_needed() {
    let mut yard = Yard::new();
    yard.config.background = true;
    yard.config.max_size = 1_000_000;
    let store = yard.open();
    // What is wanted is at most seven eighths, soon after everything is written.
    for number in 0..200 {
        let _ = store.put_later(&key(number), payload(number, 3000));
        yard.clock.advance(1);
        if number % 10 == 0 {
            assert!(store.flush(LONG));
        }
    }
    assert!(store.settle(LONG));
    let usage = store.usage();
    assert!(usage.bytes <= 875_000, "{usage:?}");
    assert!(store.get(&key(199)).is_ok(), "the last is there");
    let stats = store.stats();
    assert_eq!((stats.skipped, stats.published), (0, 200));
}

#[test]
fn a_full_queue_drops_writes_and_says_so() {
    let mut yard = Yard::new();
    yard.config.queue_entries = 4;
    let (subscriber, lines) = transcript();
    yard.config.subscriber = Some(subscriber);
    let (store, door) = behind(&mut yard, "rename");
    door.set(true);
    let outcomes: Vec<Outcome> =
        (0..10).map(|number| store.put_later(&key(number), payload(number, 100))).collect();
    let dropped = outcomes.iter().filter(|outcome| **outcome == Outcome::Skipped(Skip::QueueFull)).count();
    assert_eq!(dropped, 6, "{outcomes:?}");
    assert_eq!(store.stats().queue_full, 6);
    // What was dropped is not found, what waits is.
    assert!(store.get(&key(0)).is_ok() && store.get(&key(9)).is_err());
    door.set(false);
    assert!(store.flush(LONG));
    assert_eq!(store.stats().published, 4);
    let told = lines.lock().unwrap().iter().filter(|line| line.contains("queue of writes is full")).count();
    assert_eq!(told, 6);
    assert_eq!(store.put_later(&key(9), payload(9, 100)), Outcome::Queued, "it takes more when it has room");
}

#[test]
fn a_write_that_fails_later_is_counted_and_told() {
    let mut yard = Yard::new();
    yard.config.background = true;
    let (subscriber, lines) = transcript();
    yard.config.subscriber = Some(subscriber);
    drop(yard.open());
    // From the first operation after the opening on.
    let (store, disk) = yard.open_on(Faulty::none());
    let opened = disk.operations().len();
    drop(store);
    let (store, _) = yard.open_on(Faulty::new(opened + 40, crate::disk::faulty::Trouble::Lasting(28)));
    for number in 0..20 {
        assert_eq!(store.put_later(&key(number), payload(number, 100)), Outcome::Queued);
    }
    assert!(store.flush(LONG));
    let stats = store.stats();
    assert_eq!(stats.published + stats.skipped, 20);
    assert!(stats.skipped > 0 && stats.faults > 0, "{stats:?}");
    assert!(lines.lock().unwrap().iter().any(|line| line.contains("did-skip")));
    let lost = (0..20).filter(|number| store.get(&key(*number)).is_err()).count() as u64;
    assert_eq!(lost, stats.skipped, "what was not written is not found");
}

#[test]
fn the_end_of_a_store_waits_for_what_is_to_be_written() {
    let mut yard = Yard::new();
    yard.config.background = true;
    let store = yard.open();
    let clone = store.clone();
    for number in 0..50 {
        assert_eq!(store.put_later(&key(number), payload(number, 100)), Outcome::Queued);
    }
    drop(store);
    drop(clone);
    let store = yard.check("after the end");
    for number in 0..50 {
        assert_eq!(store.get(&key(number)).unwrap(), payload(number, 100));
    }
}

#[test]
fn the_end_of_a_store_waits_so_long_and_no_longer() {
    let mut yard = Yard::new();
    yard.config.close_patience = Duration::from_millis(10);
    let (store, door) = behind(&mut yard, "rename");
    door.set(true);
    assert_eq!(store.put_later(&key(1), payload(1, 100)), Outcome::Queued);
    door.wait_until_reached();
    // Returns, although the write does not.
    drop(store);
    door.set(false);
    let start = std::time::Instant::now();
    let store = Store::open(StoreConfig { background: false, sweep_age: LONG, ..yard.config.clone() });
    while store.get(&key(1)).is_err() && start.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(store.get(&key(1)).unwrap(), payload(1, 100), "the thread finished it");
}

#[test]
fn an_entry_that_is_hit_before_every_put_survives() {
    let base = tempfile::tempdir().unwrap();
    // As it is by default: with the machine's own clock, and all within a second.
    let mut config = StoreConfig::at(base.path().join("cache"));
    config.max_size = 1 << 20;
    let store = Store::open(config);
    assert!(store.put(&key(0), &payload(0, 4000)).is_published());
    for number in 1..300 {
        assert_eq!(store.get(&key(0)).unwrap(), payload(0, 4000), "before put {number}");
        assert!(store.put(&key(number), &payload(number, 4000)).is_published());
    }
    assert!(store.stats().evicted > 100);
}
