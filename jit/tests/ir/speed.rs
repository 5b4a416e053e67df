//! What import and export take.

use std::time::{Duration, Instant};

use rspirv::dr;
use vkfuse_fuzz::devices::gpu;
use vkfuse_jit::ir;
use vkfuse_jit::plan::{FuseOptions, plan};

use crate::fixed;

/// The shortest of many runs.
fn shortest(mut run: impl FnMut()) -> Duration {
    let one = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..100).map(one).min().unwrap_or_default()
}

#[test]
fn four_kernels_take_well_under_a_millisecond() {
    for (name, list) in [("chain", fixed::chain(1_000_003)), ("softmax", fixed::softmax(1024, 1024))] {
        let plan = plan(&list.submissions, &FuseOptions::default(), &gpu()).expect("plan");
        let words = plan.steps[0].build().expect("the module stands");
        let source = dr::load_words(&*words).expect("decodes");
        let count = source.all_inst_iter().count();
        let there = ir::import(&source).expect("supported");
        let (import, verify, export) = (
            shortest(|| drop(ir::import(&source))),
            shortest(|| drop(ir::verify(&there))),
            shortest(|| drop(ir::export(&there))),
        );
        println!("{name}, {count} instructions: import {import:?}, export {export:?}, verify {verify:?}");
        let limit = if cfg!(debug_assertions) { 20 } else { 1 };
        assert!(import + export < Duration::from_millis(limit), "{name}: {import:?} and {export:?}");
    }
}
