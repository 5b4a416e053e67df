//! Things that somebody, or something, put in the way: links, pipes, folders; and things taken away.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::disk::faulty::{Faulty, Trouble};
use crate::store::Store;
use crate::store::tests::{Yard, driver, key, payload};
use crate::{Disabled, Miss};

const VICTIM: &[u8] = b"the user's own file";

fn prepared() -> (Yard, Store, PathBuf) {
    let yard = Yard::new();
    let victim = yard.base.path().join("victim");
    fs::write(&victim, VICTIM).unwrap();
    let store = yard.open();
    assert!(store.put(&key(1), &payload(1, 300)).is_published());
    assert!(store.put_blob(&key(1), &driver(1), b"blob").is_published());
    (yard, store, victim)
}

fn remove(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
        fs::remove_dir_all(path).unwrap();
    } else {
        let _ = fs::remove_file(path);
    }
}

/// Everything that a store has a name for, from the top down.
fn places(yard: &Yard) -> Vec<PathBuf> {
    let entry = yard.files(".bin").remove(0);
    let mut all: Vec<PathBuf> = ["vkfuse-cache", "lock", "tmp"].map(|name| yard.root.join(name)).into();
    let mut folder = entry.parent().unwrap();
    while folder != yard.root {
        all.push(folder.to_owned());
        folder = folder.parent().unwrap();
    }
    all.push(entry.with_extension("src"));
    all.push(entry);
    all.extend(yard.files(".blob"));
    all
}

/// Works on, whatever is in the way; a folder in the place of a file may cost the entry.
fn works(yard: &Yard, store: &Store, what: &str) {
    let _ = store.get(&key(1));
    let _ = store.begin_load(&key(1), &driver(1));
    let outcome = store.put(&key(1), &payload(1, 300));
    if outcome.is_published() {
        assert_eq!(store.get(&key(1)), Ok(payload(1, 300)), "{what}");
        let _ = store.put_blob(&key(1), &driver(1), b"blob");
    } else {
        assert!(what.contains("folder"), "{outcome:?} with {what}");
    }
    store.prune_to(1 << 30);
    store.sweep();
    let fresh = yard.open();
    let _ = fresh.get(&key(1));
}

#[test]
fn follows_no_links_and_waits_for_no_pipe() {
    let kinds = ["link", "dangling link", "hard link", "pipe", "folder", "folder link"];
    let mut planted = 0;
    for kind in kinds {
        let count = places(&prepared().0).len();
        for index in 0..count {
            let (yard, store, victim) = prepared();
            let place = places(&yard).swap_remove(index);
            let what = format!("a {kind} at {}", place.display());
            remove(&place);
            let elsewhere = yard.base.path().join("elsewhere");
            fs::create_dir(&elsewhere).unwrap();
            match kind {
                "link" => symlink(&victim, &place).unwrap(),
                "dangling link" => symlink("/nonexistent/file", &place).unwrap(),
                "hard link" => fs::hard_link(&victim, &place).unwrap(),
                "folder link" => symlink(&elsewhere, &place).unwrap(),
                "folder" => fs::create_dir(&place).unwrap(),
                _ => rustix::fs::mkfifoat(rustix::fs::CWD, &place, rustix::fs::Mode::from_raw_mode(0o600))
                    .unwrap(),
            }
            works(&yard, &store, &what);
            drop(store);
            assert_eq!(fs::read(&victim).unwrap(), VICTIM, "{what}");
            let inside = fs::read_dir(&elsewhere).unwrap().count();
            assert_eq!(inside, 0, "written through {what}");
            planted += 1;
        }
    }
    println!("{planted} things planted");
}

