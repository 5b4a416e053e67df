//! Kernels with sub-group operations and different local sizes in one group: padded where their work-groups are whole sub-groups.

use std::fmt::Write as _;

use vkfuse_jit::RewriteReason;
use vkfuse_jit::plan::{Internalization, Promote, SubgroupLimits};

use super::glsl::{glsl, is_possible};
use super::lab::Lab;
use super::placed_blocks_random::Random;

const ROWS: u32 = 5;
const LENGTH: u32 = 48;
const GRID: [u32; 3] = [ROWS, 1, 1];
const PUSH: [u32; 4] = [LENGTH, ROWS, 0, 0];
/// Invocations of a sub-group of the interpreter.
const LANES: u32 = 8;

/// A list on a device with full sub-groups that stay together.
fn lab() -> Lab {
    let mut lab = Lab::rewriting((ROWS * LENGTH).into());
    lab.limits.subgroups = SubgroupLimits { size: LANES, together: true };
    // There is room for idle invocations.
    lab.limits.overlapping_invocations = 1 << 20;
    lab
}

/// A kernel whose work-groups of `n` go through a row; `value` is what an invocation makes of its part `own`.
fn rows(size: &str, n: u32, value: &str) -> String {
    let body = format!(
        "shared uint part[64]; shared uint s[64];
         ---
         uint t = gl_LocalInvocationIndex, own = t;
         for (uint k = t; k < p.x; k += {n}u) own = own * 31u + a[g * p.x + k];
         {value}
         for (uint k = t; k < p.x; k += {n}u) z[g * p.x + k] = a[g * p.x + k] * 3u + own;"
    );
    glsl("", "a z", size, &body)
}

/// A kernel without sub-groups whose work-group shares what its invocations have.
fn tree(size: &str, n: u32) -> String {
    let halves = format!(
        "s[t] = own; barrier();
         for (uint h = {n}u / 2u; h > 0u; h >>= 1u) {{ if (t < h) s[t] = s[t] * 7u + s[t + h]; barrier(); }}
         own += s[0];"
    );
    rows(size, n, &halves)
}

/// The sum of all sub-groups of a work-group, each by its own number.
const SUM: &str = "uint all = subgroupAdd(own); if (subgroupElect()) part[gl_SubgroupID] = all; barrier();
    own = 0u; for (uint q = 0u; q < gl_NumSubgroups; q++) own = own * 5u + part[q];";

fn pair(first: &str, second: &str) -> Lab {
    lab().submit(first, GRID, &[0, 1], &PUSH).submit(second, GRID, &[1, 2], &PUSH)
}

fn why(lab: Lab) -> &'static str {
    let checked = lab.check();
    match checked.apart(2) {
        Some(RewriteReason::NotPadded { what }) => what,
        other => panic!("{other:?}"),
    }
}

