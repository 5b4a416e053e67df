//! Results that an invocation keeps as it stores them: what may be kept, and what must be loaded again.

use vkfuse_jit::plan::{BlockCoarseningLimits, Promote};

use rspirv::dr::Operand;
use rspirv::spirv::Decoration;

use super::lab::{Checked, Lab, kernel};
use super::rows::{reduce, spread};

fn keeping(elements: u64) -> Lab {
    let mut lab = Lab::new(elements);
    lab.limits.kept_result_bytes = 64;
    lab
}

impl Checked {
    /// Demands that this many places take what was stored before.
    #[track_caller]
    fn kept(self, loads: u32) -> Self {
        let report = &self.plan.report;
        assert_eq!(self.plan.steps.len(), 1, "{report:#?}");
        assert_eq!(report.groups[0].loads_kept, loads, "{report:#?}");
        self
    }
}

/// One element of `z` for each of `a`, item by item.
fn flat(value: &str) -> String {
    kernel("a z", "8", &format!("let i = gid.x; z[i] = {value};"))
}

probes! {
    fn a_result_that_is_read_again_is_kept_as_it_is_stored() {
        keeping(64)
            .submit(&flat("a[i] + 1u"), [4, 1, 1], &[0, 1], &[])
            .submit(&flat("a[i] * 3u"), [4, 1, 1], &[1, 2], &[])
            .submit(&flat("a[i] ^ 5u"), [4, 1, 1], &[1, 3], &[])
            .check()
            .kept(2);
        // Written twice: who reads between finds the first, and who reads then the second.
        keeping(64)
            .submit(&flat("a[i] + 1u"), [4, 1, 1], &[0, 1], &[])
            .submit(&flat("a[i] * 3u"), [4, 1, 1], &[1, 2], &[])
            .submit(&flat("a[i] + 9u"), [4, 1, 1], &[0, 1], &[])
            .submit(&flat("a[i] ^ 5u"), [4, 1, 1], &[1, 3], &[])
            .check()
            .kept(2);
    }

    /// A driver keeps the order of what is coherent, and could not load all rounds of a row at once.
    fn a_result_that_nobody_loads_is_not_coherent() {
        let coherent = |kept: u32| {
            let mut lab = Lab::new(32)
                .submit(&flat("a[i] + 1u"), [4, 1, 1], &[0, 1], &[])
                .submit(&flat("a[i] * 3u"), [4, 1, 1], &[1, 2], &[]);
            lab.limits.kept_result_bytes = kept;
            let checked = lab.check().fused(0);
            let module = rspirv::dr::load_words(checked.plan.steps[0].build().expect("a module")).expect("a module");
            let coherent = Operand::Decoration(Decoration::Coherent);
            module.annotations.iter().filter(|inst| inst.operands.contains(&coherent)).count()
        };
        assert_eq!((coherent(64), coherent(0)), (0, 1));
    }

    fn a_row_that_is_a_result_is_kept_as_it_is_stored() {
        for (w, kept) in [(16, 2), (32, 2), (20, 2), (5, 2), (160, 0)] {
            let mut lab = keeping(5 * w)
                .promote(1, Promote::Local)
                .submit(&spread("a[at] * 7u + b[wid.x]"), [5, 1, 1], &[4, 5, 0], &[w as u32])
                .submit(&reduce("max(own, v)", "max(x, y)"), [5, 1, 1], &[0, 1], &[w as u32])
                .submit(&spread("b[wid.x] * 3u - a[at]"), [5, 1, 1], &[0, 1, 2], &[w as u32]);
            lab.limits.block_coarsening = BlockCoarseningLimits { work_groups: 2, least: 1, private_bytes: 256, shared_bytes: 0 };
            lab.check().kept(kept);
        }
    }

    fn a_result_of_others_is_loaded() {
        // The neighbour's, and one that only some have stored.
        keeping(64)
            .submit(&flat("a[i] + 1u"), [4, 1, 1], &[0, 1], &[])
            .submit(&flat("a[i ^ 1u] * 3u"), [4, 1, 1], &[1, 2], &[])
            .submit(&flat("a[i] ^ 5u"), [4, 1, 1], &[1, 3], &[])
            .check()
            .kept(0);
        let some = kernel("a z", "8", "if (lid.x < 5u) { z[gid.x] = a[gid.x] + 1u; }");
        keeping(64)
            .submit(&some, [4, 1, 1], &[0, 1], &[])
            .submit(&flat("a[i] * 3u"), [4, 1, 1], &[1, 2], &[])
            .check()
            .kept(0);
        // Of two that store, one in another order.
        let turned = kernel("a z", "8", "z[wid.x * 8u + 7u - lid.x] = a[gid.x];");
        keeping(64)
            .submit(&flat("a[i] + 1u"), [4, 1, 1], &[0, 1], &[])
            .submit(&turned, [4, 1, 1], &[0, 1], &[])
            .submit(&flat("a[i] * 3u"), [4, 1, 1], &[1, 2], &[])
            .check()
            .kept(0);
    }

    // The second result is read before it is written.
    fn what_was_there_before_is_loaded() {
        keeping(64)
            .submit(&flat("a[i] + 1u"), [4, 1, 1], &[0, 1], &[])
            .submit(&flat("a[i] * 3u"), [4, 1, 1], &[1, 0], &[])
            .submit(&flat("a[i] ^ 5u"), [4, 1, 1], &[0, 2], &[])
            .check()
            .kept(1);
    }

    fn what_is_written_through_another_view_is_loaded_again() {
        let (a, view) = ((0u64, 0u64, 32u64), (0u64, 16u64, 32u64));
        keeping(64)
            .submit_views(&flat("a[i] + 1u"), [2, 1, 1], &[view.into(), 1.into()], &[])
            .submit_views(&flat("a[i] * 3u"), [2, 1, 1], &[2.into(), (0u64, 16u64, 16u64).into()], &[])
            .submit_views(&flat("a[i] ^ 5u"), [2, 1, 1], &[view.into(), 3.into()], &[])
            .submit_views(&flat("a[i] ^ 7u"), [2, 1, 1], &[a.into(), 4.into()], &[])
            .check();
    }

    fn registers_are_limited() {
        for (most, kept) in [(16, 2), (12, 0)] {
            let mut lab = keeping(160)
                .promote(1, Promote::Local)
                .submit(&spread("a[at] * 7u + b[wid.x]"), [5, 1, 1], &[4, 5, 0], &[32])
                .submit(&reduce("max(own, v)", "max(x, y)"), [5, 1, 1], &[0, 1], &[32])
                .submit(&spread("b[wid.x] * 3u - a[at]"), [5, 1, 1], &[0, 1, 2], &[32]);
            lab.limits.kept_result_bytes = most;
            lab.check().kept(kept);
        }
    }
}
