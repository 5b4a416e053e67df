//! One kernel's normal form, read once more: types with their layout, constants, blocks and loops.
//!
//! Nothing of `analysis` is used here. What the planner got wrong about a module must not be wrong in the same way in
//! the claims about it.

use ahash::AHashMap;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, StorageClass};

use crate::kernel::SetBinding;

/// A type and where its parts lie.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Truth,
    Int { width: u8 },
    Float { width: u8 },
    Vector { part: u32, count: u32 },
    Matrix { column: u32, count: u32 },
    Array { part: u32, count: u64, stride: u64 },
    Endless { part: u32, stride: u64 },
    Struct { parts: Vec<Field> },
    Pointer { class: StorageClass, to: u32 },
    Other,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Field {
    pub(super) ty: u32,
    pub(super) offset: u64,
    pub(super) lines: Lines,
}

/// How the matrices of a field lie.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lines {
    pub(super) stride: u64,
    pub(super) by_rows: bool,
}

/// A variable of the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub(super) class: StorageClass,
    pub(super) ty: u32,
    pub(super) builtin: Option<BuiltIn>,
    pub(super) at: SetBinding,
}

/// Where an instruction stands: block and position.
pub(super) type At = (usize, usize);

pub(super) struct Loop {
    pub(super) header: usize,
    pub(super) inside: Vec<bool>,
    pub(super) parent: Option<usize>,
}

pub(super) struct Body<'a> {
    module: &'a Module,
    pub(super) shapes: AHashMap<u32, Shape>,
    globals: AHashMap<u32, &'a Instruction>,
    locals: AHashMap<u32, At>,
    pub(super) variables: AHashMap<u32, Variable>,
    glsl: Vec<u32>,
    labels: AHashMap<u32, usize>,
    pub(super) before: Vec<Vec<usize>>,
    pub(super) after: Vec<Vec<usize>>,
    /// By header, in the order of blocks.
    pub(super) loops: Vec<Loop>,
    /// Innermost loop of each block.
    pub(super) home: Vec<Option<usize>>,
    /// Position of each block in an order in which edges other than back edges lead forward.
    pub(super) rank: Vec<usize>,
    pub(super) reached: Vec<bool>,
    /// For each block: one before it in the same round after which it is certain to be reached. Loops end.
    pub(super) sure: Vec<Option<usize>>,
}

fn id(inst: &Instruction, n: usize) -> Option<u32> {
    inst.operands.get(n)?.id_ref_any()
}

fn literal(inst: &Instruction, n: usize) -> u64 {
    match inst.operands.get(n) {
        Some(Operand::LiteralBit32(value)) => u64::from(*value),
        Some(Operand::LiteralBit64(value)) => *value,
        _ => 0,
    }
}

impl<'a> Body<'a> {
    /// Reads the only function of a module; `None` if there is none or its control flow is not reducible.
    pub(super) fn new(module: &'a Module) -> Option<Self> {
        let function = module.functions.first()?;
        let count = function.blocks.len();
        let labels: AHashMap<u32, usize> =
            function.blocks.iter().enumerate().filter_map(|(n, b)| Some((b.label_id()?, n))).collect();
        let mut body = Body {
            module,
            shapes: AHashMap::new(),
            globals: module.types_global_values.iter().filter_map(|i| Some((i.result_id?, i))).collect(),
            locals: AHashMap::new(),
            variables: AHashMap::new(),
            glsl: module
                .ext_inst_imports
                .iter()
                .filter(|i| i.operands.first() == Some(&Operand::LiteralString("GLSL.std.450".to_owned())))
                .filter_map(|i| i.result_id)
                .collect(),
            labels,
            before: vec![Vec::new(); count],
            after: vec![Vec::new(); count],
            loops: Vec::new(),
            home: vec![None; count],
            rank: vec![usize::MAX; count],
            reached: vec![false; count],
            sure: vec![None; count],
        };
        for (n, block) in function.blocks.iter().enumerate() {
            for (at, inst) in block.instructions.iter().enumerate() {
                if let Some(id) = inst.result_id {
                    body.locals.insert(id, (n, at));
                }
            }
        }
        body.read_shapes();
        body.read_variables();
        body.read_flow()?;
        Some(body)
    }

