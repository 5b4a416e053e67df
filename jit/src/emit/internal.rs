//! Buffers that stay inside: variables in place of bindings, and accesses to them.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{BuiltIn, Op, StorageClass, Word};

use super::builder::{Builder, Code};
use super::inputs::Inputs;
use crate::plan::Internalization;
use crate::plan::recipe::{Internal, SlotOf};

/// The variable of one internalized buffer; made when the first member that uses it is linked.
#[derive(Clone, Copy)]
pub(crate) struct InternalVariable {
    id: Word,
    class: StorageClass,
    /// Element type without layout.
    element: Word,
    slots: u32,
}

impl InternalVariable {
    pub(crate) fn new(builder: &mut Builder, internal: &Internal, element: Word) -> Self {
        let class = match internal.kind {
            Internalization::Local => StorageClass::Workgroup,
            _ => StorageClass::Private,
        };
        let element = builder.without_layout(element);
        builder.need_scalars(element);
        let ty = if internal.slots == 1 {
            element
        } else {
            let count = builder.constant(internal.slots);
            let operands = vec![Operand::IdRef(element), Operand::IdRef(count)];
            builder.global(Op::TypeArray, None, operands, Vec::new())
        };
        let pointer = builder.pointer(class, ty);
        let id = builder.variable(class, pointer, None);
        Self { id, class, element, slots: internal.slots }
    }

    /// Whether it keeps one element.
    pub(crate) fn is_one(&self) -> bool {
        self.slots == 1
    }

    /// Number of the slot of an element; `index` is the kernel's own index and its type.
    pub(crate) fn slot(
        &self,
        builder: &mut Builder,
        code: &mut Code,
        inputs: &mut Inputs,
        slot: &SlotOf,
        index: (Word, Word),
    ) -> Word {
        match slot {
            // The linker adds the iterations.
            SlotOf::Fixed(first) | SlotOf::Unrolled { first, .. } => builder.constant(*first),
            SlotOf::Relative { group, local, constant, divisor } => {
                let mut sum = as_u32(builder, code, index);
                for (factors, builtin) in [(group, BuiltIn::WorkgroupId), (local, BuiltIn::LocalInvocationId)]
                {
                    for (d, &factor) in factors.iter().enumerate().filter(|(_, f)| **f != 0) {
                        // Modulo 2^32, as the kernel's own index arithmetic.
                        let id = inputs.component(builder, code, builtin, d);
                        let factor = builder.constant(factor as u32);
                        let part = code.math(builder, Op::IMul, id, factor);
                        sum = code.math(builder, Op::ISub, sum, part);
                    }
                }
                let constant = builder.constant(*constant as u32);
                let sum = code.math(builder, Op::IAdd, sum, constant);
                if *divisor == 1 {
                    sum
                } else {
                    let divisor = builder.constant(*divisor);
                    code.math(builder, Op::UDiv, sum, divisor)
                }
            }
        }
    }

    /// Loads a value of (laid-out) type `ty` into id `result`.
    pub(crate) fn load(&self, builder: &mut Builder, code: &mut Code, path: &[Word], ty: Word, result: Word) {
        let plain = self.type_at(builder, path);
        if let Some((parts, inner)) = aggregate(builder, plain, ty) {
            let mut values = Vec::with_capacity(parts);
            for (number, part) in inner.into_iter().enumerate() {
                let mut path = path.to_vec();
                path.push(builder.constant(number as u32));
                let id = builder.fresh();
                self.load(builder, code, &path, part, id);
                values.push(Operand::IdRef(id));
            }
            code.0.push(Instruction::new(Op::CompositeConstruct, Some(ty), Some(result), values));
            return;
        }
        let pointer = self.pointer(builder, code, path, plain);
        if plain == ty {
            code.0.push(Instruction::new(Op::Load, Some(ty), Some(result), vec![Operand::IdRef(pointer)]));
            return;
        }
        // Another member sees the same bits as another type.
        let value = code.value(builder, Op::Load, plain, vec![Operand::IdRef(pointer)]);
        code.0.push(Instruction::new(Op::Bitcast, Some(ty), Some(result), vec![Operand::IdRef(value)]));
    }

    /// Stores `value` of (laid-out) type `ty`.
    pub(crate) fn store(&self, builder: &mut Builder, code: &mut Code, path: &[Word], ty: Word, value: Word) {
        let plain = self.type_at(builder, path);
        if let Some((_, inner)) = aggregate(builder, plain, ty) {
            for (number, part) in inner.into_iter().enumerate() {
                let operands = vec![Operand::IdRef(value), Operand::LiteralBit32(number as u32)];
                let id = code.value(builder, Op::CompositeExtract, part, operands);
                let mut path = path.to_vec();
                path.push(builder.constant(number as u32));
                self.store(builder, code, &path, part, id);
            }
            return;
        }
        let value = match plain == ty {
            true => value,
            false => code.value(builder, Op::Bitcast, plain, vec![Operand::IdRef(value)]),
        };
        let pointer = self.pointer(builder, code, path, plain);
        code.effect(Op::Store, vec![Operand::IdRef(pointer), Operand::IdRef(value)]);
    }

    fn pointer(&self, builder: &mut Builder, code: &mut Code, path: &[Word], pointee: Word) -> Word {
        if path.is_empty() {
            return self.id;
        }
        let ty = builder.pointer(self.class, pointee);
        let operands = [self.id].iter().chain(path).map(|&id| Operand::IdRef(id)).collect();
        code.value(builder, Op::AccessChain, ty, operands)
    }

    /// Type without layout at the end of a path whose first index is the slot, if there are several.
    fn type_at(&self, builder: &Builder, path: &[Word]) -> Word {
        let inner = if self.slots == 1 { path } else { path.get(1..).unwrap_or(&[]) };
        inner.iter().fold(self.element, |ty, &index| builder.step(ty, index).unwrap_or(ty))
    }
}

/// Parts of an aggregate whose laid-out type differs from the one without layout.
fn aggregate(builder: &Builder, plain: Word, ty: Word) -> Option<(usize, Vec<Word>)> {
    if plain == ty {
        return None;
    }
    let parts = builder.parts(ty)?;
    Some((parts.len(), parts))
}

/// The value as an unsigned 32-bit number.
fn as_u32(builder: &mut Builder, code: &mut Code, (value, ty): (Word, Word)) -> Word {
    let u32_type = builder.u32();
    if ty == u32_type {
        return value;
    }
    let width = match builder.definitions.get(&ty).and_then(|inst| inst.operands.first()) {
        Some(Operand::LiteralBit32(width)) => *width,
        _ => 32,
    };
    if width == 32 {
        return code.value(builder, Op::Bitcast, u32_type, vec![Operand::IdRef(value)]);
    }
    // Widening keeps the sign of signed types; narrowing keeps the low bits of either.
    let signed = builder
        .definitions
        .get(&ty)
        .is_some_and(|inst| inst.operands.get(1) == Some(&Operand::LiteralBit32(1)));
    let op = if signed && width < 32 { Op::SConvert } else { Op::UConvert };
    code.value(builder, op, u32_type, vec![Operand::IdRef(value)])
}
