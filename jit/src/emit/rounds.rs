//! Floats that would be constants in a round that is written out, and are none in the loop.
//!
//! In a loop a sum starts at a value that the compiler does not know in its first round, for it is another one in the next. Written out, it
//! is a constant there, and `0 + x` is `x` to some compilers, which loses the sign of a zero; a function of a constant is worked out by
//! the compiler, with other last bits than the device's. So these constants are hidden from it ([`hide`]): what rounds start with
//! and hand on, what is made of a counter, chosen among constants, or kept in a local array.
//!
//! # Requires
//! - a zero among the push constants; without one floats are not hidden
//!
//! # Guarantees
//! - no float operation of a round has a constant operand that it has not in the kernel

use ahash::AHashSet;
use rspirv::dr::{Block, Function, Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::JitError;
use super::builder::Code;
use super::hide;
use super::link::Linker;

/// Values of a function that may be constants where the rounds of its loops are.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// Choices, and what is taken from a local variable or from a place in a vector that is counted.
    results: AHashSet<Word>,
}

/// Looks for them.
pub(super) fn shown(function: &Function) -> Shown {
    let mut locals: AHashSet<Word> = AHashSet::new();
    let mut results = AHashSet::new();
    for inst in function.blocks.iter().flat_map(|block| &block.instructions) {
        let Some(id) = inst.result_id else { continue };
        let first = inst.operands.first().and_then(Operand::id_ref_any);
        let is_local = first.is_some_and(|first| locals.contains(&first));
        match inst.class.opcode {
            Op::Variable => {
                locals.insert(id);
            }
            Op::AccessChain | Op::InBoundsAccessChain if is_local => {
                locals.insert(id);
            }
            Op::Load if is_local => {
                results.insert(id);
            }
            Op::Select | Op::Phi | Op::VectorExtractDynamic => {
                results.insert(id);
            }
            _ => {}
        }
    }
    Shown { results }
}

impl Linker<'_> {
    /// Whether constants of rounds are hidden.
    pub(super) fn hides_rounds(&self) -> bool {
        self.recipe.zero.is_some() && !mutant!(RoundsShowConstants)
    }

    /// A value that a round begins with; another name for it where it is a float constant.
    pub(super) fn without_constant(
        &mut self,
        (value, ty): (Word, Word),
        into: &mut Vec<Instruction>,
    ) -> Word {
        if !self.hides_rounds() || !self.is_float(ty) || !self.is_constant(value) {
            return value;
        }
        let mut code = Code::default();
        let hidden = self.shared.builder.fresh();
        let zero = self.zero();
        hide::hide(&mut self.shared.builder, &mut code, zero, (value, ty), false, hidden);
        into.extend(code.0);
        hidden
    }

    /// Hides what may be a float constant in a copy of a block.
    pub(super) fn hide_shown(
        &mut self,
        function: &Function,
        number: usize,
        shown: &Shown,
        block: &mut Block,
    ) -> Result<(), JitError> {
        if !self.in_rounds {
            return Ok(());
        }
        let mut names = AHashSet::new();
        for id in function.blocks[number].instructions.iter().filter_map(|inst| inst.result_id) {
            if shown.results.contains(&id) && !self.is_decided(id) {
                names.insert(self.mapped(id)?);
            }
        }
        self.hide_results(&names, Linker::chooses, &mut block.instructions);
        Ok(())
    }

    /// Whether a choice is one among constants; whatever else is looked at may be one.
    fn chooses(&self, inst: &Instruction) -> bool {
        !matches!(inst.class.opcode, Op::Select | Op::Phi)
            || inst.operands.iter().filter_map(Operand::id_ref_any).any(|id| self.is_constant(id))
    }

    pub(super) fn is_float(&self, ty: Word) -> bool {
        let builder = &self.shared.builder;
        hide::holds_floats(builder, ty) && (self.shared.halves || !hide::holds_halves(builder, ty))
    }

    fn is_constant(&self, id: Word) -> bool {
        let constants = [
            Op::Constant,
            Op::ConstantComposite,
            Op::ConstantNull,
            Op::SpecConstant,
            Op::SpecConstantComposite,
            Op::Undef,
        ];
        self.shared.builder.definitions.get(&id).is_some_and(|inst| constants.contains(&inst.class.opcode))
    }
}
