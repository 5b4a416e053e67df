//! Links one member: its globals into the fused module, its body into a function of its own.
//!
//! # Requires
//! - the normal form; a recipe made for exactly these kernels
//!
//! # Guarantees
//! - types, constants and imports are in the module once; ids are disjoint
//! - no access through an internalized binding, a virtual built-in or the member's own push-constant
//!   block remains
//! - an early return of the member leaves only the member

mod decorations;
mod globals;
mod inside;
mod seam;

use ahash::{AHashMap, AHashSet};
use rspirv::binary::Disassemble as _;
use rspirv::dr::{Block, Function, Instruction, Operand};
use rspirv::spirv::{MemoryAccess, MemorySemantics, Op, StorageClass, Word};

use super::JitError;
use super::builder::Code;
use super::hide::Hiding;
use super::ids::VirtualIds;
use super::internal::InternalVariable;
use super::shared::Shared;
use crate::analysis::cfg::Cfg;
use crate::analysis::resolved_branches;
use crate::frontend::opcodes::{instruction, make_volatile};
use crate::kernel::{NormalKernel, Specialized};
use crate::plan::recipe::{Member, Recipe};

/// What the names of variables for iterations begin with.
pub(super) const ROUND: &str = "round.";

/// A linked member.
#[derive(Clone)]
pub(crate) struct Linked {
    pub(crate) function: Word,
    pub(crate) ids: VirtualIds,
    /// A memory barrier for shared memory stands in front of it.
    pub(crate) fenced: bool,
}

/// What a global variable of the member became.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// A variable of the fused module.
    Same,
    /// The push-constant block.
    Push,
    /// An internalized binding, by its number among the kernel's bindings.
    Internal(usize),
    /// A built-in that is a Private variable now.
    Virtual,
}

/// Where the element of a store is kept, or that of a load was.
struct Kept {
    variable: InternalVariable,
    /// Indices into it.
    path: Vec<Word>,
}

pub(super) struct Linker<'a> {
    pub(super) shared: &'a mut Shared,
    pub(super) recipe: &'a Recipe,
    pub(super) member: &'a Member,
    pub(super) kernel: &'a Specialized,
    pub(super) normal: &'a NormalKernel,
    decorations: AHashMap<Word, Vec<Vec<Operand>>>,
    pub(super) map: AHashMap<Word, Word>,
    roles: AHashMap<Word, Role>,
    ids: VirtualIds,
    /// Chains on variables that are gone: base variable and indices, in ids of the member.
    chains: AHashMap<Word, (Word, Vec<Word>)>,
    /// Accesses by block and position: their number, and that among those of their binding.
    accesses: AHashMap<(usize, usize), (usize, usize)>,
    /// Numbers of length queries among those of their binding, by result.
    lengths: AHashMap<Word, usize>,
    /// Block and position of the present instruction.
    pub(super) at: (usize, usize),
    /// Of each loop that is unrolled, the number of the iteration, which is loaded behind the phis of its header.
    rounds: AHashMap<u32, Word>,
    /// By header: that number, and the variable that it is loaded from.
    headers: AHashMap<usize, (Word, Word)>,
    /// Type of each value of the body, in ids of the fused module.
    pub(super) value_types: AHashMap<Word, Word>,
    /// The zero that hides floats, if the body wants it.
    zero: Option<Word>,
}

/// Links one member into the shared module.
pub(super) fn link(
    shared: &mut Shared,
    recipe: &Recipe,
    member: &Member,
    kernel: &Specialized,
) -> Result<Linked, JitError> {
    let normal = kernel.normal.as_ref().map_err(|reason| JitError::new("link", reason.to_string()))?;
    let mut linker = Linker {
        shared,
        recipe,
        member,
        kernel,
        normal,
        decorations: decorations::decorations(&normal.module),
        map: AHashMap::new(),
        roles: AHashMap::new(),
        ids: VirtualIds::default(),
        chains: AHashMap::new(),
        accesses: normal.analysis.numbered(),
        lengths: normal.analysis.numbered_lengths(),
        at: (0, 0),
        rounds: AHashMap::new(),
        headers: AHashMap::new(),
        value_types: AHashMap::new(),
        zero: None,
    };
    linker.header();
    linker.globals()?;
    let function = linker.body()?;
    Ok(Linked { function, ids: linker.ids, fenced: false })
}

