//! Lists of the second generator on a device: unfused and fused through the whole engine, every byte compared.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_SECOND_CORPUS` | a file of lists, as `vkfuse-fuzz`'s example `corpus` writes; without it glslang makes some |
//! | `VKFUSE_SECOND_PART` | `I/N`: only every N-th pool of that file, from the I-th on, for several processes |
//! | `VKFUSE_SECOND_LISTS` | how many lists at most; a hundred by default, all of a file |
//! | `VKFUSE_SECOND_PER_POOL` | without a file: lists that have the same kernels to choose from; 50 by default |
//! | `VKFUSE_SECOND_SECONDS` | begins no list after this many seconds; no limit by default |
//! | `VKFUSE_SECOND_THREADS` | how many threads, each with a context of its own; one for each processor by default |
//! | `VKFUSE_SECOND_SEED` | first seed without a file, from 4294967296 on of lists over rows of a few elements alone; `SEED:LIST` prints what becomes of that one list |
//! | `VKFUSE_SECOND_VALIDATION` | `0` runs without the validation layers |
//! | `VKFUSE_SECOND_ALL` | `1` goes on after a wrong list, and fails at the end |
//!
//! Nearly all of the time goes into the driver's compiler. Ends with a table: what the lists contained, and what became
//! of them.

mod device;

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use device::Device;
use vkfuse_fuzz::corpus::{Corpus, Section};
use vkfuse_fuzz::{Bounds, List, Pool, Tally, Work, describe, has_front_end};

