//! Lists that agree with a graph while they are recorded: what a queue is predicted to run, and what the cache of graphs has.

use std::{
    ptr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Acquire},
    },
};

use super::{
    event::Event,
    queues::QueueCell,
    schedule::{List, Mode, QueueState, Schedule},
};
use crate::{
    jit::SetBinding,
    replay::{
        cache::{CachedGraph, GraphCache},
        predicted::Prediction,
    },
    submission::{
        accessor::Accessor, dependencies::Dependencies, identity::HandleId, request::Request,
        signature::Buffers,
    },
    vk::Pushes,
};

impl List {
    /// Whether a graph agrees with everything so far and with the request, which finds something readable. Then the
    /// list follows that one. Without the cache and what buffers hold, it is the one that is predicted or followed, or none.
    #[inline(never)]
    fn agrees(
        &mut self,
        predicted: &mut Option<Box<Prediction>>,
        cache: Option<(&GraphCache, &Dependencies)>,
        changes: u64,
        request: &Request<'_>,
        after: &[Event],
    ) -> bool {
        // What it comes after besides has to be in this list, where it says nothing new.
        let is_own = |event: &Event| ptr::eq(&*event.inner, &*self.completion);
        if !self.entries.is_empty() || !after.iter().all(is_own) {
            return false;
        }
        if self.followed.is_none() {
            // The latest list of the queue is the likeliest, and is found without a hash.
            self.followed = predicted.take();
        }
        let deps = cache.map(|(_, deps)| deps);
        if let Some(followed) = &mut self.followed {
            if deps.is_none() && followed.cached.graph.has_numbers() {
                return false;
            }
            if followed.repeats(changes, request, deps) {
                return true;
            }
            // At its start it may be one of several that begin alike, or repeat a launch: those are found in the cache.
            if followed.at > 0 || (cache.is_none() && followed.exec.is_none()) {
                followed.falls_behind();
                return followed.goes_on(cache.map(|(cache, _)| cache), request, deps);
            }
        }
        let Some((cache, _)) = cache else { return false };
        let cached = cache.starting(request, true, deps);
        self.followed = cached.map(|cached| {
            let exec = cached.exec_in_force(changes, request, deps);
            Box::new(Prediction::new(cached, exec))
        });
        self.followed.as_mut().is_some_and(|followed| followed.meets(request))
    }

    /// Whether it repeats a launch that is predicted or followed, without a look at what buffers hold: what [`List::agrees`] says first,
    /// without a call, which is a twentieth of what a list costs.
    #[inline]
    fn repeats(
        &mut self,
        predicted: &mut Option<Box<Prediction>>,
        changes: u64,
        request: &Request<'_>,
        after: &[Event],
    ) -> bool {
        if self.followed.is_none() && self.entries.is_empty() {
            self.followed = predicted.take();
        }
        // One that follows has no entries.
        let Some(followed) = &mut self.followed else { return false };
        after.is_empty() && !followed.cached.graph.has_numbers() && followed.repeats(changes, request, None)
    }

    /// Counts a request that agrees, whose buffers it holds.
    #[inline]
    fn count(&mut self, request: &mut Request<'_>, after: &[Event]) -> Option<Event> {
        let followed = self.followed.as_mut()?;
        let at = followed.at;
        if !after.is_empty() {
            followed.after.extend(after.iter().map(|event| (at, event.of.clone())));
        }
        followed.count(request);
        Some(Event::of_some(self.completion.clone(), at..at + 1))
    }

    /// Makes entries of the requests that were only counted. Afterwards the list follows no graph.
    pub(crate) fn materialize(&mut self, deps: &Dependencies) {
        if let Some(followed) = self.followed.take() {
            self.entries = followed.into_entries(deps);
        }
    }
}

