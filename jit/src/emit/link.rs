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

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::{
    BuiltIn, Decoration, FunctionControl, MemoryAccess, MemorySemantics, Op, StorageClass, Word,
};

use super::JitError;
use super::builder::{Builder, Code};
use super::ids::{Inputs, VirtualIds};
use super::interface::Bindings;
use super::internal::InternalVariable;
use super::push::PushVariable;
use crate::analysis::access::PushUse;
use crate::kernel::{NormalKernel, Specialized};
use crate::plan::recipe::{Member, Recipe, SlotOf, Target};

/// What members share.
pub(crate) struct Shared {
    pub(crate) builder: Builder,
    pub(crate) inputs: Inputs,
    pub(crate) bindings: Bindings,
    pub(crate) push: PushVariable,
    pub(crate) internal: Vec<Option<InternalVariable>>,
}

/// A linked member.
pub(crate) struct Linked {
    pub(crate) function: Word,
    pub(crate) ids: VirtualIds,
    /// What the member's ids became. Those of its body only mean something inside its function.
    pub(crate) map: AHashMap<Word, Word>,
    pub(crate) roles: AHashMap<Word, Role>,
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
    /// Next answer to each internalized binding's length queries, and those given.
    next_length: AHashMap<usize, usize>,
    lengths: AHashMap<Word, u16>,
    /// Block and position of the present instruction.
    pub(super) at: (usize, usize),
    /// Present round of each loop that is written out.
    pub(super) rounds: AHashMap<u32, u32>,
    /// Ids of instructions that were written more than once, or not under the id first meant for them.
    pub(super) copies: AHashMap<Word, Vec<Word>>,
    /// Type of each value of the body, in ids of the fused module.
    pub(super) value_types: AHashMap<Word, Word>,
}

/// Links one member into the shared module.
pub(crate) fn link(
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
        decorations: decorations(&normal.module),
        map: AHashMap::new(),
        roles: AHashMap::new(),
        ids: VirtualIds::default(),
        chains: AHashMap::new(),
        accesses: normal.analysis.numbered(),
        next_length: AHashMap::new(),
        lengths: AHashMap::new(),
        at: (0, 0),
        rounds: AHashMap::new(),
        copies: AHashMap::new(),
        value_types: AHashMap::new(),
    };
    linker.header();
    linker.globals()?;
    let function = linker.body()?;
    Ok(Linked { function, ids: linker.ids, map: linker.map, roles: linker.roles })
}

/// Decorations by id; member decorations start with the member's number.
fn decorations(module: &Module) -> AHashMap<Word, Vec<Vec<Operand>>> {
    let mut map: AHashMap<Word, Vec<Vec<Operand>>> = AHashMap::new();
    for inst in &module.annotations {
        if !matches!(inst.class.opcode, Op::Decorate | Op::MemberDecorate) {
            continue;
        }
        if let Some((Operand::IdRef(id), rest)) = inst.operands.split_first() {
            map.entry(*id).or_default().push(rest.to_vec());
        }
    }
    map
}

/// Whether a decoration says how memory may be accessed, which the fused module says anew.
fn is_access_qualifier(decoration: &[Operand]) -> bool {
    decoration.iter().any(|operand| {
        matches!(
            operand,
            Operand::Decoration(
                Decoration::NonWritable
                    | Decoration::NonReadable
                    | Decoration::Coherent
                    | Decoration::Volatile
                    | Decoration::Restrict
                    | Decoration::Aliased
            )
        )
    })
}

