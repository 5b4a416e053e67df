//! Ending a fusion list: taking it out of the queue, running it, saying what became of it.

use std::{
    borrow::Cow,
    mem, ptr,
    sync::{Arc, OnceLock, atomic::Ordering::Acquire},
};

use smallvec::SmallVec;

use super::prepare::{Goal, Prepared};
use crate::{
    code::build::{builder, caught},
    error::{BuildError, Error, Unreadable},
    jit::{PushFlow, Way},
    options::fusion::FusionProperties,
    replay::{
        known::{Followed, Known},
        recorded::{Take, TakeState},
        routine::Routine,
        structure::Structure,
    },
    report::{
        list::{FusionReport, Reported, Said},
        outcome::{CancelCause, Outcome},
    },
    runtime::{
        again::{self, Run},
        commit::Work,
        context::ContextInner,
        event::{Done, EventInner, Settled},
        queues::QueueCell,
        schedule::{List, Mode, QueueState, Schedule},
        warm::{Runs, same_or_clone},
    },
    submission::{
        entry::Entry,
        ready::Readies,
        signature::{Buffers, Signature},
    },
    vk::{Point, Submitted},
};

/// How a list ends.
#[derive(Debug, Clone)]
pub(crate) enum End {
    Cancel(CancelCause),
    Complete(FusionProperties),
    /// As `Complete`, and the list's submissions are wanted afterwards.
    Keep(FusionProperties),
}

/// What is known of a kept list.
#[derive(Debug)]
pub(crate) struct KeptRun {
    pub(crate) routine: Routine,
    /// It is for buffers of which someone was given the address so often.
    pub(crate) told: Told,
    /// Which push constants it is for besides its own.
    pub(crate) flow: Arc<PushFlow>,
}

/// How to run a kept list again, once that was found out.
pub(crate) type KeptRoutine = OnceLock<KeptRun>;

/// How often someone was given an address in each buffer of a list.
pub(crate) type Told = SmallVec<[u64; 8]>;

/// Where to note how a list, or a submission outside fusion mode, can be run again.
#[derive(Debug)]
pub(crate) enum Remember<'a> {
    No,
    /// Among what is known, as planned.
    Known(Option<&'a FusionProperties>, Arc<PushFlow>),
    /// With a kept list on these buffers, which were like this before anything was planned.
    Kept(&'a KeptRoutine, &'a Buffers, Told),
}

/// How to run again what is about to run.
#[derive(Debug)]
pub(crate) enum Noted {
    Known(Box<Known>, Buffers),
    Kept(Box<Routine>),
}

impl Remember<'_> {
    /// How to run again what is about to run, if that is worth it: one that is known has to come a second time.
    pub(crate) fn note(
        &self,
        context: &ContextInner,
        schedule: &mut Schedule,
        (entries, writes): (&[Entry], &[(usize, usize, bool)]),
        readies: &Readies,
        report: Option<&FusionReport>,
    ) -> Option<Noted> {
        match self {
            Remember::Known(properties, flow) => {
                let (signature, buffers) = Signature::of(entries, *properties)?;
                if !schedule.known.seen(&signature, flow) {
                    return None;
                }
                let routine = Routine::of(context, readies, (entries, writes), &buffers, report)?;
                let structure = Structure::of(context, entries, &buffers);
                let is_watched = report
                    .and_then(|report| report.choice.as_ref())
                    .is_some_and(|choice| choice.way == Way::Forced);
                let known = Known::new(context.key, signature, structure, routine, flow.clone());
                let known = known.watched(is_watched);
                Some(Noted::Known(Box::new(known), buffers))
            }
            Remember::Kept(slot, buffers, _) if slot.get().is_none() => {
                Routine::of(context, readies, (entries, writes), buffers, report)
                    .map(|routine| Noted::Kept(Box::new(routine)))
            }
            Remember::No | Remember::Kept(..) => None,
        }
    }

    /// Keeps what was noted, now that it has run.
    pub(crate) fn keep(self, schedule: &mut Schedule, noted: Noted, flow: Arc<PushFlow>) {
        match (noted, self) {
            (Noted::Known(known, buffers), _) => schedule.known.put(*known, &buffers),
            // Another thread may have been faster.
            (Noted::Kept(routine), Remember::Kept(slot, _, told)) => {
                drop(slot.set(KeptRun { routine: *routine, told, flow }));
            }
            (Noted::Kept(_), _) => {}
        }
    }
}

