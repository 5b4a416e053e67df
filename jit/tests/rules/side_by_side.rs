//! Work-groups that one work-group does side by side: what may be, and what is left alone.

use rspirv::dr::Operand;
use rspirv::spirv::{Op, StorageClass};
use vkfuse_jit::plan::{AloneReason, BlockCoarseningLimits, Promote};

use super::glsl::{glsl, is_possible};
use super::lab::{Checked, Lab, kernel};
use super::rows::{reduce, softmax, spread, with_rows};

/// Most work-groups of a probe: whole numbers of two and four, and others.
const COUNTS: [u32; 4] = [8, 5, 6, 1];

trait SideBySide {
    fn several(self, work_groups: u32) -> Self;
}

impl SideBySide for Lab {
    /// Does this many work-groups in one, if it may.
    fn several(mut self, work_groups: u32) -> Self {
        self.limits.block_coarsening =
            BlockCoarseningLimits { work_groups, least: 1, private_bytes: 1 << 10, shared_bytes: 0 };
        self
    }
}

impl Checked {
    /// Demands one dispatch whose work-groups do this many each.
    #[track_caller]
    fn together(self, work_groups: u32) -> Self {
        let report = &self.plan.report;
        assert_eq!(self.plan.steps.len(), 1, "{report:#?}");
        assert_eq!(report.groups[0].work_groups, work_groups, "{report:#?}");
        self
    }

    /// Demands this many variables of shared memory in the module.
    #[track_caller]
    fn shared_variables(self, count: usize) -> Self {
        let words = self.plan.steps[0].build().expect("it builds");
        let module = rspirv::dr::load_words(&*words).expect("it is a module");
        let shared = [Operand::StorageClass(StorageClass::Workgroup)];
        let found = module.types_global_values.iter();
        let found = found.filter(|inst| inst.class.opcode == Op::Variable && inst.operands == shared).count();
        assert_eq!(found, count);
        self
    }

    /// Demands that work-groups are alone, and hands out why.
    #[track_caller]
    fn alone(&self) -> String {
        let report = &self.plan.report;
        assert_eq!(report.groups[0].work_groups, 1, "{report:#?}");
        report.groups[0].alone.map_or_else(String::new, |why| why.to_string())
    }
}

/// The product of two matrices, in tiles of 4 x 4; `p.x` is the inner size, `p.y` how many columns there are.
fn product(at: &str) -> String {
    let body =
        "var<workgroup> left: array<array<u32, 4>, 4>; var<workgroup> right: array<array<u32, 4>, 4>;---
         let at = AT;
         var sum = 0u;
         for (var first = 0u; first < p.x; first += 4u) {
             var v = 0u;
             if (at.y < 16u) { v = a[at.y * p.x + first + lid.x]; }
             left[lid.y][lid.x] = v;
             right[lid.y][lid.x] = b[(first + lid.y) * p.y + at.x];
             workgroupBarrier();
             for (var k = 0u; k < 4u; k++) { sum += left[lid.y][k] * right[k][lid.x]; }
             workgroupBarrier();
         }
         z[at.y * p.y + at.x] = sum;";
    kernel("a b z", "4, 4", &body.replace("AT", at))
}

/// A kernel of work-groups of eight with an array in shared memory, into which `stores` stores before a barrier; then `v` is what each has found in it.
fn stored(stores: &str, v: &str) -> String {
    let body = "var<workgroup> part: array<u32, 8>;---
         STORES
         workgroupBarrier();
         let v = FOUND;
         z[wid.x * 8u + lid.x] = v + a[wid.x * 8u + lid.x];";
    kernel("a z", "8", &body.replace("STORES", stores).replace("FOUND", v))
}

