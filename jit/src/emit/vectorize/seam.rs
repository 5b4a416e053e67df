//! Floats that come into a straight line and are hidden from the driver's compiler, item by item.

use rspirv::dr::Operand;
use rspirv::spirv::Word;

use super::{Passed, Value, Vectorizer};
use crate::emit::JitError;
use crate::emit::builder::Code;
use crate::emit::hide;
use crate::emit::hide::Hiding;
use crate::emit::shared::Shared;

impl Vectorizer<'_> {
    /// How what an access brings in, of type `ty`, is hidden.
    pub(super) fn hiding(&self, shared: &Shared, at: Option<(usize, usize)>, ty: Word) -> Hiding {
        let number = at.and_then(|at| self.accesses.get(&at)).map(|a| a.0);
        let Some(access) = number.and_then(|number| self.normal.analysis.accesses.get(number)) else {
            return Hiding::None;
        };
        Hiding::of(
            &self.member.hidden,
            access.binding,
            hide::holds_floats(&shared.builder, ty),
            !shared.halves && hide::holds_halves(&shared.builder, ty),
        )
    }

    /// The hidden form of a value of type `ty`.
    pub(super) fn hide(
        &self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        (value, ty): (Value, Word),
    ) -> Result<Value, JitError> {
        let zero = self.zero(shared, code, passed)?;
        let builder = &mut shared.builder;
        Ok(value.each(|id| {
            let hidden = builder.fresh();
            hide::hide(builder, code, zero, (id, ty), hidden);
            hidden
        }))
    }

    /// Whether an argument is hidden.
    pub(super) fn hides_argument(&self, shared: &Shared, number: usize, ty: Word) -> bool {
        self.member.hidden.push.get(number).copied().unwrap_or(false)
            && hide::holds_floats(&shared.builder, ty)
            && (shared.halves || !hide::holds_halves(&shared.builder, ty))
    }

    fn zero(&self, shared: &mut Shared, code: &mut Code, passed: &mut Passed) -> Result<Word, JitError> {
        let slot = self.recipe.zero.ok_or_else(|| self.error("hidden floats without a zero"))?;
        let ty = shared.builder.u32();
        Ok(passed.push(shared, code, slot, ty))
    }
}

impl Value {
    fn each(self, mut of: impl FnMut(Word) -> Word) -> Value {
        match self {
            Value::One(id) => Value::One(of(id)),
            Value::Each(ids) => Value::Each(ids.into_iter().map(of).collect()),
        }
    }
}

/// Operands of a load that happens as it is written.
pub(super) fn volatile(pointer: Word) -> Vec<Operand> {
    let mut operands = vec![Operand::IdRef(pointer)];
    crate::emit::hide::make_volatile(&mut operands);
    operands
}
