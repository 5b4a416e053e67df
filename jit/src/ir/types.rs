//! Interned types, with the layout that decorations give them.
//!
//! # Guarantees
//! - two types of a module differ in kind or layout, except for pointers that were forward-declared

use ahash::AHashMap;
use rspirv::dr::Operand;
use rspirv::spirv::{Op, StorageClass};

use super::entity::{Const, Global, PrimaryMap, Type};

/// An operand of a declaration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GlobalArg {
    /// A type.
    Type(Type),
    /// A constant.
    Const(Const),
    /// A variable.
    Global(Global),
    /// A number, a name, or one of an enumeration.
    Literal(Operand),
}

/// What sort of type it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TypeKind {
    Void,
    Bool,
    Int {
        width: u32,
        signed: bool,
    },
    Float {
        width: u32,
    },
    Vector {
        element: Type,
        count: u32,
    },
    Matrix {
        column: Type,
        count: u32,
    },
    Array {
        element: Type,
        length: Const,
    },
    RuntimeArray {
        element: Type,
    },
    Struct {
        members: Vec<Type>,
    },
    Pointer {
        class: StorageClass,
        pointee: Type,
    },
    Function {
        result: Type,
        parameters: Vec<Type>,
    },
    /// A pointer that was declared before what it leads to, until that is known.
    Forward {
        class: StorageClass,
    },
    /// Images, samplers, encodings of floats, and the rest.
    Other {
        op: Op,
        operands: Vec<GlobalArg>,
    },
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypeData {
    /// What sort it is.
    pub kind: TypeKind,
    /// Its decorations, each from the decoration on.
    pub decorations: Vec<Vec<Operand>>,
    /// Those of its members.
    pub members: Vec<(u32, Vec<Operand>)>,
}

impl From<TypeKind> for TypeData {
    fn from(kind: TypeKind) -> Self {
        Self { kind, decorations: Vec::new(), members: Vec::new() }
    }
}

impl TypeData {
    /// The same with its decorations in an order of their own: types that differ in that alone are one.
    pub(crate) fn sorted(mut self) -> Self {
        self.decorations.sort_by_key(|one| format!("{one:?}"));
        self.members.sort_by_key(|(member, one)| format!("{:?}{one:?}", Operand::LiteralBit32(*member)));
        self
    }
}

/// The types of a module.
#[derive(Clone, Debug, Default)]
pub struct Types {
    all: PrimaryMap<Type, TypeData>,
    known: AHashMap<TypeData, Type>,
}

impl Types {
    /// The type with these contents, and whether it is new.
    pub(super) fn intern(&mut self, data: TypeData) -> (Type, bool) {
        if let Some(&known) = self.known.get(&data) {
            return (known, false);
        }
        let ty = self.all.push(data.clone());
        self.known.insert(data, ty);
        (ty, true)
    }

    /// A pointer whose pointee comes later.
    pub(super) fn forward(&mut self, class: StorageClass) -> Type {
        self.all.push(TypeKind::Forward { class }.into())
    }

    /// Says what a pointer that was declared before leads to.
    pub(super) fn complete(&mut self, pointer: Type, data: TypeData) {
        self.all[pointer] = data;
    }

    /// Its contents.
    pub fn get(&self, ty: Type) -> &TypeData {
        &self.all[ty]
    }

    /// Its kind.
    pub fn kind(&self, ty: Type) -> &TypeKind {
        &self.all[ty].kind
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All types in order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (Type, &TypeData)> {
        self.all.iter()
    }

    /// Class and pointee of a pointer.
    pub fn pointer(&self, ty: Type) -> Option<(StorageClass, Type)> {
        match *self.kind(ty) {
            TypeKind::Pointer { class, pointee } => Some((class, pointee)),
            _ => None,
        }
    }

    /// Whether it is a pointer of any sort.
    pub fn is_pointer(&self, ty: Type) -> bool {
        match self.kind(ty) {
            TypeKind::Pointer { .. } | TypeKind::Forward { .. } => true,
            TypeKind::Other { op, .. } => *op == Op::TypeUntypedPointerKHR,
            _ => false,
        }
    }

    /// The type of a part: of a member for structs, whose number is given, of any element for the rest.
    pub fn part(&self, ty: Type, member: Option<u32>) -> Option<Type> {
        match self.kind(ty) {
            TypeKind::Vector { element, .. }
            | TypeKind::Array { element, .. }
            | TypeKind::RuntimeArray { element } => Some(*element),
            TypeKind::Matrix { column, .. } => Some(*column),
            TypeKind::Struct { members } => members.get(member? as usize).copied(),
            _ => None,
        }
    }

    /// Bits of a float, of whatever encoding.
    pub(crate) fn float_width(&self, ty: Type) -> Option<u32> {
        match self.kind(ty) {
            TypeKind::Float { width } => Some(*width),
            TypeKind::Other { op: Op::TypeFloat, operands } => match operands.first() {
                Some(GlobalArg::Literal(Operand::LiteralBit32(width))) => Some(*width),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether values of a type hold floats of a width that is `wanted`.
    pub(crate) fn holds_floats(&self, ty: Type, wanted: &dyn Fn(u32) -> bool) -> bool {
        match self.kind(ty) {
            TypeKind::RuntimeArray { .. } => false,
            TypeKind::Struct { members } => members.iter().any(|&member| self.holds_floats(member, wanted)),
            _ => match self.part(ty, None) {
                Some(part) => self.holds_floats(part, wanted),
                None => self.float_width(ty).is_some_and(wanted),
            },
        }
    }

    /// Bits of an integer or a float.
    pub fn width(&self, ty: Type) -> Option<u32> {
        match *self.kind(ty) {
            TypeKind::Int { width, .. } | TypeKind::Float { width } => Some(width),
            _ => None,
        }
    }
}
