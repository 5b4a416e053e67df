//! Work-groups that are done by fewer invocations: which are, and what is left alone.

use rspirv::dr::{Module, Operand};
use rspirv::spirv::{ExecutionMode, Op, Scope};
use vkfuse_jit::plan::{Promote, Step, ThreadCoarseningLimits, UnrollLimits};

use super::glsl::{glsl, is_possible};
use super::lab::{Checked, Lab, kernel};
use super::rows::{Random, exchange, reduce, softmax, with_flat, with_part, with_rows};

trait Narrow {
    fn left(self, invocations: u32) -> Self;
    fn written_out(self) -> Self;
}

impl Narrow for Lab {
    /// This many invocations are left of a work-group, if it may be done by fewer.
    fn left(mut self, invocations: u32) -> Self {
        self.limits.thread_coarsening = ThreadCoarseningLimits {
            invocations,
            least: 1,
            private_bytes: 1 << 12,
            any_loops: true,
            ..ThreadCoarseningLimits::default()
        };
        self
    }

    fn written_out(mut self) -> Self {
        self.limits.unroll =
            UnrollLimits { rounds: 16, at_once: 4, private_bytes: 256, ..UnrollLimits::default() };
        self
    }
}

/// Invocations of a work-group of a module.
fn size(module: &Module) -> u32 {
    let modes = module.execution_modes.iter();
    let sizes = modes
        .filter(|mode| mode.operands[1] == Operand::ExecutionMode(ExecutionMode::LocalSize))
        .flat_map(|mode| &mode.operands[2..]);
    sizes.map(|size| if let Operand::LiteralBit32(size) = size { *size } else { 0 }).product()
}

/// Barriers at which a sub-group waits for itself, and those at which the work-group does.
fn barriers(step: &Step) -> (usize, usize) {
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
    let weak = found.iter().filter(|scope| constants.get(scope) == Some(&(Scope::Subgroup as u32))).count();
    (weak, found.len() - weak)
}

impl Checked {
    /// Demands one dispatch with `left` invocations in a work-group, each doing the work of `several`.
    #[track_caller]
    fn by_fewer(self, several: u32, left: u32) -> Self {
        let group = &self.plan.report.groups[0];
        assert_eq!(
            (group.items_per_invocation, group.work_group),
            (several, [left, 1, 1]),
            "{:#?}",
            self.plan.report
        );
        assert_eq!(size(&self.module()), left);
        self
    }

    /// Demands that each work-group is done by its own invocations.
    #[track_caller]
    fn by_its_own(self) -> Self {
        let groups = &self.plan.report.groups;
        assert!(groups.iter().all(|group| group.items_per_invocation == 1), "{:#?}", self.plan.report);
        self
    }
}

