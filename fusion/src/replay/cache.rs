//! Graphs of lists, and of single submissions, that came before, by their signatures.
//!
//! # Guarantees
//! - what is found agrees in everything that was said: the whole signature; a hash only finds candidates. Of push constants,
//!   those that the plan takes for numbers, and which arguments are equal ([`PushFlow::holds_with`]): the others are passed on
//! - nothing here keeps a buffer alive without a handle of the user's; what was recorded with a buffer goes when the buffer does

use std::{
    hash::{BuildHasher, Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;

use super::{exec::GraphExec, graph::Graph, predicted::Prediction};
use crate::{
    jit::{PushFlow, SetBinding},
    submission::{
        accessor::Accessor,
        identity::{ByNumber, HandleId},
        kernel::KernelId,
        signature::{Asked, Buffers, Signature},
    },
};
use ahash::{AHashMap, AHashSet, RandomState};

/// How many are kept.
const CAPACITY: usize = 256;

/// One of this many launches of a watched graph is timed.
const UNWATCHED: u32 = 32;

/// On how many sets of buffers a graph has executables.
const EXECS: usize = 4;

/// How many lists are remembered that ran once. A list is worth a graph when it comes for the second time.
const SEEN: usize = 4096;

/// The graph of a list, or of a submission outside fusion mode, which is found by its signature.
#[derive(Debug)]
pub(crate) struct CachedGraph {
    pub(crate) signature: Signature,
    pub(crate) graph: Graph,
    execs: Mutex<Execs>,
    /// When it was of use last. A store is all that a list costs here; the one that goes is looked for where one is put.
    /// An order of lists (`lru`) would be a second map of them beside that by hash, and a look-up in it for each list.
    used: AtomicU64,
    /// Launches since it was timed, where it is to be timed now and then.
    pub(crate) watched: Option<AtomicU32>,
}

/// The executables of a graph.
#[derive(Debug, Default)]
struct Execs {
    /// The latest first.
    all: Vec<Arc<GraphExec>>,
    /// Hashes of the latest buffers without an executable, the last at `latest`. Buffers are worth one when they come for the
    /// second time, and not where more of them take turns than there is room for.
    once: [u64; EXECS],
    latest: usize,
}

impl CachedGraph {
    /// A graph by its signature. One that is watched is timed now and then.
    pub(crate) fn new(signature: Signature, graph: Graph, is_watched: bool) -> CachedGraph {
        let (execs, used) = (Mutex::default(), AtomicU64::new(0));
        CachedGraph { signature, graph, execs, used, watched: is_watched.then(AtomicU32::default) }
    }

    /// Whether the next run is to be planned, and timed.
    pub(crate) fn is_due(&self) -> bool {
        self.watched.as_ref().is_some_and(|runs| runs.fetch_add(1, Relaxed) % UNWATCHED == UNWATCHED - 1)
    }

    /// Whether push constants of the submission at a place will do as its own.
    fn takes(&self, at: usize, push: &[u8]) -> bool {
        self.signature.calls[at].push.len() == push.len() && self.graph.takes(at, push)
    }

    /// Whether it goes on as the request does, after those before with these buffers.
    pub(super) fn goes_on(&self, at: usize, buffers: &Buffers, asked: Asked<'_, '_>) -> bool {
        self.signature.goes_on(at, buffers, asked, |push| self.takes(at, push))
    }

    /// As [`CachedGraph::goes_on`], on these very buffers, if none has changed since it was launched on them.
    #[inline]
    pub(super) fn repeats(&self, at: usize, buffers: &[HandleId], asked: Asked<'_, '_>) -> bool {
        self.signature.repeats(at, buffers, asked, |push| self.takes(at, push))
    }

    /// The executable on these buffers; nothing where they are new.
    pub(crate) fn exec(&self, buffers: &Buffers) -> Option<Arc<GraphExec>> {
        let Execs { all, once, latest } = &mut *self.execs.lock();
        if let Some(exec) = all.iter().find(|exec| exec.is_of(buffers)) {
            return Some(exec.clone());
        }
        let mut hash = ByNumber::default();
        buffers.iter().for_each(|buffer| buffer.handle.hash(&mut hash));
        if !once.contains(&hash.finish()) {
            *latest = (*latest + 1) % EXECS;
            once[*latest] = hash.finish();
            return None;
        }
        all.truncate(EXECS - 1);
        all.insert(0, Arc::new(GraphExec::new(buffers, true, None)));
        Some(all[0].clone())
    }

    /// An executable in force on the buffers of a request that the list begins with. Without it lists that take turns would compare all their
    /// buffers, which would be an eighth more (`alternating` of `benches/instructions.sh`).
    pub(crate) fn exec_in_force(&self, changes: u64, asked: Asked<'_, '_>) -> Option<Arc<GraphExec>> {
        let first = asked.0.args.first()?.1.buffer.handle;
        let is_it = |exec: &&Arc<GraphExec>| {
            exec.slots.first() == Some(&first)
                && exec.is_in_force(changes)
                && self.repeats(0, &exec.slots, asked)
        };
        self.execs.lock().all.iter().find(is_it).cloned()
    }
}

/// The graphs of a context.
#[derive(Debug, Default)]
pub(crate) struct GraphCache {
    /// By the hash of their first submission.
    graphs: AHashMap<u64, Vec<Arc<CachedGraph>>>,
    seen: AHashSet<u64>,
    now: u64,
    hasher: RandomState,
}

impl GraphCache {
    /// One that starts with the request.
    pub(crate) fn starting(&self, asked: Asked<'_, '_>, listed: bool) -> Option<Arc<CachedGraph>> {
        let (request, none) = (asked.0, Buffers::new());
        let (kernel, _) = request.dispatch.as_ref()?;
        let part = |(at, accessor): &(SetBinding, Accessor<'_>)| (*at, accessor.offset, accessor.count);
        let hash = self.first(listed, kernel.id, request.args.iter().map(part));
        self.find(hash, |cached| {
            cached.signature.properties.is_some() == listed && cached.goes_on(0, &none, asked)
        })
    }

    /// Another one that agrees with a list that follows one, so far, and is it.
    pub(crate) fn agreeing(
        &self,
        with: &Prediction,
        is_it: impl Fn(&CachedGraph) -> bool,
    ) -> Option<Arc<CachedGraph>> {
        let Prediction { at, cached: own, .. } = with;
        self.find(self.hash_of(&own.signature)?, |cached| {
            cached.signature.properties.is_some()
                && cached.signature.begins_as(&own.signature, *at)
                && (0..*at).all(|at| cached.takes(at, with.push(at)))
                && is_it(cached)
        })
    }

    fn find(&self, hash: u64, is_it: impl Fn(&CachedGraph) -> bool) -> Option<Arc<CachedGraph>> {
        let cached = self.graphs.get(&hash)?.iter().find(|cached| is_it(cached))?;
        self.used(cached);
        Some(cached.clone())
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

    /// Notes that a list was run as planned. Whether it was before, so that it is worth a graph.
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

    /// Keeps the graph of a list that ran on these buffers.
    pub(crate) fn put(&mut self, cached: CachedGraph, buffers: &Buffers) {
        // One that stands for itself takes the graph with it.
        let own = buffers.iter().filter(|buffer| buffer.stands_alone());
        own.for_each(|buffer| buffer.make_known());
        let signature = &cached.signature;
        let Some(hash) = self.hash_of(signature) else { return };
        let all = self.graphs.entry(hash).or_default();
        let (calls, properties) = (&signature.calls, signature.properties.as_ref());
        all.retain(|other| {
            !(other.signature.ends(calls.len(), properties)
                && other.signature.begins_as(signature, calls.len())
                && (0..calls.len()).all(|at| other.takes(at, &calls[at].push))
                && other.graph.holds_with(|at| &calls[at].push))
        });
        self.now += 1;
        cached.used.store(self.now, Relaxed);
        // The latest comes first: of several that agree so far it is the likeliest.
        all.insert(0, Arc::new(cached));
        let used = || self.graphs.values().flatten().map(|cached| cached.used.load(Relaxed));
        if used().count() > CAPACITY {
            let mut oldest = used().min();
            drop(self.keep(|cached| oldest.take_if(|used| *used == cached.used.load(Relaxed)).is_none()));
        }
    }

    /// Notes that a graph is of use. The time is counted in graphs that were put here: mostly there is nothing to write.
    pub(crate) fn used(&self, cached: &CachedGraph) {
        if cached.used.load(Relaxed) != self.now {
            cached.used.store(self.now, Relaxed);
        }
    }

    /// Takes out all graphs.
    #[must_use]
    pub(crate) fn clear(&mut self) -> Vec<Arc<CachedGraph>> {
        self.seen.clear();
        self.keep(|_| false)
    }

    /// Takes out what is about a buffer.
    #[must_use]
    pub(crate) fn forget(&mut self, buffer: HandleId) -> (Vec<Arc<CachedGraph>>, Vec<Arc<GraphExec>>) {
        let graphs = self.keep(|cached| cached.signature.views.iter().all(|view| view.only != Some(buffer)));
        let mut execs = Vec::new();
        for cached in self.graphs.values().flatten() {
            execs.extend(cached.execs.lock().all.extract_if(.., |exec| exec.slots.contains(&buffer)));
        }
        (graphs, execs)
    }

    fn keep(&mut self, mut stays: impl FnMut(&CachedGraph) -> bool) -> Vec<Arc<CachedGraph>> {
        let mut gone = Vec::new();
        self.graphs.retain(|_, all| {
            gone.extend(all.extract_if(.., |cached| !stays(cached)));
            !all.is_empty()
        });
        gone
    }
}

#[cfg(test)]
mod tests;
