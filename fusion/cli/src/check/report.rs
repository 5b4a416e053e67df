//! What `vkfuse check` found, as one model, printed as JSON or as tables.

use super::source::{Line, Source};
use super::undefined::Reaching;
use crate::pipeline::Pipeline;
use crate::pipeline::check::{Checked, load_module};
use crate::report::Table;
use crate::report::json::FORMAT;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Write};
use std::rc::Rc;
use vkfuse_interp::{Access, Counted, Findings, ObjectId, OutOfBounds, Place};
use vkfuse_jit::kernel::{Kernel, SetBinding};
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
    note: Option<String>,
}

#[derive(Serialize)]
struct Barrier {
    submission: usize,
    kernel: String,
    group: [u32; 3],
    waiting: [u32; 3],
    missing: [u32; 3],
    word: usize,
    #[serde(flatten)]
    at: At,
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
    #[serde(flatten)]
    at: At,
}

/// Where the source text has an instruction, as far as debug information says it.
#[derive(Serialize)]
struct At {
    file: Option<String>,
    line: Option<u32>,
}

impl At {
    fn new(line: Option<&Line>) -> At {
        let file = line.map(|line| line.file.clone()).filter(|file| !file.is_empty());
        At { file, line: line.map(|line| line.line) }
    }

    /// ` at blur.comp:17`, or nothing.
    fn in_words(&self) -> String {
        match (&self.file, self.line) {
            (_, None) => String::new(),
            (None, Some(line)) => format!(" at line {line}"),
            (Some(file), Some(line)) => {
                let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
                format!(" at {name}:{line}")
            }
        }
    }
}

/// One access: which invocation did what through which binding.
#[derive(Serialize)]
struct Who {
    kind: String,
    /// `set.binding`, or what else it went through; variables by their ids.
    binding: String,
    /// The name of the variable that it went through, as far as debug information says it.
    variable: Option<String>,
    invocation: [u32; 3],
    group: [u32; 3],
    /// Of the instruction, in the module as it runs unfused.
    word: usize,
    #[serde(flatten)]
    at: At,
    /// What it went through, for people.
    #[serde(skip)]
    through: String,
}

