//! SSA values as expressions: the part of the builder that follows definitions.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{BuiltIn, GlslStd450Op, Op};

use super::build::{Builder, Definition, Variable, id_at};
use super::expr::{BinaryOp, CompareOp, IdKind, ImageQuery, Node, NodeId, SubgroupValue, mask};
use crate::frontend::types::Type;

/// Longest chain of definitions followed before a value is called opaque.
const MAX_DEPTH: u32 = 200;

/// Most conditions that one is taken apart into.
const MAX_CONDITIONS: usize = 16;

impl<'a> Builder<'a> {
    /// Scalar integer value of `id` as seen from `block`.
    pub(super) fn scalar(&mut self, id: u32, block: usize) -> NodeId {
        self.component(id, 0, block)
    }

    pub(super) fn boolean(&mut self, id: u32, block: usize) -> NodeId {
        self.component(id, 0, block)
    }

    /// Component `component` of the integer or boolean value `id` as seen from `block`.
    pub(super) fn component(&mut self, id: u32, component: u32, block: usize) -> NodeId {
        let definition = self.definitions.get(&id).copied();
        if let Some(Definition::Local { block: home, .. }) = definition
            && !self.cfg.is_in_loop(block, self.cfg.innermost_loop(home))
            && !mutant!(CounterOutlivesLoop)
        {
            return self.behind(id, component, home, block);
        }
        if let Some(&node) = self.memo.get(&(id, component)) {
            return node;
        }
        if self.depth >= MAX_DEPTH {
            return self.opaque(id, component);
        }
        self.depth += 1;
        let node = definition.and_then(|d| self.define(id, d, component));
        self.depth -= 1;
        let node = node.unwrap_or_else(|| self.opaque(id, component));
        self.memo.insert((id, component), node);
        node
    }

    pub(super) fn opaque(&mut self, id: u32, component: u32) -> NodeId {
        let width = self
            .definitions
            .get(&id)
            .and_then(|d| d.inst().result_type)
            .and_then(|ty| self.types.int_width(ty))
            .unwrap_or(64);
        self.exprs.add(Node::Opaque { id, component, width })
    }

