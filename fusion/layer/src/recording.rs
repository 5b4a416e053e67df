//! What a command buffer holds.
//!
//! Recording keeps handles, and `resolved` looks them up when the command buffer is submitted: until then a program may update
//! sets that allow it, and may not destroy what is recorded.

use crate::chain::Device;
use crate::descriptors::{self, Descriptor};
use crate::objects::Objects;
use crate::sink::{self, lock};
use crate::trace::{Arg, Command, Range, UNKNOWN};
use ash::vk;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A set that is bound for compute.
#[derive(Clone)]
pub(crate) enum Bound {
    Set { set: vk::DescriptorSet, dynamic: Vec<u32> },
    Pushed(Arc<descriptors::Contents>),
}

/// What a dispatch runs with.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) pipeline: vk::Pipeline,
    pub(crate) push: Vec<u8>,
    pub(crate) sets: BTreeMap<u32, Bound>,
}

/// A part of a buffer, by its handle.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) buffer: vk::Buffer,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// One command.
#[derive(Clone)]
pub(crate) enum Recorded {
    Dispatch { state: Arc<State>, base: [u32; 3], groups: [u32; 3] },
    Indirect { state: Arc<State>, counts: Part },
    Copy { from: Part, to: Part },
    Fill { to: Part, value: u32 },
    Update { to: Part, bytes: Vec<u8> },
    Barrier { from: u64, to: u64, counts: [u32; 3] },
    Execute(Vec<vk::CommandBuffer>),
    Other { call: &'static str, writes: bool },
}

/// What was recorded so far.
#[derive(Default)]
pub(crate) struct Recording {
    pub(crate) state: Arc<State>,
    pub(crate) commands: Vec<Recorded>,
    /// What it was resolved to, at which version of the objects.
    resolved: Option<(u64, u64, Arc<[Part]>)>,
}

/// A command buffer of the program.
pub(crate) struct CommandBuffer {
    pub(crate) device: Arc<Device>,
    pub(crate) pool: vk::CommandPool,
    pub(crate) recording: Mutex<Recording>,
}

impl CommandBuffer {
    pub(crate) fn record(&self, command: Recorded) {
        lock(&self.recording).commands.push(command);
    }

    /// Changes what later dispatches run with.
    pub(crate) fn set(&self, change: impl FnOnce(&mut State)) {
        change(Arc::make_mut(&mut lock(&self.recording).state));
    }

    pub(crate) fn dispatch(&self, base: [u32; 3], groups: [u32; 3]) {
        let mut recording = lock(&self.recording);
        let state = recording.state.clone();
        recording.commands.push(Recorded::Dispatch { state, base, groups });
    }

    pub(crate) fn indirect(&self, counts: Part) {
        let mut recording = lock(&self.recording);
        let state = recording.state.clone();
        recording.commands.push(Recorded::Indirect { state, counts });
    }

    pub(crate) fn clear(&self) {
        *lock(&self.recording) = Recording::default();
    }
}

/// The number of what is in a command buffer, written if it is new, and the parts of buffers that it touches.
pub(crate) fn resolved(objects: &mut Objects, buffer: &CommandBuffer) -> (u64, Arc<[Part]>) {
    let known = lock(&buffer.recording).resolved.clone();
    if let Some((_, id, parts)) = known.filter(|(version, ..)| *version == objects.version) {
        return (id, parts);
    }
    let (mut commands, mut parts) = (Vec::new(), Vec::new());
    let has_others = collect(objects, buffer, &mut commands, &mut parts, 0);
    let text = serde_json::to_string(&commands).unwrap_or_default();
    let hash = *blake3::hash(text.as_bytes()).as_bytes();
    let id = *objects.commands.entry(hash).or_insert_with(|| {
        let id = sink::number();
        sink::emit(&crate::trace::Event::Commands { id, commands });
        id
    });
    let parts: Arc<[Part]> = parts.into();
    if !has_others {
        lock(&buffer.recording).resolved = Some((objects.version, id, parts.clone()));
    }
    (id, parts)
}

/// Secondary command buffers contain none themselves, except through an extension.
const DEPTH: u32 = 8;

/// Whether there were secondary command buffers, which may be recorded again on their own.
fn collect(
    objects: &Objects,
    buffer: &CommandBuffer,
    commands: &mut Vec<Command>,
    parts: &mut Vec<Part>,
    depth: u32,
) -> bool {
    let mut has_others = false;
    let recording = lock(&buffer.recording);
    for command in &recording.commands {
        let mut range = |part: &Part| {
            parts.push(*part);
            let nothing = Range { buffer: UNKNOWN, offset: 0, len: 0, memory: UNKNOWN, at: 0 };
            objects.range(part.buffer, part.offset, part.len).unwrap_or(nothing)
        };
        commands.push(match command {
            Recorded::Dispatch { state, base, groups } => Command::Dispatch {
                pipeline: objects.pipelines.get(&state.pipeline).copied().unwrap_or(UNKNOWN),
                base: *base,
                groups: *groups,
                push: sink::hex(&state.push),
                args: args(objects, state, parts),
            },
            Recorded::Indirect { state, counts } => Command::DispatchIndirect {
                pipeline: objects.pipelines.get(&state.pipeline).copied().unwrap_or(UNKNOWN),
                counts: range(counts),
                push: sink::hex(&state.push),
                args: args(objects, state, parts),
            },
            Recorded::Copy { from, to } => Command::Copy { from: range(from), to: range(to) },
            Recorded::Fill { to, value } => {
                let to = range(to);
                // The rest of a buffer is filled in whole words.
                Command::Fill { to: Range { len: to.len / 4 * 4, ..to }, value: *value }
            }
            Recorded::Update { to, bytes } => Command::Update { to: range(to), bytes: sink::hex(bytes) },
            Recorded::Barrier { from, to, counts: [memory, buffers, images] } => {
                Command::Barrier { from: *from, to: *to, memory: *memory, buffers: *buffers, images: *images }
            }
            Recorded::Other { call, writes } => Command::Other { call: (*call).to_owned(), writes: *writes },
            Recorded::Execute(others) => {
                has_others = true;
                for other in others.iter().filter_map(|other| crate::chain::command_buffer(*other)) {
                    if depth < DEPTH && !std::ptr::eq(&*other, buffer) {
                        collect(objects, &other, commands, parts, depth + 1);
                    }
                }
                continue;
            }
        });
    }
    has_others
}

fn args(objects: &Objects, state: &State, parts: &mut Vec<Part>) -> Vec<Arg> {
    let mut args = Vec::new();
    for (set, bound) in &state.sets {
        let (contents, dynamic) = match bound {
            Bound::Pushed(contents) => (&**contents, BTreeMap::new()),
            Bound::Set { set, dynamic } => {
                let Some(set) = objects.sets.get(set) else { continue };
                (&set.contents, set.layout.dynamic().zip(dynamic.iter().copied()).collect())
            }
        };
        for (&(binding, element), descriptor) in contents {
            let (kind, range) = match *descriptor {
                Descriptor::Other(kind) => (kind, None),
                Descriptor::Buffer { kind, buffer, offset, range } => {
                    let offset = offset + dynamic.get(&(binding, element)).map_or(0, |more| u64::from(*more));
                    let found = objects.range(buffer, offset, range);
                    if found.is_some() {
                        parts.push(Part { buffer, offset, len: range });
                    }
                    (kind, found)
                }
            };
            args.push(Arg { set: *set, binding, element, kind: kind.as_raw(), range });
        }
    }
    args
}
