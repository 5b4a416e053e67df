//! Random lists of kernels over a grid: fused and unfused agree, in every order the interpreter tries.

use vkfuse_fuzz::wgsl::{Grids, Tally, check, explain, limits};
use vkfuse_jit::plan::{FuseOptions, plan};

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// `VKFUSE_GRID_LISTS` for a long run, `VKFUSE_FUZZ_SEED` for other lists, or `SEED:LIST` for one, to look at.
#[test]
fn kernels_over_a_grid_give_the_same_bytes_fused() {
    if let Ok(name) = std::env::var("VKFUSE_FUZZ_SEED")
        && let Some((Ok(seed), Ok(list))) = name.split_once(':').map(|(s, l)| (s.parse(), l.parse()))
    {
        let case = Grids::new(seed).case(list);
        println!("{}\n{:?}", explain(&case), check(&case));
        return;
    }
    let (lists, seed) = (number("VKFUSE_GRID_LISTS", 150), number("VKFUSE_FUZZ_SEED", 0) as u64);
    let mut grids = Grids::new(seed);
    let (mut tally, mut inlined) = (Tally::default(), 0);
    for list in 0..lists {
        let case = grids.case(list);
        let verdict = check(&case).unwrap_or_else(|failure| {
            let short = case.shrunk(&mut |case| check(case).is_err());
            panic!("list {list} of seed {seed}: {failure}\n{}", short.describe());
        });
        let plan = plan(&case.submissions, &FuseOptions::default(), &limits(&case));
        inlined += usize::from(plan.is_ok_and(|plan| !plan.report.inlined.is_empty()));
        tally.count(&case, verdict, &format!("{seed}:{list}"));
    }
    println!("{tally}\n{inlined} lists with recomputed kernels");
    if lists < 150 {
        return;
    }
    // The check means something only if these happen.
    assert!(inlined * 10 > lists && tally.vectors * 40 > lists);
}

/// Regression test: the producer that the last kernel recomputes had nothing left to do, and was placed in the form in which it was submitted.
#[test]
fn what_is_gone_does_not_come_back() {
    let case = Grids::new(705_500).sizes(16).case(144);
    let plan = plan(&case.submissions, &FuseOptions::default(), &limits(&case)).expect("a plan");
    assert!(plan.report.inlined.iter().any(|one| one.gone) && !plan.report.rewrites.is_empty());
    check(&case).unwrap_or_else(|failure| panic!("{failure}"));
}
