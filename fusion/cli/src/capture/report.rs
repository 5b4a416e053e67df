//! `vkfuse capture report`: what fusing the lists of a program comes to.
//!
//! Each list runs once on the device, fused; with `--measure` it is timed as well. A split costs a dispatch, and the bytes that go
//! through memory because of it: those of the buffer that decided, which a member before the cut writes and one behind it reads.

use super::lists::{self, Listed, Written};
use super::{page, program, target};
use crate::args::CaptureReportArgs;
use crate::bench::predicted::Model;
use crate::gather;
use crate::pipeline::{self, check};
use crate::progress::Bar;
use crate::report::json::{FORMAT, Run};
use crate::report::{Table, print_json};
use crate::run::{labels, medians, micros};
use crate::session::{self, Session};
use crate::stop::{Status, Stop};
use serde::Serialize;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::Write;
use vkfuse::{FusionReport, Internalization};

/// Runs before those that are timed.
const WARM_UP: u32 = 3;

/// Microseconds before and after.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Times {
    pub(super) unfused: f64,
    pub(super) fused: f64,
}

/// What fusing a list comes to.
#[derive(Serialize)]
pub(super) struct Judged {
    pub(super) file: String,
    pub(super) times: usize,
    /// Dispatches, copies and fills.
    pub(super) steps: usize,
    pub(super) dispatches: usize,
    /// Bytes that the steps are given to read and to write.
    pub(super) bytes_before: u64,
    pub(super) bytes_after: u64,
    pub(super) temporaries: usize,
    /// Temporaries that need no memory.
    pub(super) internalized: usize,
    pub(super) predicted_us: Option<Times>,
    /// On the device; unfused in one command buffer.
    pub(super) measured_us: Option<Times>,
    pub(super) splits: usize,
    #[serde(skip)]
    pub(super) picture: String,
}

/// A reason for splits, over all lists as often as they were submitted.
#[derive(Serialize)]
pub(super) struct Ranked {
    pub(super) reason: String,
    pub(super) explained_at: String,
    pub(super) splits: usize,
    pub(super) bytes: u64,
    /// What the splits cost, where the device tells times.
    pub(super) us: Option<f64>,
    /// A list with it, and after which step.
    pub(super) example: (String, usize),
}

/// The report.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) format: u32,
    pub(super) device: String,
    pub(super) driver: String,
    pub(super) capture: Written,
    /// Over all lists as often as they were submitted.
    pub(super) steps: usize,
    pub(super) dispatches: usize,
    pub(super) bytes_before: u64,
    pub(super) bytes_after: u64,
    pub(super) predicted_us: Option<Times>,
    pub(super) measured_us: Option<Times>,
    pub(super) lists: Vec<Judged>,
    /// Lists that did not run, and why.
    pub(super) failed: Vec<(String, String)>,
    pub(super) reasons: Vec<Ranked>,
}

/// Makes the report.
pub(super) fn report(args: &CaptureReportArgs, out: &mut dyn Write) -> Result<Status, Stop> {
    let program = program::read(&args.folder)?;
    let written = lists::write(&program, &target(&args.folder, None))?;
    let mut report = Report {
        format: FORMAT,
        device: String::new(),
        driver: String::new(),
        capture: written,
        steps: 0,
        dispatches: 0,
        bytes_before: 0,
        bytes_after: 0,
        predicted_us: None,
        measured_us: None,
        lists: Vec::new(),
        failed: Vec::new(),
        reasons: Vec::new(),
    };
    let (model, mut reasons) = (OnceCell::new(), BTreeMap::new());
    let listed = std::mem::take(&mut report.capture.lists);
    let bar = Bar::new("lists", listed.len());
    for list in &listed {
        match judged(list, args, &model, &mut reasons, &mut report) {
            Ok(judged) => report.lists.push(judged),
            Err(stop) if stop.status == Status::Wrong => {
                report.failed.push((list.file.display().to_string(), stop.message));
            }
            Err(stop) => return Err(stop),
        }
        bar.step();
    }
    drop(bar);
    report.capture.lists = listed;
    report.sum();
    report.reasons = reasons.into_values().collect();
    report.reasons.sort_by(|a, b| {
        let cost = |one: &Ranked| (one.us.unwrap_or(0.0), one.bytes as f64, one.splits as f64);
        cost(b).partial_cmp(&cost(a)).unwrap_or(std::cmp::Ordering::Equal)
    });
    if let Some(page) = &args.html {
        std::fs::write(page, page::page(&report))
            .map_err(|error| Stop::wrong(format!("cannot write the page {}: {error}", page.display())))?;
    }
    if args.json {
        print_json(out, &report)?;
    } else {
        print(&report, out)?;
    }
    // Nothing is known of a program none of whose lists could be looked at.
    let is_lost = report.lists.is_empty() && !(report.failed.is_empty() && report.capture.skipped.is_empty());
    Ok(if is_lost { Status::Different } else { Status::Success })
}

