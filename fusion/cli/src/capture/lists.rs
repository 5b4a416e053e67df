//! The sections of a program as pipeline files.
//!
//! A buffer of a file is a piece of memory: ranges that overlap are one buffer, as they are bound. Sections that differ only in where
//! their buffers are and what is in them are one file, which says how often it ran.

use super::file;
use super::kernels::{Kernels, Used};
use super::liveness;
use super::memory::{Bytes, Span, connected};
use super::program::{Program, Section};
use crate::report::{Table, print_json};
use crate::stop::Stop;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vkfuse_jit::kernel::{BindingKind, SetBinding};
use vkfuse_layer::trace::{Command, Range};

/// What a step does.
pub(super) enum Action {
    Dispatch {
        pipeline: u64,
        used: Arc<Used>,
        base: [u32; 3],
        /// Nothing where the counts are in a buffer: that of the first access.
        groups: Option<[u32; 3]>,
        push: String,
    },
    /// From the first access to the second.
    Copy,
    Fill(u32),
    /// Bytes in hexadecimal.
    Update(String),
}

/// What a step does to a piece of memory.
pub(super) struct Access {
    pub(super) span: Span,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Where it is bound, of a dispatch.
    pub(super) slot: Option<SetBinding>,
    pub(super) is_uniform: bool,
}

/// One dispatch, copy, fill or update.
pub(super) struct Step {
    pub(super) action: Action,
    pub(super) accesses: Vec<Access>,
}

/// A list that was written.
#[derive(Serialize)]
pub(super) struct Listed {
    pub(super) file: PathBuf,
    /// The first submission with it, among those with work.
    pub(super) submission: usize,
    /// How often it was submitted.
    pub(super) times: usize,
    pub(super) dispatches: usize,
    pub(super) copies: usize,
    pub(super) fills: usize,
    /// Barriers of the program.
    pub(super) barriers: usize,
    pub(super) buffers: usize,
    /// Buffers that are seen dead.
    pub(super) temporaries: usize,
    /// Whether all buffers start as they did in the program.
    pub(super) contents: bool,
    /// BLAKE3 of buffers after it in the program, by name, where that was captured.
    pub(super) after: BTreeMap<String, String>,
}

/// A section that is no list.
#[derive(Serialize)]
pub(super) struct Skipped {
    pub(super) submission: usize,
    pub(super) dispatches: usize,
    pub(super) reason: String,
}

/// What became of a capture.
#[derive(Serialize)]
pub(super) struct Written {
    pub(super) program: String,
    pub(super) device: String,
    pub(super) submissions: usize,
    pub(super) dispatches: usize,
    pub(super) lists: Vec<Listed>,
    pub(super) skipped: Vec<Skipped>,
    /// Calls whose effect was not captured, with what of them.
    pub(super) missing: Vec<(String, String)>,
    /// Why the layer ended the capture early.
    pub(super) stopped: Option<String>,
}

