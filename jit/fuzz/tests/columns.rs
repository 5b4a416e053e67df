//! Random lists of kernels that go by columns of a matrix: fused and unfused agree, in every order the interpreter tries.

use vkfuse_fuzz::wgsl::{Columns, Tally, check, explain};

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// `VKFUSE_COLUMN_LISTS` for a long run, `VKFUSE_FUZZ_SEED` for other lists, or `SEED:LIST` for one, to look at.
#[test]
fn columns_give_the_same_bytes() {
    if let Ok(name) = std::env::var("VKFUSE_FUZZ_SEED")
        && let Some((Ok(seed), Ok(list))) = name.split_once(':').map(|(s, l)| (s.parse(), l.parse()))
    {
        let case = Columns::new(seed).case(list);
        println!("{}\n{:?}", explain(&case), check(&case));
        return;
    }
    let (lists, seed) = (number("VKFUSE_COLUMN_LISTS", 60), number("VKFUSE_FUZZ_SEED", 0) as u64);
    let mut columns = Columns::new(seed);
    let mut tally = Tally::default();
    for list in 0..lists {
        let case = columns.case(list);
        let verdict = check(&case).unwrap_or_else(|failure| {
            let short = case.shrunk(&mut |case| check(case).is_err());
            panic!("list {list} of seed {seed}: {failure}\n{}", short.describe());
        });
        tally.count(&case, verdict, &format!("{seed}:{list}"));
    }
    println!("{tally}");
    // The check means something only if these happen, and do not always.
    let happens = |some: usize| some * 30 > lists && some * 10 < lists * 9;
    assert!(lists < 60 || happens(tally.columns) && happens(tally.of(None, None).fused));
}
