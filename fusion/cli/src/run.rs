//! `vkfuse run`: runs a list unfused and fused and compares what comes out.

use crate::args::{MOST_CHECKED, Mode, RunArgs};
use crate::gather::{self, Gathered};
use crate::outputs::Outputs;
use crate::pipeline::check::{self, Checked};
use crate::pipeline::{self, Pipeline, contents};
use crate::report::json::{Cache, FORMAT, Named, Report, Run, Times};
use crate::report::{print_json, print_run};
use crate::run_page::{self, DispatchTimes};
use crate::save::{Saves, write_whole};
use crate::session::{self, Session, Timed};
use crate::stop::{Status, Stop};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;
use vkfuse::FusionReport;

/// How often the dispatches of a fused list are timed one by one, for a page.
const DISPATCH_RUNS: usize = 3;

/// Runs the file and prints the report.
pub(crate) fn run(args: &RunArgs, out: &mut dyn Write) -> Result<Status, Stop> {
    let pipeline = pipeline::load(&args.file)?;
    contents::check_files(&pipeline)?;
    let checked = check::check(&pipeline, &session::known(&args.device)?)?;
    checked.runs(&pipeline)?;
    if let Some(folder) = &args.dump_spirv {
        std::fs::create_dir_all(folder)
            .map_err(|error| Stop::wrong(format!("cannot make the folder {}: {error}", folder.display())))?;
    }
    let mut saves = Saves::new(&pipeline, &args.save)?;
    let session = Session::open(&pipeline, &checked, &args.device, args.dump_spirv.as_deref())?;

    let mut gathered = gather::unfused(&pipeline, &checked);
    let mut outputs = Outputs::new(&pipeline);
    let mut runs = Vec::with_capacity(args.repeat as usize);
    let mut shown = Shown::default();
    // In its first run a driver may compile what it did not compile before, and memory is touched for the first time: it is compared, and
    // not timed.
    let first =
        once(&session, &pipeline, args.mode, &mut gathered, &mut outputs, &mut shown, Some(&mut saves))?;
    saves.write()?;
    shown.alone.clear();
    for _ in 0..args.repeat {
        runs.push(once(&session, &pipeline, args.mode, &mut gathered, &mut outputs, &mut shown, None)?);
    }
    let differ = outputs.differ();
    let outputs_by_atomics = outputs.differ_in_floats();
    let mut report = report(&session, &pipeline, args.mode, gathered, (first, runs), outputs);
    // What the engine found to be said of kernels: the log has it as well.
    let kernels = shown.fusion.iter().flat_map(|fusion| &fusion.kernels);
    report.notes = checked.notes_and(kernels.flat_map(|kernel| &kernel.notes));
    if let Some(page) = &args.html {
        let labels = labels(&pipeline);
        let times = shown.times(&session, labels.len())?;
        let whole = (report.time_us.unfused_gpu, report.time_us.fused_gpu);
        let picture = shown.picture(&labels, &times, whole);
        write_whole(page, run_page::page(&report, &labels, picture.as_deref(), &times).as_bytes())
            .map_err(|error| Stop::wrong(format!("cannot write the page {}: {error}", page.display())))?;
    }
    for note in uncompared(&pipeline, args.mode, &shown.internalized) {
        tracing::warn!("{note}");
        report.notes.push(note);
    }
    if args.json {
        print_json(out, &report)?;
    } else {
        print_run(out, &report, &labels(&pipeline))?;
        let adding = outputs_by_atomics.then(|| adding(&pipeline, &checked)).flatten();
        if let Some(adding) = adding {
            writeln!(out, "  {adding}")?;
        }
        if differ && !report.trusted.is_empty() {
            writeln!(
                out,
                "  the list was fused on trust, see *trusted* above: `policy = \"prove\"` fuses what is proven"
            )?;
        }
        if let Some(hint) = hint(&pipeline, differ, std::io::stdout().is_terminal()) {
            writeln!(out, "  {hint}\n")?;
        }
    }
    if args.mode.fused() && pipeline.fusion.force && report.groups.len() != 1 {
        return Err(not_fused(&report, differ));
    }
    Ok(if differ { Status::Different } else { Status::Success })
}

/// What `vkfuse check` is for, where somebody reads it and it would do it.
fn hint(pipeline: &Pipeline, differ: bool, is_read: bool) -> Option<String> {
    let file = pipeline.file.display();
    if differ {
        return Some(format!(
            "`vkfuse check {file}` may find why: it looks for races, for reads of what nothing has written and for accesses outside of buffers"
        ));
    }
    let bytes = pipeline.buffers.iter().fold(0u64, |sum, buffer| sum.saturating_add(buffer.bytes()));
    let is_small = bytes <= MOST_CHECKED;
    (is_read && is_small).then(|| {
        format!("`vkfuse check {file}` runs the kernels in an interpreter, and looks for races and uninitialised reads")
    })
}

