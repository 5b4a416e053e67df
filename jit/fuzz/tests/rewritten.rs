//! Lists that are made so that most can be done otherwise than they were submitted: no one may notice.

use vkfuse_fuzz::wgsl::{Case, Generator, Tally, check, explain};

const PER_POOL: usize = 50;

/// A number from the environment: `VKFUSE_TURN_LISTS` and `VKFUSE_POOL_LISTS` for a long run, `VKFUSE_FUZZ_SEED` for other lists.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Whether no submission writes where two of its arguments overlap without being equal: no one can submit that.
fn is_list(case: &Case) -> bool {
    case.submissions.iter().all(|one| {
        let args = || one.args.iter().zip(&one.kernel.interface.bindings);
        args().filter(|(_, binding)| binding.writes).all(|(arg, _)| {
            args().all(|(other, _)| {
                let (start, end) =
                    (arg.offset.max(other.offset), (arg.offset + arg.len).min(other.offset + other.len));
                let meets = arg.buffer == other.buffer && start < end;
                !meets || (arg.offset, arg.len) == (other.offset, other.len)
            })
        })
    })
}

/// Checks this many lists, the first ones of those that each pool of kernels gives.
fn check_all(lists: usize, of: impl Fn(&Generator, usize) -> Option<Case>) -> Tally {
    let first = number("VKFUSE_FUZZ_SEED", 0);
    let (mut tally, mut made) = (Tally::default(), 0);
    for pool in 0..lists.div_ceil(PER_POOL) {
        let seed = (first + pool) as u64;
        let generator = Generator::new(seed, 4);
        let all = (0..).filter_map(|list| Some((list, of(&generator, list)?)));
        for (list, case) in all.take(PER_POOL.min(lists - pool * PER_POOL)) {
            made += 1;
            assert!(is_list(&case), "list {list} of seed {seed} is none: {}", case.describe());
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
    assert_eq!(made, lists);
    tally
}

/// Put together of several others by turns: most have another order in which they are fewer dispatches.
#[test]
fn lists_by_turns_give_the_same_bytes_in_another_order() {
    let lists = number("VKFUSE_TURN_LISTS", 100);
    let tally = check_all(lists, |generator, list| Some(generator.by_turns(list, 2 + list % 3)));
    // The check means something only if orders are changed, and some are left alone.
    assert!(tally.reordered * 20 > lists && tally.reordered < lists, "{} in another order", tally.reordered);
}

/// Buffers come from a pool: values that are overwritten later need no memory.
#[test]
fn lists_on_few_buffers_give_the_same_bytes() {
    let lists = number("VKFUSE_POOL_LISTS", 100);
    let tally = check_all(lists, |generator, list| generator.of_pool(list));
    // The check means something only if values are renamed, and some are not.
    assert!(tally.renamed * 20 > lists && tally.renamed < lists, "{} with values renamed", tally.renamed);
}
