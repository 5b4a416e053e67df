//! Declarations into rspirv's: types, constants, variables, and what they are decorated with.

use ahash::AHashMap;
use rspirv::dr::{self, ModuleHeader, Operand};
use rspirv::spirv::{Op, Word};

use crate::ir::entity::{Const, DecorationSet, Entity as _, ExtSet, Func, Global, Type};
use crate::ir::module::{ConstKind, Item, Module, Named};
use crate::ir::opcodes::instruction;
use crate::ir::types::{GlobalArg, TypeKind};

pub(super) struct Exporter<'m> {
    pub(super) module: &'m Module,
    pub(super) out: dr::Module,
    next: Word,
    types: Vec<Word>,
    constants: Vec<Word>,
    globals: Vec<Word>,
    functions: Vec<Word>,
    sets: Vec<Word>,
    /// Constants of 32 bits that name scopes and semantics.
    words: AHashMap<u32, Word>,
}

impl<'m> Exporter<'m> {
    pub(super) fn new(module: &'m Module) -> Self {
        Self {
            module,
            out: dr::Module::new(),
            next: 1,
            types: vec![0; module.types.len()],
            constants: Vec::new(),
            globals: vec![0; module.globals.len()],
            functions: Vec::new(),
            sets: Vec::new(),
            words: AHashMap::new(),
        }
    }

