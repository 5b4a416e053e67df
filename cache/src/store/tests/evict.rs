//! Size, age and order of use.

use std::fs;

use crate::disk::faulty::{Faulty, Trouble};
use crate::store::tests::{Yard, driver, key, payload, transcript};
use crate::{Disabled, Entry, Key, Miss, Outcome, Part, Skip, Store, StoreConfig};

/// A key with three folders of its own below a common one.
pub(crate) fn own(number: u32) -> Key {
    Key::new(Part::new(), Part::new().u32("image", number), Part::new(), Part::new())
}

pub(crate) fn blob(kib: usize) -> Entry {
    Entry::new().with("b", vec![1; kib * 1024])
}

#[test]
fn skips_what_will_never_fit_and_evicts_nothing_for_it() {
    let mut yard = Yard::new();
    yard.config.max_size = 200 * 1024;
    let store = yard.open();
    for number in 0..3 {
        assert!(store.put(&own(number), &blob(20)).is_published());
    }
    for kib in [190, 300] {
        let outcome = store.put(&own(9), &blob(kib));
        assert!(matches!(outcome, Outcome::Skipped(Skip::TooLarge { .. })));
    }
    for number in 0..3 {
        assert!(store.get(&own(number)).is_ok());
    }
    assert_eq!(store.stats().evicted, 0);
}

#[test]
fn bounds_single_items() {
    let mut yard = Yard::new();
    yard.config.min_item_size = 2000;
    yard.config.max_item_size = 9000;
    let store = yard.open();
    let small = store.put(&own(1), &blob(1));
    assert!(matches!(small, Outcome::Skipped(Skip::TooSmall { .. })));
    assert!(store.put(&own(2), &blob(4)).is_published());
    let large = store.put(&own(3), &blob(9));
    assert!(matches!(large, Outcome::Skipped(Skip::TooLarge { .. })));
    let many = (0..65).fold(Entry::new(), |entry, n| entry.with(&format!("s{n}"), [1]));
    let outcome = store.put(&own(4), &many);
    assert_eq!(outcome, Outcome::Skipped(Skip::Malformed));
}

#[test]
fn reaches_a_lower_limit_with_one_put() {
    let mut yard = Yard::new();
    let store = yard.open();
    for number in 0..20 {
        yard.clock.advance(1);
        assert!(store.put(&own(number), &blob(20)).is_published());
    }
    assert!(store.usage().bytes > 600 * 1024);
    let (wide, limit) = (store, 200 * 1024);
    yard.config.max_size = limit;
    let narrow = yard.open();
    assert!(narrow.put(&own(50), &blob(20)).is_published());
    assert!(narrow.usage().bytes <= limit);
    assert!(narrow.get(&own(50)).is_ok() && narrow.get(&own(19)).is_ok());
    // A process with a higher limit is not hindered, and does not undo anything.
    assert!(wide.put(&own(51), &blob(20)).is_published());
    assert!(wide.get(&own(50)).is_ok());
}

#[test]
fn recounts_after_files_went_by_hand() {
    let mut yard = Yard::new();
    yard.config.max_size = 1 << 20;
    let store = yard.open();
    for number in 0..20 {
        yard.clock.advance(1);
        assert!(store.put(&own(number), &blob(30)).is_published());
    }
    for path in yard.files(".bin").iter().step_by(2) {
        fs::remove_file(path).unwrap();
    }
    let usage = store.usage();
    assert!(usage.recorded > Some(usage.bytes));
    for number in 20..40 {
        yard.clock.advance(1);
        assert!(store.put(&own(number), &blob(30)).is_published());
        assert!(store.usage().bytes <= 1 << 20);
    }
    // The record was too high; nothing is evicted before what is really there needs it.
    let kept = (0..20).filter(|number| store.get(&own(*number)).is_ok());
    assert!(kept.count() + 20 >= 18);
    store.prune_to(u64::MAX);
    let usage = store.usage();
    assert_eq!(usage.recorded, Some(usage.bytes));
}

#[test]
fn counts_anew_without_a_usable_record() {
    let yard = Yard::new();
    let store = yard.open();
    assert!(store.put(&own(1), &blob(30)).is_published());
    for damage in [&b""[..], b"short", &[0; 72], &[255; 72], &[7; 5000]] {
        fs::write(yard.root.join("lock"), damage).unwrap();
        assert!(store.put(&own(2), &blob(30)).is_published());
        let usage = store.usage();
        assert_eq!(usage.recorded, Some(usage.bytes));
    }
}

