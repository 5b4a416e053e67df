//! Lists, and single submissions, that were run before on the very same buffers.
//!
//! While a list is recorded it is compared, submission by submission, with lists that are known. As long as one agrees,
//! nothing is built for it: the list only counts how far it has come. If it agrees to the end, what was recorded for the
//! known list is submitted again. If it departs, what it has is built as for any other list.
//!
//! # Guarantees
//! - agreement is of everything that was said: kernels, sizes, constants, and the buffers themselves with their ranges,
//!   uses and properties
//! - whoever observes a list sees what it touches, known or not
//! - nothing here keeps a buffer alive; what was recorded with a buffer goes when the buffer does

use std::{
    hash::{BuildHasher, Hash, Hasher},
    ops::Range,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use ahash::{AHashMap, AHashSet, RandomState};
use smallvec::SmallVec;

use super::routine::{OldRead, Routine};
use crate::{
    api::{
        buffer::BufferInner,
        context::ContextInner,
        fusion::FusionProperties,
        handler::{Request, Size},
        kernel::KernelInner,
    },
    error::Slot,
    jit::{Promote, SpecValue},
    runtime::schedule::{After, Entry, List, Mode, QueueId, Schedule},
    submission::{
        accessor::{Access, Accessor},
        identity::HandleId,
    },
};

/// How many are kept.
const CAPACITY: usize = 256;

/// How many lists are remembered that ran once. A list is recorded for later when it comes for the second time.
const SEEN: usize = 4096;

/// What a submission was asked for, to be compared with later ones. Handles are weak, and keep their addresses from being
/// used again.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    kernel: Weak<KernelInner>,
    size: Size,
    base: [u32; 3],
    spec: SmallVec<[(u32, SpecValue); 1]>,
    push: SmallVec<[u8; 32]>,
    args: SmallVec<[Arg; 4]>,
}

/// An argument.
#[derive(Debug, Clone)]
struct Arg {
    slot: Slot,
    buffer: Weak<BufferInner>,
    version: u64,
    access: Access,
    element: u64,
    offset: u64,
    count: u64,
    promote: Option<Promote>,
}

impl Arg {
    fn of(slot: Slot, accessor: &Accessor) -> Arg {
        let Accessor { buffer, access, element, offset, count, promote } = accessor;
        Arg {
            slot,
            buffer: Arc::downgrade(buffer),
            version: buffer.version(),
            access: *access,
            element: *element,
            offset: *offset,
            count: *count,
            promote: *promote,
        }
    }

    fn is(&self, slot: Slot, accessor: &Accessor) -> bool {
        let Accessor { buffer, access, element, offset, count, promote } = accessor;
        std::ptr::eq(self.buffer.as_ptr(), Arc::as_ptr(buffer))
            && self.offset == *offset
            && self.count == *count
            && self.element == *element
            && self.slot == slot
            && self.access == *access
            && self.promote == *promote
            && self.version == buffer.version()
    }
}

impl Given {
    /// What a request that was found right asks for; nothing for one that reaches memory by address.
    pub(crate) fn of(request: &Request) -> Option<Given> {
        // Every part of a request is compared, or makes it one that is never known; what it comes after is the list's affair.
        let Request { args, push, spec, dispatch, base, launch, after: _, uses, mistake } = request;
        let (kernel, size) = dispatch.as_ref()?;
        (uses.is_empty() && launch.is_none() && mistake.is_none()).then(|| Given {
            kernel: Arc::downgrade(&kernel.inner),
            size: *size,
            base: *base,
            spec: spec.iter().copied().collect(),
            push: push.clone(),
            args: args.iter().map(|(slot, accessor)| Arg::of(*slot, accessor)).collect(),
        })
    }

    /// Whether a request asks for the same. Waits for events are not looked at.
    fn is(&self, request: &Request) -> bool {
        request.dispatch.as_ref().is_some_and(|(kernel, size)| {
            std::ptr::eq(self.kernel.as_ptr(), Arc::as_ptr(&kernel.inner)) && *size == self.size
        }) && request.base == self.base
            && request.push == self.push
            && request.args.len() == self.args.len()
            && self.args.iter().zip(&request.args).all(|(known, (slot, accessor))| known.is(*slot, accessor))
            && request.uses.is_empty()
            && request.spec.len() == self.spec.len()
            && self.spec.iter().zip(&request.spec).all(|(a, b)| a.0 == b.0 && same_bits(a.1, b.1))
            && request.mistake.is_none()
            && request.launch.is_none()
    }

