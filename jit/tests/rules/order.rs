//! Lists that are done in another order than their own, and what has to stay where it is.

use vkfuse_jit::plan::{Internalization, Promote};

use super::lab::{Checked, Lab, compiled, kernel};

/// A kernel that exchanges elements inside of its work-group: it goes with those of its own size alone.
fn turned(size: u32) -> String {
    let body = format!(
        "var<workgroup> s: array<u32, {size}>; --- s[lix] = a[gid.x] + 1u; workgroupBarrier(); \
         z[gid.x] = s[{last}u - lix] * 3u;",
        last = size - 1
    );
    kernel("a z", &size.to_string(), &body)
}

/// Adds what another exchanged.
fn summed(size: u32) -> String {
    let body = format!(
        "var<workgroup> s: array<u32, {size}>; --- s[lix] = a[gid.x]; workgroupBarrier(); \
         z[gid.x] = s[{last}u - lix] + b[gid.x];",
        last = size - 1
    );
    kernel("a b z", &size.to_string(), &body)
}

const SMALL: [u32; 3] = [4, 1, 1];
const LARGE: [u32; 3] = [2, 1, 1];

impl Checked {
    /// Demands this many dispatches in this order, of submissions that would be this many more in their own.
    #[track_caller]
    fn in_order(self, order: &[usize], dispatches: usize, instead_of: usize) -> Self {
        let report = &self.plan.report;
        assert_eq!(self.plan.steps.len(), dispatches, "{report:#?}");
        let reordered = report.reordered.as_ref().unwrap_or_else(|| panic!("in its own order: {report:#?}"));
        assert_eq!((&*reordered.order, reordered.dispatches), (order, instead_of), "{report:#?}");
        let members: Vec<usize> = self.plan.steps.iter().flat_map(|step| step.members.to_vec()).collect();
        assert_eq!(members, order);
        let reported: Vec<usize> = report.groups.iter().flat_map(|group| group.members.to_vec()).collect();
        assert_eq!(reported, order);
        self
    }

    /// Demands this many dispatches in the order of the list.
    #[track_caller]
    fn in_its_own_order(self, dispatches: usize) -> Self {
        let report = &self.plan.report;
        assert!(report.reordered.is_none(), "{report:#?}");
        assert_eq!(self.plan.steps.len(), dispatches, "{report:#?}");
        self
    }
}

/// A chain of small work-groups in buffers 0, 1, 4, with something between its two kernels.
fn around(stranger: impl FnOnce(Lab) -> Lab) -> Lab {
    let lab = Lab::rewriting(64).submit(&turned(16), SMALL, &[0, 1], &[]);
    stranger(lab).submit(&turned(16), SMALL, &[1, 4], &[])
}

