//! Driver blobs: keys of their own, and what happens when a driver dies over one.

use std::sync::{Arc, Mutex};

use crate::disk::faulty::Faulty;
use crate::store::tests::{Yard, driver, key, payload};
use crate::{Miss, Outcome, Skip};

fn stored(yard: &Yard) {
    let store = yard.open();
    assert!(store.put(&key(1), &payload(1, 300)).is_published());
    assert!(store.put_blob(&key(1), &driver(1), b"blob").is_published());
}

/// A process that dies while its driver loads the blob.
fn die_loading(yard: &Yard) {
    let (store, disk) = yard.open_on(Faulty::none());
    let load = store.begin_load(&key(1), &driver(1)).unwrap();
    disk.kill();
    drop(load);
}

#[test]
fn a_new_driver_keeps_the_entry() {
    let yard = Yard::new();
    stored(&yard);
    let store = yard.open();
    let miss = store.begin_load(&key(1), &driver(2)).err();
    assert_eq!(miss, Some(Miss::Absent));
    assert!(store.get(&key(1)).is_ok());
    assert!(store.put_blob(&key(1), &driver(2), b"new").is_published());
    assert_eq!(store.get_blob(&key(1), &driver(1)).unwrap(), b"blob");
    assert_eq!(store.get_blob(&key(1), &driver(2)).unwrap(), b"new");
    assert_eq!(store.get_blob(&key(2), &driver(2)), Err(Miss::Absent));
}

#[test]
fn a_death_sets_the_blob_aside_and_a_second_one_bars_all() {
    let yard = Yard::new();
    stored(&yard);
    die_loading(&yard);
    let store = yard.open();
    for _ in 0..3 {
        let miss = store.begin_load(&key(1), &driver(1)).err();
        assert_eq!(miss, Some(Miss::Quarantined));
    }
    assert_eq!(store.stats().quarantined, 1);
    // The entry, and other drivers, are not concerned.
    assert!(store.get(&key(1)).is_ok());
    assert!(store.put_blob(&key(1), &driver(2), b"blob").is_published());
    assert!(store.begin_load(&key(1), &driver(2)).is_ok());
    // A process may die of something else: there is a second chance.
    assert!(store.put_blob(&key(1), &driver(1), b"blob").is_published());
    store.begin_load(&key(1), &driver(1)).unwrap().finish();
    die_loading(&yard);
    let miss = store.begin_load(&key(1), &driver(1)).err();
    assert_eq!(miss, Some(Miss::Quarantined));
    for blob in [&b"blob"[..], b"other"] {
        let third = store.put_blob(&key(1), &driver(1), blob);
        assert_eq!(third, Outcome::Skipped(Skip::Quarantined));
    }
    let listed = &store.entries(&mut |_| {})[0];
    assert_eq!(listed.quarantined.len(), 1);
    let usage = store.usage();
    assert_eq!(usage.recorded, Some(usage.bytes));
    // Clearing forgives.
    store.clear();
    stored(&yard);
    assert!(store.begin_load(&key(1), &driver(1)).is_ok());
}

/// Two processes die over blobs of one entry and driver, so that all are barred.
fn barred() -> Yard {
    let yard = Yard::new();
    stored(&yard);
    for _ in 0..2 {
        die_loading(&yard);
        let store = yard.open();
        assert_eq!(store.begin_load(&key(1), &driver(1)).err(), Some(Miss::Quarantined));
        let _ = store.put_blob(&key(1), &driver(1), b"blob");
    }
    let again = yard.open().put_blob(&key(1), &driver(1), b"blob");
    assert_eq!(again, Outcome::Skipped(Skip::Quarantined));
    yard
}

#[test]
fn deaths_are_forgotten_with_age() {
    let yard = barred();
    let age = yard.config.quarantine_age.as_secs();
    yard.clock.advance(age - 1);
    let store = yard.open();
    let again = store.put_blob(&key(1), &driver(1), b"blob");
    assert_eq!(again, Outcome::Skipped(Skip::Quarantined));
    yard.clock.advance(1);
    assert!(store.put_blob(&key(1), &driver(1), b"blob").is_published());
    assert!(store.begin_load(&key(1), &driver(1)).is_ok());
    // Old deaths do not count with a new one, and what noted them is counted once.
    die_loading(&yard);
    assert_eq!(store.begin_load(&key(1), &driver(1)).err(), Some(Miss::Quarantined));
    assert!(store.put_blob(&key(1), &driver(1), b"blob").is_published());
    let usage = store.usage();
    assert_eq!(usage.recorded, Some(usage.bytes));
}

#[test]
fn a_clock_that_was_wrong_bars_nothing() {
    let yard = barred();
    yard.clock.set(1_000_000_000);
    assert!(yard.open().put_blob(&key(1), &driver(1), b"blob").is_published());
}

