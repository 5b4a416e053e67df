//! `vkfuse bench`: how long lists take warm, unfused and fused.

pub(crate) mod predicted;

use crate::args::BenchArgs;
use crate::bench_page;
use crate::gather;
use crate::interrupt;
use crate::pipeline::check::{self, Checked};
use crate::pipeline::{self, Pipeline, contents};
use crate::progress::Bar;
use crate::report::json::{Choice, FORMAT, Group, Rewrite, Run, Split, Times};
use crate::report::{
    Table, Timing, is_any_fused, print_choice, print_groups, print_json, print_rewrites, print_splits,
    print_times,
};
use crate::run::{labels, medians, micros};
use crate::save::write_whole;
use crate::session::{self, Session};
use crate::stop::{Status, Stop};
use predicted::{Model, Predicted, Summary};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Rounds before the timed ones: the first builds everything.
const WARM_UP_ROUNDS: u32 = 3;

/// A GPU that has just taken gigabytes of uploads runs at a third of its speed until its clocks have settled, which
/// takes a second or more. Timing starts when such a window of time brought nothing any more.
const WINDOW: Duration = Duration::from_millis(400);

/// Windows after which timing starts whatever comes.
const MAX_WINDOWS: u32 = 12;

/// Tells when the times of rounds have settled.
struct WarmUp {
    rounds: u32,
    windows: u32,
    start: Instant,
    /// Shortest round of the present window and of all before it.
    window: Duration,
    best: Duration,
}

impl WarmUp {
    fn new() -> Self {
        Self { rounds: 0, windows: 0, start: Instant::now(), window: Duration::MAX, best: Duration::MAX }
    }

    /// Notes a round that took `time`; whether timing may start.
    fn is_over(&mut self, time: Duration) -> bool {
        self.rounds += 1;
        self.window = self.window.min(time);
        if self.start.elapsed() < WINDOW || self.rounds < WARM_UP_ROUNDS {
            return false;
        }
        let settled = self.window > self.best.mul_f64(0.995);
        self.best = self.best.min(self.window);
        self.windows += 1;
        (self.start, self.window) = (Instant::now(), Duration::MAX);
        settled || self.windows == MAX_WINDOWS
    }
}

#[derive(Serialize)]
pub(crate) struct Bench {
    pub(crate) format: u32,
    pub(crate) name: Option<String>,
    pub(crate) device: String,
    pub(crate) driver: String,
    pub(crate) iters: u32,
    /// Submissions of the list.
    pub(crate) submissions: usize,
    /// Elements of the largest buffer.
    pub(crate) elements: u64,
    /// Bytes of all buffers that stay in memory: what the fused list moves at the least.
    pub(crate) bytes: u64,
    pub(crate) groups: Vec<Group>,
    /// For people: `run --json` has them.
    #[serde(skip)]
    rewrites: Vec<Rewrite>,
    pub(crate) splits: Vec<Split>,
    pub(crate) choice: Option<Choice>,
    /// What is odd about the file and what it asks for.
    notes: Vec<String>,
    pub(crate) time_us: Times,
    /// Wall time of the first fused run, in microseconds: with JIT and driver.
    pub(crate) cold_wall_us: f64,
    /// What the planner's cost model says of the times on the device; nothing where the device does not tell times.
    pub(crate) predicted: Option<Predicted>,
}

impl Bench {
    fn title(&self) -> &str {
        self.name.as_deref().unwrap_or("fusion list")
    }

    /// What was predicted, and the times on the device, unfused and fused.
    fn compared(&self) -> Option<(Predicted, f64, f64)> {
        Some((self.predicted?, self.time_us.unfused_gpu?, self.time_us.fused_gpu?))
    }
}

/// What is printed for several files.
#[derive(Serialize)]
struct Benches<'a> {
    format: u32,
    benches: &'a [Bench],
    prediction: Option<Summary>,
}

