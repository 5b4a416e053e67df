//! Variables outside of functions: buffers, work-group memory, built-ins, specialization constants.

use rspirv::{
    dr::{Instruction, Operand},
    spirv::{BuiltIn, Capability, Decoration, Op, StorageClass},
};

use super::builder::{Builder, CHECK_ENTRIES, CHECK_WORDS, Cached};
use crate::{
    capture::Mode,
    shape::{ScalarType, Shape},
};

impl Builder {
    fn variable(&mut self, class: StorageClass, ty: u32) -> u32 {
        let pointer = self.pointer(class, ty);
        let id = self.fresh();
        let operands = vec![Operand::StorageClass(class)];
        self.push_global(Instruction::new(Op::Variable, Some(pointer), Some(id), operands));
        id
    }

    /// The variable of an accessor.
    pub(super) fn binding(&mut self, param: u32, element: &Shape, mode: Mode) -> u32 {
        if let Some(&id) = self.bindings.get(&param) {
            return id;
        }
        self.narrow_storage(element);
        let ty = self.memory_type(element);
        let array = self.strided(Op::TypeRuntimeArray, vec![Operand::IdRef(ty)], element.size());
        let block = self.laid_out(&[(array, 0)]);
        self.decorate(block, Decoration::Block, Vec::new());
        let id = self.variable(StorageClass::StorageBuffer, block);
        self.decorate(id, Decoration::DescriptorSet, vec![Operand::LiteralBit32(0)]);
        self.decorate(id, Decoration::Binding, vec![Operand::LiteralBit32(param)]);
        if mode == Mode::Read {
            self.decorate(id, Decoration::NonWritable, Vec::new());
        }
        self.bindings.insert(param, id);
        id
    }

    fn narrow_storage(&mut self, shape: &Shape) {
        match shape {
            Shape::Scalar(scalar) | Shape::Vector(scalar, _) => match scalar.size() {
                1 => {
                    self.capability(Capability::StorageBuffer8BitAccess);
                    self.extension("SPV_KHR_8bit_storage");
                }
                2 => self.capability(Capability::StorageBuffer16BitAccess),
                _ => {}
            },
            Shape::Array(element, _) => self.narrow_storage(element),
            Shape::Struct(shape) => shape.fields.iter().for_each(|field| self.narrow_storage(&field.shape)),
        }
    }

    /// Number of elements of what is bound, read once per function.
    pub(super) fn length(&mut self, param: u32, variable: u32) -> u32 {
        if let Some(&id) = self.function().cached.get(&Cached::Length(param)) {
            return id;
        }
        let ty = self.u32_type();
        let operands = vec![Operand::IdRef(variable), Operand::LiteralBit32(0)];
        let id = self.prologue(Op::ArrayLength, ty, operands);
        self.function().cached.insert(Cached::Length(param), id);
        id
    }

    pub(super) fn shared_variable(&mut self, number: u32, array: &Shape) -> u32 {
        if let Some(&id) = self.shared.get(&number) {
            return id;
        }
        let ty = self.value_type(array);
        let id = self.variable(StorageClass::Workgroup, ty);
        self.shared.insert(number, id);
        id
    }

    /// A specialization constant; zero where nothing is given.
    pub(super) fn spec(&mut self, spec_id: u32, scalar: ScalarType, default: u32) -> u32 {
        if let Some(&id) = self.specs.get(&spec_id) {
            return id;
        }
        let ty = self.scalar_type(scalar);
        let id = self.fresh();
        let (op, operands) = match scalar {
            ScalarType::Bool => (Op::SpecConstantFalse, Vec::new()),
            _ if scalar.size() == 8 => (Op::SpecConstant, vec![Operand::LiteralBit64(u64::from(default))]),
            _ => (Op::SpecConstant, vec![Operand::LiteralBit32(default)]),
        };
        self.push_global(Instruction::new(op, Some(ty), Some(id), operands));
        self.decorate(id, Decoration::SpecId, vec![Operand::LiteralBit32(spec_id)]);
        self.specs.insert(spec_id, id);
        id
    }

    /// A built-in input of three components or of one, read once per function.
    fn input(&mut self, builtin: BuiltIn, vector: bool) -> u32 {
        let key = Cached::BuiltIn(builtin as u32);
        if let Some(&id) = self.function().cached.get(&key) {
            return id;
        }
        let word = self.u32_type();
        let ty = if vector { self.vector_type(word, 3) } else { word };
        let variable = match self.inputs.get(&(builtin as u32)) {
            Some(&id) => id,
            None => {
                let id = self.variable(StorageClass::Input, ty);
                self.decorate(id, Decoration::BuiltIn, vec![Operand::BuiltIn(builtin)]);
                self.interface.push(id);
                self.inputs.insert(builtin as u32, id);
                id
            }
        };
        let id = self.prologue(Op::Load, ty, vec![Operand::IdRef(variable)]);
        self.function().cached.insert(key, id);
        id
    }

    pub(super) fn input_word(&mut self, builtin: BuiltIn) -> u32 {
        self.input(builtin, false)
    }

    pub(super) fn input_component(&mut self, builtin: BuiltIn, k: u32) -> u32 {
        let key = Cached::Component(builtin as u32, k);
        if let Some(&id) = self.function().cached.get(&key) {
            return id;
        }
        let vector = self.input(builtin, true);
        let ty = self.u32_type();
        let operands = vec![Operand::IdRef(vector), Operand::LiteralBit32(k)];
        let id = self.prologue(Op::CompositeExtract, ty, operands);
        self.function().cached.insert(key, id);
        id
    }

    /// Reports an access in the checking mode, where `ok` does not hold.
    pub(super) fn report_out_of_range(&mut self, ok: u32, param: u32, index: u32) {
        if !self.options.checking {
            return;
        }
        let ty = self.bool_type();
        let bad = self.op(Op::LogicalNot, ty, &[ok]);
        self.when(bad, |b| {
            let word = b.u32_type();
            let report = b.binding(b.params + 1, &Shape::Scalar(ScalarType::U32), Mode::ReadWrite);
            let (zero, one) = (b.u32(0), b.u32(1));
            let count = b.chain(StorageClass::StorageBuffer, report, &[zero, zero], word);
            let entry = b.op(Op::AtomicIAdd, word, &[count, one, zero, one]);
            let limit = b.u32(CHECK_ENTRIES);
            let room = b.compare(Op::ULessThan, entry, limit);
            b.when(room, |b| {
                let gid = [0, 1, 2].map(|k| b.input_component(BuiltIn::GlobalInvocationId, k));
                let param = b.u32(param);
                let stride = b.u32(CHECK_WORDS);
                let at = b.op(Op::IMul, word, &[entry, stride]);
                for (k, value) in [param, index, gid[0], gid[1], gid[2]].into_iter().enumerate() {
                    let k = b.u32(k as u32 + 1);
                    let at = b.op(Op::IAdd, word, &[at, k]);
                    let pointer = b.chain(StorageClass::StorageBuffer, report, &[zero, at], word);
                    b.store(pointer, value);
                }
            });
        });
    }
}
