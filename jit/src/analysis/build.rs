//! Reads expressions and accesses off a normalised kernel.
//!
//! # Requires
//! - one function, everything inlined, SSA form ([`frontend`](crate::frontend))
//!
//! # Guarantees
//! - every load, store and atomic on a buffer is in the list, or its binding is in `escaped`; so is every read, write and sample
//!   of an image
//! - an expression holds wherever the instruction that uses it runs: a value defined in a loop and
//!   used after it is opaque, because its parts have moved on

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, ImageOperands, Op, StorageClass};
use smallvec::SmallVec;

use super::access::{
    Access, AccessKind, Element, ElementIndex, Guard, LengthQuery, PushLeaf, PushUse, Term, Texel,
};
use super::cfg::{Cfg, Edge, Place};
use super::exits::Test;
use super::expr::{CompareOp, Exprs, Node, NodeId};
use super::kernel_analysis::KernelAnalysis;
use crate::frontend::defs::glsl_imports;
use crate::frontend::types::{MatrixLayout, Type, Types};
use crate::frontend::{SetBinding, opcodes};

/// Analyses the only function of `module`; `bindings` are where the kernel's are, in order.
pub(crate) fn analyse(module: &Module, bindings: &[SetBinding]) -> KernelAnalysis {
    let Some(function) = module.functions.first() else {
        return KernelAnalysis::default();
    };
    let types = Types::new(module);
    let cfg = Cfg::of_defined(function);
    let mut builder = Builder {
        function,
        types: &types,
        cfg: &cfg,
        definitions: definitions(module, function),
        variables: variables(module, bindings),
        uniforms: uniforms(module, bindings),
        glsl: glsl_imports(module),
        exprs: Exprs::default(),
        memo: AHashMap::new(),
        pointers: AHashMap::new(),
        handles: AHashMap::new(),
        depth: 0,
        push: PushUse::None,
        tests: Vec::new(),
    };
    builder.tests = (0..cfg.loops.len()).map(|index| builder.choose_test(index)).collect();
    builder.run()
}

/// Where an id is defined.
#[derive(Clone, Copy)]
pub(super) enum Definition<'a> {
    Global(&'a Instruction),
    Local { block: usize, inst: &'a Instruction },
}

impl<'a> Definition<'a> {
    pub(super) fn inst(self) -> &'a Instruction {
        match self {
            Self::Global(inst) | Self::Local { inst, .. } => inst,
        }
    }
}

/// A global variable that matters here.
#[derive(Clone, Copy)]
pub(super) enum Variable {
    Buffer(usize),
    /// An image or a sampler.
    Texture(usize),
    BuiltIn(BuiltIn),
    Push,
}

/// A pointer into a buffer, a built-in or the push constants.
#[derive(Clone)]
pub(super) struct Pointer {
    pub(super) variable: Variable,
    pub(super) constant: u64,
    pub(super) terms: Vec<Term>,
    pub(super) element: Option<Element>,
    /// Number of indices followed so far.
    pub(super) depth: usize,
    pub(super) pointee: u32,
    pub(super) matrix: MatrixLayout,
    /// Inside a matrix: bytes between the components of a column.
    pub(super) row_stride: Option<u64>,
}

pub(super) struct Builder<'a> {
    pub(super) function: &'a Function,
    pub(super) types: &'a Types,
    pub(super) cfg: &'a Cfg,
    pub(super) definitions: AHashMap<u32, Definition<'a>>,
    pub(super) variables: AHashMap<u32, (Variable, u32)>,
    /// Bindings that are uniform buffers, whatever else they are.
    pub(super) uniforms: AHashSet<usize>,
    pub(super) glsl: Vec<u32>,
    pub(super) exprs: Exprs,
    pub(super) memo: AHashMap<(u32, u32), NodeId>,
    pub(super) pointers: AHashMap<u32, Pointer>,
    /// Bindings behind handles of images and samplers.
    handles: AHashMap<u32, usize>,
    pub(super) depth: u32,
    pub(super) push: PushUse,
    /// The test of each loop that its rounds are counted by.
    pub(super) tests: Vec<Option<Test>>,
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

