//! What single instructions compute, word for word as SPIR-V says. What is undefined there is any value here.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{GlslStd450Op, Op, StorageClass};

use super::body::Shape;
use super::place::Place;
use super::term::{Compare, Origin, Term, Word, mask};
use super::trace::{FrameId, Path, Trace, World};

fn id(inst: &Instruction, n: usize) -> Option<u32> {
    inst.operands.get(n)?.id_ref_any()
}

fn literal(inst: &Instruction, n: usize) -> Option<u32> {
    match inst.operands.get(n)? {
        Operand::LiteralBit32(value) => Some(*value),
        _ => None,
    }
}

fn word_of(op: Op) -> Option<Word> {
    Some(match op {
        Op::IAdd => Word::Add,
        Op::ISub => Word::Sub,
        Op::IMul => Word::Mul,
        Op::UDiv => Word::UDiv,
        Op::UMod => Word::URem,
        Op::SDiv => Word::SDiv,
        Op::SRem => Word::SRem,
        Op::SMod => Word::SMod,
        Op::ShiftLeftLogical => Word::Shl,
        Op::ShiftRightLogical => Word::LShr,
        Op::ShiftRightArithmetic => Word::AShr,
        Op::BitwiseAnd => Word::And,
        Op::BitwiseOr => Word::Or,
        Op::BitwiseXor => Word::Xor,
        _ => return None,
    })
}

/// The comparison, whether its sides are swapped, and whether it is denied.
fn compare_of(op: Op) -> Option<(Compare, bool, bool)> {
    Some(match op {
        Op::IEqual => (Compare::Equal, false, false),
        Op::INotEqual => (Compare::Equal, false, true),
        Op::ULessThan => (Compare::ULess, false, false),
        Op::ULessThanEqual => (Compare::ULessEqual, false, false),
        Op::UGreaterThan => (Compare::ULess, true, false),
        Op::UGreaterThanEqual => (Compare::ULessEqual, true, false),
        Op::SLessThan => (Compare::SLess, false, false),
        Op::SLessThanEqual => (Compare::SLessEqual, false, false),
        Op::SGreaterThan => (Compare::SLess, true, false),
        Op::SGreaterThanEqual => (Compare::SLessEqual, true, false),
        _ => return None,
    })
}

