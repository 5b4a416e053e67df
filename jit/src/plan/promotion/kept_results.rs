//! Results that an invocation keeps in a register as it stores them.
//!
//! A result that is read again in the group, but has to reach memory too, is kept in a register when it is stored. This needs the same
//! proof as internalizing it would, leaving aside its later readers: the invocation that reads an element in the group is the one that
//! stored it.
//!
//! # Requires
//! - a finished group, its promotions decided
//!
//! # Guarantees
//! - an invocation that takes an element from its register has stored that element before, and no other value has been stored
//!   there since
//! - all places in the registers are known when the kernel is built
//!
//! # Refuses
//! - buffers that could not stay inside ([`internalize`]); elements that are not accessed as wholes; volatile loads

use crate::analysis::access::AccessKind;
use crate::plan::grouping::group::Group;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::options::FuseOptions;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{BufferId, Internalization, Submission};
use crate::plan::output::recipe::SlotOf;
use crate::plan::promotion::element::Element;
use crate::plan::promotion::internalize;
use crate::plan::promotion::internalize::{Granted, Owned};

/// Most accesses to one buffer.
const MAX_ACCESSES: usize = 24;

/// The elements of one buffer that are kept.
pub(crate) struct Kept {
    pub(crate) slots: u32,
    /// Bytes of all slots, at most.
    pub(crate) bytes: u64,
    pub(crate) accesses: Vec<KeptAccess>,
}

/// A store whose element is kept, or a load of one that was.
pub(crate) struct KeptAccess {
    pub(crate) member: usize,
    pub(crate) access: usize,
    pub(crate) slot: SlotOf,
    pub(crate) is_load: bool,
}

impl Kept {
    /// The loops on whose rounds places depend, by member and number.
    pub(crate) fn loops(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.accesses.iter().flat_map(|one| one.slot.loops().map(|index| (one.member, index)))
    }
}

/// What is worth keeping of the buffers of a group.
pub(crate) fn choose(problem: Problem<'_>, group: &mut Group, granted: &[Granted]) -> Vec<Kept> {
    let Problem { list, uses, limits, .. } = problem;
    let members = group.start..group.end();
    let addressed = list[members.clone()].iter().any(|s| s.kernel.interface.uses_device_addresses);
    let mut room = u64::from(limits.kept_result_bytes);
    if room == 0 || addressed || !group.trusted.is_empty() {
        return Vec::new();
    }
    let mut buffers: Vec<BufferId> = Vec::new();
    for arg in list[members.clone()].iter().flat_map(|s| &s.args) {
        if !buffers.contains(&arg.buffer) && !granted.iter().any(|one| one.buffer == arg.buffer) {
            buffers.push(arg.buffer);
        }
    }
    let mut all = Vec::new();
    for buffer in buffers {
        let is_written = uses.of_buffer(buffer).iter().any(|&(submission, binding)| {
            members.contains(&submission) && list[submission].kernel.interface.bindings[binding].writes
        });
        let kept = if is_written { of_buffer(problem, group, buffer) } else { None };
        if let Some(kept) = kept.filter(|kept| kept.bytes <= room) {
            room -= kept.bytes;
            all.push(kept);
        }
    }
    all
}

/// What is kept of a buffer that members write.
fn of_buffer(problem: Problem<'_>, group: &mut Group, buffer: BufferId) -> Option<Kept> {
    let Problem { list, .. } = problem;
    // As if it were to stay inside, and nothing is believed.
    let (kind, options) = (Internalization::Private, FuseOptions::default());
    let Owned { elements, size, slots, places, .. } =
        internalize::owned(problem.with_options(&options), group, buffer, kind).ok()?;
    let all = elements.iter().zip(places).filter(|(one, _)| !one.form.never && !is_read_back(list, one));
    let (elements, places): (Vec<&Element>, Vec<SlotOf>) = all.unzip();
    let is_read = elements.iter().any(|one| one.kind == AccessKind::Read);
    if !is_read
        || elements.len() > MAX_ACCESSES
        || !are_whole(list, elements.iter().copied(), size)
        || !are_known(&places)
    {
        return None;
    }
    let access = |(one, slot): (&Element, SlotOf)| KeptAccess {
        member: one.member,
        access: one.access,
        slot,
        is_load: one.kind == AccessKind::Read,
    };
    let accesses = elements.into_iter().zip(places).map(access).collect();
    Some(Kept { slots, bytes: u64::from(slots) * size.next_multiple_of(4), accesses })
}

/// Whether an access has to find what memory holds, whatever was stored there.
fn is_read_back(list: &[Submission], one: &Element) -> bool {
    let normal = list[one.member].kernel.normal.as_ref();
    normal.map_or(true, |normal| normal.is_volatile(one.access)) && !mutant!(ReadBackIsKept)
}

/// Whether accesses are to whole elements of a size.
fn are_whole<'a>(list: &[Submission], mut elements: impl Iterator<Item = &'a Element>, size: u64) -> bool {
    elements.all(|one| {
        let access = analysis_of(&list[one.member]).ok().and_then(|a| a.accesses.get(one.access));
        access.is_some_and(|access| access.whole_element && access.size == size)
    })
}

fn are_known(places: &[SlotOf]) -> bool {
    !places.iter().any(|place| matches!(place, SlotOf::Relative { .. }))
}
