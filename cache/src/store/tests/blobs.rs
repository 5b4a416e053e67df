//! Driver blobs: keys of their own, and what happens when a driver dies over one.

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
fn remembers_a_death_and_sets_the_blob_aside() {
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
    // The same blob is not stored again, another one is, once.
    let again = store.put_blob(&key(1), &driver(1), b"blob");
    assert_eq!(again, Outcome::Skipped(Skip::Quarantined));
    assert!(store.put_blob(&key(1), &driver(1), b"other").is_published());
    die_loading(&yard);
    let miss = store.begin_load(&key(1), &driver(1)).err();
    assert_eq!(miss, Some(Miss::Quarantined));
    let third = store.put_blob(&key(1), &driver(1), b"third");
    assert_eq!(third, Outcome::Skipped(Skip::Quarantined));
    let listed = &store.entries(&mut |_| {})[0];
    assert_eq!(listed.quarantined.len(), 1);
    // Clearing forgives.
    store.clear();
    stored(&yard);
    assert!(store.begin_load(&key(1), &driver(1)).is_ok());
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
