//! Accessors: what a kernel reads and writes.
//!
//! An accessor is made from a buffer of the runtime, or from host memory where a kernel runs on the host. An index that is
//! out of range touches nothing: a read gives zero, a write is skipped.

use std::{
    any::Any,
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut, Range},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytemuck::Pod;

use crate::{
    capture::{
        AccessorArg, Arguments, BindingParam, Capture, Local, Mode, Position, Signature, Stage, Value, join,
    },
    stage::Composite,
    value::{Int, Ordered},
};

/// What an element of a buffer can be: a value without padding. Asked for where an accessor is made of a buffer, and not by
/// kernels: a struct without `Pod` is one error there, instead of one for everything that a kernel does with it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a buffer",
    label = "not an element",
    note = "an element is a number, a vector, an array of these, or a struct of these without padding: `#[derive(Clone, Copy, Value, Pod, Zeroable)]` and `#[repr(C)]`, with `Pod` and `Zeroable` of `bytemuck`",
    note = "a `bool` is kept as `u8` or `u32`; padding is given a name, as a field of bytes"
)]
pub trait Element: Value + Pod {}

#[diagnostic::do_not_recommend]
impl<T: Value + Pod> Element for T {}

/// Memory that kernels on the host read and write. A handle; clones are the same memory.
pub struct HostBuffer<T> {
    data: Arc<Mutex<Vec<T>>>,
}

impl<T> Clone for HostBuffer<T> {
    fn clone(&self) -> Self {
        HostBuffer { data: self.data.clone() }
    }
}

impl<T> fmt::Debug for HostBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuffer").field("len", &self.lock().len()).finish()
    }
}

impl<T> HostBuffer<T> {
    /// Memory that holds these elements.
    #[must_use]
    pub fn new(data: Vec<T>) -> HostBuffer<T> {
        HostBuffer { data: Arc::new(Mutex::new(data)) }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of the elements.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T>
    where
        T: Clone,
    {
        self.lock().clone()
    }
}

/// What an accessor stands for.
enum Source<T> {
    Host(HostBuffer<T>),
    /// What the runtime made of a buffer.
    Device(Arc<dyn Any + Send + Sync>),
}

impl<T> Clone for Source<T> {
    fn clone(&self) -> Self {
        match self {
            Source::Host(buffer) => Source::Host(buffer.clone()),
            Source::Device(handle) => Source::Device(handle.clone()),
        }
    }
}

impl<T: Value> Source<T> {
    fn slot(&self, index: u32) -> Option<Held<'_, T>> {
        let Source::Host(buffer) = self else { return None };
        Held::of(buffer.lock(), index)
    }

    fn len(&self) -> u32 {
        match self {
            Source::Host(buffer) => u32::try_from(buffer.lock().len()).unwrap_or(u32::MAX),
            Source::Device(_) => 0,
        }
    }

    fn argument(&self, range: Option<(u32, u32)>) -> AccessorArg {
        let handle = match self {
            Source::Host(_) => None,
            Source::Device(handle) => Some(handle.clone()),
        };
        AccessorArg { handle, range }
    }
}

/// What all accessors have: an element type, a mode, and maybe a range. A bound of functions that take any of them.
pub trait Accessor: Capture + Stage<Kind = Composite> {
    /// Type of an element.
    type Element: Value;

    #[doc(hidden)]
    const MODE: Mode;
    #[doc(hidden)]
    const RANGED: bool = false;
    /// An element of host memory, if it is there.
    #[doc(hidden)]
    fn host_slot(&self, index: u32) -> Option<Held<'_, Self::Element>>;
    /// Number of elements on the host.
    #[doc(hidden)]
    fn host_len(&self) -> u32;
    #[doc(hidden)]
    fn argument(&self, range: Option<(u32, u32)>) -> AccessorArg;

    /// Number of elements.
    fn len(&self) -> u32 {
        self.host_len()
    }

    /// Whether there are no elements.
    fn is_empty(&self) -> bool {
        self.host_len() == 0
    }

    /// What `accessor[index]` is where it is read.
    #[doc(hidden)]
    fn kernel_at(&self, index: u32) -> Self::Element
    where
        Self: Reads,
    {
        self.get(index)
    }

