//! The entry point of a fused kernel: ids, guarded calls, barriers.
//!
//! Barriers stand in the entry point itself, outside all guards, so every invocation of a work-group
//! reaches them.

use std::sync::Arc;

use rspirv::spirv::{FunctionControl, MemorySemantics, Op, Scope, SelectionControl};

use super::JitError;
use super::emission::Emission;
use super::ids;
use super::interface::Ordered;
use super::link::Linked;
use super::push::PushVariable;
use super::shared::Shared;
use crate::analysis::access::AccessKind;
use crate::ir::entity::{Func, Value};
use crate::ir::{Args, Builder, End, Function, Module, Operation, TypeKind};
use crate::kernel::{Specialized, TextureKind};
use crate::plan::Internalization;
use crate::plan::recipe::{Member, Recipe, Target, UnifiedBinding};

/// Appends the entry point.
pub(super) fn run(emission: &mut Emission<'_>) -> Result<(), JitError> {
    let Emission { shared, recipe, linked, .. } = emission;
    emission.entry = Some(build(shared, recipe, linked));
    Ok(())
}

/// Appends the entry point; returns it.
fn build(shared: &mut Shared, recipe: &Recipe, members: &[Linked]) -> Func {
    let entry = function(&mut shared.module);
    let Shared { module, push, .. } = shared;
    let mut code = Builder::new(module, entry);
    let remapped = recipe.members.iter().any(|m| m.remap.is_some());
    let linear = remapped.then(|| ids::linear(&mut code, recipe));
    for (number, (member, linked)) in recipe.members.iter().zip(members).enumerate() {
        call(&mut code, push, recipe, member, linked, linear);
        if recipe.barriers.contains(&number) {
            let execution = Some(Scope::Workgroup);
            barrier(&mut code, execution, semantics(Ordering::behind(recipe, number)));
        }
    }
    code.begin();
    entry
}

/// Adds a function that does nothing.
pub(super) fn function(module: &mut Module) -> Func {
    let result = module.ty(TypeKind::Void);
    let ty = module.ty(TypeKind::Function { result, parameters: Vec::new() });
    let mut f = Function::new(ty, result, FunctionControl::NONE);
    f.regions[f.body].end = End::Return(None);
    let func = module.functions.push(f);
    module.defined.push(func);
    func
}

/// Calls one member, with the ids of the work-group or item `linear` if it has ids of its own.
fn call(
    code: &mut Builder<'_>,
    push: &mut PushVariable,
    recipe: &Recipe,
    member: &Member,
    linked: &Linked,
    linear: Option<Value>,
) {
    if linked.fenced {
        barrier(code, None, semantics(Ordering::Shared));
    }
    let mut guarded = None;
    if let (Some(remap), Some(linear)) = (&member.remap, linear) {
        // Below the first of its part, this is greater than any number of work-groups.
        let linear = ids::from_first(code, push, linear, remap.first);
        if let Some(total) = remap.total {
            let total = push.load_u32(code, total);
            let is_own = code.test(Op::ULessThan, linear, total);
            let [own, _] = code.branch(is_own, Some(SelectionControl::NONE));
            guarded = Some((own, std::mem::take(&mut code.nodes)));
        }
        ids::assign(code, push, recipe.schedule.domain(), remap, &linked.ids, linear);
    }
    let void = code.module.ty(TypeKind::Void);
    code.value(Operation::Call { function: linked.function, args: Args::new() }, void);
    if let Some((own, around)) = guarded {
        code.function().regions[own].nodes = std::mem::replace(&mut code.nodes, around);
    }
}

/// By binding: whether a driver is not trusted to keep loads of one invocation behind the stores they have to follow:
/// several uses reach it, of several members or of one, or one member loads from it after it stored. A use that takes all it has to do with
/// it from registers reaches it no more.
pub(crate) fn ordered(recipe: &Recipe, kernels: &[Arc<Specialized>]) -> Vec<Ordered> {
    let mut bindings = vec![Ordered::default(); recipe.bindings.len()];
    let mut uses = vec![0; recipe.bindings.len()];
    for (member, kernel) in recipe.members.iter().zip(kernels) {
        let reads_back = kernel.normal.as_ref().map(|normal| normal.reads_back(member.targets.len()));
        for (number, target) in member.targets.iter().enumerate() {
            if let Target::Bound(bound) = target
                && !is_in_registers(member, kernel, number)
            {
                let bound = usize::from(*bound);
                uses[bound] += 1;
                bindings[bound].several = uses[bound] > 1;
                bindings[bound].reads_back |= reads_back.as_ref().is_ok_and(|reads_back| reads_back[number]);
            }
        }
    }
    bindings
}

