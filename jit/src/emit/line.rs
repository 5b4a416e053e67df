//! One member's straight line, written for several items side by side.

use ahash::AHashMap;
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass, Word};

use super::JitError;
use super::builder::{Builder, Code};
use super::lanes::mirrored;
use super::link::{Linked, Role, Shared};
use crate::analysis::access::PushUse;
use crate::analysis::straight::{Choice, Straight};
use crate::kernel::{NormalKernel, Specialized};
use crate::plan::recipe::{Member, Recipe, SlotOf, Target};

/// A value of the member: one for all items, or one for each.
#[derive(Clone)]
enum Value {
    One(Word),
    Each(Vec<Word>),
}

impl Value {
    fn of(&self, item: usize) -> Word {
        match self {
            Self::One(id) => *id,
            Self::Each(ids) => ids[item],
        }
    }
}

/// What one member leaves for the next.
#[derive(Default)]
pub(super) struct Passed {
    /// Values of internalized elements, by buffer and slot, with their type.
    internal: AHashMap<(u16, u32), (Value, Word)>,
    /// Push constants by slot.
    push: AHashMap<u16, Word>,
    /// Elements of all items as they are in memory, by the variable they are seen through, with its binding. Only of
    /// bindings nothing else overlaps.
    elements: AHashMap<Word, (u16, Value)>,
}

impl Passed {
    /// A push constant of type `ty`, loaded once.
    pub(super) fn push(&mut self, shared: &mut Shared, code: &mut Code, slot: u16, ty: Word) -> Word {
        if let Some(&id) = self.push.get(&slot) {
            return id;
        }
        let Shared { builder, push, .. } = shared;
        let pointer = push.pointer(builder, code, slot, ty, &[], ty);
        let id = code.value(builder, Op::Load, ty, vec![Operand::IdRef(pointer)]);
        self.push.insert(slot, id);
        id
    }
}

/// The line of one member.
pub(super) struct Line<'a> {
    recipe: &'a Recipe,
    member: &'a Member,
    kernel: &'a Specialized,
    normal: &'a NormalKernel,
    straight: &'a Straight,
    linked: &'a Linked,
    items: &'a [Word],
    values: AHashMap<Word, Value>,
    chains: AHashMap<Word, (Word, Vec<Word>)>,
    definitions: AHashMap<Word, &'a Instruction>,
    /// Accesses by block and position: their number, and that among those of their binding.
    accesses: AHashMap<(usize, usize), (usize, usize)>,
    /// Numbers of length queries among those of their binding, by result.
    lengths: AHashMap<Word, usize>,
    decorations: AHashMap<Word, Vec<&'a [Operand]>>,
}

impl<'a> Line<'a> {
    pub(super) fn new(
        recipe: &'a Recipe,
        member: &'a Member,
        kernel: &'a Specialized,
        linked: &'a Linked,
        items: &'a [Word],
    ) -> Result<Self, JitError> {
        let fault = |detail: String| JitError::new("lanes", format!("kernel {}: {detail}", kernel.name));
        let normal = kernel.normal.as_ref().map_err(|reason| fault(reason.to_string()))?;
        let straight = normal.straight.as_ref().ok_or_else(|| fault("no straight line".into()))?;
        let accesses = normal.analysis.numbered();
        let blocks = normal.module.functions.first().map_or(&[][..], |f| f.blocks.as_slice());
        let body = blocks.iter().flat_map(|block| &block.instructions);
        let definitions: AHashMap<Word, &Instruction> =
            body.filter_map(|inst| Some((inst.result_id?, inst))).collect();
        let mut decorations: AHashMap<Word, Vec<&[Operand]>> = AHashMap::new();
        for inst in &normal.module.annotations {
            if let Some((Operand::IdRef(id), rest)) = inst.operands.split_first()
                && inst.class.opcode == Op::Decorate
                && definitions.contains_key(id)
            {
                decorations.entry(*id).or_default().push(rest);
            }
        }
        let mut line = Self {
            recipe,
            member,
            kernel,
            normal,
            straight,
            linked,
            items,
            values: AHashMap::new(),
            chains: AHashMap::new(),
            definitions,
            accesses,
            lengths: AHashMap::new(),
            decorations,
        };
        line.number_lengths();
        Ok(line)
    }

