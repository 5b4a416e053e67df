//! Drivers that fail: out of memory at every call, a lost device, odd answers about their cache.

// Function tables can be replaced in no other way.
#![allow(unsafe_code)]

mod failures;
#[cfg(feature = "remote")]
mod fleet;
mod overtaking;
#[macro_use]
#[path = "../support/mod.rs"]
mod support;

use std::{path::Path, sync::atomic::Ordering::SeqCst};

use ash::vk;
use vkfuse::{CacheOptions, Context, ContextOptions, Error, QueueOptions, Tier};
use vkfuse_cache::{Entry, Store, StoreConfig};

use support::mock::{
    self, BLOBS, CALLS, CHANGED, DATA, LIVE, OVERLAPS, PROPERTIES, REFUSALS, REFUSED_END, REFUSES,
    WRONG_BLOBS,
};

const N: usize = 500;

/// A context on a new device of the mock; `None` without a driver, which is a failure where one is required.
fn context(cache: CacheOptions) -> Option<Context> {
    context_with(1, cache)
}

/// As [`context`], on this many hardware queues.
fn context_with(queues: u32, cache: CacheOptions) -> Option<Context> {
    let Some((device, queues)) = mock::device_with(queues) else {
        assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device");
        return None;
    };
    let options = ContextOptions::new().cache(cache);
    Some(Context::over(device, queues, options).expect("a context"))
}

fn store(folder: &Path) -> CacheOptions {
    CacheOptions::new().directory(folder)
}

fn pick<T>(quick: T, long: T) -> T {
    if std::env::var_os("VKFUSE_LONG_TESTS").is_some() { long } else { quick }
}

/// Runs two kernels as one and checks what comes out; says whether the store had the driver's blob.
fn run(context: &Context) -> Result<Tier, Error> {
    let queue = context.queue(QueueOptions::new().enable_fusion(true))?;
    let scale = context.load_spirv(support::shader("pair/scale"))?;
    let data: Vec<i32> = (0..N as i32).collect();
    let (a, tmp, out) = (context.buffer_from(&data)?, context.scratch::<i32>(N)?, context.buffer::<i32>(N)?);
    let event = queue.fuse(|queue| {
        for (from, to) in [(&a, &tmp), (&tmp, &out)] {
            queue.submit(|h| {
                h.arg(0, from.read()).arg(1, to.write()).push(&(N as u32)).push(&3);
                h.dispatch_items(&scale, [N as u32, 1, 1]);
            })?;
        }
        Ok(())
    })?;
    let expected: Vec<i32> = data.iter().map(|value| value * 9).collect();
    assert_eq!(out.download()?, expected);
    let report = event.report().expect("a report");
    Ok(report.steps.iter().fold(Tier::NotAsked, |tier, step| tier.and(step.driver_blob)))
}

fn blobs(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut next = vec![folder.to_owned()];
    while let Some(folder) = next.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                next.push(path);
            } else if path.extension().is_some_and(|end| end == "blob") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn out_of_memory_at_every_call_leaks_nothing_and_is_not_remembered() {
    let _alone = mock::alone();
    let live = LIVE.load(SeqCst);
    let folder = tempfile::tempdir().unwrap();
    let Some(first) = context(store(folder.path())) else { return };
    CALLS.store(0, SeqCst);
    run(&first).unwrap();
    let calls = CALLS.load(SeqCst);
    assert!(calls >= 5, "{calls} calls");
    drop(first);
    let mut runs = 0;
    for result in [vk::Result::ERROR_OUT_OF_HOST_MEMORY, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY] {
        // Once: it is tried again. For good: it fails, and the next attempt is made anew.
        for count in [1, u64::MAX] {
            for from in 1..=calls {
                let context = context(CacheOptions::new().no_disk()).unwrap();
                mock::fail(from, count, result);
                let outcome = run(&context);
                assert!(outcome.is_ok() || count > 1, "{from} {result:?}: {outcome:?}");
                mock::fail(0, 0, result);
                run(&context).unwrap_or_else(|error| panic!("after {from} {result:?}: {error}"));
                drop(context);
                assert_eq!(LIVE.load(SeqCst), live, "handles left, {from} {result:?}");
                runs += 1;
            }
        }
    }
    println!("{runs} runs that were out of memory, {calls} calls each");
}

