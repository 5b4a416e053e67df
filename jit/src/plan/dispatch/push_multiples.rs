//! Push constants that are multiples of a power of two, which is built into the code: what items' numbers are divided by where elements are vectors.
//!
//! Lengths of rows and of their parts are passed to kernels as push constants, and indices are remainders by them. Four items next to each other, from
//! a multiple of four on, stay next to each other in their row if its length is a multiple of four as well. Then one division does for all of them, and
//! their elements are a vector (`emit::passes::trace`).
//!
//! # Requires
//! - a recipe that is complete otherwise, and its members with the numbers of the call
//!
//! # Guarantees
//! - a push constant is not zero and a multiple of its power of two, with the numbers of this call; it is one that a plan depends on
//!   ([`Specialized::planned_push`](crate::kernel::Specialized::planned_push)), so that a call with another number is planned anew
//! - only divisors are looked at, and powers up to [`MOST`]: few lengths have code of their own

use crate::analysis::expr::{BinaryOp, Exprs, Node, NodeId};
use crate::plan::dispatch::push_ranges;
use crate::plan::input::submission::Submission;
use crate::plan::output::recipe::{PushMultiple, Recipe};

/// The greatest power of two that is noted: a quarter of a row has vectors.
const MOST: u32 = 16;

/// Most nodes of a divisor that are looked at.
const MOST_NODES: usize = 64;

/// The multiples for a recipe.
pub(crate) fn of(recipe: &Recipe, members: &[Submission]) -> Vec<PushMultiple> {
    let mut found: Vec<PushMultiple> = Vec::new();
    if !recipe.schedule.has_vectors() {
        return found;
    }
    for (member, submission) in recipe.members.iter().zip(members) {
        let Ok(normal) = submission.kernel.normal.as_ref() else { continue };
        let divisors = divisors(&normal.analysis.exprs);
        for (leaf, number) in push_ranges::planned(submission) {
            let Some(&slot) = member.push.get(leaf.at) else { continue };
            let of = match 1 << number.trailing_zeros().min(MOST.trailing_zeros()) {
                _ if mutant!(AnyLengthIsAMultiple) => MOST,
                of => of,
            };
            let is_known = found.iter().any(|one| one.slot == slot);
            if number != 0 && of >= 4 && !is_known && divisors.contains(&leaf.offset) {
                found.push(PushMultiple { slot, of });
            }
        }
    }
    found
}

/// Offsets of the push constants of 32 bits that divisors are made of.
fn divisors(exprs: &Exprs) -> Vec<u32> {
    let all = (0..exprs.len() as u32).map(|node| exprs.get(NodeId(node)));
    let mut open: Vec<NodeId> = all
        .filter_map(|node| match node {
            Node::Binary { op: BinaryOp::UDiv | BinaryOp::UMod, width: 32, b, .. } => Some(*b),
            _ => None,
        })
        .collect();
    let (mut offsets, mut seen) = (Vec::new(), Vec::new());
    while let Some(node) = open.pop() {
        if seen.contains(&node) || seen.len() > MOST_NODES {
            continue;
        }
        seen.push(node);
        match exprs.get(node) {
            Node::Push { offset, width: 32 } => offsets.push(*offset),
            other => open.extend(other.parts()),
        }
    }
    offsets
}
