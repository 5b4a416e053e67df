//! What a command buffer holds.
//!
//! Recording appends what was called to a log, with handles. It is read when the command buffer is submitted: until then a program
//! may update sets that allow it, and may not destroy what the commands need.

use crate::chain::Device;
use crate::descriptors::{self, Descriptor};
use crate::fuse::Stand;
use crate::objects::Objects;
use crate::sink::{self, lock};
use crate::trace::{Arg, Command, Range, UNKNOWN};
use ash::vk;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex};
use std::time::Duration;

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
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) buffer: vk::Buffer,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// One region of a copy: offsets in the source and in the target, and how many bytes.
pub(crate) type Region = (u64, u64, u64);

/// The barriers of one call. Those on images are counted only.
#[derive(Clone, Default)]
pub(crate) struct Barriers {
    /// Of `vkCmdPipelineBarrier`: the stages, which are the same for all.
    pub(crate) stages: Option<(vk::PipelineStageFlags, vk::PipelineStageFlags)>,
    pub(crate) flags: vk::DependencyFlags,
    pub(crate) memory: SmallVec<[vk::MemoryBarrier2<'static>; 1]>,
    pub(crate) buffers: Vec<vk::BufferMemoryBarrier2<'static>>,
    pub(crate) images: u32,
    /// Whether one has a structure chained to it, which is not kept.
    pub(crate) is_extended: bool,
}

/// One call that records.
#[derive(Clone)]
pub(crate) enum Op {
    Pipeline(vk::Pipeline),
    Sets {
        layout: vk::PipelineLayout,
        first: u32,
        sets: SmallVec<[vk::DescriptorSet; 2]>,
        dynamic: Box<[u32]>,
    },
    Push {
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        bytes: SmallVec<[u8; 24]>,
    },
    /// What is pushed for a set becomes this; the rest of it stays.
    PushSet {
        layout: vk::PipelineLayout,
        set: u32,
        writes: Arc<descriptors::Contents>,
    },
    Dispatch {
        base: [u32; 3],
        groups: [u32; 3],
    },
    Indirect(Part),
    Copy {
        from: vk::Buffer,
        to: vk::Buffer,
        regions: Box<[Region]>,
    },
    Fill {
        to: Part,
        value: u32,
    },
    Update {
        to: Part,
        bytes: Box<[u8]>,
    },
    Barrier(Arc<Barriers>),
    Execute(Box<[vk::CommandBuffer]>),
    /// `writes`: on memory, and not only on the order of commands.
    Other {
        call: &'static str,
        writes: bool,
    },
    /// `vkCmdSetEvent`, or `vkCmdResetEvent`.
    Event {
        event: vk::Event,
        stages: vk::PipelineStageFlags,
        is_set: bool,
    },
    /// What is in no list and does nothing to one: queries.
    Unlisted(&'static str),
    Label(Box<Label>),
}

/// What debuggers are shown.
#[derive(Clone, PartialEq)]
pub(crate) enum Label {
    Begin(CString, [f32; 4]),
    Insert(CString, [f32; 4]),
    End,
}

/// What was recorded so far.
#[derive(Default)]
pub(crate) struct Recording {
    pub(crate) ops: Vec<Op>,
    pub(crate) usage: vk::CommandBufferUsageFlags,
    /// The opening of the gate in which it was begun.
    begun: Option<u64>,
    /// Whether every command is here.
    pub(crate) is_whole: bool,
    /// The time that following its commands took and that was not counted yet.
    pub(crate) spent: Duration,
    /// `Objects::layouts_gone` when it was begun.
    pub(crate) layouts_gone: u64,
    /// What it was resolved to, at which version of the objects.
    resolved: Option<(u64, u64, Arc<[Part]>)>,
    /// The latest barriers: most are like those before.
    barriers: Option<Arc<Barriers>>,
    /// What was submitted instead of it: it stays until this is recorded anew, or is no more.
    pub(crate) stands: Vec<Stand>,
    /// The version of the objects at which nothing can stand for it.
    pub(crate) is_unfit_at: Option<u64>,
}

/// A command buffer of the program.
pub(crate) struct CommandBuffer {
    pub(crate) device: Arc<Device>,
    pub(crate) pool: vk::CommandPool,
    pub(crate) is_primary: bool,
    pub(crate) recording: Mutex<Recording>,
}

impl CommandBuffer {
    pub(crate) fn record(&self, op: Op) {
        lock(&self.recording).ops.push(op);
    }

