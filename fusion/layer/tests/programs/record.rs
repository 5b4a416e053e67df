//! What a random program records.

use crate::memory::{Accesses, Range, Rng, STEP, Span, span};
use crate::program::Program;
use crate::world::{BASE, Kernel, PLAIN, Way};
use ash::vk;

const POINT: vk::PipelineBindPoint = vk::PipelineBindPoint::COMPUTE;
const COMPUTE: vk::ShaderStageFlags = vk::ShaderStageFlags::COMPUTE;

/// What is bound: a pipeline, sets or what was pushed, and constants.
type Bound = (vk::Pipeline, Option<(usize, u32)>, Option<(Way, [u32; 2])>);

/// A recording.
struct Tape {
    to: vk::CommandBuffer,
    rng: Rng,
    salt: u32,
    since: Accesses,
    bound: Bound,
    /// How barriers stand: only where they have to, or behind most commands as well.
    is_sparse: bool,
    kind: usize,
    /// Whether an event may still be waited for.
    waits: bool,
    sets: Vec<usize>,
    buffers: Vec<usize>,
    uses_own: bool,
}

impl Program<'_> {
    /// Records a command buffer, which is not in use.
    pub(crate) fn record(&mut self, number: usize) {
        let own = &self.commands[number];
        let mut rng = Rng::new(own.seed);
        let usage = match rng.below(4) {
            0 => vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT,
            1 => vk::CommandBufferUsageFlags::SIMULTANEOUS_USE,
            _ => vk::CommandBufferUsageFlags::empty(),
        };
        let is_shared = usage.contains(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
        let (has_inner, is_timed) = (!is_shared && rng.one_in(20), !is_shared && rng.one_in(20));
        let sets_event = !is_shared && rng.one_in(10);
        let waits = !is_shared && rng.one_in(20);
        let (handle, inner, events, salt) = (own.handle, own.inner, own.events, own.salt);
        let device = &self.world.device;
        let mut tape = Tape {
            to: handle,
            salt,
            since: Accesses::default(),
            bound: Bound::default(),
            is_sparse: rng.one_in(2),
            kind: rng.below(3),
            waits,
            sets: Vec::new(),
            buffers: Vec::new(),
            uses_own: false,
            rng,
        };
        if has_inner {
            let of_none = vk::CommandBufferInheritanceInfo::default();
            let info = vk::CommandBufferBeginInfo::default().inheritance_info(&of_none);
            unsafe { device.begin_command_buffer(inner, &info).expect("it begins") };
            tape.to = inner;
            self.barrier(&mut tape, None);
            for _ in 0..2 + tape.rng.below(3) {
                self.command(&mut tape, events[1]);
            }
            unsafe { self.world.device.end_command_buffer(inner).expect("it ends") };
            tape.to = handle;
        }
        let device = &self.world.device;
        let info = vk::CommandBufferBeginInfo::default().flags(usage);
        unsafe { device.begin_command_buffer(handle, &info).expect("it begins") };
        tape.bound = Bound::default();
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        self.full(handle, all, all, vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE);
        if is_timed {
            unsafe { device.cmd_reset_query_pool(handle, self.queries, 0, 1) };
        }
        let count = 3 + tape.rng.below(12);
        let place = tape.rng.below(count);
        for at in 0..count {
            if has_inner && at == place {
                self.barrier(&mut tape, None);
                unsafe { self.world.device.cmd_execute_commands(handle, &[inner]) };
                self.barrier(&mut tape, None);
                tape.bound = Bound::default();
            }
            self.command(&mut tape, events[1]);
        }
        let device = &self.world.device;
        unsafe {
            if is_timed {
                device.cmd_write_timestamp(handle, vk::PipelineStageFlags::COMPUTE_SHADER, self.queries, 0);
            }
            if sets_event {
                device.cmd_set_event(handle, events[0], vk::PipelineStageFlags::COMPUTE_SHADER);
            }
        }
        let (read, write) = (vk::AccessFlags::HOST_READ, vk::AccessFlags::MEMORY_WRITE);
        self.full(handle, all, all | vk::PipelineStageFlags::HOST, read | write);
        unsafe { self.world.device.end_command_buffer(handle).expect("it ends") };
        let own = &mut self.commands[number];
        (own.usage, own.sets_event, own.is_ready) = (usage, sets_event, true);
        (own.sets, own.buffers, own.uses_own) = (tape.sets, tape.buffers, tape.uses_own);
    }

    /// A barrier of all memory.
    fn full(
        &self,
        to: vk::CommandBuffer,
        from: vk::PipelineStageFlags,
        until: vk::PipelineStageFlags,
        access: vk::AccessFlags,
    ) {
        let barrier = [vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(access)];
        let none = vk::DependencyFlags::empty();
        unsafe { self.world.device.cmd_pipeline_barrier(to, from, until, none, &barrier, &[], &[]) };
    }

    /// A barrier between what programs here do, or an event that is waited for.
    fn barrier(&self, tape: &mut Tape, event: Option<vk::Event>) {
        tape.since.clear();
        let (device, to) = (&self.world.device, tape.to);
        let access = vk::AccessFlags::SHADER_READ
            | vk::AccessFlags::SHADER_WRITE
            | vk::AccessFlags::UNIFORM_READ
            | vk::AccessFlags::TRANSFER_READ
            | vk::AccessFlags::TRANSFER_WRITE;
        let stages = vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER;
        let none = vk::DependencyFlags::empty();
        let memory = [vk::MemoryBarrier::default().src_access_mask(access).dst_access_mask(access)];
        let parts: Vec<_> = (self.buffers.iter())
            .map(|buffer| {
                let one = vk::BufferMemoryBarrier::default().src_access_mask(access).dst_access_mask(access);
                let one = one.src_queue_family_index(vk::QUEUE_FAMILY_IGNORED).buffer(buffer.handle);
                one.dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED).size(vk::WHOLE_SIZE)
            })
            .collect();
        if let Some(event) = event.filter(|_| tape.waits && tape.rng.one_in(2)) {
            tape.waits = false;
            unsafe { device.cmd_set_event(to, event, stages) };
            unsafe { device.cmd_wait_events(to, &[event], stages, stages, &memory, &[], &[]) };
            return;
        }
        match tape.kind {
            0 => unsafe { device.cmd_pipeline_barrier(to, stages, stages, none, &memory, &[], &[]) },
            1 => {
                // All buffers are named, those of this command buffer among them.
                tape.buffers.extend(
                    (0..self.buffers.len()).filter(|one| !tape.buffers.contains(one)).collect::<Vec<_>>(),
                );
                unsafe { device.cmd_pipeline_barrier(to, stages, stages, none, &[], &parts, &[]) }
            }
            _ => {
                let stages = vk::PipelineStageFlags2::from_raw(stages.as_raw().into());
                let access = vk::AccessFlags2::from_raw(access.as_raw().into());
                let memory = [vk::MemoryBarrier2::default()
                    .src_stage_mask(stages)
                    .src_access_mask(access)
                    .dst_stage_mask(stages)
                    .dst_access_mask(access)];
                let info = vk::DependencyInfo::default().memory_barriers(&memory);
                unsafe { device.cmd_pipeline_barrier2(to, &info) };
            }
        }
    }

    /// What a command accesses is about to be; a barrier stands in front of it where it has to.
    fn access(&self, tape: &mut Tape, event: vk::Event, accesses: &[(Span, bool)]) {
        let is_needed = tape.since.are_in_the_way(accesses);
        if is_needed || (!tape.is_sparse && tape.rng.below(4) > 0) {
            self.barrier(tape, Some(event));
        }
        tape.since.add(accesses);
    }

    fn command(&mut self, tape: &mut Tape, event: vk::Event) {
        match tape.rng.below(24) {
            0 => {
                let (from, to) = (self.range(Some(&mut tape.rng)), self.range(Some(&mut tape.rng)));
                let size = from.size.min(to.size);
                let (from, to) = (Range { size, ..from }, Range { size, ..to });
                let (a, b) = (span(&self.buffers, &from), span(&self.buffers, &to));
                if a.meets(&b) {
                    return;
                }
                self.access(tape, event, &[(a, false), (b, true)]);
                let region = [vk::BufferCopy { src_offset: from.offset, dst_offset: to.offset, size }];
                let [from, to] = [from, to].map(|range| self.named(tape, range.buffer));
                unsafe { self.world.device.cmd_copy_buffer(tape.to, from, to, &region) };
            }
            1 => {
                let to = self.range(Some(&mut tape.rng));
                let to = Range { size: to.size / 4 * 4, ..to };
                self.access(tape, event, &[(span(&self.buffers, &to), true)]);
                let (value, buffer) = (tape.rng.next() as u32, self.named(tape, to.buffer));
                unsafe { self.world.device.cmd_fill_buffer(tape.to, buffer, to.offset, to.size, value) };
            }
            2 => {
                let to = self.range(Some(&mut tape.rng));
                let to = Range { size: to.size.min(64), ..to };
                self.access(tape, event, &[(span(&self.buffers, &to), true)]);
                let bytes: Vec<u8> = (0..to.size).map(|_| tape.rng.next() as u8).collect();
                let buffer = self.named(tape, to.buffer);
                unsafe { self.world.device.cmd_update_buffer(tape.to, buffer, to.offset, &bytes) };
            }
            3 => {
                let label = vk::DebugUtilsLabelEXT::default().label_name(c"a label");
                unsafe { self.world.labels.cmd_insert_debug_utils_label(tape.to, &label) };
            }
            4 | 5 => {
                let ranges = self.ranges(Way::Pushed, Some(&mut tape.rng));
                self.dispatch(tape, event, Way::Pushed, ranges, None);
            }
            _ => {
                let number = tape.rng.below(self.sets.len());
                let (way, mut ranges) = (self.sets[number].way, self.sets[number].ranges);
                if !self.sets[number].is_whole {
                    return;
                }
                let mut offset = 0;
                if way == Way::Dynamic && tape.rng.one_in(3) {
                    offset = STEP as u32;
                    let is_whole = |range: &Range| self.infos(&[*range; 3])[0].range == vk::WHOLE_SIZE;
                    if ranges.iter().any(is_whole) {
                        return;
                    }
                    ranges.iter_mut().for_each(|range| range.offset += STEP);
                }
                self.dispatch(tape, event, way, ranges, Some((number, offset)));
            }
        }
    }

    /// A buffer that a command names.
    fn named(&self, tape: &mut Tape, buffer: usize) -> vk::Buffer {
        tape.buffers.push(buffer);
        self.buffers[buffer].handle
    }

    /// A kernel on these parts, which are in a set, or pushed.
    fn dispatch(
        &mut self,
        tape: &mut Tape,
        event: vk::Event,
        way: Way,
        ranges: [Range; 3],
        set: Option<(usize, u32)>,
    ) {
        let uses_own = way == Way::Sets && tape.rng.one_in(12);
        let kernel = match way {
            Way::Split => Kernel::Split,
            Way::Uniform => Kernel::Uniform,
            _ if uses_own => self.own.0,
            // Most programs are mostly by elements.
            _ if tape.rng.one_in(2) => tape.rng.of(&PLAIN[..4]),
            _ => tape.rng.of(&PLAIN),
        };
        if !self.fits(way, &ranges, kernel.is_elementwise()) {
            return;
        }
        let [a, b, c] = ranges.each_ref().map(|range| span(&self.buffers, range));
        if kernel == Kernel::Both && (b.meets(&a) || b.meets(&c)) {
            return;
        }
        let sizes = ranges.map(|range| (range.size / 4) as u32);
        let most =
            if way == Way::Uniform { sizes[0].min(sizes[2]) } else { sizes[0].min(sizes[1]).min(sizes[2]) };
        let some = if tape.rng.one_in(5) { 1 + tape.rng.below(most as usize) as u32 } else { most };
        let salt = tape.salt + if tape.rng.one_in(3) { tape.rng.below(100) as u32 } else { 1 };
        let (push, groups) = match kernel {
            Kernel::Full => ([0, 0], [most / 64, 1, 1]),
            Kernel::Turn => {
                let width = 1 + tape.rng.below(24) as u32;
                let rows = (some / width).max(1);
                ([rows, width], [width.div_ceil(8), rows.div_ceil(8), 1])
            }
            _ => ([some, salt], [some.div_ceil(64), 1, 1]),
        };
        if kernel == Kernel::Turn && push[0] * push[1] > most {
            return;
        }
        let how = tape.rng.below(30);
        let is_base = how == 0 && groups[0] > 1 && !uses_own;
        let is_indirect = how == 1 && groups[1] == 1 && groups[0] < 60;
        let pipeline = match () {
            () if uses_own => self.own.1,
            () if is_base => self.world.pipeline(kernel, way, BASE),
            () => self.world.pipeline(kernel, way, usize::from(tape.rng.one_in(4))),
        };
        tape.uses_own |= uses_own;
        self.access(tape, event, &[(a, false), (b, kernel == Kernel::Both), (c, true)]);
        ranges.iter().for_each(|range| tape.buffers.push(range.buffer));
        let layout = self.world.layout(way);
        let (device, to) = (&self.world.device, tape.to);
        // What is bound already is bound again only sometimes.
        let again = tape.rng.one_in(2);
        unsafe {
            if again || tape.bound.0 != pipeline {
                device.cmd_bind_pipeline(to, POINT, pipeline);
            }
            if again || tape.bound.2 != Some((way, push)) {
                let bytes: Vec<u8> = push.iter().flat_map(|word| word.to_ne_bytes()).collect();
                if tape.rng.one_in(3) {
                    device.cmd_push_constants(to, layout, COMPUTE, 0, &bytes[..4]);
                    device.cmd_push_constants(to, layout, COMPUTE, 4, &bytes[4..]);
                } else {
                    device.cmd_push_constants(to, layout, COMPUTE, 0, &bytes);
                }
            }
            match set {
                Some((number, offset)) => {
                    tape.sets.push(number);
                    if again || tape.bound.1 != set || tape.bound.2.is_none_or(|(of, _)| of != way) {
                        let offsets: &[u32] = if way == Way::Dynamic { &[offset; 3] } else { &[] };
                        let handles = &self.sets[number].handles;
                        device.cmd_bind_descriptor_sets(to, POINT, layout, 0, handles, offsets);
                    }
                }
                None => {
                    let infos = self.infos(&ranges);
                    let storage = vk::DescriptorType::STORAGE_BUFFER;
                    if tape.rng.one_in(3) {
                        for (binding, info) in (0..).zip(&infos) {
                            let write = vk::WriteDescriptorSet::default().dst_binding(binding);
                            let write =
                                write.descriptor_type(storage).buffer_info(std::slice::from_ref(info));
                            self.world.push.cmd_push_descriptor_set(to, POINT, layout, 0, &[write]);
                        }
                    } else {
                        let write =
                            vk::WriteDescriptorSet::default().descriptor_type(storage).buffer_info(&infos);
                        self.world.push.cmd_push_descriptor_set(to, POINT, layout, 0, &[write]);
                    }
                }
            }
            tape.bound = (pipeline, set, Some((way, push)));
            let [x, y, z] = groups;
            if is_indirect {
                device.cmd_dispatch_indirect(to, self.counts.1.handle, 12 * u64::from(x));
            } else if is_base {
                device.cmd_dispatch_base(to, 1, 0, 0, x - 1, y, z);
            } else {
                device.cmd_dispatch(to, x, y, z);
            }
        }
    }
}
