//! The uses of each buffer of a list, gathered once, so that a list of n submissions is not searched n times.

use std::borrow::Cow;

use ahash::{AHashMap, AHashSet};
use smallvec::SmallVec;

use crate::analysis::evaluate::Constant;
use crate::plan::input::options::Policy;
use crate::plan::input::submission::{Arg, BufferId, Submission};

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
    /// Some kernel follows device addresses.
    follows_addresses: bool,
}

/// The list without numbers of buffers that it writes: what a submission finds there may be another number, also where it is looked at by itself.
#[must_use]
pub fn with_settled_numbers(list: &[Submission]) -> Cow<'_, [Submission]> {
    let uses = Uses::of(list);
    let is_settled = |arg: &Arg| {
        let is_written = uses.written.contains(&arg.buffer) && !mutant!(CellsNeverChange);
        let may_be_reached = uses.follows_addresses && !mutant!(AddressesWriteNoNumbers);
        arg.numbers.is_none() || !is_written && !may_be_reached
    };
    if list.iter().flat_map(|one| &one.args).all(is_settled) {
        return Cow::Borrowed(list);
    }
    let mut settled = list.to_vec();
    let args = settled.iter_mut().flat_map(|one| &mut one.args);
    args.filter(|arg| !is_settled(arg)).for_each(|arg| arg.numbers = None);
    Cow::Owned(settled)
}

impl Uses {
    pub(crate) fn of(list: &[Submission]) -> Self {
        let mut uses = Self::default();
        for (position, submission) in list.iter().enumerate() {
            uses.follows_addresses |= submission.kernel.interface.uses_device_addresses;
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

    /// The uses under a policy. With [`Policy::Trust`], kernels that follow device addresses may stand in a group, and then any buffer counts as
    /// written.
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

    /// The arguments of a submission that nothing in the list writes.
    pub(crate) fn constants<'a>(&self, submission: &'a Submission) -> SmallVec<[Option<Constant<'a>>; 8]> {
        let written = |buffer: BufferId| self.addressed || self.written.contains(&buffer);
        let is_constant = |buffer: BufferId| !written(buffer) || mutant!(CellsNeverChange);
        let constant = |arg: &'a Arg| {
            // A kernel that follows addresses stands in a group of its own, and may write what later ones read.
            let is_known = !self.follows_addresses || mutant!(AddressesWriteNoNumbers);
            let numbers = arg.numbers.as_ref().filter(|_| is_known);
            is_constant(arg.buffer).then_some(Constant { buffer: arg.buffer.0, start: arg.offset, numbers })
        };
        submission.args.iter().map(constant).collect()
    }
}
