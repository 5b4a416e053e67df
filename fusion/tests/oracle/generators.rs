//! Lists of the random generators.

use std::collections::HashMap;
use std::sync::Arc;

use vkfuse_fuzz::wgsl::{Case, Generator, Grids, Legality, Seams, run_unfused};
use vkfuse_fuzz::{Pool, is_open};

use super::compare::{Counts, Oracle, Verdict};
use super::list::{Call, List};

/// The words of modules by the address that the generator has them at.
#[derive(Default)]
struct Words(HashMap<usize, Arc<[u32]>>);

impl Words {
    fn of(&mut self, words: &[u32]) -> Arc<[u32]> {
        let known = self.0.entry(words.as_ptr() as usize).or_insert_with(|| words.into());
        if **known != *words {
            *known = words.into();
        }
        known.clone()
    }
}

/// Lists of the first generator: this many pools, this many lists of each.
pub(crate) fn first(oracle: &mut Oracle, counts: &mut Counts, pools: u64, lists: usize) {
    let mut words = Words::default();
    for seed in 0..pools {
        let generator = Generator::new(seed, 2).sizes(2);
        let (mut seams, mut grids) = (Seams::new(seed), Grids::new(seed));
        // Modules of one pool stay where they are while it is.
        for number in 0..lists {
            let (name, case) = match number % 4 {
                0 => (format!("seams {seed}:{number}"), seams.case(number)),
                1 => (format!("grids {seed}:{number}"), grids.case(number)),
                _ => (format!("lists {seed}:{number}"), generator.case(number)),
            };
            check(oracle, counts, &mut words, name, &case);
        }
    }
}

fn check(oracle: &mut Oracle, counts: &mut Counts, words: &mut Words, name: String, case: &Case) {
    if case.legality == Legality::Unlabelled {
        match run_unfused(case) {
            Ok((_, findings)) if findings.is_clean() => {}
            _ => return counts.skip("a list without a plan, whose result is not defined"),
        }
    }
    let calls = case.submissions.iter().zip(&case.kernels);
    let calls = calls.map(|(one, kernel)| Call::of(&words.of(kernel.module.words()), &kernel.spec, one));
    counts.check(oracle, &List { name, calls: calls.collect(), buffers: case.buffers.clone() });
}

/// Lists of the second generator: this many pools of this many kernels and lists.
pub(crate) fn second(oracle: &mut Oracle, counts: &mut Counts, pools: u64, kernels: usize, lists: usize) {
    for seed in 0..pools {
        let pool = Pool::new(seed, kernels);
        let words: Vec<Arc<[u32]>> = pool.modules().map(|module| module.words().into()).collect();
        let all = (0..20 * lists).map(|number| (number, vkfuse_fuzz::List::new(&pool, seed, number, 2)));
        for (number, list) in all.filter(|(_, list)| list.is_for_devices(&pool)).take(lists) {
            let Ok(submissions) = list.submissions(&pool) else {
                counts.skip("a kernel that cannot be specialised");
                continue;
            };
            let call = |(at, one)| Call::of(&words[list.kernel(at)], &list.constants(&pool, at), one);
            let calls = submissions.iter().enumerate().map(call).collect();
            let made = List { name: format!("second {seed}:{number}"), calls, buffers: list.contents() };
            match oracle.check(&made, &made) {
                // Two kernels of one driver may give either result.
                Err(Verdict::Wrong(wrong)) if !wrong.is_of_reading() && is_open(&pool, &list) => {
                    counts.skip("results that SPIR-V leaves open");
                }
                result => counts.count(&made.name, result),
            }
        }
    }
}
