//! The hit path: what a list that was fused before costs the host.
//!
//! `null/…` is the time in this crate alone, over a driver that does nothing. `wall/…` is a real driver, from the first call
//! until the work was seen complete; `wall/raw` is a command buffer recorded beforehand and submitted through the Vulkan
//! calls themselves.
//!
//! On a machine that does other things too, means say little. `cargo bench --bench hit_path -- --least` prints the least
//! time of a run over many short batches, and the median wall times of the cases and of `raw`, each back to back, with their
//! ratio.
//!
//! `cargo bench --bench hit_path -- --lengths` prints the median wall times of a plain program with 1, 4, 16 and 64 kernels, with and without
//! profiling, each in turns with a raw submission of one dispatch.
//!
//! `cargo bench --bench hit_path -- --stages` prints where those wall times go: before the driver is asked to submit, inside that call, and after it.
//!
//! `cargo bench --bench hit_path -- --threads [NAME]` prints what a list costs where several threads record and complete lists at once, each
//! on a queue and buffers of its own, over the driver that does nothing: on one queue of the device, and on one for each.
//!
//! `cargo bench --bench hit_path -- --repeat NAME COUNT` runs one case this many times and does nothing else, for tools that
//! count instructions: `benches/instructions.sh` does.

mod hit_cases;
mod null_driver;
mod raw_submit;
mod stages;
mod workloads;

use std::{
    thread,
    time::{Duration, Instant},
};

use criterion::Criterion;
use hit_cases::{NAMES, case};
use raw_submit::{RawSubmit, Reset, TIMED};

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
    if let Some(at) = arguments.iter().position(|argument| argument == "--threads") {
        // What comes behind may be cargo's.
        return threads(arguments.get(at + 1).filter(|name| !name.starts_with("--")));
    }
    if arguments.iter().any(|argument| argument == "--lengths") {
        return lengths();
    }
    if arguments.iter().any(|argument| argument == "--stages") {
        return in_stages();
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
    let least = |name: &str, run: &mut dyn FnMut()| {
        let batch = |_| {
            let start = Instant::now();
            (0..RUNS).for_each(|_| run());
            start.elapsed() / RUNS
        };
        let least = (0..BATCHES).map(batch).min().expect("batches");
        println!("null/{name:<20} {:>8} ns", least.as_nanos());
    };
    for name in NAMES {
        let mut run = case(&context, name);
        least(name, &mut || drop(run()));
    }
    // Not a case: nothing of it is submitted.
    least("recorded", &mut hit_cases::recording(&context));
}

/// Lists of several threads at once, each on a queue of its own; on buffers of its own, or with inputs that all read.
fn threads(only: Option<&String>) {
    const RUNS: u32 = 100_000;
    const MOST: usize = 16;
    let names = ["same_buffers", "kept", "shared_inputs"].into_iter();
    let names: Vec<&str> = names.filter(|name| only.is_none_or(|only| only == name)).collect();
    assert!(!names.is_empty(), "no such list: {only:?}");
    for (name, queues) in names.into_iter().flat_map(|name| [(name, 1), (name, MOST)]) {
        let context = null_driver::with_queues(queues);
        for count in [1u16, 2, 4, 8, 16] {
            let runs = match name {
                "shared_inputs" => hit_cases::shared_inputs(&context, count.into()),
                name => (0..count).map(|_| case(&context, name)).collect(),
            };
            let start = Instant::now();
            thread::scope(|scope| {
                for mut run in runs {
                    scope.spawn(move || (0..RUNS).for_each(|_| drop(run())));
                }
            });
            let each = start.elapsed() / RUNS;
            let rate = f64::from(count) / each.as_secs_f64() / 1e6;
            println!(
                "threads/{name}/{queues} queues/{count} {:>8} ns a list and thread, {rate:.2} lists a µs",
                each.as_nanos()
            );
        }
    }
}

