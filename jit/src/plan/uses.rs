//! Who uses each buffer of a list, gathered once: a list of n submissions must not be searched n times.

use ahash::{AHashMap, AHashSet};
use smallvec::SmallVec;

use super::submission::{BufferId, Policy, Submission};

/// One argument of the list: submission and binding number.
pub(crate) type Place = (usize, usize);

/// The buffers of a list.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    places: AHashMap<BufferId, SmallVec<[Place; 4]>>,
    /// Buffers in the order of their first use.
    order: Vec<BufferId>,
    written: AHashSet<BufferId>,
    /// Some kernel follows device addresses, and may stand in one group with others: it may write any buffer.
    addressed: bool,
}

impl Uses {
    pub(crate) fn of(list: &[Submission]) -> Self {
        let mut uses = Self::default();
        for (position, submission) in list.iter().enumerate() {
            for (number, (arg, binding)) in
                submission.args.iter().zip(&submission.kernel.interface.bindings).enumerate()
            {
                let places = uses.places.entry(arg.buffer).or_default();
                if places.is_empty() {
                    uses.order.push(arg.buffer);
                }
                places.push((position, number));
                if binding.writes {
                    uses.written.insert(arg.buffer);
                }
            }
        }
        uses
    }

    /// For lists of which nobody proves that addresses lead nowhere else.
    pub(crate) fn under(mut self, policy: Policy, list: &[Submission]) -> Self {
        let follows = |s: &Submission| s.kernel.interface.uses_device_addresses;
        self.addressed = policy == Policy::Trust && list.iter().any(follows);
        self
    }

    /// The arguments that are this buffer, in list order.
    pub(crate) fn of_buffer(&self, buffer: BufferId) -> &[Place] {
        self.places.get(&buffer).map_or(&[], |places| places)
    }

    /// All buffers in the order of their first use.
    pub(crate) fn buffers(&self) -> &[BufferId] {
        &self.order
    }

    /// For each argument of a submission that nothing in the list writes: buffer and first byte.
    pub(crate) fn constants(&self, submission: &Submission) -> SmallVec<[Option<(u64, u64)>; 8]> {
        let written = |buffer: BufferId| self.addressed || self.written.contains(&buffer);
        let constant = |buffer: BufferId| !written(buffer) || mutant!(CellsNeverChange);
        let args = submission.args.iter();
        args.map(|arg| constant(arg.buffer).then_some((arg.buffer.0, arg.offset))).collect()
    }
}
