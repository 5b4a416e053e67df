//! The hit path: what a list that was fused before costs the host.
//!
//! `null/…` is the time in this crate alone, over a driver that does nothing. `wall/…` is a real driver, from the first call
//! until the work was seen complete; `wall/raw` is a command buffer recorded beforehand and submitted through the Vulkan
//! calls themselves.
//!
//! On a machine that does other things too, means say little. `cargo bench --bench hit_path -- --least` prints the least
//! time of a run over many short batches, and the median wall times of the cases and of `raw` taken in turn, with their
//! ratio.
//!
//! `cargo bench --bench hit_path -- --repeat NAME COUNT` runs one case so many times and does nothing else, for tools that
//! count instructions: `benches/instructions.sh` does.

mod hit_cases;
mod null_driver;
mod raw_submit;
mod workloads;

use std::time::{Duration, Instant};

use criterion::Criterion;
use hit_cases::{NAMES, case};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "--names") {
        return NAMES.iter().for_each(|name| println!("{name}"));
    }
    if let Some(at) = arguments.iter().position(|argument| argument == "--repeat") {
        let name = arguments.get(at + 1).expect("a name");
        let count = arguments.get(at + 2).and_then(|count| count.parse().ok()).expect("a count");
        let context = null_driver::open();
        let mut run = case(&context, name);
        return (0..count).for_each(|_| drop(run()));
    }
    if arguments.iter().any(|argument| argument == "--least") {
        least();
        return in_turn();
    }
    let mut criterion = Criterion::default().configure_from_args();
    let context = null_driver::open();
    let mut group = criterion.benchmark_group("null");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    for name in NAMES {
        let mut run = case(&context, name);
        group.bench_function(name, |bencher| bencher.iter(&mut run));
    }
    group.finish();

    let mut group = criterion.benchmark_group("wall");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    let real = raw_submit::context();
    for name in NAMES {
        let mut run = case(&real, name);
        group.bench_function(name, |bencher| bencher.iter(|| run().wait().expect("the run")));
    }
    let mut raw = raw_submit::RawSubmit::new();
    group.bench_function("raw", |bencher| bencher.iter(|| raw.run()));
    group.finish();
    criterion.final_summary();
}

/// The least time of a run over many batches, each too short to be interrupted often.
fn least() {
    const BATCHES: usize = 4000;
    const RUNS: u32 = 50;
    let context = null_driver::open();
    for name in NAMES {
        let mut run = case(&context, name);
        let batch = |_| {
            let start = Instant::now();
            (0..RUNS).for_each(|_| drop(run()));
            start.elapsed() / RUNS
        };
        let least = (0..BATCHES).map(batch).min().expect("batches");
        println!("null/{name:<20} {:>8} ns", least.as_nanos());
    }
}

/// Wall times until the work was seen complete, each case in turn with the raw submission.
fn in_turn() {
    const RUNS: usize = 4000;
    let real = raw_submit::context();
    let mut raw = raw_submit::RawSubmit::new();
    for name in NAMES {
        let mut run = case(&real, name);
        let mut times = [Vec::with_capacity(RUNS), Vec::with_capacity(RUNS)];
        for _ in 0..RUNS {
            let start = Instant::now();
            run().wait().expect("the run");
            let middle = Instant::now();
            raw.run();
            times[0].push(middle - start);
            times[1].push(middle.elapsed());
        }
        let [ours, raw] = times.map(|mut times| {
            times.sort_unstable();
            times[RUNS / 2].as_secs_f64() * 1e6
        });
        println!("wall/{name:<20} {ours:>8.2} µs, raw {raw:>8.2} µs, {:.2}x", ours / raw);
    }
}