impl Report {
    /// Adds the lists up.
    fn sum(&mut self) {
        let add = |all: Option<Times>, one: Option<Times>, times: usize| {
            let (all, one) = (all?, one?);
            let times = times as f64;
            Some(Times { unfused: all.unfused + times * one.unfused, fused: all.fused + times * one.fused })
        };
        let none = Times { unfused: 0.0, fused: 0.0 };
        let (mut predicted, mut measured) = (Some(none), Some(none));
        for list in &self.lists {
            self.steps += list.times * list.steps;
            self.dispatches += list.times * list.dispatches;
            self.bytes_before += list.times as u64 * list.bytes_before;
            self.bytes_after += list.times as u64 * list.bytes_after;
            predicted = add(predicted, list.predicted_us, list.times);
            measured = add(measured, list.measured_us, list.times);
        }
        if !self.lists.is_empty() {
            (self.predicted_us, self.measured_us) = (predicted, measured);
        }
    }
}

fn judged(
    list: &Listed,
    args: &CaptureReportArgs,
    model: &OnceCell<Option<Model>>,
    reasons: &mut BTreeMap<String, Ranked>,
    report: &mut Report,
) -> Result<Judged, Stop> {
    let pipeline = pipeline::load(&list.file)?;
    let checked = check::check(&pipeline, &session::known(&args.device)?)?;
    checked.runs(&pipeline)?;
    let session = Session::open(&pipeline, &checked, &args.device, None)?;
    (report.device, report.driver) = session.device();
    let model = *model.get_or_init(|| Model::of(session.context()));
    let buffers = session.buffers()?;
    let run = session.run_fused(&buffers)?;
    let Some(fusion) = run.fusion else {
        return Err(Stop::wrong("the list ran without a report"));
    };
    let gathered = gather::fused(&pipeline, &buffers.ids(), &fusion);
    let file = list.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for (split, named) in fusion.plan.splits.iter().zip(&gathered.splits) {
        let bytes = list.times as u64 * handed_over(&fusion, split.after, split.buffer);
        let us = model.map(|model| list.times as f64 * model.dispatch_us + bytes as f64 / model.bytes_per_us);
        let ranked = reasons.entry(named.reason.clone()).or_insert_with(|| Ranked {
            reason: named.reason.clone(),
            explained_at: named.explained_at.clone(),
            splits: 0,
            bytes: 0,
            us: us.map(|_| 0.0),
            example: (file.clone(), split.after),
        });
        ranked.splits += list.times;
        ranked.bytes += bytes;
        ranked.us = ranked.us.zip(us).map(|(all, one)| all + one);
    }
    let predicted = model.map(|model| model.predict(&fusion));
    let arguments = || fusion.kernels.iter().flat_map(|one| &one.arguments);
    let is_inside = |got| got != Internalization::None;
    let measured_us = measured(&session, args.measure)?;
    let labels = labels(&pipeline);
    let mut picture = fusion.picture().kernel_names(&labels);
    if let Some(times) = measured_us {
        picture = picture.whole_unfused_us(times.unfused).fused_us(times.fused);
    }
    let picture = picture.svg();
    Ok(Judged {
        file,
        times: list.times,
        steps: pipeline.submits.len(),
        dispatches: gathered.groups.len().max(fusion.dispatches),
        bytes_before: arguments().map(|arg| arg.bytes * (u64::from(arg.reads) + u64::from(arg.writes))).sum(),
        bytes_after: fusion.steps.iter().map(|step| step.bytes_read + step.bytes_written).sum(),
        temporaries: list.temporaries,
        internalized: fusion.plan.buffers.iter().filter(|buffer| is_inside(buffer.got)).count(),
        predicted_us: predicted.map(|it| Times { unfused: it.unfused_gpu, fused: it.fused_gpu }),
        measured_us,
        splits: fusion.plan.splits.len(),
        picture,
    })
}

