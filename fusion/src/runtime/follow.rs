//! Lists that agree with a known one while they are recorded.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Acquire},
};

use smallvec::SmallVec;

use crate::{
    jit::SetBinding,
    options::fusion::FusionProperties,
    replay::known::{Followed, Gone, Known, KnownLists},
    runtime::{
        event::{Event, EventInner},
        queues::QueueCell,
        schedule::{List, Mode, QueueState, Schedule},
    },
    submission::{
        accessor::Accessor,
        buffer::BufferInner,
        entry::{After, Entry},
        graph::{Graph, Touches},
        identity::HandleId,
        request::Request,
        signature::Buffers,
    },
    vk::{Key, Pushes},
};

impl List {
    /// Whether a known list agrees with everything so far and with the request, which finds something readable. Then the
    /// list follows that one. Without the known lists and what buffers hold, it is the one that is expected or followed, or none.
    #[inline(never)]
    fn agrees(
        &mut self,
        expects: &mut Option<Box<Followed>>,
        known: Option<(&mut KnownLists, &Graph, &mut Key)>,
        changes: u64,
        request: &Request<'_>,
        after: &[Event],
    ) -> bool {
        // What it comes after besides has to be in this list, where it says nothing new.
        if !self.entries.is_empty() || !after.iter().all(|event| Arc::ptr_eq(&event.inner, &self.completion))
        {
            return false;
        }
        if self.followed.is_none() {
            // The latest list of the queue is the likeliest, and is found without a hash.
            self.followed = expects.take();
        }
        let (mut lists, mut graph, mut key) = (None, None, None);
        if let Some(known) = known {
            (lists, graph, key) = (Some(known.0), Some(known.1), Some(known.2));
        }
        if let Some(followed) = &mut self.followed {
            if graph.is_none() && followed.known.routine.has_numbers() {
                return false;
            }
            if followed.repeats(changes, request, graph) {
                return true;
            }
            // At its start it may be one of several that begin alike, or repeat a run: those are found among the known lists.
            if followed.at > 0 || (lists.is_none() && followed.take.is_none()) {
                followed.falls_behind();
                return followed.goes_on(lists, request, graph) && followed.readable(request);
            }
        }
        let (Some(lists), Some(key)) = (lists, key) else { return false };
        let known = lists.starting(request, true, graph);
        self.followed = known.map(|known| {
            let take = known.take_in_force(key, changes, request, graph);
            Box::new(Followed::new(known, take))
        });
        self.followed.as_ref().is_some_and(|followed| followed.take.is_some() || followed.readable(request))
    }

    /// Whether it repeats a run that is expected or followed, without a look at what buffers hold.
    #[inline]
    fn repeats(
        &mut self,
        expects: &mut Option<Box<Followed>>,
        changes: u64,
        request: &Request<'_>,
        after: &[Event],
    ) -> bool {
        if self.followed.is_none() && self.entries.is_empty() {
            self.followed = expects.take();
        }
        // One that follows has no entries.
        let Some(followed) = &self.followed else { return false };
        after.is_empty() && !followed.known.routine.has_numbers() && followed.repeats(changes, request, None)
    }

    /// Counts a request that agrees, and holds its buffers.
    #[inline]
    fn count(&mut self, request: &mut Request<'_>, after: &[Event]) -> Option<(Arc<EventInner>, u32)> {
        let followed = self.followed.as_mut()?;
        let at = followed.at;
        if !after.is_empty() {
            followed.after.extend(after.iter().map(|event| (at, event.of.clone())));
        }
        followed.count(request);
        Some((self.completion.clone(), at as u32))
    }