#[test]
fn the_clock_may_be_wrong() {
    let mut yard = Yard::new();
    yard.config.max_size = 200 * 1024;
    let store = yard.open();
    // Stamps from 2099 are not immortal.
    yard.clock.set(4_070_908_800);
    for number in 0..3 {
        assert!(store.put(&own(number), &blob(20)).is_published());
    }
    yard.clock.set(1_700_000_000);
    for number in 3..20 {
        yard.clock.advance(10);
        assert!(store.put(&own(number), &blob(20)).is_published());
        assert!(store.usage().bytes <= 200 * 1024);
        assert!(store.get(&own(number)).is_ok());
    }
    assert!((0..3).all(|number| store.get(&own(number)).is_err()));
    // Steps back by an hour and by fifty years.
    for time in [1_699_996_400, 100] {
        yard.clock.set(time);
        for number in 30..40 {
            assert!(store.put(&own(number), &blob(20)).is_published());
            assert!(store.usage().bytes <= 200 * 1024);
        }
    }
    // A temporary file whose writer lives stays, whatever the clock says.
    let name = yard.root.join("tmp/0123456789abcdef0123456789abcdef");
    let file = fs::File::create(&name).unwrap();
    file.lock().unwrap();
    for time in [0, 4_070_908_800] {
        yard.clock.set(time);
        assert_eq!(store.sweep().kept, 1);
    }
    drop(file);
    assert_eq!(store.sweep().files, 1);
}

#[test]
fn forgets_what_was_not_used_for_too_long() {
    let mut yard = Yard::new();
    yard.config.max_age = Some(std::time::Duration::from_secs(1000));
    let store = yard.open();
    assert!(store.put(&own(1), &blob(1)).is_published());
    assert!(store.put(&own(2), &blob(1)).is_published());
    yard.clock.advance(900);
    assert!(store.get(&own(2)).is_ok());
    yard.clock.advance(200);
    drop(store);
    // Once a day, at an opening.
    let store = yard.open();
    assert_eq!(store.get(&own(1)), Err(Miss::Absent));
    assert!(store.get(&own(2)).is_ok());
    yard.clock.advance(2000);
    assert!(yard.open().get(&own(2)).is_ok());
    yard.clock.advance(24 * 3600);
    assert_eq!(yard.open().get(&own(2)), Err(Miss::Absent));
}

#[test]
fn ten_thousand_keys_in_256_folders() {
    let mut yard = Yard::new();
    yard.config.name_bits = 8;
    let store = yard.open();
    let count = 10_000;
    for number in 0..count {
        assert!(store.put(&own(number), &payload(number, 8)).is_published());
    }
    let leaves = yard.files(".0.src").len();
    assert!(leaves <= 256, "{leaves}");
    for number in 0..count {
        assert_eq!(store.get(&own(number)), Ok(payload(number, 8)));
    }
    for number in count..count + 1000 {
        assert_eq!(store.get(&own(number)), Err(Miss::OtherKey));
    }
}

#[test]
fn a_gap_does_not_hide_later_numbers() {
    let mut yard = Yard::new();
    yard.config.name_bits = 1;
    let store = yard.open();
    for number in 0..40 {
        assert!(store.put(&own(number), &payload(number, 8)).is_published());
    }
    for info in store.entries(&mut |_| {}) {
        if info.number == 0 {
            assert!(store.remove(&info).unwrap() > 0);
        }
    }
    let left = (0..40).filter(|number| store.get(&own(*number)).is_ok()).count();
    assert_eq!(left, store.usage().entries);
    assert!(left >= 24, "{left}");
    for number in 0..40 {
        assert!(store.put(&own(number), &payload(number, 8)).is_published());
    }
    assert_eq!(store.usage().entries, 40);
}

#[test]
fn another_format_version_shares_the_limit_and_nothing_else() {
    let mut yard = Yard::new();
    yard.config.max_size = 200 * 1024;
    let store = yard.open();
    for number in 0..3 {
        assert!(store.put(&own(number), &blob(20)).is_published());
    }
    drop(store);
    fs::rename(yard.root.join("v2"), yard.root.join("v3")).unwrap();
    let store = yard.open();
    assert_eq!(store.get(&own(1)), Err(Miss::Absent));
    assert_eq!(store.usage().entries, 3);
    for number in 10..16 {
        yard.clock.advance(1);
        assert!(store.put(&own(number), &blob(20)).is_published());
        assert!(store.usage().bytes <= 200 * 1024);
    }
    assert!(yard.files(".bin").iter().all(|path| path.starts_with(yard.root.join("v2"))));
}

#[test]
fn lists_verifies_and_prunes() {
    let yard = Yard::new();
    let (subscriber, lines) = transcript();
    let mut config = yard.config.clone().with_subscriber(subscriber);
    config.trace = true;
    let store = Store::open(config);
    for number in 0..4 {
        yard.clock.advance(10);
        assert!(store.put(&key(number), &payload(number, 100)).is_published());
    }
    assert!(store.put_blob(&key(2), &driver(1), b"blob").is_published());
    let mut steps = Vec::new();
    let infos = store.entries(&mut |progress| steps.push((progress.done, progress.total)));
    assert_eq!(steps, [(1, 4), (2, 4), (3, 4), (4, 4)]);
    let last = &infos[0];
    assert_eq!(last.key.as_ref(), Some(&key(3)));
    assert_eq!(last.sections, [("spirv".to_owned(), 100), ("report".to_owned(), 2)]);
    assert_eq!(store.read(last), Ok(payload(3, 100)));
    assert_eq!(infos[1].blobs.len(), 1);
    let verified = store.verify(&mut |_| {});
    assert_eq!(verified[1].blobs[0].identity, Some(driver(1)));
    let path = yard.files(".blob").remove(0);
    fs::write(path, b"damaged").unwrap();
    let verified = store.verify(&mut |_| {});
    assert!(verified[1].blobs[0].defect.is_some_and(|miss| miss.is_defect()));
    let pruned = store.prune_to(store.usage().bytes - 1);
    assert_eq!(pruned.files, 1);
    assert_eq!(store.get(&key(0)), Err(Miss::Absent));
    assert!(store.clear().files >= 3);
    assert_eq!(store.usage().entries, 0);
    let lines = lines.lock().unwrap();
    assert!(lines.iter().any(|line| line.starts_with("attributes ")));
    assert!(lines.iter().any(|line| line.starts_with("did-evict-disk 1 ")));
}