impl Linker<'_> {
    pub(super) fn error(&self, detail: impl Into<String>) -> JitError {
        JitError::new("link", format!("kernel {}: {}", self.kernel.name, detail.into()))
    }

    pub(super) fn mapped(&self, id: Word) -> Result<Word, JitError> {
        self.map.get(&id).copied().ok_or_else(|| self.error(format!("%{id} is used before it is defined")))
    }

    fn operands(&self, operands: &[Operand]) -> Result<Vec<Operand>, JitError> {
        operands
            .iter()
            .map(|operand| {
                Ok(match operand {
                    Operand::IdRef(id) => Operand::IdRef(self.mapped(*id)?),
                    Operand::IdScope(id) => Operand::IdScope(self.mapped(*id)?),
                    Operand::IdMemorySemantics(id) => Operand::IdMemorySemantics(self.mapped(*id)?),
                    other => other.clone(),
                })
            })
            .collect()
    }

    /// Copies the body; returns the id of the new function.
    fn body(&mut self) -> Result<Word, JitError> {
        let normal = self.normal;
        let Some(function) = normal.module.functions.first() else {
            return Err(self.error("no function"));
        };
        // Ids of the body are known before any is used: branches and phis look ahead.
        let body_ids: AHashSet<Word> = function
            .blocks
            .iter()
            .flat_map(|b| b.label.iter().chain(&b.instructions))
            .filter_map(|inst| inst.result_id)
            .collect();
        for block in &function.blocks {
            for id in block.label.iter().chain(&block.instructions).filter_map(|inst| inst.result_id) {
                let new = self.shared.builder.fresh();
                self.map.insert(id, new);
            }
        }
        self.name_rounds(function)?;
        let each = |number| self.block(function, number);
        let mut blocks: Vec<Block> = (0..function.blocks.len()).map(each).collect::<Result<_, _>>()?;
        if !self.member.resolved.is_empty() {
            resolved_branches::sweep(&mut blocks);
        }
        self.load_zero(&mut blocks);
        self.body_decorations(&body_ids)?;
        Ok(self.shared.builder.function(blocks))
    }

    /// Makes a variable for the iteration of each loop that is unrolled, which is named after the loop's number among those of all members.
    fn name_rounds(&mut self, function: &Function) -> Result<(), JitError> {
        if self.member.unroll.is_empty() {
            return Ok(());
        }
        let cfg = Cfg::new(function);
        for how in &self.member.unroll {
            let header = cfg.loops.get(how.index() as usize).map(|one| one.header);
            let header = header.ok_or_else(|| self.error(format!("there is no loop {}", how.index())))?;
            let builder = &mut self.shared.builder;
            let number = builder.u32();
            let pointer = builder.pointer(StorageClass::Private, number);
            let variable = builder.variable(StorageClass::Private, pointer, None);
            let name = format!("{ROUND}{}", builder.module.debug_names.len());
            let operands = vec![Operand::IdRef(variable), Operand::LiteralString(name)];
            builder.module.debug_names.push(instruction(Op::Name, None, None, operands));
            let round = builder.fresh();
            self.rounds.insert(how.index(), round);
            self.headers.insert(header, (round, variable));
        }
        Ok(())
    }

    /// Copies one block.
    fn block(&mut self, function: &Function, number: usize) -> Result<Block, JitError> {
        let block = &function.blocks[number];
        let mut code = Code::default();
        for (position, inst) in block.instructions.iter().enumerate() {
            self.at = (number, position);
            let at = |error: JitError| {
                let detail = format!("{}, in `{}`", error.detail, inst.disassemble());
                JitError { detail, ..error }
            };
            self.instruction(inst, &mut code).map_err(at)?;
        }
        if let Some(&(round, variable)) = self.headers.get(&number) {
            let ty = self.shared.builder.u32();
            let at = code.0.iter().take_while(|inst| inst.class.opcode == Op::Phi).count();
            let load = instruction(Op::Load, Some(ty), Some(round), vec![Operand::IdRef(variable)]);
            code.0.insert(at, load);
        }
        resolved_branches::resolve(&self.member.resolved, number, &mut code.0);
        let label = block.label_id().map(|l| self.mapped(l)).transpose()?;
        Ok(Block { label: Some(instruction(Op::Label, None, label, Vec::new())), instructions: code.0 })
    }

    /// Decorations of values keep; those of chains that are gone go.
    fn body_decorations(&mut self, body_ids: &AHashSet<Word>) -> Result<(), JitError> {
        for inst in &self.normal.module.annotations {
            let Some(Operand::IdRef(id)) = inst.operands.first() else {
                continue;
            };
            if inst.class.opcode != Op::Decorate || !body_ids.contains(id) || self.chains.contains_key(id) {
                continue;
            }
            let operands = decorations::claimless(&self.operands(&inst.operands)?);
            let decoration = instruction(Op::Decorate, None, None, operands);
            self.shared.builder.module.annotations.push(decoration);
        }
        Ok(())
    }

    fn role(&self, id: Word) -> Role {
        self.roles.get(&id).copied().unwrap_or(Role::Same)
    }

    /// The vanished variable behind a pointer, by its role, and the indices into it.
    fn vanished(&self, pointer: Word) -> Option<(Role, Vec<Word>)> {
        let (base, indices) = match self.chains.get(&pointer) {
            Some((base, indices)) => (*base, indices.clone()),
            None => (pointer, Vec::new()),
        };
        match self.role(base) {
            role @ (Role::Push | Role::Internal(_)) => Some((role, indices)),
            Role::Same | Role::Virtual => None,
        }
    }

    pub(super) fn instruction(&mut self, inst: &Instruction, code: &mut Code) -> Result<(), JitError> {
        let first = inst.operands.first().and_then(Operand::id_ref_any);
        match inst.class.opcode {
            Op::AccessChain | Op::InBoundsAccessChain => {
                let base = first.ok_or_else(|| self.error("chain without a base"))?;
                if self.vanished(base).is_some() {
                    let (base, mut indices) = self.chains.get(&base).cloned().unwrap_or((base, Vec::new()));
                    indices.extend(inst.operands[1..].iter().filter_map(Operand::id_ref_any));
                    self.chains.extend(inst.result_id.map(|id| (id, (base, indices))));
                    return Ok(());
                }
                if self.role(base) == Role::Virtual {
                    return self.virtual_chain(inst, code);
                }
            }
            Op::CopyObject => {
                if let Some(pointer) = first
                    && self.vanished(pointer).is_some()
                {
                    let chain = self.chains.get(&pointer).cloned().unwrap_or((pointer, Vec::new()));
                    self.chains.extend(inst.result_id.map(|id| (id, chain)));
                    return Ok(());
                }
            }
            Op::Load => {
                if let Some((role, indices)) = first.and_then(|p| self.vanished(p)) {
                    return match role {
                        Role::Internal(binding) => self.internal_load(inst, binding, &indices, code),
                        _ => self.push_load(inst, &indices, code),
                    };
                }
            }
            Op::Store => {
                if let Some((Role::Internal(binding), indices)) = first.and_then(|p| self.vanished(p)) {
                    return self.internal_store(inst, binding, &indices, code);
                }
            }
            Op::ArrayLength => {
                if let Some((Role::Internal(binding), ..)) = first.and_then(|p| self.vanished(p)) {
                    return self.internal_length(inst, binding, code);
                }
            }
            Op::ControlBarrier if self.member.widen_barriers => {
                return self.wide_barrier(inst, code);
            }
            Op::Undef => return self.freeze(inst, code),
            _ => {}
        }
        let ty = inst.result_type.map(|t| self.mapped(t)).transpose()?;
        let result = inst.result_id.map(|r| self.mapped(r)).transpose()?;
        let mut operands = self.operands(&inst.operands)?;
        self.keep_order(inst, &mut operands);
        if let (Some(old), Some(ty)) = (inst.result_id, ty) {
            self.value_types.insert(old, ty);
        }
        let (Some(ty), Some(result)) = (ty, result) else {
            code.0.push(instruction(inst.class.opcode, ty, result, operands));
            if inst.class.opcode == Op::Store {
                self.keep_stored(inst, code)?;
            }
            return Ok(());
        };
        let hiding = self.hiding(ty);
        if inst.class.opcode == Op::Load
            && let Some(Kept { variable, path }) = self.kept(ty, code)?
        {
            let builder = &mut self.shared.builder;
            // What is hidden is hidden from each place anew.
            let plain = if hiding == Hiding::None { result } else { builder.fresh() };
            variable.load(builder, code, &path, ty, plain);
            if hiding != Hiding::None {
                self.hide((plain, ty), result, code);
            }
            return Ok(());
        }
        if hiding == Hiding::Volatile && inst.class.opcode == Op::Load {
            make_volatile(&mut operands);
        }
        if hiding != Hiding::Word {
            code.0.push(instruction(inst.class.opcode, Some(ty), Some(result), operands));
            return Ok(());
        }
        let plain = code.value(&mut self.shared.builder, inst.class.opcode, ty, operands);
        self.hide((plain, ty), result, code);
        Ok(())
    }

    /// Loads and stores through device addresses are volatile: nothing else tells the driver that another member may
    /// reach the same memory.
    fn keep_order(&self, inst: &Instruction, operands: &mut [Operand]) {
        let pointer =
            matches!(inst.class.opcode, Op::Load | Op::Store).then(|| inst.operands[0].id_ref_any());
        let ty = pointer.flatten().and_then(|pointer| self.value_types.get(&pointer));
        let ty = ty.and_then(|ty| self.shared.builder.definitions.get(ty));
        let physical = Operand::StorageClass(StorageClass::PhysicalStorageBuffer);
        if ty.is_none_or(|ty| ty.operands.first() != Some(&physical)) {
            return;
        }
        for operand in operands {
            if let Operand::MemoryAccess(access) = operand {
                *access |= MemoryAccess::VOLATILE;
            }
        }
    }

    /// A chain into a built-in that is a Private variable now.
    fn virtual_chain(&mut self, inst: &Instruction, code: &mut Code) -> Result<(), JitError> {
        let old = inst.result_type.and_then(|t| self.normal.types.pointee(t));
        let (_, pointee) = old.ok_or_else(|| self.error("chain that is no pointer"))?;
        let pointee = self.mapped(pointee)?;
        let ty = self.shared.builder.pointer(StorageClass::Private, pointee);
        let result = inst.result_id.map(|r| self.mapped(r)).transpose()?;
        let operands = self.operands(&inst.operands)?;
        code.0.push(instruction(inst.class.opcode, Some(ty), result, operands));
        Ok(())
    }

    /// The member's own barrier, which now also orders shared memory.
    fn wide_barrier(&mut self, inst: &Instruction, code: &mut Code) -> Result<(), JitError> {
        let mut operands = self.operands(&inst.operands)?;
        let bits = MemorySemantics::ACQUIRE_RELEASE
            | MemorySemantics::UNIFORM_MEMORY
            | MemorySemantics::WORKGROUP_MEMORY;
        let semantics = self.shared.builder.constant(bits.bits());
        operands[2] = Operand::IdMemorySemantics(semantics);
        code.effect(Op::ControlBarrier, operands);
        Ok(())
    }
}
