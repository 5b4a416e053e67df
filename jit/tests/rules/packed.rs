//! Work-groups of one sub-group: several of them in one, and their shared memory in registers.

use rspirv::dr::Operand;
use rspirv::spirv::{Op, StorageClass};
use vkfuse_jit::plan::{Internalization, Promote, ThreadCoarseningLimits, UnrollLimits};

use super::glsl;
use super::lab::{Checked, Lab, kernel};
use super::rows::{Random, exchange, reduce, softmax, spread, with_flat, with_part, with_rows};

trait Packed {
    fn packed(self, left: u32, most: u32, shuffles: bool) -> Self;
    fn side_by_side(self, most: u32) -> Self;
    fn in_lanes(self, elements: u32) -> Self;
    fn written_out(self) -> Self;
}

impl Packed for Lab {
    /// `left` invocations of a work-group are left, which are a sub-group, and at most this many of these are in one.
    fn packed(mut self, left: u32, most: u32, shuffles: bool) -> Self {
        self.limits.thread_coarsening = ThreadCoarseningLimits {
            invocations: left,
            least: 1,
            private_bytes: 1 << 12,
            any_loops: true,
            subgroup: left,
            shuffles,
            packed: most,
            side_by_side: 1,
            lane_elements: 0,
            uniform: true,
        };
        self
    }

    /// Each of these does at most this many work-groups of the kernels side by side.
    fn side_by_side(mut self, most: u32) -> Self {
        self.limits.thread_coarsening.side_by_side = most;
        self
    }

    /// Lanes of a sub-group have this many elements of a work-group, so that the others are of other work-groups.
    fn in_lanes(mut self, elements: u32) -> Self {
        self.limits.thread_coarsening.lane_elements = elements;
        self
    }

    fn written_out(mut self) -> Self {
        self.limits.unroll =
            UnrollLimits { rounds: 16, at_once: 4, private_bytes: 256, ..UnrollLimits::default() };
        self
    }
}

/// Of the first dispatch: variables of shared memory, shuffles, barriers.
fn counts(checked: &Checked) -> [usize; 3] {
    let words = checked.plan.steps[0].build().expect("the module stands");
    let module = rspirv::dr::load_words(words).expect("a module");
    let shared = Operand::StorageClass(StorageClass::Workgroup);
    let all = || module.all_inst_iter();
    [
        all().filter(|inst| inst.class.opcode == Op::Variable && inst.operands[0] == shared).count(),
        all().filter(|inst| inst.class.opcode == Op::GroupNonUniformShuffle).count(),
        all().filter(|inst| inst.class.opcode == Op::ControlBarrier).count(),
    ]
}

impl Checked {
    /// Demands one dispatch in which a work-group does the work of `several`, with `left` invocations for each.
    #[track_caller]
    fn of(self, several: u32, left: u32) -> Self {
        self.each_of(several, 1, left)
    }

    /// The same, where each `left` invocations do `side_by_side` of them.
    #[track_caller]
    fn each_of(self, several: u32, side_by_side: u32, left: u32) -> Self {
        let group = &self.plan.report.groups[0];
        let wanted = (several * side_by_side, [left * several, 1, 1]);
        assert_eq!((group.work_groups, group.work_group), wanted, "{group:#?}");
        self
    }

    /// Demands one dispatch in which a work-group has this many sub-groups of `lanes` that do the work of `each`.
    #[track_caller]
    fn each_of_lanes(self, subgroups: u32, each: u32, lanes: u32) -> Self {
        let group = &self.plan.report.groups[0];
        assert_eq!(
            (group.work_groups, group.work_group),
            (subgroups * each, [lanes * subgroups, 1, 1]),
            "{group:#?}"
        );
        self
    }
}

/// What a work-group of eight does with what it shares.
fn sharing(body: &str) -> Lab {
    let text = kernel(
        "a z",
        "8",
        &format!("var<workgroup> part: array<u32, 8>; var<workgroup> one: u32;--- {body}"),
    );
    with_rows(Lab::new(256), 4).submit(&text, [4, 1, 1], &[0, 2], &[3])
}