    pub(super) fn fresh(&mut self) -> Word {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn ty(&self, ty: Type) -> Word {
        self.types[ty.index()]
    }

    pub(super) fn constant(&self, constant: Const) -> Word {
        self.constants[constant.index()]
    }

    pub(super) fn global(&self, global: Global) -> Word {
        self.globals[global.index()]
    }

    pub(super) fn function(&self, function: Func) -> Word {
        self.functions[function.index()]
    }

    pub(super) fn set(&self, set: ExtSet) -> Word {
        self.sets[set.index()]
    }

    fn arg(&self, arg: &GlobalArg) -> Operand {
        match arg {
            GlobalArg::Type(ty) => Operand::IdRef(self.ty(*ty)),
            GlobalArg::Const(constant) => Operand::IdRef(self.constant(*constant)),
            GlobalArg::Global(global) => Operand::IdRef(self.global(*global)),
            GlobalArg::Literal(literal) => literal.clone(),
        }
    }

    pub(super) fn annotate(&mut self, id: Word, decorations: Option<DecorationSet>) {
        for decoration in self.module.decoration_list(decorations) {
            let operands = [Operand::IdRef(id)].into_iter().chain(decoration.iter().cloned()).collect();
            self.out.annotations.push(instruction(Op::Decorate, None, None, operands));
        }
    }

    pub(super) fn name(&mut self, id: Word, name: &str) {
        let operands = vec![Operand::IdRef(id), Operand::LiteralString(name.to_owned())];
        self.out.debug_names.push(instruction(Op::Name, None, None, operands));
    }

    fn named(&mut self, id: Word, named: Named) {
        if let Some(name) = self.module.names.get(&named) {
            self.name(id, name);
        }
    }

    fn declare(&mut self, op: Op, ty: Option<Word>, id: Word, operands: Vec<Operand>) {
        self.out.types_global_values.push(instruction(op, ty, Some(id), operands));
    }

    pub(super) fn declarations(&mut self) {
        let module = self.module;
        let plain = |op: Op, operand: Operand| instruction(op, None, None, vec![operand]);
        let capabilities = module.capabilities.iter();
        self.out.capabilities =
            capabilities.map(|&one| plain(Op::Capability, Operand::Capability(one))).collect();
        let extensions = module.extensions.iter();
        self.out.extensions =
            extensions.map(|name| plain(Op::Extension, Operand::LiteralString(name.clone()))).collect();
        for name in module.sets.values() {
            let id = self.fresh();
            self.sets.push(id);
            let operands = vec![Operand::LiteralString(name.clone())];
            self.out.ext_inst_imports.push(instruction(Op::ExtInstImport, None, Some(id), operands));
        }
        let (addressing, memory) = module.memory_model;
        let operands = vec![Operand::AddressingModel(addressing), Operand::MemoryModel(memory)];
        self.out.memory_model = Some(instruction(Op::MemoryModel, None, None, operands));
        for &item in module.items() {
            match item {
                Item::Forward(ty) => {
                    let id = self.fresh();
                    self.types[ty.index()] = id;
                    let class = match module.types.kind(ty) {
                        TypeKind::Pointer { class, .. } | TypeKind::Forward { class } => *class,
                        _ => continue,
                    };
                    let operands = vec![Operand::IdRef(id), Operand::StorageClass(class)];
                    let inst = instruction(Op::TypeForwardPointer, None, None, operands);
                    self.out.types_global_values.push(inst);
                }
                Item::Type(ty) => self.declare_type(ty),
                Item::Const(constant) => self.declare_constant(constant),
                Item::Global(global) => self.declare_global(global),
            }
        }
        for function in module.functions.keys() {
            let id = self.fresh();
            self.functions.push(id);
            if module.defined.contains(&function) {
                self.named(id, Named::Func(function));
            }
        }
    }

    fn declare_type(&mut self, ty: Type) {
        let module = self.module;
        if self.types[ty.index()] == 0 {
            self.types[ty.index()] = self.fresh();
        }
        let id = self.types[ty.index()];
        let data = module.types.get(ty);
        let number = Operand::LiteralBit32;
        let of = |ty: &Type| Operand::IdRef(self.ty(*ty));
        let (op, operands) = match &data.kind {
            TypeKind::Void => (Op::TypeVoid, Vec::new()),
            TypeKind::Bool => (Op::TypeBool, Vec::new()),
            TypeKind::Int { width, signed } => {
                (Op::TypeInt, vec![number(*width), number(u32::from(*signed))])
            }
            TypeKind::Float { width } => (Op::TypeFloat, vec![number(*width)]),
            TypeKind::Vector { element, count } => (Op::TypeVector, vec![of(element), number(*count)]),
            TypeKind::Matrix { column, count } => (Op::TypeMatrix, vec![of(column), number(*count)]),
            TypeKind::Array { element, length } => {
                (Op::TypeArray, vec![of(element), Operand::IdRef(self.constant(*length))])
            }
            TypeKind::RuntimeArray { element } => (Op::TypeRuntimeArray, vec![of(element)]),
            TypeKind::Struct { members } => (Op::TypeStruct, members.iter().map(of).collect()),
            TypeKind::Pointer { class, pointee } => {
                (Op::TypePointer, vec![Operand::StorageClass(*class), of(pointee)])
            }
            TypeKind::Function { result, parameters } => {
                (Op::TypeFunction, std::iter::once(result).chain(parameters).map(of).collect())
            }
            TypeKind::Forward { .. } => return,
            TypeKind::Other { op, operands } => (*op, operands.iter().map(|arg| self.arg(arg)).collect()),
        };
        self.declare(op, None, id, operands);
        for decoration in &data.decorations {
            let operands = [Operand::IdRef(id)].into_iter().chain(decoration.iter().cloned()).collect();
            self.out.annotations.push(instruction(Op::Decorate, None, None, operands));
        }
        for (member, decoration) in &data.members {
            let start = [Operand::IdRef(id), Operand::LiteralBit32(*member)];
            let operands = start.into_iter().chain(decoration.iter().cloned()).collect();
            self.out.annotations.push(instruction(Op::MemberDecorate, None, None, operands));
        }
        self.named(id, Named::Type(ty));
    }

    fn declare_constant(&mut self, constant: Const) {
        let data = self.module.const_data(constant);
        let id = self.fresh();
        debug_assert_eq!(constant.index(), self.constants.len(), "constants come in order");
        self.constants.push(id);
        let ty = self.ty(data.ty);
        let (op, operands) = match &data.kind {
            ConstKind::Bool(true) => (Op::ConstantTrue, Vec::new()),
            ConstKind::Bool(false) => (Op::ConstantFalse, Vec::new()),
            ConstKind::Bits(bits) => match bits.as_slice() {
                [low, high] => {
                    let bits = u64::from(*low) | u64::from(*high) << 32;
                    (Op::Constant, vec![Operand::LiteralBit64(bits)])
                }
                bits => (Op::Constant, bits.iter().map(|&bits| Operand::LiteralBit32(bits)).collect()),
            },
            ConstKind::Composite(parts) => {
                let parts = parts.iter().map(|&part| Operand::IdRef(self.constant(part)));
                (Op::ConstantComposite, parts.collect())
            }
            ConstKind::Null => (Op::ConstantNull, Vec::new()),
            ConstKind::Undef => (Op::Undef, Vec::new()),
            ConstKind::Other { op, operands } => (*op, operands.iter().map(|arg| self.arg(arg)).collect()),
        };
        self.declare(op, Some(ty), id, operands);
        self.annotate(id, data.decorations);
        self.named(id, Named::Const(constant));
    }

    fn declare_global(&mut self, global: Global) {
        let data = &self.module.globals[global];
        let id = self.fresh();
        self.globals[global.index()] = id;
        let mut operands = vec![Operand::StorageClass(data.class)];
        operands.extend(data.initializer.as_ref().map(|arg| self.arg(arg)));
        let pointer = self.ty(data.pointer);
        self.declare(Op::Variable, Some(pointer), id, operands);
        self.annotate(id, data.decorations);
        self.named(id, Named::Global(global));
    }

    /// The constant of a number of 32 bits.
    pub(super) fn word(&mut self, number: u32) -> Word {
        if let Some(&known) = self.words.get(&number) {
            return known;
        }
        let module = self.module;
        let is_it = |constant: &Const| {
            let data = module.const_data(*constant);
            data.decorations.is_none()
                && matches!(module.types.kind(data.ty), TypeKind::Int { width: 32, .. })
                && matches!(&data.kind, ConstKind::Bits(bits) if bits.as_slice() == [number])
        };
        let constants = module.items().iter().filter_map(|item| match item {
            Item::Const(constant) => Some(*constant),
            _ => None,
        });
        let id = match { constants }.find(is_it) {
            Some(constant) => self.constant(constant),
            None => {
                let unsigned = TypeKind::Int { width: 32, signed: false };
                let known = module.types.iter().find(|(_, data)| data.kind == unsigned);
                let ty = match known {
                    Some((ty, _)) => self.ty(ty),
                    None => {
                        let id = self.fresh();
                        let operands = vec![Operand::LiteralBit32(32), Operand::LiteralBit32(0)];
                        self.declare(Op::TypeInt, None, id, operands);
                        id
                    }
                };
                let id = self.fresh();
                self.declare(Op::Constant, Some(ty), id, vec![Operand::LiteralBit32(number)]);
                id
            }
        };
        self.words.insert(number, id);
        id
    }

    pub(super) fn finish(mut self) -> dr::Module {
        let module = self.module;
        for entry in &module.entry_points {
            let mut operands = vec![
                Operand::ExecutionModel(entry.model),
                Operand::IdRef(self.function(entry.function)),
                Operand::LiteralString(entry.name.clone()),
            ];
            operands.extend(entry.interface.iter().map(|&global| Operand::IdRef(self.global(global))));
            self.out.entry_points.push(instruction(Op::EntryPoint, None, None, operands));
        }
        for mode in &module.modes {
            let operands = mode.operands.iter().map(|arg| self.arg(arg));
            let operands =
                [Operand::IdRef(self.function(mode.function))].into_iter().chain(operands).collect();
            self.out.execution_modes.push(instruction(mode.op, None, None, operands));
        }
        let mut header = ModuleHeader::new(self.next);
        header.set_version(module.version.0, module.version.1);
        header.generator = module.generator;
        self.out.header = Some(header);
        self.out
    }
}
