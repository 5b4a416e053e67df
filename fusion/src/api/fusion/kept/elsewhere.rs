//! Kept lists on other buffers, once: no list is made for that, and of the buffers only those are looked at that are other ones.

use std::sync::{Arc, atomic::Ordering::Acquire};

use super::{Kept, Rebind};
use crate::{
    error::Error,
    replay::{recorded::SameReads, structure::Places},
    runtime::{
        again,
        context::ContextInner,
        end::KeptRun,
        event::{Event, EventInner, Settled},
        rebind::Changes,
        schedule::{Mode, Schedule},
    },
    submission::{graph::Touches, identity::QueueId},
};

/// What is known of the buffers of a kept list, for runs with others in place of some.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rest {
    /// Some of them, as bits.
    places: u64,
    /// After this many changes of contents those were as a run has to find them, and as it leaves them.
    contents: u64,
    /// A queue that owned their memory when this many memories had been taken from their owners.
    owned: Option<(QueueId, u64)>,
    /// What the latest run read of those.
    reads: Option<SameReads>,
}

impl Rebind<'_> {
    /// Runs the list with these changes once, on the queue it was recorded on: as [`finish`](Rebind::finish) and
    /// [`run`](super::FusedList::run) do, but no list is made that could be run again, which is most of what those cost.
    ///
    /// # Errors
    ///
    /// Those of both.
    pub fn run(self) -> Result<Event, Error> {
        let kept: &Kept = &self.list.inner;
        match kept.queue.inner.context.run_elsewhere(kept, &self.changes) {
            Some(event) => Ok(event),
            None => self.finish()?.run(),
        }
    }
}

impl ContextInner {
    /// Runs a kept list with changes, as it was run before. `None` where that is not known, or something is in the way.
    fn run_elsewhere<'a>(&self, kept: &'a Kept, changes: &Changes<'a>) -> Option<Event> {
        let (with, changed) = kept.list.shape.exchange(&kept.buffers, changes)?;
        let other = match &*kept.pushed(changes).ok()? {
            [] => None,
            pushed => Some(kept.run_as(pushed)?),
        };
        let list = other.as_ref().map_or(&kept.list, |(list, _)| list);
        let KeptRun { routine, told, flow: _ } = list.routine.get()?;
        if self.judged.any_dropped() {
            return None;
        }
        let origin = &kept.queue.inner.origin;
        self.room(origin);
        let passed = other.as_ref().and_then(|(list, others)| list.passes(others));
        let mut schedule = self.lock();
        // If it enters fusion mode now, that is after this.
        if !origin.is_direct() {
            return None;
        }
        let (before, owns) = (self.contents.load(Acquire), Some((origin.id, schedule.revoked)));
        let is_same = Arc::ptr_eq(list, &kept.list);
        let mut rest = if is_same { *kept.rest.get(&mut schedule.key) } else { Rest::default() };
        let known = if rest.contents == before { rest.places } else { 0 };
        let asked = Places(!known | changed);
        let is_owned = rest.owned == owns;
        let taken = if is_owned { asked } else { Places::ALL };
        let of = |places: Places| places.of(with.len()).map(|place| (place, with[place]));
        let touches = || -> Touches {
            let all = 0..list.structure.len();
            all.flat_map(|at| list.structure.touches(at, |place| &**with[place])).collect()
        };
        if !schedule.is_free(origin.id, of(taken).map(|(_, buffer)| buffer), touches)
            || !routine.finds_its_numbers(&with, &schedule.graph)
            || !of(asked).all(|(place, buffer)| buffer.shared.tellings() == told[place])
            || !list.structure.all_readable(&with, asked)
        {
            return None;
        }
        // What a run changes of contents, a list that begins meanwhile must not have looked at before: it begins afterwards.
        let in_force = routine.is_in_force(&with, asked);
        let state = (!in_force).then(|| origin.state());
        if state.as_ref().is_some_and(|state| !matches!(state.mode, Mode::Direct)) {
            return None;
        }
        let Schedule { graph, key, .. } = &mut *schedule;
        let pushes = if other.is_some() { passed.as_ref() } else { kept.take.state(key).own.as_ref() };
        let profile = origin.profiling || self.profiling;
        let on = (&with[..], pushes);
        let reads = is_same.then_some((&mut rest.reads, changed));
        let submitted = routine.replay.play_once(self, graph, origin.lane, on, reads, profile).ok()?;
        origin.kept.get(key).made_again(routine, submitted.point);
        let said = if in_force { routine.said(&with) } else { routine.ran(&with) };
        if is_same {
            let new = !changed & !if is_owned { known } else { 0 };
            let is_owned = of(Places(new)).all(|(_, buffer)| buffer.shared.owner.is(origin.id));
            let places = if in_force { known | !changed } else { 0 };
            let owned = owns.filter(|_| is_owned);
            *kept.rest.get(key) = Rest { places, contents: before, owned, reads: rest.reads };
        }
        drop((state, schedule));
        again::tell(origin, routine);
        Some(EventInner::at_once(origin, Settled::of_run(submitted, said)))
    }
}
