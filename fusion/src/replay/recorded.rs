//! Submissions that are made again and again: recorded once, ordered anew each time.
//!
//! # Guarantees
//! - each run comes after what it has to come after, found in the graph as for any other work
//!
//! What has to come before a recording is not known when it is made, so there is one for each kind of barrier that it may
//! have to start with. Barriers between its own dispatches are part of it.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use smallvec::SmallVec;

use crate::{
    error::Error,
    submission::{
        device::Device,
        graph::{Graph, Mark, Stage, Touch, Touches},
        ready::Readies,
    },
    vk::{Barrier, Command, Submitted, Tape},
};

/// A submission that can be made again.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) lane: u32,
    label: Arc<str>,
    /// The dispatches, with the barriers between them.
    commands: Vec<Command>,
    /// What all of them touch.
    touches: Touches,
    /// Whether a run has to come after the one before.
    in_order: bool,
    /// By the barrier that comes first.
    tapes: [OnceLock<Arc<Tape>>; 4],
    /// The graph's mark of the latest run; 0 for none.
    mark: AtomicU64,
}

impl Replay {
    /// Takes note of dispatches that are about to be submitted, or were. `None` if they must not be recorded for later.
    pub(crate) fn of(lane: u32, readies: &Readies) -> Option<Replay> {
        let label = readies.first()?.label.clone();
        // As if nothing came before.
        let mut graph = Graph::default();
        let mut batch = graph.begin(0);
        let mut commands = Vec::with_capacity(2 * readies.len());
        let mut touches = Touches::new();
        for ready in readies {
            if ready.apart || !ready.dispatch.keeps.is_empty() {
                return None;
            }
            let needs = graph.add(&mut batch, &ready.label, Stage::Compute, &ready.touches);
            commands.extend(needs.barrier.map(Command::Barrier));
            commands.push(Command::Dispatch(ready.dispatch.clone()));
            ready.touches.iter().for_each(|touch| merge(&mut touches, touch));
        }
        let in_order = touches.iter().any(|a| touches.iter().any(|b| a.conflicts(b)));
        Some(Replay {
            lane,
            label,
            commands,
            touches,
            in_order,
            tapes: Default::default(),
            mark: AtomicU64::new(0),
        })
    }

    /// The recording that starts with a barrier.
    fn tape(&self, device: &Device, barrier: Option<Barrier>) -> Result<&Arc<Tape>, Error> {
        let slot = match barrier {
            None => 0,
            Some(Barrier::ComputeToCompute) => 1,
            Some(Barrier::TransferToCompute) => 2,
            Some(_) => 3,
        };
        if let Some(tape) = self.tapes[slot].get() {
            return Ok(tape);
        }
        let mut commands: SmallVec<[Command; 2]> = SmallVec::new();
        commands.extend(barrier.map(Command::Barrier));
        commands.extend(self.commands.iter().cloned());
        let tape = device.gpu.queue(self.lane as usize).record(&commands)?;
        Ok(self.tapes[slot].get_or_init(|| Arc::new(tape)))
    }

    /// Makes a submission again.
    pub(crate) fn play(&self, device: &Device, graph: &mut Graph) -> Result<Submitted, Error> {
        device.refresh(graph);
        let lane = self.lane;
        let mark = Mark::from_number(self.mark.load(Relaxed));
        if let Some(pending) = mark.and_then(|mark| graph.repeat(mark, lane)) {
            let barrier = pending && self.in_order;
            let tape = self.tape(device, barrier.then_some(Barrier::ComputeToCompute))?;
            let submitted = device.gpu.play(lane, tape, &[])?;
            graph.repeated(submitted.point, barrier);
            return Ok(submitted);
        }
        let mut batch = graph.begin(lane);
        let needs = graph.add(&mut batch, &self.label, Stage::Compute, &self.touches);
        let submitted = self
            .tape(device, needs.barrier)
            .and_then(|tape| Ok(device.gpu.play(lane, tape, &needs.waits)?));
        match submitted {
            Ok(submitted) => {
                let mark = graph.commit_repeatable(batch, submitted.point, !needs.waits.is_empty());
                self.mark.store(mark.number(), Relaxed);
                Ok(submitted)
            }
            Err(error) => {
                graph.roll_back(&batch);
                Err(error)
            }
        }
    }
}

/// Adds an access to others: those of the same bytes become one.
fn merge(touches: &mut Touches, touch: &Touch) {
    let same = |known: &&mut Touch| known.memory == touch.memory && known.span == touch.span;
    match touches.iter_mut().find(same) {
        Some(known) => {
            known.reads |= touch.reads;
            known.writes |= touch.writes;
        }
        None => touches.push(touch.clone()),
    }
}
