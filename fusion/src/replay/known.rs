//! Lists, and single submissions, that were run before, on whatever buffers.
//!
//! While a list is recorded it is compared, submission by submission, with lists that are known. As long as one agrees,
//! nothing is built for it: the list only counts how far it has come, and holds its buffers. If it agrees to the end, what
//! is known is run on those. If it departs, what it has is built as for any other list.
//!
//! # Guarantees
//! - agreement is of everything that was said: the whole signature, of which a hash only finds candidates. Of push constants,
//!   those that the plan takes for numbers, and which arguments are equal ([`PushFlow::holds_with`]): the others are passed on
//! - anyone who observes a list sees what it touches, known or not
//! - nothing here keeps a buffer alive of which the user has no handle; what was recorded with a buffer goes when the buffer does

use std::{
    hash::{BuildHasher, Hash, Hasher},
    mem,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

use ahash::{AHashMap, AHashSet, RandomState};
use smallvec::SmallVec;

use super::{recorded::Take, routine::Routine, structure::Structure};
use crate::{
    jit::{PushFlow, SetBinding},
    options::fusion::FusionProperties,
    submission::{
        accessor::Accessor,
        graph::{Graph, Touch},
        identity::{ByNumber, HandleId},
        kernel::KernelId,
        request::Request,
        signature::{Buffers, Signature, same_bytes},
    },
    vk::{Key, KeyId, Pushes, Under},
};

/// How many are kept.
const CAPACITY: usize = 256;

/// Runs of a list that is watched, of which one is timed.
const UNWATCHED: u32 = 32;

/// On how many sets of buffers a list is recorded.
const TAKES: usize = 4;

/// How many lists are remembered that ran once. A list is worth being known when it comes for the second time.
const SEEN: usize = 4096;

/// A list, or a submission outside fusion mode, that can be run again on any buffers.
#[derive(Debug)]
pub(crate) struct Known {
    key: KeyId,
    pub(crate) signature: Signature,
    pub(crate) structure: Structure,
    pub(crate) routine: Routine,
    /// Which push constants it is for besides its own.
    flow: Arc<PushFlow>,
    takes: Under<Takes>,
    /// When it was of use last. A store is all that a list costs here; the one that goes is looked for where one is put.
    /// An order of lists (`lru`) would be a second map of them beside that by hash, and a look-up in it for each list.
    used: AtomicU64,
    /// Runs since it was timed, where it is to be timed now and then.
    watched: Option<AtomicU32>,
}

/// What is known of runs on certain buffers.
#[derive(Debug, Default)]
struct Takes {
    /// The latest first.
    all: SmallVec<[Arc<Take>; TAKES]>,
    /// Hashes of the latest buffers of which there is none, the last at `latest`. Buffers are worth one when they come for the
    /// second time, and not where more of them take turns than there is room for.
    once: [u64; TAKES],
    latest: usize,
}

impl Known {
    pub(crate) fn new(
        key: KeyId,
        signature: Signature,
        structure: Structure,
        routine: Routine,
        flow: Arc<PushFlow>,
    ) -> Known {
        let takes = Under::new(key, Takes::default());
        let (used, watched) = (AtomicU64::new(0), None);
        Known { key, signature, structure, routine, flow, takes, used, watched }
    }

    /// The same, which is to be timed now and then.
    pub(crate) fn watched(self, is_watched: bool) -> Known {
        Known { watched: is_watched.then(AtomicU32::default), ..self }
    }

    /// Whether the next run is to go the long way, and be timed.
    pub(crate) fn is_due(&self) -> bool {
        self.watched.as_ref().is_some_and(|runs| runs.fetch_add(1, Relaxed) % UNWATCHED == UNWATCHED - 1)
    }

    /// Whether no run of it is ever to be timed.
    pub(crate) fn is_never_due(&self) -> bool {
        self.watched.is_none()
    }

    /// Whether push constants of the submission at a place are numbers to the plan as its own are.
    fn will_do(&self, at: usize, push: &[u8]) -> bool {
        let own = &self.signature.calls[at].push;
        let used = self.structure.push(at).len();
        own.len() == push.len() && self.flow.numbers_hold(at, &own[..used], &push[..used])
    }

    /// Whether it is the run of a list that differs from its own in push constants alone, which are these.
    pub(crate) fn holds_with<'a>(&self, asked: impl Fn(usize) -> &'a [u8]) -> bool {
        self.flow.holds_with(|at| self.structure.push(at), |at| self.used(at, &asked))
    }

    /// What its dispatches are passed, where its submissions are passed this.
    pub(crate) fn passes<'a>(&self, asked: impl Fn(usize) -> &'a [u8]) -> Pushes {
        self.flow.pushes(|at| self.used(at, &asked)).collect()
    }

    /// The push constants that a kernel takes, of those that were given.
    fn used<'a>(&self, at: usize, asked: impl Fn(usize) -> &'a [u8]) -> &'a [u8] {
        &asked(at)[..self.structure.push(at).len()]
    }

    /// Whether it is the run of a list, whose push constants are these.
    fn is_run_of<'a>(&self, signature: &Signature, asked: impl Fn(usize) -> &'a [u8]) -> bool {
        self.signature.is_but_for_push(signature)
            && self.signature.calls.iter().enumerate().all(|(at, own)| own.push.len() == asked(at).len())
            && self.holds_with(asked)
    }

    /// Whether it goes on as the request does, after those before with these buffers.
    pub(crate) fn goes_on(
        &self,
        at: usize,
        buffers: &Buffers,
        request: &Request<'_>,
        graph: Option<&Graph>,
    ) -> bool {
        self.signature.goes_on(at, buffers, (request, graph), |push| self.will_do(at, push))
    }

    /// As [`Known::goes_on`], on these very buffers, none of which has changed since it was run on them.
    #[inline]
    fn repeats(&self, at: usize, buffers: &[HandleId], request: &Request<'_>, graph: Option<&Graph>) -> bool {
        self.signature.repeats(at, buffers, (request, graph), |push| self.will_do(at, push))
    }

    /// What is known of the runs on these buffers; nothing where they are new.
    pub(crate) fn take(&self, key: &mut Key, buffers: &Buffers) -> Option<Arc<Take>> {
        let Takes { all, once, latest } = self.takes.get(key);
        if let Some(take) = all.iter().find(|take| take.is_of(buffers)) {
            return Some(take.clone());
        }
        let mut hash = ByNumber::default();
        buffers.iter().for_each(|buffer| buffer.handle.hash(&mut hash));
        if !once.contains(&hash.finish()) {
            *latest = (*latest + 1) % TAKES;
            once[*latest] = hash.finish();
            return None;
        }
        all.truncate(TAKES - 1);
        all.insert(0, Arc::new(Take::of(self.key, buffers, true)));
        Some(all[0].clone())
    }

    /// A run in force on the buffers of a request that the list begins with.
    pub(crate) fn take_in_force(
        &self,
        key: &mut Key,
        changes: u64,
        request: &Request<'_>,
        graph: Option<&Graph>,
    ) -> Option<Arc<Take>> {
        let takes = self.takes.get(key);
        let first = request.args.first()?.1.buffer.handle;
        let is_it = |take: &&Arc<Take>| {
            take.buffers.first() == Some(&first)
                && take.is_in_force(changes)
                && self.repeats(0, &take.buffers, request, graph)
        };
        takes.all.iter().find(is_it).cloned()
    }

    /// Takes out what is known of runs on a buffer.
    fn forget(&self, key: &mut Key, buffer: HandleId, gone: &mut Vec<Arc<Take>>) {
        self.takes.get(key).all.retain(|take| {
            let names = take.buffers.contains(&buffer);
            if names {
                gone.push(take.clone());
            }
            !names
        });
    }
}