    /// The same where the index is a literal.
    #[doc(hidden)]
    fn kernel_lit(&self, index: usize) -> Kept<Self::Element>
    where
        Self: Reads,
    {
        Kept(self.get(index as u32))
    }

    /// What `accessor[index]` is where it is assigned to.
    #[doc(hidden)]
    fn kernel_slot(&self, index: u32) -> Option<Held<'_, Self::Element>>
    where
        Self: Writes,
    {
        self.host_slot(index)
    }

    /// The same where the index is a literal.
    #[doc(hidden)]
    fn kernel_lit_slot(&self, index: usize) -> Option<Held<'_, Self::Element>>
    where
        Self: Writes,
    {
        self.host_slot(index as u32)
    }
}

/// An accessor that reads.
#[diagnostic::on_unimplemented(message = "`{Self}` does not read", note = "use `Read` or `ReadWrite`")]
pub trait Reads: Accessor {
    /// An element; zero where there is none.
    fn get(&self, index: u32) -> Self::Element {
        self.host_slot(index).map_or_else(Self::Element::zero, |element| *element)
    }
}

/// An accessor that writes.
#[diagnostic::on_unimplemented(message = "`{Self}` does not write", note = "use `Write` or `ReadWrite`")]
pub trait Writes: Accessor {
    /// Writes an element; nothing where there is none.
    fn set(&self, index: u32, value: Self::Element) {
        if let Some(mut element) = self.host_slot(index) {
            *element = value;
        }
    }
}

/// An element of memory that others cannot change as long as this is there.
#[doc(hidden)]
#[derive(Debug)]
pub struct Held<'a, T> {
    memory: MutexGuard<'a, Vec<T>>,
    index: usize,
}

