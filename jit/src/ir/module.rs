//! A module: declarations and functions.
//!
//! # Guarantees
//! - each declaration comes after those that it refers to, except for forward-declared pointers

use ahash::AHashMap;
use rspirv::dr::Operand;
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, MemoryModel, Op,
    StorageClass,
};
use smallvec::SmallVec;

use super::entity::{Const, DecorationSet, Entity as _, ExtSet, Func, Global, PrimaryMap, Type, Value};
use super::function::Function;
use super::types::{GlobalArg, TypeData, TypeKind, Types};

/// What a constant is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConstKind {
    /// A truth.
    Bool(bool),
    /// The bits of a number, as words.
    Bits(SmallVec<[u32; 2]>),
    /// Of parts.
    Composite(Vec<Const>),
    /// Zero of any type.
    Null,
    /// Undefined.
    Undef,
    /// One that is specialised, or of another sort.
    Other {
        /// The opcode.
        op: Op,
        /// Its operands.
        operands: Vec<GlobalArg>,
    },
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConstData {
    /// Its type.
    pub ty: Type,
    /// What it is.
    pub kind: ConstKind,
    /// Its decorations.
    pub decorations: Option<DecorationSet>,
}

/// A variable of the module.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalData {
    /// Type of a pointer to it.
    pub pointer: Type,
    /// Where it lies.
    pub class: StorageClass,
    /// What it holds at first.
    pub initializer: Option<GlobalArg>,
    /// Its decorations.
    pub decorations: Option<DecorationSet>,
}

/// An entry point.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryPoint {
    /// Its stage.
    pub model: ExecutionModel,
    /// Its function.
    pub function: Func,
    /// Its name.
    pub name: String,
    /// Variables that it uses.
    pub interface: Vec<Global>,
}

/// An execution mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// `OpExecutionMode`, or that with constants.
    pub op: Op,
    /// The function that it applies to.
    pub function: Func,
    /// The mode, and its operands.
    pub operands: Vec<GlobalArg>,
}

/// A declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Item {
    Forward(Type),
    Type(Type),
    Const(Const),
    Global(Global),
}

/// What has a debug name, except for values of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Named {
    Type(Type),
    Member(Type, u32),
    Const(Const),
    Global(Global),
    Func(Func),
}

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Version of SPIR-V.
    pub version: (u8, u8),
    /// The generator word: the tool that made the module.
    pub generator: u32,
    /// What a device has to have.
    pub capabilities: Vec<Capability>,
    /// Extensions of SPIR-V.
    pub extensions: Vec<String>,
    /// Imported sets of instructions.
    pub sets: PrimaryMap<ExtSet, String>,
    /// How memory is addressed, and how it behaves.
    pub memory_model: (AddressingModel, MemoryModel),
    /// Its entry points.
    pub entry_points: Vec<EntryPoint>,
    /// Their execution modes.
    pub modes: Vec<Mode>,
    /// Its types.
    pub types: Types,
    /// Its variables.
    pub globals: PrimaryMap<Global, GlobalData>,
    /// Its functions.
    pub functions: PrimaryMap<Func, Function>,
    /// Those that there are, in order.
    pub defined: Vec<Func>,
    /// Debug names.
    pub names: AHashMap<Named, String>,
    /// Declarations in order.
    pub(super) items: Vec<Item>,
    constants: PrimaryMap<Const, ConstData>,
    known: AHashMap<ConstData, Const>,
    decorations: PrimaryMap<DecorationSet, Vec<Vec<Operand>>>,
    decorated: AHashMap<Vec<Vec<Operand>>, DecorationSet>,
}

impl Default for Module {
    fn default() -> Self {
        Self {
            version: (1, 3),
            generator: 0,
            capabilities: Vec::new(),
            extensions: Vec::new(),
            sets: PrimaryMap::default(),
            memory_model: (AddressingModel::Logical, MemoryModel::GLSL450),
            entry_points: Vec::new(),
            modes: Vec::new(),
            types: Types::default(),
            globals: PrimaryMap::default(),
            functions: PrimaryMap::default(),
            defined: Vec::new(),
            names: AHashMap::new(),
            items: Vec::new(),
            constants: PrimaryMap::default(),
            known: AHashMap::new(),
            decorations: PrimaryMap::default(),
            decorated: AHashMap::new(),
        }
    }
}

impl Module {
    /// The type with these contents.
    pub fn ty(&mut self, data: impl Into<TypeData>) -> Type {
        let (ty, is_new) = self.types.intern(data.into());
        if is_new {
            self.items.push(Item::Type(ty));
        }
        ty
    }

    /// The type of a pointer.
    pub fn pointer(&mut self, class: StorageClass, pointee: Type) -> Type {
        self.ty(TypeKind::Pointer { class, pointee })
    }

