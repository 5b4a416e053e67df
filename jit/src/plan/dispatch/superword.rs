//! Superword code: how many items of its work-group one invocation does, along one path for all of them (`emit::passes::superword`).
//!
//! Members that are not one straight line by element numbers, such as stencils over a grid, have no schedule of items by number ([`super::item_coarsening`]). But a work-group
//! may have fewer invocations that do several of its items each. Then what neighbours load is loaded once.
//!
//! # Requires
//! - a finished group and its promotions
//!
//! # Guarantees
//! - the same items, each once, in the same work-groups; the work-groups change only where no member depends on them. No data goes from one item to another
//! - no number of the call is in the code

use crate::analysis::access::AccessKind;
use crate::analysis::affine::{Affine, Atom};
use crate::analysis::dependence::Shape;
use crate::analysis::evaluate::AccessForm;
use crate::plan::dispatch::context::Finished;
use crate::plan::grouping::columns::{self, conditions};
use crate::plan::grouping::group::{DemandKind, Group};
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::limits::Limits;
use crate::plan::input::submission::{Internalization, Submission};
use crate::plan::output::recipe::SlotOf;
use crate::plan::promotion::internalize::Granted;
use crate::schedule::{Domain, Superword};

/// Most work-groups that are merged into one, in one dimension.
const MOST_TIMES: u32 = 16;

/// Items of a work-group in `x` at the best.
const WIDE: u32 = 64;

/// Bytes of a vector.
const VECTOR: i128 = 16;

/// Most items of a dispatch in one dimension: their numbers, and somewhat more, are below `2^31`.
const MOST: u64 = 1 << 30;

/// The items of one invocation, if there are several, and the shape of the dispatch then: of items, not of invocations.
pub(crate) fn choose(finished: &Finished<'_>) -> Option<(Superword, Shape)> {
    let Finished { list, group, granted, limits, .. } = *finished;
    let own = group.layout.shape;
    if !may_be(finished) {
        return None;
    }
    let is_inside = |_: &Submission, buffer| granted.iter().any(|one| one.buffer == buffer);
    if let Some(found) = columns::of(list, group, limits, is_inside) {
        return Some(found);
    }
    let members = finished.members();
    let facts = limits.shape;
    let conditions = members.iter().map(conditions).sum::<Option<u32>>()?;
    let can_have_vectors =
        facts.vectors && own.local[0].is_multiple_of(4) && have_vectors(list, group, granted);
    // Items below each other of a work-group that is wide take lines of memory apart where an index goes by `x` from line to line.
    let grows = can_have_vectors || !goes_from_line_to_line(group);
    let shape = larger(members, group, limits).filter(|_| grows).unwrap_or(own);
    let local = shape.local;
    let axis = usize::from(local[1] > 1);
    let left = |items: u32| local.iter().copied().fold(1, u32::saturating_mul) / items;
    let fits = |&items: &u32| {
        local[axis].is_multiple_of(items)
            && left(items) >= facts.lanes
            && items.saturating_mul(conditions) <= facts.conditions.unwrap_or(u32::MAX)
    };
    let items = (2..=facts.superword).rev().find(fits)?;
    // In small work-groups vectors gain nothing.
    let vectors = can_have_vectors && items == 4 && 2 * left(items) >= facts.group_size;
    Some((Superword { items, axis: axis as u8, consecutive: axis == 1, vectors, staged: 0 }, shape))
}

/// Whether members may have superword code.
fn may_be(finished: &Finished<'_>) -> bool {
    let Finished { group, granted, limits, .. } = *finished;
    let (facts, own) = (limits.shape, group.layout.shape);
    // The ids of renumbered items are quotients, which are not known before the questions below are asked. Data that goes from one invocation to
    // another has a barrier, or is trusted.
    let stays = group.layout.domain.keeps_work_groups()
        && group.trusted.is_empty()
        && group.demands.iter().all(|demand| demand.kind == DemandKind::Invocation);
    let in_registers = |one: &Granted| {
        one.internal.kind == Internalization::Private
            && one.uses.iter().flat_map(|of| &of.slots).all(|slot| matches!(slot, SlotOf::Fixed(_)))
    };
    let fits = (0..3).all(|d| u64::from(own.groups[d]) * u64::from(own.local[d]) <= MOST);
    facts.superword > 1 && fits && stays && granted.iter().all(in_registers)
}

