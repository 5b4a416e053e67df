//! How the lists of a run came out.

use std::collections::BTreeMap;
use std::fmt;

use vkfuse_jit::plan::{GroupReport, Report, SplitReport};
use vkfuse_jit::{Reason, RewriteReason};

use super::case::{Case, Family, Legality};

/// How a list came out that is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A kernel races with itself or leaves its buffers: there is no right result to compare with.
    Undefined,
    /// Fused and unfused give the same bytes.
    Equal {
        /// Dispatches of the fused run.
        steps: usize,
        /// Submissions of the list.
        submissions: usize,
        /// Whether all work-groups of the list became one, which makes any list legal.
        one_group: bool,
        /// Buffers internalized.
        internalized: usize,
        /// Promotions refused.
        refused: usize,
        /// Barriers kept.
        barriers: usize,
        /// Whether it was done in another order than its own.
        reordered: bool,
        /// Values that stay inside because they are overwritten later.
        renamed: usize,
        /// Dispatches with barriers in which one invocation does the work of several of its work-group.
        narrow: usize,
        /// Dispatches of items next to each other, as vectors in lockstep.
        vectors: usize,
        /// Dispatches that load columns of a matrix through shared memory.
        columns: usize,
        /// Where the list was split, if it was.
        split: Option<Split>,
    },
}

/// Why a list is not one dispatch: its cuts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Why, of the first cut that something else than its cost decided, or else of the first: with what kept a rewrite from closing
    /// it, and without numbers.
    pub why: String,
    /// Whether the device has too little room in one kernel.
    pub is_limit: bool,
    /// Whether each of the cuts could be closed, and would not pay.
    pub is_cost: bool,
}

impl Split {
    /// What a report says of its cuts; `None` if there is none.
    pub fn of(report: &Report) -> Option<Self> {
        let costs = |cut: &&SplitReport| {
            matches!(cut.reason, Reason::SlowBroadcast { .. })
                || matches!(
                    cut.tried,
                    Some(
                        RewriteReason::Costs { .. }
                            | RewriteReason::FewRows { .. }
                            | RewriteReason::NotKept { .. }
                    )
                )
        };
        let legality = report.splits.iter().find(|cut| !costs(cut));
        let cut = legality.or(report.splits.first())?;
        let tried = cut.tried.as_ref().map_or_else(String::new, |why| format!("; {why}"));
        let reason = cut.reason.to_string();
        let mut why = format!("{reason}{tried}").replace(|c: char| c.is_ascii_digit(), "N");
        while why.contains("NN") {
            why = why.replace("NN", "N");
        }
        Some(Self { why, is_limit: reason.starts_with("device limit"), is_cost: legality.is_none() })
    }
}

/// Lists of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lists.
    pub lists: usize,
    /// Those that have no right result to compare with.
    pub undefined: usize,
    /// Those that became one dispatch.
    pub fused: usize,
    /// Those that became several dispatches, at least one of them of several kernels.
    pub split: usize,
    /// Those in which nothing was fused.
    pub refused: usize,
    /// Those that became one dispatch of one work-group.
    pub one_group: usize,
    /// Those, of the split and refused, that need more push constants or bindings in one kernel than the device has.
    pub limited: usize,
    /// Those, of the split and refused, where every split could be fused and would not pay.
    pub costly: usize,
}

impl Counts {
    /// Lists that became one dispatch, of those that could on this device and for which the cost model does not say that it would not
    /// pay.
    pub fn share_fused(&self) -> f64 {
        self.fused as f64 / (self.lists - self.undefined - self.limited - self.costly).max(1) as f64
    }

    fn add(&mut self, other: &Self) {
        self.lists += other.lists;
        self.undefined += other.undefined;
        self.fused += other.fused;
        self.split += other.split;
        self.refused += other.refused;
        self.one_group += other.one_group;
        self.limited += other.limited;
        self.costly += other.costly;
    }
}

/// Whether the schedule of a report says that columns of a matrix are loaded through shared memory.
pub fn has_columns(group: &GroupReport) -> bool {
    group.schedule.contains("columns through shared memory")
}

/// How the lists of a run came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: BTreeMap<(Family, Legality), Counts>,
    /// Reasons why legal lists of a family were split, with how often and the first few of them.
    misses: BTreeMap<(Family, String), (usize, Vec<String>)>,
    /// Buffers internalized.
    pub internalized: usize,
    /// Promotions refused.
    pub promotions_refused: usize,
    /// Barriers kept.
    pub barriers: usize,
    /// Lists done in another order than their own.
    pub reordered: usize,
    /// Lists in which a value stays inside because it is overwritten later.
    pub renamed: usize,
    /// Lists with a dispatch with barriers in which one invocation does the work of several of its work-group.
    pub narrow: usize,
    /// Lists with a dispatch of items next to each other, as vectors in lockstep.
    pub vectors: usize,
    /// Lists with a dispatch that loads columns of a matrix through shared memory.
    pub columns: usize,
}

