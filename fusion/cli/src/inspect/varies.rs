//! What an index expression varies with: the class of an access.
//!
//! A class is read off the leaves of the expression alone, without group counts or push constants.
//! It says what the index depends on, not that different invocations get different elements: that
//! is proven with the numbers of a list, when it is fused.

use std::collections::HashSet;
use vkfuse_jit::analysis::expr::{Exprs, IdKind, Node, NodeId};

/// What the leaves of some expressions depend on.
#[derive(Default)]
struct Leaves {
    group: bool,
    local: bool,
    unknown: bool,
}

/// The class of an access through these indices.
pub(super) fn class(exprs: &Exprs, indices: impl Iterator<Item = NodeId>) -> &'static str {
    let mut leaves = Leaves::default();
    let mut seen = HashSet::new();
    let mut next: Vec<NodeId> = indices.collect();
    while let Some(id) = next.pop() {
        // Expressions share nodes: without this a long chain of sums would be walked exponentially.
        if seen.insert(id) {
            visit(exprs.get(id), &mut leaves, &mut next);
        }
    }
    match leaves {
        Leaves { unknown: true, .. } => "unknown",
        Leaves { group: true, local: true, .. } => "by invocation",
        Leaves { group: true, .. } => "by work-group",
        Leaves { local: true, .. } => "by local id",
        _ => "uniform",
    }
}

fn visit(node: &Node, leaves: &mut Leaves, next: &mut Vec<NodeId>) {
    match node {
        Node::Id { kind: IdKind::Global, .. } => {
            leaves.group = true;
            leaves.local = true;
        }
        Node::Id { kind: IdKind::Group, .. } => leaves.group = true,
        Node::Id { kind: IdKind::Local, .. } | Node::LocalIndex | Node::Subgroup(_) => leaves.local = true,
        Node::Id { kind: IdKind::GroupCount, .. }
        | Node::Const { .. }
        | Node::Push { .. }
        | Node::Length { .. }
        | Node::Image { .. } => {}
        Node::Binary { a, b, .. } | Node::Compare { a, b, .. } | Node::BoolAnd(a, b) | Node::BoolOr(a, b) => {
            next.extend([*a, *b]);
        }
        Node::Convert { a, .. } | Node::BoolNot(a) => next.push(*a),
        Node::Join { inputs, .. } => {
            // Which of them it is may depend on anything.
            leaves.unknown = true;
            next.extend(inputs);
        }
        Node::Select { condition, a, b, .. } => next.extend([*condition, *a, *b]),
        Node::Counter { init, step, .. } => next.extend([*init, *step]),
        // How often a loop went round may depend on anything.
        Node::Final { .. } | Node::Cell { .. } | Node::Opaque { .. } => leaves.unknown = true,
    }
}