/// Wall times until the work was seen complete: of each case back to back, and likewise, in turns, of the raw submission and of
/// one that is recorded each time, on the next of as many sets of buffers as the cases go round: with a descriptor set for each that
/// was written beforehand, and with one that is written each time.
fn in_turn() {
    const TURNS: usize = 20;
    const RUNS: usize = 200;
    let real = raw_submit::context();
    let mut raw = raw_submit::RawSubmit::new();
    let times = |run: &mut dyn FnMut()| times(RUNS, run);
    let mut compare = |name: &str, run: &mut dyn FnMut(&mut RawSubmit)| {
        let (mut ours, mut same, mut others, mut new) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            ours.extend(times(&mut || run(&mut raw)));
            same.extend(times(&mut || raw.run()));
            others.extend(times(&mut || raw.run_on_others(Reset::Buffer)));
            new.extend(times(&mut || raw.run_on_new(Reset::Buffer)));
        }
        let (ours, same, others, new) = (median(ours), median(same), median(others), median(new));
        println!(
            "wall/{name:<20} {ours:>8.2} µs, raw {same:>8.2} µs, {:.2}x, raw on other buffers {others:>8.2} µs, {:.2}x, their set written {new:>8.2} µs, {:.2}x",
            ours / same,
            ours / others,
            ours / new
        );
    };
    for name in NAMES {
        let mut run = case(&real, name);
        compare(name, &mut |_| run().wait().expect("the run"));
    }
    // What recording alone costs, without this crate and with the same buffers.
    compare("raw, pool reset", &mut |raw| raw.run_recorded(Reset::Pool));
    compare("raw, buffer reset", &mut |raw| raw.run_recorded(Reset::Buffer));
}

/// Median wall times of a plain program until its work was seen complete, in turns with the raw submission.
fn lengths() {
    const TURNS: usize = 10;
    const RUNS: usize = 100;
    let real = raw_submit::context();
    let mut raw = raw_submit::RawSubmit::new();
    let times = |run: &mut dyn FnMut()| times(RUNS, run);
    for name in ["unfused", "fused", "kept"] {
        for kernels in [1, 4, 16, 64] {
            let [mut without, mut with] =
                [false, true].map(|profiling| hit_cases::plain(&real, name, kernels, profiling));
            let mut all: [Vec<Duration>; 3] = Default::default();
            for _ in 0..TURNS {
                all[0].extend(times(&mut || without().wait().expect("the run")));
                all[1].extend(times(&mut || with().wait().expect("the run")));
                all[2].extend(times(&mut || raw.run()));
            }
            let [without, with, raw] = all.map(median);
            println!(
                "lengths/{name}/{kernels:<2} {without:>8.2} µs, profiled {with:>8.2} µs, raw {raw:>8.2} µs"
            );
        }
    }
}

/// How long this many runs took, each.
fn times(runs: usize, run: &mut dyn FnMut()) -> Vec<Duration> {
    let one = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..runs).map(one).collect()
}

/// In microseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// One run of something, perhaps by the raw submission.
type Run = Box<dyn FnMut(&mut RawSubmit)>;

/// Medians of the stages of a run, of each case and of the raw submissions back to back.
fn in_stages() {
    const TURNS: usize = 20;
    const RUNS: usize = 200;
    let real = raw_submit::context();
    let mut raw = RawSubmit::new();
    let print = |name: &str, mut all: Vec<[Duration; 3]>| {
        let median = |at: usize| {
            let mut times: Vec<Duration> = all.iter().map(|one| one[at]).collect();
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e6
        };
        let [before, inside, after] = [0, 1, 2].map(median);
        all.sort_unstable_by_key(|one| one.iter().sum::<Duration>());
        let whole = all[all.len() / 2].iter().sum::<Duration>().as_secs_f64() * 1e6;
        println!(
            "stages/{name:<30} {before:>7.2} µs before, {inside:>7.2} µs inside, {after:>7.2} µs after, {whole:>7.2} µs"
        );
    };
    let mut runs: Vec<(&str, Run)> = vec![
        ("raw, same buffers", Box::new(RawSubmit::run)),
        ("raw, recorded", Box::new(|raw| raw.run_recorded(Reset::Buffer))),
        ("raw, other buffers", Box::new(|raw| raw.run_on_others(Reset::Buffer))),
        ("raw, other buffers, set written", Box::new(|raw| raw.run_on_new(Reset::Buffer))),
    ];
    for (way, (name, ..)) in TIMED.iter().enumerate() {
        runs.push((*name, Box::new(move |raw| raw.run_timed(way))));
    }
    for name in NAMES {
        let mut run = case(&real, name);
        runs.push((name, Box::new(move |_| run().wait().expect("the run"))));
    }
    let mut times = vec![Vec::new(); runs.len()];
    for _ in 0..TURNS {
        for ((_, run), times) in runs.iter_mut().zip(&mut times) {
            times.extend((0..RUNS).map(|_| stages::of(&mut || run(&mut raw))));
        }
    }
    runs.iter().zip(times).for_each(|((name, _), times)| print(name, times));
}
