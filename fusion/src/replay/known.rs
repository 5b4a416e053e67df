//! Lists, and single submissions, that were run before, on whatever buffers.
//!
//! While a list is recorded it is compared, submission by submission, with lists that are known. As long as one agrees,
//! nothing is built for it: the list only counts how far it has come, and holds its buffers. If it agrees to the end, what
//! is known is run on those. If it departs, what it has is built as for any other list.
//!
//! # Guarantees
//! - agreement is of everything that was said: the whole signature, of which a hash only finds candidates
//! - whoever observes a list sees what it touches, known or not
//! - nothing here keeps a buffer alive; what was recorded with a buffer goes when the buffer does

use std::{
    hash::{BuildHasher, Hash, Hasher},
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use ahash::{AHashMap, AHashSet, RandomState};
use smallvec::SmallVec;

use super::{recorded::Take, routine::Routine, structure::Structure};
use crate::{
    jit::SetBinding,
    submission::{
        accessor::Accessor,
        graph::{Graph, Touch},
        identity::{ByNumber, HandleId},
        kernel::KernelId,
        request::Request,
        signature::{Buffers, Signature},
    },
};

/// How many are kept.
const CAPACITY: usize = 256;

/// On how many sets of buffers a list is recorded.
const TAKES: usize = 4;

/// How many lists are remembered that ran once. A list is worth being known when it comes for the second time.
const SEEN: usize = 4096;

/// A list, or a submission outside fusion mode, that can be run again on any buffers.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) signature: Signature,
    pub(crate) structure: Structure,
    pub(crate) routine: Routine,
    takes: Mutex<Takes>,
    /// When it was of use last. A store is all that a list costs here; the one that goes is looked for where one is put.
    /// An order of lists (`lru`) would be a second map of them beside that by hash, and a look-up in it for each list.
    used: AtomicU64,
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
    pub(crate) fn new(signature: Signature, structure: Structure, routine: Routine) -> Known {
        Known { signature, structure, routine, takes: Mutex::default(), used: AtomicU64::new(0) }
    }

    /// What is known of the runs on these buffers; nothing where they are new.
    pub(crate) fn take(&self, buffers: &Buffers) -> Option<Arc<Take>> {
        let mut takes = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        let Takes { all, once, latest } = &mut *takes;
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
        all.insert(0, Arc::new(Take::of(buffers, true)));
        Some(all[0].clone())
    }

    /// A run in force on the buffers of a request that the list begins with.
    pub(crate) fn take_in_force(&self, changes: u64, request: &Request, graph: &Graph) -> Option<Arc<Take>> {
        let takes = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        let first = request.args.first()?.1.buffer.handle;
        let is_it = |take: &&Arc<Take>| {
            take.buffers.first() == Some(&first)
                && take.is_in_force(changes)
                && self.signature.repeats(0, &take.buffers, request, graph)
        };
        takes.all.iter().find(is_it).cloned()
    }

    /// Takes out what is known of runs on a buffer.
    fn forget(&self, buffer: HandleId, gone: &mut Vec<Arc<Take>>) {
        let mut takes = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        takes.all.retain(|take| {
            let names = take.buffers.contains(&buffer);
            if names {
                gone.push(take.clone());
            }
            !names
        });
    }
}

/// What was taken out, to be dropped where no lock is held.
pub(crate) type Gone = (Vec<Arc<Known>>, Vec<Arc<Take>>);

/// A list's way along a known one.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) known: Arc<Known>,
    /// A run on the buffers so far that was in force at each submission.
    pub(crate) take: Option<Arc<Take>>,
    /// How many submissions agreed so far.
    pub(crate) at: usize,
    /// The buffers of those.
    pub(crate) buffers: Buffers,
    /// Which of those were told to come after which.
    pub(crate) after: Vec<(usize, Range<u32>)>,
}