/// Bytes that the buffer of a split takes through memory: written before the cut, and read behind it.
fn handed_over(report: &FusionReport, after: usize, buffer: Option<vkfuse::BufferId>) -> u64 {
    let Some(buffer) = buffer else { return 0 };
    let (before, behind) = report.kernels.split_at((after + 1).min(report.kernels.len()));
    let written = before.iter().rev().find_map(|one| {
        one.arguments.iter().find(|arg| arg.buffer == buffer && arg.writes).map(|arg| arg.bytes)
    });
    let read = behind.iter().find_map(|one| {
        one.arguments.iter().find(|arg| arg.buffer == buffer && arg.reads).map(|arg| arg.bytes)
    });
    written.zip(read).map_or(0, |(written, read)| written + read)
}

/// Medians of times on the device; nothing where none were asked for, or the device does not tell.
fn measured(session: &Session<'_>, count: u32) -> Result<Option<Times>, Stop> {
    if count == 0 {
        return Ok(None);
    }
    // A buffer that stays inside has no contents behind a run, and none of these needs them: temporaries are written before they
    // are read. They run on the same memory again and again.
    let (unfused, fused) = (session.buffers()?, session.buffers()?);
    let mut runs = Vec::with_capacity(count as usize);
    for round in 0..WARM_UP + count {
        let (recorded, fused) = (session.run_recorded(&unfused)?, session.run_fused(&fused)?);
        if round >= WARM_UP {
            let mut run = Run::default();
            run.time_us.recorded_gpu = recorded.gpu.map(micros);
            run.time_us.fused_gpu = fused.gpu.map(micros);
            runs.push(run);
        }
    }
    let times = medians(&runs);
    Ok(times.recorded_gpu.zip(times.fused_gpu).map(|(unfused, fused)| Times { unfused, fused }))
}

/// Bytes in a unit that people read.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let (mut number, mut unit) = (bytes as f64, "bytes");
    for next in UNITS {
        if number < 1024.0 {
            break;
        }
        (number, unit) = (number / 1024.0, next);
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{number:.1} {unit}") }
}

/// The sentences that sum it up.
pub(super) fn summary(report: &Report) -> Vec<String> {
    let Report { steps, dispatches, bytes_before, bytes_after, .. } = report;
    let saved = bytes_before.saturating_sub(*bytes_after);
    let mut lines = vec![
        format!("{steps} dispatches, copies and fills become {dispatches} dispatches."),
        format!("{} of {} that they read and write need not move.", size(saved), size(*bytes_before)),
    ];
    let times = |what: &str, times: &Option<Times>| {
        times.map(|Times { unfused, fused }| format!("{what}: {unfused:.0} µs unfused, {fused:.0} µs fused."))
    };
    lines.extend(times("Predicted", &report.predicted_us));
    lines.extend(times("Measured on the device", &report.measured_us));
    lines
}

