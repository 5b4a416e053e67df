//! Fused lists of kernels of `shaders/`, for the kinds of devices that the engine tells apart.

use vkfuse_fuzz::devices::{cpu, desktop, gpu, nvidia};
use vkfuse_jit::plan::{FuseOptions, Promote, plan};

use crate::fixed::{blurs, chain, pair, product, softmax, split, stencils, two_elements};
use crate::round_trip::Outcome;

#[test]
fn lists() {
    let mirrored = |promote| pair("pair/add_mirrored.spv", "pair/mul_grouped.spv", [4, 1, 1], &[], promote);
    let lists = [
        ("chain", chain(1_000_003)),
        ("even chain", chain(1 << 20)),
        ("softmax", softmax(1024, 1024)),
        ("softmax of short rows", softmax(16_384, 256)),
        ("mirrored", mirrored(Promote::Local)),
        ("mirrored, through memory", mirrored(Promote::None)),
        (
            "two dimensions",
            pair("pair/add_2d.spv", "pair/mul_2d.spv", [10, 9, 1], &[79, 67, 1], Promote::Private),
        ),
        ("strided", pair("pair/add_four.spv", "pair/mul_four.spv", [16, 1, 1], &[128], Promote::Private)),
        ("reversal", split()),
        ("product", product()),
        ("stencils", stencils()),
        ("two elements", two_elements()),
        ("blurs", blurs(1024)),
        ("small blurs", blurs(512)),
    ];
    let mut outcome = Outcome::default();
    for (device, limits) in [("desktop", desktop()), ("cpu", cpu()), ("gpu", gpu()), ("nvidia", nvidia())] {
        for (name, list) in &lists {
            let plan = plan(&list.submissions, &FuseOptions::default(), &limits).expect("plan");
            for (number, step) in plan.steps.iter().enumerate() {
                let words = step.build().expect("the module stands");
                outcome.check(&format!("{name} for {device}, step {number}"), &words);
            }
        }
    }
    outcome.finish("fused lists", 0);
}
