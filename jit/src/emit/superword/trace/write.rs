//! Instructions as the way writes them: each once, clamps left out, numbers folded.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use super::super::conditions::Order;
use super::super::words::Polynomial;
use super::{Fact, Frame, Key, KeyOperand, MOST, Other, Traced, Tracer, Value, ids};
use crate::frontend::opcodes;
use crate::ir::fold;

impl Tracer<'_> {
    pub(super) fn pure(&mut self, frame: &mut Frame, inst: &Instruction) -> Traced<()> {
        let (Some(ty), Some(result)) = (inst.result_type, inst.result_id) else { return Err(Other) };
        let decorations = self.decorations.get(&result).cloned().unwrap_or_default();
        let mut operands: Vec<Result<Value, Operand>> = Vec::with_capacity(inst.operands.len());
        for operand in &inst.operands {
            let Operand::IdRef(id) = operand else {
                operands.push(Err(operand.clone()));
                continue;
            };
            if inst.class.opcode == Op::ExtInst && operands.is_empty() {
                operands.push(Err(operand.clone()));
                continue;
            }
            operands.push(Ok(self.value(frame, *id)?));
        }
        let several = operands.iter().any(|operand| matches!(operand, Ok(Value::Each(_))));
        let count = if several { self.items } else { 1 };
        let mut all = Vec::with_capacity(count);
        for item in 0..count {
            let operands: Vec<Operand> = { operands.iter() }
                .map(|operand| match operand {
                    Ok(value) => Operand::IdRef(value.of(item)),
                    Err(literal) => literal.clone(),
                })
                .collect();
            let id = match self.unclamped(inst, ty, &operands)? {
                Some(id) => id,
                None => self.write(inst.class.opcode, ty, operands, &decorations)?,
            };
            all.push(id);
        }
        frame.values.insert(result, Value::from(all));
        Ok(())
    }

    /// What a clamp, a least or a greatest is where it changes nothing.
    pub(super) fn unclamped(
        &mut self,
        inst: &Instruction,
        ty: Word,
        operands: &[Operand],
    ) -> Traced<Option<Word>> {
        if inst.class.opcode != Op::ExtInst || !self.is_word(ty) {
            return Ok(None);
        }
        let Some(Operand::LiteralExtInstInteger(which)) = operands.get(1) else { return Ok(None) };
        let ids: Vec<Word> = operands[2..].iter().filter_map(Operand::id_ref_any).collect();
        let mut facts: Vec<Fact> = Vec::new();
        for &id in &ids {
            facts.push(self.fact(id));
        }
        if facts.iter().any(|fact| !fact.early || fact.ty != ty) || facts.iter().all(|fact| !fact.varies) {
            return Ok(None);
        }
        let signed = matches!(which, 39 | 42 | 45);
        let (value, order) = match (which, ids.as_slice()) {
            (38 | 39 | 41 | 42, &[a, b]) if facts[0].varies != facts[1].varies => {
                let (value, limit) = if facts[0].varies { (a, b) } else { (b, a) };
                let is_least = matches!(which, 38 | 39);
                (value, if is_least { vec![(value, limit)] } else { vec![(limit, value)] })
            }
            (44 | 45, &[value, low, high]) if facts[0].varies && !facts[1].varies && !facts[2].varies => {
                (value, vec![(low, value), (value, high)])
            }
            _ => return Ok(None),
        };
        self.met_clamps = true;
        if !self.clamps {
            return Ok(None);
        }
        for (a, b) in order.into_iter().filter(|_| !mutant!(ClampsChangeNothing)) {
            self.conditions.add_order(Order { signed, strict: false, a, b });
        }
        Ok(Some(value))
    }

    pub(super) fn assume(&mut self, condition: Word, truth: bool) -> Traced<()> {
        if let Some(known) = self.truth(condition) {
            return if known == truth { Ok(()) } else { Err(Other) };
        }
        let fact = self.fact(condition);
        if !fact.early {
            return Err(Other);
        }
        let (op, operands) = fact.made.unwrap_or((Op::Nop, Vec::new()));
        match (op, operands.as_slice(), truth) {
            (Op::LogicalNot, &[inner], _) => self.assume(inner, !truth),
            (Op::LogicalOr, &[a, b], false) | (Op::LogicalAnd, &[a, b], true) => {
                self.assume(a, truth)?;
                self.assume(b, truth)
            }
            (_, &[a, b], _) => {
                match Order::of(op, truth, a, b) {
                    Some(order) => self.conditions.add_order(order),
                    None => self.conditions.add(condition, truth),
                }
                Ok(())
            }
            _ => {
                self.conditions.add(condition, truth);
                Ok(())
            }
        }
    }

    /// A value of the new code: one that is there already, or a new instruction.
    pub(in super::super) fn write(
        &mut self,
        op: Op,
        ty: Word,
        operands: Vec<Operand>,
        decorations: &[Vec<Operand>],
    ) -> Traced<Word> {
        if let Some(known) = self.folded(op, ty, &operands)? {
            return Ok(known);
        }
        let words = self.words(op, ty, &operands);
        let mut key = Vec::with_capacity(operands.len());
        if let Some(words) = &words {
            if let Some(value) = words.as_constant() {
                return Ok(self.constant(ty, value));
            }
            if let Some(word) = words.as_word()
                && self.fact(word).ty == ty
            {
                return Ok(word);
            }
            key.push(KeyOperand::Words(words.clone()));
        } else {
            for operand in &operands {
                let words = operand.id_ref_any().and_then(|id| self.fact(id).words);
                key.push(words.map_or_else(|| KeyOperand::Other(operand.clone()), KeyOperand::Words));
            }
        }
        let op_of_key = if words.is_some() { Op::Nop } else { op };
        let key = Key { op: op_of_key, ty, operands: key, decorations: decorations.to_vec() };
        if let Some(&known) = self.known.iter().rev().find_map(|scope| scope.get(&key)) {
            return Ok(known);
        }
        let id = self.emit(op, ty, operands, decorations)?;
        if words.is_some()
            && let Some(fact) = self.facts.get_mut(&id)
        {
            fact.words = words;
        }
        if let Some(scope) = self.known.last_mut() {
            scope.insert(key, id);
        }
        Ok(id)
    }

    /// A new instruction.
    pub(super) fn emit(
        &mut self,
        op: Op,
        ty: Word,
        operands: Vec<Operand>,
        decorations: &[Vec<Operand>],
    ) -> Traced<Word> {
        self.written += 1;
        if self.written > MOST {
            return Err(Other);
        }
        let used: Vec<Word> = operands.iter().filter_map(Operand::id_ref_any).collect();
        let (mut early, mut varies) = (true, false);
        for &id in &used {
            // Import sets, variables and the arguments, which are not declared yet, are nothing that is computed.
            if let Some(fact) = self.facts.get(&id) {
                early &= fact.early;
                varies |= fact.varies;
            }
        }
        let safe = match op {
            Op::Load => {
                let class = self.class_of(&operands);
                matches!(class, Some(StorageClass::PushConstant | StorageClass::Input))
            }
            Op::AccessChain | Op::ArrayLength => true,
            op if opcodes::has(op, opcodes::DIVIDES) => {
                let divisor = used.get(1).copied().and_then(|id| self.number(id));
                divisor.is_some_and(|divisor| divisor != 0 && divisor != u32::MAX)
            }
            _ => true,
        };
        let id = self.blocks.code.value(&mut self.shared.builder, op, ty, operands.clone());
        for decoration in decorations {
            let operands = [Operand::IdRef(id)].into_iter().chain(decoration.iter().cloned()).collect();
            let inst = Instruction::new(Op::Decorate, None, None, operands);
            self.annotations.push(inst);
        }
        let parts = match op {
            Op::CompositeConstruct => Some(used.clone()),
            _ => None,
        };
        let words = self.opaque(id, ty);
        let made = Some((op, used));
        self.facts.insert(id, Fact { ty, early: early && safe, varies, words, parts, made });
        Ok(id)
    }

    /// Class of what a load loads from.
    pub(super) fn class_of(&mut self, load: &[Operand]) -> Option<StorageClass> {
        let pointer = load.first()?.id_ref_any()?;
        let ty = match self.facts.get(&pointer) {
            Some(fact) => fact.ty,
            None => self.shared.builder.definitions.get(&pointer)?.result_type?,
        };
        match self.shared.builder.definitions.get(&ty)?.operands.first()? {
            Operand::StorageClass(class) => Some(*class),
            _ => None,
        }
    }

    /// Notes a value of the new code that differs from invocation to invocation.
    pub(in super::super) fn note_id(&mut self, id: Word, words: Option<Polynomial>) {
        let ty = self.shared.builder.u32();
        let words = words.or_else(|| Some(Polynomial::word(id)));
        self.facts.insert(id, Fact { ty, early: true, varies: true, words, ..Fact::default() });
    }

    /// The polynomial of a result, if operands have some.
    pub(super) fn words(&mut self, op: Op, ty: Word, operands: &[Operand]) -> Option<Polynomial> {
        if !self.is_word(ty) {
            return None;
        }
        let mut of = |n: usize| self.fact(operands.get(n)?.id_ref_any()?).words;
        let minus = u32::MAX;
        match op {
            Op::Bitcast => of(0),
            Op::IAdd => of(0)?.plus(1, &of(1)?),
            Op::ISub => of(0)?.plus(if mutant!(DifferencesAreSums) { 1 } else { minus }, &of(1)?),
            Op::IMul => of(0)?.times(&of(1)?),
            Op::SNegate => Polynomial::constant(0).plus(minus, &of(0)?),
            Op::ShiftLeftLogical => {
                let by = of(1)?.as_constant().filter(|by| *by < 32)?;
                of(0)?.times(&Polynomial::constant(1 << by))
            }
            Op::UDiv | Op::UMod | Op::ShiftRightLogical | Op::BitwiseAnd => {
                let (value, by) = (of(0)?, of(1)?.as_constant()?);
                self.part(op, &value, by)
            }
            _ => None,
        }
    }

    /// Quotient or remainder of an item's number by a divisor of the distance from one invocation to the next.
    pub(super) fn part(&self, op: Op, value: &Polynomial, by: u32) -> Option<Polynomial> {
        let (base, step) = self.ids.base?;
        let (factor, constant) = value.of(base)?;
        let divisor = match op {
            Op::UDiv | Op::UMod => by,
            Op::ShiftRightLogical => 1u32.checked_shl(by)?,
            _ => by.checked_add(1).filter(|n| n.is_power_of_two())?,
        };
        // The item's number, and so many more: a number that has room in a word.
        let divides = divisor != 0 && (step % divisor == 0 || mutant!(AnyDistanceIsDivided));
        if factor != step || !divides || constant >= 1 << 16 {
            return None;
        }
        match op {
            Op::UDiv | Op::ShiftRightLogical => {
                let quotient = Polynomial::word(base).times(&Polynomial::constant(step / divisor))?;
                quotient.plus(1, &Polynomial::constant(constant / divisor))
            }
            _ => Some(Polynomial::constant(constant % divisor)),
        }
    }

    /// What follows from constants, and from what a composite is made of.
    pub(super) fn folded(&mut self, op: Op, ty: Word, operands: &[Operand]) -> Traced<Option<Word>> {
        let id = |n: usize| operands.get(n).and_then(Operand::id_ref_any);
        let literal = |n: usize| match operands.get(n) {
            Some(Operand::LiteralBit32(value)) => Some(*value as usize),
            _ => None,
        };
        let (a, b) = (id(0), id(1));
        Ok(match op {
            Op::CompositeExtract if operands.len() == 2 => {
                let parts = a.and_then(|a| self.fact(a).parts);
                parts.zip(literal(1)).and_then(|(parts, n)| parts.get(n).copied())
            }
            Op::VectorShuffle => {
                let mut parts = Vec::new();
                for id in [a, b].into_iter().flatten() {
                    match self.fact(id).parts {
                        Some(all) => parts.extend(all),
                        None => return Ok(None),
                    }
                }
                let picked: Option<Vec<Word>> =
                    (2..operands.len()).map(|n| parts.get(literal(n)?).copied()).collect();
                match picked {
                    Some(picked) => Some(self.write(Op::CompositeConstruct, ty, ids(&picked), &[])?),
                    None => None,
                }
            }
            Op::LogicalNot => a.and_then(|a| self.truth(a)).map(|truth| self.shared.builder.truth(!truth)),
            Op::LogicalAnd | Op::LogicalOr => {
                let (Some(a), Some(b)) = (a, b) else { return Ok(None) };
                let absorbs = op == Op::LogicalOr;
                match (self.truth(a), self.truth(b)) {
                    (Some(truth), _) => Some(if truth == absorbs { a } else { b }),
                    (_, Some(truth)) => Some(if truth == absorbs { b } else { a }),
                    _ => None,
                }
            }
            Op::Select => match a.and_then(|a| self.truth(a)) {
                Some(truth) => {
                    if truth {
                        b
                    } else {
                        id(2)
                    }
                }
                None => None,
            },
            Op::IEqual
            | Op::INotEqual
            | Op::ULessThan
            | Op::ULessThanEqual
            | Op::UGreaterThan
            | Op::UGreaterThanEqual
            | Op::SLessThan
            | Op::SLessThanEqual
            | Op::SGreaterThan
            | Op::SGreaterThanEqual => {
                let (Some(a), Some(b)) = (a, b) else { return Ok(None) };
                let numbers = self.number(a).zip(self.number(b));
                let truth = numbers.and_then(|(a, b)| fold(op, &[a, b]));
                truth.map(|truth| self.shared.builder.truth(truth != 0))
            }
            _ => None,
        })
    }
}
