//! Floats that come into a straight line and are hidden from the driver's compiler, item by item.

use rspirv::dr::Operand;
use rspirv::spirv::Word;

use super::{Passed, Value, Vectorizer};
use crate::emit::JitError;
use crate::emit::builder::{Builder, Code};
use crate::emit::hide;
use crate::emit::link::Shared;
use crate::emit::link::seam::Hiding;

impl Vectorizer<'_> {
    /// How what an access brings in, of type `ty`, is hidden; `old` is its id in the kernel.
    pub(super) fn hiding(&self, shared: &Shared, at: Option<(usize, usize)>, old: Word, ty: Word) -> Hiding {
        let number = at.and_then(|at| self.accesses.get(&at)).map(|a| a.0);
        let becomes_some = self.normal.floats.numbers.loads.contains(&old);
        let analysis = &self.normal.analysis;
        let Some((number, access)) = number.and_then(|n| Some((n, analysis.accesses.get(n)?))) else {
            return Hiding::None;
        };
        Hiding::of(
            &self.member.hidden,
            access.binding,
            self.normal.own_loads().get(number).copied().unwrap_or(false),
            hide::holds_floats(&shared.builder, ty) || becomes_some,
            !shared.halves && hide::holds_halves(&shared.builder, ty),
        )
    }

    /// The hidden form of a value of type `ty`, in the kernel the result `old`.
    pub(super) fn hide(
        &self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        (value, ty): (Value, Word),
        old: Word,
    ) -> Result<Value, JitError> {
        let numbers = self.normal.floats.numbers.loads.contains(&old);
        let zero = self.zero(shared, code, passed)?;
        let builder = &mut shared.builder;
        Ok(value.each(|id| {
            let hidden = builder.fresh();
            hide::hide(builder, code, zero, (id, ty), numbers, hidden);
            hidden
        }))
    }

    /// A float, of type `ty` and in the kernel the result `old`; its hidden form if numbers decide what it is.
    pub(super) fn without_choice(
        &self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        (value, ty): (Value, Word),
        old: Word,
    ) -> Result<Value, JitError> {
        let is_decided = self.normal.floats.decided.contains(&old);
        let halves = shared.halves || !hide::holds_halves(&shared.builder, ty);
        if is_decided && halves && self.recipe.zero.is_some() && !mutant!(ChoicesAreOpen) {
            self.hide(shared, code, passed, (value, ty), old)
        } else {
            Ok(value)
        }
    }

    /// The hidden form of a number of which floats are made.
    pub(super) fn hide_number(
        &self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        old: Word,
        value: Value,
    ) -> Result<Value, JitError> {
        let ty = self.type_of(shared, old)?;
        let zero = self.zero(shared, code, passed)?;
        let builder: &mut Builder = &mut shared.builder;
        Ok(value.each(|id| hide::hide_number(builder, code, zero, (id, ty))))
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
    crate::emit::link::seam::make_volatile(&mut operands);
    operands
}
