//! Which loops are unrolled.
//!
//! An array that one invocation keeps to itself is registers only if every index into it is known when the kernel is
//! built. In a loop that does not go round very often it is, once the rounds stand one after the other. Those that every invocation
//! does need no test any more; where some invocations do one more than others, that one keeps it.
//!
//! Longer loops are unrolled in part: several rounds stand one after another in each round of what is left of the loop, without
//! tests between them, so that what they load is in flight together.
//!
//! # Requires
//! - numbers of rounds that the analysis has proven: fewest and most of any invocation
//!
//! # Guarantees
//! - each invocation does the same rounds as before, in the same order

use ahash::AHashSet;

use crate::analysis::KernelAnalysis;
use crate::analysis::affine::{AtomId, Atoms};
use crate::analysis::evaluate::Evaluator;
use crate::analysis::unroll::Round;
use crate::plan::grouping::group::Group;
use crate::plan::grouping::mapping::Layout;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::limits::UnrollLimits;
use crate::plan::input::problem::Problem;
use crate::plan::output::recipe::Unroll;

/// Most instructions of a round, on average over as many rounds as may be unrolled, or stand one after another.
const MAX_INSTRUCTIONS: u32 = 64;

/// Most instructions that rounds of a group may have which need not be unrolled.
const MAX_OF_ALL: u32 = 1 << 13;

/// Most bytes that an invocation keeps to itself where loops over constants are unrolled beside them. Measured on an H200: with 256, rows of
/// 16,384 took 221 µs (softmax) and 313 (RMS norm) with them unrolled, 164 and 234 without; with 128, rows of 8,192 took 143 and 149.
const MOST_BESIDE_TREES: u64 = 128;

/// Fewest rounds that are to be left of a loop that is unrolled in part.
const LEAST_TIMES: u32 = 2;

/// A loop that can be unrolled as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// Its number among the kernel's loops.
    pub(crate) index: u32,
    /// What counts its rounds.
    pub(crate) counter: AtomId,
    /// Rounds that every invocation does.
    pub(crate) sure: u32,
    /// Rounds that some invocation does: as many, or one more.
    pub(crate) most: u32,
}

/// A loop whose rounds are known.
struct Counted {
    written: Written,
    round: Round,
    /// There are loops in it.
    has_loops: bool,
}

/// The loops of one member that can be unrolled; none of them lies in another loop.
fn counted(atoms: &mut Atoms, analysis: &KernelAnalysis, evaluator: &mut Evaluator<'_>) -> Vec<Counted> {
    let outer = analysis.loops.iter().enumerate().filter(|(_, l)| l.parent.is_none());
    let candidates: Vec<_> = outer.filter_map(|(n, l)| Some((n, l.round?))).collect();
    let mut found = Vec::new();
    for (index, round) in candidates {
        let Some((counter, sure, most)) = evaluator.rounds_between(atoms, index) else { continue };
        let written = Written { index: index as u32, counter, sure, most };
        let has_loops = analysis.loops.iter().any(|inner| inner.parent == Some(index));
        found.push(Counted { written, round, has_loops });
    }
    found
}

impl Counted {
    /// Whether all of its rounds can be unrolled.
    fn is_short(&self, facts: UnrollLimits) -> bool {
        let Written { sure, most, .. } = self.written;
        let writable = most == sure || most == sure + 1 && self.round.repeatable;
        (1..=facts.rounds).contains(&most)
            && self.round.weight.saturating_mul(most) <= facts.rounds.saturating_mul(MAX_INSTRUCTIONS)
            && writable
    }
}

/// The loops of one member that can be unrolled as a whole; none lies in another loop.
pub(crate) fn loops(
    atoms: &mut Atoms,
    analysis: &KernelAnalysis,
    evaluator: &mut Evaluator<'_>,
    facts: UnrollLimits,
) -> Vec<Written> {
    let all = counted(atoms, analysis, evaluator);
    all.into_iter().filter(|one| one.is_short(facts)).map(|one| one.written).collect()
}

