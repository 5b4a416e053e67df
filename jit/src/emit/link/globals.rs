//! What a member declares: capabilities, imports, types, constants and variables, each in the fused module once.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, StorageClass, Word};

use super::decorations::{asks_for_order, claimless, is_access_qualifier};
use super::{Linker, Role};
use crate::emit::JitError;
use crate::emit::builder::Code;
use crate::emit::ids::VirtualIds;
use crate::kernel::SetBinding;
use crate::plan::recipe::Target;

/// An undefined value is zero in a fused kernel. Members that hand it on through memory have one value of it, whatever that is; in a
/// register, each of its uses could have another.
fn frozen(op: Op) -> Op {
    if op == Op::Undef && !mutant!(UndefinedStaysSo) { Op::ConstantNull } else { op }
}

impl Linker<'_> {
    /// As [`frozen`], in a function's body.
    pub(super) fn freeze(&mut self, inst: &Instruction, code: &mut Code) -> Result<(), JitError> {
        let (Some(ty), Some(result)) = (inst.result_type, inst.result_id) else {
            return Err(self.error("an undefined value without a type"));
        };
        let (ty, new) = (self.mapped(ty)?, self.mapped(result)?);
        self.value_types.insert(result, ty);
        let null = self.shared.builder.global(frozen(Op::Undef), Some(ty), Vec::new(), Vec::new());
        code.0.push(Instruction::new(Op::CopyObject, Some(ty), Some(new), vec![Operand::IdRef(null)]));
        Ok(())
    }

    pub(super) fn header(&mut self) {
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
        // All members have the same memory model; some may use addresses.
        if builder.module.memory_model.is_none() || self.kernel.interface.uses_device_addresses {
            builder.module.memory_model = module.memory_model.clone();
        }
    }

    pub(super) fn globals(&mut self) -> Result<(), JitError> {
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
            // What is coherent or volatile behind an address is nowhere else said to be.
            let is_order = |d: &[Operand]| self.kernel.interface.uses_device_addresses && asks_for_order(d);
            let kept = self.decorations.get(&id).into_iter().flatten().filter(|d| {
                let is_dropped = is_access_qualifier(d) && !is_order(d);
                !(is_dropped || push_block == Some(id) && d.first() == Some(&is_block))
            });
            let decorations: Vec<Vec<Operand>> = kept.map(|d| self.operands(d)).collect::<Result<_, _>>()?;
            let new = self.shared.builder.global(frozen(inst.class.opcode), ty, operands, decorations);
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
            StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::UniformConstant => {
                let set = self.literal(id, Decoration::DescriptorSet).unwrap_or(0);
                let binding = self.literal(id, Decoration::Binding).unwrap_or(0);
                let slots = &self.kernel.interface.bindings;
                let number = slots.iter().position(|b| b.at == SetBinding::from((set, binding)));
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
                    if !is_access_qualifier(decoration)
                        && decoration.len() == 1
                        && let [Operand::Decoration(which)] = claimless(decoration).as_slice()
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
        let is_virtual =
            self.member.remap.is_some() && VirtualIds::covers(self.recipe.schedule.domain(), builtin);
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
}
