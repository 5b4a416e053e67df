//! Graphs: lists as dispatches over slots.
//!
//! A graph is what is left of a list when its buffers are numbers, its *slots*: the submissions ([`Nodes`]); and of one that ran,
//! the dispatches with the barriers between them, what a launch does to contents, and which push constants it passes on. It can be
//! launched on any buffers.
//!
//! Byte ranges stay as they are: the buffers that may fill a slot start where their memory does, and one over the user's memory fills
//! no other's.

use std::{borrow::Borrow, ops::Range, sync::Arc};

use smallvec::SmallVec;

use super::exec::Tally;
use crate::{
    error::Error,
    jit::{BufferId, Numbers, Promote, PushFlow},
    report::{
        list::{Elsewhere, FusionReport, Reported, Summary, Tier},
        outcome::Outcome,
    },
    submission::{
        buffer::BufferInner,
        dependencies::{Dependencies, Stage, Touch},
        device::Device,
        entry::{Effect, Entry},
        identity::Span,
        ready::Readies,
        signature::{Buffers, View},
    },
    vk::{CommandTemplate, Pushes, Resource, Resources},
};

/// What fills a slot: a buffer, or a reference to one.
pub(crate) trait Fills: Borrow<Arc<BufferInner>> {}

impl<B: Borrow<Arc<BufferInner>>> Fills for B {}

/// The submissions of a list, over slots.
#[derive(Debug)]
pub(crate) struct Nodes {
    all: Vec<Node>,
    /// The promotions that buffers asked for at each slot as the submissions were listed.
    asked: Vec<SmallVec<[Promote; 1]>>,
}

/// A submission.
#[derive(Debug)]
struct Node {
    /// Without buffers; the memories in it are those of the list that this was made of.
    entry: Entry,
    /// The slot of each touch.
    slots: SmallVec<[u32; 8]>,
    /// What it reads, except for what submissions before it certainly write.
    reads: Vec<Read>,
}

/// An access that reads.
#[derive(Debug)]
struct Read {
    slot: u32,
    span: Span,
    /// What earlier submissions certainly write of the same memory.
    written: SmallVec<[Span; 1]>,
}

/// A list that ran, as what it submits and leaves on whatever buffers fill its slots.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) nodes: Arc<Nodes>,
    /// Which push constants it is for besides its own, and where it passes them; nothing where it is for none.
    flow: Option<Arc<PushFlow>>,
    /// The buffers that it was planned for, and whether more than exposed addresses counts of that: a kept list has what it was recorded with.
    views: Vec<View>,
    as_viewed: bool,
    pub(super) label: Arc<str>,
    pub(crate) template: Arc<CommandTemplate>,
    /// The slot of each memory of the template, and whether all of it is certainly written before any of it is read.
    bound: SmallVec<[(u32, bool); 8]>,
    /// What all of it touches, by slot.
    touches: SmallVec<[(u32, Touch); 8]>,
    /// What a launch does to contents: bytes of a slot, and whether they stay inside a fused kernel.
    effects: Vec<(u32, Span, bool)>,
    /// What buffers have to hold, from a byte on.
    numbers: SmallVec<[(u32, u64, Numbers); 1]>,
    pub(crate) tally: Arc<Tally>,
    /// What is reported of a launch, about these memories, by slot.
    report: Option<Arc<(FusionReport, Vec<BufferId>)>>,
}

/// What a graph is made of: a list that is about to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ran<'a> {
    pub(crate) entries: &'a [Entry],
    pub(crate) effects: &'a [Effect],
    pub(crate) readies: &'a Readies,
    pub(crate) report: Option<&'a FusionReport>,
    pub(crate) flow: Option<&'a Arc<PushFlow>>,
}

/// The slot of a buffer of a list.
fn slot_of(buffers: &Buffers, buffer: &BufferInner) -> u32 {
    let slot = buffers.iter().position(|known| known.handle == buffer.handle);
    slot.expect("invariant: the buffers of a list are those of its submissions") as u32
}

