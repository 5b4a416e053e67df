//! What the elements of a kernel's buffers are made of, compared with those of the buffers that are bound.
//!
//! # Guarantees
//! - what is refused differs: no scalar of the block has the kind and the size of the buffer's, or no number of elements of
//!   the one takes as many bytes as some number of the other
//! - a binding of unknown type (untyped pointers, say) takes everything

use std::collections::BTreeSet;
use std::fmt;

use ahash::AHashSet;
use rspirv::spirv::{Decoration, Op, StorageClass};

use super::set_binding::SetBinding;
use super::words::Declarations;

/// A scalar in memory: integers with and without sign are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryScalar {
    /// An IEEE float, by its size in bytes.
    Float(u8),
    /// An integer, by its size in bytes, or a device address (8); also a float of another encoding (`bfloat16`), for which a host
    /// has no type.
    Int(u8),
}

impl MemoryScalar {
    fn bytes(self) -> u32 {
        match self {
            Self::Float(bytes) | Self::Int(bytes) => bytes.into(),
        }
    }
}

/// The element type of a buffer, as the host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Bytes (`u8`), which may be anything.
    Bytes,
    /// A scalar, or an array of them.
    Scalars {
        /// Kind and size.
        scalar: MemoryScalar,
        /// Whether it is an integer with a sign, which makes no difference but in messages.
        signed: bool,
        /// How many.
        count: u32,
    },
    /// A complex number, by the bytes of each of its two floats; never the same as two elements.
    Complex(u8),
    /// A boolean of one byte.
    Bool,
    /// A structure, by its size in bytes.
    Struct(u32),
    /// A type that no kernel has, such as text, by its size in bytes.
    Other(u32),
}

impl ElementType {
    /// A float of `bytes` bytes.
    #[must_use]
    pub fn float(bytes: u8) -> Self {
        Self::Scalars { scalar: MemoryScalar::Float(bytes), signed: false, count: 1 }
    }

    /// An integer of `bytes` bytes.
    #[must_use]
    pub fn int(bytes: u8, signed: bool) -> Self {
        Self::Scalars { scalar: MemoryScalar::Int(bytes), signed, count: 1 }
    }

    /// An array of `len` scalars.
    #[must_use]
    pub fn array(self, len: u32) -> Self {
        match self {
            Self::Scalars { scalar, signed, count } => {
                Self::Scalars { scalar, signed, count: count.saturating_mul(len) }
            }
            other => other,
        }
    }

    fn bytes(self) -> u64 {
        match self {
            Self::Bytes | Self::Bool => 1,
            Self::Scalars { scalar, count, .. } => u64::from(scalar.bytes()) * u64::from(count),
            Self::Complex(bytes) => u64::from(bytes) * 2,
            Self::Struct(bytes) | Self::Other(bytes) => bytes.into(),
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |scalar, signed| match (scalar, signed) {
            (MemoryScalar::Float(bytes), _) => format!("f{}", u32::from(bytes) * 8),
            (MemoryScalar::Int(bytes), true) => format!("i{}", u32::from(bytes) * 8),
            (MemoryScalar::Int(bytes), false) => format!("u{}", u32::from(bytes) * 8),
        };
        match *self {
            Self::Bytes => f.write_str("bytes"),
            Self::Scalars { scalar, signed, count: 1 } => f.write_str(&name(scalar, signed)),
            Self::Scalars { scalar, signed, count } => write!(f, "[{}; {count}]", name(scalar, signed)),
            Self::Complex(bytes) => write!(f, "complex numbers of two f{}", u32::from(bytes) * 8),
            Self::Bool => f.write_str("bool"),
            Self::Struct(bytes) => write!(f, "structures of {bytes} bytes"),
            Self::Other(bytes) => write!(f, "{bytes} bytes that are no numbers"),
        }
    }
}

/// What a kernel declares in one place: its variables there, which may see the same bytes in several ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    at: SetBinding,
    views: Vec<View>,
}

