//! Random lists in which kernels by elements meet kernels by rows: fused and unfused agree, in every order the interpreter
//! tries, and what one work-group a row cannot do is not fused.

use vkfuse_fuzz::wgsl::{Legality, Seams, Tally, Verdict, check, explain, planned};
use vkfuse_jit::plan::{FuseOptions, plan};

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// `VKFUSE_SEAM_LISTS` for a long run, `VKFUSE_FUZZ_SEED` for other lists, or `SEED:LIST` for one, to look at.
#[test]
fn kernels_by_elements_and_by_rows_give_the_same_bytes_fused() {
    if let Ok(name) = std::env::var("VKFUSE_FUZZ_SEED")
        && let Some((Ok(seed), Ok(list))) = name.split_once(':').map(|(s, l)| (s.parse(), l.parse()))
    {
        let case = Seams::new(seed).case(list);
        println!("{}\n{:?}", explain(&case), check(&case));
        return;
    }
    let (lists, seed) = (number("VKFUSE_SEAM_LISTS", 150), number("VKFUSE_FUZZ_SEED", 0) as u64);
    let mut seams = Seams::new(seed);
    let (mut tally, mut rewritten, mut closed) = (Tally::default(), 0, [0; 3]);
    let (mut inlined, mut whole) = (0, 0);
    for list in 0..lists {
        let case = seams.case(list);
        let verdict = check(&case).unwrap_or_else(|failure| {
            let short = case.shrunk(&mut |case| check(case).is_err());
            panic!("list {list} of seed {seed}: {failure}\n{}", short.describe());
        });
        let plan = plan(&case.submissions, &FuseOptions::default(), &vkfuse_fuzz::wgsl::limits(&case));
        let works_out = plan.as_ref().is_ok_and(|plan| !plan.report.inlined.is_empty());
        inlined += usize::from(works_out);
        whole += usize::from(works_out && matches!(verdict, Verdict::Equal { steps: 1, .. }));
        let placed = plan.is_ok_and(|plan| !plan.report.rewrites.is_empty());
        rewritten += usize::from(placed);
        if placed && matches!(verdict, Verdict::Equal { steps: 1, .. }) {
            closed[case.legality as usize] += 1;
        }
        tally.count(&case, verdict, &format!("{seed}:{list}"));
    }
    let [legal, illegal, near] = closed;
    println!("{tally}");
    println!("{rewritten} lists rewritten; as a whole: {legal} legal, {illegal} illegal, {near} unlabelled");
    println!("{inlined} lists with recomputed kernels, {whole} of them as a whole");
    if lists < 150 {
        return;
    }
    // The check means something only if all of these happen.
    assert!(rewritten * 4 > lists && legal > 0 && near > 0);
    assert!(inlined * 50 > lists && whole > 0);
    let [legal, illegal] = [Legality::Legal, Legality::Illegal].map(|l| tally.of(None, Some(l)));
    // Kernels that have no elements in common stay apart.
    assert!(legal.share_fused() > 0.9, "legal lists that were not fused");
    assert!(illegal.split + illegal.refused > 0);
}

/// `VKFUSE_SEAM_PLANS` for more lists. They are planned with the limits of a desktop device, and not run.
#[test]
fn legal_lists_are_fused_where_that_pays() {
    let (lists, seed) = (number("VKFUSE_SEAM_PLANS", 400), number("VKFUSE_FUZZ_SEED", 0) as u64);
    let mut seams = Seams::new(seed);
    let mut tally = Tally::default();
    for list in 0..lists {
        let case = seams.case(list);
        tally.count(&case, planned(&case), &format!("{seed}:{list}"));
    }
    println!("{tally}");
    let share = tally.of(None, Some(Legality::Legal)).share_fused();
    assert!(share > 0.97, "{:.1} % of the legal lists were fused", 100.0 * share);
}