    fn same(&self, other: &Given) -> bool {
        let args = |a: &Arg, b: &Arg| {
            a.buffer.ptr_eq(&b.buffer)
                && (a.slot, a.access, a.promote) == (b.slot, b.access, b.promote)
                && (a.version, a.element, a.offset, a.count) == (b.version, b.element, b.offset, b.count)
        };
        self.kernel.ptr_eq(&other.kernel)
            && (self.size, self.base, &self.push) == (other.size, other.base, &other.push)
            && self.args.len() == other.args.len()
            && self.args.iter().zip(&other.args).all(|(a, b)| args(a, b))
            && self.spec.len() == other.spec.len()
            && self.spec.iter().zip(&other.spec).all(|(a, b)| a.0 == b.0 && same_bits(a.1, b.1))
    }

    fn hash(&self, hasher: &mut impl Hasher) {
        hasher.write_usize(self.kernel.as_ptr().addr());
        hasher.write(&self.push);
        for arg in &self.args {
            hasher.write_usize(arg.buffer.as_ptr().addr());
            hasher.write_u64(arg.offset);
        }
    }
}

/// Hashes a request as [`Given::hash`] does.
fn hash_request(request: &Request, hasher: &mut impl Hasher) {
    if let Some((kernel, _)) = &request.dispatch {
        hasher.write_usize(Arc::as_ptr(&kernel.inner).addr());
    }
    hasher.write(&request.push);
    for (_, accessor) in &request.args {
        hasher.write_usize(Arc::as_ptr(&accessor.buffer).addr());
        hasher.write_u64(accessor.offset);
    }
}

/// Equality of constants by their bits: 0 and -0 are two.
fn same_bits(a: SpecValue, b: SpecValue) -> bool {
    match (a, b) {
        (SpecValue::F32(a), SpecValue::F32(b)) => a.to_bits() == b.to_bits(),
        (SpecValue::F64(a), SpecValue::F64(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}

/// A list, or a submission outside fusion mode, that can be run again as it was.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) calls: Vec<Call>,
    /// How the list was completed; nothing for a submission outside fusion mode.
    pub(crate) properties: Option<FusionProperties>,
    pub(crate) routine: Routine,
    used: AtomicU64,
}

impl Known {
    fn names(&self, buffer: HandleId) -> bool {
        self.calls.iter().any(|call| call.handles.contains(&buffer))
    }
}

/// One submission of a known list.
#[derive(Debug)]
pub(crate) struct Call {
    given: Given,
    /// As it would be listed, but for the buffers.
    entry: Entry,
    buffers: SmallVec<[Weak<BufferInner>; 4]>,
    handles: SmallVec<[HandleId; 4]>,
    reads: SmallVec<[OldRead; 4]>,
}

impl Call {
    fn readable(&self) -> bool {
        self.reads.iter().all(OldRead::is_readable)
    }
}

/// A list's way along a known one.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) known: Arc<Known>,
    /// How many submissions agreed so far.
    pub(crate) at: usize,
    /// The buffers of those.
    pub(crate) held: SmallVec<[Arc<BufferInner>; 12]>,
    /// Which of those were told to come after which.
    after: Vec<(usize, Range<u32>)>,
}

impl Followed {
    /// What the submissions so far touch.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.known.calls[..self.at].iter().map(|call| &call.entry)
    }
}

/// The known lists of a context.
#[derive(Debug, Default)]
pub(crate) struct KnownLists {
    /// By the hash of their first submission.
    kept: AHashMap<u64, SmallVec<[Arc<Known>; 2]>>,
    count: usize,
    seen: AHashSet<u64>,
    now: u64,
    hasher: RandomState,
}

impl KnownLists {
    /// A known list that starts with the request.
    fn starting(&mut self, request: &Request, listed: bool, lane: u32) -> Option<Arc<Known>> {
        let mut hasher = self.hasher.build_hasher();
        listed.hash(&mut hasher);
        hash_request(request, &mut hasher);
        let known = self.kept.get(&hasher.finish())?.iter().find(|known| {
            known.properties.is_some() == listed
                && known.routine.replay.lane == lane
                && known.calls[0].given.is(request)
        })?;
        let known = known.clone();
        self.used(&known);
        Some(known)
    }

