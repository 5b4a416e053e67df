//! Reads expressions and accesses off a normalised kernel.
//!
//! # Requires
//! - one function, everything inlined, SSA form (`kernel::normalise`)
//!
//! # Guarantees
//! - every load, store and atomic on a buffer is in the list, or its binding is in `escaped`
//! - an expression holds wherever the instruction that uses it runs: a value defined in a loop and
//!   used after it is opaque, because its parts have moved on

use ahash::AHashMap;
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, GlslStd450Op, Op, StorageClass};

use super::access::{Access, AccessKind, Element, ElementIndex, Guard, KernelAnalysis, PushLeaf, PushUse, Term};
use super::cfg::Cfg;
use super::expr::{BinaryOp, CompareOp, Exprs, IdKind, LoopBound, Node, NodeId};
use super::layout::{MatrixLayout, Type, Types};

/// Longest chain of definitions followed before a value is called opaque.
const MAX_DEPTH: u32 = 200;

/// Analyses the only function of `module`; `bindings` are the kernel's `(set, binding)` pairs in order.
pub(crate) fn analyse(module: &Module, bindings: &[(u32, u32)]) -> KernelAnalysis {
    let Some(function) = module.functions.first() else { return KernelAnalysis::default() };
    let types = Types::new(module);
    let cfg = Cfg::new(function);
    let mut builder = Builder {
        function,
        types: &types,
        cfg: &cfg,
        definitions: definitions(module, function),
        variables: variables(module, bindings),
        glsl: glsl_imports(module),
        exprs: Exprs::default(),
        memo: AHashMap::new(),
        pointers: AHashMap::new(),
        depth: 0,
        push: PushUse::None,
    };
    builder.run()
}

/// Where an id is defined.
#[derive(Clone, Copy)]
enum Definition<'a> {
    Global(&'a Instruction),
    Local { block: usize, inst: &'a Instruction },
}

impl<'a> Definition<'a> {
    fn inst(self) -> &'a Instruction {
        match self {
            Self::Global(inst) | Self::Local { inst, .. } => inst,
        }
    }
}

/// A global variable that matters here.
#[derive(Clone, Copy)]
enum Variable {
    Buffer(usize),
    BuiltIn(BuiltIn),
    Push,
}

/// A pointer into a buffer, a built-in or the push constants.
#[derive(Clone)]
struct Pointer {
    variable: Variable,
    constant: u64,
    terms: Vec<Term>,
    element: Option<Element>,
    pointee: u32,
    matrix: MatrixLayout,
    /// Inside a matrix: bytes between the components of a column.
    row_stride: Option<u64>,
}

struct Builder<'a> {
    function: &'a Function,
    types: &'a Types,
    cfg: &'a Cfg,
    definitions: AHashMap<u32, Definition<'a>>,
    variables: AHashMap<u32, (Variable, u32)>,
    glsl: Vec<u32>,
    exprs: Exprs,
    memo: AHashMap<(u32, u32), NodeId>,
    pointers: AHashMap<u32, Pointer>,
    depth: u32,
    push: PushUse,
}

fn definitions<'a>(module: &'a Module, function: &'a Function) -> AHashMap<u32, Definition<'a>> {
    let mut map = AHashMap::new();
    for inst in &module.types_global_values {
        if let Some(id) = inst.result_id {
            map.insert(id, Definition::Global(inst));
        }
    }
    for (block, body) in function.blocks.iter().enumerate() {
        for inst in &body.instructions {
            if let Some(id) = inst.result_id {
                map.insert(id, Definition::Local { block, inst });
            }
        }
    }
    map
}

