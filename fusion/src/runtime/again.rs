//! Making a run again: submitting what is known, and what else happens with it.

use std::sync::{Arc, atomic::Ordering::Acquire};

use crate::{
    error::Error,
    replay::{
        recorded::{Take, TakeState},
        routine::Routine,
    },
    report::list::Said,
    runtime::{
        context::ContextInner,
        event::{Done, Settled},
        queues::QueueCell,
        schedule::{Past, Schedule},
    },
    submission::signature::{Buffers, View},
    vk::Pushes,
};

/// A run that is to be made again.
pub(crate) struct Run<'a> {
    pub(crate) routine: &'a Routine,
    /// What a known list was planned for. A kept list has its own rules.
    pub(crate) views: &'a [View],
    pub(crate) buffers: &'a Buffers,
    /// Push constants of its dispatches, where they are others than those it was planned with.
    pub(crate) pushes: Option<&'a Pushes>,
    /// What is known of runs on these, if anything is.
    pub(crate) take: Option<&'a Take>,
}

impl ContextInner {
    /// Makes a run again. Whoever calls has seen to it that nothing is in its way and that what it reads is readable.
    /// Returns what its events say.
    #[inline]
    pub(crate) fn perform(
        &self,
        schedule: &mut Schedule,
        (queue, past): (&QueueCell, &mut Past),
        run: Run<'_>,
    ) -> Result<Settled, Error> {
        let Run { routine, buffers, pushes, take, .. } = run;
        let (graph, Past { last, counts }) = (&mut schedule.graph, past);
        let profile = queue.profiling || self.profiling;
        let (mut guard, mut nothing) = (take.map(Take::state), None);
        let known = match &mut guard {
            Some(guard) => &mut **guard,
            None => nothing.insert(TakeState::default()),
        };
        let on = (buffers, &mut *known, pushes);
        let submitted = routine.replay.play(&self.device, graph, queue.lane, on, profile)?;
        *last = Some(submitted.point);
        let said = self.come_into_force(&run, known);
        counts.memory_hits += routine.dispatches;
        counts.made_again += 1;
        if routine.is_of_list() {
            counts.list(&routine.outcome);
            tracing::info!(queue = queue.id.0, dispatches = routine.dispatches, outcome = %routine.outcome, "fusion list ran again");
        }
        Ok(Settled { result: Ok(Done::Gpu(submitted)), said, failed: Vec::new() })
    }

    /// Does to contents what a run does, unless one is in force, and tells what is said of it.
    #[inline]
    pub(crate) fn come_into_force(&self, run: &Run<'_>, known: &mut TakeState) -> Arc<Said> {
        let &Run { routine, views, buffers, take, .. } = run;
        let before = self.contents.load(Acquire);
        match &known.said {
            Some(said) if take.is_some_and(|take| take.is_in_force(before)) => said.clone(),
            _ => {
                let said = known.said.insert(routine.ran(buffers)).clone();
                let as_planned = || views.iter().zip(buffers).all(|(view, buffer)| *view == View::of(buffer));
                if let Some(take) = take
                    && self.contents.load(Acquire) == before
                    && as_planned()
                {
                    take.settle(before);
                }
                said
            }
        }
    }
}