impl Nodes {
    /// The submissions of a list with these buffers.
    pub(crate) fn of(device: &Device, entries: &[Entry], buffers: &Buffers) -> Nodes {
        let mut asked = vec![SmallVec::new(); buffers.len()];
        let nodes = entries.iter().enumerate().map(|(at, entry)| {
            let slots: SmallVec<[u32; 8]> =
                entry.buffers.iter().map(|buffer| slot_of(buffers, buffer)).collect();
            for (slot, asks) in slots.iter().zip(&entry.asked) {
                let asked: &mut SmallVec<[Promote; 1]> = &mut asked[*slot as usize];
                asked.extend((!asked.contains(asks)).then_some(*asks));
            }
            let reads = Read::of(device, &entries[..at], entry, &slots);
            Node { entry: Entry { buffers: SmallVec::new(), ..entry.clone() }, slots, reads }
        });
        Nodes { all: nodes.collect(), asked }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The push constants of a submission, as its kernel takes them.
    pub(crate) fn push(&self, at: usize) -> &[u8] {
        &self.all[at].entry.submission.push
    }

    /// Whether buffers asked for no other promotion at a slot as the submissions were listed.
    pub(crate) fn all_asked(&self, slot: usize, asks: Promote) -> bool {
        self.asked[slot].iter().all(|asked| *asked == asks)
    }

    /// A submission, without its buffers.
    pub(crate) fn unbound(&self, at: usize) -> Option<&Entry> {
        self.all.get(at).map(|node| &node.entry)
    }

    /// A submission on buffers, in place of those that it was on before.
    pub(crate) fn entry(&self, at: usize, before: &Buffers, on: &Buffers) -> Entry {
        let Node { entry, slots, .. } = &self.all[at];
        let mut entry = entry.clone();
        for (position, slot) in slots.iter().enumerate() {
            let (old, new) = (&before[*slot as usize], &on[*slot as usize]);
            let touch = &mut entry.touches[position];
            let range = old.within(touch.span).unwrap_or(0..old.size);
            *touch = new.touch(range, touch.reads, touch.writes);
            if let Some(arg) = entry.submission.args.get_mut(position) {
                (arg.buffer, arg.offset) = (new.shared.id.planned(), touch.span.start);
            }
            entry.buffers.push(new.clone());
        }
        entry
    }

    /// What submissions touch, on buffers.
    pub(crate) fn touches<'a>(
        &'a self,
        which: Range<usize>,
        on: &'a [impl Fills],
    ) -> impl Iterator<Item = Touch> + 'a {
        let memory = |slot: &u32| on[*slot as usize].borrow().shared.id;
        let touches = self.all[which].iter().flat_map(|node| node.entry.touches.iter().zip(&node.slots));
        touches.map(move |(touch, slot)| Touch { memory: memory(slot), ..*touch })
    }

    /// Whether submissions find something readable in buffers, now that the list would run.
    #[inline]
    pub(crate) fn are_readable(&self, which: Range<usize>, on: &[impl Fills]) -> bool {
        let is_readable = |read: &Read| read.is_readable(on[read.slot as usize].borrow());
        self.all[which].iter().all(|node| node.reads.iter().all(is_readable))
    }
}

impl Read {
    /// Every read of a submission that may find something unreadable, with what those before it write.
    fn of(device: &Device, earlier: &[Entry], entry: &Entry, slots: &[u32]) -> Vec<Read> {
        let reads = entry.touches.iter().zip(slots).enumerate().filter(|(_, (touch, _))| touch.reads);
        let read = |(position, (touch, slot)): (usize, (&Touch, &u32))| {
            let written = earlier.iter().flat_map(|entry| entry.overwritten(device, touch.memory));
            Read { slot: *slot, span: entry.read_span(device, position), written: written.collect() }
        };
        reads.map(read).filter(|read| !read.written.iter().any(|span| span.covers(read.span))).collect()
    }

    #[inline]
    fn is_readable(&self, buffer: &BufferInner) -> bool {
        buffer.unreadable(self.span).is_none()
            || buffer.unreadable_after(self.span, self.written.iter().copied()).is_none()
    }
}