    pub(crate) fn barrier(&self, barriers: Barriers) {
        let mut recording = lock(&self.recording);
        let latest = recording.barriers.as_ref().filter(|latest| latest.is_like(&barriers)).cloned();
        let latest = latest.unwrap_or_else(|| Arc::new(barriers));
        recording.barriers = Some(latest.clone());
        recording.ops.push(Op::Barrier(latest));
    }

    pub(crate) fn begin(&self, usage: vk::CommandBufferUsageFlags) {
        self.clear();
        let begun = self.device.gate.opening();
        let gone = if begun.is_some() { lock(&self.device.objects).layouts_gone } else { 0 };
        let mut recording = lock(&self.recording);
        (recording.begun, recording.usage, recording.layouts_gone) = (begun, usage, gone);
    }

    pub(crate) fn end(&self) {
        let mut recording = lock(&self.recording);
        recording.is_whole = recording.begun.is_some() && recording.begun == self.device.gate.opening();
    }

    /// Forgets what was recorded. The room for it stays.
    pub(crate) fn clear(&self) {
        let mut recording = lock(&self.recording);
        (recording.resolved, recording.is_unfit_at, recording.is_whole) = (None, None, false);
        let mut stands = std::mem::take(&mut recording.stands);
        if stands.is_empty() {
            recording.ops.clear();
            return;
        }
        if let [stand] = &mut stands[..] {
            let room = Vec::with_capacity(recording.ops.len());
            crate::fuse::stood_for(stand, std::mem::replace(&mut recording.ops, room));
        }
        recording.ops.clear();
        drop(recording);
        // None of them is pending: this would be, too.
        crate::fuse::give_back(&self.device, stands);
    }
}

impl Op {
    /// Whether it is the same call with the same handles, none of them of an object that nothing is known of.
    pub(crate) fn is_like(&self, other: &Op) -> bool {
        match (self, other) {
            (Op::Pipeline(a), Op::Pipeline(b)) => a == b,
            (
                Op::Sets { layout, first, sets, dynamic },
                Op::Sets { layout: of, first: at, sets: those, dynamic: offsets },
            ) => (layout, first, sets, dynamic) == (of, at, those, offsets),
            (
                Op::Push { layout, stages, offset, bytes },
                Op::Push { layout: of, stages: by, offset: at, bytes: those },
            ) => (layout, stages, offset, bytes) == (of, by, at, those),
            (Op::PushSet { layout, set, writes }, Op::PushSet { layout: of, set: at, writes: those }) => {
                (layout, set, writes) == (of, at, those)
            }
            (Op::Dispatch { base, groups }, Op::Dispatch { base: from, groups: count }) => {
                (base, groups) == (from, count)
            }
            (Op::Indirect(a), Op::Indirect(b)) => a == b,
            (Op::Copy { from, to, regions }, Op::Copy { from: a, to: b, regions: those }) => {
                (from, to, regions) == (a, b, those)
            }
            (Op::Fill { to, value }, Op::Fill { to: at, value: with }) => (to, value) == (at, with),
            (Op::Update { to, bytes }, Op::Update { to: at, bytes: those }) => (to, bytes) == (at, those),
            (Op::Barrier(a), Op::Barrier(b)) => a.is_same(b),
            (Op::Label(a), Op::Label(b)) => a == b,
            _ => false,
        }
    }
}

impl Barriers {
    /// Whether these are the same barriers, none of them of buffers or images.
    pub(crate) fn is_like(&self, other: &Barriers) -> bool {
        let plain = |one: &Barriers| one.buffers.is_empty() && one.images == 0 && !one.is_extended;
        plain(self) && plain(other) && self.is_same(other)
    }

