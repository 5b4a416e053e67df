//! A work-group on the host: its items are threads that meet at barriers.

use std::{
    any::Any,
    collections::BTreeMap,
    sync::{Condvar, Mutex, PoisonError},
};

use crate::capture::Value;

/// What the items of a group share.
#[derive(Debug)]
pub struct Group {
    pub(crate) size: [u32; 3],
    pub(crate) sub_group_size: u32,
    all: Meeting,
    sub_groups: Vec<Meeting>,
}

/// Where the items of a group, or of a sub-group, meet. Items that have ended are not waited for.
///
/// Each item that goes on wakes the next one: hundreds of threads that are woken together would stand in each other's way.
#[derive(Debug)]
struct Meeting {
    state: Mutex<State>,
    /// The ends of even rounds and of odd ones: a round does not end before all have gone on from the last.
    ended: [Condvar; 2],
}

#[derive(Debug)]
struct State {
    /// Items that have not ended.
    alive: u32,
    waiting: u32,
    round: u64,
    /// What the items of this round and of the last one brought, by number.
    brought: BTreeMap<u32, Box<dyn Any + Send>>,
    last: BTreeMap<u32, Box<dyn Any + Send>>,
}

impl Meeting {
    fn new(alive: u32) -> Meeting {
        let state = State { alive, waiting: 0, round: 0, brought: BTreeMap::new(), last: BTreeMap::new() };
        Meeting { state: Mutex::new(state), ended: Default::default() }
    }

    /// Brings a value, waits for the others, and looks at what they brought.
    fn meet<R>(
        &self,
        bring: Option<(u32, Box<dyn Any + Send>)>,
        look: impl FnOnce(&BTreeMap<u32, Box<dyn Any + Send>>) -> R,
    ) -> R {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.brought.extend(bring);
        state.waiting += 1;
        let round = state.round;
        state.end_round_if_all();
        while state.round == round {
            state = self.end_of(round).wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let seen = look(&state.last);
        drop(state);
        self.end_of(round).notify_one();
        seen
    }

    fn leave(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.alive -= 1;
        let round = state.round;
        state.end_round_if_all();
        let ended = state.round != round;
        drop(state);
        if ended {
            self.end_of(round).notify_one();
        }
    }

    fn end_of(&self, round: u64) -> &Condvar {
        &self.ended[(round % 2) as usize]
    }
}

impl State {
    fn end_round_if_all(&mut self) {
        if self.waiting > 0 && self.waiting == self.alive {
            self.waiting = 0;
            self.round += 1;
            self.last = std::mem::take(&mut self.brought);
        }
    }
}

impl Group {
    pub(crate) fn new(size: [u32; 3], sub_group_size: u32) -> Group {
        let items: u32 = size.iter().product();
        let starts = (0..items).step_by(sub_group_size as usize);
        let sub_groups = starts.map(|start| Meeting::new(sub_group_size.min(items - start))).collect();
        Group { size, sub_group_size, all: Meeting::new(items), sub_groups }
    }

    pub(crate) fn barrier(&self) {
        self.all.meet(None, |_| ());
    }

    /// What all items of the sub-group bring, by their numbers in the group.
    pub(crate) fn gather<T: Value>(&self, local: u32, value: T) -> Vec<(u32, T)> {
        let meeting = &self.sub_groups[(local / self.sub_group_size) as usize];
        meeting.meet(Some((local, Box::new(value))), |brought| {
            let value =
                |(&local, value): (&u32, &Box<dyn Any + Send>)| Some((local, *value.downcast_ref::<T>()?));
            brought.iter().filter_map(value).collect()
        })
    }

    /// An item has ended.
    pub(crate) fn leave(&self, local: u32) {
        self.sub_groups[(local / self.sub_group_size) as usize].leave();
        self.all.leave();
    }
}
