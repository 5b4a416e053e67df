//! Work-groups that do again what others did: a kernel that takes its place from `.x` alone, on a grid with more in y or z.

use ahash::AHashSet;

use crate::analysis::expr::{Exprs, IdKind, Node, NodeId};
use crate::kernel::Specialized;

/// A dimension in which there are several work-groups, and on which neither depends where the kernel writes, nor whether it does.
///
/// Nothing is said of kernels with atomics, which may count, nor where an index is not followed.
#[must_use]
pub fn repeated(kernel: &Specialized, groups: [u32; 3]) -> Option<&'static str> {
    if groups[1] <= 1 && groups[2] <= 1 {
        return None;
    }
    let normal = kernel.normal.as_ref().ok().filter(|_| !kernel.interface.has_atomics)?;
    let exprs = &normal.analysis.exprs;
    let mut writes = normal.analysis.accesses.iter().filter(|access| access.kind.writes()).peekable();
    writes.peek()?;
    let mut used = [false; 3];
    for access in writes {
        if access.texel.is_some() || !access.exact_guards {
            return None;
        }
        let conditions = access.guards.iter().map(|guard| guard.condition);
        let dims = dimensions(exprs, access.terms.iter().map(|term| term.index).chain(conditions))?;
        used = std::array::from_fn(|dim| used[dim] || dims[dim]);
    }
    [(1, "y"), (2, "z")].into_iter().find(|&(dim, _)| groups[dim] > 1 && !used[dim]).map(|(_, name)| name)
}

/// The dimensions of ids of work-groups that some expressions depend on; nothing where that is not known.
fn dimensions(exprs: &Exprs, roots: impl Iterator<Item = NodeId>) -> Option<[bool; 3]> {
    let mut dims = [false; 3];
    let mut seen = AHashSet::new();
    let mut next: Vec<NodeId> = roots.collect();
    while let Some(id) = next.pop() {
        if !seen.insert(id) {
            continue;
        }
        match exprs.get(id) {
            Node::Id { kind: IdKind::Global | IdKind::Group, dim } => {
                if let Some(used) = dims.get_mut(usize::from(*dim)) {
                    *used = true;
                }
            }
            // Which of several values it is, or how often a loop went round, may depend on anything.
            Node::Join { .. } | Node::Final { .. } | Node::Cell { .. } | Node::Opaque { .. } => return None,
            Node::Const { .. }
            | Node::Id { .. }
            | Node::LocalIndex
            | Node::Subgroup(_)
            | Node::Push { .. }
            | Node::Length { .. }
            | Node::Image { .. } => {}
            Node::Convert { a, .. } | Node::BoolNot(a) => next.push(*a),
            Node::Binary { a, b, .. }
            | Node::Compare { a, b, .. }
            | Node::BoolAnd(a, b)
            | Node::BoolOr(a, b) => next.extend([*a, *b]),
            Node::Select { condition, a, b, .. } => next.extend([*condition, *a, *b]),
            Node::Counter { init, step, bound, .. } => {
                let bound = bound.as_ref()?;
                next.extend([*init, *step, bound.first, bound.limit]);
            }
        }
    }
    Some(dims)
}
