//! Ending a fusion list: taking it out of the queue, launching its graph or planning it, saying what became of it.

use std::{
    borrow::Cow,
    mem, ptr,
    sync::{
        Arc, OnceLock,
        atomic::Ordering::{Acquire, Release},
    },
};

use super::prepare::Prepared;
use crate::{
    code::build::{attempted, builder},
    error::{BuildError, Error, FusionError},
    jit::Way,
    options::fusion::FusionProperties,
    replay::{
        cache::CachedGraph,
        graph::{Graph, Nodes, Ran},
        launch::Launch,
        predicted::Prediction,
    },
    report::{
        list::{FusionReport, Reported},
        outcome::{CancelCause, Outcome},
        stats::Stats,
    },
    runtime::{
        context::ContextInner,
        event::{Done, EventInner, Settled},
        queues::QueueCell,
        schedule::{List, Mode, QueueState, Rule, Schedule},
    },
    submission::{
        dependencies::Touches,
        entry::{Effect, Entry},
        signature::{Buffers, Signature, View},
    },
};

/// An access that ends the lists which it observes.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) touches: Touches,
    pub(crate) rule: Rule,
}

/// How a list ends.
#[derive(Debug, Clone)]
pub(crate) enum End {
    /// Where an access is the cause, with that.
    Cancel(CancelCause, Option<Box<Seen>>),
    Complete(FusionProperties),
    /// As `Complete`, and the list's submissions are wanted afterwards.
    Keep(FusionProperties),
    /// Nothing of it runs, and its submissions are wanted.
    Unrun,
}

impl End {
    /// How it was completed, if it was.
    pub(crate) fn properties(&self) -> Option<&FusionProperties> {
        match self {
            End::Complete(properties) | End::Keep(properties) => Some(properties),
            End::Cancel(..) | End::Unrun => None,
        }
    }

    /// The error of a list that was to become one kernel, and did not for a reason.
    pub(crate) fn forced(&self, outcome: &Outcome) -> Option<Error> {
        let Outcome::Refused { reason } = outcome else { return None };
        let is_forced = self.properties().is_some_and(|properties| properties.force);
        is_forced.then(|| FusionError::Forced { place: String::new(), reason: reason.clone() }.into())
    }
}

/// Where the graph of a list, or of a submission outside fusion mode, is kept.
#[derive(Debug)]
pub(crate) enum Keep<'a> {
    No,
    /// Not yet: the program records the list, and no one knows when it runs.
    Recorded,
    /// In the cache, where it comes for the second time.
    Cached(Option<&'a FusionProperties>),
    /// With a kept list on these buffers, which were like this before anything was planned.
    Pinned((&'a OnceLock<Graph>, &'a Arc<Nodes>), &'a Buffers, Vec<View>),
}

impl Keep<'_> {
    /// Keeps the graph of what is about to run, if it is worth one. Should it fail to run, it is the graph of the list even so.
    pub(crate) fn keep(self, context: &ContextInner, schedule: &mut Schedule, ran: Ran<'_>) -> Option<()> {
        let properties = match self {
            Keep::No | Keep::Recorded => return None,
            Keep::Pinned((slot, nodes), buffers, views) => {
                if slot.get().is_none() {
                    let on = (nodes.clone(), buffers);
                    // Another thread may be faster.
                    let _ = slot.set(Graph::of(context, ran, on, (views, false))?);
                }
                return None;
            }
            Keep::Cached(properties) => properties,
        };
        let (signature, buffers) = Signature::of(ran.entries, properties)?;
        if !schedule.cache.seen(&signature, ran.flow?) {
            return None;
        }
        let nodes = Arc::new(Nodes::of(context, ran.entries, &buffers));
        let graph = Graph::of(context, ran, (nodes, &buffers), (signature.views.clone(), true))?;
        let choice = ran.report.and_then(|report| report.choice.as_ref());
        let is_watched = choice.is_some_and(|choice| choice.way == Way::Forced);
        schedule.cache.put(CachedGraph::new(signature, graph, is_watched), &buffers);
        Some(())
    }
}

/// The event of a list that ended, and the list if this call ended it: nothing else had, and no graph was launched for it. `None` where there never
/// was a list, or not the one meant.
pub(crate) type Ended = Option<(Arc<EventInner>, Option<Arc<List>>)>;

/// What is left of a list whose graph was launched: to be dropped where no lock is held.
type Left = (Option<Box<Prediction>>, Buffers);

impl ContextInner {
    /// Ends the list of a queue, if there is one, unfused.
    pub(crate) fn cancel_list(&self, queue: &QueueCell, cause: CancelCause) -> Result<(), Error> {
        self.end(queue, &End::Cancel(cause, None), None).map(drop)
    }

    /// Cancels the list that an event is of, unless it has ended. What fails in it is an affair of its events, and of anyone who reads what
    /// it should have written; an error is that this thread builds that list.
    pub(crate) fn cancel_list_of(&self, event: &EventInner, cause: CancelCause) -> Result<(), Error> {
        self.cancel_list_for(event, cause, None)
    }

