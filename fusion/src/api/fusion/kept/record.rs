//! Kept lists in command buffers of the program's own.
//!
//! The program submits, and so it orders: nothing that it runs is in the graph. What happens to contents happens when the
//! list is recorded.

use std::sync::{Arc, atomic::Ordering};

use ash::vk;
use smallvec::SmallVec;

use super::{FusedList, Kept};
use crate::{
    error::{Error, FusionError},
    replay::{recorded::TakeState, routine::Routine},
    report::{
        list::{FusionReport, Reported, Said},
        outcome::{CancelCause, Outcome},
    },
    runtime::{
        again::Run,
        check::readable,
        context::ContextInner,
        end::{End, KeptRun, Told},
        event::EventInner,
        prepare::Goal,
        queues::StateGuard,
        schedule::{List, Mode, Rule, Schedule},
    },
    submission::{buffer::BufferInner, entry::Entry, graph::Graph},
    vk::{CallerWork, Point, RawCommandBuffer, Written},
};

/// What a list left in a command buffer. It keeps everything alive that the commands use, except for memory of the program's
/// own: see [`RawCommandBuffer::recording`] for how long it has to live.
#[derive(Debug)]
#[must_use = "the commands may only be executed while this lives"]
pub struct Recorded {
    _written: Written,
    dispatches: usize,
    waits: SmallVec<[(vk::Semaphore, u64); 2]>,
    said: Arc<Said>,
}

impl Recorded {
    /// Timeline semaphores of the context, with values: work of this crate on the list's buffers that was not seen complete
    /// when the list was recorded. The submission that executes the list waits for them, unless it is made after that work on the
    /// same Vulkan queue and starts with a full barrier. Often there are none: work that was waited for on the host is complete.
    #[must_use]
    pub fn waits(&self) -> &[(vk::Semaphore, u64)] {
        &self.waits
    }

    /// How many dispatches were recorded.
    #[must_use]
    pub fn dispatches(&self) -> usize {
        self.dispatches
    }

    /// What became of the list.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.said.outcome
    }

    /// What happened to the list.
    #[must_use]
    pub fn report(&self) -> Option<Arc<FusionReport>> {
        self.said.report.as_ref().map(Reported::report)
    }
}

impl FusedList {
    /// Records the list into a command buffer of the program's, instead of running it: the program submits it, as often as
    /// it likes. Code that is not there yet is built now; nothing is submitted but the zeros of new buffers.
    ///
    /// The list's buffers count as written from now on, and those that stay inside a fused kernel as unreadable, as after a
    /// run. On other buffers, rebind it first ([`FusedList::rebind`]), which plans nothing.
    ///
    /// What a buffer holds that was handed over as constant ([`Accessor::constant`]) counts as numbers here, too: nothing may
    /// write it before the commands are executed for the last time. Of no other buffer do contents count.
    ///
    /// [`Accessor::constant`]: crate::Accessor::constant
    ///
    /// # Errors
    ///
    /// A null handle; a buffer that is read holds nothing readable; [`FusionError::NotRecordable`] for a list whose kernels
    /// follow device addresses, or whose first run is to be compared with the unfused one and is yet to come; code that could not
    /// be built; the device. Nothing was recorded then.
    pub fn record(&self, into: &RawCommandBuffer) -> Result<Recorded, Error> {
        self.inner.queue.inner.context.record_kept(&self.inner, into)
    }
}

impl ContextInner {
    fn record_kept(self: &Arc<Self>, kept: &Kept, into: &RawCommandBuffer) -> Result<Recorded, Error> {
        if let Some(KeptRun { routine, told, flow: _ }) = self.routine_of(kept) {
            let (mut schedule, _direct) = self.locked_for(kept)?;
            let Schedule { graph, key, .. } = &mut *schedule;
            let take = kept.take.state(key);
            let in_force = kept.take.is_in_force(self.contents.load(Ordering::Acquire));
            if in_force || (kept.told().eq(told.iter().copied()) && kept.readable()) {
                let work = match &take.for_caller {
                    Some(work) => work.clone(),
                    None => {
                        let work = routine.replay.for_caller(self, graph, (&kept.buffers, take))?;
                        take.for_caller.insert(work).clone()
                    }
                };
                let (buffers, of) = (&kept.buffers, Some(&kept.take));
                let run = Run { routine, views: &[], buffers, pushes: None, take: of };
                return self.write_down(graph, run, (&work, take), into);
            }
        }
        self.record_first(kept, into)
    }

