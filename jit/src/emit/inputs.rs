//! Built-ins that the fused kernel reads.

use ahash::AHashMap;
use rspirv::dr::Operand;
use rspirv::spirv::{BuiltIn, Op, StorageClass, Word};

use super::builder::{Builder, Code};

/// Input variables of the fused kernel.
#[derive(Clone, Default)]
pub(crate) struct Inputs(AHashMap<BuiltIn, (Word, Word)>);

impl Inputs {
    /// The variable of a built-in whose value has type `ty`.
    pub(crate) fn variable(&mut self, builder: &mut Builder, builtin: BuiltIn, ty: Word) -> Word {
        if let Some(&(id, _)) = self.0.get(&builtin) {
            return id;
        }
        let pointer = builder.pointer(StorageClass::Input, ty);
        let id = builder.variable(StorageClass::Input, pointer, None);
        builder.decorate_builtin(id, builtin);
        self.0.insert(builtin, (id, ty));
        id
    }

    /// Component `dim` of a three-component built-in, as an unsigned number.
    pub(crate) fn component(
        &mut self,
        builder: &mut Builder,
        code: &mut Code,
        builtin: BuiltIn,
        dim: usize,
    ) -> Word {
        let uvec3 = builder.uvec3();
        let variable = self.variable(builder, builtin, uvec3);
        let ty = self.0.get(&builtin).map_or(uvec3, |v| v.1);
        let mut value = code.value(builder, Op::Load, ty, vec![Operand::IdRef(variable)]);
        if ty != uvec3 {
            value = code.value(builder, Op::Bitcast, uvec3, vec![Operand::IdRef(value)]);
        }
        let number = builder.u32();
        let operands = vec![Operand::IdRef(value), Operand::LiteralBit32(dim as u32)];
        code.value(builder, Op::CompositeExtract, number, operands)
    }
}
