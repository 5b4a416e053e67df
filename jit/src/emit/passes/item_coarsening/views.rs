//! Buffers that are seen as vectors: which accesses of members are such, and what they see.

use std::sync::Arc;

use ahash::AHashMap;
use rspirv::spirv::StorageClass;

use crate::emit::passes::bindings::{self, binding};
use crate::ir::entity::{Global, Inst, Type};
use crate::ir::{Function, Module, Node, Operation, Root};
use crate::kernel::Specialized;
use crate::plan::recipe::{Member, Recipe, Target};

/// The accesses that take the elements of all items at once.
pub(super) struct Views {
    /// By member, of its accesses to bindings in the order of its code: the binding, and the byte at which the array of elements begins, if it is
    /// such an access.
    wide: Vec<Vec<(u32, Option<u32>)>>,
    /// By binding: whether no other variable and no other invocation reaches its elements.
    is_own: Vec<bool>,
}

/// A variable that sees the elements of a binding as vectors.
pub(super) struct View {
    pub(super) variable: Global,
    pub(super) binding: u32,
    /// Type of a vector.
    pub(super) vector: Type,
    /// An element changes only where the invocation changes it.
    pub(super) is_own: bool,
}

impl Views {
    pub(super) fn of(recipe: &Recipe, kernels: &[Arc<Specialized>]) -> Self {
        let has_order = bindings::has_order(kernels);
        let of = |(member, kernel): (&Member, &Arc<Specialized>)| {
            let Ok(normal) = &kernel.normal else { return Vec::new() };
            let accesses = normal.analysis.accesses.iter().enumerate();
            let bound = accesses.filter_map(|(number, access)| match member.targets[access.binding] {
                Target::Bound(binding) => {
                    let is_wide = member.wide.get(number).copied().unwrap_or(false);
                    Some((access.at, (u32::from(binding), is_wide.then_some(access.constant as u32))))
                }
                Target::Internal { .. } => None,
            });
            let mut bound: Vec<_> = bound.collect();
            bound.sort_unstable_by_key(|&(at, _)| at);
            bound.into_iter().map(|(_, access)| access).collect()
        };
        let wide = recipe.members.iter().zip(kernels).map(of).collect();
        let own = recipe.bindings.iter().map(|facts| facts.restrict && !facts.coherent && !has_order);
        Self { wide, is_own: own.collect() }
    }

    /// Whether no other variable and no other invocation reaches the elements of a binding.
    pub(super) fn is_own(&self, binding: u32) -> bool {
        self.is_own.get(binding as usize).copied().unwrap_or(false)
    }

    /// Whether a variable holds what is the same all the time: arguments, or ids.
    pub(super) fn holds_arguments(&self, module: &Module, variable: Global) -> bool {
        match module.globals[variable].class {
            StorageClass::PushConstant | StorageClass::Input => true,
            // The engine's own buffer for arguments is behind those of the members.
            StorageClass::Uniform => {
                binding(module, variable).is_some_and(|binding| binding as usize >= self.is_own.len())
            }
            _ => false,
        }
    }

    /// The accesses of a member's function that take elements of all items at once, and the byte at which the array of these begins.
    pub(super) fn accesses(
        &self,
        module: &Module,
        member: usize,
        f: &Function,
    ) -> Option<AHashMap<Inst, u32>> {
        let wide = self.wide.get(member)?;
        let mut found = Vec::with_capacity(wide.len());
        f.visit(f.body, &mut |node| {
            let Node::Inst(inst) = node else { return };
            let operation = &f.insts[inst].operation;
            if let Operation::Load { place, .. } | Operation::Store { place, .. } = operation
                && let Root::Global(root) = f.flat(f.places[*place].clone()).root
                && matches!(module.globals[root].class, StorageClass::StorageBuffer | StorageClass::Uniform)
                && !self.holds_arguments(module, root)
            {
                found.push((inst, binding(module, root)));
            }
        });
        let is_same = found.iter().map(|one| one.1).eq(wide.iter().map(|one| Some(one.0)));
        let numbered = found.iter().zip(wide).filter_map(|(&(inst, _), &(_, first))| Some((inst, first?)));
        is_same.then(|| numbered.collect())
    }
}