impl Followed {
    pub(crate) fn new(known: Arc<Known>, take: Option<Arc<Take>>) -> Followed {
        Followed { known, take, at: 0, buffers: Buffers::new(), after: Vec::new() }
    }

    /// Whether the list goes on with the request as the run does, which is in force up to a count of changes: then all that
    /// the request names is as it was, and what it reads is readable.
    pub(crate) fn repeats(&self, changes: u64, request: &Request, graph: &Graph) -> bool {
        self.take.as_ref().is_some_and(|take| {
            take.is_in_force(changes) && self.known.signature.repeats(self.at, &take.buffers, request, graph)
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
    pub(crate) fn starting(&mut self, request: &Request, listed: bool, graph: &Graph) -> Option<Arc<Known>> {
        let (kernel, _) = request.dispatch.as_ref()?;
        let part = |(at, accessor): &(SetBinding, Accessor)| (*at, accessor.offset, accessor.count);
        let hash = self.first(listed, kernel.id, &request.push, request.args.iter().map(part));
        let none = Buffers::new();
        let known = self.kept.get(&hash)?.iter().find(|known| {
            known.signature.properties.is_some() == listed
                && known.signature.goes_on(0, &none, request, graph)
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
        request: &Request,
        graph: &Graph,
    ) -> Option<Arc<Known>> {
        let Followed { known: from, at, buffers, .. } = from;
        let hash = self.hash_of(&from.signature)?;
        let known = self.kept.get(&hash)?.iter().find(|known| {
            known.signature.properties.is_some()
                && known.signature.begins_as(&from.signature, *at)
                && known.signature.goes_on(*at, buffers, request, graph)
        })?;
        let known = known.clone();
        self.used(&known);
        Some(known)
    }

    fn hash_of(&self, signature: &Signature) -> Option<u64> {
        let call = signature.calls.first()?;
        let parts = call.args.iter().map(|arg| (arg.at, arg.offset, arg.count));
        Some(self.first(signature.properties.is_some(), call.kernel, &call.push, parts))
    }

    /// The hash of a first submission.
    fn first(
        &self,
        listed: bool,
        kernel: KernelId,
        push: &[u8],
        args: impl Iterator<Item = (SetBinding, u64, u64)>,
    ) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        (listed, kernel, push).hash(&mut hasher);
        args.for_each(|part| part.hash(&mut hasher));
        hasher.finish()
    }

    /// Notes that a list was run. Whether it was before, so that it is worth being known.
    pub(crate) fn seen(&mut self, signature: &Signature) -> bool {
        if self.seen.len() >= SEEN {
            self.seen.clear();
        }
        !self.seen.insert(self.hasher.hash_one(signature))
    }

    /// Keeps a list that ran on these buffers.
    pub(crate) fn put(&mut self, known: Known, buffers: &Buffers) {
        // One that stands for itself takes the list with it.
        let own = buffers.iter().filter(|buffer| buffer.imported);
        own.for_each(|buffer| buffer.make_known());
        let Some(hash) = self.hash_of(&known.signature) else { return };
        let all = self.kept.entry(hash).or_default();
        let before = all.len();
        all.retain(|other| other.signature != known.signature);
        self.count -= before - all.len();
        self.now += 1;
        known.used.store(self.now, Relaxed);
        // The latest comes first: of several that agree so far it is the likeliest.
        all.insert(0, Arc::new(known));
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

    /// Takes out everything.
    #[must_use]
    pub(crate) fn clear(&mut self) -> Gone {
        self.seen.clear();
        (self.keep(|_| false), Vec::new())
    }

    /// Takes out what is about a buffer.
    #[must_use]
    pub(crate) fn forget(&mut self, buffer: HandleId) -> Gone {
        let lists = self.keep(|known| known.signature.views.iter().all(|view| view.only != Some(buffer)));
        let mut takes = Vec::new();
        self.kept.values().flatten().for_each(|known| known.forget(buffer, &mut takes));
        (lists, takes)
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
