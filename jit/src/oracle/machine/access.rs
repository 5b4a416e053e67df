//! Memory as the invocations of a group see it: bounds, shadow state, initialisation.

use super::Now;
use crate::oracle::arith::{self, Num};
use crate::oracle::error::OracleError;
use crate::oracle::finding::{AccessKind, Findings};
use crate::oracle::input::Position;
use crate::oracle::memory::{Memory, Object};
use crate::oracle::program::{AtomicOp, Covers, POISON, Program, Span};
use crate::oracle::shadow::{Shadow, Touch};
use crate::oracle::{Dispatch, Options};

/// Where an instruction accesses memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    /// Index of the instruction in the program.
    pub(super) at: u32,
    /// The two lanes of the pointer.
    pub(super) meta: u64,
    pub(super) offset: u64,
}

/// The bytes behind a binding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) object: usize,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// Everything outside the registers.
pub(super) struct World<'a> {
    pub(super) program: &'a Program,
    pub(super) dispatch: usize,
    pub(super) groups: [u32; 3],
    pub(super) findings: &'a mut Findings,
    pub(super) max_findings: usize,
    pub(super) slots: Vec<Slot>,
    pub(super) objects: &'a mut [Object],
    push: &'a [u8],
    /// Private memory, one invocation after the other.
    private: Vec<u64>,
    private_written: Vec<bool>,
    shared: Vec<u64>,
    shared_written: Vec<bool>,
    shared_shadow: Shadow,
    /// The invocation that runs, in its view of buffers and of Workgroup memory.
    pub(super) buffers: Now,
    pub(super) workgroup: Now,
    /// What memory barriers since the last control barrier cover.
    pub(super) fenced: Covers,
    /// Per sub-group: when its last barriers for buffers and for Workgroup memory were.
    pub(super) subgroup_covers: Vec<(u32, u32)>,
    pub(super) size: u32,
    pub(super) subgroup_size: u32,
}

impl<'a> World<'a> {
    pub(super) fn new(
        index: usize,
        dispatch: &'a Dispatch<'a>,
        memory: &'a mut Memory,
        size: u32,
        options: &Options,
        findings: &'a mut Findings,
    ) -> Result<Self, OracleError> {
        let program = dispatch.program;
        let objects = memory.objects.as_mut_slice();
        let mut slots = Vec::with_capacity(program.bindings.len());
        for used in &program.bindings {
            let (set, binding) = (used.set, used.binding);
            let bound = dispatch.bindings.iter().find(|bind| bind.set == set && bind.binding == binding);
            let bound = bound.ok_or(OracleError::MissingBinding { dispatch: index, set, binding })?;
            let object = bound.object.0 as usize;
            let inside = objects.get(object).is_some_and(|object| {
                bound.offset.checked_add(bound.len).is_some_and(|end| end <= object.bytes.len() as u64)
            });
            if !inside {
                return Err(OracleError::BadRange { dispatch: index, set, binding });
            }
            slots.push(Slot { object, offset: bound.offset, len: bound.len });
        }
        for slot in &slots {
            // Two bindings of one object share grains, so the smaller alignment counts.
            let offsets = slots.iter().filter(|other| other.object == slot.object).map(|other| other.offset);
            let shift = offsets.fold(program.grain_shift, |shift, offset| shift.min(offset.trailing_zeros()));
            let object = &mut objects[slot.object];
            object.shadow.begin(object.bytes.len(), shift, program.has_atomics);
        }
        let lanes = program.private.lanes.len() * size as usize;
        let now = Now { group_size: size, subgroup_size: options.subgroup_size, ..Now::default() };
        let subgroups = size.div_ceil(options.subgroup_size) as usize;
        Ok(Self {
            program,
            dispatch: index,
            groups: dispatch.groups,
            findings,
            max_findings: options.max_findings,
            slots,
            objects,
            push: &dispatch.push,
            private: vec![0; lanes],
            private_written: vec![false; lanes],
            shared: program.shared.lanes.clone(),
            shared_written: program.shared.written.clone(),
            shared_shadow: Shadow::default(),
            buffers: now,
            workgroup: now,
            fenced: Covers::default(),
            subgroup_covers: vec![(0, 0); subgroups],
            size,
            subgroup_size: options.subgroup_size,
        })
    }

    pub(super) fn begin_group(&mut self, linear: u32) {
        for now in [&mut self.buffers, &mut self.workgroup] {
            now.group_first = linear * self.size;
            now.time = 0;
            now.group_cover = 0;
        }
        self.fenced = Covers::default();
        self.subgroup_covers.fill((0, 0));
        self.shared.copy_from_slice(&self.program.shared.lanes);
        self.shared_written.copy_from_slice(&self.program.shared.written);
        self.shared_shadow.begin(self.shared.len(), 0, self.program.has_atomics);
    }

