//! Takes explicit layouts off variables that are not in buffers.
//!
//! Compilers share one array type between a buffer and a work-group array, stride included; naga does.
//! Vulkan no longer allows the decoration there (VUID-StandaloneSpirv-None-10684) and drivers never
//! minded it, so such modules are put right instead of refused: pointers to Workgroup, Private and
//! Function memory get a type without layout, and whole values that cross from one to the other are
//! taken apart and put together again.
//!
//! # Requires
//! - a module without debug information, valid apart from such decorations
//!
//! # Guarantees
//! - no type of a variable outside of buffers is laid out
//!
//! # Leaves alone
//! - modules that ask for explicit layout of work-group memory; buffers and their types
//! - modules in which an array whose length is a specialization constant crosses as a whole

use ahash::{AHashMap, AHashSet};
use rspirv::binary::Assemble;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Capability, Decoration, Op, StorageClass, Word};

use crate::frontend::load;

/// The words with such layouts removed, or `None` if there are none.
pub(in crate::frontend) fn repaired(words: &[u32]) -> Option<Vec<u32>> {
    let mut module = load::module(words).ok()?;
    let explicit = Operand::Capability(Capability::WorkgroupMemoryExplicitLayoutKHR);
    if module.capabilities.iter().any(|inst| inst.operands.contains(&explicit)) {
        return None;
    }
    let mut repair = Repair::new(&module);
    if !repair.types(&mut module) {
        return None;
    }
    repair.constants(&mut module);
    repair.bodies(&mut module);
    if repair.is_open {
        return None;
    }
    if let Some(header) = &mut module.header {
        header.bound = repair.next;
    }
    Some(module.assemble())
}

/// No id.
const BEHIND: Word = 0;

struct Repair {
    next: Word,
    globals: AHashMap<Word, Instruction>,
    laid_out: AHashSet<Word>,
    /// Types with layout and their twins without.
    twins: AHashMap<Word, Word>,
    /// New globals, each to stand right before the global with this id, or behind all of them.
    fresh: Vec<(Word, Instruction)>,
    value_types: AHashMap<Word, Word>,
    /// Whether an array is handled as a value whose length is a specialization constant: how many parts it has is not known yet.
    is_open: bool,
}

fn ids(inst: &Instruction) -> impl Iterator<Item = Word> + '_ {
    inst.operands.iter().filter_map(Operand::id_ref_any)
}

/// Class and pointee of a pointer type to memory without layout.
fn plain_pointer(inst: &Instruction) -> Option<Word> {
    match inst.operands.as_slice() {
        [
            Operand::StorageClass(StorageClass::Workgroup | StorageClass::Private | StorageClass::Function),
            Operand::IdRef(pointee),
        ] if inst.class.opcode == Op::TypePointer => Some(*pointee),
        _ => None,
    }
}

impl Repair {
    fn new(module: &Module) -> Self {
        let layout = |d: &Operand| {
            matches!(
                d,
                Operand::Decoration(Decoration::ArrayStride | Decoration::Offset | Decoration::MatrixStride)
            )
        };
        let decorated = module.annotations.iter().filter(|inst| inst.operands.iter().any(layout));
        Self {
            next: module.header.as_ref().map_or(1, |h| h.bound),
            globals: module
                .types_global_values
                .iter()
                .filter_map(|inst| Some((inst.result_id?, inst.clone())))
                .collect(),
            laid_out: decorated.filter_map(|inst| inst.operands.first()?.id_ref_any()).collect(),
            twins: AHashMap::new(),
            fresh: Vec::new(),
            value_types: module
                .all_inst_iter()
                .filter_map(|inst| Some((inst.result_id?, inst.result_type?)))
                .collect(),
            is_open: false,
        }
    }

    fn id(&mut self) -> Word {
        self.next += 1;
        self.next - 1
    }

    fn has_layout(&self, ty: Word) -> bool {
        let Some(inst) = self.globals.get(&ty) else { return false };
        matches!(inst.class.opcode, Op::TypeArray | Op::TypeStruct)
            && (self.laid_out.contains(&ty) || self.parts(ty).into_iter().any(|part| self.has_layout(part)))
    }

