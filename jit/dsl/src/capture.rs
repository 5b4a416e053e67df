//! Captures: what a function object carries, and how each part becomes a parameter.
//!
//! Captures are met in the order of their declaration, structs and arrays inside out. Plain values go, one after the
//! other, each at the next multiple of its alignment and inside at the offsets of `repr(C)`, into one block of bytes.
//! Accessors become bindings of set 0 in that order; work-group memory becomes a variable; specialization constants get
//! ids.

use std::{any::Any, marker::PhantomData, sync::Arc};

use crate::{
    shape::Shape,
    stage::{Composite, Kind, Plain, Staged},
};

/// What has a staged form: a value, or a capture.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no place on a device",
    label = "neither a value nor a capture",
    note = "a struct with accessors has `#[derive(Captures)]`, one of values `#[derive(Clone, Copy, Value)]`; there are no `Vec`, `Box` and strings"
)]
pub trait Stage: Sized + 'static {
    /// Whether the staged form is a value or a place among the captures.
    #[doc(hidden)]
    type Kind: Kind;
}

/// What can be a field of a function object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a kernel",
    label = "not a parameter",
    note = "a capture is a number, a bool, a vector, a struct with `#[derive(Value)]`, an accessor (`Read`, `Write`, `ReadWrite`, `Ranged`), `Shared`, `Spec`, `PhantomData`, a struct with `#[derive(Captures)]`, or an array of these",
    note = "references, `usize`, `char`, strings, `Vec`, `Box` and tuples have no place on a device: pass `u32`, a buffer's accessor, or a struct"
)]
pub trait Capture: Stage {
    /// Where the next capture starts if this one starts at `at`.
    #[doc(hidden)]
    fn advance(at: Position) -> Position;

    /// Its shape, if it is a plain value.
    #[doc(hidden)]
    fn plain_shape() -> Option<Shape> {
        None
    }

    /// Adds its parameters to the signature.
    #[doc(hidden)]
    fn describe(path: &str, at: Position, signature: &mut Signature);

    /// Adds its arguments.
    #[doc(hidden)]
    fn bind(&self, at: Position, arguments: &mut Arguments);

    /// Begins a work-group on the host.
    #[doc(hidden)]
    fn begin_group(&self) {}

    /// The staged form of the capture at a place.
    #[doc(hidden)]
    fn stage(at: Position) -> Staged<Self> {
        <Self::Kind as Kind>::make::<Self>(at)
    }
}

/// What a local variable of a kernel can hold: values, and tuples, `Option`s and arrays of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value in kernels",
    label = "not a value",
    note = "a value is a number, a `bool`, a vector, a tuple, an `Option` or an array of values, or a struct of values or an enum without fields with `#[derive(Clone, Copy, Value)]` and a `repr`"
)]
pub trait Local: Copy + Stage<Kind = Plain> {
    /// Its type as data.
    fn shape() -> Shape;

    /// Writes the bytes that the shape says, which are those of `repr(C)`; bytes of padding are left as they are.
    fn write(&self, bytes: &mut [u8]);

    /// All zero; no value, of an `Option`.
    fn zero() -> Self;
}

/// A value that has one layout on host and device: can be captured, and be an element of buffers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value in kernels",
    label = "not a value",
    note = "a value is a number, a `bool`, a vector, an array of values, or a struct of values with `#[derive(Clone, Copy, Value)]` and `#[repr(C)]`"
)]
pub trait Value: Local + Send + Sync + Capture {}

/// A struct that has a field. The number stands for its name.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "no such field on `{Self}` in a kernel")]
pub trait HasField<const NAME: u64>: Stage {
    type Type: Capture;
    const INDEX: u32;
    fn position(at: Position) -> Position;
}

/// How far the traversal of captures has come.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Position {
    /// Bytes of plain values.
    pub plain: u32,
    /// Accessors.
    pub params: u32,
    /// Work-group variables.
    pub shared: u32,
    /// Specialization constants.
    pub specs: u32,
}

impl Position {
    /// Where a plain value of this shape starts.
    #[must_use]
    pub fn aligned(mut self, align: u32) -> Position {
        self.plain = self.plain.next_multiple_of(align);
        self
    }

    /// Behind a plain value.
    #[must_use]
    pub fn after(self, shape: &Shape) -> Position {
        let mut next = self.aligned(shape.align());
        next.plain += shape.size();
        next
    }
}

/// How a kernel may use a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Mode {
    Read,
    Write,
    ReadWrite,
}

/// The parameters of a function object, as data, in traversal order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Accessors.
    pub bindings: Vec<BindingParam>,
    /// Plain values. Offsets count from the start of the captures' block.
    pub plain: Vec<PlainParam>,
    /// Bytes of the block of plain values.
    pub plain_bytes: u32,
    /// Work-group memory.
    pub shared: Vec<SharedParam>,
    /// Specialization constants.
    pub specs: Vec<SpecParam>,
}

impl Signature {
    /// The signature of a function object.
    #[must_use]
    pub fn of<K: Capture>() -> Signature {
        let mut signature = Signature::default();
        K::describe("", Position::default(), &mut signature);
        signature.plain_bytes = K::advance(Position::default()).plain;
        signature
    }
}

/// An accessor among the parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingParam {
    /// Where it is in the object, as `field.field[index]`.
    pub path: String,
    /// Binding in set 0.
    pub binding: u32,
    /// Type of an element.
    pub element: Shape,
    /// How it may be used.
    pub mode: Mode,
    /// Byte offset, among the plain values, of its offset and length in elements, two `u32`; none where all of what is
    /// bound is meant.
    pub range: Option<u32>,
}

/// A plain value among the parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainParam {
    /// Where it is in the object.
    pub path: String,
    /// Byte offset.
    pub offset: u32,
    /// Its type.
    pub shape: Shape,
}

