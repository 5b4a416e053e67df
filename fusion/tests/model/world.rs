//! The state of the model, and what every call does to it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vkfuse::{CancelCause, Error, Event, FusionWrapper, Outcome, Queue, QueueOptions};

use super::{
    data::{Ground, Memory, Touch},
    kept::Kept,
    kernels::Call,
    support::Rig,
};

/// Buffers that are used by whoever holds the lock.
pub type Group = Arc<Mutex<Vec<Memory>>>;

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What has to be true of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// It is in a list that has not ended.
    Listed,
    /// It was in a list, and this became of it.
    Ended(Outcome),
    /// It was never listed.
    Direct,
    /// A host task that fails.
    Failing,
    /// Another thread may end the list it is in.
    Unknown,
}

pub struct Noted {
    pub event: Event,
    pub queue: usize,
    pub state: State,
}

pub struct Listed {
    pub event: usize,
    pub touches: Vec<Touch>,
    pub call: Call,
}

/// A queue as the model sees it.
pub struct Slot {
    pub queue: Queue,
    pub wrapper: FusionWrapper,
    pub list: Option<Vec<Listed>>,
    /// What became of the latest list.
    pub completed: Option<Outcome>,
    /// Whether a host task failed since the last wait.
    pub failed: bool,
}

impl Slot {
    pub fn new(queue: Queue) -> Slot {
        let wrapper = FusionWrapper::new(&queue).expect("a queue that can fuse");
        Slot { queue, wrapper, list: None, completed: None, failed: false }
    }
}

/// When an access observes what is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    Conflict,
    Overlap,
}

/// What one thread knows.
pub struct World<'a> {
    pub rig: &'a Rig,
    pub slots: Vec<Slot>,
    pub groups: Vec<Group>,
    /// What buffers of each group may be over, where the device is the test's own.
    pub grounds: Vec<Option<Arc<Ground>>>,
    pub events: Vec<Noted>,
    /// Lists that were kept.
    pub kept: Vec<Kept>,
    /// Nobody else uses the queues and buffers: every outcome is known.
    pub strict: bool,
    /// Nobody else uses the context: dispatches so far.
    pub dispatches: Option<u64>,
    /// Nobody else has queues of this context.
    pub alone: bool,
    /// Queues are used by other threads too.
    pub shared_queues: bool,
    /// Whether a host task of a queue that is gone failed since the last wait for everything.
    pub orphan_failed: bool,
    /// What went wrong inside host tasks.
    pub tasks: Arc<Mutex<Vec<String>>>,
    pub salt: u32,
}

pub type Checked = Result<(), String>;