    /// As [`ContextInner::cancel_list_of`], for an access.
    pub(crate) fn cancel_list_for(
        &self,
        event: &EventInner,
        cause: CancelCause,
        seen: Option<Box<Seen>>,
    ) -> Result<(), Error> {
        match self.end(&event.origin, &End::Cancel(cause, seen), Some(event)) {
            Err(error) if !matches!(error, Error::OwnList) => {
                tracing::debug!(%error, %cause, "a list that was in the way failed");
                Ok(())
            }
            ended => ended.map(drop),
        }
    }

    pub(crate) fn end(&self, queue: &QueueCell, end: &End, of: Option<&EventInner>) -> Result<Ended, Error> {
        if let End::Complete(properties) = end {
            // What is left is dropped where the state is not locked any more.
            let ended = self.launch_list(None, (queue, &mut queue.state()), properties);
            if let Some((completion, _)) = ended {
                return Ok(Some((completion, None)));
            }
        }
        let mut schedule = self.lock_as_it_is();
        let list = loop {
            let mut state = queue.state();
            // It may have ended by itself, and the next one begun, meanwhile.
            let is_it = |event: &EventInner| {
                event.settled().is_none()
                    && state.list().is_some_and(|list| ptr::eq(&*list.completion, event))
            };
            if of.is_some_and(|event| !is_it(event)) {
                return Ok(None);
            }
            if let End::Complete(properties) = end
                && let Some((completion, left)) =
                    self.launch_list(Some(&mut schedule), (queue, &mut state), properties)
            {
                // These may be the last handles.
                drop((state, schedule));
                drop(left);
                return Ok(Some((completion, None)));
            }
            schedule.settle_relaunches();
            if let Mode::Ending(_, thread) = state.mode {
                drop(state);
                self.wait_for_list(&mut schedule, thread)?;
                continue;
            }
            let Mode::Recording(mut list) = mem::take(&mut state.mode) else {
                let last = state.completion.clone();
                // Where it was forced, and was not, the first time gave an error, and this one gives the event.
                if let (End::Complete(properties), Some(earlier)) =
                    (end, last.as_ref().and_then(|last| last.earlier()))
                    && !properties.force
                {
                    tracing::warn!(
                        "a list that is complete was completed again, which does nothing; `start_fusion` begins the next one"
                    );
                    return Ok(Some((earlier, None)));
                }
                return Ok(last.map(|last| (last, None)));
            };
            list.materialize(&schedule.deps);
            state.completion = Some(list.completion.clone());
            let list = Arc::new(list);
            state.mode = Mode::Ending(list.clone(), builder());
            break list;
        };
        drop(schedule);
        let keep = match end {
            End::Complete(properties) if list.rejected.is_none() => Keep::Cached(Some(properties)),
            _ => Keep::No,
        };
        self.plan_and_launch(queue, &list, end, keep)?;
        Ok(Some((list.completion.clone(), Some(list))))
    }

    /// Launches the graph that a list follows, if it is the whole of one. Without the schedule, only where it repeats what was launched before
    /// and nothing came between. What is left is to be dropped where no lock is held.
    fn launch_list(
        &self,
        schedule: Option<&mut Schedule>,
        (queue, state): (&QueueCell, &mut QueueState),
        properties: &FusionProperties,
    ) -> Option<(Arc<EventInner>, Left)> {
        // What failed is said in the report of this run, and of no other.
        let Mode::Recording(List { followed, rejected: None, .. }) = &mut state.mode else { return None };
        let followed = followed.as_mut()?;
        let (submitted, summary) = if let Some(schedule) = schedule {
            // Of lists that begin alike it may be one that ends earlier, or in another way, or where other arguments are equal.
            if !followed.ends(properties) {
                let other = |cached: &CachedGraph| followed.ends_as(cached, properties);
                followed.follow(schedule.cache.agreeing(followed, other)?);
            }
            let pushes = followed.passes();
            let Prediction { cached, exec, buffers, .. } = &mut **followed;
            if exec.is_none() {
                *exec = cached.exec(buffers);
            }
            let (graph, exec) = (&cached.graph, exec.as_ref());
            let launch = Launch { graph, buffers, pushes: pushes.as_ref(), exec };
            let is_as_planned = launch.is_as_planned(self.contents.load(Acquire));
            // It may be one that is timed now and then, or have code that was dropped since.
            if cached.is_due() || !is_as_planned || self.judged.any_dropped() {
                return None;
            }
            schedule.cache.used(cached);
            self.launch(schedule, queue, &launch, cached.watched.is_none())?
        } else {
            let exec = followed.exec.as_ref().filter(|exec| {
                followed.pushes.is_empty()
                    && exec.is_in_force(self.contents.load(Acquire))
                    && followed.ends(properties)
                    && !self.judged.any_dropped()
            })?;
            self.relaunch(queue, (&followed.cached.graph, exec), |summary| Some(summary.clone()))?
        };
        let Mode::Recording(list) = mem::take(&mut state.mode) else { return None };
        let (completion, mut followed) = (list.completion, list.followed?);
        queue.is_direct.store(true, Release);
        completion.settle(|| Settled::of_launch(Done::Gpu(submitted), summary));
        state.completion = Some(completion.clone());
        let buffers = followed.starts_over();
        // It is predicted to come again.
        Some((completion, (state.predicted.replace(followed), buffers)))
    }

