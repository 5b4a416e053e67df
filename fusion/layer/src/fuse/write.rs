//! The commands of a program in a command buffer of the layer's, with fused dispatches in place of some.
//!
//! # Guarantees
//! - Commands are given as the program gave them, except for fused dispatches.
//! - Barriers between dispatches that are done together stand in front of and behind each of these: what they order stays ordered.
//!
//! # Safety
//! What the commands refer to is alive where their command buffer is submitted, which is when they are written.
#![allow(unsafe_op_in_unsafe_fn)]

use super::plans::{self, Cluster, Step};
use crate::chain::Device;
use crate::descriptors::{Contents, Descriptor};
use crate::recording::{Barriers, Label, Op};
use ash::vk;
use vkfuse::{FusedList, RawCommandBuffer, Recorded};

/// The calls whose state is in effect, by their numbers, in order.
#[derive(Clone, Default)]
struct InEffect {
    pipeline: Option<usize>,
    sets: Vec<usize>,
    pushes: Vec<usize>,
}

/// A cluster whose groups are ready, with the calls that its dispatches are.
pub(super) struct Placed<'p> {
    pub(super) cluster: &'p Cluster,
    /// The call of each dispatch of the list.
    pub(super) ops: Vec<usize>,
    /// The lists of its groups, in order.
    pub(super) lists: Vec<FusedList>,
}

/// What writing needs.
pub(super) struct Writer<'w> {
    pub(super) device: &'w Device,
    pub(super) to: vk::CommandBuffer,
    pub(super) ops: &'w [Op],
    pub(super) recorded: Vec<Recorded>,
}

impl InEffect {
    fn follow(&mut self, ops: &[Op], number: usize) {
        match &ops[number] {
            Op::Pipeline(_) => self.pipeline = Some(number),
            Op::Sets { first, sets, .. } => {
                let own = *first..first.saturating_add(sets.len() as u32);
                self.sets.retain(|other| match &ops[*other] {
                    Op::Sets { first, sets, .. } => {
                        !(own.start <= *first && first.saturating_add(sets.len() as u32) <= own.end)
                    }
                    Op::PushSet { set, .. } => !own.contains(set),
                    _ => false,
                });
                self.sets.push(number);
            }
            Op::PushSet { set: own, writes: all, .. } => {
                self.sets.retain(|other| match &ops[*other] {
                    Op::PushSet { set, writes, .. } => {
                        set != own || !writes.keys().all(|at| all.contains_key(at))
                    }
                    _ => true,
                });
                self.sets.push(number);
            }
            Op::Push { offset, bytes, stages, .. } => {
                let (from, to, own) = (*offset as usize, *offset as usize + bytes.len(), *stages);
                self.pushes.retain(|other| match &ops[*other] {
                    Op::Push { offset, bytes, stages, .. } => {
                        let (start, end) = (*offset as usize, *offset as usize + bytes.len());
                        !(from <= start && end <= to && *stages == own)
                    }
                    _ => false,
                });
                self.pushes.push(number);
            }
            _ => {}
        }
    }

    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.pipeline.iter().chain(&self.sets).chain(&self.pushes).copied()
    }
}