probes! {
    fn work_groups_of_one_sub_group_are_several_in_one() {
        for (rows, several) in [(4, 4), (8, 4), (6, 4), (2, 2), (5, 4), (3, 2), (1, 1), (12, 4)] {
            for w in [16, 20] {
                for shuffles in [false, true] {
                    for promote in [Promote::None, Promote::Auto] {
                        softmax(rows, w, promote).packed(4, 4, shuffles).check().of(several, 4);
                        softmax(rows, w, promote).written_out().packed(4, 4, shuffles).check().of(several, 4);
                    }
                }
            }
        }
        softmax(8, 16, Promote::Auto).packed(4, 3, false).check().of(2, 4);
        softmax(8, 16, Promote::Auto).packed(4, 0, false).check().of(1, 4);
    }

    /// Rows side by side in each sub-group, if they are a multiple; sub-groups in one work-group need not be.
    fn sub_groups_do_several_work_groups_each() {
        for (rows, several, each) in [(8, 2, 4), (16, 4, 4), (6, 2, 2), (4, 1, 4), (5, 4, 1), (20, 4, 4), (28, 4, 4), (2, 1, 2)] {
            for w in [3, 16, 20] {
                for shuffles in [false, true] {
                    for promote in [Promote::None, Promote::Auto] {
                        softmax(rows, w, promote).packed(4, 4, shuffles).side_by_side(4).check().each_of(several, each, 4);
                        softmax(rows, w, promote).written_out().packed(4, 4, shuffles).side_by_side(4).check().each_of(several, each, 4);
                    }
                }
            }
        }
        // As many registers as there are, and work-groups.
        let lab = |rows| softmax(rows, 16, Promote::Auto).written_out().packed(4, 4, true).side_by_side(4);
        for (bytes, each) in [(1 << 12, 4), (32, 2), (16, 1)] {
            let mut lab = lab(16);
            lab.limits.thread_coarsening.private_bytes = bytes;
            lab.check().each_of(4, each, 4);
        }
        for (least, several, each) in [(4, 4, 4), (5, 4, 2), (9, 4, 1)] {
            let mut lab = lab(16);
            lab.limits.thread_coarsening.least = least;
            lab.check().each_of(several, each, 4);
        }
    }

    /// Work-groups are equal parts of the lanes of a sub-group, if sub-groups have as many each.
    fn work_groups_are_lanes_of_one_sub_group() {
        for (lanes, elements, in_lanes) in [(4, 4, 2), (8, 2, 2), (8, 4, 4), (4, 8, 4)] {
            for (subgroups, several, each) in [(4, 4, 1), (2, 2, 1), (3, 4, 1), (5, 4, 1), (8, 2, 4), (12, 4, 2)] {
                for w in [8, 16] {
                    for promote in [Promote::None, Promote::Auto] {
                        let rows = subgroups * in_lanes;
                        let list = softmax(rows, w, promote).packed(lanes, 4, true).in_lanes(elements);
                        let wanted = if subgroups < 4 { 2 } else { 4 };
                        list.check().each_of_lanes(wanted, in_lanes, lanes);
                        let list = softmax(rows, w, promote).written_out().packed(lanes, 4, true);
                        let checked = list.in_lanes(elements).side_by_side(each).check();
                        if each > 1 {
                            checked.each_of_lanes(several, in_lanes * each, lanes);
                        }
                    }
                }
            }
        }
        // A row of few elements has fewer lanes; one lane has all of it.
        for (w, in_lanes) in [(3, 4), (4, 4), (5, 2), (8, 2)] {
            let list = softmax(16, w, Promote::Auto).written_out().packed(4, 4, true).in_lanes(4);
            list.check().each_of_lanes(4, in_lanes, 4);
        }
        // Sub-groups with a part of a work-group, and shared memory that stays where it is.
        softmax(7, 16, Promote::Auto).packed(4, 4, true).in_lanes(4).check().of(4, 4);
        softmax(8, 16, Promote::Auto).packed(4, 4, false).in_lanes(4).check().of(4, 4);
        softmax(8, 16, Promote::Auto).packed(4, 1, true).in_lanes(4).check().of(1, 4);
    }

    /// What a row has one of is in the register of a lane. Of two elements a row, each has its place.
    fn an_element_of_a_row_takes_one_register() {
        let per_row = |kinds: [Promote; 2], per: u32, w: u32, rows: u32| {
            let first = "if (lid.x < p.y) { z[wid.x * p.y + lid.x] = part[0] + lid.x; }";
            let kept = reduce("max(own, v)", "max(x, y)").replace("if (lid.x == 0u) { z[wid.x] = part[0]; }", first);
            let sum = reduce("own + v", "x + y").replace("if (lid.x == 0u) { z[wid.x] = part[0]; }", first);
            let last = kernel("a b z", "8", "let i = gid.x; if (i < p.x) { z[i] = a[i] * 3u + b[i]; }");
            let all = rows * per;
            Lab::rewriting(u64::from((rows * w).max(all)).max(16))
                .promote(1, kinds[0])
                .promote(2, Promote::Auto)
                .promote(3, kinds[1])
                .submit(&kept, [rows, 1, 1], &[0, 1], &[w, per])
                .submit(&spread("b[wid.x * p.y + p.y - 1u] - a[at]"), [rows, 1, 1], &[0, 1, 2], &[w, per])
                .submit(&sum, [rows, 1, 1], &[2, 3], &[w, per])
                .submit(&last, [all.div_ceil(8), 1, 1], &[1, 3, 4], &[all])
                .written_out()
        };
        for kinds in [[Promote::Auto; 2], [Promote::Local; 2], [Promote::None; 2]] {
            for (w, rows) in [(16, 8), (5, 8), (16, 7)] {
                for per in [1, 2, 8] {
                    per_row(kinds, per, w, rows).check();
                    per_row(kinds, per, w, rows).packed(4, 4, false).check();
                    for elements in [0, 4] {
                        let checked = per_row(kinds, per, w, rows).packed(4, 4, true).in_lanes(elements).check();
                        let is_one = per == 1 && kinds[0] != Promote::None;
                        if is_one {
                            assert_eq!((checked.plan.steps.len(), counts(&checked)[0]), (1, 0), "{:#?}", checked.plan.report);
                        }
                    }
                }
            }
        }
        // Room for four sub-groups of four rows each: 64 bytes of the trees of a row, and two elements of it.
        for (bytes, subgroups) in [(4 * 4 * 72, 4), (4 * 4 * 72 - 1, 2)] {
            let mut lab = per_row([Promote::Local; 2], 1, 16, 16).packed(4, 4, true).in_lanes(4);
            lab.limits.max_shared_bytes = bytes;
            lab.check().each_of_lanes(subgroups, 4, 4);
        }
    }

    /// What short rows gain by sharing lanes, longer ones beside them would lose.
    fn rows_share_no_lanes_beside_longer_ones() {
        for (w, is_shared) in [(5, true), (8, true), (9, false), (16, false)] {
            let rows = |a: u64, z: u64, w: u32, lab: Lab| {
                lab.submit(&reduce("own + v", "x + y"), [16, 1, 1], &[a, z], &[w])
            };
            let lab = rows(1, 2, 1, rows(0, 1, w, Lab::new(u64::from(16 * w))));
            let mut lab = lab.written_out().packed(4, 4, true).in_lanes(4);
            lab.limits.thread_coarsening.any_loops = false;
            let checked = lab.check();
            let lanes = checked.plan.report.groups[0].schedule.contains("lanes |");
            assert_eq!(lanes, is_shared, "{w}: {:#?}", checked.plan.report);
        }
    }

    /// A flat kernel makes an element of each row, which all of the row's invocations use: it is in a register of one, which is known by the length of that row. By
    /// other lengths it is not known which invocations have an element.
    fn one_invocation_has_a_row_of_one_element() {
        for (w, rows) in [(16, 8), (5, 8), (16, 7)] {
            let lab = || {
                let flat = kernel("a z", "8", "let i = gid.x; if (i < p.x) { z[i] = a[i] * 3u + i; }");
                Lab::rewriting(u64::from(rows * w).max(64))
                    .promote(1, Promote::Auto)
                    .promote(2, Promote::Auto)
                    .submit(&reduce("max(own, v)", "max(x, y)"), [rows, 1, 1], &[0, 1], &[w])
                    .submit(&flat, [rows.div_ceil(8), 1, 1], &[1, 2], &[rows])
                    .submit(&spread("b[wid.x] - a[at]"), [rows, 1, 1], &[0, 2, 3], &[w])
                    .written_out()
            };
            lab().check();
            for elements in [0, 4] {
                let checked = lab().packed(4, 4, true).in_lanes(elements).check();
                assert_eq!((checked.plan.steps.len(), counts(&checked)[0]), (1, 0), "{:#?}", checked.plan.report);
                checked.inside(1, Internalization::Local).inside(2, Internalization::Local);
            }
        }
        let body = "var<workgroup> part: array<u32, 8>;---
            var own = 3u;
            for (var c = lid.x; c < p.x; c += 8u) { own += a[wid.x * p.x + c]; }
            part[lid.x] = own + lid.x;
            workgroupBarrier();
            var v = 0u;
            if (lid.x < p.x) { v = part[lid.x ^ (lid.x >> 2u)]; }
            z[gid.x] = v;";
        for w in [1, 4, 5, 7, 8] {
            for (lanes, elements) in [(4, 0), (4, 4), (2, 8)] {
                let lab = Lab::new(16 * 8).submit(&kernel("a z", "8", body), [16, 1, 1], &[0, 1], &[w]);
                let flat = kernel("a z", "8", "z[gid.x] = a[gid.x] * 5u;");
                lab.submit(&flat, [16, 1, 1], &[1, 2], &[]).written_out().packed(lanes, 4, true).in_lanes(elements).check();
            }
        }
    }

    /// A step of a tree over elements behind the end of a row changes nothing from the second time on.
    fn steps_behind_the_end_of_a_row_are_left_out() {
        let tree = |first: &str, both: &str| {
            let body = format!(
                "var<workgroup> part: array<u32, 8>;---
                 var own = {first};
                 for (var c = lid.x; c < p.x; c += 8u) {{ own += a[wid.x * p.x + c]; }}
                 part[lid.x] = own;
                 workgroupBarrier();
                 for (var step = 4u; step > 0u; step /= 2u) {{
                     if (lid.x < step) {{ let x = part[lid.x]; let y = part[lid.x + step]; part[lid.x] = {both}; }}
                     workgroupBarrier();
                 }}
                 if (lid.x == 0u) {{ z[wid.x] = part[0]; }}"
            );
            kernel("a z", "8", &body)
        };
        let check = |first: &str, both: &str, op: Op| {
            let list = |w| {
                let lab = Lab::new(8 * 8).submit(&tree(first, both), [8, 1, 1], &[0, 1], &[w]);
                lab.submit(&spread("a[at] + b[wid.x]"), [8, 1, 1], &[0, 1, 2], &[w]).written_out()
            };
            for w in [1, 2, 5, 8] {
                for (lanes, elements) in [(1, 8), (2, 8), (2, 4), (4, 4)] {
                    list(w).packed(lanes, 4, true).in_lanes(elements).check();
                }
            }
            let checked = list(1).packed(2, 1, true).check();
            let words = checked.plan.steps[0].build().expect("the module stands");
            let module = rspirv::dr::load_words(words).expect("a module");
            module.all_inst_iter().filter(|inst| inst.class.opcode == op).count()
        };
        // A zero is nothing, and so is what the greater of two already is; two ones are two.
        for (both, others, op) in [
            (("0u", "x + y"), [("1u", "x + y"), ("7u", "y + x")], Op::IAdd),
            (("3u", "select(x, y, x < y)"), [("3u", "select(x, y, x < y + 1u)"), ("0u", "select(x, y + 1u, x < y)")], Op::Select),
        ] {
            let count = check(both.0, both.1, op);
            for (first, other) in others {
                assert!(count < check(first, other, op), "{both:?} {count}, {first} {other}");
            }
        }
        // The register was stored to since.
        for rest in ["part[lid.x] = 5u; part[lid.x] = x + y;", "part[lid.x] = x + y; part[lid.x] = 5u;"] {
            let body = format!(
                "part[lid.x] = 0u; workgroupBarrier();
                 if (lid.x < 4u) {{ let x = part[lid.x]; let y = part[lid.x + 4u]; {rest} }}
                 workgroupBarrier(); z[gid.x] = part[lid.x] + a[gid.x];"
            );
            sharing(&body).written_out().packed(4, 2, true).check();
        }
    }

    /// Work-groups of one sub-group come to the same barriers.
    fn work_groups_that_part_are_no_lanes_of_one_sub_group() {
        for body in [
            "part[lid.x] = a[gid.x]; workgroupBarrier(); if (wid.x < p.x) { part[lid.x] += part[lid.x]; workgroupBarrier(); z[gid.x] = part[7u - lid.x]; }",
            "part[lid.x] = a[gid.x]; if (a[wid.x] % 2u == 0u) { workgroupBarrier(); let v = part[lid.x ^ 1u]; workgroupBarrier(); part[lid.x] = v * 3u; workgroupBarrier(); z[gid.x] = part[lid.x ^ 2u]; }",
            "part[lid.x] = 1u; for (var k = 0u; k < a[wid.x] % 5u + 1u; k++) { workgroupBarrier(); let v = part[(lid.x + 1u) & 7u]; workgroupBarrier(); part[lid.x] += v + k; } workgroupBarrier(); z[gid.x] = part[7u - lid.x];",
        ] {
            let group = |elements| {
                let checked = sharing(body).packed(4, 2, true).in_lanes(elements).check();
                let group = &checked.plan.report.groups[0];
                (group.work_groups, group.work_group)
            };
            assert_eq!(group(4), group(0), "{body}");
        }
        let all = sharing("part[lid.x] = a[gid.x]; workgroupBarrier(); z[gid.x] = part[7u - lid.x];");
        all.packed(4, 2, true).in_lanes(4).check().each_of_lanes(2, 2, 4);
    }

    /// Rows in which some invocations have no element, or one fewer, where no barriers of a tree wait for them.
    fn rows_of_other_lengths_are_by_fewer_in_registers() {
        for w in [3, 5, 8, 12, 13, 16] {
            for (shuffles, most) in [(true, 4), (true, 1), (false, 4)] {
                let mut lab = softmax(6, w, Promote::Auto).written_out().packed(4, most, shuffles);
                lab.limits.thread_coarsening.any_loops = false;
                let by_fewer = w % 8 == 0 || shuffles && most > 1;
                lab.check().of(if by_fewer { most } else { 1 }, if by_fewer { 4 } else { 8 });
            }
        }
    }

    /// What a member reads from memory, where another one wrote it, makes one invocation wait for each of its own.
    fn what_is_read_again_in_memory_keeps_its_invocations() {
        for (promote, left) in [(Promote::Auto, 4), (Promote::None, 8)] {
            let mut lab = softmax(8, 16, promote).written_out().packed(4, 4, true);
            lab.limits.thread_coarsening.any_loops = false;
            let checked = lab.check();
            let group = &checked.plan.report.groups[0];
            assert_eq!(group.work_group[0] / group.work_groups, left, "{group:#?}");
        }
    }

    /// Work-groups that are no multiple, where it is not known that sub-groups stay together, or there is no room to pass their number.
    fn work_groups_are_a_multiple_or_told() {
        for (rows, several) in [(6, 2), (5, 1), (8, 4)] {
            let mut lab = softmax(rows, 16, Promote::Auto).packed(4, 4, true);
            lab.limits.thread_coarsening.uniform = false;
            lab.check().of(several, 4);
            let with_room = |bytes: u32| {
                let mut lab = softmax(rows, 16, Promote::Auto).packed(4, 4, true);
                (lab.limits.max_push_bytes, lab.limits.max_uniform_buffers) = (bytes, 0);
                lab.check()
            };
            let needed = with_room(256).plan.steps[0].push.len() as u32;
            with_room(needed).of(4, 4);
            if rows != 8 {
                with_room(needed - 4).of(several, 4);
            }
        }
    }

    fn other_work_groups_stay_alone() {
        // Two sub-groups are left, or it is not known that one is.
        for subgroup in [2, 0, 8] {
            let mut lab = softmax(8, 16, Promote::Auto).packed(4, 4, true);
            lab.limits.thread_coarsening.subgroup = subgroup;
            lab.check().of(1, 4);
        }
        let mut few = softmax(8, 16, Promote::Auto).packed(4, 4, true);
        few.limits.thread_coarsening.least = 9;
        few.check().of(1, 8);
        // Room for two: 64 bytes of the trees, and what is promoted to shared memory.
        let mut lab = softmax(8, 16, Promote::None).packed(4, 8, false);
        lab.limits.max_shared_bytes = 2 * 64;
        lab.check().of(2, 4);
        let mut lab = softmax(8, 16, Promote::None).packed(4, 8, false);
        lab.limits.max_work_group_invocations = 8;
        lab.check().of(2, 4);
        for (most, several) in [(1, 1), (2, 2), (3, 2)] {
            let mut lab = softmax(8, 16, Promote::None).packed(4, 8, false);
            lab.limits.max_subgroups = most;
            lab.check().of(several, 4);
        }
    }

    /// A memory barrier before a barrier says that it orders buffers, too: it stays, although nothing is left in shared memory. A kernel with
    /// atomic operations on a buffer keeps its work-group, and with that all it has.
    fn barriers_stay_that_order_more_than_shared_memory() {
        if !glsl::is_possible() {
            return;
        }
        for (fence, atomic) in [("memoryBarrierBuffer();", false), ("memoryBarrier();", false), ("groupMemoryBarrier();", false), ("", true)] {
            let [store, load, last] = match atomic {
                true => ["atomicExchange(z[i], a[i] + v)", "atomicOr(z[g * 8u + 7u - l], 0u)", "atomicExchange(z[i], other)"],
                false => ["z[i] = a[i] + v", "z[g * 8u + 7u - l]", "z[i] = other"],
            };
            let body = format!(
                "shared uint part[8];--- part[l] = a[i]; barrier();
                 uint v = part[0];
                 if (l < p.x) {store};
                 {fence} barrier();
                 uint other = 0u;
                 if (l < p.x) other = {load};
                 {fence} barrier();
                 if (l < p.x) {last};"
            );
            let text = glsl::glsl("", "a z", "8", &body);
            let flat = kernel("a z", "8", "z[gid.x] = a[gid.x] * 3u;");
            let lab = Lab::new(8 * 4).submit(&flat, [4, 1, 1], &[0, 1], &[]).submit(&text, [4, 1, 1], &[1, 2], &[8]);
            let checked = lab.packed(4, 4, true).check();
            assert_eq!(checked.plan.steps.len(), 1, "{:#?}", checked.plan.report);
            let [shared, _, barriers] = counts(&checked);
            assert_eq!((shared, barriers), (usize::from(atomic), 3), "{fence}");
        }
    }

    /// Each has its ids and its shared memory, also along other sides.
    fn each_has_its_own_ids_and_memory() {
        let body = "part[lid.x] = a[gid.x] + wid.x * 3u + wid.y * 50u; if (lid.x == 0u) { one = wid.x; }
            workgroupBarrier();
            z[(wid.y * nwg.x + wid.x) * 8u + lid.x] = part[7u - lid.x] * 2u + one + nwg.x + nwg.y + gid.y + lix;";
        let text = kernel("a z", "8", &format!("var<workgroup> part: array<u32, 8>; var<workgroup> one: u32;--- {body}"));
        let flat = kernel("a z", "8", "z[(wid.y * nwg.x + wid.x) * 8u + lid.x] = a[(wid.y * nwg.x + wid.x) * 8u + lid.x] + 1u;");
        for (groups, several) in [([4, 2, 1], 4), ([6, 1, 1], 4), ([2, 3, 1], 2), ([3, 2, 1], 2), ([1, 4, 1], 1)] {
            for shuffles in [false, true] {
                let lab = Lab::new(256).submit(&text, groups, &[0, 2], &[]).submit(&flat, groups, &[2, 3], &[]);
                lab.packed(4, 4, shuffles).check().of(several, 4);
            }
        }
        for (groups, several) in [([8, 2, 1], 4), ([6, 1, 1], 2), ([4, 3, 1], 2), ([10, 1, 1], 4)] {
            let lab = Lab::new(256).submit(&text, groups, &[0, 2], &[]).submit(&flat, groups, &[2, 3], &[]);
            lab.packed(4, 4, true).in_lanes(4).check().each_of_lanes(several, 2, 4);
        }
    }

    /// A tree has no shared memory left, and no barrier but its first.
    fn trees_are_in_registers() {
        let list = |shuffles| {
            let lab = Lab::new(8 * 16).promote(1, Promote::Local);
            lab.submit(&reduce("own + v", "x + y"), [8, 1, 1], &[0, 1], &[16])
                .submit(&kernel("a b z", "8", "z[gid.x] = a[gid.x] * b[wid.x];"), [8, 1, 1], &[0, 1, 2], &[])
                .written_out()
                .packed(4, 4, shuffles)
                .check()
        };
        let [shared, shuffles, barriers] = counts(&list(false));
        assert_eq!((shared, shuffles), (2, 0));
        assert!(barriers > 4, "{barriers}");
        // The steps by two and by one, and what the first has for all.
        let [shared, shuffles, barriers] = counts(&list(true));
        assert_eq!((shared, shuffles, barriers), (0, 3, 2));
    }

    fn what_is_not_followed_stays_in_memory() {
        for body in [
            // By data, by a pattern without a shuffle, by somebody who does not keep it.
            "part[lid.x] = a[gid.x]; workgroupBarrier(); z[gid.x] = part[a[gid.x] & 7u];",
            "part[lid.x] = a[gid.x]; workgroupBarrier(); z[gid.x] = part[(lid.x * 3u) & 7u];",
            "part[7u - lid.x] = a[gid.x]; workgroupBarrier(); z[gid.x] = part[lid.x];",
            // Behind a branch, and so behind another barrier than the first.
            "part[lid.x] = a[gid.x]; if (a[gid.x] > 7u) { z[gid.x] = 1u; } workgroupBarrier(); z[gid.x] = part[(lid.x * 3u) & 7u];",
            // In two registers.
            "part[lid.x] = a[gid.x]; workgroupBarrier(); z[gid.x] = part[(lid.x + 1u) & 7u];",
            "part[lid.x] = a[gid.x]; workgroupBarrier(); part[(lid.x + 1u) & 7u] = 3u; workgroupBarrier(); z[gid.x] = part[lid.x];",
        ] {
            let checked = sharing(body).packed(4, 2, true).check().of(2, 4);
            assert!(counts(&checked)[0] > 0, "{body}");
        }
    }

    fn others_registers_are_read_where_all_come_together() {
        for body in [
            "part[lid.x] = a[gid.x]; workgroupBarrier(); if (lid.x < 2u) { part[lid.x] += part[lid.x + 4u] * 3u; } workgroupBarrier(); z[gid.x] = part[lid.x ^ 1u];",
            "part[lid.x] = a[gid.x]; workgroupBarrier(); var v = 1u; if (lid.x >= 5u) { v = part[lid.x - 5u]; } workgroupBarrier(); part[lid.x] = v; workgroupBarrier(); z[gid.x] = part[lid.x ^ 3u] + v;",
            "if (lid.x == 3u) { one = a[gid.x]; } workgroupBarrier(); z[gid.x] = a[gid.x] * one; workgroupBarrier(); if (lid.x == 0u) { one = 5u; } workgroupBarrier(); z[gid.x] += one;",
            "part[lid.x] = a[gid.x]; workgroupBarrier(); let v = part[2]; workgroupBarrier(); if (lid.x == 2u) { part[2] = v * 7u; } workgroupBarrier(); z[gid.x] = part[2] + v;",
            "part[lid.x] = 1u; for (var k = 0u; k < a[wid.x] % 5u + 1u; k++) { workgroupBarrier(); let v = part[(lid.x + 1u) & 7u]; workgroupBarrier(); part[lid.x] += v + k; } workgroupBarrier(); z[gid.x] = part[7u - lid.x];",
            "part[lid.x] = a[gid.x]; workgroupBarrier(); var n = 0u; for (var k = 0u; k < a[gid.x] % 4u; k++) { n += part[5] + k; } z[gid.x] = n;",
            "part[lid.x] = a[gid.x]; workgroupBarrier(); if (wid.x < p.x) { part[lid.x] += part[lid.x]; workgroupBarrier(); z[gid.x] = part[7u - lid.x]; }",
            "part[lid.x] = a[gid.x]; if (a[wid.x] % 2u == 0u) { workgroupBarrier(); let v = part[lid.x ^ 1u]; workgroupBarrier(); part[lid.x] = v * 3u; workgroupBarrier(); z[gid.x] = part[lid.x ^ 2u]; }",
            // One invocation stores and loads, chosen by an unknown condition.
            "part[lid.x] = a[gid.x]; workgroupBarrier(); var v = 0u; if (a[gid.x] * 0u + lid.x == 3u) { part[lid.x] = 77u; v = part[3]; } z[gid.x] = v;",
            "part[lid.x] = a[gid.x]; workgroupBarrier(); var v = 0u; for (var k = 0u; k < a[wid.x] % 3u + 2u; k++) { if (a[gid.x] * 0u + lid.x == 3u) { v += part[3]; part[lid.x] = v * 3u + k; } } z[gid.x] = v;",
            "if (wid.x >= p.x) { return; } part[lid.x] = a[gid.x]; workgroupBarrier(); z[gid.x] = part[7u - lid.x];",
        ] {
            for left in [2, 4, 8] {
                for rounds in [false, true] {
                    let lab = if rounds { sharing(body).written_out() } else { sharing(body) };
                    lab.packed(left, 2, true).check();
                    let lab = if rounds { sharing(body).written_out() } else { sharing(body) };
                    lab.packed(left, 2, true).in_lanes(8).check();
                }
            }
        }
    }

    /// Where it is not known that all come, nothing is taken from before a barrier.
    fn others_registers_are_read_behind_the_barrier() {
        let text = kernel(
            "a u_b z",
            "8",
            "var<workgroup> part: array<u32, 8>;---
             part[lid.x] = a[gid.x];
             if ((u_b.n | 1u) != 0u) {
                 workgroupBarrier();
                 let v = part[lid.x ^ 1u];
                 workgroupBarrier();
                 part[lid.x] = v * 3u + 1u;
                 workgroupBarrier();
                 z[gid.x] = part[lid.x ^ 1u];
             }",
        );
        for left in [2, 4] {
            let lab = with_rows(Lab::new(256), 4).submit(&text, [4, 1, 1], &[0, 5, 2], &[]);
            lab.packed(left, 2, true).check().of(2, left);
        }
    }

    // Whatever an invocation reads of others' words, by rounds and by hand.
    fn exchanges_of_any_kind_are_packed() {
        let count = std::env::var("VKFUSE_EXCHANGES").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
        for seed in 0..count {
            let mut random = Random(seed * 104_729 + 7);
            let steps: String = (0..random.below(3) + 1).map(|_| exchange(&mut random)).collect();
            let mut lab = with_flat(&with_part(&steps));
            let left = 1 << (random.below(3) + 1);
            lab = if random.below(4) > 0 { lab.written_out() } else { lab };
            lab.packed(left, 1 << random.below(3), random.below(4) > 0).check();
        }
    }
}
