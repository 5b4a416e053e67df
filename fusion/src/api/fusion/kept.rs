//! Lists that are kept, to be run again without being recorded again.

use std::{
    ops::{Deref, Range},
    sync::{Arc, Mutex, OnceLock, PoisonError, atomic::Ordering},
};

use bytemuck::{NoUninit, Pod};
use smallvec::SmallVec;

use super::FusionWrapper;
use crate::{
    api::{buffer::Buffer, queue::Queue},
    code::build::builder,
    error::{Error, FusionError},
    options::fusion::FusionProperties,
    replay::{
        recorded::Take,
        structure::{Places, Structure},
    },
    report::{
        list::Said,
        outcome::{CancelCause, Outcome},
    },
    runtime::{
        again::{self, Run},
        check::readable,
        context::ContextInner,
        end::{End, Ended, KeptRoutine, KeptRun, Remember},
        event::{Event, EventInner},
        queues::Origin,
        rebind::{Changes, Shape, checked_push},
        schedule::{List, Mode, Rule, Schedule},
        warm::{Runs, Warm},
    },
    submission::{
        entry::Entry,
        graph::{Graph, Touches},
        signature::Buffers,
    },
    vk::{Pushes, Under},
};

mod elsewhere;
mod record;

use elsewhere::Rest;
pub use record::Recorded;

/// A fusion list that was completed and kept: it can be run again without being recorded again. A handle; clones are the
/// same list. It keeps its buffers and its queue alive: dropping all other handles of the queue does not end fusion mode.
///
/// The promotions are the list's: those that buffers and accessors asked for when it was recorded. A buffer that asks for
/// another one later is treated in this list as before.
///
/// ```no_run
/// # use vkfuse::{Context, Error, FusionProperties, FusionWrapper, QueueOptions};
/// # fn main() -> Result<(), Error> {
/// # let context = Context::new()?;
/// # let queue = context.queue(QueueOptions::new().enable_fusion(true))?;
/// # let (scale, add) = (context.load_spirv("scale.spv")?, context.load_spirv("add.spv")?);
/// # let (x, y, out) = (context.buffer::<f32>(1000)?, context.buffer::<f32>(1000)?, context.buffer::<f32>(1000)?);
/// # let scaled = context.scratch::<f32>(1000)?;
/// let fusion = FusionWrapper::new(&queue)?;
/// fusion.start_fusion()?;
/// queue.submit(|h| {
///     h.arg(0, x.read()).arg(1, scaled.write()).push(&2.0f32).dispatch_items(&scale, [1000, 1, 1]);
/// })?;
/// queue.submit(|h| {
///     h.arg(0, scaled.read()).arg(1, y.read()).arg(2, out.write()).dispatch_items(&add, [1000, 1, 1]);
/// })?;
/// let (first, list) = fusion.complete_and_keep(&FusionProperties::default())?;
///
/// list.run()?; // the same again
/// let other = context.buffer::<f32>(1000)?;
/// let halves = list.rebind().buffer(&x, &other).push(0, &0.5f32).finish()?;
/// for _ in 0..100 {
///     halves.run()?;
/// }
/// # first.wait()
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FusedList {
    pub(crate) inner: Arc<Kept>,
}

#[derive(Debug)]
pub(crate) struct Kept {
    family: Arc<Family>,
    list: Arc<KeptList>,
    buffers: Buffers,
    /// The push constants of submissions that have others than the list.
    pushes: OtherPushes,
    /// What is known of its runs.
    take: Take,
    /// Its runs without the schedule.
    warm: Arc<Warm>,
    /// What the events of its latest runs share.
    of_runs: Under<Option<Arc<EventInner>>>,
    /// What is known of its buffers, for runs with others in place of some.
    rest: Under<Rest>,
}

/// Push constants, as kernels take them, by place.
type OtherPushes = SmallVec<[(usize, SmallVec<[u8; 32]>); 1]>;