/// What is known of differing floats where kernels update them by atomic operations.
fn adding(pipeline: &Pipeline, checked: &Checked) -> Option<String> {
    let submits = pipeline.submits.iter().zip(&checked.submits);
    let atomic = submits.filter(|(_, checked)| checked.kernel.interface.has_atomics);
    let mut names: Vec<&str> = atomic.map(|(submit, _)| &*pipeline.kernels[submit.kernel].name).collect();
    names.dedup();
    let (is_one, names) = (names.len() == 1, names.join(", "));
    let (kernel, has) = if is_one { ("kernel", "has") } else { ("kernels", "have") };
    (!names.is_empty()).then(|| {
        format!(
            "{kernel} {names} {has} atomic operations: floats that these add come in no fixed order, and their last bits differ from run to run"
        )
    })
}

/// Outputs that the file lists, and that have no memory in the fused run.
fn uncompared(pipeline: &Pipeline, mode: Mode, internalized: &[bool]) -> Vec<String> {
    let Some(place) = pipeline.fusion.outputs_place.as_ref().filter(|_| mode == Mode::Both) else {
        return Vec::new();
    };
    let outputs = pipeline.fusion.outputs.iter().flatten();
    let inside = outputs.filter(|index| internalized.get(**index) == Some(&true));
    let note = |index: &usize| {
        let name = &pipeline.buffers[*index].name;
        let message = format!("{name} was promoted and stays inside of the fused kernel: it is not compared");
        pipeline.problem(place, message).to_string()
    };
    inside.map(note).collect()
}

/// What the picture is made of, beside the report.
#[derive(Default)]
struct Shown {
    fusion: Option<Arc<FusionReport>>,
    /// Of each repetition, the time of each submission on the device in the unfused run.
    alone: Vec<Vec<Option<Duration>>>,
    /// For each buffer of the file, whether the fused run left its memory unwritten.
    internalized: Vec<bool>,
}

impl Shown {
    /// The time of each submission and of each dispatch, medians where there are several runs.
    fn times(&self, session: &Session<'_>, submissions: usize) -> Result<DispatchTimes, Stop> {
        let median = |runs: &[Vec<Option<Duration>>], place: usize| {
            let mut times: Vec<f64> =
                runs.iter().filter_map(|run| Some(micros((*run.get(place)?)?))).collect();
            times.sort_by(f64::total_cmp);
            times.get(times.len() / 2).copied()
        };
        let alone = (0..submissions).map(|place| median(&self.alone, place)).collect();
        let mut each = Vec::new();
        if let Some(fusion) = &self.fusion {
            for _ in 0..DISPATCH_RUNS {
                // A buffer that the whole list kept in memory stays there, since another dispatch may read it.
                let buffers = session.buffers_promoting(|index| self.internalized[index])?;
                each.push(session.run_dispatches(&buffers, fusion)?);
            }
        }
        let dispatches = each.first().map_or(0, Vec::len);
        Ok(DispatchTimes { alone, fused: (0..dispatches).map(|place| median(&each, place)).collect() })
    }

    /// The last are microseconds of all submissions unfused, and of the list.
    fn picture(
        &self,
        labels: &[String],
        times: &DispatchTimes,
        (unfused, fused): (Option<f64>, Option<f64>),
    ) -> Option<String> {
        let mut picture = self.fusion.as_ref()?.picture().kernel_names(labels);
        // All or none.
        if let Some(alone) = times.alone.iter().copied().collect::<Option<Vec<f64>>>() {
            picture = picture.unfused_us(alone);
        }
        if let Some(each) = times.fused.iter().copied().collect::<Option<Vec<f64>>>() {
            picture = picture.dispatches_us(each);
        }
        if let Some(time) = unfused {
            picture = picture.whole_unfused_us(time);
        }
        if let Some(time) = fused {
            picture = picture.fused_us(time);
        }
        Some(picture.svg())
    }
}

/// The kernel of each submission.
pub(crate) fn labels(pipeline: &Pipeline) -> Vec<String> {
    let submits = pipeline.submits.iter();
    submits.map(|submit| pipeline.kernels[submit.kernel].name.clone()).collect()
}

/// One repetition: each mode on fresh buffers, and the comparison.
fn once(
    session: &Session<'_>,
    pipeline: &Pipeline,
    mode: Mode,
    gathered: &mut Gathered,
    outputs: &mut Outputs<'_>,
    shown: &mut Shown,
    mut saves: Option<&mut Saves<'_>>,
) -> Result<Run, Stop> {
    let mut run = Run::default();
    let mut unfused = None;
    if mode.unfused() {
        let buffers = session.buffers()?;
        let timed = session.run_unfused(&buffers)?;
        run.time_us.unfused_gpu = timed.gpu.map(micros);
        run.time_us.unfused_wall = Some(micros(timed.wall));
        shown.alone.push(timed.each);
        unfused = Some(outputs.download(&buffers, |_| true)?);
        if let Some(saves) = &mut saves {
            saves.take(&buffers, |_| true)?;
        }
    }
    let mut fused = None;
    if mode.fused() {
        let buffers = session.buffers()?;
        let timed = session.run_fused(&buffers)?;
        note_fused(&mut run, &timed);
        if let Some(report) = &timed.fusion {
            let found = gather::fused(pipeline, &buffers.ids(), report);
            // A list that was refused as a whole has no groups of its own: it ran as in an unfused run.
            let groups =
                if found.groups.is_empty() { std::mem::take(&mut gathered.groups) } else { found.groups };
            *gathered = Gathered { groups, ..found };
            shown.fusion = Some(report.clone());
            shown.internalized.clone_from(&gathered.internalized);
        }
        fused = Some(outputs.download(&buffers, |index| !gathered.internalized[index])?);
        if let Some(saves) = saves {
            saves.take(&buffers, |index| !gathered.internalized[index])?;
        }
    }
    outputs.add(unfused, fused);
    Ok(run)
}