/// Work-group memory among the parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedParam {
    /// Where it is in the object.
    pub path: String,
    /// Its type.
    pub shape: Shape,
}

/// A specialization constant among the parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecParam {
    /// Where it is in the object.
    pub path: String,
    /// Its `SpecId`.
    pub id: u32,
    /// Its type.
    pub shape: Shape,
}

/// The arguments that one function object gives to its parameters.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// The block of plain values.
    pub plain: Vec<u8>,
    /// One for each binding.
    pub accessors: Vec<AccessorArg>,
    /// Bytes of each specialization constant, by `SpecId`.
    pub specs: Vec<(u32, Vec<u8>)>,
}

impl Arguments {
    /// The arguments that an object gives.
    #[must_use]
    pub fn of<K: Capture>(object: &K) -> Arguments {
        let mut arguments = Arguments {
            plain: vec![0; K::advance(Position::default()).plain as usize],
            ..Arguments::default()
        };
        object.bind(Position::default(), &mut arguments);
        arguments
    }

    pub(crate) fn write<T: Value>(&mut self, at: u32, value: &T) {
        let at = at as usize;
        value.write(&mut self.plain[at..at + T::shape().size() as usize]);
    }
}

/// What is bound where an accessor is.
#[derive(Clone)]
pub struct AccessorArg {
    /// What the runtime was given; none for host memory.
    pub handle: Option<Arc<dyn Any + Send + Sync>>,
    /// Offset and length in elements, of a ranged accessor.
    pub range: Option<(u32, u32)>,
}

impl std::fmt::Debug for AccessorArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccessorArg").field("range", &self.range).finish_non_exhaustive()
    }
}

impl<T: Stage, const N: usize> Stage for [T; N] {
    type Kind = T::Kind;
}

impl<T: Capture, const N: usize> Capture for [T; N] {
    fn advance(at: Position) -> Position {
        (0..N).fold(at, |at, _| T::advance(at))
    }

    fn plain_shape() -> Option<Shape> {
        Some(Shape::Array(Box::new(T::plain_shape()?), N as u32))
    }

    fn describe(path: &str, at: Position, signature: &mut Signature) {
        if let Some(shape) = Self::plain_shape() {
            let offset = at.aligned(shape.align()).plain;
            signature.plain.push(PlainParam { path: path.to_owned(), offset, shape });
            return;
        }
        let mut at = at;
        for index in 0..N {
            T::describe(&format!("{path}[{index}]"), at, signature);
            at = T::advance(at);
        }
    }

    fn bind(&self, at: Position, arguments: &mut Arguments) {
        self.iter().fold(at, |at, element| {
            element.bind(at, arguments);
            T::advance(at)
        });
    }

    fn begin_group(&self) {
        self.iter().for_each(T::begin_group);
    }
}

impl<T: Value, const N: usize> Value for [T; N] {}

impl<T: Local, const N: usize> Local for [T; N] {
    fn shape() -> Shape {
        Shape::Array(Box::new(T::shape()), N as u32)
    }

    fn write(&self, bytes: &mut [u8]) {
        let size = T::shape().size() as usize;
        for (element, bytes) in self.iter().zip(bytes.chunks_exact_mut(size.max(1))) {
            element.write(bytes);
        }
    }

    fn zero() -> Self {
        [T::zero(); N]
    }
}

/// What only has a type: an operator, say, whose functions the kernel calls.
impl<T: 'static> Stage for PhantomData<T> {
    type Kind = Composite;
}

impl<T: 'static> Capture for PhantomData<T> {
    fn advance(at: Position) -> Position {
        at
    }

    fn describe(_: &str, _: Position, _: &mut Signature) {}

    fn bind(&self, _: Position, _: &mut Arguments) {}
}

/// The parts of [`Capture`] that all values have in common, for the derive and for scalars.
#[doc(hidden)]
pub mod plain {
    use super::{Arguments, PlainParam, Position, Signature, Value};

    pub fn advance<T: Value>(at: Position) -> Position {
        at.after(&T::shape())
    }

    pub fn describe<T: Value>(path: &str, at: Position, signature: &mut Signature) {
        let shape = T::shape();
        let offset = at.aligned(shape.align()).plain;
        signature.plain.push(PlainParam { path: path.to_owned(), offset, shape });
    }

    pub fn bind<T: Value>(value: &T, at: Position, arguments: &mut Arguments) {
        arguments.write(at.aligned(T::shape().align()).plain, value);
    }
}

/// [`Capture`] of a field, by its name: so a field whose type is none is said to be so once, where it stands.
#[doc(hidden)]
pub mod fields {
    use super::{Arguments, Capture, HasField, Position, Signature};

    pub fn advance<S: HasField<NAME>, const NAME: u64>(at: Position) -> Position {
        S::Type::advance(at)
    }

    pub fn describe<S: HasField<NAME>, const NAME: u64>(path: &str, at: Position, signature: &mut Signature) {
        S::Type::describe(path, at, signature);
    }

    pub fn bind<S: HasField<NAME>, const NAME: u64>(
        field: &S::Type,
        at: Position,
        arguments: &mut Arguments,
    ) {
        field.bind(at, arguments);
    }

    pub fn begin_group<S: HasField<NAME>, const NAME: u64>(field: &S::Type) {
        field.begin_group();
    }
}

/// The path of a field.
#[doc(hidden)]
#[must_use]
pub fn join(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

/// What stands for a field's name in types.
#[doc(hidden)]
#[must_use]
pub const fn name_hash(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let (mut hash, mut k) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while k < bytes.len() {
        hash = (hash ^ bytes[k] as u64).wrapping_mul(0x0100_0000_01b3);
        k += 1;
    }
    hash
}
