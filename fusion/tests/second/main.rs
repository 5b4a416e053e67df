//! Lists of the second generator on a device: unfused and fused through the whole engine, every byte compared.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_SECOND_CORPUS` | a file of lists, as `vkfuse-fuzz`'s example `corpus` writes; without it glslang makes some |
//! | `VKFUSE_SECOND_PART` | `I/N`: only every N-th pool of that file, from the I-th on, for several processes |
//! | `VKFUSE_SECOND_LISTS` | how many lists at most; a hundred by default, all of a file |
//! | `VKFUSE_SECOND_SEED` | first seed without a file; `SEED:LIST` prints what becomes of that one list |
//! | `VKFUSE_SECOND_VALIDATION` | `0` runs without the validation layers |
//! | `VKFUSE_SECOND_ALL` | `1` goes on after a wrong list and counts |

mod device;

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

use device::{Device, Outcome};
use vkfuse_fuzz::corpus::{Section, read};
use vkfuse_fuzz::{List, Pool, describe, has_front_end};

/// Without a file: kernels of a pool, lists over it, and how many of these submit the same.
const KERNELS: usize = 10;
const LISTS: usize = 50;
const REPEATS: usize = 5;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn number(name: &str, default: usize) -> usize {
    variable(name).and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[derive(Default)]
struct Counts {
    lists: usize,
    fused: usize,
    split: usize,
    internalized: usize,
    unstable: usize,
    skipped: usize,
    wrong: usize,
}

struct Session {
    counts: Counts,
    most: usize,
    only: Option<(u64, usize)>,
    go_on: bool,
    start: Instant,
}

impl Session {
    /// Runs the lists of a pool; false if there is no device.
    fn section(&mut self, section: &Section) -> bool {
        let Some(mut device) = Device::open(&section.pool, number("VKFUSE_SECOND_VALIDATION", 1) != 0) else {
            return false;
        };
        for (number, list) in &section.lists {
            let here = self.only.is_none_or(|only| only == (section.seed, *number));
            if self.counts.lists >= self.most || !here {
                continue;
            }
            self.counts.lists += 1;
            match device.check(&section.pool, list) {
                Ok(Outcome::Skipped(why)) => {
                    self.counts.skipped += 1;
                    if self.only.is_some() {
                        println!("skipped: {why}");
                    }
                }
                Ok(Outcome::Unstable) => self.counts.unstable += 1,
                Ok(Outcome::Equal { steps, submissions, internalized }) => {
                    self.counts.fused += usize::from(steps == 1 && submissions > 1);
                    self.counts.split += usize::from(steps > 1 && steps < submissions);
                    self.counts.internalized += usize::from(internalized > 0);
                }
                Err(what) => {
                    self.counts.wrong += 1;
                    let text = describe(&section.pool, list);
                    let text = format!("VKFUSE_SECOND_SEED={}:{number}: {what}\n{text}", section.seed);
                    assert!(self.go_on, "{text}");
                    let _ = writeln!(io::stderr(), "{text}");
                }
            }
        }
        if number("VKFUSE_SECOND_VALIDATION", 1) != 0 {
            assert_eq!(device.validation_messages(), 0, "the validation layers complained");
        }
        if self.counts.lists >= 1000 {
            let (done, seconds) = (self.counts.lists, self.start.elapsed().as_secs());
            let _ = writeln!(io::stderr(), "{done} lists in {seconds} s, {} wrong", self.counts.wrong);
        }
        true
    }
}

#[test]
#[ignore = "a long run, asked for by itself"]
fn lists_of_the_second_generator_give_the_same_bits_fused() {
    let text = variable("VKFUSE_SECOND_SEED").unwrap_or_default();
    let (first, list) = text.split_once(':').unwrap_or((&text, ""));
    let first: u64 = first.parse().unwrap_or(0);
    let file = variable("VKFUSE_SECOND_CORPUS");
    let mut session = Session {
        counts: Counts::default(),
        most: number("VKFUSE_SECOND_LISTS", if file.is_some() { usize::MAX } else { 2 * LISTS }),
        only: list.parse().ok().map(|list| (first, list)),
        go_on: number("VKFUSE_SECOND_ALL", 0) == 1,
        start: Instant::now(),
    };
    if let Some(file) = file {
        let text = variable("VKFUSE_SECOND_PART").unwrap_or_else(|| "0/1".to_owned());
        let (part, parts) = text.split_once('/').unwrap_or(("0", "1"));
        let (part, parts) = (part.parse().unwrap_or(0), parts.parse().unwrap_or(1));
        let each = &mut |section: Section| {
            session.section(&section);
            Ok(())
        };
        read(Path::new(&file), part, parts, each).expect("a file of lists");
    } else {
        if !has_front_end() {
            assert!(variable("VKFUSE_REQUIRE_DEVICE").is_none(), "no glslangValidator");
            let _ = writeln!(io::stderr(), "SKIPPED: no glslangValidator");
            return;
        }
        let pools = session.most.div_ceil(LISTS) as u64;
        for seed in first..first + pools {
            let pool = Pool::new(seed, KERNELS);
            let lists = (0..LISTS).map(|number| (number, List::new(&pool, seed, number, REPEATS)));
            let lists = lists.filter(|(_, list)| list.is_defined(&pool)).collect();
            if !session.section(&Section { seed, pool, lists }) {
                return;
            }
        }
    }
    let Counts { lists, fused, split, internalized, unstable, skipped, wrong } = session.counts;
    println!(
        "{lists} lists: {fused} fused, {split} split, {internalized} with promotions, {skipped} not run, \
         {unstable} that differ unfused; {wrong} wrong; {} s",
        session.start.elapsed().as_secs()
    );
    assert_eq!(wrong, 0);
    assert!(session.only.is_some() || lists < LISTS || (fused > 0 && internalized > 0));
}
