//! Lists that are kept, to be run again without being recorded again.

use std::{
    borrow::{Borrow, Cow},
    sync::{
        Arc, OnceLock,
        atomic::Ordering::{Acquire, Release},
    },
};

use bytemuck::Pod;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::FusionWrapper;
use crate::{
    api::{buffer::Buffer, handler::PushValue, queue::Queue},
    code::build::builder,
    error::{Error, FusionError},
    options::fusion::FusionProperties,
    replay::{
        exec::GraphExec,
        graph::{Fills, Graph, Nodes},
        launch::Launch,
    },
    report::{list::Summary, outcome::CancelCause},
    runtime::{
        check::{self, readable},
        context::ContextInner,
        end::{End, Keep},
        event::{Done, Event, EventInner, Settled},
        queues::Origin,
        rebind::{self, Changes, Exchanged},
        schedule::{List, Mode},
    },
    submission::{
        dependencies::{Touch, Touches},
        entry::Entry,
        pushed::Pushed as PushedTypes,
        signature::{Buffers, View, buffers_of},
    },
    vk::{Pushes, Submitted},
};

mod record;

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
    pub(crate) family: Arc<Family>,
    variant: Variant,
    buffers: Buffers,
    exec: Arc<GraphExec>,
    /// What the events of its launches share while their summary is the same.
    event: OnceLock<Arc<EventInner>>,
}

/// Push constants that submissions are to have, by place.
type Pushed<'a> = Vec<(usize, &'a [u8])>;

/// What lists share that were rebound from one another.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) queue: Queue,
    pub(crate) properties: FusionProperties,
    /// The latest that had to be planned by itself, its buffers having the same numbers: one that is rebound now may differ from it in
    /// what a plan passes on. Without it `kept_other_scalars` takes 60 µs instead of 1.4.
    latest: Mutex<Option<Arc<KeptList>>>,
}

/// What lists share that differ in buffers, and in push constants that the plan passes on.
#[derive(Debug)]
struct KeptList {
    nodes: Arc<Nodes>,
    /// Once it ran as planned.
    graph: OnceLock<Graph>,
}

/// A list whose submissions may have other push constants.
#[derive(Debug, Clone)]
struct Variant {
    list: Arc<KeptList>,
    /// Those that are others, as kernels take them, by place.
    pushes: SmallVec<[(usize, SmallVec<[u8; 32]>); 1]>,
}

impl Variant {
    /// The push constants of a submission, as its kernel takes them.
    fn push(&self, at: usize) -> &[u8] {
        let other = self.pushes.iter().find(|(place, _)| *place == at);
        other.map_or_else(|| self.list.nodes.push(at), |(_, push)| push)
    }

    /// What its dispatches are passed, where that is not what those of the list are.
    fn passes(&self) -> Option<Pushes> {
        let graph = self.list.graph.get().filter(|_| !self.pushes.is_empty())?;
        Some(graph.passes(|at| self.push(at)))
    }
}