/// What lists share that were rebound from one another.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) queue: Queue,
    pub(crate) properties: FusionProperties,
    /// The latest that had to be planned by itself, its buffers having the same numbers: one that is rebound now may differ from it in
    /// what a plan passes on.
    latest: Mutex<Option<Arc<KeptList>>>,
}

/// What lists share that differ in buffers, and in push constants that the plan passes on.
#[derive(Debug)]
struct KeptList {
    structure: Structure,
    shape: Shape,
    /// How to run it again, once that was found out.
    routine: KeptRoutine,
}

impl KeptList {
    /// The push constants of a submission, as its kernel takes them, where some have others than this list.
    fn push<'a>(&'a self, others: &'a OtherPushes, at: usize) -> &'a [u8] {
        let other = others.iter().find(|(place, _)| *place == at);
        other.map_or_else(|| self.structure.push(at), |(_, push)| push)
    }

    /// What its dispatches are passed, where some have others than this list.
    fn passes(&self, others: &OtherPushes) -> Option<Pushes> {
        let run = self.routine.get().filter(|_| !others.is_empty())?;
        Some(run.flow.pushes(|at| self.push(others, at)).collect())
    }
}

impl Deref for Kept {
    type Target = Family;

    fn deref(&self) -> &Family {
        &self.family
    }
}

impl Kept {
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> =
            (0..self.list.structure.len()).map(|at| self.list.structure.entry(at, &self.buffers)).collect();
        for (at, push) in &self.pushes {
            // It is not what was asked for any more.
            entries[*at].given = None;
            entries[*at].submission.push = SmallVec::from_slice(push);
        }
        entries
    }

    /// The push constants that changes give to submissions; the last of each.
    fn pushed<'a>(&self, changes: &'a Changes<'_>) -> Result<Vec<(usize, &'a [u8])>, Error> {
        let (context, structure) = (&self.queue.inner.context, &self.list.structure);
        let mut pushed: Vec<(usize, &[u8])> = Vec::new();
        for (submission, bytes) in &changes.pushes {
            let at = (*submission, structure.len());
            let push = checked_push(context, structure.unbound(*submission), at, bytes)?;
            pushed.retain(|(place, _)| place != submission);
            pushed.push((*submission, push));
        }
        Ok(pushed)
    }

    /// A list that is run in the same way with these push constants in place of its own, and which of that one's they are in
    /// place of.
    fn run_as(&self, pushed: &[(usize, &[u8])]) -> Option<(Arc<KeptList>, OtherPushes)> {
        // It is one already.
        if pushed.is_empty() {
            return Some((self.list.clone(), self.pushes.clone()));
        }
        let now = |at: usize| {
            let other = pushed.iter().find(|(place, _)| *place == at);
            other.map_or_else(|| self.list.push(&self.pushes, at), |(_, push)| push)
        };
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        [Some(self.list.clone()), latest].into_iter().flatten().find_map(|list| {
            let differs = |at: &usize| list.structure.push(*at) != now(*at);
            let others = (0..list.structure.len()).filter(differs);
            let others: OtherPushes = others.map(|at| (at, SmallVec::from_slice(now(at)))).collect();
            let holds = || {
                let run = list.routine.get().filter(|run| !run.routine.has_numbers());
                run.is_some_and(|run| {
                    run.flow.holds_with(|at| list.structure.push(at), |at| list.push(&others, at))
                })
            };
            let is_run_as = others.is_empty() || holds();
            is_run_as.then(|| (list.clone(), others))
        })
    }

    fn touches(&self) -> Touches {
        let buffer = |place: usize| &*self.buffers[place];
        (0..self.list.structure.len()).flat_map(|at| self.list.structure.touches(at, buffer)).collect()
    }

    fn readable(&self) -> bool {
        self.list.structure.all_readable(&self.buffers, Places::ALL)
    }

    /// How often someone was given an address in each buffer.
    fn told(&self) -> impl Iterator<Item = u64> + '_ {
        self.buffers.iter().map(|buffer| buffer.shared.tellings())
    }
}

impl Drop for Kept {
    /// What its runs use goes with it, and not when the schedule is next asked for.
    fn drop(&mut self) {
        if self.warm.is_warm() {
            self.family.queue.inner.context.tell_of_runs();
        }
    }
}

