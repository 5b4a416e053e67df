//! Random kernels and lists, and the check that fusing them changes nothing.
//!
//! A [`Generator`] makes a pool of kernels (elementwise, permuted, stencils, tiles, strides, conditional
//! and partial writes, reductions and atomics, one and two dimensions) and lists over them. About half of
//! the lists must not be fused as a whole. [`check`] plans a list, runs it unfused and fused in the
//! interpreter, in several hostile orders, and compares every byte that may be compared.

mod check;
mod generate;
mod random;

pub use check::{Failure, Verdict, check};
pub use generate::{Case, Generator};
pub use random::Random;

/// A bounded run for tests: panics with the case on the first wrong result, else returns the tally.
pub fn smoke(seed: u64, cases: usize) -> Tally {
    let mut generator = Generator::new(seed, 48);
    let mut tally = Tally::default();
    for _ in 0..cases {
        let case = generator.next_case();
        match check(&case) {
            Ok(verdict) => tally.count(verdict),
            Err(failure) => panic!("{failure}\n{}", case.describe()),
        }
    }
    tally
}

/// How the lists of a run came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lists checked.
    pub lists: usize,
    /// Lists that have no right result to compare with.
    pub undefined: usize,
    /// Lists fused into one dispatch.
    pub fused: usize,
    /// Lists split into several dispatches, at least one of them fused.
    pub split: usize,
    /// Lists of which nothing was fused.
    pub unfused: usize,
    /// Buffers internalized.
    pub internalized: usize,
    /// Promotions refused.
    pub refused: usize,
    /// Barriers kept.
    pub barriers: usize,
}

impl Tally {
    fn count(&mut self, verdict: Verdict) {
        self.lists += 1;
        match verdict {
            Verdict::Undefined => self.undefined += 1,
            Verdict::Equal { steps, submissions, internalized, refused, barriers } => {
                match steps {
                    1 => self.fused += 1,
                    n if n < submissions => self.split += 1,
                    _ => self.unfused += 1,
                }
                self.internalized += internalized;
                self.refused += refused;
                self.barriers += barriers;
            }
        }
    }
}
