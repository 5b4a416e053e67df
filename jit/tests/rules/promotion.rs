//! Promotions: granted when proven, refused with the accesses that forbid it.

use vkfuse_jit::Reason;
use vkfuse_jit::kernel::SetBinding;
use vkfuse_jit::plan::{Internalization, Limits, Promote, ShapeLimits};

use super::lab::{Checked, Lab, kernel};

fn copy() -> String {
    kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;")
}

/// `write` into buffer 1 and `read` from it, with 4 groups of 8.
fn pair(write: &str, read: &str, promote: Promote) -> Checked {
    Lab::new(128)
        .promote(1, promote)
        .submit(write, [4, 1, 1], &[0, 1], &[])
        .submit(read, [4, 1, 1], &[1, 2], &[])
        .check()
}

probes! {
    fn a_temporary_stays_in_registers() {
        pair(&copy(), &copy(), Promote::Private).fused(0).inside(1, Internalization::Private);
        pair(&copy(), &copy(), Promote::Auto).fused(0).inside(1, Internalization::Private);
        pair(&copy(), &copy(), Promote::Local).fused(0).inside(1, Internalization::Local);
    }

    /// The first kernel to touch it reads it.
    fn old_contents_are_needed_where_the_first_access_reads() {
        for kind in [Promote::Private, Promote::Local, Promote::Auto] {
            let checked = Lab::new(64)
                .promote(1, kind)
                .submit(&copy(), [4, 1, 1], &[1, 1], &[])
                .submit(&copy(), [4, 1, 1], &[1, 2], &[])
                .check()
                .fused(0);
            match checked.refused(1) {
                Reason::OldContents { submission: 0, at: SetBinding { set: 0, binding: 0, .. }, .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Kernels that write parts of a buffer, and one that reads all of it.
    fn parts_of_a_buffer_cover_it_together() {
        let part = kernel("a z", "8", "let i = gid.x; if (i >= p.x) { return; } z[p.y + i] = a[i] * p.z + i;");
        let whole = kernel("a z", "8", "let i = gid.x; if (i >= p.x) { return; } z[i] = a[i] ^ i;");
        let groups = |n: u32| [n.div_ceil(8), 1, 1];
        let list = |parts: &[(u32, u32)], n: u32| {
            let mut lab = Lab::rewriting(96).promote(1, Promote::Private);
            for (number, &(from, to)) in (3..).zip(parts) {
                lab = lab.submit(&part, groups(to - from), &[number, 1], &[to - from, from, number as u32]);
            }
            lab.submit(&whole, groups(n), &[1, 2], &[n]).check()
        };
        for (parts, n) in [
            (&[(0, 32), (32, 64)][..], 64),
            (&[(0, 37), (37, 74)], 74),
            (&[(37, 74), (0, 37)], 74),
            (&[(0, 16), (16, 40), (40, 64)], 64),
            // More than is read.
            (&[(0, 37), (37, 80)], 61),
        ] {
            list(parts, n).fused(0).inside(1, Internalization::Private);
        }
        // An element between them, behind them, before them.
        for (parts, n) in [(&[(0, 36), (37, 74)][..], 74), (&[(0, 37), (37, 73)], 74), (&[(1, 37), (37, 74)], 74)] {
            assert!(matches!(list(parts, n).refused(1), Reason::OldContents { .. }), "{parts:?}");
        }
    }

    /// What is written later was not there before.
    fn a_later_write_covers_no_earlier_read() {
        for kind in [Promote::Private, Promote::Local] {
            let checked = Lab::new(64)
                .promote(1, kind)
                .submit(&copy(), [4, 1, 1], &[1, 2], &[])
                .submit(&copy(), [4, 1, 1], &[0, 1], &[])
                .submit(&copy(), [4, 1, 1], &[1, 3], &[])
                .check()
                .fused(0);
            assert!(matches!(checked.refused(1), Reason::OldContents { submission: 0, .. }));
        }
    }

    /// An exchange in place: the kernel's own barrier orders it, in shared memory too.
    fn a_kernels_own_barriers_order_what_was_promoted() {
        let swap = kernel("z", "8", "let v = z[gid.x ^ 1u]; storageBarrier(); z[gid.x] = v + 1u;");
        Lab::new(64)
            .promote(1, Promote::Local)
            .submit(&copy(), [4, 1, 1], &[0, 1], &[])
            .submit(&swap, [4, 1, 1], &[1], &[])
            .submit(&copy(), [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(1)
            .inside(1, Internalization::Local);
    }

    /// Also one whose memory scope is smaller, because memory barriers beside it order the buffer.
    fn own_barriers_of_a_smaller_scope_order_what_was_promoted() {
        let order = "gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease";
        for scope in ["gl_ScopeSubgroup", "gl_ScopeInvocation"] {
            let semantics = if scope == "gl_ScopeInvocation" {
                "0, 0"
            } else {
                "gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease"
            };
            let swap = format!(
                "#version 450\n#extension GL_KHR_memory_scope_semantics : enable\nlayout(local_size_x = 8) in;\n\
                 layout(set = 0, binding = 0) buffer T {{ uint t[]; }};\n\
                 layout(set = 0, binding = 1) buffer Z {{ uint z[]; }};\n\
                 void main() {{\n\
                     uint i = gl_GlobalInvocationID.x; t[i] = t[i] * 3u; memoryBarrier({order});\n\
                     controlBarrier(gl_ScopeWorkgroup, {scope}, {semantics}); memoryBarrier({order});\n\
                     z[i] = t[gl_WorkGroupID.x * 8u + 7u - gl_LocalInvocationID.x] + 1u;\n\
                 }}\n// "
            );
            Lab::new(64)
                .promote(1, Promote::Local)
                .submit(&copy(), [4, 1, 1], &[0, 1], &[])
                .submit(&swap, [4, 1, 1], &[1, 2], &[])
                .check()
                .inside(1, Internalization::Local)
                .ordering(&[scope == "gl_ScopeSubgroup", false]);
        }
    }

    /// A kernel that writes, then reads back what it wrote, covers its read itself.
    fn a_write_of_the_same_kernel_covers_what_it_dominates() {
        let both = kernel("a z", "8", "z[gid.x] = a[gid.x]; z[gid.x] = z[gid.x] * 3u;");
        pair(&both, &copy(), Promote::Private).fused(0).inside(1, Internalization::Private);
        let late = kernel("a z", "8", "let old = z[gid.x]; z[gid.x] = a[gid.x] + old;");
        let checked = pair(&late, &copy(), Promote::Private).fused(0);
        assert!(matches!(checked.refused(1), Reason::OldContents { .. }));
        let branch = kernel("a z", "8", "if (lid.x < 3u) { z[gid.x] = a[gid.x]; } z[gid.x] = z[gid.x] * 3u;");
        let checked = pair(&branch, &copy(), Promote::Private).fused(0);
        assert!(matches!(checked.refused(1), Reason::OldContents { .. }));
    }

    /// Elements that were written only in part.
    fn a_component_covers_only_itself() {
        let part = kernel("a:vec4<u32> z:vec4<u32>", "8", "z[gid.x].y = a[gid.x].x;");
        let all = kernel("a:vec4<u32> z:vec4<u32>", "8", "z[gid.x] = a[gid.x];");
        let one = kernel("a:vec4<u32> z:vec4<u32>", "8", "z[gid.x] = vec4(a[gid.x].y);");
        pair(&part, &one, Promote::Private).fused(0).inside(1, Internalization::Private);
        let checked = pair(&part, &all, Promote::Private).fused(0);
        assert!(matches!(checked.refused(1), Reason::OldContents { .. }));
    }

    /// What the group writes and others of the group read, no matter who wrote it.
    fn one_invocation_writes_for_its_group() {
        let first = kernel("a z", "8", "if (lid.x == 0u) { z[wid.x] = a[gid.x]; }");
        let all = kernel("a z", "8", "z[gid.x] = a[wid.x] + lid.x;");
        pair(&first, &all, Promote::Local).fused(1).inside(1, Internalization::Local);
        let refused = pair(&first, &all, Promote::Private).fused(1);
        assert!(matches!(refused.refused(1), Reason::SharedElements { between_groups: false, .. }));
        // Where no one may write, no one may read.
        let never = kernel("a z", "8", "if (lid.x == 8u) { z[wid.x] = a[gid.x]; }");
        let checked = pair(&never, &all, Promote::Local);
        checked.refused(1);
    }

    /// Shared memory that no barrier orders inside one kernel is not covered by its own writes.
    fn an_exchange_inside_one_kernel_is_not_covered_by_itself() {
        let both = kernel("a z", "8", "z[gid.x] = a[gid.x]; storageBarrier(); z[gid.x + 32u] = z[gid.x ^ 1u];");
        let read = kernel("a z", "8", "z[gid.x] = a[gid.x + 32u];");
        let checked = pair(&both, &read, Promote::Local).fused(0);
        assert!(matches!(checked.refused(1), Reason::OldContents { .. }), "{:?}", checked.refused(1));
    }

    /// Elements far apart: the slot follows from the index.
    fn slots_follow_from_the_index() {
        // Each invocation has elements 2 i and 2 i + 64.
        let write = kernel("a z", "8", "z[2u * gid.x] = a[gid.x]; z[2u * gid.x + 64u] = a[gid.x] + 9u;");
        let read = kernel("a z", "8", "z[gid.x] = a[2u * gid.x + 64u] * 100u + a[2u * gid.x];");
        pair(&write, &read, Promote::Private).fused(0).inside(1, Internalization::Private);
        pair(&write, &read, Promote::Local).fused(0);
        // Backwards: element 31 - i.
        let write = kernel("a z", "8", "z[31u - gid.x] = a[gid.x];");
        let read = kernel("a z", "8", "z[gid.x] = a[31u - gid.x] * 100u;");
        pair(&write, &read, Promote::Private).fused(0).inside(1, Internalization::Private);
    }

    fn atomics_stay_in_memory() {
        let count = kernel("a z:atomic<u32>", "8", "atomicAdd(&z[gid.x], a[gid.x]);");
        for kind in [Promote::Private, Promote::Local] {
            let checked = Lab::new(64)
                .promote(1, kind)
                .submit(&copy(), [4, 1, 1], &[0, 1], &[])
                .submit(&count, [4, 1, 1], &[0, 1], &[])
                .check()
                .fused(0);
            assert_eq!(checked.refused(1), &Reason::Atomic);
        }
    }

    fn a_buffer_of_several_groups_stays_in_memory() {
        let reversed = kernel("a z", "8", "z[gid.x] = a[31u - gid.x];");
        let checked = Lab::new(32)
            .promote(1, Promote::Private)
            .submit(&copy(), [4, 1, 1], &[0, 1], &[])
            .submit(&copy(), [4, 1, 1], &[1, 2], &[])
            .submit(&reversed, [4, 1, 1], &[2, 3], &[])
            .submit(&copy(), [4, 1, 1], &[1, 4], &[])
            .check();
        assert_eq!(checked.plan.steps.len(), 2);
        assert_eq!(checked.refused(1), &Reason::SeveralGroups);
    }

    fn shared_memory_is_limited() {
        let mirror = kernel("a z", "8", "z[gid.x] = a[gid.x ^ 1u];");
        let lab = |bytes| {
            let mut lab = Lab::new(64).promote(1, Promote::Local);
            lab.limits = Limits { max_shared_bytes: bytes, ..lab.limits };
            lab.submit(&copy(), [4, 1, 1], &[0, 1], &[]).submit(&mirror, [4, 1, 1], &[1, 2], &[]).check().fused(1)
        };
        lab(32).inside(1, Internalization::Local);
        assert_eq!(lab(31).refused(1), &Reason::SharedMemory { needed: 32, limit: 31 });
    }

    /// The length of a promoted buffer is still its length.
    fn lengths_survive_promotion() {
        let write = kernel("a z", "8", "if (gid.x < arrayLength(&z)) { z[gid.x] = a[gid.x] + arrayLength(&z); }");
        let read = kernel("a z", "8", "if (gid.x < arrayLength(&a)) { z[gid.x] = a[gid.x] * arrayLength(&a); }");
        pair(&write, &read, Promote::Private).fused(0).inside(1, Internalization::Private);
    }

    /// A count that comes from a uniform buffer bounds both kernels alike.
    fn a_count_from_a_uniform_buffer_bounds_a_promotion() {
        let text = kernel("u_ a z", "8", "if (gid.x < u_.n) { z[gid.x] = a[gid.x] + 1u; }");
        let lab = |second: u64| {
            Lab::new(64)
                .promote(2, Promote::Private)
                .submit(&text, [4, 1, 1], &[0, 1, 2], &[])
                .submit(&text, [4, 1, 1], &[second, 2, 3], &[])
                .check()
                .fused(0)
        };
        lab(0).inside(2, Internalization::Private);
        // Another buffer, another count.
        assert!(matches!(lab(4).refused(2), Reason::OldContents { .. }));
    }

    /// The same with a storage buffer that nothing in the list writes, and with one that is written.
    fn a_count_in_memory_is_one_count_while_nobody_writes_it() {
        let text = kernel("c a z", "8", "if (gid.x < c[0]) { z[gid.x] = a[gid.x] + 1u; }");
        let set = kernel("a z", "1", "z[0] = a[3];");
        let fill = |lab: Lab| {
            lab.promote(2, Promote::Private)
                .submit(&text, [4, 1, 1], &[0, 1, 2], &[])
                .submit(&text, [4, 1, 1], &[0, 2, 3], &[])
        };
        fill(Lab::new(64)).check().fused(0).inside(2, Internalization::Private);
        let written = fill(Lab::new(64).submit(&set, [1, 1, 1], &[1, 0], &[])).check();
        written.refused(2);
        // Raised between the two by the only invocation there is.
        let raise = kernel("a z", "1", "z[0] = a[0] + 200u;");
        let one = kernel("c a z", "1", "for (var i = 0u; i < 8u; i++) { if (i < c[0] % 8u) { z[i] = a[i]; } }");
        let checked = Lab::new(64)
            .promote(2, Promote::Private)
            .submit(&one, [1, 1, 1], &[0, 1, 2], &[])
            .submit(&raise, [1, 1, 1], &[1, 0], &[])
            .submit(&one, [1, 1, 1], &[0, 2, 3], &[])
            .check();
        checked.refused(2);
    }

    /// A kernel with nothing to do reads nothing, and so needs nothing that was written.
    fn a_read_that_never_happens_needs_no_write() {
        let guarded = kernel("a z", "8", "if (gid.x >= p.x) { return; } z[gid.x] = a[gid.x] + 1u;");
        for shape in [ShapeLimits::default(), ShapeLimits { group_size: 8, items: 4, vectors: true, ..ShapeLimits::default() }] {
            for kind in [Promote::Private, Promote::Local, Promote::Auto] {
                for [first, second, third] in [[0, 0, 0], [0, 32, 32], [0, 0, 32]] {
                    let mut lab = Lab::new(32)
                        .promote(1, kind)
                        .submit(&guarded, [4, 1, 1], &[1, 2], &[first])
                        .submit(&guarded, [4, 1, 1], &[0, 1], &[second])
                        .submit(&guarded, [4, 1, 1], &[1, 3], &[third.min(second)]);
                    lab.limits.shape = shape;
                    lab.check().fused(0);
                }
            }
        }
    }
}