    /// The constant with these contents.
    pub fn constant(&mut self, data: ConstData) -> Const {
        if let Some(&known) = self.known.get(&data) {
            return known;
        }
        let constant = self.constants.push(data.clone());
        self.known.insert(data, constant);
        self.items.push(Item::Const(constant));
        constant
    }

    /// The type of numbers of 32 bits without a sign.
    pub fn u32(&mut self) -> Type {
        self.ty(TypeKind::Int { width: 32, signed: false })
    }

    /// The constant `value` of 32 bits without a sign.
    pub fn word(&mut self, value: u32) -> Const {
        let ty = self.u32();
        let kind = ConstKind::Bits(SmallVec::from_slice(&[value]));
        self.constant(ConstData { ty, kind, decorations: None })
    }

    /// A truth, as a value of a function.
    pub fn truth(&mut self, f: &mut Function, is: bool) -> Value {
        let ty = self.ty(TypeKind::Bool);
        let constant = self.constant(ConstData { ty, kind: ConstKind::Bool(is), decorations: None });
        f.constant(constant, ty)
    }

    /// A variable: never shared. Entry points that there are use it.
    pub fn global(&mut self, data: GlobalData) -> Global {
        let is_interface = self.version >= (1, 4) || data.class == StorageClass::Input;
        let global = self.globals.push(data);
        self.items.push(Item::Global(global));
        self.entry_points.iter_mut().filter(|_| is_interface).for_each(|entry| entry.interface.push(global));
        global
    }

    /// A variable that is declared later ([`Self::retype`]), when its type is known.
    pub(crate) fn undeclared(&mut self, class: StorageClass) -> Global {
        self.globals.push(GlobalData { pointer: Type::new(0), class, initializer: None, decorations: None })
    }

    /// Gives a variable another type, and declares it anew. Places in it keep theirs.
    pub fn retype(&mut self, global: Global, pointer: Type) {
        self.globals[global].pointer = pointer;
        self.items.retain(|item| *item != Item::Global(global));
        self.items.push(Item::Global(global));
    }

    /// The variable of the push constants.
    pub fn push_constants(&self) -> Option<Global> {
        self.declared().find(|&global| self.globals[global].class == StorageClass::PushConstant)
    }

    /// First byte of a member of a struct with a layout.
    pub fn offset(&self, ty: Type, member: u32) -> Option<u32> {
        self.types.get(ty).members.iter().find_map(|(number, decoration)| match decoration.as_slice() {
            [Operand::Decoration(Decoration::Offset), Operand::LiteralBit32(offset)] => {
                (*number == member).then_some(*offset)
            }
            _ => None,
        })
    }

    /// The part of a type with a layout at the end of a path, and its first byte.
    pub fn part_at(&self, ty: Type, path: impl IntoIterator<Item = u32>) -> Option<(Type, u32)> {
        path.into_iter().try_fold((ty, 0u32), |(ty, offset), number| {
            let before = match self.types.kind(ty) {
                TypeKind::Struct { .. } => self.offset(ty, number)?,
                _ => self.stride(ty)?.checked_mul(number)?,
            };
            Some((self.types.part(ty, Some(number))?, offset.checked_add(before)?))
        })
    }

    /// Bytes from one element of an array with a layout to the next.
    pub fn stride(&self, array: Type) -> Option<u32> {
        self.types.get(array).decorations.iter().find_map(|decoration| match decoration.as_slice() {
            &[Operand::Decoration(Decoration::ArrayStride), Operand::LiteralBit32(stride)] => Some(stride),
            _ => None,
        })
    }

