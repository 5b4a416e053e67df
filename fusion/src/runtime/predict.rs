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
    /// Makes entries of the requests that were only counted. Afterwards the list follows no graph.
    pub(crate) fn materialize(&mut self, deps: &Dependencies) {
        if let Some(followed) = self.followed.take() {
            self.entries = followed.into_entries(deps);
        }
    }
}

impl QueueCell {
    /// As [`QueueCell::follow`] without the schedule, on memory that the queue owns. A list that only repeats a launch is looked at here, because a
    /// call is a twentieth of what it costs.
    pub(crate) fn follow_alone(
        &self,
        contents: &AtomicU64,
        request: &mut Request<'_>,
        after: &[Event],
    ) -> Option<Event> {
        let QueueState { mode, predicted, .. } = &mut *self.state();
        let Mode::Recording(list) = mode else { return None };
        if list.followed.is_none() && list.entries.is_empty() {
            // The latest list of the queue is the likeliest, and is found without a hash.
            list.followed = predicted.take();
        }
        let may = |(_, Accessor { buffer, access, .. }): &(SetBinding, Accessor<'_>)| {
            buffer.shared.owner.allows(self.id, access.may_write())
        };
        // Who changes what these hold or take part in looks at this list first, so it is as they are now.
        if !request.args.iter().all(may) {
            return None;
        }
        let followed = list.followed.as_mut()?;
        // Whether buffers hold its numbers is for the schedule to say.
        if followed.cached.graph.has_numbers() {
            return None;
        }
        if after.is_empty() && followed.repeats(contents.load(Acquire), (request, None)) {
            let at = followed.at;
            followed.count(request);
            return Some(Event::of_some(list.completion.clone(), at..at + 1));
        }
        self.follow(list, None, contents, request, after)
    }

    /// Lists a request by following a graph. Returns the event of the submission; nothing where no graph agrees with that and everything before
    /// it, or something is in the way. Without the schedule no other graph is looked for than the one that the list follows.
    #[inline(never)]
    pub(crate) fn follow(
        &self,
        list: &mut List,
        schedule: Option<&mut Schedule>,
        contents: &AtomicU64,
        request: &mut Request<'_>,
        after: &[Event],
    ) -> Option<Event> {
        // What it comes after besides has to be in this list, where it says nothing new.
        let is_own = |event: &Event| ptr::eq(&*event.inner, &*list.completion);
        if !list.entries.is_empty() || !after.iter().all(is_own) {
            return None;
        }
        let (followed, changes) = (&mut list.followed, contents.load(Acquire));
        let known = schedule.as_deref();
        let (cache, asked) = (known.map(|all| &all.cache), (&*request, known.map(|all| &all.deps)));
        let agrees = if let Some(one) = followed
            && one.repeats(changes, asked)
        {
            true
        } else if let Some(one) = followed
            && (one.at > 0 || (known.is_none() && one.exec.is_none()))
        {
            one.goes_on(cache, asked)
        } else if let Some(cache) = cache {
            // At its start it may be one of several that begin alike, or repeat a launch.
            let cached = cache.starting(asked, true)?;
            let exec = cached.exec_in_force(changes, asked);
            followed.insert(Box::new(Prediction::new(cached, exec))).meets(request)
        } else {
            false
        };
        let followed = followed.as_mut().filter(|_| agrees)?;
        let at = followed.at;
        if let Some(schedule) = schedule {
            let given = request.args.iter().map(|(_, accessor)| &*accessor.buffer);
            let nodes = &followed.cached.graph.nodes;
            if !schedule.is_free(self.id, given, || nodes.touches(at..at + 1, &followed.buffers).collect()) {
                followed.falls_behind();
                return None;
            }
        }
        followed.after.extend(after.iter().map(|event| (at, event.of.clone())));
        followed.count(request);
        Some(Event::of_some(list.completion.clone(), at..at + 1))
    }
}

impl Schedule {
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
            match queue.state.try_lock() {
                Some(mut state) => predicted.extend(state.predicted.take_if(is_on)),
                None => is_all = false,
            }
        }
        ((predicted, self.cache.forget(buffer)), is_all)
    }
}