    fn define(&mut self, id: u32, definition: Definition<'a>, component: u32) -> Option<NodeId> {
        let inst = definition.inst();
        let ty = inst.result_type?;
        let width = self.types.int_width(ty)?;
        let Definition::Local { block, .. } = definition else {
            return self.constant(inst, component, width);
        };
        let op = inst.class.opcode;
        let operand = |n: usize| id_at(inst, n);
        if let Some(binary) = binary_op(op) {
            // The shift amount may have a width of its own; it is small or undefined.
            let a = self.component(operand(0)?, component, block);
            let b = self.component(operand(1)?, component, block);
            return Some(self.exprs.add(Node::Binary { op: binary, width, a, b }));
        }
        if let Some((compare, swap, negate)) = compare_op(op) {
            let (mut a, mut b) = (operand(0)?, operand(1)?);
            if swap {
                std::mem::swap(&mut a, &mut b);
            }
            let a = self.component(a, component, block);
            let b = self.component(b, component, block);
            let width = self.exprs.get(a).width();
            let node = self.exprs.compare(compare, width, a, b);
            return Some(if negate { self.exprs.not(node) } else { node });
        }
        match op {
            Op::CopyObject => Some(self.component(operand(0)?, component, block)),
            Op::Bitcast => {
                let source = operand(0)?;
                let from = self.definitions.get(&source)?.inst().result_type?;
                let same = self.types.int_width(from) == Some(width)
                    && self.types.components(from) == self.types.components(ty);
                same.then(|| self.component(source, component, block))
            }
            Op::UConvert | Op::SConvert => {
                let a = self.component(operand(0)?, component, block);
                let from = self.exprs.get(a).width();
                Some(self.exprs.add(Node::Convert { signed: op == Op::SConvert, from, width, a }))
            }
            Op::SNegate => {
                let zero = self.exprs.constant(0, width);
                let b = self.component(operand(0)?, component, block);
                Some(self.exprs.add(Node::Binary { op: BinaryOp::Sub, width, a: zero, b }))
            }
            Op::Not => {
                let ones = self.exprs.constant(u64::MAX, width);
                let b = self.component(operand(0)?, component, block);
                Some(self.exprs.add(Node::Binary { op: BinaryOp::Sub, width, a: ones, b }))
            }
            Op::BitFieldUExtract => {
                let a = self.component(operand(0)?, component, block);
                let (from, count) =
                    (self.types.constant(operand(1)?)?.0, self.types.constant(operand(2)?)?.0);
                let fits = count > 0 && from.checked_add(count)? <= u64::from(width);
                let from = fits.then(|| self.exprs.constant(from, width))?;
                let ones = self.exprs.constant(mask(count as u8), width);
                let above = self.exprs.add(Node::Binary { op: BinaryOp::ShrLogical, width, a, b: from });
                Some(self.exprs.add(Node::Binary { op: BinaryOp::And, width, a: above, b: ones }))
            }
            Op::LogicalAnd | Op::LogicalOr => {
                let a = self.component(operand(0)?, component, block);
                let b = self.component(operand(1)?, component, block);
                Some(if op == Op::LogicalAnd { self.exprs.and(a, b) } else { self.exprs.or(a, b) })
            }
            Op::All | Op::Any => {
                let vector = operand(0)?;
                let count = self.types.components(self.definitions.get(&vector)?.inst().result_type?);
                let mut whole = self.component(vector, 0, block);
                for part in 1..count {
                    let part = self.component(vector, part, block);
                    whole = self.exprs.add(match op {
                        Op::All => Node::BoolAnd(whole, part),
                        _ => Node::BoolOr(whole, part),
                    });
                }
                Some(whole)
            }
            Op::LogicalNot => {
                let a = self.component(operand(0)?, component, block);
                Some(self.exprs.not(a))
            }
            Op::Select => {
                let condition = operand(0)?;
                let scalar = self
                    .definitions
                    .get(&condition)?
                    .inst()
                    .result_type
                    .map_or(1, |t| self.types.components(t))
                    == 1;
                let condition = self.component(condition, if scalar { 0 } else { component }, block);
                let a = self.component(operand(1)?, component, block);
                let b = self.component(operand(2)?, component, block);
                Some(self.exprs.pick(width, condition, a, b))
            }
            Op::CompositeExtract => {
                let source = operand(0)?;
                let product = self.definitions.get(&source)?.inst();
                let source_type = product.result_type?;
                if product.class.opcode == Op::UMulExtended
                    && let Some([Operand::LiteralBit32(half)]) = inst.operands.get(1..)
                {
                    let op = if *half == 0 { BinaryOp::Mul } else { BinaryOp::UMulHigh };
                    let a = self.component(id_at(product, 0)?, component, block);
                    let b = self.component(id_at(product, 1)?, component, block);
                    return Some(self.exprs.add(Node::Binary { op, width, a, b }));
                }
                match (self.types.get(source_type), inst.operands.get(1..)?) {
                    (Type::Vector { .. }, [Operand::LiteralBit32(n)]) => {
                        Some(self.component(source, *n, block))
                    }
                    _ => None,
                }
            }
            Op::CompositeConstruct => {
                let mut at = component;
                for part in inst.operands.iter().filter_map(|o| o.id_ref_any()) {
                    let part_type = self.definitions.get(&part)?.inst().result_type?;
                    let count = self.types.components(part_type);
                    if at < count {
                        return Some(self.component(part, at, block));
                    }
                    at -= count;
                }
                None
            }
            Op::VectorShuffle => {
                let Some(Operand::LiteralBit32(which)) = inst.operands.get(2 + component as usize) else {
                    return None;
                };
                let first = operand(0)?;
                let count = self.types.components(self.definitions.get(&first)?.inst().result_type?);
                if *which < count {
                    Some(self.component(first, *which, block))
                } else if *which != u32::MAX {
                    Some(self.component(operand(1)?, *which - count, block))
                } else {
                    None
                }
            }
            Op::CompositeInsert => match inst.operands.get(2..)? {
                [Operand::LiteralBit32(n)] if *n == component => Some(self.component(operand(0)?, 0, block)),
                [Operand::LiteralBit32(_)] => Some(self.component(operand(1)?, component, block)),
                _ => None,
            },
            Op::ExtInst => self.extended(inst, component, width, block),
            Op::Load => self.load(inst, component, width),
            Op::ArrayLength => self.array_length(inst),
            Op::ImageQuerySize | Op::ImageQuerySizeLod | Op::ImageQueryLevels | Op::ImageQuerySamples
                if width == 32 =>
            {
                self.asked_of_image(inst, component).map(|node| self.exprs.add(node))
            }
            Op::Phi => self.phi(id, inst, component, width, block),
            _ => None,
        }
    }