#[test]
fn refuses_a_root_that_is_a_link_or_open_to_others() {
    let (yard, store, _) = prepared();
    drop(store);
    let link = yard.base.path().join("link");
    symlink(&yard.root, &link).unwrap();
    let mut config = yard.config.clone();
    config.dir = Some(link.clone());
    let store = Store::open(config);
    assert_eq!(store.disabled_reason(), Some(&Disabled::NotAFolder(link)));
    for mode in [0o770, 0o707, 0o777, 0o1777] {
        fs::set_permissions(&yard.root, fs::Permissions::from_mode(mode)).unwrap();
        let store = yard.open();
        let expected = Disabled::SharedFolder(yard.root.clone());
        assert_eq!(store.disabled_reason(), Some(&expected), "{mode:o}");
        assert_eq!(store.get(&key(1)), Err(Miss::Disabled));
    }
    fs::set_permissions(&yard.root, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(yard.open().get(&key(1)).is_ok());
}

#[test]
fn refuses_a_file_that_others_can_write() {
    let (yard, store, _) = prepared();
    let path = yard.files(".bin").remove(0);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).unwrap();
    assert_eq!(store.get(&key(1)), Err(Miss::Foreign));
    assert!(store.put(&key(1), &payload(1, 300)).is_published());
    assert!(store.get(&key(1)).is_ok());
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn heals_when_parts_are_taken_away() {
    for index in 0..places(&prepared().0).len() + 1 {
        let (yard, store, _) = prepared();
        let mut places = places(&yard);
        places.push(yard.root.clone());
        let place = &places[index];
        remove(place);
        let _ = store.get(&key(1));
        let outcome = store.put(&key(1), &payload(1, 300));
        assert!(outcome.is_published(), "{outcome:?} without {place:?}");
        assert_eq!(store.get(&key(1)), Ok(payload(1, 300)), "{place:?}");
    }
}

#[test]
fn follows_its_path_when_the_folder_is_renamed() {
    let (yard, store, _) = prepared();
    let aside = yard.base.path().join("aside");
    fs::rename(&yard.root, &aside).unwrap();
    assert!(store.put(&key(2), &payload(2, 300)).is_published());
    assert!(store.get(&key(2)).is_ok());
    assert_eq!(store.get(&key(1)), Err(Miss::Absent));
    assert!(yard.root.is_dir());
}

#[test]
fn never_removes_foreign_names() {
    let (yard, store, _) = prepared();
    let leaf = yard.files(".bin").remove(0);
    let leaf = leaf.parent().unwrap();
    let strange = [
        yard.root.join("README"),
        yard.root.join("tmp/notes.txt"),
        yard.root.join("v2/notes.txt"),
        leaf.join("notes.txt"),
        leaf.join("0.bin.old"),
        leaf.join("01.bin"),
    ];
    for path in &strange {
        fs::write(path, VICTIM).unwrap();
    }
    store.clear();
    assert!(yard.files(".src").is_empty());
    for path in &strange {
        assert_eq!(fs::read(path).unwrap(), VICTIM, "{path:?}");
    }
}

/// Everything below a folder, with contents and time stamps.
fn contents(folder: &Path) -> BTreeMap<PathBuf, (Option<Vec<u8>>, i64, i64)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let bytes = meta.is_file().then(|| fs::read(&path).unwrap());
        if meta.is_dir() {
            found.extend(contents(&path));
        }
        found.insert(path, (bytes, meta.mtime(), meta.mtime_nsec()));
    }
    found
}

