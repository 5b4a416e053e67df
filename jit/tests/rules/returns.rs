//! Returns of kernels that are placed on the rows of others, where each ends one item of several.

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::Op;

use super::lab::{Lab, kernel};
use super::placement::{norm, over};

/// How many branches lead to the continue target of each loop.
fn ways_to_the_next_round(module: &Module) -> Vec<usize> {
    let ids = |inst: &Instruction| inst.operands.iter().filter_map(Operand::id_ref_any).collect::<Vec<_>>();
    let blocks = || module.functions.iter().flat_map(|function| &function.blocks);
    let loops =
        blocks().flat_map(|block| &block.instructions).filter(|inst| inst.class.opcode == Op::LoopMerge);
    let ways = |target| {
        let lasts = blocks().filter_map(|block| block.instructions.last());
        lasts.filter(|last| ids(last).contains(&target)).count()
    };
    loops.map(|inst| ways(ids(inst)[1])).collect()
}

probes! {
    /// Which is what a loop has to have to be unrolled, and what NVIDIA's compiler can take.
    fn one_way_leads_from_an_item_to_the_next() {
        let bodies = [
            "if (i < p.y) { let w = a[i]; z[i] = w; if (w % 2u == 0u) { return; } z[i] = w * 2u; }",
            "if (i >= p.y) { return; } z[i] = 1u; if (a[i] % 2u == 0u) { z[i] = 2u; return; } else { z[i] = 3u; }
             z[i] += a[i];",
            "if (i < p.y) { if (a[i] % 3u == 0u) { z[i] = 1u; return; } else if (a[i] % 3u == 1u) { z[i] = 5u; return; }
                 z[i] = a[i]; }",
            "if (i >= p.y) { return; } if (a[i] % 2u == 0u) { z[i] = 4u; return; } else { z[i] = 6u; return; }",
        ];
        for body in bodies {
            let first = kernel("a z", "16", &format!("let i = gid.x; {body}"));
            let checked = Lab::rewriting(60)
                .submit(&first, over(60), &[0, 1], &[12, 60])
                .submit(&norm(), [5, 1, 1], &[1, 2], &[12])
                .check()
                .fused(0)
                .on_rows(12, &[0]);
            let module = rspirv::dr::load_words(checked.plan.steps[0].build().expect("a module")).expect("a module");
            let ways = ways_to_the_next_round(&module);
            assert!(!ways.is_empty() && ways.iter().all(|ways| *ways == 1), "{body}: {ways:?}");
        }
    }
}
