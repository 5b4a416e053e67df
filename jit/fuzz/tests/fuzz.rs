//! Random lists: fused and unfused agree, in every order the interpreter tries.

use vkfuse_fuzz::wgsl::{Family, Generator, Legality, Tally, check, explain, smoke};

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
