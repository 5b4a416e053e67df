//! Making a run again: submitting what is known, and what else happens with it.

use crate::{
    error::Error,
    replay::{recorded::TakeState, routine::Routine},
    runtime::{
        context::ContextInner,
        event::{Done, Settled},
        schedule::{QueueId, Schedule},
    },
    submission::signature::Buffers,
};

impl ContextInner {
    /// Makes a run again, on buffers of which this is known. Whoever calls has seen to it that nothing is in its way and
    /// that what it reads is readable. Returns what its events say.
    pub(crate) fn perform(
        &self,
        schedule: &mut Schedule,
        queue: QueueId,
        routine: &Routine,
        (buffers, take): (&Buffers, &mut TakeState),
    ) -> Result<Settled, Error> {
        let state = schedule.queue(queue);
        let (lane, profile) = (state.lane, state.profiling || self.profiling);
        let submitted =
            routine.replay.play(&self.device, &mut schedule.graph, lane, (buffers, take), profile)?;
        let reported = routine.ran(&self.device, buffers, take);
        schedule.queue(queue).ran(submitted.point);
        schedule.counts.memory_hits += routine.dispatches;
        schedule.counts.made_again += 1;
        if routine.is_of_list() {
            schedule.counts.list(&routine.outcome);
            tracing::info!(queue = queue.0, dispatches = routine.dispatches, outcome = %routine.outcome, "fusion list ran again");
        }
        Ok(Settled::new(Ok(Done::Gpu(submitted)), routine.outcome.clone(), reported))
    }
}
