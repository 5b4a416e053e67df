//! Declarations of rspirv's: types, constants, variables, and what they are decorated with.

use ahash::AHashMap;
use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{AddressingModel, MemoryModel, Op, Scope, Word};

use super::frame::Origins;
use crate::ir::entity::{Const, DecorationSet, ExtSet, Func, Global, Local, Place, Type, Value};
use crate::ir::function::Function;
use crate::ir::module::{ConstData, ConstKind, EntryPoint, GlobalData, Mode, Module, Named};
use crate::ir::types::{GlobalArg, TypeData, TypeKind};

/// Why a module has no form in the IR.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// Control flow.
    #[error("{}{what}", block.map(|block| format!("block {block}: ")).unwrap_or_default())]
    Control {
        /// Label of the block, if it has one.
        block: Option<Word>,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An instruction, or a declaration.
    #[error("{op:?}: {what}")]
    Instruction {
        /// Its opcode.
        op: Op,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An id that is not what it should be.
    #[error("id {id} is no {what}")]
    Id {
        /// The id.
        id: Word,
        /// What it should be.
        what: &'static str,
    },
}

impl Unsupported {
    pub(super) fn of(inst: &Instruction, what: &'static str) -> Self {
        Self::Instruction { op: inst.class.opcode, what }
    }
}

pub(super) type Result<T> = std::result::Result<T, Unsupported>;

/// What an id of the source names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slot {
    None,
    Type(Type),
    Const(Const),
    Global(Global),
    Func(Func),
    Set(ExtSet),
    Value(Value),
    Local(Local),
    Place(Place),
}

