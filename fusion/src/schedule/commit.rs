//! Handing work to the device: barriers and waits from the graph, everything in one submission.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Schedule;
use crate::{
    buffer::BufferInner,
    context::ContextInner,
    error::{Error, SubmitError},
    graph::{Stage, Touch, Touches},
    jit::Step,
    program::Program,
    vk::{Barrier, BoundMemory, Command, Dispatch, Point, Submitted},
};

/// One dispatch, ready to be submitted.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) label: Arc<str>,
    pub(crate) step: Step,
    pub(crate) program: Arc<Program>,
    /// What it reaches by address rather than through a binding.
    pub(crate) reaches: SmallVec<[(Touch, Arc<BufferInner>); 2]>,
    /// It follows addresses, and nobody said where to: on its queue it is kept apart from everything.
    pub(crate) apart: bool,
}

/// A dispatch with its memory at hand.
struct Bound {
    label: Arc<str>,
    dispatch: Dispatch,
    touches: Touches,
    apart: bool,
}

/// Dispatches that are submitted together, in order.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    pub(crate) pieces: Vec<Piece>,
    /// The buffers that the steps name by number.
    pub(crate) buffers: &'a [Arc<BufferInner>],
    pub(crate) waits: &'a [Point],
    pub(crate) profile: bool,
}

impl ContextInner {
    /// Submits dispatches to a queue. All of them, or none and an error.
    pub(crate) fn commit(
        &self,
        schedule: &mut Schedule,
        lane: u32,
        work: Work<'_>,
    ) -> Result<Submitted, Error> {
        // Memory first: what is allocated here is filled with zeros by a submission of its own.
        let mut dispatches: SmallVec<[Bound; 4]> = SmallVec::with_capacity(work.pieces.len());
        for piece in work.pieces {
            let mut bindings = SmallVec::with_capacity(piece.step.bindings.len());
            let mut touches = Touches::with_capacity(piece.step.bindings.len());
            for bound in &piece.step.bindings {
                let range = bound.offset..bound.offset.saturating_add(bound.len);
                let buffer = work
                    .buffers
                    .iter()
                    .find(|b| {
                        b.id == bound.buffer
                            && b.base <= range.start
                            && range.end <= b.base.saturating_add(b.size)
                    })
                    .ok_or_else(|| Error::submit(&piece.label, SubmitError::Foreign { what: "buffer" }))?;
                let memory = buffer.memory(schedule)?.clone();
                let (set, binding) = (bound.set, bound.binding);
                bindings.push(BoundMemory {
                    set,
                    binding,
                    memory,
                    offset: range.start - buffer.base,
                    len: bound.len,
                });
                touches.push(Touch { memory: buffer.id.0, range, reads: bound.reads, writes: bound.writes });
            }
            let mut keeps = SmallVec::new();
            for (touch, buffer) in piece.reaches {
                keeps.push(buffer.memory(schedule)?.clone());
                touches.push(touch);
            }
            let pipeline = piece.program.pipeline.clone();
            let (push, base, groups) = (piece.step.push, piece.step.base, piece.step.groups);
            let dispatch = Dispatch { pipeline, bindings, push, base, groups, keeps };
            dispatches.push(Bound { label: piece.label, dispatch, touches, apart: piece.apart });
        }

        schedule.graph.retire(|point| self.gpu.is_done(point));
        let mut batch = schedule.graph.begin(lane);
        let mut waits: SmallVec<[Point; 4]> = SmallVec::from_slice(work.waits);
        if waits.iter().any(|point| point.queue == lane && point.value != 0) {
            // The device layer turns a wait for the same queue into a full barrier at the start.
            schedule.graph.ordered_so_far(&batch);
        }
        let mut commands = Vec::with_capacity(dispatches.len() * 2);
        for Bound { label, dispatch, touches, apart } in dispatches {
            if apart {
                commands.push(Command::Barrier(Barrier::Full));
                schedule.graph.ordered_so_far(&batch);
            }
            let needs = schedule.graph.add(&mut batch, &label, Stage::Compute, &touches);
            commands.extend(needs.barrier.map(Command::Barrier));
            commands.push(Command::Dispatch(dispatch));
            if apart {
                commands.push(Command::Barrier(Barrier::Full));
                schedule.graph.ordered_so_far(&batch);
            }
            waits.extend(needs.waits);
        }
        match self.gpu.queue(lane as usize).submit(&commands, &waits, work.profile) {
            Ok(submitted) => {
                schedule.graph.commit(&batch, submitted.point);
                Ok(submitted)
            }
            Err(error) => {
                schedule.graph.roll_back(&batch);
                Err(error.into())
            }
        }
    }

    /// Submits copies, fills or updates that together make the given accesses.
    pub(crate) fn transfer(
        &self,
        schedule: &mut Schedule,
        lane: u32,
        label: &Arc<str>,
        transfers: &[Command],
        touches: &[Touch],
    ) -> Result<Submitted, Error> {
        schedule.graph.retire(|point| self.gpu.is_done(point));
        let mut batch = schedule.graph.begin(lane);
        let needs = schedule.graph.add(&mut batch, label, Stage::Transfer, touches);
        let mut commands = Vec::with_capacity(transfers.len() + 1);
        commands.extend(needs.barrier.map(Command::Barrier));
        commands.extend_from_slice(transfers);
        match self.gpu.queue(lane as usize).submit(&commands, &needs.waits, false) {
            Ok(submitted) => {
                schedule.graph.commit(&batch, submitted.point);
                Ok(submitted)
            }
            Err(error) => {
                schedule.graph.roll_back(&batch);
                Err(error.into())
            }
        }
    }
}
