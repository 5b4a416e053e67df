//! The file system fails at every single operation, once or from then on.
//!
//! Whatever fails: no panic, no wrong value, nothing half published, no temporary file left behind,
//! and the next operation on a sound file system succeeds.

use crate::disk::faulty::{Faulty, Trouble};
use crate::store::Store;
use crate::store::tests::{Yard, driver, key, payload};
use crate::{Disabled, Miss, Outcome, Skip};

const EINTR: i32 = 4;
const EIO: i32 = 5;
const ENOMEM: i32 = 12;
const EACCES: i32 = 13;
const EMFILE: i32 = 24;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;
const ENOLCK: i32 = 37;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;
const ESTALE: i32 = 116;
const EDQUOT: i32 = 122;

fn act(yard: &Yard, store: &Store) -> Outcome {
    yard.clock.advance(100);
    if let Ok(entry) = store.get(&key(1)) {
        assert_eq!(entry, payload(1, 5000));
    }
    let outcome = store.put(&key(4), &payload(4, 5000));
    let _: Outcome = store.put_blob(&key(1), &driver(1), b"blob of 1");
    if let Ok(load) = store.begin_load(&key(1), &driver(1)) {
        assert_eq!(load.bytes(), b"blob of 1");
    }
    outcome
}

/// One run with trouble, then everything that must hold.
fn run(trouble: Trouble, at: usize, limit: u64) -> usize {
    let when = format!("{trouble:?} at {at}, limit {limit}");
    let mut yard = Yard::new();
    yard.config.max_size = limit;
    let before = yard.open();
    for number in 1..=3 {
        let outcome = before.put(&key(number), &payload(number, 5000));
        assert!(outcome.is_published());
    }
    drop(before);
    let (store, disk) = yard.open_on(Faulty::new(at, trouble));
    let outcome = act(&yard, &store);
    let operations = disk.operations();
    let failed_remove = operations.get(at.wrapping_sub(1)) == Some(&"remove");
    if !failed_remove {
        assert_eq!(yard.temps(), 0, "temporary files, {when}");
    }
    let fresh = yard.check(&when);
    if outcome.is_published() {
        assert_eq!(fresh.get(&key(4)), Ok(payload(4, 5000)), "{when}");
    }
    for number in 1..=3 {
        match fresh.get(&key(number)) {
            Ok(entry) => assert_eq!(entry, payload(number, 5000), "{when}"),
            Err(miss) => assert!(limit != 0, "entry {number} is lost: {miss}, {when}"),
        }
    }
    // A slow machine evicts in more batches, with more operations, than a quick one.
    let is_over = operations.len() >= at;
    if matches!(trouble, Trouble::Once(_) | Trouble::Short) && is_over && store.is_enabled() {
        // The same process recovers with its next operation.
        let outcome = store.put(&key(5), &payload(5, 5000));
        assert!(outcome.is_published(), "{outcome:?}, {when}");
        assert_eq!(store.get(&key(5)), Ok(payload(5, 5000)), "{when}");
    }
    operations.len()
}

#[test]
fn survives_an_error_at_every_operation() {
    let long = std::env::var_os("VKFUSE_LONG_TESTS").is_some();
    let codes: &[i32] = match long {
        true => &[EINTR, EIO, ENOMEM, EACCES, EMFILE, ENOSPC, EROFS, ESTALE, EDQUOT],
        false => &[],
    };
    let mut runs = 0;
    for limit in [0, 90_000] {
        let operations = run(Trouble::Die, 0, limit);
        for at in 1..=operations {
            let quick = [if at % 2 == 0 { EIO } else { ENOSPC }];
            for &code in if long { codes } else { &quick } {
                run(Trouble::Once(code), at, limit);
                runs += 1;
            }
            if long || at % 3 == 0 {
                run(Trouble::Short, at, limit);
                runs += 1;
            }
        }
        for at in (1..=operations).step_by(if long { 1 } else { 3 }) {
            for code in [ENOSPC, EROFS] {
                run(Trouble::Lasting(code), at, limit);
                runs += 1;
            }
        }
    }
    println!("{runs} runs with a fault");
}

#[test]
fn interrupted_reads_and_writes_go_on() {
    let yard = Yard::new();
    let (store, disk) = yard.open_on(Faulty::none());
    assert!(store.put(&key(1), &payload(1, 10)).is_published());
    let operations = disk.operations();
    let write = operations.iter().position(|name| *name == "write").unwrap() + 1;
    let yard = Yard::new();
    let (store, _) = yard.open_on(Faulty::new(write, Trouble::Once(EINTR)));
    assert!(store.put(&key(1), &payload(1, 10)).is_published());
}

#[test]
fn refuses_a_file_system_without_locks() {
    for code in [ENOLCK, ENOSYS, EOPNOTSUPP] {
        let mut yard = Yard::new();
        let mut disk = Faulty::none();
        disk.no_locks = Some(code);
        let (store, _) = yard.open_on(disk);
        let expected = Disabled::NoLocks(yard.root.clone());
        assert_eq!(store.disabled_reason(), Some(&expected), "{code}");
        assert_eq!(store.get(&key(1)), Err(Miss::Disabled));
        // Forced on, it works without counting and evicting.
        yard.config.allow_network = true;
        yard.config.max_size = 90_000;
        let mut disk = Faulty::none();
        disk.no_locks = Some(code);
        let (store, _) = yard.open_on(disk);
        for number in 0..6 {
            let outcome = store.put(&key(number), &payload(number, 5000));
            assert!(outcome.is_published(), "{outcome:?}");
        }
        for number in 0..6 {
            assert_eq!(store.get(&key(number)), Ok(payload(number, 5000)));
        }
        assert_eq!(yard.temps(), 0);
    }
}

#[test]
fn refuses_network_file_systems_and_raised_rights() {
    let mut yard = Yard::new();
    let mut disk = Faulty::none();
    disk.network = Some("nfs");
    let (store, _) = yard.open_on(disk);
    assert!(matches!(store.disabled_reason(), Some(Disabled::Network { name: "nfs", .. })));
    yard.config.allow_network = true;
    let mut disk = Faulty::none();
    disk.network = Some("nfs");
    assert!(yard.open_on(disk).0.is_enabled());
    let mut disk = Faulty::none();
    disk.raised = true;
    let (store, _) = yard.open_on(disk);
    assert_eq!(store.disabled_reason(), Some(&Disabled::RaisedRights));
}

#[test]
fn drops_the_write_when_the_lock_is_not_free() {
    let yard = Yard::new();
    let store = yard.open();
    assert!(store.put(&key(1), &payload(1, 10)).is_published());
    let held = std::fs::File::open(yard.root.join("lock")).unwrap();
    held.lock().unwrap();
    let start = std::time::Instant::now();
    let outcome = store.put(&key(2), &payload(2, 10));
    assert_eq!(outcome, Outcome::Skipped(Skip::LockTimeout));
    let first = start.elapsed();
    // Who waited once in vain does not wait for every write.
    for number in 3..6 {
        let outcome = store.put(&key(number), &payload(number, 10));
        assert_eq!(outcome, Outcome::Skipped(Skip::LockTimeout));
    }
    assert!(start.elapsed() < first * 3, "{:?}", start.elapsed());
    assert_eq!(store.get(&key(1)), Ok(payload(1, 10)));
    assert_eq!(yard.temps(), 0);
    drop(held);
    assert!(store.put(&key(2), &payload(2, 10)).is_published());
    assert_eq!(store.stats().lock_timeouts, 4);
}
