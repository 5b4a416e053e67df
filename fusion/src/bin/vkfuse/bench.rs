//! `vkfuse bench`: how long a list takes warm, unfused and fused.

use crate::args::BenchArgs;
use crate::gather;
use crate::pipeline::check;
use crate::pipeline::{self, contents};
use crate::report::json::{FORMAT, Group, Run, Split, Times};
use crate::report::{print_groups, print_json, print_splits, print_times};
use crate::run::{labels, medians, micros};
use crate::session::Session;
use crate::stop::{Status, Stop};
use serde::Serialize;
use std::io::Write;
use std::time::{Duration, Instant};

/// Rounds before the timed ones: the first builds everything.
const WARM_UP_ROUNDS: u32 = 3;

/// Time before the timed rounds. A GPU that has just taken gigabytes of uploads runs at a third of its
/// speed for some hundred milliseconds, until its clocks have settled.
const WARM_UP: Duration = Duration::from_millis(600);

#[derive(Serialize)]
struct Bench {
    format: u32,
    name: Option<String>,
    device: String,
    driver: String,
    iters: u32,
    groups: Vec<Group>,
    splits: Vec<Split>,
    time_us: Times,
}

/// Times the file and prints medians.
pub(crate) fn bench(args: &BenchArgs, out: &mut dyn Write) -> Result<Status, Stop> {
    let pipeline = pipeline::load(&args.file)?;
    contents::check_files(&pipeline)?;
    let checked = check::check(&pipeline)?;
    let session = Session::open(&pipeline, &checked, &args.device, None)?;
    // The list runs on the same memory again and again: what the numbers become does not matter
    // here, and neither uploads nor fresh memory disturb the clock.
    let unfused_buffers = session.buffers()?;
    let fused_buffers = session.buffers()?;
    let mut groups = Vec::new();
    let mut splits = Vec::new();
    let mut runs = Vec::with_capacity(args.iters as usize);
    let start = Instant::now();
    let mut warm_rounds = 0;
    while runs.len() < args.iters as usize {
        let unfused = session.run_unfused(&unfused_buffers)?;
        let fused = session.run_fused(&fused_buffers)?;
        if let Some(report) = &fused.fusion {
            let gathered = gather::fused(&pipeline, &fused_buffers.ids(), report);
            (groups, splits) = (gathered.groups, gathered.splits);
        }
        if warm_rounds < WARM_UP_ROUNDS || start.elapsed() < WARM_UP && runs.is_empty() {
            warm_rounds += 1;
        } else {
            let mut run = Run::default();
            run.time_us.unfused_gpu = unfused.gpu.map(micros);
            run.time_us.unfused_wall = Some(micros(unfused.wall));
            run.time_us.fused_gpu = fused.gpu.map(micros);
            run.time_us.fused_wall = Some(micros(fused.wall));
            runs.push(run);
        }
    }
    let (device, driver) = session.device();
    let bench = Bench {
        format: FORMAT,
        name: pipeline.name.clone(),
        device,
        driver,
        iters: args.iters,
        groups,
        splits,
        time_us: medians(&runs),
    };
    if args.json {
        print_json(out, &bench)?;
    } else {
        let labels = labels(&pipeline);
        let title = bench.name.as_deref().unwrap_or("fusion list");
        writeln!(out, "{title}, {} submissions, medians of {} runs", labels.len(), bench.iters)?;
        writeln!(out, "{} ({})\n", bench.device, bench.driver)?;
        print_groups(out, &bench.groups, &labels)?;
        print_splits(out, &bench.splits, &labels)?;
        print_times(out, &bench.time_us)?;
    }
    Ok(Status::Success)
}
