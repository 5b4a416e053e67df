//! Instructions as the way writes them: each once, clamps left out, numbers folded.

use ahash::AHashMap;
use rspirv::spirv::{Op, StorageClass};
use smallvec::SmallVec;

use super::conditions::Order;
use super::copies::{Copies, of};
use super::key::{Arg, Key, What};
use super::words::Polynomial;
use super::{Fact, Frame, Other, Traced, Tracer, one_or_each};
use crate::ir::entity::{DecorationSet, Type, Value};
use crate::ir::opcodes::{self, DIVIDES};
use crate::ir::{Args, ConstData, ConstKind, Node, Operation, Root, TypeKind, ValueData, fold};

/// What a quotient or a remainder is by, if its second operand is this number.
pub(super) fn divisor(op: Op, by: u32) -> Option<u32> {
    match op {
        Op::UDiv | Op::UMod => Some(by),
        Op::ShiftRightLogical => 1u32.checked_shl(by),
        _ => by.checked_add(1).filter(|n| n.is_power_of_two()),
    }
}

impl Tracer<'_> {
    /// Writes an instruction without effects for all items.
    pub(super) fn copies(&mut self, frame: &Frame, operation: &Operation, data: ValueData) -> Traced<Copies> {
        let mut taken: AHashMap<Value, Copies> = AHashMap::new();
        for value in operation.values() {
            taken.insert(value, self.value(frame, value)?);
        }
        let count = taken.values().map(SmallVec::len).max().unwrap_or(1);
        let mut all = Copies::new();
        for item in 0..count {
            let mut own = operation.clone();
            own.change_values(|value| *value = of(&taken[value], item));
            all.push(match self.unclamped(&own, data.ty)? {
                Some(value) => value,
                None => self.write(own, data.ty, data.decorations)?,
            });
        }
        Ok(one_or_each(all))
    }

    /// What a clamp, a least or a greatest is where it changes nothing.
    fn unclamped(&mut self, operation: &Operation, ty: Type) -> Traced<Option<Value>> {
        let Operation::Ext { number, args, .. } = operation else { return Ok(None) };
        if !self.is_word(ty) || args.iter().any(|&arg| self.ty(arg) != ty || !self.fact(arg).early) {
            return Ok(None);
        }
        let varies: SmallVec<[bool; 4]> = args.iter().map(|&arg| self.varies(arg)).collect();
        let signed = matches!(number, 39 | 42 | 45);
        let (value, order) = match (number, args.as_slice(), varies.as_slice()) {
            (38 | 39 | 41 | 42, &[a, b], &[first, second]) if first != second => {
                let (value, limit) = if first { (a, b) } else { (b, a) };
                let is_least = matches!(number, 38 | 39);
                (value, if is_least { vec![(value, limit)] } else { vec![(limit, value)] })
            }
            (44 | 45, &[value, low, high], &[true, false, false]) => {
                (value, vec![(low, value), (value, high)])
            }
            _ => return Ok(None),
        };
        self.met_clamps = true;
        if !self.start.clamps {
            return Ok(None);
        }
        for (a, b) in order.into_iter().filter(|_| !mutant!(ClampsChangeNothing)) {
            self.conditions.add_order(Order { signed, strict: false, a, b });
        }
        Ok(Some(value))
    }

    pub(super) fn assume(&mut self, condition: Value, truth: bool) -> Traced<()> {
        if let Some(known) = self.truth(condition) {
            return if known == truth { Ok(()) } else { Err(Other) };
        }
        let fact = self.fact(condition);
        if !fact.early {
            return Err(Other);
        }
        let (op, args) = fact.made.clone().unwrap_or((Op::Nop, Args::new()));
        match (op, args.as_slice(), truth) {
            (Op::LogicalNot, &[inner], _) => self.assume(inner, !truth),
            (Op::LogicalOr, &[a, b], false) | (Op::LogicalAnd, &[a, b], true) => {
                self.assume(a, truth)?;
                self.assume(b, truth)
            }
            (_, &[a, b], _) if let Some(order) = Order::of(op, truth, a, b) => {
                self.conditions.add_order(order);
                Ok(())
            }
            _ => {
                self.conditions.add(condition, truth);
                Ok(())
            }
        }
    }

    /// An operation on values.
    pub(super) fn pure(&mut self, op: Op, ty: Type, args: &[Value], literals: &[u32]) -> Traced<Value> {
        let (args, literals) = (SmallVec::from_slice(args), SmallVec::from_slice(literals));
        self.write(Operation::Pure { op, args, literals }, ty, None)
    }

    /// A comparison.
    pub(super) fn test(&mut self, op: Op, a: Value, b: Value) -> Traced<Value> {
        let ty = self.code.module.ty(TypeKind::Bool);
        self.pure(op, ty, &[a, b], &[])
    }

    /// The bits of a value as another type.
    pub(super) fn cast(&mut self, value: Value, ty: Type) -> Traced<Value> {
        if self.ty(value) == ty { Ok(value) } else { self.pure(Op::Bitcast, ty, &[value], &[]) }
    }

    /// A value of the new code: one that is there already, or a new instruction.
    pub(super) fn write(
        &mut self,
        operation: Operation,
        ty: Type,
        decorations: Option<DecorationSet>,
    ) -> Traced<Value> {
        let mut words = None;
        if let Operation::Pure { op, args, literals } = &operation {
            if let Some(known) = self.folded(*op, ty, (args, literals))? {
                return Ok(known);
            }
            words = self.words_of(*op, ty, args);
            if let (None, [a, b]) = (&words, args.as_slice()) {
                let (op, a, b) = (*op, *a, *b);
                if let Some(known) = self.of_quarters(op, ty, [a, b])? {
                    return Ok(known);
                }
            }
        }
        if let Some(words) = &words {
            if let Some(number) = words.as_constant() {
                return Ok(self.constant(ty, number));
            }
            if let Some(word) = words.as_word().filter(|&word| self.ty(word) == ty) {
                return Ok(word);
            }
        }
        let key = self.key(&operation, words.as_ref(), (ty, decorations));
        if let Some(&known) = key.as_ref().and_then(|key| self.known.iter().rev().find_map(|of| of.get(key)))
        {
            return Ok(known);
        }
        let value = self.emit(operation, ty, decorations)?;
        if let Some(fact) = self.facts.get_mut(&value).filter(|_| words.is_some()) {
            fact.words = words;
        }
        if let (Some(scope), Some(key)) = (self.known.last_mut(), key) {
            scope.insert(key, value);
        }
        Ok(value)
    }

    /// A key that instructions with the same value have in common; `None` if no other instruction gives the value.
    fn key(
        &mut self,
        operation: &Operation,
        words: Option<&Polynomial>,
        (ty, decorations): (Type, Option<DecorationSet>),
    ) -> Option<Key> {
        if let Some(words) = words.cloned() {
            let args = std::iter::once(Arg::Words(words)).collect();
            return Some(Key { what: What::Words, ty, args, decorations });
        }
        let root = |place| self.code.f().places[place].root;
        let what = match operation {
            Operation::Pure { op, literals, .. } => What::Pure(*op, literals.clone()),
            Operation::Ext { set, number, .. } => What::Ext(*set, *number),
            Operation::Load { place, .. } => What::Load(root(*place)),
            Operation::Length { place, member } => What::Length(root(*place), *member),
            _ => return None,
        };
        let args: Args = self.operands(operation);
        let arg = |value: Value| self.words(value).map_or(Arg::Other(value), Arg::Words);
        Some(Key { what, ty, args: args.into_iter().map(arg).collect(), decorations })
    }

    /// The values that an operation takes, with those of its place.
    fn operands(&self, operation: &Operation) -> Args {
        let path = operation.place().map(|place| &self.code.f().places[place].path);
        operation.values().chain(path.into_iter().flatten().copied()).collect()
    }

    /// A new instruction.
    pub(super) fn emit(
        &mut self,
        operation: Operation,
        ty: Type,
        decorations: Option<DecorationSet>,
    ) -> Traced<Value> {
        self.written += 1;
        if self.written > self.start.most {
            return Err(Other);
        }
        let (mut early, mut varies) = (true, false);
        for arg in self.operands(&operation) {
            let fact = self.fact(arg);
            early &= fact.early;
            varies |= fact.varies;
        }
        let made = match &operation {
            Operation::Pure { op, args, .. } => Some((*op, args.clone())),
            _ => None,
        };
        let safe = match (&operation, &made) {
            (Operation::Load { place, .. }, _) => {
                let (f, place) = (self.code.f(), &self.code.f().places[*place]);
                let is_fixed = || place.path.iter().all(|&index| f.as_const(index).is_some());
                match place.root {
                    Root::Global(global) => match self.code.module.globals[global].class {
                        StorageClass::PushConstant | StorageClass::Input => true,
                        StorageClass::Uniform => is_fixed(),
                        _ => false,
                    },
                    _ => false,
                }
            }
            (_, Some((op, args))) if opcodes::has(*op, DIVIDES) => {
                let divisor = args.get(1).and_then(|&divisor| self.number(divisor));
                divisor.is_some_and(|divisor| divisor != 0 && divisor != u32::MAX)
            }
            _ => true,
        };
        let parts = match &made {
            Some((Op::CompositeConstruct, args)) => self.parts_of(ty, args),
            _ => None,
        };
        let (inst, value) = self.code.function().inst(operation, Some(ty), decorations);
        self.code.nodes.push(Node::Inst(inst));
        let value = value.ok_or(Other)?;
        let words = self.opaque(value, ty);
        self.facts.insert(value, Fact { early: early && safe, varies, words, parts, made, range: None });
        Ok(value)
    }

    /// What a composite consists of that is made of these: those, or the components of the vectors among them, as far as they are known.
    fn parts_of(&mut self, ty: Type, args: &Args) -> Option<Args> {
        let count = match self.code.module.types.kind(ty) {
            TypeKind::Vector { count, .. } => *count as usize,
            _ => args.len(),
        };
        if args.len() == count {
            return Some(args.clone());
        }
        let mut parts = Args::new();
        for &arg in args {
            let ty = self.ty(arg);
            match self.code.module.types.kind(ty) {
                TypeKind::Vector { .. } => parts.extend(self.fact(arg).parts.clone()?),
                _ => parts.push(arg),
            }
        }
        Some(parts)
    }

    /// A part of a composite, if it is known.
    fn extracted(&mut self, whole: Value, member: u32, ty: Type) -> Traced<Option<Value>> {
        let fact = self.fact(whole);
        if let Some(&part) = fact.parts.as_ref().and_then(|parts| parts.get(member as usize)) {
            return Ok(Some(part));
        }
        let Some((Op::Bitcast, &[inner])) = fact.made.as_ref().map(|(op, args)| (*op, args.as_slice()))
        else {
            return Ok(None);
        };
        let part = self.fact(inner).parts.as_ref().and_then(|parts| parts.get(member as usize)).copied();
        let width = |ty| self.code.module.types.width(ty);
        let part = part.filter(|&part| width(self.ty(part)) == width(ty));
        part.map(|part| self.cast(part, ty)).transpose()
    }

    /// The constant of an integer type.
    pub(super) fn constant(&mut self, ty: Type, number: u32) -> Value {
        let kind = ConstKind::Bits(SmallVec::from_slice(&[number]));
        let constant = self.code.module.constant(ConstData { ty, kind, decorations: None });
        self.code.function().constant(constant, ty)
    }

    /// Notes a value of the new code that differs from invocation to invocation.
    pub(in crate::emit::passes) fn note_id(&mut self, id: Value, words: Option<Polynomial>) {
        let words = words.or_else(|| Some(Polynomial::word(id)));
        self.facts.insert(id, Fact { early: true, varies: true, words, ..Fact::default() });
    }

    /// The polynomial of a result, if operands have some.
    fn words_of(&mut self, op: Op, ty: Type, args: &[Value]) -> Option<Polynomial> {
        if !self.is_word(ty) {
            return None;
        }
        let mut of = |n: usize| self.words(*args.get(n)?);
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
                self.part(op, &value, by).or_else(|| self.part_of_multiple(op, &value, by))
            }
            _ => None,
        }
    }

    /// Quotient or remainder of an item's number by a divisor of the distance from one invocation to the next.
    fn part(&self, op: Op, value: &Polynomial, by: u32) -> Option<Polynomial> {
        let (base, step) = self.start.ids.base?;
        let (factor, constant) = value.of(base)?;
        let divisor = divisor(op, by)?;
        // The item's number plus a constant, whose sum fits in a word.
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
    fn folded(&mut self, op: Op, ty: Type, (args, literals): (&[Value], &[u32])) -> Traced<Option<Value>> {
        let absorbs = op == Op::LogicalOr;
        match (op, args, literals) {
            (Op::CompositeExtract, &[whole], &[member]) => {
                return self.extracted(whole, member, ty);
            }
            (Op::VectorShuffle, &[a, b], members) => {
                let (Some(mut parts), Some(others)) =
                    (self.fact(a).parts.clone(), self.fact(b).parts.clone())
                else {
                    return Ok(None);
                };
                parts.extend(others);
                let picked = members.iter().map(|&member| parts.get(member as usize).copied());
                return match picked.collect::<Option<Args>>() {
                    Some(picked) => self.pure(Op::CompositeConstruct, ty, &picked, &[]).map(Some),
                    None => Ok(None),
                };
            }
            (Op::LogicalAnd | Op::LogicalOr, &[a, b], []) => {
                return Ok(match (self.truth(a), self.truth(b)) {
                    (Some(truth), _) => Some(if truth == absorbs { a } else { b }),
                    (_, Some(truth)) => Some(if truth == absorbs { b } else { a }),
                    _ => None,
                });
            }
            (Op::IEqual | Op::INotEqual, &[a, b], []) if self.number(b) == Some(0) && self.is_not_zero(a) => {
                return Ok(Some(self.code.truth(op == Op::INotEqual)));
            }
            (Op::Select, &[condition, a, b], []) => {
                return match self.truth(condition) {
                    Some(truth) => Ok(Some(if truth { a } else { b })),
                    None => self.chosen(condition, a, b),
                };
            }
            _ => {}
        }
        let is_truth = *self.code.module.types.kind(ty) == TypeKind::Bool;
        if !is_truth && !self.is_word(ty) {
            return Ok(None);
        }
        let number = |&arg: &Value| self.truth(arg).map(u32::from).or_else(|| self.number(arg));
        let numbers: Option<SmallVec<[u32; 4]>> = args.iter().map(number).collect();
        let result = numbers.filter(|numbers| !numbers.is_empty()).and_then(|all| fold(op, &all));
        Ok(result.map(|number| match is_truth {
            true => self.code.truth(number != 0),
            false => self.constant(ty, number),
        }))
    }
}
