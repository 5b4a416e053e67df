//! Certificates counted by claim and outcome.

use std::collections::BTreeMap;
use std::fmt;

use vkfuse_jit::certify::{Certificate, Claim, Outcome};

/// How many certificates came out how.
#[derive(Default)]
pub(crate) struct Tally {
    counts: BTreeMap<Claim, [u64; 3]>,
    causes: BTreeMap<(Claim, String), u64>,
    pub(crate) lists: u64,
}

impl Tally {
    /// Counts the certificates of one list.
    pub(crate) fn add(&mut self, certificates: &[Certificate]) {
        self.lists += 1;
        for one in certificates {
            let counts = self.counts.entry(one.claim).or_default();
            match &one.outcome {
                Outcome::Proved => counts[0] += 1,
                Outcome::Refuted(_) => counts[1] += 1,
                Outcome::Unknown(cause) => {
                    counts[2] += 1;
                    *self.causes.entry((one.claim, cause.clone())).or_default() += 1;
                }
            }
        }
    }

    /// Adds what another one has counted.
    pub(crate) fn merge(&mut self, other: Self) {
        let Self { counts, causes, lists } = other;
        self.lists += lists;
        for (claim, counts) in counts {
            let all = self.counts.entry(claim).or_default();
            all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
        }
        causes.into_iter().for_each(|(cause, count)| *self.causes.entry(cause).or_default() += count);
    }

    /// Certificates of one claim that were proved.
    pub(crate) fn proved(&self, claim: Claim) -> u64 {
        self.counts.get(&claim).map_or(0, |c| c[0])
    }

    /// All certificates, refuted ones, and those without an answer.
    pub(crate) fn totals(&self) -> (u64, u64, u64) {
        let sum = |n: usize| self.counts.values().map(|c| c[n]).sum::<u64>();
        (sum(0) + sum(1) + sum(2), sum(1), sum(2))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} lists", self.lists)?;
        writeln!(f, "{:<16} {:>9} {:>9} {:>9}", "claim", "proved", "refuted", "unknown")?;
        for (claim, [proved, refuted, unknown]) in &self.counts {
            writeln!(f, "{:<16} {proved:>9} {refuted:>9} {unknown:>9}", claim.name())?;
        }
        for ((claim, cause), count) in &self.causes {
            writeln!(f, "unknown, {}: {count} times: {cause}", claim.name())?;
        }
        Ok(())
    }
}
