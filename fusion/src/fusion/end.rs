//! Ending a fusion list: taking it out of the queue, running it, saying what became of it.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{End, run::Prepared};
use crate::{
    buffer::BufferInner,
    context::ContextInner,
    error::{BuildError, Error, Unreadable},
    event::{Done, EventInner, Settled},
    outcome::Outcome,
    schedule::{List, Mode, QueueId, Schedule, Work},
    stats::count,
    vk::Point,
};

/// When the list that was to be ended has ended.
pub(super) enum Ended {
    /// There never was one, or not the one meant.
    Never,
    /// Something else had ended it.
    Before(Arc<EventInner>),
    /// By this call.
    Now(Arc<List>),
}

impl ContextInner {
    /// Ends the list of a queue, if there is one, and returns the completion event of the latest list.
    pub(crate) fn end_list(&self, queue: QueueId, end: &End) -> Result<Option<Arc<EventInner>>, Error> {
        Ok(match self.end(queue, end, None)? {
            Ended::Never => None,
            Ended::Before(completion) => Some(completion),
            Ended::Now(list) => Some(list.completion.clone()),
        })
    }

    /// Ends the list that an event is of, unless it has ended.
    pub(crate) fn end_list_of(&self, event: &EventInner, end: &End) -> Result<(), Error> {
        self.end(event.queue, end, Some(event)).map(drop)
    }

    pub(super) fn end(&self, queue: QueueId, end: &End, of: Option<&EventInner>) -> Result<Ended, Error> {
        let mut schedule = self.lock();
        let list = loop {
            if of.is_some_and(|event| event.settled().is_some()) {
                return Ok(Ended::Never);
            }
            let Some(state) = schedule.queues.get_mut(&queue) else { return Ok(Ended::Never) };
            match mem::replace(&mut state.mode, Mode::Direct) {
                Mode::Direct => {
                    return Ok(state.completion.clone().map_or(Ended::Never, Ended::Before));
                }
                Mode::Recording(list) => {
                    let list = Arc::new(list);
                    state.mode = Mode::Ending(list.clone());
                    break list;
                }
                ending @ Mode::Ending(_) => {
                    state.mode = ending;
                    schedule = self.wait_for_change(schedule);
                }
            }
        };
        drop(schedule);
        self.run_out(queue, &list, end)?;
        Ok(Ended::Now(list))
    }

    /// Runs a list that its queue holds as ending, and makes the queue usable again.
    pub(super) fn run_out(&self, queue: QueueId, list: &Arc<List>, end: &End) -> Result<(), Error> {
        let ending = Ending { context: self, queue, list };
        let result = self.run_list(&ending, end);
        drop(ending);
        result
    }

    /// Prepares the list outside the lock, then submits it and settles its events under it.
    fn run_list(&self, ending: &Ending<'_>, end: &End) -> Result<(), Error> {
        let (queue, list) = (ending.queue, ending.list);
        let prepared = catch_unwind(AssertUnwindSafe(|| self.prepare(list, end))).unwrap_or_else(|panic| {
            let source = BuildError::Panic(panic_message(&*panic));
            Err(Error::Build { kernel: list.label(), source })
        });
        // Work is never lost for want of a fused kernel.
        let prepared = match (prepared, end) {
            (Err(error), End::Complete(_)) => {
                tracing::warn!(%error, cause = error_source(&error), "a fusion list could not be built and runs unfused");
                self.prepare_refused(list, &error)
            }
            (prepared, _) => prepared,
        };
        let mut waited = Ok(());
        for task in list.entries.iter().flat_map(|entry| &entry.after.tasks) {
            if let Some(Err(error)) = task.wait(None) {
                waited = Err(Error::Earlier(error));
            }
        }
        let result = match (prepared, waited) {
            (Ok(prepared), Ok(())) => self.submit_list(&mut self.lock(), queue, list, prepared),
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        // A list that could not be fused although that was forced has run.
        if let Err(error) = &result
            && !matches!(error, Error::Fusion(_))
        {
            self.fail_list(list, error);
        }
        result
    }

    fn submit_list(
        &self,
        schedule: &mut Schedule,
        queue: QueueId,
        list: &List,
        prepared: Prepared,
    ) -> Result<(), Error> {
        let Prepared { pieces, mut report, forced } = prepared;
        let state = schedule.queue(queue);
        let (lane, profile) = (state.lane, state.profiling || self.profiling);
        let done = if pieces.is_empty() {
            Done::Nothing
        } else {
            let buffers: Vec<Arc<BufferInner>> =
                list.entries.iter().flat_map(|entry| entry.buffers.iter().cloned()).collect();
            let waits: Vec<Point> =
                list.entries.iter().flat_map(|entry| entry.after.points.iter().copied()).collect();
            let kept = list.kept_inside(&pieces);
            let submitted =
                self.commit(schedule, lane, Work { pieces, buffers: &buffers, waits: &waits, profile })?;
            for (entry, position, is_kept) in kept {
                let entry = &list.entries[entry];
                let (touch, buffer) = (&entry.touches[position], &entry.buffers[position]);
                if is_kept {
                    let range = touch.range.start - buffer.base..touch.range.end - buffer.base;
                    buffer.lost(range, Unreadable::Internalized);
                } else {
                    entry.note_written_at(self, position);
                }
            }
            schedule.queue(queue).ran(submitted.point);
            Done::Gpu(submitted)
        };
        let counter = match &report.outcome {
            Outcome::Fused => &self.counters.lists_fused,
            Outcome::Split => &self.counters.lists_split,
            Outcome::Refused { .. } => &self.counters.lists_refused,
            _ => &self.counters.lists_cancelled,
        };
        count(counter, 1);
        tracing::info!(
            queue = queue.0, submissions = list.entries.len(), dispatches = report.steps.len(), outcome = %report.outcome,
            "fusion list ended"
        );
        report.names = list.names();
        let outcome = report.outcome.clone();
        list.settle(Settled { result: Ok(done), outcome, report: Some(Arc::new(report)) });
        forced.map_or(Ok(()), Err)
    }

    /// Nothing of the list ran: its events say so, and what it should have written cannot be read.
    fn fail_list(&self, list: &List, error: &Error) {
        tracing::error!(%error, submissions = list.entries.len(), "a fusion list could not be run");
        for entry in &list.entries {
            for (touch, buffer) in entry.touches.iter().zip(&entry.buffers) {
                if touch.writes {
                    buffer.lost(
                        touch.range.start - buffer.base..touch.range.end - buffer.base,
                        Unreadable::Failed,
                    );
                }
            }
        }
        list.settle(Settled { result: Err(Arc::new(error.clone())), outcome: Outcome::Failed, report: None });
    }
}

/// A list on its way out of the queue. However that ends, the queue is usable again afterwards.
struct Ending<'a> {
    context: &'a ContextInner,
    queue: QueueId,
    list: &'a List,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if self.list.completion.settled().is_none() {
            // Only a panic leads here.
            let source = BuildError::Panic("the list's execution was interrupted".to_owned());
            self.context.fail_list(self.list, &Error::Build { kernel: self.list.label(), source });
        }
        self.context.lock().queue(self.queue).mode = Mode::Direct;
        self.context.changed.notify_all();
    }
}

impl List {
    fn settle(&self, settled: Settled) {
        self.completion.settle(settled);
    }
}

pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

fn error_source(error: &Error) -> String {
    std::error::Error::source(error).map(ToString::to_string).unwrap_or_default()
}
