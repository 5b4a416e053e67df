//! A run that can be made again on any buffers: what is submitted, and what else happens with it.

use std::{borrow::Borrow, sync::Arc};

use smallvec::SmallVec;

use super::{
    recorded::Replay,
    structure::{Places, place_of},
};
use crate::{
    error::Unreadable,
    jit::{self, BufferId, Numbers},
    report::{
        list::{Elsewhere, FusionReport, Reported, Said, Tier},
        outcome::Outcome,
    },
    submission::{
        buffer::BufferInner, device::Device, entry::Entry, graph::Graph, identity::Span, ready::Readies,
        signature::Buffers,
    },
};

/// What is submitted, and what else happens with it.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) replay: Replay,
    pub(crate) outcome: Outcome,
    pub(crate) dispatches: u64,
    effects: Vec<Effect>,
    /// What buffers have to hold, from a byte on.
    numbers: SmallVec<[(u32, u64, Numbers); 1]>,
    /// What is said of a run, about these memories, in the order of the buffers.
    report: Option<Arc<(FusionReport, Vec<BufferId>)>>,
}

/// Bytes that are written, or that a fused kernel keeps to itself.
#[derive(Debug)]
struct Effect {
    place: u32,
    span: Span,
    inside: bool,
}

impl Effect {
    /// Makes it so.
    fn apply(&self, buffer: &BufferInner) {
        if self.inside {
            buffer.lost(self.span, Unreadable::Internalized);
        } else {
            buffer.written(self.span);
        }
    }

    /// Whether it is known to be so.
    #[inline]
    fn is_so(&self, buffer: &BufferInner) -> bool {
        let contents = &buffer.shared.contents;
        if self.inside { contents.are_inside(self.span) } else { contents.are_good() }
    }
}

impl Routine {
    /// Takes note of a run: its dispatches, the writes of its submissions (by submission and argument, and whether the
    /// bytes stay inside), and its report. `None` if it must not be made again in this way.
    pub(crate) fn of(
        device: &Device,
        readies: &Readies,
        (entries, writes): (&[Entry], &[(usize, usize, bool)]),
        buffers: &Buffers,
        report: Option<&FusionReport>,
    ) -> Option<Routine> {
        let mut effects = Vec::with_capacity(writes.len());
        for &(entry, position, inside) in writes {
            let (submission, touch) = (&entries[entry].submission, &entries[entry].touches[position]);
            // A write that is not certain does nothing to contents.
            if inside || jit::overwrites(submission, position, &device.limits) {
                let place = place_of(buffers, &entries[entry].buffers[position]) as u32;
                effects.push(Effect { place, span: touch.span, inside });
            }
        }
        let mut numbers = SmallVec::new();
        for entry in entries {
            for (arg, buffer) in entry.submission.args.iter().zip(&entry.buffers) {
                let place = || place_of(buffers, buffer) as u32;
                numbers.extend(arg.numbers.clone().map(|known| (place(), arg.offset, known)));
            }
        }
        let writes_all_of = |place: u32| {
            let is_it = |effect: &Effect| effect.place == place && !effect.inside;
            let whole = buffers[place as usize].whole();
            effects.iter().any(|effect| is_it(effect) && effect.span.covers(whole))
        };
        let replay = Replay::of(device, readies, buffers, writes_all_of)?;
        let dispatches = report.map_or(1, |report| report.dispatches as u64);
        let outcome = report.map_or(Outcome::Unfused, |report| report.outcome.clone());
        let ids = || buffers.iter().map(|buffer| buffer.shared.id.planned()).collect();
        let report = report.map(|report| Arc::new((again(report), ids())));
        Some(Routine { replay, outcome, dispatches, effects, numbers, report })
    }

    /// Whether buffers hold the numbers that it was planned with.
    #[inline]
    pub(crate) fn finds_its_numbers<B: Borrow<Arc<BufferInner>>>(
        &self,
        buffers: &[B],
        graph: &Graph,
    ) -> bool {
        self.numbers.iter().all(|(place, start, numbers)| {
            let memory = &buffers[*place as usize].borrow().shared;
            graph.holds(memory, *start).is_some_and(|bytes| numbers.are_in(bytes))
        })
    }

    /// Whether it was planned with what buffers hold: then it is not for later, when they may hold something else.
    pub(crate) fn has_numbers(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// Whether a run of it is a list's.
    pub(crate) fn is_of_list(&self) -> bool {
        self.report.is_some()
    }

    /// Whether what happens to contents with a run is known to be so already, of these places.
    #[inline]
    pub(crate) fn is_in_force<B: Borrow<Arc<BufferInner>>>(&self, buffers: &[B], places: Places) -> bool {
        let is_so = |effect: &Effect| effect.is_so(buffers[effect.place as usize].borrow());
        self.effects.iter().all(|effect| !places.has(effect.place) || is_so(effect))
    }

    /// What happens to contents with a run, and what its report says.
    pub(crate) fn ran<B: Borrow<Arc<BufferInner>>>(&self, buffers: &[B]) -> Arc<Said> {
        self.effects.iter().for_each(|effect| effect.apply(buffers[effect.place as usize].borrow()));
        self.said(buffers)
    }

    /// What is said of a run.
    pub(crate) fn said<B: Borrow<Arc<BufferInner>>>(&self, buffers: &[B]) -> Arc<Said> {
        Arc::new(Said { outcome: self.outcome.clone(), report: self.report_on(buffers) })
    }

    fn report_on<B: Borrow<Arc<BufferInner>>>(&self, buffers: &[B]) -> Option<Reported> {
        let of = self.report.clone()?;
        let (mut is, mut named) = (SmallVec::with_capacity(buffers.len()), Vec::new());
        for (place, buffer) in buffers.iter().map(B::borrow).enumerate() {
            is.push(buffer.shared.id.planned());
            if let Some(name) = buffer.given_name() {
                named.push((place, name));
            }
        }
        Some(Reported::Of(Elsewhere { of, is, named }))
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