impl FusionWrapper {
    /// As [`complete_fusion`](FusionWrapper::complete_fusion), and keeps the list, to be run again.
    ///
    /// # Errors
    ///
    /// As `complete_fusion`; and [`FusionError::NotKept`] if something else had ended the list before.
    pub fn complete_and_keep(&self, properties: &FusionProperties) -> Result<(Event, FusedList), Error> {
        let queue = self.queue();
        self.ended();
        match queue.inner.context.end(&queue.inner.queue, &End::Keep(properties.clone()), None)? {
            Ended::Now(list) => {
                let kept = FusedList::new(queue, properties.clone(), &list.entries);
                Ok((Event::of_all(list.completion.clone()), kept))
            }
            Ended::Before(completion) | Ended::Known(completion) => {
                let outcome =
                    completion.settled().map_or(Outcome::Pending, |settled| settled.said.outcome.clone());
                Err(FusionError::NotKept { outcome }.into())
            }
            Ended::Never => Err(FusionError::NotFusing.into()),
        }
    }
}

impl FusedList {
    pub(crate) fn new(queue: &Queue, properties: FusionProperties, entries: &[Entry]) -> FusedList {
        let (shape, buffers) = Shape::of(entries);
        // What its buffers hold when it is run is asked then.
        let entries: Vec<Entry> = entries.iter().cloned().map(Entry::without_numbers).collect();
        let structure = Structure::of(&queue.inner.context, &entries, &buffers);
        let list = Arc::new(KeptList { structure, shape, routine: OnceLock::new() });
        let family = Family { queue: queue.clone(), properties, latest: Mutex::default() };
        FusedList::on(Arc::new(family), (list, OtherPushes::new()), buffers)
    }

    fn on(family: Arc<Family>, (list, pushes): (Arc<KeptList>, OtherPushes), buffers: Buffers) -> FusedList {
        let key = family.queue.inner.context.key;
        let take = Take::passing(key, &buffers, list.passes(&pushes));
        let (of_runs, rest) = (Under::new(key, None), Under::new(key, Rest::default()));
        let warm = Arc::default();
        FusedList { inner: Arc::new(Kept { family, list, buffers, pushes, take, warm, of_runs, rest }) }
    }

    /// How many submissions it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.list.structure.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The queue it was recorded on.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.inner.queue
    }

    /// Runs it again, on the queue it was recorded on. The event stands for the whole list; its outcome and report are
    /// those of [`complete_fusion`](FusionWrapper::complete_fusion) on the same list.
    ///
    /// While that queue is in fusion mode it becomes an element of the list being recorded, as by
    /// [`run_on`](FusedList::run_on).
    ///
    /// # Errors
    ///
    /// A buffer that it reads holds nothing readable; and those of `complete_fusion`.
    pub fn run(&self) -> Result<Event, Error> {
        self.inner.queue.inner.context.run_kept(&self.inner.queue, &self.inner)
    }

    /// Runs it on a queue of the same context. In fusion mode its submissions join the list being recorded, under that
    /// list's properties, and may fuse with what comes before and after them.
    ///
    /// # Errors
    ///
    /// A queue of another context, or one made without fusion; and those of [`run`](FusedList::run).
    pub fn run_on(&self, queue: &Queue) -> Result<Event, Error> {
        let context = &self.inner.queue.inner.context;
        if !Arc::ptr_eq(&queue.inner.context, context) {
            return Err(FusionError::ForeignQueue.into());
        }
        if !queue.fusion_enabled() {
            return Err(FusionError::NotEnabled.into());
        }
        context.run_kept(queue, &self.inner)
    }

    /// Starts a list that differs from this one in buffers or scalars, to be kept ([`Rebind::finish`]) or run once ([`Rebind::run`]).
    /// This one stays as it is.
    ///
    /// Other buffers are not planned for again, and other scalars only where indices, conditions or numbers of rounds are made of
    /// them, or where others than before are equal.
    #[must_use]
    pub fn rebind(&self) -> Rebind<'_> {
        Rebind { list: self, changes: Changes::default() }
    }
}

