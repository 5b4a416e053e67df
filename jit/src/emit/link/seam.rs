//! Floats that come into a member and are hidden from the driver's compiler.

use rspirv::dr::{Block, Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::Linker;
use crate::emit::builder::Code;
use crate::emit::hide::{self, Hiding};
use crate::emit::shared::Shared;

impl Linker<'_> {
    /// How the result, of type `ty`, of the present instruction is hidden.
    pub(super) fn hiding(&self, ty: Word) -> Hiding {
        let Some(&(number, _)) = self.accesses.get(&self.at) else { return Hiding::None };
        let analysis = &self.normal.analysis;
        let builder = &self.shared.builder;
        Hiding::of(
            &self.member.hidden,
            analysis.accesses[number].binding,
            hide::holds_floats(builder, ty),
            !self.shared.halves && hide::holds_halves(builder, ty),
        )
    }

    /// Whether an argument of type `ty` is hidden. Halves can be hidden only where the module may compute with them.
    pub(super) fn hides_argument(&self, number: usize, ty: Word) -> bool {
        let Shared { builder, halves, .. } = &*self.shared;
        self.member.hidden.push.get(number).copied().unwrap_or(false)
            && hide::holds_floats(builder, ty)
            && (*halves || !hide::holds_halves(builder, ty))
    }

    /// Hides a value; `result` is its id from here on.
    pub(super) fn hide(&mut self, value: (Word, Word), result: Word, code: &mut Code) {
        let zero = self.zero();
        hide::hide(&mut self.shared.builder, code, zero, value, result);
    }

    /// The zero, which is loaded where the body begins.
    pub(in crate::emit) fn zero(&mut self) -> Word {
        *self.zero.get_or_insert_with(|| self.shared.builder.fresh())
    }

    /// Loads the zero, if the body uses it, behind the variables of the first block.
    pub(super) fn load_zero(&mut self, blocks: &mut [Block]) {
        let (Some(zero), Some(slot), Some(first)) = (self.zero, self.recipe.zero, blocks.first_mut()) else {
            return;
        };
        let mut code = Code::default();
        let Shared { builder, push, .. } = &mut *self.shared;
        let ty = builder.u32();
        let pointer = push.pointer(builder, &mut code, slot, ty, &[], ty);
        code.0.push(Instruction::new(Op::Load, Some(ty), Some(zero), vec![Operand::IdRef(pointer)]));
        let behind = first.instructions.iter().take_while(|inst| inst.class.opcode == Op::Variable).count();
        first.instructions.splice(behind..behind, code.0);
    }
}
