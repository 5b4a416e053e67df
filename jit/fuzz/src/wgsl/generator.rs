//! Makes cases: a pool of kernels, and lists over it by number.

use super::case::{Case, Family, Legality};
use super::list::Builder;
use super::mixed::mixed;
use super::pool::{Load, Pool, PoolKernel, load};
use super::random::Random;
use super::reused::reused;
use super::soup::soup;
use super::turns::{after, turns};
use std::sync::Arc;

/// Makes cases. Equal seeds and sizes give equal pools, and equal numbers equal cases.
pub struct Generator {
    seed: u64,
    sizes: usize,
    pool: Pool,
}

impl Generator {
    /// A generator with kernels for this many combinations of shape, element type and way of sharing out elements.
    ///
    /// # Panics
    /// If a generated kernel does not compile, which is a defect of the generator.
    pub fn new(seed: u64, benches: usize) -> Self {
        Self::with(seed, benches, &mut load)
    }

    /// The same with another way to load kernels.
    ///
    /// # Panics
    /// If a generated kernel does not compile, which is a defect of the generator.
    pub fn with(seed: u64, benches: usize, load: &mut Load<'_>) -> Self {
        Self { seed, sizes: 1, pool: Pool::new(&mut Random::new(seed), benches, load) }
    }

    /// The same with this many lists in a row in which the same kernels follow each other on the same buffers, with other
    /// sizes, push constants and contents. Drivers compile less then.
    #[must_use]
    pub fn sizes(mut self, sizes: usize) -> Self {
        self.sizes = sizes.max(1);
        self
    }

    /// The kernels.
    pub fn kernels(&self) -> &[Arc<PoolKernel>] {
        &self.pool.kernels
    }

    fn stream(&self, kind: u64, number: usize) -> Random {
        let mut seeds = Random::new(self.seed ^ kind);
        Random::new(seeds.bits() ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The list of that number. One in eight is two lists by turns, and one in eight has buffers that are used again, if that is possible.
    pub fn case(&self, number: usize) -> Case {
        let mut random = self.stream(0x7042_4e5e, number / self.sizes);
        if !random.one_in(8) {
            let case = self.single(number);
            let mut random = self.stream(0x7e05_ed00, number / self.sizes);
            let reused = random.one_in(8).then(|| reused(&mut random, case.clone())).flatten();
            return reused.unwrap_or(case);
        }
        let other = number + self.sizes * (1 + random.below(1000));
        turns(&mut random, self.single(number), self.single(other))
    }

    /// This many lists by turns, the first of that number.
    pub fn by_turns(&self, number: usize, lists: usize) -> Case {
        let mut random = self.stream(0x7042_4e5f, number);
        let mut case = self.single(number);
        for _ in 1..lists {
            let other = number + 1 + random.below(1000);
            case = turns(&mut random, case, self.single(other));
        }
        case
    }

    /// Two lists, one after the other or by turns, from the one of that number on, with buffers that are used again; `None` if none can be.
    pub fn of_pool(&self, number: usize) -> Option<Case> {
        let mut random = self.stream(0x7e05_ed01, number);
        let (one, other) = (self.single(number), self.single(number + 1 + random.below(1000)));
        let case = match random.below(3) {
            0 => one,
            1 => after(one, other),
            _ => turns(&mut random, one, other),
        };
        reused(&mut random, case)
    }

    /// The list of that number by itself.
    fn single(&self, number: usize) -> Case {
        let mut random = self.stream(0x5eed, number / self.sizes);
        let mut detail = self.stream(0xde7a11, number);
        loop {
            let family = *random.pick(&[
                Family::Elementwise,
                Family::Elementwise,
                Family::Elementwise,
                Family::Tile,
                Family::Tile,
                Family::Rows,
                Family::Access,
                Family::Access,
                Family::Views,
                Family::Mixed,
            ]);
            if family == Family::Mixed {
                if random.one_in(2) {
                    return soup(&mut random, &mut detail, &self.pool);
                }
                if let Some(case) = mixed(&mut random, &mut detail, &self.pool) {
                    return case;
                }
                continue;
            }
            // Of all lists, half are illegal.
            let legality = if random.below(9) < 5 { Legality::Illegal } else { Legality::Legal };
            // Not every family can be broken in every way: another try keeps the shares.
            for _ in 0..50 {
                if let Some(case) = Builder::case(&mut random, &mut detail, &self.pool, family, legality) {
                    return case;
                }
            }
        }
    }
}