impl<'a, T> Held<'a, T> {
    /// An element, if it is there.
    pub(crate) fn of(memory: MutexGuard<'a, Vec<T>>, index: u32) -> Option<Held<'a, T>> {
        let index = index as usize;
        (index < memory.len()).then_some(Held { memory, index })
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.memory[self.index]
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.memory[self.index]
    }
}

/// A value where other code has a place.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Kept<T>(pub(crate) T);

impl<T> Deref for Kept<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

macro_rules! accessor {
    ($(#[$doc:meta])* $name:ident, $mode:ident, $($can:ident)+) => {
        $(#[$doc])*
        pub struct $name<T> {
            source: Source<T>,
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                $name { source: self.source.clone() }
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        impl<T: Element> $name<T> {
            /// An accessor of host memory.
            #[must_use]
            pub fn host(buffer: &HostBuffer<T>) -> Self {
                $name { source: Source::Host(buffer.clone()) }
            }

            /// An accessor of what a runtime knows by a handle.
            #[must_use]
            pub fn device(handle: Arc<dyn Any + Send + Sync>) -> Self {
                $name { source: Source::Device(handle) }
            }
        }

        impl<T: Element> From<&HostBuffer<T>> for $name<T> {
            fn from(buffer: &HostBuffer<T>) -> Self {
                Self::host(buffer)
            }
        }

        impl<T: Value> Stage for $name<T> {
            type Kind = Composite;
        }

        impl<T: Value> Accessor for $name<T> {
            type Element = T;
            const MODE: Mode = Mode::$mode;
            fn host_slot(&self, index: u32) -> Option<Held<'_, T>> {
                self.source.slot(index)
            }
            fn host_len(&self) -> u32 {
                self.source.len()
            }
            fn argument(&self, range: Option<(u32, u32)>) -> AccessorArg {
                self.source.argument(range)
            }
        }

        impl<T: Value> Capture for $name<T> {
            fn advance(at: Position) -> Position {
                Position { params: at.params + 1, ..at }
            }
            fn describe(path: &str, at: Position, signature: &mut Signature) {
                describe::<Self>(path, at, None, signature);
            }
            fn bind(&self, _: Position, arguments: &mut Arguments) {
                arguments.accessors.push(self.argument(None));
            }
        }

        $(impl<T: Value> $can for $name<T> {})+
    };
}

accessor! {
    /// Elements that a kernel reads.
    Read, Read, Reads
}
accessor! {
    /// Elements that a kernel writes.
    Write, Write, Writes
}
accessor! {
    /// Elements that a kernel reads and writes, also atomically.
    ReadWrite, ReadWrite, Reads Writes
}

fn describe<A: Accessor>(path: &str, at: Position, range: Option<u32>, signature: &mut Signature) {
    signature.bindings.push(BindingParam {
        path: path.to_owned(),
        binding: at.params,
        element: A::Element::shape(),
        mode: A::MODE,
        range,
    });
}

/// A part of what an accessor spans, of any offset and length: both travel with the plain values. Index 0 is the first
/// element of the part, and what is outside of the part is out of range.
#[derive(Clone, Debug)]
pub struct Ranged<A> {
    inner: A,
    offset: u32,
    len: u32,
    marker: PhantomData<A>,
}

impl<A: Accessor> Ranged<A> {
    /// The elements `range` of an accessor.
    #[must_use]
    pub fn new(inner: impl Into<A>, range: Range<u32>) -> Ranged<A> {
        let len = range.end.saturating_sub(range.start);
        Ranged { inner: inner.into(), offset: range.start, len, marker: PhantomData }
    }
}

impl<A: Accessor> Stage for Ranged<A> {
    type Kind = Composite;
}

impl<A: Accessor> Accessor for Ranged<A> {
    type Element = A::Element;
    const MODE: Mode = A::MODE;
    const RANGED: bool = true;
    fn host_slot(&self, index: u32) -> Option<Held<'_, A::Element>> {
        if index >= self.len {
            return None;
        }
        self.inner.host_slot(self.offset.checked_add(index)?)
    }
    fn host_len(&self) -> u32 {
        self.len
    }
    fn argument(&self, range: Option<(u32, u32)>) -> AccessorArg {
        self.inner.argument(range)
    }
}

impl<A: Accessor> Capture for Ranged<A> {
    fn advance(at: Position) -> Position {
        let at = at.aligned(4);
        Position { params: at.params + 1, plain: at.plain + 8, ..at }
    }
    fn describe(path: &str, at: Position, signature: &mut Signature) {
        let range = at.aligned(4).plain;
        describe::<Self>(path, at, Some(range), signature);
        u32::describe(&join(path, "offset"), at, signature);
        u32::describe(&join(path, "len"), u32::advance(at), signature);
    }
    fn bind(&self, at: Position, arguments: &mut Arguments) {
        self.offset.bind(at, arguments);
        self.len.bind(u32::advance(at), arguments);
        arguments.accessors.push(self.argument(Some((self.offset, self.len))));
    }
}

impl<A: Reads> Reads for Ranged<A> {}
impl<A: Writes> Writes for Ranged<A> {}

/// What the methods of accessors are on the host. The lowered form has methods of the same names.
macro_rules! methods {
    ($name:ident<$param:ident: $bound:ident>, $element:ty, $($kind:ident)+) => {
        $(methods!(@$kind $name<$param: $bound>, $element);)+
    };
    (@len $name:ident<$param:ident: $bound:ident>, $element:ty) => {
        impl<$param: $bound> $name<$param> {
            /// Number of elements.
            #[must_use]
            pub fn len(&self) -> u32 {
                self.host_len()
            }

            /// Whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.host_len() == 0
            }
        }
    };
    (@read $name:ident<$param:ident: $bound:ident>, $element:ty) => {
        impl<$param: $bound> $name<$param> {
            /// An element; zero where there is none.
            #[must_use]
            pub fn get(&self, index: u32) -> $element {
                Reads::get(self, index)
            }

            /// An element, without a check on the device.
            ///
            /// # Safety
            ///
            /// The index is less than the length.
            #[must_use]
            #[allow(unsafe_code, reason = "on a device an index out of range would touch foreign memory")]
            pub unsafe fn get_unchecked(&self, index: u32) -> $element {
                self.get(index)
            }
        }
    };
    (@write $name:ident<$param:ident: $bound:ident>, $element:ty) => {
        impl<$param: $bound> $name<$param> {
            /// Writes an element; nothing where there is none.
            pub fn set(&self, index: u32, value: $element) {
                Writes::set(self, index, value);
            }

            /// Writes an element, without a check on the device.
            ///
            /// # Safety
            ///
            /// The index is less than the length.
            #[allow(unsafe_code, reason = "on a device an index out of range would touch foreign memory")]
            pub unsafe fn set_unchecked(&self, index: u32, value: $element) {
                self.set(index, value);
            }
        }
    };
}

methods! { Read<T: Value>, T, len read }
methods! { Write<T: Value>, T, len write }
methods! { ReadWrite<T: Value>, T, len read write }

impl<A: Accessor> Ranged<A> {
    /// Number of elements of the part.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether the part has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<A: Reads> Ranged<A> {
    /// An element of the part; zero where there is none.
    #[must_use]
    pub fn get(&self, index: u32) -> A::Element {
        Reads::get(self, index)
    }
}

impl<A: Writes> Ranged<A> {
    /// Writes an element of the part; nothing where there is none.
    pub fn set(&self, index: u32, value: A::Element) {
        Writes::set(self, index, value);
    }
}

/// What can be added to atomically: of floats where the device has it, and of 64 bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not added to atomically in kernels",
    note = "`u32`, `i32`, `u64`, `i64`, `f32` and `f64` are; narrower ones have room in one of these"
)]
pub trait Atomic: Element + Ordered {}