probes! {
    fn chains_that_are_submitted_by_turns_are_one_dispatch_each() {
        Lab::rewriting(64)
            .promote(1, Promote::Auto)
            .promote(3, Promote::Auto)
            .submit(&turned(16), SMALL, &[0, 1], &[])
            .submit(&turned(32), LARGE, &[2, 3], &[])
            .submit(&turned(16), SMALL, &[1, 4], &[])
            .submit(&turned(32), LARGE, &[3, 5], &[])
            .check()
            .in_order(&[0, 2, 1, 3], 2, 4)
            .inside(1, Internalization::Private)
            .inside(3, Internalization::Private);
    }

    fn three_chains_of_three_are_three_dispatches() {
        let mut lab = Lab::rewriting(64);
        for link in 0..3u64 {
            for (chain, size) in [(0, 8), (1, 16), (2, 32u32)] {
                let from = 4 * chain + link;
                lab = lab.submit(&turned(size), [64 / size, 1, 1], &[from, from + 1], &[]);
            }
        }
        lab.check().in_order(&[0, 3, 6, 1, 4, 7, 2, 5, 8], 3, 9);
    }

    fn a_stranger_in_the_middle_is_done_apart() {
        around(|lab| lab.submit(&turned(32), LARGE, &[2, 3], &[])).check().in_order(&[0, 2, 1], 2, 3);
    }

    fn no_rewrites_is_no_other_order() {
        let mut lab = around(|lab| lab.submit(&turned(32), LARGE, &[2, 3], &[]));
        lab.options.no_rewrites = true;
        lab.check().in_its_own_order(3);
    }

    fn what_one_link_hands_to_the_next_stays_between_them() {
        around(|lab| lab.submit(&turned(32), LARGE, &[1, 2], &[]).submit(&turned(32), LARGE, &[2, 1], &[]))
            .check()
            .in_its_own_order(3);
        // It reads what the first one wrote, and the last one reads what it writes.
        Lab::rewriting(64)
            .submit(&turned(16), SMALL, &[0, 1], &[])
            .submit(&turned(32), LARGE, &[1, 2], &[])
            .submit(&summed(16), SMALL, &[1, 2, 3], &[])
            .check()
            .in_its_own_order(3);
    }

    fn who_reads_what_is_overwritten_later_is_done_before() {
        around(|lab| lab.submit(&turned(32), LARGE, &[4, 3], &[])).check().in_order(&[1, 0, 2], 2, 3);
    }

    fn who_reads_what_was_written_is_done_after() {
        around(|lab| lab.submit(&turned(32), LARGE, &[1, 3], &[])).check().in_order(&[0, 2, 1], 2, 3);
    }

    fn who_writes_last_stays_last() {
        around(|lab| lab.submit(&turned(32), LARGE, &[2, 4], &[])).check().in_order(&[1, 0, 2], 2, 3);
    }

    fn views_that_begin_elsewhere_meet() {
        around(|lab| lab.submit_views(&turned(32), [1, 1, 1], &[(4, 32, 32).into(), (3, 0, 32).into()], &[]))
            .check()
            .in_order(&[1, 0, 2], 2, 3);
    }

    fn views_apart_from_each_other_do_not_meet() {
        // Both halves of one buffer: a chain in each.
        let half = |first: u64| (0, first, 32).into();
        Lab::rewriting(64)
            .submit_views(&turned(16), [2, 1, 1], &[1.into(), half(0)], &[])
            .submit_views(&turned(32), [1, 1, 1], &[2.into(), half(32)], &[])
            .submit_views(&turned(16), [2, 1, 1], &[half(0), 3.into()], &[])
            .submit_views(&turned(32), [1, 1, 1], &[half(32), 4.into()], &[])
            .check()
            .in_order(&[0, 2, 1, 3], 2, 4);
    }

    fn a_part_that_is_written_again_leaves_the_rest() {
        Lab::rewriting(64)
            .submit(&turned(32), LARGE, &[5, 6], &[])
            .submit(&turned(16), SMALL, &[0, 1], &[])
            .submit_views(&turned(16), [1, 1, 1], &[(2, 0, 16).into(), (1, 0, 16).into()], &[])
            .submit_views(&turned(32), [1, 1, 1], &[(1, 32, 32).into(), (7, 0, 32).into()], &[])
            .check()
            .in_order(&[1, 2, 0, 3], 2, 3);
    }

    fn nothing_passes_who_follows_device_addresses() {
        around(|lab| lab.submit_kernel(compiled("address"), [1, 1, 1], &[], &[0x1000, 0]))
            .planned()
            .in_its_own_order(3);
    }

    fn lists_that_are_one_kernel_are_left_alone() {
        let flat = kernel("a z", "16", "z[gid.x] = a[gid.x] + 1u;");
        Lab::rewriting(64)
            .submit(&flat, SMALL, &[0, 1], &[])
            .submit(&flat, SMALL, &[2, 3], &[])
            .submit(&flat, SMALL, &[1, 4], &[])
            .check()
            .fused(0)
            .in_its_own_order(1);
    }

    fn a_plan_in_another_order_holds_for_other_arguments() {
        let add = kernel("a z", "16", "z[gid.x] = (a[gid.x] + p.x) * p.y;");
        let other = kernel("a z", "16", "z[gid.x] = a[gid.x] + 1u;");
        // What counts its work-groups from elsewhere runs by itself; no rewrite is tried.
        let lab = Lab::rewriting(64)
            .submit(&add, SMALL, &[0, 1], &[1, 2])
            .submit(&other, [2, 1, 1], &[7, 8], &[])
            .based([2, 0, 0])
            .submit(&add, SMALL, &[1, 4], &[5, 6]);
        assert!(lab.holds_with(&[&[11, 12], &[], &[15, 16]]));
        // The first and the third share no argument, and would here.
        assert!(!lab.holds_with(&[&[11, 12], &[], &[11, 16]]));
        lab.planned().in_order(&[0, 2, 1], 2, 3);
    }
}
