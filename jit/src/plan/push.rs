//! The push-constant block of a fused kernel.
//!
//! Scalars stay push constants. Two members share a slot if type and present value are equal: what goes
//! into the code is which values are equal, not what they are, so a new problem size needs no new kernel.

use smallvec::SmallVec;

use super::recipe::PushSlot;
use super::submission::Submission;
use super::values::SlotOrigin;
use crate::Reason;
use crate::analysis::access::{PushLeaf, PushUse};

/// Slots and their present values.
#[derive(Clone, Debug, Default)]
pub(crate) struct PushBlock {
    pub(crate) slots: Vec<PushSlot>,
    pub(crate) bytes: SmallVec<[u8; 64]>,
    /// Where the value of each slot is from.
    pub(crate) origins: Vec<SlotOrigin>,
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
                Ok(vec![self.add(slot_type(format!("!{block}"), member), 16, &bytes, Some((at, 0)))])
            }
        }
    }

    fn add_leaf(&mut self, leaf: &PushLeaf, member: &Submission, at: usize) -> u16 {
        if member.kernel.zeros.contains(&leaf.offset) {
            return self.add_zero();
        }
        let align = leaf.scalar * leaf.count.next_power_of_two();
        let bytes = padded(&member.push, leaf.offset as usize, leaf.size as usize);
        self.add(slot_type(leaf.ty.clone(), member), align, &bytes, Some((at, leaf.offset)))
    }

    /// A slot for an unsigned number.
    pub(crate) fn add_u32(&mut self, value: u32) -> u16 {
        self.add("u32".to_owned(), 4, &value.to_le_bytes(), None)
    }

    /// A slot for a number of items. Never shared with an argument of equal value, so that the one does not become
    /// the other's accident.
    pub(crate) fn add_total(&mut self, value: u32) -> u16 {
        self.add("u32 items".to_owned(), 4, &value.to_le_bytes(), None)
    }

    /// A slot for the zero that hides floats. Shared with nothing: an argument that happens to be zero may be another
    /// number in the next call.
    pub(crate) fn add_zero(&mut self) -> u16 {
        self.add("u32 zero".to_owned(), 4, &[0; 4], None)
    }

    /// `origin` is a submission and an offset in its push constants; nothing for what the planner works out.
    fn add(&mut self, ty: String, align: u32, value: &[u8], origin: Option<(usize, u32)>) -> u16 {
        let present = self.slots.iter().position(|slot| {
            slot.ty == ty && &self.bytes[slot.offset as usize..(slot.offset + slot.size) as usize] == value
        });
        if let Some(index) = present {
            self.origins[index].add(origin);
            return index as u16;
        }
        let offset = self.bytes.len().next_multiple_of(align as usize);
        self.bytes.resize(offset, 0);
        self.bytes.extend_from_slice(value);
        // Sizes of push-constant ranges are multiples of four.
        self.slots.push(PushSlot { offset: offset as u32, size: value.len() as u32, ty });
        self.origins.push(SlotOrigin::default());
        self.origins[self.slots.len() - 1].add(origin);
        self.slots.len() as u16 - 1
    }

    /// Bytes of the block, a multiple of four.
    pub(crate) fn size(&self) -> u32 {
        self.bytes.len().next_multiple_of(4) as u32
    }

    pub(crate) fn into_bytes(mut self) -> SmallVec<[u8; 64]> {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.bytes
    }
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
