//! Buffers that hold one value after another: which values need no memory, and which somebody could miss.

use vkfuse_jit::plan::{Internalization, Policy, Promote};

use super::lab::{Checked, Lab, compiled, kernel};

const WHOLE: [u32; 3] = [4, 1, 1];
const HALF: [u32; 3] = [2, 1, 1];

fn flat() -> String {
    kernel("a z", "16", "z[gid.x] = a[gid.x] * 3u + 1u;")
}

/// Goes through what it writes from the other end.
fn mirrored() -> String {
    kernel("a z", "16", "z[63u - gid.x] = a[gid.x] * 5u;")
}

/// Reads what the former wrote where it wrote it.
fn mirrored_back() -> String {
    kernel("a z", "16", "z[gid.x] = a[63u - gid.x] + 2u;")
}

/// Reads what another invocation of the same work-group wrote.
fn turned() -> String {
    kernel("a z", "16", "z[gid.x] = a[(gid.x & ~15u) + 15u - (gid.x & 15u)] + 7u;")
}

/// Has a barrier, so that no one works it out again.
fn exchanged() -> String {
    let body = "var<workgroup> s: array<u32, 16>; --- s[lix] = a[gid.x] + 1u; workgroupBarrier(); \
                z[gid.x] = s[15u - lix] * 3u;";
    kernel("a z", "16", body)
}

impl Checked {
    /// Demands that the values of these buffers, used by these submissions, are not in memory.
    #[track_caller]
    fn renamed(self, expected: &[(u64, &[usize], &[usize])]) -> Self {
        let report = &self.plan.report;
        let found: Vec<(u64, Vec<usize>, Vec<usize>)> = report
            .renamed
            .iter()
            .map(|one| {
                assert_ne!(one.got, Internalization::None);
                let users = one.arguments.iter().map(|&(at, _)| at).collect();
                (one.buffer.0, users, one.overwritten_by.clone())
            })
            .collect();
        let expected: Vec<(u64, Vec<usize>, Vec<usize>)> =
            expected.iter().map(|&(buffer, users, by)| (buffer, users.to_vec(), by.to_vec())).collect();
        assert_eq!(found, expected, "{report:#?}");
        self
    }

    /// Demands that a buffer is bound by some dispatch, or by none.
    #[track_caller]
    fn bound(self, buffer: u64, is_bound: bool) -> Self {
        let mut bounds = self.plan.steps.iter().flat_map(|step| &step.bindings);
        assert_eq!(bounds.any(|bound| bound.buffer.0 == buffer), is_bound, "{:#?}", self.plan.report);
        self
    }

    #[track_caller]
    fn dispatches(self, dispatches: usize) -> Self {
        assert_eq!(self.plan.steps.len(), dispatches, "{:#?}", self.plan.report);
        self
    }
}

/// A value in buffer 1 that is read, and something that comes behind it.
fn value(behind: impl FnOnce(Lab) -> Lab) -> Lab {
    let lab = Lab::rewriting(64).submit(&flat(), WHOLE, &[0, 1], &[]).submit(&turned(), WHOLE, &[1, 2], &[]);
    behind(lab)
}

