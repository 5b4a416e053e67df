//! What `vkfuse check` found, as one model, printed as JSON or as tables.

use super::undefined::Reaching;
use crate::pipeline::Pipeline;
use crate::report::Table;
use crate::report::json::FORMAT;
use serde::Serialize;
use std::io::{self, Write};
use vkfuse_interp::{Access, Counted, Findings, ObjectId, OutOfBounds, Place};
use vkfuse_jit::kernel::SetBinding;
use vkfuse_jit::plan::Step;

#[derive(Serialize)]
pub(super) struct Report {
    format: u32,
    name: Option<String>,
    pub(super) clean: bool,
    submissions: usize,
    /// Instructions executed by all invocations together.
    steps: u64,
    races: Found<Race>,
    out_of_bounds: Found<Touch>,
    /// Accesses out of bounds that have a defined effect.
    notes: Found<Touch>,
    uninitialised: Found<Touch>,
    changed_constants: Found<Touch>,
    divergent_barriers: Found<Barrier>,
    undefined: Found<Undefined>,
    /// Instructions with undefined results, where it could not be determined whether anything depends on these.
    unfollowed: u64,
    /// The submission in which it stopped, by Ctrl-C or since it was given up; nothing is known of what comes after.
    stopped: Option<usize>,
    /// Why it was given up, if it was.
    pub(super) given_up: Option<String>,
    /// What may be mistaken in the file: the `notes` of `run`.
    pub(super) file_notes: Vec<String>,
}

/// All are counted, some are listed.
#[derive(Serialize)]
struct Found<T> {
    count: u64,
    list: Vec<T>,
}

/// Where in memory.
#[derive(Serialize, Clone)]
struct Spot {
    submission: usize,
    kernel: String,
    /// `null` for shared memory and variables of the kernel.
    buffer: Option<String>,
    /// Element of the buffer; for an access out of bounds, of the argument, negative before it; for a variable, its scalar. `null` of a
    /// texel outside of its image.
    index: Option<i64>,
    /// The coordinates, of a texel of an image.
    texel: Option<[i64; 3]>,
}

#[derive(Serialize)]
struct Race {
    #[serde(flatten)]
    spot: Spot,
    first: Who,
    second: Who,
    note: Option<&'static str>,
}

#[derive(Serialize)]
struct Touch {
    #[serde(flatten)]
    spot: Spot,
    access: Who,
}

#[derive(Serialize)]
struct Barrier {
    submission: usize,
    kernel: String,
    group: [u32; 3],
    waiting: [u32; 3],
    missing: [u32; 3],
    word: usize,
}

/// An undefined result that something depends on.
#[derive(Serialize)]
struct Undefined {
    submission: usize,
    kernel: String,
    what: String,
    reaches: &'static str,
    invocation: [u32; 3],
    word: usize,
}

/// One access: which invocation did what through which binding.
#[derive(Serialize)]
struct Who {
    kind: String,
    /// `set.binding`, or what else it went through.
    binding: String,
    invocation: [u32; 3],
    group: [u32; 3],
    /// Of the instruction, in the module as it runs unfused.
    word: usize,
}

impl Who {
    fn new(access: &Access) -> Who {
        let binding = match access.place {
            Place::Binding { set, binding } => format!("{set}.{binding}"),
            other => other.to_string(),
        };
        let (invocation, group) = (access.invocation, access.group);
        Who { kind: access.kind.to_string(), binding, invocation, group, word: access.word }
    }
}

impl Who {
    /// What all accesses of one instruction have in common.
    fn instruction(&self) -> (&str, &str, usize) {
        (&self.kind, &self.binding, self.word)
    }
}

impl Race {
    /// What all races of the same two instructions have in common.
    fn instructions(&self) -> [(&str, &str, usize); 2] {
        [self.first.instruction(), self.second.instruction()]
    }
}

