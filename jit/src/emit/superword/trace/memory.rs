//! Memory as the way finds it: variables are values, loads of one place are one.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{BuiltIn, Op, StorageClass, Word};

use super::{Frame, Other, Pointer, Traced, Tracer, Value, ids};

impl Tracer<'_> {
    pub(super) fn pointer(&mut self, frame: &Frame, id: Word, ty: Option<Word>) -> Traced<Pointer> {
        if let Some(pointer) = frame.pointers.get(&id) {
            return Ok(pointer.clone());
        }
        // What is no variable yet is the one of the arguments.
        let definitions = &self.shared.builder.definitions;
        let own = definitions.get(&id).and_then(|inst| inst.operands.first().cloned());
        let class = own.or_else(|| definitions.get(&ty?)?.operands.first().cloned());
        match class {
            Some(Operand::StorageClass(class)) => Ok(Pointer { variable: id, class, path: Vec::new() }),
            _ => Err(Other),
        }
    }

    pub(super) fn load(&mut self, inst: &Instruction, pointer: &Pointer, ty: Word) -> Traced<Value> {
        match pointer.class {
            StorageClass::Input => self.load_id(pointer, ty),
            StorageClass::Private | StorageClass::Function => {
                let path = self.numbers(&pointer.path)?;
                for known in (0..=path.len()).rev() {
                    let place = (pointer.variable, path[..known].to_vec());
                    let Some(mut value) = self.memory.get(&place).cloned() else { continue };
                    let mut of = self.fact(value.of(0)).ty;
                    for &index in &path[known..] {
                        let number = self.shared.builder.constant(index);
                        of = self.shared.builder.step(of, number).ok_or(Other)?;
                        let operands = |id| vec![Operand::IdRef(id), Operand::LiteralBit32(index)];
                        value = self.each(&value, |this, id| {
                            this.write(Op::CompositeExtract, of, operands(id), &[])
                        })?;
                    }
                    return Ok(value);
                }
                Err(Other)
            }
            StorageClass::PushConstant | StorageClass::Uniform | StorageClass::StorageBuffer => {
                let stays = pointer.class != StorageClass::StorageBuffer
                    || self.frozen.contains(&pointer.variable)
                    || mutant!(StoredWordsAreShared);
                let shares = stays && inst.operands.len() == 1;
                let varies = pointer.path.iter().any(|index| matches!(index, Value::Each(_)));
                let count = if varies || inst.operands.len() > 1 { self.items } else { 1 };
                let wide = self.touch(inst, pointer, ty)?;
                if let Some(wide) = wide.as_ref().filter(|_| !shares) {
                    return self.load_vector(pointer, wide);
                }
                let mut all = Vec::with_capacity(count);
                for item in 0..count {
                    if let Some(wide) = wide.as_ref().filter(|wide| wide.items[item]) {
                        all.push(self.load_part(pointer, wide, item)?);
                        continue;
                    }
                    let at = self.chain(pointer, ty, item)?;
                    let mut operands = inst.operands.clone();
                    operands[0] = Operand::IdRef(at);
                    all.push(if shares {
                        let before = self.written;
                        let id = self.write(Op::Load, ty, operands, &[])?;
                        let is_spared =
                            self.written == before && pointer.class == StorageClass::StorageBuffer;
                        self.spared += usize::from(is_spared);
                        id
                    } else {
                        self.emit(Op::Load, ty, operands, &[])?
                    });
                }
                Ok(Value::from(all))
            }
            _ => Err(Other),
        }
    }

    /// A chain of the new code to what a pointer leads to, of this type.
    pub(super) fn chain(&mut self, pointer: &Pointer, ty: Word, item: usize) -> Traced<Word> {
        if pointer.path.is_empty() {
            return Ok(pointer.variable);
        }
        let ty = self.shared.builder.pointer(pointer.class, ty);
        let path = pointer.path.iter().map(|index| Operand::IdRef(index.of(item)));
        let operands = [Operand::IdRef(pointer.variable)].into_iter().chain(path).collect();
        self.write(Op::AccessChain, ty, operands, &[])
    }

    pub(super) fn load_id(&mut self, pointer: &Pointer, ty: Word) -> Traced<Value> {
        let Some(builtin) = self.ids.variables.get(&pointer.variable).copied() else {
            let id = match pointer.path.as_slice() {
                [] => pointer.variable,
                _ => self.chain(pointer, ty, 0)?,
            };
            let id = self.write(Op::Load, ty, vec![Operand::IdRef(id)], &[])?;
            return Ok(Value::One(id));
        };
        let values = self.values_of_ids.get(&builtin).cloned().ok_or(Other)?;
        let path = self.numbers(&pointer.path)?;
        let uvec3 = self.shared.builder.uvec3();
        let mut all = Vec::with_capacity(self.items);
        for parts in values {
            let (id, from) = match path.as_slice() {
                [] if builtin == BuiltIn::LocalInvocationIndex => (parts[0], self.shared.builder.u32()),
                [] => (self.write(Op::CompositeConstruct, uvec3, ids(&parts), &[])?, uvec3),
                [dimension] => (*parts.get(*dimension as usize).ok_or(Other)?, self.shared.builder.u32()),
                _ => return Err(Other),
            };
            all.push(if from == ty { id } else { self.write(Op::Bitcast, ty, ids(&[id]), &[])? });
        }
        Ok(Value::from(all))
    }

    pub(super) fn numbers(&mut self, path: &[Value]) -> Traced<Vec<u32>> {
        path.iter()
            .map(|index| match index {
                Value::One(id) => self.number(*id).ok_or(Other),
                Value::Each(_) => Err(Other),
            })
            .collect()
    }

    pub(super) fn store(&mut self, inst: &Instruction, pointer: &Pointer, value: Value) -> Traced<()> {
        match pointer.class {
            StorageClass::Private | StorageClass::Function => {
                let path = self.numbers(&pointer.path)?;
                let part =
                    |place: &(Word, Vec<u32>)| place.0 == pointer.variable && path.starts_with(&place.1);
                if self.memory.keys().any(|place| part(place) && place.1.len() < path.len()) {
                    return Err(Other);
                }
                self.memory.retain(|place, _| place.0 != pointer.variable || !place.1.starts_with(&path));
                self.memory.insert((pointer.variable, path), value);
                Ok(())
            }
            StorageClass::StorageBuffer => {
                let ty = self.fact(value.of(0)).ty;
                if let Some(wide) = self.touch(inst, pointer, ty)? {
                    return self.store_vector(pointer, &wide, &value);
                }
                let varies = pointer.path.iter().chain([&value]).any(|one| matches!(one, Value::Each(_)));
                for item in 0..if varies { self.items } else { 1 } {
                    let mut operands = inst.operands.clone();
                    operands[0] = Operand::IdRef(self.chain(pointer, ty, item)?);
                    operands[1] = Operand::IdRef(value.of(item));
                    self.blocks.code.effect(Op::Store, operands);
                    self.written += 1;
                }
                Ok(())
            }
            _ => Err(Other),
        }
    }
}