impl World<'_> {
    pub fn new_queue(rig: &Rig, profiling: bool) -> Queue {
        let options = QueueOptions::new().enable_fusion(true).profiling(profiling);
        rig.context.queue(options).expect("a queue")
    }

    pub fn note(&mut self, event: Event, queue: usize, state: State) -> usize {
        let state = if self.strict { state } else { State::Unknown };
        self.events.push(Noted { event, queue, state });
        self.events.len() - 1
    }

    pub fn count(&mut self, by: usize) {
        if let Some(dispatches) = &mut self.dispatches {
            *dispatches += by as u64;
        }
    }

    /// A list ends without being completed.
    pub fn cancel(&mut self, queue: usize, by: CancelCause) {
        if let Some(list) = self.slots[queue].list.take() {
            self.count(list.len());
            self.ended(queue, &list, &Outcome::Cancelled { by });
        }
    }

    fn ended(&mut self, queue: usize, list: &[Listed], outcome: &Outcome) {
        for listed in list {
            self.events[listed.event].state = State::Ended(outcome.clone());
        }
        self.slots[queue].completed = Some(outcome.clone());
    }

    /// Ends every list that an access observes.
    pub fn observe(&mut self, touches: &[Touch], except: Option<usize>, rule: Rule, by: CancelCause) {
        for queue in 0..self.slots.len() {
            let observes = |listed: &Touch| {
                touches.iter().any(|touch| match rule {
                    Rule::Conflict => touch.conflicts(listed),
                    Rule::Overlap => touch.overlaps(listed),
                })
            };
            let list = self.slots[queue].list.iter().flatten();
            if except != Some(queue) && list.flat_map(|listed| &listed.touches).any(observes) {
                self.cancel(queue, by);
            }
        }
    }

    /// A list was completed; what it may have kept inside may be lost.
    pub fn completed(
        &mut self,
        memory: &[Memory],
        queue: usize,
        event: &Event,
        (force, background): (bool, bool),
    ) -> Checked {
        let Some(list) = self.slots[queue].list.take() else { return Ok(()) };
        let (outcome, n) = (event.outcome(), list.len());
        let report = event.report().ok_or("a list that ended has no report")?;
        let fits = match &outcome {
            Outcome::Fused => report.dispatches == 1 && n > 1,
            Outcome::Split => report.dispatches > 1 && report.dispatches < n && !force,
            Outcome::Refused { .. } => report.dispatches == n && (!force || n < 2),
            Outcome::Building => report.dispatches == n && background,
            _ => false,
        };
        if !fits || report.submissions != n {
            return Err(format!(
                "{n} submissions were completed as {outcome}, {} dispatches",
                report.dispatches
            ));
        }
        self.count(report.dispatches);
        for touch in list.iter().flat_map(|listed| &listed.touches).filter(|touch| touch.writes) {
            let mut all = list.iter().flat_map(|listed| &listed.touches);
            if all.any(|other| other.id == touch.id && other.promoted)
                && memory[touch.buffer].real.id() == touch.id
            {
                memory[touch.buffer].mark(&touch.range, true);
            }
        }
        self.ended(queue, &list, &outcome);
        Ok(())
    }

    /// `force_fusion` could not be met: the list ran unfused.
    pub fn refused(&mut self, queue: usize, event: &Event) -> Checked {
        let Some(list) = self.slots[queue].list.take() else { return Ok(()) };
        let outcome = event.outcome();
        if !matches!(outcome, Outcome::Refused { .. }) {
            return Err(format!("forced fusion failed and the outcome is {outcome}"));
        }
        self.count(list.len());
        self.ended(queue, &list, &outcome);
        Ok(())
    }

    /// A submission was taken.
    pub fn submitted(&mut self, memory: &[Memory], queue: usize, call: &Call, event: Event) {
        let call = &call.as_submitted(memory);
        let touches = call.touches(memory);
        if self.strict && self.slots[queue].list.is_none() {
            for (k, touch) in touches.iter().enumerate().filter(|(_, touch)| touch.reads) {
                // It was not refused, so everything is there that it reads; of the rest of its range nothing is known.
                memory[touch.buffer].mark(&call.reads(k), false);
            }
        }
        call.apply(memory);
        if !self.strict {
            for touch in touches.iter().filter(|touch| touch.writes && touch.promoted) {
                memory[touch.buffer].mark(&touch.range, true);
            }
        }
        let listed = self.slots[queue].list.is_some();
        let state = if listed { State::Listed } else { State::Direct };
        let event = self.note(event, queue, state);
        match &mut self.slots[queue].list {
            Some(list) => list.push(Listed { event, touches, call: call.clone() }),
            None => self.count(1),
        }
    }

    /// Compares what can be asked without changing anything.
    pub fn check(&self) -> Checked {
        if let Some(error) = lock(&self.tasks).first() {
            return Err(format!("in a host task: {error}"));
        }
        if !self.strict {
            return Ok(());
        }
        for (number, slot) in self.slots.iter().enumerate() {
            let recording = slot.queue.is_in_fusion_mode();
            if recording != slot.list.is_some() {
                return Err(format!("queue {number}: fusion mode is {recording}"));
            }
        }
        for (number, noted) in self.events.iter().enumerate() {
            let (outcome, wanted) = (noted.event.outcome(), &noted.state);
            let fits = match wanted {
                State::Listed => outcome == Outcome::Pending && !noted.event.is_complete(),
                State::Ended(wanted) => outcome == *wanted,
                State::Direct | State::Failing => outcome == Outcome::Unfused,
                State::Unknown => true,
            };
            if !fits {
                return Err(format!("event {number} is {outcome} and should be {wanted:?}"));
            }
        }
        let real = self.rig.context.stats().dispatches;
        match self.dispatches {
            Some(wanted) if wanted != real => Err(format!("{real} dispatches ran and should be {wanted}")),
            _ => Ok(()),
        }
    }
}

/// Whether the work failed because there was nothing to read.
pub fn is_unreadable(error: &Error) -> bool {
    matches!(
        error,
        Error::Buffer { problem: vkfuse::BufferError::Unreadable(_), .. }
            | Error::Submit { problem: vkfuse::SubmitError::Unreadable { .. }, .. }
    )
}