impl Report {
    pub(super) fn new(
        pipeline: &Pipeline,
        steps: &[Step],
        findings: &Findings,
        reaching: &Reaching,
    ) -> Report {
        let at = Places { pipeline, steps };
        let races = found(&findings.races, |race| Race {
            spot: at.spot(race.dispatch, race.object, race.offset as i64),
            first: Who::new(&race.first),
            second: Who::new(&race.second),
            note: if race.barrier_without_memory {
                Some("a barrier lies between, without semantics for this memory")
            } else if race.maybe_ordered_by_atomics {
                Some("unless atomics and memory barriers order them")
            } else {
                None
            },
        });
        let outside = |one: &OutOfBounds| Touch { spot: at.argument(one), access: Who::new(&one.access) };
        let uninitialised = found(&findings.uninitialised, |one| Touch {
            spot: at.spot(one.dispatch, one.object, one.offset as i64),
            access: Who::new(&one.access),
        });
        let changed_constants = found(&findings.changed_constants, |one| Touch {
            spot: at.spot(one.dispatch, Some(one.object), one.offset as i64),
            access: Who::new(&one.access),
        });
        let divergent_barriers = found(&findings.divergent_barriers, |one| Barrier {
            submission: one.dispatch,
            kernel: at.kernel(one.dispatch),
            group: one.group,
            waiting: one.waiting,
            missing: one.missing,
            word: one.word,
        });
        let undefined = reaching.list.iter().map(|(one, reached)| Undefined {
            submission: one.dispatch,
            kernel: at.kernel(one.dispatch),
            what: one.what.to_string(),
            reaches: reached.in_words(),
            invocation: one.invocation,
            word: one.word,
        });
        let undefined: Vec<Undefined> = undefined.collect();
        Report {
            format: FORMAT,
            name: pipeline.name.clone(),
            clean: findings.is_clean() && undefined.is_empty(),
            submissions: steps.len(),
            steps: findings.steps,
            races,
            out_of_bounds: found(&findings.out_of_bounds, outside),
            notes: found(&findings.notes, outside),
            uninitialised,
            changed_constants,
            divergent_barriers,
            undefined: Found { count: undefined.len() as u64, list: undefined },
            unfollowed: reaching.unfollowed,
            stopped: findings.stopped,
            given_up: None,
            file_notes: Vec::new(),
        }
    }
}

fn found<T, U>(counted: &Counted<T>, make: impl Fn(&T) -> U) -> Found<U> {
    Found { count: counted.count, list: counted.list.iter().map(make).collect() }
}

/// From the interpreter's numbers to the names of the file.
struct Places<'a> {
    pipeline: &'a Pipeline,
    steps: &'a [Step],
}

impl Places<'_> {
    fn kernel(&self, submission: usize) -> String {
        self.pipeline.kernels[self.pipeline.submits[submission].kernel].name.clone()
    }

    /// A byte of a memory object, which is the buffer of the same number; or a scalar of a variable.
    fn spot(&self, submission: usize, object: Option<ObjectId>, offset: i64) -> Spot {
        let buffer = object.map(|object| &self.pipeline.buffers[object.0 as usize]);
        let size = buffer.map_or(1, |buffer| buffer.ty.size() as i64);
        let index = offset.div_euclid(size);
        let texel = buffer.and_then(|buffer| buffer.image).map(|image| {
            let [width, height, _] = image.extent.map(i64::from);
            let number = index / image.texel.channels as i64;
            [number % width, number / width % height, number / width / height]
        });
        let (kernel, buffer) = (self.kernel(submission), buffer.map(|buffer| buffer.name.clone()));
        Spot { submission, kernel, buffer, index: Some(index), texel }
    }

    /// An access outside: a byte counted from the start of an argument, or the coordinates of a texel.
    fn argument(&self, one: &OutOfBounds) -> Spot {
        let Place::Binding { set, binding } = one.access.place else {
            return self.spot(one.dispatch, None, one.offset);
        };
        let bindings = &self.steps[one.dispatch].bindings;
        let bound = bindings.iter().find(|bound| bound.at == SetBinding::from((set, binding)));
        let spot = self.spot(one.dispatch, bound.map(|bound| ObjectId(bound.buffer.0 as u32)), one.offset);
        match one.texel {
            Some(at) => Spot { index: None, texel: Some(at.map(i64::from)), ..spot },
            None => Spot { texel: None, ..spot },
        }
    }
}

