//! What a capture looks like: a folder with a file of events for each process, a line of JSON each, with modules and bytes beside it.
//!
//! `events.PID.jsonl` holds [`Event`]s in the order in which they happened; `modules/HASH.spv` and `bytes/HASH` are named by the
//! BLAKE3 of what is in them. Objects have numbers, which are never used again.

use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The version of the format.
pub const FORMAT: u32 = 1;

/// Which contents of buffers are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contents {
    /// None.
    #[default]
    None,
    /// Before each submission, of the ranges that it binds.
    Before,
    /// Before and after it.
    Both,
}

/// Something that a program did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Event {
    /// The first event of a file.
    Start { format: u32, program: String, contents: Contents },
    /// `vkCreateInstance`.
    Instance { application: String, engine: String, api: String },
    /// `vkCreateDevice`. `robust`: with the feature `robustBufferAccess2`.
    Device { name: String, extensions: Vec<String>, robust: bool },
    /// A module, the first time that its bytes are seen.
    Module { hash: String, bytes: usize },
    /// A compute pipeline. Specialization constants are ids with bytes in hexadecimal.
    Pipeline { id: u64, module: String, entry: String, subgroup_size: u32, spec: Vec<(u32, String)> },
    /// The name that a program gave to a pipeline.
    Name { pipeline: u64, name: String },
    /// Memory. `visible`: the host may map it.
    Memory { id: u64, size: u64, visible: bool },
    /// Memory that the program mapped.
    Mapped { memory: u64 },
    /// A buffer.
    Buffer { id: u64, size: u64, usage: u32 },
    /// A buffer got its memory.
    Bind { buffer: u64, memory: u64, at: u64 },
    /// A buffer is no more.
    BufferGone { buffer: u64 },
    /// Memory is no more.
    MemoryGone { memory: u64 },
    /// What is in a command buffer, the first time that it is submitted.
    Commands { id: u64, commands: Vec<Command> },
    /// `vkQueueSubmit` and `vkQueueSubmit2`. `contents` events with its number may come before and after it.
    Submit { number: u64, call: String, queue: u64, thread: u64, batches: Vec<Batch>, fence: bool },
    /// Contents of buffers before or after the batch of a submission.
    Contents { submission: u64, batch: usize, when: When, held: Vec<Held> },
    /// The host waited, or asked whether it has to; once where it did the same again and again.
    Wait { call: String, result: i32 },
    /// What was not captured: the Vulkan call, and what of it.
    Missing { call: String, detail: String },
    /// The layer failed, and captured nothing from here on.
    Stopped { reason: String },
}

/// One `VkSubmitInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Numbers of [`Event::Commands`], in order.
    pub commands: Vec<u64>,
    /// Semaphores that it waits for.
    pub waits: usize,
    /// Semaphores that it signals.
    pub signals: usize,
}

/// On which side of a submission contents were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum When {
    Before,
    After,
}

/// Bytes of a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Held {
    pub memory: u64,
    pub at: u64,
    pub len: u64,
    pub hash: String,
}

/// The number of an object that the layer has not seen. Those of others begin at 1.
pub const UNKNOWN: u64 = 0;

/// A part of a buffer, and where it is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Range {
    pub buffer: u64,
    pub offset: u64,
    pub len: u64,
    /// 0 where the buffer has no memory of its own.
    pub memory: u64,
    pub at: u64,
}

/// What is bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arg {
    /// The set.
    pub set: u32,
    /// The binding in it.
    pub binding: u32,
    /// The element, of an array of descriptors.
    pub element: u32,
    /// `VkDescriptorType`.
    pub kind: i32,
    /// The part of a buffer; nothing for an image, a texel buffer, a null descriptor or what is no more.
    pub range: Option<Range>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Command {
    /// `vkCmdDispatch` and `vkCmdDispatchBase`. Push constants in hexadecimal.
    Dispatch { pipeline: u64, base: [u32; 3], groups: [u32; 3], push: String, args: Vec<Arg> },
    /// `vkCmdDispatchIndirect`.
    DispatchIndirect { pipeline: u64, counts: Range, push: String, args: Vec<Arg> },
    /// One region of `vkCmdCopyBuffer`.
    Copy { from: Range, to: Range },
    /// `vkCmdFillBuffer`.
    Fill { to: Range, value: u32 },
    /// `vkCmdUpdateBuffer`, with the bytes in hexadecimal.
    Update { to: Range, bytes: String },
    /// `vkCmdPipelineBarrier`: stages, and how many barriers of each kind.
    Barrier { from: u64, to: u64, memory: u32, buffers: u32, images: u32 },
    /// A call whose effect is not captured. `writes`: on memory, and not only on the order of commands.
    Other { call: String, writes: bool },
}

impl Command {
    /// The parts of buffers that it touches.
    pub fn ranges(&self) -> impl Iterator<Item = Range> + '_ {
        let (args, own): (&[Arg], [Option<Range>; 2]) = match self {
            Command::Dispatch { args, .. } => (args, [None, None]),
            Command::DispatchIndirect { args, counts, .. } => (args, [Some(*counts), None]),
            Command::Copy { from, to } => (&[], [Some(*from), Some(*to)]),
            Command::Fill { to, .. } | Command::Update { to, .. } => (&[], [Some(*to), None]),
            Command::Barrier { .. } | Command::Other { .. } => (&[], [None, None]),
        };
        args.iter().filter_map(|arg| arg.range).chain(own.into_iter().flatten())
    }
}

/// The files of events in a folder, one for each process: a program may start others.
///
/// # Errors
/// The folder cannot be read.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("events.") && name.ends_with(".jsonl") {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// The events of a file. A last line that was cut off, as by the end of a process, is left out.
///
/// # Errors
/// The file cannot be read, or a line is no event.
pub fn read(file: &Path) -> io::Result<Vec<Event>> {
    let lines = BufReader::new(std::fs::File::open(file)?).lines().collect::<io::Result<Vec<String>>>()?;
    let mut events = Vec::with_capacity(lines.len());
    for (number, line) in lines.iter().enumerate() {
        match serde_json::from_str(line) {
            Ok(event) => events.push(event),
            Err(error) if number + 1 == lines.len() && error.is_eof() => {}
            Err(error) => {
                let place = format!("{}, line {}: {error}", file.display(), number + 1);
                return Err(io::Error::new(io::ErrorKind::InvalidData, place));
            }
        }
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written_and_a_cut_line_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let range = Range { buffer: 1, offset: 0, len: 4, memory: 2, at: 8 };
        let events = [
            Event::Start { format: FORMAT, program: "p".to_owned(), contents: Contents::Both },
            Event::Commands { id: 1, commands: vec![Command::Fill { to: range, value: 7 }] },
            Event::Pipeline {
                id: 2,
                module: "m".to_owned(),
                entry: "main".to_owned(),
                subgroup_size: 0,
                spec: vec![(3, "07000000".to_owned())],
            },
        ];
        let mut text: String =
            events.iter().map(|event| serde_json::to_string(event).expect("JSON") + "\n").collect();
        text.push_str("{\"event\":\"sub");
        let file = folder.path().join("events.1.jsonl");
        std::fs::write(&file, &text).expect("it is written");
        std::fs::write(folder.path().join("other"), "").expect("it is written");
        assert_eq!(files(folder.path()).expect("a folder"), std::slice::from_ref(&file));
        assert_eq!(read(&file).expect("events"), events);
        std::fs::write(&file, text + "\n{}\n").expect("it is written");
        assert!(read(&file).expect_err("no event").to_string().contains("line 4"));
    }
}
