//! The push-constant block of a fused kernel.
//!
//! Two members share a slot if type and present value are equal: what goes into the code is which values are equal, not what
//! they are, so a new problem size needs no new kernel.
//!
//! Scalars stay push constants while the device has room for them. What is beyond that goes into a uniform buffer, whose bytes
//! follow those of the push constants; only what is laid out alike in both may: scalars of 32 and 64 bits and vectors of them.

use smallvec::SmallVec;

use crate::Reason;
use crate::analysis::access::{PushLeaf, PushUse};
use crate::plan::input::submission::Submission;
use crate::plan::output::origin::SlotOrigin;
use crate::plan::output::recipe::{PushSlot, ZERO};

/// Bytes of a uniform buffer that every device binds (`maxUniformBufferRange`).
const MOST_BEHIND: u32 = 16 << 10;

/// Most bytes of all arguments together where some are in a buffer: however they lie there, they fit.
pub(crate) const MOST_WITH_BUFFER: u32 = MOST_BEHIND / 3;

/// What the bytes of a uniform buffer are a multiple of.
const GRANULE: usize = 16;

/// Slots and their present values.
#[derive(Clone, Debug, Default)]
pub(crate) struct PushBlock {
    pub(crate) slots: Vec<PushSlot>,
    pub(crate) bytes: SmallVec<[u8; 64]>,
    /// Where the value of each slot is from.
    pub(crate) origins: Vec<SlotOrigin>,
    /// What the place of each slot is a multiple of, and whether it may be in a uniform buffer.
    places: Vec<(u32, bool)>,
}

impl PushBlock {
    /// Slots for what a member reads of its push constants, in the order of its leaves. It is the submission at a place of the
    /// list.
    pub(crate) fn add_member(&mut self, member: &Submission, at: usize) -> Result<Vec<u16>, Reason> {
        let normal = member.kernel.normal.as_ref().map_err(Clone::clone)?;
        match &normal.analysis.push {
            PushUse::None => Ok(Vec::new()),
            PushUse::Leaves(leaves) => {
                Ok(leaves.iter().map(|leaf| self.add_leaf(leaf, member, at)).collect())
            }
            PushUse::Block => {
                let size = member.kernel.interface.push.as_ref().map_or(0, |p| p.size) as usize;
                let block = normal.push_block.map(|ty| normal.types.signature(ty)).unwrap_or_default();
                let bytes = padded(&member.push, 0, size);
                let ty = slot_type(format!("!{block}"), member);
                Ok(vec![self.add(ty, (16, false), &bytes, Some((at, 0)))])
            }
        }
    }

    fn add_leaf(&mut self, leaf: &PushLeaf, member: &Submission, at: usize) -> u16 {
        if member.kernel.zeros.contains(&leaf.offset) {
            return self.add_zero();
        }
        let align = leaf.scalar * leaf.count.next_power_of_two();
        let bytes = padded(&member.push, leaf.offset as usize, leaf.size as usize);
        // Smaller ones need another feature of the device in a uniform buffer.
        let moves = leaf.scalar >= 4 || mutant!(SmallArgumentsMove);
        self.add(slot_type(leaf.ty.clone(), member), (align, moves), &bytes, Some((at, leaf.offset)))
    }

    /// A slot for an unsigned number.
    pub(crate) fn add_u32(&mut self, value: u32) -> u16 {
        self.add("u32".to_owned(), (4, true), &value.to_le_bytes(), None)
    }

    /// A slot for a number of items. Never shared with an argument of equal value, so that the one does not become
    /// the other's accident.
    pub(crate) fn add_total(&mut self, value: u32) -> u16 {
        self.add("u32 items".to_owned(), (4, true), &value.to_le_bytes(), None)
    }

    /// A slot for the zero that hides floats. Shared with nothing: an argument that happens to be zero may be another
    /// number in the next call.
    pub(crate) fn add_zero(&mut self) -> u16 {
        self.add(ZERO.to_owned(), (4, true), &[0; 4], None)
    }

    /// Whether there is one.
    pub(crate) fn has_zero(&self) -> bool {
        self.slots.iter().any(|slot| slot.ty == ZERO)
    }

