//! The hit path: from `start_fusion` to the return of `complete_fusion` for a list that was fused before.
//!
//! The buffers are tiny, and waiting for the device is not counted. `submissions` is the same without fusion, for scale.

mod workloads;

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use vkfuse::Event;
use workloads::Chain;

fn hit_path(criterion: &mut Criterion) {
    let (context, queue) = workloads::open();
    let chain = Chain::new(&context, &queue, 1 << 10, true);
    chain.submit_fused().wait().expect("the cold run");
    Event::wait_all(&chain.submit()).expect("the cold run");
    let before = context.stats();

    let mut group = criterion.benchmark_group("hit_path");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(3));
    group.bench_function("start_to_complete", |bencher| {
        bencher.iter_custom(|iterations| {
            (0..iterations).map(|_| until_submitted(|| vec![chain.submit_fused()])).sum()
        });
    });
    group.bench_function("submissions", |bencher| {
        bencher.iter_custom(|iterations| (0..iterations).map(|_| until_submitted(|| chain.submit())).sum());
    });
    group.finish();
    let after = context.stats() - before;
    assert_eq!(after.memory_misses, 0, "every run after the first hits the memory cache");
    assert_eq!(after.jit_builds, 0, "and builds nothing");
}

/// Host time until everything is submitted; then waits, outside the measured time.
fn until_submitted(run: impl FnOnce() -> Vec<Event>) -> Duration {
    let start = Instant::now();
    let events = run();
    let elapsed = start.elapsed();
    Event::wait_all(&events).expect("the run");
    elapsed
}

criterion_group!(benches, hit_path);
criterion_main!(benches);
