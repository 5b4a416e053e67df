//! One of the two ways to the device: what was planned just now, with barriers and waits from the dependency graph, in one submission.

use std::{ops::Range, sync::Arc};

use smallvec::SmallVec;
use vkfuse_cache::Cached;

use super::{queues::QueueCell, schedule::Schedule};
use crate::{
    code::programs::Program,
    error::{Error, SubmitError},
    jit::{BindingKind, Bound, Step, TextureKind},
    runtime::context::ContextInner,
    submission::{
        buffer::BufferInner,
        dependencies::{Stage, Touch, Touches},
        entry::Entry,
        identity::{MemoryId, Span},
        ready::{Readies, Ready},
    },
    vk::{Barrier, BoundMemory, Command, Dispatch, Point, Submitted},
};

/// A step of a list with its code, ready to be given memory.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) step: Step,
    pub(crate) program: Cached<Program>,
}

/// The names of the kernels of a step of a list.
pub(crate) fn label(entries: &[Entry], step: &Step) -> Arc<str> {
    match &*step.members {
        [one] => entries[*one].label.clone(),
        _ => step.members.of(entries).map(|entry| &*entry.label).collect::<Vec<_>>().join(" + ").into(),
    }
}

/// What a dispatch touches through a binding.
pub(crate) fn touched(bound: &Bound) -> Touch {
    Touch {
        memory: MemoryId::of_plan(bound.buffer),
        span: Span::of_len(bound.offset, bound.len),
        reads: bound.reads,
        writes: bound.writes,
    }
}

/// A buffer through which the bytes of a binding can be bound, with their range in it.
///
/// Several may be over the same memory. Any of them is right whose range has the bytes, if it may be bound in that way.
fn named<'a>(
    bound: &Bound,
    touch: &Touch,
    buffers: impl Iterator<Item = &'a Arc<BufferInner>>,
) -> Option<(&'a Arc<BufferInner>, Range<u64>)> {
    let is_texture = bound.kind.texture().is_some();
    let of_memory = buffers.filter(|buffer| buffer.shared.id == touch.memory);
    let of_memory = of_memory.filter(move |buffer| buffer.texture.is_some() == is_texture);
    let mut fitting =
        of_memory.filter(|buffer| bound.kind != BindingKind::UniformBuffer || buffer.may_be_uniform());
    fitting.find_map(|buffer| Some((buffer, buffer.within(touch.span)?)))
}

impl ContextInner {
    /// Gives the dispatches of a list the memory that they name by number.
    ///
    /// What is allocated here is filled with zeros by a submission of its own, so this comes before the dispatches' own.
    pub(crate) fn ready(
        &self,
        schedule: &mut Schedule,
        pieces: Vec<Piece>,
        entries: &[Entry],
    ) -> Result<Readies, Error> {
        let mut readies = Readies::with_capacity(pieces.len());
        for Piece { step, program } in pieces {
            let (label, members) = (label(entries, &step), || step.members.of(entries));
            let mut bindings = SmallVec::with_capacity(step.bindings.len());
            let mut touches = Touches::with_capacity(step.bindings.len());
            for bound in &step.bindings {
                let touch = touched(bound);
                let named = if bound.kind.texture().is_some_and(TextureKind::is_texels) {
                    // By its place, because bytes do not say which of several views of them is meant.
                    let texels = members().next().and_then(|entry| entry.texels_at(bound.at));
                    texels.map(|buffer| (buffer, 0..bound.len))
                } else {
                    named(bound, &touch, entries.iter().flat_map(|entry| &entry.buffers))
                };
                let (buffer, range) = named.ok_or_else(|| {
                    Error::submit(
                        &label,
                        SubmitError::Foreign { what: format!("the buffer at {}", bound.at) },
                    )
                })?;
                let resource = buffer.resource(&mut schedule.deps)?;
                bindings.push(BoundMemory { at: bound.at, resource, offset: range.start, len: bound.len });
                touches.push(touch);
            }
            let mut keeps = SmallVec::new();
            for (touch, buffer) in members().flat_map(Entry::reaches) {
                keeps.push(buffer.memory(&mut schedule.deps)?.clone());
                touches.push(touch);
            }
            // One that follows addresses, and no one said where to, is kept apart from everything on its queue.
            let apart = members().any(Entry::apart);
            let (pipeline, push, groups) = (program.pipeline.clone(), step.push, step.groups);
            let dispatch = Dispatch { pipeline, bindings, push, groups, keeps };
            readies.push(Ready { label, dispatch, touches, apart });
        }
        Ok(readies)
    }

    /// Submits dispatches to a queue, in order: all of them, or none and an error. Without any, its point comes after those that it waits
    /// for, and after everything that its queue was given before.
    pub(crate) fn commit(
        &self,
        schedule: &mut Schedule,
        queue: &QueueCell,
        readies: Readies,
        waits: &[Point],
        profile: bool,
    ) -> Result<Submitted, Error> {
        let lane = queue.lane;
        self.refresh(&mut schedule.deps);
        let mut batch = schedule.deps.begin(lane);
        let mut waits: SmallVec<[Point; 4]> = SmallVec::from_slice(waits);
        if waits.iter().any(|point| point.queue == lane && point.value != 0) {
            // The device layer turns a wait for the same queue into a full barrier at the start.
            schedule.deps.ordered_so_far(&batch);
        }
        let mut commands: SmallVec<[Command; 2]> = SmallVec::with_capacity(readies.len() * 2);
        for Ready { label, dispatch, touches, apart } in readies {
            if apart {
                commands.push(Command::Barrier(Barrier::Full));
                schedule.deps.ordered_so_far(&batch);
            }
            let needs = schedule.deps.add(&mut batch, &label, Stage::Compute, &touches);
            commands.extend(needs.barrier.map(Command::Barrier));
            commands.push(Command::Dispatch(dispatch));
            if apart {
                commands.push(Command::Barrier(Barrier::Full));
                schedule.deps.ordered_so_far(&batch);
            }
            waits.extend(needs.waits);
        }
        self.pending(&mut schedule.deps, lane, &mut waits);
        let submitted =
            self.gpu.queue(lane as usize).and_then(|queue| queue.submit(&commands, &waits, profile));
        let submitted = submitted.inspect_err(|_| schedule.deps.roll_back(&batch))?;
        schedule.deps.commit(&batch, submitted.point);
        queue.past.lock().ran(submitted.point);
        Ok(submitted)
    }
}
