//! What a program did, from the events that the layer wrote.

use crate::stop::Stop;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use vkfuse_layer::trace::{self, Command, Contents, Event, FORMAT, Held, When};

/// A compute pipeline.
pub(super) struct Pipeline {
    pub(super) module: String,
    pub(super) entry: String,
    pub(super) subgroup_size: u32,
    /// Specialization constants: bytes in hexadecimal.
    pub(super) spec: BTreeMap<u32, String>,
    pub(super) name: Option<String>,
}

/// A part of a submission that can be one list: its batches up to one that waits for a semaphore, or to a command whose effect was
/// not captured.
pub(super) struct Section {
    /// The number of the submission, among those with work.
    pub(super) submission: usize,
    /// Its number in it.
    pub(super) part: usize,
    pub(super) commands: Vec<Command>,
    /// Whether it begins where a batch does: contents were taken there, and not in the middle of one.
    begins_batch: bool,
    /// What was in memory before it, where that was asked for: the first that has a byte counts.
    pub(super) before: Vec<Held>,
    /// And after it, where the last counts.
    pub(super) after: Vec<Held>,
}

impl Section {
    /// Whether it ends with a command whose effect was not captured, which may read anything.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.commands.last(), Some(Command::Other { writes: true, .. }))
    }
}

/// Something that matters for what is in memory.
pub(super) enum Moment {
    /// A section, by its number.
    Section(usize),
    /// Bytes that are no more: of a memory, from one to another.
    Gone { memory: u64, start: u64, end: u64 },
}

/// What was captured of one process.
pub(super) struct Program {
    /// The folder of the capture.
    pub(super) folder: PathBuf,
    pub(super) name: String,
    pub(super) device: String,
    pub(super) has_contents: bool,
    /// Accesses outside of what is bound are defined.
    pub(super) robust: bool,
    pub(super) pipelines: BTreeMap<u64, Pipeline>,
    /// Memories that the program mapped: it may read what is in them.
    pub(super) mapped: Vec<u64>,
    pub(super) sections: Vec<Section>,
    pub(super) moments: Vec<Moment>,
    pub(super) submissions: usize,
    /// Calls whose effect was not captured, and what of them.
    pub(super) missing: Vec<(String, String)>,
    /// Why the layer ended the capture early.
    pub(super) stopped: Option<String>,
    /// Processes that have events, and that are not this one.
    pub(super) others: usize,
}

/// Reads a capture: of several processes the one with the most submissions.
pub(super) fn read(folder: &Path) -> Result<Program, Stop> {
    let wrong = |error: std::io::Error| Stop::wrong(format!("cannot read {}: {error}", folder.display()));
    let files = trace::files(folder).map_err(wrong)?;
    let mut found: Option<Program> = None;
    for file in &files {
        let mut reader = Reader::new(folder, files.len() - 1);
        for event in trace::read(file).map_err(|error| Stop::wrong(error.to_string()))? {
            reader.add(event)?;
        }
        reader.finish();
        if found.as_ref().is_none_or(|other| other.submissions < reader.program.submissions) {
            found = Some(reader.program);
        }
    }
    found.ok_or_else(|| {
        Stop::wrong(format!(
            "{} holds no capture: the program made no Vulkan instance, or not through the loader",
            folder.display()
        ))
    })
}

/// A buffer that exists: its size, and its memory with the place in it.
struct Buffer {
    size: u64,
    memory: Option<(u64, u64)>,
}

struct Reader {
    program: Program,
    commands: BTreeMap<u64, Vec<Command>>,
    buffers: BTreeMap<u64, Buffer>,
    memories: BTreeMap<u64, u64>,
    /// Submissions whose contents may still come: for each number the sections of each batch.
    places: BTreeMap<(u64, usize), (usize, usize)>,
}

