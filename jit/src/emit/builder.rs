//! The fused module under construction: ids, and globals that are each there only once.

use crate::frontend::opcodes::instruction;
use ahash::AHashMap;
use rspirv::dr::{Block, Function, Instruction, Module, ModuleHeader, Operand};
use rspirv::spirv::{Capability, Decoration, FunctionControl, Op, StorageClass, Word};

/// A global by its content: equal keys are the same type or constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GlobalKey {
    op: Op,
    ty: Option<Word>,
    operands: Vec<Operand>,
    decorations: Vec<Vec<Operand>>,
}

/// Collects the parts of the fused module.
#[derive(Clone)]
pub(crate) struct Builder {
    pub(crate) module: Module,
    next: Word,
    globals: AHashMap<GlobalKey, Word>,
    /// Type of every value-like global, by id.
    pub(crate) definitions: AHashMap<Word, Instruction>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { module: Module::new(), next: 1, globals: AHashMap::new(), definitions: AHashMap::new() }
    }

    pub(crate) fn fresh(&mut self) -> Word {
        self.next += 1;
        self.next - 1
    }

    /// The type or constant with this content, made if it is new. `decorations` are those of the id,
    /// without the id itself; member decorations start with the member's number.
    pub(crate) fn global(
        &mut self,
        op: Op,
        ty: Option<Word>,
        operands: Vec<Operand>,
        mut decorations: Vec<Vec<Operand>>,
    ) -> Word {
        decorations.sort_by_key(|d| format!("{d:?}"));
        let key = GlobalKey { op, ty, operands, decorations };
        if let Some(&id) = self.globals.get(&key) {
            return id;
        }
        let id = self.fresh();
        for decoration in &key.decorations {
            let op = match decoration.first() {
                Some(Operand::LiteralBit32(_)) => Op::MemberDecorate,
                _ => Op::Decorate,
            };
            let operands = [Operand::IdRef(id)].into_iter().chain(decoration.iter().cloned()).collect();
            self.module.annotations.push(instruction(op, None, None, operands));
        }
        let inst = instruction(op, ty, Some(id), key.operands.clone());
        self.module.types_global_values.push(inst.clone());
        self.definitions.insert(id, inst);
        self.globals.insert(key, id);
        id
    }

    /// A variable: never shared.
    pub(crate) fn variable(&mut self, class: StorageClass, pointer: Word, initializer: Option<Word>) -> Word {
        let id = self.fresh();
        self.place_variable(id, class, pointer, initializer);
        id
    }

    /// Places a variable whose id is known already.
    pub(crate) fn place_variable(
        &mut self,
        id: Word,
        class: StorageClass,
        pointer: Word,
        initializer: Option<Word>,
    ) {
        let operands =
            [Operand::StorageClass(class)].into_iter().chain(initializer.map(Operand::IdRef)).collect();
        let inst = instruction(Op::Variable, Some(pointer), Some(id), operands);
        self.module.types_global_values.push(inst.clone());
        self.definitions.insert(id, inst);
    }

    /// Adds a function without parameters or result; returns its id.
    pub(crate) fn function(&mut self, blocks: Vec<Block>) -> Word {
        let void = self.void();
        let ty = self.global(Op::TypeFunction, None, vec![Operand::IdRef(void)], Vec::new());
        let id = self.fresh();
        let operands = vec![Operand::FunctionControl(FunctionControl::NONE), Operand::IdRef(ty)];
        self.module.functions.push(Function {
            def: Some(instruction(Op::Function, Some(void), Some(id), operands)),
            end: Some(instruction(Op::FunctionEnd, None, None, Vec::new())),
            parameters: Vec::new(),
            blocks,
        });
        id
    }

    pub(crate) fn decorate(&mut self, id: Word, decoration: Decoration, literals: &[u32]) {
        let operands = [Operand::IdRef(id), Operand::Decoration(decoration)]
            .into_iter()
            .chain(literals.iter().map(|&n| Operand::LiteralBit32(n)))
            .collect();
        self.module.annotations.push(instruction(Op::Decorate, None, None, operands));
    }

    pub(crate) fn decorate_builtin(&mut self, id: Word, builtin: rspirv::spirv::BuiltIn) {
        let operands =
            vec![Operand::IdRef(id), Operand::Decoration(Decoration::BuiltIn), Operand::BuiltIn(builtin)];
        self.module.annotations.push(instruction(Op::Decorate, None, None, operands));
    }

    pub(crate) fn void(&mut self) -> Word {
        self.global(Op::TypeVoid, None, Vec::new(), Vec::new())
    }

    pub(crate) fn bool(&mut self) -> Word {
        self.global(Op::TypeBool, None, Vec::new(), Vec::new())
    }

    pub(crate) fn u32(&mut self) -> Word {
        let operands = vec![Operand::LiteralBit32(32), Operand::LiteralBit32(0)];
        self.global(Op::TypeInt, None, operands, Vec::new())
    }

    pub(crate) fn uvec3(&mut self) -> Word {
        let element = self.u32();
        let operands = vec![Operand::IdRef(element), Operand::LiteralBit32(3)];
        self.global(Op::TypeVector, None, operands, Vec::new())
    }

    pub(crate) fn pointer(&mut self, class: StorageClass, pointee: Word) -> Word {
        let operands = vec![Operand::StorageClass(class), Operand::IdRef(pointee)];
        self.global(Op::TypePointer, None, operands, Vec::new())
    }

    pub(crate) fn constant(&mut self, value: u32) -> Word {
        let ty = self.u32();
        self.global(Op::Constant, Some(ty), vec![Operand::LiteralBit32(value)], Vec::new())
    }

    /// Members or element of an aggregate type, or nothing for others.
    pub(crate) fn parts(&self, ty: Word) -> Option<Vec<Word>> {
        let inst = self.definitions.get(&ty)?;
        let id = |n: usize| inst.operands.get(n).and_then(Operand::id_ref_any);
        match inst.class.opcode {
            Op::TypeStruct => Some((0..inst.operands.len()).filter_map(id).collect()),
            Op::TypeArray => {
                let length = self.definitions.get(&id(1)?)?;
                let Some(Operand::LiteralBit32(length)) = length.operands.first() else {
                    return None;
                };
                Some(vec![id(0)?; *length as usize])
            }
            _ => None,
        }
    }

    /// Type behind one index of an access chain; struct members by their number.
    pub(crate) fn step(&self, ty: Word, index: Word) -> Option<Word> {
        let inst = self.definitions.get(&ty)?;
        let number = match inst.class.opcode {
            Op::TypeStruct => match self.definitions.get(&index)?.operands.first()? {
                Operand::LiteralBit32(n) => *n as usize,
                _ => return None,
            },
            Op::TypeArray | Op::TypeRuntimeArray | Op::TypeVector | Op::TypeMatrix => 0,
            _ => return None,
        };
        inst.operands.get(number).and_then(Operand::id_ref_any)
    }

    /// The type without explicit layout, as variables outside of buffers want it.
    pub(crate) fn without_layout(&mut self, ty: Word) -> Word {
        let Some(inst) = self.definitions.get(&ty).cloned() else {
            return ty;
        };
        match inst.class.opcode {
            Op::TypeStruct => {
                let members: Vec<Word> = inst.operands.iter().filter_map(Operand::id_ref_any).collect();
                let members = members.into_iter().map(|m| Operand::IdRef(self.without_layout(m))).collect();
                self.global(Op::TypeStruct, None, members, Vec::new())
            }
            Op::TypeArray => {
                let mut operands = inst.operands.clone();
                if let Some(element) = operands[0].id_ref_any() {
                    operands[0] = Operand::IdRef(self.without_layout(element));
                }
                self.global(Op::TypeArray, None, operands, Vec::new())
            }
            _ => ty,
        }
    }

    /// Declares what variables of a type need beyond what buffers of it do.
    pub(crate) fn need_scalars(&mut self, ty: Word) {
        let Some(inst) = self.definitions.get(&ty).cloned() else { return };
        match (inst.class.opcode, inst.operands.first()) {
            (Op::TypeInt, Some(Operand::LiteralBit32(8))) => self.capability(Capability::Int8),
            (Op::TypeInt, Some(Operand::LiteralBit32(16))) => self.capability(Capability::Int16),
            (Op::TypeFloat, Some(Operand::LiteralBit32(16))) => self.capability(Capability::Float16),
            (Op::TypeStruct, _) => {
                inst.operands.iter().filter_map(Operand::id_ref_any).for_each(|m| self.need_scalars(m))
            }
            (Op::TypeArray | Op::TypeVector | Op::TypeMatrix, Some(Operand::IdRef(part))) => {
                self.need_scalars(*part)
            }
            _ => {}
        }
    }

    pub(crate) fn capability(&mut self, capability: Capability) {
        let inst = instruction(Op::Capability, None, None, vec![Operand::Capability(capability)]);
        if !self.module.capabilities.contains(&inst) {
            self.module.capabilities.push(inst);
        }
    }

    pub(crate) fn extension(&mut self, name: &str) {
        let inst = instruction(Op::Extension, None, None, vec![Operand::LiteralString(name.to_owned())]);
        if !self.module.extensions.contains(&inst) {
            self.module.extensions.push(inst);
        }
    }

    /// The finished module.
    pub(crate) fn finish(mut self, version: (u8, u8)) -> Module {
        let mut header = ModuleHeader::new(self.next);
        header.set_version(version.0, version.1);
        self.module.header = Some(header);
        self.module
    }
}

/// Instructions of one block under construction.
#[derive(Default)]
pub(crate) struct Code(pub(crate) Vec<Instruction>);

impl Code {
    /// Adds an instruction with a result.
    pub(crate) fn value(&mut self, builder: &mut Builder, op: Op, ty: Word, operands: Vec<Operand>) -> Word {
        let id = builder.fresh();
        self.0.push(instruction(op, Some(ty), Some(id), operands));
        id
    }

    /// Adds an instruction without a result.
    pub(crate) fn effect(&mut self, op: Op, operands: Vec<Operand>) {
        self.0.push(instruction(op, None, None, operands));
    }

    /// An operation on unsigned numbers.
    pub(crate) fn math(&mut self, builder: &mut Builder, op: Op, a: Word, b: Word) -> Word {
        let ty = builder.u32();
        self.value(builder, op, ty, vec![Operand::IdRef(a), Operand::IdRef(b)])
    }
}