probes! {
    fn tiles_that_work_groups_have_in_common_are_loaded_once() {
        let after = kernel("a z", "4, 4", "let at = gid.y * p.y + gid.x; z[at] = a[at] * 3u + gid.y;");
        for at in ["gid.xy", "wid.xy * 4u + lid.xy", "vec2(wid.yx.y * 4u + lid.x, gid.zyx.y)", "gid"] {
            for groups in [[4, 3, 1], [3, 4, 1], [4, 4, 1]] {
                for several in [2, 3, 4] {
                    let columns = 4 * groups[0];
                    let lab = Lab::new(256)
                        .submit(&product(at), groups, &[0, 1, 2], &[8, columns])
                        .submit(&after, groups, &[2, 3], &[0, columns]);
                    let together = several.min(4);
                    lab.several(several).check().together(together).shared_variables(together as usize + 1);
                }
            }
        }
    }

    /// Those that share what neighbours load apart, if both sides are long enough.
    fn tiles_are_done_side_by_side_along_the_side_that_shares_more() {
        // Columns of work-groups that lie in a row.
        let across = "vec2(wid.y * 4u + lid.x, wid.x * 4u + lid.y)";
        for (at, groups, left) in [
            ("gid.xy", [4, 4, 1], [4, 2, 1]),
            (across, [4, 4, 1], [2, 4, 1]),
            ("gid.xy", [8, 2, 1], [8, 1, 1]),
            ("gid.xy", [4, 1, 1], [2, 1, 1]),
        ] {
            let after = format!("let at = {at}; z[at.y * p.y + at.x] = a[at.y * p.y + at.x] * 3u;");
            let after = kernel("a z", "4, 4", &after);
            let lab = Lab::new(256)
                .submit(&product(at), groups, &[0, 1, 2], &[8, 4 * groups[0]])
                .submit(&after, groups, &[2, 3], &[0, 4 * groups[0]]);
            assert_eq!(lab.several(2).check().together(2).plan.steps[0].groups, left);
        }
    }

    fn products_of_tiles_share_what_one_may_take() {
        let groups = [4, 4, 1];
        let after = kernel("a b z", "4, 4", "let at = gid.y * p.y + gid.x; z[at] = a[at] * b[at];");
        let lab = Lab::new(256)
            .submit(&product("gid.xy"), groups, &[0, 1, 2], &[8, 16])
            .submit(&product("gid.xy"), groups, &[0, 3, 4], &[8, 16])
            .submit(&after, groups, &[2, 4, 5], &[0, 16]);
        lab.several(8).check().together(2);
    }

    fn shared_memory_that_holds_the_same_is_one() {
        for (stores, found, one) in [
            ("part[lid.x] = lid.x * 3u + nwg.x;", "part[7u - lid.x]", true),
            // Read at places of their own, and in turn.
            ("part[lid.x] = lid.x * 3u + gid.y;", "part[(lid.x + wid.x) & 7u]", true),
            ("part[lid.x] = lid.x * 3u;", "select(part[7u - lid.x], part[lid.x], wid.x == 1u)", true),
            // What the work-group decides.
            ("part[lid.x] = lid.x * 3u + wid.x;", "part[7u - lid.x]", false),
            ("part[(lid.x + wid.x) & 7u] = lid.x * 3u;", "part[7u - lid.x]", false),
            ("part[lid.x] = 1u; if (wid.x % 2u == 0u) { part[lid.x] = 5u; }", "part[7u - lid.x]", false),
            ("part[lid.x] = a[lid.x]; workgroupBarrier(); part[lid.x] += part[lid.x] * 2u;", "part[7u - lid.x]", true),
        ] {
            let text = stored(stores, found);
            for rows in COUNTS {
                let lab = Lab::new(256).submit(&text, [rows, 1, 1], &[0, 1], &[]);
                let lab = lab.submit(&text, [rows, 1, 1], &[0, 2], &[]).several(2);
                let together = if rows > 1 { 2 } else { 1 };
                let each = if one { 1 } else { together as usize };
                lab.check().together(together).shared_variables(2 * each);
            }
        }
    }

    fn rows_are_done_side_by_side() {
        for rows in COUNTS {
            for several in [2, 3, 4] {
                for promote in [Promote::None, Promote::Auto] {
                    let together = if rows < several { if rows >= 2 { 2 } else { 1 } } else { several };
                    softmax(rows, 16, promote).several(several).check().together(together);
                    softmax(rows, 20, promote).several(several).check().together(together);
                }
            }
        }
    }

    fn few_work_groups_with_loops_in_loops_are_together() {
        let nested = kernel(
            "a z",
            "8",
            "var own = 0u;
             for (var c = lid.x; c < p.x; c += 8u) { for (var k = 0u; k < p.y; k++) { own += a[wid.x * p.x + c] * k; } }
             z[gid.x] = own;",
        );
        let lab = with_rows(Lab::new(8 * 16), 8).submit(&nested, [8, 1, 1], &[0, 2], &[16, 3]);
        lab.several(8).check().together(4);
        with_rows(Lab::new(8 * 16), 8).submit(&spread("a[at]"), [8, 1, 1], &[0, 1, 2], &[16]).several(8).check().together(8);
    }

    // Four bytes of each round for each work-group, and as much again where the last of several is guarded.
    fn guarded_rounds_take_registers() {
        for (w, together) in [(8, 8), (7, 8), (16, 4), (15, 2)] {
            let mut lab = softmax(8, w, Promote::Auto).several(8);
            lab.limits.block_coarsening.private_bytes = 32;
            lab.check().together(together);
        }
    }

    fn each_work_group_has_its_own_shared_memory_and_variables() {
        let own = kernel(
            "a z",
            "8",
            "var<workgroup> part: array<u32, 8>; var<private> mine: array<u32, 4>;---
             for (var k = 0u; k < 4u; k++) { mine[(k + lid.x) & 3u] = a[wid.x * 32u + k * 8u + lid.x]; }
             part[lid.x] = mine[lid.x & 3u];
             workgroupBarrier();
             z[wid.x * 8u + lid.x] = part[7u - lid.x] + mine[(lid.x + 1u) & 3u];",
        );
        for rows in COUNTS {
            with_rows(Lab::new(256), rows).submit(&own, [rows, 1, 1], &[0, 2], &[]).several(4).check();
        }
    }

    fn branches_on_the_work_group_and_on_data_part() {
        // A selection, a loop with a data-dependent end, one inside of the other, a switch, an early return.
        for body in [
            "var v = a[wid.x * 8u + lid.x]; if (wid.x % 2u == 0u) { v += 3u; } else { v ^= 5u; } z[wid.x * 8u + lid.x] = v;",
            "var v = a[wid.x * 8u + lid.x]; if (v > 30u) { v -= 7u; } z[wid.x * 8u + lid.x] = v * 3u;",
            "var v = a[wid.x * 8u + lid.x]; var n = 0u; while (v > 1u) { v /= 2u; n += wid.x; } z[wid.x * 8u + lid.x] = n + v;",
            "var n = 0u; for (var k = 0u; k < 3u; k++) { let v = a[(wid.x * 8u + lid.x + k) % 16u]; if ((v & 1u) == 1u) { n += v; continue; } n += k; if (v > 40u) { break; } } z[wid.x * 8u + lid.x] = n;",
            "var v = a[wid.x * 8u + lid.x]; switch (v % 4u) { case 0u: { v += 1u; } case 1u, 2u: { v *= 2u; } default: { v = wid.x; } } z[wid.x * 8u + lid.x] = v;",
            "if (wid.x == 2u) { return; } z[wid.x * 8u + lid.x] = a[wid.x * 8u + lid.x] + 1u;",
            "let i = gid.x; if (i >= 37u) { return; } z[i] = a[i] + nwg.x;",
            "var n = 0u; for (var k = 0u; k < nwg.x; k++) { n += a[k * 8u + lid.x]; } z[gid.x] = n + gid.y;",
            "var n = 0u; for (var k = 0u; k < wid.x; k++) { if (lid.x > k) { n += a[k]; } } z[gid.x] = n;",
        ] {
            for rows in COUNTS {
                for several in [2, 4] {
                    let text = kernel("a z", "8", body);
                    with_rows(Lab::new(256), rows)
                        .submit(&text, [rows, 1, 1], &[0, 2], &[])
                        .several(several)
                        .check()
                        .together(if rows < several { if rows > 1 { 2 } else { 1 } } else { several });
                }
            }
        }
    }

    fn what_a_parting_branch_chose_is_each_work_groups_own() {
        // What the branch has chosen decides where a barrier follows.
        let text = kernel(
            "a z",
            "8",
            "var<workgroup> part: array<u32, 8>;---
             var v = 1u; if (wid.x % 2u == 0u) { v = 2u; }
             part[lid.x] = a[wid.x * 8u + lid.x] * v;
             workgroupBarrier();
             z[wid.x * 8u + lid.x] = part[7u - lid.x] + v;",
        );
        for rows in COUNTS {
            with_rows(Lab::new(256), rows).submit(&text, [rows, 1, 1], &[0, 2], &[]).several(2).check();
        }
    }

    fn planes_of_work_groups_are_done_side_by_side_along_the_longer_side() {
        let text = kernel(
            "a z",
            "4, 2",
            "var<workgroup> part: array<u32, 8>;---
             let at = ((wid.z * nwg.y + wid.y) * nwg.x + wid.x) * 8u + lid.y * 4u + lid.x;
             part[lix] = a[at] + gid.x * 3u + gid.y;
             workgroupBarrier();
             z[at] = part[7u - lix] * 2u + wid.y;",
        );
        for groups in [[3, 5, 1], [5, 3, 1], [1, 7, 1], [1, 2, 4]] {
            let lab = Lab::new(256)
                .submit(&text, groups, &[0, 1], &[])
                .submit(&text, groups, &[1, 2], &[]);
            lab.several(2).check().together(2);
        }
    }

    fn a_member_with_fewer_work_groups_is_done_in_turn() {
        let flat = kernel("a z", "8", "z[gid.x] = a[gid.x] * 3u;");
        for (rows, fewer) in [(8, 3), (5, 4), (6, 1)] {
            with_rows(Lab::new(256), rows).submit(&flat, [fewer, 1, 1], &[0, 2], &[]).several(4).check().together(4);
        }
    }

    fn a_member_with_barriers_and_fewer_work_groups_is_left_alone() {
        let lab = with_rows(Lab::new(256), 8).submit(&reduce("own + v", "x + y"), [5, 1, 1], &[0, 2], &[16]);
        let why = lab.several(2).check().alone();
        assert!(why.contains("fewer work-groups"), "{why}");
    }

    fn a_barrier_that_not_all_work_groups_come_to_is_left_alone() {
        let body = "var<workgroup> part: array<u32, 8>;---
             part[lid.x] = a[wid.x * 8u + lid.x];
             let n = workgroupUniformLoad(&rounds);
             for (var k = 0u; k < n; k++) { part[lid.x] += part[(lid.x + k) % 8u]; workgroupBarrier(); }
             z[wid.x * 8u + lid.x] = part[lid.x];";
        // As many rounds as the work-group's number says, which naga takes for uniform.
        let rounds = body.replace("let n = workgroupUniformLoad(&rounds);", "let n = wid.x % 3u;").replace(
            "part[lid.x] += part[(lid.x + k) % 8u]; workgroupBarrier();",
            "let v = part[(lid.x + k) % 8u]; workgroupBarrier(); part[lid.x] += v; workgroupBarrier();",
        );
        let text = kernel("a z", "8", &rounds);
        let checked = with_rows(Lab::new(256), 8).submit(&text, [8, 1, 1], &[0, 2], &[]).several(2).check();
        assert!(checked.alone().contains("not the same in all work-groups"), "{}", checked.alone());
    }

    fn rounds_that_memory_counts_around_a_barrier_are_left_alone() {
        let text = kernel(
            "a b z",
            "8",
            "var<workgroup> part: array<u32, 8>;---
             let n = b[wid.x] % 3u;
             part[lid.x] = a[wid.x * 8u + lid.x];
             for (var k = 0u; k < n; k++) {
                 workgroupBarrier();
                 let v = part[(lid.x + k) % 8u];
                 workgroupBarrier();
                 part[lid.x] += v;
             }
             z[wid.x * 8u + lid.x] = part[lid.x];",
        );
        let checked =
            with_rows(Lab::new(256), 8).submit(&text, [8, 1, 1], &[0, 3, 2], &[]).several(2).check();
        assert!(checked.alone().contains("not the same in all work-groups"), "{}", checked.alone());
    }

    /// One place, for which all work-groups ask. In a list without races it says the same to all of them; one with races is
    /// not to be made worse by a barrier to which not all come.
    fn rounds_that_one_place_in_memory_counts_around_a_barrier_are_left_alone() {
        let text = kernel(
            "a b z",
            "8",
            "var<workgroup> part: array<u32, 8>;---
             let n = b[0] % 3u;
             part[lid.x] = a[wid.x * 8u + lid.x];
             for (var k = 0u; k < n; k++) {
                 workgroupBarrier();
                 let v = part[(lid.x + k) % 8u];
                 workgroupBarrier();
                 part[lid.x] += v;
             }
             z[wid.x * 8u + lid.x] = part[lid.x];",
        );
        let checked =
            with_rows(Lab::new(256), 8).submit(&text, [8, 1, 1], &[0, 3, 2], &[]).several(2).check();
        assert!(checked.alone().contains("not the same in all work-groups"), "{}", checked.alone());
    }

    fn atomics_on_buffers_are_left_alone_and_those_on_shared_memory_are_not() {
        let counts = kernel("a z:atomic<u32>", "8", "atomicAdd(&z[0], a[gid.x]);");
        let checked = with_rows(Lab::new(256), 8).submit(&counts, [8, 1, 1], &[0, 2], &[]).several(2).check();
        assert!(checked.alone().contains("atomic"), "{}", checked.alone());
        let shared = kernel(
            "a z",
            "8",
            "var<workgroup> sum: atomic<u32>;---
             if (lid.x == 0u) { atomicStore(&sum, 0u); }
             workgroupBarrier();
             atomicAdd(&sum, a[gid.x]);
             workgroupBarrier();
             z[gid.x] = atomicLoad(&sum) + lid.x;",
        );
        for rows in COUNTS {
            let checked =
                with_rows(Lab::new(256), rows).submit(&shared, [rows, 1, 1], &[0, 2], &[]).several(2).check();
            checked.together(if rows > 1 { 2 } else { 1 });
        }
    }

    /// A place that is computed for all of them is stored to by some.
    fn shared_memory_that_some_store_to_is_each_ones_own() {
        let own = kernel(
            "a z",
            "8",
            "var<workgroup> flag: u32;---
             if (lid.x == 0u) { flag = 1u; }
             if (wid.x % 2u == 0u) { if (lid.x == 0u) { flag = 5u; } }
             workgroupBarrier();
             z[gid.x] = flag + a[gid.x];",
        );
        for rows in COUNTS {
            let together = if rows > 1 { 2 } else { 1 };
            with_rows(Lab::new(256), rows)
                .submit(&own, [rows, 1, 1], &[0, 2], &[])
                .several(2)
                .check()
                .together(together);
        }
    }

    /// What a member does for one work-group after another, it stores for each of them.
    fn shared_memory_of_members_that_are_done_in_turn_is_each_ones_own() {
        let own = kernel(
            "a z",
            "8",
            "var<workgroup> part: array<u32, 8>;---
             part[lid.x] = lid.x; let v = part[lid.x] * a[gid.x]; part[lid.x] = lid.x + 3u; z[gid.x] = v + part[lid.x];",
        );
        for (rows, fewer) in [(8, 3), (5, 4), (6, 1)] {
            with_rows(Lab::new(256), rows).submit(&own, [fewer, 1, 1], &[0, 2], &[]).several(4).check();
        }
    }

    // Of their own: work-groups stay alone, and local ids the dispatch's.
    fn kernels_with_sub_group_operations_are_left_alone() {
        if !is_possible() {
            return;
        }
        let own = glsl(
            "",
            "a z",
            "8",
            "shared uint part[8]; --- part[l] = a[i] + (subgroupElect() ? 1u : 1u); barrier(); z[i] = part[7u - l];",
        );
        let mut lab = with_rows(Lab::new(256), 8).submit(&own, [8, 1, 1], &[0, 2], &[]).several(2);
        lab.limits.unroll.at_once = 2;
        let checked = lab.check();
        assert!(checked.alone().contains("sub-group operations"), "{}", checked.alone());
        assert_eq!(checked.plan.steps[0].subgroup_size(), None);
    }

    fn limits_keep_work_groups_alone() {
        let mut few = softmax(8, 16, Promote::Auto).several(4);
        few.limits.block_coarsening.least = 5;
        let why = few.check().plan.report.groups[0].alone;
        assert_eq!(why, Some(AloneReason::Few { work_groups: 8, least: 5 }));
        let mut half = softmax(8, 16, Promote::Auto).several(4);
        half.limits.block_coarsening.least = 4;
        half.check().together(2);
        let mut small = softmax(8, 16, Promote::Auto).several(2);
        small.limits.max_shared_bytes = 100;
        assert!(matches!(
            small.check().plan.report.groups[0].alone,
            Some(AloneReason::SharedMemory { limit: 100, .. })
        ));
        let mut registers = softmax(8, 16, Promote::Auto).several(2);
        registers.limits.block_coarsening.private_bytes = 4;
        assert!(matches!(
            registers.check().plan.report.groups[0].alone,
            Some(AloneReason::Registers { limit: 4, .. })
        ));
    }

    /// Loops that are done for one work-group after another go round as often as all of them together.
    fn rounds_of_work_groups_are_counted() {
        let list = |limit: u64| {
            let mut lab = softmax(8, 16, Promote::Auto).several(4);
            lab.limits.max_loop_rounds = Some(limit);
            lab.check().plan
        };
        let one = (1..1000).find(|&limit| list(limit).steps.len() == 1).expect("its rounds are known");
        let is_alone = |limit: u64| {
            let groups = &list(limit).report.groups;
            groups[0].alone == Some(AloneReason::LoopRounds { limit })
        };
        assert!(is_alone(one) && is_alone(one + 2) && is_alone(2 * one));
        assert_eq!(list(2 * one + 3).report.groups[0].work_groups, 2);
        assert_eq!(list(4 * one + 5).report.groups[0].work_groups, 4);
    }

    fn groups_without_barriers_are_not_concerned() {
        let flat = kernel("a z", "8", "z[gid.x] = a[gid.x] * 3u;");
        let lab = Lab::new(256).submit(&flat, [8, 1, 1], &[0, 1], &[]).submit(&flat, [8, 1, 1], &[1, 2], &[]);
        assert_eq!(lab.several(4).check().alone(), "");
    }
}
