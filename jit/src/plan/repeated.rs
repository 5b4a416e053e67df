//! Work-groups that do again what others did, and invocations that do what others of their work-group do: a kernel that takes its place from `.x` alone, on a grid with more in y or z, or from its local
//! id alone.

use ahash::AHashSet;
use rspirv::dr::{Module, Operand};
use rspirv::spirv::{Op, StorageClass};

use crate::analysis::access::Access;
use crate::analysis::expr::{Exprs, IdKind, Node, NodeId};
use crate::frontend::defs::Defs;
use crate::kernel::Specialized;

/// A dimension in which there are several work-groups, and on which neither depends where the kernel writes, nor whether it does.
///
/// Nothing is said of kernels with atomics, which may count, nor where an index is not followed; and of x only where something else than
/// constants is written: programs set flags that way.
#[must_use]
pub fn repeated(kernel: &Specialized, groups: [u32; 3]) -> Option<&'static str> {
    if groups.iter().all(|count| *count <= 1) {
        return None;
    }
    let is_followed = !kernel.interface.has_atomics && !kernel.interface.uses_device_addresses;
    let normal =
        kernel.normal.as_ref().ok().filter(|normal| is_followed && normal.analysis.escaped.is_empty())?;
    let exprs = &normal.analysis.exprs;
    let mut writes = normal.analysis.accesses.iter().filter(|access| access.kind.writes()).peekable();
    writes.peek()?;
    let defs = Defs::new(&normal.module);
    let (mut used, mut is_same) = ([false; 3], true);
    for access in writes {
        if access.texel.is_some() || !access.exact_guards {
            return None;
        }
        let conditions = access.guards.iter().map(|guard| guard.condition);
        let roots = access.terms.iter().map(|term| term.index).chain(conditions);
        let dims = dimensions(exprs, roots, Of::WorkGroups)?;
        used = std::array::from_fn(|dim| used[dim] || dims[dim]);
        is_same = is_same && stores_same(&normal.module, &defs, access);
    }
    let is_repeated = |dim: usize| groups[dim] > 1 && !used[dim] && (dim > 0 || !is_same);
    [(1, "y"), (2, "z"), (0, "x")].into_iter().find(|&(dim, _)| is_repeated(dim)).map(|(_, name)| name)
}

/// A dimension in which work-groups have several invocations, and on which neither depends where these write, nor whether they do.
///
/// Nothing is said of kernels with shared memory, barriers or sub-group operations, whose invocations may work for each other, nor where
/// [`repeated`] says nothing; and nothing of x, in which a kernel for one element has as many invocations as any other.
#[must_use]
pub fn repeated_inside(kernel: &Specialized) -> Option<&'static str> {
    let interface = &kernel.interface;
    let size = interface.local_size;
    let is_shared = interface.workgroup_bytes > 0 || interface.has_barrier || interface.has_subgroup_ops;
    if is_shared || interface.has_atomics || interface.uses_device_addresses || size[1] <= 1 && size[2] <= 1 {
        return None;
    }
    let normal = kernel.normal.as_ref().ok().filter(|normal| normal.analysis.escaped.is_empty())?;
    let exprs = &normal.analysis.exprs;
    let mut writes = normal.analysis.accesses.iter().filter(|access| access.kind.writes()).peekable();
    writes.peek()?;
    let mut used = [false; 3];
    for access in writes {
        if access.texel.is_some() || !access.exact_guards {
            return None;
        }
        let conditions = access.guards.iter().map(|guard| guard.condition);
        let roots = access.terms.iter().map(|term| term.index).chain(conditions);
        let dims = dimensions(exprs, roots, Of::Invocations)?;
        used = std::array::from_fn(|dim| used[dim] || dims[dim]);
    }
    [(1, "y"), (2, "z")].into_iter().find(|&(dim, _)| size[dim] > 1 && !used[dim]).map(|(_, name)| name)
}

/// Operations that a stored value is followed through.
const MOST: usize = 256;

/// Whether an access stores the same in all invocations: what is made of constants and push constants.
fn stores_same(module: &Module, defs: &Defs<'_>, access: &Access) -> bool {
    let block = module.functions.first().and_then(|function| function.blocks.get(access.at.0));
    let inst = block.and_then(|block| block.instructions.get(access.at.1));
    let stored = inst.filter(|inst| inst.class.opcode == Op::Store).and_then(|inst| inst.operands.get(1));
    let Some(&Operand::IdRef(stored)) = stored else { return false };
    let mut seen = AHashSet::new();
    let mut next = vec![stored];
    while let Some(id) = next.pop() {
        if !seen.insert(id) {
            continue;
        }
        let Some(inst) = defs.get(id).filter(|_| seen.len() <= MOST) else { return false };
        let class = |id: &Operand| defs.pointer(defs.type_of(id.id_ref_any()?)?).map(|(class, _)| class);
        match inst.class.opcode {
            Op::Load if inst.operands.first().and_then(class) == Some(StorageClass::PushConstant) => {}
            Op::Load | Op::Phi => return false,
            _ => next.extend(inst.operands.iter().filter_map(|operand| match operand {
                Operand::IdRef(id) => Some(*id),
                _ => None,
            })),
        }
    }
    true
}

/// Whose ids are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    WorkGroups,
    /// Those of a work-group.
    Invocations,
}

/// The dimensions of ids that some expressions depend on; nothing where that is not known.
fn dimensions(exprs: &Exprs, roots: impl Iterator<Item = NodeId>, of: Of) -> Option<[bool; 3]> {
    let mut dims = [false; 3];
    let mut seen = AHashSet::new();
    let mut next: Vec<NodeId> = roots.collect();
    while let Some(id) = next.pop() {
        if !seen.insert(id) {
            continue;
        }
        match exprs.get(id) {
            Node::Id { kind: IdKind::Group, .. } if of == Of::Invocations => {}
            Node::Id { kind: IdKind::Local, .. } if of == Of::WorkGroups => {}
            Node::LocalIndex | Node::Subgroup(_) if of == Of::Invocations => dims = [true; 3],
            Node::Id { kind: IdKind::Global | IdKind::Group | IdKind::Local, dim } => {
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