/// Whether a member only loads from a binding, and only what is in registers already.
fn is_in_registers(member: &Member, kernel: &Specialized, binding: usize) -> bool {
    let Ok(normal) = &kernel.normal else { return false };
    let mut accesses = normal.analysis.accesses.iter().enumerate().filter(|(_, one)| one.binding == binding);
    let is_kept = |at: usize| member.kept.iter().any(|kept| kept.access == at);
    !member.kept.is_empty() && accesses.all(|(at, one)| one.kind == AccessKind::Read && is_kept(at))
}

/// What a barrier of the work-group orders besides shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ordering {
    /// Nothing: no memory that is bound passes anything on.
    Shared,
    Buffers,
    BuffersAndTexels,
}

impl Ordering {
    /// Of the barrier behind a member.
    fn behind(recipe: &Recipe, number: usize) -> Self {
        let (before, after) = recipe.members.split_at(number + 1);
        Self::between(recipe, |bound| {
            [before, after].iter().all(|side| side.iter().any(|one| reaches(one, bound)))
        })
    }

    /// Of a member's own barrier in the place of one between members.
    pub(super) fn of_all(recipe: &Recipe) -> Self {
        Self::between(recipe, |bound| recipe.members.iter().filter(|one| reaches(one, bound)).count() > 1)
    }

    /// Of a barrier that stands between accesses to the bindings that `is_reached` names. What no member writes needs no order. Bindings that overlap, or
    /// where addresses may lead, are taken for reached.
    fn between(recipe: &Recipe, is_reached: impl Fn(usize) -> bool) -> Self {
        let mut bindings = recipe.bindings.iter().enumerate();
        let texels = |one: &UnifiedBinding| one.kind.texture() == Some(TextureKind::StorageImage);
        if !bindings.any(|(bound, one)| !one.read_only && (!one.restrict || is_reached(bound)))
            || mutant!(BarriersOrderSharedMemory)
        {
            Self::Shared
        } else if recipe.bindings.iter().any(texels) {
            Self::BuffersAndTexels
        } else {
            Self::Buffers
        }
    }
}

/// Whether a member reaches a binding.
fn reaches(member: &Member, bound: usize) -> bool {
    member.targets.iter().any(|target| matches!(target, Target::Bound(one) if usize::from(*one) == bound))
}

/// Adds a barrier of the work-group: of control and memory, or of memory alone.
pub(super) fn barrier(code: &mut Builder<'_>, execution: Option<Scope>, semantics: MemorySemantics) {
    // What names them is declared here.
    for number in [Scope::Workgroup as u32, semantics.bits()] {
        code.module.word(number);
    }
    code.effect(Operation::Barrier { execution, memory: Scope::Workgroup, semantics });
}

/// Whether a member uses shared memory that an earlier one used, where one of the two writes and nothing between them orders that.
///
/// By the rules of SPIR-V, program order is enough for what one invocation stores and loads. A driver's compiler that breaks them
/// needs a memory barrier.
pub(super) fn needs_fence(recipe: &Recipe, kernels: &[Arc<Specialized>], number: usize) -> bool {
    // Whether a member uses a promoted buffer, and whether it may write to it.
    let uses = |member: usize, shared: usize| {
        let targets = recipe.members[member].targets.iter().enumerate();
        let mut bindings = targets.filter_map(|(binding, target)| match target {
            Target::Internal { index, .. } if usize::from(*index) == shared => Some(binding),
            _ => None,
        });
        let writes = |binding: usize| match &kernels[member].normal {
            Ok(normal) => {
                let mut accesses = normal.analysis.accesses.iter().filter(|one| one.binding == binding);
                accesses.any(|one| one.kind != AccessKind::Read)
            }
            Err(_) => true,
        };
        let first = bindings.next()?;
        Some(writes(first) || bindings.any(writes))
    };
    let ordered_from =
        recipe.barriers.iter().filter(|&&after| after < number).max().map_or(0, |after| after + 1);
    let is_open = |shared: usize| {
        let Some(writes) = uses(number, shared) else { return false };
        (ordered_from..number).any(|before| uses(before, shared).is_some_and(|other| other || writes))
    };
    let shared = recipe.internal.iter().enumerate().filter(|(_, one)| one.kind == Internalization::Local);
    shared.map(|(index, _)| index).any(is_open)
}

/// A member's own semantics, and these.
pub(super) fn widened(own: MemorySemantics, ordering: Ordering) -> MemorySemantics {
    own.difference(MemorySemantics::ACQUIRE | MemorySemantics::RELEASE) | semantics(ordering)
}

/// The memory semantics of such a barrier.
pub(super) fn semantics(ordering: Ordering) -> MemorySemantics {
    let shared = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::WORKGROUP_MEMORY;
    match ordering {
        Ordering::Shared => shared,
        Ordering::Buffers => shared | MemorySemantics::UNIFORM_MEMORY,
        Ordering::BuffersAndTexels => {
            shared | MemorySemantics::UNIFORM_MEMORY | MemorySemantics::IMAGE_MEMORY
        }
    }
}
