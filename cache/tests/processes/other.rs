//! Two versions of the format on one root at the same time.

use std::ffi::OsString;
use std::fs;

use vkfuse_cache::{Miss, Store};

use crate::hammer::{Report, watch};
use crate::payload::{config, is_right, key, payload};
use crate::{pick, spawn, spawn_of};

/// This test, built with `--cfg vkfuse_next_format`; `./x` makes it.
fn other_build() -> Option<OsString> {
    let found = std::env::var_os("VKFUSE_OTHER_BUILD");
    if found.is_none() {
        println!("SKIPPED: VKFUSE_OTHER_BUILD does not name a build of the next format");
    }
    found
}

#[test]
fn two_formats_share_the_limit_and_nothing_else() {
    let Some(other) = other_build() else { return };
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cache");
    let limit = pick(16 << 20, 80 << 20);
    drop(Store::open(config(&dir, limit)));
    let role = format!("hammer {limit}");
    let mut workers: Vec<_> = (0..2).map(|seed| spawn(&role, &dir, seed)).collect();
    workers.extend((2..4).map(|seed| spawn_of(&other, &role, &dir, seed)));
    let Report { operations, hits, wrong, samples, most } = watch(workers, &dir, limit);
    println!(
        "{operations} operations of two formats, {hits} hits, {wrong} wrong or of the other format; at most \
         {most} of {limit} bytes in {samples} samples"
    );
    assert!(wrong == 0 && hits > 0 && samples > 3);
    assert!(dir.join("v2").is_dir() && dir.join("v3").is_dir());
    assert_eq!(fs::read_dir(dir.join("tmp")).unwrap().count(), 0);
    // Each counts both, evicts from both, and finds nothing of the other's.
    let store = Store::open(config(&dir, limit));
    store.prune_to(limit);
    let usage = store.usage();
    assert_eq!(usage.recorded, Some(usage.bytes));
    store.clear();
    assert_eq!(store.usage().entries, 0);
    let start = spawn_of(&other, &format!("hammer {limit}"), &dir, 9).wait_with_output().unwrap();
    assert!(start.status.success());
    assert!(store.usage().entries > 0);
    for number in 0..20 {
        assert_eq!(store.get(&key(number)), Err(Miss::Absent));
    }
    // Back to the old program: it works beside what the new one left.
    assert!(store.put(&key(1), &payload(1, 1, 1000)).is_published());
    assert!(is_right(1, &store.get(&key(1)).unwrap()));
}
