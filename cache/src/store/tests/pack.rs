//! Entries carried in a file.

use super::*;
use crate::{Imported, PackError};

fn filled(yard: &Yard, count: u32) -> Store {
    let store = yard.open();
    for number in 0..count {
        assert!(store.put(&key(number), &payload(number, 200 + number as usize)).is_published());
        assert!(store.put_blob(&key(number), &driver(1), &[number as u8; 50]).is_published());
    }
    store
}

fn exported(store: &Store, blobs: bool) -> Vec<u8> {
    let mut file = Vec::new();
    let done = store.export(&mut file, blobs, |_| true, &mut |_| {}).unwrap();
    assert_eq!((done.bytes, done.left_out), (file.len() as u64, 0));
    file
}

fn import(store: &Store, mut file: &[u8], blobs: bool) -> Result<Imported, (PackError, Imported)> {
    store.import(&mut file, blobs, &mut |_| true, &mut |_| {})
}

#[test]
fn what_is_not_accepted_is_not_stored_nor_are_its_blobs() {
    let (from, to) = (Yard::new(), Yard::new());
    let file = exported(&filled(&from, 10), true);
    let other = to.open();
    let unwanted = payload(4, 204);
    let done = other.import(&mut &*file, true, &mut |entry| *entry != unwanted, &mut |_| {}).unwrap();
    assert_eq!((done.entries, done.blobs, done.refused, done.damaged), (9, 9, 2, 0));
    assert!(other.get(&key(4)).is_err() && other.get_blob(&key(4), &driver(1)).is_err());
    assert!(other.get(&key(5)).is_ok());
}

/// All of the first record, and of the rest each, or some.
fn chosen(length: usize) -> impl Iterator<Item = usize> {
    let step = if std::env::var_os("VKFUSE_LONG_TESTS").is_some() { 1 } else { 41 };
    (0..length).filter(move |at| *at < 48 || *at + 60 > length || at.is_multiple_of(step))
}

#[test]
fn what_is_exported_is_imported() {
    let (from, to) = (Yard::new(), Yard::new());
    let store = filled(&from, 10);
    let other = to.open();
    let done = import(&other, &exported(&store, true), false).unwrap();
    assert_eq!((done.entries, done.blobs, done.blobs_left_out, done.damaged), (10, 0, 10, 0));
    assert!(other.get_blob(&key(3), &driver(1)).is_err(), "blobs were not asked for");
    let done = import(&other, &exported(&store, true), true).unwrap();
    assert_eq!((done.entries, done.blobs, done.blobs_left_out), (10, 10, 0));
    for number in 0..10 {
        assert_eq!(other.get(&key(number)).unwrap(), payload(number, 200 + number as usize));
        assert_eq!(other.get_blob(&key(number), &driver(1)).unwrap(), [number as u8; 50]);
    }
    assert_eq!(import(&other, &exported(&store, false), true).unwrap().blobs, 0);
    // Some of them, the damaged ones left out.
    let wanted = key(4).id();
    let mut file = Vec::new();
    let done = store.export(&mut file, true, |id| *id == wanted, &mut |_| {}).unwrap();
    assert_eq!((done.entries, done.blobs), (1, 1));
    let path = &from.files(".bin")[0];
    let mut bytes = std::fs::read(path).unwrap();
    bytes[100] ^= 1;
    std::fs::write(path, bytes).unwrap();
    let done = store.export(&mut Vec::new(), true, |_| true, &mut |_| {}).unwrap();
    assert_eq!((done.entries, done.left_out), (9, 1));
    assert!(import(&Store::open(StoreConfig::disabled()), &file, true).is_err());
}

#[test]
fn a_file_that_ends_early_gives_what_it_has_and_says_so() {
    let (from, to) = (Yard::new(), Yard::new());
    let file = exported(&filled(&from, 3), true);
    let store = to.open();
    for length in chosen(file.len()) {
        store.clear();
        let (error, done) = import(&store, &file[..length], true).unwrap_err();
        match error {
            PackError::NotAPack => assert!(length < 16),
            PackError::Incomplete => {}
            PackError::Io(error) => assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof),
            other => panic!("{other}"),
        }
        let there = (0..3).filter(|number| store.get(&key(*number)).is_ok()).count() as u64;
        assert_eq!((there, done.damaged), (done.entries, 0), "{length}");
    }
}

#[test]
fn a_file_that_was_changed_gives_nothing_wrong() {
    let (from, to) = (Yard::new(), Yard::new());
    let file = exported(&filled(&from, 2), true);
    let store = to.open();
    for at in chosen(file.len()) {
        store.clear();
        let mut changed = file.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(import(&store, &changed, true).is_err(), "byte {at}");
        for number in 0..2 {
            if let Ok(entry) = store.get(&key(number)) {
                assert_eq!(entry, payload(number, 200 + number as usize), "byte {at}");
            }
            if let Ok(blob) = store.get_blob(&key(number), &driver(1)) {
                assert_eq!(blob, [number as u8; 50], "byte {at}");
            }
        }
    }
    println!("{} of {} bytes, each changed", chosen(file.len()).count(), file.len());
}

#[test]
fn lengths_are_not_believed() {
    let yard = Yard::new();
    let store = yard.open();
    let file = exported(&filled(&Yard::new(), 1), false);
    for length in [u64::MAX, 1 << 62, 256 << 20, 100 << 20] {
        for at in [24, 32] {
            let mut changed = file.clone();
            changed[at..at + 8].copy_from_slice(&length.to_le_bytes());
            assert!(
                matches!(import(&store, &changed, true), Err((PackError::Incomplete, _))),
                "{length} at {at}"
            );
        }
    }
}
