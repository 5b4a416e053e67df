//! Making a run again: submitting what is known, and what else happens with it.

use std::{
    borrow::Borrow,
    sync::{Arc, atomic::Ordering::Acquire},
};

use crate::{
    error::Error,
    replay::{
        recorded::{Take, TakeState},
        routine::Routine,
    },
    report::{list::Said, outcome::Outcome},
    runtime::{context::ContextInner, queues::QueueCell, schedule::Past},
    submission::{buffer::BufferInner, graph::Graph, signature::View},
    vk::{Point, Pushes, Submitted},
};

/// A run that is to be made again.
pub(crate) struct Run<'a, B> {
    pub(crate) routine: &'a Routine,
    /// What a known list was planned for. A kept list has its own rules.
    pub(crate) views: &'a [View],
    pub(crate) buffers: &'a [B],
    /// Push constants of its dispatches, where they are others than those it was planned with.
    pub(crate) pushes: Option<&'a Pushes>,
    /// What is known of runs on these, if anything is.
    pub(crate) take: Option<&'a Take>,
}

/// What a run that is made again counts as.
#[derive(Debug)]
pub(crate) struct Counted {
    dispatches: u64,
    /// Of a list.
    outcome: Option<Outcome>,
}

impl Counted {
    pub(crate) fn of(routine: &Routine) -> Counted {
        let outcome = routine.is_of_list().then(|| routine.outcome.clone());
        Counted { dispatches: routine.dispatches, outcome }
    }
}

impl Past {
    /// Notes a submission. It need not be the latest: of some the schedule hears later.
    #[inline]
    pub(crate) fn ran(&mut self, point: Point) {
        self.last = self.last.max(Some(point));
    }

    /// Notes that a run was made again.
    #[inline]
    pub(crate) fn made_again(&mut self, routine: &Routine, point: Point) {
        self.ran(point);
        let counts = &mut self.counts;
        counts.memory_hits += routine.dispatches;
        counts.made_again += 1;
        if routine.is_of_list() {
            counts.list(&routine.outcome);
        }
    }

    /// Notes that a run was made again this many times, at last at this point.
    pub(crate) fn made(&mut self, run: &Counted, times: u64, point: Point) {
        self.ran(point);
        let counts = &mut self.counts;
        counts.memory_hits += run.dispatches * times;
        counts.made_again += times;
        if let Some(outcome) = &run.outcome {
            counts.lists(outcome, times);
        }
    }
}

impl ContextInner {
    /// Makes a run again. The caller has seen to it that nothing is in its way and that what it reads is readable.
    /// `known` is the state of its take, or an empty one. Returns what its events say; what the queue has run is for the caller to
    /// note ([`Past::made_again`]).
    // What is made again and again has no call on its way, and its answer stays where it is.
    #[inline(always)]
    pub(crate) fn perform<'a, B: Borrow<Arc<BufferInner>>>(
        &self,
        graph: &mut Graph,
        queue: &QueueCell,
        run: &Run<'_, B>,
        known: &'a mut TakeState,
    ) -> Result<(Submitted, &'a Arc<Said>), Error> {
        let Run { routine, buffers, pushes, .. } = *run;
        let profile = queue.profiling || self.profiling;
        let is_simple = !profile && pushes.is_none();
        let again = || routine.replay.play_again(&self.device, graph, queue.lane, known);
        let submitted = match is_simple.then(again).flatten() {
            Some(point) => Submitted { point, profile: None },
            None => {
                let on = (buffers, &mut *known, pushes);
                routine.replay.play(&self.device, graph, queue.lane, on, profile)?
            }
        };
        let said = self.come_into_force(run, known);
        tell(queue, routine);
        Ok((submitted, said))
    }

    /// Does to contents what a run does, unless one is in force, and tells what is said of it.
    #[inline]
    pub(crate) fn come_into_force<'a, B: Borrow<Arc<BufferInner>>>(
        &self,
        run: &Run<'_, B>,
        known: &'a mut TakeState,
    ) -> &'a Arc<Said> {
        let &Run { routine, views, buffers, take, .. } = run;
        let before = self.contents.load(Acquire);
        if take.is_some_and(|take| take.is_in_force(before)) {
            return known.said.get_or_insert_with(|| routine.ran(buffers));
        }
        let said = known.said.insert(routine.ran(buffers));
        let as_planned = || views.iter().zip(buffers).all(|(view, buffer)| view.is_of(buffer.borrow()));
        if let Some(take) = take
            && self.contents.load(Acquire) == before
            && as_planned()
        {
            take.settle(before);
        }
        said
    }
}

/// Tells the log of a run that was made again.
#[inline]
pub(crate) fn tell(queue: &QueueCell, routine: &Routine) {
    if tracing::level_enabled!(tracing::Level::INFO) && routine.is_of_list() {
        log_run(queue, routine);
    }
}

#[cold]
fn log_run(queue: &QueueCell, routine: &Routine) {
    tracing::info!(queue = queue.id.0, dispatches = routine.dispatches, outcome = %routine.outcome, "fusion list ran again");
}