fn variables(module: &Module, bindings: &[(u32, u32)]) -> AHashMap<u32, (Variable, u32)> {
    let mut sets: AHashMap<u32, (Option<u32>, Option<u32>)> = AHashMap::new();
    let mut builtins = AHashMap::new();
    for inst in &module.annotations {
        match inst.operands.as_slice() {
            [Operand::IdRef(id), Operand::Decoration(Decoration::DescriptorSet), Operand::LiteralBit32(n)] => {
                sets.entry(*id).or_default().0 = Some(*n);
            }
            [Operand::IdRef(id), Operand::Decoration(Decoration::Binding), Operand::LiteralBit32(n)] => {
                sets.entry(*id).or_default().1 = Some(*n);
            }
            [Operand::IdRef(id), Operand::Decoration(Decoration::BuiltIn), Operand::BuiltIn(which)] => {
                builtins.insert(*id, *which);
            }
            _ => {}
        }
    }
    let mut map = AHashMap::new();
    for inst in &module.types_global_values {
        let (Op::Variable, Some(id), Some(ty)) = (inst.class.opcode, inst.result_id, inst.result_type) else { continue };
        let variable = match inst.operands.first() {
            Some(Operand::StorageClass(StorageClass::StorageBuffer | StorageClass::Uniform)) => {
                let (set, binding) = sets.get(&id).copied().unwrap_or_default();
                let key = (set.unwrap_or(0), binding.unwrap_or(0));
                bindings.iter().position(|&b| b == key).map(Variable::Buffer)
            }
            Some(Operand::StorageClass(StorageClass::Input)) => builtins.get(&id).copied().map(Variable::BuiltIn),
            Some(Operand::StorageClass(StorageClass::PushConstant)) => Some(Variable::Push),
            _ => None,
        };
        if let Some(variable) = variable {
            map.insert(id, (variable, ty));
        }
    }
    map
}

fn glsl_imports(module: &Module) -> Vec<u32> {
    module
        .ext_inst_imports
        .iter()
        .filter(|inst| matches!(inst.operands.first(), Some(Operand::LiteralString(name)) if name == "GLSL.std.450"))
        .filter_map(|inst| inst.result_id)
        .collect()
}

fn id_at(inst: &Instruction, n: usize) -> Option<u32> {
    inst.operands.get(n)?.id_ref_any()
}

impl<'a> Builder<'a> {
    fn run(&mut self) -> KernelAnalysis {
        let mut accesses = Vec::new();
        let mut lengths = Vec::new();
        let mut escaped = Vec::new();
        let function = self.function;
        for (block, body) in function.blocks.iter().enumerate() {
            if !self.cfg.is_reachable(block) {
                continue;
            }
            for (position, inst) in body.instructions.iter().enumerate() {
                self.instruction(inst, (block, position), &mut accesses, &mut lengths, &mut escaped);
            }
        }
        let dominance = accesses
            .iter()
            .map(|a: &Access| accesses.iter().map(|b: &Access| self.cfg.dominates(a.at.0, b.at.0)).collect())
            .collect();
        lengths.sort_unstable();
        lengths.dedup();
        if let PushUse::Leaves(leaves) = &mut self.push {
            leaves.sort();
            leaves.dedup();
        }
        KernelAnalysis {
            exprs: std::mem::take(&mut self.exprs),
            accesses,
            dominance,
            lengths,
            escaped,
            push: std::mem::take(&mut self.push),
        }
    }