    /// `origin` is a submission and an offset in its push constants; `None` for a value that the planner computes.
    fn add(&mut self, ty: String, place: (u32, bool), value: &[u8], origin: Option<(usize, u32)>) -> u16 {
        let present = self.slots.iter().position(|slot| {
            slot.ty == ty && &self.bytes[slot.offset as usize..(slot.offset + slot.size) as usize] == value
        });
        if let Some(index) = present {
            self.origins[index].add(origin);
            return index as u16;
        }
        let offset = append(&mut self.bytes, place.0, value);
        self.places.push(place);
        // Sizes of push-constant ranges are multiples of four.
        self.slots.push(PushSlot { offset, size: value.len() as u32, ty });
        self.origins.push(SlotOrigin::default());
        self.origins[self.slots.len() - 1].add(origin);
        self.slots.len() as u16 - 1
    }

    /// Bytes of the block, a multiple of four.
    pub(crate) fn size(&self) -> u32 {
        self.bytes.len().next_multiple_of(4) as u32
    }

    /// Whether it fits into `room` bytes of push constants and a uniform buffer, with `more` bytes that are added later.
    pub(crate) fn fits_with_buffer(&self, more: u32, room: u32) -> bool {
        let fixed = (0..self.slots.len()).filter(|&slot| !self.places[slot].1);
        let end =
            fixed.fold(0, |end: u32, slot| end.next_multiple_of(self.places[slot].0) + self.slots[slot].size);
        // Gaps are no longer than what is behind them, or hardly.
        end <= room & !3 && self.size() + more <= MOST_WITH_BUFFER
    }

    /// Lays the slots out anew: as many as there is room for as push constants, and the rest in a uniform buffer. Returns how
    /// many bytes are push constants, if not all are; the buffer's come behind them.
    pub(crate) fn move_behind(&mut self, room: u32) -> Option<u32> {
        let room = room & !3;
        let old = std::mem::take(&mut self.bytes);
        let of = |slot: &PushSlot| &old[slot.offset as usize..(slot.offset + slot.size) as usize];
        let mut offsets: Vec<Option<u32>> = vec![None; self.slots.len()];
        let (mut here, mut behind) = (SmallVec::<[u8; 64]>::new(), SmallVec::<[u8; 64]>::new());
        for moves in [false, true] {
            for (slot, &(align, _)) in self.places.iter().enumerate().filter(|(_, place)| place.1 == moves) {
                let end = (here.len() as u32).next_multiple_of(align) + self.slots[slot].size;
                if !moves || end <= room {
                    offsets[slot] = Some(append(&mut here, align, of(&self.slots[slot])));
                }
            }
        }
        here.resize(here.len().next_multiple_of(4), 0);
        let from = here.len() as u32;
        for (slot, (offset, &(align, _))) in offsets.iter_mut().zip(&self.places).enumerate() {
            if offset.is_none() {
                *offset = Some(from + append(&mut behind, align, of(&self.slots[slot])));
            }
        }
        behind.resize(behind.len().next_multiple_of(GRANULE), 0);
        here.extend_from_slice(&behind);
        self.bytes = here;
        self.slots.iter_mut().zip(offsets).for_each(|(slot, offset)| slot.offset = offset.unwrap_or(0));
        (!behind.is_empty()).then_some(from)
    }

    pub(crate) fn into_bytes(mut self) -> SmallVec<[u8; 64]> {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.bytes
    }
}

/// Puts a value behind others; where it is.
fn append(bytes: &mut SmallVec<[u8; 64]>, align: u32, value: &[u8]) -> u32 {
    let offset = bytes.len().next_multiple_of(align as usize);
    bytes.resize(offset, 0);
    bytes.extend_from_slice(value);
    offset as u32
}

/// The type of a slot. That of a pointer is a kernel's own: types that look alike may differ in decorations.
fn slot_type(signature: String, member: &Submission) -> String {
    if !signature.contains('*') {
        return signature;
    }
    let hash = member.kernel.hash.iter().map(|byte| format!("{byte:02x}"));
    signature + "@" + &hash.collect::<String>()
}

/// Bytes of a range, with zeros for what is not there.
pub(crate) fn padded(bytes: &[u8], offset: usize, size: usize) -> SmallVec<[u8; 16]> {
    (offset..offset + size).map(|at| bytes.get(at).copied().unwrap_or(0)).collect()
}