    /// Length queries of internalized bindings have their answers in the order of the program.
    fn number_lengths(&mut self) {
        let blocks = self.normal.module.functions.first().map_or(&[][..], |f| f.blocks.as_slice());
        let mut counts: AHashMap<Word, usize> = AHashMap::new();
        for inst in blocks.iter().flat_map(|block| &block.instructions) {
            let pointer = inst.operands.first().and_then(Operand::id_ref_any);
            if let (Op::ArrayLength, Some(pointer), Some(result)) =
                (inst.class.opcode, pointer, inst.result_id)
            {
                let nth = counts.entry(self.base(pointer)).or_default();
                self.lengths.insert(result, *nth);
                *nth += 1;
            }
        }
    }

    fn error(&self, detail: impl Into<String>) -> JitError {
        JitError::new("lanes", format!("kernel {}: {}", self.kernel.name, detail.into()))
    }

    /// Variable behind a pointer.
    fn base(&self, mut pointer: Word) -> Word {
        while let Some(next) = self.definitions.get(&pointer).and_then(|i| i.operands.first()?.id_ref_any()) {
            pointer = next;
        }
        pointer
    }

    /// A type or other global of the member.
    fn global(&self, id: Word) -> Result<Word, JitError> {
        let known =
            (!self.definitions.contains_key(&id)).then(|| self.linked.map.get(&id).copied()).flatten();
        known.ok_or_else(|| self.error(format!("id {id} is used before it is defined")))
    }

    fn value(&self, id: Word) -> Result<Value, JitError> {
        match self.values.get(&id) {
            Some(value) => Ok(value.clone()),
            None => self.global(id).map(Value::One),
        }
    }

    fn operand(inst: &Instruction, n: usize) -> Option<Word> {
        inst.operands.get(n).and_then(Operand::id_ref_any)
    }

    /// Comparisons an item must pass: operation, limit, and what must come out, the item on the left.
    pub(super) fn limits(
        &mut self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
    ) -> Result<Vec<(Op, Word, bool)>, JitError> {
        let mut all = Vec::new();
        for guard in &self.straight.guards {
            self.uniform(shared, code, passed, guard.limit)?;
            let limit = self.value(guard.limit)?.of(0);
            // The comparison itself, whatever is made of it afterwards.
            let less =
                matches!(guard.op, Op::ULessThan | Op::ULessThanEqual | Op::SLessThan | Op::SLessThanEqual);
            let op = if guard.swapped { mirrored(guard.op) } else { guard.op };
            all.push((op, limit, less != guard.swapped));
            let truth = shared.builder.truth(guard.in_range);
            self.values.insert(guard.condition, Value::One(truth));
        }
        Ok(all)
    }

    /// Writes what a value made of arguments consists of.
    fn uniform(
        &mut self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        id: Word,
    ) -> Result<(), JitError> {
        let Some(&inst) = self.definitions.get(&id) else { return Ok(()) };
        if self.values.contains_key(&id) || self.chains.contains_key(&id) {
            return Ok(());
        }
        for operand in inst.operands.iter().filter_map(Operand::id_ref_any) {
            self.uniform(shared, code, passed, operand)?;
        }
        self.instruction(shared, code, passed, inst, None)
    }

    /// Writes the line.
    pub(super) fn write(
        &mut self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
    ) -> Result<(), JitError> {
        let Some(function) = self.normal.module.functions.first() else {
            return Err(self.error("no function"));
        };
        let mut came_from = None;
        for &number in &self.straight.blocks {
            let block = &function.blocks[number];
            let choice = self.straight.choices.iter().find(|c| Some(c.merge) == block.label_id());
            for (position, inst) in block.instructions.iter().enumerate() {
                match (inst.class.opcode, choice) {
                    (Op::Phi, Some(choice)) => self.choose(shared, code, inst, *choice)?,
                    (Op::Phi, None) => self.phi(inst, came_from)?,
                    _ => self.instruction(shared, code, passed, inst, Some((number, position)))?,
                }
            }
            came_from = block.label_id();
        }
        Ok(())
    }