    pub(super) fn block(&self, block: usize) -> &'a [Instruction] {
        &self.module.functions[0].blocks[block].instructions
    }

    pub(super) fn blocks(&self) -> usize {
        self.before.len()
    }

    /// Instructions of the blocks that are reached.
    pub(super) fn instructions(&self) -> impl Iterator<Item = (At, &'a Instruction)> + '_ {
        let reached = (0..self.blocks()).filter(|&n| self.reached[n]);
        reached.flat_map(|n| self.block(n).iter().enumerate().map(move |(at, inst)| ((n, at), inst)))
    }

    pub(super) fn global(&self, id: u32) -> Option<&'a Instruction> {
        self.globals.get(&id).copied()
    }

    pub(super) fn local(&self, id: u32) -> Option<(At, &'a Instruction)> {
        let &at = self.locals.get(&id)?;
        Some((at, &self.block(at.0)[at.1]))
    }

    pub(super) fn definition(&self, id: u32) -> Option<&'a Instruction> {
        self.local(id).map(|(_, inst)| inst).or_else(|| self.global(id))
    }

    pub(super) fn type_of(&self, id: u32) -> Option<u32> {
        self.definition(id)?.result_type
    }

    pub(super) fn shape(&self, ty: u32) -> &Shape {
        self.shapes.get(&ty).unwrap_or(&Shape::Other)
    }

    pub(super) fn is_glsl(&self, set: u32) -> bool {
        self.glsl.contains(&set)
    }

    pub(super) fn label(&self, id: u32) -> Option<usize> {
        self.labels.get(&id).copied()
    }

    /// Value of an integer constant.
    pub(super) fn number(&self, id: u32) -> Option<u64> {
        let inst = self.global(id)?;
        match inst.class.opcode {
            Op::Constant => Some(literal(inst, 0)),
            Op::ConstantNull => Some(0),
            _ => None,
        }
    }

    /// Width of a scalar's words: 1 for truth values.
    pub(super) fn width(&self, ty: u32) -> Option<u8> {
        match self.shape(ty) {
            Shape::Truth => Some(1),
            Shape::Int { width } | Shape::Float { width } => Some(*width),
            Shape::Pointer { class: StorageClass::PhysicalStorageBuffer, .. } => Some(64),
            _ => None,
        }
    }

    /// The type that indices lead to inside a value.
    pub(super) fn inner(&self, mut ty: u32, path: &[u32]) -> Option<u32> {
        for &step in path {
            ty = match self.shape(ty) {
                Shape::Vector { part, .. } | Shape::Array { part, .. } | Shape::Endless { part, .. } => *part,
                Shape::Matrix { column, .. } => *column,
                Shape::Struct { parts } => parts.get(step as usize)?.ty,
                _ => return None,
            };
        }
        Some(ty)
    }

    fn read_shapes(&mut self) {
        let mut strides: AHashMap<u32, u64> = AHashMap::new();
        let mut fields: AHashMap<(u32, u64), Field> = AHashMap::new();
        for inst in &self.module.annotations {
            let Some(target) = id(inst, 0) else { continue };
            match (inst.class.opcode, &inst.operands[1..]) {
                (Op::Decorate, [Operand::Decoration(Decoration::ArrayStride), Operand::LiteralBit32(n)]) => {
                    strides.insert(target, u64::from(*n));
                }
                (
                    Op::MemberDecorate,
                    [Operand::LiteralBit32(member), Operand::Decoration(decoration), rest @ ..],
                ) => {
                    let field = fields.entry((target, u64::from(*member))).or_default();
                    match (decoration, rest) {
                        (Decoration::Offset, [Operand::LiteralBit32(n)]) => field.offset = u64::from(*n),
                        (Decoration::MatrixStride, [Operand::LiteralBit32(n)]) => {
                            field.lines.stride = u64::from(*n);
                        }
                        (Decoration::RowMajor, _) => field.lines.by_rows = true,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        for inst in &self.module.types_global_values {
            let Some(result) = inst.result_id else { continue };
            let stride = || strides.get(&result).copied().unwrap_or(0);
            let read = || {
                let part = || id(inst, 0);
                Some(match inst.class.opcode {
                    Op::TypeBool => Shape::Truth,
                    Op::TypeInt => Shape::Int { width: literal(inst, 0) as u8 },
                    Op::TypeFloat => Shape::Float { width: literal(inst, 0) as u8 },
                    Op::TypeVector => Shape::Vector { part: part()?, count: literal(inst, 1) as u32 },
                    Op::TypeMatrix => Shape::Matrix { column: part()?, count: literal(inst, 1) as u32 },
                    Op::TypeArray => {
                        let count = id(inst, 1).and_then(|n| self.number(n)).unwrap_or(0);
                        Shape::Array { part: part()?, count, stride: stride() }
                    }
                    Op::TypeRuntimeArray => Shape::Endless { part: part()?, stride: stride() },
                    Op::TypeStruct => Shape::Struct {
                        parts: (0..inst.operands.len())
                            .map(|n| {
                                let field = fields.get(&(result, n as u64)).copied().unwrap_or_default();
                                Some(Field { ty: id(inst, n)?, ..field })
                            })
                            .collect::<Option<_>>()?,
                    },
                    Op::TypePointer => match inst.operands.first() {
                        Some(Operand::StorageClass(class)) => {
                            Shape::Pointer { class: *class, to: id(inst, 1)? }
                        }
                        _ => Shape::Other,
                    },
                    _ => return None,
                })
            };
            let Some(shape) = read() else { continue };
            self.shapes.insert(result, shape);
        }
    }

    fn read_variables(&mut self) {
        let mut builtins = AHashMap::new();
        let mut places: AHashMap<u32, SetBinding> = AHashMap::new();
        for inst in &self.module.annotations {
            if inst.class.opcode != Op::Decorate {
                continue;
            }
            let Some(target) = id(inst, 0) else { continue };
            match &inst.operands[1..] {
                [Operand::Decoration(Decoration::BuiltIn), Operand::BuiltIn(which)] => {
                    builtins.insert(target, *which);
                }
                [Operand::Decoration(Decoration::DescriptorSet), Operand::LiteralBit32(n)] => {
                    places.entry(target).or_default().set = *n;
                }
                [Operand::Decoration(Decoration::Binding), Operand::LiteralBit32(n)] => {
                    places.entry(target).or_default().binding = *n;
                }
                _ => {}
            }
        }
        let inside = self.module.functions[0].all_inst_iter();
        for inst in self.module.types_global_values.iter().chain(inside) {
            let (Op::Variable, Some(result), Some(pointer)) =
                (inst.class.opcode, inst.result_id, inst.result_type)
            else {
                continue;
            };
            let Shape::Pointer { class, to } = *self.shape(pointer) else { continue };
            let builtin = builtins.get(&result).copied();
            let at = places.get(&result).copied().unwrap_or_default();
            self.variables.insert(result, Variable { class, ty: to, builtin, at });
        }
    }

    fn read_flow(&mut self) -> Option<()> {
        let count = self.blocks();
        for block in 0..count {
            let last = self.block(block).last()?;
            for target in targets(last) {
                let target = self.label(target)?;
                if !self.after[block].contains(&target) {
                    self.after[block].push(target);
                    self.before[target].push(block);
                }
            }
        }
        let order = self.depth_first();
        let dominators = self.dominators(&order);
        for block in 0..count {
            self.before[block].retain(|&b| self.reached[b]);
        }
        let dominates = |a: usize, mut b: usize| loop {
            if a == b {
                return true;
            }
            match dominators[b] {
                Some(next) if next != b => b = next,
                _ => return false,
            }
        };
        // An edge that leads backward without leading to a dominator makes a loop of several entries.
        let mut headers: Vec<(usize, Vec<usize>)> = Vec::new();
        for block in (0..count).filter(|&b| self.reached[b]) {
            let latches: Vec<usize> =
                self.before[block].iter().copied().filter(|&b| self.rank[b] >= self.rank[block]).collect();
            if latches.iter().any(|&latch| !dominates(block, latch)) {
                return None;
            }
            if !latches.is_empty() {
                headers.push((block, latches));
            }
        }
        for (header, latches) in headers {
            let mut inside = vec![false; count];
            inside[header] = true;
            let mut stack = latches;
            while let Some(block) = stack.pop() {
                if !std::mem::replace(&mut inside[block], true) {
                    stack.extend(self.before[block].iter().copied());
                }
            }
            self.loops.push(Loop { header, inside, parent: None });
        }
        let size = |l: &Loop| l.inside.iter().filter(|&&i| i).count();
        let around = |block: usize, other: Option<usize>| {
            let all = self.loops.iter().enumerate();
            all.filter(|(n, l)| l.inside[block] && Some(*n) != other)
                .min_by_key(|(_, l)| size(l))
                .map(|(n, _)| n)
        };
        let parents: Vec<Option<usize>> =
            self.loops.iter().enumerate().map(|(n, l)| around(l.header, Some(n))).collect();
        self.home = (0..count).map(|block| around(block, None)).collect();
        self.loops.iter_mut().zip(parents).for_each(|(l, parent)| l.parent = parent);
        self.sure = (0..count).map(|block| self.certain_after(block, &dominators)).collect();
        Some(())
    }

    /// The nearest block of the same loop that all ways to a block pass, if all ways from there lead to it before they
    /// begin another round, leave the loop or end.
    fn certain_after(&self, block: usize, dominators: &[Option<usize>]) -> Option<usize> {
        if block == 0 || !self.reached[block] {
            return None;
        }
        // A header counts as part of what its loop stands in: how the loop is entered is the question.
        let own = self.home[block].filter(|&l| self.loops[l].header == block);
        let level = own.map_or(self.home[block], |l| self.loops[l].parent);
        let mut from = dominators[block]?;
        while self.home[from] != level {
            from = dominators[from].filter(|&next| next != from)?;
        }
        let mut seen = vec![false; self.blocks()];
        let mut stack = vec![from];
        while let Some(at) = stack.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            if self.after[at].is_empty() {
                return None;
            }
            for &next in self.after[at].iter().filter(|&&next| next != block) {
                if level.is_some_and(|l| next == self.loops[l].header || !self.loops[l].inside[next]) {
                    return None;
                }
                stack.push(next);
            }
        }
        Some(from)
    }

    /// Reverse post-order of the blocks that are reached.
    fn depth_first(&mut self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut stack = vec![(0, 0)];
        self.reached[0] = true;
        while let Some((block, next)) = stack.pop() {
            match self.after[block].get(next) {
                Some(&target) => {
                    stack.push((block, next + 1));
                    if !std::mem::replace(&mut self.reached[target], true) {
                        stack.push((target, 0));
                    }
                }
                None => order.push(block),
            }
        }
        order.reverse();
        order.iter().enumerate().for_each(|(rank, &block)| self.rank[block] = rank);
        order
    }

    fn dominators(&self, order: &[usize]) -> Vec<Option<usize>> {
        let mut up: Vec<Option<usize>> = vec![None; self.blocks()];
        up[0] = Some(0);
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &block in &order[1..] {
                let mut new: Option<usize> = None;
                for &b in self.before[block].iter().filter(|&&b| up[b].is_some()) {
                    new = Some(match new {
                        None => b,
                        Some(mut a) => {
                            let mut b = b;
                            while a != b {
                                if self.rank[a] > self.rank[b] {
                                    a = up[a].unwrap_or(0);
                                } else {
                                    b = up[b].unwrap_or(0);
                                }
                            }
                            a
                        }
                    });
                }
                if up[block] != new {
                    up[block] = new;
                    changed = true;
                }
            }
        }
        up
    }

    /// Loops around a block inside `outer`, outermost first.
    pub(super) fn chain(&self, outer: Option<usize>, block: usize) -> Vec<usize> {
        let mut chain = Vec::new();
        let mut at = self.home[block];
        while at != outer {
            let Some(inner) = at else { break };
            chain.push(inner);
            at = self.loops[inner].parent;
        }
        chain.reverse();
        chain
    }
}

fn targets(last: &Instruction) -> Vec<u32> {
    let ids = last.operands.iter().filter_map(Operand::id_ref_any);
    match last.class.opcode {
        Op::Branch => ids.collect(),
        Op::BranchConditional | Op::Switch => ids.skip(1).collect(),
        _ => Vec::new(),
    }
}