    /// Types of the parts of an aggregate.
    fn parts(&self, ty: Word) -> Vec<Word> {
        let Some(inst) = self.globals.get(&ty) else { return Vec::new() };
        match inst.class.opcode {
            Op::TypeStruct => ids(inst).collect(),
            Op::TypeArray => {
                let length = ids(inst).nth(1).and_then(|id| self.globals.get(&id));
                let length = match length.and_then(|inst| inst.operands.first()) {
                    Some(Operand::LiteralBit32(n)) => *n as usize,
                    _ => 0,
                };
                // A longer array is never handled as a value.
                ids(inst).next().map_or_else(Vec::new, |element| vec![element; length.min(1 << 12)])
            }
            _ => Vec::new(),
        }
    }

    /// Whether a type is an array of a length that is no plain constant.
    fn has_open_length(&self, ty: Word) -> bool {
        let array = self.globals.get(&ty).filter(|inst| inst.class.opcode == Op::TypeArray);
        let length = array.and_then(|inst| ids(inst).nth(1)).and_then(|id| self.globals.get(&id));
        array.is_some() && length.is_none_or(|inst| inst.class.opcode != Op::Constant)
    }

    /// The twin of a type, to be declared before the global `before`.
    fn twin(&mut self, ty: Word, before: Word) -> Word {
        if !self.has_layout(ty) {
            return ty;
        }
        if let Some(&twin) = self.twins.get(&ty) {
            return twin;
        }
        let Some(mut inst) = self.globals.get(&ty).cloned() else { return ty };
        let parts = if inst.class.opcode == Op::TypeArray { 1 } else { inst.operands.len() };
        for n in 0..parts {
            if let Some(part) = inst.operands[n].id_ref_any() {
                inst.operands[n] = Operand::IdRef(self.twin(part, before));
            }
        }
        let twin = self.id();
        inst.result_id = Some(twin);
        self.globals.insert(twin, inst.clone());
        self.fresh.push((before, inst));
        self.twins.insert(ty, twin);
        twin
    }

    fn types(&mut self, module: &mut Module) -> bool {
        for inst in &mut module.types_global_values {
            if let (Some(pointee), Some(id)) = (plain_pointer(inst), inst.result_id) {
                inst.operands[1] = Operand::IdRef(self.twin(pointee, id));
                self.globals.insert(id, inst.clone());
            }
        }
        !self.twins.is_empty()
    }

    /// Initializers of variables are constants of the type without layout.
    fn constants(&mut self, module: &mut Module) {
        for inst in &mut module.types_global_values {
            let (Op::Variable, Some(id), Some(Operand::IdRef(initial))) =
                (inst.class.opcode, inst.result_id, inst.operands.get(1).cloned())
            else {
                continue;
            };
            let pointee = inst.result_type.and_then(|t| self.globals.get(&t)).and_then(plain_pointer);
            if pointee.is_some() {
                inst.operands[1] = Operand::IdRef(self.constant(initial, id));
            }
        }
        let code = module.functions.iter_mut().flat_map(|f| &mut f.blocks).flat_map(|b| &mut b.instructions);
        for inst in code.filter(|inst| inst.class.opcode == Op::Variable) {
            if let Some(Operand::IdRef(initial)) = inst.operands.get(1).cloned() {
                inst.operands[1] = Operand::IdRef(self.constant(initial, BEHIND));
            }
        }
        let fresh = std::mem::take(&mut self.fresh);
        let mut out = Vec::with_capacity(module.types_global_values.len() + fresh.len());
        for inst in module.types_global_values.drain(..) {
            let here = inst.result_id;
            out.extend(fresh.iter().filter(|f| Some(f.0) == here).map(|f| f.1.clone()));
            out.push(inst);
        }
        out.extend(fresh.into_iter().filter(|one| one.0 == BEHIND).map(|one| one.1));
        module.types_global_values = out;
    }

    fn constant(&mut self, id: Word, before: Word) -> Word {
        let Some(mut inst) = self.globals.get(&id).cloned() else { return id };
        let Some(&twin) = inst.result_type.and_then(|t| self.twins.get(&t)) else { return id };
        for n in 0..inst.operands.len() {
            if let Some(part) = inst.operands[n].id_ref_any() {
                inst.operands[n] = Operand::IdRef(self.constant(part, before));
            }
        }
        let new = self.id();
        inst.result_id = Some(new);
        inst.result_type = Some(twin);
        self.fresh.push((before, inst));
        new
    }

