//! Random kernels and lists, and the check that fusing them changes nothing.
//!
//! A [`Generator`] makes a pool of kernels (elementwise, permuted, stencils, tiles, strides, conditional
//! and partial writes, reductions and atomics, one to three dimensions) and lists over them. Every list says what it
//! is made of ([`Family`]) and, where that follows from how it was made, whether it may be fused as a whole
//! ([`Legality`]); half of the lists must not. [`check`] plans a list, runs it unfused and fused in the interpreter,
//! in several hostile orders, and compares every byte that may be compared. A runtime does the same on a device with
//! the same lists.
//!
//! The files in order of the work: `random`, `bench` (shape and size), `pattern` (indices), `recipe` (a kernel as
//! data), `text` (as WGSL), `open` (specialization constants), `soup` (kernels and lists without a plan), `pool`,
//! `memory`, `list` (lists of known legality), `mixed`, `case`, `turns`, `reused`, `generator`, `written` (kernels written for a list), `seams`, `grids`, `columns`, `forms` and `epilogues`
//! (lists of other kinds), `check`, `tally`.

mod bench;
mod case;
mod check;
mod columns;
mod epilogues;
mod forms;
mod generator;
mod grids;
mod list;
mod memory;
mod mixed;
mod open;
mod pattern;
mod pool;
mod random;
mod recipe;
mod reused;
mod seams;
mod soup;
mod tally;
mod text;
mod turns;
mod written;

pub use case::{Case, Family, Legality};
pub use check::{
    Failure, Outcome, check, explain, is_as_given, limits, open_words, planned, run_unfused,
    run_unfused_within,
};
pub use columns::Columns;
pub use epilogues::Epilogues;
pub use forms::Forms;
pub use generator::Generator;
pub use grids::Grids;
pub use pool::{Load, PoolKernel, load};
pub use random::Random;
pub use seams::Seams;
pub use tally::{Counts, Split, Tally, Verdict, has_columns};

/// A bounded run for tests: panics with the case, made as short as it goes, on the first wrong result, else returns
/// the tally.
pub fn smoke(seed: u64, benches: usize, cases: usize) -> Tally {
    let generator = Generator::new(seed, benches);
    let mut tally = Tally::default();
    for number in 0..cases {
        let case = generator.case(number);
        match check(&case) {
            Ok(verdict) => tally.count(&case, verdict, &format!("{seed}:{number}")),
            Err(failure) => {
                let short = case.shrunk(&mut |case| check(case).is_err());
                panic!("list {number} of seed {seed}: {failure}\n{}", short.describe());
            }
        }
    }
    tally
}
