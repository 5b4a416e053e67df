//! Lists that are put together of several others by turns: most have another order in which they are fewer dispatches.

use vkfuse_fuzz::wgsl::{Generator, Tally, check, explain};

/// A number from the environment: `VKFUSE_TURN_LISTS` for a long run, `VKFUSE_FUZZ_SEED` for other lists.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn lists_by_turns_give_the_same_bytes_in_another_order() {
    let (lists, first) = (number("VKFUSE_TURN_LISTS", 100), number("VKFUSE_FUZZ_SEED", 0));
    let per_pool = 50;
    let mut tally = Tally::default();
    for pool in 0..lists.div_ceil(per_pool) {
        let seed = (first + pool) as u64;
        let generator = Generator::new(seed, 4);
        for list in 0..per_pool.min(lists - pool * per_pool) {
            let case = generator.by_turns(list, 2 + list % 3);
            match check(&case) {
                Ok(verdict) => tally.count(&case, verdict, &format!("{seed}:{list}")),
                Err(failure) => {
                    let short = case.shrunk(&mut |case| check(case).is_err());
                    panic!("list {list} of seed {seed}: {failure}\n{}", explain(&short));
                }
            }
        }
    }
    println!("{tally}");
    // The check means something only if orders are changed, and some are left alone.
    assert!(tally.reordered * 20 > lists && tally.reordered < lists, "{} in another order", tally.reordered);
}