    /// Whole loads and stores change type on the way.
    fn bodies(&mut self, module: &mut Module) {
        let blocks = module.functions.iter_mut().flat_map(|f| &mut f.blocks);
        for block in blocks {
            let mut out = Vec::with_capacity(block.instructions.len());
            for mut inst in block.instructions.drain(..) {
                let pointer = inst.operands.first().and_then(Operand::id_ref_any);
                let pointer_type = pointer.and_then(|p| self.value_types.get(&p)).copied();
                let pointee = pointer_type.and_then(|t| self.globals.get(&t)).and_then(plain_pointer);
                match (inst.class.opcode, pointee) {
                    (Op::Load, Some(plain)) if inst.result_type != Some(plain) => {
                        let (Some(ty), Some(result)) = (inst.result_type, inst.result_id) else { continue };
                        let loaded = self.id();
                        inst.result_id = Some(loaded);
                        inst.result_type = Some(plain);
                        out.push(inst);
                        self.rebuild(loaded, plain, ty, result, &mut out);
                    }
                    (Op::Store, Some(plain)) => {
                        let value = inst.operands.get(1).and_then(Operand::id_ref_any);
                        let ty = value.and_then(|v| self.value_types.get(&v)).copied();
                        if let (Some(value), Some(ty)) = (value, ty)
                            && ty != plain
                        {
                            let new = self.id();
                            self.rebuild(value, ty, plain, new, &mut out);
                            inst.operands[1] = Operand::IdRef(new);
                        }
                        out.push(inst);
                    }
                    _ => out.push(inst),
                }
            }
            block.instructions = out;
        }
    }

    /// Puts the parts of `value`, of type `from`, together as `result`, of type `to`.
    fn rebuild(&mut self, value: Word, from: Word, to: Word, result: Word, out: &mut Vec<Instruction>) {
        self.is_open |= self.has_open_length(from);
        let parts: Vec<(Word, Word)> = self.parts(from).into_iter().zip(self.parts(to)).collect();
        let mut operands = Vec::with_capacity(parts.len());
        for (number, (from, to)) in parts.into_iter().enumerate() {
            let part = self.id();
            let extract = vec![Operand::IdRef(value), Operand::LiteralBit32(number as u32)];
            out.push(Instruction::new(Op::CompositeExtract, Some(from), Some(part), extract));
            let mut part = part;
            if from != to {
                let inner = self.id();
                self.rebuild(part, from, to, inner, out);
                part = inner;
            }
            operands.push(Operand::IdRef(part));
        }
        out.push(Instruction::new(Op::CompositeConstruct, Some(to), Some(result), operands));
    }
}

#[cfg(test)]
mod tests {
    use spirv_tools::TargetEnv;
    use spirv_tools::assembler::{Assembler, AssemblerOptions, create};

    use super::*;

    const LOCAL: &str = "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\"
        OpExecutionMode %main LocalSize 32 1 1
        OpDecorate %array ArrayStride 1
        %void = OpTypeVoid
        %bool = OpTypeBool
        %uint = OpTypeInt 32 0
        %two = OpConstant %uint 2
        %array = OpTypeArray %bool %two
        %pointer = OpTypePointer Function %array
        %type = OpTypeFunction %void
        %null = OpConstantNull %array
        %true = OpConstantTrue %bool
        %both = OpConstantComposite %array %true %true
        %main = OpFunction %void None %type
        %label = OpLabel
        %first = OpVariable %pointer Function %null
        %second = OpVariable %pointer Function %both
        OpReturn
        OpFunctionEnd";

    /// What a variable of a function begins with has the type of the variable.
    #[test]
    fn initializers_of_local_variables_change_with_them() {
        let assembler = create(Some(TargetEnv::Vulkan_1_3));
        let binary = assembler.assemble(LOCAL, AssemblerOptions::default()).expect("assembles");
        let repaired = repaired(binary.as_ref()).expect("something to put right");
        let module = load::module(&repaired).expect("a module");
        let globals = &module.types_global_values;
        let find = |id: Word| globals.iter().position(|inst| inst.result_id == Some(id)).expect("a global");
        let variables = module.functions[0].all_inst_iter().filter(|inst| inst.class.opcode == Op::Variable);
        let initial: Vec<_> = variables
            .map(|inst| {
                let pointee = plain_pointer(&globals[find(inst.result_type.expect("a type"))]);
                (pointee, find(inst.operands[1].id_ref_any().expect("an initializer")))
            })
            .collect();
        assert_eq!(initial.len(), 2);
        for (pointee, at) in initial {
            assert_eq!(globals[at].result_type, pointee);
            let ty = find(pointee.expect("a pointer"));
            assert!(ty < at, "declared behind its type");
            let decorated = |inst: &Instruction| inst.operands[0].id_ref_any() == pointee;
            assert!(!module.annotations.iter().any(decorated));
        }
    }
}