    /// Where control came from is known, unless two sides meet.
    fn phi(&mut self, inst: &Instruction, came_from: Option<Word>) -> Result<(), JitError> {
        let mut pairs = inst.operands.chunks(2);
        // With one edge there is nothing to choose, and the block before it on the line may be another side's.
        let only = inst.operands.len() == 2;
        let pair = pairs.find(|pair| only || pair.get(1).and_then(Operand::id_ref_any) == came_from);
        let id = pair.and_then(|pair| pair.first()?.id_ref_any());
        let id = id.ok_or_else(|| self.error("phi without the edge that is taken"))?;
        let value = self.value(id)?;
        self.values.insert(inst.result_id.unwrap_or(0), value);
        Ok(())
    }

    /// Both sides have been computed: takes one by the condition.
    fn choose(
        &mut self,
        shared: &mut Shared,
        code: &mut Code,
        inst: &Instruction,
        choice: Choice,
    ) -> Result<(), JitError> {
        let mut sides = [None, None];
        for pair in inst.operands.chunks(2) {
            let is_true = pair.get(1).and_then(Operand::id_ref_any) == Some(choice.on_true);
            sides[usize::from(!is_true)] = pair.first().and_then(Operand::id_ref_any);
        }
        let ([Some(yes), Some(no)], Some(result), Some(ty)) = (sides, inst.result_id, inst.result_type)
        else {
            return Err(self.error("phi without two sides"));
        };
        let operands = [choice.condition, yes, no].map(Operand::IdRef).to_vec();
        self.pure(shared, code, &Instruction::new(Op::Select, Some(ty), Some(result), operands))
    }

    fn instruction(
        &mut self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        inst: &Instruction,
        at: Option<(usize, usize)>,
    ) -> Result<(), JitError> {
        let result = inst.result_id.unwrap_or(0);
        if self.values.contains_key(&result) {
            return Ok(());
        }
        match inst.class.opcode {
            Op::Branch | Op::BranchConditional | Op::SelectionMerge | Op::Return => Ok(()),
            Op::AccessChain | Op::InBoundsAccessChain => {
                let base = Self::operand(inst, 0).ok_or_else(|| self.error("chain without a base"))?;
                let (base, mut indices) = self.chains.get(&base).cloned().unwrap_or((base, Vec::new()));
                indices.extend(inst.operands[1..].iter().filter_map(Operand::id_ref_any));
                self.chains.insert(result, (base, indices));
                Ok(())
            }
            Op::CopyObject => {
                let id = Self::operand(inst, 0).ok_or_else(|| self.error("copy of nothing"))?;
                if let Some(chain) = self.chains.get(&id).cloned() {
                    self.chains.insert(result, chain);
                } else if self.linked.roles.contains_key(&id) {
                    self.chains.insert(result, (id, Vec::new()));
                } else {
                    let value = self.value(id)?;
                    self.values.insert(result, value);
                }
                Ok(())
            }
            Op::Load => {
                let value = self.load(shared, code, passed, inst, at)?;
                self.values.insert(result, value);
                Ok(())
            }
            Op::Store => self.store(shared, code, passed, inst, at),
            Op::ArrayLength => {
                let value = self.length(shared, code, passed, inst)?;
                self.values.insert(result, Value::One(value));
                Ok(())
            }
            _ => self.pure(shared, code, inst),
        }
    }

