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
        graph::{Graph, Touches},
        identity::HandleId,
        request::Request,
        signature::Buffers,
    },
};

impl List {
    /// Whether a known list agrees with everything so far and with the request. Then the list follows that one.
    fn agrees(
        &mut self,
        (lists, graph): (&mut KnownLists, &Graph),
        request: &Request,
        after: &[Event],
    ) -> bool {
        // What it comes after besides has to be in this list, where it says nothing new.
        if !self.entries.is_empty() || !after.iter().all(|event| Arc::ptr_eq(&event.inner, &self.completion))
        {
            return false;
        }
        if let Some(followed) = &mut self.followed {
            if followed.known.signature.goes_on(followed.at, &followed.buffers, request, graph) {
                return true;
            }
            let other = lists.departing(followed, request, graph);
            return other.map(|other| followed.known = other).is_some();
        }
        let known = lists.starting(request, true, graph);
        self.followed =
            known.map(|known| Followed { known, at: 0, buffers: Buffers::new(), after: Vec::new() });
        self.followed.is_some()
    }

    /// Counts a request that agrees, if it finds something readable.
    fn go_on(&mut self, request: &mut Request, after: &[Event]) -> bool {
        let Some(Followed { known, at, buffers, after: told }) = &mut self.followed else { return false };
        if !known.readable(*at, buffers, request) {
            return false;
        }
        told.extend(after.iter().map(|event| (*at, event.of.clone())));
        known.signature.meet(*at, buffers, request.args.drain(..).map(|(_, accessor)| accessor.buffer));
        *at += 1;
        true
    }

    /// Builds what was only counted: afterwards the list follows nothing.
    pub(crate) fn unfold(&mut self, graph: &Graph) {
        let Some(Followed { known, at, buffers, after }) = self.followed.take() else { return };
        self.entries.extend((0..at).map(|at| {
            let given = Some(known.signature.given(at));
            let mut entry = Entry { after: After::default(), given, ..known.structure.entry(at, &buffers) };
            // Nobody has changed what its buffers hold: that would have ended the list.
            entry.learn(graph);
            entry
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
        buffers.get(place).unwrap_or_else(|| {
            let mut args = self.signature.calls[at].args.iter();
            let position = args.position(|arg| arg.place as usize == place);
            &request.args[position.expect("invariant: it has one of this number")].1.buffer
        })
    }

    /// Whether a request that goes on after others with these buffers finds something readable.
    fn readable(&self, at: usize, buffers: &Buffers, request: &Request) -> bool {
        self.structure.readable(at, |place| self.buffer(at, buffers, request, place))
    }

    /// What it touches.
    fn touches(&self, at: usize, buffers: &Buffers, request: &Request) -> Touches {
        self.structure.touches(at, |place| self.buffer(at, buffers, request, place)).collect()
    }
}

impl Schedule {
    /// Lists a request on a queue in fusion mode by following a known list.
    pub(crate) fn follow(&mut self, queue: QueueId, request: &mut Request, after: &[Event]) -> bool {
        let quiet = self.quiet(queue);
        let Some(state) = self.queues.get_mut(&queue) else { return false };
        let Mode::Recording(list) = &mut state.mode else { return false };
        if !list.agrees((&mut self.known, &self.graph), request, after) {
            return false;
        }
        if quiet {
            return list.go_on(request, after);
        }
        if self.is_in_the_way(queue, request) {
            return false;
        }
        match self.queues.get_mut(&queue).map(|state| &mut state.mode) {
            Some(Mode::Recording(list)) => list.go_on(request, after),
            _ => false,
        }
    }

    /// Whether something else touches what a request does that goes on as the known list.
    fn is_in_the_way(&self, queue: QueueId, request: &Request) -> bool {
        let Some(Mode::Recording(list)) = self.queues.get(&queue).map(|state| &state.mode) else {
            return true;
        };
        list.followed.as_ref().is_none_or(|Followed { known, at, buffers, after: _ }| {
            self.in_the_way(&known.touches(*at, buffers, request), queue)
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
        let known = self.known.starting(request, false, &self.graph)?;
        let mut buffers = Buffers::new();
        let in_the_way =
            || !self.quiet(queue) && self.in_the_way(&known.touches(0, &buffers, request), queue);
        if !known.readable(0, &buffers, request) || in_the_way() {
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
