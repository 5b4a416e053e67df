//! A run that can be made again: what is submitted, and what else happens with it.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use smallvec::SmallVec;

use super::recorded::Replay;
use crate::{
    api::{
        buffer::BufferInner,
        context::ContextInner,
        event::{Done, Settled},
    },
    error::{Error, Unreadable},
    jit,
    report::{
        list::{FusionReport, Tier},
        outcome::Outcome,
    },
    runtime::schedule::{Entry, List, QueueId, Schedule},
    submission::{graph::Touch, identity::Span},
    vk::Submitted,
};

/// What is submitted, and what else happens with it.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) replay: Replay,
    outcome: Outcome,
    report: Option<Arc<FusionReport>>,
    effects: Vec<Effect>,
    dispatches: u64,
    /// The count of changes of contents after which everything that is read was readable and every effect was in force; 0
    /// for none.
    settled: AtomicU64,
}

/// Bytes that are written, or that a fused kernel keeps to itself.
#[derive(Debug)]
pub(crate) struct Effect {
    pub(crate) buffer: Weak<BufferInner>,
    pub(crate) span: Span,
    pub(crate) inside: bool,
}

impl Effect {
    /// Makes it so.
    fn apply(&self) {
        let Some(buffer) = self.buffer.upgrade() else { return };
        if self.inside {
            buffer.lost(self.span, Unreadable::Internalized);
        } else {
            buffer.written(self.span);
        }
    }
}

impl Routine {
    pub(crate) fn new(replay: Replay, effects: Vec<Effect>, report: Option<&FusionReport>) -> Routine {
        let dispatches = report.map_or(1, |report| report.dispatches as u64);
        let outcome = report.map_or(Outcome::Unfused, |report| report.outcome.clone());
        let report = report.map(|report| Arc::new(again(report)));
        Routine { replay, outcome, report, effects, dispatches, settled: AtomicU64::new(0) }
    }

    /// Whether nothing about the contents of buffers has changed since it was all in order.
    pub(crate) fn settled(&self, contents: u64) -> bool {
        self.settled.load(Relaxed) == contents
    }

    /// What the events of a run say.
    pub(crate) fn says(&self, submitted: Submitted) -> Settled {
        Settled::new(Ok(Done::Gpu(submitted)), self.outcome.clone(), self.report.clone())
    }
}

/// What a report says of a run for which nothing had to be planned, built or looked for.
fn again(report: &FusionReport) -> FusionReport {
    let mut report = FusionReport { plan_us: 0.0, jit_us: 0.0, driver_us: 0.0, ..report.clone() };
    for step in &mut report.steps {
        (step.memory, step.disk, step.driver_blob) = (Tier::Hit, Tier::NotAsked, Tier::NotAsked);
        (step.jit_us, step.driver_us, step.load_us) = (0.0, 0.0, 0.0);
    }
    report
}

impl ContextInner {
    /// Makes a run again. Whoever calls has seen to it that nothing is in its way and that what it reads is readable.
    pub(crate) fn perform(
        &self,
        schedule: &mut Schedule,
        queue: QueueId,
        routine: &Routine,
    ) -> Result<Submitted, Error> {
        let submitted = self.play(schedule, &routine.replay)?;
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

impl Entry {
    /// What one of its writes does to contents: nothing, unless it certainly writes every byte.
    fn effect(&self, context: &ContextInner, position: usize) -> Option<Effect> {
        let (touch, buffer) = (&self.touches[position], &self.buffers[position]);
        let certain = touch.writes && jit::overwrites(&self.submission, position, &context.limits);
        certain.then(|| Effect { buffer: Arc::downgrade(buffer), span: touch.span, inside: false })
    }

    /// What a run of it alone does to contents.
    pub(crate) fn effects(&self, context: &ContextInner) -> Vec<Effect> {
        (0..self.touches.len()).filter_map(|position| self.effect(context, position)).collect()
    }
}

impl List {
    /// What a run of the list does to contents.
    pub(crate) fn effects(&self, context: &ContextInner, kept: &[(usize, usize, bool)]) -> Vec<Effect> {
        let effect = |&(entry, position, inside): &(usize, usize, bool)| {
            let entry = &self.entries[entry];
            if !inside {
                return entry.effect(context, position);
            }
            let (touch, buffer) = (&entry.touches[position], &entry.buffers[position]);
            Some(Effect { buffer: Arc::downgrade(buffer), span: touch.span, inside })
        };
        kept.iter().filter_map(effect).collect()
    }
}

/// An access that reads, of a list that may be run again.
#[derive(Debug)]
pub(crate) struct OldRead {
    buffer: Weak<BufferInner>,
    span: Span,
    /// What earlier submissions of the list certainly write of the same memory.
    written: SmallVec<[Span; 1]>,
}

impl OldRead {
    /// Every read of a submission, with what those before it write.
    pub(crate) fn of(context: &ContextInner, earlier: &[Entry], entry: &Entry) -> SmallVec<[OldRead; 4]> {
        let reads = entry.touches.iter().zip(&entry.buffers).filter(|(touch, _)| touch.reads);
        let read = |(touch, buffer): (&Touch, &Arc<BufferInner>)| OldRead {
            buffer: Arc::downgrade(buffer),
            span: touch.span,
            written: earlier.iter().flat_map(|entry| entry.overwritten(context, touch.memory)).collect(),
        };
        reads.map(read).collect()
    }

    /// Whether it finds something readable, now that the list would run.
    pub(crate) fn is_readable(&self) -> bool {
        self.buffer.upgrade().is_some_and(|buffer| {
            buffer.unreadable(self.span).is_none()
                || buffer.unreadable_after(self.span, self.written.iter().copied()).is_none()
        })
    }
}