impl Kept {
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries_on(&self.buffers)
    }

    /// Its submissions, on buffers in place of its own.
    fn entries_on(&self, on: &Buffers) -> Vec<Entry> {
        let nodes = &self.variant.list.nodes;
        let entry = |at| nodes.entry(at, &self.buffers, on);
        let mut entries: Vec<Entry> = (0..nodes.len()).map(entry).collect();
        for (at, push) in &self.variant.pushes {
            // It is not what was asked for any more.
            entries[*at].given = None;
            entries[*at].submission.push = SmallVec::from_slice(push);
        }
        entries
    }

    /// The push constants that changes give to submissions; of several for one the last counts.
    fn pushed<'a>(&self, changes: &'a Changes<'_>) -> Result<Pushed<'a>, Error> {
        let (context, nodes) = (&self.family.queue.inner.context, &self.variant.list.nodes);
        let pushed = changes.pushes.iter().map(|(at, bytes, types)| {
            let Some(entry) = nodes.unbound(*at) else {
                let count = nodes.len();
                return rebind::refuse(format!("there is no submission {at} in a list of {count}"));
            };
            let used = check::push(context, &entry.submission.kernel, (bytes.len(), *types));
            let used = used.map_err(|problem| Error::submit(&entry.label, problem))?;
            Ok((*at, &bytes[..used]))
        });
        pushed.collect()
    }

    /// The variant that is run in the same way with these push constants in place of its own.
    fn run_as(&self, pushed: &[(usize, &[u8])]) -> Option<Cow<'_, Variant>> {
        let variant = &self.variant;
        // It is one already.
        if pushed.is_empty() {
            return Some(Cow::Borrowed(variant));
        }
        let now = |at: usize| {
            let other = pushed.iter().rev().find(|(place, _)| *place == at);
            other.map_or_else(|| variant.push(at), |(_, push)| push)
        };
        let latest = self.family.latest.lock().clone();
        [Some(variant.list.clone()), latest].into_iter().flatten().find_map(|list| {
            let others = (0..list.nodes.len()).filter(|at| list.nodes.push(*at) != now(*at));
            let pushes = others.map(|at| (at, SmallVec::from_slice(now(at)))).collect();
            let variant = Variant { list, pushes };
            let graph = variant.list.graph.get().filter(|graph| !graph.has_numbers());
            let holds = || graph.is_some_and(|graph| graph.holds_with(|at| variant.push(at)));
            let is_run_as = variant.pushes.is_empty() || holds();
            is_run_as.then_some(Cow::Owned(variant))
        })
    }

    /// The list on other buffers and with other push constants; everything else stays as it is where that is simple.
    fn with(
        &self,
        changes: &Changes<'_>,
        (with, pushed, is_simple): (Exchanged<'_>, Pushed<'_>, bool),
    ) -> Result<FusedList, Error> {
        let Kept { family, buffers, .. } = self;
        let with = rebind::exchanged(&family.queue.inner.context, buffers, (changes, &with))?;
        if is_simple && let Some(variant) = self.run_as(&pushed) {
            return Ok(FusedList::on(family.clone(), variant.into_owned(), with));
        }
        rebind::same_overlaps(buffers, &with)?;
        let mut entries = self.entries_on(&with);
        for (at, push) in pushed {
            entries[at].submission.push = SmallVec::from_slice(push);
        }
        for entry in &mut entries {
            // It is not what was asked for any more.
            entry.given = None;
            check::rebound(&family.queue.inner.context, entry)?;
        }
        let mut planned = FusedList::new(&family.queue, family.properties.clone(), &entries);
        if is_simple && let Some(kept) = Arc::get_mut(&mut planned.inner) {
            // Its buffers have the same numbers.
            kept.family = family.clone();
            *family.latest.lock() = Some(kept.variant.list.clone());
        }
        Ok(planned)
    }

    /// Its graph, where nothing is left to plan or build whatever its buffers hold.
    fn planned(&self) -> Option<&Graph> {
        let judged = &self.family.queue.inner.context.judged;
        self.variant.list.graph.get().filter(|graph| !judged.any_dropped() && !graph.has_numbers())
    }

    /// Its buffers as they are now.
    fn views(&self) -> Vec<View> {
        self.buffers.iter().map(|buffer| View::of(buffer)).collect()
    }

    fn touches(&self) -> Touches {
        self.variant.list.nodes.touches(0..self.variant.list.nodes.len(), &self.buffers).collect()
    }

    /// Where its graph is kept, if it is planned now: what changes from now on makes it another list.
    fn keep(&self) -> Keep<'_> {
        let KeptList { nodes, graph } = &*self.variant.list;
        Keep::Pinned((graph, nodes), &self.buffers, self.views())
    }
}

impl Drop for Kept {
    /// What its launches use goes with it, and not when the schedule is next asked for.
    fn drop(&mut self) {
        if self.exec.is_relaunched() {
            drop(self.family.queue.inner.context.lock());
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
        let (completion, list) = self.end(&End::Keep(properties.clone()))?.ok_or(FusionError::NotFusing)?;
        let event = Event::of_all(completion);
        let list = list.ok_or_else(|| FusionError::NotKept { outcome: event.outcome() })?;
        Ok((event, FusedList::new(self.queue(), properties.clone(), &list.entries)))
    }
}

impl FusedList {
    pub(crate) fn new(queue: &Queue, properties: FusionProperties, entries: &[Entry]) -> FusedList {
        let buffers = buffers_of(entries);
        // What its buffers hold when it is run is asked then.
        let mut entries = entries.to_vec();
        entries.iter_mut().for_each(Entry::forget_numbers);
        let nodes = Arc::new(Nodes::of(&queue.inner.context, &entries, &buffers));
        let list = Arc::new(KeptList { nodes, graph: OnceLock::new() });
        let family = Family { queue: queue.clone(), properties, latest: Mutex::default() };
        FusedList::on(Arc::new(family), Variant { list, pushes: SmallVec::new() }, buffers)
    }

