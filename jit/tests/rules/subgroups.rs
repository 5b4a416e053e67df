//! Barriers of the work-group that become a sub-group's: which, and that nobody misses the others.

use rspirv::dr::{Module, Operand};
use rspirv::spirv::{ExecutionMode, Op};
use vkfuse_jit::plan::{BlockCoarseningLimits, GroupReport, Promote, Step, UnrollLimits};

use super::glsl::{glsl, is_possible};
use super::lab::{Checked, Lab, kernel};
use super::rows::{Random, exchange, reduce, spread};

const SUBGROUP: u32 = 3;

/// Sub-groups of so many invocations, trees written out, so many work-groups side by side.
fn in_subgroups(mut lab: Lab, size: u32, work_groups: u32) -> Lab {
    lab.limits.subgroup_size = size;
    lab.limits.unroll = UnrollLimits { rounds: 16, at_once: 2, private_bytes: 256 };
    lab.limits.block_coarsening =
        BlockCoarseningLimits { work_groups, least: 1, private_bytes: 1 << 10, shared_bytes: 0 };
    lab
}

/// Barriers at which a sub-group waits for itself, and those at which the work-group does.
pub(crate) fn barriers(step: &Step) -> (usize, usize) {
    let words = step.build().expect("it stands");
    let (mut constants, mut found) = (std::collections::HashMap::new(), Vec::new());
    let mut at = 5;
    while at < words.len() {
        let (op, length) = (words[at] & 0xffff, (words[at] >> 16) as usize);
        match op {
            43 => drop(constants.insert(words[at + 2], words[at + 3])),
            224 => found.push(words[at + 1]),
            _ => {}
        }
        at += length.max(1);
    }
    let weak = found.iter().filter(|scope| constants.get(scope) == Some(&SUBGROUP)).count();
    (weak, found.len() - weak)
}

impl Checked {
    /// Demands one dispatch with so many barriers of sub-groups.
    #[track_caller]
    fn weak(self, weak: usize) -> Self {
        assert_eq!(self.plan.steps.len(), 1, "{:#?}", self.plan.report);
        assert_eq!(barriers(&self.plan.steps[0]).0, weak);
        self
    }
}

/// A kernel of which each invocation has a word in shared memory, after and before what `steps` do with all of them.
pub(crate) fn with_part(steps: &str) -> String {
    kernel(
        "a z",
        "16",
        &format!(
            "var<workgroup> part: array<u32, 16>;---
             part[lid.x] = a[gid.x];
             workgroupBarrier();
             {steps}
             z[gid.x] = part[15u - lid.x] * 3u + lid.x;"
        ),
    )
}

pub(crate) fn with_flat(text: &str) -> Lab {
    let flat = kernel("a z", "16", "z[gid.x] = a[gid.x] * 5u + lid.x;");
    Lab::new(16 * 4).submit(&flat, [4, 1, 1], &[0, 1], &[]).submit(text, [4, 1, 1], &[1, 2], &[])
}