    /// How to run the list again, if that is known.
    fn routine_of<'a>(&self, kept: &'a Kept) -> Option<&'a KeptRun> {
        kept.list.routine.get().filter(|run| !self.judged.any_dropped() && !run.routine.has_numbers())
    }

    /// The schedule, with no list and no host in the way of this one; and the queue, where that has its memory: no list begins on it
    /// meanwhile.
    fn locked_for<'a>(
        &'a self,
        kept: &'a Kept,
    ) -> Result<(std::sync::MutexGuard<'a, Schedule>, Option<StateGuard<'a>>), Error> {
        let id = kept.queue.inner.id;
        let mut schedule = self.lock();
        if kept.queue.inner.is_direct() && schedule.is_free(id, kept.buffers.iter(), || kept.touches()) {
            let state = kept.queue.inner.state();
            if matches!(state.mode, Mode::Direct) {
                return Ok((schedule, Some(state)));
            }
        }
        drop(schedule);
        let (touches, buffers) = (kept.touches(), kept.buffers.iter());
        Ok((self.observe(&touches, buffers, None, Rule::Conflict, CancelCause::Recorded)?, None))
    }

    /// Plans and builds the list, records it, and remembers how where that may be done again.
    fn record_first(self: &Arc<Self>, kept: &Kept, into: &RawCommandBuffer) -> Result<Recorded, Error> {
        // Before anything is planned: what changes later makes it another list.
        let told: Told = kept.told().collect();
        let mut entries = kept.entries();
        let mut list = List::new(EventInner::listed(&kept.queue.inner.origin));
        let (schedule, _) = self.locked_for(kept)?;
        // What other buffers hold when the commands are executed no one knows.
        entries.iter_mut().for_each(|entry| entry.learn_declared(&schedule.graph));
        drop(schedule);
        for entry in &entries {
            readable(entry, Some(&list))?;
            list.entries.push(entry.clone());
        }
        let prepared = self.prepare(&list, &End::Complete(kept.properties.clone()), Goal::Recorded)?;
        if prepared.verify.is_some() {
            return Err(not_recordable(
                "its first run is to be compared with the unfused one; run it once, and record it then",
            ));
        }
        if let Some(error) = prepared.forced {
            return Err(error);
        }
        let (mut report, planned) = (prepared.report, prepared.planned);
        report.names = list.names();
        report.kernels = list.kernels();
        let writes = list.kept_inside(&prepared.pieces, &report.plan);
        let (mut schedule, _direct) = self.locked_for(kept)?;
        let readies = self.ready(&mut schedule, prepared.pieces, kept.buffers.iter(), &entries)?;
        let ran = (&*entries, &*writes);
        let routine = Routine::of(self, &readies, ran, &kept.buffers, Some(&report));
        let Some(routine) = routine else {
            return Err(not_recordable("a kernel of it follows device addresses, or has images"));
        };
        // Effects are of this run, and push constants those that were planned with; a take goes with what is kept.
        let (mut once, buffers) = (TakeState::default(), &kept.buffers);
        let work = routine.replay.for_caller(self, &mut schedule.graph, (buffers, &once))?;
        let points = entries.iter().flat_map(|entry| entry.after.points.iter().copied());
        let points: SmallVec<[Point; 2]> = points.collect();
        let run = Run { routine: &routine, views: &[], buffers, pushes: None, take: None };
        let mut recorded = self.write_down(&mut schedule.graph, run, (&work, &mut once), into)?;
        recorded.waits.extend(points.iter().map(|point| self.gpu.semaphore(*point)));
        // A run might plan with what buffers hold, where a kernel depends on it.
        let depends = |entry: &Entry| {
            let mut places = 0..entry.submission.args.len();
            places.any(|at| entry.submission.kernel.number_places(at).next().is_some())
        };
        if let Some(flow) = planned
            && points.is_empty()
            && self.programs.keeps()
            && kept.pushes.is_empty()
            && !entries.iter().any(depends)
        {
            // Another thread may have been faster.
            let _ = kept.list.routine.set(KeptRun { routine, told, flow });
        }
        Ok(recorded)
    }

    fn write_down(
        &self,
        graph: &mut Graph,
        run: Run<'_, Arc<BufferInner>>,
        (work, known): (&Arc<CallerWork>, &mut TakeState),
        into: &RawCommandBuffer,
    ) -> Result<Recorded, Error> {
        self.refresh(graph);
        let mut points: SmallVec<[Point; 2]> = SmallVec::new();
        for touch in run.routine.replay.touches_on(run.buffers) {
            for point in graph.conflicts(&touch) {
                match points.iter_mut().find(|known| known.queue == point.queue) {
                    Some(known) => known.value = known.value.max(point.value),
                    None => points.push(point),
                }
            }
        }
        let written = self.gpu.record_for_caller(work, into)?;
        let said = self.come_into_force(&run, known).clone();
        let waits = points.iter().map(|point| self.gpu.semaphore(*point)).collect();
        Ok(Recorded { _written: written, dispatches: work.dispatches(), waits, said })
    }
}

fn not_recordable(problem: &'static str) -> Error {
    FusionError::NotRecordable { problem }.into()
}
