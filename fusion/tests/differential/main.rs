//! Random lists on a device: unfused and fused through the whole engine, every byte of every buffer compared, and the
//! reference interpreter as a third party.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_FUZZ_LISTS` | how many lists; a few hundred by default |
//! | `VKFUSE_FUZZ_SEED` | first seed; `SEED:LIST` runs that one list of that seed and prints it (give the same `VKFUSE_FUZZ_LISTS`) |
//! | `VKFUSE_FUZZ_VALIDATION` | `0` runs without the validation layers |
//! | `VKFUSE_FUZZ_INTERPRET` | every how many lists the interpreter runs too; 1 by default |
//!
//! A long run: `VKFUSE_FUZZ_LISTS=10000 VKFUSE_FUZZ_VALIDATION=0 cargo test -p vkfuse --test differential -- --nocapture`.

mod device;

use std::io::Write as _;
use std::str::FromStr;
use std::time::Instant;

use device::Device;
use vkfuse_fuzz::wgsl::{Family, Legality, Tally};

/// A run of this many lists is a long one: larger pools, each sequence of kernels at more sizes, and a line now and then.
const LONG: usize = 1000;

fn number<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Seed and, if only one is wanted, list.
fn seed() -> (u64, Option<usize>) {
    let text = std::env::var("VKFUSE_FUZZ_SEED").unwrap_or_default();
    let (seed, list) = text.split_once(':').unwrap_or((&text, ""));
    (seed.parse().unwrap_or(0), list.parse().ok())
}

#[test]
fn random_lists_give_the_same_bits_fused() {
    let (first, only) = seed();
    let lists: usize = number("VKFUSE_FUZZ_LISTS", 300);
    let start = Instant::now();
    let mut tally = Tally::default();
    let (mut interpreted, mut pipelines) = (0, 0);
    let (per_pool, benches, sizes) = if lists < LONG { (150, 4, 2) } else { (2000, 8, 16) };
    for pool in 0..lists.div_ceil(per_pool) {
        let seed = first + pool as u64;
        let Some(mut device) = Device::open(seed, benches, sizes, number("VKFUSE_FUZZ_VALIDATION", 1) != 0)
        else {
            return;
        };
        if let Some(only) = only {
            println!("{}", device.generator.case(only).describe());
            println!("{:?}", device.check(only, true));
            return;
        }
        for list in 0..per_pool.min(lists - pool * per_pool) {
            let interpret = list % number("VKFUSE_FUZZ_INTERPRET", 1) == 0;
            interpreted += usize::from(interpret);
            match device.check(list, interpret) {
                Ok(verdict) => {
                    let case = device.generator.case(list);
                    tally.count(&case, verdict, &format!("{seed}:{list}"));
                    if lists >= LONG && list % 100 == 99 {
                        let (done, seconds) = (tally.of(None, None).lists, start.elapsed().as_secs());
                        let _ = writeln!(
                            std::io::stderr(),
                            "{seed}:{list}: {done} lists in {seconds} s, 0 wrong"
                        );
                    }
                }
                Err(what) => {
                    let short = device.shrunk(list, interpret);
                    panic!("VKFUSE_FUZZ_SEED={seed}:{list}: {what}\n{}", short.describe());
                }
            }
        }
        device.assert_no_validation_messages();
        pipelines += device.pipelines();
    }
    let seconds = start.elapsed().as_secs();
    println!("{tally}\n{interpreted} lists interpreted too, {pipelines} pipelines; {seconds} s, 0 wrong");
    if lists < 300 {
        return;
    }
    // The check means something only if all of these happen.
    let [legal, illegal] = [Legality::Legal, Legality::Illegal].map(|l| tally.of(None, Some(l)));
    assert!(legal.fused > 0 && illegal.split > 0 && illegal.refused > 0);
    assert!(tally.internalized > 0 && tally.promotions_refused > 0 && tally.barriers > 0);
    assert!(illegal.lists * 5 > tally.of(None, None).lists * 2);
    let share = |family| tally.of(Some(family), Some(Legality::Legal)).share_fused();
    assert!(share(Family::Elementwise) > 0.99, "legal elementwise lists that were not fused");
    assert!(share(Family::Tile) > 0.95, "legal tile lists that were not fused");
}
