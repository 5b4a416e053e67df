//! A process is killed at every single file operation of everything that the store does.
//!
//! After each death a new process opens the store: it must work at once, what was finished before must
//! still be there, nothing wrong may be read, the size record must not be too low, and the same
//! operation must succeed now.

use crate::disk::faulty::{Faulty, Trouble};
use crate::store::Store;
use crate::store::tests::{Yard, driver, key, payload};
use crate::{Miss, Outcome};

const OLD: [u32; 3] = [1, 2, 3];

/// One thing that a process can be doing when it dies.
struct Scenario {
    name: &'static str,
    /// What was there before.
    before: fn(&Yard, &Store),
    act: fn(&Yard, &Store),
    /// Entries that may be gone afterwards, because the act evicts or replaces them.
    may_lose: &'static [u32],
    limit: u64,
}

fn fill(_: &Yard, store: &Store) {
    for number in OLD {
        assert!(store.put(&key(number), &payload(number, 5000)).is_published());
    }
}

fn fill_with_blob(yard: &Yard, store: &Store) {
    fill(yard, store);
    assert!(store.put_blob(&key(1), &driver(1), b"blob of 1").is_published());
}

fn put(store: &Store, number: u32) {
    let _: Outcome = store.put(&key(number), &payload(number, 5000));
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "first open", before: |_, _| {}, act: |_, _| {}, may_lose: &OLD, limit: 0 },
    Scenario { name: "put", before: fill, act: |_, store| put(store, 4), may_lose: &[], limit: 0 },
    Scenario { name: "overwrite", before: fill, act: |_, store| put(store, 2), may_lose: &[], limit: 0 },
    Scenario {
        name: "hit and touch",
        before: fill,
        act: |yard, store| {
            yard.clock.advance(100);
            let _ = store.get(&key(2));
        },
        may_lose: &[],
        limit: 0,
    },
    Scenario {
        name: "put that evicts",
        before: fill,
        act: |yard, store| {
            yard.clock.advance(100);
            put(store, 4);
        },
        may_lose: &OLD,
        limit: 58_000,
    },
    Scenario {
        name: "put blob",
        before: fill_with_blob,
        act: |_, store| {
            let _ = store.put_blob(&key(2), &driver(1), b"blob of 2");
        },
        may_lose: &[],
        limit: 0,
    },
    Scenario {
        name: "reject blob",
        before: fill_with_blob,
        act: |_, store| {
            if let Ok(load) = store.begin_load(&key(1), &driver(1)) {
                load.reject();
            }
        },
        may_lose: &[],
        limit: 0,
    },
    Scenario {
        name: "sweep",
        before: |yard, store| {
            fill(yard, store);
            let name = "0123456789abcdef0123456789abcdef";
            std::fs::write(yard.root.join("tmp").join(name), b"left over").unwrap();
        },
        act: |_, store| {
            store.sweep();
        },
        may_lose: &[],
        limit: 0,
    },
    Scenario {
        name: "clear",
        before: fill_with_blob,
        act: |_, store| {
            store.clear();
        },
        may_lose: &OLD,
        limit: 0,
    },
];

fn run(scenario: &Scenario, disk: Faulty) -> (Yard, Vec<&'static str>) {
    let mut yard = Yard::new();
    yard.config.max_size = scenario.limit;
    if scenario.name != "first open" {
        let store = yard.open();
        (scenario.before)(&yard, &store);
    }
    let operations = {
        let (store, disk) = yard.open_on(disk);
        (scenario.act)(&yard, &store);
        drop(store);
        disk.operations()
    };
    (yard, operations)
}

fn check(scenario: &Scenario, yard: &Yard, when: &str) {
    let store = yard.check(when);
    for number in OLD {
        match store.get(&key(number)) {
            Ok(entry) => assert_eq!(entry, payload(number, 5000), "{when}"),
            Err(miss) if scenario.may_lose.contains(&number) => {
                assert!(!matches!(miss, Miss::Io(_)), "{miss}, {when}");
            }
            Err(miss) => panic!("entry {number} is lost: {miss}, {when}"),
        }
    }
    if let Ok(entry) = store.get(&key(4)) {
        assert_eq!(entry, payload(4, 5000), "{when}");
    }
    if let Ok(blob) = store.get_blob(&key(1), &driver(1)) {
        assert_eq!(blob, b"blob of 1", "{when}");
    }
    // What was interrupted can be done now.
    for number in [2, 4] {
        let outcome = store.put(&key(number), &payload(number, 5000));
        assert!(outcome.is_published(), "{outcome:?}, {when}");
        assert_eq!(store.get(&key(number)), Ok(payload(number, 5000)), "{when}");
    }
    let outcome = store.put_blob(&key(4), &driver(1), b"blob of 4");
    assert!(outcome.is_published(), "{outcome:?}, {when}");
    let usage = store.usage();
    if scenario.limit != 0 {
        assert!(usage.bytes <= scenario.limit, "{} bytes, {when}", usage.bytes);
    }
    drop(store);
    // A recount puts the record right.
    let store = yard.open();
    let pruned = store.prune_to(u64::MAX);
    let usage = store.usage();
    assert_eq!((pruned.files, usage.recorded), (0, Some(usage.bytes)), "{when}");
}

#[test]
fn survives_death_at_every_operation() {
    let mut points = 0;
    for scenario in SCENARIOS {
        let (yard, operations) = run(scenario, Faulty::none());
        check(scenario, &yard, scenario.name);
        assert!(operations.len() > 5, "{}", scenario.name);
        let removes = operations.contains(&"remove_folder");
        let evicts = matches!(scenario.name, "put that evicts" | "clear");
        assert_eq!(removes, evicts, "{}", scenario.name);
        for (index, operation) in operations.iter().enumerate() {
            let at = index + 1;
            let mut troubles = vec![Trouble::Die];
            if *operation == "write" {
                troubles.push(Trouble::Torn);
            }
            for trouble in troubles {
                let when = format!("{}: {trouble:?} at {at} ({operation})", scenario.name);
                let (yard, _) = run(scenario, Faulty::new(at, trouble));
                check(scenario, &yard, &when);
                points += 1;
            }
        }
    }
    println!("{points} points of death over {} scenarios", SCENARIOS.len());
    assert!(points >= 300, "only {points} points");
}