    /// Builds what was only counted: afterwards the list follows nothing.
    pub(crate) fn unfold(&mut self, graph: &Graph) {
        let Some(followed) = self.followed.take() else { return };
        let Followed { known, at, buffers, .. } = &*followed;
        self.entries.extend((0..*at).map(|at| {
            let asked = followed.asked(at);
            let given = Some(known.signature.given(at, asked));
            let mut entry = Entry { after: After::default(), given, ..known.structure.entry(at, buffers) };
            let used = entry.submission.push.len();
            entry.submission.push.copy_from_slice(&asked[..used]);
            // No one has changed what its buffers hold: that would have ended the list.
            entry.learn(graph);
            entry
        }));
        for (place, after) in followed.after {
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
        request: &'a Request<'_>,
        place: usize,
    ) -> &'a BufferInner {
        buffers.get(place).unwrap_or_else(|| {
            let mut args = self.signature.calls[at].args.iter();
            let position = args.position(|arg| arg.place as usize == place);
            &request.args[position.expect("invariant: it has one of this number")].1.buffer
        })
    }

    /// Whether a request that goes on after others with these buffers finds something readable.
    fn readable(&self, at: usize, buffers: &Buffers, request: &Request<'_>) -> bool {
        self.structure.readable(at, |place| self.buffer(at, buffers, request, place))
    }

    /// What it touches.
    fn touches(&self, at: usize, buffers: &Buffers, request: &Request<'_>) -> Touches {
        self.structure.touches(at, |place| self.buffer(at, buffers, request, place)).collect()
    }
}

impl Followed {
    /// Whether the known list goes on with a request, or another one does that began alike. Then that one is followed.
    fn goes_on(
        &mut self,
        lists: Option<&mut KnownLists>,
        request: &Request<'_>,
        graph: Option<&Graph>,
    ) -> bool {
        if self.known.goes_on(self.at, &self.buffers, request, graph) {
            return true;
        }
        let other = lists.and_then(|lists| lists.departing(self, request, graph));
        other.map(|other| self.follow(other)).is_some()
    }

    /// Follows another known list, which agrees so far.
    pub(crate) fn follow(&mut self, other: Arc<Known>) {
        let differs = |at: &usize| *other.signature.calls[*at].push != *self.asked(*at);
        let pushes = (0..self.at).filter(differs).map(|at| (at, SmallVec::from_slice(self.asked(at))));
        self.pushes = pushes.collect();
        self.falls_behind();
        self.known = other;
    }

    /// Whether the known list ends here, completed in the same way.
    #[inline]
    pub(crate) fn ends(&self, properties: &FusionProperties) -> bool {
        let signature = &self.known.signature;
        self.at == signature.calls.len() && signature.properties.as_ref() == Some(properties)
    }

    /// Whether the list is the whole known one, completed in the same way.
    pub(crate) fn is_whole(&self, properties: &FusionProperties, changes: u64) -> bool {
        let signature = &self.known.signature;
        self.ends(properties)
            && (self.take.as_ref().is_some_and(|take| take.is_in_force(changes))
                || signature.holds_for(&self.buffers))
    }

    /// Whether a request that agrees finds something readable.
    fn readable(&self, request: &Request<'_>) -> bool {
        self.known.readable(self.at, &self.buffers, request)
    }
}

impl QueueCell {
    /// As [`Schedule::follow`], of the list that is followed or expected on memory that the queue owns. Nothing but the queue is
    /// locked. Returns the event of the list, and the place of the submission in it.
    pub(crate) fn follow(
        &self,
        contents: &AtomicU64,
        request: &mut Request<'_>,
        after: &[Event],
    ) -> Option<(Arc<EventInner>, u32)> {
        let QueueState { mode, expects, .. } = &mut *self.state();
        let Mode::Recording(list) = mode else { return None };
        let may = |(_, Accessor { buffer, access, .. }): &(SetBinding, Accessor<'_>)| {
            buffer.shared.owner.allows(self.id, access.may_write())
        };
        // Who changes what these hold or take part in looks at this list first, so it is as they are now.
        if !request.args.iter().all(may) {
            return None;
        }
        let changes = contents.load(Acquire);
        let is_next = list.repeats(expects, changes, request, after)
            || list.agrees(expects, None, changes, request, after);
        if is_next { list.count(request, after) } else { None }
    }
}