    fn on(family: Arc<Family>, variant: Variant, buffers: Buffers) -> FusedList {
        let exec = Arc::new(GraphExec::new(&buffers, false, variant.passes()));
        FusedList { inner: Arc::new(Kept { family, variant, buffers, exec, event: OnceLock::new() }) }
    }

    /// How many submissions it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.variant.list.nodes.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The queue it was recorded on.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.inner.family.queue
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
        self.inner.family.queue.inner.context.run_kept(&self.inner.family.queue, &self.inner)
    }

    /// Runs it on a queue of the same context. In fusion mode its submissions join the list being recorded, under that
    /// list's properties, and may fuse with what comes before and after them.
    ///
    /// # Errors
    ///
    /// A queue of another context, or one made without fusion; and those of [`run`](FusedList::run).
    pub fn run_on(&self, queue: &Queue) -> Result<Event, Error> {
        let context = &self.inner.family.queue.inner.context;
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
    pub fn push<P: PushValue>(mut self, submission: usize, block: &P) -> Rebind<'a> {
        let bytes = SmallVec::from_slice(bytemuck::bytes_of(block));
        self.changes.pushes.push((submission, bytes, PushedTypes::of::<P>()));
        self
    }

    /// Gives a submission (by its place in the list, from 0) other push constants, as bytes.
    #[must_use]
    pub fn push_bytes(mut self, submission: usize, bytes: &[u8]) -> Rebind<'a> {
        self.changes.pushes.push((submission, SmallVec::from_slice(bytes), PushedTypes::default()));
        self
    }

    /// The list with these changes. Nothing runs yet.
    ///
    /// # Errors
    ///
    /// [`FusionError::Rebind`]: a buffer that the list does not have, or whose replacement has another shape; a submission
    /// that it does not have; not exactly as many bytes as the block has.
    pub fn finish(self) -> Result<FusedList, Error> {
        self.list.inner.with(&self.changes, self.exchanged()?)
    }

    /// The list's buffers after what it exchanges, and other push constants; and whether everything else stays as it is.
    fn exchanged(&self) -> Result<(Exchanged<'a>, Pushed<'_>, bool), Error> {
        let kept = &*self.list.inner;
        let on = (&*kept.variant.list.nodes, &kept.buffers);
        let (with, is_simple) = rebind::exchange(&kept.family.queue.inner.context, on, &self.changes)?;
        Ok((with, kept.pushed(&self.changes)?, is_simple))
    }

    /// Runs the list with these changes once, on the queue it was recorded on: as [`finish`](Rebind::finish) and
    /// [`run`](FusedList::run) do, but no list is made that could be run again, which is most of what those cost.
    ///
    /// # Errors
    ///
    /// Those of both.
    pub fn run(self) -> Result<Event, Error> {
        let (with, pushed, is_simple) = self.exchanged()?;
        let kept = &*self.list.inner;
        let variant = if is_simple { kept.run_as(&pushed) } else { None };
        let (context, origin) = (&kept.family.queue.inner.context, &kept.family.queue.inner.origin);
        match variant.and_then(|variant| context.launch_once(origin, &variant, &with)) {
            Some(event) => Ok(event),
            None => kept.with(&self.changes, (with, pushed, is_simple))?.run(),
        }
    }
}

impl ContextInner {
    /// Runs a kept list on a queue, or lists it there.
    fn run_kept(self: &Arc<Self>, queue: &Queue, kept: &Kept) -> Result<Event, Error> {
        let (origin, id) = (&queue.inner.origin, queue.inner.id);
        self.gpu.wait_for_room(origin.lane);
        if let Some(event) = self.launch_again(origin, kept) {
            return Ok(event);
        }
        let (keep, touches) = (kept.keep(), kept.touches());
        let list = loop {
            let (buffers, cause) = (kept.buffers.iter(), CancelCause::OtherQueue);
            let mut schedule = self.observe(&touches, buffers, Some(id), Touch::conflicts, cause)?;
            let (deps, mut state) = (&schedule.deps, origin.state());
            let learn = |entry: &mut Entry| {
                // What an imported buffer holds was declared to be constant for the list that was recorded.
                entry.declared.fill(false);
                entry.learn(deps);
            };
            match &mut state.mode {
                Mode::Ending(_, thread) => {
                    let thread = *thread;
                    drop(state);
                    self.wait_for_list(&mut schedule, thread)?;
                }
                Mode::Recording(list) => {
                    list.materialize(deps);
                    let before = list.entries.len();
                    list.extend(kept.entries(), learn)?;
                    return Ok(Event::of_some(list.completion.clone(), before..list.entries.len()));
                }
                Mode::Direct => {
                    let mut list = List::new(EventInner::listed(origin));
                    list.extend(kept.entries(), learn)?;
                    let list = Arc::new(list);
                    state.mode = Mode::Ending(list.clone(), builder());
                    origin.is_direct.store(false, Release);
                    break list;
                }
            }
        };
        let end = End::Complete(kept.family.properties.clone());
        self.plan_and_launch(origin, &list, &end, keep)?;
        Ok(Event::of_all(list.completion.clone()))
    }