probes! {
    /// What the host wrote says which branch is taken, as long as the list does not write there.
    fn numbers_that_the_list_writes_do_not_say_what_is_overwritten() {
        let guarded = kernel("a z", "16", "if (a[0] >= 8u) { return; } z[gid.x] = a[1];");
        let set = kernel("z", "16", "z[gid.x] = 100u;");
        let list = |is_set: bool| {
            let lab = Lab::rewriting(64).known(3, &[1, 2]).submit(&mirrored(), WHOLE, &[0, 1], &[]);
            let lab = lab.submit(&mirrored_back(), WHOLE, &[1, 2], &[]);
            let lab = if is_set { lab.submit(&set, [1, 1, 1], &[3], &[]) } else { lab };
            lab.submit(&guarded, WHOLE, &[3, 1], &[]).check()
        };
        list(false).renamed(&[(1, &[0, 1], &[2])]);
        list(true).renamed(&[]);
    }

    fn of_two_buffers_by_turns_only_the_last_values_are_written() {
        Lab::rewriting(64)
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .submit(&flat(), WHOLE, &[1, 2], &[])
            .submit(&flat(), WHOLE, &[2, 1], &[])
            .submit(&flat(), WHOLE, &[1, 2], &[])
            .submit(&flat(), WHOLE, &[2, 3], &[])
            .check()
            .dispatches(1)
            .renamed(&[(1, &[0, 1], &[2]), (2, &[1, 2], &[3])]);
    }

    fn a_value_that_is_written_elsewhere_in_the_buffer_does_not_wait() {
        let list = || value(|lab| lab.submit(&mirrored(), WHOLE, &[0, 1], &[]).submit(&mirrored_back(), WHOLE, &[1, 3], &[]));
        list().check().dispatches(1).renamed(&[(1, &[0, 1], &[2])]).bound(1, true);
        let mut plain = list();
        plain.options.no_rewrites = true;
        plain.check().dispatches(2).renamed(&[]);
    }

    fn what_nobody_reads_is_not_written() {
        Lab::rewriting(64)
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .submit(&mirrored(), WHOLE, &[2, 1], &[])
            .check()
            .dispatches(1)
            .renamed(&[(1, &[0], &[1])]);
    }

    fn what_is_promoted_needs_no_other_buffer() {
        value(|lab| lab)
            .promote(1, Promote::Auto)
            .check();
        Lab::rewriting(64)
            .promote(1, Promote::Private)
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .submit(&flat(), WHOLE, &[1, 2], &[])
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .submit(&flat(), WHOLE, &[1, 3], &[])
            .check()
            .dispatches(1)
            .renamed(&[])
            .inside(1, Internalization::Private)
            .bound(1, false);
    }

    fn a_promotion_is_told_of_the_last_value() {
        Lab::rewriting(64)
            .promote(1, Promote::Private)
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .submit(&flat(), WHOLE, &[1, 2], &[])
            .submit(&mirrored(), WHOLE, &[0, 1], &[])
            .submit(&mirrored_back(), WHOLE, &[1, 3], &[])
            .check()
            .dispatches(1)
            .inside(1, Internalization::Private)
            .bound(1, false);
    }

    fn who_overwrites_a_part_leaves_the_rest() {
        let guarded = kernel("a z", "16", "if (gid.x < 32u) { z[63u - gid.x] = a[gid.x]; }");
        value(|lab| lab.submit(&guarded, WHOLE, &[0, 1], &[])).check().renamed(&[]);
    }

    fn who_updates_a_value_needs_it() {
        let updates = kernel("a z", "16", "z[63u - gid.x] = z[63u - gid.x] + a[gid.x];");
        value(|lab| lab.submit(&updates, WHOLE, &[0, 1], &[])).check().renamed(&[]);
        // It is a value of its own from the next one on that overwrites it.
        value(|lab| lab.submit(&updates, WHOLE, &[0, 1], &[]).submit(&flat(), WHOLE, &[0, 1], &[])).check();
    }

    fn two_halves_overwrite_a_whole() {
        let half = |first: u64| (1, first, 32).into();
        value(|lab| lab.submit_views(&flat(), HALF, &[(0, 0, 32).into(), half(0)], &[])).check().renamed(&[]);
        value(|lab| {
            lab.submit_views(&flat(), HALF, &[(0, 0, 32).into(), half(0)], &[])
                .submit_views(&flat(), HALF, &[(0, 0, 32).into(), half(32)], &[])
        })
        .check()
        .renamed(&[(1, &[0, 1], &[2, 3])]);
        // Between the two, somebody looks at the half that is left.
        value(|lab| {
            lab.submit_views(&flat(), HALF, &[(0, 0, 32).into(), half(0)], &[])
                .submit_views(&flat(), HALF, &[half(32), (3, 0, 32).into()], &[])
                .submit_views(&flat(), HALF, &[(0, 0, 32).into(), half(32)], &[])
        })
        .check()
        .renamed(&[]);
    }

    fn values_side_by_side_are_apart() {
        // Both halves of one buffer, each for two values.
        let half = |first: u64| (1, first, 32).into();
        let mut lab = Lab::rewriting(64);
        for first in [0, 32] {
            for out in [2, 3] {
                lab = lab
                    .submit_views(&flat(), HALF, &[(0, first, 32).into(), half(first)], &[])
                    .submit_views(&flat(), HALF, &[half(first), (out, first, 32).into()], &[]);
            }
        }
        lab.check().dispatches(1).renamed(&[(1, &[0, 1], &[2]), (1, &[4, 5], &[6])]);
    }

    fn whoever_looks_at_a_part_uses_the_value() {
        let part = || (1, 32, 32).into();
        let pairs = kernel("a z", "16", "z[gid.x] = a[gid.x] + a[31u - gid.x];");
        let checked = Lab::rewriting(64)
            .submit(&exchanged(), WHOLE, &[0, 1], &[])
            .submit_views(&pairs, HALF, &[part(), (2, 0, 32).into()], &[])
            .submit(&exchanged(), WHOLE, &[3, 1], &[])
            .check();
        checked.renamed(&[]);
        // Its own part it finds in the same invocation.
        let second = kernel("a z", "16", "if (gid.x >= 32u) { z[gid.x - 32u] = a[gid.x - 32u] + 1u; }");
        Lab::rewriting(64)
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .submit_views(&second, WHOLE, &[part(), (2, 0, 32).into()], &[])
            .submit(&flat(), WHOLE, &[3, 1], &[])
            .check()
            .renamed(&[(1, &[0, 1], &[2])]);
    }

    fn what_a_list_leaves_behind_is_written() {
        // Another buffer is used twice.
        Lab::rewriting(64)
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .submit(&flat(), WHOLE, &[1, 2], &[])
            .submit(&mirrored(), WHOLE, &[0, 2], &[])
            .check()
            .renamed(&[(2, &[1], &[2])])
            .bound(1, true);
    }

    fn old_contents_are_not_a_value() {
        // Half of what is read was there before.
        let half = kernel("a z", "16", "if (gid.x < 32u) { z[gid.x] = a[gid.x]; }");
        let list = || {
            Lab::rewriting(64)
                .submit(&half, WHOLE, &[0, 1], &[])
                .submit(&flat(), WHOLE, &[1, 2], &[])
                .submit(&flat(), WHOLE, &[0, 1], &[])
        };
        list().check().renamed(&[]);
        // No one said that they may be lost.
        let mut trusting = list();
        trusting.options.policy = Policy::Trust;
        trusting.check().renamed(&[]);
    }

    fn a_value_that_goes_from_one_dispatch_to_another_is_written() {
        let shifted = kernel("a z", "16", "z[gid.x] = a[(gid.x + 1u) % 64u];");
        Lab::rewriting(64)
            .submit(&exchanged(), WHOLE, &[0, 1], &[])
            .submit(&shifted, WHOLE, &[1, 2], &[])
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .check()
            .dispatches(3)
            .renamed(&[]);
    }

    fn a_value_that_is_worked_out_again_is_not_written() {
        let shifted = kernel("a z", "16", "z[gid.x] = a[(gid.x + 1u) % 64u];");
        Lab::rewriting(64)
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .submit(&shifted, WHOLE, &[1, 2], &[])
            .submit(&flat(), WHOLE, &[3, 1], &[])
            .check()
            .dispatches(1)
            .renamed(&[(1, &[0, 1], &[2])]);
    }

    fn who_follows_device_addresses_may_read_any_value() {
        Lab::rewriting(64)
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .submit(&flat(), WHOLE, &[1, 2], &[])
            .submit_kernel(compiled("address"), [1, 1, 1], &[], &[0x1000, 0])
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .planned()
            .renamed(&[]);
        // Once it is overwritten, no one finds it.
        Lab::rewriting(64)
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .submit(&flat(), WHOLE, &[1, 2], &[])
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .submit_kernel(compiled("address"), [1, 1, 1], &[], &[0x1000, 0])
            .planned()
            .renamed(&[(1, &[0, 1], &[2])]);
    }

    fn a_value_of_one_submission_alone_stays_where_it_is() {
        // What counts its work-groups from elsewhere runs by itself.
        Lab::rewriting(64)
            .submit(&flat(), HALF, &[0, 1], &[])
            .based([2, 0, 0])
            .submit(&flat(), WHOLE, &[0, 1], &[])
            .planned()
            .renamed(&[]);
    }

    fn renamed_values_hold_for_other_arguments() {
        let add = kernel("a z", "16", "z[gid.x] = (a[gid.x] + p.x) * p.y;");
        let guarded = kernel("a z", "16", "if (gid.x < p.x) { z[gid.x] = a[gid.x] + p.y; }");
        let list = |last: &str, push: [u32; 2]| {
            Lab::rewriting(64)
                .submit(&add, WHOLE, &[0, 1], &[1, 2])
                .submit(&add, WHOLE, &[1, 2], &[5, 6])
                .submit(last, WHOLE, &[0, 1], &push)
        };
        let lab = list(&add, [9, 10]);
        assert!(lab.holds_with(&[&[11, 12], &[15, 16], &[19, 20]]));
        lab.planned().renamed(&[(1, &[0, 1], &[2])]);
        // How much is overwritten is a number to the plan.
        let lab = list(&guarded, [64, 10]);
        assert!(lab.holds_with(&[&[11, 12], &[15, 16], &[64, 20]]));
        assert!(!lab.holds_with(&[&[11, 12], &[15, 16], &[63, 20]]));
        lab.check().renamed(&[(1, &[0, 1], &[2])]);
        list(&guarded, [63, 10]).check().renamed(&[]);
    }
}