/// Writes the lists of a program into a folder, and `lists.json` with what this returns.
pub(super) fn write(program: &Program, folder: &Path) -> Result<Written, Stop> {
    let failed = |error: std::io::Error| Stop::wrong(format!("cannot write {}: {error}", folder.display()));
    std::fs::create_dir_all(folder.join("bytes")).map_err(failed)?;
    let mut kernels = Kernels::default();
    let (mut steps, mut reasons) = (Vec::new(), Vec::new());
    for section in &program.sections {
        match self::steps(program, &mut kernels, section) {
            Ok(found) => steps.push(Some(found)),
            Err(reason) => {
                steps.push(None);
                reasons.push((section, reason));
            }
        }
    }
    let mut written = Written {
        program: program.name.clone(),
        device: program.device.clone(),
        submissions: program.submissions,
        dispatches: program.sections.iter().map(dispatches).sum(),
        lists: Vec::new(),
        skipped: Vec::new(),
        missing: program.missing.clone(),
        stopped: program.stopped.clone(),
    };
    for (section, reason) in reasons {
        let dispatches = dispatches(section);
        if dispatches > 0 {
            written.skipped.push(Skipped { submission: section.submission, dispatches, reason });
        }
    }
    let mut bytes = Bytes::new(&program.folder);
    let mut seen: BTreeMap<[u8; 32], usize> = BTreeMap::new();
    for (number, section) in program.sections.iter().enumerate() {
        let Some(own) = steps[number].as_ref().filter(|_| dispatches(section) > 0) else { continue };
        let spans = own.iter().flat_map(|step| &step.accesses).map(|access| access.span);
        let pieces = connected(spans.collect());
        let temporaries: Vec<bool> =
            pieces.iter().map(|piece| liveness::is_temporary(program, &steps, number, *piece)).collect();
        let list = file::List { program, section, steps: own, pieces: &pieces, temporaries: &temporaries };
        let text = match list.text(folder, &vec![None; pieces.len()], false) {
            Ok(text) => text,
            Err(reason) => {
                let (submission, dispatches) = (section.submission, dispatches(section));
                written.skipped.push(Skipped { submission, dispatches, reason });
                continue;
            }
        };
        if let Some(same) = seen.get(blake3::hash(text.as_bytes()).as_bytes()) {
            written.lists[*same].times += 1;
            continue;
        }
        seen.insert(*blake3::hash(text.as_bytes()).as_bytes(), written.lists.len());
        let (mut contents, mut after) = (Vec::with_capacity(pieces.len()), BTreeMap::new());
        for (index, piece) in pieces.iter().enumerate() {
            let before = bytes.of(*piece, &section.before, false);
            contents.push(before.map(|bytes| file::keep(folder, &bytes)).transpose().map_err(failed)?);
            let is_written = |access: &Access| access.writes && piece.contains(access.span);
            if own.iter().flat_map(|step| &step.accesses).any(is_written)
                && let Some(bytes) = bytes.of(*piece, &section.after, true)
            {
                after.insert(file::name(index), blake3::hash(&bytes).to_hex().to_string());
            }
        }
        bytes.forget();
        let count = |is: fn(&Action) -> bool| own.iter().filter(|step| is(&step.action)).count();
        let listed = Listed {
            file: folder.join(list.file_name()),
            submission: section.submission,
            times: 1,
            dispatches: count(|action| matches!(action, Action::Dispatch { .. })),
            copies: count(|action| matches!(action, Action::Copy | Action::Update(_))),
            fills: count(|action| matches!(action, Action::Fill(_))),
            barriers: section.commands.iter().filter(|one| matches!(one, Command::Barrier { .. })).count(),
            buffers: pieces.len(),
            temporaries: temporaries.iter().filter(|is| **is).count(),
            contents: contents.iter().all(Option::is_some),
            after,
        };
        let text = list.text(folder, &contents, true).map_err(Stop::wrong)?;
        std::fs::write(&listed.file, text).map_err(failed)?;
        written.lists.push(listed);
    }
    let json = serde_json::to_string_pretty(&written).unwrap_or_default();
    std::fs::write(folder.join("lists.json"), json).map_err(failed)?;
    Ok(written)
}

/// Dispatches of a section.
fn dispatches(section: &Section) -> usize {
    let is =
        |command: &&Command| matches!(command, Command::Dispatch { .. } | Command::DispatchIndirect { .. });
    section.commands.iter().filter(is).count()
}

