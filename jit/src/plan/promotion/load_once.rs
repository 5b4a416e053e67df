//! Elements that an invocation loads once, or stores, and keeps in a register.
//!
//! Several members of a group, or several places of one, often read the same element in the same invocation: every kernel of a
//! softmax goes through its row. What nobody in the group writes is the same each time, so the first load is kept, across barriers.
//! A result that is read again in the group, but has to reach memory too, is kept as it is stored: if it could stay inside
//! altogether, but for those who read it later, then who reads an element in the group is who stored it.
//!
//! # Requires
//! - a finished group, its promotions decided
//!
//! # Guarantees
//! - who takes an element from its register is an invocation that has loaded or stored that element before, and nobody has
//!   stored another value since
//! - all places in the registers are known when the kernel is built
//!
//! # Refuses
//! - buffers that a member writes, through whatever view, unless their elements belong to one invocation each; elements that
//!   are not accessed as wholes, or not by one type

use crate::analysis::access::AccessKind;
use crate::analysis::cfg::Cfg;
use crate::analysis::unroll::Unrollable;
use crate::plan::grouping::group::Group;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::options::FuseOptions;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{BufferId, Internalization, Submission};
use crate::plan::output::recipe::SlotOf;
use crate::plan::promotion::element::Element;
use crate::plan::promotion::internalize;
use crate::plan::promotion::internalize::{Granted, Owned, elements, places};
use crate::plan::promotion::reaching_definitions::{Instance, instances, is_found};

/// Most loads of one buffer that are compared with each other.
const MAX_LOADS: usize = 24;

/// The elements of one buffer that are kept.
pub(crate) struct Kept {
    pub(crate) slots: u32,
    /// Bytes of all slots, at most.
    pub(crate) bytes: u64,
    pub(crate) loads: Vec<KeptLoad>,
}

/// A load or store whose element is kept, or was.
pub(crate) struct KeptLoad {
    pub(crate) member: usize,
    pub(crate) access: usize,
    pub(crate) slot: SlotOf,
    /// It is there already: nothing is loaded.
    pub(crate) again: bool,
}

impl Kept {
    /// The loops on whose rounds places depend, by member and number.
    pub(crate) fn loops(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.loads.iter().flat_map(|load| load.slot.loops().map(|index| (load.member, index)))
    }
}

/// What is worth keeping of the buffers of a group.
pub(crate) fn choose(problem: Problem<'_>, group: &mut Group, granted: &[Granted]) -> Vec<Kept> {
    let Problem { list, uses, limits, .. } = problem;
    let members = group.start..group.end();
    let addressed = list[members.clone()].iter().any(|s| s.kernel.interface.uses_device_addresses);
    let mut rooms = [limits.kept_bytes, limits.kept_result_bytes].map(u64::from);
    if rooms == [0, 0] || addressed || !group.trusted.is_empty() {
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
        let is_result = is_written && !mutant!(KeptWhateverIsWritten);
        let room = &mut rooms[usize::from(is_result)];
        if *room == 0 {
            continue;
        }
        let kept =
            if is_result { of_results(problem, group, buffer) } else { of_buffer(problem, group, buffer) };
        if let Some(kept) = kept.filter(|kept| kept.bytes <= *room) {
            *room -= kept.bytes;
            all.push(kept);
        }
    }
    all
}

/// What is kept of a buffer that members write.
fn of_results(problem: Problem<'_>, group: &mut Group, buffer: BufferId) -> Option<Kept> {
    let Problem { list, .. } = problem;
    // As if it were to stay inside, and nothing is believed.
    let (kind, options) = (Internalization::Private, FuseOptions::default());
    let Owned { elements, size, slots, places, .. } =
        internalize::owned(problem.with_options(&options), group, buffer, kind).ok()?;
    let all = elements.iter().zip(places).filter(|(one, _)| !one.form.never);
    let (elements, places): (Vec<&Element>, Vec<SlotOf>) = all.unzip();
    let is_read = elements.iter().any(|one| one.kind == AccessKind::Read);
    if !is_read
        || elements.len() > MAX_LOADS
        || !are_whole(list, elements.iter().copied(), size)
        || !are_known(&places)
    {
        return None;
    }
    let load = |(one, slot): (&Element, SlotOf)| KeptLoad {
        member: one.member,
        access: one.access,
        slot,
        again: one.kind == AccessKind::Read,
    };
    Some(Kept {
        slots,
        bytes: bytes(slots, size),
        loads: elements.into_iter().zip(places).map(load).collect(),
    })
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

/// Bytes of so many elements.
fn bytes(slots: u32, size: u64) -> u64 {
    u64::from(slots) * size.next_multiple_of(4)
}

fn of_buffer(problem: Problem<'_>, group: &mut Group, buffer: BufferId) -> Option<Kept> {
    let Problem { list, .. } = problem;
    let (mut elements, _, size, stride) = elements(problem, group, buffer).ok()?;
    elements.retain(|one| !one.form.never && one.kind == AccessKind::Read);
    if !(2..=MAX_LOADS).contains(&elements.len()) || !are_whole(list, elements.iter(), size) {
        return None;
    }
    let (slots, places) =
        places(&group.atoms, &elements, Internalization::Private, i128::from(stride)).ok()?;
    if !are_known(&places) {
        return None;
    }
    let mut loads: Vec<KeptLoad> = Vec::new();
    let mut first: Vec<&Element> = Vec::new();
    for (element, slot) in elements.iter().zip(places) {
        let again = is_found(list, &group.atoms, element, &first) || is_behind(list, group, element, &first);
        if !again {
            first.push(element);
        }
        loads.push(KeptLoad { member: element.member, access: element.access, slot, again });
    }
    loads.iter().any(|load| load.again).then_some(Kept { slots, bytes: bytes(slots, size), loads })
}

/// Whether an access comes behind a loop of its own kernel, all rounds of which are done and have loaded what it reads.
fn is_behind(list: &[Submission], group: &Group, read: &Element, first: &[&Element]) -> bool {
    let own: Vec<&&Element> = first.iter().filter(|one| one.member == read.member).collect();
    let normal = list[read.member].kernel.normal.as_ref().ok();
    let (Some(normal), false) = (normal, own.is_empty()) else { return false };
    let Some(function) = normal.module.functions.first() else { return false };
    let cfg = Cfg::new(function);
    let at = |one: &Element| normal.analysis.accesses[one.access].at.0;
    // Loops that are unrolled have their test as the only exit, and as many rounds in every invocation.
    let done = |one: &Element| {
        let [(around, _)] = normal.analysis.accesses[one.access].loops.as_slice() else { return None };
        let written = one.loops.iter().find(|written| written.index == *around as u32)?;
        let parts = Unrollable::of(function, &cfg, *around)?;
        let each_round = cfg.dominates(at(one), parts.latch) || mutant!(KeptOfSomeRounds);
        let behind = cfg.dominates(parts.blocks[0], at(read)) && !parts.blocks.contains(&at(read));
        (each_round && behind).then_some(*written)
    };
    let loaded: Vec<Instance> = own
        .iter()
        .filter_map(|one| {
            let written = done(one)?;
            let mut all = instances(list, &group.atoms, one)?;
            all.retain(|instance| instance.is_within(written.counter, i128::from(written.sure)));
            Some(all)
        })
        .flatten()
        .collect();
    let Some(reads) = instances(list, &group.atoms, read) else { return false };
    !reads.is_empty() && reads.iter().all(|one| loaded.iter().any(|other| other.is_at(one)))
}
