//! The chain of four kernels over sizes: unfused, fused, fused with private temporaries, with its kernels in Rust,
//! and written by hand.
//!
//! `chain/gpu` is the time between timestamps on the device, `chain/wall` the time until the host sees completion.

mod workloads;

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use vkfuse::Event;
use workloads::Chain;

fn chain(criterion: &mut Criterion) {
    let (context, queue) = workloads::open();
    for n in workloads::sizes(&context) {
        let plain = Chain::new(&context, &queue, n, false);
        let promoted = Chain::new(&context, &queue, n, true);
        let variants: [(&str, &dyn Fn() -> Vec<Event>); 6] = [
            ("unfused", &|| plain.submit()),
            ("fused", &|| vec![plain.submit_fused()]),
            ("promoted", &|| vec![promoted.submit_fused()]),
            ("fused, in Rust", &|| vec![plain.submit_fused_rust()]),
            ("promoted, in Rust", &|| vec![promoted.submit_fused_rust()]),
            ("by hand", &|| vec![plain.submit_by_hand()]),
        ];
        for clock in ["gpu", "wall"] {
            let mut group = criterion.benchmark_group(format!("chain/{clock}"));
            group.throughput(Throughput::Elements(n as u64)).sample_size(10);
            group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
            for (name, run) in variants {
                group.bench_function(BenchmarkId::new(name, n), |bencher| {
                    bencher.iter_custom(|iterations| (0..iterations).map(|_| once(run, clock)).sum());
                });
            }
        }
    }
}

/// The time of one run by the clock asked for.
fn once(run: &dyn Fn() -> Vec<Event>, clock: &str) -> Duration {
    let start = Instant::now();
    let events = run();
    Event::wait_all(&events).expect("the run");
    let wall = start.elapsed();
    match clock {
        "gpu" => events.iter().map(|event| event.gpu_time().expect("profiling is on")).sum(),
        _ => wall,
    }
}

criterion_group!(benches, chain);
criterion_main!(benches);