/// The steps of a section, or why it cannot be a list.
fn steps(program: &Program, kernels: &mut Kernels, section: &Section) -> Result<Vec<Step>, String> {
    let mut steps = Vec::with_capacity(section.commands.len());
    for command in &section.commands {
        let (action, accesses) = match command {
            Command::Barrier { .. } | Command::Other { .. } => continue,
            Command::Dispatch { groups, .. } if groups.contains(&0) => continue,
            Command::Dispatch { pipeline, base, groups, push, args } => {
                let used = kernels.of(program, *pipeline)?;
                let accesses = bound(&used, args)?;
                let (pipeline, push) = (*pipeline, push.clone());
                (Action::Dispatch { pipeline, used, base: *base, groups: Some(*groups), push }, accesses)
            }
            Command::DispatchIndirect { pipeline, counts, push, args } => {
                let used = kernels.of(program, *pipeline)?;
                let mut accesses = vec![access(*counts, true, false)?];
                accesses.extend(bound(&used, args)?);
                let (pipeline, push) = (*pipeline, push.clone());
                (Action::Dispatch { pipeline, used, base: [0; 3], groups: None, push }, accesses)
            }
            Command::Copy { from, to } => {
                (Action::Copy, vec![access(*from, true, false)?, access(*to, false, true)?])
            }
            Command::Fill { to, value } => (Action::Fill(*value), vec![access(*to, false, true)?]),
            Command::Update { to, bytes } => (Action::Update(bytes.clone()), vec![access(*to, false, true)?]),
        };
        steps.push(Step { action, accesses });
    }
    Ok(steps)
}

fn access(range: Range, reads: bool, writes: bool) -> Result<Access, String> {
    if range.memory == 0 || range.len == 0 {
        return Err("a buffer whose memory was not captured".to_owned());
    }
    let span = Span { memory: range.memory, start: range.at, end: range.at + range.len };
    Ok(Access { span, reads, writes, slot: None, is_uniform: false })
}

/// What a dispatch accesses: what is bound where its kernel has bindings.
fn bound(used: &Used, args: &[vkfuse_layer::trace::Arg]) -> Result<Vec<Access>, String> {
    let bindings = &used.kernel.interface.bindings;
    let found = bindings.iter().map(|binding| {
        let at = binding.at;
        if let BindingKind::Other(what) = binding.kind {
            return Err(format!("{at} is a {what}"));
        }
        let is_here = |arg: &&vkfuse_layer::trace::Arg| {
            (arg.set, arg.binding, arg.element) == (at.set, at.binding, at.element)
        };
        let arg = args.iter().find(is_here).ok_or_else(|| format!("nothing is bound at {at}"))?;
        let range = arg.range.ok_or_else(|| format!("what is bound at {at} is no buffer"))?;
        let found = access(range, binding.reads, binding.writes)?;
        let is_uniform = binding.kind == BindingKind::UniformBuffer;
        Ok(Access { slot: Some(at), is_uniform, ..found })
    });
    found.collect()
}

/// Prints what was written.
pub(super) fn print(written: &Written, json: bool, out: &mut dyn Write) -> Result<(), Stop> {
    if json {
        return Ok(print_json(out, written)?);
    }
    let Written { program, submissions, dispatches, lists, .. } = written;
    writeln!(out, "{program}: {submissions} submissions, {dispatches} dispatches, {} lists\n", lists.len())?;
    let mut table = Table::new(&[
        "list",
        "times",
        "dispatches",
        "copies",
        "fills",
        "barriers",
        "buffers",
        "temporaries",
        "contents",
    ]);
    for list in lists {
        let numbers = [
            list.times,
            list.dispatches,
            list.copies,
            list.fills,
            list.barriers,
            list.buffers,
            list.temporaries,
        ];
        let contents = if list.contents { "captured" } else { "zeros" }.to_owned();
        let file = list.file.display().to_string();
        table.row([file].into_iter().chain(numbers.map(|number| number.to_string())).chain([contents]));
    }
    table.print(out)?;
    let mut table = Table::new(&["no list", "dispatches", "why"]);
    for one in &written.skipped {
        table.row([format!("submission {}", one.submission), one.dispatches.to_string(), one.reason.clone()]);
    }
    table.print(out)?;
    for (call, detail) in &written.missing {
        writeln!(out, "  not captured: {call}, {detail}")?;
    }
    if let Some(reason) = &written.stopped {
        writeln!(out, "  the layer failed, and captured nothing more: {reason}")?;
    }
    Ok(())
}
