//! Submissions that are made again and again, on any buffers.
//!
//! A replay has the dispatches of a list with the buffers as numbers, and the barriers between them. On buffers that it is
//! run on for the first time it is recorded and submitted at once; what runs on the same ones once more becomes a tape,
//! which is only submitted.
//!
//! # Guarantees
//! - each run comes after what it has to come after, found in the graph as for any other work
//! - nothing here keeps a buffer alive; what was recorded with a buffer goes when the buffer does
//!
//! What has to come before a tape is not known when it is made, so there is one for each kind of barrier that it may have
//! to start with. Barriers between its own dispatches are part of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Release};

use smallvec::SmallVec;

use crate::{
    error::Error,
    jit::SetBinding,
    report::list::Reported,
    submission::{
        device::Device,
        graph::{Graph, Mark, Stage, Touch, Touches},
        identity::HandleId,
        ready::Readies,
        signature::Buffers,
    },
    vk::{Barrier, BoundMemory, CallerWork, Command, Dispatch, Pipeline, Submitted, Tape},
};

/// A submission that can be made again.
#[derive(Debug)]
pub(crate) struct Replay {
    label: Arc<str>,
    steps: Vec<Step>,
    /// What all of them touch, with the number of a buffer over it.
    touches: SmallVec<[(u32, Touch); 8]>,
    /// Whether a run has to come after the one before.
    in_order: bool,
}

/// A dispatch.
#[derive(Debug)]
struct Step {
    /// What it has to come after in the same submission.
    barrier: Option<Barrier>,
    pipeline: Arc<Pipeline>,
    bindings: SmallVec<[Binding; 8]>,
    push: SmallVec<[u8; 64]>,
    groups: [u32; 3],
}

/// A range of a buffer, bound for a dispatch.
#[derive(Debug, Clone, Copy)]
struct Binding {
    place: u32,
    at: SetBinding,
    offset: u64,
    len: u64,
}

/// What is known of the runs on certain buffers.
#[derive(Debug)]
pub(crate) struct Take {
    pub(crate) buffers: SmallVec<[HandleId; 8]>,
    state: Mutex<TakeState>,
}

#[derive(Debug, Default)]
pub(crate) struct TakeState {
    /// The hardware queue of the latest run; nothing before the first.
    lane: Option<u32>,
    /// By the barrier that comes first.
    tapes: [Option<Arc<Tape>>; 4],
    /// The commands as the program's own command buffers take them.
    pub(crate) for_caller: Option<Arc<CallerWork>>,
    /// The graph's mark of the latest run.
    mark: Option<Mark>,
    /// The count of changes of contents after which everything that is read was readable and every effect was in force; 0
    /// for none.
    pub(crate) settled: u64,
    /// What reports say of a run, as long as it is settled.
    pub(crate) reported: Option<Reported>,
}

impl Take {
    pub(crate) fn of(buffers: &Buffers) -> Take {
        Take { buffers: buffers.iter().map(|buffer| buffer.handle).collect(), state: Mutex::default() }
    }