    /// Launches a kept list on its buffers. `None` where it has no graph, or something is in the way.
    fn launch_again(&self, origin: &Arc<Origin>, kept: &Kept) -> Option<Event> {
        let graph = kept.variant.list.graph.get().filter(|_| !self.judged.any_dropped())?;
        let may = |summary: &Arc<Summary>| {
            // If it enters fusion mode now, that is after this.
            let may = origin.is_direct.load(Acquire) && kept.exec.is_in_force(self.contents.load(Acquire));
            kept.event.get().filter(|event| may && event.is_of_launches(origin, summary)).cloned()
        };
        if let Some((submitted, event)) = self.relaunch(origin, (graph, &kept.exec), may) {
            return Some(Event::of_run(event, submitted));
        }
        let launch = Launch { graph, buffers: &kept.buffers, pushes: None, exec: Some(&kept.exec) };
        let (submitted, summary) = self.launch_kept(origin, &launch)?;
        let make = || EventInner::at_once(origin, Settled::of_launch(Done::Nothing, summary.clone()));
        let shared = kept.event.get_or_init(make);
        let is_it = shared.is_of_launches(origin, &summary);
        Some(Event::of_run(if is_it { shared.clone() } else { make() }, submitted))
    }

    /// Launches a variant of a kept list on buffers. `None` as above.
    ///
    /// Buffers are borrowed: counting them up and down would be a sixth of its time. Nothing is remembered of those that stay. Of the 7,000
    /// instructions of `kept_other_buffers` (`benches/instructions.sh`; 4 kernels on 8 buffers, 2 of them other ones) 1,900 check, record and
    /// submit, 2,400 put the accesses to the 5 buffers that the kernel binds in force, 700 exchange the buffers, 500 see that nothing is in the
    /// way, and 1,100 are effects, report and event.
    fn launch_once(&self, origin: &Arc<Origin>, variant: &Variant, with: &Exchanged<'_>) -> Option<Event> {
        let graph = variant.list.graph.get().filter(|_| !self.judged.any_dropped())?;
        let passed = variant.passes();
        self.gpu.wait_for_room(origin.lane);
        let launch = Launch { graph, buffers: with, pushes: passed.as_ref(), exec: None };
        let (submitted, summary) = self.launch_kept(origin, &launch)?;
        let settled = Settled::of_launch(Done::Gpu(submitted), summary);
        Some(Event::of_all(EventInner::at_once(origin, settled)))
    }

    /// Launches the graph of a kept list, if nothing is in the way.
    fn launch_kept(
        &self,
        origin: &Origin,
        launch: &Launch<'_, impl Fills>,
    ) -> Option<(Submitted, Arc<Summary>)> {
        let Launch { graph, buffers, .. } = *launch;
        let mut schedule = self.lock_as_it_is();
        // What a launch changes of contents, a list that begins meanwhile must not have looked at before: it begins afterwards.
        let _direct = origin.direct()?;
        let touches = || graph.nodes.touches(0..graph.nodes.len(), buffers).collect();
        let may_launch = schedule.is_free(origin.id, buffers.iter().map(Borrow::borrow), touches)
            && graph.finds_its_numbers(buffers, &schedule.deps)
            && launch.is_as_planned(self.contents.load(Acquire));
        if may_launch { self.launch(&mut schedule, origin, launch, !graph.has_numbers()) } else { None }
    }
}

impl List {
    /// Adds submissions, with what they learn about buffers, if all of them find what they read.
    fn extend(&mut self, entries: Vec<Entry>, learn: impl Fn(&mut Entry)) -> Result<(), Error> {
        let before = self.entries.len();
        for mut entry in entries {
            learn(&mut entry);
            if let Err(error) = readable(&entry, Some(self)) {
                self.entries.truncate(before);
                return Err(error);
            }
            // Its places are those of the kept list, which may be only a part of this one.
            for after in &mut entry.after.listed {
                *after = after.start + before as u32..after.end.saturating_add(before as u32);
            }
            self.entries.push(entry);
        }
        Ok(())
    }
}