impl Graph {
    /// The graph of a list on these buffers, which is about to run. `None` if it must not be launched in this way.
    pub(crate) fn of(
        device: &Device,
        ran: Ran<'_>,
        (nodes, buffers): (Arc<Nodes>, &Buffers),
        (views, as_viewed): (Vec<View>, bool),
    ) -> Option<Graph> {
        let Ran { entries, effects, readies, report, flow } = ran;
        let label = readies.first()?.label.clone();
        // As if nothing came before.
        let mut deps = Dependencies::default();
        let mut batch = deps.begin(0);
        let (mut barriers, mut bound, mut touches) = (Vec::new(), SmallVec::new(), SmallVec::new());
        for ready in readies {
            if ready.apart {
                return None;
            }
            barriers.push(deps.add(&mut batch, &ready.label, Stage::Compute, &ready.touches).barrier);
            for resource in ready.dispatch.bindings.iter().map(|bound| &bound.resource) {
                let slot = buffers.iter().position(|buffer| buffer.is_bound(resource))? as u32;
                bound.extend((!bound.contains(&(slot, false))).then_some((slot, false)));
            }
            for touch in &ready.touches {
                let slot = buffers.iter().position(|buffer| buffer.shared.id == touch.memory)?;
                merge(&mut touches, slot as u32, touch);
            }
        }
        let is = |slot: u32, resource: &_| buffers[slot as usize].is_bound(resource);
        let number = |resource: &_| bound.iter().position(|(slot, _)| is(*slot, resource));
        let dispatches = barriers.into_iter().zip(readies.iter().map(|ready| &ready.dispatch));
        let template = Arc::new(device.gpu.template(dispatches, number).ok()??);
        let effect = |of: &Effect| (slot_of(buffers, &of.buffer), of.span, of.inside);
        let effects: Vec<_> = effects.iter().map(effect).collect();
        for (slot, all) in &mut bound {
            let is_read = touches.iter().any(|(of, touch): &(u32, Touch)| of == slot && touch.reads);
            let whole = buffers[*slot as usize].whole();
            let writes_all =
                |(of, span, inside): &(u32, Span, bool)| of == slot && !inside && span.covers(whole);
            *all = !is_read && effects.iter().any(writes_all);
        }
        let args = entries.iter().flat_map(|entry| entry.submission.args.iter().zip(&entry.buffers));
        let numbers = args.filter_map(|(arg, buffer)| {
            arg.numbers.clone().map(|numbers| (slot_of(buffers, buffer), arg.offset, numbers))
        });
        let tally = Arc::new(Tally {
            dispatches: report.map_or(1, |report| report.dispatches as u64),
            outcome: report.map(|report| report.outcome.clone()),
        });
        let ids = || buffers.iter().map(|buffer| buffer.shared.id.planned()).collect();
        Some(Graph {
            nodes,
            flow: flow.cloned(),
            views,
            as_viewed,
            label,
            template,
            bound,
            touches,
            effects,
            numbers: numbers.collect(),
            tally,
            report: report.map(|report| Arc::new((without_costs(report), ids()))),
        })
    }

    /// Whether push constants of the submission at a place are numbers to the plan as its own are.
    pub(crate) fn takes(&self, at: usize, push: &[u8]) -> bool {
        let (own, flow) = (self.nodes.push(at), self.flow.as_ref());
        let push = push.get(..own.len());
        flow.zip(push).is_some_and(|(flow, push)| flow.numbers_hold(at, own, push))
    }