impl Writer<'_> {
    /// Writes all commands.
    pub(super) unsafe fn all(&mut self, clusters: &[Placed<'_>]) -> Result<(), String> {
        let mut state = InEffect::default();
        // Whether what is bound is the program's.
        let mut is_own = true;
        let mut next = clusters.iter().peekable();
        let mut number = 0;
        // The barrier right in front, and one that stands behind a cluster already.
        let mut latest: Option<usize> = None;
        let mut behind: Option<Barriers> = None;
        while number < self.ops.len() {
            if let Some(placed) = next.next_if(|placed| placed.ops[placed.cluster.range.start] == number) {
                let last = placed.ops[placed.cluster.range.end - 1];
                behind = self.cluster(placed, &mut state, number..last + 1, latest.take())?;
                is_own = false;
                number = last + 1;
                continue;
            }
            let op = &self.ops[number];
            match op {
                Op::Pipeline(_) | Op::Sets { .. } | Op::Push { .. } | Op::PushSet { .. } => {
                    state.follow(self.ops, number);
                    if is_own {
                        self.one(op)?;
                    }
                }
                Op::Dispatch { .. } | Op::Indirect(_) => {
                    if !is_own {
                        self.restore(&state)?;
                        is_own = true;
                    }
                    self.one(op)?;
                    (latest, behind) = (None, None);
                }
                Op::Barrier(one) => {
                    if !behind.as_ref().is_some_and(|behind| behind.is_like(one)) {
                        self.barrier(one)?;
                    }
                    latest = Some(number);
                }
                _ => {
                    self.one(op)?;
                    (latest, behind) = (None, None);
                }
            }
            number += 1;
        }
        Ok(())
    }

    /// Binds what is in effect.
    unsafe fn restore(&self, state: &InEffect) -> Result<(), String> {
        state.all().try_for_each(|number| self.one(&self.ops[number]))
    }

    /// Writes a cluster that is these calls; `before` is a barrier right in front of it. Returns the one barrier that is behind it.
    unsafe fn cluster(
        &mut self,
        placed: &Placed<'_>,
        state: &mut InEffect,
        calls: std::ops::Range<usize>,
        before: Option<usize>,
    ) -> Result<Option<Barriers>, String> {
        let mut barriers: Vec<&Barriers> = Vec::new();
        let mut states: Vec<(usize, InEffect)> = Vec::new();
        for number in calls {
            match &self.ops[number] {
                Op::Barrier(one) if !barriers.iter().any(|other| other.is_like(one)) => barriers.push(one),
                Op::Dispatch { .. } => states.push((number, state.clone())),
                Op::Label(_) => self.one(&self.ops[number])?,
                _ => {}
            }
            state.follow(self.ops, number);
        }
        let given = before.and_then(|number| match &self.ops[number] {
            Op::Barrier(one) => Some(&**one),
            _ => None,
        });
        if !(barriers.len() == 1 && given.is_some_and(|given| given.is_like(barriers[0]))) {
            barriers.iter().try_for_each(|one| self.barrier(one))?;
        }
        let mut lists = placed.lists.iter();
        for step in &placed.cluster.steps {
            match step {
                Step::Own(position) => {
                    let number = placed.ops[*position];
                    let own =
                        states.iter().find(|(of, _)| *of == number).ok_or("a dispatch without a state")?;
                    self.restore(&own.1)?;
                    self.one(&self.ops[number])?;
                }
                Step::Fused(_) => {
                    let list = lists.next().ok_or("a group without a list")?;
                    // The command buffer is the layer's, is being recorded, and is submitted only while what this returns lives;
                    // the program's barriers are around it, and what the program binds is bound again.
                    let into = RawCommandBuffer::recording(self.to);
                    let recorded = plans::record(list, &into).map_err(|error| error.to_string())?;
                    if !recorded.waits().is_empty() || recorded.dispatches() != 1 {
                        return Err("a group that is not one dispatch by itself".to_owned());
                    }
                    self.recorded.push(recorded);
                }
            }
            barriers.iter().try_for_each(|one| self.barrier(one))?;
        }
        Ok(match barriers[..] {
            [one] => Some(one.clone()),
            _ => None,
        })
    }

    unsafe fn barrier(&self, barriers: &Barriers) -> Result<(), String> {
        let (own, to) = (&self.device.own, self.to);
        match barriers.stages {
            None => {
                let info = vk::DependencyInfo::default()
                    .dependency_flags(barriers.flags)
                    .memory_barriers(&barriers.memory)
                    .buffer_memory_barriers(&barriers.buffers);
                let next = self.device.next.cmd_pipeline_barrier2.ok_or("no vkCmdPipelineBarrier2")?;
                next(to, &info);
            }
            Some((from, until)) => {
                let access = |flags: vk::AccessFlags2| vk::AccessFlags::from_raw(flags.as_raw() as u32);
                let memory = barriers.memory.iter().map(|one| {
                    let made = vk::MemoryBarrier::default().src_access_mask(access(one.src_access_mask));
                    made.dst_access_mask(access(one.dst_access_mask))
                });
                let parts = barriers.buffers.iter().map(|one| vk::BufferMemoryBarrier {
                    src_access_mask: access(one.src_access_mask),
                    dst_access_mask: access(one.dst_access_mask),
                    src_queue_family_index: one.src_queue_family_index,
                    dst_queue_family_index: one.dst_queue_family_index,
                    buffer: one.buffer,
                    offset: one.offset,
                    size: one.size,
                    ..vk::BufferMemoryBarrier::default()
                });
                let (memory, parts): (Vec<_>, Vec<_>) = (memory.collect(), parts.collect());
                own.cmd_pipeline_barrier(to, from, until, barriers.flags, &memory, &parts, &[]);
            }
        }
        Ok(())
    }

    /// Writes one call as the program made it.
    unsafe fn one(&self, op: &Op) -> Result<(), String> {
        let (own, to) = (&self.device.own, self.to);
        const COMPUTE: vk::PipelineBindPoint = vk::PipelineBindPoint::COMPUTE;
        match op {
            Op::Pipeline(pipeline) => own.cmd_bind_pipeline(to, COMPUTE, *pipeline),
            Op::Sets { layout, first, sets, dynamic } => {
                own.cmd_bind_descriptor_sets(to, COMPUTE, *layout, *first, sets, dynamic)
            }
            Op::Push { layout, stages, offset, bytes } => {
                own.cmd_push_constants(to, *layout, *stages, *offset, bytes)
            }
            Op::PushSet { layout, set, writes } => self.push_set(*layout, *set, writes)?,
            Op::Dispatch { base: [0, 0, 0], groups: [x, y, z] } => own.cmd_dispatch(to, *x, *y, *z),
            Op::Dispatch { base: [a, b, c], groups: [x, y, z] } => {
                own.cmd_dispatch_base(to, *a, *b, *c, *x, *y, *z)
            }
            Op::Indirect(part) => own.cmd_dispatch_indirect(to, part.buffer, part.offset),
            Op::Copy { from, to: target, regions } => {
                let regions: Vec<vk::BufferCopy> = regions
                    .iter()
                    .map(|&(src_offset, dst_offset, size)| vk::BufferCopy { src_offset, dst_offset, size })
                    .collect();
                own.cmd_copy_buffer(to, *from, *target, &regions);
            }
            Op::Fill { to: part, value } => {
                own.cmd_fill_buffer(to, part.buffer, part.offset, part.len, *value)
            }
            Op::Update { to: part, bytes } => own.cmd_update_buffer(to, part.buffer, part.offset, bytes),
            Op::Barrier(barriers) => self.barrier(barriers)?,
            Op::Label(label) => self.label(label),
            Op::Event { event, stages, is_set: true } => own.cmd_set_event(to, *event, *stages),
            Op::Event { event, stages, is_set: false } => own.cmd_reset_event(to, *event, *stages),
            Op::Execute(_) | Op::Other { .. } | Op::Unlisted(_) => {
                return Err("a call that cannot be made again".to_owned());
            }
        }
        Ok(())
    }

    unsafe fn label(&self, label: &Label) {
        let next = &self.device.next;
        let info = |name: &'_ std::ffi::CString, color: &[f32; 4]| vk::DebugUtilsLabelEXT {
            p_label_name: name.as_ptr(),
            color: *color,
            ..vk::DebugUtilsLabelEXT::default()
        };
        match label {
            Label::Begin(name, color) => {
                if let Some(next) = next.cmd_begin_label {
                    next(self.to, &info(name, color));
                }
            }
            Label::Insert(name, color) => {
                if let Some(next) = next.cmd_insert_label {
                    next(self.to, &info(name, color));
                }
            }
            Label::End => {
                if let Some(next) = next.cmd_end_label {
                    next(self.to);
                }
            }
        }
    }

    unsafe fn push_set(
        &self,
        layout: vk::PipelineLayout,
        set: u32,
        contents: &Contents,
    ) -> Result<(), String> {
        let next = self.device.next.cmd_push_descriptor_set.ok_or("no vkCmdPushDescriptorSet")?;
        let mut places = Vec::with_capacity(contents.len());
        for (&(binding, element), descriptor) in contents {
            let Descriptor::Buffer { kind, buffer, offset, range } = *descriptor else {
                return Err("a pushed descriptor that is no buffer".to_owned());
            };
            let info = vk::DescriptorBufferInfo { buffer, offset, range };
            places.push((binding, element, kind, info));
        }
        let writes: Vec<vk::WriteDescriptorSet<'_>> = places
            .iter()
            .map(|(binding, element, kind, info)| {
                let write =
                    vk::WriteDescriptorSet::default().dst_binding(*binding).dst_array_element(*element);
                write.descriptor_type(*kind).buffer_info(std::slice::from_ref(info))
            })
            .collect();
        next(self.to, vk::PipelineBindPoint::COMPUTE, layout, set, writes.len() as u32, writes.as_ptr());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ash::vk::Handle;
    use std::sync::Arc;

    #[test]
    fn only_what_is_still_bound_is_bound_again() {
        let layout = vk::PipelineLayout::from_raw(1);
        let sets = |first, count| Op::Sets {
            layout,
            first,
            sets: vec![vk::DescriptorSet::null(); count].into(),
            dynamic: Box::default(),
        };
        let push = |offset, len| Op::Push {
            layout,
            stages: vk::ShaderStageFlags::COMPUTE,
            offset,
            bytes: vec![0; len].into(),
        };
        let pushed = Op::PushSet { layout, set: 3, writes: Arc::new(Contents::new()) };
        let ops = [
            Op::Pipeline(vk::Pipeline::from_raw(1)),
            sets(0, 2),
            push(0, 4),
            sets(1, 1),
            push(4, 4),
            Op::Pipeline(vk::Pipeline::from_raw(2)),
            sets(0, 1),
            push(0, 8),
            pushed,
        ];
        let mut state = InEffect::default();
        let after = |state: &mut InEffect, range: std::ops::Range<usize>| {
            range.for_each(|number| state.follow(&ops, number));
            state.all().collect::<Vec<_>>()
        };
        assert_eq!(after(&mut state, 0..5), [0, 1, 3, 2, 4]);
        // Set 1 of the first call is bound over by the second, and set 0 by the third.
        assert_eq!(after(&mut state, 5..9), [5, 1, 3, 6, 8, 7]);
    }
}