/// What was taken out, to be dropped where no lock is held.
pub(crate) type Gone = (Vec<Arc<Known>>, Vec<Arc<Take>>, Vec<Followed>);

/// A list's way along a known one. At its start it is a list that is likely to come next.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) known: Arc<Known>,
    /// A run on the buffers so far that was in force at each submission.
    pub(crate) take: Option<Arc<Take>>,
    /// How many submissions agreed so far.
    pub(crate) at: usize,
    /// The buffers of those; of the whole run, where it is ahead.
    pub(crate) buffers: Buffers,
    /// Whether it has the buffers of all of the run that it repeats so far.
    ahead: bool,
    /// The push constants of those that have others than the known list.
    pub(crate) pushes: Vec<(usize, SmallVec<[u8; 32]>)>,
    /// Which of those were asked to come after which.
    pub(crate) after: Vec<(usize, Range<u32>)>,
}

impl Followed {
    pub(crate) fn new(known: Arc<Known>, take: Option<Arc<Take>>) -> Followed {
        let (buffers, pushes, after) = (Buffers::new(), Vec::new(), Vec::new());
        Followed { known, take, at: 0, buffers, ahead: false, pushes, after }
    }

    /// Is at its start once more, as what a queue expects; after a run on buffers of which something is known, it repeats that. Those it
    /// keeps as long as the user has handles of all of them, so that a list that repeats the run need not count them. Returns what it does not keep.
    #[inline]
    pub(crate) fn starts_over(&mut self, take: Option<Arc<Take>>) -> Buffers {
        self.take = take;
        self.at = 0;
        self.pushes.clear();
        self.after.clear();
        self.ahead = self.take.is_some() && self.buffers.iter().all(|buffer| buffer.may_be_kept());
        if self.ahead { Buffers::new() } else { mem::take(&mut self.buffers) }
    }

