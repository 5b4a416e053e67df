//! What lists contained, and what became of them.

use std::collections::BTreeMap;
use std::fmt;

use crate::judge::{Class, Verdict};
use crate::list::{Bound, List};
use crate::pool::{Pool, Source};

/// How lists came out.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// All of them.
    pub lists: usize,
    /// With no defined result.
    pub undefined: usize,
    /// That could not be run.
    pub skipped: usize,
    /// Nothing was fused.
    pub unfused: usize,
    /// Something was fused, but not all.
    pub split: usize,
    /// One dispatch.
    pub fused: usize,
    /// Lists with a promotion granted.
    pub internalized: usize,
    /// Lists with a promotion refused.
    pub refused: usize,
    /// Lists with a barrier.
    pub barriers: usize,
    /// Wrong plans of any class but the next two.
    pub wrong: usize,
    /// Modules that are not valid.
    pub invalid: usize,
    /// What could not be planned, built or run, and panics.
    pub internal: usize,
}

/// Counts by what lists contain.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// All lists.
    pub all: Counts,
    /// Lists that contain something.
    pub by_feature: BTreeMap<&'static str, Counts>,
    /// Why lists have no defined result, or could not be run.
    pub reasons: BTreeMap<String, usize>,
    /// Why they were cut.
    pub splits: BTreeMap<String, usize>,
    /// Sources that no kernel was made from.
    pub rejected: usize,
}

/// The columns of the table.
const HEAD: [&str; 12] = [
    "lists", "undef", "skip", "unfused", "split", "fused", "inside", "refused", "barrier", "wrong",
    "invalid", "internal",
];

impl Counts {
    fn row(&mut self) -> [&mut usize; HEAD.len()] {
        let Self {
            lists,
            undefined,
            skipped,
            unfused,
            split,
            fused,
            internalized,
            refused,
            barriers,
            wrong,
            invalid,
            internal,
        } = self;
        [
            lists,
            undefined,
            skipped,
            unfused,
            split,
            fused,
            internalized,
            refused,
            barriers,
            wrong,
            invalid,
            internal,
        ]
    }

    fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        self.row().into_iter().zip(other.row()).for_each(|(to, from)| *to += *from);
    }

    fn add_wrong(&mut self, class: Class) {
        self.lists += 1;
        match class {
            Class::Invalid => self.invalid += 1,
            Class::Internal => self.internal += 1,
            _ => self.wrong += 1,
        }
    }

    fn add(&mut self, verdict: &Verdict) {
        self.lists += 1;
        match verdict {
            Verdict::Undefined(_) => self.undefined += 1,
            Verdict::Skipped(_) => self.skipped += 1,
            Verdict::Right { steps, submissions, internalized, refused, barriers, .. } => {
                self.unfused += usize::from(steps == submissions);
                self.split += usize::from(steps < submissions && *steps > 1);
                self.fused += usize::from(*steps == 1 && *submissions > 1);
                self.internalized += usize::from(*internalized > 0);
                self.refused += usize::from(*refused > 0);
                self.barriers += usize::from(*barriers > 0);
            }
        }
    }
}

impl Tally {
    /// Counts a list.
    pub fn count(&mut self, pool: &Pool, list: &List, verdict: &Verdict) {
        self.all.add(verdict);
        for feature in features(pool, list) {
            self.by_feature.entry(feature).or_default().add(verdict);
        }
        match verdict {
            Verdict::Undefined(reason) => *self.reasons.entry((*reason).to_owned()).or_default() += 1,
            Verdict::Skipped(reason) => {
                // Reasons that differ in numbers are one.
                let reason = reason.lines().next().unwrap_or("").chars();
                let reason = reason.map(|c| if c.is_ascii_digit() { '#' } else { c }).take(90).collect();
                *self.reasons.entry(reason).or_default() += 1;
            }
            Verdict::Right { split: Some(split), .. } => {
                *self.splits.entry(split.chars().take(70).collect()).or_default() += 1;
            }
            Verdict::Right { .. } => {}
        }
    }

    /// Counts a list that was planned wrongly.
    pub fn count_wrong(&mut self, pool: &Pool, list: &List, class: Class) {
        self.all.add_wrong(class);
        for feature in features(pool, list) {
            self.by_feature.entry(feature).or_default().add_wrong(class);
        }
    }

    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        let Self { all, by_feature, reasons, splits, rejected } = other;
        self.all.merge(all);
        by_feature.iter().for_each(|(name, counts)| self.by_feature.entry(name).or_default().merge(counts));
        for (to, from) in [(&mut self.reasons, reasons), (&mut self.splits, splits)] {
            from.iter().for_each(|(reason, count)| *to.entry(reason.clone()).or_default() += count);
        }
        self.rejected += rejected;
    }
}

/// What a list contains.
fn features(pool: &Pool, list: &List) -> Vec<&'static str> {
    let mut features: Vec<&'static str> =
        list.shots.iter().flat_map(|shot| pool.kernels[shot.kernel].features.iter().copied()).collect();
    if list.shots.iter().any(|shot| shot.groups.contains(&0)) {
        features.push("no work-groups");
    }
    if list.shots.iter().any(|shot| shot.push[0] <= 1) {
        features.push("n is 0 or 1");
    }
    if list.shots.iter().any(|shot| shot.bound.iter().any(|b| b.offset > 0)) {
        features.push("views at an offset");
    }
    if (0..list.objects.len()).any(|object| has_both_majors(pool, list, object)) {
        features.push("a buffer in both majors");
    }
    features.sort_unstable();
    features.dedup();
    features
}

/// Whether kernels of a list see the matrices in one buffer by rows and by columns.
fn has_both_majors(pool: &Pool, list: &List, object: usize) -> bool {
    let (mut rows, mut columns) = (false, false);
    for shot in &list.shots {
        let Source::Tree { kernel, .. } = &pool.kernels[shot.kernel].source else { continue };
        let here = |b: &&Bound| b.object == object;
        for bound in shot.bound.iter().filter(here) {
            let views = kernel.bindings.iter().filter(|b| (b.set, b.binding) == (bound.set, bound.binding));
            for array in views.flat_map(|b| &b.block.arrays) {
                rows |= array.element.has_matrix(true);
                columns |= array.element.has_matrix(false);
            }
        }
    }
    rows && columns
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:34}", "")?;
        HEAD.iter().try_for_each(|name| write!(f, "{name:>9}"))?;
        let rows = std::iter::once((&"all", &self.all)).chain(&self.by_feature);
        for (name, counts) in rows {
            write!(f, "\n{name:34}")?;
            counts.clone().row().into_iter().try_for_each(|n| write!(f, "{n:>9}"))?;
        }
        writeln!(f, "\nnot run, or without a defined result:")?;
        self.reasons.iter().try_for_each(|(reason, n)| writeln!(f, "{n:>8} {reason}"))?;
        writeln!(f, "cut first because of:")?;
        self.splits.iter().try_for_each(|(reason, n)| writeln!(f, "{n:>8} {reason}"))?;
        writeln!(f, "{} texts were not taken", self.rejected)
    }
}
