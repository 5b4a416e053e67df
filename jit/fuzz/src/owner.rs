//! Who does what in a plan: the invocation and the work-group of the fused dispatch that do the work of an invocation of
//! a member.

use vkfuse_jit::plan::{Placement, Step, Submission};

/// Who does the work of one invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// What keeps program order over the members. Where an invocation does several items, that is one item.
    pub(crate) item: u32,
    /// The work-group.
    pub(crate) group: u32,
}

/// The owner of an invocation of a member, which has its linear number: work-group by work-group.
pub(crate) fn of(step: &Step, placement: Placement, member: &Submission, invocation: u32) -> Owner {
    let local = member.kernel.interface.local_size;
    let size: u32 = local.iter().product();
    let (group, inside) = (invocation / size, invocation % size);
    match placement {
        Placement::Same | Placement::ByGroup => Owner { item: invocation, group },
        Placement::ByItem { items, .. } => {
            let at = |n: u32, counts: [u32; 3]| {
                let [x, y, _] = counts.map(|count| count.max(1));
                [n % x, n / x % y, n / x / y]
            };
            let (group, inside) = (at(group, member.groups), at(inside, local));
            let mut item = 0;
            let mut row = 1;
            for d in 0..3 {
                item += (group[d] * local[d] + inside[d]) * row;
                row *= member.groups[d] * local[d];
            }
            let room = step.local_size().iter().product::<u32>() * items;
            Owner { item, group: item / room.max(1) }
        }
    }
}