probes! {
    fn work_groups_of_whole_sub_groups_are_padded() {
        if !is_possible() {
            return;
        }
        for value in [
            SUM,
            "own = subgroupAdd(own) + gl_NumSubgroups * 1000u + gl_SubgroupSize;",
            "own = subgroupBallotBitCount(subgroupBallot(own % 3u == 0u)) + gl_SubgroupID * 100u;",
            "uint first = subgroupBroadcastFirst(own); own = subgroupElect() ? own : first * 3u;",
            "own = subgroupShuffle(own, gl_SubgroupInvocationID ^ 1u) * 3u + subgroupShuffleXor(own, 4u);",
            "own = subgroupShuffle(t, (t + 1u) % gl_SubgroupSize) * 10u + subgroupBroadcast(own, 2u);",
            "own = subgroupInclusiveAdd(own) ^ subgroupExclusiveMax(own);",
            "own += bitCount(gl_SubgroupLtMask.x & subgroupBallot(own % 2u == 0u).x);",
            "if (subgroupAny(own % 5u == 0u)) own = subgroupMin(own); else own += subgroupMax(own);",
            "for (uint q = 0u; q < gl_SubgroupID + 2u; q++) own = own * 3u + subgroupShuffleUp(own, min(gl_SubgroupInvocationID, 1u));",
            "part[t] = own; barrier(); own = subgroupAdd(part[t ^ 3u]); barrier(); part[t] = own; barrier(); own += subgroupMax(part[0]);",
        ] {
            println!("{value}");
            let (small, large) = (rows("16", 16, value), tree("32", 32));
            pair(&large, &small).check().one().padded(&[(1, 16)]);
            pair(&small, &large).check().one().padded(&[(0, 16)]);
        }
    }

    fn other_members_are_numbered_alike() {
        if !is_possible() {
            return;
        }
        let (small, middle, large) = (rows("8", 8, SUM), rows("16", 16, SUM), rows("32", 32, SUM));
        lab()
            .promote(1, Promote::Local)
            .promote(2, Promote::Local)
            .submit(&large, GRID, &[0, 1], &PUSH)
            .submit(&small, GRID, &[1, 2], &PUSH)
            .submit(&middle, GRID, &[2, 3], &PUSH)
            .check()
            .one()
            .padded(&[(1, 8), (2, 16)])
            .inside(1, Internalization::Local);
        let plane = rows("4, local_size_y = 4", 16, SUM);
        pair(&large, &plane).check().one().padded(&[(1, 16)]);
        // What has no sub-groups is padded beside what has some.
        pair(&large, &tree("4", 4)).check().one().padded(&[(1, 4)]);
        // More work-groups than others have.
        lab()
            .submit(&large, GRID, &[0, 1], &PUSH)
            .submit(&small, [ROWS - 2, 1, 1], &[1, 2], &PUSH)
            .check()
            .one()
            .padded(&[(1, 8)]);
    }

    fn pipelines_of_padded_sub_groups_ask_for_their_size() {
        if !is_possible() {
            return;
        }
        let checked = pair(&tree("32", 32), &rows("8", 8, SUM)).check().one();
        assert_eq!(checked.plan.steps[0].subgroup_size(), Some(LANES));
        assert_eq!(checked.plan.steps[0].schedule(), "x: grid | 4 sub-groups / 8 lanes");
        let checked = pair(&rows("32", 32, SUM), &tree("8", 8)).check().one();
        assert_eq!(checked.plan.steps[0].subgroup_size(), None);
    }

    fn barriers_of_sub_groups_are_theirs_alone() {
        if !is_possible() {
            return;
        }
        let waits = "s[t] = own; if (gl_SubgroupID + own % 1u == 0u) { subgroupBarrier(); own = s[t ^ 1u]; subgroupBarrier(); s[t] = own + 1u; }
            barrier(); own += s[(t + 5u) % 16u];";
        let rounds = "for (uint h = gl_NumSubgroups; h > 0u; h >>= 1u) { s[t] = own; barrier(); own = own * 3u + s[t ^ 1u]; barrier(); }";
        for value in [waits, rounds] {
            pair(&tree("32", 32), &rows("16", 16, value)).check().one().padded(&[(1, 16)]);
        }
        // Without anything else that is a sub-group's, they still ask which invocations it has.
        let alone = rows("8", 8, "s[t] = own; subgroupBarrier(); own = s[t ^ 1u];");
        pair(&tree("32", 32), &alone).check().one().padded(&[(1, 8)]);
        let mut unknown = pair(&tree("32", 32), &alone);
        unknown.limits.subgroups.size = 0;
        assert!(why(unknown).contains("no full sub-groups"));
    }

    fn conditions_that_sub_groups_make_have_no_barriers() {
        if !is_possible() {
            return;
        }
        let voted = "if (subgroupAll(p.x > 0u)) { s[t] = own; barrier(); own = s[t ^ 1u]; }";
        let what = why(pair(&tree("32", 32), &rows("8", 8, voted)));
        assert!(what.contains("a barrier behind a condition"), "{what}");
    }

    fn parts_of_sub_groups_are_not_padded() {
        if !is_possible() {
            return;
        }
        let mut refused = vec![];
        for n in [4, 12, 20] {
            refused.push((why(pair(&tree("32", 32), &rows(&n.to_string(), n, SUM))), "no whole sub-groups"));
        }
        let list = || pair(&tree("32", 32), &rows("8", 8, SUM));
        let mut unknown = list();
        unknown.limits.subgroups.size = 0;
        refused.push((why(unknown), "of a known size"));
        let mut parting = list();
        parting.limits.subgroups.together = false;
        refused.push((why(parting), "may part"));
        let mut few = list();
        few.limits.max_subgroups = 3;
        refused.push((why(few), "more sub-groups than"));
        refused.push((why(pair(&tree("4, local_size_y = 8", 32), &rows("8", 8, SUM))), "no lines of"));
        refused.push((why(pair(&tree("12", 12), &rows("8", 8, SUM))), "no lines of"));
        for (what, expected) in refused {
            assert!(what.contains(expected), "{what}");
        }
    }

    fn random_lists_of_sub_groups_in_work_groups_of_several_sizes() {
        if !is_possible() {
            return;
        }
        let mut padded = 0;
        for seed in 0..lists() {
            let random = &mut Random(seed);
            let push = [random.one_of(&[1, 7, 16, 24, 32, 33]), 1 + random.below(4) as u32, random.below(4) as u32, 0];
            let groups = [push[1], 1, 1];
            let mut lab = Lab::rewriting(256);
            (lab.limits.subgroups, lab.limits.overlapping_invocations) = (SubgroupLimits { size: LANES, together: true }, 1 << 20);
            for member in 0..2 + random.below(2) as u64 {
                lab = lab.submit(&by_sub_groups(random), groups, &[member, member + 1], &push);
            }
            println!("list {seed}");
            let checked = lab.check();
            padded += u64::from(checked.plan.report.rewrites.iter().any(|_| checked.plan.steps.iter().any(|step| step.subgroup_size().is_some())));
        }
        assert!(4 * padded > lists(), "{padded} of {}", lists());
    }
}