impl Linker<'_> {
    pub(super) fn error(&self, detail: impl Into<String>) -> JitError {
        JitError::new("link", format!("kernel {}: {}", self.kernel.name, detail.into()))
    }

    fn header(&mut self) {
        let builder = &mut self.shared.builder;
        let module = &self.normal.module;
        for inst in &module.capabilities {
            if let Some(Operand::Capability(capability)) = inst.operands.first() {
                builder.capability(*capability);
            }
        }
        for inst in &module.extensions {
            if !builder.module.extensions.contains(inst) {
                builder.module.extensions.push(inst.clone());
            }
        }
        for inst in &module.ext_inst_imports {
            let known = builder.module.ext_inst_imports.iter().find(|i| i.operands == inst.operands);
            let id = match known.and_then(|i| i.result_id) {
                Some(id) => id,
                None => {
                    let id = builder.fresh();
                    let copy = Instruction::new(Op::ExtInstImport, None, Some(id), inst.operands.clone());
                    builder.module.ext_inst_imports.push(copy);
                    id
                }
            };
            if let Some(old) = inst.result_id {
                self.map.insert(old, id);
            }
        }
        // The memory model is everybody's; addresses may be one member's alone.
        if builder.module.memory_model.is_none() || self.kernel.interface.uses_device_addresses {
            builder.module.memory_model = module.memory_model.clone();
        }
    }

    pub(super) fn mapped(&self, id: Word) -> Result<Word, JitError> {
        self.map.get(&id).copied().ok_or_else(|| self.error(format!("id {id} is used before it is defined")))
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

    fn globals(&mut self) -> Result<(), JitError> {
        let module = &self.normal.module;
        // A block inside the fused push-constant block is a plain struct.
        let push_block = self.normal.push_block;
        for inst in &module.types_global_values {
            let Some(id) = inst.result_id else { continue };
            if inst.class.opcode == Op::Variable {
                self.variable(inst, id)?;
                continue;
            }
            let ty = inst.result_type.map(|t| self.mapped(t)).transpose()?;
            let operands = self.operands(&inst.operands)?;
            let is_block = Operand::Decoration(Decoration::Block);
            let kept = self.decorations.get(&id).into_iter().flatten().filter(|d| {
                !(is_access_qualifier(d) || push_block == Some(id) && d.first() == Some(&is_block))
            });
            let decorations: Vec<Vec<Operand>> = kept.map(|d| self.operands(d)).collect::<Result<_, _>>()?;
            let new = self.shared.builder.global(inst.class.opcode, ty, operands, decorations);
            self.map.insert(id, new);
        }
        Ok(())
    }

    fn has_decoration(&self, id: Word, which: Decoration) -> bool {
        let own = self.decorations.get(&id);
        own.is_some_and(|list| list.iter().any(|d| d.contains(&Operand::Decoration(which))))
    }

    fn literal(&self, id: Word, which: Decoration) -> Option<u32> {
        self.decorations.get(&id)?.iter().find_map(|d| match d.as_slice() {
            [Operand::Decoration(found), Operand::LiteralBit32(n)] if *found == which => Some(*n),
            _ => None,
        })
    }

    fn variable(&mut self, inst: &Instruction, id: Word) -> Result<(), JitError> {
        let Some(Operand::StorageClass(class)) = inst.operands.first().cloned() else {
            return Err(self.error("variable without a storage class"));
        };
        let old_pointer = inst.result_type.ok_or_else(|| self.error("variable without a type"))?;
        let pointer = self.mapped(old_pointer)?;
        let (_, pointee) = self
            .normal
            .types
            .pointee(old_pointer)
            .ok_or_else(|| self.error("variable that is no pointer"))?;
        let new = match class {
            StorageClass::Input => {
                let builtin =
                    self.decorations.get(&id).into_iter().flatten().find_map(|d| match d.as_slice() {
                        [Operand::Decoration(Decoration::BuiltIn), Operand::BuiltIn(builtin)] => {
                            Some(*builtin)
                        }
                        _ => None,
                    });
                let builtin = builtin.ok_or_else(|| self.error("input that is no built-in"))?;
                return self.input(id, builtin, pointee);
            }
            StorageClass::PushConstant => {
                self.roles.insert(id, Role::Push);
                return Ok(());
            }
            StorageClass::StorageBuffer | StorageClass::Uniform => {
                let set = self.literal(id, Decoration::DescriptorSet).unwrap_or(0);
                let binding = self.literal(id, Decoration::Binding).unwrap_or(0);
                let slots = &self.kernel.interface.bindings;
                let number = slots.iter().position(|b| (b.set, b.binding) == (set, binding));
                let Some(number) = number else {
                    return Err(self.error("resource that was not reflected"));
                };
                match &self.member.targets[number] {
                    Target::Internal { .. } => {
                        self.roles.insert(id, Role::Internal(number));
                        return Ok(());
                    }
                    Target::Bound(unified) => {
                        // Qualifiers on members count for the variable as a whole.
                        let coherent = self.has_decoration(id, Decoration::Coherent)
                            || self.has_decoration(pointee, Decoration::Coherent)
                            || self.has_decoration(id, Decoration::Volatile)
                            || self.has_decoration(pointee, Decoration::Volatile);
                        let shared = &mut *self.shared;
                        shared.bindings.variable(&mut shared.builder, *unified, class, pointer, coherent)
                    }
                }
            }
            _ => {
                let initializer = inst.operands.get(1).and_then(Operand::id_ref_any);
                let initializer = initializer.map(|i| self.mapped(i)).transpose()?;
                let new = self.shared.builder.variable(class, pointer, initializer);
                for decoration in self.decorations.get(&id).into_iter().flatten() {
                    if let [Operand::Decoration(which), ..] = decoration.as_slice()
                        && !is_access_qualifier(decoration)
                        && decoration.len() == 1
                    {
                        self.shared.builder.decorate(new, *which, &[]);
                    }
                }
                new
            }
        };
        self.roles.insert(id, Role::Same);
        self.map.insert(id, new);
        Ok(())
    }

    fn input(&mut self, id: Word, builtin: BuiltIn, pointee: Word) -> Result<(), JitError> {
        let ty = self.mapped(pointee)?;
        let shared = &mut *self.shared;
        let is_virtual = self.member.remap.is_some() && VirtualIds::covers(self.recipe.mapping, builtin);
        let new = if is_virtual {
            self.roles.insert(id, Role::Virtual);
            self.ids.variable(&mut shared.builder, builtin, ty)
        } else {
            self.roles.insert(id, Role::Same);
            shared.inputs.variable(&mut shared.builder, builtin, ty)
        };
        self.map.insert(id, new);
        Ok(())
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
        let blocks = if self.member.unroll.is_empty() {
            let each = |number| self.block(function, number);
            (0..function.blocks.len()).map(each).collect::<Result<_, _>>()?
        } else {
            self.unrolled(function)?
        };
        self.body_decorations(&body_ids)?;
        let builder = &mut self.shared.builder;
        let void = builder.void();
        let ty = builder.global(Op::TypeFunction, None, vec![Operand::IdRef(void)], Vec::new());
        let id = builder.fresh();
        let operands = vec![Operand::FunctionControl(FunctionControl::NONE), Operand::IdRef(ty)];
        builder.module.functions.push(Function {
            def: Some(Instruction::new(Op::Function, Some(void), Some(id), operands)),
            end: Some(Instruction::new(Op::FunctionEnd, None, None, Vec::new())),
            parameters: Vec::new(),
            blocks,
        });
        Ok(id)
    }

    /// Copies one block.
    pub(super) fn block(&mut self, function: &Function, number: usize) -> Result<Block, JitError> {
        let block = &function.blocks[number];
        let mut code = Code::default();
        for (position, inst) in block.instructions.iter().enumerate() {
            self.at = (number, position);
            self.instruction(inst, &mut code)?;
        }
        let label = block.label_id().map(|l| self.mapped(l)).transpose()?;
        Ok(Block { label: Some(Instruction::new(Op::Label, None, label, Vec::new())), instructions: code.0 })
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
            let ids = match self.copies.get(id) {
                Some(copies) => copies.clone(),
                None => vec![self.mapped(*id)?],
            };
            for id in ids {
                let mut operands = self.operands(&inst.operands)?;
                operands[0] = Operand::IdRef(id);
                let decoration = Instruction::new(Op::Decorate, None, None, operands);
                self.shared.builder.module.annotations.push(decoration);
            }
        }
        Ok(())
    }

    fn role(&self, id: Word) -> Role {
        self.roles.get(&id).copied().unwrap_or(Role::Same)
    }

    /// The vanished variable behind a pointer, and the indices into it.
    fn vanished(&self, pointer: Word) -> Option<(Role, Word, Vec<Word>)> {
        let (base, indices) = match self.chains.get(&pointer) {
            Some((base, indices)) => (*base, indices.clone()),
            None => (pointer, Vec::new()),
        };
        match self.role(base) {
            role @ (Role::Push | Role::Internal(_)) => Some((role, base, indices)),
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
                    self.chains.insert(inst.result_id.unwrap_or(0), (base, indices));
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
                    self.chains.insert(inst.result_id.unwrap_or(0), chain);
                    return Ok(());
                }
            }
            Op::Load => {
                if let Some((role, _, indices)) = first.and_then(|p| self.vanished(p)) {
                    return match role {
                        Role::Internal(binding) => self.internal_load(inst, binding, &indices, code),
                        _ => self.push_load(inst, &indices, code),
                    };
                }
            }
            Op::Store => {
                if let Some((Role::Internal(binding), _, indices)) = first.and_then(|p| self.vanished(p)) {
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
            _ => {}
        }
        let ty = inst.result_type.map(|t| self.mapped(t)).transpose()?;
        let result = inst.result_id.map(|r| self.mapped(r)).transpose()?;
        let mut operands = self.operands(&inst.operands)?;
        self.keep_order(inst, &mut operands);
        if let (Some(old), Some(ty)) = (inst.result_id, ty) {
            self.value_types.insert(old, ty);
        }
        code.0.push(Instruction::new(inst.class.opcode, ty, result, operands));
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
        code.0.push(Instruction::new(inst.class.opcode, Some(ty), result, operands));
        Ok(())
    }

    fn result(&mut self, inst: &Instruction) -> Result<(Word, Word), JitError> {
        let (Some(ty), Some(result)) = (inst.result_type, inst.result_id) else {
            return Err(self.error("load without a result"));
        };
        let (ty, new) = (self.mapped(ty)?, self.mapped(result)?);
        self.value_types.insert(result, ty);
        Ok((ty, new))
    }

    fn push_load(&mut self, inst: &Instruction, indices: &[Word], code: &mut Code) -> Result<(), JitError> {
        let (ty, result) = self.result(inst)?;
        let indices: Vec<Word> = indices.iter().map(|&i| self.mapped(i)).collect::<Result<_, _>>()?;
        let pointer = match &self.normal.analysis.push {
            PushUse::Leaves(leaves) => {
                let offset = self.push_offset(inst)?;
                let signature = inst.result_type.map(|t| self.normal.types.signature(t)).unwrap_or_default();
                let leaf = leaves.iter().position(|l| l.offset == offset && l.ty == signature);
                let slot = leaf.and_then(|n| self.member.push.get(n)).copied();
                let slot = slot.ok_or_else(|| self.error("push constant that was not analysed"))?;
                let shared = &mut *self.shared;
                shared.push.pointer(&mut shared.builder, code, slot, ty, &[], ty)
            }
            _ => {
                let block = self.normal.push_block.ok_or_else(|| self.error("no push-constant block"))?;
                let block = self.mapped(block)?;
                let slot = self.member.push.first().copied();
                let slot = slot.ok_or_else(|| self.error("push constants that were not planned"))?;
                let shared = &mut *self.shared;
                shared.push.pointer(&mut shared.builder, code, slot, block, &indices, ty)
            }
        };
        code.0.push(Instruction::new(Op::Load, Some(ty), Some(result), vec![Operand::IdRef(pointer)]));
        Ok(())
    }

    /// Byte offset of a load from the member's own block, all indices being constants.
    fn push_offset(&self, inst: &Instruction) -> Result<u32, JitError> {
        let pointer = inst.operands.first().and_then(Operand::id_ref_any).unwrap_or(0);
        let indices = self.chains.get(&pointer).map(|c| c.1.as_slice()).unwrap_or(&[]);
        let block = self.normal.push_block.ok_or_else(|| self.error("no push-constant block"))?;
        let offset = self.normal.types.constant_offset(block, indices);
        offset.ok_or_else(|| self.error("push constant at a varying offset"))
    }

    fn internal(&mut self, binding: usize, indices: &[Word]) -> Result<(InternalVariable, SlotOf), JitError> {
        let Target::Internal { index, slots, .. } = &self.member.targets[binding] else {
            return Err(self.error("binding that is not internalized"));
        };
        let (index, slots) = (usize::from(*index), slots.clone());
        let slot = self.accesses.get(&self.at).and_then(|&(_, nth)| slots.get(nth)).cloned();
        let slot = slot.ok_or_else(|| self.error("access that was not analysed"))?;
        let slot = match slot {
            SlotOf::Unrolled { first, by } => {
                let round = |index: u32| i64::from(self.rounds.get(&index).copied().unwrap_or(0));
                let slot =
                    by.iter().fold(i64::from(first), |slot, &(index, slots)| slot + slots * round(index));
                SlotOf::Fixed(slot as u32)
            }
            slot => slot,
        };
        if let Some(variable) = self.shared.internal[index] {
            return Ok((variable, slot));
        }
        let element = self.element_type(binding, indices)?;
        let variable = InternalVariable::new(&mut self.shared.builder, &self.recipe.internal[index], element);
        self.shared.internal[index] = Some(variable);
        Ok((variable, slot))
    }

    /// Type of the elements of the array an access goes through.
    fn element_type(&self, binding: usize, indices: &[Word]) -> Result<Word, JitError> {
        let access = self.normal.analysis.accesses.iter().find(|a| a.binding == binding);
        let element = access.and_then(|a| a.element?.index).map(|i| i.ty);
        let element = element.filter(|_| indices.len() >= 2);
        self.mapped(element.ok_or_else(|| self.error("access that is not to an element"))?)
    }

    /// The path of an access inside its variable.
    fn path(
        &mut self,
        binding: usize,
        indices: &[Word],
        code: &mut Code,
    ) -> Result<(InternalVariable, Vec<Word>), JitError> {
        let (variable, slot) = self.internal(binding, indices)?;
        let [_, index, rest @ ..] = indices else {
            return Err(self.error("access that is not to an element"));
        };
        let new = self.mapped(*index)?;
        let ty = self.value_types.get(index).copied();
        let ty = ty.or_else(|| self.shared.builder.definitions.get(&new)?.result_type).unwrap_or(0);
        let shared = &mut *self.shared;
        let mut path = variable.place(&mut shared.builder, code, &mut shared.inputs, &slot, (new, ty));
        for &id in rest {
            path.push(self.mapped(id)?);
        }
        Ok((variable, path))
    }

    fn internal_load(
        &mut self,
        inst: &Instruction,
        binding: usize,
        indices: &[Word],
        code: &mut Code,
    ) -> Result<(), JitError> {
        let (ty, result) = self.result(inst)?;
        let (variable, path) = self.path(binding, indices, code)?;
        variable.load(&mut self.shared.builder, code, &path, ty, result);
        Ok(())
    }

    fn internal_store(
        &mut self,
        inst: &Instruction,
        binding: usize,
        indices: &[Word],
        code: &mut Code,
    ) -> Result<(), JitError> {
        let value = inst.operands.get(1).and_then(Operand::id_ref_any);
        let value = value.ok_or_else(|| self.error("store without a value"))?;
        let new = self.mapped(value)?;
        let ty = self.value_types.get(&value).copied();
        let ty = ty.or_else(|| self.shared.builder.definitions.get(&new)?.result_type);
        let ty = ty.ok_or_else(|| self.error("stored value without a type"))?;
        let (variable, path) = self.path(binding, indices, code)?;
        variable.store(&mut self.shared.builder, code, &path, ty, new);
        Ok(())
    }

    fn internal_length(
        &mut self,
        inst: &Instruction,
        binding: usize,
        code: &mut Code,
    ) -> Result<(), JitError> {
        let (_, result) = self.result(inst)?;
        let Target::Internal { lengths, .. } = &self.member.targets[binding] else {
            return Err(self.error("binding that is not internalized"));
        };
        let query = inst.result_id.unwrap_or(0);
        let slot = match self.lengths.get(&query).copied() {
            Some(slot) => slot,
            None => {
                let at = self.next_length.entry(binding).or_default();
                let slot = lengths.get(*at).copied();
                *at += 1;
                let slot = slot.ok_or_else(|| self.error("length that was not planned"))?;
                self.lengths.insert(query, slot);
                slot
            }
        };
        let shared = &mut *self.shared;
        let value = shared.push.load_u32(&mut shared.builder, code, slot);
        let ty = shared.builder.u32();
        code.0.push(Instruction::new(Op::CopyObject, Some(ty), Some(result), vec![Operand::IdRef(value)]));
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
