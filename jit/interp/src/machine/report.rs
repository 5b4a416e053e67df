//! Turns what was noticed into findings. Cold code.

use super::access::{Outside, Reports, Site};
use super::world::World;
use crate::compute::compute;
use crate::finding::{
    Access, AccessKind, ChangedConstant, OutOfBounds, Place, Race, UndefinedResult, Uninitialised,
};
use crate::input::{Position, unfold};
use crate::memory::ObjectId;
use crate::program::{Image, POISON};
use crate::shadow::Touch;
use crate::undefined::{self, Notice};

/// Where the lane of a Private or Workgroup access is counted from.
fn variable(image: &Image, lane: u64) -> Option<(u32, u64)> {
    let index = image.variables.partition_point(|variable| u64::from(variable.0) <= lane).checked_sub(1)?;
    let (first, id) = image.variables[index];
    Some((id, lane - u64::from(first)))
}

impl World<'_> {
    fn position(&self, invocation: u32) -> Position {
        Position {
            groups: self.groups,
            group: unfold(invocation / self.size, self.groups),
            local_size: self.program.local_size,
            local: invocation % self.size,
            subgroup_size: self.subgroup_size,
            scattered: self.program.subgroup_size.is_some(),
        }
    }

    /// Executes an instruction that only reads and writes registers, and looks whether its result is defined.
    pub(super) fn compute_noticing(&mut self, notice: Notice, at: u32, r: &mut [u64]) {
        let inst = &self.program.code[at as usize];
        let lanes = undefined::lanes(inst, r);
        compute(inst, self.program, r);
        let Some(first) = lanes.first() else { return };
        let here = self.program.words[at as usize] as usize;
        match notice {
            Notice::Other { dispatch, word } if (dispatch, word) == (self.dispatch, here) => {
                for lane in &lanes {
                    r[lane.register as usize] ^= lane.other;
                }
            }
            Notice::Listed if !self.undefined.contains(&here) => {
                self.undefined.push(here);
                let invocation = self.global_id(self.buffers.invocation);
                let (dispatch, what) = (self.dispatch, first.what);
                let result = UndefinedResult { dispatch, word: here, what, invocation };
                self.findings.undefined.push(self.max_findings, || result);
            }
            _ => {}
        }
    }

    pub(super) fn global_id(&self, invocation: u32) -> [u32; 3] {
        self.position(invocation).global_id()
    }

    fn access(&self, touch: Touch, place: Place) -> Access {
        let position = self.position(touch.invocation);
        Access {
            invocation: position.global_id(),
            group: position.group,
            kind: touch.kind,
            place,
            word: self.program.words.get(touch.at as usize).map_or(0, |word| *word as usize),
        }
    }

    fn binding_access(&self, touch: Touch) -> Access {
        let used = self.program.bindings.get(usize::from(touch.slot));
        let place =
            used.map_or(Place::Nothing, |used| Place::Binding { set: used.set, binding: used.binding });
        self.access(touch, place)
    }

    fn lane_access(&self, touch: Touch, lane: u64, shared: bool) -> (Access, u64) {
        let image = if shared { &self.program.shared } else { &self.program.private };
        match variable(image, lane).filter(|_| lane < image.lanes.len() as u64) {
            Some((variable, index)) if shared => (self.access(touch, Place::Workgroup { variable }), index),
            Some((variable, index)) => (self.access(touch, Place::Private { variable }), index),
            None => (self.access(touch, Place::Nothing), lane),
        }
    }

    fn maybe_ordered_by_atomics(&self, other: &Touch) -> bool {
        let published =
            |invocation: u32| self.published.get((invocation / self.size) as usize) == Some(&true);
        self.met_atomic && published(other.invocation) && published(self.buffers.invocation)
    }

    /// Findings of an access to a buffer.
    #[inline]
    pub(super) fn report(&mut self, touch: Touch, site: Site, reports: Reports) {
        if reports.outside.is_some()
            || reports.uninitialised.is_some()
            || reports.race.is_some()
            || reports.changed.is_some()
        {
            self.report_some(touch, site, reports);
        }
    }

    #[cold]
    fn report_some(&mut self, touch: Touch, site: Site, reports: Reports) {
        let (dispatch, limit) = (self.dispatch, self.max_findings);
        let mut access = self.binding_access(touch);
        if let Some(outside) = reports.outside {
            // The slot of a null pointer means nothing, even when its 16 bits happen to.
            if site.meta & !POISON >= self.slots.len() as u64 {
                access.place = Place::Nothing;
            }
            let outside = self.outside(site, outside);
            let (offset, texel) = match outside {
                Outside::Byte(offset) => (offset, None),
                Outside::Texel(at) => (0, Some(at)),
            };
            let defined = self.is_defined(site, outside, access.kind);
            let list = if defined { &mut self.findings.notes } else { &mut self.findings.out_of_bounds };
            list.push(limit, || OutOfBounds { dispatch, access, offset, texel });
        }
        if let Some((object, start)) = reports.uninitialised {
            let (object, offset) = (Some(ObjectId(object as u32)), start as u64);
            self.findings.uninitialised.push(limit, || Uninitialised { dispatch, access, object, offset });
        }
        if let Some((object, start)) = reports.changed {
            let (object, offset) = (ObjectId(object as u32), start as u64);
            self.findings.changed_constants.push(limit, || ChangedConstant {
                dispatch,
                access,
                object,
                offset,
            });
        }
        if let Some((object, start, other)) = reports.race {
            let is_texel = self.slots.get(usize::from(touch.slot)).is_some_and(|slot| slot.texels.is_some());
            let now = if is_texel { &self.images } else { &self.buffers };
            let race = Race {
                dispatch,
                object: Some(ObjectId(object as u32)),
                offset: start as u64,
                first: self.binding_access(other),
                second: access,
                barrier_without_memory: now.barrier_between(&other),
                maybe_ordered_by_atomics: self.maybe_ordered_by_atomics(&other),
            };
            self.findings.races.push(limit, || race);
        }
    }

    /// Whether Vulkan says what an access outside does. Writes of texels have no effect; with robust access, nor have writes
    /// outside of the range that is bound, from which zeros are read. An index outside of an array that is followed by something else in
    /// the range may lead there, and is as undefined as ever.
    fn is_defined(&self, site: Site, outside: Outside, kind: AccessKind) -> bool {
        let slot = self.slots.get((site.meta & !POISON) as usize);
        let is_buffer = self
            .program
            .bindings
            .get(usize::from(site.meta as u16))
            .is_some_and(|used| used.image.is_none_or(|image| image.is_buffer));
        match (outside, slot) {
            (_, None) => false,
            (Outside::Texel(_), _) => kind == AccessKind::Write || self.robust && is_buffer,
            (Outside::Byte(at), Some(slot)) => {
                self.robust && is_buffer && (at < 0 || at as u64 >= slot.len || site.meta & POISON == 0)
            }
        }
    }

    pub(super) fn report_push(&mut self, touch: Touch, reports: Reports) {
        if let Some(Outside::Byte(offset)) = reports.outside {
            let (dispatch, access) = (self.dispatch, self.access(touch, Place::PushConstants));
            let found = OutOfBounds { dispatch, access, offset, texel: None };
            self.findings.out_of_bounds.push(self.max_findings, || found);
        }
    }

    /// An access to a variable with an index out of bounds.
    #[cold]
    pub(super) fn report_lanes(&mut self, touch: Touch, site: Site, shared: bool) {
        // The pointer may have left its variable, but remembers where that starts.
        let first = site.meta & !POISON;
        let (access, _) = self.lane_access(touch, first, shared);
        let offset = site.offset.wrapping_sub(first) as i64;
        let found = OutOfBounds { dispatch: self.dispatch, access, offset, texel: None };
        self.findings.out_of_bounds.push(self.max_findings, || found);
    }

    #[cold]
    pub(super) fn report_unwritten_lane(&mut self, touch: Touch, lane: u64, shared: bool) {
        let (access, offset) = self.lane_access(touch, lane, shared);
        let (dispatch, object) = (self.dispatch, None);
        self.findings.uninitialised.push(self.max_findings, || Uninitialised {
            dispatch,
            access,
            object,
            offset,
        });
    }

    #[cold]
    pub(super) fn report_shared_race(&mut self, touch: Touch, other: Touch, lane: usize) {
        let (second, offset) = self.lane_access(touch, lane as u64, true);
        let race = Race {
            dispatch: self.dispatch,
            object: None,
            offset,
            first: self.lane_access(other, lane as u64, true).0,
            second,
            barrier_without_memory: self.workgroup.barrier_between(&other),
            maybe_ordered_by_atomics: false,
        };
        self.findings.races.push(self.max_findings, || race);
    }
}