/// A kernel of a few phases, each with what sub-groups or work-groups exchange.
fn by_sub_groups(random: &mut Random) -> String {
    let (size, n) = random.one_of(&[
        ("8", 8),
        ("16", 16),
        ("24", 24),
        ("32", 32),
        ("4, local_size_y = 4", 16),
        ("2, local_size_y = 4, local_size_z = 4", 32),
        ("12", 12),
    ]);
    let mut value = String::new();
    for phase in 0..1 + random.below(3) {
        let operand =
            random.one_of(&["own", "own ^ t", "gl_SubgroupInvocationID + own", "own * (gl_SubgroupID + 1u)"]);
        let one = match random.below(8) {
            0 => format!("own += subgroupAdd({operand});"),
            1 => format!(
                "own ^= subgroupShuffle({operand}, (gl_SubgroupInvocationID + 3u) % gl_SubgroupSize % 4u);"
            ),
            2 => format!(
                "if (gl_SubgroupID % 2u == g % 2u) own += subgroupBallotBitCount(subgroupBallot(({operand}) % 2u == 0u));"
            ),
            3 => format!(
                "if (subgroupElect()) part[gl_SubgroupID] = {operand}; barrier(); for (uint q = 0u; q < gl_NumSubgroups; q++) own = own * 3u + part[q]; barrier();"
            ),
            4 => format!("s[t] = {operand}; barrier(); own = s[{n}u - 1u - t]; barrier();"),
            5 => format!(
                "for (uint q = 0u; q < p.z; q++) {{ s[t] = own; barrier(); own = subgroupMax({operand} + s[t / 2u]); barrier(); }}"
            ),
            6 => format!(
                "if (g % 2u == 0u) {{ s[t] = {operand}; barrier(); own = s[0] + subgroupMin(own); barrier(); }} else own = own * 11u + gl_NumSubgroups;"
            ),
            _ => format!(
                "for (uint q{phase} = 0u; q{phase} <= gl_SubgroupID; q{phase}++) own = own * 7u + subgroupInclusiveAdd({operand});"
            ),
        };
        let _ = writeln!(value, "{one}");
    }
    rows(size, n, &value)
}

fn lists() -> u64 {
    std::env::var("VKFUSE_PADDED_LISTS").ok().and_then(|text| text.parse().ok()).unwrap_or(30)
}
