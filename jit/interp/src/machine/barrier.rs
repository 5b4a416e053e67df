//! What happens once no invocation of a group can go on by itself.

use super::world::World;
use super::{Machine, State};
use crate::error::OracleError;
use crate::finding::DivergentBarrier;
use crate::program::{Covers, Inst};

impl World<'_> {
    pub(super) fn fence(&mut self, covers: Covers) {
        let now = &self.buffers;
        let subgroup = (now.subgroup_first - now.group_first) / self.subgroup_size;
        let fenced = &mut self.fenced[subgroup as usize];
        fenced.buffer |= covers.buffer;
        fenced.shared |= covers.shared;
        fenced.image |= covers.image;
        if covers.buffer || covers.image {
            let group = (self.buffers.group_first / self.size) as usize;
            self.published[group] = true;
        }
    }

    fn tick(&mut self) -> u32 {
        self.buffers.time = self.buffers.time.saturating_add(1);
        self.workgroup.time = self.buffers.time;
        self.images.time = self.buffers.time;
        self.buffers.time
    }

    /// A barrier of the work-group was passed. Memory barriers before it count as part of it.
    fn pass_barrier(&mut self, covers: Covers) {
        let time = self.tick();
        let mut fenced = Covers::default();
        for one in &mut self.fenced {
            let Covers { buffer, shared, image } = std::mem::take(one);
            fenced.buffer |= buffer;
            fenced.shared |= shared;
            fenced.image |= image;
        }
        if covers.buffer || fenced.buffer {
            self.buffers.group_cover = time;
        }
        if covers.shared || fenced.shared {
            self.workgroup.group_cover = time;
        }
        if covers.image || fenced.image {
            self.images.group_cover = time;
        }
    }

    fn pass_subgroup_barrier(&mut self, subgroup: u32, covers: Covers) {
        let time = self.tick();
        let fenced = std::mem::take(&mut self.fenced[subgroup as usize]);
        let passed = &mut self.subgroup_covers[subgroup as usize];
        if covers.buffer || fenced.buffer {
            passed[0] = time;
        }
        if covers.shared || fenced.shared {
            passed[1] = time;
        }
        if covers.image || fenced.image {
            passed[2] = time;
        }
    }
}

impl Machine<'_> {
    /// Lets waiting invocations go on: sub-groups whose members all wait at one place first, then the
    /// whole group.
    pub(super) fn release(&mut self) -> Result<(), OracleError> {
        let mut went_on = false;
        let subgroup_size = self.options.subgroup_size;
        for subgroup in 0..self.size.div_ceil(subgroup_size) {
            let first = subgroup * subgroup_size;
            let members = first..self.size.min(first + subgroup_size);
            went_on |= self.release_subgroup(subgroup, members);
        }
        if went_on {
            return Ok(());
        }
        let stuck = (0..self.size).find(|local| self.states[*local as usize] == State::Subgroup);
        if let Some(local) = stuck {
            let word = self.word(local);
            return Err(OracleError::DivergentSubgroup { dispatch: self.world.dispatch, word });
        }
        let waiting = (0..self.size).find(|local| self.states[*local as usize] == State::Barrier);
        match waiting {
            Some(waiting) => self.release_group(waiting),
            None => self.release_stragglers(),
        }
        Ok(())
    }

    fn word(&self, local: u32) -> usize {
        self.program.words[self.counters[local as usize] as usize] as usize
    }

    /// Whether the members that have not ended all wait at the same sub-group instruction or barrier; if
    /// so it is executed.
    fn release_subgroup(&mut self, subgroup: u32, members: std::ops::Range<u32>) -> bool {
        let waits = |state| matches!(state, State::Subgroup | State::SubgroupBarrier);
        let active: Vec<u32> = members.filter(|local| self.states[*local as usize] != State::Done).collect();
        let Some(&leader) = active.first() else {
            return false;
        };
        let at = self.counters[leader as usize];
        let together =
            |local: &u32| self.counters[*local as usize] == at && waits(self.states[*local as usize]);
        if !active.iter().all(together) {
            return false;
        }
        match self.program.code[at as usize] {
            Inst::Subgroup { index } => self.subgroup(self.program.groups[index as usize], &active),
            Inst::Barrier { covers, .. } => self.world.pass_subgroup_barrier(subgroup, covers),
            _ => return false,
        }
        for local in active {
            self.go_on(local);
        }
        true
    }

    fn go_on(&mut self, local: u32) {
        self.counters[local as usize] += 1;
        self.states[local as usize] = State::Ready;
    }

    /// Called when every invocation of the work-group either waits at a barrier or has ended.
    fn release_group(&mut self, waiting: u32) {
        let at = self.counters[waiting as usize];
        let missing = (0..self.size).find(|local| {
            let index = *local as usize;
            self.states[index] != State::Barrier || self.counters[index] != at
        });
        if let Some(missing) = missing {
            self.report_divergence(waiting, missing);
        }
        if let Inst::Barrier { covers, .. } = self.program.code[at as usize] {
            self.world.pass_barrier(covers);
        }
        for local in 0..self.size {
            if self.states[local as usize] == State::Barrier {
                self.go_on(local);
            }
        }
    }

    /// Only members of sub-groups are left, waiting for barriers that the others of theirs never reach.
    fn release_stragglers(&mut self) {
        for local in 0..self.size {
            if self.states[local as usize] == State::SubgroupBarrier {
                let first = local / self.options.subgroup_size * self.options.subgroup_size;
                let mut others = first..self.size.min(first + self.options.subgroup_size);
                let at = self.counters[local as usize];
                if let Some(missing) = others.find(|other| self.counters[*other as usize] != at) {
                    self.report_divergence(local, missing);
                }
            }
        }
        for local in 0..self.size {
            if self.states[local as usize] == State::SubgroupBarrier {
                self.go_on(local);
            }
        }
    }

    fn report_divergence(&mut self, waiting: u32, missing: u32) {
        let first = self.world.buffers.group_first;
        let found = DivergentBarrier {
            dispatch: self.world.dispatch,
            group: crate::input::unfold(first / self.size, self.groups),
            word: self.word(waiting),
            waiting: self.world.global_id(first + waiting),
            missing: self.world.global_id(first + missing),
        };
        self.world.findings.divergent_barriers.push(self.options.max_findings, || found);
    }
}
