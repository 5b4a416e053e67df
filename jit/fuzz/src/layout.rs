//! Types of buffer contents, and where their parts lie under each set of layout rules.

use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scalar {
    F32,
    U32,
    I32,
    U8,
    U16,
    U64,
}

impl Scalar {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "float",
            Self::U32 => "uint",
            Self::I32 => "int",
            Self::U8 => "uint8_t",
            Self::U16 => "uint16_t",
            Self::U64 => "uint64_t",
        }
    }

    fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U64 => 8,
            _ => 4,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    Scalar(Scalar),
    Vector(Scalar, u32),
    Matrix { columns: u32, rows: u32, row_major: bool },
    Array(Box<Type>, u32),
    Struct(&'static str, Vec<(&'static str, Type)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Packing {
    Std140,
    Std430,
    Scalar,
}

impl Packing {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Std140 => "std140",
            Self::Std430 => "std430",
            Self::Scalar => "scalar",
        }
    }
}

fn vector(scalar: Scalar, n: u32, packing: Packing) -> (u32, u32) {
    let one = scalar.bytes();
    let align = match (packing, n) {
        (Packing::Scalar, _) | (_, 1) => one,
        (_, 2) => 2 * one,
        _ => 4 * one,
    };
    (one * n, align)
}

fn array(size: u32, align: u32, packing: Packing) -> (u32, u32) {
    let align = if packing == Packing::Std140 { align.next_multiple_of(16) } else { align };
    (size.next_multiple_of(align), align)
}

impl Type {
    /// Size and alignment.
    pub(crate) fn extent(&self, packing: Packing) -> (u32, u32) {
        match self {
            Self::Scalar(scalar) => (scalar.bytes(), scalar.bytes()),
            Self::Vector(scalar, n) => vector(*scalar, *n, packing),
            Self::Matrix { columns, rows, row_major } => {
                let (outer, inner) = if *row_major { (*rows, *columns) } else { (*columns, *rows) };
                let (size, align) = vector(Scalar::F32, inner, packing);
                let (stride, align) = array(size, align, packing);
                (stride * outer, align)
            }
            Self::Array(of, n) => {
                let (size, align) = of.extent(packing);
                let (stride, align) = array(size, align, packing);
                (stride * n, align)
            }
            Self::Struct(_, members) => {
                let (mut end, mut most) = (0u32, 1);
                for (_, member) in members {
                    let (size, align) = member.extent(packing);
                    end = end.next_multiple_of(align) + size;
                    most = most.max(align);
                }
                if packing == Packing::Std140 {
                    most = most.next_multiple_of(16);
                }
                (end.next_multiple_of(most), most)
            }
        }
    }

    /// The same with every matrix in the other major.
    fn turned(&self) -> Self {
        match self {
            Self::Matrix { columns, rows, row_major } => {
                Self::Matrix { columns: *columns, rows: *rows, row_major: !row_major }
            }
            Self::Array(of, n) => Self::Array(Box::new(of.turned()), *n),
            Self::Struct(name, members) => {
                Self::Struct(name, members.iter().map(|(member, ty)| (*member, ty.turned())).collect())
            }
            Self::Scalar(_) | Self::Vector(..) => self.clone(),
        }
    }

    /// Whether there is a matrix in it that lies so.
    pub(crate) fn has_matrix(&self, by_rows: bool) -> bool {
        match self {
            Self::Matrix { row_major, .. } => *row_major == by_rows,
            Self::Array(of, _) => of.has_matrix(by_rows),
            Self::Struct(_, members) => members.iter().any(|(_, member)| member.has_matrix(by_rows)),
            Self::Scalar(_) | Self::Vector(..) => false,
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Scalar(scalar) => scalar.name().to_owned(),
            Self::Vector(Scalar::F32, n) => format!("vec{n}"),
            Self::Vector(Scalar::I32, n) => format!("ivec{n}"),
            Self::Vector(Scalar::U8, n) => format!("u8vec{n}"),
            Self::Vector(Scalar::U16, n) => format!("u16vec{n}"),
            Self::Vector(Scalar::U64, n) => format!("u64vec{n}"),
            Self::Vector(_, n) => format!("uvec{n}"),
            Self::Matrix { columns, rows, .. } => format!("mat{columns}x{rows}"),
            Self::Array(of, n) => format!("{}[{n}]", of.name()),
            Self::Struct(name, _) => (*name).to_owned(),
        }
    }

    /// Declaration of a member of a structure of this type.
    fn member(&self, name: &str) -> String {
        match self {
            Self::Array(of, n) => format!("{} {name}[{n}]", of.name()),
            _ => format!("{} {name}", self.name()),
        }
    }

