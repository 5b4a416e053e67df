//! Counters that a round may leave as they are.
//!
//! `if (i >= n) continue; ...; i += 64` steps `i` only in rounds that have passed `i < n`. Once that fails, `i` stays what it
//! is, so it fails in all rounds after: where it holds, every round before has stepped.
//!
//! # Requires
//! - the branches a round takes if it steps ask for nothing but the counter and what is the same in all rounds
//! - a round that takes all of them and is followed by another has stepped; one that does not take all of them has not
//!
//! # Guarantees
//! - in a round that has taken these branches, the counter is `init + k * step`, `k` the rounds before
//! - in any round it is `init + j * step` for some `j <= k`

use rspirv::spirv::Op;

use super::build::{Builder, Definition, Variable, id_at};
use super::expr::{NodeId, Passed};
use super::symbolic::{binary_op, compare_op};

/// Most phis between the counter and its step.
const MAX_PHIS: usize = 8;

/// Most definitions a condition is followed through.
const MAX_DEFINITIONS: u32 = 64;

impl Builder<'_> {
    /// The step of a counter that some rounds leave as it is, and the branches taken by those that do not.
    pub(super) fn skipped_step(
        &mut self,
        next: u32,
        counter: u32,
        own_loop: usize,
    ) -> Option<(NodeId, Vec<Passed>)> {
        let (sum, places) = self.behind_phis(next, counter, own_loop)?;
        let step = self.step_of(sum, counter, own_loop)?;
        let mut under: Vec<Passed> = Vec::new();
        for place in places {
            let mut closed = Vec::new();
            for edge in self.cfg.edges(self.function, place) {
                let is_own = self.cfg.innermost_loop(edge.block) == Some(own_loop) && !edge.in_past_loop;
                if !is_own {
                    continue;
                }
                let (_, on_true, on_false) = self.cfg.conditional(self.function, edge.block)?;
                let other = if edge.taken { on_false } else { on_true };
                // The other side of a loop's exit leads to no other round.
                if !self.cfg.loops[own_loop].blocks.contains(other) {
                    continue;
                }
                let mut budget = MAX_DEFINITIONS;
                if !self.is_made_of(edge.condition, counter, own_loop, &mut budget)
                    && !mutant!(AnySkipIsForGood)
                {
                    return None;
                }
                closed.push((edge.block, other));
                let passed = Passed { block: edge.block, taken: edge.taken };
                if !under.contains(&passed) {
                    under.push(passed);
                }
            }
            if !self.cfg.is_passed_by_rounds(own_loop, place, &closed) && !mutant!(AnyWaySteps) {
                return None;
            }
        }
        Some((step, under))
    }

    /// The sum behind phis that choose between it and the counter, and the blocks from which it comes to each of them.
    fn behind_phis(&self, next: u32, counter: u32, own_loop: usize) -> Option<(u32, Vec<usize>)> {
        let mut value = next;
        let mut places = Vec::new();
        for _ in 0..MAX_PHIS {
            let Definition::Local { block, inst } = self.definitions.get(&value).copied()? else {
                return None;
            };
            if inst.class.opcode != Op::Phi || self.source(value) != value {
                break;
            }
            if self.cfg.innermost_loop(block) != Some(own_loop) || self.cfg.loops[own_loop].header == block {
                return None;
            }
            let mut stepped = None;
            for pair in inst.operands.chunks(2) {
                let input = pair.first()?.id_ref_any()?;
                let from = self.cfg.block_of_label(pair.get(1)?.id_ref_any()?)?;
                if self.source(input) != counter && stepped.replace((input, from)).is_some() {
                    return None;
                }
            }
            let (input, from) = stepped?;
            // An invocation that passes the block reaches the phi from there.
            if self.cfg.successors[from].len() != 1 || self.cfg.innermost_loop(from) != Some(own_loop) {
                return None;
            }
            places.push(from);
            value = input;
        }
        (!places.is_empty()).then_some((value, places))
    }

    /// Whether a value follows from a counter and from what is the same in all rounds of its loop.
    fn is_made_of(&self, id: u32, counter: u32, own_loop: usize, budget: &mut u32) -> bool {
        if id == counter {
            return true;
        }
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        let (block, inst) = match self.definitions.get(&id) {
            Some(Definition::Global(_)) => return true,
            Some(&Definition::Local { block, inst }) => (block, inst),
            None => return self.variables.contains_key(&id),
        };
        if !self.cfg.loops[own_loop].blocks.contains(block) {
            return true;
        }
        let op = inst.class.opcode;
        let is_arithmetic = binary_op(op).is_some()
            || compare_op(op).is_some()
            || matches!(
                op,
                Op::CopyObject
                    | Op::Bitcast
                    | Op::UConvert
                    | Op::SConvert
                    | Op::SNegate
                    | Op::Not
                    | Op::LogicalAnd
                    | Op::LogicalOr
                    | Op::LogicalNot
                    | Op::Select
                    | Op::CompositeExtract
                    | Op::CompositeConstruct
                    | Op::ArrayLength
            );
        let reads_fixed = || {
            let pointer = id_at(inst, 0).and_then(|pointer| self.pointer(pointer));
            op == Op::Load
                && pointer.is_some_and(|pointer| {
                    matches!(pointer.variable, Variable::Push | Variable::BuiltIn(_))
                        && pointer.terms.is_empty()
                })
        };
        if reads_fixed() || self.asked_of_image(inst, 0).is_some() {
            return true;
        }
        let mut parts = inst.operands.iter().filter_map(|operand| operand.id_ref_any());
        is_arithmetic && parts.all(|part| self.is_made_of(part, counter, own_loop, budget))
    }
}