    /// Repeats no run any more: it has the buffers of the submissions so far, and no others.
    pub(crate) fn falls_behind(&mut self) {
        self.take = None;
        if mem::take(&mut self.ahead) {
            self.buffers.truncate(self.known.signature.met(self.at));
        }
    }

    /// Counts a request that agrees, and has its buffers.
    #[inline]
    pub(crate) fn count(&mut self, request: &mut Request<'_>) {
        if !same_bytes(&request.push, &self.known.signature.calls[self.at].push) {
            self.pushes.push((self.at, mem::take(&mut request.push)));
        }
        if !self.ahead {
            self.known.signature.meet(self.at, &mut self.buffers, request.args.drain(..));
        }
        self.at += 1;
    }

    /// The push constants of a submission.
    pub(crate) fn asked(&self, at: usize) -> &[u8] {
        let other = self.pushes.iter().find(|(place, _)| *place == at);
        other.map_or(&self.known.signature.calls[at].push, |(_, push)| push)
    }

    /// Whether the plan of the known list is that of this one, which is whole.
    pub(crate) fn passes_on(&self) -> bool {
        self.pushes.is_empty() || self.known.holds_with(|at| self.asked(at))
    }

    /// What the dispatches are passed, if it is not what those of the known list are.
    pub(crate) fn passes(&self) -> Option<Pushes> {
        (!self.pushes.is_empty()).then(|| self.known.passes(|at| self.asked(at)))
    }

    /// Whether the list goes on with the request as the run does, which is in force up to a count of changes: then all that
    /// the request names is as it was, and what it reads is readable.
    #[inline]
    pub(crate) fn repeats(&self, changes: u64, request: &Request<'_>, graph: Option<&Graph>) -> bool {
        self.take.as_ref().is_some_and(|take| {
            take.is_in_force(changes) && self.known.repeats(self.at, &take.buffers, request, graph)
        })
    }