    /// Declaration of a member of a block of this type: there it is said how matrices lie.
    fn block_member(&self, name: &str) -> String {
        let major = match (self.has_matrix(true), self.has_matrix(false)) {
            (true, _) => "layout(row_major) ",
            (_, true) => "layout(column_major) ",
            _ => "",
        };
        format!("{major}{}", self.member(name))
    }

    /// Declarations of the structures in it, inner ones first.
    pub(crate) fn declarations(&self, out: &mut Vec<String>) {
        match self {
            Self::Array(of, _) => of.declarations(out),
            Self::Struct(name, members) => {
                members.iter().for_each(|(_, member)| member.declarations(out));
                let text: Vec<String> =
                    members.iter().map(|(member, ty)| format!("{};", ty.member(member))).collect();
                let text = format!("struct {name} {{ {} }};", text.join(" "));
                if !out.contains(&text) {
                    out.push(text);
                }
            }
            _ => {}
        }
    }

    /// Scalars of 8, 16 and 64 bits in it.
    pub(crate) fn scalars(&self, out: &mut Vec<Scalar>) {
        match self {
            Self::Scalar(scalar) | Self::Vector(scalar, _) => out.push(*scalar),
            Self::Matrix { .. } => out.push(Scalar::F32),
            Self::Array(of, _) => of.scalars(out),
            Self::Struct(_, members) => members.iter().for_each(|(_, member)| member.scalars(out)),
        }
    }

    /// A random way to one scalar in it: text to append, and the scalar's type. `index` gives dynamic indices below
    /// a bound.
    pub(crate) fn leaf(
        &self,
        random: &mut Random,
        index: &mut dyn FnMut(&mut Random, u32) -> String,
    ) -> (String, Scalar) {
        match self {
            Self::Scalar(scalar) => (String::new(), *scalar),
            Self::Vector(scalar, n) => {
                let at = random.below(*n as usize);
                let text = if random.percent(25) {
                    format!("[{}]", index(random, *n))
                } else {
                    format!(".{}", ["x", "y", "z", "w"][at])
                };
                (text, *scalar)
            }
            Self::Matrix { columns, rows, .. } => {
                let (column, row) = (index(random, *columns), index(random, *rows));
                (format!("[{column}][{row}]"), Scalar::F32)
            }
            Self::Array(of, n) => {
                let at = index(random, *n);
                let (rest, scalar) = of.leaf(random, index);
                (format!("[{at}]{rest}"), scalar)
            }
            Self::Struct(_, members) => {
                let (name, member) = random.pick(members);
                let (rest, scalar) = member.leaf(random, index);
                (format!(".{name}{rest}"), scalar)
            }
        }
    }

    /// An expression that makes a value of this type of scalars.
    pub(crate) fn construct(&self, scalar: &mut dyn FnMut(Scalar) -> String) -> String {
        let join = |parts: Vec<String>| parts.join(", ");
        match self {
            Self::Scalar(ty) => scalar(*ty),
            Self::Vector(ty, n) => {
                let parts = (0..*n).map(|_| scalar(*ty)).collect();
                format!("{}({})", self.name(), join(parts))
            }
            Self::Matrix { columns, rows, .. } => {
                let parts = (0..columns * rows).map(|_| scalar(Scalar::F32)).collect();
                format!("{}({})", self.name(), join(parts))
            }
            Self::Array(of, n) => {
                let parts = (0..*n).map(|_| of.construct(scalar)).collect();
                format!("{}({})", self.name(), join(parts))
            }
            Self::Struct(name, members) => {
                let parts = members.iter().map(|(_, member)| member.construct(scalar)).collect();
                format!("{name}({})", join(parts))
            }
        }
    }

    /// A random matrix. Some of them are as large in either major.
    fn matrix(random: &mut Random) -> Self {
        let (columns, rows) = random.one(&[(2, 2), (2, 2), (2, 3), (3, 2), (4, 2), (2, 4), (3, 3)]);
        Self::Matrix { columns, rows, row_major: random.percent(60) }
    }

    /// A structure with a matrix in it.
    fn with_matrix(random: &mut Random) -> Self {
        let matrix = Self::Matrix { columns: 2, rows: 2, row_major: random.percent(50) };
        Self::Struct("Framed", vec![("m", matrix), ("f", Self::Scalar(Scalar::F32))])
    }

