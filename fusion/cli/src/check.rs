//! `vkfuse check`: runs the list in the reference interpreter and reports what is wrong with its kernels.
//!
//! Needs no device. Each submission runs by itself, as in an unfused run, each complete before the next
//! begins: what is found is a defect of a kernel or of its arguments, whether it is ever fused or not.
//! Buffers for which the file gives no `init` count as uninitialised.

mod report;
mod source;
mod undefined;

use crate::args::CheckArgs;
use crate::interrupt;
use crate::pipeline::check::{self, Checked};
use crate::pipeline::list::submissions;
use crate::pipeline::{self, Pipeline, contents};
use crate::progress::Bar;
use crate::report::print_json;
use crate::run::labels;
use crate::stop::{Status, Stop};
use report::Report;
use std::io::Write;
use vkfuse_interp::{
    Bind, Dispatch, Findings, Memory, Notice, ObjectId, Options, OracleError, Program, Progress, execute_into,
};
use vkfuse_jit::plan::{FloatMode, Limits, Step, plan_unfused};

/// Checks the file and prints what was found.
pub(crate) fn check(args: &CheckArgs, out: &mut dyn Write) -> Result<Status, Stop> {
    let pipeline = pipeline::load(&args.file)?;
    contents::check_files(&pipeline)?;
    keep_limit(&pipeline, args.max_bytes)?;
    let checked = check::check(&pipeline, &None)?;
    checked.runs(&pipeline)?;
    let steps = steps(&pipeline, &checked)?;
    let programs = programs(&pipeline, &steps)?;
    let (mut memory, objects) = memory(&pipeline)?;
    let dispatches: Vec<Dispatch<'_>> =
        steps.iter().zip(&programs).map(|(step, program)| dispatch(step, program, &objects)).collect();
    let options = Options {
        max_steps: args.max_steps,
        max_findings: args.list,
        undefined: Notice::Listed,
        robust: args.robust || pipeline.fusion.robust,
        ..Options::default()
    };
    interrupt::listen();
    let bar = Bar::new("work-groups", 0);
    let (before, all) = work_groups(&dispatches);
    let goes_on = |at: Progress| {
        bar.at(before[at.dispatch].saturating_add(at.done as usize), all);
        !interrupt::is_asked()
    };
    let mut findings = Findings::default();
    let failed = execute_into(&dispatches, &mut memory, &options, &goes_on, &mut findings).err();
    drop(bar);
    let reaching = match &failed {
        None => {
            let again = || self::memory(&pipeline).map(|(memory, _)| memory);
            let ran = undefined::Ran { memory: &memory, objects: &objects, findings: &findings };
            undefined::reaching(&dispatches, &options, &ran, again)?
        }
        // Running on with other results would not end either.
        Some(error) => {
            findings.stopped = dispatch_of(error);
            undefined::Reaching { list: Vec::new(), unfollowed: findings.undefined.count }
        }
    };
    let mut report = Report::new(&pipeline, &checked, &steps, &findings, &reaching);
    report.file_notes.clone_from(&checked.notes);
    let failed = failed.map(|error| given_up(&pipeline, &error, args.max_steps));
    report.given_up = failed.as_ref().map(|stop| stop.message.clone());
    if args.json {
        print_json(out, &report)?;
    } else {
        report::print(out, &report, &labels(&pipeline))?;
    }
    match failed {
        Some(stop) => Err(stop),
        None => Ok(interrupt::unless_asked(if report.clean { Status::Success } else { Status::Different })),
    }
}