/// When the list that was to be ended has ended.
pub(crate) enum Ended {
    /// There never was one, or not the one meant.
    Never,
    /// Something else had ended it.
    Before(Arc<EventInner>),
    /// By this call.
    Now(Arc<List>),
    /// By this call, as a list that is known.
    Known(Arc<EventInner>),
}

/// What is left of a list that ran as a known one: to be dropped where no lock is held.
type Left = (Option<Box<Followed>>, Buffers);

impl QueueState {
    /// Notes that the list that follows a known one ran, on buffers of which this is known. It is expected to come again.
    #[inline]
    fn completed(
        &mut self,
        (submitted, said): (Submitted, Arc<Said>),
        take: Option<Arc<Take>>,
    ) -> Option<(Arc<EventInner>, Left)> {
        let Mode::Recording(list) = mem::take(&mut self.mode) else { return None };
        let mut followed = list.followed?;
        list.completion.settle_run(submitted, said);
        self.completion = Some(list.completion.clone());
        let buffers = followed.starts_over(take);
        Some((list.completion, (self.expects.replace(followed), buffers)))
    }
}

impl ContextInner {
    /// Ends the list of a queue, if there is one, and returns the completion event of the latest list.
    pub(crate) fn end_list(&self, queue: &QueueCell, end: &End) -> Result<Option<Arc<EventInner>>, Error> {
        Ok(match self.end(queue, end, None)? {
            Ended::Never => None,
            Ended::Before(completion) | Ended::Known(completion) => Some(completion),
            Ended::Now(list) => Some(list.completion.clone()),
        })
    }

    /// Ends the list that an event is of, unless it has ended.
    pub(crate) fn end_list_of(&self, event: &EventInner, end: &End) -> Result<(), Error> {
        self.end(&event.origin, end, Some(event)).map(drop)
    }

    pub(crate) fn end(&self, queue: &QueueCell, end: &End, of: Option<&EventInner>) -> Result<Ended, Error> {
        if let End::Complete(properties) = end {
            // What is left is dropped where the state is not locked any more.
            let ended = self.complete_warm(queue, &mut queue.state(), properties);
            if let Some((completion, _)) = ended {
                return Ok(Ended::Known(completion));
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
                return Ok(Ended::Never);
            }
            if let End::Complete(properties) = end
                && let Some((completion, left)) =
                    self.complete_known(&mut schedule, (queue, &mut state), properties)
            {
                // These may be the last handles.
                drop((state, schedule));
                drop(left);
                return Ok(Ended::Known(completion));
            }
            schedule.cool();
            match mem::replace(&mut state.mode, Mode::Direct) {
                Mode::Direct => {
                    return Ok(state.completion.clone().map_or(Ended::Never, Ended::Before));
                }
                Mode::Recording(mut list) => {
                    list.unfold(&schedule.graph);
                    state.completion = Some(list.completion.clone());
                    let list = Arc::new(list);
                    state.mode = Mode::Ending(list.clone(), builder());
                    break list;
                }
                Mode::Ending(list, thread) => {
                    state.mode = Mode::Ending(list, thread);
                    drop(state);
                    schedule = self.wait_for_list(schedule, thread)?;
                }
            }
        };
        drop(schedule);
        self.run_out(queue, &list, end, None)?;
        Ok(Ended::Now(list))
    }

    /// Runs a list that its queue holds as ending, and makes the queue usable again.
    ///
    /// A list that is kept has a place for how to run it again.
    pub(crate) fn run_out(
        &self,
        queue: &QueueCell,
        list: &Arc<List>,
        end: &End,
        kept: Option<Remember<'_>>,
    ) -> Result<(), Error> {
        let ending = Ending { context: self, queue, list };
        let result = self.run_list(&ending, end, kept);
        drop(ending);
        result
    }