impl QueueCell {
    /// As [`Schedule::follow`], of the list that is followed or predicted on memory that the queue owns. Nothing but the queue is
    /// locked.
    pub(crate) fn follow(
        &self,
        contents: &AtomicU64,
        request: &mut Request<'_>,
        after: &[Event],
    ) -> Option<Event> {
        let QueueState { mode, predicted, .. } = &mut *self.state();
        let Mode::Recording(list) = mode else { return None };
        let may = |(_, Accessor { buffer, access, .. }): &(SetBinding, Accessor<'_>)| {
            buffer.shared.owner.allows(self.id, access.may_write())
        };
        // Who changes what these hold or take part in looks at this list first, so it is as they are now.
        if !request.args.iter().all(may) {
            return None;
        }
        let changes = contents.load(Acquire);
        let is_next = list.repeats(predicted, changes, request, after)
            || list.agrees(predicted, None, changes, request, after);
        if is_next { list.count(request, after) } else { None }
    }
}

impl Schedule {
    /// Lists a request on a queue in fusion mode by following a graph, after this many changes of what is known of
    /// buffers. Returns the event of the submission; nothing where no graph agrees, or something is in the way.
    pub(crate) fn follow(
        &mut self,
        (queue, state): (&QueueCell, &mut QueueState),
        changes: u64,
        request: &mut Request<'_>,
        after: &[Event],
    ) -> Option<Event> {
        let QueueState { mode, predicted, .. } = state;
        let Mode::Recording(list) = mode else { return None };
        if !list.agrees(predicted, Some((&self.cache, &self.deps)), changes, request, after) {
            return None;
        }
        let followed = list.followed.as_mut()?;
        let (at, nodes) = (followed.at, &followed.cached.graph.nodes);
        let given = request.args.iter().map(|(_, accessor)| &*accessor.buffer);
        let touches = || nodes.touches(at, &followed.buffers).collect();
        if !self.is_free(queue.id, given, touches) {
            followed.falls_behind();
            followed.goes_back();
            return None;
        }
        list.count(request, after)
    }

    /// The graph of a request outside fusion mode, if there is one that can be launched now; with its buffers, and other push constants.
    pub(crate) fn known_submission(
        &mut self,
        (queue, state): (&QueueCell, &QueueState),
        request: &Request<'_>,
        after: &[Event],
    ) -> Option<(Arc<CachedGraph>, Buffers, Option<Pushes>)> {
        if !matches!(state.mode, Mode::Direct) || !after.is_empty() {
            return None;
        }
        let cached = self.cache.starting(request, false, Some(&self.deps))?;
        let (mut buffers, nodes) = (Buffers::new(), &cached.graph.nodes);
        cached.signature.meet(0, &mut buffers, request);
        let is_free = self.is_free(queue.id, buffers.iter(), || nodes.all_touches(&buffers).collect());
        if !is_free || !nodes.all_readable(&buffers) {
            return None;
        }
        let (is_own, push) = (request.push == cached.signature.calls[0].push, |_| &*request.push);
        if !is_own && !cached.graph.holds_with(push) {
            return None;
        }
        let pushes = (!is_own).then(|| cached.graph.passes(push));
        Some((cached, buffers, pushes))
    }

    /// Takes out all graphs, to be dropped where no lock is held.
    #[must_use]
    pub(crate) fn forget_all(&mut self) -> impl Sized + use<> {
        let predicted = self.queues.iter().filter_map(|queue| queue.state().predicted.take());
        (predicted.collect::<Vec<_>>(), self.cache.clear())
    }

    /// Takes out what refers to a buffer, to be dropped where no lock is held. Also returns whether that is all: a queue whose state is locked,
    /// perhaps by the caller, keeps its prediction.
    #[must_use]
    pub(crate) fn forget(&mut self, buffer: HandleId) -> (impl Sized + use<>, bool) {
        let (mut predicted, mut is_all) = (Vec::new(), true);
        let is_on = |predicted: &mut Box<Prediction>| {
            predicted.exec.as_ref().is_some_and(|exec| exec.slots.contains(&buffer))
        };
        for queue in &self.queues {
            match queue.try_state() {
                Some(mut state) => predicted.extend(state.predicted.take_if(is_on)),
                None => is_all = false,
            }
        }
        ((predicted, self.cache.forget(buffer)), is_all)
    }
}