    fn constant(&mut self, inst: &Instruction, component: u32, width: u8) -> Option<NodeId> {
        match inst.class.opcode {
            Op::Constant => {
                let value = match inst.operands.first()? {
                    Operand::LiteralBit32(v) => u64::from(*v),
                    Operand::LiteralBit64(v) => *v,
                    _ => return None,
                };
                Some(self.exprs.constant(value, width))
            }
            Op::ConstantNull | Op::ConstantFalse => Some(self.exprs.constant(0, width)),
            Op::ConstantTrue => Some(self.exprs.constant(1, width)),
            Op::ConstantComposite => {
                let part = id_at(inst, component as usize)?;
                let definition = self.definitions.get(&part)?.inst();
                self.constant(definition, 0, width)
            }
            _ => None,
        }
    }

    fn extended(&mut self, inst: &'a Instruction, component: u32, width: u8, block: usize) -> Option<NodeId> {
        let [Operand::IdRef(set), Operand::LiteralExtInstInteger(number), arguments @ ..] =
            inst.operands.as_slice()
        else {
            return None;
        };
        if !self.glsl.contains(set) {
            return None;
        }
        let (low, high) = match GlslStd450Op::from_u32(*number)? {
            GlslStd450Op::UMin => (None, Some(BinaryOp::UMin)),
            GlslStd450Op::SMin => (None, Some(BinaryOp::SMin)),
            GlslStd450Op::UMax => (Some(BinaryOp::UMax), None),
            GlslStd450Op::SMax => (Some(BinaryOp::SMax), None),
            GlslStd450Op::UClamp => (Some(BinaryOp::UMax), Some(BinaryOp::UMin)),
            GlslStd450Op::SClamp => (Some(BinaryOp::SMax), Some(BinaryOp::SMin)),
            // The greater of a number and its negation; that of the least number is itself.
            GlslStd450Op::SAbs => {
                let a = self.component(arguments.first()?.id_ref_any()?, component, block);
                let zero = self.exprs.constant(0, width);
                let b = self.exprs.add(Node::Binary { op: BinaryOp::Sub, width, a: zero, b: a });
                return Some(self.exprs.add(Node::Binary { op: BinaryOp::SMax, width, a, b }));
            }
            _ => return None,
        };
        let mut arguments = arguments.iter().filter_map(|o| o.id_ref_any());
        let mut value = self.component(arguments.next()?, component, block);
        for op in [low, high].into_iter().flatten() {
            let b = self.component(arguments.next()?, component, block);
            value = self.exprs.add(Node::Binary { op, width, a: value, b });
        }
        Some(value)
    }