    /// Prepares the list outside the lock, then submits it and settles its events under it.
    fn run_list(&self, ending: &Ending<'_>, end: &End, kept: Option<Remember<'_>>) -> Result<(), Error> {
        let (queue, list) = (ending.queue, ending.list);
        let prepared =
            caught(|| self.prepare(list, end, if kept.is_some() { Goal::Kept } else { Goal::Run }))
                .unwrap_or_else(|source| Err(Error::Build { kernel: list.label(), source }));
        // Work is never lost for want of a fused kernel.
        let prepared = match (prepared, end) {
            (Err(error), End::Complete(_) | End::Keep(_)) => {
                tracing::warn!(%error, cause = error_source(&error), "a fusion list could not be built and runs unfused");
                self.prepare_refused(list, end, &error)
            }
            (prepared, _) => prepared,
        };
        let ran = prepared.and_then(|mut prepared| {
            if let Some(first) = prepared.verify.take() {
                return self.run_first(queue, list, prepared, first);
            }
            let remember = match (kept, end, &prepared.planned) {
                (Some(kept), ..) => kept,
                (None, End::Complete(properties), Some(flow)) => {
                    Remember::Known(Some(properties), flow.clone())
                }
                _ => Remember::No,
            };
            self.submit_list(&mut self.lock(), queue, list, prepared, remember)
        });
        match ran {
            // A list that could not be fused although that was forced has run.
            Err(error) if !matches!(error, Error::Fusion(_)) => self.run_one_by_one(queue, list, end, &error),
            ran => ran,
        }
    }

    /// Runs the list of a queue as one that is warm, if it is one, without the schedule.
    #[inline]
    fn complete_warm(
        &self,
        queue: &QueueCell,
        state: &mut QueueState,
        properties: &FusionProperties,
    ) -> Option<(Arc<EventInner>, Left)> {
        let Mode::Recording(list) = &mut state.mode else { return None };
        let List { followed, spare, .. } = list;
        let followed = followed.as_ref()?;
        let take = followed.take.as_ref()?;
        let changes = self.contents.load(Acquire);
        let is_it = followed.pushes.is_empty()
            && take.is_in_force(changes)
            && followed.is_whole(properties, changes)
            && !self.judged.any_dropped();
        if !is_it {
            return None;
        }
        let (submitted, said) = queue.warm.complete(&self.device, take, spare)?;
        let take = take.clone();
        let routine = &followed.known.routine;
        state.past.made_again(routine, submitted.point);
        again::tell(queue, routine);
        state.completed((submitted, said), Some(take))
    }

    /// Runs the list of a queue as one that is known, if it is one. The schedule hears of runs without it, unless this has nothing to come
    /// after but its own run before. What is left is to be dropped where no lock is held.
    fn complete_known(
        &self,
        schedule: &mut Schedule,
        (queue, state): (&QueueCell, &mut QueueState),
        properties: &FusionProperties,
    ) -> Option<(Arc<EventInner>, Left)> {
        let Mode::Recording(list) = &mut state.mode else { return None };
        let List { followed, spare, .. } = list;
        let followed = followed.as_mut()?;
        // Of lists that begin alike it may be one that ends earlier, or in another way.
        if !followed.ends(properties) {
            followed.follow(schedule.known.completed_with(properties, followed)?);
        }
        // It may have code that was dropped since, or be one that is timed now and then.
        if followed.known.is_due() {
            return None;
        }
        if !followed.is_whole(properties, self.contents.load(Acquire)) || self.judged.any_dropped() {
            return None;
        }
        let Schedule { graph, key, .. } = &mut *schedule;
        let repeats = followed.take.as_ref().is_some_and(|take| {
            let Followed { known, pushes, .. } = &**followed;
            pushes.is_empty()
                && known.is_never_due()
                && take.is_in_force(self.contents.load(Acquire))
                && !queue.warm.is_warm()
                && known.routine.replay.repeats(graph, queue.lane, take.state(key))
        });
        if !repeats {
            schedule.cool();
        }
        if !followed.passes_on() {
            followed.follow(schedule.known.instead(followed)?);
        }
        let pushes = followed.passes();
        let Schedule { graph, key, known: lists, .. } = &mut *schedule;
        let take = followed.take.take().or_else(|| followed.known.take(key, &followed.buffers));
        let Followed { known, buffers, .. } = &**followed;
        let (routine, views) = (&known.routine, &*known.signature.views);
        let run = Run { routine, views, buffers, pushes: pushes.as_ref(), take: take.as_deref() };
        // What fails here fails again on the long way, and is dealt with there.
        let mut once = None;
        let state_of = match run.take {
            Some(take) => take.state(key),
            None => once.insert(TakeState::default()),
        };
        let (submitted, said) = self.perform(graph, queue, &run, state_of).ok()?;
        let said = same_or_clone(spare, said);
        state.past.made_again(routine, submitted.point);
        lists.used(known);
        if let Some(take) = take.as_ref().filter(|_| repeats && submitted.profile.is_none()) {
            schedule.heat(&queue.warm, |key| {
                let again = routine.replay.again(take.state(key))?;
                Some(Runs::of_listed((again, submitted.point), take, &said))
            });
        }
        state.completed((submitted, said), take)
    }

