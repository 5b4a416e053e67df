//! The entry point of a fused kernel: ids, guarded calls, barriers.
//!
//! Barriers stand in the entry point itself, outside all guards, so every invocation of a work-group
//! reaches them.

use std::sync::Arc;

use rspirv::dr::{Block, Operand};
use rspirv::spirv::{MemorySemantics, Op, Scope, SelectionControl, Word};

use super::JitError;
use super::builder::{Builder, Code};
use super::emission::Emission;
use super::ids;
use super::interface::Ordered;
use super::link::Linked;
use super::shared::Shared;
use crate::analysis::access::AccessKind;
use crate::frontend::opcodes::instruction;
use crate::kernel::{Specialized, TextureKind};
use crate::plan::Internalization;
use crate::plan::recipe::{Member, Recipe, Target};

/// Appends the entry point.
pub(super) fn run(emission: &mut Emission<'_>) -> Result<(), JitError> {
    let Emission { shared, recipe, linked, .. } = emission;
    emission.entry = Some(build(shared, recipe, linked));
    Ok(())
}

/// Appends the entry point; returns its id.
fn build(shared: &mut Shared, recipe: &Recipe, members: &[Linked]) -> Word {
    let mut blocks = Blocks::new(&mut shared.builder);
    let remapped = recipe.members.iter().any(|m| m.remap.is_some());
    let linear =
        remapped.then(|| ids::linear(&mut shared.builder, &mut blocks.code, &mut shared.inputs, recipe));
    for (number, (one, linked)) in recipe.members.iter().zip(members).enumerate() {
        member(shared, &mut blocks, recipe, one, linked, linear);
        if recipe.barriers.contains(&number) {
            barrier(&mut shared.builder, &mut blocks.code, has_texels(recipe));
        }
    }
    finish(shared, blocks)
}

/// Calls one member, with the ids of the work-group or item `linear` if it has ids of its own.
fn member(
    shared: &mut Shared,
    blocks: &mut Blocks,
    recipe: &Recipe,
    member: &Member,
    linked: &Linked,
    linear: Option<Word>,
) {
    if linked.fenced {
        fence(&mut shared.builder, &mut blocks.code);
    }
    let mut after = None;
    if let (Some(remap), Some(linear)) = (&member.remap, linear) {
        // Below the first of its part, this is greater than any number of work-groups.
        let linear = ids::from_first(shared, &mut blocks.code, linear, remap.first);
        if let Some(total) = remap.total {
            after = Some(guard(shared, blocks, linear, total));
        }
        ids::assign(shared, &mut blocks.code, recipe, remap, &linked.ids, linear);
    }
    let void = shared.builder.void();
    let call = vec![Operand::IdRef(linked.function)];
    blocks.code.value(&mut shared.builder, Op::FunctionCall, void, call);
    if let Some(after) = after {
        blocks.code.effect(Op::Branch, vec![Operand::IdRef(after)]);
        blocks.next(after);
    }
}

/// Ends the entry point and adds it to the module; returns its id.
pub(super) fn finish(shared: &mut Shared, mut blocks: Blocks) -> Word {
    blocks.code.effect(Op::Return, Vec::new());
    shared.builder.function(blocks.finish())
}

/// Opens `if (linear < total)`; returns the label of what comes after it.
fn guard(shared: &mut Shared, blocks: &mut Blocks, linear: Word, total: u16) -> Word {
    let Shared { builder, push, .. } = shared;
    let total = push.load_u32(builder, &mut blocks.code, total);
    let boolean = builder.bool();
    let operands = vec![Operand::IdRef(linear), Operand::IdRef(total)];
    let condition = blocks.code.value(builder, Op::ULessThan, boolean, operands);
    let (inside, after) = (builder.fresh(), builder.fresh());
    let merge = vec![Operand::IdRef(after), Operand::SelectionControl(SelectionControl::NONE)];
    blocks.code.effect(Op::SelectionMerge, merge);
    let branch = vec![Operand::IdRef(condition), Operand::IdRef(inside), Operand::IdRef(after)];
    blocks.code.effect(Op::BranchConditional, branch);
    blocks.next(inside);
    after
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

/// Whether members may pass texels to each other.
fn has_texels(recipe: &Recipe) -> bool {
    recipe.bindings.iter().any(|binding| binding.kind.texture() == Some(TextureKind::StorageImage))
}

/// Emits a work-group barrier that orders buffers and shared memory, and texels if `texels` is set.
pub(super) fn barrier(builder: &mut Builder, code: &mut Code, texels: bool) {
    let scope = builder.constant(Scope::Workgroup as u32);
    let semantics = builder.constant(semantics(texels).bits());
    code.effect(
        Op::ControlBarrier,
        vec![Operand::IdScope(scope), Operand::IdScope(scope), Operand::IdMemorySemantics(semantics)],
    );
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

/// A memory barrier that keeps accesses to shared memory in program order.
fn fence(builder: &mut Builder, code: &mut Code) {
    let scope = builder.constant(Scope::Workgroup as u32);
    let bits = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::WORKGROUP_MEMORY;
    let semantics = builder.constant(bits.bits());
    let operands = vec![Operand::IdScope(scope), Operand::IdMemorySemantics(semantics)];
    code.effect(Op::MemoryBarrier, operands);
}

/// The memory semantics of such a barrier.
pub(super) fn semantics(texels: bool) -> MemorySemantics {
    let all = MemorySemantics::ACQUIRE_RELEASE
        | MemorySemantics::UNIFORM_MEMORY
        | MemorySemantics::WORKGROUP_MEMORY;
    if texels { all | MemorySemantics::IMAGE_MEMORY } else { all }
}

/// Blocks of the entry point; the last is still open.
pub(super) struct Blocks {
    done: Vec<Block>,
    label: Word,
    pub(super) code: Code,
}

impl Blocks {
    pub(super) fn new(builder: &mut Builder) -> Self {
        Self { done: Vec::new(), label: builder.fresh(), code: Code::default() }
    }

    /// Closes the open block and opens the next.
    pub(super) fn next(&mut self, label: Word) {
        let code = std::mem::take(&mut self.code);
        let closed = std::mem::replace(&mut self.label, label);
        self.done.push(block(closed, code));
    }

    pub(super) fn finish(mut self) -> Vec<Block> {
        self.done.push(block(self.label, self.code));
        self.done
    }
}

fn block(label: Word, code: Code) -> Block {
    Block { label: Some(instruction(Op::Label, None, Some(label), Vec::new())), instructions: code.0 }
}