#[test]
fn deaths_are_forgiven() {
    let yard = barred();
    let store = yard.open();
    assert!(store.put(&key(2), &payload(2, 300)).is_published());
    let entries = store.entries(&mut |_| {});
    let of = |number: u32| entries.iter().find(|entry| entry.key == Some(key(number)));
    assert_eq!(store.forgive(of(2)), Ok(0));
    assert_eq!(store.forgive(of(1)), Ok(1));
    assert_eq!(store.forgive(None), Ok(0));
    assert!(store.put_blob(&key(1), &driver(1), b"blob").is_published());
    // A death that no one came upon yet.
    die_loading(&yard);
    assert_eq!(store.forgive(None), Ok(1));
    assert!(store.begin_load(&key(1), &driver(1)).is_ok());
    let usage = store.usage();
    assert_eq!(usage.recorded, Some(usage.bytes));
}

#[test]
fn a_blob_that_came_after_the_death_is_innocent() {
    let yard = Yard::new();
    stored(&yard);
    let (store, disk) = yard.open_on(Faulty::none());
    let load = store.begin_load(&key(1), &driver(1)).unwrap();
    assert!(yard.open().put_blob(&key(1), &driver(1), b"newer").is_published());
    disk.kill();
    drop(load);
    let store = yard.open();
    assert_eq!(store.begin_load(&key(1), &driver(1)).err(), Some(Miss::Quarantined));
    assert_eq!(store.get_blob(&key(1), &driver(1)).unwrap(), b"newer");
}

/// The owner of a marker is done, and maybe the next one has begun, between the moment in which another process
/// opens the marker and that in which it locks it.
#[test]
fn a_marker_without_its_name_accuses_nobody() {
    for next in [false, true] {
        let yard = Yard::new();
        stored(&yard);
        let owner = yard.open();
        let loads = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&loads);
        let disk = Faulty::beside(move |_, operation| {
            let mut loads = shared.lock().unwrap();
            if operation == "try_lock" && !loads.is_empty() {
                loads.clear();
                if next {
                    loads.push(owner.begin_load(&key(1), &driver(1)).unwrap());
                }
            }
        });
        let (store, _) = yard.open_on(disk);
        loads.lock().unwrap().push(yard.open().begin_load(&key(1), &driver(1)).unwrap());
        assert!(store.begin_load(&key(1), &driver(1)).is_ok(), "next {next}");
        assert_eq!(store.stats().quarantined, 0);
        loads.lock().unwrap().clear();
        assert!(yard.files(".load").is_empty(), "next {next}");
    }
}

#[test]
fn two_living_loaders_do_not_accuse_each_other() {
    let yard = Yard::new();
    stored(&yard);
    let (first, second) = (yard.open(), yard.open());
    let one = first.begin_load(&key(1), &driver(1)).unwrap();
    let two = second.begin_load(&key(1), &driver(1)).unwrap();
    one.finish();
    drop(two);
    assert!(yard.files(".load").is_empty());
    first.begin_load(&key(1), &driver(1)).unwrap().finish();
    assert_eq!(first.stats().quarantined + second.stats().quarantined, 0);
}

#[test]
fn a_refused_blob_is_removed_and_can_come_back() {
    let yard = Yard::new();
    stored(&yard);
    let store = yard.open();
    store.begin_load(&key(1), &driver(1)).unwrap().reject();
    let miss = store.begin_load(&key(1), &driver(1)).err();
    assert_eq!(miss, Some(Miss::Absent));
    assert!(store.put_blob(&key(1), &driver(1), b"blob").is_published());
    let usage = store.usage();
    assert_eq!(usage.recorded, Some(usage.bytes));
    assert!(yard.files(".load").is_empty());
}

#[test]
fn an_old_drivers_blobs_leave_before_the_entry() {
    let mut yard = Yard::new();
    yard.config.max_size = 1 << 20;
    stored(&yard);
    yard.clock.advance(100);
    let store = yard.open();
    assert!(store.get(&key(1)).is_ok());
    assert!(store.put_blob(&key(1), &driver(2), b"new").is_published());
    let pruned = store.prune_to(store.usage().bytes - 1);
    assert_eq!(pruned.files, 1);
    assert_eq!(store.get_blob(&key(1), &driver(1)), Err(Miss::Absent));
    assert!(store.get_blob(&key(1), &driver(2)).is_ok());
    assert!(store.get(&key(1)).is_ok());
}

#[test]
fn a_load_ends_in_the_folder_in_which_it_began() {
    for rejected in [false, true] {
        let yard = Yard::new();
        stored(&yard);
        let store = yard.open();
        let load = store.begin_load(&key(1), &driver(1)).unwrap();
        // The folder is taken away, another comes in its place, and the first is put back.
        let aside = yard.base.path().join("aside");
        std::fs::rename(&yard.root, &aside).unwrap();
        assert!(store.put(&key(1), &payload(1, 300)).is_published());
        assert!(store.put_blob(&key(1), &driver(1), b"blob").is_published());
        if rejected {
            load.reject()
        } else {
            load.finish()
        }
        assert!(store.get_blob(&key(1), &driver(1)).is_ok());
        std::fs::remove_dir_all(&yard.root).unwrap();
        std::fs::rename(&aside, &yard.root).unwrap();
        let expected = rejected.then_some(Miss::Absent);
        assert_eq!(yard.open().begin_load(&key(1), &driver(1)).err(), expected);
    }
}
