//! Thread coarsening of items by number: work-groups of the size that the device likes, several items in one invocation (`emit::passes::item_coarsening`).
//!
//! A member that is item-only does the same for item `i` in whatever invocation `i` is done. If all members of a
//! group are, and no data goes from one item to another, the planner is free to choose. Equal items of all members
//! stay in one invocation, in the order of the list, so what was shown for one invocation holds for one item.
//!
//! # Requires
//! - a finished group and its promotions, decided under the shape the user gave
//!
//! # Guarantees
//! - the same values in the same places: which invocation computes them is all that changes
//! - no number of the call is in the code: totals travel as push constants

use crate::analysis::access::{Access, AccessKind};
use crate::analysis::dependence::Shape;
use crate::frontend::types::Type;
use crate::kernel::{BindingKind, NormalKernel};
use crate::plan::dispatch::candidate::Candidate;
use crate::plan::dispatch::context::Finished;
use crate::plan::dispatch::neighbours::Neighbours;
use crate::plan::grouping::boundary;
use crate::plan::grouping::group::{DemandKind, Group};
use crate::plan::grouping::mapping::{Layout, fold};
use crate::plan::grouping::parts::Parts;
use crate::plan::input::ends::{end, total};
use crate::plan::input::limits::Limits;
use crate::plan::input::options::FloatMode;
use crate::plan::input::submission::{Internalization, Submission};
use crate::plan::output::push::PushBlock;
use crate::plan::output::recipe::SlotOf;
use crate::plan::promotion::internalize::Granted;
use crate::schedule::{Domain, ItemCoarsening, Tail};

/// Schedules of items by number, if the group may have one and the device gains from it.
pub(crate) fn propose(finished: &Finished<'_>) -> Vec<Candidate> {
    let Finished { group, granted, float, limits, .. } = *finished;
    let (facts, members) = (limits.shape, finished.members());
    if facts.group_size == 0 && facts.items <= 1 || !is_free(members, group, granted) {
        return Vec::new();
    }
    let straight = members.iter().all(|m| is_straight_line(m, granted))
        && granted.iter().all(|one| reads_what_was_written(members, group.start, one));
    let items = if facts.items > 1 && straight { facts.items.min(widest(members)) } else { 1 };
    let own = members.iter().map(|m| m.kernel.interface.local_size[0]).max().unwrap_or(1);
    let total = members.iter().map(total).max().unwrap_or(1);
    // Fewer work-groups would leave processors of the device without work.
    let is_small = total / u128::from(items.max(1)) < u128::from(limits.overlapping_invocations);
    let size = if facts.group_size == 0 || is_small { own } else { facts.group_size };
    let size = size.min(limits.max_work_group_size[0]).min(limits.max_work_group_invocations).max(1);
    let is_as_submitted = size == own || group.layout.domain != Domain::Grid && facts.group_size == 0;
    if items == 1 && is_as_submitted || !totals_fit(members, float, limits) {
        return Vec::new();
    }
    let candidate = |how: Option<ItemCoarsening>| {
        let several = size * how.map_or(1, |how| how.items * how.rounds);
        let groups = fold(total.div_ceil(u128::from(several)), limits).ok()?;
        let all = groups.iter().map(|&n| u128::from(n)).product::<u128>() * u128::from(several);
        let shape = Shape { groups, local: [size, 1, 1] };
        let layout = Layout { domain: Domain::LinearItems, shape, free: true, parts: Parts::default() };
        let schedule = layout.as_submitted();
        let schedule = how.map_or(schedule.clone(), |how| schedule.coarsen_items(how));
        // Signed comparisons of an item's number are right up to here.
        (all <= 1 << 31).then(|| Candidate::new(layout, schedule))
    };
    let strided = ItemCoarsening { items, rounds: 1, consecutive: false, tail: Tail::Guarded };
    let Some(one_by_one) = candidate(Some(strided).filter(|_| items > 1)) else { return Vec::new() };
    let wide: Vec<Vec<bool>> = match facts.vectors && items == 4 {
        true => members.iter().map(|m| wide(m, granted)).collect(),
        false => return vec![one_by_one],
    };
    let wides = wide.iter().flatten().filter(|&&w| w).count();
    let others = members.iter().map(|m| by_item(m, granted)).sum::<usize>() - wides;
    let kept = if mutant!(ItemsApartAreVectors) { wide.clone() } else { Vec::new() };
    let one_by_one = Candidate { slow_accesses: wides, wide: kept, ..one_by_one };
    if wides == 0 {
        return vec![one_by_one];
    }
    let vectors = ItemCoarsening { consecutive: true, ..strided };
    let (in_a_loop, at_once) = match common_end(members) {
        Some(end) if end.is_multiple_of(u64::from(items)) => {
            (None, ItemCoarsening { tail: Tail::Whole, ..vectors })
        }
        Some(end) => {
            let rounds = end / (u64::from(size * items) * u64::from(facts.least.max(1)));
            let rounds = rounds.min(u64::from(facts.rounds)) as u32;
            let peeled = ItemCoarsening { rounds, tail: Tail::Peeled, ..vectors };
            (Some(peeled).filter(|_| rounds > 1), vectors)
        }
        None => (None, vectors),
    };
    let ways = in_a_loop.into_iter().chain([at_once]);
    let in_vectors = ways.filter_map(|how| candidate(Some(how)));
    let in_vectors = in_vectors.map(|one| Candidate { wide: wide.clone(), slow_accesses: others, ..one });
    in_vectors.chain([one_by_one]).collect()
}