/// Without a file: kernels of a pool, lists over it by default, and how many of these submit the same.
const KERNELS: usize = 10;
const LISTS: usize = 50;
const REPEATS: usize = 5;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn number(name: &str, default: usize) -> usize {
    variable(name).and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn per_pool() -> usize {
    number("VKFUSE_SECOND_PER_POOL", LISTS).max(1)
}

/// Where lists come from.
enum Source {
    /// A file: every this many sections of it, from one on.
    File { corpus: Corpus, part: usize, parts: usize },
    /// This seed and those after it.
    Seeds(u64),
}

impl Source {
    fn from_env(first: u64) -> Self {
        let Some(file) = variable("VKFUSE_SECOND_CORPUS") else { return Self::Seeds(first) };
        let text = variable("VKFUSE_SECOND_PART").unwrap_or_else(|| "0/1".to_owned());
        let (part, parts) = text.split_once('/').unwrap_or(("0", "1"));
        let (part, parts) = (part.parse().unwrap_or(0), parts.parse().unwrap_or(1).max(1));
        Self::File { corpus: Corpus::open(Path::new(&file)).expect("a file of lists"), part, parts }
    }

    /// How many pools there are for this many lists.
    fn len(&self, lists: usize) -> usize {
        match self {
            Self::File { corpus, part, parts } => corpus.len().saturating_sub(*part).div_ceil(*parts),
            Self::Seeds(_) => lists.div_ceil(per_pool()),
        }
    }

    fn section(&self, number: usize) -> Section {
        match self {
            Self::File { corpus, part, parts } => {
                corpus.section(part + number * parts).expect("a section of the file")
            }
            Self::Seeds(first) => {
                let seed = first + number as u64;
                let pool = Pool::new(seed, KERNELS);
                let lists = (0..per_pool()).map(|number| (number, List::new(&pool, seed, number, REPEATS)));
                let lists = lists.filter(|(_, list)| list.is_for_devices(&pool)).collect();
                Section { seed, pool, lists }
            }
        }
    }
}

struct Session {
    source: Source,
    most: usize,
    only: Option<(u64, usize)>,
    go_on: bool,
    validation: bool,
    start: Instant,
    done: AtomicUsize,
    wrong: AtomicUsize,
}

/// What a thread has done.
#[derive(Default)]
struct Part {
    tally: Tally,
    pipelines: u64,
    /// Whether there was no device.
    skipped: bool,
}

impl Session {
    /// One thread's part, on a context of its own.
    fn part(&self, work: &Work) -> Part {
        let mut part = Part::default();
        let Some(mut device) = Device::open(self.validation) else {
            work.stop();
            return Part { skipped: true, ..part };
        };
        while let Some(number) = work.take() {
            let section = self.source.section(number);
            device.load(&section.pool);
            for (number, list) in &section.lists {
                let here = self.only.is_none_or(|only| only == (section.seed, *number));
                if !here || work.is_over() || self.done.fetch_add(1, Relaxed) >= self.most {
                    continue;
                }
                match device.check(&section.pool, list) {
                    Ok(verdict) => {
                        if self.only.is_some() {
                            println!("{verdict:?}");
                        }
                        part.tally.count(&section.pool, list, &verdict);
                    }
                    Err(failure) => {
                        part.tally.count_wrong(&section.pool, list, failure.class);
                        self.wrong.fetch_add(1, Relaxed);
                        if !self.go_on {
                            work.stop();
                        }
                        let text = describe(&section.pool, list);
                        let name = format!("VKFUSE_SECOND_SEED={}:{number}", section.seed);
                        let _ = writeln!(io::stderr(), "{name}: {failure}\n{text}");
                        // A device that is lost says nothing of the next list.
                        part.pipelines += device.pipelines();
                        match Device::open(self.validation) {
                            Some(other) => device = other,
                            None => return part,
                        }
                        device.load(&section.pool);
                    }
                }
                let done = part.tally.all.lists;
                if done % 500 == 0 {
                    let seconds = self.start.elapsed().as_secs();
                    let _ = writeln!(io::stderr(), "a thread has done {done} lists in {seconds} s");
                }
            }
            if self.validation {
                assert_eq!(device.validation_messages(), 0, "the validation layers complained");
            }
        }
        part.pipelines += device.pipelines();
        part
    }
}

#[test]
#[ignore = "a long run, asked for by itself"]
fn lists_of_the_second_generator_give_the_same_bits_fused() {
    let text = variable("VKFUSE_SECOND_SEED").unwrap_or_default();
    let (first, list) = text.split_once(':').unwrap_or((&text, ""));
    let first: u64 = first.parse().unwrap_or(0);
    let only: Option<(u64, usize)> = list.parse().ok().map(|list| (first, list));
    let source = Source::from_env(first);
    let file = matches!(source, Source::File { .. });
    if !file && !has_front_end() {
        assert!(variable("VKFUSE_REQUIRE_DEVICE").is_none(), "no glslangValidator");
        let _ = writeln!(io::stderr(), "SKIPPED: no glslangValidator");
        return;
    }
    let session = Session {
        source,
        most: number("VKFUSE_SECOND_LISTS", if file { usize::MAX } else { 2 * LISTS }),
        only,
        go_on: number("VKFUSE_SECOND_ALL", 0) == 1,
        validation: number("VKFUSE_SECOND_VALIDATION", 1) != 0,
        start: Instant::now(),
        done: AtomicUsize::new(0),
        wrong: AtomicUsize::new(0),
    };
    let pools = if only.is_some() && !file { 1 } else { session.source.len(session.most) };
    let parts = Bounds::from_env("VKFUSE_SECOND").run(pools, |work| session.part(work));
    let mut tally = Tally::default();
    parts.iter().for_each(|part| tally.merge(&part.tally));
    let pipelines: u64 = parts.iter().map(|part| part.pipelines).sum();
    let (lists, seconds) = (tally.all.lists, session.start.elapsed().as_secs());
    println!("{tally}{lists} lists, {pipelines} pipelines in {seconds} s, {} threads", parts.len());
    assert_eq!(session.wrong.into_inner(), 0, "wrong lists");
    let few = lists < LISTS || parts.iter().all(|part| part.skipped);
    assert!(only.is_some() || few || (tally.all.fused > 0 && tally.all.internalized > 0));
}