    fn pure(&mut self, shared: &mut Shared, code: &mut Code, inst: &Instruction) -> Result<(), JitError> {
        let ty = inst.result_type.map(|t| self.global(t)).transpose()?;
        let (Some(ty), Some(result)) = (ty, inst.result_id) else {
            return Err(self.error(format!("{:?} on a straight line", inst.class.opcode)));
        };
        let mut each = false;
        let mut operands: Vec<Result<Value, Operand>> = Vec::with_capacity(inst.operands.len());
        for operand in &inst.operands {
            operands.push(match operand {
                Operand::IdRef(id) => {
                    let value = self.value(*id)?;
                    each |= matches!(value, Value::Each(_));
                    Ok(value)
                }
                other => Err(other.clone()),
            });
        }
        let write = |item: usize, builder: &mut Builder, code: &mut Code| {
            let operands = operands.iter().map(|operand| match operand {
                Ok(value) => Operand::IdRef(value.of(item)),
                Err(literal) => literal.clone(),
            });
            code.value(builder, inst.class.opcode, ty, operands.collect())
        };
        let value = if each {
            let ids = (0..self.items.len()).map(|item| write(item, &mut shared.builder, code)).collect();
            Value::Each(ids)
        } else {
            Value::One(write(0, &mut shared.builder, code))
        };
        self.decorate(&mut shared.builder, result, &value);
        self.values.insert(result, value);
        Ok(())
    }

    /// Gives the copies of an instruction its decorations.
    fn decorate(&self, builder: &mut Builder, old: Word, value: &Value) {
        let ids = match value {
            Value::One(id) => std::slice::from_ref(id),
            Value::Each(ids) => ids,
        };
        for rest in self.decorations.get(&old).into_iter().flatten() {
            for &id in ids {
                let operands = [Operand::IdRef(id)].into_iter().chain(rest.iter().cloned()).collect();
                builder.module.annotations.push(Instruction::new(Op::Decorate, None, None, operands));
            }
        }
    }

    /// Variable and indices behind a pointer.
    fn path(&self, inst: &Instruction) -> Result<(Word, Vec<Word>), JitError> {
        let pointer = Self::operand(inst, 0).ok_or_else(|| self.error("access without a pointer"))?;
        Ok(self.chains.get(&pointer).cloned().unwrap_or((pointer, Vec::new())))
    }

    fn load(
        &mut self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        inst: &Instruction,
        at: Option<(usize, usize)>,
    ) -> Result<Value, JitError> {
        let (base, indices) = self.path(inst)?;
        let old = inst.result_type.ok_or_else(|| self.error("load without a type"))?;
        let ty = self.global(old)?;
        match self.linked.roles.get(&base) {
            Some(Role::Virtual) => self.item(shared, code, &indices, ty),
            Some(Role::Push) => self.argument(shared, code, passed, old, &indices, ty),
            Some(Role::Internal(binding)) => {
                let place = self.place(*binding, at)?;
                let (value, found) = passed
                    .internal
                    .get(&place)
                    .cloned()
                    .ok_or_else(|| self.error("internalized element that was not written"))?;
                Ok(self.cast(shared, code, value, found, ty))
            }
            Some(Role::Same) => {
                if self.is_wide(at) {
                    return self.wide_load(shared, code, passed, base, ty, at);
                }
                let pointers = self.pointers(shared, code, base, &indices, ty)?;
                let mut load = |pointer: Word| {
                    code.value(&mut shared.builder, Op::Load, ty, vec![Operand::IdRef(pointer)])
                };
                let value = match pointers {
                    Value::One(pointer) => Value::One(load(pointer)),
                    Value::Each(pointers) => Value::Each(pointers.into_iter().map(load).collect()),
                };
                Ok(value)
            }
            None => Err(self.error("load through an unknown pointer")),
        }
    }