impl Atomic for u32 {}
impl Atomic for i32 {}
impl Atomic for u64 {}
impl Atomic for i64 {}
impl Atomic for f32 {}
impl Atomic for f64 {}

/// What can be changed atomically in all ways.
#[diagnostic::on_unimplemented(
    message = "this atomic operation takes `u32`, `i32`, `u64` and `i64` in kernels, not `{Self}`",
    note = "a float can be kept as its bits, with `to_bits` and `from_bits` around `compare_exchange`"
)]
pub trait AtomicInt: Atomic + Int {}

impl AtomicInt for u32 {}
impl AtomicInt for i32 {}
impl AtomicInt for u64 {}
impl AtomicInt for i64 {}

/// Each gives the element as it was before, zero where there is none, and is relaxed: it orders nothing else.
macro_rules! atomics {
    (impl [$($params:tt)*] $ty:ty: $slot:ident { $($(#[$doc:meta])* $name:ident $bound:ident |$old:ident, $value:ident| $new:expr;)+ }) => {
        impl<$($params)*> $ty {
            $($(#[$doc])*
            pub fn $name(&self, index: u32, $value: T) -> T
            where
                T: $bound,
            {
                self.$slot(index).map_or_else(T::zero, |mut element| {
                    let $old = *element;
                    *element = $new;
                    $old
                })
            })+

            /// Replaces the element if it is as expected.
            pub fn compare_exchange(&self, index: u32, expected: T, value: T) -> T
            where
                T: AtomicInt,
            {
                self.$slot(index).map_or_else(T::zero, |mut element| {
                    let old = *element;
                    if old == expected {
                        *element = value;
                    }
                    old
                })
            }
        }
    };
    ($($all:tt)+) => {
        atomics! { impl [T: Value] ReadWrite<T>: host_slot { $($all)+ } }
        atomics! { impl [T: Value] Ranged<ReadWrite<T>>: host_slot { $($all)+ } }
        atomics! { impl [T: Value, const N: usize] crate::shared::Shared<T, N>: kernel_slot { $($all)+ } }
    };
}

atomics! {
    /// Adds; integers wrap. Floats are rounded after each addition, in an order that is the device's own.
    fetch_add Atomic |old, value| old.kernel_add(value);
    /// The lesser of both.
    fetch_min AtomicInt |old, value| if value < old { value } else { old };
    /// The greater of both.
    fetch_max AtomicInt |old, value| if value > old { value } else { old };
    /// Bitwise and.
    fetch_and AtomicInt |old, value| old.kernel_and(value);
    /// Bitwise or.
    fetch_or AtomicInt |old, value| old.kernel_or(value);
    /// Bitwise exclusive or.
    fetch_xor AtomicInt |old, value| old.kernel_xor(value);
    /// Replaces it.
    exchange AtomicInt |old, value| value;
}
