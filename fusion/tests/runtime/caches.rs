//! Where code comes from: built once, then from memory, then from disk.

use vkfuse::{CacheOptions, Context, ContextOptions, Event, QueueOptions, Tier};

use crate::{N, support};

/// A context with its store in a folder; `None` without a device.
fn context(cache: CacheOptions) -> Option<Context> {
    let rig = support::Rig::open()?;
    drop(rig);
    Some(
        Context::with(ContextOptions::from_env().validation(true).profiling(true).cache(cache))
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
