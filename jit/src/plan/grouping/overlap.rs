//! Groups that fall into parts which a device would run at the same time as dispatches of their own.
//!
//! A fused kernel does the work of its members one after the other. Where nothing is handed on across a boundary, two dispatches need no
//! barrier between them, and a device that neither of them fills runs both at once: fused they take the sum of their times, apart the
//! longer one. That counts where each side takes long by itself, as the matrix products of one layer do, and not for kernels of a few
//! instructions, whose launch is most of what they take.
//!
//! # Requires
//! - a group that nothing joins any more
//!
//! # Guarantees
//! - no data passes the boundary: no member before it touches what a member behind it writes, or the reverse

use crate::plan::grouping::group::Group;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::FuseOptions;
use crate::plan::input::submission::Submission;

/// A member that evaluates its loop conditions no more often than this, one time more than each loop iterates, takes no longer than the launch
/// of a dispatch.
const SHORT_LOOP: u128 = 8;

/// The member at which a group is better ended, if there is one.
pub(in crate::plan) fn boundary(
    list: &[Submission],
    group: &Group,
    options: &FuseOptions,
    limits: &Limits,
) -> Option<usize> {
    let invocations = |one: &Submission| {
        let counts = one.groups.iter().chain(&one.kernel.interface.local_size);
        counts.map(|&count| u64::from(count)).fold(1, u64::saturating_mul)
    };
    let members = group.start..group.end();
    // Where members are small depends on the device, and so does whether it runs dispatches at once.
    let is_small = || {
        let all = members.clone().map(|at| invocations(&list[at]));
        all.max().is_some_and(|most| most < limits.overlapping_invocations)
    };
    if options.force || !is_small() {
        return None;
    }
    let takes_long = |at: usize| {
        let loops = group.loop_tests(at).is_none_or(|tests| tests > SHORT_LOOP);
        loops || list[at].kernel.interface.has_barrier
    };
    let meet = |boundary: usize| group.demands.iter().any(|d| d.first < boundary && boundary <= d.second);
    members.skip(1).find(|&boundary| {
        let (before, after) = (group.start..boundary, boundary..group.end());
        !meet(boundary) && before.into_iter().any(takes_long) && after.into_iter().any(takes_long)
    })
}
