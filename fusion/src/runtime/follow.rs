//! Lists that agree with a known one while they are recorded.

use std::sync::Arc;

use crate::{
    options::fusion::FusionProperties,
    replay::known::{Followed, Gone, Known, KnownLists},
    runtime::{
        event::Event,
        schedule::{List, Mode, QueueId, Schedule},
    },
    submission::{
        buffer::BufferInner,
        entry::{After, Entry},
        graph::Touches,
        identity::HandleId,
        request::Request,
        signature::Buffers,
    },
};

impl List {
    /// Whether a known list agrees with everything so far and with the request. Then the list follows that one.
    fn agrees(&mut self, lists: &mut KnownLists, request: &Request, after: &[Event]) -> bool {
        // What it comes after besides has to be in this list, where it says nothing new.
        if !self.entries.is_empty() || !after.iter().all(|event| Arc::ptr_eq(&event.inner, &self.completion))
        {
            return false;
        }
        if let Some(followed) = &mut self.followed {
            if followed.known.signature.goes_on(followed.at, &followed.buffers, request) {
                return true;
            }
            let other = lists.departing(followed, request);
            return other.map(|other| followed.known = other).is_some();
        }
        let known = lists.starting(request, true);
        self.followed =
            known.map(|known| Followed { known, at: 0, buffers: Buffers::new(), after: Vec::new() });
        self.followed.is_some()
    }

    /// Builds what was only counted: afterwards the list follows nothing.
    pub(crate) fn unfold(&mut self) {
        let Some(Followed { known, at, buffers, after }) = self.followed.take() else { return };
        self.entries.extend((0..at).map(|at| Entry {
            after: After::default(),
            given: Some(known.signature.given(at)),
            ..known.structure.entry(at, &buffers)
        }));
        for (place, after) in after {
            self.entries[place].after.listed.push(after);
        }
    }
}

impl Known {
    /// The buffer of a number, of a request that goes on after others with these buffers.
    fn buffer<'a>(
        &self,
        at: usize,
        buffers: &'a Buffers,
        request: &'a Request,
        place: usize,
    ) -> &'a BufferInner {
        let is_it = || self.signature.calls[at].args.iter().position(|arg| arg.place as usize == place);
        match (buffers.get(place), is_it()) {
            (Some(buffer), _) => buffer,
            (None, position) => &request.args[position.unwrap_or(0)].1.buffer,
        }
    }

    /// Whether a request that goes on after others with these buffers finds something readable, and nothing else touches
    /// what it does.
    fn may_go_on(
        &self,
        at: usize,
        buffers: &Buffers,
        request: &Request,
        quiet: bool,
        in_the_way: impl FnOnce(&Touches) -> bool,
    ) -> bool {
        let buffer = |place| self.buffer(at, buffers, request, place);
        self.structure.readable(at, buffer)
            && (quiet || !in_the_way(&self.structure.touches(at, buffer).collect()))
    }
}

impl Schedule {
    /// Lists a request on a queue in fusion mode by following a known list.
    pub(crate) fn follow(&mut self, queue: QueueId, request: &mut Request, after: &[Event]) -> bool {
        let quiet = self.quiet(queue);
        let Some(state) = self.queues.get_mut(&queue) else { return false };
        let Mode::Recording(list) = &mut state.mode else { return false };
        if !list.agrees(&mut self.known, request, after) {
            return false;
        }
        if !self.may_follow(queue, request, quiet) {
            return false;
        }
        let Some(Mode::Recording(list)) = self.queues.get_mut(&queue).map(|state| &mut state.mode) else {
            return false;
        };
        let Some(followed) = &mut list.followed else { return false };
        let after = after.iter().map(|event| (followed.at, event.of.clone()));
        followed.after.extend(after);
        let met = request.args.drain(..).map(|(_, accessor)| accessor.buffer);
        followed.known.signature.meet(followed.at, &mut followed.buffers, met);
        followed.at += 1;
        true
    }

    /// Whether a request that goes on as the known list does finds something readable, with nothing in its way.
    fn may_follow(&self, queue: QueueId, request: &Request, quiet: bool) -> bool {
        let Some(Mode::Recording(list)) = self.queues.get(&queue).map(|state| &state.mode) else {
            return false;
        };
        list.followed.as_ref().is_some_and(|Followed { known, at, buffers, after: _ }| {
            known.may_go_on(*at, buffers, request, quiet, |touches| self.in_the_way(touches, queue))
        })
    }

    /// What is known of a request outside fusion mode, if that can be run again now; with its buffers.
    pub(crate) fn known_submission(
        &mut self,
        queue: QueueId,
        request: &Request,
        after: &[Event],
    ) -> Option<(Arc<Known>, Buffers)> {
        let state = self.queues.get(&queue)?;
        if !matches!(state.mode, Mode::Direct) || !after.is_empty() {
            return None;
        }
        let known = self.known.starting(request, false)?;
        let (quiet, mut buffers) = (self.quiet(queue), Buffers::new());
        if !known.may_go_on(0, &buffers, request, quiet, |touches| self.in_the_way(touches, queue)) {
            return None;
        }
        known.signature.meet(
            0,
            &mut buffers,
            request.args.iter().map(|(_, accessor)| accessor.buffer.clone()),
        );
        Some((known, buffers))
    }

    /// Whether a queue's list is a whole known list, completed in the same way.
    pub(crate) fn is_known(&self, queue: QueueId, properties: &FusionProperties) -> bool {
        let Some(Mode::Recording(list)) = self.queues.get(&queue).map(|state| &state.mode) else {
            return false;
        };
        list.followed.as_ref().is_some_and(|Followed { known, at, buffers, after: _ }| {
            *at == known.signature.calls.len()
                && known.signature.properties.as_ref() == Some(properties)
                && known.signature.holds_for(buffers)
        })
    }

    /// Takes out everything known, to be dropped where no lock is held.
    #[must_use]
    pub(crate) fn forget_all(&mut self) -> Gone {
        self.known.clear()
    }

    /// Takes out what is about a buffer, to be dropped where no lock is held.
    #[must_use]
    pub(crate) fn forget(&mut self, buffer: HandleId) -> Gone {
        self.known.forget(buffer)
    }
}