/// A list that is to differ from another in buffers or scalars: see [`FusedList::rebind`]. It borrows the list and the buffers
/// until it is finished.
#[derive(Debug, Clone)]
pub struct Rebind<'a> {
    list: &'a FusedList,
    changes: Changes<'a>,
}

impl<'a> Rebind<'a> {
    /// Wherever the list has the one buffer, takes the other.
    ///
    /// Both must have the same number of bytes, the new one must ask for the promotion that the old one asked for when the
    /// list was recorded, and buffers that were disjoint must stay so: what was shown about the list would not hold
    /// otherwise, and [`finish`](Rebind::finish) refuses.
    #[must_use]
    pub fn buffer<T: Pod>(mut self, old: &'a Buffer<T>, new: &'a Buffer<T>) -> Rebind<'a> {
        self.changes.buffers.push((&old.inner, &new.inner));
        self
    }

    /// Gives a submission (by its place in the list, from 0) other push constants: one value that is the whole block.
    #[must_use]
    pub fn push<P: NoUninit>(self, submission: usize, block: &P) -> Rebind<'a> {
        self.push_bytes(submission, bytemuck::bytes_of(block))
    }

    /// Gives a submission (by its place in the list, from 0) other push constants, as bytes.
    #[must_use]
    pub fn push_bytes(mut self, submission: usize, bytes: &[u8]) -> Rebind<'a> {
        self.changes.pushes.push((submission, SmallVec::from_slice(bytes)));
        self
    }

    /// The list with these changes. Nothing runs yet.
    ///
    /// # Errors
    ///
    /// [`FusionError::Rebind`]: a buffer that the list does not have, or whose replacement has another shape; a submission
    /// that it does not have; not exactly as many bytes as the block has.
    pub fn finish(self) -> Result<FusedList, Error> {
        let kept = &*self.list.inner;
        let Kept { family, list, buffers, .. } = kept;
        let simple = list.shape.exchange(buffers, &self.changes);
        let is_simple = simple.is_some();
        if let Some((with, _)) = simple
            && let Some(as_list) = kept.run_as(&kept.pushed(&self.changes)?)
        {
            return Ok(FusedList::on(family.clone(), as_list, with.into_iter().cloned().collect()));
        }
        let mut entries = kept.entries();
        list.shape.apply(&kept.queue.inner.context, buffers, &mut entries, &self.changes)?;
        let mut planned = FusedList::new(&kept.queue, kept.properties.clone(), &entries);
        if is_simple && let Some(kept) = Arc::get_mut(&mut planned.inner) {
            // Its buffers have the same numbers.
            kept.family = family.clone();
            *family.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept.list.clone());
        }
        Ok(planned)
    }
}

impl ContextInner {
    /// Runs a kept list on a queue, or lists it there.
    fn run_kept(self: &Arc<Self>, queue: &Queue, kept: &Kept) -> Result<Event, Error> {
        let (origin, id) = (&queue.inner.origin, queue.inner.id);
        self.room(origin);
        if let Some(event) = self.run_kept_again(origin, kept) {
            return Ok(event);
        }
        // Before anything is planned: what changes later makes it another list.
        let told = kept.told().collect();
        let (entries, touches) = (kept.entries(), kept.touches());
        let list = loop {
            let (buffers, cause) = (kept.buffers.iter(), CancelCause::OtherQueue);
            let schedule = self.observe(&touches, buffers, Some(id), Rule::Conflict, cause)?;
            let (graph, mut state) = (&schedule.graph, origin.state());
            match &mut state.mode {
                Mode::Ending(_, thread) => {
                    let thread = *thread;
                    drop(state);
                    drop(self.wait_for_list(schedule, thread)?);
                }
                Mode::Recording(list) => {
                    list.unfold(graph);
                    let before = list.entries.len();
                    list.extend(&entries, graph)?;
                    return Ok(Event::of_some(list.completion.clone(), before..list.entries.len()));
                }
                Mode::Direct => {
                    let mut list = List::new(EventInner::listed(origin));
                    list.extend(&entries, graph)?;
                    let list = Arc::new(list);
                    state.mode = Mode::Ending(list.clone(), builder());
                    break list;
                }
            }
        };
        let end = End::Complete(kept.properties.clone());
        let remember = Remember::Kept(&kept.list.routine, &kept.buffers, told);
        self.run_out(origin, &list, &end, Some(remember))?;
        Ok(Event::of_all(list.completion.clone()))
    }