    /// The item's number, or a zero of the other dimensions.
    fn item(
        &self,
        shared: &mut Shared,
        code: &mut Code,
        indices: &[Word],
        ty: Word,
    ) -> Result<Value, JitError> {
        let builder = &mut shared.builder;
        let zero = builder.constant(0);
        let number = builder.u32();
        let uvec3 = builder.uvec3();
        let (from, parts): (Word, Vec<Word>) = match indices {
            [] => {
                let whole = |&item: &Word| {
                    let operands = [item, zero, zero].map(Operand::IdRef).to_vec();
                    code.value(builder, Op::CompositeConstruct, uvec3, operands)
                };
                (uvec3, self.items.iter().map(whole).collect())
            }
            [index] => match self.normal.types.constant(*index) {
                Some((0, _)) => (number, self.items.to_vec()),
                Some(_) => (number, vec![zero; self.items.len()]),
                None => return Err(self.error("component of an id that is not constant")),
            },
            _ => return Err(self.error("path into an id")),
        };
        Ok(self.cast(shared, code, Value::Each(parts), from, ty))
    }

    /// The same bits as another type.
    fn cast(&self, shared: &mut Shared, code: &mut Code, value: Value, from: Word, to: Word) -> Value {
        if from == to {
            return value;
        }
        let mut cast = |id: Word| code.value(&mut shared.builder, Op::Bitcast, to, vec![Operand::IdRef(id)]);
        match value {
            Value::One(id) => Value::One(cast(id)),
            Value::Each(ids) => Value::Each(ids.into_iter().map(cast).collect()),
        }
    }

    fn argument(
        &self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        old: Word,
        indices: &[Word],
        ty: Word,
    ) -> Result<Value, JitError> {
        let PushUse::Leaves(leaves) = &self.normal.analysis.push else {
            // The block is kept as it is; every access to it has its own path.
            let block = self.normal.push_block.ok_or_else(|| self.error("no push-constant block"))?;
            let block = self.global(block)?;
            let slot = self.member.push.first().copied();
            let slot = slot.ok_or_else(|| self.error("push constants that were not planned"))?;
            let indices: Vec<Value> = indices.iter().map(|&i| self.value(i)).collect::<Result<_, _>>()?;
            let Shared { builder, push, .. } = shared;
            let mut load = |item: usize| {
                let path: Vec<Word> = indices.iter().map(|index| index.of(item)).collect();
                let pointer = push.pointer(builder, code, slot, block, &path, ty);
                code.value(builder, Op::Load, ty, vec![Operand::IdRef(pointer)])
            };
            let each = indices.iter().any(|index| matches!(index, Value::Each(_)));
            return Ok(match each {
                true => Value::Each((0..self.items.len()).map(load).collect()),
                false => Value::One(load(0)),
            });
        };
        let block = self.normal.push_block.ok_or_else(|| self.error("no push-constant block"))?;
        let offset = self.normal.types.constant_offset(block, indices);
        let offset = offset.ok_or_else(|| self.error("push constant at a varying offset"))?;
        let signature = self.normal.types.signature(old);
        let leaf = leaves.iter().position(|l| l.offset == offset && l.ty == signature);
        let slot = leaf.and_then(|n| self.member.push.get(n)).copied();
        let slot = slot.ok_or_else(|| self.error("push constant that was not analysed"))?;
        Ok(Value::One(passed.push(shared, code, slot, ty)))
    }

    /// Buffer and slot of an access to an internalized binding.
    fn place(&self, binding: usize, at: Option<(usize, usize)>) -> Result<(u16, u32), JitError> {
        let Target::Internal { index, slots, .. } = &self.member.targets[binding] else {
            return Err(self.error("binding that is not internalized"));
        };
        let nth = at.and_then(|at| self.accesses.get(&at)).map(|a| a.1);
        match nth.and_then(|nth| slots.get(nth)) {
            Some(SlotOf::Fixed(slot)) => Ok((*index, *slot)),
            _ => Err(self.error("access without a fixed place")),
        }
    }

    fn is_wide(&self, at: Option<(usize, usize)>) -> bool {
        let number = at.and_then(|at| self.accesses.get(&at)).map(|a| a.0);
        number.and_then(|n| self.member.wide.get(n)).copied().unwrap_or(false)
    }