probes! {
    // Of a tree of 8, 4, 2 and 1, and what is stored for it, the barriers before steps of which all readers, and those who wrote for them, are one sub-group.
    fn the_last_steps_of_a_tree_wait_for_their_sub_group() {
        let tree = "for (var s = 8u; s > 0u; s /= 2u) { if (lid.x < s) { part[lid.x] += part[lid.x + s]; } workgroupBarrier(); }";
        for (size, weak) in [(0, 0), (2, 1), (4, 2), (8, 3), (16, 4), (32, 0)] {
            for work_groups in [1, 2, 4] {
                in_subgroups(with_flat(&with_part(tree)), size, work_groups).check().weak(weak);
            }
        }
        for size in [2, 4, 8] {
            let lab = Lab::new(80)
                .submit(&reduce("max(own, v)", "max(x, y)"), [5, 1, 1], &[0, 1], &[16])
                .submit(&spread("b[wid.x] - a[at]"), [5, 1, 1], &[0, 1, 2], &[16])
                .submit(&reduce("own + v", "x + y"), [5, 1, 1], &[2, 3], &[16])
                .submit(&spread("a[at] * 100u / (b[wid.x] + 1u)"), [5, 1, 1], &[2, 3, 4], &[16]);
            in_subgroups(lab, size, 2).check().fused(2);
        }
    }

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

    // A device has a most of sub-groups in a work-group that asks for their size, beside a most of invocations.
    fn work_groups_of_more_sub_groups_than_a_device_allows_ask_for_none() {
        let tree = "for (var s = 8u; s > 0u; s /= 2u) { if (lid.x < s) { part[lid.x] += part[lid.x + s]; } workgroupBarrier(); }";
        for (most, size) in [(1, None), (3, None), (4, Some(4)), (5, Some(4))] {
            let mut lab = in_subgroups(with_flat(&with_part(tree)), 4, 1);
            lab.limits.max_subgroups = most;
            assert_eq!(lab.check().plan.steps[0].subgroup_size(), size, "{most}");
        }
    }

    // Beside many words that an invocation keeps a tree stays a loop, and its barriers the work-group's.
    fn trees_stay_loops_beside_long_rows() {
        for (w, size) in [(16, Some(8)), (256, Some(8)), (264, None), (512, None)] {
            let lab = Lab::new(3 * u64::from(w))
                .promote(1, Promote::Auto)
                .submit(&spread("a[at] * 3u + b[0]"), [3, 1, 1], &[0, 3, 1], &[w])
                .submit(&reduce("own + v", "x + y"), [3, 1, 1], &[1, 2], &[w]);
            let mut lab = in_subgroups(lab, 8, 1);
            lab.limits.unroll = UnrollLimits { rounds: 64, at_once: 2, private_bytes: 256 };
            assert_eq!(lab.check().plan.steps[0].subgroup_size(), size, "{w}");
        }
    }

    // Other spellings: by strides, by masks, by what lies behind (a scan), with steps of its own written one after another.
    fn trees_are_read_whatever_their_spelling() {
        for (steps, weak) in [
            ("for (var s = 1u; s < 16u; s *= 2u) { if (lid.x % (2u * s) == 0u) { part[lid.x] += part[lid.x + s]; } workgroupBarrier(); }", [1, 2, 3, 4]),
            ("for (var s = 1u; s < 16u; s = s << 1u) { if ((lid.x & (2u * s - 1u)) == 0u) { part[lid.x] += part[lid.x + s]; } workgroupBarrier(); }", [1, 2, 3, 4]),
            ("for (var s = 1u; s < 16u; s *= 2u) { let i = lid.x * 2u * s; if (i < 16u) { part[i] += part[i + s]; } workgroupBarrier(); }", [1, 2, 3, 4]),
            ("for (var s = 8u; s > 0u; s = s >> 1u) { let v = part[lid.x ^ s]; workgroupBarrier(); part[lid.x] += v; workgroupBarrier(); }", [2, 4, 6, 8]),
            ("for (var s = 1u; s < 16u; s *= 2u) { var v = 0u; if (lid.x >= s) { v = part[lid.x - s]; } workgroupBarrier(); part[lid.x] += v; workgroupBarrier(); }", [0, 0, 0, 8]),
        ] {
            for (size, weak) in [2, 4, 8, 16].into_iter().zip(weak) {
                let checked = in_subgroups(with_flat(&with_part(steps)), size, 2).check();
                let found = barriers(&checked.plan.steps[0]).0;
                assert_eq!(found, weak, "{size}: {steps}");
            }
        }
    }

    // Whatever an invocation reads of others' words, by rounds and by hand: the interpreter finds a barrier that is missing.
    fn exchanges_of_any_kind_are_ordered() {
        let count = std::env::var("VKFUSE_EXCHANGES").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
        let mut weak = 0;
        for seed in 0..count {
            let mut random = Random(seed * 7919 + 1);
            let steps: String = (0..random.below(3) + 1).map(|_| exchange(&mut random)).collect();
            let (size, work_groups) = (2 << random.below(4), [1, 2, 4][random.below(3) as usize]);
            let checked = in_subgroups(with_flat(&with_part(&steps)), size, work_groups).check();
            weak += checked.plan.steps.iter().map(|step| barriers(step).0).sum::<usize>();
        }
        assert!(weak as u64 >= count, "{weak}");
    }

    // What goes from one sub-group to another, through a buffer, or to a place that is not known.
    fn what_others_wait_for_stays() {
        for steps in [
            "for (var k = 0u; k < 3u; k++) { let v = part[(lid.x + 1u) % 16u]; workgroupBarrier(); part[lid.x] = v + 1u; workgroupBarrier(); }",
            "for (var k = 0u; k < 3u; k++) { let v = part[15u - lid.x]; workgroupBarrier(); part[lid.x] = v + 1u; workgroupBarrier(); }",
            "for (var k = 0u; k < 3u; k++) { let v = part[a[gid.x] % 16u]; workgroupBarrier(); part[lid.x] = v + 1u; workgroupBarrier(); }",
            "for (var k = 0u; k < 3u; k++) { let v = part[0]; workgroupBarrier(); if (lid.x == k) { part[0] = v + lid.x + 1u; } workgroupBarrier(); }",
            "for (var k = 0u; k < 3u; k++) { z[gid.x] = part[lid.x]; workgroupBarrier(); part[lid.x] = z[gid.x] + 1u; workgroupBarrier(); }",
        ] {
            for size in [2, 4, 8] {
                in_subgroups(with_flat(&with_part(steps)), size, 2).check().weak(0);
            }
        }
    }

    // Barriers in what is left of loops, or under a condition, are the work-group's.
    fn loops_that_are_not_written_out_keep_theirs() {
        let steps = "for (var s = 8u; s > 0u; s /= 2u) { if (lid.x < s) { part[lid.x] += part[lid.x + s]; } workgroupBarrier(); }
            for (var k = 0u; k < 40u; k++) { let v = part[(lid.x + 1u) % 16u]; workgroupBarrier(); part[lid.x] = v + 1u; workgroupBarrier(); }";
        for size in [4, 8] {
            in_subgroups(with_flat(&with_part(steps)), size, 1).check().weak(0);
        }
    }

    // A work-group that is no whole number of sub-groups, or has two dimensions.
    fn work_groups_that_are_no_line_of_sub_groups_are_left_alone() {
        let tree = |names: &str, size: &str, l: &str| kernel(
            names,
            size,
            &format!(
                "var<workgroup> part: array<u32, 32>;---
                 part[{l}] = a[gid.x + gid.y * 12u];
                 workgroupBarrier();
                 for (var s = 4u; s > 0u; s /= 2u) {{ if ({l} < s) {{ part[{l}] += part[{l} + s]; }} workgroupBarrier(); }}
                 z[gid.x + gid.y * 12u] = part[0] + part[{l}];"
            ),
        );
        for (size, l) in [("12", "lid.x"), ("4, 4", "lix")] {
            let flat = kernel("a z", size, "z[gid.x + gid.y * 12u] = a[gid.x + gid.y * 12u] + 1u;");
            let lab = Lab::new(12 * 20)
                .submit(&flat, [3, 1, 1], &[0, 1], &[])
                .submit(&tree("a z", size, l), [3, 1, 1], &[1, 2], &[]);
            in_subgroups(lab, 8, 1).check().weak(0);
        }
        for (size, l) in [("16", "lix"), ("8", "lid.x"), ("32", "gid.x % 32u")] {
            let flat = kernel("a z", size, "z[gid.x] = a[gid.x] + 1u;");
            let lab = Lab::new(12 * 20)
                .submit(&flat, [3, 1, 1], &[0, 1], &[])
                .submit(&tree("a z", size, l), [3, 1, 1], &[1, 2], &[]);
            in_subgroups(lab, 8, 1).check();
        }
    }
}