#[test]
fn a_lost_device_leaves_nothing_behind() {
    let _alone = mock::alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(probe) = context(CacheOptions::new().no_disk()) else { return };
    CALLS.store(0, SeqCst);
    run(&probe).unwrap();
    let calls = CALLS.load(SeqCst);
    drop(probe);
    DATA.store(mock::PAYLOAD, SeqCst);
    let rounds = pick(20, 100);
    for round in 0..rounds {
        let lost = context(store(folder.path())).unwrap();
        mock::fail(1 + round % calls, u64::MAX, vk::Result::ERROR_DEVICE_LOST);
        assert!(run(&lost).is_err());
        mock::fail(0, 0, vk::Result::SUCCESS);
        assert!(lost.is_cacheable(vkfuse::Artifact::DriverBlob).is_err());
        assert_eq!(lost.cache_stats().pipelines.entries, 0);
        drop(lost);
        assert_eq!(blobs(folder.path()).len(), 0, "a blob of a lost device");
        let fresh = context(CacheOptions::new().no_disk()).unwrap();
        run(&fresh).unwrap();
    }
    println!("{rounds} recoveries from a lost device");
}

#[test]
fn a_blob_reaches_the_driver_only_whole() {
    let _alone = mock::alone();
    let folder = tempfile::tempdir().unwrap();
    DATA.store(mock::PAYLOAD, SeqCst);
    let Some(first) = context(store(folder.path())) else { return };
    assert_eq!(run(&first).unwrap(), Tier::Miss);
    drop(first);
    assert_eq!((blobs(folder.path()).len(), BLOBS.load(SeqCst)), (1, 0));
    run(&context(store(folder.path())).unwrap()).unwrap();
    assert_eq!((BLOBS.load(SeqCst), WRONG_BLOBS.load(SeqCst)), (1, 0));
    // Damaged anywhere it is not given to the driver, and the next run puts a sound one in its place.
    let path = blobs(folder.path()).remove(0);
    let sound = std::fs::read(&path).unwrap();
    let step = pick(sound.len() / 24, 1).max(1);
    let mut damaged = 0;
    for at in (0..sound.len()).step_by(step) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&path, bytes).unwrap();
        let before = BLOBS.load(SeqCst);
        let context = context(store(folder.path())).unwrap();
        assert_eq!(run(&context).unwrap(), Tier::Miss);
        assert_eq!(BLOBS.load(SeqCst), before, "a damaged blob reached the driver, byte {at}");
        drop(context);
        damaged += 1;
    }
    run(&context(store(folder.path())).unwrap()).unwrap();
    assert_eq!(WRONG_BLOBS.load(SeqCst), 0);
    println!("{damaged} damaged blobs, none reached the driver");
}

/// Makes the driver say otherwise in one property, and waits until nothing has the old ones any more.
fn change(property: usize) {
    let properties = || format!("{:?}", mock::device().expect("a device").0.physical_device().properties());
    let before = properties();
    let has_changed = CHANGED.swap(property, SeqCst) != property;
    let is_seen = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        properties() != before
    });
    assert_eq!(is_seen, has_changed, "property {property}");
}

/// The code is found again, the blob of another driver is not; back with the old driver both are.
#[test]
fn a_changed_driver_keeps_the_code_and_gets_no_blob() {
    let _alone = mock::alone();
    let folder = tempfile::tempdir().unwrap();
    DATA.store(mock::PAYLOAD, SeqCst);
    let Some(first) = context(store(folder.path())) else { return };
    assert_eq!(run(&first).unwrap(), Tier::Miss);
    drop(first);
    for (index, name) in PROPERTIES.into_iter().enumerate() {
        change(index + 1);
        let before = BLOBS.load(SeqCst);
        let changed = context(store(folder.path())).unwrap();
        let is_same_model = name == "deviceUUID";
        run(&changed).unwrap();
        assert_eq!(BLOBS.load(SeqCst) - before, u64::from(is_same_model), "blobs given, another {name}");
        assert_eq!(changed.stats().kernel_misses, 0, "another {name} normalises anew");
        // What a known driver gets wrong is avoided, so that its code may differ.
        let has_same_code = changed.stats().disk_hits == 1;
        assert!(has_same_code || name == "driverID", "another {name} has the same code");
        drop(changed);
        change(0);
        let again = context(store(folder.path())).unwrap();
        let before = BLOBS.load(SeqCst);
        run(&again).unwrap();
        assert_eq!(BLOBS.load(SeqCst) - before, 1, "after another {name}");
    }
    assert_eq!(WRONG_BLOBS.load(SeqCst), 0);
    println!("{} changed drivers, no blob of another reached one", PROPERTIES.len() - 1);
}