    /// A load that yields an id, a push constant, a scalar at a fixed place, or something unknown.
    fn load(&mut self, inst: &Instruction, component: u32, width: u8) -> Option<NodeId> {
        let source = id_at(inst, 0)?;
        let pointer = match self.pointer(source) {
            Some(pointer) => pointer,
            // The chain may come later in the block order than a phi that asks for it.
            None => {
                let Definition::Local { block, inst } = self.definitions.get(&source).copied()? else {
                    return None;
                };
                if !matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain) {
                    return None;
                }
                self.chain(inst, block)?
            }
        };
        match pointer.variable {
            Variable::Buffer(binding) if pointer.terms.is_empty() => {
                let offset = pointer.constant + u64::from(component) * u64::from(width / 8);
                // The driver takes the bytes of a uniform buffer for constant while a kernel runs, and so may we.
                let id = if self.uniforms.contains(&binding) { None } else { Some(inst.result_id?) };
                let (binding, offset) = (u16::try_from(binding).ok()?, u32::try_from(offset).ok()?);
                (width >= 8).then(|| self.exprs.add(Node::Cell { id, binding, offset, width }))
            }
            Variable::Push if pointer.terms.is_empty() => {
                let offset = pointer.constant + u64::from(component) * u64::from(width / 8);
                (width >= 8).then(|| self.exprs.add(Node::Push { offset: offset as u32, width }))
            }
            Variable::BuiltIn(which) => {
                // A chain into a built-in vector has its component as the constant part, in bytes.
                if !pointer.terms.is_empty() {
                    return None;
                }
                let dim = (component as u64 + pointer.constant / 4) as u8;
                let kind = match which {
                    BuiltIn::GlobalInvocationId => IdKind::Global,
                    BuiltIn::LocalInvocationId => IdKind::Local,
                    BuiltIn::WorkgroupId => IdKind::Group,
                    BuiltIn::NumWorkgroups => IdKind::GroupCount,
                    BuiltIn::LocalInvocationIndex => return Some(self.exprs.add(Node::LocalIndex)),
                    BuiltIn::SubgroupId => return Some(self.of_subgroup(SubgroupValue::Id)),
                    BuiltIn::NumSubgroups => return Some(self.of_subgroup(SubgroupValue::Count)),
                    BuiltIn::SubgroupSize => return Some(self.of_subgroup(SubgroupValue::Size)),
                    BuiltIn::SubgroupLocalInvocationId => return Some(self.of_subgroup(SubgroupValue::Lane)),
                    _ => return None,
                };
                Some(self.exprs.add(Node::Id { kind, dim }))
            }
            _ => None,
        }
    }

    fn of_subgroup(&mut self, value: SubgroupValue) -> NodeId {
        self.exprs.add(Node::Subgroup(value))
    }

    pub(super) fn array_length(&mut self, inst: &Instruction) -> Option<NodeId> {
        let (Variable::Buffer(binding), ty) = *self.variables.get(&id_at(inst, 0)?)? else {
            return None;
        };
        let Some(Operand::LiteralBit32(member)) = inst.operands.get(1) else {
            return None;
        };
        let (_, pointee) = self.types.pointee(ty)?;
        let Type::Struct { members } = self.types.get(pointee) else {
            return None;
        };
        let member = members.get(*member as usize)?;
        let Type::RuntimeArray { stride, .. } = self.types.get(member.ty) else {
            return None;
        };
        Some(self.exprs.add(Node::Length { binding: binding as u16, offset: member.offset, stride: *stride }))
    }

    /// What the image behind a handle is asked: a number of the call, except for the size of a level that is not the first.
    pub(super) fn asked_of_image(&self, inst: &Instruction, component: u32) -> Option<Node> {
        let query = match inst.class.opcode {
            Op::ImageQuerySizeLod
                if self.types.constant(id_at(inst, 1)?).map(|(level, _)| level) != Some(0)
                    && !mutant!(EveryLevelIsTheFirst) =>
            {
                return None;
            }
            Op::ImageQuerySize | Op::ImageQuerySizeLod => ImageQuery::Size(u8::try_from(component).ok()?),
            Op::ImageQueryLevels => ImageQuery::Levels,
            Op::ImageQuerySamples => ImageQuery::Samples,
            _ => return None,
        };
        let binding = u16::try_from(self.image_behind(id_at(inst, 0)?)?).ok()?;
        Some(Node::Image { binding, query })
    }

    /// The binding of an image whose handle this is.
    fn image_behind(&self, mut handle: u32) -> Option<usize> {
        for _ in 0..MAX_DEPTH {
            let Definition::Local { inst, .. } = self.definitions.get(&handle).copied()? else { return None };
            handle = id_at(inst, 0)?;
            match inst.class.opcode {
                Op::SampledImage | Op::Image | Op::CopyObject => {}
                // Of an array of images there is no saying which it is.
                Op::Load => {
                    return match *self.variables.get(&handle)? {
                        (Variable::Texture(binding), _) => Some(binding),
                        _ => None,
                    };
                }
                _ => return None,
            }
        }
        None
    }

    fn phi(
        &mut self,
        id: u32,
        inst: &'a Instruction,
        component: u32,
        width: u8,
        block: usize,
    ) -> Option<NodeId> {
        let inputs: Vec<(u32, usize)> = inst
            .operands
            .chunks(2)
            .filter_map(|pair| {
                Some((pair.first()?.id_ref_any()?, self.cfg.block_of_label(pair.get(1)?.id_ref_any()?)?))
            })
            .collect();
        let own_loop = self.cfg.innermost_loop(block).filter(|&l| self.cfg.loops[l].header == block);
        let Some(own_loop) = own_loop else {
            // A merge after a branch. Cut cycles through it before following its inputs.
            let placeholder = self.opaque(id, component);
            self.memo.insert((id, component), placeholder);
            return Some(self.merged(&inputs, component, width, block));
        };
        let placeholder = self.opaque(id, component);
        self.memo.insert((id, component), placeholder);
        if component != 0 || self.types.components(inst.result_type?) != 1 || inputs.len() != 2 {
            return Some(placeholder);
        }
        let inside = |b: usize| self.cfg.loops[own_loop].blocks.contains(b);
        let (&(next, _), &(first, from)) = match (inside(inputs[0].1), inside(inputs[1].1)) {
            (true, false) => (&inputs[0], &inputs[1]),
            (false, true) => (&inputs[1], &inputs[0]),
            _ => return Some(placeholder),
        };
        let always = self.step_of(next, id, own_loop).map(|step| (step, Vec::new()));
        let Some((step, under)) = always.or_else(|| self.skipped_step(next, id, own_loop)) else {
            return Some(placeholder);
        };
        let init = self.component(first, 0, from);
        let bound = if under.is_empty() { self.bound_of(id, init, own_loop) } else { None };
        Some(self.exprs.add(Node::Counter { id, width, init, step, of: own_loop as u32, under, bound }))
    }

    /// Conditions that all hold where one does, as far as it is made of them, and whether each of them is true there.
    pub(super) fn parts_of(&self, condition: u32, holds: bool) -> Vec<(u32, bool)> {
        let mut parts = Vec::new();
        let mut stack = vec![(condition, holds)];
        while let Some((id, holds)) = stack.pop() {
            match self.halves_of(id, holds).filter(|_| parts.len() + stack.len() < MAX_CONDITIONS) {
                Some(halves) => stack.extend(halves),
                None => parts.push((id, holds)),
            }
        }
        parts
    }

    fn halves_of(&self, id: u32, holds: bool) -> Option<Vec<(u32, bool)>> {
        let Definition::Local { block, inst } = self.definitions.get(&id).copied()? else { return None };
        let operand = |n: usize| id_at(inst, n);
        match inst.class.opcode {
            Op::LogicalNot => Some(vec![(operand(0)?, !holds)]),
            Op::LogicalAnd if holds => Some(vec![(operand(0)?, true), (operand(1)?, true)]),
            Op::LogicalOr if !holds => Some(vec![(operand(0)?, false), (operand(1)?, false)]),
            Op::Phi | Op::Select => {
                let input = |pair: &[Operand]| {
                    Some((pair.first()?.id_ref_any()?, self.cfg.block_of_label(pair.get(1)?.id_ref_any()?)?))
                };
                let (condition, yes, no) = if inst.class.opcode == Op::Select {
                    (operand(0)?, operand(1)?, operand(2)?)
                } else {
                    let inputs: Vec<(u32, usize)> = inst.operands.chunks(2).filter_map(input).collect();
                    self.choice(&inputs, block)?
                };
                // Where it is not what one of the sides always is, the other side was taken.
                let is_never = |side: u32, taken: bool| {
                    let known = match self.definitions.get(&side).map(|known| known.inst().class.opcode) {
                        Some(Op::ConstantTrue) => Some(true),
                        Some(Op::ConstantFalse) => Some(false),
                        _ => None,
                    };
                    known.or((side == condition).then_some(taken)) == Some(!holds)
                };
                match (is_never(yes, true), is_never(no, false)) {
                    (false, true) => Some(vec![(condition, true), (yes, holds)]),
                    (true, false) => Some(vec![(condition, false), (no, holds)]),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The value behind what keeps its word: phis that choose between one and the same value, which inlining and merging leave
    /// behind, copies, and casts between signed and unsigned integers.
    pub(super) fn source(&self, mut id: u32) -> u32 {
        for _ in 0..MAX_DEPTH {
            let Some(Definition::Local { inst, .. }) = self.definitions.get(&id) else { break };
            match inst.class.opcode {
                Op::Phi => {
                    let mut values = inst.operands.iter().step_by(2).map(|o| o.id_ref_any());
                    match values.next() {
                        Some(Some(first)) if values.all(|v| v == Some(first)) => id = first,
                        _ => break,
                    }
                }
                Op::Bitcast | Op::CopyObject | Op::UConvert | Op::SConvert => match id_at(inst, 0) {
                    Some(word) if self.is_same_word(inst, word) => id = word,
                    _ => break,
                },
                _ => break,
            }
        }
        id
    }

    /// Whether an instruction gives an integer of as many bits as one that it takes.
    fn is_same_word(&self, inst: &Instruction, word: u32) -> bool {
        let width = |ty: u32| self.types.int_width(ty).filter(|_| self.types.components(ty) == 1);
        let from = self.definitions.get(&word).and_then(|from| width(from.inst().result_type?));
        let is_same = from == inst.result_type.and_then(width) || mutant!(ConversionsKeepTheWord);
        from.is_some() && is_same
    }
}

pub(super) fn binary_op(op: Op) -> Option<BinaryOp> {
    Some(match op {
        Op::IAdd => BinaryOp::Add,
        Op::ISub => BinaryOp::Sub,
        Op::IMul => BinaryOp::Mul,
        Op::UDiv => BinaryOp::UDiv,
        Op::SDiv => BinaryOp::SDiv,
        Op::UMod => BinaryOp::UMod,
        Op::SRem => BinaryOp::SRem,
        Op::SMod => BinaryOp::SMod,
        Op::ShiftLeftLogical => BinaryOp::Shl,
        Op::ShiftRightLogical => BinaryOp::ShrLogical,
        Op::ShiftRightArithmetic => BinaryOp::ShrArithmetic,
        Op::BitwiseAnd => BinaryOp::And,
        Op::BitwiseOr => BinaryOp::Or,
        Op::BitwiseXor => BinaryOp::Xor,
        _ => return None,
    })
}

/// The comparison, whether its operands swap, and whether its result is negated.
pub(super) fn compare_op(op: Op) -> Option<(CompareOp, bool, bool)> {
    Some(match op {
        Op::IEqual => (CompareOp::Equal, false, false),
        Op::INotEqual => (CompareOp::NotEqual, false, false),
        Op::ULessThan => (CompareOp::ULess, false, false),
        Op::ULessThanEqual => (CompareOp::ULessEqual, false, false),
        Op::SLessThan => (CompareOp::SLess, false, false),
        Op::SLessThanEqual => (CompareOp::SLessEqual, false, false),
        Op::UGreaterThan => (CompareOp::ULess, true, false),
        Op::UGreaterThanEqual => (CompareOp::ULessEqual, true, false),
        Op::SGreaterThan => (CompareOp::SLess, true, false),
        Op::SGreaterThanEqual => (CompareOp::SLessEqual, true, false),
        _ => return None,
    })
}