    /// Whether these are the same barriers, none of them of images, and all that was said of them is known.
    fn is_same(&self, other: &Barriers) -> bool {
        let known = |one: &Barriers| one.images == 0 && !one.is_extended;
        let memory = |one: &vk::MemoryBarrier2<'_>| {
            (one.src_stage_mask, one.src_access_mask, one.dst_stage_mask, one.dst_access_mask)
        };
        let buffer = |one: &vk::BufferMemoryBarrier2<'_>| {
            let masks = (one.src_stage_mask, one.src_access_mask, one.dst_stage_mask, one.dst_access_mask);
            let families = (one.src_queue_family_index, one.dst_queue_family_index);
            (masks, families, (one.buffer, one.offset, one.size))
        };
        known(self)
            && known(other)
            && self.stages == other.stages
            && self.flags == other.flags
            && self.memory.iter().map(memory).eq(other.memory.iter().map(memory))
            && self.buffers.iter().map(buffer).eq(other.buffers.iter().map(buffer))
    }
}

impl State {
    /// Follows one call.
    pub(crate) fn follow(&mut self, objects: &Objects, op: &Op) {
        match op {
            Op::Pipeline(pipeline) => self.pipeline = *pipeline,
            Op::Push { offset, bytes, .. } => {
                let (start, end) = (*offset as usize, *offset as usize + bytes.len());
                if self.push.len() < end {
                    self.push.resize(end, 0);
                }
                self.push[start..end].copy_from_slice(bytes);
            }
            Op::Sets { first, sets, dynamic, .. } => {
                let mut dynamic = &**dynamic;
                for (number, set) in (*first..).zip(sets) {
                    let count = objects.sets.get(set).map_or(0, |set| set.layout.dynamic().count());
                    let (own, rest) = dynamic.split_at(count.min(dynamic.len()));
                    dynamic = rest;
                    self.sets.insert(number, Bound::Set { set: *set, dynamic: own.to_vec() });
                }
            }
            Op::PushSet { set, writes, .. } => {
                // What was pushed is there until a set is bound.
                let mut contents = match self.sets.remove(set) {
                    Some(Bound::Pushed(contents)) => contents,
                    _ => Arc::default(),
                };
                Arc::make_mut(&mut contents).extend(writes.iter().map(|(at, one)| (*at, *one)));
                self.sets.insert(*set, Bound::Pushed(contents));
            }
            _ => {}
        }
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
    let mut state = State::default();
    let recording = lock(&buffer.recording);
    for op in &recording.ops {
        let mut range = |part: &Part| {
            parts.push(*part);
            let nothing = Range { buffer: UNKNOWN, offset: 0, len: 0, memory: UNKNOWN, at: 0 };
            objects.range(part.buffer, part.offset, part.len).unwrap_or(nothing)
        };
        let pipeline = |state: &State| objects.pipelines.get(&state.pipeline).map_or(UNKNOWN, |one| one.id);
        match op {
            Op::Pipeline(_) | Op::Sets { .. } | Op::Push { .. } | Op::PushSet { .. } => {
                state.follow(objects, op);
            }
            Op::Dispatch { base, groups } => commands.push(Command::Dispatch {
                pipeline: pipeline(&state),
                base: *base,
                groups: *groups,
                push: sink::hex(&state.push),
                args: args(objects, &state, parts),
            }),
            Op::Indirect(counts) => commands.push(Command::DispatchIndirect {
                pipeline: pipeline(&state),
                counts: range(counts),
                push: sink::hex(&state.push),
                args: args(objects, &state, parts),
            }),
            Op::Copy { from, to, regions } => {
                for &(source, target, len) in regions {
                    let from = range(&Part { buffer: *from, offset: source, len });
                    commands
                        .push(Command::Copy { from, to: range(&Part { buffer: *to, offset: target, len }) });
                }
            }
            Op::Fill { to, value } => {
                let to = range(to);
                // The rest of a buffer is filled in whole words.
                commands.push(Command::Fill { to: Range { len: to.len / 4 * 4, ..to }, value: *value });
            }
            Op::Update { to, bytes } => {
                commands.push(Command::Update { to: range(to), bytes: sink::hex(bytes) });
            }
            Op::Barrier(barriers) => {
                let memory = barriers.memory.iter().map(|one| (one.src_stage_mask, one.dst_stage_mask));
                let buffers = barriers.buffers.iter().map(|one| (one.src_stage_mask, one.dst_stage_mask));
                let all = memory.chain(buffers);
                let stages = all.fold((0, 0), |(a, b), (from, to)| (a | from.as_raw(), b | to.as_raw()));
                let (from, to) =
                    barriers.stages.map_or(stages, |(from, to)| (from.as_raw().into(), to.as_raw().into()));
                commands.push(Command::Barrier {
                    from,
                    to,
                    memory: barriers.memory.len() as u32,
                    buffers: barriers.buffers.len() as u32,
                    images: barriers.images,
                });
            }
            Op::Event { is_set: true, .. } => {
                commands.push(Command::Other { call: "vkCmdSetEvent".to_owned(), writes: false });
            }
            Op::Event { .. } | Op::Unlisted(_) | Op::Label(_) => {}
            Op::Other { call, writes } => {
                commands.push(Command::Other { call: (*call).to_owned(), writes: *writes });
            }
            Op::Execute(others) => {
                has_others = true;
                for other in others.iter().filter_map(|other| crate::chain::command_buffer(*other)) {
                    if depth < DEPTH && !std::ptr::eq(&*other, buffer) {
                        collect(objects, &other, commands, parts, depth + 1);
                    }
                }
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use ash::vk::Handle;

    #[test]
    fn the_same_call_is_one_with_the_same_handles_and_values() {
        let layout = vk::PipelineLayout::from_raw(1);
        let (one, other) = (vk::Buffer::from_raw(2), vk::Buffer::from_raw(3));
        let push = |offset, byte: u8| Op::Push {
            layout,
            stages: vk::ShaderStageFlags::COMPUTE,
            offset,
            bytes: vec![byte; 4].into(),
        };
        let pushed = |buffer, offset| {
            let kind = vk::DescriptorType::STORAGE_BUFFER;
            let descriptor = Descriptor::Buffer { kind, buffer, offset, range: 4 };
            Op::PushSet { layout, set: 0, writes: Arc::new([((0, 0), descriptor)].into()) }
        };
        let sets = |first, offset| {
            let sets = vec![vk::DescriptorSet::from_raw(4)].into();
            Op::Sets { layout, first, sets, dynamic: [offset].into() }
        };
        let barrier = |access, buffer, images| {
            let memory = vk::MemoryBarrier2::default().src_access_mask(access);
            let buffers = vec![vk::BufferMemoryBarrier2::default().buffer(buffer)];
            Op::Barrier(Arc::new(Barriers {
                memory: vec![memory].into(),
                buffers,
                images,
                ..Barriers::default()
            }))
        };
        let (read, write) = (vk::AccessFlags2::SHADER_READ, vk::AccessFlags2::SHADER_WRITE);
        let part = |offset| Part { buffer: one, offset, len: 4 };
        let calls = || {
            let copy = |to, len| Op::Copy { from: one, to, regions: [(0, 0, len)].into() };
            let update = |byte: u8| Op::Update { to: part(0), bytes: vec![byte; 4].into() };
            vec![
                Op::Pipeline(vk::Pipeline::from_raw(5)),
                Op::Pipeline(vk::Pipeline::from_raw(6)),
                sets(0, 0),
                sets(1, 0),
                sets(0, 256),
                push(0, 1),
                push(4, 1),
                push(0, 2),
                pushed(one, 0),
                pushed(other, 0),
                pushed(one, 4),
                Op::Dispatch { base: [0; 3], groups: [1; 3] },
                Op::Dispatch { base: [1; 3], groups: [1; 3] },
                Op::Dispatch { base: [0; 3], groups: [2, 1, 1] },
                Op::Indirect(part(0)),
                Op::Indirect(part(4)),
                copy(other, 4),
                copy(one, 4),
                copy(other, 8),
                Op::Fill { to: part(0), value: 0 },
                Op::Fill { to: part(4), value: 0 },
                Op::Fill { to: part(0), value: 1 },
                update(1),
                update(2),
                barrier(read, one, 0),
                barrier(write, one, 0),
                barrier(read, other, 0),
                Op::Label(Box::new(Label::End)),
                Op::Label(Box::new(Label::Begin(c"name".to_owned(), [0.0; 4]))),
            ]
        };
        let (these, those) = (calls(), calls());
        for (number, call) in these.iter().enumerate() {
            let same: Vec<usize> = (0..those.len()).filter(|at| call.is_like(&those[*at])).collect();
            assert_eq!(same, [number]);
        }
        // Nothing is known of what these name.
        let images = barrier(read, one, 1);
        let event =
            Op::Event { event: vk::Event::null(), stages: vk::PipelineStageFlags::HOST, is_set: true };
        assert!(!images.is_like(&images) && !event.is_like(&event.clone()));
    }
}
