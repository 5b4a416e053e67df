//! Lower stores: asked after the own one, and never written.

use super::*;
use crate::{Disabled, Layer, Miss};

/// What is in a folder: paths, contents, stamps.
fn picture(root: &std::path::Path) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            let bytes = if meta.is_dir() { Vec::new() } else { std::fs::read(&path).unwrap() };
            if meta.is_dir() {
                folders.push(path.clone());
            }
            found.push((path, bytes, meta.modified().unwrap()));
        }
    }
    found.sort();
    found
}

/// A lower store with these keys, each with a blob of the driver.
fn below(yard: &Yard, name: &str, numbers: std::ops::Range<u32>) -> PathBuf {
    let root = yard.base.path().join(name);
    let store = Store::open(StoreConfig { dir: Some(root.clone()), ..yard.config.clone() });
    for number in numbers {
        assert!(store.put(&key(number), &payload(number, 500)).is_published());
        assert!(store.put_blob(&key(number), &driver(1), &[number as u8; 64]).is_published());
    }
    root
}

#[test]
fn lower_stores_are_asked_in_order_and_left_as_they_are() {
    let mut yard = Yard::new();
    let (first, second) = (below(&yard, "first", 0..4), below(&yard, "second", 2..8));
    let before = (picture(&first), picture(&second));
    yard.config.lower = vec![first.clone(), second.clone()];
    yard.clock.advance(10_000);
    let (subscriber, lines) = transcript();
    yard.config.subscriber = Some(subscriber);
    let store = yard.open();
    assert!(store.put(&key(3), &payload(3, 500)).is_published());
    let layer =
        |number| store.find(&key(number)).map(|found| (found.entry == payload(number, 500), found.layer));
    assert_eq!(layer(0), Ok((true, Layer::Lower(0))));
    assert_eq!(layer(2), Ok((true, Layer::Lower(0))));
    assert_eq!(layer(3), Ok((true, Layer::Store)));
    assert_eq!(layer(7), Ok((true, Layer::Lower(1))));
    assert_eq!(layer(8), Err(Miss::Absent));
    assert_eq!(store.look(&key(7)).unwrap().layer, Layer::Lower(1));
    let stats = store.stats();
    assert_eq!((stats.hits, stats.misses, stats.lower_hits, stats.lower_misses), (1, 4, 3, 3));
    let below = lines.lock().unwrap().iter().filter(|line| line.starts_with("did-hit-lower")).count();
    assert_eq!(below, 3);
    // Pruning and clearing are the own store's.
    store.clear();
    assert_eq!(layer(3), Ok((true, Layer::Lower(0))));
    drop(store);
    assert_eq!((picture(&first), picture(&second)), before);
}

#[test]
fn damaged_entries_below_are_misses() {
    let mut yard = Yard::new();
    let root = below(&yard, "image", 0..3);
    let mut files: Vec<PathBuf> = picture(&root)
        .into_iter()
        .map(|(path, ..)| path)
        .filter(|path| path.extension().is_some_and(|end| end == "bin"))
        .collect();
    files.sort();
    for file in &files {
        let mut bytes = std::fs::read(file).unwrap();
        let half = bytes.len() / 2;
        bytes[half] ^= 1;
        std::fs::write(file, bytes).unwrap();
    }
    yard.config.lower = vec![root];
    let store = yard.open();
    for number in 0..3 {
        assert!(store.get(&key(number)).is_err());
    }
    assert_eq!(store.stats().lower_defects, 3);
}

#[test]
fn without_a_store_of_its_own_there_are_still_the_lower_ones() {
    let mut yard = Yard::new();
    yard.config.lower = vec![below(&yard, "image", 0..2)];
    yard.config.dir = None;
    let store = yard.open();
    assert!(store.is_enabled() && store.disabled_reason().is_some() && store.path().is_none());
    assert_eq!(store.get(&key(1)).unwrap(), payload(1, 500));
    let load = store.begin_load(&key(1), &driver(1)).ok().unwrap();
    assert_eq!((load.bytes(), load.layer()), (&[1; 64][..], Layer::Lower(0)));
    load.reject();
    assert_eq!(store.get_blob(&key(1), &driver(1)).unwrap(), [1; 64]);
    assert!(!store.put(&key(5), &payload(5, 10)).is_published());
}

#[test]
fn a_death_over_a_blob_from_below_is_noted_above() {
    let mut yard = Yard::new();
    yard.config.lower = vec![below(&yard, "image", 0..2)];
    let (store, disk) = yard.open_on(Faulty::none());
    let load = store.begin_load(&key(1), &driver(1)).ok().unwrap();
    assert_eq!((load.bytes(), load.layer()), (&[1; 64][..], Layer::Lower(0)));
    disk.kill();
    drop((load, store));
    let store = yard.open();
    assert_eq!(store.begin_load(&key(1), &driver(1)).err(), Some(Miss::Quarantined), "the death is noticed");
    assert_eq!(store.begin_load(&key(1), &driver(1)).err(), Some(Miss::Quarantined), "and not forgotten");
    assert!(store.begin_load(&key(0), &driver(1)).is_ok(), "no process died of another blob");
    let loaded = store.begin_load(&key(0), &driver(1)).ok().unwrap();
    assert_eq!(loaded.layer(), Layer::Store, "it was copied");
}

#[test]
fn what_is_not_a_store_is_not_asked() {
    let mut yard = Yard::new();
    let good = below(&yard, "image", 0..1);
    let (missing, plain) = (yard.base.path().join("missing"), yard.base.path().join("plain"));
    std::fs::create_dir(&plain).unwrap();
    let link = yard.base.path().join("link");
    std::os::unix::fs::symlink(&good, &link).unwrap();
    yard.config.lower = vec![missing.clone(), plain.clone(), link, "relative".into(), good];
    let (subscriber, lines) = transcript();
    yard.config.subscriber = Some(subscriber);
    let store = yard.open();
    let problems: Vec<Option<&Disabled>> = store.lower().map(|(_, problem)| problem).collect();
    assert!(matches!(
        problems[..],
        [
            Some(Disabled::Folder { .. }),
            Some(Disabled::NotACache(_)),
            Some(Disabled::Folder { .. }),
            Some(Disabled::Relative(_)),
            None
        ]
    ));
    assert_eq!(lines.lock().unwrap().iter().filter(|line| line.starts_with("did-disable-lower")).count(), 4);
    assert_eq!(store.find(&key(0)).unwrap().layer, Layer::Lower(4));
    assert!(!missing.exists() && std::fs::read_dir(plain).unwrap().next().is_none());
}