/// Whether it makes no difference which invocation does an item.
fn is_free(members: &[Submission], group: &Group, granted: &[Granted]) -> bool {
    let line = |n: [u32; 3]| n[1] == 1 && n[2] == 1;
    let items_only = members.iter().all(|m| {
        let interface = &m.kernel.interface;
        interface.item_only && line(m.groups) && line(interface.local_size)
    });
    let fixed = |slot: &SlotOf| matches!(slot, SlotOf::Fixed(_));
    items_only
        && group.trusted.is_empty()
        && group.demands.iter().all(|d| d.kind == DemandKind::Invocation)
        && granted.iter().all(|g| {
            g.internal.kind == Internalization::Private && g.uses.iter().flat_map(|u| &u.slots).all(fixed)
        })
}

/// Whether the push constants have room for the members' totals, and for the zero that hides floats; or a buffer has, which
/// is needed without the totals, too.
fn totals_fit(members: &[Submission], float: FloatMode, limits: &Limits) -> bool {
    let mut push = PushBlock::default();
    if boundary::may_need_zero(members, float) {
        push.add_zero();
    }
    let mut own = push.clone();
    for member in members {
        let _ = push.add_member(member, 0);
        push.add_total(total(member) as u32);
        let _ = own.add_member(member, 0);
    }
    let limit = limits.max_push_bytes;
    // The group has been let grow beyond the limit, so there is a buffer.
    push.size() <= limit || own.size() > limit && push.fits_with_buffer(0, limit)
}

fn normal(member: &Submission) -> Option<&NormalKernel> {
    member.kernel.normal.as_ref().ok()
}

fn is_inside(member: &Submission, binding: usize, granted: &[Granted]) -> bool {
    granted.iter().any(|g| g.buffer == member.args[binding].buffer)
}

/// Whether the body can be written for several items in one invocation.
fn is_straight_line(member: &Submission, granted: &[Granted]) -> bool {
    let Some(normal) = normal(member) else { return false };
    // What stays inside is handed over value by value, so it must be taken as a whole.
    let whole = |access: &Access| {
        let Some(index) = access.element.and_then(|e| e.index) else { return false };
        let plain =
            matches!(normal.types.get(index.ty), Type::Int { .. } | Type::Float { .. } | Type::Vector { .. });
        plain && access.size == normal.types.span(index.ty, Default::default())
    };
    normal.straight_line().is_some()
        && normal
            .analysis
            .accesses
            .iter()
            .all(|access| !is_inside(member, access.binding, granted) || whole(access))
}

