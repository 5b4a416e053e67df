//! Members with operations and ids of sub-groups: what they need of those before them, and what they keep.

use rspirv::dr::{Module, Operand};
use rspirv::spirv::{ExecutionMode, Op};
use vkfuse_jit::plan::{GroupReport, Promote};

use super::glsl::{glsl, is_possible};
use super::lab::Lab;

probes! {
    // Members that part by data, in front of one that does something with sub-groups: each function returns in one place, behind everything that parts.
    fn members_come_together_before_one_with_sub_groups() {
        if !is_possible() {
            return;
        }
        let lanes = glsl("", "a z", "8", "z[i] = a[i] * 10u + (gl_SubgroupSize > 0u ? 1u : 0u);");
        let plain = glsl("", "a z", "8", "z[i] = a[i] + 7u;");
        for body in [
            "if (a[i] % 3u == 0u) { return; } z[i] = a[i] + 1u;",
            "if (i >= p.x) return; z[i] = a[i] * 2u;",
            "for (uint k = 0u; k < a[i] % 7u; k++) { if (k * k > l) { z[i] = k; return; } z[i] = k + 50u; }",
            "for (uint k = 0u; k < 3u; k++) { for (uint m = 0u; m < a[i] % 5u; m++) { if (m + k == 4u) { return; } z[i] = m; } }",
            "switch (a[i] % 4u) { case 0u: return; case 1u: z[i] = 1u; return; default: z[i] = 2u; } z[i] += 5u;",
            "if (a[i] % 2u == 0u) { z[i] = 1u; return; } else { if (l > 3u) { return; } z[i] = 3u; } z[i] += a[i];",
        ] {
            let parts = glsl("", "a z", "8", body);
            let push: &[u32] = if body.contains("p.x") { &[27] } else { &[] };
            for uniform in [false, true] {
                let list = |second: &str, third: &str| {
                    let mut lab = Lab::new(32)
                        .submit(&parts, [4, 1, 1], &[0, 1], push)
                        .submit(second, [4, 1, 1], &[1, 2], &[])
                        .submit(third, [4, 1, 1], &[2, 3], &[]);
                    lab.limits.thread_coarsening.uniform = uniform;
                    let checked = lab.check().fused(0);
                    let words = checked.plan.steps[0].build().expect("it stands");
                    rspirv::dr::load_words(words).expect("it is a module")
                };
                let asks = |module: &Module| {
                    let mode = Operand::ExecutionMode(ExecutionMode::SubgroupUniformControlFlowKHR);
                    module.execution_modes.iter().any(|inst| inst.operands.contains(&mode))
                };
                for (second, third) in [(&lanes, &plain), (&plain, &lanes), (&lanes, &lanes)] {
                    let module = list(second, third);
                    assert_eq!(asks(&module), uniform);
                    for function in &module.functions {
                        let returns = function.all_inst_iter().filter(|inst| inst.class.opcode == Op::Return);
                        assert_eq!(returns.count(), 1, "{body}");
                    }
                }
                assert!(!asks(&list(&plain, &plain)));
            }
        }
        // In front of the others it needs nothing.
        let mut first = Lab::new(32).submit(&lanes, [4, 1, 1], &[0, 1], &[]).submit(&plain, [4, 1, 1], &[1, 2], &[]);
        first.limits.thread_coarsening.uniform = true;
        let words = first.check().fused(0).plan.steps[0].build().expect("it stands");
        let module = rspirv::dr::load_words(words).expect("it is a module");
        assert!(module.execution_modes.iter().all(|inst| inst.operands.len() == 5));
    }

    // A loop over the sub-groups of a work-group goes round no more often than that has invocations.
    fn loops_over_sub_groups_are_counted() {
        if !is_possible() {
            return;
        }
        let sum = "shared uint part[32];--- uint all = subgroupAdd(a[i]); if (subgroupElect()) part[gl_SubgroupID] = all; barrier(); \
            all = 0u; for (uint s = 0u; s < gl_NumSubgroups; s++) all += part[s]; z[i] = all + a[i];";
        let sum = glsl("", "a z", "32", sum);
        for (limit, fits) in [(66, true), (65, false)] {
            let mut lab = Lab::new(64).submit(&sum, [2, 1, 1], &[0, 1], &[]).submit(&sum, [2, 1, 1], &[1, 2], &[]);
            lab.limits.max_loop_rounds = Some(limit);
            assert_eq!(lab.check().plan.steps.len(), if fits { 1 } else { 2 }, "{limit}");
        }
    }

    // Ballots, counts of their bits, elections, and what is taken from a lane: values, which fuse at the same local size. An element that is
    // found by lane stays apart from one that is found by local index, and kernels of other local sizes keep their sub-groups.
    fn ballots_and_lanes_fuse_at_their_own_local_size() {
        if !is_possible() {
            return;
        }
        let flat = |local: &str| glsl("", "a z", local, "z[i] = a[i] * 5u + 3u;");
        let parts = glsl("", "a z", "8", "if (a[i] % 3u == 0u) { z[i] = 4u; return; } z[i] = a[i] + 1u;");
        let lane = "gl_SubgroupInvocationID";
        for value in [
            "subgroupBallotBitCount(subgroupBallot(a[i] % 3u == 0u))",
            "subgroupBallotInclusiveBitCount(subgroupBallot(a[i] % 3u == 0u)) * 2u",
            "subgroupBallotExclusiveBitCount(subgroupBallot(a[i] % 2u == 0u)) + a[i]",
            "subgroupBallotFindLSB(subgroupBallot(a[i] > 3u)) + subgroupBallotFindMSB(subgroupBallot(true))",
            "subgroupBallotBitExtract(subgroupBallot(a[i] % 2u == 1u), gl_SubgroupSize - 1u) ? 1u : a[i]",
            "subgroupInverseBallot(uvec4(0xa5u)) ? a[i] : 9u",
            "subgroupElect() ? a[i] : 7u",
            "subgroupBroadcastFirst(a[i]) + gl_SubgroupID * 100u + gl_NumSubgroups * 1000u",
            "subgroupBroadcast(a[i], 2u)",
            "subgroupShuffle(a[i], LANE ^ 1u)",
            "subgroupShuffle(a[i], gl_SubgroupSize - 1u - LANE)",
            "subgroupShuffleXor(a[i], 2u) + subgroupShuffleDown(a[i], LANE < gl_SubgroupSize - 1u ? 1u : 0u)",
            "bitCount(gl_SubgroupLtMask.x & subgroupBallot(a[i] % 2u == 0u).x)",
            "subgroupAny(a[i] == 5u) ? LANE : subgroupAdd(a[i])",
            "a[i] + LANE * 10u",
        ] {
            println!("{value}");
            let value = value.replace("LANE", lane);
            let group = glsl("", "a z", "8", &format!("z[i] = {value};"));
            for first in [&flat("8"), &parts, &group] {
                Lab::new(32)
                    .submit(first, [4, 1, 1], &[0, 1], &[])
                    .submit(&group, [4, 1, 1], &[1, 2], &[])
                    .submit(&flat("8"), [4, 1, 1], &[2, 3], &[])
                    .promote(1, Promote::Auto)
                    .check()
                    .fused(0);
            }
            let other = Lab::rewriting(32)
                .submit(&flat("16"), [2, 1, 1], &[0, 1], &[])
                .submit(&group, [4, 1, 1], &[1, 2], &[])
                .check();
            assert!(other.plan.steps.iter().any(|step| step.local_size() == [8, 1, 1]), "{:#?}", other.plan.report);
        }
        // Places by lane, by a count of bits and by a lane's word: a barrier or two dispatches, and the same words.
        for place in [
            "gl_SubgroupID * gl_SubgroupSize + LANE",
            "gl_SubgroupID * gl_SubgroupSize + subgroupBallotExclusiveBitCount(subgroupBallot(true))",
            "subgroupShuffle(l, LANE ^ 1u)",
        ] {
            let place = place.replace("LANE", lane);
            let by_lane = glsl("", "a z", "8", &format!("z[8u * g + {place}] = a[i] + 1u;"));
            let read = glsl("", "a z", "8", &format!("z[i] = a[8u * g + {place}] + 1u;"));
            for (first, second) in [(&by_lane, &flat("8")), (&flat("8"), &read), (&by_lane, &read)] {
                let lab = Lab::new(64)
                    .submit(first, [4, 1, 1], &[0, 1], &[])
                    .submit(second, [4, 1, 1], &[1, 2], &[])
                    .check();
                let of_group = |group: &GroupReport| group.barriers.iter().filter(|one| one.kept).count();
                let barriers: usize = lab.plan.report.groups.iter().map(of_group).sum();
                assert!(barriers + lab.plan.steps.len() > 1, "{place}: {:#?}", lab.plan.report);
            }
        }
    }
}
