//! What is uniform among coarsened work-groups, or coarsened invocations of a work-group: how one invocation can do a function for all of them.
//!
//! The work-groups have the local id of the invocation in common, and the arguments. A branch whose condition is made of these
//! alone goes the same way for all of them, so what it leads to can be done for all of them together, barriers included. A branch
//! that the work-group decides, or what was loaded, may go one way for one and another for the next: the construct that it
//! begins is done for one work-group after another, and there must be no barrier in it.
//!
//! # Requires
//! - structured control flow
//!
//! # Guarantees
//! - outside of the constructs that are apart, no branch depends on a value that varies
//! - control enters a construct that is apart from one place and leaves it for its merge block alone, and no barrier lies in it
//!
//! # Refuses
//! - a barrier under a condition that varies: what one work-group has to wait for, another does not
//! - sub-group operations: which invocations take part is not followed
//! - atomic operations on buffers: a work-group may wait for another one by them
//! - memory that is reached by device addresses

mod components;
mod ends;
mod shared;
mod side;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, Scope, StorageClass, Word};

use super::cfg::Cfg;
use crate::frontend::opcodes;
use components::{ALL, Mask};
pub(crate) use ends::join_ends;
pub(crate) use shared::{Manners, manners};
pub(crate) use side::loads_by_side;

/// Why work-groups, or invocations, are not coarsened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Alone {
    /// A barrier under a condition that is not the same in all work-groups.
    #[error("a barrier under a condition that is not the same in all work-groups")]
    Barrier,
    /// Sub-group operations.
    #[error("sub-group operations")]
    Subgroup,
    /// Atomic operations on buffers, by which work-groups may wait for each other.
    #[error("atomic operations on a buffer")]
    Atomic,
    /// Memory reached by device addresses.
    #[error("device addresses")]
    Addresses,
    /// Images, whose texels differ between work-groups as elements of buffers do.
    #[error("images")]
    Images,
    /// Variables of the invocation or the work-group that start with a value.
    #[error("variables that start with values")]
    Initialized,
}

/// What is coarsened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Sides {
    /// Work-groups that may differ in all components of their ids.
    #[default]
    Groups,
    /// Work-groups that follow each other in this dimension.
    GroupsAlong(u8),
    /// Invocations of a work-group that follow each other in a row.
    Invocations,
}

/// What the global ids of a module are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globals {
    /// Variables of which each work-group has its own.
    pub(crate) own: AHashSet<Word>,
    /// Those of them that are shared memory.
    shared: AHashSet<Word>,
    /// Shared memory that holds the same in all work-groups, of which they have one copy.
    pub(crate) common: AHashSet<Word>,
    /// Inputs that differ between work-groups, or are others in a dispatch of fewer.
    pub(crate) ids: AHashMap<Word, BuiltIn>,
    sides: Sides,
    /// Numbers of 32 bits.
    constants: AHashMap<Word, u32>,
    /// Types of vectors, and how many components they have.
    vectors: AHashMap<Word, u32>,
    /// Types of the variables.
    variables: AHashMap<Word, Word>,
    /// Types of pointers into memory that somebody may write.
    memory: AHashSet<Word>,
    /// Variables of buffers that nothing writes while the kernel runs, as far as that is known: a single member does not know it.
    pub(crate) frozen: AHashSet<Word>,
    /// Types of pointers into shared memory and the invocation's own: no other work-group sees what is there.
    inside: AHashSet<Word>,
    initialized: bool,
    /// Something asks for sub-groups.
    subgroups: bool,
    addresses: bool,
    images: bool,
}

/// A construct that is done for one work-group after another: blocks by their index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Construct {
    /// The block that begins it. That of a loop is part of it; a selection begins behind it.
    pub(crate) header: usize,
    pub(crate) is_loop: bool,
    /// Its blocks, in the order of the module.
    pub(crate) blocks: Vec<usize>,
    pub(crate) merge: usize,
}

