//! Resolved branches: those that go one way in every invocation, with the numbers of the list.
//!
//! Kernels ask whether there is anything to do for them: `if (i >= n) return;`. Where every invocation of the group has something to do, the
//! code does not ask any more. That saves little by itself, but loads behind a branch wait for each other, and a branch on a
//! work-group's number keeps work-groups from being coarsened ([`super::block_coarsening`]).
//!
//! # Requires
//! - a finished group, whose members do one item in each invocation
//!
//! # Guarantees
//! - whenever control comes to such a branch, it goes the way that is said here: the guards of the block and the other way contradict
//!   each other
//! - no branch that leads to the end of a loop is among them
//! - what lies on the other way is one block that does nothing but return, or go where both ways meet; or there is nothing on it

use rspirv::dr::{Block, Function, Operand};
use rspirv::spirv::Op;

use crate::analysis::KernelAnalysis;
use crate::analysis::access::Guard;
use crate::analysis::cfg::Cfg;
use crate::analysis::evaluate::Evaluator;
use crate::analysis::resolved_branches::ResolvedBranch;
use crate::plan::grouping::group::Group;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::Submission;
use crate::plan::input::uses::Uses;

/// Most branches of one member that are asked about.
const MOST: usize = 16;

/// Such branches of all members of a group, by member.
pub(crate) fn find(list: &[Submission], uses: &Uses, group: &mut Group) -> Vec<Vec<ResolvedBranch>> {
    (group.start..group.end())
        .map(|position| {
            let submission = &list[position];
            let (Ok(normal), Ok(analysis)) = (&submission.kernel.normal, analysis_of(submission)) else {
                return Vec::new();
            };
            let Some(function) = normal.module.functions.first() else { return Vec::new() };
            let asked = asked(function, analysis);
            if asked.is_empty() {
                return Vec::new();
            }
            let sizes = submission.sizes();
            let constants = uses.constants(submission);
            let environment =
                group.layout.environment(&mut group.atoms, position, submission, &sizes, &constants);
            let Some(env) = environment else { return Vec::new() };
            let mut evaluator = Evaluator::new(&group.atoms, analysis, &env);
            let mut resolved = Vec::new();
            for Asked { before, other } in asked {
                if evaluator.excludes(&mut group.atoms, &before, other) {
                    resolved.push(ResolvedBranch { block: other.block as u32, taken: !other.holds });
                }
            }
            resolved
        })
        .collect()
}

/// A branch that could go without its question.
struct Asked {
    /// What holds where control comes to it.
    before: Vec<Guard>,
    /// What would have to hold for the other way.
    other: Guard,
}

/// The branches that accesses of a kernel lie behind, with nothing on their other way.
fn asked(function: &Function, analysis: &KernelAnalysis) -> Vec<Asked> {
    let mut found: Vec<Asked> = Vec::new();
    let accesses = || analysis.accesses.iter().filter(|access| !access.guards.is_empty());
    if accesses().next().is_none() {
        return found;
    }
    let cfg = Cfg::new(function);
    for access in accesses() {
        for guard in access.guards.iter().filter(|guard| !guard.in_past_loop) {
            if found.len() == MOST || found.iter().any(|one| one.other.block == guard.block) {
                continue;
            }
            if !is_empty_beside(function, &cfg, guard) {
                continue;
            }
            let edges = cfg.edges(function, guard.block);
            // What holds there, as far as it also holds at the access, where it has been expressed.
            let holds = |own: &&Guard| {
                !own.in_past_loop
                    && edges
                        .iter()
                        .any(|edge| edge.block == own.block && edge.taken == own.holds && !edge.in_past_loop)
            };
            let before = access.guards.iter().filter(holds).copied().collect();
            found.push(Asked { before, other: Guard { holds: !guard.holds, ..*guard } });
        }
    }
    found
}

/// Whether the way that a guard does not take is empty: it leads at once to where both meet, or returns; and where both meet is
/// come to without it.
fn is_empty_beside(function: &Function, cfg: &Cfg, guard: &Guard) -> bool {
    let Some([.., merge, last]) = function.blocks.get(guard.block).map(|block| block.instructions.as_slice())
    else {
        return false;
    };
    if (merge.class.opcode, last.class.opcode) != (Op::SelectionMerge, Op::BranchConditional) {
        return false;
    }
    let block = |operand: Option<&Operand>| cfg.block_of_label(operand?.id_ref_any()?);
    let sides = (block(merge.operands.first()), block(last.operands.get(1)), block(last.operands.get(2)));
    let (Some(meets), Some(on_true), Some(on_false)) = sides else { return false };
    let (taken, other) = if guard.holds { (on_true, on_false) } else { (on_false, on_true) };
    // The test of a loop stays, also in code that no invocation comes to: unrolling looks for it.
    let ends_loop = |block: &Block| {
        let merges = block.instructions.iter().filter(|inst| inst.class.opcode == Op::LoopMerge);
        merges
            .filter_map(|inst| cfg.block_of_label(inst.operands.first()?.id_ref_any()?))
            .any(|end| end == other)
    };
    let leaves_loop = function.blocks.iter().any(ends_loop);
    if taken == other || leaves_loop || taken != meets && !cfg.after(taken)[meets] {
        return false;
    }
    if other == meets {
        return true;
    }
    let [only] = function.blocks[other].instructions.as_slice() else { return false };
    let ends = match only.class.opcode {
        Op::Return => true,
        Op::Branch => block(only.operands.first()) == Some(meets),
        _ => false,
    };
    ends && cfg.predecessors[other].len() == 1
}