impl Reader {
    fn new(folder: &Path, others: usize) -> Reader {
        Reader {
            program: Program {
                folder: folder.to_owned(),
                name: String::new(),
                device: String::new(),
                has_contents: false,
                robust: false,
                pipelines: BTreeMap::new(),
                mapped: Vec::new(),
                sections: Vec::new(),
                moments: Vec::new(),
                submissions: 0,
                missing: Vec::new(),
                stopped: None,
                others,
            },
            commands: BTreeMap::new(),
            buffers: BTreeMap::new(),
            memories: BTreeMap::new(),
            places: BTreeMap::new(),
        }
    }

    fn add(&mut self, event: Event) -> Result<(), Stop> {
        let program = &mut self.program;
        match event {
            Event::Start { format, .. } if format != FORMAT => {
                let message = format!("a capture of format {format}, and this command reads {FORMAT}");
                return Err(Stop::wrong(message));
            }
            Event::Start { program: path, contents, .. } => {
                let name = Path::new(&path).file_name().unwrap_or_default();
                program.name = name.to_string_lossy().into_owned();
                program.has_contents = contents != Contents::None;
            }
            Event::Device { name, robust, .. } => (program.device, program.robust) = (name, robust),
            Event::Pipeline { id, module, entry, subgroup_size, spec } => {
                let spec = spec.into_iter().collect();
                program.pipelines.insert(id, Pipeline { module, entry, subgroup_size, spec, name: None });
            }
            Event::Name { pipeline, name } => {
                if let Some(pipeline) = program.pipelines.get_mut(&pipeline) {
                    pipeline.name = Some(name);
                }
            }
            Event::Memory { id, size, .. } => drop(self.memories.insert(id, size)),
            Event::Mapped { memory } => program.mapped.push(memory),
            Event::Buffer { id, size, .. } => {
                self.buffers.insert(id, Buffer { size, memory: None });
            }
            Event::Bind { buffer, memory, at } => {
                if let Some(buffer) = self.buffers.get_mut(&buffer) {
                    buffer.memory = Some((memory, at));
                }
            }
            Event::BufferGone { buffer } => self.buffer_gone(buffer),
            Event::MemoryGone { memory } => {
                let end = self.memories.remove(&memory);
                program.moments.extend(end.map(|end| Moment::Gone { memory, start: 0, end }));
            }
            Event::Commands { id, commands } => drop(self.commands.insert(id, commands)),
            Event::Submit { number, batches, .. } => self.submit(number, &batches),
            Event::Contents { submission, batch, when, held } => {
                if let Some((first, last)) = self.places.get(&(submission, batch)) {
                    match when {
                        When::Before if program.sections[*first].begins_batch => {
                            program.sections[*first].before.extend(held);
                        }
                        When::Before => {}
                        When::After => program.sections[*last].after.extend(held),
                    }
                }
            }
            Event::Missing { call, detail } => program.missing.push((call, detail)),
            Event::Stopped { reason } => program.stopped = Some(reason),
            Event::Instance { .. } | Event::Module { .. } | Event::Wait { .. } => {}
        }
        Ok(())
    }

    /// What was in a buffer is no more, unless another one is over it.
    fn buffer_gone(&mut self, buffer: u64) {
        let Some(Buffer { size, memory: Some((memory, start)) }) = self.buffers.remove(&buffer) else {
            return;
        };
        let end = start + size;
        let is_over = |other: &Buffer| {
            other.memory.is_some_and(|(own, at)| own == memory && at < end && start < at + other.size)
        };
        if !self.buffers.values().any(is_over) {
            self.program.moments.push(Moment::Gone { memory, start, end });
        }
    }