impl Trace<'_> {
    /// A scalar of a constant.
    pub(super) fn constant(&mut self, w: &mut World, constant: u32, path: &[u32]) -> Option<Term> {
        let body = self.body();
        let inst = body.global(constant)?;
        let ty = body.inner(inst.result_type?, path)?;
        let width = body.width(ty)?;
        match inst.class.opcode {
            Op::Constant => {
                let value = match inst.operands.first()? {
                    Operand::LiteralBit32(value) => u64::from(*value),
                    Operand::LiteralBit64(value) => *value,
                    _ => return None,
                };
                Some(w.terms.constant(value, width))
            }
            Op::ConstantTrue => Some(w.terms.truth(true)),
            Op::ConstantFalse | Op::ConstantNull => Some(w.terms.constant(0, width)),
            Op::ConstantComposite => {
                let (&first, rest) = path.split_first()?;
                self.constant(w, id(inst, first as usize)?, rest)
            }
            _ => None,
        }
    }

    /// A scalar of what an instruction of this frame computes; `None` if that is not followed.
    pub(super) fn compute(
        &mut self,
        w: &mut World,
        frame: FrameId,
        inst: &Instruction,
        path: &Path,
        width: u8,
    ) -> Option<Term> {
        let op = inst.class.opcode;
        let same = |n: usize| Some((id(inst, n)?, path.clone()));
        if let Some(word) = word_of(op) {
            let (a, at) = same(0)?;
            let a = self.leaf(w, frame, a, at);
            let (b, at) = same(1)?;
            let b = self.leaf(w, frame, b, at);
            return self.arithmetic(w, inst, word, a, b);
        }
        if let Some((compare, swapped, denied)) = compare_of(op) {
            let (a, at) = same(usize::from(swapped))?;
            let a = self.leaf(w, frame, a, at);
            let (b, at) = same(usize::from(!swapped))?;
            let b = self.leaf(w, frame, b, at);
            if w.terms.width(a) != w.terms.width(b) || w.terms.width(a) == 1 {
                return None;
            }
            let holds = w.terms.compare(compare, a, b);
            return Some(if denied { w.terms.not(holds) } else { holds });
        }
        let part =
            |w: &mut World, this: &mut Self, n: usize| Some(this.leaf(w, frame, id(inst, n)?, path.clone()));
        match op {
            Op::CopyObject | Op::CopyLogical => part(w, self, 0),
            Op::Bitcast => {
                let source = id(inst, 0)?;
                let value = self.leaf(w, frame, source, path.clone());
                let count = |this: &Self, ty: u32| match this.body().shape(ty) {
                    Shape::Vector { count, .. } => *count,
                    _ => 1,
                };
                let alike = count(self, self.body().type_of(source)?) == count(self, inst.result_type?);
                (alike && w.terms.width(value) == width).then_some(value)
            }
            Op::UConvert | Op::SConvert => {
                let value = part(w, self, 0)?;
                Some(w.terms.extend(value, width, op == Op::SConvert))
            }
            Op::SNegate => {
                let value = part(w, self, 0)?;
                let zero = w.terms.constant(0, width);
                Some(w.terms.word(Word::Sub, zero, value))
            }
            Op::Not => {
                let value = part(w, self, 0)?;
                let ones = w.terms.constant(u64::MAX, width);
                Some(w.terms.word(Word::Xor, value, ones))
            }
            Op::LogicalAnd | Op::LogicalOr | Op::LogicalEqual | Op::LogicalNotEqual => {
                let (a, b) = (part(w, self, 0)?, part(w, self, 1)?);
                Some(match op {
                    Op::LogicalAnd => w.terms.both(a, b),
                    Op::LogicalOr => w.terms.either(a, b),
                    Op::LogicalEqual => w.terms.equal(a, b),
                    _ => {
                        let equal = w.terms.equal(a, b);
                        w.terms.not(equal)
                    }
                })
            }
            Op::LogicalNot => {
                let value = part(w, self, 0)?;
                Some(w.terms.not(value))
            }
            Op::All | Op::Any => {
                let vector = id(inst, 0)?;
                let Shape::Vector { count, .. } = *self.body().shape(self.body().type_of(vector)?) else {
                    return None;
                };
                let parts: Vec<Term> =
                    (0..count).map(|n| self.leaf(w, frame, vector, Path::from_slice(&[n]))).collect();
                Some(if op == Op::All { w.terms.all(parts) } else { w.terms.any(parts) })
            }
            Op::Select => {
                let condition = id(inst, 0)?;
                let by_part =
                    matches!(self.body().shape(self.body().type_of(condition)?), Shape::Vector { .. });
                let at = if by_part { path.clone() } else { Path::new() };
                let condition = self.leaf(w, frame, condition, at);
                let (a, b) = (part(w, self, 1)?, part(w, self, 2)?);
                Some(w.terms.choose(condition, a, b))
            }
            Op::CompositeExtract => {
                let mut inner: Path =
                    (1..inst.operands.len()).map(|n| literal(inst, n)).collect::<Option<_>>()?;
                inner.extend(path.iter().copied());
                Some(self.leaf(w, frame, id(inst, 0)?, inner))
            }
            Op::CompositeInsert => {
                let to: Path = (2..inst.operands.len()).map(|n| literal(inst, n)).collect::<Option<_>>()?;
                match path.strip_prefix(to.as_slice()) {
                    Some(rest) => Some(self.leaf(w, frame, id(inst, 0)?, Path::from_slice(rest))),
                    None => part(w, self, 1),
                }
            }
            Op::CompositeConstruct => self.construct(w, frame, inst, path),
            Op::VectorShuffle => {
                let which = literal(inst, 2 + *path.first()? as usize)?;
                let first = id(inst, 0)?;
                let Shape::Vector { count, .. } = *self.body().shape(self.body().type_of(first)?) else {
                    return None;
                };
                match which {
                    u32::MAX => None,
                    n if n < count => Some(self.leaf(w, frame, first, Path::from_slice(&[n]))),
                    n => Some(self.leaf(w, frame, id(inst, 1)?, Path::from_slice(&[n - count]))),
                }
            }
            Op::VectorExtractDynamic => {
                let vector = id(inst, 0)?;
                let Shape::Vector { count, .. } = *self.body().shape(self.body().type_of(vector)?) else {
                    return None;
                };
                let index = self.leaf(w, frame, id(inst, 1)?, Path::new());
                let mut value = self.unknown(w, width, Origin::Unknown, "component past the last", vector);
                for n in (0..count).rev() {
                    let number = w.terms.constant(u64::from(n), w.terms.width(index));
                    let here = w.terms.compare(Compare::Equal, index, number);
                    let there = self.leaf(w, frame, vector, Path::from_slice(&[n]));
                    value = w.terms.choose(here, there, value);
                }
                Some(value)
            }
            Op::BitFieldUExtract | Op::BitFieldSExtract => {
                let value = part(w, self, 0)?;
                let (offset, count) = self.field(w, frame, inst, 1, width)?;
                if count == 0 {
                    return Some(w.terms.constant(0, width));
                }
                let up = w.terms.constant(u64::from(width) - offset - count, width);
                let down = w.terms.constant(u64::from(width) - count, width);
                let high = w.terms.word(Word::Shl, value, up);
                let shift = if op == Op::BitFieldSExtract { Word::AShr } else { Word::LShr };
                Some(w.terms.word(shift, high, down))
            }
            Op::BitFieldInsert => {
                let (base, insert) = (part(w, self, 0)?, part(w, self, 1)?);
                let (offset, count) = self.field(w, frame, inst, 2, width)?;
                let bits = if count == 0 { 0 } else { mask(count as u8) << offset };
                let (bits, others) = (w.terms.constant(bits, width), w.terms.constant(!bits, width));
                let offset = w.terms.constant(offset, width);
                let kept = w.terms.word(Word::And, base, others);
                let moved = w.terms.word(Word::Shl, insert, offset);
                let new = w.terms.word(Word::And, moved, bits);
                Some(w.terms.word(Word::Or, kept, new))
            }
            Op::IAddCarry | Op::ISubBorrow => {
                let rest = Path::from_slice(path.get(1..)?);
                let a = self.leaf(w, frame, id(inst, 0)?, rest.clone());
                let b = self.leaf(w, frame, id(inst, 1)?, rest);
                let word = if op == Op::IAddCarry { Word::Add } else { Word::Sub };
                let low = w.terms.word(word, a, b);
                if path[0] == 0 {
                    return Some(low);
                }
                let wraps = match op {
                    Op::IAddCarry => w.terms.compare(Compare::ULess, low, a),
                    _ => w.terms.compare(Compare::ULess, a, b),
                };
                let (one, zero) = (w.terms.constant(1, width), w.terms.constant(0, width));
                Some(w.terms.choose(wraps, one, zero))
            }
            Op::UMulExtended if width <= 32 => {
                let rest = Path::from_slice(path.get(1..)?);
                let sides = [0, 1].map(|n| id(inst, n));
                let [a, b] = [sides[0]?, sides[1]?].map(|side| {
                    let narrow = self.leaf(w, frame, side, rest.clone());
                    w.terms.extend(narrow, 2 * width, false)
                });
                let product = w.terms.word(Word::Mul, a, b);
                let by = w.terms.constant(u64::from(width), 2 * width);
                let half = if path[0] == 0 { product } else { w.terms.word(Word::LShr, product, by) };
                Some(w.terms.low(half, width))
            }
            Op::ExtInst => self.extended(w, frame, inst, path, width),
            Op::ArrayLength => self.length(w, inst, width),
            Op::Load => self.load(w, frame, inst, path, width),
            Op::FOrdLessThan
            | Op::FOrdLessThanEqual
            | Op::FOrdGreaterThan
            | Op::FOrdGreaterThanEqual
            | Op::FOrdEqual
            | Op::FOrdNotEqual
            | Op::FUnordLessThan
            | Op::FUnordLessThanEqual
            | Op::FUnordGreaterThan
            | Op::FUnordGreaterThanEqual
            | Op::FUnordEqual
            | Op::FUnordNotEqual
            | Op::IsNan
            | Op::IsInf
            | Op::ConvertFToU
            | Op::ConvertFToS => {
                let name = format!("{op:?}");
                Some(self.unknown(w, width, Origin::Float, &name, inst.result_id?))
            }
            _ => None,
        }
    }

    /// Offset and width of a bit field, where these are numbers and the field lies in the word.
    fn field(
        &mut self,
        w: &mut World,
        frame: FrameId,
        inst: &Instruction,
        at: usize,
        width: u8,
    ) -> Option<(u64, u64)> {
        let offset = self.leaf(w, frame, id(inst, at)?, Path::new());
        let count = self.leaf(w, frame, id(inst, at + 1)?, Path::new());
        let (offset, count) = (w.terms.value(offset)?, w.terms.value(count)?);
        (offset.checked_add(count)? <= u64::from(width)).then_some((offset, count))
    }

    fn arithmetic(
        &mut self,
        w: &mut World,
        inst: &Instruction,
        word: Word,
        a: Term,
        b: Term,
    ) -> Option<Term> {
        let width = w.terms.width(a);
        if width == 1 {
            return None;
        }
        let id = inst.result_id?;
        let is_shift = matches!(word, Word::Shl | Word::LShr | Word::AShr);
        if !is_shift && w.terms.width(b) != width {
            return None;
        }
        // Where SPIR-V does not say what comes out, anything may.
        let defined = match word {
            Word::Shl | Word::LShr | Word::AShr => {
                let limit = w.terms.constant(u64::from(width), w.terms.width(b));
                w.terms.compare(Compare::ULess, b, limit)
            }
            Word::UDiv | Word::URem | Word::SDiv | Word::SRem | Word::SMod => {
                let zero = w.terms.constant(0, width);
                let is_zero = w.terms.compare(Compare::Equal, b, zero);
                let divides = w.terms.not(is_zero);
                if matches!(word, Word::UDiv | Word::URem) {
                    divides
                } else {
                    let least = w.terms.constant(1 << (width - 1), width);
                    let minus = w.terms.constant(u64::MAX, width);
                    let is_least = w.terms.compare(Compare::Equal, a, least);
                    let is_minus = w.terms.compare(Compare::Equal, b, minus);
                    let overflows = w.terms.both(is_least, is_minus);
                    let fits = w.terms.not(overflows);
                    w.terms.both(divides, fits)
                }
            }
            _ => w.terms.truth(true),
        };
        let b = if is_shift { w.terms.extend(b, width, false) } else { b };
        if w.terms.value(defined) == Some(0) {
            return Some(self.unknown(w, width, Origin::Unknown, "undefined", id));
        }
        let value = w.terms.word(word, a, b);
        if w.terms.value(defined) == Some(1) {
            return Some(value);
        }
        let other = self.unknown(w, width, Origin::Unknown, "undefined", id);
        Some(w.terms.choose(defined, value, other))
    }

    fn construct(&mut self, w: &mut World, frame: FrameId, inst: &Instruction, path: &Path) -> Option<Term> {
        let (&first, rest) = path.split_first()?;
        if !matches!(self.body().shape(inst.result_type?), Shape::Vector { .. }) {
            return Some(self.leaf(w, frame, id(inst, first as usize)?, Path::from_slice(rest)));
        }
        let mut at = first;
        for n in 0..inst.operands.len() {
            let part = id(inst, n)?;
            let count = match self.body().shape(self.body().type_of(part)?) {
                Shape::Vector { count, .. } => Some(*count),
                _ => None,
            };
            if at < count.unwrap_or(1) {
                let inner = if count.is_some() { Path::from_slice(&[at]) } else { Path::new() };
                return Some(self.leaf(w, frame, part, inner));
            }
            at -= count.unwrap_or(1);
        }
        None
    }

    fn extended(
        &mut self,
        w: &mut World,
        frame: FrameId,
        inst: &Instruction,
        path: &Path,
        width: u8,
    ) -> Option<Term> {
        let set = id(inst, 0)?;
        let Operand::LiteralExtInstInteger(number) = *inst.operands.get(1)? else { return None };
        if !self.body().is_glsl(set) {
            return None;
        }
        let op = GlslStd450Op::from_u32(number)?;
        let argument = |n: usize| id(inst, 2 + n);
        // `by`: the comparison that says that the first of two is the one to take.
        let pick = |w: &mut World, least: bool, by: Compare, a: Term, b: Term| {
            let below = w.terms.compare(by, a, b);
            if least { w.terms.choose(below, a, b) } else { w.terms.choose(below, b, a) }
        };
        let value = self.leaf(w, frame, argument(0)?, path.clone());
        if w.terms.width(value) != width || width == 1 {
            return None;
        }
        let other =
            |w: &mut World, this: &mut Self, n: usize| Some(this.leaf(w, frame, argument(n)?, path.clone()));
        Some(match op {
            GlslStd450Op::UMin | GlslStd450Op::SMin | GlslStd450Op::UMax | GlslStd450Op::SMax => {
                let second = other(w, self, 1)?;
                let by = match op {
                    GlslStd450Op::UMin | GlslStd450Op::UMax => Compare::ULess,
                    _ => Compare::SLess,
                };
                pick(w, matches!(op, GlslStd450Op::UMin | GlslStd450Op::SMin), by, value, second)
            }
            GlslStd450Op::UClamp | GlslStd450Op::SClamp => {
                let (low, high) = (other(w, self, 1)?, other(w, self, 2)?);
                let by = if op == GlslStd450Op::UClamp { Compare::ULess } else { Compare::SLess };
                let raised = pick(w, false, by, value, low);
                pick(w, true, by, raised, high)
            }
            GlslStd450Op::SAbs => {
                let zero = w.terms.constant(0, width);
                let negative = w.terms.compare(Compare::SLess, value, zero);
                let minus = w.terms.word(Word::Sub, zero, value);
                w.terms.choose(negative, minus, value)
            }
            _ => return None,
        })
    }

    /// Elements of a runtime array, as its accessor is long.
    fn length(&mut self, w: &mut World, inst: &Instruction, width: u8) -> Option<Term> {
        let variable = id(inst, 0)?;
        let argument = self.member.argument(variable)?;
        let block = self.body().variables.get(&variable)?.ty;
        let Shape::Struct { parts } = self.body().shape(block) else { return None };
        let field = parts.get(literal(inst, 1)? as usize)?;
        let Shape::Endless { stride, .. } = *self.body().shape(field.ty) else { return None };
        let len = self.member.submission.args[argument].len;
        let count = len.checked_sub(field.offset)?.checked_div(stride)?;
        Some(w.terms.constant(count, width))
    }

    /// A push constant behind a load with fixed indices, in whatever frame.
    pub(super) fn pushed(&mut self, w: &mut World, load: u32) -> Option<Term> {
        let (_, inst) = self.body().local(load)?;
        if inst.class.opcode != Op::Load {
            return None;
        }
        let mut steps: Vec<u32> = Vec::new();
        let mut pointer = id(inst, 0)?;
        for _ in 0..16 {
            if self.body().variables.contains_key(&pointer) {
                break;
            }
            let (_, chain) = self.body().local(pointer)?;
            if !matches!(chain.class.opcode, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject) {
                return None;
            }
            let inner =
                (1..chain.operands.len()).map(|n| self.body().number(id(chain, n)?).map(|v| v as u32));
            let mut inner: Vec<u32> = inner.collect::<Option<_>>()?;
            inner.append(&mut steps);
            steps = inner;
            pointer = id(chain, 0)?;
        }
        let variable = self.body().variables.get(&pointer)?;
        if variable.class != StorageClass::PushConstant {
            return None;
        }
        let width = self.body().width(inst.result_type?)?;
        let offset = self.fixed_offset(variable.ty, &steps)?;
        self.push_bytes(w, offset, width)
    }

    fn push_bytes(&self, w: &mut World, offset: u64, width: u8) -> Option<Term> {
        let push = &self.member.submission.push;
        let at = usize::try_from(offset).ok()?;
        let bytes = (0..usize::from(width) / 8).map(|n| push.get(at + n).copied().unwrap_or(0));
        let value = bytes.rev().fold(0u64, |value, byte| value << 8 | u64::from(byte));
        Some(w.terms.constant(value, width))
    }

    fn load(
        &mut self,
        w: &mut World,
        frame: FrameId,
        inst: &Instruction,
        path: &Path,
        width: u8,
    ) -> Option<Term> {
        let result = inst.result_id?;
        let pointer = id(inst, 0)?;
        let place = self.place(w, frame, pointer)?;
        let variable = *self.body().variables.get(&place.variable)?;
        let inner = self.walk(w, &place, path);
        match variable.class {
            StorageClass::Input => {
                let place = inner?;
                let builtin = variable.builtin?;
                if let Some(term) = self.of_subgroup(w, builtin) {
                    return Some(term);
                }
                let ids = self.ids.builtin(builtin)?;
                let which = place.steps.first().copied().unwrap_or(Some(0))?;
                ids.get(which as usize).copied()
            }
            StorageClass::PushConstant => {
                let offset = inner?.offset;
                self.push_bytes(w, w.terms.value(offset)?, width)
            }
            StorageClass::StorageBuffer | StorageClass::Uniform => {
                let argument = &self.member.submission.args[self.member.argument(place.variable)?];
                let is_written = w.written.contains(&argument.buffer.0);
                let origin = if is_written { Origin::Written } else { Origin::Input };
                let fixed = inner.and_then(|place| w.terms.value(place.offset)).filter(|_| !is_written);
                let number = |offset: u64| argument.numbers.as_ref()?.get(u32::try_from(offset).ok()?, width);
                Some(match fixed {
                    Some(offset) if number(offset).is_some() => {
                        w.terms.constant(number(offset).unwrap_or_default(), width)
                    }
                    Some(offset) => w.cell(argument.buffer.0, argument.offset + offset, width),
                    None => self.unknown(w, width, origin, "load", result),
                })
            }
            _ => None,
        }
    }

    /// The place of a scalar inside what a pointer leads to.
    fn walk(&mut self, w: &mut World, place: &Place, path: &[u32]) -> Option<Place> {
        let mut place = place.clone();
        for &step in path {
            let number = w.terms.constant(u64::from(step), 32);
            self.step(w, &mut place, number)?;
        }
        Some(place)
    }
}