/// How a function is done.
#[derive(Clone, Debug)]
pub(crate) enum Manner {
    /// Jammed: instruction by instruction for all of them, but for some constructs. `varying` are the values that each work-group has its own of.
    Together { apart: Vec<Construct>, varying: AHashSet<Word> },
    /// Serialized: all of it for one work-group after another; there is no barrier in it.
    InTurn,
}

impl Globals {
    pub(crate) fn of<'a>(
        globals: impl Iterator<Item = &'a Instruction>,
        annotations: impl Iterator<Item = &'a Instruction>,
        sides: Sides,
    ) -> Self {
        let mut found = Self { sides, ..Self::default() };
        let of_invocations = sides == Sides::Invocations;
        let mut builtins: AHashMap<Word, BuiltIn> = AHashMap::new();
        // Once storage buffers were uniform ones with a decoration.
        let mut uniforms_change = false;
        for inst in annotations {
            uniforms_change |= inst.operands.contains(&Operand::Decoration(Decoration::BufferBlock));
            if let [Operand::IdRef(id), Operand::Decoration(Decoration::BuiltIn), Operand::BuiltIn(builtin)] =
                inst.operands.as_slice()
            {
                builtins.insert(*id, *builtin);
            }
        }
        for inst in globals {
            match (inst.class.opcode, inst.result_id, inst.operands.as_slice()) {
                (Op::Constant, Some(id), [Operand::LiteralBit32(number)]) => {
                    found.constants.insert(id, *number);
                }
                (Op::TypeVector, Some(id), [_, Operand::LiteralBit32(count)]) => {
                    found.vectors.insert(id, *count);
                }
                _ => {}
            }
            let (Some(id), Some(Operand::StorageClass(class))) = (inst.result_id, inst.operands.first())
            else {
                continue;
            };
            if let (Op::Variable, Some(ty)) = (inst.class.opcode, inst.result_type) {
                found.variables.insert(id, ty);
            }
            match (inst.class.opcode, class) {
                (Op::TypePointer, StorageClass::StorageBuffer) => {
                    found.memory.insert(id);
                }
                (Op::TypePointer, StorageClass::Uniform) if uniforms_change => {
                    found.memory.insert(id);
                }
                // What one invocation has stored there, another loads.
                (Op::TypePointer, StorageClass::Workgroup) if of_invocations => {
                    found.memory.insert(id);
                }
                (Op::TypePointer, StorageClass::PhysicalStorageBuffer) => found.addresses = true,
                (Op::Variable, StorageClass::UniformConstant) => found.images = true,
                (
                    Op::TypePointer,
                    StorageClass::Workgroup | StorageClass::Private | StorageClass::Function,
                ) => {
                    found.inside.insert(id);
                }
                (Op::Variable, StorageClass::Workgroup | StorageClass::Private) => {
                    let is_private = *class == StorageClass::Private;
                    if is_private || !of_invocations {
                        found.own.insert(id);
                    }
                    if is_private == of_invocations {
                        found.shared.insert(id);
                    }
                    found.initialized |= inst.operands.len() > 1;
                }
                (Op::Variable, StorageClass::Input) => {
                    let differs = |builtin: &&BuiltIn| match builtin {
                        BuiltIn::GlobalInvocationId => true,
                        BuiltIn::WorkgroupId | BuiltIn::NumWorkgroups => !of_invocations,
                        BuiltIn::LocalInvocationId | BuiltIn::LocalInvocationIndex => of_invocations,
                        _ => false,
                    };
                    let counted = [
                        BuiltIn::SubgroupId,
                        BuiltIn::NumSubgroups,
                        BuiltIn::SubgroupSize,
                        BuiltIn::SubgroupLocalInvocationId,
                    ];
                    found.subgroups |= builtins.get(&id).is_some_and(|builtin| counted.contains(builtin));
                    if let Some(builtin) = builtins.get(&id).filter(differs) {
                        found.ids.insert(id, *builtin);
                    }
                }
                _ => {}
            }
        }
        found
    }

    pub(crate) fn of_module(module: &Module) -> Self {
        Self::of(module.types_global_values.iter(), module.annotations.iter(), Sides::Groups)
    }
}

