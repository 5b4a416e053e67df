//! Where code comes from: built once, then from memory, then from disk.

use std::sync::{Arc, Mutex};

use vkfuse::{Artifact, CacheOptions, Context, ContextOptions, Event, NotCacheable, QueueOptions, Tier};
use vkfuse_cache::{Entry, Store, StoreConfig};

use crate::{N, support};

/// A context with its store in a folder; `None` without a device.
fn context(cache: CacheOptions) -> Option<Context> {
    let rig = support::Rig::open()?;
    drop(rig);
    Some(
        Context::with(ContextOptions::from_env().validation_layer(true).profiling(true).cache(cache))
            .expect("a device"),
    )
}

/// Runs the pair fused and promoted, with a factor.
fn run(context: &Context, factor: i32) -> Event {
    let queue = context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let scale = context.load_spirv(support::shader("pair/scale")).unwrap();
    let data: Vec<i32> = (0..N as i32).collect();
    let (a, tmp, out) = (
        context.buffer_from(&data).unwrap(),
        context.scratch::<i32>(N).unwrap(),
        context.buffer::<i32>(N).unwrap(),
    );
    let event = queue.fuse(|queue| {
        for (from, to) in [(&a, &tmp), (&tmp, &out)] {
            queue.submit(|h| {
                h.arg(0, from.read()).arg(1, to.write()).push(&(N as u32)).push(&factor);
                h.dispatch_items(&scale, [N as u32, 1, 1]);
            })?;
        }
        Ok(())
    });
    let expected: Vec<i32> = data.iter().map(|value| value * factor * factor).collect();
    assert_eq!(out.download().unwrap(), expected);
    event.unwrap()
}

#[test]
fn memory_then_disk() {
    let folder = tempfile::tempdir().unwrap();
    let cache = || CacheOptions::new().directory(folder.path());
    let Some(first) = context(cache()) else { return };
    let report = run(&first, 2).report().unwrap();
    assert_eq!((report.memory(), report.disk()), (Tier::Miss, Tier::Miss));
    assert!(report.jit_us > 0.0);

    let before = first.stats();
    let event = run(&first, 5);
    let report = event.report().unwrap();
    assert_eq!(
        (report.memory(), report.disk()),
        (Tier::Hit, Tier::NotAsked),
        "another scalar is no other kernel"
    );
    let made = first.stats() - before;
    assert_eq!((made.jit_builds, made.driver_compiles, made.memory_hits), (0, 0, 1));
    assert!(event.gpu_time().is_some_and(|time| !time.is_zero()));

    first.clear_memory_cache();
    assert_eq!(run(&first, 2).report().unwrap().disk(), Tier::Hit);
    drop(first);
    let second = context(cache()).unwrap();
    let report = run(&second, 3).report().unwrap();
    assert_eq!((report.memory(), report.disk()), (Tier::Miss, Tier::Hit));
    assert_eq!((report.jit_us, second.stats().jit_builds), (0.0, 0));
}

#[test]
fn a_damaged_store_is_a_miss() {
    let folder = tempfile::tempdir().unwrap();
    let cache = || CacheOptions::new().directory(folder.path());
    let Some(first) = context(cache()) else { return };
    run(&first, 2);
    drop(first);
    let mut folders = vec![folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let mut bytes = std::fs::read(&path).unwrap();
                let half = bytes.len() / 2;
                bytes[half..].iter_mut().for_each(|byte| *byte ^= 0x55);
                std::fs::write(&path, bytes).unwrap();
            }
        }
    }
    let second = context(cache()).unwrap();
    assert_eq!(run(&second, 2).report().unwrap().disk(), Tier::Miss);
}

#[test]
fn switched_off_it_builds_every_time() {
    let Some(context) = context(CacheOptions::off()) else { return };
    for builds in 1..3 {
        let report = run(&context, 2).report().unwrap();
        assert_eq!((report.memory(), report.disk()), (Tier::Off, Tier::Off));
        assert_eq!(context.stats().jit_builds, builds);
    }
}

#[test]
fn events_are_a_transcript() {
    let folder = tempfile::tempdir().unwrap();
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = lines.clone();
    // Written at once, so that the order is one.
    let at_once = vkfuse_cache::CacheOptions { queue_size: Some(0), ..Default::default() };
    let cache = CacheOptions::new().settings(at_once).directory(folder.path()).events(move |event| {
        // Whether there are blobs is the driver's business.
        if !event.name().ends_with("-blob") {
            sink.lock().unwrap().push(event.name().to_owned());
        }
    });
    let Some(context) = context(cache) else { return };
    let said = || std::mem::take(&mut *lines.lock().unwrap());
    run(&context, 2);
    // The kernel's normal form, then the fused code.
    let cold = ["did-miss-disk", "did-publish", "will-build", "did-miss-disk", "did-publish", "did-build"]
        .map(str::to_owned);
    assert_eq!(said(), cold);
    run(&context, 2);
    assert_eq!(said(), ["did-hit-disk", "did-hit-memory"], "the kernel is loaded again");
    let stats = context.cache_stats();
    assert_eq!((stats.pipelines.entries, stats.pipelines.hits, stats.pipelines.builds), (1, 1, 1));
    assert_eq!(stats.store.published, 2);
    // The pipeline leaves; the store has the code.
    context.resize_memory_cache(0, 1);
    assert_eq!(said(), ["did-evict-memory"]);
    assert_eq!(context.cache_stats().pipelines.entries, 0);
    run(&context, 2);
    assert!(said().contains(&"did-hit-disk".to_owned()));
    context.resize_memory_cache(0, 0);
    run(&context, 2);
    context.clear_memory_cache();
    assert_eq!(context.cache_stats().pipelines.entries, 0);
}