    fn instruction(
        &mut self,
        inst: &'a Instruction,
        at: (usize, usize),
        accesses: &mut Vec<Access>,
        lengths: &mut Vec<(usize, u32, u32)>,
        escaped: &mut Vec<(usize, String)>,
    ) {
        let op = inst.class.opcode;
        let kind = match op {
            Op::AccessChain | Op::InBoundsAccessChain => {
                match (inst.result_id, self.chain(inst, at.0)) {
                    (Some(id), Some(pointer)) => {
                        self.pointers.insert(id, pointer);
                    }
                    _ => match id_at(inst, 0).and_then(|p| self.pointer(p)).map(|p| p.variable) {
                        Some(Variable::Buffer(binding)) => escaped.push((binding, format!("{op:?}"))),
                        Some(Variable::Push) => self.push = PushUse::Block,
                        _ => {}
                    },
                }
                return;
            }
            Op::CopyObject => {
                if let (Some(id), Some(pointer)) = (inst.result_id, id_at(inst, 0).and_then(|p| self.pointer(p))) {
                    self.pointers.insert(id, pointer);
                }
                return;
            }
            Op::ArrayLength => {
                match self.array_length(inst).map(|node| self.exprs.get(node).clone()) {
                    Some(Node::Length { binding, offset, stride }) => lengths.push((usize::from(binding), offset, stride)),
                    _ => escaped.extend(id_at(inst, 0).and_then(|p| self.buffer_of(p)).map(|b| (b, format!("{op:?}")))),
                }
                return;
            }
            Op::Load | Op::AtomicLoad => AccessKind::Read,
            Op::Store => AccessKind::Write,
            _ if is_atomic(op) => AccessKind::Atomic,
            _ => {
                // Any other use of a buffer pointer is one the analysis does not follow.
                for id in inst.operands.iter().filter_map(|o| o.id_ref_any()) {
                    match self.pointer(id).map(|p| p.variable) {
                        Some(Variable::Buffer(binding)) => escaped.push((binding, format!("{op:?}"))),
                        Some(Variable::Push) => self.push = PushUse::Block,
                        _ => {}
                    }
                }
                return;
            }
        };
        // An atomic load is still an atomic: it must not be turned into a plain access.
        let kind = if op == Op::AtomicLoad { AccessKind::Atomic } else { kind };
        let Some(pointer) = id_at(inst, 0).and_then(|p| self.pointer(p)) else { return };
        // A pointer that is stored is one that escapes.
        if op == Op::Store
            && let Some(stored) = id_at(inst, 1).and_then(|id| self.buffer_of(id))
        {
            escaped.push((stored, format!("{op:?}")));
        }
        let binding = match pointer.variable {
            Variable::Buffer(binding) => binding,
            Variable::Push => return self.push_load(&pointer),
            Variable::BuiltIn(_) => return,
        };
        let guards = self.cfg.guards(self.function, at.0);
        let (edges, exact_guards) = guards;
        let guards = edges
            .into_iter()
            .map(|edge| Guard { condition: self.boolean(edge.condition, edge.block), holds: edge.taken, edge })
            .collect();
        let size = match (pointer.row_stride, self.types.get(pointer.pointee)) {
            (Some(stride), Type::Vector { element, count }) => {
                stride * u64::from(count.saturating_sub(1)) + self.types.span(*element, pointer.matrix)
            }
            _ => self.types.span(pointer.pointee, pointer.matrix),
        };
        accesses.push(Access {
            binding,
            kind,
            constant: pointer.constant,
            terms: pointer.terms,
            size,
            guards,
            exact_guards,
            at,
            in_loop: self.cfg.innermost_loop(at.0).is_some(),
            element: pointer.element,
        });
    }

    fn buffer_of(&self, id: u32) -> Option<usize> {
        match self.pointer(id)?.variable {
            Variable::Buffer(binding) => Some(binding),
            _ => None,
        }
    }

    fn push_load(&mut self, pointer: &Pointer) {
        let (scalar, count) = match self.types.get(pointer.pointee) {
            Type::Int { .. } | Type::Float { .. } => (self.types.span(pointer.pointee, pointer.matrix), 1),
            // A column of a row-major matrix is not in one piece.
            Type::Vector { element, count } if pointer.row_stride.is_none() => {
                (self.types.span(*element, pointer.matrix), *count)
            }
            _ => (0, 0),
        };
        if count == 0 || !pointer.terms.is_empty() {
            self.push = PushUse::Block;
            return;
        }
        let leaf = PushLeaf {
            offset: pointer.constant as u32,
            size: (scalar * u64::from(count)) as u32,
            scalar: scalar as u32,
            count,
            ty: self.types.signature(pointer.pointee),
        };
        match &mut self.push {
            PushUse::None => self.push = PushUse::Leaves(vec![leaf]),
            PushUse::Leaves(leaves) => leaves.push(leaf),
            PushUse::Block => {}
        }
    }

    /// The pointer behind an id, if it is one we follow.
    fn pointer(&self, id: u32) -> Option<Pointer> {
        if let Some(pointer) = self.pointers.get(&id) {
            return Some(pointer.clone());
        }
        let &(variable, ty) = self.variables.get(&id)?;
        let (_, pointee) = self.types.pointee(ty)?;
        Some(Pointer {
            variable,
            constant: 0,
            terms: Vec::new(),
            element: None,
            pointee,
            matrix: MatrixLayout::default(),
            row_stride: None,
        })
    }

