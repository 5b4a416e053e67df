//! Random lists on a device: unfused and fused through the whole engine, every byte of every buffer compared, and the
//! reference interpreter as a third party.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_FUZZ_LISTS` | how many lists; a few hundred by default |
//! | `VKFUSE_FUZZ_SEED` | first seed; `SEED:LIST` runs that one list of that seed and prints it (give the same `VKFUSE_FUZZ_LISTS`) |
//! | `VKFUSE_FUZZ_KIND` | `lists` by default; `seams`: kernels by elements and by rows; `grids`: kernels over a grid; `epilogues`, `parts`, `halves`: what is done where one kernel stores, or several, or halves; `columns`: by the columns of a matrix; `forms`: what real programs submit; `turns`: several lists by turns; `pools`: on few buffers |
//! | `VKFUSE_FUZZ_SECONDS` | begins no list after this many seconds; no limit by default |
//! | `VKFUSE_FUZZ_ALL` | `1` goes on after a wrong list, and fails at the end |
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

/// Wrong lists that are shortened.
const SHOWN: usize = 3;

fn number<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Seed and, if only one is wanted, list.
fn seed() -> (u64, Option<usize>) {
    let text = std::env::var("VKFUSE_FUZZ_SEED").unwrap_or_default();
    let (seed, list) = text.split_once(':').unwrap_or((&text, ""));
    (seed.parse().unwrap_or(0), list.parse().ok())
}

/// Runs lists of a kind; nothing comes back without a device, or if only one of them was wanted.
fn run(kind: &str, lists: usize, (first, only): (u64, Option<usize>)) -> Option<Tally> {
    let seconds: u64 = number("VKFUSE_FUZZ_SECONDS", u64::MAX);
    let goes_on = number("VKFUSE_FUZZ_ALL", 0) == 1;
    let start = Instant::now();
    let mut tally = Tally::default();
    let (mut interpreted, mut pipelines, mut wrong, mut other_nans, mut open_results) = (0, 0, 0, 0, 0);
    let (per_pool, benches, sizes) = if lists < LONG { (150, 4, 2) } else { (2000, 8, 16) };
    let is_over = || start.elapsed().as_secs() >= seconds;
    for pool in (0..lists.div_ceil(per_pool)).take_while(|_| !is_over()) {
        let seed = first + pool as u64;
        let validation = number("VKFUSE_FUZZ_VALIDATION", 1) != 0;
        let open = || Device::open(kind, seed, benches, sizes, validation);
        let mut device = open()?;
        if let Some(only) = only {
            let case = device.case(only).expect("a list of that number");
            println!("{}\n{:?}", case.describe(), device.check(&case, true));
            return None;
        }
        for list in (0..per_pool.min(lists - pool * per_pool)).take_while(|_| !is_over()) {
            let interpret = list % number("VKFUSE_FUZZ_INTERPRET", 1) == 0;
            let Some(case) = device.case(list) else { continue };
            interpreted += usize::from(interpret);
            match device.check(&case, interpret) {
                Ok(verdict) => {
                    tally.count(&case, verdict, &format!("{seed}:{list}"));
                    if lists >= LONG && list % 100 == 99 {
                        let (done, seconds) = (tally.of(None, None).lists, start.elapsed().as_secs());
                        let _ = writeln!(
                            std::io::stderr(),
                            "{seed}:{list}: {done} lists in {seconds} s, {wrong} wrong"
                        );
                    }
                }
                Err(what) => {
                    wrong += 1;
                    let short = if wrong > SHOWN { case } else { device.shrunk(&case, interpret) };
                    let what = format!(
                        "VKFUSE_FUZZ_KIND={kind} VKFUSE_FUZZ_SEED={seed}:{list}: {what}\n{}",
                        short.describe()
                    );
                    assert!(goes_on, "{what}");
                    let _ = writeln!(std::io::stderr(), "{what}");
                    // A device that is lost says nothing of the next list.
                    pipelines += device.pipelines();
                    other_nans += device.other_nans();
                    open_results += device.open_results();
                    let Some(other) = open() else { break };
                    device = other;
                }
            }
        }
        device.assert_no_validation_messages();
        pipelines += device.pipelines();
        other_nans += device.other_nans();
        open_results += device.open_results();
    }
    let (done, seconds) = (tally.of(None, None).lists, start.elapsed().as_secs());
    println!(
        "{tally}\n{done} lists, {interpreted} interpreted too, {pipelines} pipelines, {other_nans} runs with another NaN, {open_results} with open results; {seconds} s, {wrong} wrong"
    );
    assert_eq!(wrong, 0, "wrong lists");
    Some(tally)
}

#[test]
fn random_lists_give_the_same_bits_fused() {
    let kind: String = number("VKFUSE_FUZZ_KIND", "lists".to_owned());
    let Some(tally) = run(&kind, number("VKFUSE_FUZZ_LISTS", 300), seed()) else { return };
    if tally.of(None, None).lists < 300 || kind != "lists" {
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

/// A few of each of the other kinds.
#[test]
fn lists_of_other_kinds_give_the_same_bits_fused() {
    if std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with("VKFUSE_FUZZ_")) {
        return;
    }
    for kind in ["seams", "grids", "epilogues", "parts", "columns", "forms", "turns", "pools"] {
        run(kind, 30, (0, None));
    }
}
