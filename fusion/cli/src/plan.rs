//! `vkfuse plan`: what a list would become on a device, and what the driver says of the code. Nothing runs.

mod elsewhere;

use crate::args::PlanArgs;
use crate::pipeline::check::{self, Checked};
use crate::pipeline::{self, Pipeline};
use crate::report::json::FORMAT;
use crate::report::{Table, print_groups, print_json, print_promotions, print_rewrites, print_splits};
use crate::run::labels;
use crate::session::{self, driver};
use crate::stop::{Status, Stop};
use serde::Serialize;
use std::io::{self, Write};
use vkfuse::report::CodeFigures;
use vkfuse::report::json::{List, Named};
use vkfuse::{PlannedList, StepReport};

/// What `vkfuse plan` prints.
#[derive(Serialize)]
struct Report {
    format: u32,
    name: Option<String>,
    device: String,
    driver: Option<String>,
    /// What would become of the list, as `run` says it.
    list: List,
    /// The code of the dispatches, and of the submissions by themselves.
    code: Code,
}

#[derive(Serialize)]
struct Code {
    fused: Vec<Figures>,
    alone: Vec<Figures>,
}

/// What the driver says of the code of one dispatch; `null` where it does not say it.
#[derive(Serialize)]
struct Figures {
    /// Submissions, counted from 0.
    kernels: Vec<usize>,
    registers: Option<f64>,
    scalar_registers: Option<f64>,
    spills: Option<f64>,
    scratch_bytes: Option<f64>,
    shared_bytes: Option<f64>,
    subgroups_per_simd: Option<f64>,
    instructions: Option<f64>,
    inverse_throughput: Option<f64>,
    /// Under the driver's own names.
    statistics: Named<f64>,
}

/// Plans the file and prints what comes of it.
pub(crate) fn plan(args: &PlanArgs, out: &mut dyn Write) -> Result<Status, Stop> {
    let pipeline = pipeline::load(&args.file)?;
    let checked = check::check(&pipeline, &session::known(&args.device)?)?;
    let (device, driver, planned) = match &args.limits {
        Some(limits) => {
            let (device, planned) = elsewhere::plan(args, limits, &pipeline, &checked)?;
            (device, None, planned)
        }
        None => here(args, &pipeline, &checked)?,
    };
    let mut list = List::of(&planned.report, |id| planned.report.buffer_name(id).map(str::to_owned));
    // The notes on the list as a whole are in the file's, with their places.
    let kernels = planned.report.kernels.iter();
    list.notes = checked.notes_and(kernels.flat_map(|kernel| &kernel.notes));
    let figures = |steps: &[StepReport]| steps.iter().map(Figures::of).collect();
    let code = Code { fused: figures(&planned.report.steps), alone: figures(&planned.alone) };
    let report = Report { format: FORMAT, name: pipeline.name.clone(), device, driver, list, code };
    match args.json {
        true => print_json(out, &report)?,
        false => print(out, &report, &labels(&pipeline))?,
    }
    Ok(Status::Success)
}

/// On a device of this machine, which compiles only.
fn here(
    args: &PlanArgs,
    pipeline: &Pipeline,
    checked: &Checked,
) -> Result<(String, Option<String>, PlannedList), Stop> {
    let context = session::compiling(&args.device, pipeline, args.dump_spirv.as_deref())?;
    let info = context.device_info();
    let list = session::unrun(&context, pipeline, checked, args.device.policy)?;
    let planned = list.plan().map_err(|error| Stop::running(&error))?;
    Ok((info.name.clone(), Some(driver(info)), planned))
}

impl Figures {
    fn of(step: &StepReport) -> Figures {
        let CodeFigures {
            registers,
            scalar_registers,
            spills,
            scratch,
            shared,
            subgroups,
            instructions,
            inverse_throughput,
            ..
        } = step.figures();
        let statistics = step.statistics.iter().map(|one| (one.name.clone(), one.value));
        Figures {
            kernels: step.members.to_vec(),
            registers,
            scalar_registers,
            spills,
            scratch_bytes: scratch,
            shared_bytes: shared,
            subgroups_per_simd: subgroups,
            instructions,
            inverse_throughput,
            statistics: Named(statistics.collect()),
        }
    }

    fn cells(&self, code: &str, submissions: String) -> Vec<String> {
        let figures = [
            self.registers,
            self.scalar_registers,
            self.spills,
            self.scratch_bytes,
            self.shared_bytes,
            self.subgroups_per_simd,
            self.instructions,
            self.inverse_throughput,
        ];
        let text = |figure: Option<f64>| figure.map_or("-".to_owned(), |figure| figure.to_string());
        [code.to_owned(), submissions].into_iter().chain(figures.into_iter().map(text)).collect()
    }
}

fn print(out: &mut dyn Write, report: &Report, labels: &[String]) -> io::Result<()> {
    let title = report.name.as_deref().unwrap_or("fusion list");
    writeln!(out, "{title}, {} submissions, planned", labels.len())?;
    match &report.driver {
        Some(driver) => writeln!(out, "{} ({driver})\n", report.device)?,
        None => writeln!(out, "{}, which is elsewhere\n", report.device)?,
    }
    writeln!(out, "  {}\n", report.list.outcome)?;
    print_groups(out, &report.list.groups, labels)?;
    print_rewrites(out, &report.list.rewrites, labels)?;
    print_splits(out, &report.list.splits, labels)?;
    print_promotions(out, &report.list.buffers)?;
    let mut table = Table::new(&[
        "code",
        "submissions",
        "registers",
        "scalar",
        "spills",
        "scratch",
        "shared",
        "occupancy",
        "instructions",
        "inverse throughput",
    ]);
    let fused = report.code.fused.iter().map(|one| ("fused", one));
    let all = report.code.alone.iter().map(|one| ("alone", one)).chain(fused);
    for (code, figures) in all.filter(|(_, one)| !one.statistics.0.is_empty()) {
        let members = figures.kernels.iter().map(|&member| format!("{member} {}", labels[member]));
        table.row(figures.cells(code, members.collect::<Vec<_>>().join(", ")));
    }
    table.print(out)
}