    /// Another known list that agrees with the first `at` submissions of one and goes on with the request.
    fn departing(&mut self, from: &Known, at: usize, request: &Request) -> Option<Arc<Known>> {
        let hash = self.first(&from.calls[0].given, true);
        let known = self.kept.get(&hash)?.iter().find(|known| {
            known.properties.is_some()
                && known.routine.replay.lane == from.routine.replay.lane
                && known.calls.get(at).is_some_and(|call| call.given.is(request))
                && known.calls.iter().zip(&from.calls[..at]).all(|(a, b)| a.given.same(&b.given))
        })?;
        let known = known.clone();
        self.used(&known);
        Some(known)
    }

    fn first(&self, given: &Given, listed: bool) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        listed.hash(&mut hasher);
        given.hash(&mut hasher);
        hasher.finish()
    }

    /// Notes that a list was run. Whether it was before, so that it is worth being known. Lists that reach memory by
    /// address never are.
    pub(crate) fn seen(&mut self, entries: &[Entry], listed: bool) -> bool {
        let mut hasher = self.hasher.build_hasher();
        listed.hash(&mut hasher);
        for entry in entries {
            let Some(given) = &entry.given else { return false };
            given.hash(&mut hasher);
        }
        if self.seen.len() >= SEEN {
            self.seen.clear();
        }
        !self.seen.insert(hasher.finish())
    }

    /// Keeps a list.
    pub(crate) fn put(
        &mut self,
        context: &ContextInner,
        entries: &[Entry],
        properties: Option<FusionProperties>,
        routine: Routine,
    ) {
        let Some(calls) = calls(context, entries) else { return };
        let Some(first) = calls.first() else { return };
        let hash = self.first(&first.given, properties.is_some());
        let same = |known: &Arc<Known>| {
            known.properties == properties
                && known.routine.replay.lane == routine.replay.lane
                && known.calls.len() == calls.len()
                && known.calls.iter().zip(&calls).all(|(a, b)| a.given.same(&b.given))
        };
        let all = self.kept.entry(hash).or_default();
        let before = all.len();
        all.retain(|known| !same(known));
        self.count -= before - all.len();
        for buffer in entries.iter().flat_map(|entry| &entry.buffers) {
            buffer.known.store(true, std::sync::atomic::Ordering::Release);
        }
        self.now += 1;
        // The latest comes first: of several that agree so far it is the likeliest.
        all.insert(0, Arc::new(Known { calls, properties, routine, used: AtomicU64::new(self.now) }));
        self.count += 1;
        if self.count > CAPACITY {
            let oldest = self.kept.values().flatten().map(|known| known.used.load(Relaxed)).min();
            drop(self.keep(|known| Some(known.used.load(Relaxed)) != oldest));
        }
    }

    /// Notes that a list is of use.
    pub(crate) fn used(&mut self, known: &Known) {
        self.now += 1;
        known.used.store(self.now, Relaxed);
    }

    /// Takes out everything, to be dropped where no lock is held.
    #[must_use]
    pub(crate) fn clear(&mut self) -> Vec<Arc<Known>> {
        self.seen.clear();
        self.keep(|_| false)
    }

    fn keep(&mut self, mut stays: impl FnMut(&Known) -> bool) -> Vec<Arc<Known>> {
        let mut gone = Vec::new();
        self.kept.retain(|_, all| {
            all.retain(|known| {
                let stays = stays(known);
                if !stays {
                    gone.push(known.clone());
                }
                stays
            });
            !all.is_empty()
        });
        self.count -= gone.len();
        gone
    }
}

/// The submissions of a list, to be compared with.
fn calls(context: &ContextInner, entries: &[Entry]) -> Option<Vec<Call>> {
    let mut calls = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().enumerate() {
        calls.push(Call {
            given: entry.given.clone()?,
            buffers: entry.buffers.iter().map(Arc::downgrade).collect(),
            handles: entry.buffers.iter().map(|buffer| buffer.handle).collect(),
            entry: Entry { buffers: SmallVec::new(), ..entry.clone() },
            reads: OldRead::of(context, &entries[..number], entry),
        });
    }
    Some(calls)
}