/// A block, as one variable sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct View {
    /// The scalars in it, wherever they are.
    scalars: BTreeSet<MemoryScalar>,
    /// From one element to the next, of a block that is one array.
    stride: Option<u32>,
    /// In words: the element of a block that is one array, else the block.
    text: String,
}

impl View {
    fn takes(&self, element: ElementType) -> bool {
        // A whole number of elements of one type is one element of the other.
        let fits = |stride: u32| {
            let (stride, bytes) = (u64::from(stride).max(1), element.bytes().max(1));
            bytes.is_multiple_of(stride) || stride.is_multiple_of(bytes)
        };
        let fits = self.stride.is_none_or(fits);
        match element {
            ElementType::Bytes => true,
            ElementType::Scalars { scalar, .. } => self.scalars.contains(&scalar) && fits,
            ElementType::Complex(bytes) => {
                let pairs =
                    self.stride.is_none_or(|stride| u64::from(stride).is_multiple_of(element.bytes()));
                self.scalars.contains(&MemoryScalar::Float(bytes)) && pairs
            }
            ElementType::Bool => self.scalars.contains(&MemoryScalar::Int(1)),
            ElementType::Struct(_) => fits,
            ElementType::Other(_) => false,
        }
    }
}

impl Declared {
    /// Whether a buffer with such elements can be bound there.
    #[must_use]
    pub fn takes(&self, element: ElementType) -> bool {
        self.views.is_empty() || self.views.iter().any(|view| view.takes(element))
    }
}

impl Declared {
    /// Whether the block has scalars of other types than a buffer of such elements, however the kernel sees it.
    #[must_use]
    pub fn has_others(&self, element: ElementType) -> bool {
        let ElementType::Scalars { scalar: own, .. } = element else { return false };
        let is_mixed = |view: &View| view.scalars.iter().any(|scalar| *scalar != own);
        !self.views.is_empty() && self.views.iter().all(is_mixed)
    }

    /// Bytes from one element to the next, of a block that is one array, however the kernel sees it.
    #[must_use]
    pub fn stride(&self) -> Option<u32> {
        let first = self.views.first()?.stride?;
        self.views.iter().all(|view| view.stride == Some(first)).then_some(first)
    }

    /// Bytes from one element to the next where the block is an array of scalars with padding between them, as `std140` has it, for a
    /// buffer that has such scalars without.
    #[must_use]
    pub fn padded(&self, element: ElementType) -> Option<u32> {
        let ElementType::Scalars { count: 1, .. } = element else { return None };
        let is_scalar = |view: &View| view.text.get(1..).is_some_and(|bits| bits.parse::<u32>().is_ok());
        let strides = self.views.iter().filter(|view| is_scalar(view) && view.takes(element));
        let mut strides = strides.filter_map(|view| view.stride);
        strides.find(|stride| u64::from(*stride) > element.bytes())
    }
}

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: BTreeSet<&str> = self.views.iter().map(|view| &*view.text).collect();
        f.write_str(&texts.into_iter().collect::<Vec<_>>().join(" or "))
    }
}

/// What a kernel declares at a binding, if it is one of those.
pub(crate) fn at(all: &[Declared], at: SetBinding) -> Option<&Declared> {
    all.iter().find(|declared| declared.at == at.whole())
}

/// What a module declares of its buffers.
pub(crate) fn declared(module: &[u32]) -> Vec<Declared> {
    let types = Types(Declarations::of(module));
    let mut found: Vec<Declared> = Vec::new();
    for variable in &types.0.variables {
        if ![StorageClass::StorageBuffer as u32, StorageClass::Uniform as u32].contains(&variable.at(2)) {
            continue;
        }
        let at = types.0.place(variable.at(1)).unwrap_or_default();
        let Some(view) = types.view(variable.at(0)) else { continue };
        match found.iter_mut().find(|one| one.at == at) {
            Some(one) => one.views.push(view),
            None => found.push(Declared { at, views: vec![view] }),
        }
    }
    found
}

struct Types<'a>(Declarations<'a>);

/// Deepest nesting of structures that a message spells out.
const DEPTH: u32 = 2;

/// Most members of a structure that a message spells out.
const MEMBERS: usize = 4;