    pub(crate) fn is_of(&self, buffers: &Buffers) -> bool {
        self.buffers.iter().zip(buffers).all(|(known, buffer)| *known == buffer.handle)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, TakeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Replay {
    /// Takes note of dispatches that are about to be submitted. `None` if they must not be submitted again in this way.
    pub(crate) fn of(readies: &Readies, buffers: &Buffers) -> Option<Replay> {
        let label = readies.first()?.label.clone();
        // As if nothing came before.
        let mut graph = Graph::default();
        let mut batch = graph.begin(0);
        let mut steps = Vec::with_capacity(readies.len());
        let mut touches = SmallVec::new();
        for ready in readies {
            let Dispatch { pipeline, bindings, push, groups, keeps } = &ready.dispatch;
            if ready.apart || !keeps.is_empty() {
                return None;
            }
            let barrier = graph.add(&mut batch, &ready.label, Stage::Compute, &ready.touches).barrier;
            let bindings = bindings.iter().map(|bound| Binding::of(bound, buffers)).collect::<Option<_>>()?;
            let (pipeline, push, groups) = (pipeline.clone(), push.clone(), *groups);
            steps.push(Step { barrier, pipeline, bindings, push, groups });
            for touch in &ready.touches {
                let place = buffers.iter().position(|buffer| buffer.shared.id == touch.memory)?;
                merge(&mut touches, place as u32, touch);
            }
        }
        let in_order = touches.iter().any(|(_, a)| touches.iter().any(|(_, b)| a.conflicts(b)));
        Some(Replay { label, steps, touches, in_order })
    }

    /// Adds the commands on certain buffers, after a barrier. They are large, and not moved about.
    fn commands(
        &self,
        first: Option<Barrier>,
        buffers: &Buffers,
        graph: &mut Graph,
        commands: &mut SmallVec<[Command; 2]>,
    ) -> Result<(), Error> {
        if let Some(barrier) = first {
            commands.push(Command::Barrier(barrier));
        }
        for step in &self.steps {
            let Step { barrier, pipeline, bindings, push, groups } = step;
            if let Some(barrier) = *barrier {
                commands.push(Command::Barrier(barrier));
            }
            let mut bound = SmallVec::with_capacity(bindings.len());
            for Binding { place, at, offset, len } in bindings {
                let resource = buffers[*place as usize].resource(graph)?;
                bound.push(BoundMemory { at: *at, resource, offset: *offset, len: *len });
            }
            let (pipeline, push, groups) = (pipeline.clone(), push.clone(), *groups);
            let keeps = SmallVec::new();
            commands.push(Command::Dispatch(Dispatch { pipeline, bindings: bound, push, groups, keeps }));
        }
        Ok(())
    }

    /// What it touches, on certain buffers.
    pub(crate) fn touches_on<'a>(&'a self, buffers: &'a Buffers) -> impl Iterator<Item = Touch> + 'a {
        let memory = |place: u32| buffers[place as usize].shared.id;
        self.touches.iter().map(move |(place, touch)| Touch { memory: memory(*place), ..*touch })
    }

    /// The commands on certain buffers, to be recorded for the program.
    pub(crate) fn for_caller(
        &self,
        device: &Device,
        graph: &mut Graph,
        buffers: &Buffers,
    ) -> Result<Arc<CallerWork>, Error> {
        let mut commands = SmallVec::new();
        self.commands(None, buffers, graph, &mut commands)?;
        Ok(device.gpu.caller_work(commands.into_vec())?)
    }

    /// Makes the submission on certain buffers, of which this is known.
    pub(crate) fn play(
        &self,
        device: &Device,
        graph: &mut Graph,
        lane: u32,
        (buffers, take): (&Buffers, &mut TakeState),
        profile: bool,
    ) -> Result<Submitted, Error> {
        device.refresh(graph);
        if take.lane != Some(lane) {
            *take = TakeState::default();
        }
        let again = take.lane == Some(lane) && !profile;
        if again && let Some(pending) = take.mark.and_then(|mark| graph.repeat(mark, lane)) {
            let barrier = (pending && self.in_order).then_some(Barrier::ComputeToCompute);
            let tape = self.tape(device, graph, lane, barrier, (buffers, take))?;
            let submitted = device.gpu.play(lane, tape, &[])?;
            graph.repeated(submitted.point, barrier.is_some());
            return Ok(submitted);
        }
        if !again {
            // What is allocated now is filled by a submission of its own, which comes before this one.
            for binding in self.steps.iter().flat_map(|step| &step.bindings) {
                buffers[binding.place as usize].resource(graph)?;
            }
        }
        let touch =
            |(place, touch): &(u32, Touch)| Touch { memory: buffers[*place as usize].shared.id, ..*touch };
        let touches: Touches = self.touches.iter().map(touch).collect();
        let mut batch = graph.begin(lane);
        let needs = graph.add(&mut batch, &self.label, Stage::Compute, &touches);
        let submitted = if again {
            let tape = self.tape(device, graph, lane, needs.barrier, (buffers, take));
            tape.and_then(|tape| Ok(device.gpu.play(lane, tape, &needs.waits)?))
        } else {
            let mut commands = SmallVec::new();
            let queue = device.gpu.queue(lane as usize);
            self.commands(needs.barrier, buffers, graph, &mut commands)
                .and_then(|()| Ok(queue.submit(&commands, &needs.waits, profile)?))
        };
        match submitted {
            Ok(submitted) => {
                take.lane = Some(lane);
                take.mark = Some(graph.commit_repeatable(batch, submitted.point, !needs.waits.is_empty()));
                Ok(submitted)
            }
            Err(error) => {
                graph.roll_back(&batch);
                Err(error)
            }
        }
    }

    /// The recording that starts with a barrier.
    fn tape<'a>(
        &self,
        device: &Device,
        graph: &mut Graph,
        lane: u32,
        barrier: Option<Barrier>,
        (buffers, take): (&Buffers, &'a mut TakeState),
    ) -> Result<&'a Arc<Tape>, Error> {
        let slot = match barrier {
            None => 0,
            Some(Barrier::ComputeToCompute) => 1,
            Some(Barrier::TransferToCompute) => 2,
            Some(_) => 3,
        };
        let tape = match take.tapes[slot].take() {
            Some(tape) => tape,
            None => {
                let mut commands = SmallVec::new();
                self.commands(barrier, buffers, graph, &mut commands)?;
                buffers.iter().for_each(|buffer| buffer.known.store(true, Release));
                Arc::new(device.gpu.queue(lane as usize).record(&commands)?)
            }
        };
        Ok(take.tapes[slot].insert(tape))
    }
}

impl Binding {
    fn of(bound: &BoundMemory, buffers: &Buffers) -> Option<Binding> {
        let BoundMemory { at, resource, offset, len } = bound;
        let place = buffers.iter().position(|buffer| buffer.is_bound(resource))? as u32;
        Some(Binding { place, at: *at, offset: *offset, len: *len })
    }
}

/// Adds an access to others: those of the same bytes become one.
fn merge(touches: &mut SmallVec<[(u32, Touch); 8]>, place: u32, touch: &Touch) {
    let same = |(_, known): &&mut (u32, Touch)| known.memory == touch.memory && known.span == touch.span;
    match touches.iter_mut().find(same) {
        Some((_, known)) => {
            known.reads |= touch.reads;
            known.writes |= touch.writes;
        }
        None => touches.push((place, touch.clone())),
    }
}
