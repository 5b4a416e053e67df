//! Submissions that are made again and again, on any buffers.
//!
//! A replay has the dispatches of a list with the buffers as numbers, and the barriers between them. On buffers that it is
//! run on for the first time it is recorded and submitted at once; what runs on the same ones once more becomes a tape,
//! which is only submitted.
//!
//! # Guarantees
//! - each run comes after what it has to come after, found in the graph as for any other work
//! - nothing here keeps a buffer alive; what was recorded with a buffer goes when the buffer does
//!
//! What has to come before a tape is not known when it is made, so there is one for each kind of barrier that it may have
//! to start with. Barriers between its own dispatches are part of it.

use std::{
    borrow::Borrow,
    sync::{
        Arc,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Release},
        },
    },
};

use smallvec::SmallVec;

use crate::{
    error::Error,
    report::list::Said,
    submission::{
        buffer::BufferInner,
        device::Device,
        graph::{Graph, Mark, Stage, Touch},
        identity::{HandleId, QueueId},
        ready::Readies,
        signature::Buffers,
    },
    vk::{
        Barrier, CallerWork, Key, KeyId, Played, Point, Pushes, Resource, Resources, Script, Submitted, Tape,
        Under,
    },
};

/// A submission that can be made again.
#[derive(Debug)]
pub(crate) struct Replay {
    label: Arc<str>,
    script: Arc<Script>,
    /// The buffer of each memory of the script, and whether all of it is certainly written before any of it is read.
    bound: SmallVec<[(u32, bool); 8]>,
    /// What all of it touches, with the number of a buffer over it.
    touches: SmallVec<[(u32, Touch); 8]>,
    /// Whether a run has to come after the one before.
    in_order: bool,
}

/// What is known of the runs on certain buffers.
#[derive(Debug)]
pub(crate) struct Take {
    /// What it is looked for by; of a kept list, which has it at hand, none.
    pub(crate) buffers: SmallVec<[HandleId; 8]>,
    /// The count of changes of contents after which everything that is read was readable and every effect was in force; 0
    /// for none.
    settled: AtomicU64,
    state: Under<TakeState>,
}

#[derive(Debug, Default)]
pub(crate) struct TakeState {
    /// Whether there was a run: the next one is worth a tape.
    ran: bool,
    /// Push constants of every run on these buffers, where they are others than the script's.
    pub(crate) own: Option<Pushes>,
    /// The hardware queue of the tapes.
    lane: Option<u32>,
    /// By the barrier that comes first.
    tapes: [Option<Arc<Tape>>; 4],
    /// The script on these buffers, as the program's own command buffers take it.
    pub(crate) for_caller: Option<Arc<CallerWork>>,
    /// The graph's mark of the latest run.
    mark: Option<Mark>,
    /// What is said of a run, as long as one is in force.
    pub(crate) said: Option<Arc<Said>>,
    /// A queue that had all of its memory to itself when this many memories had been taken from their owners.
    pub(crate) owned: Option<(QueueId, u64)>,
}

/// Reads that run after run makes of the same memories, in the graph as one piece of work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SameReads {
    mark: Mark,
    /// The places of the buffers, as bits.
    places: u64,
}

/// A submission that was made again and can be once more, with nothing but itself to come after, as long as nothing is put in the graph.
#[derive(Debug)]
pub(crate) struct Again {
    lane: u32,
    mark: Mark,
    /// The recording that comes after nothing, and the one that waits for a run before.
    tapes: [Option<Arc<Tape>>; 2],
    in_order: bool,
}

impl Again {
    /// Makes it once more after the latest run. `None` where nothing was submitted, or the device is lost.
    #[inline]
    pub(crate) fn play(&self, device: &Device, latest: Point) -> Option<Point> {
        let waits = self.in_order && device.gpu.done(self.lane) < latest.value;
        device.gpu.play_alone(self.lane, self.tapes[usize::from(waits)].as_ref()?)
    }

