//! Members that hand nothing on to each other stay dispatches of their own, or have work-groups of their own, where a device runs small
//! dispatches at once.

use vkfuse_jit::plan::{Internalization, Promote, Way};
use vkfuse_jit::{Reason, RewriteReason};

use super::lab::{Lab, kernel};
use super::rows::{reduce, spread};

/// Two reductions of different rows, on a device that holds this many invocations.
fn reductions(rows: u32, overlapping_invocations: u64) -> Lab {
    let sum = reduce("own + v", "x + y");
    let mut lab = Lab::new(u64::from(rows) * 40).submit(&sum, [rows, 1, 1], &[0, 1], &[40]).submit(
        &sum,
        [rows, 1, 1],
        &[2, 3],
        &[40],
    );
    lab.limits.overlapping_invocations = overlapping_invocations;
    lab
}

/// Two kernels without barriers, of rows of 64.
fn spreads(rows: u32, overlapping_invocations: u64) -> Lab {
    let each = spread("a[at] + b[wid.x]");
    let mut lab = Lab::new(u64::from(rows) * 64).submit(&each, [rows, 1, 1], &[0, 1, 2], &[64]).submit(
        &each,
        [rows, 1, 1],
        &[3, 4, 5],
        &[64],
    );
    lab.limits.overlapping_invocations = overlapping_invocations;
    lab
}

/// After which submissions the list is split, where nothing but time is against one dispatch.
fn boundaries(lab: Lab) -> Vec<usize> {
    let checked = lab.check();
    let splits = &checked.plan.report.splits;
    assert!(splits.iter().all(|split| split.reason == Reason::Overlaps), "{splits:?}");
    splits.iter().map(|split| split.after).collect()
}

/// The first work-groups of the parts of a list that is one dispatch, and how many work-groups that has.
fn parts(lab: Lab) -> (String, [u32; 3]) {
    let checked = lab.check();
    let (report, steps) = (&checked.plan.report, &checked.plan.steps);
    assert_eq!(steps.len(), 1, "{report:#?}");
    let parts = report.groups[0].schedule.split_once("; parts from work-group ");
    (parts.map_or(String::new(), |(_, parts)| parts.to_owned()), steps[0].groups)
}

