//! What a write has made so far is taken away before it is finished: by a sweep of another process, or by somebody who
//! empties the folder.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use crate::disk::faulty::Faulty;
use crate::store::Store;
use crate::store::tests::{Yard, driver, key, payload};
use crate::{Outcome, Skip};

/// The store is opened once before, so that only the write has operations that change something.
fn opened() -> Yard {
    let yard = Yard::new();
    let store = yard.open();
    assert!(store.put(&key(1), &payload(1, 300)).is_published());
    yard
}

/// Waits for the word of another thread; that it never comes is a failure, not a hang.
fn heard(word: &Mutex<Receiver<()>>) {
    let patience = std::time::Duration::from_secs(60);
    word.lock().unwrap().recv_timeout(patience).expect("the other thread");
}

/// The sweep finds a file that was made and not locked yet, and takes it for one that a dead process left. Before it
/// removes the file, the writer goes on.
#[test]
fn a_sweep_never_takes_a_file_that_its_writer_has_locked() {
    let yard = opened();
    let (made, was_made) = mpsc::channel();
    let (chosen, was_chosen) = mpsc::channel();
    let (written, was_written) = mpsc::channel();
    let (swept, was_swept) = mpsc::channel();
    let mutex = Mutex::new;
    let (was_made, was_chosen) = (mutex(was_made), mutex(was_chosen));
    let (was_written, was_swept) = (mutex(was_written), mutex(was_swept));

    let (sweeper, _) = yard.open_on(Faulty::beside(move |_, name| {
        if name == "remove" {
            chosen.send(()).unwrap();
            heard(&was_written);
        }
    }));
    let sweeps = thread::spawn(move || {
        heard(&was_made);
        let files = sweeper.sweep().files;
        swept.send(()).unwrap();
        // Its own sweep, as it goes, finds nothing to do.
        drop(sweeper);
        files
    });

    // The first lock after a file was made is that of the file; the first rename is that of the key's.
    let steps = Mutex::new((false, false, false));
    let (writer, disk) = yard.open_on(Faulty::beside(move |_, name| {
        let mut steps = steps.lock().unwrap();
        match (name, *steps) {
            ("create", _) => steps.0 = true,
            ("try_lock", (true, false, _)) => {
                steps.1 = true;
                made.send(()).unwrap();
                heard(&was_chosen);
            }
            ("rename", (_, _, false)) => {
                steps.2 = true;
                written.send(()).unwrap();
                heard(&was_swept);
            }
            _ => {}
        }
    }));
    assert!(writer.put(&key(2), &payload(2, 300)).is_published());
    assert_eq!(sweeps.join().unwrap(), 0, "the writer had made another and removed this one");
    assert_eq!(writer.get(&key(2)), Ok(payload(2, 300)));
    let renames = disk.operations().into_iter().filter(|name| *name == "rename").count();
    assert_eq!(renames, 2, "the key and the entry were moved into place at the first try");
    drop(writer);
    yard.check("after the sweep");
}

/// Removes everything in a folder, and the folder itself unless it is to stay.
fn clear(folder: &Path, stays: bool) {
    if !stays {
        let _ = fs::remove_dir_all(folder);
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let _ = fs::remove_dir_all(entry.path());
        let _ = fs::remove_file(entry.path());
    }
}

/// Somebody takes a part of the store away before each single operation of a write, once: the write makes it again.
#[test]
fn a_write_makes_what_vanished_again() {
    type Write = fn(&Store) -> Outcome;
    let put: Write = |store| store.put(&key(2), &payload(2, 5000));
    let put_blob: Write = |store| store.put_blob(&key(1), &driver(1), b"blob of 1");
    let (mut points, mut again) = (0, 0);
    for (what, write) in [("put", put), ("put_blob", put_blob)] {
        for (part, stays) in
            [("tmp", true), ("tmp", false), ("v2", true), ("v2", false), ("", true), ("", false)]
        {
            for at in 1.. {
                let when = format!("{what}, `{part}` removed before operation {at}");
                let yard = opened();
                let folder = yard.root.join(part);
                let start = Mutex::new(None);
                let (store, disk) = yard.open_on(Faulty::beside(move |number, name| {
                    // A write begins by opening the root, and so does the store itself.
                    let mut start = start.lock().unwrap();
                    if name == "open_root" && number > 1 && start.is_none() {
                        *start = Some(number);
                    }
                    if start.is_some_and(|start| number == start + at) {
                        clear(&folder, stays);
                    }
                }));
                let before = disk.operations().len();
                let outcome = write(&store);
                let operations = disk.operations().split_off(before);
                if operations.len() <= at {
                    assert!(at > 10, "{when}");
                    break;
                }
                points += 1;
                again += usize::from(operations.iter().filter(|name| **name == "open_root").count() > 1);
                // A blob without its entry is of no use.
                let is_gone = what == "put_blob" && part != "tmp";
                let skipped = outcome == Outcome::Skipped(Skip::NoEntry) && is_gone;
                assert!(outcome.is_published() || skipped, "{outcome:?}, {when}");
                // Whatever was removed after it was published: the next one is there.
                assert!(put(&store).is_published(), "{when}");
                assert_eq!(store.get(&key(2)), Ok(payload(2, 5000)), "{when}");
                drop(store);
                yard.check(&when);
            }
        }
    }
    println!("{points} operations before which something vanished; {again} times the write began anew");
    assert!(again > 10, "only {again} times");
}