#[test]
fn odd_answers_about_the_cache_are_not_stored() {
    let _alone = mock::alone();
    for mode in [mock::REAL, mock::NOTHING, mock::GROWING] {
        let folder = tempfile::tempdir().unwrap();
        DATA.store(mode, SeqCst);
        for _ in 0..2 {
            let Some(context) = context(store(folder.path())) else { return };
            run(&context).unwrap();
        }
        // The real driver may have something worth keeping.
        assert!(mode == mock::REAL || blobs(folder.path()).is_empty(), "mode {mode}");
        assert_eq!(WRONG_BLOBS.load(SeqCst), 0);
    }
}

#[test]
fn no_two_threads_use_one_driver_cache() {
    let _alone = mock::alone();
    let Some(context) = context(CacheOptions::off()) else { return };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..4 {
                    run(&context).unwrap();
                }
            });
        }
    });
    assert_eq!(OVERLAPS.load(SeqCst), 0);
}

/// Code that is sound as a file, and that the driver refuses: whatever put it there, it is built again and replaced.
#[test]
fn stored_code_that_the_driver_refuses_is_built_again_once() {
    const NOP: u32 = 0x0001_0000;
    let _alone = mock::alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(first) = context(store(folder.path())) else { return };
    run(&first).unwrap();
    drop(first);
    let planted = Store::open(StoreConfig::at(folder.path()));
    let mut entries = planted.entries(&mut |_| {}).into_iter();
    let info = entries.find(|entry| entry.sections[0].0 == "spirv").unwrap();
    let kept = planted.read(&info).unwrap();
    let mut code = kept.section("spirv").unwrap().to_vec();
    code.extend_from_slice(&NOP.to_le_bytes());
    let mut entry = Entry::new().with("spirv", code);
    if let Some(validator) = kept.section("validated") {
        entry = entry.with("validated", validator.to_vec());
    }
    assert!(planted.put(info.key.as_ref().unwrap(), &entry).is_published());
    drop(planted);
    REFUSED_END.store(NOP, SeqCst);
    let healed = context(store(folder.path())).unwrap();
    run(&healed).unwrap();
    let stats = healed.stats();
    assert_eq!((stats.jit_builds, stats.disk_different, stats.driver_refusals), (1, 1, 1));
    drop(healed);
    let next = context(store(folder.path())).unwrap();
    run(&next).unwrap();
    let stats = next.stats();
    assert_eq!((stats.disk_hits, stats.jit_builds, stats.driver_refusals), (1, 0, 0));
}

/// A refusal that repeats is remembered, also by a context that keeps nothing on the disk; one that does not is no failure.
#[test]
fn a_refusal_that_repeats_is_remembered() {
    let _alone = mock::alone();
    let folder = tempfile::tempdir().unwrap();
    for cache in [CacheOptions::new().no_disk(), store(folder.path()), store(folder.path())] {
        let Some(context) = context(cache) else { return };
        REFUSALS.store(0, SeqCst);
        REFUSES.store(true, SeqCst);
        run(&context).unwrap_err();
        let asked = REFUSALS.load(SeqCst);
        assert_eq!(asked, 4, "twice for the fused code, and twice for the kernel by itself");
        run(&context).unwrap_err();
        assert_eq!(REFUSALS.load(SeqCst), asked, "the driver is asked again");
        REFUSES.store(false, SeqCst);
        context.clear_memory_cache();
        run(&context).unwrap();
    }
}