    /// Runs a kept list as it was run before. `None` where that is not known, or something is in the way.
    fn run_kept_again(&self, origin: &Arc<Origin>, kept: &Kept) -> Option<Event> {
        let KeptRun { routine, told, flow: _ } = kept.list.routine.get()?;
        let take = &kept.take;
        let is_in_force = || take.is_in_force(self.contents.load(Ordering::Acquire));
        if self.judged.any_dropped() {
            return None;
        }
        // If it enters fusion mode now, that is after this.
        if let Some(event) = kept.warm.run(self, origin, || origin.is_direct() && is_in_force()) {
            again::tell(origin, routine);
            return Some(event);
        }
        let mut schedule = self.lock_as_it_is();
        if !origin.is_direct() {
            return None;
        }
        let in_force = is_in_force();
        let repeats = in_force && !kept.warm.is_warm() && schedule.repeats(origin, take, routine);
        if !repeats {
            schedule.cool();
        }
        let of = (origin.id, take);
        if !schedule.is_still_free(of, kept.buffers.iter(), || kept.touches()) {
            return None;
        }
        if !routine.finds_its_numbers(&kept.buffers, &schedule.graph) {
            return None;
        }
        let buffers = &kept.buffers;
        let as_before = || kept.told().eq(told.iter().copied()) && kept.readable();
        // What a run changes of contents, a list that begins meanwhile must not have looked at before: it begins afterwards.
        let state = (!in_force).then(|| origin.state());
        if state.as_ref().is_some_and(|state| !matches!(state.mode, Mode::Direct))
            || !(in_force || as_before())
        {
            return None;
        }
        let run = Run { routine, views: &[], buffers, pushes: None, take: Some(take) };
        let Schedule { graph, key, .. } = &mut *schedule;
        let (submitted, said) = self.perform(graph, origin, &run, take.state(key)).ok()?;
        let said: *const Said = &**said;
        let of_runs = match kept.of_runs.get(key) {
            Some(known) if known.is_of_runs(origin, said) => known.clone(),
            _ => {
                let said = take.state(key).said.clone()?;
                kept.of_runs.get(key).insert(EventInner::of_runs(origin, said)).clone()
            }
        };
        origin.kept.get(key).made_again(routine, submitted.point);
        if repeats && submitted.profile.is_none() {
            schedule.heat(&kept.warm, |key| {
                let again = routine.replay.again(take.state(key))?;
                Some(Runs::of_kept((again, submitted.point), routine, (origin, &of_runs)))
            });
        }
        Some(Event::of_run(of_runs, submitted))
    }
}

/// Places of a list that becomes a part of another.
fn shifted(places: &Range<u32>, by: usize) -> Range<u32> {
    places.start + by as u32..places.end.saturating_add(by as u32)
}

impl List {
    /// Adds submissions, if all of them find what they read.
    fn extend(&mut self, entries: &[Entry], graph: &Graph) -> Result<(), Error> {
        let before = self.entries.len();
        for entry in entries {
            let mut entry = entry.clone();
            // What an imported buffer holds was declared to be constant for the list that was recorded.
            entry.declared.fill(false);
            entry.learn(graph);
            if let Err(error) = readable(&entry, Some(self)) {
                self.entries.truncate(before);
                return Err(error);
            }
            // Its places are those of the kept list, which may be only a part of this one.
            for after in &mut entry.after.listed {
                *after = shifted(after, before);
            }
            self.entries.push(entry);
        }
        Ok(())
    }
}
