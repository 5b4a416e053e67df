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
    options::fusion::FusionProperties,
    submission::{
        buffer::BufferInner,
        device::Device,
        entry::Entry,
        identity::HandleId,
        request::Request,
        signature::{Given, hash_request},
    },
};

/// How many are kept.
const CAPACITY: usize = 256;

/// How many lists are remembered that ran once. A list is recorded for later when it comes for the second time.
const SEEN: usize = 4096;

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
    pub(crate) fn names(&self, buffer: HandleId) -> bool {
        self.calls.iter().any(|call| call.handles.contains(&buffer))
    }
}

/// One submission of a known list.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) given: Given,
    /// As it would be listed, but for the buffers.
    pub(crate) entry: Entry,
    pub(crate) buffers: SmallVec<[Weak<BufferInner>; 4]>,
    pub(crate) handles: SmallVec<[HandleId; 4]>,
    pub(crate) reads: SmallVec<[OldRead; 4]>,
}

impl Call {
    pub(crate) fn readable(&self) -> bool {
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
    pub(crate) after: Vec<(usize, Range<u32>)>,
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
    pub(crate) fn starting(&mut self, request: &Request, listed: bool, lane: u32) -> Option<Arc<Known>> {
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
    pub(crate) fn departing(&mut self, from: &Known, at: usize, request: &Request) -> Option<Arc<Known>> {
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
        device: &Device,
        entries: &[Entry],
        properties: Option<FusionProperties>,
        routine: Routine,
    ) {
        let Some(calls) = calls(device, entries) else { return };
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

    pub(crate) fn keep(&mut self, mut stays: impl FnMut(&Known) -> bool) -> Vec<Arc<Known>> {
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
fn calls(device: &Device, entries: &[Entry]) -> Option<Vec<Call>> {
    let mut calls = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().enumerate() {
        calls.push(Call {
            given: entry.given.clone()?,
            buffers: entry.buffers.iter().map(Arc::downgrade).collect(),
            handles: entry.buffers.iter().map(|buffer| buffer.handle).collect(),
            entry: Entry { buffers: SmallVec::new(), ..entry.clone() },
            reads: OldRead::of(device, &entries[..number], entry),
        });
    }
    Some(calls)
}