    fn submit_list(
        &self,
        schedule: &mut Schedule,
        queue: &QueueCell,
        list: &List,
        prepared: Prepared,
        remember: Remember<'_>,
    ) -> Result<(), Error> {
        let Prepared { pieces, mut report, forced, planned, by_numbers, turn, verify: _ } = prepared;
        report.names = list.names();
        report.kernels = list.kernels();
        let (lane, is_profiled) = (queue.lane, queue.profiling || self.profiling);
        let profile = is_profiled || turn.is_some();
        let done = if list.entries.is_empty() {
            Done::Nothing
        } else {
            let waits: Vec<Point> =
                list.entries.iter().flat_map(|entry| entry.after.points.iter().copied()).collect();
            let kept = list.kept_inside(&pieces, &report.plan);
            let buffers = list.entries.iter().flat_map(|entry| &entry.buffers);
            let readies = self.ready(schedule, pieces, buffers, &list.entries)?;
            // There is nothing to record of a list without work-groups.
            let is_recorded = waits.is_empty() && !readies.is_empty() && self.programs.keeps();
            let flow = planned.filter(|_| is_recorded);
            // What follows from numbers that the plan does not depend on would not hold with others.
            let entries =
                if by_numbers { Cow::Borrowed(&list.entries) } else { Cow::Owned(list.without_numbers()) };
            let ran = (&**entries, &*kept);
            let noted = flow
                .and_then(|flow| Some((remember.note(self, schedule, ran, &readies, Some(&report))?, flow)));
            let mut submitted = self.commit(schedule, lane, Work { readies, waits: &waits, profile })?;
            if let Some(turn) = turn {
                self.autotune.ran(turn, &submitted);
                submitted.profile.take_if(|_| !is_profiled);
            }
            for &(entry, position, is_kept) in &kept {
                let entry = &list.entries[entry];
                let (touch, buffer) = (&entry.touches[position], &entry.buffers[position]);
                if is_kept {
                    buffer.lost(touch.span, Unreadable::Internalized);
                } else {
                    entry.note_written_at(self, position);
                }
            }
            if let Some((noted, flow)) = noted {
                remember.keep(schedule, noted, flow);
            }
            queue.state().ran(submitted.point);
            Done::Gpu(submitted)
        };
        schedule.counts.list(&report.outcome);
        tracing::info!(
            queue = queue.id.0, submissions = list.entries.len(), dispatches = report.steps.len(), outcome = %report.outcome,
            "fusion list ended"
        );
        let outcome = report.outcome.clone();
        list.settle(Settled::new(Ok(done), outcome, Some(Reported::Made(Arc::new(report)))));
        forced.map_or(Ok(()), Err)
    }

    /// Nothing of the list ran: its events say so, and what it should have written cannot be read.
    fn fail_list(&self, list: &List, error: &Error) {
        tracing::error!(%error, submissions = list.entries.len(), "a fusion list could not be run");
        list.entries.iter().for_each(Entry::lose);
        list.settle(Settled::new(Err(Arc::new(error.clone())), Outcome::Failed, None));
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
            // Only a panic leads here.
            let source = BuildError::Panic("the list's execution was interrupted".to_owned());
            self.context.fail_list(self.list, &Error::Build { kernel: self.list.label(), source });
        }
        let schedule = self.context.lock();
        self.queue.state().mode = Mode::Direct;
        drop(schedule);
        self.context.changed.notify_all();
    }
}

impl List {
    fn without_numbers(&self) -> Vec<Entry> {
        self.entries.iter().cloned().map(Entry::without_numbers).collect()
    }

    pub(crate) fn settle(&self, settled: Settled) {
        self.completion.settle(settled);
    }
}

/// Why there is an error, where another one is why.
pub(crate) fn error_source(error: &Error) -> String {
    std::error::Error::source(error).map(ToString::to_string).unwrap_or_default()
}