/// Larger work-groups with the same items, if no member depends on its work-groups. The rate at which a device starts work-groups is limited,
/// whatever their size, and superword code leaves them fewer invocations.
fn larger(members: &[Submission], group: &Group, limits: &Limits) -> Option<Shape> {
    let Shape { groups, local } = group.layout.shape;
    let product = |all: [u32; 3]| all.iter().map(|&n| u64::from(n)).product::<u64>();
    let is_theirs = |one: &Submission| {
        let interface = &one.kernel.interface;
        (interface.item_only || mutant!(WorkGroupsAreNobodys)) && interface.local_size == local
    };
    let facts = limits.shape;
    let most = u64::from(facts.group_size) * u64::from(facts.superword);
    let most = most.min(limits.max_work_group_invocations.into());
    if group.layout.domain != Domain::Grid || !members.iter().all(is_theirs) {
        return None;
    }
    let times =
        |d: usize| (1..=MOST_TIMES).filter(move |&n| groups[d].is_multiple_of(n) || mutant!(WorkGroupsCover));
    let all = times(0).flat_map(|x| times(1).map(move |y| [x, y]));
    let shapes = all.filter(|[_, y]| *y == 1 || local[1] > 1).map(|[x, y]| Shape {
        groups: [groups[0] / x, groups[1] / y, groups[2]],
        local: [local[0] * x, local[1] * y, local[2]],
    });
    let fits = |shape: &Shape| {
        product(shape.local) <= most
            && product(shape.groups) >= u64::from(limits.block_coarsening.least)
            && (0..3).all(|d| shape.local[d] <= limits.max_work_group_size[d])
    };
    // Lines of memory, and rows that items below each other have in common.
    let is_wide = |shape: &Shape| (product(shape.local), std::cmp::Reverse(shape.local[0].abs_diff(WIDE)));
    shapes.filter(fits).max_by_key(is_wide).filter(|shape| product(shape.local) > product(local))
}

/// Whether neighbours in `x` touch elements that are apart.
fn goes_from_line_to_line(group: &Group) -> bool {
    let is_apart = |form: &AccessForm| {
        let of_x = |id| matches!(group.atoms.get(id), Atom::Global(0) | Atom::Local(0));
        form.offset.terms.iter().any(|&(id, weight)| of_x(id) && weight.abs() > form.size)
    };
    group.forms.iter().flatten().any(is_apart)
}

/// Whether all buffers start where vectors of four words may, and four items next to each other in `x` store such vectors, wherever they do.
fn have_vectors(list: &[Submission], group: &Group, granted: &[Granted]) -> bool {
    let members = &list[group.start..group.end()];
    let is_inside =
        |one: &Submission, binding: usize| granted.iter().any(|g| g.buffer == one.args[binding].buffer);
    let starts = |one: &Submission| {
        let outside = one.args.iter().enumerate().filter(|&(binding, _)| !is_inside(one, binding));
        outside.into_iter().all(|(_, arg)| arg.offset.is_multiple_of(VECTOR as u64))
            || mutant!(BuffersStartAnywhere)
    };
    let first = group.layout.shape.local[0];
    let is_vector = |form: &AccessForm| {
        let Affine { terms, constant } = &form.offset;
        let [mut of_group, mut of_local] = [0; 2];
        let others = terms.iter().all(|&(id, weight)| match group.atoms.get(id) {
            Atom::Global(0) => {
                of_local += weight;
                of_group += weight * i128::from(first);
                true
            }
            Atom::Group(0) => {
                of_group += weight;
                true
            }
            Atom::Local(0) => {
                of_local += weight;
                true
            }
            Atom::Group(_) | Atom::Local(_) | Atom::Global(_) | Atom::Round { .. } | Atom::Steps { .. } => {
                weight % VECTOR == 0
            }
            _ => false,
        });
        others && of_local == form.size && of_group % VECTOR == 0 && constant % VECTOR == 0
    };
    let stores = |(one, forms): (&Submission, &Vec<AccessForm>)| {
        let Ok(analysis) = analysis_of(one) else { return false };
        let all = analysis.accesses.iter().zip(forms).filter(|(access, form)| {
            access.kind != AccessKind::Read && !form.never && !is_inside(one, access.binding)
        });
        all.into_iter().all(|(access, form)| {
            access.kind == AccessKind::Write && access.size == 4 && !form.unknown && is_vector(form)
        })
    };
    members.iter().all(starts) && members.iter().zip(&group.forms).all(stores)
}
