//! Several items of a work-group in one invocation: what they load once, where they part, and where they are done one after another.

use rspirv::dr::{Module, Operand, load_words};
use rspirv::spirv::{ExecutionMode, Op};

use super::lab::{Checked, Lab, View, kernel};

/// A list of kernels over a grid of `w` columns and `h` rows, in work-groups of 8 x 8.
fn grid(w: u32, h: u32, items: u32) -> Lab {
    let mut lab = Lab::new(u64::from(w * h));
    (lab.limits.shape.superword, lab.limits.shape.lanes) = (items, 1);
    lab
}

fn groups(w: u32, h: u32) -> [u32; 3] {
    [w.div_ceil(8), h.div_ceil(8), 1]
}

/// One element of `z` for each place, behind a guard.
fn over(names: &str, body: &str) -> String {
    kernel(
        names,
        "8, 8",
        &format!(
            "let x = gid.x; let y = gid.y; if (x >= p.x || y >= p.y) {{ return; }} let i = y * p.x + x; {body}"
        ),
    )
}

impl Checked {
    /// The one module of the list.
    #[track_caller]
    pub(crate) fn module(&self) -> Module {
        assert_eq!(self.plan.steps.len(), 1, "{:#?}", self.plan.report);
        load_words(self.plan.steps[0].build().expect("code")).expect("a module")
    }

    /// Demands that an invocation does this many items, and loads so often from buffers where it does them together.
    #[track_caller]
    fn in_lockstep(self, items: u32, loads: usize) -> Self {
        let module = self.module();
        let modes = module.execution_modes.iter();
        let size = modes
            .filter(|mode| mode.operands[1] == Operand::ExecutionMode(ExecutionMode::LocalSize))
            .flat_map(|mode| &mode.operands[2..])
            .map(|operand| match operand {
                Operand::LiteralBit32(size) => *size,
                other => panic!("{other:?}"),
            })
            .product::<u32>();
        let report = &self.plan.report.groups[0];
        assert_eq!((size * items, report.items_per_invocation), (64, items), "{:#?}", self.plan.report);
        assert_eq!(report.work_group.iter().product::<u32>(), size);
        // The entry point stands last. Chains into buffers have an index of the block's member and one of the element.
        let entry = module.functions.last().expect("an entry point");
        let chains: Vec<u32> = { entry.all_inst_iter() }
            .filter(|inst| inst.class.opcode == Op::AccessChain && inst.operands.len() == 3)
            .filter_map(|inst| inst.result_id)
            .collect();
        let loaded = entry.all_inst_iter().filter(|inst| {
            inst.class.opcode == Op::Load
                && inst.operands[0].id_ref_any().is_some_and(|id| chains.contains(&id))
        });
        assert_eq!(loaded.count(), loads);
        self
    }
}

impl Checked {
    /// Demands that an invocation does four items next to each other where they are in the middle, which there load this many vectors and
    /// words from buffers, and store this many vectors.
    #[track_caller]
    fn in_vectors(self, vectors: usize, words: usize, stores: usize) -> Self {
        let module = self.module();
        let report = &self.plan.report.groups[0];
        assert_eq!(
            (report.work_group, report.items_per_invocation),
            ([2, 8, 1], 4),
            "{:#?}",
            self.plan.report
        );
        let is_vector = |ty: u32| {
            let mut types = module.types_global_values.iter();
            types.any(|inst| inst.result_id == Some(ty) && inst.class.opcode == Op::TypeVector)
        };
        let entry = module.functions.last().expect("an entry point");
        let body = || entry.all_inst_iter();
        let type_of =
            |id: u32| body().find(|inst| inst.result_id == Some(id)).and_then(|inst| inst.result_type);
        let of_buffer = |inst: &&rspirv::dr::Instruction| {
            let pointer = inst.operands[0].id_ref_any();
            body().any(|chain| {
                chain.result_id == pointer
                    && chain.class.opcode == Op::AccessChain
                    && chain.operands.len() == 3
            })
        };
        let loads = body().filter(|inst| inst.class.opcode == Op::Load).filter(of_buffer);
        let (wide, narrow): (Vec<_>, Vec<_>) =
            loads.partition(|load| is_vector(load.result_type.expect("a type")));
        let stored = body().filter(|inst| inst.class.opcode == Op::Store).filter(of_buffer);
        let all: Vec<bool> = stored
            .map(|store| type_of(store.operands[1].id_ref_any().expect("a value")).is_some_and(is_vector))
            .collect();
        assert_eq!((wide.len(), narrow.len(), all), (vectors, words, vec![true; stores]));
        self
    }
}

