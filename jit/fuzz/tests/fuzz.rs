//! Random lists: fused and unfused agree, in every order the interpreter tries.

use vkfuse_fuzz::wgsl::{Family, Generator, Legality, Tally, check, explain, limits, smoke};
use vkfuse_jit::plan::{FuseOptions, Places, RewriteReport, plan};

/// Combinations of shape, type and cover in a pool.
const BENCHES: usize = 4;

/// A number from the environment: `VKFUSE_FUZZ_LISTS` for a long run, `VKFUSE_FUZZ_SEED` for other lists.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn random_lists_give_the_same_bytes_fused() {
    // One list, to look at: seed and number.
    if let Ok(name) = std::env::var("VKFUSE_FUZZ_SEED")
        && let Some((Ok(seed), Ok(list))) = name.split_once(':').map(|(s, l)| (s.parse(), l.parse()))
    {
        let case = Generator::new(seed, BENCHES).case(list);
        println!("{}\n{:?}", explain(&case), check(&case));
        return;
    }
    let (lists, first) = (number("VKFUSE_FUZZ_LISTS", 600), number("VKFUSE_FUZZ_SEED", 0));
    let per_pool = 150;
    let mut tally = Tally::default();
    for pool in 0..lists.div_ceil(per_pool) {
        tally.add(&smoke((first + pool) as u64, BENCHES, per_pool.min(lists - pool * per_pool)));
    }
    println!("{tally}");
    if lists < 600 {
        return;
    }
    // The check means something only if all of these happen.
    let [legal, illegal] = [Legality::Legal, Legality::Illegal].map(|l| tally.of(None, Some(l)));
    assert!(legal.fused > 0 && illegal.split > 0 && illegal.refused > 0);
    assert!(tally.internalized > 0 && tally.promotions_refused > 0 && tally.barriers > 0 && tally.narrow > 0);
    assert!(tally.vectors > 0);
    assert!(illegal.lists * 5 > tally.of(None, None).lists * 2);
    let share = |family| tally.of(Some(family), Some(Legality::Legal)).share_fused();
    assert!(share(Family::Elementwise) > 0.99, "legal elementwise lists that were not fused");
    assert!(share(Family::Tile) > 0.95, "legal tile lists that were not fused");
}

/// Several lists by turns, and lists on few buffers: kernels of one are next to those of another, with other work-groups.
#[test]
fn lists_by_turns_and_of_pools_give_the_same_bytes_fused() {
    let (lists, first) = (number("VKFUSE_FUZZ_LISTS", 80), number("VKFUSE_FUZZ_SEED", 1000));
    let (mut done, mut padded, mut wrong) = (0, 0, Vec::new());
    for pool in 0..lists.div_ceil(40) {
        let seed = (first + pool) as u64;
        let generator = Generator::new(seed, BENCHES);
        for list in 0..40.min(lists - pool * 40) {
            let case = match list % 2 {
                0 => Some(generator.by_turns(list, 2 + list % 3)),
                _ => generator.of_pool(list),
            };
            let Some(case) = case else { continue };
            if let Err(failure) = check(&case) {
                let short = case.shrunk(&mut |case| check(case).is_err());
                wrong.push(format!("{seed}:{list}: {failure}\n{}", short.describe()));
            }
            let planned = plan(&case.submissions, &FuseOptions::default(), &limits(&case));
            let is_padded = |one: &RewriteReport| matches!(one.places, Places::Padded { .. });
            padded += usize::from(planned.is_ok_and(|plan| plan.report.rewrites.iter().any(is_padded)));
            done += 1;
        }
    }
    println!("{done} lists, {padded} with padded work-groups, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(lists != 80 || padded > 0);
}