impl Who {
    fn new(access: &Access, source: &Source) -> Who {
        let loaded = |variable: u32| source.id(variable).unwrap_or(variable);
        let (place, name, kind) = match access.place {
            Place::Workgroup { variable } => {
                let place = Place::Workgroup { variable: loaded(variable) };
                (place, source.name(variable), "shared variable")
            }
            Place::Private { variable } => {
                let place = Place::Private { variable: loaded(variable) };
                (place, source.name(variable), "variable")
            }
            other => (other, None, ""),
        };
        let binding = match place {
            Place::Binding { set, binding } => format!("{set}.{binding}"),
            other => other.to_string(),
        };
        let through = match (place, name) {
            (Place::Binding { .. }, _) => format!("binding {binding}"),
            (_, Some(name)) => format!("{kind} {name}"),
            (_, None) => binding.clone(),
        };
        Who {
            kind: access.kind.to_string(),
            binding,
            variable: name.map(str::to_owned),
            invocation: access.invocation,
            group: access.group,
            word: access.word,
            at: At::new(source.line(access.word)),
            through,
        }
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
        checked: &Checked,
        steps: &[Step],
        findings: &Findings,
        reaching: &Reaching,
    ) -> Report {
        let at = Places { pipeline, checked, steps, sources: RefCell::default() };
        let races = found(&findings.races, |race| Race {
            spot: at.spot(race.dispatch, race.object, race.offset as i64),
            first: at.who(race.dispatch, &race.first),
            second: at.who(race.dispatch, &race.second),
            note: if race.barrier_without_memory {
                Some("a barrier lies between, without semantics for this memory")
            } else if race.maybe_ordered_by_atomics {
                Some("unless atomics and memory barriers order them")
            } else {
                None
            },
        });
        let outside = |one: &OutOfBounds| {
            let access = at.who(one.dispatch, &one.access);
            Touch { spot: at.argument(one), access, note: None }
        };
        let uninitialised = found(&findings.uninitialised, |one| Touch {
            spot: at.spot(one.dispatch, one.object, one.offset as i64),
            access: at.who(one.dispatch, &one.access),
            note: match one.access.place {
                Place::Workgroup { .. } => at.smaller(one.dispatch),
                _ => None,
            },
        });
        let changed_constants = found(&findings.changed_constants, |one| Touch {
            spot: at.spot(one.dispatch, Some(one.object), one.offset as i64),
            access: at.who(one.dispatch, &one.access),
            note: None,
        });
        let divergent_barriers = found(&findings.divergent_barriers, |one| Barrier {
            submission: one.dispatch,
            kernel: at.kernel(one.dispatch),
            group: one.group,
            waiting: one.waiting,
            missing: one.missing,
            word: one.word,
            at: At::new(at.source(one.dispatch).line(one.word)),
        });
        let undefined = reaching.list.iter().map(|(one, reached)| Undefined {
            submission: one.dispatch,
            kernel: at.kernel(one.dispatch),
            what: one.what.to_string(),
            reaches: reached.in_words(),
            invocation: one.invocation,
            word: one.word,
            at: At::new(at.source(one.dispatch).line(one.word)),
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
    checked: &'a Checked,
    steps: &'a [Step],
    /// By submission, as far as they were asked for.
    sources: RefCell<HashMap<usize, Known>>,
}

/// What is found out about a submission's kernel when it has a finding.
#[derive(Clone)]
struct Known {
    source: Rc<Source>,
    /// That the file makes its work-groups smaller than its module has them.
    smaller: Option<Rc<str>>,
}

impl Places<'_> {
    fn kernel(&self, submission: usize) -> String {
        self.pipeline.kernels[self.pipeline.submits[submission].kernel].name.clone()
    }

    fn known(&self, submission: usize) -> Known {
        let make = || {
            let source = Source::of(&self.steps[submission], &self.checked.submits[submission]);
            Known { source: Rc::new(source), smaller: self.made_smaller(submission).map(Into::into) }
        };
        self.sources.borrow_mut().entry(submission).or_insert_with(make).clone()
    }

    fn source(&self, submission: usize) -> Rc<Source> {
        self.known(submission).source
    }

    fn who(&self, submission: usize, access: &Access) -> Who {
        Who::new(access, &self.source(submission))
    }

    fn smaller(&self, submission: usize) -> Option<String> {
        self.known(submission).smaller.map(|said| said.to_string())
    }

    fn made_smaller(&self, submission: usize) -> Option<String> {
        let declared = &self.pipeline.kernels[self.pipeline.submits[submission].kernel];
        let (size, _) = declared.local_size.as_ref()?;
        let module = load_module(&declared.path, &declared.name, &None).ok()?;
        let kernel = Kernel::new(&module, declared.entry.as_deref()).ok()?;
        let own = kernel.specialize(&self.checked.submits[submission].spec).ok()?.interface.local_size;
        let all = |size: &[u32; 3]| size.iter().map(|&side| u64::from(side)).product::<u64>();
        (all(size) < all(&own)).then(|| {
            format!("the module's local size is {}, `local_size` makes it {}", sides(own), sides(*size))
        })
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
        let first = format!("{}{}", id(one.invocation), one.at.in_words());
        undefined.row([place, one.what.clone(), one.reaches.to_owned(), first]);
    }
    print_counted(out, &undefined, "undefined results", report.undefined.count, report.undefined.list.len())?;
    let mut races = Table::new(&["race", "buffer", "element", "findings", "first", "second", "note"]);
    for (race, spots) in rows(&report.races.list, Race::instructions, |race| &race.spot) {
        let [place, buffer, index, count] = cells(&spots);
        let note = race.note.unwrap_or_default().to_owned();
        races.row([place, buffer, index, count, who(&race.first), who(&race.second), note]);
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
        let waits = format!("{}{}", id(barrier.waiting), barrier.at.in_words());
        barriers.row([place, id(barrier.group), waits, id(barrier.missing)]);
    }
    let count = report.divergent_barriers.count;
    print_counted(out, &barriers, "barriers", count, report.divergent_barriers.list.len())
}

/// The title of accesses outside that are no fault by themselves.
const NOTES: &str = "note: outside, as is defined";

fn print_touches(out: &mut dyn Write, title: &str, found: &Found<Touch>) -> io::Result<()> {
    let mut table = Table::new(&[title, "buffer", "element", "findings", "access"]);
    for (touch, spots) in rows(&found.list, |touch| touch.access.instruction(), |touch| &touch.spot) {
        let [place, buffer, index, count] = cells(&spots);
        table.row([place, buffer, index, count, who(&touch.access)]);
    }
    print_counted(out, &table, "accesses", found.count, found.list.len())?;
    let mut notes: Vec<String> = Vec::new();
    for touch in &found.list {
        let note = touch.note.as_ref().map(|note| format!("kernel {}: {note}", touch.spot.kernel));
        notes.extend(note.filter(|note| !notes.contains(note)));
    }
    notes.iter().try_for_each(|note| writeln!(out, "  {note}\n"))
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
        more => writeln!(out, "  and {more} more {what}: these are {listed} of {count}, see --list\n"),
    }
}

/// What is found, the same instructions at different elements of a buffer together: the first of them, and the places of all.
fn rows<'a, T, K: PartialEq>(
    list: &'a [T],
    alike: impl Fn(&'a T) -> K,
    spot: impl Fn(&'a T) -> &'a Spot,
) -> Vec<(&'a T, Vec<&'a Spot>)> {
    let mut rows: Vec<(&T, Vec<&Spot>)> = Vec::new();
    for one in list {
        let at = spot(one);
        let key = |spot: &'a Spot| (spot.submission, &spot.buffer, spot.texel.is_some());
        let same = |(other, _): &&mut (&'a T, Vec<&'a Spot>)| {
            key(at) == key(spot(other)) && alike(one) == alike(other)
        };
        match rows.iter_mut().find(same) {
            Some((_, spots)) => spots.push(at),
            None => rows.push((one, vec![at])),
        }
    }
    rows
}

/// Where the findings of a row are, and how many they are.
fn cells(spots: &[&Spot]) -> [String; 4] {
    let Some(spot) = spots.first() else { return Default::default() };
    let place = format!("{} {}", spot.submission, spot.kernel);
    let mut texels: Vec<[i64; 3]> = spots.iter().filter_map(|spot| spot.texel).collect();
    let mut elements: Vec<i64> = spots.iter().filter_map(|spot| spot.index).collect();
    texels.sort_unstable();
    texels.dedup();
    elements.sort_unstable();
    elements.dedup();
    let index = if texels.is_empty() { elements_in_words(&elements) } else { texels_in_words(&texels) };
    let buffer = spot.buffer.clone().unwrap_or_else(|| "(kernel)".to_owned());
    [place, buffer, index, spots.len().to_string()]
}

/// Ascending elements, once each.
fn elements_in_words(elements: &[i64]) -> String {
    match elements {
        [] => String::new(),
        [one] => one.to_string(),
        [first, .., last] if last.abs_diff(*first) + 1 == elements.len() as u64 => {
            format!("{first} to {last}")
        }
        [first, .., last] => format!("{} of {first} to {last}", elements.len()),
    }
}

/// Texels, once each, by the corners of the box that they lie in.
fn texels_in_words(texels: &[[i64; 3]]) -> String {
    let place = |[x, y, z]: [i64; 3]| format!("({x}, {y}, {z})");
    if let [one] = texels {
        return format!("texel {}", place(*one));
    }
    let ends = |axis: usize| {
        let along = || texels.iter().map(|texel| texel[axis]);
        (along().min().unwrap_or(0), along().max().unwrap_or(0))
    };
    let sides: [(i64, i64); 3] = std::array::from_fn(ends);
    let (first, last) = (place(sides.map(|side| side.0)), place(sides.map(|side| side.1)));
    let all = sides
        .iter()
        .fold(1_u64, |all, (first, last)| all.saturating_mul(last.abs_diff(*first).saturating_add(1)));
    match texels.len() as u64 == all {
        true => format!("texels {first} to {last}"),
        false => format!("{} texels of {first} to {last}", texels.len()),
    }
}

fn who(who: &Who) -> String {
    format!("{} of {} by {}{}", who.kind, who.through, id(who.invocation), who.at.in_words())
}

fn id([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

/// A work-group size, without dimensions of one behind the others.
fn sides(size: [u32; 3]) -> String {
    let count = size.iter().rposition(|&side| side != 1).map_or(1, |last| last + 1);
    size[..count].iter().map(u32::to_string).collect::<Vec<_>>().join(" x ")
}
