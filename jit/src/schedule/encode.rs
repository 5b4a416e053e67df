//! The bytes of a schedule in cache keys: every field, and different bytes for different schedules.

use super::{Axis, Domain, Level, Schedule, Split, Tail};

impl Schedule {
    /// Appends the canonical bytes.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let Self { domain, local, splits, tail, full_subgroups, staged } = self;
        let mut word = |n: u32| out.extend_from_slice(&n.to_le_bytes());
        word(match domain {
            Domain::Grid => 0,
            Domain::LinearGroups => 1,
            Domain::LinearItems => 2,
        });
        local.iter().for_each(|&n| word(n));
        word(splits.len() as u32);
        for Split { dim, axis, level } in splits {
            word(u32::from(*dim));
            word(match axis {
                Axis::Group => 0,
                Axis::Local => 1,
            });
            let (kind, extent) = match *level {
                Level::Grid => (0, 0),
                Level::WorkGroup(n) => (1, n),
                Level::Subgroup(n) => (2, n),
                Level::Lane(n) => (3, n),
                Level::Serial(n) => (4, n),
                Level::Unrolled(n) => (5, n),
                Level::Vector(n) => (6, n),
            };
            word(kind);
            word(extent);
        }
        let (kind, slot) = match *tail {
            Tail::Exact => (0, 0),
            Tail::Guarded => (1, 0),
            Tail::Whole => (2, 0),
            Tail::Peeled => (3, 0),
            Tail::Remainder(slot) => (4, slot),
            Tail::Masked(slot) => (5, slot),
        };
        word(kind);
        word(u32::from(slot));
        word(full_subgroups.unwrap_or(0));
        word(*staged);
    }
}