/// How many work-groups there are before each dispatch, and in all.
fn work_groups(dispatches: &[Dispatch<'_>]) -> (Vec<usize>, usize) {
    let mut all = 0_usize;
    let before = dispatches.iter().map(|dispatch| {
        let so_far = all;
        let groups = dispatch.groups.iter().fold(1_usize, |all, count| all.saturating_mul(*count as usize));
        all = all.saturating_add(groups);
        so_far
    });
    let before: Vec<usize> = before.collect();
    (before, all)
}

/// The interpreter keeps some twenty times the size of the buffers in notes.
fn keep_limit(pipeline: &Pipeline, limit: u64) -> Result<(), Stop> {
    let bytes = pipeline.buffers.iter().fold(0u64, |sum, buffer| sum.saturating_add(buffer.bytes()));
    if bytes > limit {
        return Err(Stop::wrong(format!(
            "{}: the buffers have {bytes} bytes together, and the interpreter takes {limit}; make them smaller \
             or raise --max-bytes",
            pipeline.file.display()
        )));
    }
    Ok(())
}

/// The submissions as they run unfused, each kernel as it is in its file: what strict code has instead may leave out what is undefined.
fn steps(pipeline: &Pipeline, checked: &Checked) -> Result<Vec<Step>, Stop> {
    // No device, no limits: nothing is folded.
    let limits = Limits { max_groups: [u32::MAX; 3], ..Limits::default() };
    let submits = pipeline.submits.iter().zip(submissions(pipeline, &checked.submits));
    submits
        .map(|(submit, submission)| {
            plan_unfused(&submission, FloatMode::Contract, &limits)
                .map_err(|error| pipeline.problem(&submit.place, error.to_string()).into())
        })
        .collect()
}

fn programs(pipeline: &Pipeline, steps: &[Step]) -> Result<Vec<Program>, Stop> {
    let submits = pipeline.submits.iter().zip(steps);
    submits
        .map(|(submit, step)| {
            let wrong = |message: String| Stop::from(pipeline.problem(&submit.kernel_place, message));
            let words = step.build().map_err(|error| wrong(error.to_string()))?;
            let mut program = Program::decode(&words).map_err(|error| wrong(error.to_string()))?;
            for arg in &submit.args {
                let (set, binding) = (arg.at.set, arg.at.binding);
                let image = pipeline.buffers[arg.buffer].image.map(|image| image.texel);
                if let Some(texel) = arg.texels.or(image) {
                    program.set_format(set, binding, texel.interpreted());
                }
                if let Some(sampling) = arg.sampler {
                    program.set_filter(set, binding, sampling.interpreted());
                }
            }
            Ok(program)
        })
        .collect()
}

fn memory(pipeline: &Pipeline) -> Result<(Memory, Vec<ObjectId>), Stop> {
    let mut memory = Memory::new();
    let mut objects = Vec::with_capacity(pipeline.buffers.len());
    for buffer in &pipeline.buffers {
        // `keep_limit` has made sure that the size fits.
        let size = buffer.bytes() as usize;
        let extent = buffer.image.map(|image| image.extent);
        let bytes = match buffer.initialised {
            true => Some(contents::initial(pipeline, buffer)?.unwrap_or_else(|| vec![0; size])),
            false => None,
        };
        objects.push(match (bytes, extent) {
            (Some(bytes), None) => memory.add(bytes),
            (Some(bytes), Some(extent)) => memory.add_image(bytes, extent),
            (None, None) => memory.add_uninitialised(size),
            (None, Some(extent)) => memory.add_uninitialised_image(size, extent),
        });
    }
    Ok((memory, objects))
}

fn dispatch<'a>(step: &Step, program: &'a Program, objects: &[ObjectId]) -> Dispatch<'a> {
    let bindings = step.bindings.iter().map(|bound| Bind {
        set: bound.at.set,
        binding: bound.at.binding,
        object: objects[bound.buffer.0 as usize],
        offset: bound.offset,
        len: bound.len,
    });
    Dispatch { program, groups: step.groups, bindings: bindings.collect(), push: step.push.to_vec() }
}

/// What stopped the interpreter, at the submission it was at.
fn given_up(pipeline: &Pipeline, error: &OracleError, most: u64) -> Stop {
    let message = match error {
        OracleError::StepLimit { .. } => {
            format!(
                "given up after {most} instructions: a loop may have no end; or make the list smaller, or raise --max-steps"
            )
        }
        other => other.to_string(),
    };
    match dispatch_of(error).and_then(|dispatch| pipeline.submits.get(dispatch)) {
        Some(submit) => pipeline.problem(&submit.place, message).into(),
        None => Stop::wrong(format!("{}: {message}", pipeline.file.display())),
    }
}

/// The submission that the interpreter was at.
fn dispatch_of(error: &OracleError) -> Option<usize> {
    match error {
        OracleError::StepLimit { dispatch, .. }
        | OracleError::MissingBinding { dispatch, .. }
        | OracleError::BadRange { dispatch, .. }
        | OracleError::Unreachable { dispatch, .. }
        | OracleError::UnknownFormat { dispatch, .. }
        | OracleError::DivergentSubgroup { dispatch, .. } => Some(*dispatch),
        _ => None,
    }
}