impl Types<'_> {
    fn op(&self, ty: u32) -> Option<Op> {
        self.0.ty(ty)?.op()
    }

    fn is_array(&self, ty: u32) -> bool {
        matches!(self.op(ty), Some(Op::TypeArray | Op::TypeRuntimeArray))
    }

    /// The block that a pointer points to, or an array of descriptors of it.
    fn view(&self, pointer: u32) -> Option<View> {
        let mut block = self.0.ty(pointer)?.at(2);
        while self.is_array(block) {
            block = self.0.ty(block)?.at(1);
        }
        let inst = self.0.ty(block).filter(|inst| inst.op() == Some(Op::TypeStruct))?;
        let mut scalars = BTreeSet::new();
        self.scalars(block, &mut AHashSet::new(), &mut scalars);
        let array = match inst.from(1) {
            [only] if self.is_array(*only) => Some(*only),
            _ => None,
        };
        let element = array.and_then(|array| self.0.ty(array)).map_or(block, |array| array.at(1));
        Some(View {
            scalars,
            stride: array.and_then(|array| self.0.decoration(array, None, Decoration::ArrayStride)),
            text: self.text(element, DEPTH),
        })
    }

    fn scalars(&self, ty: u32, seen: &mut AHashSet<u32>, into: &mut BTreeSet<MemoryScalar>) {
        let Some(inst) = self.0.ty(ty).filter(|_| seen.insert(ty)) else { return };
        let bytes = u8::try_from(inst.at(1) / 8).unwrap_or(u8::MAX);
        match inst.op() {
            Some(Op::TypeInt) => drop(into.insert(MemoryScalar::Int(bytes))),
            // With an encoding it is another than IEEE's.
            Some(Op::TypeFloat) if inst.from(2).is_empty() => {
                into.insert(MemoryScalar::Float(bytes));
            }
            Some(Op::TypeFloat) => drop(into.insert(MemoryScalar::Int(bytes))),
            Some(Op::TypePointer) => drop(into.insert(MemoryScalar::Int(8))),
            Some(Op::TypeStruct) => {
                inst.from(1).iter().for_each(|member| self.scalars(*member, seen, into));
            }
            _ => self.scalars(inst.at(1), seen, into),
        }
    }

    fn text(&self, ty: u32, depth: u32) -> String {
        let Some(inst) = self.0.ty(ty) else { return "?".to_owned() };
        let part = || self.text(inst.at(1), depth);
        match inst.op() {
            Some(Op::TypeInt) if inst.at(2) == 0 => format!("u{}", inst.at(1)),
            Some(Op::TypeInt) => format!("i{}", inst.at(1)),
            Some(Op::TypeFloat) if inst.from(2).is_empty() => format!("f{}", inst.at(1)),
            Some(Op::TypeFloat) => format!("floats of {} bits of another encoding", inst.at(1)),
            Some(Op::TypePointer) => "addresses".to_owned(),
            Some(Op::TypeVector) => format!("vec{}<{}>", inst.at(2), part()),
            Some(Op::TypeMatrix) => {
                let column = self.0.ty(inst.at(1));
                let (rows, scalar) = column.map_or((0, 0), |column| (column.at(2), column.at(1)));
                format!("mat{}x{rows}<{}>", inst.at(2), self.text(scalar, depth))
            }
            Some(Op::TypeArray) => {
                let len = self.0.constant(inst.at(2)).map_or("_".to_owned(), |len| len.to_string());
                format!("[{}; {len}]", part())
            }
            Some(Op::TypeRuntimeArray) => format!("[{}]", part()),
            Some(Op::TypeStruct) if depth == 0 => "struct".to_owned(),
            Some(Op::TypeStruct) => {
                let members = inst.from(1);
                let mut texts: Vec<String> =
                    members.iter().take(MEMBERS).map(|member| self.text(*member, depth - 1)).collect();
                if members.len() > MEMBERS {
                    texts.push("…".to_owned());
                }
                format!("struct {{ {} }}", texts.join(", "))
            }
            _ => "?".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
