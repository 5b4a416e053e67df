//! Which loops are unrolled.
//!
//! An array that one invocation keeps to itself is registers only if every index into it is known when the kernel is
//! built. In a loop that does not go round very often it is, once the rounds stand one after the other. Those that every invocation
//! does need no test any more; where some invocations do one more than others, that one keeps it.
//!
//! Longer loops are unrolled in part: several rounds stand one after another in each round of what is left of the loop, without
//! tests between them, so that what they load is in flight together.
//!
//! Several such loops of a group may load the same words, as the kernels of a softmax do of a row. Of loops that are unrolled as a whole the driver's
//! compiler keeps them in registers. Of longer ones it can keep those of the first rounds, if these stand in front of what is left of each loop.
//!
//! # Requires
//! - numbers of rounds that the analysis has proven: fewest and most of any invocation
//!
//! # Guarantees
//! - each invocation does the same rounds as before, in the same order

use ahash::{AHashMap, AHashSet};

use crate::analysis::KernelAnalysis;
use crate::analysis::access::AccessKind;
use crate::analysis::affine::{Affine, AtomId, Atoms};
use crate::analysis::evaluate::Evaluator;
use crate::analysis::unroll::Round;
use crate::plan::grouping::group::Group;
use crate::plan::grouping::mapping::Layout;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::limits::UnrollLimits;
use crate::plan::input::options::KEPT_WORDS;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::BufferId;
use crate::plan::output::recipe::Unroll;

/// Most instructions of a round, on average over as many rounds as may be unrolled, or stand one after another.
const MAX_INSTRUCTIONS: u32 = 64;

/// Most instructions that rounds of a group may have which need not be unrolled.
const MAX_OF_ALL: u32 = 1 << 13;

/// Most instructions of the rounds of a group that keep words for other loops.
const MAX_OF_KEPT: u32 = 1 << 15;

/// Registers of an invocation for all else than the words that its loops keep.
const OTHER_REGISTERS: u32 = 64;

/// The words that an invocation keeps are a multiple of this, where they depend on the size of the work-group.
const KEPT_STEP: u32 = 32;

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

/// The loops of a group that are unrolled.
#[derive(Debug, Default)]
pub(crate) struct Unrolled {
    /// By member.
    pub(crate) loops: Vec<Vec<Unroll>>,
    /// Words that some load which others load too, and would keep if that were asked for ([`UnrollLimits::keep`]).
    pub(crate) may_keep: u32,
}

/// A loop that is unrolled, and what counts its rounds.
struct Chosen {
    how: Unroll,
    weight: u32,
    counted: Option<Written>,
}

/// All loops of a group that are unrolled, by member, with the ids of `layout`; `needed` are those that have to be as a whole, `private` says how many
/// bytes an invocation keeps. Beside them, those that fill no register gain too: their loads are in flight together, and
/// the driver sees which of them are the same. Where they go on to store, many at once are only more to keep.
pub(crate) fn all(
    problem: Problem<'_>,
    group: &mut Group,
    layout: &Layout,
    (needed, private): (&Needed, u64),
) -> Unrolled {
    let Problem { list, uses, limits, .. } = problem;
    let facts = limits.unroll;
    let trees =
        UnrollLimits { at_once: if private > MOST_BESIDE_TREES { 1 } else { facts.at_once }, ..facts };
    let mut chosen: Vec<Vec<Chosen>> = (group.start..group.end())
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
                let how = how(one, facts, is_needed || !needed.is_empty() && !one.round.stores)?;
                Some((how, Some(one.written)))
            });
            let of_constants = fixed(analysis, trees).map(|how| (how, None));
            let weight =
                |how: &Unroll| analysis.loops[how.index() as usize].round.map_or(0, |round| round.weight);
            let all = counted.chain(of_constants);
            all.map(|(how, counted)| Chosen { how, weight: weight(&how), counted }).collect()
        })
        .collect();
    let mut may_keep = 0;
    if facts.keep > 0 {
        let (kept, words) = keep(problem, group, &chosen, facts.keep);
        kept.into_iter().for_each(|((member, number), how)| chosen[member][number].how = how);
        may_keep = words;
    } else {
        let most = KEPT_WORDS.iter().map(|&most| keep(problem, group, &chosen, most).1).max();
        may_keep = most.unwrap_or(may_keep);
    }
    let mut room = MAX_OF_ALL;
    let loops = (group.start..).zip(chosen).map(|(position, mut all)| {
        all.retain(|Chosen { how, weight, .. }| {
            let asked = how.first() > 0 || needed.contains(&(position, how.index()));
            let fits = weight.saturating_mul(how.copies()) <= room;
            if fits {
                room -= weight * how.copies();
            }
            asked || fits
        });
        all.into_iter().map(|one| one.how).collect()
    });
    Unrolled { loops: loops.collect(), may_keep }
}

