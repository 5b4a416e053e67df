//! Loads, stores and atomics: bounds, initialisation, shadow state.

use super::world::World;
use crate::arith::{self, Num};
use crate::finding::AccessKind;
use crate::memory::ObjectId;
use crate::program::{AtomicOp, Class, POISON, Span};
use crate::shadow::Touch;
use crate::trace::Touched;

/// Where an instruction accesses memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    /// Index of the instruction in the program.
    pub(super) at: u32,
    /// The two lanes of the pointer.
    pub(super) meta: u64,
    pub(super) offset: u64,
}

impl World<'_> {
    pub(super) fn touch(&self, site: Site, kind: AccessKind) -> Touch {
        Touch {
            invocation: self.buffers.invocation,
            time: self.buffers.time,
            at: site.at,
            slot: site.meta as u16,
            kind,
        }
    }

    /// Writes an access down where a trace is kept.
    #[inline]
    fn note(&mut self, touch: Touch, object: usize, start: usize, width: usize) {
        let Some(trace) = &mut self.trace else { return };
        let binding = self.program.bindings.get(touch.slot as usize);
        trace.touches.push(Touched {
            dispatch: self.dispatch as u32,
            invocation: touch.invocation,
            object: ObjectId(object as u32),
            offset: start as u64,
            bytes: width as u32,
            kind: touch.kind,
            set: binding.map_or(0, |binding| binding.set),
            binding: binding.map_or(0, |binding| binding.binding),
        });
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
                reports.outside.get_or_insert(Outside::at(site, span.offset));
                continue;
            };
            let width = span.bytes as usize;
            let target = &mut self.objects[object];
            *lane = read(&target.bytes, start, width);
            if target.written.as_ref().is_some_and(|written| written[start..start + width].contains(&false)) {
                reports.uninitialised.get_or_insert((object, start));
            }
            let now = if self.slots[usize::from(touch.slot)].texels.is_some() {
                &self.images
            } else {
                &self.buffers
            };
            if let Some(other) = target.shadow.touch(start, width, touch, now) {
                reports.race.get_or_insert((object, start, other));
            }
            if target.constants.touch(start, width, self.slots[usize::from(touch.slot)].uniform, false) {
                reports.changed.get_or_insert((object, start));
            }
            self.note(touch, object, start, width);
        }
        self.report(touch, site, reports);
    }

    pub(super) fn store_bytes(&mut self, site: Site, spans: &[Span], values: &[u64]) {
        let touch = self.touch(site, AccessKind::Write);
        let mut reports = Reports::default();
        for (span, value) in spans.iter().zip(values) {
            let Some((object, start)) = self.locate(site, *span) else {
                reports.outside.get_or_insert(Outside::at(site, span.offset));
                continue;
            };
            let width = span.bytes as usize;
            let target = &mut self.objects[object];
            target.bytes[start..start + width].copy_from_slice(&value.to_le_bytes()[..width]);
            if let Some(written) = &mut target.written {
                written[start..start + width].fill(true);
            }
            let now = if self.slots[usize::from(touch.slot)].texels.is_some() {
                &self.images
            } else {
                &self.buffers
            };
            if let Some(other) = target.shadow.touch(start, width, touch, now) {
                reports.race.get_or_insert((object, start, other));
            }
            if target.constants.touch(start, width, false, true) {
                reports.changed.get_or_insert((object, start));
            }
            self.note(touch, object, start, width);
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
                    reports.outside.get_or_insert(Outside::at(site, span.offset));
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

    /// `asked` says of each lane whether anything depends on it; if it says nothing, something does on all of them.
    pub(super) fn load_lanes(&mut self, site: Site, shared: bool, asked: &[bool], out: &mut [u64]) {
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
        let is_asked = |lane: usize| asked.get(lane).copied().unwrap_or(true);
        let mut unwritten = written[range.clone()].iter().enumerate().filter(|(_, written)| !**written);
        if let Some((lane, _)) = unwritten.find(|&(lane, _)| is_asked(lane)) {
            let at = site.offset + lane as u64;
            self.report_unwritten_lane(self.touch(site, AccessKind::Read), at, shared);
        }
        if shared {
            self.touch_shared(site, AccessKind::Read, range);
        }
    }

    /// `changed` says of each lane whether it has another value than before; if it says nothing, all of them may.
    pub(super) fn store_lanes(&mut self, site: Site, shared: bool, changed: &[bool], values: &[u64]) {
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
        match changed {
            [] => written[range.clone()].fill(true),
            _ => written[range.clone()]
                .iter_mut()
                .zip(changed)
                .for_each(|(written, changed)| *written |= changed),
        }
        if shared {
            self.touch_shared(site, AccessKind::Write, range);
        }
    }

    /// Loads from a block in Workgroup memory, which is kept with one byte in each lane.
    pub(super) fn load_block(&mut self, site: Site, spans: &[Span], out: &mut [u64]) {
        let (mut outside, mut unwritten) = (None, None);
        for (span, value) in spans.iter().zip(out) {
            let part = Site { offset: site.offset.wrapping_add(u64::from(span.offset)), ..site };
            let Some(first) = self.lanes(part, true, span.bytes as usize) else {
                *value = 0;
                outside.get_or_insert(part);
                continue;
            };
            let range = first..first + span.bytes as usize;
            *value = joined(&self.shared[range.clone()]);
            if let Some(byte) = self.shared_written[range.clone()].iter().position(|written| !written) {
                unwritten.get_or_insert(part.offset + byte as u64);
            }
            self.touch_shared(part, AccessKind::Read, range);
        }
        let touch = self.touch(site, AccessKind::Read);
        if let Some(part) = outside {
            self.report_lanes(touch, part, true);
        }
        if let Some(byte) = unwritten {
            self.report_unwritten_lane(touch, byte, true);
        }
    }

    pub(super) fn store_block(&mut self, site: Site, spans: &[Span], values: &[u64]) {
        let mut outside = None;
        for (span, value) in spans.iter().zip(values) {
            let part = Site { offset: site.offset.wrapping_add(u64::from(span.offset)), ..site };
            let Some(first) = self.lanes(part, true, span.bytes as usize) else {
                outside.get_or_insert(part);
                continue;
            };
            let range = first..first + span.bytes as usize;
            split(*value, &mut self.shared[range.clone()]);
            self.shared_written[range.clone()].fill(true);
            self.touch_shared(part, AccessKind::Write, range);
        }
        if let Some(part) = outside {
            self.report_lanes(self.touch(site, AccessKind::Write), part, true);
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
        class: Class,
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
        if matches!(class, Class::Shared | Class::Block) {
            // A lane for the number, or one for each of its bytes.
            let n = if class == Class::Shared { 1 } else { num.bits() as usize / 8 };
            let Some(first) = self.lanes(site, true, n) else {
                self.report_lanes(touch, site, true);
                return 0;
            };
            let lanes = first..first + n;
            let old = if n == 1 { self.shared[first] } else { joined(&self.shared[lanes.clone()]) };
            if reads && self.shared_written[lanes.clone()].contains(&false) {
                self.report_unwritten_lane(touch, site.offset, true);
            }
            if let Some(new) = old_value(old) {
                if class == Class::Shared {
                    self.shared[first] = new;
                } else {
                    split(new, &mut self.shared[lanes.clone()]);
                }
                self.shared_written[lanes.clone()].fill(true);
            }
            self.touch_shared(site, kind, lanes);
            return old;
        }
        self.met_atomic = true;
        let width = num.bits() as usize / 8;
        let mut reports = Reports::default();
        let Some((object, start)) = self.locate(site, Span { offset: 0, bytes: width as u32 }) else {
            reports.outside = Some(Outside::at(site, 0));
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
        let is_texel = self.slots[usize::from(touch.slot)].texels.is_some();
        let now = if is_texel { &self.images } else { &self.buffers };
        reports.race = target.shadow.touch(start, width, touch, now).map(|other| (object, start, other));
        if new.is_some() && target.constants.touch(start, width, false, true) {
            reports.changed = Some((object, start));
        }
        self.note(touch, object, start, width);
        self.report(touch, site, reports);
        old
    }

    pub(super) fn array_length(&self, meta: u64, start: u64, stride: u32) -> u64 {
        let len =
            if meta & POISON == 0 { self.slots.get(meta as usize).map_or(0, |slot| slot.len) } else { 0 };
        (len.saturating_sub(start) / u64::from(stride.max(1))).min(u64::from(u32::MAX))
    }
}

/// Where an access lies that is outside of what it may touch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outside {
    /// This many bytes from the start of the range.
    Byte(i64),
    /// At these coordinates of an image.
    Texel([i32; 3]),
}

impl Outside {
    fn at(site: Site, span: u32) -> Self {
        Self::Byte(site.offset.wrapping_add(u64::from(span)) as i64)
    }
}

/// At most one finding of each kind per executed instruction.
#[derive(Default)]
pub(super) struct Reports {
    pub(super) outside: Option<Outside>,
    pub(super) uninitialised: Option<(usize, usize)>,
    pub(super) race: Option<(usize, usize, Touch)>,
    pub(super) changed: Option<(usize, usize)>,
}

/// The number whose bytes are the lanes, the lowest first.
fn joined(lanes: &[u64]) -> u64 {
    lanes.iter().rev().fold(0, |value, byte| value << 8 | byte)
}

fn split(value: u64, lanes: &mut [u64]) {
    for (lane, byte) in lanes.iter_mut().zip(value.to_le_bytes()) {
        *lane = u64::from(byte);
    }
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