/// Times the files and prints medians.
pub(crate) fn bench(args: &BenchArgs, out: &mut dyn Write) -> Result<Status, Stop> {
    // A mistake in the last file must not cost the time of all others.
    let mut lists = Vec::with_capacity(args.files.len());
    for file in &args.files {
        let pipeline = pipeline::load(file)?;
        contents::check_files(&pipeline)?;
        let checked = check::check(&pipeline, &session::known(&args.device)?)?;
        checked.runs(&pipeline)?;
        lists.push((pipeline, checked));
    }
    interrupt::listen();
    let mut benches = Vec::with_capacity(args.files.len());
    for (pipeline, checked) in &lists {
        // Nothing was timed where Ctrl-C came first.
        let Some((bench, labels)) = measure(pipeline, checked, args)? else { break };
        if !args.json {
            print(&bench, &labels, out)?;
            out.flush()?;
        }
        benches.push(bench);
    }
    let compared: Vec<_> = benches.iter().map(Bench::compared).collect();
    let prediction = Summary::of(&compared);
    if args.json {
        match benches.as_slice() {
            [bench] => print_json(out, bench)?,
            benches => print_json(out, &Benches { format: FORMAT, benches, prediction })?,
        }
    } else if let Some(summary) = prediction {
        if benches.len() > 1 {
            print_predictions(&benches, out)?;
        }
        let title = |number: usize| benches[number].title();
        let slower: Vec<&str> = summary.slower.iter().map(|&number| title(number)).collect();
        writeln!(
            out,
            "predictions: median error {:.0} %, worst {:.0} % ({}); slower fused than unfused by more than 5 %: {}",
            100.0 * summary.median_error,
            100.0 * summary.worst_error,
            title(summary.worst),
            if slower.is_empty() { "none".to_owned() } else { slower.join(", ") },
        )?;
    }
    let names: Vec<&Path> = args.files[..benches.len()].iter().map(|file| file.as_path()).collect();
    for problem in bench_page::not_beside(&names, &benches) {
        tracing::warn!("{problem}");
    }
    if !args.json && !benches.is_empty() {
        writeln!(out, "outputs are not compared here: `vkfuse run` does that")?;
    }
    if let Some(page) = &args.html {
        write_whole(page, bench_page::page(&names, &benches).as_bytes())
            .map_err(|error| Stop::wrong(format!("cannot write the page {}: {error}", page.display())))?;
    }
    Ok(interrupt::unless_asked(Status::Success))
}

/// A line for each list: what was predicted, what was measured, in microseconds, and how far that is off.
fn print_predictions(benches: &[Bench], out: &mut dyn Write) -> Result<(), Stop> {
    let titles = [
        "list",
        "unfused",
        "predicted",
        "error",
        "dispatches",
        "fused",
        "predicted",
        "error",
        "dispatches",
        "one command buffer",
        "times faster",
    ];
    let mut table = Table::new(&titles);
    for bench in benches {
        let Some((predicted, unfused, fused)) = bench.compared() else { continue };
        let sides = [
            (unfused, predicted.unfused_gpu, bench.submissions),
            (fused, predicted.fused_gpu, bench.groups.len()),
        ];
        let cells = sides.into_iter().flat_map(|(measured, predicted, dispatches)| {
            let error = 100.0 * (predicted - measured) / measured;
            [
                format!("{measured:.1}"),
                format!("{predicted:.1}"),
                format!("{error:+.0} %"),
                dispatches.to_string(),
            ]
        });
        let title = std::iter::once(bench.title().to_owned());
        let recorded = bench.time_us.recorded_gpu;
        let ratio = recorded
            .filter(|_| is_any_fused(&bench.groups))
            .map(|recorded| format!("{:.2}", recorded / fused));
        let recorded = recorded.map_or_else(String::new, |time| format!("{time:.1}"));
        table.row(title.chain(cells).chain([recorded, ratio.unwrap_or_default()]));
    }
    table.print(out)?;
    Ok(())
}

fn print(bench: &Bench, labels: &[String], out: &mut dyn Write) -> Result<(), Stop> {
    writeln!(out, "{}, {} submissions, medians of {} runs", bench.title(), labels.len(), bench.iters)?;
    writeln!(out, "{} ({})\n", bench.device, bench.driver)?;
    print_groups(out, &bench.groups, labels)?;
    print_rewrites(out, &bench.rewrites, labels)?;
    print_splits(out, &bench.splits, labels)?;
    print_choice(out, bench.choice.as_ref())?;
    let is_fused = is_any_fused(&bench.groups);
    print_times(out, &bench.time_us, Timing { is_fused, runs: bench.iters as usize })?;
    if let Some((predicted, unfused, fused)) = bench.compared() {
        let mut table = Table::new(&["predicted", "µs", "measured", "error", "bytes", "dispatches"]);
        let sides = [
            ("unfused", predicted.unfused_gpu, unfused, predicted.unfused_bytes, bench.submissions),
            ("fused", predicted.fused_gpu, fused, predicted.fused_bytes, bench.groups.len()),
        ];
        for (name, time, measured, bytes, dispatches) in sides {
            let error = format!("{:.0} %", 100.0 * Predicted::error(time, measured));
            let [time, measured] = [time, measured].map(|time| format!("{time:.1}"));
            table.row([name.to_owned(), time, measured, error, bytes.to_string(), dispatches.to_string()]);
        }
        table.print(out)?;
    }
    Ok(())
}