impl List {
    /// Whether a known list agrees with everything so far and with the request. Then the list follows that one.
    fn agrees(
        &mut self,
        lists: &mut KnownLists,
        expected: Option<&Arc<Known>>,
        request: &Request,
        lane: u32,
    ) -> bool {
        // What it comes after besides has to be in this list, where it says nothing new.
        if !self.entries.is_empty()
            || !request.after.iter().all(|event| Arc::ptr_eq(&event.inner, &self.completion))
        {
            return false;
        }
        if let Some(followed) = &mut self.followed {
            let (known, at) = (&followed.known, followed.at);
            if known.calls.get(at).is_some_and(|call| call.given.is(request)) {
                return true;
            }
            let other = lists.departing(known, at, request);
            return other.map(|other| followed.known = other).is_some();
        }
        let fits =
            |known: &&Arc<Known>| known.routine.replay.lane == lane && known.calls[0].given.is(request);
        let known = expected.filter(fits).cloned().or_else(|| lists.starting(request, true, lane));
        self.followed =
            known.map(|known| Followed { known, at: 0, held: SmallVec::new(), after: Vec::new() });
        self.followed.is_some()
    }

    /// Builds what was only counted: afterwards the list follows nothing.
    pub(crate) fn unfold(&mut self) {
        let Some(followed) = self.followed.take() else { return };
        let calls = followed.known.calls[..followed.at].iter();
        // The buffers are all there: they are held.
        self.entries.extend(calls.map(|call| Entry {
            buffers: call.buffers.iter().filter_map(Weak::upgrade).collect(),
            after: After::default(),
            ..call.entry.clone()
        }));
        for (place, after) in followed.after {
            self.entries[place].after.listed.push(after);
        }
    }
}

impl Schedule {
    /// Lists a request on a queue in fusion mode by following a known list. `contents` counts changes of contents.
    pub(crate) fn follow(&mut self, queue: QueueId, request: &mut Request, contents: u64) -> bool {
        let quiet = self.quiet(queue);
        let Some(state) = self.queues.get_mut(&queue) else { return false };
        let Mode::Recording(list) = &mut state.mode else { return false };
        if state.profiling || !list.agrees(&mut self.known, state.expected.as_ref(), request, state.lane) {
            return false;
        }
        let Some(followed) = &mut list.followed else { return false };
        let call = &followed.known.calls[followed.at];
        if !followed.known.routine.settled(contents) && !call.readable() {
            return false;
        }
        if !quiet {
            // Found again below, because others have to be looked at.
            let (known, at) = (followed.known.clone(), followed.at);
            if self.in_the_way(&known.calls[at].entry.touches, queue) {
                return false;
            }
        }
        let Some(Mode::Recording(list)) = self.queues.get_mut(&queue).map(|state| &mut state.mode) else {
            return false;
        };
        if let Some(followed) = &mut list.followed {
            let after = request.after.iter().map(|event| (followed.at, event.of.clone()));
            followed.after.extend(after);
            followed.at += 1;
            followed.held.extend(request.args.drain(..).map(|(_, accessor)| accessor.buffer));
        }
        true
    }

    /// What is known of a request outside fusion mode, if that can be run again now.
    pub(crate) fn known_submission(
        &mut self,
        queue: QueueId,
        request: &Request,
        contents: u64,
    ) -> Option<Arc<Known>> {
        let state = self.queues.get(&queue)?;
        if !matches!(state.mode, Mode::Direct) || state.profiling || !request.after.is_empty() {
            return None;
        }
        let known = self.known.starting(request, false, state.lane)?;
        let call = &known.calls[0];
        let ready = (known.routine.settled(contents) || call.readable())
            && (self.quiet(queue) || !self.in_the_way(&call.entry.touches, queue));
        ready.then_some(known)
    }

    /// The known list that a queue's list is, if that is complete and completed in the same way.
    pub(crate) fn known_list(&self, queue: QueueId, properties: &FusionProperties) -> Option<Arc<Known>> {
        let Mode::Recording(list) = &self.queues.get(&queue)?.mode else { return None };
        let Followed { known, at, .. } = list.followed.as_ref()?;
        let whole = *at == known.calls.len() && list.entries.is_empty();
        (whole && known.properties.as_ref() == Some(properties)).then(|| known.clone())
    }

    /// Takes out everything known, to be dropped where no lock is held.
    #[must_use]
    pub(crate) fn forget_all(&mut self) -> Vec<Arc<Known>> {
        self.queues.values_mut().for_each(|state| state.expected = None);
        self.known.clear()
    }

    /// Takes out what names a buffer, to be dropped where no lock is held.
    #[must_use]
    pub(crate) fn forget(&mut self, buffer: HandleId) -> Vec<Arc<Known>> {
        let names = |known: &Arc<Known>| known.names(buffer);
        for state in self.queues.values_mut() {
            state.expected = state.expected.take().filter(|known| !names(known));
        }
        self.known.keep(|known| !known.names(buffer))
    }
}