    /// Tells the graph of the latest run. No one says what came before it on its queue and after earlier runs, so that counts as not
    /// ordered.
    pub(crate) fn tell(&self, graph: &mut Graph, latest: Point) {
        graph.repeated(self.mark, latest, false);
    }
}

/// Whether a place is one of some, as bits.
#[inline]
fn is_in(places: u64, place: u32) -> bool {
    place < u64::BITS && places >> place & 1 == 1
}

impl Take {
    /// Nothing is known but whether there was a run on these buffers.
    pub(crate) fn of(key: KeyId, buffers: &Buffers, ran: bool) -> Take {
        let handles = buffers.iter().map(|buffer| buffer.handle).collect();
        Take::with(key, buffers, handles, TakeState { ran, ..TakeState::default() })
    }

    /// Of runs of a kept list, whose dispatches all are passed this instead of the script's push constants.
    pub(crate) fn passing(key: KeyId, buffers: &Buffers, own: Option<Pushes>) -> Take {
        Take::with(key, buffers, SmallVec::new(), TakeState { own, ..TakeState::default() })
    }

    fn with(key: KeyId, buffers: &Buffers, handles: SmallVec<[HandleId; 8]>, state: TakeState) -> Take {
        buffers.iter().for_each(|buffer| buffer.make_known());
        Take { buffers: handles, settled: AtomicU64::new(0), state: Under::new(key, state) }
    }

    /// Whether a run is in force: nothing that it rests on, and none of what it did, has changed up to this count.
    pub(crate) fn is_in_force(&self, changes: u64) -> bool {
        self.settled.load(Acquire) == changes
    }

    /// Notes up to which count a run is in force.
    pub(crate) fn settle(&self, changes: u64) {
        self.settled.store(changes, Release);
    }

    pub(crate) fn is_of(&self, buffers: &Buffers) -> bool {
        self.buffers.iter().zip(buffers).all(|(known, buffer)| *known == buffer.handle)
    }

    #[inline]
    pub(crate) fn state<'a>(&'a self, key: &'a mut Key) -> &'a mut TakeState {
        self.state.get(key)
    }
}

impl Replay {
    /// Takes note of dispatches that are about to be submitted, which certainly write so much of each buffer. `None` if they
    /// must not be submitted again in this way.
    pub(crate) fn of(
        device: &Device,
        readies: &Readies,
        buffers: &Buffers,
        writes_all_of: impl Fn(u32) -> bool,
    ) -> Option<Replay> {
        let label = readies.first()?.label.clone();
        // As if nothing came before.
        let mut graph = Graph::default();
        let mut batch = graph.begin(0);
        let (mut barriers, mut bound, mut touches) = (Vec::new(), SmallVec::new(), SmallVec::new());
        for ready in readies {
            if ready.apart {
                return None;
            }
            barriers.push(graph.add(&mut batch, &ready.label, Stage::Compute, &ready.touches).barrier);
            for resource in ready.dispatch.bindings.iter().map(|bound| &bound.resource) {
                let place = buffers.iter().position(|buffer| buffer.is_bound(resource))? as u32;
                bound.extend((!bound.contains(&(place, false))).then_some((place, false)));
            }
            for touch in &ready.touches {
                let place = buffers.iter().position(|buffer| buffer.shared.id == touch.memory)?;
                merge(&mut touches, place as u32, touch);
            }
        }
        let is_bound_as = |place: u32, resource: &_| buffers[place as usize].is_bound(resource);
        let number = |resource: &_| bound.iter().position(|(place, _)| is_bound_as(*place, resource));
        let dispatches = barriers.into_iter().zip(readies.iter().map(|ready| &ready.dispatch));
        let script = Arc::new(device.gpu.script(dispatches, number).ok()??);
        let is_read =
            |of: u32| touches.iter().any(|(place, touch): &(u32, Touch)| *place == of && touch.reads);
        for (place, all) in &mut bound {
            *all = writes_all_of(*place) && !is_read(*place);
        }
        let in_order = touches.iter().any(|(_, a)| touches.iter().any(|(_, b)| a.conflicts(b)));
        Some(Replay { label, script, bound, touches, in_order })
    }