/// Words that each round of a loop loads: where they begin in the first round, what a round adds, how many bytes they are, and how many rounds there are.
type Words = (BufferId, Affine, i128, i128, u32);

/// Loops by member and number, and how they are unrolled.
type Longer = Vec<((usize, usize), Unroll)>;

/// Loops that load the same words in each of their rounds, by member and number among `chosen`, as they are unrolled to keep those of the first
/// ones, no more than `most`, and than there are registers for; and how many that are. What a member writes is not kept.
fn keep(problem: Problem<'_>, group: &Group, chosen: &[Vec<Chosen>], most: u32) -> (Longer, u32) {
    let Problem { list, limits, .. } = problem;
    let facts = limits.unroll;
    let members = &list[group.start..group.end()];
    let local = group.layout.shape.local.iter().product::<u32>().max(1);
    let own = (facts.registers / local).saturating_sub(OTHER_REGISTERS) / KEPT_STEP * KEPT_STEP;
    let room = own.min(most);
    if room == 0 || members.iter().any(|one| one.kernel.interface.uses_device_addresses) {
        return (Vec::new(), 0);
    }
    let is_written = |buffer: BufferId| {
        members.iter().any(|one| {
            let bindings = one.args.iter().zip(&one.kernel.interface.bindings);
            bindings.into_iter().any(|(arg, binding)| arg.buffer == buffer && binding.writes)
        })
    };
    let mut loops: AHashMap<Words, Vec<(usize, usize)>> = AHashMap::new();
    for (member, (one, all)) in members.iter().zip(chosen).enumerate() {
        let Ok(analysis) = analysis_of(one) else { continue };
        for (number, Chosen { how, weight, counted }) in all.iter().enumerate() {
            let (Some(Written { index, counter, sure, .. }), Unroll::Part { .. }) = (counted, how) else {
                continue;
            };
            if *weight > MAX_INSTRUCTIONS {
                continue;
            }
            for (access, form) in analysis.accesses.iter().zip(&group.forms[member]) {
                let is_in_it = matches!(access.loops.as_slice(), [(of, _)] if *of == *index as usize);
                let buffer = one.args[access.binding].buffer;
                let by = form.offset.terms.iter().find(|(id, _)| id == counter).map(|&(_, by)| by);
                let (Some(by), true) = (by, is_in_it && access.kind == AccessKind::Read) else { continue };
                if form.unknown || form.never || is_written(buffer) {
                    continue;
                }
                let mut begin = form.offset.clone();
                begin.terms.retain(|(id, _)| id != counter);
                let of = loops.entry((buffer, begin, by, form.size, *sure)).or_default();
                if !of.contains(&(member, number)) {
                    of.push((member, number));
                }
            }
        }
    }
    loops.retain(|_, of| of.len() > 1);
    let words = loops.keys().map(|(_, _, _, size, _)| u32::try_from(*size).unwrap_or(u32::MAX).div_ceil(4));
    let words = words.fold(0, u32::saturating_add);
    // What was loaded is in flight together.
    let at_once = 2 * facts.at_once;
    let mut of: Vec<((usize, usize), u32)> =
        loops.iter().flat_map(|((.., sure), of)| of.iter().map(|&at| (at, *sure))).collect();
    of.sort_unstable();
    of.dedup();
    let longer = |&(at, sure): &((usize, usize), u32)| {
        let first = (room / words).min(sure.saturating_sub(LEAST_TIMES * at_once));
        let left = if mutant!(FirstRoundsAreMore) { sure } else { sure - first };
        let index = chosen[at.0][at.1].how.index();
        (first > 0).then_some((at, Unroll::Part { index, first, times: left / at_once, at_once }))
    };
    let longer: Longer = of.iter().filter_map(longer).collect();
    let weight = |(at, how): &((usize, usize), Unroll)| chosen[at.0][at.1].weight * how.copies();
    if longer.iter().map(weight).sum::<u32>() > MAX_OF_KEPT {
        return (Vec::new(), 0);
    }
    let first = longer.iter().map(|(_, how)| how.first()).max();
    (longer, first.map_or(0, |first| first * words))
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
    gains.then(|| Unroll::Part { index, first: 0, times: sure / at_once, at_once })
}
