//! Handles on work: whether it is done, what became of it, how long it took.

use std::{
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use crate::{
    error::Error,
    report::{
        list::{FusionReport, Reported, Summary},
        outcome::{CancelCause, Outcome},
    },
    runtime::queues::Origin,
    vk::{Point, Submitted},
};

/// A handle on a submission, a command, a host task or a completed fusion list.
///
/// It is valid however fusion mode ended.
#[derive(Debug, Clone)]
pub struct Event {
    pub(crate) inner: Arc<EventInner>,
    /// The submissions of the list that it stands for, by their places in it.
    pub(crate) of: Range<u32>,
    /// The run that it is of, where runs share the rest.
    run: Option<Submitted>,
}

#[derive(Debug)]
pub(crate) struct EventInner {
    pub(crate) origin: Arc<Origin>,
    /// Empty while the submission is listed.
    settled: OnceLock<Settled>,
}

/// What is known once the work was handed to the device, or failed.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) result: Result<Done, Arc<Error>>,
    /// Of runs that are alike, the same.
    pub(crate) summary: Arc<Summary>,
    /// Submissions of a list that failed while others ran, by their places in it, in order.
    pub(crate) failed: Vec<(u32, Arc<Error>)>,
}

impl Settled {
    /// What became of all of it alike.
    pub(crate) fn new(
        result: Result<Done, Arc<Error>>,
        outcome: Outcome,
        report: Option<Reported>,
    ) -> Settled {
        Settled { result, summary: Arc::new(Summary { outcome, report }), failed: Vec::new() }
    }

    /// All of it failed.
    pub(crate) fn failed(error: Error) -> Settled {
        Settled::new(Err(Arc::new(error)), Outcome::Failed, None)
    }

    /// What became of a launch.
    pub(crate) fn of_launch(done: Done, summary: Arc<Summary>) -> Settled {
        Settled { result: Ok(done), summary, failed: Vec::new() }
    }

    /// What became of some submissions of it.
    pub(crate) fn result_of(&self, of: &Range<u32>) -> Result<&Done, &Arc<Error>> {
        match self.failed.iter().find(|(place, _)| of.contains(place)) {
            Some((_, error)) => Err(error),
            None => self.result.as_ref(),
        }
    }
}

/// How to see that work is complete.
#[derive(Debug, Clone)]
pub(crate) enum Done {
    /// There was none.
    Nothing,
    Gpu(Submitted),
    Host(Arc<HostDone>),
}

/// How a host task tells that it is done.
#[derive(Debug, Default)]
pub(crate) struct HostDone {
    result: Mutex<Option<Result<(), Arc<Error>>>>,
    changed: Condvar,
    /// Whether anyone was given its result.
    is_read: AtomicBool,
    /// The thread that runs it, once that does.
    thread: OnceLock<ThreadId>,
}

impl HostDone {
    /// Notes that the calling thread runs the task.
    pub(crate) fn runs_here(&self) {
        let _ = self.thread.set(thread::current().id());
    }

    /// Whether the calling thread runs the task, so that waiting for it would never end.
    pub(crate) fn is_own(&self) -> bool {
        self.thread.get() == Some(&thread::current().id()) && self.poll().is_none()
    }

    pub(crate) fn finish(&self, result: Result<(), Error>) {
        *self.result.lock() = Some(result.map_err(Arc::new));
        self.changed.notify_all();
    }

    /// The result, if it is done.
    pub(crate) fn poll(&self) -> Option<Result<(), Arc<Error>>> {
        self.result.lock().clone()
    }

    /// Waits; `None` if the time ran out first. From inside the task itself that is an error.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> Option<Result<(), Arc<Error>>> {
        if self.is_own() {
            return Some(Err(Arc::new(Error::OwnTask)));
        }
        let mut result = self.result.lock();
        let timeout = timeout.unwrap_or(Duration::MAX);
        let _ = self.changed.wait_while_for(&mut result, |result| result.is_none(), timeout);
        if result.is_some() {
            self.is_read.store(true, Relaxed);
        }
        result.clone()
    }
}

