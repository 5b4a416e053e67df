//! Making a run again: submitting what was recorded, and what else happens with it.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use crate::{
    error::Error,
    replay::routine::{Effect, Routine},
    runtime::{
        context::ContextInner,
        event::{Done, Settled},
        schedule::{List, QueueId, Schedule},
    },
    submission::device::Device,
    vk::Submitted,
};

impl Routine {
    /// What the events of a run say.
    pub(crate) fn says(&self, submitted: Submitted) -> Settled {
        Settled::new(Ok(Done::Gpu(submitted)), self.outcome.clone(), self.report.clone())
    }
}

impl ContextInner {
    /// Makes a run again. Whoever calls has seen to it that nothing is in its way and that what it reads is readable.
    pub(crate) fn perform(
        &self,
        schedule: &mut Schedule,
        queue: QueueId,
        routine: &Routine,
    ) -> Result<Submitted, Error> {
        let submitted = routine.replay.play(&self.device, &mut schedule.graph)?;
        let before = self.contents.load(Relaxed);
        if !routine.settled(before) {
            routine.effects.iter().for_each(Effect::apply);
            if self.contents.load(Relaxed) == before {
                routine.settled.store(before, Relaxed);
            }
        }
        schedule.queue(queue).ran(submitted.point);
        schedule.counts.memory_hits += routine.dispatches;
        schedule.counts.made_again += 1;
        if routine.report.is_some() {
            schedule.counts.list(&routine.outcome);
            tracing::info!(queue = queue.0, dispatches = routine.dispatches, outcome = %routine.outcome, "fusion list ran again");
        }
        Ok(submitted)
    }
}

impl List {
    /// What a run of the list does to contents.
    pub(crate) fn effects(&self, device: &Device, kept: &[(usize, usize, bool)]) -> Vec<Effect> {
        let effect = |&(entry, position, inside): &(usize, usize, bool)| {
            let entry = &self.entries[entry];
            if !inside {
                return entry.effect(device, position);
            }
            let (touch, buffer) = (&entry.touches[position], &entry.buffers[position]);
            Some(Effect { buffer: Arc::downgrade(buffer), span: touch.span, inside })
        };
        kept.iter().filter_map(effect).collect()
    }
}
