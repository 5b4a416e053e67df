//! Several items of a work-group in one invocation: what they load once, where they part, and where they are done one after another.

use rspirv::dr::{Module, Operand, load_words};
use rspirv::spirv::{ExecutionMode, Op};

use super::lab::{Checked, Lab, View, kernel};

/// A list of kernels over a grid of `w` columns and `h` rows, in work-groups of 8 x 8.
fn grid(w: u32, h: u32, items: u32) -> Lab {
    let mut lab = Lab::new(u64::from(w * h));
    (lab.limits.shape.lockstep, lab.limits.shape.lanes) = (items, 1);
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

    /// Demands that an invocation does so many items, and loads so often from buffers where it does them together.
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

    /// A row before the first is one after the last, as words go.
    fn clamps_of_words_that_wrap_are_not_left_out() {
        let body = "let up = min(y - 1u, p.y - 1u); let down = min(y + 1u, p.y - 1u);
             z[i] = a[up * p.x + x] + 3u * a[i] + 5u * a[down * p.x + x];";
        for h in [16, 21, 7] {
            stencil(16, h, 4, body).check().fused(0).in_lockstep(4, 6 + 4);
        }
    }

    /// What a loop over constants goes through is written out, in two dimensions.
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
        (list.limits.shape.lockstep, list.limits.shape.lanes) = (4, 1);
        let both = kernel("a b z", "64", "let i = gid.x; if (i >= p.x) { return; }
            var v = 0u; if (i < p.y) { v = a[i] * 2u; } else { v = b[i - p.y] + 1u; } z[i] = v;");
        let views = |all: &[u64]| all.iter().map(|&buffer| View::from(buffer)).collect::<Vec<_>>();
        let list = list
            .submit_views(&half(0), [3, 1, 1], &views(&[0, 1]), &[160])
            .submit_views(&both, [5, 1, 1], &views(&[2, 3, 4]), &[320, 160]);
        list.check().fused(0).in_lockstep(4, 12);
    }

    /// Barriers and loops of unknown length have no way for several items.
    fn kernels_that_are_not_free_are_left() {
        let list = grid(16, 16, 4)
            .submit(&over("a z", GAIN), groups(16, 16), &[0, 1], &[16, 16])
            .submit(&over("a z", "z[i] = a[i] + nwg.x;"), groups(16, 16), &[1, 2], &[16, 16]);
        assert_eq!(list.check().fused(0).plan.report.groups[0].items_per_invocation, 1);
    }
}