/// The rows of the table of lists.
pub(super) fn rows(report: &Report) -> Vec<Vec<String>> {
    let us = |times: Option<Times>, of: fn(&Times) -> f64| {
        times.map_or_else(|| "–".to_owned(), |times| format!("{:.1}", of(&times)))
    };
    let row = |list: &Judged| {
        vec![
            list.file.clone(),
            list.times.to_string(),
            list.steps.to_string(),
            list.dispatches.to_string(),
            size(list.bytes_before),
            size(list.bytes_after),
            format!("{} of {}", list.internalized, list.temporaries),
            us(list.predicted_us, |times| times.unfused),
            us(list.predicted_us, |times| times.fused),
            us(list.measured_us, |times| times.unfused),
            us(list.measured_us, |times| times.fused),
        ]
    };
    report.lists.iter().map(row).collect()
}

/// Its titles.
pub(super) const TITLES: [&str; 11] = [
    "list",
    "times",
    "steps",
    "dispatches",
    "bytes",
    "fused",
    "temporaries inside",
    "predicted µs",
    "fused",
    "measured µs",
    "fused",
];

/// The rows of the table of reasons.
pub(super) fn ranked(report: &Report) -> Vec<Vec<String>> {
    let row = |one: &Ranked| {
        vec![
            one.reason.clone(),
            one.splits.to_string(),
            size(one.bytes),
            one.us.map_or_else(|| "–".to_owned(), |us| format!("{us:.0}")),
            format!("{}, after step {}", one.example.0, one.example.1),
            one.explained_at.clone(),
        ]
    };
    report.reasons.iter().map(row).collect()
}

/// Its titles.
pub(super) const REASONS: [&str; 6] =
    ["split", "count", "bytes through memory", "µs", "such as", "explained at"];

/// A table without the columns that say nothing, such as times of a device that tells none.
pub(super) fn shown(
    titles: &[&'static str],
    rows: Vec<Vec<String>>,
) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let is_shown = |column: &usize| rows.iter().any(|row| row[*column] != "–");
    let columns: Vec<usize> = (0..titles.len()).filter(is_shown).collect();
    let pick = |row: Vec<String>| columns.iter().map(|column| row[*column].clone()).collect();
    (columns.iter().map(|column| titles[*column]).collect(), rows.into_iter().map(pick).collect())
}

fn print(report: &Report, out: &mut dyn Write) -> Result<(), Stop> {
    let Written { program, device, submissions, .. } = &report.capture;
    writeln!(
        out,
        "{program}, {submissions} submissions on {device}; lists run on {} ({})\n",
        report.device, report.driver
    )?;
    for line in summary(report) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out)?;
    let print_table = |titles: &[&str], rows: Vec<Vec<String>>, out: &mut dyn Write| {
        let mut table = Table::new(titles);
        rows.into_iter().for_each(|row| table.row(row));
        table.print(out)
    };
    for (titles, rows) in [shown(&TITLES, rows(report)), shown(&REASONS, ranked(report))] {
        print_table(&titles, rows, out)?;
    }
    let left: Vec<Vec<String>> = left_out(report).into_iter().map(Vec::from).collect();
    print_table(&["left out", "why"], left, out)?;
    Ok(())
}

/// What the report is not about.
pub(super) fn left_out(report: &Report) -> Vec<[String; 2]> {
    let skipped = report.capture.skipped.iter().map(|one| {
        [format!("submission {}, {} dispatches", one.submission, one.dispatches), one.reason.clone()]
    });
    let failed = report.failed.iter().map(|(file, why)| [file.clone(), why.clone()]);
    let missing = report.capture.missing.iter().map(|(call, what)| [call.clone(), what.clone()]);
    let stopped = report.capture.stopped.iter().map(|why| ["all that follows".to_owned(), why.clone()]);
    skipped.chain(failed).chain(missing).chain(stopped).collect()
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(1023), "1023 bytes");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(3 << 30), "3.0 GiB");
    }
}
