//! Kernels of both generators, and what their lists are fused to.

use rspirv::binary::Assemble as _;
use vkfuse_fuzz::wgsl::{Generator, limits};
use vkfuse_fuzz::{List, Pool, devices, has_front_end};
use vkfuse_jit::plan::{FuseOptions, Limits, Submission, plan};

use crate::round_trip::Outcome;

fn fused(name: &str, list: &[Submission], limits: &Limits, outcome: &mut Outcome) {
    let Ok(plan) = plan(list, &FuseOptions::default(), limits) else { return };
    for (number, step) in plan.steps.iter().enumerate().filter(|(_, step)| step.is_fused()) {
        let words = step.build().expect("the module stands");
        outcome.check(&format!("{name}, step {number}"), &words);
    }
}

/// How many kernels: `VKFUSE_IR_KERNELS`, or a few hundred.
fn count() -> usize {
    std::env::var("VKFUSE_IR_KERNELS").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

#[test]
fn kernels_and_lists_of_the_first_generator() {
    let (mut kernels, mut lists) = (Outcome::default(), Outcome::default());
    let mut seed = 0;
    let mut left = count();
    while left > 0 {
        let generator = Generator::new(seed, 4);
        for (number, kernel) in generator.kernels().iter().enumerate().take(left) {
            if let Ok(form) = &kernel.kernel.normal {
                kernels.check(&format!("seed {seed}, kernel {number}"), &form.module.assemble());
            }
        }
        for number in 0..8 {
            let case = generator.case(number);
            fused(&format!("seed {seed}, list {number}"), &case.submissions, &limits(&case), &mut lists);
        }
        left = left.saturating_sub(generator.kernels().len());
        seed += 1;
    }
    kernels.finish("kernels of the first generator", 0);
    lists.finish("lists of the first generator", 0);
}

#[test]
fn kernels_and_lists_of_the_second_generator() {
    if !has_front_end() {
        return;
    }
    let (mut kernels, mut lists) = (Outcome::default(), Outcome::default());
    for seed in 0..(count() / 10).max(1) as u64 {
        let pool = Pool::new(seed, 10);
        for (number, module) in pool.modules().enumerate() {
            kernels.check(&format!("seed {seed}, kernel {number}"), module.words());
        }
        for number in 0..6 {
            let list = List::new(&pool, seed, number, 2);
            let Ok(submissions) = list.submissions(&pool) else { continue };
            let all = [devices::middling(), devices::gpu(), devices::nvidia(), devices::cpu()];
            let limits = all[number % all.len()];
            fused(&format!("seed {seed}, list {number}"), &submissions, &limits, &mut lists);
        }
    }
    kernels.finish("kernels of the second generator", 0);
    lists.finish("lists of the second generator", 0);
}