probes! {
    fn rows_are_done_by_fewer_invocations() {
        for w in [8, 16, 20, 5, 64] {
            for promote in [Promote::None, Promote::Auto] {
                for (left, several) in [(1, 8), (2, 4), (4, 2)] {
                    softmax(5, w, promote).left(left).check().fused(2).by_fewer(several, left);
                    softmax(5, w, promote).written_out().left(left).check().fused(2).by_fewer(several, left);
                }
            }
        }
    }

    /// Of a row that is shorter than its work-group, an invocation does what the row has.
    fn short_rows_are_done_by_those_that_have_an_element() {
        let list = |w, left| softmax(5, w, Promote::Auto).written_out().left(left).check().by_fewer(8 / left, left);
        let differences = |checked: &Checked| {
            let module = checked.module();
            let code = module.all_inst_iter();
            code.filter(|inst| inst.class.opcode == Op::ISub).count() as u32
        };
        for left in [1, 2, 4] {
            for w in 1..=8 {
                assert_eq!(differences(&list(w, left)), w.div_ceil(left), "rows of {w} by {left}");
            }
        }
        let keys = [5, 6, 7].map(|w| list(w, 4).plan.steps[0].key);
        assert!(keys.iter().all(|key| *key == keys[0]), "lengths between the same multiples have the same code");
    }

    fn work_groups_that_do_not_divide_keep_their_own() {
        for left in [0, 3, 5, 8, 16] {
            softmax(3, 16, Promote::Auto).left(left).check().by_its_own();
        }
    }

    /// Where one sub-group is left, no one waits for another; where several are, they do.
    fn barriers_are_those_of_the_one_sub_group_that_is_left() {
        for (left, subgroup, weak) in [(4, 4, true), (2, 2, true), (4, 2, false), (2, 4, false), (4, 8, false), (4, 0, false)] {
            let mut lab = softmax(4, 16, Promote::Auto).written_out().left(left);
            lab.limits.thread_coarsening.subgroup = subgroup;
            let checked = lab.check().by_fewer(8 / left, left);
            assert_eq!(checked.plan.steps[0].subgroup_size(), weak.then_some(subgroup));
            let (of_subgroups, others) = barriers(&checked.plan.steps[0]);
            assert!(if weak { others == 0 && of_subgroups > 2 } else { of_subgroups == 0 }, "{of_subgroups} {others}");
        }
    }

    fn branches_on_local_ids_and_on_data_part() {
        for body in [
            "var v = a[gid.x]; if (lid.x % 2u == 0u) { v += 3u; } else { v ^= 5u; } z[gid.x] = v;",
            "var v = a[gid.x]; if (v > 30u) { v -= 7u; } z[gid.x] = v * 3u;",
            "var v = a[gid.x]; var n = 0u; while (v > 1u) { v /= 2u; n += lid.x; } z[gid.x] = n + v;",
            "var n = 0u; for (var k = 0u; k < 3u; k++) { let v = a[(gid.x + k) % 16u]; if ((v & 1u) == 1u) { n += v; continue; } n += k; if (v > 40u) { break; } } z[gid.x] = n;",
            "var v = a[gid.x]; switch (lid.x % 4u) { case 0u: { v += 1u; } case 1u, 2u: { v *= 2u; } default: { v = lid.x; } } z[gid.x] = v;",
            "if (lid.x == 2u) { return; } z[gid.x] = a[gid.x] + 1u;",
            "let i = gid.x; if (i >= 37u) { return; } z[i] = a[i] + nwg.x;",
            "var n = 0u; for (var k = 0u; k < nwg.x; k++) { n += a[k * 8u + lid.x]; } z[gid.x] = n + gid.y;",
            "var n = 0u; for (var k = 0u; k < lid.x; k++) { if (wid.x > k) { n += a[k]; } } z[gid.x] = n;",
            "if (wid.x >= p.x) { return; } z[gid.x] = a[gid.x] + 1u + lix;",
            "var m: array<u32, 4>; for (var k = 0u; k < 4u; k++) { m[(k + lid.x) & 3u] = a[(gid.x + k) % 32u]; } z[gid.x] = m[lid.x & 3u] * 5u + m[1];",
        ] {
            for rows in [1, 5] {
                for (left, several) in [(1, 8), (2, 4), (4, 2)] {
                    let text = kernel("a z", "8", body);
                    let lab = with_rows(Lab::new(256), rows).submit(&text, [rows, 1, 1], &[0, 2], &[3]);
                    lab.left(left).check().by_fewer(several, left);
                }
            }
        }
    }

    /// What a branch has chosen is used behind a barrier, and so are variables and elements of shared memory.
    fn each_invocation_has_its_own_values_and_shares_memory() {
        let text = kernel(
            "a z",
            "8",
            "var<workgroup> part: array<u32, 8>; var<private> mine: array<u32, 2>; var<private> same: u32;---
             var v = 1u; if (lid.x % 3u == 0u) { v = lid.x; }
             mine[lid.x & 1u] = a[gid.x]; mine[1u - (lid.x & 1u)] = lid.x;
             same = wid.x * 3u;
             part[lid.x] = a[gid.x] * v;
             workgroupBarrier();
             let other = part[7u - lid.x] + mine[0];
             workgroupBarrier();
             if (lid.x < 4u) { part[lid.x + 4u] = other; }
             same += part[0];
             workgroupBarrier();
             z[gid.x] = part[7u - lid.x] + v * 3u + mine[1] + same;",
        );
        for (left, several) in [(1, 8), (2, 4), (4, 2)] {
            let lab = with_rows(Lab::new(256), 5).submit(&text, [5, 1, 1], &[0, 2], &[]);
            lab.left(left).check().by_fewer(several, left);
        }
    }

    /// A variable that holds the same in all invocations is one, unless some store to it and others do not.
    fn variables_that_differ_are_each_ones_own() {
        for stores in [
            "own = 1u; if (lid.x % 2u == 0u) { own = 5u; }",
            "own = lid.x;",
            "own = wid.x; if (a[gid.x] > 20u) { own += 1u; }",
            "own = wid.x + p.x;",
        ] {
            let body = format!("var<private> own: u32;--- {stores} z[gid.x] = own * 3u + a[gid.x];");
            let text = kernel("a z", "8", &body);
            let lab = with_rows(Lab::new(256), 5).submit(&text, [5, 1, 1], &[0, 2], &[7]);
            lab.left(2).check().by_fewer(4, 2);
        }
        let places = "var<private> own: array<u32, 8>;--- for (var k = 0u; k < 8u; k++) { own[k] = k; } own[lid.x] = 50u;
             var sum = 0u; for (var k = 0u; k < 8u; k++) { sum += own[k] * (k + 1u); } z[gid.x] = sum;";
        let text = kernel("a z", "8", places);
        with_rows(Lab::new(256), 5).submit(&text, [5, 1, 1], &[0, 2], &[]).left(2).check().by_fewer(4, 2);
    }

    /// Rounds around a barrier that an id of the work-group or an argument counts are those of all its invocations; what memory counts is not known to be.
    fn barriers_have_to_be_met_by_all_that_one_does() {
        let text = |n: &str| {
            kernel(
                "a b z",
                "8",
                &format!(
                    "var<workgroup> part: array<u32, 8>;---
                     let n = {n};
                     part[lid.x] = a[wid.x * 8u + lid.x];
                     for (var k = 0u; k < n; k++) {{
                         workgroupBarrier();
                         let v = part[(lid.x + k) % 8u];
                         workgroupBarrier();
                         part[lid.x] += v;
                     }}
                     z[wid.x * 8u + lid.x] = part[lid.x];"
                ),
            )
        };
        for (n, fits) in [("wid.x % 3u", true), ("p.y", true), ("nwg.x / 2u", true), ("b[wid.x] % 3u", false), ("b[0] % 3u", false)] {
            let lab = with_rows(Lab::new(256), 8).submit(&text(n), [8, 1, 1], &[0, 3, 2], &[0, 2]);
            let checked = lab.left(2).check();
            if fits { checked.by_fewer(4, 2) } else { checked.by_its_own() };
        }
    }

    /// Members with fewer work-groups than others, in whatever order they are numbered.
    fn members_that_are_renumbered_are_done_by_fewer() {
        let flat = kernel("a z", "8", "z[gid.x] = a[gid.x] * 3u + wid.x + nwg.x;");
        for (rows, fewer) in [(8, 3), (5, 4), (6, 1)] {
            with_rows(Lab::new(256), rows).submit(&flat, [fewer, 1, 1], &[0, 2], &[]).left(2).check().by_fewer(4, 2);
            let lab = with_rows(Lab::new(256), rows).submit(&reduce("own + v", "x + y"), [fewer, 1, 1], &[0, 2], &[16]);
            lab.left(4).check().by_fewer(2, 4);
        }
        let grid = kernel("a z", "8", "z[(wid.y * nwg.x + wid.x) * 8u + lid.x] = a[gid.x] + gid.y * 5u;");
        let lab = with_rows(Lab::new(256), 6).submit(&grid, [2, 3, 1], &[0, 2], &[]);
        lab.left(2).check();
    }

    fn work_groups_of_several_dimensions_keep_their_own() {
        let text = kernel(
            "a z",
            "4, 2",
            "var<workgroup> part: array<u32, 8>;---
             let at = wid.x * 8u + lid.y * 4u + lid.x;
             part[lix] = a[at] + gid.x * 3u + gid.y;
             workgroupBarrier();
             z[at] = part[7u - lix] * 2u + wid.y;",
        );
        let lab = Lab::new(256).submit(&text, [3, 1, 1], &[0, 1], &[]).submit(&text, [3, 1, 1], &[1, 2], &[]);
        lab.left(2).check().by_its_own();
    }

    fn atomics_keep_their_own() {
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
        let buffer = kernel("a z:atomic<u32>", "8", "atomicAdd(&z[0], a[gid.x]);");
        for text in [shared, buffer] {
            with_rows(Lab::new(256), 8).submit(&text, [8, 1, 1], &[0, 2], &[]).left(2).check().by_its_own();
        }
    }

    /// What a sub-group has in common, and what its size says, is another thing where there are fewer.
    fn sub_groups_keep_their_own() {
        if !is_possible() {
            return;
        }
        for body in [
            "shared uint part[8]; --- part[l] = a[i] + (subgroupElect() ? 2u : 1u); barrier(); z[i] = part[7u - l];",
            "shared uint part[8]; --- part[l] = a[i] + gl_NumSubgroups; barrier(); z[i] = part[7u - l];",
            "shared uint part[8]; --- part[l] = a[i]; subgroupBarrier(); barrier(); z[i] = part[7u - l];",
        ] {
            let own = glsl("", "a z", "8", body);
            let mut lab = with_rows(Lab::new(256), 8).submit(&own, [8, 1, 1], &[0, 2], &[]).left(4);
            lab.limits.thread_coarsening.subgroup = 0;
            lab.check().by_its_own();
        }
        // What is not of their kind is no hindrance: barriers of memory, and kernels that keep variables.
        for recipe in super::glsl::RECIPES {
            let own = glsl(
                recipe,
                "a z",
                "8",
                "shared uint part[8]; --- uint v = a[i]; if (l > 3u) v += 2u; part[l] = v; memoryBarrierShared(); barrier(); z[i] = part[7u - l] + v;",
            );
            with_rows(Lab::new(256), 8).submit(&own, [8, 1, 1], &[0, 2], &[]).left(4).check().by_fewer(2, 4);
        }
    }

    fn facts_of_the_device_say_where_it_pays() {
        let lab = |w: u32, any_loops: bool, least: u32, private_bytes: u32| {
            let mut lab = softmax(8, w, Promote::Auto).written_out().left(2);
            lab.limits.thread_coarsening = ThreadCoarseningLimits { invocations: 2, least, private_bytes, any_loops, ..ThreadCoarseningLimits::default() };
            lab.check()
        };
        lab(16, false, 1, 256).by_fewer(4, 2);
        lab(16, false, 8, 256).by_fewer(4, 2);
        lab(16, false, 9, 256).by_its_own();
        // Two rounds of four bytes, four times.
        lab(16, false, 1, 32).by_fewer(4, 2);
        lab(16, false, 1, 31).by_its_own();
        // Some invocations have a round more, or there are too many rounds to write them out.
        lab(20, false, 1, 256).by_its_own();
        lab(20, true, 1, 256).by_fewer(4, 2);
        lab(8 * 64, false, 1, 4096).by_its_own();
    }

    /// What one item of a row is done for has a round that only some do; no one waits for it.
    fn one_round_of_some_is_none_that_is_waited_for() {
        let once = "for (var c = lid.x; c < p.y; c += 8u) { z[wid.x * 16u + c] = b[wid.x] * 3u + a[wid.x]; }";
        for (y, fits) in [(1, true), (8, true), (9, false)] {
            let mut lab = Lab::new(16 * 8)
                .submit(&reduce("own + v", "x + y"), [8, 1, 1], &[0, 1], &[16])
                .submit(&kernel("a b z", "8", once), [8, 1, 1], &[0, 1, 2], &[16, y])
                .written_out()
                .left(2);
            lab.limits.thread_coarsening.any_loops = false;
            let checked = lab.check();
            if fits { checked.by_fewer(4, 2) } else { checked.by_its_own() };
        }
    }

    fn rounds_of_invocations_that_one_does_are_counted() {
        let list = |limit: u64| {
            let mut lab = softmax(8, 16, Promote::Auto).left(2);
            lab.limits.max_loop_rounds = Some(limit);
            lab.check().plan
        };
        let one = (1..1000).find(|&limit| list(limit).steps.len() == 1).expect("its rounds are known");
        let items = |limit: u64| list(limit).report.groups[0].items_per_invocation;
        assert_eq!((items(one), items(2 * one), items(4 * one + 5)), (1, 1, 4));
    }

    // Whatever an invocation reads of others' words, by rounds and by hand.
    fn exchanges_of_any_kind_are_done_by_fewer() {
        let count = std::env::var("VKFUSE_EXCHANGES").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
        let mut by_fewer = 0;
        for seed in 0..count {
            let mut random = Random(seed * 104_729 + 3);
            let steps: String = (0..random.below(3) + 1).map(|_| exchange(&mut random)).collect();
            let mut lab = with_flat(&with_part(&steps));
            let left = 1 << random.below(4);
            lab = if random.below(2) == 0 { lab.written_out() } else { lab };
            lab = lab.left(left);
            lab.limits.thread_coarsening.subgroup = [0, 2, 4, 8][random.below(4) as usize];
            by_fewer += u64::from(lab.check().plan.report.groups[0].items_per_invocation > 1);
        }
        assert_eq!(by_fewer, count);
    }

    fn groups_without_barriers_are_not_concerned() {
        let flat = kernel("a z", "8", "z[gid.x] = a[gid.x] * 3u;");
        let lab = Lab::new(256).submit(&flat, [8, 1, 1], &[0, 1], &[]).submit(&flat, [8, 1, 1], &[1, 2], &[]);
        lab.left(2).check().by_its_own();
    }
}