/// Whether there is a barrier in a function, itself or in those of `calls` that it calls.
pub(crate) fn has_barrier(function: &Function, calls: &AHashSet<Word>) -> bool {
    function.all_inst_iter().any(|inst| is_barrier(inst, calls))
}

fn is_barrier(inst: &Instruction, calls: &AHashSet<Word>) -> bool {
    match inst.class.opcode {
        Op::ControlBarrier => true,
        Op::FunctionCall => {
            inst.operands.first().and_then(Operand::id_ref_any).is_some_and(|f| calls.contains(&f))
        }
        _ => false,
    }
}

/// How a function can be done for several work-groups; `calls` are the functions in which there is a barrier, `resolved` blocks that end
/// in a branch that goes one way in every invocation.
pub(crate) fn manner(
    function: &Function,
    globals: &Globals,
    calls: &AHashSet<Word>,
    resolved: &AHashSet<usize>,
) -> Result<Manner, Alone> {
    if globals.addresses {
        return Err(Alone::Addresses);
    }
    if globals.images {
        return Err(Alone::Images);
    }
    if globals.initialized {
        return Err(Alone::Initialized);
    }
    let of_invocations = globals.sides == Sides::Invocations;
    if of_invocations && globals.subgroups && !mutant!(SubgroupsStay) {
        return Err(Alone::Subgroup);
    }
    let types: AHashMap<Word, Word> =
        function.all_inst_iter().filter_map(|inst| Some((inst.result_id?, inst.result_type?))).collect();
    for inst in function.all_inst_iter() {
        let op = inst.class.opcode;
        if is_subgroup(op) || of_invocations && waits_for_others(inst, globals) {
            return Err(Alone::Subgroup);
        }
        if opcodes::has(op, opcodes::ATOMIC) {
            let pointer = inst.operands.first().and_then(Operand::id_ref_any).unwrap_or(0);
            let inside = globals.own.contains(&pointer)
                || types.get(&pointer).is_some_and(|ty| globals.inside.contains(ty));
            if !inside || of_invocations {
                return Err(Alone::Atomic);
            }
        }
    }
    let mut frozen = globals.frozen.clone();
    for inst in function.all_inst_iter() {
        let from = inst.operands.first().and_then(Operand::id_ref_any);
        let leads = matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject);
        if let (Some(id), true, Some(true)) = (inst.result_id, leads, from.map(|from| frozen.contains(&from)))
        {
            frozen.insert(id);
        }
    }
    let flow = Flow { function, globals, cfg: Cfg::new(function), types, frozen, resolved };
    let mut apart: Vec<Construct> = Vec::new();
    // Each time round there is a construct more.
    for _ in 0..=function.blocks.len() {
        let varying = flow.varying(&apart);
        let Some(block) = flow.parting(&apart, &varying) else {
            return Ok(Manner::Together { apart, varying });
        };
        let Some(around) = flow.closed_around(block) else { break };
        if flow.blocks(&around).any(|inst| is_barrier(inst, calls)) && !mutant!(BarriersMayPart) {
            return Err(Alone::Barrier);
        }
        apart.retain(|inner| !around.blocks.contains(&inner.header));
        apart.push(around);
    }
    match has_barrier(function, calls) {
        true => Err(Alone::Barrier),
        false => Ok(Manner::InTurn),
    }
}

/// Whether an instruction is one of a sub-group: `OpGroup…`, `OpGroupNonUniform…` and those of the extensions, by their numbers.
fn is_subgroup(op: Op) -> bool {
    matches!(op as u32, 261..=272 | 333..=366 | 4421..=4432 | 5571..=5580 | 6401..=6408)
}