impl Drop for HostDone {
    /// An error that no one was given is said in the log.
    fn drop(&mut self) {
        if let Some(Err(error)) = self.result.get_mut()
            && !*self.is_read.get_mut()
        {
            tracing::warn!("a host task failed, and nothing waited for its event or its queue: {error}");
        }
    }
}

impl EventInner {
    /// An event of a listed submission or list.
    pub(crate) fn listed(origin: &Arc<Origin>) -> Arc<EventInner> {
        Arc::new(EventInner { origin: origin.clone(), settled: OnceLock::new() })
    }

    /// As [`EventInner::listed`], in place of one of the same queue if no one else has that any more: 4 % of what a list
    /// costs that runs again.
    pub(crate) fn listed_after(last: Option<Arc<EventInner>>, origin: &Arc<Origin>) -> Arc<EventInner> {
        if let Some(mut last) = last
            && let Some(inner) = Arc::get_mut(&mut last)
        {
            inner.settled = OnceLock::new();
            return last;
        }
        EventInner::listed(origin)
    }

    /// Of work that is known in full.
    pub(crate) fn at_once(origin: &Arc<Origin>, settled: Settled) -> Arc<EventInner> {
        Arc::new(EventInner { origin: origin.clone(), settled: settled.into() })
    }

    /// Whether it is what events of launches with this summary on this queue share.
    #[inline]
    pub(crate) fn is_of_launches(&self, origin: &Arc<Origin>, summary: &Arc<Summary>) -> bool {
        Arc::ptr_eq(&self.origin, origin)
            && self.settled().is_some_and(|settled| Arc::ptr_eq(&settled.summary, summary))
    }

    /// An event of work that was handed over.
    pub(crate) fn done(origin: &Arc<Origin>, done: Done) -> Event {
        Event::of_all(EventInner::at_once(origin, Settled::new(Ok(done), Outcome::Unfused, None)))
    }

    /// Says what became of it. The first word counts.
    #[inline]
    pub(crate) fn settle(&self, settled: impl FnOnce() -> Settled) {
        self.settled.get_or_init(settled);
    }

    pub(crate) fn settled(&self) -> Option<&Settled> {
        self.settled.get()
    }

    /// The same with a report that says that the list is an earlier one, if it is of a list that ran because it was completed.
    pub(crate) fn earlier(&self) -> Option<Arc<EventInner>> {
        let Settled { result, summary, failed } = self.settled()?;
        let Summary { outcome, report } = &**summary;
        if matches!(outcome, Outcome::Cancelled { .. } | Outcome::Failed | Outcome::Pending) {
            return None;
        }
        let report = report.as_ref().map(|report| Reported::Made(Arc::new(report.report().of_earlier())));
        let summary = Arc::new(Summary { outcome: outcome.clone(), report });
        let settled = Settled { result: result.clone(), summary, failed: failed.clone() };
        Some(EventInner::at_once(&self.origin, settled))
    }
}

impl Event {
    /// The event of a whole list, or of work by itself.
    pub(crate) fn of_all(inner: Arc<EventInner>) -> Event {
        Event { inner, of: 0..u32::MAX, run: None }
    }

    /// The event of submissions of a list.
    #[inline]
    pub(crate) fn of_some(inner: Arc<EventInner>, of: Range<usize>) -> Event {
        Event { inner, of: of.start as u32..of.end as u32, run: None }
    }

    /// The event of a run.
    #[inline]
    pub(crate) fn of_run(inner: Arc<EventInner>, run: Submitted) -> Event {
        Event { inner, of: 0..u32::MAX, run: Some(run) }
    }

    /// What became of it; nothing while it is listed.
    pub(crate) fn result(&self) -> Option<Result<Done, Error>> {
        let settled = self.inner.settled()?;
        Some(match &self.run {
            Some(run) => Ok(Done::Gpu(run.clone())),
            None => settled.result_of(&self.of).cloned().map_err(|error| Error::Earlier(error.clone())),
        })
    }