fn variables(module: &Module, bindings: &[SetBinding]) -> AHashMap<u32, (Variable, u32)> {
    let mut places: AHashMap<u32, SetBinding> = AHashMap::new();
    let mut builtins = AHashMap::new();
    for inst in &module.annotations {
        match inst.operands.as_slice() {
            [
                Operand::IdRef(id),
                Operand::Decoration(Decoration::DescriptorSet),
                Operand::LiteralBit32(n),
            ] => {
                places.entry(*id).or_default().set = *n;
            }
            [Operand::IdRef(id), Operand::Decoration(Decoration::Binding), Operand::LiteralBit32(n)] => {
                places.entry(*id).or_default().binding = *n;
            }
            [Operand::IdRef(id), Operand::Decoration(Decoration::BuiltIn), Operand::BuiltIn(which)] => {
                builtins.insert(*id, *which);
            }
            _ => {}
        }
    }
    let mut map = AHashMap::new();
    for inst in &module.types_global_values {
        let (Op::Variable, Some(id), Some(ty)) = (inst.class.opcode, inst.result_id, inst.result_type) else {
            continue;
        };
        let at = places.get(&id).copied().unwrap_or_default();
        let binding = || bindings.iter().position(|&b| b == at);
        let variable = match inst.operands.first() {
            Some(Operand::StorageClass(StorageClass::StorageBuffer | StorageClass::Uniform)) => {
                binding().map(Variable::Buffer)
            }
            Some(Operand::StorageClass(StorageClass::UniformConstant)) => binding().map(Variable::Texture),
            Some(Operand::StorageClass(StorageClass::Input)) => {
                builtins.get(&id).copied().map(Variable::BuiltIn)
            }
            Some(Operand::StorageClass(StorageClass::PushConstant)) => Some(Variable::Push),
            _ => None,
        };
        if let Some(variable) = variable {
            map.insert(id, (variable, ty));
        }
    }
    map
}

/// The bindings that are uniform buffers.
fn uniforms(module: &Module, bindings: &[SetBinding]) -> AHashSet<usize> {
    let class = Operand::StorageClass(StorageClass::Uniform);
    let uniform = module
        .types_global_values
        .iter()
        .filter(|inst| inst.class.opcode == Op::Variable && inst.operands.first() == Some(&class));
    let variables = variables(module, bindings);
    let binding = |inst: &Instruction| match variables.get(&inst.result_id?)?.0 {
        Variable::Buffer(binding) => Some(binding),
        _ => None,
    };
    uniform.filter_map(binding).collect()
}

