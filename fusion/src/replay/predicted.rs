//! Lists that agree with a graph while they are recorded.
//!
//! A list is compared, submission by submission, with graphs. As long as one agrees, nothing is built for it: the list only counts how far it
//! has come, and holds its buffers. If it agrees to the end, the graph is launched on those. If it departs, what it has is built as for any
//! other list. What observes a list sees what it touches either way.

use std::{mem, ops::Range, sync::Arc};

use smallvec::SmallVec;

use super::{
    cache::{CachedGraph, GraphCache},
    exec::GraphExec,
};
use crate::{
    options::fusion::FusionProperties,
    submission::{
        dependencies::{Dependencies, Touch},
        entry::{After, Entry},
        request::Request,
        signature::{Asked, Buffers, same_bytes},
    },
    vk::Pushes,
};

/// A list's way along a graph. At its start it is a list that is likely to come next.
#[derive(Debug)]
pub(crate) struct Prediction {
    pub(crate) cached: Arc<CachedGraph>,
    /// An executable on the buffers so far that was in force at each submission.
    pub(crate) exec: Option<Arc<GraphExec>>,
    /// How many submissions agreed so far.
    pub(crate) at: usize,
    /// The buffers of those, and of one more that is about to be counted; of the whole list, where it is ahead.
    pub(crate) buffers: Buffers,
    /// Whether it has the buffers of all of the launch that it repeats so far.
    ahead: bool,
    /// The push constants of those that have others than the graph.
    pub(crate) pushes: Vec<(usize, SmallVec<[u8; 32]>)>,
    /// Which of those were asked to come after which.
    pub(crate) after: Vec<(usize, Range<u32>)>,
}

impl Prediction {
    pub(crate) fn new(cached: Arc<CachedGraph>, exec: Option<Arc<GraphExec>>) -> Prediction {
        let (buffers, pushes, after) = (Buffers::new(), Vec::new(), Vec::new());
        Prediction { cached, exec, at: 0, buffers, ahead: false, pushes, after }
    }

    /// Is at its start once more, as what a queue is predicted to run. The buffers of its executable it keeps as long as the user has handles of
    /// all of them, so that a list that repeats the launch need not count them. Returns what it does not keep.
    #[inline]
    pub(crate) fn starts_over(&mut self) -> Buffers {
        self.at = 0;
        self.pushes.clear();
        self.after.clear();
        self.ahead = self.exec.is_some() && self.buffers.iter().all(|buffer| buffer.may_be_kept());
        if self.ahead { Buffers::new() } else { mem::take(&mut self.buffers) }
    }

    /// Repeats no launch any more, and has the buffers of the submissions so far alone.
    pub(crate) fn falls_behind(&mut self) {
        (self.exec, self.ahead) = (None, false);
        self.buffers.truncate(self.cached.signature.met(self.at));
    }

    /// Counts a request that agrees, whose buffers it has.
    #[inline(always)]
    pub(crate) fn count(&mut self, request: &mut Request<'_>) {
        if !same_bytes(&request.push, &self.cached.signature.calls[self.at].push) {
            self.pushes.push((self.at, mem::take(&mut request.push)));
        }
        self.at += 1;
    }

    /// The push constants of a submission.
    pub(crate) fn push(&self, at: usize) -> &[u8] {
        let other = self.pushes.iter().find(|(place, _)| *place == at);
        other.map_or(&self.cached.signature.calls[at].push, |(_, push)| push)
    }

    /// What the dispatches are passed, if it is not what those of the graph are.
    pub(crate) fn passes(&self) -> Option<Pushes> {
        (!self.pushes.is_empty()).then(|| self.cached.graph.passes(|at| self.push(at)))
    }

    /// Whether the list goes on with the request as the launch does, which is in force up to a count of changes: then all that
    /// the request names is as it was, and what it reads is readable. If it does, it has the buffers of the request.
    #[inline(always)]
    pub(crate) fn repeats(&mut self, changes: u64, asked: Asked<'_, '_>) -> bool {
        let Prediction { cached, exec, at, buffers, ahead, .. } = self;
        let repeats =
            |exec: &Arc<GraphExec>| exec.is_in_force(changes) && cached.repeats(*at, &exec.slots, asked);
        let repeats = exec.as_ref().is_some_and(repeats);
        if repeats && !*ahead {
            cached.signature.meet(*at, buffers, asked.0);
        }
        repeats
    }

    /// Whether the graph goes on with a request, or another one of the cache does that began alike, and the request finds something readable. If
    /// so, that one is followed, and has the buffers of the request. No launch is repeated any more.
    #[inline(never)]
    pub(crate) fn goes_on(&mut self, cache: Option<&GraphCache>, asked: Asked<'_, '_>) -> bool {
        if self.exec.is_some() {
            self.falls_behind();
        }
        let goes_on = |cached: &CachedGraph| cached.goes_on(self.at, &self.buffers, asked);
        if !goes_on(&self.cached) {
            match cache.and_then(|cache| cache.agreeing(self, goes_on)) {
                Some(other) => self.follow(other),
                None => return false,
            }
        }
        self.meets(asked.0)
    }

    /// Has the buffers of a request that agrees, if that finds something readable, as it does on an executable in force.
    pub(crate) fn meets(&mut self, request: &Request<'_>) -> bool {
        let Prediction { cached, exec, at, buffers, .. } = self;
        cached.signature.meet(*at, buffers, request);
        let is_readable = exec.is_some() || cached.graph.nodes.are_readable(*at..*at + 1, buffers);
        if !is_readable {
            self.falls_behind();
        }
        is_readable
    }

    /// Follows another graph, which agrees so far.
    pub(crate) fn follow(&mut self, other: Arc<CachedGraph>) {
        let differs = |at: &usize| *other.signature.calls[*at].push != *self.push(*at);
        let pushes = (0..self.at).filter(differs).map(|at| (at, SmallVec::from_slice(self.push(at))));
        self.pushes = pushes.collect();
        self.falls_behind();
        self.cached = other;
    }

    /// Whether the graph ends here, completed in the same way, and passes on the push constants.
    #[inline]
    pub(crate) fn ends(&self, properties: &FusionProperties) -> bool {
        (self.pushes.is_empty() && self.cached.signature.ends(self.at, Some(properties)))
            || self.ends_as(&self.cached, properties)
    }

    /// The same of another graph that agrees so far.
    pub(crate) fn ends_as(&self, other: &CachedGraph, properties: &FusionProperties) -> bool {
        other.signature.ends(self.at, Some(properties)) && other.graph.holds_with(|at| self.push(at))
    }

    /// What the submissions so far touch.
    pub(crate) fn touches(&self) -> impl Iterator<Item = Touch> + '_ {
        let Prediction { cached, at, buffers, .. } = self;
        cached.graph.nodes.touches(0..*at, buffers)
    }

    /// The submissions so far, built as for any other list.
    pub(crate) fn into_entries(self, deps: &Dependencies) -> Vec<Entry> {
        let entry = |at: usize| {
            let (CachedGraph { signature, graph, .. }, push) = (&*self.cached, self.push(at));
            let given = Some(signature.given(at, push));
            let mut entry = Entry {
                after: After::default(),
                given,
                ..graph.nodes.entry(at, &self.buffers, &self.buffers)
            };
            let used = entry.submission.push.len();
            entry.submission.push.copy_from_slice(&push[..used]);
            // No one has changed what its buffers hold: that would have ended the list.
            entry.learn(deps);
            entry
        };
        let mut entries: Vec<Entry> = (0..self.at).map(entry).collect();
        for (place, after) in self.after {
            entries[place].after.listed.push(after);
        }
        entries
    }
}