    /// Pointers to what a path leads to, for each item.
    fn pointers(
        &self,
        shared: &mut Shared,
        code: &mut Code,
        base: Word,
        indices: &[Word],
        pointee: Word,
    ) -> Result<Value, JitError> {
        let variable = self.global(base)?;
        shared.bindings.mark_narrow(variable);
        let class = shared.builder.definitions.get(&variable).and_then(|inst| inst.operands.first().cloned());
        let Some(Operand::StorageClass(class)) = class else {
            return Err(self.error("variable without a class"));
        };
        let indices: Vec<Value> = indices.iter().map(|&i| self.value(i)).collect::<Result<_, _>>()?;
        let ty = shared.builder.pointer(class, pointee);
        let mut pointer = |item: usize| {
            let path = indices.iter().map(|index| Operand::IdRef(index.of(item)));
            let operands: Vec<Operand> = [Operand::IdRef(variable)].into_iter().chain(path).collect();
            code.value(&mut shared.builder, Op::AccessChain, ty, operands)
        };
        Ok(if indices.iter().any(|index| matches!(index, Value::Each(_))) {
            Value::Each((0..self.items.len()).map(&mut pointer).collect())
        } else {
            Value::One(pointer(0))
        })
    }

    /// A pointer to the vector of all items' elements, its type, the binding, and the variable.
    fn vector(
        &self,
        shared: &mut Shared,
        code: &mut Code,
        base: Word,
        scalar: Word,
        at: Option<(usize, usize)>,
    ) -> Result<(Word, Word, u16, Word), JitError> {
        let number = at.and_then(|at| self.accesses.get(&at)).map(|a| a.0);
        let access = number.and_then(|n| self.normal.analysis.accesses.get(n));
        let access = access.ok_or_else(|| self.error("access that was not analysed"))?;
        let Target::Bound(binding) = self.member.targets[access.binding] else {
            return Err(self.error("wide access to an internalized binding"));
        };
        let variable = self.global(base)?;
        let offset = access.constant as u32;
        let Shared { builder, bindings, .. } = shared;
        let operands = vec![Operand::IdRef(scalar), Operand::LiteralBit32(4)];
        let vector = builder.global(Op::TypeVector, None, operands, Vec::new());
        let stride = vec![Operand::Decoration(Decoration::ArrayStride), Operand::LiteralBit32(16)];
        let operands = vec![Operand::IdRef(vector)];
        let array = builder.global(Op::TypeRuntimeArray, None, operands, vec![stride]);
        let decorations = vec![
            vec![Operand::Decoration(Decoration::Block)],
            vec![
                Operand::LiteralBit32(0),
                Operand::Decoration(Decoration::Offset),
                Operand::LiteralBit32(offset),
            ],
        ];
        let block = builder.global(Op::TypeStruct, None, vec![Operand::IdRef(array)], decorations);
        let pointer = builder.pointer(StorageClass::StorageBuffer, block);
        let view = bindings.wide_view(builder, binding, pointer, variable);
        let items = builder.constant(self.items.len() as u32);
        let number = code.math(builder, Op::UDiv, self.items[0], items);
        let zero = builder.constant(0);
        let ty = builder.pointer(StorageClass::StorageBuffer, vector);
        let operands = [view, zero, number].map(Operand::IdRef).to_vec();
        Ok((code.value(builder, Op::AccessChain, ty, operands), vector, binding, view))
    }

    fn wide_load(
        &self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        base: Word,
        scalar: Word,
        at: Option<(usize, usize)>,
    ) -> Result<Value, JitError> {
        let (pointer, vector, binding, view) = self.vector(shared, code, base, scalar, at)?;
        if let Some((_, value)) = passed.elements.get(&view) {
            return Ok(value.clone());
        }
        let builder = &mut shared.builder;
        let all = code.value(builder, Op::Load, vector, vec![Operand::IdRef(pointer)]);
        let part = |n: usize| {
            let operands = vec![Operand::IdRef(all), Operand::LiteralBit32(n as u32)];
            code.value(builder, Op::CompositeExtract, scalar, operands)
        };
        let value = Value::Each((0..self.items.len()).map(part).collect());
        self.remember(shared, passed, (binding, view), &value);
        Ok(value)
    }