pub(super) fn id_at(inst: &Instruction, n: usize) -> Option<u32> {
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
        let joint = self.joint(&accesses);
        let loops = self.loop_rounds();
        let divisions = self.divisions(&accesses);
        if let PushUse::Leaves(leaves) = &mut self.push {
            leaves.sort();
            leaves.dedup();
        }
        let (skipping, cells) = (self.exprs.skipping(), self.exprs.cells());
        // Asked only on request: plans do not depend on them.
        let (products, quotients) = (self.products_of_indices(&accesses), self.quotients());
        KernelAnalysis {
            exprs: std::mem::take(&mut self.exprs),
            accesses,
            joint,
            dominance,
            lengths,
            escaped,
            push: std::mem::take(&mut self.push),
            loops,
            skipping,
            cells,
            divisions,
            products,
            quotients,
        }
    }

    fn instruction(
        &mut self,
        inst: &'a Instruction,
        at: (usize, usize),
        accesses: &mut Vec<Access>,
        lengths: &mut Vec<LengthQuery>,
        escaped: &mut Vec<(usize, String)>,
    ) {
        let op = inst.class.opcode;
        if self.takes_handle(inst) {
            return self.image_instruction(inst, at, accesses, escaped);
        }
        let kind = match op {
            Op::AccessChain | Op::InBoundsAccessChain => {
                match (inst.result_id, self.chain(inst, at.0)) {
                    (Some(id), Some(pointer)) => {
                        self.pointers.insert(id, pointer);
                    }
                    _ => match id_at(inst, 0).and_then(|p| self.pointer(p)).map(|p| p.variable) {
                        Some(Variable::Buffer(binding) | Variable::Texture(binding)) => {
                            escaped.push((binding, format!("{op:?}")))
                        }
                        Some(Variable::Push) => self.push = PushUse::Block,
                        _ => {}
                    },
                }
                return;
            }
            Op::CopyObject => {
                if let (Some(id), Some(pointer)) =
                    (inst.result_id, id_at(inst, 0).and_then(|p| self.pointer(p)))
                {
                    self.pointers.insert(id, pointer);
                }
                return;
            }
            Op::ArrayLength => {
                match (inst.result_id, self.array_length(inst).map(|node| self.exprs.get(node).clone())) {
                    (Some(id), Some(Node::Length { binding, offset, stride })) => {
                        lengths.push(LengthQuery { binding: usize::from(binding), id, offset, stride })
                    }
                    _ => escaped.extend(
                        id_at(inst, 0).and_then(|p| self.buffer_of(p)).map(|b| (b, format!("{op:?}"))),
                    ),
                }
                return;
            }
            Op::Load | Op::AtomicLoad => AccessKind::Read,
            Op::Store => AccessKind::Write,
            _ if opcodes::has(op, opcodes::ATOMIC) => AccessKind::Atomic,
            _ => {
                // Any other use of a buffer pointer is one the analysis does not follow.
                for id in inst.operands.iter().filter_map(|o| o.id_ref_any()) {
                    match self.pointer(id).map(|p| p.variable) {
                        Some(Variable::Buffer(binding) | Variable::Texture(binding)) => {
                            escaped.push((binding, format!("{op:?}")))
                        }
                        Some(Variable::Push) => self.push = PushUse::Block,
                        _ => {}
                    }
                }
                return;
            }
        };
        // An atomic load is still an atomic: it must not be turned into a plain access.
        let kind = if op == Op::AtomicLoad { AccessKind::Atomic } else { kind };
        let Some(pointer) = id_at(inst, 0).and_then(|p| self.pointer(p)) else {
            return;
        };
        // A pointer that is stored is one that escapes.
        if op == Op::Store
            && let Some(stored) = id_at(inst, 1).and_then(|id| self.buffer_of(id))
        {
            escaped.push((stored, format!("{op:?}")));
        }
        let binding = match pointer.variable {
            Variable::Buffer(binding) => binding,
            // A handle, not a texel.
            Variable::Texture(binding) => {
                match inst.result_id.filter(|_| op == Op::Load) {
                    Some(id) => drop(self.handles.insert(id, binding)),
                    None => escaped.push((binding, format!("{op:?}"))),
                }
                return;
            }
            Variable::Push => return self.push_load(&pointer),
            Variable::BuiltIn(_) => return,
        };
        let size = match (pointer.row_stride, self.types.get(pointer.pointee)) {
            (Some(stride), Type::Vector { element, count }) => {
                stride * u64::from(count.saturating_sub(1)) + self.types.span(*element, pointer.matrix)
            }
            _ => self.types.span(pointer.pointee, pointer.matrix),
        };
        if size == 0 {
            escaped.push((binding, format!("{op:?} of a type without a size")));
            return;
        }
        let pieces = self.types.pieces(pointer.pointee, pointer.matrix, pointer.row_stride);
        let element = pointer.element.and_then(|e| e.index);
        let whole_element =
            pieces.is_some() && element.is_some_and(|e| pieces == self.types.pieces(e.ty, e.matrix, None));
        let access = self.access_at(binding, kind, at);
        accesses.push(Access {
            constant: pointer.constant,
            terms: pointer.terms,
            size,
            pieces,
            whole_element,
            element: pointer.element,
            ..access
        });
    }

    /// An access that says only when it happens (guards and loops), not yet where.
    fn access_at(&mut self, binding: usize, kind: AccessKind, at: (usize, usize)) -> Access {
        let (edges, exact_guards) = self.cfg.guards(self.function, at.0);
        let loops = self.places(at.0, &edges);
        let guards = edges.iter().map(|edge| self.guard(edge)).collect();
        Access {
            binding,
            kind,
            constant: 0,
            terms: Vec::new(),
            size: 1,
            pieces: None,
            whole_element: false,
            guards,
            exact_guards,
            at,
            loop_depth: self.cfg.loop_depth(at.0),
            loops,
            element: None,
            texel: None,
        }
    }

    fn handle(&self, operand: &Operand) -> Option<usize> {
        self.handles.get(&operand.id_ref_any()?).copied()
    }

    /// Whether an instruction has to do with the handle of an image or a sampler.
    fn takes_handle(&self, inst: &Instruction) -> bool {
        !self.handles.is_empty() && inst.operands.iter().any(|operand| self.handle(operand).is_some())
    }

    /// What an instruction does to the image whose handle it takes.
    fn image_instruction(
        &mut self,
        inst: &'a Instruction,
        at: (usize, usize),
        accesses: &mut Vec<Access>,
        escaped: &mut Vec<(usize, String)>,
    ) {
        let op = inst.class.opcode;
        let image = inst.operands.first().and_then(|operand| self.handle(operand));
        // Handles stand first; only that of a sampler stands second, beside its image.
        let others = inst.operands.iter().skip(if op == Op::SampledImage { 2 } else { 1 });
        let elsewhere: Vec<usize> = others.filter_map(|operand| self.handle(operand)).collect();
        escaped.extend(elsewhere.into_iter().map(|binding| (binding, format!("{op:?}"))));
        let Some(binding) = image else { return };
        let (kind, coordinates) = match op {
            Op::SampledImage | Op::Image | Op::CopyObject => {
                inst.result_id.map(|id| self.handles.insert(id, binding));
                return;
            }
            Op::ImageQuerySize | Op::ImageQuerySizeLod | Op::ImageQueryLevels | Op::ImageQuerySamples => {
                return;
            }
            Op::ImageRead => (AccessKind::Read, self.coordinates(inst, at.0)),
            Op::ImageWrite => (AccessKind::Write, self.coordinates(inst, at.0)),
            Op::ImageFetch => (AccessKind::Read, self.fetched(inst, at.0)),
            Op::ImageGather
            | Op::ImageDrefGather
            | Op::ImageSampleExplicitLod
            | Op::ImageSampleDrefExplicitLod => (AccessKind::Read, None),
            _ => return escaped.push((binding, format!("{op:?}"))),
        };
        let access = self.access_at(binding, kind, at);
        let (texel, terms) = match coordinates {
            Some(terms) if op == Op::ImageFetch => (Texel::Fetched(terms.len() as u8), terms),
            Some(terms) => (Texel::At(terms.len() as u8), terms),
            None => (Texel::Any, Vec::new()),
        };
        accesses.push(Access { texel: Some(texel), terms, ..access });
    }

    /// As [`coordinates`](Self::coordinates), of a fetch from the first level, which says nothing else.
    fn fetched(&mut self, inst: &'a Instruction, block: usize) -> Option<Vec<Term>> {
        let [_, _, Operand::ImageOperands(ImageOperands::LOD), Operand::IdRef(level)] = inst.operands[..]
        else {
            return None;
        };
        let is_first = self.types.constant(level).is_some_and(|(level, _)| level == 0);
        (is_first || mutant!(LevelsAreOne)).then(|| self.coordinates(inst, block)).flatten()
    }

    /// The coordinates of an access to a texel, with what they weigh in its number; `None` if they are no words.
    fn coordinates(&mut self, inst: &'a Instruction, block: usize) -> Option<Vec<Term>> {
        let id = id_at(inst, 1)?;
        let ty = self.definitions.get(&id)?.inst().result_type?;
        let count = self.types.components(ty);
        if self.types.int_width(ty) != Some(32) || !(1..=3).contains(&count) {
            return None;
        }
        let term = |index: NodeId, number: u32| Term { index, stride: Texel::LINE.pow(number), count: None };
        Some((0..count).map(|number| term(self.component(id, number, block), number)).collect())
    }

    pub(super) fn guard(&mut self, edge: &Edge) -> Guard {
        let asked = self.boolean(edge.condition, edge.block);
        let width = self.exprs.get(asked).width();
        let mut is_one = None;
        for &value in &edge.values {
            let value = self.exprs.constant(value, width);
            let equal = self.exprs.compare(CompareOp::Equal, width, asked, value);
            is_one = Some(match is_one {
                Some(others) => self.exprs.add(Node::BoolOr(others, equal)),
                None => equal,
            });
        }
        let condition = is_one.unwrap_or(asked);
        Guard { condition, holds: edge.taken, block: edge.block, in_past_loop: edge.in_past_loop }
    }

    /// The loops around a block with these guards, and where it lies in each.
    pub(super) fn places(&self, block: usize, edges: &[Edge]) -> SmallVec<[(usize, Place); 2]> {
        let around = (0..self.cfg.loops.len()).filter(|&l| self.cfg.is_in_loop(block, Some(l)));
        around.map(|l| (l, self.cfg.place_in(l, self.tests[l], block, edges))).collect()
    }

    fn buffer_of(&self, id: u32) -> Option<usize> {
        match self.pointer(id)?.variable {
            Variable::Buffer(binding) => Some(binding),
            _ => None,
        }
    }

    fn push_load(&mut self, pointer: &Pointer) {
        let (scalar, count) = match self.types.get(pointer.pointee) {
            Type::Int { .. } | Type::Float { .. } | Type::Pointer { .. } => {
                (self.types.span(pointer.pointee, pointer.matrix), 1)
            }
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
    pub(super) fn pointer(&self, id: u32) -> Option<Pointer> {
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
            depth: 0,
            pointee,
            matrix: MatrixLayout::default(),
            row_stride: None,
        })
    }

    pub(super) fn chain(&mut self, inst: &'a Instruction, block: usize) -> Option<Pointer> {
        let mut pointer = self.pointer(id_at(inst, 0)?)?;
        for n in 1..inst.operands.len() {
            let index = id_at(inst, n)?;
            self.step(&mut pointer, index, block)?;
            pointer.depth += 1;
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
                let (stride, rows) =
                    if pointer.matrix.row_major { (scalar, Some(line)) } else { (line, None) };
                pointer.row_stride = rows;
                (*column, stride, Some(u64::from(*count)))
            }
            Type::Vector { element, count } => {
                let stride =
                    pointer.row_stride.take().unwrap_or_else(|| self.types.span(*element, pointer.matrix));
                (*element, stride, Some(u64::from(*count)))
            }
            _ => return None,
        };
        let is_array =
            matches!(self.types.get(pointer.pointee), Type::Array { .. } | Type::RuntimeArray { .. });
        let node = self.scalar(index, block);
        if is_array
            && let Some(Element { index: slot @ None, .. }) = &mut pointer.element
            && pointer.terms.is_empty()
        {
            let (start, depth, matrix) = (pointer.constant, pointer.depth, pointer.matrix);
            *slot = Some(ElementIndex { node, start, depth, stride, matrix, ty: next });
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
}