    /// A random type of element.
    pub(crate) fn random(random: &mut Random) -> Self {
        use Scalar::{F32, I32, U8, U16, U32, U64};
        let f32s = || Self::Scalar(F32);
        match random.below(21) {
            0..=6 => f32s(),
            7 | 8 => Self::Scalar(U32),
            9 => Self::Scalar(random.one(&[I32, U8, U16, U64])),
            10 => Self::Scalar(random.one(&[U8, U16])),
            11 | 12 => Self::Vector(random.one(&[F32, F32, U32]), random.one(&[2, 3, 4, 4])),
            13..=15 => Self::matrix(random),
            20 => Self::with_matrix(random),
            16 => Self::Struct("Padded", vec![("c", Self::Scalar(U8)), ("f", f32s())]),
            17 => Self::Struct("Pair", vec![("a", Self::Vector(F32, 2)), ("b", f32s())]),
            18 => Self::Struct(
                "Outer",
                vec![
                    ("s", Self::Struct("Pair", vec![("a", Self::Vector(F32, 2)), ("b", f32s())])),
                    ("c", Self::Scalar(U32)),
                ],
            ),
            _ => Self::Struct(
                "Row",
                vec![("a", f32s()), ("v", Self::Array(Box::new(Self::Scalar(random.one(&[F32, U32]))), 3))],
            ),
        }
    }
}

/// One array of a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Array {
    pub(crate) element: Type,
    /// Declared length; none for an array that takes what is left of the buffer.
    pub(crate) len: Option<u32>,
}

/// Contents of a buffer as a kernel declares them: `uint h0, h1, …`, then arrays `a0, a1, …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Block {
    pub(crate) packing: Packing,
    pub(crate) header: u32,
    pub(crate) arrays: Vec<Array>,
}

impl Block {
    /// Bytes up to the end of the last array, which has this many elements if it has no length.
    pub(crate) fn bytes(&self, elements: u32) -> u32 {
        let mut end = 4 * self.header;
        for array in &self.arrays {
            let (size, align) = array.element.extent(self.packing);
            let (stride, align) = self::array(size, align, self.packing);
            end = end.next_multiple_of(align) + stride * array.len.unwrap_or(elements);
        }
        end
    }

    /// First byte of the first array.
    pub(crate) fn header_bytes(&self) -> u32 {
        let (size, align) = self.arrays[0].element.extent(self.packing);
        (4 * self.header).next_multiple_of(array(size, align, self.packing).1)
    }

    /// The block's members.
    pub(crate) fn members(&self) -> String {
        let mut text = String::new();
        for number in 0..self.header {
            text.push_str(&format!("uint h{number}; "));
        }
        for (number, Array { element, len }) in self.arrays.iter().enumerate() {
            let len = len.map_or_else(String::new, |len| len.to_string());
            text.push_str(&format!("{}[{len}]; ", element.block_member(&format!("a{number}"))));
        }
        text
    }

    /// A random block whose arrays have room for this many elements.
    pub(crate) fn random(random: &mut Random, room: u32) -> Self {
        Self::from(random, room, Type::random)
    }

    /// A random block whose first array has matrices.
    pub(crate) fn of_matrices(random: &mut Random, room: u32) -> Self {
        let matrix = |random: &mut Random| {
            if random.percent(80) { Type::matrix(random) } else { Type::with_matrix(random) }
        };
        Self::from(random, room, matrix)
    }

    fn from(random: &mut Random, room: u32, first: impl FnOnce(&mut Random) -> Type) -> Self {
        let packing = random.one(&[
            Packing::Std430,
            Packing::Std430,
            Packing::Std430,
            Packing::Std140,
            Packing::Scalar,
        ]);
        let header = random.one(&[0, 0, 0, 1, 2, 4]);
        let count = random.one(&[1, 1, 1, 1, 2, 2, 3]);
        let first = first(random);
        let arrays = (0..count)
            .map(|number| {
                let element =
                    if number == 0 || random.percent(60) { first.clone() } else { Type::random(random) };
                let open = number + 1 == count && random.percent(75);
                Array { element, len: (!open).then_some(room) }
            })
            .collect();
        Self { packing, header, arrays }
    }

    /// The same arrays with every matrix in the other major.
    pub(crate) fn turned(&self) -> Self {
        let turned = |array: &Array| Array { element: array.element.turned(), len: array.len };
        Self { arrays: self.arrays.iter().map(turned).collect(), ..*self }
    }

    pub(crate) fn is_plain(&self) -> bool {
        let hlsl = |element: &Type| {
            matches!(
                element,
                Type::Scalar(Scalar::F32 | Scalar::U32) | Type::Vector(Scalar::F32 | Scalar::U32, 2 | 4)
            )
        };
        let [array] = &self.arrays[..] else { return false };
        self.header == 0 && array.len.is_none() && self.packing != Packing::Std140 && hlsl(&array.element)
    }
}