#[test]
fn touches_nothing_in_a_folder_of_others() {
    let record = |yard: &Yard| {
        let store = yard.open();
        assert!(store.put(&key(1), &payload(1, 300)).is_published());
    };
    type Others = fn(&Path);
    let others: [(&str, Others); 10] = [
        ("a lock with a process id", |root| fs::write(root.join("lock"), "1234\n").unwrap()),
        ("an empty lock", |root| fs::write(root.join("lock"), "").unwrap()),
        ("a lock as long as ours", |root| fs::write(root.join("lock"), [7; 72]).unwrap()),
        ("a file tmp", |root| fs::write(root.join("tmp"), VICTIM).unwrap()),
        ("a file v2", |root| fs::write(root.join("v2"), VICTIM).unwrap()),
        ("an empty folder tmp", |root| fs::create_dir(root.join("tmp")).unwrap()),
        ("temporary files", |root| {
            fs::create_dir(root.join("tmp")).unwrap();
            fs::write(root.join("tmp/0123456789abcdef0123456789abcdef"), VICTIM).unwrap();
        }),
        ("a lock and temporary files", |root| {
            fs::write(root.join("lock"), "").unwrap();
            fs::create_dir(root.join("v2")).unwrap();
            fs::create_dir(root.join("tmp")).unwrap();
            fs::write(root.join("tmp/0123456789abcdef0123456789abcdef"), VICTIM).unwrap();
        }),
        ("a document", |root| fs::write(root.join("README"), VICTIM).unwrap()),
        ("a folder with the name of the mark", |root| fs::create_dir(root.join("vkfuse-cache")).unwrap()),
    ];
    for (what, fill) in others {
        let yard = Yard::new();
        fs::create_dir(&yard.root).unwrap();
        fs::set_permissions(&yard.root, fs::Permissions::from_mode(0o700)).unwrap();
        fill(&yard.root);
        let before = contents(&yard.root);
        let store = yard.open();
        assert_eq!(store.disabled_reason(), Some(&Disabled::NotACache(yard.root.clone())), "{what}");
        assert!(!store.put(&key(1), &payload(1, 300)).is_published(), "{what}");
        store.sweep();
        store.clear();
        drop(store);
        assert_eq!(contents(&yard.root), before, "{what}");
    }
    // A store from before there was a mark, beside something else: neither used nor touched.
    let yard = Yard::new();
    record(&yard);
    fs::remove_file(yard.root.join("vkfuse-cache")).unwrap();
    fs::write(yard.root.join("README"), VICTIM).unwrap();
    let before = contents(&yard.root);
    assert!(!yard.open().is_enabled());
    assert_eq!(contents(&yard.root), before);
    // Another folder with something in it comes in the place of the root of an open store.
    let yard = Yard::new();
    let store = yard.open();
    fs::rename(&yard.root, yard.base.path().join("aside")).unwrap();
    fs::create_dir(&yard.root).unwrap();
    fs::set_permissions(&yard.root, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(yard.root.join("lock"), "1234\n").unwrap();
    let before = contents(&yard.root);
    assert!(!store.put(&key(1), &payload(1, 300)).is_published());
    drop(store);
    assert_eq!(contents(&yard.root), before);
}

#[test]
fn a_store_without_a_mark_goes_on() {
    for written in [true, false] {
        let (yard, store, _) = prepared();
        if !written {
            store.clear();
        }
        drop(store);
        fs::remove_file(yard.root.join("vkfuse-cache")).unwrap();
        if !written {
            // As a process leaves it that opened it and wrote nothing.
            fs::write(yard.root.join("lock"), "").unwrap();
        }
        let store = yard.open();
        assert_eq!(store.disabled_reason(), None);
        assert_eq!(store.get(&key(1)).is_ok(), written);
        assert!(yard.root.join("vkfuse-cache").is_file());
        assert!(store.put(&key(2), &payload(2, 300)).is_published());
    }
    // The mark is put back by who has the store open.
    let (yard, store, _) = prepared();
    for name in ["vkfuse-cache", "lock"] {
        fs::remove_file(yard.root.join(name)).unwrap();
    }
    assert!(store.put(&key(2), &payload(2, 300)).is_published());
    assert!(yard.open().get(&key(2)).is_ok());
    assert!(yard.root.join("vkfuse-cache").is_file());
    // Where nothing can be written there are hits all the same.
    fs::remove_file(yard.root.join("vkfuse-cache")).unwrap();
    drop(store);
    let (store, _) = yard.open_on(Faulty::new(1, Trouble::Lasting(libc::EROFS)));
    assert_eq!(store.disabled_reason(), None);
    assert!(store.get(&key(2)).is_ok());
}