    fn chain(&mut self, inst: &'a Instruction, block: usize) -> Option<Pointer> {
        let mut pointer = self.pointer(id_at(inst, 0)?)?;
        for n in 1..inst.operands.len() {
            let index = id_at(inst, n)?;
            self.step(&mut pointer, index, block)?;
        }
        Some(pointer)
    }

    /// Follows one index of an access chain.
    fn step(&mut self, pointer: &mut Pointer, index: u32, block: usize) -> Option<()> {
        let constant = self.types.constant(index).map(|(value, _)| value);
        let (next, stride, count) = match self.types.get(pointer.pointee) {
            Type::Struct { members } => {
                let number = constant? as usize;
                let member = members.get(number)?;
                pointer.constant = pointer.constant.checked_add(u64::from(member.offset))?;
                pointer.pointee = member.ty;
                if member.matrix.stride != 0 {
                    pointer.matrix = member.matrix;
                }
                if pointer.element.is_none() && pointer.terms.is_empty() {
                    pointer.element = Some(Element { member: number as u32, index: None });
                }
                return Some(());
            }
            Type::Array { element, count, stride } => (*element, u64::from(*stride), Some(*count)),
            Type::RuntimeArray { element, stride } => (*element, u64::from(*stride), None),
            Type::Matrix { column, count } => {
                let scalar = match self.types.get(*column) {
                    Type::Vector { element, .. } => self.types.span(*element, pointer.matrix),
                    _ => return None,
                };
                let line = u64::from(pointer.matrix.stride);
                let (stride, rows) = if pointer.matrix.row_major { (scalar, Some(line)) } else { (line, None) };
                pointer.row_stride = rows;
                (*column, stride, Some(u64::from(*count)))
            }
            Type::Vector { element, count } => {
                let stride = pointer.row_stride.take().unwrap_or_else(|| self.types.span(*element, pointer.matrix));
                (*element, stride, Some(u64::from(*count)))
            }
            _ => return None,
        };
        let is_array = matches!(self.types.get(pointer.pointee), Type::Array { .. } | Type::RuntimeArray { .. });
        let node = self.scalar(index, block);
        if is_array
            && let Some(Element { index: slot @ None, .. }) = &mut pointer.element
            && pointer.terms.is_empty()
        {
            *slot = Some(ElementIndex { node, stride, ty: next });
        }
        pointer.pointee = next;
        match constant {
            Some(value) => {
                pointer.constant = pointer.constant.checked_add(value.checked_mul(stride)?)?;
            }
            None => pointer.terms.push(Term { index: node, stride, count }),
        }
        Some(())
    }

    /// Scalar integer value of `id` as seen from `block`.
    fn scalar(&mut self, id: u32, block: usize) -> NodeId {
        self.component(id, 0, block)
    }

    fn boolean(&mut self, id: u32, block: usize) -> NodeId {
        self.component(id, 0, block)
    }