#[test]
fn removes_empty_folders_of_dead_processes() {
    let yard = Yard::new();
    let store = yard.open();
    assert!(store.put(&own(1), &blob(1)).is_published());
    let before = store.usage();
    for chain in ["aa/bb/cc/dd", "aa/ee", "ff"] {
        fs::create_dir_all(yard.root.join("v2").join(chain)).unwrap();
    }
    assert!(store.usage().bytes > before.bytes);
    store.prune_to(u64::MAX);
    let after = store.usage();
    assert_eq!((after.bytes, after.recorded), (before.bytes, before.recorded));
    assert!(store.get(&own(1)).is_ok());
    assert!(yard.root.join("v2").is_dir());
}

#[test]
fn events_are_lines_of_json() {
    let event = crate::Event::Attributes {
        key: crate::KeyId([0xab; 32]),
        fields: vec![(crate::PartKind::Device, Part::new().str("name", "a \"b\"\n").fields().remove(0))],
    };
    let id = "ab".repeat(32);
    let expected = format!(
        r#"{{"event":"attributes","key":"{id}","attributes":[{{"part":"device","name":"name","value":"\"a \\\"b\\\"\\n\""}}]}}"#
    );
    assert_eq!(event.to_json(), expected);
    let miss = crate::Event::DidMissDisk {
        key: crate::KeyId([0xab; 32]),
        miss: Miss::Length { expected: 5, found: 3 },
    };
    let expected = format!(
        r#"{{"event":"did-miss-disk","key":"{id}","kind":"length","reason":"3 bytes instead of 5"}}"#
    );
    assert_eq!(miss.to_json(), expected);
}

#[test]
fn refuses_folders_that_are_no_place_for_a_cache() {
    let open = |dir: &str| Store::open(StoreConfig::at(dir)).disabled_reason().cloned();
    assert!(matches!(open("relative/cache"), Some(Disabled::Relative(_))));
    assert!(matches!(open("/dev/null"), Some(Disabled::NotAFolder(_))));
    assert!(matches!(open("/dev/null/cache"), Some(Disabled::Folder { .. })));
    let off = Store::open(StoreConfig::disabled());
    assert_eq!(off.disabled_reason(), Some(&Disabled::Asked));
    assert!(!off.put(&own(1), &blob(1)).is_published());
    assert_eq!(off.usage().entries, 0);
    assert!(off.entries(&mut |_| {}).is_empty());
}

#[test]
fn a_clear_without_the_lock_says_that_nothing_was_done() {
    let yard = Yard::new();
    let store = yard.open();
    assert!(store.put(&own(1), &blob(1)).is_published());
    let lock = fs::File::open(yard.root.join("lock")).unwrap();
    lock.lock().unwrap();
    let before = store.usage();
    let pruned = store.clear();
    assert_eq!((pruned.files, pruned.problem, pruned.left), (0, Some(Skip::LockTimeout), before.bytes));
    drop(lock);
    let pruned = yard.open().clear();
    assert_eq!((pruned.files, pruned.kept, pruned.problem, pruned.left), (1, 0, None, 0));
    let off = Store::open(StoreConfig::disabled());
    assert_eq!(off.prune_to(0).problem, Some(Skip::Disabled));
}

#[test]
fn a_clear_says_what_it_could_not_remove() {
    let cleared = |at| {
        let yard = Yard::new();
        let store = yard.open();
        for number in 0..3 {
            assert!(store.put(&key(number), &payload(number, 300)).is_published());
            assert!(store.put_blob(&key(number), &driver(1), b"blob").is_published());
        }
        let (store, disk) = yard.open_on(Faulty::new(at, Trouble::Once(libc::EACCES)));
        let pruned = store.clear();
        let left = yard.open().usage();
        let what = format!("{pruned:?} and {left:?} after {:?}", disk.operations().get(at.wrapping_sub(1)));
        let is_done = left.entries + left.blobs == 0;
        assert!(is_done || pruned.problem.is_some() || pruned.kept > 0, "{what}");
        assert!(pruned.files <= 3 && (pruned.files == 3 || !is_done), "{what}");
        (pruned, disk.operations().len())
    };
    let (all, operations) = cleared(0);
    assert_eq!((all.files, all.kept, all.problem, all.left), (3, 0, None, 0));
    let troubled = (1..=operations).filter(|at| cleared(*at).0.problem.is_some()).count();
    assert!(troubled > 10, "{troubled} of {operations}");
}