    /// Plans and launches a list that its queue holds as ending, and makes the queue usable again: prepares it outside the lock, then
    /// submits it and settles its events under it.
    pub(crate) fn plan_and_launch(
        &self,
        queue: &QueueCell,
        list: &List,
        end: &End,
        keep: Keep<'_>,
    ) -> Result<(), Error> {
        let _ending = Ending { context: self, queue, list };
        if matches!(end, End::Unrun) {
            list.completion.settle(|| Settled::failed(FusionError::NotRun.into()));
            return Ok(());
        }
        let prepared = attempted(|| list.label(), || self.prepare(list, end, &keep));
        // Work is never lost for want of a fused kernel.
        let prepared = match (prepared, end.properties()) {
            (Err(error), Some(_)) => {
                tracing::warn!(%error, cause = error_source(&error), "a fusion list could not be built and runs unfused");
                self.prepare_refused(list, end, &error)
            }
            (prepared, _) => prepared,
        };
        let ran = prepared.and_then(|mut prepared| {
            if let Some(first) = prepared.verify.take() {
                return self.run_first(queue, list, prepared, first, end);
            }
            self.submit_list(&mut self.lock(), queue, list, prepared, keep)
        });
        match ran {
            // A list that could not be fused although that was forced has run.
            Err(error) if !matches!(error, Error::Fusion(_)) => self.run_one_by_one(queue, list, end, &error),
            ran => ran,
        }
    }

    fn submit_list(
        &self,
        schedule: &mut Schedule,
        queue: &QueueCell,
        list: &List,
        prepared: Prepared,
        keep: Keep<'_>,
    ) -> Result<(), Error> {
        let Prepared { pieces, report, forced, planned, by_numbers, turn, verify: _ } = prepared;
        let done = if list.entries.is_empty() {
            Done::Nothing
        } else {
            let waits = list.waits();
            let effects = list.effects(self, &pieces, &report.plan);
            let readies = self.ready(schedule, pieces, &list.entries)?;
            // There is nothing to record of a list without work-groups.
            if let Some(flow) = &planned
                && waits.is_empty()
                && !readies.is_empty()
                && self.programs.keeps()
            {
                let (readies, effects, report, flow) = (&readies, &*effects, Some(&report), Some(flow));
                let mut entries = Cow::Borrowed(&list.entries);
                if !by_numbers {
                    // What follows from numbers that the plan does not depend on would not hold with others.
                    entries.to_mut().iter_mut().for_each(Entry::forget_numbers);
                }
                keep.keep(self, schedule, Ran { entries: &entries, effects, readies, report, flow });
            }
            let profile = queue.profiling || turn.is_some();
            let mut submitted = self.commit(schedule, queue, readies, &waits, profile)?;
            if let Some(turn) = turn {
                self.autotune.ran(turn, &submitted);
                submitted.profile.take_if(|_| !queue.profiling);
            }
            effects.iter().for_each(Effect::apply);
            Done::Gpu(submitted)
        };
        self.tell_ended(queue, &report);
        list.settle_ran(&mut schedule.counts, Ok(done), report, Vec::new());
        forced.map_or(Ok(()), Err)
    }
}

/// A list on its way out of the queue. However that ends, the queue is usable again afterwards.
struct Ending<'a> {
    context: &'a ContextInner,
    queue: &'a QueueCell,
    list: &'a List,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if self.list.completion.settled().is_none() {
            // Only a panic leads here. Nothing of the list ran, and what it should have written cannot be read.
            let source = BuildError::Panic("the list's execution was interrupted".to_owned());
            let error = Error::Build { kernel: self.list.label(), source };
            tracing::error!(%error, submissions = self.list.entries.len(), "a fusion list could not be run");
            self.list.entries.iter().for_each(Entry::lose);
            self.list.completion.settle(|| Settled::failed(error));
        }
        let schedule = self.context.lock();
        self.queue.state().mode = Mode::Direct;
        self.queue.is_direct.store(true, Release);
        drop(schedule);
        self.context.changed.notify_all();
    }
}

impl List {
    /// Says of a list what became of it, and counts it.
    pub(crate) fn settle_ran(
        &self,
        counts: &mut Stats,
        result: Result<Done, Arc<Error>>,
        report: FusionReport,
        failed: Vec<(u32, Arc<Error>)>,
    ) {
        let outcome = report.outcome.clone();
        counts.list(&outcome);
        let report = (report.dispatches > 0 || failed.is_empty()).then(|| Reported::Made(Arc::new(report)));
        self.completion.settle(|| Settled { failed, ..Settled::new(result, outcome, report) });
    }
}

/// Why there is an error, where another one is why.
pub(crate) fn error_source(error: &Error) -> String {
    std::error::Error::source(error).map(ToString::to_string).unwrap_or_default()
}
