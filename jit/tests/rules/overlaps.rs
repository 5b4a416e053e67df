//! Members that hand nothing on to each other stay dispatches of their own where a device runs small dispatches at once.

use vkfuse_jit::Reason;
use vkfuse_jit::plan::Way;

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

/// After which submissions the list is split, where nothing but time is against one dispatch.
fn boundaries(lab: Lab) -> Vec<usize> {
    let checked = lab.check();
    let splits = &checked.plan.report.splits;
    assert!(splits.iter().all(|split| split.reason == Reason::Overlaps), "{splits:?}");
    splits.iter().map(|split| split.after).collect()
}

probes! {
    fn small_dispatches_overlap() {
        assert_eq!(boundaries(reductions(5, 1 << 16)), [0]);
        // A processor runs one after the other, and 400 invocations fill a device of 300.
        assert_eq!(boundaries(reductions(5, 0)), []);
        assert_eq!(boundaries(reductions(50, 300)), []);
        assert_eq!(boundaries(reductions(50, 401)), [0]);
        let mut lab = reductions(5, 1 << 16);
        lab.options.force = true;
        assert_eq!(boundaries(lab), []);
    }

    fn members_that_meet_later_are_one_dispatch() {
        let both = spread("a[at] * b[wid.x]");
        // The third one takes what the first and the second have.
        let lab = reductions(5, 1 << 16).submit(&both, [5, 1, 1], &[0, 1, 4], &[40]);
        assert_eq!(boundaries(lab.submit(&both, [5, 1, 1], &[4, 3, 5], &[40])), []);
        // The first two go with the first one alone, and so apart from the second.
        let lab = reductions(5, 1 << 16).submit(&both, [5, 1, 1], &[2, 3, 4], &[40]);
        assert_eq!(boundaries(lab), [0]);
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

    fn few_invocations_in_place_of_many_are_measured() {
        let each = kernel("a z", "8", "z[gid.x] = a[gid.x] * 3u;");
        let ways = |overlapping_invocations| {
            let mut lab = Lab::rewriting(64)
                .submit(&reduce("own + v", "x + y"), [1, 1, 1], &[0, 1], &[64])
                .submit(&each, [8, 1, 1], &[0, 2], &[])
                .submit(&spread("a[at] + b[wid.x]"), [1, 1, 1], &[2, 1, 3], &[64]);
            lab.limits.overlapping_invocations = overlapping_invocations;
            let ways = lab.doubts();
            lab.check().fused(1);
            ways
        };
        // Eight invocations do what 64 did.
        assert_eq!(ways(1 << 16), [Way::Apart]);
        assert_eq!(ways(0), []);
    }
}
