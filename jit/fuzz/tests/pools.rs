//! Lists whose buffers come from a pool: values that are overwritten later need no memory, and nobody may notice.

use vkfuse_fuzz::wgsl::{Generator, Tally, check, explain};

/// A number from the environment: `VKFUSE_POOL_LISTS` for a long run, `VKFUSE_FUZZ_SEED` for other lists.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn lists_on_few_buffers_give_the_same_bytes() {
    let (lists, first) = (number("VKFUSE_POOL_LISTS", 100), number("VKFUSE_FUZZ_SEED", 0));
    let per_pool = 50;
    let (mut tally, mut made) = (Tally::default(), 0);
    for pool in 0..lists.div_ceil(per_pool) {
        let seed = (first + pool) as u64;
        let generator = Generator::new(seed, 4);
        let of_pool = (0..).filter_map(|number| Some((number, generator.of_pool(number)?)));
        for (list, case) in of_pool.take(per_pool.min(lists - pool * per_pool)) {
            made += 1;
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
    // The check means something only if values are renamed, and some are not.
    assert_eq!(made, lists);
    assert!(tally.renamed * 20 > lists && tally.renamed < lists, "{} with values renamed", tally.renamed);
}