    /// The variables that are declared, in order.
    pub fn declared(&self) -> impl Iterator<Item = Global> + '_ {
        self.items.iter().filter_map(|item| match item {
            Item::Global(global) => Some(*global),
            _ => None,
        })
    }

    /// The variable of a built-in.
    pub fn input(&self, builtin: BuiltIn) -> Option<Global> {
        let operand = [Operand::BuiltIn(builtin)];
        self.declared().find(|&global| self.decoration(global, Decoration::BuiltIn) == Some(&operand))
    }

    /// The same; one of a type is declared if there is none.
    pub fn input_of(&mut self, builtin: BuiltIn, ty: Type) -> Global {
        self.input(builtin).unwrap_or_else(|| {
            let (class, pointer) = (StorageClass::Input, self.pointer(StorageClass::Input, ty));
            let decoration = vec![Operand::Decoration(Decoration::BuiltIn), Operand::BuiltIn(builtin)];
            let decorations = self.decorations(vec![decoration]);
            self.global(GlobalData { pointer, class, initializer: None, decorations })
        })
    }

    /// Removes variables from the declarations: nothing may use them.
    pub fn remove_globals(&mut self, is_gone: impl Fn(Global) -> bool) {
        let gone = |global: &Global| is_gone(*global);
        self.items.retain(|item| !matches!(item, Item::Global(global) if gone(global)));
        for entry in &mut self.entry_points {
            entry.interface.retain(|global| !gone(global));
        }
    }

    /// Declarations in order.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// A constant.
    pub fn const_data(&self, constant: Const) -> &ConstData {
        &self.constants[constant]
    }

    /// The number that a constant of at most 32 bits, or a null, is.
    pub fn number(&self, constant: Const) -> Option<u32> {
        let data = self.constants.get(constant)?;
        match (&data.kind, self.types.kind(data.ty)) {
            (ConstKind::Bits(bits), _) if bits.len() == 1 => bits.first().copied(),
            (ConstKind::Null, TypeKind::Int { width, .. }) if *width <= 32 => Some(0),
            _ => None,
        }
    }

    /// The word that an integer constant of 32 bits is; of a truth, 0 or 1.
    pub fn word_of(&self, constant: Const) -> Option<u32> {
        let data = self.const_data(constant);
        match (&data.kind, self.types.kind(data.ty)) {
            (ConstKind::Bool(truth), _) => Some(u32::from(*truth)),
            (_, TypeKind::Int { width: 32, .. }) => self.number(constant),
            _ => None,
        }
    }

    /// The size of the work-group.
    pub fn local_size(&self) -> Option<[u32; 3]> {
        let local = GlobalArg::Literal(Operand::ExecutionMode(ExecutionMode::LocalSize));
        let sizes = self.modes.iter().find_map(|mode| match mode.operands.as_slice() {
            [first, sizes @ ..] if *first == local => Some(sizes),
            _ => None,
        })?;
        match sizes {
            &[
                GlobalArg::Literal(Operand::LiteralBit32(x)),
                GlobalArg::Literal(Operand::LiteralBit32(y)),
                GlobalArg::Literal(Operand::LiteralBit32(z)),
            ] => Some([x, y, z]),
            _ => None,
        }
    }

    /// Changes the size of the work-group.
    pub fn set_local_size(&mut self, size: [u32; 3]) {
        let local = GlobalArg::Literal(Operand::ExecutionMode(ExecutionMode::LocalSize));
        let is_it = |mode: &&mut Mode| mode.operands.first() == Some(&local);
        for mode in self.modes.iter_mut().filter(is_it) {
            let sizes = size.iter().map(|&n| GlobalArg::Literal(Operand::LiteralBit32(n)));
            mode.operands = std::iter::once(local.clone()).chain(sizes).collect();
        }
    }

    /// The set of these decorations.
    pub fn decorations(&mut self, decorations: Vec<Vec<Operand>>) -> Option<DecorationSet> {
        if decorations.is_empty() {
            return None;
        }
        if let Some(&known) = self.decorated.get(&decorations) {
            return Some(known);
        }
        let set = self.decorations.push(decorations.clone());
        self.decorated.insert(decorations, set);
        Some(set)
    }

    /// The decorations of a variable of a resource.
    pub(crate) fn bound(binding: u32) -> [Vec<Operand>; 2] {
        [(Decoration::DescriptorSet, 0), (Decoration::Binding, binding)]
            .map(|(what, number)| vec![Operand::Decoration(what), Operand::LiteralBit32(number)])
    }

    /// The decorations of a set.
    pub fn decoration_list(&self, set: Option<DecorationSet>) -> &[Vec<Operand>] {
        set.map_or(&[], |set| &self.decorations[set])
    }

    /// The operands of a decoration of a variable, if it has it.
    pub fn decoration(&self, global: Global, wanted: Decoration) -> Option<&[Operand]> {
        self.decoration_list(self.globals[global].decorations).iter().find_map(|one| match one.as_slice() {
            [Operand::Decoration(decoration), operands @ ..] if *decoration == wanted => Some(operands),
            _ => None,
        })
    }

    /// Adds a capability that is not there yet.
    pub fn capability(&mut self, capability: Capability) {
        if !self.capabilities.contains(&capability) {
            self.capabilities.push(capability);
        }
    }

    /// Adds an extension that is not there yet.
    pub(crate) fn extension(&mut self, name: &str) {
        if !self.extensions.iter().any(|known| known == name) {
            self.extensions.push(name.to_owned());
        }
    }

    /// Members of a struct, or elements of an array of a known length; nothing for others.
    pub(crate) fn parts(&self, ty: Type) -> Option<Vec<Type>> {
        match self.types.kind(ty) {
            TypeKind::Struct { members } => Some(members.clone()),
            TypeKind::Array { element, length } => Some(vec![*element; self.number(*length)? as usize]),
            _ => None,
        }
    }

    pub(super) fn forward(&mut self, class: StorageClass) -> Type {
        let ty = self.types.forward(class);
        self.items.push(Item::Forward(ty));
        ty
    }

    pub(super) fn complete(&mut self, pointer: Type, data: TypeData) {
        self.types.complete(pointer, data);
        self.items.push(Item::Type(pointer));
    }
}