fn note_fused(run: &mut Run, timed: &Timed) {
    run.time_us.fused_gpu = timed.gpu.map(micros);
    run.time_us.fused_wall = Some(micros(timed.wall));
    if let Some(report) = &timed.fusion {
        run.time_us.jit = Some(report.jit_us);
        run.time_us.driver = Some(report.driver_us);
        run.cache = Cache::of(report);
    }
}

fn report(
    session: &Session<'_>,
    pipeline: &Pipeline,
    mode: Mode,
    gathered: Gathered,
    (first, runs): (Run, Vec<Run>),
    outputs: Outputs<'_>,
) -> Report {
    let (device, driver) = session.device();
    let names = pipeline.buffers.iter().map(|buffer| buffer.name.clone());
    Report {
        format: FORMAT,
        name: pipeline.name.clone(),
        device,
        driver,
        mode: mode.name(),
        outcome: gathered.outcome,
        groups: gathered.groups,
        splits: gathered.splits,
        buffers: Named(names.zip(gathered.buffers).collect()),
        trusted: gathered.trusted,
        changed: gathered.changed,
        rewrites: gathered.rewrites,
        checks: gathered.checks,
        notes: Vec::new(),
        choice: gathered.choice,
        cache: first.cache,
        time_us: Times {
            jit: first.time_us.jit,
            driver: first.time_us.driver,
            first_unfused_wall: first.time_us.unfused_wall,
            first_fused_wall: first.time_us.fused_wall,
            ..medians(&runs)
        },
        outputs: Named(outputs.finish(&gathered.internalized)),
        runs,
    }
}

/// Medians of the times that every repetition takes.
pub(crate) fn medians(runs: &[Run]) -> Times {
    let median = |time: fn(&Times) -> Option<f64>| {
        let mut times: Vec<f64> = runs.iter().filter_map(|run| time(&run.time_us)).collect();
        times.sort_by(f64::total_cmp);
        let middle = times.len() / 2;
        match times.len() % 2 {
            _ if times.is_empty() => None,
            1 => Some(times[middle]),
            _ => Some((times[middle - 1] + times[middle]) / 2.0),
        }
    };
    Times {
        jit: None,
        driver: None,
        first_unfused_wall: None,
        first_fused_wall: None,
        recorded_gpu: median(|times| times.recorded_gpu),
        recorded_wall: median(|times| times.recorded_wall),
        unfused_gpu: median(|times| times.unfused_gpu),
        fused_gpu: median(|times| times.fused_gpu),
        unfused_wall: median(|times| times.unfused_wall),
        fused_wall: median(|times| times.fused_wall),
    }
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn not_fused(report: &Report, differ: bool) -> Stop {
    let why = match report.splits.first() {
        Some(split) => format!(": split after submission {}, {}", split.after, split.reason),
        None => String::new(),
    };
    // A list that did not become one runs as it is: the report has these dispatches.
    let dispatches = report.groups.len();
    let differ = if differ { "; outputs differ as well" } else { "" };
    Stop {
        status: Status::NotFused,
        message: format!(
            "fusion was forced, and the list did not become one group{why}; it ran unfused, as {dispatches} dispatches{differ}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_is_named_where_somebody_reads_it_and_it_would_do_it() {
        let list = |len: u64| {
            let text = format!(
                "format = 1\n[kernels.k]\npath = \"k.spv\"\n[buffers.b]\ntype = \"f32\"\nlen = {len}\n\
                 [[submit]]\nkernel = \"k\"\ngroups = [1]\nargs = {{ 0 = \"b\" }}\n"
            );
            pipeline::parse(std::path::Path::new("t.toml"), &text)
                .unwrap_or_else(|problem| panic!("{problem}"))
        };
        let (small, large) = (list(1 << 24), list((1 << 24) + 1));
        let named = |pipeline, differ, is_read| {
            hint(pipeline, differ, is_read).is_some_and(|hint| hint.contains("`vkfuse check t.toml`"))
        };
        assert!(named(&small, false, true) && named(&large, true, false));
        assert_eq!((hint(&small, false, false), hint(&large, false, true)), (None, None));
    }
}
