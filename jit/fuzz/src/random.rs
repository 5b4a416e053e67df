//! A small generator of random numbers (PCG, XSH-RR 64/32).

/// Equal seeds give equal sequences, on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// A sequence that follows from two numbers.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self { state: seed ^ stream.wrapping_mul(0xda94_2042_e4dd_58b5) };
        for _ in 0..4 {
            random.word();
        }
        random
    }

    /// 32 random bits.
    pub(crate) fn word(&mut self) -> u32 {
        let old = self.state;
        self.state = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (((old >> 18) ^ old) >> 27) as u32;
        mixed.rotate_right((old >> 59) as u32)
    }

    /// A number below `bound`, or 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u64::from(self.word()) * bound as u64) >> 32) as usize
    }

    /// A number from `first` to `last`, both included.
    pub(crate) fn between(&mut self, first: u32, last: u32) -> u32 {
        first + self.below((last - first + 1) as usize) as u32
    }

    /// True in this many of a hundred cases.
    pub(crate) fn percent(&mut self, share: u32) -> bool {
        self.below(100) < share as usize
    }

    /// One of several, which must not be none.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// One of several copies.
    pub(crate) fn one<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}