    /// Fresh variables and inputs.
    pub(super) fn begin_invocation(&mut self, position: &Position) {
        let image = &self.program.private;
        let first = position.local as usize * image.lanes.len();
        let lanes = &mut self.private[first..first + image.lanes.len()];
        lanes.copy_from_slice(&image.lanes);
        self.private_written[first..first + image.lanes.len()].copy_from_slice(&image.written);
        for &(builtin, lane, n) in &self.program.inputs {
            for (lane, value) in
                lanes[lane as usize..].iter_mut().zip(position.value(builtin)).take(n as usize)
            {
                *lane = value;
            }
        }
    }

    /// The invocation that runs from now on.
    pub(super) fn enter(&mut self, local: u32) {
        let subgroup = local / self.subgroup_size;
        let covers = self.subgroup_covers[subgroup as usize];
        for (now, cover) in [(&mut self.buffers, covers.0), (&mut self.workgroup, covers.1)] {
            now.invocation = now.group_first + local;
            now.subgroup_first = now.group_first + subgroup * self.subgroup_size;
            now.subgroup_cover = cover;
        }
    }

    pub(super) fn now(&self) -> &Now {
        &self.buffers
    }

    fn touch(&self, site: Site, kind: AccessKind) -> Touch {
        Touch {
            invocation: self.buffers.invocation,
            time: self.buffers.time,
            at: site.at,
            slot: site.meta as u16,
            kind,
        }
    }

    /// The bytes of a scalar in its object, if they are inside the binding.
    #[inline]
    fn locate(&self, site: Site, span: Span) -> Option<(usize, usize)> {
        if site.meta & POISON != 0 {
            return None;
        }
        let slot = self.slots.get(site.meta as usize)?;
        let first = site.offset.checked_add(u64::from(span.offset))?;
        let end = first.checked_add(u64::from(span.bytes))?;
        (end <= slot.len).then_some((slot.object, (slot.offset + first) as usize))
    }

    pub(super) fn load_bytes(&mut self, site: Site, spans: &[Span], out: &mut [u64]) {
        let touch = self.touch(site, AccessKind::Read);
        let mut reports = Reports::default();
        for (span, lane) in spans.iter().zip(out) {
            let Some((object, start)) = self.locate(site, *span) else {
                *lane = 0;
                reports.outside.get_or_insert(site.offset.wrapping_add(u64::from(span.offset)));
                continue;
            };
            let width = span.bytes as usize;
            let target = &mut self.objects[object];
            *lane = read(&target.bytes, start, width);
            if target.written.as_ref().is_some_and(|written| written[start..start + width].contains(&false)) {
                reports.uninitialised.get_or_insert((object, start));
            }
            if let Some(other) = target.shadow.touch(start, width, touch, &self.buffers) {
                reports.race.get_or_insert((object, start, other));
            }
        }
        self.report(touch, site, reports);
    }

    pub(super) fn store_bytes(&mut self, site: Site, spans: &[Span], values: &[u64]) {
        let touch = self.touch(site, AccessKind::Write);
        let mut reports = Reports::default();
        for (span, value) in spans.iter().zip(values) {
            let Some((object, start)) = self.locate(site, *span) else {
                reports.outside.get_or_insert(site.offset.wrapping_add(u64::from(span.offset)));
                continue;
            };
            let width = span.bytes as usize;
            let target = &mut self.objects[object];
            target.bytes[start..start + width].copy_from_slice(&value.to_le_bytes()[..width]);
            if let Some(written) = &mut target.written {
                written[start..start + width].fill(true);
            }
            if let Some(other) = target.shadow.touch(start, width, touch, &self.buffers) {
                reports.race.get_or_insert((object, start, other));
            }
        }
        self.report(touch, site, reports);
    }

    pub(super) fn load_push(&mut self, site: Site, spans: &[Span], out: &mut [u64]) {
        let mut reports = Reports::default();
        for (span, lane) in spans.iter().zip(out) {
            let first = site.offset.checked_add(u64::from(span.offset));
            let end = first.and_then(|first| first.checked_add(u64::from(span.bytes)));
            *lane = match (first, end) {
                (Some(first), Some(end)) if site.meta & POISON == 0 && end <= self.push.len() as u64 => {
                    read(self.push, first as usize, span.bytes as usize)
                }
                _ => {
                    reports.outside.get_or_insert(site.offset.wrapping_add(u64::from(span.offset)));
                    0
                }
            };
        }
        self.report_push(self.touch(site, AccessKind::Read), reports);
    }

    /// The first lane in the array of all lanes, if the access is inside the memory.
    fn lanes(&self, site: Site, shared: bool, n: usize) -> Option<usize> {
        let (first, len) = if shared {
            (0, self.shared.len())
        } else {
            let len = self.program.private.lanes.len();
            ((self.buffers.invocation - self.buffers.group_first) as usize * len, len)
        };
        let offset = usize::try_from(site.offset).ok().filter(|_| site.meta & POISON == 0)?;
        (offset.checked_add(n)? <= len).then_some(first + offset)
    }