/// Buffers of this many elements, on a device that likes vectors.
fn in_fours(elements: u32) -> Lab {
    let mut lab = grid(elements, 1, 4);
    lab.limits.shape.vectors = true;
    lab
}

const GAIN: &str = "z[i] = a[i] * 3u;";

/// The sum of a cross, by clamps.
const CROSS: &str =
    "let up = u32(clamp(i32(y) - 1, 0, i32(p.y) - 1)); let down = u32(clamp(i32(y) + 1, 0, i32(p.y) - 1));
     z[i] = a[up * p.x + x] + 3u * a[i] + 5u * a[down * p.x + x];";

/// The same by the least and the greatest.
const EXTREMES: &str = "let up = max(y, 1u) - 1u; let down = min(y + 1u, p.y - 1u);
     z[i] = a[up * p.x + x] + 3u * a[i] + 5u * a[down * p.x + x];";

fn stencil(w: u32, h: u32, items: u32, body: &str) -> Lab {
    grid(w, h, items).submit(&over("a z", body), groups(w, h), &[0, 1], &[w, h]).submit(
        &over("a z", GAIN),
        groups(w, h),
        &[1, 2],
        &[w, h],
    )
}

probes! {
    /// Rows below each other: `n + 2` loads instead of `3 n`, and `n` of what has been stored.
    fn rows_that_items_have_in_common_are_loaded_once() {
        for (w, h) in [(16, 16), (19, 21), (8, 40), (5, 3), (24, 9)] {
            for body in [CROSS, EXTREMES] {
                stencil(w, h, 4, body).check().fused(0).in_lockstep(4, 6 + 4);
                stencil(w, h, 2, body).check().fused(0).in_lockstep(2, 4 + 2);
                stencil(w, h, 8, body).check().fused(0).in_lockstep(8, 10 + 8);
            }
        }
    }

    /// Each kernel has two, those of its guard.
    fn conditions_of_all_items_have_room() {
        for (conditions, items) in [(16, 4), (15, 2), (8, 2)] {
            let mut lab = stencil(19, 21, 4, CROSS);
            lab.limits.shape.conditions = Some(conditions);
            lab.check().fused(0).in_lockstep(items, usize::try_from(2 * items + 2).expect("few"));
        }
    }

    /// A row before the first is one after the last, as words go.
    fn clamps_of_words_that_wrap_are_not_left_out() {
        let body = "let up = min(y - 1u, p.y - 1u); let down = min(y + 1u, p.y - 1u);
             z[i] = a[up * p.x + x] + 3u * a[i] + 5u * a[down * p.x + x];";
        for h in [16, 21, 7] {
            stencil(16, h, 4, body).check().fused(0).in_lockstep(4, 6 + 4);
        }
    }

    /// What a loop over constants goes through is unrolled, in two dimensions.
    fn windows_in_loops_are_loaded_once() {
        let body = "var sum = 0u;
             for (var dy = -1; dy <= 1; dy += 1) { for (var dx = -1; dx <= 1; dx += 1) {
                 let px = u32(clamp(i32(x) + dx, 0, i32(p.x) - 1)); let py = u32(clamp(i32(y) + dy, 0, i32(p.y) - 1));
                 sum = sum * 3u + a[py * p.x + px];
             } }
             z[i] = sum;";
        for (w, h) in [(16, 16), (13, 10)] {
            stencil(w, h, 4, body).check().fused(0).in_lockstep(4, 18 + 4);
        }
    }

    /// Halves of the rows are one row of the source.
    fn elements_that_are_repeated_are_loaded_once() {
        let body = "z[i] = a[(y / 2u) * p.x + x / 2u];";
        stencil(16, 16, 4, body).check().fused(0).in_lockstep(4, 2 + 4);
        // Thirds of four rows are not the same for all.
        let body = "z[i] = a[(y / 3u) * p.x + x] + a[(y % 3u) * p.x + x];";
        stencil(16, 16, 4, body).check().fused(0).in_lockstep(4, 8 + 4);
        let body = "z[i] = a[(y >> 1u) * p.x + x] + a[(y & 3u) * p.x + x];";
        stencil(16, 16, 4, body).check().fused(0).in_lockstep(4, 2 + 4 + 4);
    }

    /// The same element, before and after somebody stores it.
    fn what_is_stored_is_loaded_again() {
        let list = grid(16, 12, 4)
            .submit(&over("a z", "z[i] = a[i] + 1u;"), groups(16, 12), &[1, 2], &[16, 12])
            .submit(&over("a z", "z[i] = a[i] * 5u;"), groups(16, 12), &[0, 1], &[16, 12])
            .submit(&over("a z", "z[i] = a[i] + 7u;"), groups(16, 12), &[1, 3], &[16, 12]);
        list.check().fused(0).in_lockstep(4, 12);
        // Neighbours are somebody else's: the kernels stay apart.
        let apart = grid(16, 12, 4)
            .submit(&over("a z", GAIN), groups(16, 12), &[0, 1], &[16, 12])
            .submit(&over("a z", CROSS), groups(16, 12), &[1, 2], &[16, 12])
            .check();
        assert_eq!(apart.plan.steps.len(), 2);
    }

    /// Items of one invocation on both sides of a branch that loads.
    fn items_that_part_are_done_one_after_another() {
        for first in [0, 3, 4, 6, 8, 12, 40] {
            let body = "var v = 1u; if (y < p.z) { v = a[i] * 2u; } else { v = b[i] + 9u; } z[i] = v;";
            let list = grid(8, 13, 4)
                .submit(&over("a b z", body), groups(8, 13), &[0, 3, 1], &[8, 13, first])
                .submit(&over("a z", GAIN), groups(8, 13), &[1, 2], &[8, 13]);
            list.check().fused(0).in_lockstep(4, 8 + 4);
        }
    }

    /// Both sides only compute, by what was loaded.
    fn choices_by_values_are_computed_on_both_sides() {
        let body = "var v = a[i]; if (v % 3u == p.z) { v = v * 7u + x; } z[i] = v;";
        let list = grid(11, 13, 4)
            .submit(&over("a z", body), groups(11, 13), &[0, 1], &[11, 13, 1])
            .submit(&over("a z", GAIN), groups(11, 13), &[1, 2], &[11, 13]);
        list.check().fused(0).in_lockstep(4, 4 + 4);
    }

    /// A vector that is made of shorter ones has their components, not those as its own.
    fn vectors_of_vectors_have_their_components() {
        let (own, pair) = ("vec4u(vec3u(a[i], a[i] * 3u, i), 7u)", "vec4u(i, vec2u(a[i], a[i] ^ 5u), 9u)");
        for (vector, parts) in [(own, "v.y * 11u + v.z"), (pair, "v.z * 11u + v.y"), (pair, "v.w + v.zx.x")] {
            let body = format!("let v = {vector}; z[i] = {parts};");
            let list = grid(11, 13, 4)
                .submit(&over("a z", &body), groups(11, 13), &[0, 1], &[11, 13])
                .submit(&over("a z", GAIN), groups(11, 13), &[1, 2], &[11, 13]);
            list.check().fused(0).in_lockstep(4, 4 + 4);
        }
    }

    /// What stays inside is handed over item by item.
    fn items_keep_what_they_hand_over() {
        for (w, h) in [(16, 16), (9, 14)] {
            let list = grid(w, h, 4)
                .promote(1, vkfuse_jit::plan::Promote::Private)
                .submit(&over("a z", CROSS), groups(w, h), &[0, 1], &[w, h])
                .submit(&over("a z", "z[i] = a[i] * 3u + lid.y + 10u * lix;"), groups(w, h), &[1, 2], &[w, h]);
            list.check().fused(0).in_lockstep(4, 6);
        }
    }

    /// Lines of 64, of ranges of their own, with items that part.
    fn items_of_lines_are_apart() {
        let half = |first: u32| kernel("a z", "64", &format!("let i = gid.x; if (i < p.x) {{ z[i + {first}u] = a[i] ^ 5u; }}"));
        let mut list = Lab::new(320);
        (list.limits.shape.superword, list.limits.shape.lanes) = (4, 1);
        let both = kernel("a b z", "64", "let i = gid.x; if (i >= p.x) { return; }
            var v = 0u; if (i < p.y) { v = a[i] * 2u; } else { v = b[i - p.y] + 1u; } z[i] = v;");
        let views = |all: &[u64]| all.iter().map(|&buffer| View::from(buffer)).collect::<Vec<_>>();
        let list = list
            .submit_views(&half(0), [3, 1, 1], &views(&[0, 1]), &[160])
            .submit_views(&both, [5, 1, 1], &views(&[2, 3, 4]), &[320, 160]);
        list.check().fused(0).in_lockstep(4, 12);
    }

    /// Rows whose lengths are multiples of four: what four items load and store next to each other are vectors. Those that the first kernel stores are
    /// not loaded by the second.
    fn items_next_to_each_other_are_vectors() {
        let list = |w: u32, h: u32, body: &str| {
            let first = in_fours(w * h).submit(&over("a z", body), groups(w, h), &[0, 1], &[w, h]);
            first.submit(&over("a z", GAIN), groups(w, h), &[1, 2], &[w, h]).check().fused(0)
        };
        for (w, h) in [(16, 16), (24, 9), (8, 40), (20, 7), (4, 3)] {
            list(w, h, CROSS).in_vectors(3, 0, 2);
            // Neighbours of the first and the last item are words.
            let sides = "let left = max(x, 1u) - 1u; let right = min(x + 1u, p.x - 1u);
                 z[i] = a[y * p.x + left] + 3u * a[i] + 5u * a[y * p.x + right];";
            list(w, h, sides).in_vectors(1, 2, 2);
            let window = "var sum = 0u;
                 for (var dy = -1; dy <= 1; dy += 1) { for (var dx = -1; dx <= 1; dx += 1) {
                     let px = u32(clamp(i32(x) + dx, 0, i32(p.x) - 1)); let py = u32(clamp(i32(y) + dy, 0, i32(p.y) - 1));
                     sum = sum * 3u + a[py * p.x + px];
                 } }
                 z[i] = sum;";
            list(w, h, window).in_vectors(3, 6, 2);
            let halves = "z[i] = a[(y / 2u) * p.x + x / 2u];";
            list(w, h, halves).in_vectors(0, 2, 2);
            let below = "z[i] = a[i] + a[select(0u, i - 4u, i > 3u)];";
            list(w, h, below).in_vectors(1, 4, 2);
        }
        // Rows of other lengths, and the items of one invocation apart.
        list(18, 9, CROSS).in_lockstep(4, 6 + 4);
        list(7, 21, CROSS).in_lockstep(4, 6 + 4);
        let turned = "z[x * p.y + y] = a[i];";
        let turned = in_fours(256).submit(&over("a z", turned), groups(16, 16), &[0, 1], &[16, 16]);
        let turned = turned.submit(&over("a z", "z[x * p.y + y] = a[x * p.y + y] + 1u;"), groups(16, 16), &[1, 2], &[16, 16]);
        turned.check().fused(0).in_lockstep(4, 8);
        // A buffer that is written and loaded word by word by one invocation.
        let both = in_fours(256).submit(&over("a z", "z[i] = a[i] + a[(y / 2u) * p.x + x / 2u];"), groups(16, 16), &[0, 1], &[16, 16]);
        let both = both.submit(&over("a z", "z[i] = a[i + 0u * a[0u]] + 1u;"), groups(16, 16), &[1, 2], &[16, 16]);
        assert_eq!(both.check().plan.steps.len(), 2);
    }

    /// A side that goes on to the next round comes back to the branch, which is decided by then.
    fn sides_that_go_on_to_the_next_round_do_not_meet() {
        let border = "var sum = 0u;
             for (var d = 0u; d < 3u; d += 1u) { if (d == 0u && y == 0u) { continue; } sum = sum * 3u + a[(y + d - 1u) * p.x + x]; }
             z[i] = sum;";
        let nested = "var sum = 0u;
             for (var k = 0u; k < 2u; k += 1u) { for (var d = 0u; d < 3u; d += 1u) {
                 if (d + k == 0u && x > p.z) { sum += 7u; continue; } sum = sum * 5u + a[y * p.x + (x + d) % 4u] + d;
             } }
             z[i] = sum;";
        let stored = "for (var d = 0u; d < 3u; d += 1u) { z[i] = d + a[i]; if (d == 0u && y == 1u) { continue; } z[i] = z[i] * 3u + d; }";
        for (w, h) in [(16, 16), (8, 8), (13, 10)] {
            for (body, first) in [(border, 0), (nested, 5), (stored, 0)] {
                for items in [2, 4] {
                    let mut list = in_fours(w * (h + 2));
                    list.limits.shape.superword = items;
                    let list = list.submit(&over("a z", body), groups(w, h), &[0, 1], &[w, h, first]);
                    list.submit(&over("a z", GAIN), groups(w, h), &[1, 2], &[w, h]).check().fused(0);
                }
            }
        }
    }

    /// Elements whose numbers end where those with a sign do.
    fn elements_that_nobody_touches_are_not_loaded() {
        let body = "z[i] = a[y * p.x * 2u + x * 2u + 0x7ffffff8u + 4u * p.z];";
        let list = in_fours(512);
        let whole = View::from(1);
        let list = list.submit_views(&over("a z", body), groups(16, 16), &[View::from((0, 0, 511)), whole], &[16, 16, 0x2000_0002]);
        let list = list.submit_views(&over("a z", GAIN), groups(16, 16), &[whole, View::from(2)], &[16, 16]);
        list.check().fused(0).in_vectors(0, 4, 2);
    }

    /// Work-groups are made larger where no one asks which an item is of, as far as this many are there.
    fn work_groups_are_larger_where_nobody_can_tell() {
        let list = |w: u32, h: u32, size: u32, body: &str| {
            let mut first = in_fours(w * h);
            first.limits.shape.group_size = size;
            (first.limits.max_work_group_invocations, first.limits.max_work_group_size) = (1024, [1024, 1024, 64]);
            let first = first.submit(&over("a z", body), groups(w, h), &[0, 1], &[w, h]);
            let checked = first.submit(&over("a z", GAIN), groups(w, h), &[1, 2], &[w, h]).check().fused(0);
            checked.plan.report.groups[0].work_group
        };
        // In vectors, rather wide than high: 32 invocations of four items are 128.
        assert_eq!(list(64, 16, 32, CROSS), [4, 8, 1]);
        assert_eq!(list(16, 64, 32, CROSS), [4, 8, 1]);
        // Three work-groups are one or three.
        assert_eq!(list(24, 24, 256, CROSS), [6, 24, 1]);
        assert_eq!(list(24, 40, 64, CROSS), [6, 8, 1]);
        // Below each other, where rows have other lengths.
        assert_eq!(list(22, 16, 256, CROSS), [24, 4, 1]);
        // Who asks for it keeps it, and is too small for vectors.
        let asks = "z[i] = a[i] + wid.x + 7u * lid.y + lix;";
        assert_eq!(list(32, 32, 256, asks), [8, 2, 1]);
        assert_eq!(list(32, 32, 256, "z[i] = a[i] + lid.x;"), [8, 2, 1]);
        // Lines that are next to each other for one side alone, and no vectors: as they are.
        assert_eq!(list(22, 16, 256, "z[i] = a[x * p.y + y];"), [8, 2, 1]);
    }

    /// Rows that are stored to begin at multiples of four, and others do not.
    fn rows_that_begin_elsewhere_are_no_vectors() {
        for (first, further) in [(1, 3), (4, 0), (2, 2), (3, 5)] {
            let (list, w, h) = (in_fours(160), 16, 8);
            let moved = over("a z", "z[i + p.z + p.w] = a[i + p.z] * 3u;");
            let after = over("a z", "z[i + p.z + p.w] = a[i + p.z + p.w] + 1u;");
            let push = [w, h, first, further];
            let list = list.submit(&moved, groups(w, h), &[0, 1], &push).submit(&after, groups(w, h), &[1, 2], &push);
            let checked = list.check().fused(0);
            assert_eq!(checked.plan.report.groups[0].work_group, [2, 8, 1]);
        }
    }

    /// Buffers that start elsewhere than vectors may have none.
    fn buffers_that_start_elsewhere_have_no_vectors() {
        for (from, to, own) in [
            (0, 0, [2, 8, 1]),
            (4, 8, [2, 8, 1]),
            (1, 0, [8, 2, 1]),
            (2, 4, [8, 2, 1]),
            (0, 1, [8, 2, 1]),
            (3, 3, [8, 2, 1]),
        ] {
            let view = |buffer: u64, first: u64| View::from((buffer, first, 128));
            let list = in_fours(160)
                .submit_views(&over("a z", CROSS), groups(16, 8), &[view(0, from), view(1, to)], &[16, 8])
                .submit_views(&over("a z", GAIN), groups(16, 8), &[view(1, to), view(2, to)], &[16, 8]);
            assert_eq!(list.check().fused(0).plan.report.groups[0].work_group, own, "{from} {to}");
        }
    }

    /// Barriers and loops of unknown length have no way for several items.
    fn kernels_that_are_not_free_are_left() {
        let list = grid(16, 16, 4)
            .submit(&over("a z", GAIN), groups(16, 16), &[0, 1], &[16, 16])
            .submit(&over("a z", "z[i] = a[i] + nwg.x;"), groups(16, 16), &[1, 2], &[16, 16]);
        assert_eq!(list.check().fused(0).plan.report.groups[0].items_per_invocation, 1);
    }
}
