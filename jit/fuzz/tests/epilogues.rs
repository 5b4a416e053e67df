//! Random lists of kernels that store elements in orders of their own, with epilogues: fused and unfused agree, in every order the interpreter tries.

use vkfuse_fuzz::wgsl::{Epilogues, Tally, check, explain, limits};
use vkfuse_jit::plan::{FuseOptions, plan};

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// `VKFUSE_EPILOGUE_LISTS` for a long run, `VKFUSE_FUZZ_SEED` for other lists, or `SEED:LIST` for one, to look at.
#[test]
fn epilogues_give_the_same_bytes() {
    compare(Epilogues::new, "VKFUSE_EPILOGUE_LISTS", true);
}

/// The same of parts of rows, with `VKFUSE_PART_LISTS`.
#[test]
fn parts_of_rows_give_the_same_bytes() {
    compare(Epilogues::of_parts, "VKFUSE_PART_LISTS", false);
}

/// The same of halves, with `VKFUSE_HALF_LISTS`.
#[test]
fn halves_give_the_same_bytes() {
    compare(Epilogues::of_halves, "VKFUSE_HALF_LISTS", false);
}

fn compare(lists_of: fn(u64) -> Epilogues, how_many: &str, recomputes: bool) {
    if let Ok(name) = std::env::var("VKFUSE_FUZZ_SEED")
        && let Some((Ok(seed), Ok(list))) = name.split_once(':').map(|(s, l)| (s.parse(), l.parse()))
    {
        let case = lists_of(seed).case(list);
        println!("{}\n{:?}", explain(&case), check(&case));
        return;
    }
    let (lists, seed) = (number(how_many, 150), number("VKFUSE_FUZZ_SEED", 0) as u64);
    let mut epilogues = lists_of(seed);
    let (mut tally, mut taken, mut again) = (Tally::default(), 0, 0);
    for list in 0..lists {
        let case = epilogues.case(list);
        let verdict = check(&case).unwrap_or_else(|failure| {
            let short = case.shrunk(&mut |case| check(case).is_err());
            panic!("list {list} of seed {seed}: {failure}\n{}", short.describe());
        });
        let plan = plan(&case.submissions, &FuseOptions::default(), &limits(&case));
        taken += usize::from(plan.as_ref().is_ok_and(|plan| !plan.report.epilogues.is_empty()));
        again += usize::from(plan.is_ok_and(|plan| !plan.report.inlined.is_empty()));
        tally.count(&case, verdict, &format!("{seed}:{list}"));
    }
    println!("{tally}\n{taken} lists with epilogues, {again} with what is recomputed");
    // The check means something only if these happen, and do not always.
    let happens = |some: usize| some * 12 > lists && some * 10 < lists * 9;
    assert!(lists < 150 || happens(taken) && (happens(again) || !recomputes));
}
