//! Lists in which something failed: each submission by itself, as if fusion mode had never been entered.
//!
//! # Guarantees
//! - whatever would have run outside fusion mode runs
//! - an error is that of the submissions it concerns: the one that failed, and those that come after it by an event or
//!   read what it should have written

use std::{slice, sync::Arc};

use crate::{
    code::build::attempted,
    error::Error,
    jit::{FloatMode, Reason, Report},
    report::{list::StepReport, outcome::Outcome},
    runtime::{
        check::readable, context::ContextInner, end::End, event::Done, queues::QueueCell, schedule::List,
    },
    submission::entry::Entry,
    vk::Submitted,
};

/// Submissions that failed, by their places in the list.
type Failed = Vec<(u32, Arc<Error>)>;

impl ContextInner {
    /// Runs a list that could not be run at once, because of an error. Returns the first error that was left.
    pub(crate) fn run_one_by_one(
        &self,
        queue: &QueueCell,
        list: &List,
        end: &End,
        error: &Error,
    ) -> Result<(), Error> {
        tracing::warn!(%error, submissions = list.entries.len(), "a fusion list failed and runs one by one");
        let (mut failed, mut steps, mut last) = (Failed::new(), Vec::new(), None);
        for (place, entry) in list.entries.iter().enumerate() {
            let run = || self.run_alone(queue, entry, self.float_of(end), &failed);
            match attempted(|| entry.label.to_string(), run) {
                Ok((submitted, step)) => {
                    steps.extend(step.map(|step| StepReport { members: (place..place + 1).into(), ..step }));
                    last = Some(submitted);
                }
                Err(error) => {
                    tracing::error!(%error, kernel = &*entry.label, "a submission of a fusion list could not be run");
                    entry.lose();
                    failed.push((place as u32, Arc::new(error)));
                }
            }
        }
        let first = failed.first().map(|(_, error)| error.clone());
        let result = match (&first, last) {
            (Some(error), None) => Err(error.clone()),
            (_, last) => Ok(last.map_or(Done::Nothing, Done::Gpu)),
        };
        let outcome = match end {
            _ if result.is_err() => Outcome::Failed,
            End::Cancel(by, _) => Outcome::Cancelled { by: *by },
            _ => Outcome::Refused { reason: Reason::Internal { what: error.to_string() } },
        };
        let forced = end.forced(&outcome);
        let mut report = list.report(outcome, Report::default(), steps, 0.0);
        report.cancelled = end.cancelled(list);
        list.settle_ran(&mut self.lock().counts, result, report, failed);
        first.map(|error| (*error).clone()).or(forced).map_or(Ok(()), Err)
    }

    /// Runs one submission of a list, unless it depends on one that failed. There is nothing to report of one without work-groups.
    fn run_alone(
        &self,
        queue: &QueueCell,
        entry: &Entry,
        float: FloatMode,
        failed: &Failed,
    ) -> Result<(Submitted, Option<StepReport>), Error> {
        let after = |place: &u32| entry.after.listed.iter().any(|places| places.contains(place));
        if let Some((_, error)) = failed.iter().find(|(place, _)| after(place)) {
            return Err(Error::Earlier(error.clone()));
        }
        let (waits, profile) = (&entry.after.points, queue.profiling);
        let alone = entry.runs().then(|| self.plain_piece(entry, float)).transpose()?;
        let (piece, report) = alone.unzip();
        let mut schedule = self.lock();
        readable(entry, None)?;
        let readies = self.ready(&mut schedule, piece.into_iter().collect(), slice::from_ref(entry))?;
        let submitted = self.commit(&mut schedule, queue, readies, waits, profile)?;
        entry.note_written(self);
        Ok((submitted, report))
    }
}