#[test]
fn verifying_finds_and_replaces_other_code() {
    let folder = tempfile::tempdir().unwrap();
    let cache = || CacheOptions::new().directory(folder.path()).verify(true);
    let Some(first) = context(cache()) else { return };
    run(&first, 2);
    first.clear_memory_cache();
    run(&first, 2);
    let stats = first.stats();
    assert_eq!((stats.disk_verified, stats.disk_different, stats.jit_builds), (2, 0, 2), "form and code");
    drop(first);
    // Other code under the same key, as if the key had forgotten something.
    let store = Store::open(StoreConfig::at(folder.path()));
    let mut entries = store.entries(&mut |_| {}).into_iter();
    let info = entries.find(|entry| entry.sections[0].0 == "spirv").unwrap();
    let mut code = store.read(&info).unwrap().section("spirv").unwrap().to_vec();
    code.extend_from_slice(&0x0001_0000_u32.to_le_bytes());
    assert!(store.put(info.key.as_ref().unwrap(), &Entry::new().with("spirv", code)).is_published());
    let second = context(cache()).unwrap();
    run(&second, 2);
    assert_eq!((second.stats().disk_verified, second.stats().disk_different), (1, 1));
    second.clear_memory_cache();
    run(&second, 2);
    assert_eq!((second.stats().disk_verified, second.stats().disk_different), (3, 1), "it was replaced");
}

#[test]
fn pipelines_in_use_outlive_their_eviction() {
    let cache = CacheOptions::new().no_disk().memory_entries(1);
    let Some(context) = context(cache) else { return };
    let queue = context.queue(QueueOptions::new()).unwrap();
    let kernels = ["pair/scale", "pair/add"].map(|name| context.load_spirv(support::shader(name)).unwrap());
    let data: Vec<i32> = (0..N as i32).collect();
    let (a, b) = (context.buffer_from(&data).unwrap(), context.buffer::<i32>(N).unwrap());
    let c = context.buffer::<i32>(N).unwrap();
    // No one waits: each submission evicts the pipeline of the one before, which may still run. None comes again as it was:
    // that would be run again with the pipeline that it had.
    for round in 0..50 {
        let items = (N + 16 * round) as u32;
        queue
            .submit(|h| {
                h.arg(0, a.read()).arg(1, b.write()).push(&(N as u32)).push(&2);
                h.dispatch_items(&kernels[0], [items, 1, 1]);
            })
            .unwrap();
        queue
            .submit(|h| {
                h.arg(0, a.read()).arg(1, b.read()).arg(2, c.write()).push(&(N as u32));
                h.dispatch_items(&kernels[1], [items, 1, 1]);
            })
            .unwrap();
    }
    let expected: Vec<i32> = data.iter().map(|value| value * 3).collect();
    assert_eq!(c.download().unwrap(), expected);
    assert!(context.cache_stats().pipelines.evictions > 90);
    assert_eq!(context.validation_messages(), 0);
}

#[test]
fn what_is_not_kept_is_said() {
    let Some(context) = context(CacheOptions::off()) else { return };
    assert_eq!(context.is_cacheable(Artifact::Pipeline), Err(NotCacheable::NoMemory));
    assert!(matches!(context.is_cacheable(Artifact::Code), Err(NotCacheable::NoStore(_))));
    let folder = tempfile::tempdir().unwrap();
    let context = self::context(CacheOptions::new().directory(folder.path())).unwrap();
    for artifact in [Artifact::Pipeline, Artifact::Code, Artifact::DriverBlob] {
        assert_eq!(context.is_cacheable(artifact), Ok(()));
    }
}

#[test]
fn a_lower_store_serves_what_it_has_and_reports_say_so() {
    let image = tempfile::tempdir().unwrap();
    let Some(first) = context(CacheOptions::new().directory(image.path())) else { return };
    run(&first, 2);
    assert!(first.flush_cache(std::time::Duration::from_secs(60)));
    drop(first);
    let own = tempfile::tempdir().unwrap();
    let cache = || CacheOptions::new().directory(own.path()).lower([image.path()]);
    let second = context(cache()).unwrap();
    let report = run(&second, 3).report().unwrap();
    assert_eq!((report.memory(), report.disk()), (Tier::Miss, Tier::Lower));
    let stats = second.stats();
    assert_eq!((stats.jit_builds, stats.kernel_hits, stats.kernel_misses), (0, 1, 0));
    assert_eq!(second.cache_stats().store.lower_hits, 2);
    // Without a store of its own as well.
    let third = context(CacheOptions::new().no_disk()).unwrap();
    assert_eq!(run(&third, 3).report().unwrap().disk(), Tier::Off);
    let unwritable = own.path().join("file");
    std::fs::write(&unwritable, "in the way").unwrap();
    let third = context(CacheOptions::new().directory(unwritable).lower([image.path()])).unwrap();
    assert_eq!(run(&third, 3).report().unwrap().disk(), Tier::Lower);
    assert!(third.is_cacheable(Artifact::Code).is_err());
}