impl Schedule {
    /// Lists a request on a queue in fusion mode by following a known list, after this many changes of what is known of
    /// buffers. Returns the event of the submission; nothing where no known list agrees, or something is in the way.
    pub(crate) fn follow(
        &mut self,
        (queue, state): (&QueueCell, &mut QueueState),
        changes: u64,
        request: &mut Request<'_>,
        after: &[Event],
    ) -> Option<Event> {
        let QueueState { mode, expects, .. } = state;
        let Mode::Recording(list) = mode else { return None };
        let known = (&mut self.known, &self.graph, &mut self.key);
        if !list.agrees(expects, Some(known), changes, request, after) {
            return None;
        }
        let Followed { known, at, buffers, .. } = &**list.followed.as_ref()?;
        let given = request.args.iter().map(|(_, accessor)| &*accessor.buffer);
        let is_free = self.is_free(queue.id, given, || known.touches(*at, buffers, request));
        if !is_free {
            return None;
        }
        let (completion, at) = list.count(request, after)?;
        Some(Event::of_one(completion, at))
    }

    /// What is known of a request outside fusion mode, if that can be run again now; with its buffers.
    pub(crate) fn known_submission(
        &mut self,
        (queue, state): (&QueueCell, &QueueState),
        request: &Request<'_>,
        after: &[Event],
    ) -> Option<(Arc<Known>, Buffers, Option<Pushes>)> {
        if !matches!(state.mode, Mode::Direct) || !after.is_empty() {
            return None;
        }
        let known = self.known.starting(request, false, Some(&self.graph))?;
        let mut buffers = Buffers::new();
        let given = request.args.iter().map(|(_, accessor)| &*accessor.buffer);
        let is_free = || self.is_free(queue.id, given, || known.touches(0, &buffers, request));
        if !(is_free() && known.readable(0, &buffers, request)) {
            return None;
        }
        known.signature.meet(0, &mut buffers, request.args.iter().cloned());
        let mut pushes = None;
        if request.push != known.signature.calls[0].push {
            let asked = |_| &*request.push;
            if !known.holds_with(asked) {
                return None;
            }
            pushes = Some(known.passes(asked));
        }
        Some((known, buffers, pushes))
    }

    /// Takes out everything known, to be dropped where no lock is held.
    #[must_use]
    pub(crate) fn forget_all(&mut self) -> Gone {
        let (lists, takes, mut expected) = self.known.clear();
        expected.extend(
            self.queues.iter().filter_map(|queue| queue.state().expects.take().map(|expected| *expected)),
        );
        (lists, takes, expected)
    }

    /// Takes out what is about a buffer, to be dropped where no lock is held. Whether that is all: who calls may have the
    /// state of a queue.
    #[must_use]
    pub(crate) fn forget(&mut self, buffer: HandleId) -> (Gone, bool) {
        let (lists, takes, _) = self.known.forget(&mut self.key, buffer);
        let (expected, is_all) = self.expect_no_more(buffer);
        ((lists, takes, expected), is_all)
    }

    /// Takes out what queues expect on a buffer, and whether that is all, as above.
    #[must_use]
    pub(crate) fn expect_no_more(&self, buffer: HandleId) -> (Vec<Followed>, bool) {
        let (mut gone, mut is_all) = (Vec::new(), true);
        for queue in &self.queues {
            match queue.try_state() {
                Some(mut state) => {
                    let is_on = |expected: &mut Box<Followed>| {
                        expected.take.as_ref().is_some_and(|take| take.buffers.contains(&buffer))
                    };
                    gone.extend(state.expects.take_if(is_on).map(|expected| *expected));
                }
                None => is_all = false,
            }
        }
        (gone, is_all)
    }
}
