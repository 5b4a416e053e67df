//! The hit path: what a list that was fused before costs the host.
//!
//! `null/…` is the time in this crate alone, over a driver that does nothing. `wall/…` is a real driver, from the first call
//! until the work was seen complete; `wall/raw` is a command buffer recorded beforehand and submitted through the Vulkan
//! calls themselves.
//!
//! `cargo bench --bench hit_path -- --repeat NAME COUNT` runs one case so many times and does nothing else, for tools that
//! count instructions: `benches/instructions.sh` does.

mod hit_cases;
mod null_driver;
mod raw_submit;
mod workloads;

use std::time::Duration;

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