    /// What the submissions so far touch.
    pub(crate) fn touches(&self) -> impl Iterator<Item = Touch> + '_ {
        let Followed { known, at, buffers, .. } = self;
        (0..*at).flat_map(move |at| known.structure.touches(at, move |place| &*buffers[place]))
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
    pub(crate) fn starting(
        &mut self,
        request: &Request<'_>,
        listed: bool,
        graph: Option<&Graph>,
    ) -> Option<Arc<Known>> {
        let (kernel, _) = request.dispatch.as_ref()?;
        let part = |(at, accessor): &(SetBinding, Accessor<'_>)| (*at, accessor.offset, accessor.count);
        let hash = self.first(listed, kernel.id, request.args.iter().map(part));
        let none = Buffers::new();
        let known = self.kept.get(&hash)?.iter().find(|known| {
            known.signature.properties.is_some() == listed && known.goes_on(0, &none, request, graph)
        })?;
        let known = known.clone();
        self.used(&known);
        Some(known)
    }

    /// Another known list that agrees with the first `at` submissions of one, on these buffers, and goes on with the
    /// request.
    pub(crate) fn departing(
        &mut self,
        from: &Followed,
        request: &Request<'_>,
        graph: Option<&Graph>,
    ) -> Option<Arc<Known>> {
        let Followed { at, buffers, .. } = from;
        let hash = self.hash_of(&from.known.signature)?;
        let known = self.kept.get(&hash)?.iter().find(|known| {
            known.signature.properties.is_some()
                && known.signature.begins_as(&from.known.signature, *at)
                && (0..*at).all(|at| known.will_do(at, from.asked(at)))
                && known.goes_on(*at, buffers, request, graph)
        })?;
        let known = known.clone();
        self.used(&known);
        Some(known)
    }

    /// Another known list that is the whole of what follows one, where the same arguments are equal.
    pub(crate) fn instead(&self, of: &Followed) -> Option<Arc<Known>> {
        let hash = self.hash_of(&of.known.signature)?;
        let mut alike = self.kept.get(&hash)?.iter();
        alike.find(|known| known.is_run_of(&of.known.signature, |at| of.asked(at))).cloned()
    }

    /// The known list that ends where one is that follows another, and was completed with these properties.
    pub(crate) fn completed_with(&self, properties: &FusionProperties, of: &Followed) -> Option<Arc<Known>> {
        let signature = &of.known.signature;
        let hash = self.hash_of(signature)?;
        let is_it = |known: &&Arc<Known>| {
            let own = &known.signature;
            let lengths =
                own.calls.iter().enumerate().map(|(at, call)| call.push.len() == of.asked(at).len());
            own.properties.as_ref() == Some(properties)
                && own.calls.len() == of.at
                && own.views.len() == signature.met(of.at)
                && own.begins_as(signature, of.at)
                && { lengths }.all(|is_same| is_same)
                && known.holds_with(|at| of.asked(at))
        };
        self.kept.get(&hash)?.iter().find(is_it).cloned()
    }

    fn hash_of(&self, signature: &Signature) -> Option<u64> {
        let call = signature.calls.first()?;
        let parts = call.args.iter().map(|arg| (arg.at, arg.offset, arg.count));
        Some(self.first(signature.properties.is_some(), call.kernel, parts))
    }

    /// The hash of a first submission, whatever its push constants are.
    fn first(
        &self,
        listed: bool,
        kernel: KernelId,
        args: impl Iterator<Item = (SetBinding, u64, u64)>,
    ) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        (listed, kernel).hash(&mut hasher);
        args.for_each(|part| part.hash(&mut hasher));
        hasher.finish()
    }

    /// Notes that a list was run as planned. Whether it was before, so that it is worth being known.
    pub(crate) fn seen(&mut self, signature: &Signature, flow: &PushFlow) -> bool {
        if self.seen.len() >= SEEN {
            self.seen.clear();
        }
        let mut hasher = self.hasher.build_hasher();
        signature.hash_but_for_push(&mut hasher);
        for (at, call) in signature.calls.iter().enumerate() {
            flow.numbers(at, &call.push).for_each(|number| number.hash(&mut hasher));
        }
        !self.seen.insert(hasher.finish())
    }

    /// Keeps a list that ran on these buffers.
    pub(crate) fn put(&mut self, known: Known, buffers: &Buffers) {
        // One that stands for itself takes the list with it.
        let own = buffers.iter().filter(|buffer| buffer.stands_alone());
        own.for_each(|buffer| buffer.make_known());
        let Some(hash) = self.hash_of(&known.signature) else { return };
        let all = self.kept.entry(hash).or_default();
        let before = all.len();
        let asked = |at: usize| &*known.signature.calls[at].push;
        all.retain(|other| !other.is_run_of(&known.signature, asked));
        self.count -= before - all.len();
        self.now += 1;
        known.used.store(self.now, Relaxed);
        // The latest comes first: of several that agree so far it is the likeliest.
        all.insert(0, Arc::new(known));
        self.count += 1;
        if self.count > CAPACITY {
            let mut oldest = self.kept.values().flatten().map(|known| known.used.load(Relaxed)).min();
            drop(self.keep(|known| oldest.take_if(|used| *used == known.used.load(Relaxed)).is_none()));
        }
    }

    /// Notes that a list is of use. The time is counted in lists that were put here: mostly there is nothing to write.
    pub(crate) fn used(&mut self, known: &Known) {
        if known.used.load(Relaxed) != self.now {
            known.used.store(self.now, Relaxed);
        }
    }

    /// Takes out everything.
    #[must_use]
    pub(crate) fn clear(&mut self) -> Gone {
        self.seen.clear();
        (self.keep(|_| false), Vec::new(), Vec::new())
    }

    /// Takes out what is about a buffer.
    #[must_use]
    pub(crate) fn forget(&mut self, key: &mut Key, buffer: HandleId) -> Gone {
        let lists = self.keep(|known| known.signature.views.iter().all(|view| view.only != Some(buffer)));
        let mut takes = Vec::new();
        self.kept.values().flatten().for_each(|known| known.forget(key, buffer, &mut takes));
        (lists, takes, Vec::new())
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