    /// The memories of the script, allocated now if they were not yet, and filled with zeros where that can make a difference.
    fn memories<B: Borrow<Arc<BufferInner>>>(
        &self,
        buffers: &[B],
        graph: &mut Graph,
        memories: &mut Resources,
    ) -> Result<(), Error> {
        // A loop, and not `collect`, which is a call for each of them here.
        for (place, all) in &self.bound {
            let buffer: &BufferInner = buffers[*place as usize].borrow();
            memories.push(if *all && buffer.texture.is_none() {
                Resource::Buffer(buffer.unfilled()?.clone())
            } else {
                buffer.resource(graph)?
            });
        }
        Ok(())
    }

    /// What it touches, on certain buffers.
    pub(crate) fn touches_on<'a, B: Borrow<Arc<BufferInner>>>(
        &'a self,
        buffers: &'a [B],
    ) -> impl Iterator<Item = Touch> + 'a {
        self.touches_of(buffers, |_| true)
    }

    /// Some of what it touches, on certain buffers.
    #[inline]
    fn touches_of<'a, B: Borrow<Arc<BufferInner>>>(
        &'a self,
        buffers: &'a [B],
        is_it: impl Fn(u32) -> bool + 'a,
    ) -> impl Iterator<Item = Touch> + 'a {
        let memory = |place: u32| buffers[place as usize].borrow().shared.id;
        let touches = self.touches.iter().filter(move |(place, _)| is_it(*place));
        touches.map(move |(place, touch)| Touch { memory: memory(*place), ..*touch })
    }

    /// The script on certain buffers, to be recorded for the program. No one knows when the program executes it, so all of
    /// them have their zeros by now.
    pub(crate) fn for_caller(
        &self,
        device: &Device,
        graph: &mut Graph,
        (buffers, take): (&Buffers, &TakeState),
    ) -> Result<Arc<CallerWork>, Error> {
        let memory = |(place, _): &(u32, bool)| buffers[*place as usize].resource(graph);
        let on = self.bound.iter().map(memory).collect::<Result<_, _>>()?;
        Ok(device.gpu.caller_work(&self.script, take.own.as_ref(), on)?)
    }

    /// Whether a run on certain buffers, of which this is known, has nothing but the run before to come after.
    pub(crate) fn repeats(&self, graph: &mut Graph, lane: u32, take: &TakeState) -> bool {
        take.lane == Some(lane)
            && take.ran
            && take.mark.is_some_and(|mark| graph.repeat(mark, lane).is_some())
    }

    /// What makes such a run again.
    pub(crate) fn again(&self, take: &TakeState) -> Option<Again> {
        let (lane, mark) = (take.lane?, take.mark?);
        let tapes = [None, Some(Barrier::ComputeToCompute)].map(|first| take.tapes[slot(first)].clone());
        Some(Again { lane, mark, tapes, in_order: self.in_order })
    }

    /// Makes the submission once more where nothing came between: what is recorded is handed over, and the graph informed. Nothing
    /// where there is more to it.
    #[inline]
    pub(crate) fn play_again(
        &self,
        device: &Device,
        graph: &mut Graph,
        lane: u32,
        take: &TakeState,
    ) -> Option<Point> {
        if take.lane != Some(lane) || !take.ran {
            return None;
        }
        let mark = take.mark?;
        // Whether it is pending itself is all that matters of what is.
        graph.seen(lane, device.gpu.done(lane));
        let barrier = graph.repeat(mark, lane)? && self.in_order;
        let first = barrier.then_some(Barrier::ComputeToCompute);
        let point = device.gpu.play_alone(lane, take.tapes[slot(first)].as_ref()?)?;
        graph.repeated(mark, point, barrier);
        Some(point)
    }

    /// Makes the submission on certain buffers, of which this is known.
    #[inline(never)]
    pub(crate) fn play<B: Borrow<Arc<BufferInner>>>(
        &self,
        device: &Device,
        graph: &mut Graph,
        lane: u32,
        (buffers, take, pushes): (&[B], &mut TakeState, Option<&Pushes>),
        profile: bool,
    ) -> Result<Submitted, Error> {
        if take.lane != Some(lane) {
            (take.tapes, take.mark, take.lane) = Default::default();
        }
        // A tape has the push constants that it was recorded with.
        let again = take.ran && pushes.is_none();
        // Whether it is pending itself is all that matters of what is.
        graph.seen(lane, device.gpu.done(lane));
        let repeat = take.mark.filter(|_| again).and_then(|mark| Some((mark, graph.repeat(mark, lane)?)));
        if let Some((mark, pending)) = repeat {
            let barrier = (pending && self.in_order).then_some(Barrier::ComputeToCompute);
            let tape = self.tape(device, graph, lane, barrier, (buffers, take))?;
            let submitted = device.gpu.play(lane, tape, &[], profile)?;
            graph.repeated(mark, submitted.point, barrier.is_some());
            return Ok(submitted);
        }
        if !again {
            // What ran once is no more likely than not to run on these again.
            graph.repeat_no_more(take.mark.take());
            let on = (buffers, pushes.or(take.own.as_ref()));
            let submitted = self.play_once(device, graph, lane, on, None, profile)?;
            (take.ran, take.lane) = (true, Some(lane));
            return Ok(submitted);
        }
        device.refresh(graph);
        // What is filled now is filled by a submission of its own, which comes before this one.
        self.memories(buffers, graph, &mut Resources::new())?;
        let mut batch = graph.begin(lane);
        let mut needs = graph.add_all(&mut batch, &self.label, Stage::Compute, self.touches_on(buffers));
        device.pending(graph, lane, &mut needs.waits);
        let tape = self.tape(device, graph, lane, needs.barrier, (buffers, take));
        match tape.and_then(|tape| Ok(device.gpu.play(lane, tape, &needs.waits, profile)?)) {
            Ok(submitted) => {
                self.filled(buffers);
                take.lane = Some(lane);
                graph.repeat_no_more(take.mark.take());
                take.mark = graph.commit_repeatable(&batch, submitted.point, !needs.waits.is_empty());
                Ok(submitted)
            }
            Err(error) => {
                graph.roll_back(&batch);
                Err(error)
            }
        }
    }

    /// Makes the submission on buffers of which nothing is known, but perhaps that certain reads are those of an earlier run: of all
    /// places but some, as bits.
    pub(crate) fn play_once<B: Borrow<Arc<BufferInner>>>(
        &self,
        device: &Device,
        graph: &mut Graph,
        lane: u32,
        (buffers, pushes): (&[B], Option<&Pushes>),
        same: Option<(&mut Option<SameReads>, u64)>,
        profile: bool,
    ) -> Result<Submitted, Error> {
        device.refresh(graph);
        // What is filled now is filled by a submission of its own, which comes before this one.
        let mut memories = Resources::new();
        self.memories(buffers, graph, &mut memories)?;
        let mut batch = graph.begin(lane);
        let (slot, others) = same.map_or((None, 0), |(slot, others)| (Some(slot), others));
        let same = slot.as_deref().copied().flatten().filter(|same| graph.repeat(same.mark, lane).is_some());
        let places = same.map_or(0, |same| same.places & !others);
        let touches = self.touches_of(buffers, move |place| !is_in(places, place));
        let mut needs = graph.add_all(&mut batch, &self.label, Stage::Compute, touches);
        device.pending(graph, lane, &mut needs.waits);
        let played = Played { script: &self.script, first: needs.barrier, pushes };
        let queue = device.gpu.queue(lane as usize);
        match queue.and_then(|queue| queue.submit_script(played, &mut memories, &needs.waits, profile)) {
            Ok(submitted) => {
                self.filled(buffers);
                // First, so that it is not swept up as complete.
                if let Some(same) = same {
                    graph.repeated(same.mark, submitted.point, false);
                }
                graph.commit(&batch, submitted.point);
                if let (None, Some(slot)) = (same, slot) {
                    let waited = !needs.waits.is_empty();
                    *slot = self.same_reads(graph, lane, (buffers, !others), (submitted.point, waited));
                }
                Ok(submitted)
            }
            Err(error) => {
                graph.roll_back(&batch);
                Err(error.into())
            }
        }
    }

    /// Puts the reads of certain places in force once more, as a piece of work of their own that can be repeated: of buffers that
    /// no other has bytes in common with, and that are not written here, so that nothing but these reads is about their memories.
    fn same_reads<B: Borrow<Arc<BufferInner>>>(
        &self,
        graph: &mut Graph,
        lane: u32,
        (buffers, among): (&[B], u64),
        (point, waited): (Point, bool),
    ) -> Option<SameReads> {
        let mut places = 0;
        for place in self.touches.iter().map(|(place, _)| *place).filter(|place| is_in(among, *place)) {
            let is_written = self.touches.iter().any(|(of, touch)| *of == place && touch.writes);
            if !is_written && !buffers[place as usize].borrow().stands_alone() {
                places |= 1 << place;
            }
        }
        if places == 0 {
            return None;
        }
        let mut batch = graph.begin(lane);
        let reads = self.touches_of(buffers, |place| is_in(places, place));
        // What they have to come after, the run came after.
        let _ = graph.add_all(&mut batch, &self.label, Stage::Compute, reads);
        let mark = graph.commit_repeatable(&batch, point, waited)?;
        Some(SameReads { mark, places })
    }

    /// Notes that what is certainly written as a whole needs no zeros any more.
    fn filled<B: Borrow<Arc<BufferInner>>>(&self, buffers: &[B]) {
        let all = self.bound.iter().filter(|(_, all)| *all);
        all.for_each(|(place, _)| buffers[*place as usize].borrow().filled());
    }

    /// The recording that starts with a barrier.
    #[inline]
    fn tape<'a, B: Borrow<Arc<BufferInner>>>(
        &self,
        device: &Device,
        graph: &mut Graph,
        lane: u32,
        barrier: Option<Barrier>,
        (buffers, take): (&[B], &'a mut TakeState),
    ) -> Result<&'a Arc<Tape>, Error> {
        let slot = slot(barrier);
        let tape = match take.tapes[slot].take() {
            Some(tape) => tape,
            None => {
                let mut memories = Resources::new();
                self.memories(buffers, graph, &mut memories)?;
                let queue = device.gpu.queue(lane as usize)?;
                let pushes = take.own.as_ref();
                let played = Played { script: &self.script, first: barrier, pushes };
                Arc::new(queue.record_script(played, &mut memories)?)
            }
        };
        Ok(take.tapes[slot].insert(tape))
    }
}

/// Where the recording is that starts with a barrier.
#[inline]
fn slot(barrier: Option<Barrier>) -> usize {
    match barrier {
        None => 0,
        Some(Barrier::ComputeToCompute) => 1,
        Some(Barrier::TransferToCompute) => 2,
        Some(_) => 3,
    }
}

/// Adds an access to others: those of the same bytes become one.
fn merge(touches: &mut SmallVec<[(u32, Touch); 8]>, place: u32, touch: &Touch) {
    let same = |(_, known): &&mut (u32, Touch)| known.memory == touch.memory && known.span == touch.span;
    match touches.iter_mut().find(same) {
        Some((_, known)) => {
            known.reads |= touch.reads;
            known.writes |= touch.writes;
        }
        None => touches.push((place, *touch)),
    }
}
