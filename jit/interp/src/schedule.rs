//! In which order work-groups and invocations take their turns.

/// A hostile order. All are deterministic for a given seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// Ascending; each invocation runs until its next barrier.
    Forward,
    /// Descending.
    Reverse,
    /// Random, anew after every barrier and for every group.
    Shuffled,
    /// Each invocation runs as far as possible: the last one to reach a barrier is the first one to go on
    /// behind it. Work-groups come from both ends in turn.
    Alternating,
    /// A random invocation runs up to its next few accesses to shared memory, then another one.
    Interleaved,
}

impl Order {
    /// Every order.
    pub const ALL: [Self; 5] =
        [Self::Forward, Self::Reverse, Self::Shuffled, Self::Alternating, Self::Interleaved];

    /// The sequence of this many work-groups.
    pub(super) fn groups(self, count: u32, random: &mut Random) -> Vec<u32> {
        let mut groups: Vec<u32> = (0..count).collect();
        match self {
            Self::Forward => {}
            Self::Reverse => groups.reverse(),
            Self::Shuffled | Self::Interleaved => random.shuffle(&mut groups),
            Self::Alternating => {
                for (index, group) in groups.iter_mut().enumerate() {
                    let half = index as u32 / 2;
                    *group = if index % 2 == 0 { half } else { count - 1 - half };
                }
            }
        }
        groups
    }

    /// Arranges the invocations that run before the next barrier. `turn` invocations' sets were arranged before.
    pub(super) fn arrange(self, invocations: &mut [u32], turn: u32, random: &mut Random) {
        match self {
            Self::Forward | Self::Interleaved => {}
            Self::Reverse => invocations.reverse(),
            Self::Shuffled => random.shuffle(invocations),
            Self::Alternating => {
                if turn % 2 == 1 {
                    invocations.reverse();
                }
            }
        }
    }
}

/// A small generator of random numbers (splitmix64).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, or 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    fn shuffle(&mut self, items: &mut [u32]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_runs_every_group_once() {
        for order in Order::ALL {
            for count in 0..9 {
                let mut groups = order.groups(count, &mut Random::new(7));
                groups.sort_unstable();
                assert_eq!(groups, (0..count).collect::<Vec<_>>(), "{order:?}");
            }
        }
    }
}