    /// Waits until the work is complete.
    ///
    /// Waiting for a listed submission, or for the completion of a list that is still recorded, observes it: the list is
    /// cancelled and runs unfused.
    ///
    /// # Errors
    ///
    /// The work failed, or the device did.
    pub fn wait(&self) -> Result<(), Error> {
        self.wait_until(None).map(drop)
    }

    /// Waits for at most so long; whether the work is complete. Observes as [`wait`](Event::wait) does.
    ///
    /// # Errors
    ///
    /// As [`wait`](Event::wait).
    pub fn wait_timeout(&self, timeout: Duration) -> Result<bool, Error> {
        self.wait_until(Instant::now().checked_add(timeout))
    }

    /// Waits until the work of all events is complete.
    ///
    /// # Errors
    ///
    /// The first error of any; all were waited for even so.
    pub fn wait_all(events: &[Event]) -> Result<(), Error> {
        // Lists are ended first, so that all of them are under way before the first is waited for.
        // An error comes again below.
        events.iter().for_each(|event| drop(event.observe()));
        events.iter().map(Event::wait).fold(Ok(()), Result::and)
    }

    /// Ends the list it is in, if it still is in one; an error is that this thread builds that list.
    fn observe(&self) -> Result<(), Error> {
        match self.inner.settled() {
            None => self.inner.origin.context.cancel_list_of(&self.inner, CancelCause::EventWait),
            Some(_) => Ok(()),
        }
    }

    /// Where it is on the device, if that is where it is.
    pub(crate) fn point(&self) -> Result<Option<Point>, Error> {
        self.observe()?;
        Ok(match self.result().transpose()? {
            Some(Done::Gpu(submitted)) => Some(submitted.point),
            Some(Done::Nothing | Done::Host(_)) | None => None,
        })
    }

    fn wait_until(&self, deadline: Option<Instant>) -> Result<bool, Error> {
        self.observe()?;
        let Some(done) = self.result().transpose()? else { return Ok(false) };
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match done {
            Done::Nothing => Ok(true),
            Done::Gpu(submitted) => Ok(self.inner.origin.context.gpu.wait(submitted.point, left)?),
            Done::Host(host) => {
                host.wait(left).transpose().map(|done| done.is_some()).map_err(Error::Earlier)
            }
        }
    }

    /// Whether the work is complete, or failed. Observes nothing: a listed submission stays listed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.result().is_some_and(|result| match result {
            Err(_) | Ok(Done::Nothing) => true,
            Ok(Done::Gpu(submitted)) => self.inner.origin.context.gpu.is_done(submitted.point),
            Ok(Done::Host(host)) => host.poll().is_some(),
        })
    }

    /// What became of the submission, or of the list it is in.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.inner.settled().map_or(Outcome::Pending, |settled| match settled.result_of(&self.of) {
            Err(_) if !settled.failed.is_empty() => Outcome::Failed,
            _ => settled.summary.outcome.clone(),
        })
    }

    /// What happened to the list that it is in; nothing while it is listed, and for work outside fusion mode.
    #[must_use]
    pub fn report(&self) -> Option<Arc<FusionReport>> {
        self.inner.settled().and_then(|settled| settled.summary.report.as_ref()).map(Reported::report)
    }

    /// The time on the device, of the whole list if it is in one. Nothing before it is complete, and where profiling is
    /// off ([`ContextOptions::profiling`](crate::ContextOptions::profiling),
    /// [`QueueOptions::profiling`](crate::QueueOptions::profiling)).
    #[must_use]
    pub fn gpu_time(&self) -> Option<Duration> {
        match self.result()? {
            Ok(Done::Gpu(submitted)) if self.is_complete() => submitted.profile.as_ref()?.gpu_time(),
            _ => None,
        }
    }
}
