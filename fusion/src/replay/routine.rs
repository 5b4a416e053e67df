//! A run that can be made again: what is submitted, and what else happens with it.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use smallvec::SmallVec;

use super::recorded::Replay;
use crate::{
    error::Unreadable,
    jit,
    report::{
        list::{FusionReport, Tier},
        outcome::Outcome,
    },
    submission::{buffer::BufferInner, device::Device, entry::Entry, graph::Touch, identity::Span},
};

/// What is submitted, and what else happens with it.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) replay: Replay,
    pub(crate) outcome: Outcome,
    pub(crate) report: Option<Arc<FusionReport>>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) dispatches: u64,
    /// The count of changes of contents after which everything that is read was readable and every effect was in force; 0
    /// for none.
    pub(crate) settled: AtomicU64,
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
    pub(crate) fn apply(&self) {
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

impl Entry {
    /// What one of its writes does to contents: nothing, unless it certainly writes every byte.
    pub(crate) fn effect(&self, device: &Device, position: usize) -> Option<Effect> {
        let (touch, buffer) = (&self.touches[position], &self.buffers[position]);
        let certain = touch.writes && jit::overwrites(&self.submission, position, &device.limits);
        certain.then(|| Effect { buffer: Arc::downgrade(buffer), span: touch.span, inside: false })
    }

    /// What a run of it alone does to contents.
    pub(crate) fn effects(&self, device: &Device) -> Vec<Effect> {
        (0..self.touches.len()).filter_map(|position| self.effect(device, position)).collect()
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
    pub(crate) fn of(device: &Device, earlier: &[Entry], entry: &Entry) -> SmallVec<[OldRead; 4]> {
        let reads = entry.touches.iter().zip(&entry.buffers).filter(|(touch, _)| touch.reads);
        let read = |(touch, buffer): (&Touch, &Arc<BufferInner>)| OldRead {
            buffer: Arc::downgrade(buffer),
            span: touch.span,
            written: earlier.iter().flat_map(|entry| entry.overwritten(device, touch.memory)).collect(),
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