/// Whether each read of what stays inside comes after a write, so that there is a value to hand over. It need not where the
/// read never happens with the numbers of the call.
fn reads_what_was_written(members: &[Submission], start: usize, one: &Granted) -> bool {
    let mut written: Vec<&SlotOf> = Vec::new();
    members.iter().enumerate().all(|(number, member)| {
        let Some(normal) = normal(member) else { return false };
        let mut counts = vec![0; member.args.len()];
        let mut inside =
            normal.analysis.accesses.iter().filter(|a| member.args[a.binding].buffer == one.buffer);
        inside.all(|access| {
            let places = one.uses.iter().find(|u| u.member == start + number && u.binding == access.binding);
            let slot = places.and_then(|places| places.slots.get(counts[access.binding]));
            counts[access.binding] += 1;
            match (access.kind, slot) {
                (AccessKind::Write, Some(slot)) => {
                    written.push(slot);
                    true
                }
                (_, slot) => slot.is_some_and(|slot| written.contains(&slot)),
            }
        })
    })
}

/// Most items whose elements make up sixteen bytes.
fn widest(members: &[Submission]) -> u32 {
    let sizes = members.iter().filter_map(normal).flat_map(|n| &n.analysis.accesses).map(|a| a.size);
    let largest = sizes.max().unwrap_or(4).clamp(1, 16) as u32;
    (16 / largest.next_power_of_two()).max(1)
}

/// Accesses to memory at a place that depends on more than arguments.
fn by_item(member: &Submission, granted: &[Granted]) -> usize {
    let Some(normal) = normal(member) else { return 0 };
    let counted = |a: &&Access| !a.terms.is_empty() && !is_inside(member, a.binding, granted);
    normal.analysis.accesses.iter().filter(counted).count()
}

/// Which accesses of four neighbouring items are one aligned vector.
fn wide(member: &Submission, granted: &[Granted]) -> Vec<bool> {
    let Some(normal) = normal(member) else { return Vec::new() };
    // Groups of four that are in range as a whole.
    let covered = covered(member, normal) / 4 * 4;
    let neighbours = Neighbours { exprs: &normal.analysis.exprs, push: &member.push };
    let is_wide = |access: &Access| {
        let arg = &member.args[access.binding];
        let binding = &member.kernel.interface.bindings[access.binding];
        let Some(index) = access.element.and_then(|e| e.index) else { return false };
        // A vector lies in what is bound as a whole, or not at all.
        let fits = match normal.is_own_number(access) {
            true => access.constant + 4 * covered <= arg.len,
            false => arg.len.is_multiple_of(16) && neighbours.are_vector(index.node),
        };
        binding.kind == BindingKind::StorageBuffer
            && !is_inside(member, access.binding, granted)
            && matches!(normal.types.get(index.ty), Type::Int { width: 32, .. } | Type::Float { width: 32 })
            && index.stride == 4
            && access.terms.len() == 1
            && access.size == 4
            && access.constant.is_multiple_of(16)
            && arg.offset.is_multiple_of(16)
            && fits
    };
    normal.analysis.accesses.iter().map(is_wide).collect()
}

/// Items that pass all guards of a member, as far as they are known.
fn covered(member: &Submission, normal: &NormalKernel) -> u64 {
    normal.guards().filter_map(|guard| end(member, normal, guard)).fold(total(member) as u64, u64::min)
}

/// The number `n` such that items below `n` do all of their work in every member, and the others do nothing, if there is one and it is
/// known. An item that returns at a guard after it has stored something has done a part of its work, so there is none.
fn common_end(members: &[Submission]) -> Option<u64> {
    let least = |member: &Submission, normal: &NormalKernel, first: bool| {
        let guards = normal.guards().filter(|guard| guard.first || !first);
        let mut ends = guards.map(|guard| end(member, normal, guard));
        ends.try_fold(total(member) as u64, |least, end| Some(least.min(end?)))
    };
    let work = |member: &Submission| {
        let normal = normal(member)?;
        let (all, some) = (least(member, normal, false)?, least(member, normal, true)?);
        (all == some || mutant!(EffectsComeAfterGuards)).then_some(all)
    };
    let first = members.first().and_then(work)?;
    let alike = members.iter().all(|member| work(member) == Some(first) || mutant!(EndsAreAlike));
    alike.then_some(first)
}
