//! Random programs whose indices, trip counts and conditions are numbers in small buffers, against an exact model of `u32`s.
//!
//! The engine plans lists with the contents of small buffers as far as it knows them. A program here changes those contents in
//! every way there is (uploads by one thread or two at once, host access, host tasks beside each other, fills, updates, copies,
//! kernels) and runs kernels that depend on them unfused, in lists, and in lists that are kept. The model is exact: every
//! comparison is of all words of all buffers.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_NUMBERS_PROGRAMS` | how many programs to run; without it as many as a few seconds take |
//! | `VKFUSE_NUMBERS_SEED` | the number of the first program |

// The modules are this test's own.
#![allow(unreachable_pub)]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

#[path = "../model/random.rs"]
mod random;

mod program;
mod races;

use std::time::{Duration, Instant};

use program::Program;
use vkfuse::{CacheOptions, ContextOptions};

use support::Rig;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// How long the programs run if their number is not given.
const PATIENCE: Duration = Duration::from_secs(12);

#[test]
fn random_programs_agree_with_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let first = number("VKFUSE_NUMBERS_SEED").unwrap_or(0);
    let count = number("VKFUSE_NUMBERS_PROGRAMS");
    let (started, mut programs, mut done) = (Instant::now(), 0, program::Done::default());
    // Contexts share a cache folder; each has programs with and without a limit on what it remembers.
    'contexts: for context in 0.. {
        let entries = if context % 3 == 2 { 4 } else { 4096 };
        let cache = CacheOptions::default().directory(folder.path()).memory_entries(entries);
        let Some(rig) = Rig::with(ContextOptions::from_env().validation_layer(true).cache(cache)) else {
            return;
        };
        for _ in 0..40 {
            let is_over = match count {
                Some(count) => programs >= count,
                None => started.elapsed() >= PATIENCE,
            };
            if is_over {
                rig.assert_no_validation_messages();
                break 'contexts;
            }
            let seed = first + programs;
            Program::new(&rig, seed).run(&mut done).unwrap_or_else(|error| panic!("program {seed}: {error}"));
            programs += 1;
        }
        rig.assert_no_validation_messages();
    }
    println!("{programs} programs: {done:?}");
    let program::Done { lists, fused, promoted, kept, .. } = done;
    assert!(programs < 20 || (lists > fused && fused > 0 && promoted > 0 && kept > 0), "{done:?}");
}
