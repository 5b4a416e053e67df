//! The invocation and the work-group of a fused dispatch that do the work of an invocation of
//! a member.

use vkfuse_jit::plan::{Placement, Places, RewriteReport, Step, Submission};

/// The invocation and work-group that do the work of one invocation of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// What keeps program order over the members. Where an invocation does several items, that is one item.
    pub(crate) item: u32,
    /// The work-group.
    pub(crate) group: u32,
}

/// The owner of an invocation of a member, which has its linear number: work-group by work-group.
pub(crate) fn of(
    step: &Step,
    placement: Placement,
    member: &Submission,
    rewrite: Option<&RewriteReport>,
    invocation: u32,
) -> Owner {
    let (local, groups, invocation) = match rewrite {
        Some(RewriteReport { places: Places::Line { start }, work_group, groups, .. }) => {
            (*work_group, *groups, start + invocation)
        }
        Some(rewrite) => return placed(rewrite, number(rewrite, member, invocation).unwrap_or(0)),
        None => (member.kernel.interface.local_size, member.groups, invocation),
    };
    let size: u32 = local.iter().product();
    let (group, inside) = (invocation / size, invocation % size);
    match placement {
        Placement::Same | Placement::ByGroup => Owner { item: invocation, group },
        Placement::ByItem { items, .. } => {
            let at = |n: u32, counts: [u32; 3]| {
                let [x, y, _] = counts.map(|count| count.max(1));
                [n % x, n / x % y, n / x / y]
            };
            let (group, inside) = (at(group, groups), at(inside, local));
            let mut item = 0;
            let mut row = 1;
            for d in 0..3 {
                item += (group[d] * local[d] + inside[d]) * row;
                row *= groups[d] * local[d];
            }
            let room = step.local_size().iter().product::<u32>() * items;
            Owner { item, group: item / room.max(1) }
        }
    }
}

/// The number of the item that an invocation of a member is, if it has one.
fn number(rewrite: &RewriteReport, member: &Submission, invocation: u32) -> Option<u32> {
    let Places::Blocks { counts, .. } = rewrite.places else { return Some(invocation) };
    let size = member.kernel.interface.local_size;
    let count = size.iter().product::<u32>();
    let at = |n: u32, of: [u32; 3]| [n % of[0], n / of[0] % of[1], n / of[0] / of[1]];
    let (group, inside) = (at(invocation / count, member.groups), at(invocation % count, size));
    let id = |d: usize| group[d] * size[d] + inside[d];
    let has_number = (0..3).all(|d| id(d) < counts[d]);
    has_number.then(|| id(0) + counts[0] * (id(1) + counts[1] * id(2)))
}

/// The owner of an item of a member that was placed on rows or tiles.
fn placed(rewrite: &RewriteReport, item: u32) -> Owner {
    let ([x, y, _], [groups, ..]) = (rewrite.work_group, rewrite.groups);
    let size = rewrite.work_group.iter().product::<u32>();
    let (group, inside) = match rewrite.places {
        Places::Rows { length } | Places::Blocks { length, .. } => (item / length, item % length % size),
        Places::Grid { width } => {
            let (column, row) = (item % width, item / width);
            (row / y * groups + column / x, row % y * x + column % x)
        }
        Places::Line { start } => ((start + item) / size, (start + item) % size),
        Places::Padded { invocations } => (item / invocations, item % invocations),
    };
    Owner { item: group * size + inside, group }
}

/// Whether an invocation of a member that was placed is done at all: those past the places have nothing to write.
pub(crate) fn has_place(rewrite: &RewriteReport, member: &Submission, invocation: u32) -> bool {
    let Some(item) = number(rewrite, member, invocation) else { return false };
    let rows = match rewrite.places {
        Places::Rows { length } | Places::Blocks { length, .. } => (item / length, rewrite.groups[0]),
        Places::Grid { width } => (item / width, rewrite.groups[1] * rewrite.work_group[1]),
        Places::Line { start } => (start + item, rewrite.groups[0] * rewrite.work_group[0]),
        Places::Padded { .. } => return true,
    };
    rows.0 < rows.1
}