pub(super) struct Importer<'a> {
    pub(super) module: Module,
    slots: Vec<Slot>,
    /// Ids of the function that was imported last.
    own: Vec<Word>,
    /// Decorations by the id that they are of: whole, and of members.
    decorations: AHashMap<Word, Vec<&'a [Operand]>>,
    members: AHashMap<Word, Vec<(u32, &'a [Operand])>>,
    /// The set that was asked for last.
    recent: Option<(Vec<&'a [Operand]>, Option<DecorationSet>)>,
    pub(super) names: AHashMap<Word, &'a str>,
    /// Sets of debug information, whose instructions are dropped.
    pub(super) dropped_sets: Vec<Word>,
    pub(super) origins: Origins,
}

/// More than any id of a module: SPIR-V's limit, and Vulkan's.
const MOST_IDS: usize = 0x40_0000;

fn bound(source: &dr::Module) -> usize {
    let largest = source.all_inst_iter().filter_map(|inst| inst.result_id).max();
    let forward =
        source.types_global_values.iter().filter(|inst| inst.class.opcode == Op::TypeForwardPointer);
    let forward = forward.filter_map(|inst| inst.operands.first()?.id_ref_any()).max();
    largest.max(forward).map_or(0, |largest| largest as usize + 1)
}

/// The id at a place among the operands.
pub(super) fn id_at(inst: &Instruction, at: usize) -> Result<Word> {
    inst.operands.get(at).and_then(Operand::id_ref_any).ok_or(Unsupported::of(inst, "an id is missing"))
}

pub(super) fn literal_at(inst: &Instruction, at: usize) -> Result<u32> {
    match inst.operands.get(at) {
        Some(Operand::LiteralBit32(number)) => Ok(*number),
        _ => Err(Unsupported::of(inst, "a number is missing")),
    }
}

impl<'a> Importer<'a> {
    pub(super) fn new(source: &'a dr::Module) -> Result<Self> {
        let bound = bound(source);
        if bound > MOST_IDS {
            return Err(Unsupported::Id { id: bound as Word - 1, what: "id that a module may have" });
        }
        Ok(Self {
            module: Module::default(),
            slots: vec![Slot::None; bound],
            own: Vec::new(),
            decorations: AHashMap::new(),
            members: AHashMap::new(),
            recent: None,
            names: AHashMap::new(),
            dropped_sets: Vec::new(),
            origins: Origins::default(),
        })
    }

    pub(super) fn slot(&self, id: Word) -> Slot {
        self.slots.get(id as usize).copied().unwrap_or(Slot::None)
    }

    pub(super) fn set(&mut self, id: Word, slot: Slot) {
        if let Some(place) = self.slots.get_mut(id as usize) {
            *place = slot;
            if matches!(slot, Slot::Value(_) | Slot::Local(_) | Slot::Place(_)) {
                self.own.push(id);
            }
        }
    }

    /// Forgets the ids of a function: another one has no business with them.
    pub(super) fn leave(&mut self) {
        for id in std::mem::take(&mut self.own) {
            self.slots[id as usize] = Slot::None;
        }
    }

    pub(super) fn ty(&self, id: Word) -> Result<Type> {
        match self.slot(id) {
            Slot::Type(ty) => Ok(ty),
            _ => Err(Unsupported::Id { id, what: "type" }),
        }
    }

    pub(super) fn result_type(&self, inst: &Instruction) -> Result<Type> {
        self.ty(inst.result_type.ok_or(Unsupported::of(inst, "no type"))?)
    }

    pub(super) fn constant(&self, id: Word) -> Result<Const> {
        match self.slot(id) {
            Slot::Const(constant) => Ok(constant),
            _ => Err(Unsupported::Id { id, what: "constant" }),
        }
    }

    /// The number that a constant is.
    pub(super) fn number(&self, id: Word) -> Result<u32> {
        let number = self.module.number(self.constant(id)?);
        number.ok_or(Unsupported::Id { id, what: "number that is known" })
    }

    pub(super) fn scope(&self, id: Word) -> Result<Scope> {
        Scope::from_u32(self.number(id)?).ok_or(Unsupported::Id { id, what: "scope" })
    }

    pub(super) fn decorations_of(&mut self, id: Word) -> Option<DecorationSet> {
        if self.decorations.is_empty() {
            return None;
        }
        let all = self.decorations.get(&id)?;
        if let Some((_, set)) = self.recent.as_ref().filter(|(known, _)| known == all) {
            return *set;
        }
        let set = self.module.decorations(all.iter().map(|one| one.to_vec()).collect());
        self.recent = Some((all.clone(), set));
        set
    }

    pub(super) fn declarations(&mut self, source: &'a dr::Module) -> Result<()> {
        if let Some(header) = &source.header {
            self.module.version = header.version();
            self.module.generator = header.generator;
        }
        for inst in &source.capabilities {
            if let Some(Operand::Capability(capability)) = inst.operands.first() {
                self.module.capabilities.push(*capability);
            }
        }
        for inst in &source.extensions {
            if let Some(Operand::LiteralString(name)) = inst.operands.first() {
                self.module.extensions.push(name.clone());
            }
        }
        for inst in &source.ext_inst_imports {
            let (Some(id), Some(Operand::LiteralString(name))) = (inst.result_id, inst.operands.first())
            else {
                return Err(Unsupported::of(inst, "no name"));
            };
            if name.starts_with("NonSemantic.") {
                self.dropped_sets.push(id);
            } else {
                let set = self.module.sets.push(name.clone());
                self.set(id, Slot::Set(set));
            }
        }
        let model = source.memory_model.as_ref().map(|inst| inst.operands.as_slice());
        if let Some([Operand::AddressingModel(addressing), Operand::MemoryModel(memory)]) = model {
            self.module.memory_model = (*addressing, *memory);
        } else {
            // A module under construction says nothing of it.
            self.module.memory_model = (AddressingModel::Logical, MemoryModel::GLSL450);
        }
        self.annotations(source)?;
        for inst in &source.types_global_values {
            self.declaration(inst)?;
        }
        Ok(())
    }

    fn annotations(&mut self, source: &'a dr::Module) -> Result<()> {
        for inst in &source.annotations {
            match (inst.class.opcode, inst.operands.as_slice()) {
                (Op::Decorate, [Operand::IdRef(id), rest @ ..]) => {
                    self.decorations.entry(*id).or_default().push(rest);
                }
                (Op::MemberDecorate, [Operand::IdRef(id), Operand::LiteralBit32(member), rest @ ..]) => {
                    self.members.entry(*id).or_default().push((*member, rest));
                }
                // Only debug information.
                (Op::DecorateString | Op::MemberDecorateString, _) => {}
                _ => return Err(Unsupported::of(inst, "a decoration of another sort")),
            }
        }
        for inst in &source.debug_names {
            if let (Op::Name, [Operand::IdRef(id), Operand::LiteralString(name)]) =
                (inst.class.opcode, inst.operands.as_slice())
            {
                self.names.insert(*id, name);
            }
        }
        Ok(())
    }

    fn global_arg(&self, operand: &Operand) -> Result<GlobalArg> {
        let Some(id) = operand.id_ref_any() else { return Ok(GlobalArg::Literal(operand.clone())) };
        match self.slot(id) {
            Slot::Type(ty) => Ok(GlobalArg::Type(ty)),
            Slot::Const(constant) => Ok(GlobalArg::Const(constant)),
            Slot::Global(global) => Ok(GlobalArg::Global(global)),
            _ => Err(Unsupported::Id { id, what: "declaration" }),
        }
    }

    fn declaration(&mut self, inst: &Instruction) -> Result<()> {
        let op = inst.class.opcode;
        match op {
            Op::TypeForwardPointer => {
                let id = id_at(inst, 0)?;
                let Some(Operand::StorageClass(class)) = inst.operands.get(1) else {
                    return Err(Unsupported::of(inst, "no storage class"));
                };
                let ty = self.module.forward(*class);
                self.set(id, Slot::Type(ty));
            }
            Op::Line | Op::NoLine => {}
            Op::ExtInst if id_at(inst, 0).is_ok_and(|set| self.dropped_sets.contains(&set)) => {}
            Op::Variable => self.variable(inst)?,
            _ if inst.result_id.is_some() && inst.result_type.is_some() => self.declared_constant(inst)?,
            _ if inst.result_id.is_some() => self.declared_type(inst)?,
            _ => return Err(Unsupported::of(inst, "a declaration without a result")),
        }
        Ok(())
    }

    fn declared_type(&mut self, inst: &Instruction) -> Result<()> {
        let id = inst.result_id.ok_or(Unsupported::of(inst, "no id"))?;
        let ty_at = |at: usize| self.ty(id_at(inst, at)?);
        let kind = match (inst.class.opcode, inst.operands.len()) {
            (Op::TypeVoid, _) => TypeKind::Void,
            (Op::TypeBool, _) => TypeKind::Bool,
            (Op::TypeInt, _) => {
                TypeKind::Int { width: literal_at(inst, 0)?, signed: literal_at(inst, 1)? != 0 }
            }
            (Op::TypeFloat, 1) => TypeKind::Float { width: literal_at(inst, 0)? },
            (Op::TypeVector, _) => TypeKind::Vector { element: ty_at(0)?, count: literal_at(inst, 1)? },
            (Op::TypeMatrix, _) => TypeKind::Matrix { column: ty_at(0)?, count: literal_at(inst, 1)? },
            (Op::TypeArray, _) => {
                TypeKind::Array { element: ty_at(0)?, length: self.constant(id_at(inst, 1)?)? }
            }
            (Op::TypeRuntimeArray, _) => TypeKind::RuntimeArray { element: ty_at(0)? },
            (Op::TypeStruct, count) => {
                TypeKind::Struct { members: (0..count).map(ty_at).collect::<Result<_>>()? }
            }
            (Op::TypePointer, _) => match inst.operands.first() {
                Some(Operand::StorageClass(class)) => TypeKind::Pointer { class: *class, pointee: ty_at(1)? },
                _ => return Err(Unsupported::of(inst, "no storage class")),
            },
            (Op::TypeFunction, count) => TypeKind::Function {
                result: ty_at(0)?,
                parameters: (1..count).map(ty_at).collect::<Result<_>>()?,
            },
            (op, _) => {
                let operands = inst.operands.iter().map(|operand| self.global_arg(operand));
                TypeKind::Other { op, operands: operands.collect::<Result<_>>()? }
            }
        };
        let own = self.decorations.get(&id).map(|all| all.iter().map(|one| one.to_vec()).collect());
        let members =
            self.members.get(&id).map(|all| all.iter().map(|(n, one)| (*n, one.to_vec())).collect());
        let data =
            TypeData { kind, decorations: own.unwrap_or_default(), members: members.unwrap_or_default() };
        let ty = match self.slot(id) {
            Slot::Type(forward) => {
                self.module.complete(forward, data);
                forward
            }
            _ => self.module.ty(data),
        };
        self.set(id, Slot::Type(ty));
        self.name(id, Named::Type(ty));
        Ok(())
    }

    fn declared_constant(&mut self, inst: &Instruction) -> Result<()> {
        let id = inst.result_id.ok_or(Unsupported::of(inst, "no id"))?;
        let ty = self.result_type(inst)?;
        let kind = match (inst.class.opcode, inst.operands.as_slice()) {
            (Op::ConstantTrue, _) => ConstKind::Bool(true),
            (Op::ConstantFalse, _) => ConstKind::Bool(false),
            (Op::Constant, [Operand::LiteralBit32(bits)]) => ConstKind::Bits([*bits].as_slice().into()),
            (Op::Constant, [Operand::LiteralBit64(bits)]) => {
                ConstKind::Bits([*bits as u32, (bits >> 32) as u32].as_slice().into())
            }
            (Op::ConstantComposite, parts) => {
                let parts = parts.iter().filter_map(Operand::id_ref_any).map(|id| self.constant(id));
                ConstKind::Composite(parts.collect::<Result<_>>()?)
            }
            (Op::ConstantNull, _) => ConstKind::Null,
            (Op::Undef, _) => ConstKind::Undef,
            (op, operands) => {
                let operands = operands.iter().map(|operand| self.global_arg(operand));
                ConstKind::Other { op, operands: operands.collect::<Result<_>>()? }
            }
        };
        let decorations = self.decorations_of(id);
        let constant = self.module.constant(ConstData { ty, kind, decorations });
        self.set(id, Slot::Const(constant));
        self.name(id, Named::Const(constant));
        Ok(())
    }

    fn variable(&mut self, inst: &Instruction) -> Result<()> {
        let id = inst.result_id.ok_or(Unsupported::of(inst, "no id"))?;
        let pointer = self.result_type(inst)?;
        let Some(Operand::StorageClass(class)) = inst.operands.first() else {
            return Err(Unsupported::of(inst, "no storage class"));
        };
        let initializer = inst.operands.get(1).map(|operand| self.global_arg(operand)).transpose()?;
        let decorations = self.decorations_of(id);
        let global = self.module.global(GlobalData { pointer, class: *class, initializer, decorations });
        self.set(id, Slot::Global(global));
        self.name(id, Named::Global(global));
        Ok(())
    }

    fn name(&mut self, id: Word, named: Named) {
        if let Some(name) = self.names.get(&id).filter(|name| !name.is_empty()) {
            self.module.names.entry(named).or_insert_with(|| (*name).to_owned());
        }
    }

    pub(super) fn signature(&mut self, inst: &Instruction) -> Result<()> {
        let id = inst.result_id.ok_or(Unsupported::of(inst, "no id"))?;
        let result = self.result_type(inst)?;
        let Some(Operand::FunctionControl(control)) = inst.operands.first() else {
            return Err(Unsupported::of(inst, "no control"));
        };
        let mut function = Function::new(self.ty(id_at(inst, 1)?)?, result, *control);
        function.decorations = self.decorations_of(id);
        let function = self.module.functions.push(function);
        self.set(id, Slot::Func(function));
        self.name(id, Named::Func(function));
        Ok(())
    }

    pub(super) fn function(&self, id: Word) -> Result<Func> {
        match self.slot(id) {
            Slot::Func(function) => Ok(function),
            _ => Err(Unsupported::Id { id, what: "function" }),
        }
    }

    pub(super) fn entries(&mut self, source: &dr::Module) -> Result<()> {
        for inst in &source.entry_points {
            let [
                Operand::ExecutionModel(model),
                Operand::IdRef(function),
                Operand::LiteralString(name),
                interface @ ..,
            ] = inst.operands.as_slice()
            else {
                return Err(Unsupported::of(inst, "an entry point of another form"));
            };
            let interface = interface.iter().filter_map(Operand::id_ref_any).map(|id| match self.slot(id) {
                Slot::Global(global) => Ok(global),
                _ => Err(Unsupported::Id { id, what: "variable" }),
            });
            let entry = EntryPoint {
                model: *model,
                function: self.function(*function)?,
                name: name.clone(),
                interface: interface.collect::<Result<_>>()?,
            };
            self.module.entry_points.push(entry);
        }
        for inst in &source.execution_modes {
            let function = self.function(id_at(inst, 0)?)?;
            let operands = inst.operands.iter().skip(1).map(|operand| self.global_arg(operand));
            let mode = Mode { op: inst.class.opcode, function, operands: operands.collect::<Result<_>>()? };
            self.module.modes.push(mode);
        }
        Ok(())
    }
}