    fn submit(&mut self, number: u64, batches: &[trace::Batch]) {
        let has_work = batches.iter().any(|batch| {
            let commands = batch.commands.iter().filter_map(|id| self.commands.get(id));
            commands.flatten().any(|command| !matches!(command, Command::Barrier { .. }))
        });
        if !has_work {
            return;
        }
        let first = self.program.sections.len();
        let submission = self.program.submissions;
        self.program.submissions += 1;
        let new = |part: usize, begins_batch: bool| Section {
            submission,
            part,
            commands: Vec::new(),
            begins_batch,
            before: Vec::new(),
            after: Vec::new(),
        };
        self.program.sections.push(new(0, true));
        for (index, batch) in batches.iter().enumerate() {
            if index > 0 && batch.waits > 0 {
                let part = self.program.sections.len() - first;
                self.program.sections.push(new(part, true));
            }
            let start = self.program.sections.len() - 1;
            for command in batch.commands.iter().filter_map(|id| self.commands.get(id)).flatten() {
                let sections = &mut self.program.sections;
                if let Some(last) = sections.last_mut() {
                    last.commands.push(command.clone());
                }
                if matches!(command, Command::Other { writes: true, .. }) {
                    let part = sections.len() - first;
                    sections.push(new(part, false));
                }
            }
            self.places.insert((number, index), (start, self.program.sections.len() - 1));
        }
        let sections = first..self.program.sections.len();
        self.program.moments.extend(sections.map(Moment::Section));
    }

    /// Contents before a batch that continues a section are only of what it touches, and the section may have written them.
    fn finish(&mut self) {
        for section in &mut self.program.sections {
            let mut known: Vec<Held> = Vec::new();
            for held in std::mem::take(&mut section.before) {
                if !known.contains(&held) {
                    known.push(held);
                }
            }
            section.before = known;
        }
    }
}

impl Program {
    /// What was captured, for the program's user.
    pub(super) fn summary(&self, folder: &Path) -> String {
        let commands = || self.sections.iter().flat_map(|section| &section.commands);
        let is_dispatch = |command: &&Command| {
            matches!(command, Command::Dispatch { .. } | Command::DispatchIndirect { .. })
        };
        let dispatches = commands().filter(is_dispatch).count();
        let mut text = format!(
            "vkfuse: {} submissions with {dispatches} dispatches of {} are in {}",
            self.submissions,
            self.name,
            folder.display()
        );
        for (call, detail) in &self.missing {
            text.push_str(&format!("\nvkfuse: not captured: {call}, {detail}"));
        }
        if let Some(reason) = &self.stopped {
            text.push_str(&format!("\nvkfuse: the layer failed, and captured nothing more: {reason}"));
        }
        if self.others > 0 {
            text.push_str(&format!("\nvkfuse: {} more processes used Vulkan", self.others));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vkfuse_layer::trace::{Batch, Range};

    fn fill() -> Command {
        Command::Fill { to: Range { buffer: 1, offset: 0, len: 4, memory: 2, at: 0 }, value: 0 }
    }

    fn other(writes: bool) -> Command {
        Command::Other { call: "vkCmdOther".to_owned(), writes }
    }

    #[test]
    fn a_submission_is_cut_where_a_batch_waits_and_behind_what_is_not_captured() {
        let mut reader = Reader::new(Path::new(""), 0);
        let commands = [(1, vec![fill(), other(false), fill()]), (2, vec![fill(), other(true), fill()])];
        let batch = |commands: u64, waits| Batch { commands: vec![commands], waits, signals: 0 };
        let batches = vec![batch(1, 1), batch(1, 0), batch(2, 1), batch(1, 0)];
        let count = batches.len();
        let submit =
            Event::Submit { number: 9, call: String::new(), queue: 1, thread: 1, batches, fence: false };
        let commands = commands.map(|(id, commands)| Event::Commands { id, commands });
        let contents = (0..count).map(|batch| {
            let held = vec![Held { memory: 2, at: 0, len: 4, hash: batch.to_string() }];
            Event::Contents { submission: 9, batch, when: When::Before, held }
        });
        for event in commands.into_iter().chain([submit]).chain(contents) {
            assert!(reader.add(event).is_ok());
        }
        let sections = reader.program.sections.iter();
        let found: Vec<(usize, bool, Vec<&str>)> = sections
            .map(|section| {
                let before = section.before.iter().map(|held| &*held.hash).collect();
                (section.commands.len(), section.is_open(), before)
            })
            .collect();
        // What is in memory in the middle of a batch is not known.
        assert_eq!(found, [(6, false, vec!["0", "1"]), (2, true, vec!["2"]), (4, false, vec![])]);
        assert_eq!(reader.program.submissions, 1);
    }
}