/// Whether an instruction is a barrier of other invocations than those of a work-group.
fn waits_for_others(inst: &Instruction, globals: &Globals) -> bool {
    let scope = inst.operands.first().and_then(Operand::id_ref_any);
    let scope = scope.and_then(|id| globals.constants.get(&id).copied());
    inst.class.opcode == Op::ControlBarrier && scope != Some(Scope::Workgroup as u32)
}

struct Flow<'a> {
    function: &'a Function,
    globals: &'a Globals,
    cfg: Cfg,
    /// Types of the values of the function.
    types: AHashMap<Word, Word>,
    /// Pointers into buffers that nothing writes while the kernel runs.
    frozen: AHashSet<Word>,
    /// Blocks whose branches go one way.
    resolved: &'a AHashSet<usize>,
}

impl Flow<'_> {
    fn instructions(&self, block: usize) -> &[Instruction] {
        &self.function.blocks[block].instructions
    }

    fn blocks<'a>(&'a self, construct: &'a Construct) -> impl Iterator<Item = &'a Instruction> {
        construct.blocks.iter().flat_map(|&block| self.instructions(block))
    }

    /// The values that may differ between work-groups, with these constructs apart.
    fn varying(&self, apart: &[Construct]) -> AHashSet<Word> {
        let mut varying: AHashMap<Word, Mask> = AHashMap::new();
        loop {
            let mut grown = false;
            for block in 0..self.function.blocks.len() {
                let inside = apart.iter().any(|construct| construct.blocks.contains(&block));
                let meets = apart.iter().any(|construct| construct.merge == block);
                for inst in self.instructions(block) {
                    let Some(id) = inst.result_id else { continue };
                    let parts =
                        inside || meets && inst.class.opcode == Op::Phi && !mutant!(WhatPartsIsCommon);
                    let mask = if parts { ALL } else { self.varies(inst, &varying) };
                    let known = varying.get(&id).copied().unwrap_or(0);
                    if known | mask != known {
                        varying.insert(id, known | mask);
                        grown = true;
                    }
                }
            }
            if !grown {
                return varying.into_keys().collect();
            }
        }
    }

    fn varies(&self, inst: &Instruction, varying: &AHashMap<Word, Mask>) -> Mask {
        let of = |id: Word| {
            let own = self.globals.own.contains(&id) && !self.globals.common.contains(&id);
            let inside = varying.get(&id).copied().unwrap_or(0) | if own { ALL } else { 0 };
            inside | self.globals.ids.get(&id).map_or(0, |&builtin| self.of_id(builtin))
        };
        let op = inst.class.opcode;
        // What is loaded may differ even where the place is one: by when it is loaded, if nothing else; but not of what nobody writes.
        let pointer = inst.operands.first().and_then(Operand::id_ref_any);
        let is_plain = inst.operands.len() == 1 && pointer.is_some_and(|at| self.frozen.contains(&at));
        if op == Op::Load && is_plain && mutant!(FrozenPlacesAreOne) {
            return 0;
        }
        let loads = op == Op::Load && !is_plain && {
            let ty = pointer.and_then(|at| self.types.get(&at).or_else(|| self.globals.variables.get(&at)));
            ty.is_none_or(|ty| self.globals.memory.contains(ty))
        };
        let always = matches!(op, Op::Variable | Op::FunctionCall)
            || loads && !mutant!(MemoryIsCommon)
            || opcodes::has(op, opcodes::ATOMIC);
        let Globals { constants, vectors, .. } = self.globals;
        let components = |id: Word| vectors.get(self.types.get(&id)?).copied();
        if always { ALL } else { components::of_result(inst, constants, vectors, of, components) }
    }

    /// Which components of an id differ between work-groups.
    fn of_id(&self, builtin: BuiltIn) -> Mask {
        match self.globals.sides {
            Sides::Groups | Sides::GroupsAlong(_) if mutant!(WorkGroupsAreOne) => 0,
            Sides::Groups => ALL,
            Sides::GroupsAlong(_) if builtin == BuiltIn::NumWorkgroups => 0,
            Sides::GroupsAlong(axis) if mutant!(AnotherSideIsWoven) => 1 << ((axis + 1) % 3),
            Sides::GroupsAlong(axis) => 1 << axis,
            Sides::Invocations if builtin == BuiltIn::LocalInvocationIndex => ALL,
            Sides::Invocations => 1,
        }
    }

    /// The first block that ends in a branch on a value that varies, and is in no construct that is apart already or begins one.
    fn parting(&self, apart: &[Construct], varying: &AHashSet<Word>) -> Option<usize> {
        (0..self.function.blocks.len()).find(|block| {
            let done = apart.iter().any(|construct| {
                construct.blocks.contains(block) || !construct.is_loop && construct.header == *block
            });
            let last = self.instructions(*block).last();
            let parts = last.is_some_and(|last| {
                matches!(last.class.opcode, Op::BranchConditional | Op::Switch)
                    && last
                        .operands
                        .first()
                        .and_then(Operand::id_ref_any)
                        .is_some_and(|id| varying.contains(&id))
            });
            parts && !done && !self.resolved.contains(block)
        })
    }

    /// The innermost construct that a block begins, or lies in, and that control leaves for its merge block alone.
    fn closed_around(&self, block: usize) -> Option<Construct> {
        let mut constructs: Vec<Construct> =
            (0..self.function.blocks.len()).filter_map(|header| self.construct(header)).collect();
        constructs.retain(|one| one.blocks.contains(&block) || one.header == block);
        constructs.sort_by_key(|one| one.blocks.len());
        constructs.into_iter().find(|one| self.is_closed(one))
    }

    fn construct(&self, header: usize) -> Option<Construct> {
        let mut found = self.instructions(header).iter().rev();
        let merge = found.find(|inst| matches!(inst.class.opcode, Op::SelectionMerge | Op::LoopMerge))?;
        let is_loop = merge.class.opcode == Op::LoopMerge;
        let merge = self.cfg.block_of_label(merge.operands.first()?.id_ref_any()?)?;
        let inside = |&block: &usize| {
            self.cfg.dominates(header, block)
                && !self.cfg.dominates(merge, block)
                && (is_loop || block != header)
        };
        let blocks = (0..self.function.blocks.len()).filter(inside).collect();
        Some(Construct { header, is_loop, blocks, merge })
    }

    /// Whether control enters a construct by its header and leaves it for its merge block, and nothing names one of its blocks
    /// from outside.
    fn is_closed(&self, one: &Construct) -> bool {
        let inside = |block: usize| one.blocks.contains(&block);
        let stays =
            |label: Word| self.cfg.block_of_label(label).is_none_or(|to| inside(to) || to == one.merge);
        let ends = |block: usize| {
            let leaves = |inst: &Instruction| match inst.class.opcode {
                Op::Return | Op::ReturnValue | Op::Kill => true,
                Op::Phi => false,
                _ => !inst.operands.iter().filter_map(Operand::id_ref_any).all(stays),
            };
            self.instructions(block).iter().any(leaves)
        };
        let header_stays = one.is_loop || {
            let last = self.instructions(one.header).last();
            last.is_some_and(|last| last.operands.iter().filter_map(Operand::id_ref_any).all(stays))
        };
        let entries = self.cfg.predecessors[one.header].iter().filter(|&&before| !inside(before)).count();
        let met_from_inside = |&before: &usize| inside(before) || before == one.header;
        header_stays
            && (!one.is_loop || entries == 1)
            && one.merge != one.header
            && !one.blocks.iter().any(|&block| ends(block))
            && !self.cfg.predecessors[one.merge].is_empty()
            && self.cfg.predecessors[one.merge].iter().all(met_from_inside)
            // A block of the construct has no way in but the header.
            && one.blocks.iter().all(|&block| {
                block == one.header || self.cfg.predecessors[block].iter().all(met_from_inside)
            })
    }
}