/// Prints the report for people. `labels` names the kernel of each submission.
pub(super) fn print(out: &mut dyn Write, report: &Report, labels: &[String]) -> io::Result<()> {
    let title = report.name.as_deref().unwrap_or("fusion list");
    writeln!(out, "{title}, {} submissions, {} instructions\n", labels.len(), report.steps)?;
    if let Some(submission) = report.stopped {
        let how = if report.given_up.is_some() { "given up" } else { "stopped" };
        writeln!(out, "  {how} in submission {submission}; what follows was found until then\n")?;
    }
    if report.unfollowed > 0 {
        let more = report.unfollowed;
        writeln!(
            out,
            "  {more} more instructions have undefined results; what depends on them is not known: see --list\n"
        )?;
    }
    if report.clean {
        writeln!(out, "  nothing found")?;
        if report.notes.count == 0 {
            return Ok(());
        }
        writeln!(out)?;
        return print_touches(out, NOTES, &report.notes);
    }
    let mut undefined = Table::new(&["undefined", "what", "reaches", "first by"]);
    for one in &report.undefined.list {
        let place = format!("{} {}", one.submission, one.kernel);
        undefined.row([place, one.what.clone(), one.reaches.to_owned(), id(one.invocation)]);
    }
    print_counted(out, &undefined, "undefined results", report.undefined.count, report.undefined.list.len())?;
    let mut races = Table::new(&["race", "buffer", "element", "first", "second", "note"]);
    for (race, spots) in rows(&report.races.list, Race::instructions, |race| &race.spot) {
        let [place, buffer, index] = cells(&race.spot, &spots);
        let note = race.note.unwrap_or_default().to_owned();
        races.row([place, buffer, index, who(&race.first), who(&race.second), note]);
    }
    print_counted(out, &races, "races", report.races.count, report.races.list.len())?;
    let touches = [
        ("out of bounds", &report.out_of_bounds),
        (NOTES, &report.notes),
        ("uninitialised", &report.uninitialised),
        ("uniform buffer written", &report.changed_constants),
    ];
    for (title, list) in touches {
        print_touches(out, title, list)?;
    }
    let mut barriers = Table::new(&["barrier not reached by all", "work-group", "waits", "never comes"]);
    for barrier in &report.divergent_barriers.list {
        let place = format!("{} {}", barrier.submission, barrier.kernel);
        barriers.row([place, id(barrier.group), id(barrier.waiting), id(barrier.missing)]);
    }
    let count = report.divergent_barriers.count;
    print_counted(out, &barriers, "barriers", count, report.divergent_barriers.list.len())
}

/// The title of accesses outside that are no fault by themselves.
const NOTES: &str = "note: outside, as is defined";

fn print_touches(out: &mut dyn Write, title: &str, found: &Found<Touch>) -> io::Result<()> {
    let mut table = Table::new(&[title, "buffer", "element", "access"]);
    for (touch, spots) in rows(&found.list, |touch| touch.access.instruction(), |touch| &touch.spot) {
        let [place, buffer, index] = cells(&touch.spot, &spots);
        table.row([place, buffer, index, who(&touch.access)]);
    }
    print_counted(out, &table, "accesses", found.count, found.list.len())
}

fn print_counted(
    out: &mut dyn Write,
    table: &Table,
    what: &str,
    count: u64,
    listed: usize,
) -> io::Result<()> {
    table.print(out)?;
    match count - listed as u64 {
        0 => Ok(()),
        all if listed == 0 => writeln!(out, "  {all} {what}\n"),
        more => writeln!(out, "  and {more} more {what}\n"),
    }
}

/// What is found, the same instructions at different elements of a buffer together: the first of them, and the elements in order.
fn rows<'a, T, K: PartialEq>(
    list: &'a [T],
    alike: impl Fn(&'a T) -> K,
    spot: impl Fn(&'a T) -> &'a Spot,
) -> Vec<(&'a T, Vec<i64>)> {
    let mut rows: Vec<(&T, Vec<i64>)> = Vec::new();
    for one in list {
        let at = spot(one);
        let same = |(other, _): &&mut (&'a T, Vec<i64>)| {
            let there = spot(other);
            let is_same =
                (at.submission, &at.buffer, at.texel) == (there.submission, &there.buffer, there.texel);
            is_same && at.index.is_some() && alike(one) == alike(other)
        };
        match rows.iter_mut().find(same) {
            Some((_, elements)) => elements.extend(at.index),
            None => rows.push((one, at.index.into_iter().collect())),
        }
    }
    for (_, elements) in &mut rows {
        elements.sort_unstable();
        elements.dedup();
    }
    rows
}

fn cells(spot: &Spot, elements: &[i64]) -> [String; 3] {
    let place = format!("{} {}", spot.submission, spot.kernel);
    let index = match (spot.texel, elements) {
        (Some([x, y, z]), _) => format!("texel ({x}, {y}, {z})"),
        (None, []) => String::new(),
        (None, [one]) => one.to_string(),
        (None, [first, .., last]) if last.abs_diff(*first) + 1 == elements.len() as u64 => {
            format!("{first} to {last}")
        }
        (None, [first, .., last]) => format!("{} of {first} to {last}", elements.len()),
    };
    [place, spot.buffer.clone().unwrap_or_else(|| "(kernel)".to_owned()), index]
}

fn who(who: &Who) -> String {
    format!("{} of {} by {}", who.kind, who.binding, id(who.invocation))
}

fn id([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}
