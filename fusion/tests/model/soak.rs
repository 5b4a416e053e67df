//! Random use on two threads for a long time: memory, handles and threads are as many in the end as after warming up.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use vkfuse::{CacheOptions, Context, Objects};

use super::{
    ALONE, heap, number,
    sequence::{self, Engine, Kind, Shape},
    support::own::Own,
};

/// What the process has.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Resident memory in KiB, that of driver and layers included, after the C allocator gave back what it has no use for.
    resident: u64,
    /// Bytes of the Rust heap.
    heap: usize,
    files: usize,
    threads: usize,
    /// Before the cache was emptied.
    objects: Objects,
}

impl Sample {
    /// With an empty cache, so that only what leaks can grow. Nothing on a system without `/proc`.
    fn take(context: &Context) -> Option<Sample> {
        let objects = context.objects();
        context.clear_memory_cache();
        heap::give_back();
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let value = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        };
        Some(Sample {
            resident: value("VmRSS:")?,
            heap: heap::live(),
            files: files()?,
            threads: threads()?,
            objects,
        })
    }
}

/// The least of several looks at something that is counted a little too high now and then.
fn least(look: impl Fn() -> Option<usize>) -> Option<usize> {
    let looks = (0..20).map(|_| {
        thread::sleep(Duration::from_millis(10));
        look()
    });
    looks.min().flatten()
}

/// Open files. Mesa opens its shader cache for a moment.
fn files() -> Option<usize> {
    least(|| Some(fs::read_dir("/proc/self/fd").ok()?.count()))
}

/// The process's threads, without those that Mesa adds as it needs them to write its shader cache. The kernel counts one
/// that was joined for a moment longer.
fn threads() -> Option<usize> {
    let ours = |task: std::io::Result<fs::DirEntry>| {
        let name = fs::read_to_string(task.ok()?.path().join("comm")).ok()?;
        (!name.contains(":disk$")).then_some(())
    };
    least(|| Some(fs::read_dir("/proc/self/task").ok()?.filter_map(ours).count()))
}

/// Staging memory that a context keeps: eight chunks for uploads and eight for downloads at most. How many there are
/// depends on how many transfers of any two threads happened to be under way at once.
const STAGING: u64 = 16;

/// Bytes of the heap when all that is remembered is full: a run settles at 2.1 to 2.3 MB.
const FULL: usize = 2_500_000;

/// Pipelines kept in memory: few, so that the cache is full soon and evicts from then on.
const PIPELINES: usize = 256;

/// `VKFUSE_SOAK_SECONDS` says how long; CI takes a minute. Samples are taken with both threads at rest, a tenth of the time apart.
#[test]
fn memory_handles_and_threads_stay_flat() {
    let _alone = ALONE.lock();
    let cache = CacheOptions::new().no_disk().memory_entries(PIPELINES);
    let Some(own) = Own::open() else { return };
    let engine = Engine::over(own, cache);
    let seconds = number("VKFUSE_SOAK_SECONDS").unwrap_or(25);
    let (started, next) = (Instant::now(), AtomicU64::new(number("VKFUSE_MODEL_FIRST").unwrap_or(1 << 32)));
    let mut samples: Vec<Sample> = Vec::new();
    let mut calls = 0;
    for part in 1..=10 {
        let until = started + Duration::from_secs(seconds) * part / 10;
        let work = || {
            let mut made = 0;
            while Instant::now() < until {
                let seed = next.fetch_add(1, Relaxed);
                let shape = Shape { kind: Kind::Apart, threads: 1, ..Shape::of(seed) };
                match sequence::run_as(&engine, seed, shape) {
                    Ok(calls) => made += calls,
                    Err(difference) => panic!("{difference}\n{}", sequence::describe_as(seed, shape)),
                }
            }
            made
        };
        calls += thread::scope(|scope| {
            let threads = [scope.spawn(work), scope.spawn(work)];
            threads.into_iter().map(|thread| thread.join().expect("a difference")).sum::<u64>()
        });
        // Host tasks of queues that are gone may have failed, as planned; that is said once.
        let _ = engine.rig.context.wait();
        engine.rig.context.wait().expect("a wait for everything");
        engine.rig.context.wait_for_builds();
        let Some(sample) = Sample::take(&engine.rig.context) else { continue };
        println!("{:6.0} s: {sample:?}", started.elapsed().as_secs_f64());
        samples.push(sample);
    }
    let sequences = next.load(Relaxed) - number("VKFUSE_MODEL_FIRST").unwrap_or(1 << 32);
    let stats = engine.rig.context.stats();
    let compiled = stats.driver_compiles;
    println!(
        "{sequences} sequences, {calls} calls on two threads in {:.0?}; {} dispatches, {compiled} pipelines made, {} lists fused, {} split, {} \
         cancelled, {} refused; {} validation messages",
        started.elapsed(),
        stats.dispatches,
        stats.lists_fused,
        stats.lists_split,
        stats.lists_cancelled,
        stats.lists_refused,
        engine.own.as_ref().map_or(0, Own::messages)
    );
    engine.close();
    // The second half: by then what is known, up to its bounds, is known.
    let [.., warm, _, _, _, _, last] = samples[..] else { return };
    assert_eq!(last.files, warm.files, "open files");
    assert_eq!(last.threads, warm.threads, "threads");
    // No one has a buffer or a submission now; staging memory is kept, and the cache keeps some pipelines.
    assert!(last.objects.buffers <= STAGING, "{warm:?} {last:?}");
    assert!(last.objects.pipelines <= PIPELINES as u64 + 8, "{last:?}");
    assert!(last.objects.submissions <= warm.objects.submissions.max(32), "{warm:?} {last:?}");
    // A table may double once more; a leak of a byte a call would be some hundred KiB in a minute. Up to `FULL`, what is known
    // may still be filling its tables: a machine that does other things too makes few calls in this time.
    assert!(last.heap <= FULL.max(warm.heap + (192 << 10)), "{warm:?} {last:?}");
    // The driver's compiler and the layers never settle to the byte, and a pipeline takes some 200 KiB there.
    let filled = (PIPELINES as u64).saturating_sub(warm.objects.pipelines) * 320;
    assert!(last.resident <= warm.resident + warm.resident / 4 + (32 << 10) + filled, "{warm:?} {last:?}");
}