    /// Component `component` of the integer or boolean value `id` as seen from `block`.
    fn component(&mut self, id: u32, component: u32, block: usize) -> NodeId {
        let definition = self.definitions.get(&id).copied();
        if let Some(Definition::Local { block: home, .. }) = definition
            && !self.cfg.is_in_loop(block, self.cfg.innermost_loop(home))
        {
            return self.opaque(id, component);
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

    fn opaque(&mut self, id: u32, component: u32) -> NodeId {
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
            let node = self.exprs.add(Node::Compare { op: compare, width, a, b });
            return Some(if negate { self.exprs.add(Node::BoolNot(node)) } else { node });
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
            Op::LogicalAnd | Op::LogicalOr => {
                let a = self.component(operand(0)?, component, block);
                let b = self.component(operand(1)?, component, block);
                Some(self.exprs.add(if op == Op::LogicalAnd { Node::BoolAnd(a, b) } else { Node::BoolOr(a, b) }))
            }
            Op::LogicalNot => {
                let a = self.component(operand(0)?, component, block);
                Some(self.exprs.add(Node::BoolNot(a)))
            }
            Op::Select => {
                let condition = operand(0)?;
                let scalar = self.definitions.get(&condition)?.inst().result_type.map_or(1, |t| self.types.components(t)) == 1;
                let condition = self.component(condition, if scalar { 0 } else { component }, block);
                let a = self.component(operand(1)?, component, block);
                let b = self.component(operand(2)?, component, block);
                Some(self.exprs.add(Node::Select { width, condition, a, b }))
            }
            Op::CompositeExtract => {
                let source = operand(0)?;
                let source_type = self.definitions.get(&source)?.inst().result_type?;
                match (self.types.get(source_type), inst.operands.get(1..)?) {
                    (Type::Vector { .. }, [Operand::LiteralBit32(n)]) => Some(self.component(source, *n, block)),
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
                let Some(Operand::LiteralBit32(which)) = inst.operands.get(2 + component as usize) else { return None };
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
            Op::Load => self.load(inst, component, width, block),
            Op::ArrayLength => self.array_length(inst),
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
        let [Operand::IdRef(set), Operand::LiteralExtInstInteger(number), arguments @ ..] = inst.operands.as_slice() else {
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

    /// A load that yields an id, a push constant or something unknown.
    fn load(&mut self, inst: &Instruction, component: u32, width: u8, block: usize) -> Option<NodeId> {
        let source = id_at(inst, 0)?;
        let pointer = match self.pointer(source) {
            Some(pointer) => pointer,
            // The chain may come later in the block order than a phi that asks for it.
            None => {
                let Definition::Local { block, inst } = self.definitions.get(&source).copied()? else { return None };
                if !matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain) {
                    return None;
                }
                self.chain(inst, block)?
            }
        };
        let _ = block;
        match pointer.variable {
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
                    _ => return None,
                };
                Some(self.exprs.add(Node::Id { kind, dim }))
            }
            _ => None,
        }
    }

    fn array_length(&mut self, inst: &Instruction) -> Option<NodeId> {
        let (Variable::Buffer(binding), ty) = *self.variables.get(&id_at(inst, 0)?)? else { return None };
        let Some(Operand::LiteralBit32(member)) = inst.operands.get(1) else { return None };
        let (_, pointee) = self.types.pointee(ty)?;
        let Type::Struct { members } = self.types.get(pointee) else { return None };
        let member = members.get(*member as usize)?;
        let Type::RuntimeArray { stride, .. } = self.types.get(member.ty) else { return None };
        Some(self.exprs.add(Node::Length { binding: binding as u16, offset: member.offset, stride: *stride }))
    }

    fn phi(&mut self, id: u32, inst: &'a Instruction, component: u32, width: u8, block: usize) -> Option<NodeId> {
        let inputs: Vec<(u32, usize)> = inst
            .operands
            .chunks(2)
            .filter_map(|pair| Some((pair.first()?.id_ref_any()?, self.cfg.block_of_label(pair.get(1)?.id_ref_any()?)?)))
            .collect();
        let own_loop = self.cfg.innermost_loop(block).filter(|&l| self.cfg.loops[l].header == block);
        let Some(own_loop) = own_loop else {
            // A merge after a branch. Cut cycles through it before following its inputs.
            let placeholder = self.opaque(id, component);
            self.memo.insert((id, component), placeholder);
            let inputs: Vec<NodeId> = inputs
                .iter()
                .map(|&(value, from)| self.component(value, component, from))
                .collect();
            let distinct: Vec<NodeId> = inputs.iter().copied().fold(Vec::new(), |mut seen, node| {
                if !seen.contains(&node) {
                    seen.push(node);
                }
                seen
            });
            return Some(match distinct.as_slice() {
                [one] => *one,
                _ => self.exprs.add(Node::Join { width, inputs: distinct }),
            });
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
        let Some(step) = self.step_of(next, id, own_loop) else { return Some(placeholder) };
        let init = self.component(first, 0, from);
        let bound = self.bound_of(id, own_loop);
        Some(self.exprs.add(Node::Counter { id, width, init, step, bound }))
    }

    /// The loop-invariant `step` of `next = counter + step`.
    fn step_of(&mut self, next: u32, counter: u32, own_loop: usize) -> Option<NodeId> {
        let Definition::Local { block, inst } = self.definitions.get(&next).copied()? else { return None };
        if inst.class.opcode != Op::IAdd {
            return None;
        }
        let step = match (id_at(inst, 0)?, id_at(inst, 1)?) {
            (a, b) if a == counter => b,
            (a, b) if b == counter => a,
            _ => return None,
        };
        self.is_invariant(step, own_loop).then(|| self.scalar(step, block))
    }

    fn is_invariant(&self, id: u32, own_loop: usize) -> bool {
        match self.definitions.get(&id) {
            Some(Definition::Global(_)) => true,
            Some(Definition::Local { block, .. }) => !self.cfg.loops[own_loop].blocks.contains(*block),
            None => false,
        }
    }

    /// Reads `counter < limit` off the branch that decides whether the loop goes on, if that branch
    /// is passed in every iteration before the counter steps.
    fn bound_of(&mut self, counter: u32, own_loop: usize) -> Option<LoopBound> {
        let cfg = self.cfg;
        let the_loop = &cfg.loops[own_loop];
        let mut block = the_loop.header;
        let (condition, on_true, on_false) = loop {
            if let Some(found) = cfg.conditional(self.function, block) {
                break found;
            }
            match cfg.successors[block].as_slice() {
                [next] if the_loop.blocks.contains(*next) && *next != the_loop.header => block = *next,
                _ => return None,
            }
        };
        let stays = match (the_loop.blocks.contains(on_true), the_loop.blocks.contains(on_false)) {
            (true, false) => true,
            (false, true) => false,
            _ => return None,
        };
        let Definition::Local { inst, .. } = self.definitions.get(&condition).copied()? else { return None };
        let (a, b) = (id_at(inst, 0)?, id_at(inst, 1)?);
        // Normal form: while `left < right` or `left <= right`.
        use Op::{
            SGreaterThan as SG, SGreaterThanEqual as SGE, SLessThan as SL, SLessThanEqual as SLE, UGreaterThan as UG,
            UGreaterThanEqual as UGE, ULessThan as UL, ULessThanEqual as ULE,
        };
        let (left, right, inclusive, signed) = match (inst.class.opcode, stays) {
            (UL, true) => (a, b, false, false),
            (SL, true) => (a, b, false, true),
            (ULE, true) => (a, b, true, false),
            (SLE, true) => (a, b, true, true),
            (UG, true) => (b, a, false, false),
            (SG, true) => (b, a, false, true),
            (UGE, true) => (b, a, true, false),
            (SGE, true) => (b, a, true, true),
            (UGE, false) => (a, b, false, false),
            (SGE, false) => (a, b, false, true),
            (UG, false) => (a, b, true, false),
            (SG, false) => (a, b, true, true),
            (ULE, false) => (b, a, false, false),
            (SLE, false) => (b, a, false, true),
            (UL, false) => (b, a, true, false),
            (SL, false) => (b, a, true, true),
            _ => return None,
        };
        if left != counter || !self.is_invariant(right, own_loop) {
            return None;
        }
        let limit = self.scalar(right, the_loop.header);
        Some(LoopBound { limit, inclusive, signed })
    }
}

pub(crate) fn is_atomic(op: Op) -> bool {
    matches!(
        op,
        Op::AtomicStore
            | Op::AtomicExchange
            | Op::AtomicCompareExchange
            | Op::AtomicIIncrement
            | Op::AtomicIDecrement
            | Op::AtomicIAdd
            | Op::AtomicISub
            | Op::AtomicSMin
            | Op::AtomicUMin
            | Op::AtomicSMax
            | Op::AtomicUMax
            | Op::AtomicAnd
            | Op::AtomicOr
            | Op::AtomicXor
            | Op::AtomicFAddEXT
            | Op::AtomicFMinEXT
            | Op::AtomicFMaxEXT
    )
}

fn binary_op(op: Op) -> Option<BinaryOp> {
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
fn compare_op(op: Op) -> Option<(CompareOp, bool, bool)> {
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