impl Tally {
    /// Adds one list, of a name to find it by.
    pub fn count(&mut self, case: &Case, verdict: Verdict, name: &str) {
        let counts = self.counts.entry((case.family, case.legality)).or_default();
        counts.lists += 1;
        match verdict {
            Verdict::Undefined => counts.undefined += 1,
            Verdict::Equal {
                steps,
                submissions,
                one_group,
                internalized,
                refused,
                barriers,
                split,
                reordered,
                renamed,
                narrow,
                vectors,
                columns,
            } => {
                counts.limited += usize::from(split.as_ref().is_some_and(|split| split.is_limit));
                counts.costly += usize::from(split.as_ref().is_some_and(|split| split.is_cost));
                if let (Legality::Legal, Some(split)) = (case.legality, split) {
                    let miss = self.misses.entry((case.family, split.why)).or_default();
                    add_miss(miss, 1, &[name.to_owned()]);
                }
                match steps {
                    1 if submissions > 1 => {
                        counts.fused += 1;
                        counts.one_group += usize::from(one_group);
                    }
                    n if n < submissions => counts.split += 1,
                    _ => counts.refused += 1,
                }
                self.internalized += internalized;
                self.promotions_refused += refused;
                self.barriers += barriers;
                self.reordered += usize::from(reordered);
                self.renamed += usize::from(renamed > 0);
                self.narrow += usize::from(narrow > 0);
                self.vectors += usize::from(vectors > 0);
                self.columns += usize::from(columns > 0);
            }
        }
    }

    /// Adds another run.
    pub fn add(&mut self, other: &Self) {
        for (key, counts) in &other.counts {
            self.counts.entry(*key).or_default().add(counts);
        }
        for (kind, (times, examples)) in &other.misses {
            add_miss(self.misses.entry(kind.clone()).or_default(), *times, examples);
        }
        self.internalized += other.internalized;
        self.promotions_refused += other.promotions_refused;
        self.barriers += other.barriers;
        self.reordered += other.reordered;
        self.renamed += other.renamed;
        self.narrow += other.narrow;
        self.vectors += other.vectors;
        self.columns += other.columns;
    }

    /// The lists of a family, or of all, that are of this legality, or of any.
    pub fn of(&self, family: Option<Family>, legality: Option<Legality>) -> Counts {
        let mut sum = Counts::default();
        let fits = |key: &(Family, Legality)| {
            family.is_none_or(|f| f == key.0) && legality.is_none_or(|l| l == key.1)
        };
        self.counts.iter().filter(|(key, _)| fits(key)).for_each(|(_, counts)| sum.add(counts));
        sum
    }
}

/// Examples are kept one of each sequence of kernels: lists of a sequence have neighbouring numbers.
fn add_miss(miss: &mut (usize, Vec<String>), times: usize, examples: &[String]) {
    let sequence = |name: &str| {
        let (seed, list) = name.split_once(':')?;
        Some((seed.to_owned(), list.parse::<usize>().ok()? / 16))
    };
    miss.0 += times;
    for example in examples {
        let known = miss.1.iter().any(|other| sequence(other) == sequence(example));
        if !known && miss.1.len() < 8 {
            miss.1.push(example.clone());
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |family: &str, legality: &str, c: &Counts| {
            let defined = (c.lists - c.undefined).max(1) as f64;
            let share = |n: usize| 100.0 * n as f64 / defined;
            writeln!(
                f,
                "{family:<12} {legality:<10} {:>7} lists {:>6} undefined  fused {:>6} ({:>5.2} %)  split {:>6} \
                 ({:>5.2} %)  refused {:>6} ({:>5.2} %)  over a device limit {:>5}  would not pay {:>5}",
                c.lists,
                c.undefined,
                c.fused,
                share(c.fused),
                c.split,
                share(c.split),
                c.refused,
                share(c.refused),
                c.limited,
                c.costly
            )
        };
        for ((family, legality), counts) in &self.counts {
            row(family.name(), legality.name(), counts)?;
        }
        for legality in Legality::ALL {
            row("all", legality.name(), &self.of(None, Some(legality)))?;
        }
        row("all", "", &self.of(None, None))?;
        for ((family, why), (times, examples)) in &self.misses {
            let (family, examples) = (family.name(), examples.join(", "));
            writeln!(f, "legal and not fused: {family}, {times} times {why} (lists {examples})")?;
        }
        write!(
            f,
            "{} buffers internalized, {} promotions refused, {} barriers, {} lists in another order, {} with values renamed, {} with work-groups by fewer invocations, {} with vectors in lockstep, {} with columns through shared memory",
            self.internalized,
            self.promotions_refused,
            self.barriers,
            self.reordered,
            self.renamed,
            self.narrow,
            self.vectors,
            self.columns
        )
    }
}