    /// Nobody but the invocation itself changes its items' elements, so it need not read what it knows.
    fn remember(&self, shared: &Shared, passed: &mut Passed, (binding, view): (u16, Word), value: &Value) {
        let facts = &self.recipe.bindings[usize::from(binding)];
        if facts.restrict && !facts.coherent && !shared.bindings.is_coherent(view) {
            passed.elements.insert(view, (binding, value.clone()));
        }
    }

    fn store(
        &mut self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        inst: &Instruction,
        at: Option<(usize, usize)>,
    ) -> Result<(), JitError> {
        let (base, indices) = self.path(inst)?;
        let old = Self::operand(inst, 1).ok_or_else(|| self.error("store without a value"))?;
        let value = self.value(old)?;
        let ty = self.type_of(shared, old)?;
        match self.linked.roles.get(&base) {
            Some(Role::Internal(binding)) => {
                let place = self.place(*binding, at)?;
                passed.internal.insert(place, (value, ty));
                Ok(())
            }
            Some(Role::Same) if self.is_wide(at) => {
                let (pointer, vector, binding, view) = self.vector(shared, code, base, ty, at)?;
                passed.elements.retain(|_, known| known.0 != binding);
                self.remember(shared, passed, (binding, view), &value);
                let parts = (0..self.items.len()).map(|item| Operand::IdRef(value.of(item))).collect();
                let all = code.value(&mut shared.builder, Op::CompositeConstruct, vector, parts);
                code.effect(Op::Store, vec![Operand::IdRef(pointer), Operand::IdRef(all)]);
                Ok(())
            }
            Some(Role::Same) => {
                let pointers = self.pointers(shared, code, base, &indices, ty)?;
                let binding = shared.bindings.binding_of(self.global(base)?);
                passed.elements.retain(|_, known| Some(known.0) != binding);
                // Items that share a place leave there what the last of them stores, whichever that is.
                let items = match (&pointers, &value) {
                    (Value::One(_), Value::One(_)) => 1,
                    _ => self.items.len(),
                };
                for item in 0..items {
                    let operands = [pointers.of(item), value.of(item)].map(Operand::IdRef).to_vec();
                    code.effect(Op::Store, operands);
                }
                Ok(())
            }
            _ => Err(self.error("store through an unknown pointer")),
        }
    }

    /// Type of a value of the member, as a type of the fused module.
    fn type_of(&self, shared: &Shared, old: Word) -> Result<Word, JitError> {
        match self.definitions.get(&old) {
            Some(inst) => inst.result_type.map(|ty| self.global(ty)).transpose()?,
            None => {
                let new = self.global(old)?;
                shared.builder.definitions.get(&new).and_then(|inst| inst.result_type)
            }
        }
        .ok_or_else(|| self.error("value without a type"))
    }

    fn length(
        &self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        inst: &Instruction,
    ) -> Result<Word, JitError> {
        let (base, _) = self.path(inst)?;
        let ty = shared.builder.u32();
        if let Some(Role::Internal(binding)) = self.linked.roles.get(&base) {
            let Target::Internal { lengths, .. } = &self.member.targets[*binding] else {
                return Err(self.error("binding that is not internalized"));
            };
            let nth = inst.result_id.and_then(|id| self.lengths.get(&id)).copied();
            let slot = nth.and_then(|nth| lengths.get(nth)).copied();
            let slot = slot.ok_or_else(|| self.error("length that was not planned"))?;
            return Ok(passed.push(shared, code, slot, ty));
        }
        let variable = self.global(base)?;
        let mut operands = inst.operands.clone();
        operands[0] = Operand::IdRef(variable);
        Ok(code.value(&mut shared.builder, Op::ArrayLength, ty, operands))
    }
}