/// Loops of a group, by member and number, that have to be unrolled as a whole because places depend on their rounds.
pub(crate) type Needed = AHashSet<(usize, u32)>;

/// All loops of a group that are unrolled, by member, with the ids of `layout`; `needed` are those that have to be as a whole, `private` says how many
/// bytes an invocation keeps. Beside them, those that fill no register gain too: their loads are in flight together, and
/// the driver sees which of them are the same. Where they go on to store, many at once are only more to keep.
pub(crate) fn all(
    problem: Problem<'_>,
    group: &mut Group,
    layout: &Layout,
    (needed, private): (&Needed, u64),
) -> Vec<Vec<Unroll>> {
    let Problem { list, uses, limits, .. } = problem;
    let facts = limits.unroll;
    let mut room = MAX_OF_ALL;
    let trees =
        UnrollLimits { at_once: if private > MOST_BESIDE_TREES { 1 } else { facts.at_once }, ..facts };
    (group.start..group.end())
        .map(|position| {
            let submission = &list[position];
            let sizes = submission.sizes();
            let constants = uses.constants(submission);
            let environment = layout.environment(&mut group.atoms, position, submission, &sizes, &constants);
            let (Ok(analysis), Some(env)) = (analysis_of(submission), environment) else {
                return Vec::new();
            };
            let mut evaluator = Evaluator::new(&group.atoms, analysis, &env);
            let found = counted(&mut group.atoms, analysis, &mut evaluator);
            let counted = found.iter().filter_map(|one| {
                let is_needed = needed.contains(&(position, one.written.index));
                how(one, facts, is_needed || !needed.is_empty() && !one.round.stores)
            });
            let mut all: Vec<Unroll> = counted.chain(fixed(analysis, trees)).collect();
            all.retain(|how| {
                let weight = analysis.loops[how.index() as usize].round.map_or(0, |round| round.weight);
                let places = needed.contains(&(position, how.index()));
                let fits = weight.saturating_mul(how.copies()) <= room;
                if fits {
                    room -= weight * how.copies();
                }
                places || fits
            });
            all
        })
        .collect()
}

/// Loops whose rounds follow from constants, such as those of a reduction tree: unrolled, the driver knows in each round which invocations take part.
fn fixed(analysis: &KernelAnalysis, facts: UnrollLimits) -> impl Iterator<Item = Unroll> + '_ {
    let outer = analysis.loops.iter().enumerate().filter(|(_, one)| one.parent.is_none());
    outer.filter_map(move |(index, one)| {
        let (round, rounds) = (one.round?, one.fixed?);
        let short = facts.at_once > 1
            && (1..=facts.rounds).contains(&rounds)
            && round.weight.saturating_mul(rounds) <= facts.rounds.saturating_mul(MAX_INSTRUCTIONS);
        short.then_some(Unroll::Whole { index: index as u32, sure: rounds, most: rounds })
    })
}

/// How a loop is unrolled, if it is; `whole` says that it is as a whole if it is short.
fn how(one: &Counted, facts: UnrollLimits, whole: bool) -> Option<Unroll> {
    let Written { index, sure, most, .. } = one.written;
    if one.is_short(facts) && (whole || most <= facts.at_once) {
        return Some(Unroll::Whole { index, sure, most });
    }
    let sure = if mutant!(RoundsOfOneAreOfAll) { most } else { sure };
    // Of longer rounds half as many, so that there is not more code. Those with loops in them have loads in flight already.
    let at_once = match one.round.weight {
        0..=MAX_INSTRUCTIONS => facts.at_once,
        weight if weight <= 2 * MAX_INSTRUCTIONS && !one.has_loops => facts.at_once / 2,
        _ => 1,
    };
    let gains = at_once > 1 && sure / at_once >= LEAST_TIMES && one.round.loads;
    gains.then(|| Unroll::Part { index, times: sure / at_once, at_once })
}