    /// Whether it is that of a list that differs from its own in push constants alone, which are these.
    pub(crate) fn holds_with<'a>(&self, push: impl Fn(usize) -> &'a [u8]) -> bool {
        let (before, now) = (|at| self.nodes.push(at), |at| self.used(at, &push));
        self.flow.as_ref().is_some_and(|flow| flow.holds_with(before, now))
    }

    /// What its dispatches are passed, where its submissions are passed this.
    pub(crate) fn passes<'a>(&self, push: impl Fn(usize) -> &'a [u8]) -> Pushes {
        self.flow.iter().flat_map(|flow| flow.pushes(|at| self.used(at, &push))).collect()
    }

    /// The push constants that a kernel takes, of those that were given.
    fn used<'a>(&self, at: usize, push: impl Fn(usize) -> &'a [u8]) -> &'a [u8] {
        &push(at)[..self.nodes.push(at).len()]
    }

    /// Whether no address in buffers was exposed since it was planned.
    pub(crate) fn is_as_exposed(&self, buffers: &[impl Fills]) -> bool {
        let mut views = self.views.iter().zip(buffers);
        views.all(|(view, buffer)| view.escapes == buffer.borrow().shared.escapes())
    }

    /// Whether buffers are all that it was planned for.
    pub(super) fn is_as_viewed(&self, buffers: &[impl Fills]) -> bool {
        let mut views = self.views.iter().zip(buffers);
        !self.as_viewed || views.all(|(view, buffer)| view.is_of(buffer.borrow()))
    }

    /// Whether buffers hold the numbers that it was planned with.
    #[inline]
    pub(crate) fn finds_its_numbers(&self, buffers: &[impl Fills], deps: &Dependencies) -> bool {
        self.numbers.iter().all(|(slot, start, numbers)| {
            let bytes = deps.holds(&buffers[*slot as usize].borrow().shared, *start);
            bytes.is_some_and(|bytes| numbers.are_in(bytes))
        })
    }

    /// Whether it was planned with what buffers hold: then it is not for later, when they may hold something else.
    pub(crate) fn has_numbers(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// The memories of the template, allocated now if they were not yet, and filled with zeros where that can make a difference. It
    /// always can where the program executes the recorded commands, at a time of its own.
    pub(crate) fn memories(
        &self,
        buffers: &[impl Fills],
        deps: &mut Dependencies,
        for_caller: bool,
    ) -> Result<Resources, Error> {
        let mut memories = Resources::new();
        // A loop, and not `collect`, which is a call for each of them here.
        for (slot, all) in &self.bound {
            let buffer = buffers[*slot as usize].borrow();
            memories.push(if *all && !for_caller && buffer.texture.is_none() {
                Resource::Buffer(buffer.unfilled()?.clone())
            } else {
                buffer.resource(deps)?
            });
        }
        Ok(memories)
    }

    /// What it touches, on buffers.
    pub(crate) fn touches<'a>(&'a self, buffers: &'a [impl Fills]) -> impl Iterator<Item = Touch> + 'a {
        let memory = |slot: u32| buffers[slot as usize].borrow().shared.id;
        self.touches.iter().map(move |(slot, touch)| Touch { memory: memory(*slot), ..*touch })
    }

    /// Notes that what is certainly written as a whole needs no zeros any more.
    pub(super) fn filled(&self, buffers: &[impl Fills]) {
        let all = self.bound.iter().filter(|(_, all)| *all);
        all.for_each(|(slot, _)| buffers[*slot as usize].borrow().filled());
    }

    /// Does to contents what a launch does.
    pub(super) fn take_effect(&self, buffers: &[impl Fills]) {
        let apply = |(slot, span, inside): &(u32, Span, bool)| {
            buffers[*slot as usize].borrow().takes_effect(*span, *inside);
        };
        self.effects.iter().for_each(apply);
    }

    /// What is reported of a launch.
    pub(super) fn summary(&self, buffers: &[impl Fills]) -> Summary {
        let report = self.report.clone().map(|of| {
            let (mut is, mut named) = (SmallVec::new(), Vec::new());
            for (slot, buffer) in buffers.iter().map(Borrow::borrow).enumerate() {
                is.push(buffer.shared.id.planned());
                if let Some(name) = buffer.given_name() {
                    named.push((slot, name));
                }
            }
            Reported::Of(Elsewhere { of, is, named })
        });
        Summary { outcome: self.tally.outcome.clone().unwrap_or(Outcome::Unfused), report }
    }
}

/// Adds an access to others: those of the same bytes become one.
fn merge(touches: &mut SmallVec<[(u32, Touch); 8]>, slot: u32, touch: &Touch) {
    let same = |(_, known): &&mut (u32, Touch)| known.memory == touch.memory && known.span == touch.span;
    match touches.iter_mut().find(same) {
        Some((_, known)) => {
            known.reads |= touch.reads;
            known.writes |= touch.writes;
        }
        None => touches.push((slot, *touch)),
    }
}

/// What a report says of a launch, for which nothing had to be planned, built or looked for, and whose buffers and push constants may be others.
fn without_costs(report: &FusionReport) -> FusionReport {
    let noted = report.noted.again();
    let mut report = FusionReport { plan_us: 0.0, jit_us: 0.0, driver_us: 0.0, noted, ..report.clone() };
    for step in &mut report.steps {
        (step.memory, step.disk, step.driver_blob) = (Tier::Hit, Tier::NotAsked, Tier::NotAsked);
        (step.jit_us, step.driver_us, step.load_us) = (0.0, 0.0, 0.0);
    }
    report
}
