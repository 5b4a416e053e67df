//! Accesses outside of what is bound, where these are defined: they read zeros and write nothing, through the same range as ever. And
//! blocks in shared memory, which lie over each other.

use vkfuse_jit::Reason;
use vkfuse_jit::plan::{Internalization, Promote};

use super::glsl::{glsl, is_possible};
use super::lab::{Checked, Lab, View, compiled, kernel};

trait Robust {
    fn robust(self) -> Self;
}

impl Robust for Lab {
    fn robust(mut self) -> Self {
        self.limits.robust = true;
        self
    }
}

fn copy() -> String {
    kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;")
}

fn guarded() -> String {
    kernel("a z", "8", "if (gid.x < p.x) { z[gid.x] = a[gid.x] + 1u; }")
}

fn whole(buffer: u64) -> View {
    buffer.into()
}

fn part(buffer: u64, first: u64, len: u64) -> View {
    (buffer, first, len).into()
}

#[track_caller]
fn assert_splits(checked: &Checked) {
    assert_eq!(checked.plan.steps.len(), 2);
    let reason = &checked.plan.report.splits[0].reason;
    assert!(matches!(reason, Reason::MayLeaveRange { .. }), "{reason}");
}

probes! {
    /// Thirty-two items on thirty elements: the last two are written nowhere and read as zeros, in two dispatches.
    fn what_leaves_its_range_waits_for_who_writes_there() {
        for first in [0, 32] {
            for promote in [Promote::None, Promote::Private, Promote::Local, Promote::Auto] {
                let checked = Lab::new(64)
                    .robust()
                    .promote(1, promote)
                    .submit_views(&copy(), [4, 1, 1], &[whole(0), part(1, first, 30)], &[])
                    .submit_views(&copy(), [4, 1, 1], &[part(1, first, 30), whole(2)], &[])
                    .check();
                assert_splits(&checked);
            }
        }
    }

    /// What no one writes is read from outside of its range in one dispatch with others.
    fn what_nobody_writes_may_be_read_from_outside() {
        let tile = kernel("a z", "8", "var s = 0u; for (var k = 0u; k < 9u; k++) { s += a[gid.x + k]; } z[gid.x] = s;");
        for len in [30, 32, 8, 1] {
            Lab::new(64)
                .robust()
                .promote(1, Promote::Auto)
                .submit_views(&tile, [4, 1, 1], &[part(0, 0, len), whole(1)], &[])
                .submit(&copy(), [4, 1, 1], &[1, 2], &[])
                .submit_views(&tile, [4, 1, 1], &[part(0, 32, len), whole(3)], &[])
                .check()
                .fused(0)
                .inside(1, Internalization::Private);
        }
    }

    /// What a kernel stores outside of a range it does not find there.
    fn what_is_kept_stays_inside() {
        let own = kernel("a y z", "8", "y[gid.x] = a[gid.x] + 1u; z[gid.x] = y[gid.x] * 3u;");
        for len in [30, 8, 31, 32] {
            let mut lab = Lab::new(32).robust();
            lab.limits.kept_result_bytes = 256;
            lab.submit_views(&own, [4, 1, 1], &[whole(0), part(1, 0, len), whole(2)], &[])
                .submit_views(&copy(), [4, 1, 1], &[whole(2), whole(3)], &[])
                .check()
                .fused(0);
        }
    }

    /// What stays in its range for all that is known of the numbers is promoted as ever.
    fn what_stays_in_its_range_is_promoted() {
        let lab = |push: u32, len| {
            Lab::new(64)
                .robust()
                .promote(1, Promote::Private)
                .submit_views(&guarded(), [4, 1, 1], &[whole(0), part(1, 0, len)], &[push])
                .submit_views(&guarded(), [4, 1, 1], &[part(1, 0, len), whole(2)], &[push])
                .check()
        };
        lab(30, 30).fused(0).inside(1, Internalization::Private);
        lab(29, 30).fused(0).inside(1, Internalization::Private);
        lab(32, 32).fused(0).inside(1, Internalization::Private);
        assert_splits(&lab(31, 30));
        // A loop, a row and a column.
        let rows = kernel("a z", "4, 2", "z[gid.y * 8u + gid.x] = a[gid.y * 8u + gid.x];");
        Lab::new(64)
            .robust()
            .promote(1, Promote::Private)
            .submit(&rows, [2, 4, 1], &[0, 1], &[])
            .submit(&rows, [2, 4, 1], &[1, 2], &[])
            .check()
            .fused(0)
            .inside(1, Internalization::Private);
    }

    /// Two ranges of one buffer: what the one holds is outside of the other.
    fn each_range_has_its_own_end() {
        for (written, read) in [(32, 24), (24, 32), (31, 29), (1, 32), (32, 1)] {
            let checked = Lab::new(32)
                .robust()
                .submit_views(&copy(), [4, 1, 1], &[whole(0), part(1, 0, written)], &[])
                .submit_views(&copy(), [4, 1, 1], &[part(1, 0, read), whole(2)], &[])
                .check();
            assert_splits(&checked);
            // The same where a longer range was written or read before.
            let checked = Lab::new(32)
                .robust()
                .submit_views(&copy(), [4, 1, 1], &[whole(1), whole(3)], &[])
                .submit_views(&copy(), [4, 1, 1], &[part(1, 0, read.min(31)), whole(4)], &[])
                .submit_views(&copy(), [4, 1, 1], &[whole(0), whole(1)], &[])
                .check();
            assert_splits(&checked);
        }
        // What lies before a range is outside of it as well.
        let before = kernel("a z", "8", "z[gid.x] = a[gid.x - 4u];");
        Lab::new(64)
            .robust()
            .submit_views(&copy(), [4, 1, 1], &[whole(0), whole(1)], &[])
            .submit_views(&before, [4, 1, 1], &[part(3, 8, 32), whole(2)], &[])
            .check()
            .fused(0);
    }

    /// An element that is loaded from outside of a range is zero, whatever was stored there through another one.
    fn what_is_loaded_outside_is_not_worked_out() {
        let mirror = kernel("a z", "8", "z[gid.x] = a[p.x - gid.x];");
        let lab = |len| {
            Lab::rewriting(32)
                .robust()
                .submit_views(&copy(), [4, 1, 1], &[whole(0), whole(1)], &[])
                .submit_views(&mirror, [4, 1, 1], &[part(1, 0, len), whole(2)], &[31])
        };
        lab(32).check().fused(0).works_out(&[(1, 0)]);
        lab(24).check().stays_apart(2);
        lab(31).check().stays_apart(2);
        // The load that keeps the two apart stays inside; the other one leaves the range.
        let both = kernel("a z", "8", "z[gid.x] = a[31u - gid.x] * 3u + a[gid.x + 8u];");
        let lab = |len| {
            Lab::rewriting(64)
                .robust()
                .submit_views(&copy(), [5, 1, 1], &[whole(0), whole(1)], &[])
                .submit_views(&both, [4, 1, 1], &[part(1, 0, len), whole(2)], &[])
        };
        lab(40).check().fused(0).works_out(&[(1, 0)]);
        lab(39).check().stays_apart(2);
        lab(32).check().stays_apart(2);
    }

    /// An element that is stored outside of a range is not there.
    fn what_is_stored_outside_is_not_worked_out() {
        let mirror = kernel("a z", "8", "z[gid.x] = a[p.x - gid.x];");
        for len in [24, 31, 8] {
            Lab::rewriting(32)
                .robust()
                .submit_views(&copy(), [4, 1, 1], &[whole(0), part(1, 0, len)], &[])
                .submit_views(&mirror, [4, 1, 1], &[whole(1), whole(2)], &[31])
                .check()
                .stays_apart(2);
        }
        // What keeps them apart is stored inside, by another kernel than the last.
        let lab = |len| {
            Lab::rewriting(72)
                .robust()
                .submit_views(&copy(), [4, 1, 1], &[whole(0), whole(1)], &[])
                .submit_views(&copy(), [5, 1, 1], &[whole(0), part(1, 32, len)], &[])
                .submit_views(&mirror, [9, 1, 1], &[whole(1), whole(2)], &[71])
        };
        lab(40).check().fused(0).works_out(&[(2, 1), (2, 0)]);
        lab(39).check().stays_apart(2);
        lab(32).check().stays_apart(2);
    }

    /// A vector that is stored over the end of a range is stored in part.
    fn a_store_over_the_end_overwrites_nothing() {
        let vectors = kernel("a z:vec4<u32>", "8", "z[gid.x] = vec4<u32>(a[gid.x]);");
        let lab = |len| Lab::new(64).submit_views(&vectors, [1, 1, 1], &[whole(0), part(1, 0, len)], &[]);
        for len in [29, 30, 31] {
            assert!(lab(len).overwrites(1));
            assert!(!lab(len).robust().overwrites(1));
        }
        assert!(lab(32).robust().overwrites(1));
        assert!(!lab(33).robust().overwrites(1));
    }

    /// An index beyond an array in a block leads to what follows, which is inside of the range.
    fn an_index_that_may_leave_its_array_is_not_followed() {
        if !is_possible() {
            return;
        }
        let declared = "struct Both { uint x[16]; uint y[16]; };===---";
        let by = |body: &str| glsl("", "a n:Both", "16", &format!("{declared}{body}"));
        let (write, read) = (by("n[0].x[a[i]] = i;"), glsl("", "a n:Both z", "16", &format!("{declared}z[i] = n[0].y[i] + a[i];")));
        let words: Vec<u32> = (0..16).rev().collect();
        let lab = || {
            Lab::new(32)
                .words(0, &words)
                .submit(&write, [1, 1, 1], &[0, 1], &[])
                .submit(&read, [1, 1, 1], &[0, 1, 2], &[])
        };
        lab().check().fused(0);
        let checked = lab().robust().check();
        let split = &checked.plan.report.splits[0];
        assert!(matches!(split.reason, Reason::MayLeaveArray { submission: 0, .. }), "{}", split.reason);
        // An index that is followed does not leave it.
        let own = by("n[0].x[i] = i;");
        Lab::new(32)
            .robust()
            .words(0, &words)
            .submit(&own, [1, 1, 1], &[0, 1], &[])
            .submit(&read, [1, 1, 1], &[0, 1, 2], &[])
            .check()
            .fused(0);
    }

    /// Devices may round a range up to four bytes, and no one knows of what lies there.
    fn ranges_of_odd_lengths_are_left_alone() {
        let lab = || {
            Lab::new(32)
                .robust()
                .submit(&copy(), [4, 1, 1], &[0, 1], &[])
                .submit(&copy(), [4, 1, 1], &[1, 2], &[])
        };
        lab().check().fused(0);
        for bytes in [1, 2, 3] {
            let checked = lab().cut(2, bytes).check();
            let split = &checked.plan.report.splits[0];
            assert!(matches!(split.reason, Reason::MayLeaveRange { submission: 1, .. }), "{}", split.reason);
        }
        lab().cut(2, 4).check().fused(0);
    }

    /// Blocks in shared memory lie over each other, those of another kernel too.
    fn blocks_in_shared_memory_are_left_alone() {
        for name in ["alias", "one", "floats"] {
            let kernel = compiled(&format!("explicit/shared_blocks.{name}"));
            let checked = Lab::new(64)
                .promote(1, Promote::Auto)
                .submit_kernel(kernel.clone(), [4, 1, 1], &[whole(0), whole(1)], &[])
                .submit_kernel(kernel, [4, 1, 1], &[whole(1), whole(2)], &[])
                .check();
            assert_eq!(checked.plan.steps.len(), 2, "{name}");
            assert_eq!(checked.plan.report.splits[0].reason, Reason::SharedBlocks);
            // What has nothing to do with it is fused around it.
            let kernel = compiled(&format!("explicit/shared_blocks.{name}"));
            Lab::new(64)
                .submit(&copy(), [8, 1, 1], &[0, 1], &[])
                .submit(&copy(), [8, 1, 1], &[1, 2], &[])
                .submit_kernel(kernel, [4, 1, 1], &[whole(2), whole(3)], &[])
                .check();
        }
        // All blocks together have as many bytes as the longest.
        assert_eq!(compiled("explicit/shared_blocks.alias").interface.workgroup_bytes, 64);
        assert_eq!(compiled("explicit/shared_blocks.one").interface.workgroup_bytes, 128);
    }
}