probes! {
    fn small_dispatches_overlap() {
        assert_eq!(boundaries(spreads(5, 1 << 16)), [0]);
        // A processor runs one after the other, and 400 invocations fill a device of 300.
        assert_eq!(boundaries(spreads(5, 0)), []);
        assert_eq!(boundaries(spreads(50, 300)), []);
        assert_eq!(boundaries(spreads(50, 401)), [0]);
        let mut lab = spreads(5, 1 << 16);
        lab.options.force = true;
        assert_eq!(boundaries(lab), []);
    }

    fn parts_with_barriers_have_work_groups_of_their_own() {
        assert_eq!(parts(reductions(5, 1 << 16)), ("5".to_owned(), [10, 1, 1]));
        assert_eq!(parts(reductions(5, 0)), (String::new(), [5, 1, 1]));
        assert_eq!(parts(reductions(50, 300)), (String::new(), [50, 1, 1]));
        assert_eq!(parts(reductions(50, 401)), ("50".to_owned(), [100, 1, 1]));
        let mut lab = reductions(5, 1 << 16);
        lab.options.force = true;
        assert_eq!(parts(lab), (String::new(), [5, 1, 1]));
    }

    fn parts_of_other_counts_follow_each_other() {
        let sum = reduce("own + v", "x + y");
        let across = sum.replace("wid.x", "(wid.y * 2u + wid.x)");
        let lab = reductions(3, 1 << 16).submit(&across, [2, 3, 1], &[4, 5], &[20]);
        let lab = lab.submit(&sum, [2, 1, 1], &[6, 7], &[20]);
        assert_eq!(parts(lab), ("3, 6, 12".to_owned(), [14, 1, 1]));
        // There is an end to parts.
        let sums = |count: u64| {
            let mut lab = reductions(3, 1 << 16);
            lab.limits.max_storage_buffers = 32;
            (2..count).fold(lab, |lab, n| lab.submit(&sum, [3, 1, 1], &[2 * n, 2 * n + 1], &[40]))
        };
        assert_eq!(parts(sums(8)).1, [24, 1, 1]);
        assert_eq!(boundaries(sums(9)).first(), Some(&0));
    }

    fn what_is_promoted_stays_in_its_part() {
        let sum = reduce("own + v", "x + y");
        let each = spread("a[at] * b[wid.x]");
        let lab = |apart: u64| {
            let mut lab = Lab::new(240)
                .submit(&sum, [3, 1, 1], &[0, 1], &[40])
                .promote(4, Promote::Local)
                .submit(&each, [5, 1, 1], &[2, apart, 4], &[40])
                .submit(&sum, [5, 1, 1], &[4, 5], &[40]);
            lab.limits.overlapping_invocations = 1 << 16;
            lab
        };
        assert_eq!(parts(lab(3)), ("3".to_owned(), [8, 1, 1]));
        lab(3).check().inside(4, Internalization::Local);
        // One that takes what the first has goes with it.
        assert_eq!(parts(lab(1)), (String::new(), [5, 1, 1]));
    }

    fn parts_that_are_coarsened_stay_dispatches() {
        let mut lab = reductions(5, 1 << 16);
        lab.limits.block_coarsening.work_groups = 2;
        lab.limits.block_coarsening.least = 11;
        assert_eq!(parts(lab), ("5".to_owned(), [10, 1, 1]));
        let mut lab = reductions(5, 1 << 16);
        lab.limits.block_coarsening.work_groups = 2;
        lab.limits.block_coarsening.least = 10;
        assert_eq!(boundaries(lab), [0]);
    }

    fn members_that_meet_later_are_one_dispatch() {
        let both = spread("a[at] * b[wid.x]");
        // The third one takes what the first and the second have.
        let lab = reductions(5, 1 << 16).submit(&both, [5, 1, 1], &[0, 1, 4], &[40]);
        assert_eq!(parts(lab.submit(&both, [5, 1, 1], &[4, 3, 5], &[40])), (String::new(), [5, 1, 1]));
        // The first two go with the first one alone, and so apart from the second.
        let lab = reductions(5, 1 << 16).submit(&both, [5, 1, 1], &[2, 3, 4], &[40]);
        assert_eq!(parts(lab), ("5".to_owned(), [10, 1, 1]));
    }

    fn kernels_of_a_few_instructions_are_worth_no_dispatch() {
        let short = spread("a[at] + b[wid.x]");
        // One iteration each.
        let mut lab = Lab::new(40)
            .submit(&short, [5, 1, 1], &[0, 1, 2], &[8])
            .submit(&reduce("own + v", "x + y"), [5, 1, 1], &[3, 4], &[8]);
        lab.limits.overlapping_invocations = 1 << 16;
        assert_eq!(boundaries(lab), []);
    }

    fn lengths_of_loops_decide() {
        let lab = |w: u32| {
            let each = spread("a[at] + b[wid.x]");
            let mut lab = Lab::new(u64::from(5 * w))
                .submit(&each, [5, 1, 1], &[0, 1, 2], &[w])
                .submit(&each, [5, 1, 1], &[3, 4, 5], &[w]);
            lab.limits.overlapping_invocations = 1 << 16;
            lab
        };
        // Seven iterations of eight invocations, and one more for some.
        assert_eq!(boundaries(lab(56)), []);
        assert_eq!(boundaries(lab(57)), [0]);
        // So the plan depends on the push constants that the lengths come from.
        assert!(!lab(56).holds_with(&[&[57], &[57]]));
        assert!(lab(56).holds_with(&[&[56], &[56]]));
    }

    // Two that take long, and a third that needs both: apart, a device that is not full runs the first two at once.
    fn what_is_done_in_turn_is_measured() {
        let looped = |name: &str, first: &str| {
            let body = format!("var s = {first}; for (var k = 0u; k < 30u; k++) {{ s = s * 5u + a[gid.x]; }} {name}[gid.x] = s;");
            kernel(&format!("a {name}"), "8", &body)
        };
        let both = kernel("a b z", "8", "z[gid.x] = a[gid.x] + b[gid.x];");
        let after = kernel("a z", "8", "var s = 0u; for (var k = 0u; k < 30u; k++) { s = s * 5u + a[gid.x]; } z[gid.x] = s;");
        for (overlapping_invocations, ways) in [(1 << 16, vec![Way::Apart]), (0, vec![])] {
            let mut lab = Lab::new(64)
                .submit(&looped("z", "1u"), [8, 1, 1], &[0, 1], &[])
                .submit(&looped("y", "2u"), [8, 1, 1], &[0, 2], &[])
                .submit(&both, [8, 1, 1], &[1, 2, 3], &[]);
            lab.limits.overlapping_invocations = overlapping_invocations;
            assert_eq!(lab.doubts(), ways);
            lab.check().fused(0);
        }
        // One needs what the other hands on, also by way of a third.
        let mut lab = Lab::new(64)
            .submit(&looped("z", "1u"), [8, 1, 1], &[0, 1], &[])
            .submit(&both, [8, 1, 1], &[1, 0, 2], &[])
            .submit(&after, [8, 1, 1], &[2, 3], &[]);
        lab.limits.overlapping_invocations = 1 << 16;
        assert_eq!(lab.doubts(), []);
        lab.check().fused(0);
    }

    fn few_invocations_in_place_of_many_are_measured() {
        let each = kernel("a z", "8", "z[gid.x] = a[gid.x] * 3u;");
        // What has a loop is not recomputed.
        let looped = "var s = 0u; for (var k = 0u; k < 3u; k++) { s = s * 5u + a[gid.x]; } z[gid.x] = s;";
        let looped = kernel("a z", "8", looped);
        let lab = |overlapping_invocations, wide| {
            let mut lab = Lab::rewriting(64)
                .submit(&reduce("own + v", "x + y"), [1, 1, 1], &[0, 1], &[64])
                .submit(&each, [8, 1, 1], &[0, 2], &[])
                .submit(&looped, [8, 1, 1], &[2, 4], &[])
                .submit(&spread("a[at] + b[wid.x]"), [1, 1, 1], &[4, 1, 3], &[64]);
            (lab.limits.overlapping_invocations, lab.options.wide) = (overlapping_invocations, wide);
            let ways = lab.doubts();
            (ways, lab.check())
        };
        // Eight invocations do what 64 did.
        let (ways, checked) = lab(1 << 16, false);
        assert_eq!(ways, [Way::Wide, Way::Apart]);
        checked.fused(1);
        // As these are placed nowhere, what is done by elements has its own invocations.
        let (ways, checked) = lab(1 << 16, true);
        assert_eq!(ways, []);
        let report = &checked.plan.report;
        assert!(report.rewrites.is_empty(), "{report:#?}");
        let members: Vec<_> = report.groups.iter().map(|group| group.members.clone()).collect();
        assert_eq!(members, [0..3, 3..4], "{report:#?}");
        let narrow = RewriteReason::Narrow { invocations: 8, own: 64 };
        assert_eq!(report.splits[0].tried, Some(narrow));
        // A device on which few invocations are many.
        for wide in [false, true] {
            let (ways, checked) = lab(0, wide);
            assert_eq!(ways, []);
            checked.fused(1);
        }
    }

    // Two kernels are wide where they are apart.
    fn two_kernels_have_one_other_way() {
        let looped = "var s = 0u; for (var k = 0u; k < 3u; k++) { s = s * 5u + a[gid.x]; } z[gid.x] = s;";
        let mut lab = Lab::rewriting(64)
            .submit(&kernel("a z", "8", looped), [8, 1, 1], &[0, 1], &[])
            .submit(&spread("a[at] + b[wid.x]"), [1, 1, 1], &[1, 3, 2], &[64]);
        lab.limits.overlapping_invocations = 1 << 16;
        let ways = lab.doubts();
        lab.check().fused(0);
        assert_eq!(ways, [Way::Apart]);
    }
}
