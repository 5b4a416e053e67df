//! Which loops are written out.
//!
//! An array that one invocation keeps to itself is registers only if every index into it is known when the kernel is
//! built. In a loop that goes round equally often for everyone, and not very often, it is, once the rounds stand one
//! after the other.

use super::group::{Group, analysis_of};
use super::submission::Submission;
use super::uses::Uses;
use crate::analysis::access::KernelAnalysis;
use crate::analysis::affine::{AtomId, Atoms};
use crate::analysis::evaluate::Evaluator;

/// Most rounds of a loop that is written out.
const MAX_ROUNDS: u32 = 16;

/// Most instructions the rounds of one loop may make.
const MAX_INSTRUCTIONS: u32 = 1 << 10;

/// A loop that can be written out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// Its number among the kernel's loops.
    pub(crate) index: u32,
    /// What counts its rounds.
    pub(crate) counter: AtomId,
    pub(crate) rounds: u32,
}

/// The loops of one member that can be written out; none lies in another loop.
pub(crate) fn loops(
    atoms: &mut Atoms,
    analysis: &KernelAnalysis,
    evaluator: &mut Evaluator<'_>,
) -> Vec<Written> {
    let outer = analysis.loops.iter().enumerate().filter(|(_, l)| l.parent.is_none());
    let candidates: Vec<(usize, u32)> = outer.filter_map(|(n, l)| Some((n, l.weight?))).collect();
    let mut found = Vec::new();
    for (index, weight) in candidates {
        let Some((counter, rounds)) = evaluator.exact_rounds(atoms, index) else { continue };
        let few = (1..=MAX_ROUNDS).contains(&rounds) && weight.saturating_mul(rounds) <= MAX_INSTRUCTIONS;
        if few {
            found.push(Written { index: index as u32, counter, rounds });
        }
    }
    found
}

/// All such loops of a group, with their rounds. Loops that fill no register gain too: their loads are in flight
/// together, and the driver sees which of them are the same.
pub(crate) fn all(list: &[Submission], uses: &Uses, group: &mut Group) -> Vec<Vec<(u32, u32)>> {
    (group.start..group.end())
        .map(|position| {
            let submission = &list[position];
            let sizes = submission.sizes();
            let constants = uses.constants(submission);
            let environment =
                group.layout.environment(&mut group.atoms, position, submission, &sizes, &constants);
            let (Ok(analysis), Some(env)) = (analysis_of(submission), environment) else {
                return Vec::new();
            };
            let mut evaluator = Evaluator::new(&group.atoms, analysis, &env);
            let found = loops(&mut group.atoms, analysis, &mut evaluator);
            found.iter().map(|l| (l.index, l.rounds)).collect()
        })
        .collect()
}
