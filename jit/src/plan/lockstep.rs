//! How many items of its work-group one invocation does in lockstep (`emit::lockstep`).
//!
//! Members that are not one straight line by element numbers, such as stencils over a grid, have no free shape ([`super::shape`]). But a work-group
//! may have fewer invocations that do several of its items each. Then what neighbours load is loaded once.
//!
//! # Requires
//! - a finished group and its promotions
//!
//! # Guarantees
//! - the same work-groups, each with the same items; nothing goes from one item to another
//! - no number of the call is in the code

use super::group::{DemandKind, Group};
use super::internalize::Granted;
use super::recipe::{Lockstep, Mapping, SlotOf};
use super::submission::{Internalization, Limits, Submission};
use crate::analysis::lockstep;
use crate::kernel::BindingKind;
use crate::rewrite;

/// Most items of a dispatch in one dimension: their numbers, and somewhat more, are below `2^31`.
const MOST: u64 = 1 << 30;

/// The items of one invocation, if there are several.
pub(crate) fn choose(
    list: &[Submission],
    group: &Group,
    granted: &[Granted],
    limits: &Limits,
) -> Option<Lockstep> {
    let members = &list[group.start..group.end()];
    let local = group.layout.shape.local;
    let axis = usize::from(local[1] > 1);
    let (most, lanes) = (limits.shape.lockstep, limits.shape.lanes);
    let left = |items: u32| local.iter().product::<u32>() / items >= lanes;
    let items = (2..=most).rev().find(|&items| local[axis].is_multiple_of(items) && left(items))?;
    let fits = (0..3).all(|d| u64::from(group.layout.shape.groups[d]) * u64::from(local[d]) <= MOST);
    // Items that are renumbered have quotients for ids, which are not worked out before anything is asked. What is handed from one invocation to another has a barrier, or is taken on trust.
    let stays = group.layout.mapping != Mapping::Items
        && group.trusted.is_empty()
        && group.demands.iter().all(|demand| demand.kind == DemandKind::Invocation);
    let in_registers = |one: &Granted| {
        one.internal.kind == Internalization::Private
            && one.uses.iter().flat_map(|of| &of.slots).all(|slot| matches!(slot, SlotOf::Fixed(_)))
    };
    (fits && stays && members.iter().all(is_free) && granted.iter().all(in_registers)).then_some(Lockstep {
        items,
        axis: axis as u8,
        consecutive: axis == 1,
    })
}

/// Whether it makes no difference which invocation does an item.
fn is_free(one: &Submission) -> bool {
    let Ok(normal) = &one.kernel.normal else { return false };
    let bindings = &one.kernel.interface.bindings;
    one.base == [0; 3]
        && rewrite::why_not_free(&one.kernel).is_none()
        && one.kernel.variants.has_way(|| lockstep::has_way(&normal.module))
        && bindings.iter().all(|binding| !matches!(binding.kind, BindingKind::Other(_)))
}
