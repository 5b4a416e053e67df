//! Lists that agree with a known one while they are recorded.

use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use crate::{
    options::fusion::FusionProperties,
    replay::known::{Followed, Known, KnownLists},
    runtime::{
        event::Event,
        schedule::{List, Mode, QueueId, Schedule},
    },
    submission::{
        entry::{After, Entry},
        identity::HandleId,
        request::Request,
    },
};

impl List {
    /// Whether a known list agrees with everything so far and with the request. Then the list follows that one.
    fn agrees(
        &mut self,
        lists: &mut KnownLists,
        expected: Option<&Arc<Known>>,
        (request, after): (&Request, &[Event]),
        lane: u32,
    ) -> bool {
        // What it comes after besides has to be in this list, where it says nothing new.
        if !self.entries.is_empty() || !after.iter().all(|event| Arc::ptr_eq(&event.inner, &self.completion))
        {
            return false;
        }
        if let Some(followed) = &mut self.followed {
            let (known, at) = (&followed.known, followed.at);
            if known.calls.get(at).is_some_and(|call| call.given.is(request)) {
                return true;
            }
            let other = lists.departing(known, at, request);
            return other.map(|other| followed.known = other).is_some();
        }
        let fits =
            |known: &&Arc<Known>| known.routine.replay.lane == lane && known.calls[0].given.is(request);
        let known = expected.filter(fits).cloned().or_else(|| lists.starting(request, true, lane));
        self.followed =
            known.map(|known| Followed { known, at: 0, held: SmallVec::new(), after: Vec::new() });
        self.followed.is_some()
    }

    /// Builds what was only counted: afterwards the list follows nothing.
    pub(crate) fn unfold(&mut self) {
        let Some(followed) = self.followed.take() else { return };
        let calls = followed.known.calls[..followed.at].iter();
        // The buffers are all there: they are held.
        self.entries.extend(calls.map(|call| Entry {
            buffers: call.buffers.iter().filter_map(Weak::upgrade).collect(),
            after: After::default(),
            ..call.entry.clone()
        }));
        for (place, after) in followed.after {
            self.entries[place].after.listed.push(after);
        }
    }
}

impl Schedule {
    /// Lists a request on a queue in fusion mode by following a known list. `contents` counts changes of contents.
    pub(crate) fn follow(
        &mut self,
        queue: QueueId,
        request: &mut Request,
        after: &[Event],
        contents: u64,
    ) -> bool {
        let quiet = self.quiet(queue);
        let Some(state) = self.queues.get_mut(&queue) else { return false };
        let Mode::Recording(list) = &mut state.mode else { return false };
        if state.profiling
            || !list.agrees(&mut self.known, state.expected.as_ref(), (request, after), state.lane)
        {
            return false;
        }
        let Some(followed) = &mut list.followed else { return false };
        let call = &followed.known.calls[followed.at];
        if !followed.known.routine.settled(contents) && !call.readable() {
            return false;
        }
        if !quiet {
            // Found again below, because others have to be looked at.
            let (known, at) = (followed.known.clone(), followed.at);
            if self.in_the_way(&known.calls[at].entry.touches, queue) {
                return false;
            }
        }
        let Some(Mode::Recording(list)) = self.queues.get_mut(&queue).map(|state| &mut state.mode) else {
            return false;
        };
        if let Some(followed) = &mut list.followed {
            let after = after.iter().map(|event| (followed.at, event.of.clone()));
            followed.after.extend(after);
            followed.at += 1;
            followed.held.extend(request.args.drain(..).map(|(_, accessor)| accessor.buffer));
        }
        true
    }

    /// What is known of a request outside fusion mode, if that can be run again now.
    pub(crate) fn known_submission(
        &mut self,
        queue: QueueId,
        request: &Request,
        after: &[Event],
        contents: u64,
    ) -> Option<Arc<Known>> {
        let state = self.queues.get(&queue)?;
        if !matches!(state.mode, Mode::Direct) || state.profiling || !after.is_empty() {
            return None;
        }
        let known = self.known.starting(request, false, state.lane)?;
        let call = &known.calls[0];
        let ready = (known.routine.settled(contents) || call.readable())
            && (self.quiet(queue) || !self.in_the_way(&call.entry.touches, queue));
        ready.then_some(known)
    }

    /// The known list that a queue's list is, if that is complete and completed in the same way.
    pub(crate) fn known_list(&self, queue: QueueId, properties: &FusionProperties) -> Option<Arc<Known>> {
        let Mode::Recording(list) = &self.queues.get(&queue)?.mode else { return None };
        let Followed { known, at, .. } = list.followed.as_ref()?;
        let whole = *at == known.calls.len() && list.entries.is_empty();
        (whole && known.properties.as_ref() == Some(properties)).then(|| known.clone())
    }

    /// Takes out everything known, to be dropped where no lock is held.
    #[must_use]
    pub(crate) fn forget_all(&mut self) -> Vec<Arc<Known>> {
        self.queues.values_mut().for_each(|state| state.expected = None);
        self.known.clear()
    }

    /// Takes out what names a buffer, to be dropped where no lock is held.
    #[must_use]
    pub(crate) fn forget(&mut self, buffer: HandleId) -> Vec<Arc<Known>> {
        let names = |known: &Arc<Known>| known.names(buffer);
        for state in self.queues.values_mut() {
            state.expected = state.expected.take().filter(|known| !names(known));
        }
        self.known.keep(|known| !known.names(buffer))
    }
}
