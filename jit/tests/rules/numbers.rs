//! What the host wrote into buffers counts as numbers, as push constants do.

use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::plan::{Internalization, Promote};

use super::lab::{Lab, compiled, kernel};

/// Lines of eight items; element `y * n + x` where `x < n`.
fn lines(width: &str) -> String {
    let body =
        format!("if (gid.x < {width}) {{ z[gid.y * {width} + gid.x] = a[gid.y * {width} + gid.x] + 1u; }}");
    let names = if width.starts_with("u_") { "a z u_" } else { "a z c" };
    kernel(names, "8", &body)
}

/// Lines of eight items, all of them.
fn whole_lines() -> String {
    kernel("a z", "8", "z[gid.y * 8u + gid.x] = a[gid.y * 8u + gid.x] * 3u;")
}

/// Four elements an invocation, in a loop whose limit is read in each round.
fn loops() -> String {
    let body = "for (var k = 0u; k < u_.n; k++) { z[gid.x * 4u + k] = a[gid.x * 4u + k] + u_.m; }";
    kernel("a z u_", "8", body)
}

probes! {
    fn the_width_of_lines_may_be_in_a_uniform_buffer() {
        let list = |lab: Lab| {
            lab.submit(&lines("u_.n"), [1, 4, 1], &[0, 1, 3], &[])
                .submit(&whole_lines(), [1, 4, 1], &[1, 2], &[])
        };
        list(Lab::new(64).promote(1, Promote::Private).known(3, &[8]))
            .check()
            .fused(0)
            .inside(1, Internalization::Private);
        list(Lab::new(64).known(3, &[7])).check().split(2, Write, Read);
        let unknown = list(Lab::new(64).words(3, &[8])).check().split(2, Write, Read);
        let detail = &unknown.plan.report.splits[0].detail;
        assert!(detail.contains("the number at byte 0 of binding 2") && detail.contains("declare it constant"), "{detail}");
    }

    fn the_width_of_lines_may_be_in_a_storage_buffer() {
        let list = |lab: Lab| {
            lab.submit(&lines("c[1]"), [1, 4, 1], &[0, 1, 3], &[])
                .submit(&whole_lines(), [1, 4, 1], &[1, 2], &[])
        };
        list(Lab::new(64).known(3, &[0, 8])).check().fused(0);
        list(Lab::new(64).known(3, &[8, 4])).check().split(2, Write, Read);
    }

    /// What the host wrote is not there any more.
    fn numbers_that_the_list_writes_do_not_count() {
        let write = kernel("z", "1", "z[1] = 4u;");
        let checked = Lab::new(64)
            .known(3, &[0, 8])
            .submit(&write, [1, 1, 1], &[3], &[])
            .submit(&lines("c[1]"), [1, 4, 1], &[0, 1, 3], &[])
            .submit(&whole_lines(), [1, 4, 1], &[1, 2], &[])
            .check();
        assert_eq!(checked.plan.steps.len(), 3);
    }

    /// Nor may it be where a kernel follows addresses, which may lead anywhere.
    fn numbers_do_not_count_in_lists_that_follow_addresses() {
        let list = |lab: Lab| {
            lab.known(3, &[8])
                .submit(&lines("u_.n"), [1, 4, 1], &[0, 1, 3], &[])
                .submit(&whole_lines(), [1, 4, 1], &[1, 2], &[])
        };
        let address = compiled("address");
        let with = list(Lab::new(64).submit_kernel(address, [1, 1, 1], &[4.into()], &[])).planned();
        assert_eq!(with.plan.steps.len(), 3);
        assert_eq!(list(Lab::new(64)).planned().plan.steps.len(), 1);
    }

    fn the_rounds_of_a_loop_may_be_in_a_uniform_buffer() {
        let list = |lab: Lab| {
            lab.promote(1, Promote::Private)
                .submit(&loops(), [2, 1, 1], &[0, 1, 3], &[])
                .submit(&loops(), [2, 1, 1], &[1, 2, 3], &[])
        };
        list(Lab::new(64).known(3, &[4, 5])).check().fused(0).inside(1, Internalization::Private);
        // As long as it is not known how many elements an invocation has, they may be anybody's.
        list(Lab::new(64).words(3, &[4, 5])).check().split(2, Write, Read);
        // More of them than there is room for one invocation.
        list(Lab::new(96).known(3, &[5, 5])).planned().split(2, Write, Read);
    }
}
