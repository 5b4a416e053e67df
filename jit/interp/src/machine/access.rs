//! Loads, stores and atomics: bounds, initialisation, shadow state.

use super::world::World;
use crate::arith::{self, Num};
use crate::finding::AccessKind;
use crate::memory::ObjectId;
use crate::program::{AtomicOp, POISON, Span};
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
    fn touch(&self, site: Site, kind: AccessKind) -> Touch {
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
        self.met_atomic = true;
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
        if new.is_some() && target.constants.touch(start, width, false, true) {
            reports.changed = Some((object, start));
        }
        self.note(touch, object, start, width);
        self.report(touch, site, reports);
        old
    }

    /// Width, height and depth or layers of an image; nothing of what is none.
    pub(super) fn image_size(&self, meta: u64) -> [u32; 3] {
        let slot = self.slots.get(meta as usize).filter(|_| meta & POISON == 0);
        slot.map_or([0; 3], |slot| self.objects[slot.object].extent)
    }

    /// The two lanes of a pointer to a texel of so many channels. Coordinates outside of the image lead nowhere.
    pub(super) fn texel(&self, meta: u64, at: &[u64], channels: u32) -> (u64, u64) {
        let size = self.image_size(meta);
        let mut number = 0;
        for d in (0..3).rev() {
            let (side, coordinate) = (u64::from(size[d].max(1)), at.get(d).copied().unwrap_or(0));
            if coordinate >= u64::from(size[d]).max(u64::from(d >= at.len())) {
                return (POISON, coordinate);
            }
            number = number * side + coordinate;
        }
        (meta, number * u64::from(4 * channels))
    }

    pub(super) fn array_length(&self, meta: u64, start: u64, stride: u32) -> u64 {
        let len =
            if meta & POISON == 0 { self.slots.get(meta as usize).map_or(0, |slot| slot.len) } else { 0 };
        (len.saturating_sub(start) / u64::from(stride.max(1))).min(u64::from(u32::MAX))
    }
}

/// At most one finding of each kind per executed instruction.
#[derive(Default)]
pub(super) struct Reports {
    pub(super) outside: Option<u64>,
    pub(super) uninitialised: Option<(usize, usize)>,
    pub(super) race: Option<(usize, usize, Touch)>,
    pub(super) changed: Option<(usize, usize)>,
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