/// What it came to, over as many runs as there were until Ctrl-C; `None` if there was none.
fn measure(
    pipeline: &Pipeline,
    checked: &Checked,
    args: &BenchArgs,
) -> Result<Option<(Bench, Vec<String>)>, Stop> {
    let session = Session::open(pipeline, checked, &args.device, None)?;
    // The list runs on the same memory again and again: what the numbers become does not matter here, and neither uploads nor fresh
    // memory disturb the clock. A promoted buffer whose first reader finds what was in memory before the list is the exception: it
    // has no contents after a run that kept it inside.
    let unfused_buffers = session.buffers()?;
    let fused_buffers = session.buffers()?;
    let (device, driver) = session.device();
    let mut bench = Bench {
        format: FORMAT,
        name: pipeline.name.clone(),
        device,
        driver,
        iters: args.iters,
        submissions: pipeline.submits.len(),
        elements: pipeline.buffers.iter().map(|b| b.len).max().unwrap_or(0),
        bytes: moved(pipeline, &[]),
        groups: Vec::new(),
        rewrites: Vec::new(),
        splits: Vec::new(),
        choice: None,
        notes: Vec::new(),
        time_us: Times::default(),
        cold_wall_us: 0.0,
        predicted: None,
    };
    let mut report = None;
    let mut first: Option<Times> = None;
    let mut runs = Vec::with_capacity(args.iters as usize);
    let mut warm_up = WarmUp::new();
    let (mut is_warm, mut is_decided) = (false, true);
    let (mut inside, mut lost): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let bar = Bar::new("timed runs", args.iters as usize);
    while runs.len() < args.iters as usize && !interrupt::is_asked() {
        let unfused = session.run_unfused(&unfused_buffers)?;
        session.refill(&fused_buffers, &lost)?;
        let fused = match session.run_fused(&fused_buffers) {
            // A kernel may read more of a promoted buffer than the list writes, so that even what is written first has to be filled.
            Err(_) if lost.len() < inside.len() => {
                lost.clone_from(&inside);
                session.refill(&fused_buffers, &lost)?;
                session.run_fused(&fused_buffers)?
            }
            fused => fused?,
        };
        // What a program does today: all of it in one command buffer. Like the fused run it follows a run on the other set of buffers, so that
        // both find caches in the same state.
        let recorded = session.run_recorded(&unfused_buffers)?;
        if let Some(fused_report) = &fused.fusion {
            let gathered = gather::fused(pipeline, &fused_buffers.ids(), fused_report);
            bench.bytes = moved(pipeline, &gathered.internalized);
            inside = (0..pipeline.buffers.len()).filter(|&index| gathered.internalized[index]).collect();
            if lost.len() < inside.len() {
                let first = inside.iter().copied().filter(|&index| checked.is_read_first(pipeline, index));
                lost = first.collect();
            }
            is_decided = gathered.choice.as_ref().is_none_or(|choice| choice.decided);
            (bench.groups, bench.rewrites) = (gathered.groups, gathered.rewrites);
            (bench.splits, bench.choice) = (gathered.splits, gathered.choice);
            report = Some(fused_report.clone());
            first.get_or_insert_with(|| {
                bench.cold_wall_us = micros(fused.wall);
                let (jit, driver) = (Some(fused_report.jit_us), Some(fused_report.driver_us));
                Times { jit, driver, ..Times::default() }
            });
        }
        // What is still measured may run in another way next time.
        if !is_warm || !is_decided {
            is_warm = is_warm || warm_up.is_over(unfused.gpu.unwrap_or(unfused.wall));
        } else {
            let mut run = Run::default();
            run.time_us.unfused_gpu = unfused.gpu.map(micros);
            run.time_us.unfused_wall = Some(micros(unfused.wall));
            run.time_us.recorded_gpu = recorded.gpu.map(micros);
            run.time_us.recorded_wall = Some(micros(recorded.wall));
            run.time_us.fused_gpu = fused.gpu.map(micros);
            run.time_us.fused_wall = Some(micros(fused.wall));
            runs.push(run);
            bar.step();
        }
    }
    if runs.is_empty() {
        return Ok(None);
    }
    let kernels = report.iter().flat_map(|report| &report.kernels);
    bench.notes = checked.notes_and(kernels.flat_map(|kernel| &kernel.notes));
    bench.iters = runs.len() as u32;
    let first = first.unwrap_or_default();
    let first_fused_wall = Some(bench.cold_wall_us);
    bench.time_us = Times { jit: first.jit, driver: first.driver, first_fused_wall, ..medians(&runs) };
    if let (Some(report), Some(_)) = (report, bench.time_us.fused_gpu) {
        bench.predicted = Model::of(session.context()).map(|model| model.predict(&report));
    }
    Ok(Some((bench, labels(pipeline))))
}

/// Bytes of the buffers that are not internalized.
fn moved(pipeline: &Pipeline, internalized: &[bool]) -> u64 {
    let inside = |index: usize| internalized.get(index).copied().unwrap_or(false);
    let buffers = pipeline.buffers.iter().enumerate().filter(|(index, _)| !inside(*index));
    buffers.map(|(_, buffer)| buffer.bytes()).sum()
}