    pub(super) fn load_lanes(&mut self, site: Site, shared: bool, out: &mut [u64]) {
        let Some(first) = self.lanes(site, shared, out.len()) else {
            out.fill(0);
            return self.report_lanes(self.touch(site, AccessKind::Read), site, shared);
        };
        let range = first..first + out.len();
        let (lanes, written) = if shared {
            (&self.shared, &self.shared_written)
        } else {
            (&self.private, &self.private_written)
        };
        out.copy_from_slice(&lanes[range.clone()]);
        if let Some(lane) = written[range.clone()].iter().position(|written| !written) {
            let at = site.offset + lane as u64;
            self.report_unwritten_lane(self.touch(site, AccessKind::Read), at, shared);
        }
        if shared {
            self.touch_shared(site, AccessKind::Read, range);
        }
    }

    pub(super) fn store_lanes(&mut self, site: Site, shared: bool, values: &[u64]) {
        let Some(first) = self.lanes(site, shared, values.len()) else {
            return self.report_lanes(self.touch(site, AccessKind::Write), site, shared);
        };
        let range = first..first + values.len();
        let (lanes, written) = if shared {
            (&mut self.shared, &mut self.shared_written)
        } else {
            (&mut self.private, &mut self.private_written)
        };
        lanes[range.clone()].copy_from_slice(values);
        written[range.clone()].fill(true);
        if shared {
            self.touch_shared(site, AccessKind::Write, range);
        }
    }

    fn touch_shared(&mut self, site: Site, kind: AccessKind, range: std::ops::Range<usize>) {
        let touch = self.touch(site, kind);
        let mut race = None;
        for lane in range {
            if let Some(other) = self.shared_shadow.touch(lane, 1, touch, &self.workgroup) {
                race.get_or_insert((lane, other));
            }
        }
        if let Some((lane, other)) = race {
            self.report_shared_race(touch, other, lane);
        }
    }

    /// Returns the old value.
    pub(super) fn atomic(
        &mut self,
        site: Site,
        op: AtomicOp,
        num: Num,
        shared: bool,
        (value, comparator): (u64, u64),
    ) -> u64 {
        let old_value = |old: u64| match op {
            AtomicOp::Load => None,
            AtomicOp::Store | AtomicOp::Exchange => Some(value),
            AtomicOp::CompareExchange => (old == comparator).then_some(value),
            AtomicOp::Update(op) => Some(arith::binary(op, num, old, value)),
        };
        let reads = !matches!(op, AtomicOp::Store | AtomicOp::Exchange);
        let kind = if op == AtomicOp::Load { AccessKind::AtomicRead } else { AccessKind::Atomic };
        let touch = self.touch(site, kind);
        if shared {
            let Some(lane) = self.lanes(site, true, 1) else {
                self.report_lanes(touch, site, true);
                return 0;
            };
            let old = self.shared[lane];
            if reads && !self.shared_written[lane] {
                self.report_unwritten_lane(touch, site.offset, true);
            }
            if let Some(new) = old_value(old) {
                self.shared[lane] = new;
                self.shared_written[lane] = true;
            }
            self.touch_shared(site, kind, lane..lane + 1);
            return old;
        }
        let width = num.bits() as usize / 8;
        let mut reports = Reports::default();
        let Some((object, start)) = self.locate(site, Span { offset: 0, bytes: width as u32 }) else {
            reports.outside = Some(site.offset);
            self.report(touch, site, reports);
            return 0;
        };
        let target = &mut self.objects[object];
        let old = read(&target.bytes, start, width);
        let new = old_value(old);
        if let Some(new) = new {
            target.bytes[start..start + width].copy_from_slice(&new.to_le_bytes()[..width]);
        }
        if let Some(written) = &mut target.written {
            if reads && written[start..start + width].contains(&false) {
                reports.uninitialised = Some((object, start));
            }
            if new.is_some() {
                written[start..start + width].fill(true);
            }
        }
        reports.race =
            target.shadow.touch(start, width, touch, &self.buffers).map(|other| (object, start, other));
        self.report(touch, site, reports);
        old
    }

    pub(super) fn array_length(&self, meta: u64, start: u64, stride: u32) -> u64 {
        let len =
            if meta & POISON == 0 { self.slots.get(meta as usize).map_or(0, |slot| slot.len) } else { 0 };
        (len.saturating_sub(start) / u64::from(stride.max(1))).min(u64::from(u32::MAX))
    }

    pub(super) fn reset(&mut self, lane: usize, n: usize) {
        let image = &self.program.private;
        let first = (self.buffers.invocation - self.buffers.group_first) as usize * image.lanes.len() + lane;
        self.private[first..first + n].copy_from_slice(&image.lanes[lane..lane + n]);
        self.private_written[first..first + n].copy_from_slice(&image.written[lane..lane + n]);
    }
}

/// At most one finding of each kind per executed instruction.
#[derive(Default)]
pub(super) struct Reports {
    pub(super) outside: Option<u64>,
    pub(super) uninitialised: Option<(usize, usize)>,
    pub(super) race: Option<(usize, usize, Touch)>,
}

#[inline]
fn read(bytes: &[u8], start: usize, width: usize) -> u64 {
    let bytes = &bytes[start..start + width];
    match *bytes {
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        _ => bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)),
    }
}
