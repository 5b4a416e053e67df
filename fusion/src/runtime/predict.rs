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
    replay::{cache::CachedGraph, predicted::Prediction},
    submission::{
        accessor::Accessor, dependencies::Dependencies, identity::HandleId, request::Request,
        signature::Buffers,
    },
    vk::Pushes,
};

impl List {
    /// The graph that it follows, if it follows one, or the predicted one: the latest list of the queue is the likeliest, and is found without a
    /// hash. `None` where a request that comes after these ends that: what it comes after besides has to be in this list, where it says nothing new.
    #[inline]
    fn following(
        &mut self,
        predicted: &mut Option<Box<Prediction>>,
        after: &[Event],
    ) -> Option<&mut Option<Box<Prediction>>> {
        let is_own = |event: &Event| ptr::eq(&*event.inner, &*self.completion);
        if !self.entries.is_empty() || !after.iter().all(is_own) {
            return None;
        }
        if self.followed.is_none() {
            self.followed = predicted.take();
        }
        Some(&mut self.followed)
    }

    /// Counts a request that agrees, whose buffers it holds.
    #[inline(always)]
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
        let followed = list.following(predicted, after)?.as_mut()?;
        // Whether buffers hold its numbers is for the schedule to say.
        if followed.cached.graph.has_numbers() {
            return None;
        }
        // Apart, because a call is a twentieth of what a list costs that only repeats.
        let agrees = followed.repeats(contents.load(Acquire), (request, None))
            || ((followed.at > 0 || followed.exec.is_none()) && followed.goes_on(None, (request, None)));
        if agrees { list.count(request, after) } else { None }
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
        let (cache, asked) = (&self.cache, (&*request, Some(&self.deps)));
        let followed = list.following(predicted, after)?;
        let repeats = followed.as_mut().is_some_and(|one| one.repeats(changes, asked));
        let agrees = match followed {
            _ if repeats => true,
            Some(one) if one.at > 0 => one.goes_on(Some(cache), asked),
            // At its start it may be one of several that begin alike, or repeat a launch.
            _ => {
                let cached = cache.starting(asked, true)?;
                let exec = cached.exec_in_force(changes, asked);
                followed.insert(Box::new(Prediction::new(cached, exec))).meets(request)
            }
        };
        let followed = followed.as_mut().filter(|_| agrees)?;
        let (at, nodes) = (followed.at, &followed.cached.graph.nodes);
        let given = request.args.iter().map(|(_, accessor)| &*accessor.buffer);
        let touches = || nodes.touches(at..at + 1, &followed.buffers).collect();
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
        let cached = self.cache.starting((request, Some(&self.deps)), false)?;
        let (mut buffers, nodes) = (Buffers::new(), &cached.graph.nodes);
        cached.signature.meet(0, &mut buffers, request);
        let is_free = self.is_free(queue.id, buffers.iter(), || nodes.touches(0..1, &buffers).collect());
        if !is_free || !nodes.are_readable(0..1, &buffers) {
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
