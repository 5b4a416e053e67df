//! What a straight line loads and stores: arguments, elements one by one or as one vector, what stays inside.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use super::seam::volatile;
use super::{Passed, Value, Vectorizer};
use crate::analysis::access::PushUse;
use crate::emit::JitError;
use crate::emit::builder::Code;
use crate::emit::hide::Hiding;
use crate::emit::link::Role;
use crate::emit::shared::Shared;
use crate::frontend::opcodes;
use crate::plan::recipe::{SlotOf, Target};

/// The elements of all items, as a vector in memory.
struct Vector {
    pointer: Word,
    /// The vector's type.
    ty: Word,
    binding: u16,
    /// The variable that sees the binding as vectors.
    view: Word,
}

impl Vectorizer<'_> {
    /// Variable and indices behind a pointer.
    fn path(&self, inst: &Instruction) -> Result<(Word, Vec<Word>), JitError> {
        let pointer = Self::operand(inst, 0).ok_or_else(|| self.error("access without a pointer"))?;
        Ok(self.chains.get(&pointer).cloned().unwrap_or((pointer, Vec::new())))
    }

    pub(super) fn load(
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
                let value = self.cast(shared, code, value, found, ty);
                match self.hiding(shared, at, ty) {
                    Hiding::None => Ok(value),
                    _ => self.hide(shared, code, passed, (value, ty)),
                }
            }
            Some(Role::Same) => {
                let hiding = self.hiding(shared, at, ty);
                if self.is_wide(at) {
                    let value = self.wide_load(shared, code, passed, base, ty, at)?;
                    return match hiding {
                        Hiding::None => Ok(value),
                        _ => self.hide(shared, code, passed, (value, ty)),
                    };
                }
                let pointers = self.pointers(shared, code, base, &indices, ty)?;
                let is_volatile = opcodes::is_volatile(inst);
                let mut load = |pointer: Word| {
                    let operands = match hiding {
                        Hiding::Volatile => volatile(pointer),
                        _ if is_volatile => volatile(pointer),
                        _ => vec![Operand::IdRef(pointer)],
                    };
                    code.value(&mut shared.builder, Op::Load, ty, operands)
                };
                let value = match pointers {
                    Value::One(pointer) => Value::One(load(pointer)),
                    Value::Each(pointers) => Value::Each(pointers.into_iter().map(load).collect()),
                };
                match hiding {
                    Hiding::Word => self.hide(shared, code, passed, (value, ty)),
                    _ => Ok(value),
                }
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
            let value = match each {
                true => Value::Each((0..self.items.len()).map(load).collect()),
                false => Value::One(load(0)),
            };
            return match self.hides_argument(shared, 0, ty) {
                true => self.hide(shared, code, passed, (value, ty)),
                false => Ok(value),
            };
        };
        let block = self.normal.push_block.ok_or_else(|| self.error("no push-constant block"))?;
        let offset = self.normal.types.constant_offset(block, indices);
        let offset = offset.ok_or_else(|| self.error("push constant at a varying offset"))?;
        let signature = self.normal.types.signature(old);
        let leaf = leaves.iter().position(|l| l.offset == offset && l.ty == signature);
        let slot = leaf.and_then(|leaf| Some((leaf, *self.member.push.get(leaf)?)));
        let (leaf, slot) = slot.ok_or_else(|| self.error("push constant that was not analysed"))?;
        let value = Value::One(passed.push(shared, code, slot, ty));
        match self.hides_argument(shared, leaf, ty) {
            true => self.hide(shared, code, passed, (value, ty)),
            false => Ok(value),
        }
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
        self.items.len() > 1 && number.and_then(|n| self.member.wide.get(n)).copied().unwrap_or(false)
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

    /// The vector of all items' elements in memory.
    fn vector(
        &self,
        shared: &mut Shared,
        code: &mut Code,
        base: Word,
        scalar: Word,
        at: Option<(usize, usize)>,
    ) -> Result<Vector, JitError> {
        let number = at.and_then(|at| self.accesses.get(&at)).map(|a| a.0);
        let access = number.and_then(|n| self.normal.analysis.accesses.get(n));
        let access = access.ok_or_else(|| self.error("access that was not analysed"))?;
        let Target::Bound(binding) = self.member.targets[access.binding] else {
            return Err(self.error("wide access to an internalized binding"));
        };
        let variable = self.global(base)?;
        let offset = access.constant as u32;
        let Shared { builder, bindings, .. } = shared;
        let (pointer, vector) = builder.vectors(scalar, offset);
        let view = bindings.wide_view(builder, binding, pointer, variable);
        let items = builder.constant(self.items.len() as u32);
        let number = code.math(builder, Op::UDiv, self.items[0], items);
        let zero = builder.constant(0);
        let ty = builder.pointer(StorageClass::StorageBuffer, vector);
        let operands = [view, zero, number].map(Operand::IdRef).to_vec();
        let pointer = code.value(builder, Op::AccessChain, ty, operands);
        Ok(Vector { pointer, ty: vector, binding, view })
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
        let Vector { pointer, ty: vector, binding, view } = self.vector(shared, code, base, scalar, at)?;
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

    pub(super) fn store(
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
                let Vector { pointer, ty: vector, binding, view } =
                    self.vector(shared, code, base, ty, at)?;
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
    pub(super) fn type_of(&self, shared: &Shared, old: Word) -> Result<Word, JitError> {
        match self.definitions.get(&old) {
            Some(inst) => inst.result_type.map(|ty| self.global(ty)).transpose()?,
            None => {
                let new = self.global(old)?;
                shared.builder.definitions.get(&new).and_then(|inst| inst.result_type)
            }
        }
        .ok_or_else(|| self.error("value without a type"))
    }

    pub(super) fn length(
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
